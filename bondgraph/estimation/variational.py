"""Variational equations of a compiled model: kernels of its formulas and of their derivatives along S = dx/dp.

With x' = f(t, x, p) the sensitivities S = dx/dp (n, k) follow S' = f_x S + f_p. A tape gives these products along k directions
simultaneously, without the matrices: each kernel takes S after x, in the same block, by columns. At an event (`jumps`), the time
itself depends on p: a kernel then also takes dt/dp (k,) and f, and differentiates along the motion too, in the direction (f, 1).

For the step size, the error of an entry of S is relative to the entry, or to the largest entry of its column, each relative to
the size of its state; an error of x counts as in the run itself. Hence neither units nor parameter values matter. If a state is
zero during the whole run, its entries of S are scaled by rates and couplings of the states.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.compile.changes import converted_states, dependent_among
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.kernels import kernels_of
from bondgraph.compile.state_names import pick_outputs
from bondgraph.emit.kernel import Kernel
from bondgraph.emit.numpy import numpy_kernel
from bondgraph.errors import refusal
from bondgraph.estimation.free_parameters import FreeParameters
from bondgraph.run.accuracy import error_weights
from bondgraph.run.accuracy.fields import Callbacks
from bondgraph.run.accuracy.table import ErrorWeights
from bondgraph.run.bound import Bound
from bondgraph.run.events.impacts.participants import unit_impulses_from
from bondgraph.run.program import Program, RunTransition
from bondgraph.run.python_callbacks import PythonCallback
from bondgraph.run.table import FieldTable
from bondgraph.tape.differentiate import derivatives_along, jacobian, jump_surfaces
from bondgraph.tape.garbage_collection import paused_collection
from bondgraph.tape.routine import Routine
from bondgraph.tape.scalar import TapeScalar
from bondgraph.tape.specialise import appended, hoist
from bondgraph.tracing.evaluate import Traced
from bondgraph.tracing.events.time_events import breaks_of
from bondgraph.tracing.routines import outputs_of, values_on_tape
from screws.errors import plural

_Direction = dict[int, TapeScalar | float]

MAX_CACHED = 5000
"""Maximum number of states and parameters of a model whose kernels are cached for later runs with the same names."""

MAX_STEPS = 150_000
"""Maximum number of steps of a kernel; longer kernels would take minutes to compile."""

SLOPES, TIMES, MOTION = _INSTANT = "slopes", "times", "motion"
"""Blocks of the tape: S by columns (n k,); dt/dp (k,); rates (n,)."""

IMPULSES = "impulses"
"""Block of the tape: impulses of contacts and friction elements (c,)."""


@dataclass(frozen=True)
class PreparedKernel:
    """Kernel (t, x and the blocks after it, p, m), and the kernel that prepares its hoisted parameters."""

    kernel: Kernel
    prepare: Kernel

    def parameters(self, p: np.ndarray) -> np.ndarray:
        return np.concatenate([p, self.prepare(p)])


class Variational:
    """Kernels of a model with derivatives with respect to the varied numbers, each compiled at its first use.

    The fields `compiled`, `varied`, `n` (states) and `k` (varied numbers) do not change, and runs can share them.
    """

    def __init__(self, compiled: Compiled, varied: FreeParameters):
        self.compiled, self.varied = compiled, varied
        with paused_collection():
            self._traced: Traced = values_on_tape(compiled.system)
            self._scalars = outputs_of(self._traced)
        ground = self._traced.context
        self.n, self.k = len(ground.inputs["x"]), len(varied)
        self._tape, self._inputs = ground.tape, ground.inputs
        collisions = compiled.program.collisions
        impulses = [] if collisions is None else [len(collisions.constraints), *(f.dimension for f in collisions.frictions)]
        lengths = {SLOPES: self.n * self.k, TIMES: self.k, MOTION: self.n, IMPULSES: sum(impulses)}
        self._blocks = {name: self._tape.inputs(name, length) for name, length in lengths.items()}
        self._kernels: dict[str, PreparedKernel] = {}
        indices = compiled.system.places
        self.guesses = np.array([k for name in compiled.system.guesses for k in indices[name]], dtype=int)
        """Indices in x of the unknowns of algebraic loops."""

    # -- integration

    @functools.cached_property
    def explicit(self) -> tuple[Program, Kernel]:
        """Program of x' and S' with n (1 + k) states, without events, and the kernel that prepares its parameters."""
        rates = self._scalars["rates"]
        kernels = self._compiled({"rates": [*rates, *self._along(rates, self._directions(), self.k)], **self._guards}, (SLOPES,))
        title = f"{self.compiled.program.name}, varied"
        program = Program(title, kernels["rates"], self._nominal, guards=kernels.get("guards"), transitions=self._crossings)
        return program, kernels["prepare"]

    @functools.cached_property
    def implicit(self) -> tuple[Program, Kernel]:
        """Program `explicit` with its exact Jacobian, which a Rosenbrock method needs: f_x for x and for every column of S, and
        the derivatives of S' with respect to x."""
        rates, n = self._scalars["rates"], self.n
        inputs, along = list(self._inputs["x"]), self._along(rates, self._directions(), self.k)
        slopes, bends = jacobian(rates, inputs), jacobian(along, inputs)
        copies = range(1 + self.k)
        rows = np.concatenate(
            [*(np.asarray(slopes.rows, dtype=int) + c * n for c in copies), np.asarray(bends.rows, dtype=int) + n]
        )
        model_columns, bent = np.asarray(slopes.columns, dtype=int), np.asarray(bends.columns, dtype=int)
        columns = np.concatenate([*(model_columns + c * n for c in copies), bent])
        values = [*slopes.values] * len(copies) + [*bends.values]
        order = np.lexsort((rows, columns))
        groups = {"rates": [*rates, *along], "jacobian": [values[entry] for entry in order], **self._guards}
        kernels = self._compiled(groups, (SLOPES,))
        starts = np.searchsorted(columns[order], np.arange(n * len(copies) + 1))
        sparse = kernels.get("jacobian"), (starts.astype(np.int32), rows[order].astype(np.int32))
        title = f"{self.compiled.program.name}, varied"
        guards, crossings = kernels.get("guards"), self._crossings
        program = Program(
            title, kernels["rates"], self._nominal, guards=guards, transitions=crossings, differentiate=lambda: sparse
        )
        return program, kernels["prepare"]

    @functools.cached_property
    def _surfaces(self) -> tuple[TapeScalar, ...]:
        """Values that cross zero where the rates may jump between events."""
        rates = self._scalars["rates"]
        moving = [x for x, rate in zip(self._inputs["x"], rates, strict=True) if self._tape.scalar(rate).value != 0.0]
        return jump_surfaces(self._tape, rates, moving)

    @property
    def _guards(self) -> dict[str, list[Any]]:
        return {"guards": [side for value in self._surfaces for side in (value, -value)]} if self._surfaces else {}

    @property
    def _crossings(self) -> tuple[RunTransition, ...]:
        return tuple(RunTransition(f"jump {i}", 0, 0.0, 0.0, "jump of the rates") for i in range(2 * len(self._surfaces)))

    @property
    def _nominal(self) -> np.ndarray:
        return np.concatenate([self.compiled.program.nominal, np.zeros(self.n * self.k)])

    # -- outputs

    def outputs(self, names: Sequence[str]) -> tuple[tuple[str, ...], PreparedKernel]:
        """Return the labels (w,) of values, and the kernel (x, S) -> values (w,), then their derivatives by columns (w k,).

        Raises `ModelError` E251 for unknown names.
        """
        labels, values = pick_outputs(self._traced, names)
        return labels, self._kernel(f"outputs {labels}", values, self._directions, self.k, (SLOPES,))

    def with_conversions(
        self, starts: Mapping[str, Any], slopes: np.ndarray, t: float, start: Sequence[np.ndarray]
    ) -> np.ndarray:
        """Return the derivatives S (n, k) of a start (x, m, p) at the time t (s): `slopes`, with the rows of states that follow
        from efforts and flows among the user's `starts`. A state that is varied itself does not follow from them."""
        compiled, S = self.compiled, slopes.copy()
        _, independent = dependent_among(compiled.model, compiled.system, compiled.causality, starts)
        states = converted_states(compiled.model, compiled.system, independent)
        if not states:
            return S
        x, m, p = start
        x = Bound(compiled.program, p, t).consistent(0.0, x, m)[0]
        labels, prepared = self.outputs(list(states))
        parameters = prepared.parameters(p[: len(p) - int(compiled.prepare.n_out)])

        def along(S: np.ndarray) -> np.ndarray:
            return prepared.kernel(t, np.concatenate([x, S.T.ravel()]), parameters, m)[len(labels) :].reshape(self.k, -1)

        places = [np.ravel(compiled.system.places[state]) for state in states.values()]
        rows, fixed = np.concatenate(places), along(slopes)
        jacobian = np.empty((len(labels), len(rows)))
        for column, row in enumerate(rows):
            unit = slopes.copy()
            unit[row, 0] += 1.0
            jacobian[:, column] = along(unit)[0] - fixed[0]
        for j, varied in enumerate(self.varied.states):
            free = np.concatenate([np.full(len(place), varied not in place) for place in places])
            S[rows[free], j] = np.linalg.lstsq(jacobian[np.ix_(free, free)], -fixed[j, free], rcond=None)[0]
        return S

    # -- events, ticks and time events

    def guard(self, index: int) -> PreparedKernel:
        """Return the kernel (x, S, dt, f) -> guard of a transition, then its derivatives along the directions (k,) and the
        motion."""
        guard = self._scalars["guards"][index : index + 1]
        return self._kernel(f"guard_{index}", guard, self._instant_directions, self.k + 1, _INSTANT)

    def surfaces_of_rates(self) -> PreparedKernel | None:
        """Return the kernel (x, S, dt, f) -> values that cross zero where the rates may jump, then their derivatives along the
        directions (k,) and the motion; None if the rates do not jump."""
        return self._kernel_of_surfaces("rates", self._surfaces)

    def surfaces_of_guard(self, index: int) -> PreparedKernel | None:
        """Return the kernel of `surfaces_of_rates` for the guard of a transition."""
        guard = self._scalars["guards"][index : index + 1]
        return self._kernel_of_surfaces(str(index), jump_surfaces(self._tape, guard, list(self._inputs["x"])))

    def _kernel_of_surfaces(self, what: str, values: Sequence[Any]) -> PreparedKernel | None:
        return self._kernel(f"surfaces_{what}", values, self._instant_directions, self.k + 1, _INSTANT) if values else None

    def reset(self, index: int, plain: bool = False) -> PreparedKernel | None:
        """Return the kernel (x, S, dt, f) -> x after a transition, then its derivatives by columns. With `plain`, omit the
        impulse of the transition. Return None for a transition without a reset or, with `plain`, without an impulse."""
        scalars = self._scalars.get(f"push_{index}" if plain else f"reset_{index}")
        if scalars is None:
            return None
        name = f"plain_{index}" if plain else f"reset_{index}"
        return self._kernel(name, scalars[-self.n :], self._instant_directions, self.k, _INSTANT)

    def impact(self) -> PreparedKernel:
        """Return the kernel (x, S, dt, f, z) -> changes of states (n,) and flows (c,) by impulses z (c,), flows before them (c,),
        restitutions (c,), and friction limits (f,) caused by z, then the derivatives of all of these, by columns."""
        program, z = self.compiled.program, np.array(self._blocks[IMPULSES], dtype=object)
        assert program.collisions is not None
        unit = unit_impulses_from(program, program.collisions, np.array(self._scalars["collisions"], dtype=object))
        rows = [unit.states @ z, unit.flows @ z, unit.flow, unit.restitution, unit.bounds @ z]
        return self._kernel("impact", [*np.concatenate(rows)], self._instant_directions, self.k, (*_INSTANT, IMPULSES))

    def tick(self, index: int) -> PreparedKernel:
        """Return the kernel (x, S, dt, f) -> x after a tick of the clock with this index in the program, then its
        derivatives."""
        numbers = [number for number, clock in enumerate(self.compiled.system.clocks) if clock.updates]
        name = f"tick_{numbers[index]}"
        return self._kernel(name, self._scalars[name], self._instant_directions, self.k, _INSTANT)

    def solution(self, index: int) -> PreparedKernel:
        """Return the kernel (x, S, dt, f) -> derivatives of the unknowns of an algebraic loop at its solution, by columns:
        those of the Newton step, whose derivative with respect to the guesses is -1."""
        steps = self._scalars[f"newton_{index}"]
        return self._kernel(f"newton_{index}", steps[len(steps) // 2 :], self._without_guesses, self.k, _INSTANT)

    @functools.cached_property
    def break_times(self) -> Kernel | None:
        """Kernel of p that computes the time and period of each discontinuity in time (b,), then their derivatives by
        columns (2 b k,); None if there are no discontinuities."""
        breaks = breaks_of(self.compiled.system)
        if breaks is None:
            return None
        routine = breaks.routine
        inputs = routine.tape.inputs("p", dict(routine.blocks)["p"])
        directions = [{j: 1.0 for j, index in enumerate(self.varied.parameters) if index == p} for p in range(len(inputs))]
        along = derivatives_along(routine.outputs, list(inputs), directions, self.k)
        return numpy_kernel(Routine("breaks", routine.tape, routine.blocks, (*routine.outputs, *along.T.ravel())))

    # -- on the tape

    def _instant_directions(self) -> list[_Direction]:
        return self._directions(instant=True)

    def _without_guesses(self) -> list[_Direction]:
        return [{} if index in self.guesses else direction for index, direction in enumerate(self._directions(instant=True))]

    def _directions(self, instant: bool = False) -> list[_Direction]:
        """Return the components of x, t and p, in this order, along the directions and, at an `instant` whose time varies, along
        the motion."""
        n, k, blocks = self.n, self.k, self._blocks
        x: list[_Direction] = [{j: blocks[SLOPES][j * n + i] for j in range(k)} for i in range(n)]
        t: _Direction = {}
        if instant:
            for i in range(n):
                x[i][k] = blocks[MOTION][i]
            t = {**dict(enumerate(blocks[TIMES])), k: 1.0}
        p: list[_Direction] = [
            {j: 1.0 for j, index in enumerate(self.varied.parameters) if index == number}
            for number in range(len(self._inputs["p"]))
        ]
        return [*x, t, *p]

    def _along(self, values: Sequence[Any], directions: Sequence[Mapping[int, Any]], count: int) -> list[Any]:
        variables = [*self._inputs["x"], *self._inputs["t"], *self._inputs["p"]]
        seeds = [{j: part for j, part in parts.items() if j < count} for parts in directions]
        return list(derivatives_along(values, variables, seeds, count).T.ravel())

    def _kernel(
        self, name: str, values: Sequence[Any], directions: Callable[[], list[_Direction]], count: int, more: tuple[str, ...]
    ) -> PreparedKernel:
        if name not in self._kernels:
            word = name.partition(" ")[0]
            kernels = self._compiled({word: [*values, *self._along(values, directions(), count)]}, more)
            self._kernels[name] = PreparedKernel(kernels[word], kernels["prepare"])
        return self._kernels[name]

    @paused_collection()
    def _compiled(self, groups: Mapping[str, Sequence[Any]], more: tuple[str, ...]) -> dict[str, Kernel]:
        tape, moved = appended(self._tape, [scalar for group in groups.values() for scalar in group], "x", more)
        hoisted = hoist(tape, moved)
        if len(hoisted.tape) > MAX_STEPS:
            title = f"{plural(len(hoisted.tape), 'step')} of the variational equations are too many: at most {MAX_STEPS}"
            why = f"{self.n} states and {self.k} varied numbers, each of which needs its own code"
            cures = ("fewer numbers at a time", "a smaller model", "differences of runs: two runs for each number")
            raise refusal("E372", title, *cures, about=self.compiled.model.name, why=why, places=())
        routines = hoisted.routines({name: len(group) for name, group in groups.items()})
        return kernels_of(routines, "llvm" if self.compiled.program.rates.is_machine_code else "numpy")


def variational_of(compiled: Compiled, varied: FreeParameters) -> Variational:
    small = compiled.program.states + compiled.program.parameters <= MAX_CACHED
    variational: Variational = compiled.last_varied.made(varied if small else None, lambda: Variational(compiled, varied))
    return variational


COLUMN_PART = 0.1
"""Error weight of small entries, as a fraction of the largest entry of their column."""

ROUNDING_CHANGE = 1e-13
"""Fraction of the size of a state below which a change counts as zero."""


class SensitivityWeights(ErrorWeights):
    """Error weights of x and S, (n (1 + k),), in a table shared with machine code; a few dozen updates in a run call Python.

    Parameters
    ----------
    bound : x and S as a program.
    model_weights : weights of the model itself, with natural scales of x.
    states : states of the run (samples, n).
    expected : size of each column (k,), relative to the sizes of its states.
    """

    def __init__(self, bound: Bound, model_weights: ErrorWeights, states: np.ndarray, expected: np.ndarray):
        super().__init__(bound, 1.0, None, 1.0)
        self._model_weights, self._expected = model_weights, expected
        model_weights.raise_sizes(np.max(np.abs(states), axis=0, where=np.isfinite(states), initial=0.0))
        self._count = states.shape[1]
        self._no_powers = np.zeros(len(model_weights.size) - self._count)
        self._noise_gain = 1.0
        arguments, library = FieldTable(Callbacks), error_weights.machine_code()
        n, modes = len(self.size), bound.program.modes

        def where() -> tuple[float, np.ndarray, np.ndarray]:
            return arguments["t"], arguments.copied("x", n), arguments.copied("m", modes)

        self._callbacks = {
            "refresh": _callback(lambda: self.refresh(*where())),
            "test_noise": _callback(lambda: self.test_noise(*where(), arguments["h"], arguments["relative"])),
            "decay": _callback(lambda: self.decay(*where(), arguments["h"], arguments["relative"])),
        }
        for name, callback in self._callbacks.items():
            arguments.point(name, callback.address)
            self.addresses[name] = library.address(f"callback_{name}")
        self.addresses["follow_decay"] = library.address("callback_follow_decay")
        self._arguments = arguments
        self.table.point("callbacks", arguments.address)

    @property
    def state_sizes(self) -> np.ndarray:
        """Size of each state of the model (n,), from its values so far or from couplings."""
        return np.maximum(self._model_weights.state_sizes, self._model_weights.floor[: self._count])

    def raise_sizes(self, x: np.ndarray) -> None:
        super().raise_sizes(x)
        self._model_weights.raise_sizes(x[: self._count])

    def begin(self, t: float, x: np.ndarray, q: np.ndarray, m: np.ndarray) -> None:
        super().raise_sizes(x)
        n = self._count
        self._model_weights.begin(t, x[:n], self._no_powers, m)
        self._measure(t, x, m)

    def refresh(self, t: float, x: np.ndarray, m: np.ndarray) -> None:
        self._model_weights.refresh(t, x[: self._count], m)
        self._measure(t, x, m)

    def test_noise(self, t: float, x: np.ndarray, m: np.ndarray, h: float, relative: float, implicit: bool = False) -> None:
        """Update the scales after rejected steps of size h, and test whether the tolerance is below the rounding error of the
        rates."""
        self.refresh(t, x, m)
        if self.noise.any():
            self._noise_gain = min(2.0 * self._noise_gain, error_weights.MAX_NOISE_GAIN)
        matters = self._keep_noise(t, x, m, h, relative)
        before = int(self.table["rejections_before_test"])
        _, after_noise, longest = error_weights.NOISE_TEST_INTERVALS
        self.table["rejections_before_test"] = after_noise if matters else min(2 * before, longest)

    def decay(self, t: float, x: np.ndarray, m: np.ndarray, h: float, relative: float, implicit: bool = False) -> None:
        self._noise_gain = max(0.5 * self._noise_gain, 1.0)
        self._keep_noise(t, x, m, h, relative)

    def _keep_noise(self, t: float, x: np.ndarray, m: np.ndarray, h: float, relative: float) -> bool:
        sizes = np.maximum(self.size, self.floor)
        noise = error_weights.ACCUMULATED_NOISE * np.sqrt(len(x)) * self._noise_gain * self.noise_of_rates(t, x, m, sizes, h)
        matters = bool(np.any(h * noise > error_weights.SIGNIFICANT * relative * sizes))
        self.noise[:] = noise if matters else 0.0
        return matters

    def unresolved(self, rtol: float, numbers: np.ndarray) -> bool:
        """Return True if rounding errors in steps exceeded `rtol` times the weight of an entry of S.

        A column does not count if doubling its varied number, in `numbers` (k,), changes states only by rounding errors.
        """
        n = self._count
        if not self.exceeded[n:].any():
            return False
        with np.errstate(all="ignore"):
            blurred = self.exceeded[n:] > rtol * np.maximum(self.size, self.floor)[n:]
            acting = (self._shares(self.state_sizes) * np.abs(numbers) > ROUNDING_CHANGE) | (numbers == 0.0)
        return bool(np.any(blurred.reshape(-1, n)[acting]))

    def _shares(self, sizes: np.ndarray) -> np.ndarray:
        """Return the largest entry of each column so far (k,), relative to the sizes of the states (n,)."""
        columns = self.size[self._count :].reshape(-1, self._count)
        if not sizes.all():
            moving = sizes > 0.0
            columns, sizes = columns[:, moving], sizes[moving]
        largest: np.ndarray = np.maximum.reduce(columns / sizes, axis=1, initial=0.0)
        return largest

    def _measure(self, t: float, x: np.ndarray, m: np.ndarray) -> None:
        """Update the floors of the error weights; for a state without a size, the floor follows from S and the rates of S."""
        n, sizes = self._count, self.state_sizes
        shares = np.maximum(self._shares(sizes), self._expected)
        self.floor[:n] = self._model_weights.floor[:n]
        if sizes.all():
            np.multiply(COLUMN_PART, np.multiply.outer(shares, sizes).ravel(), out=self.floor[n:])
            return
        rates = self._bound.rates(t, x, m)[n:].reshape(-1, n)
        moved = self._model_weights.scales_of(t, x[:n], m, x[n:].reshape(-1, n), rates)
        sized = sizes > 0.0
        propagated = np.max(moved[:, sized] / sizes[sized], axis=1, initial=0.0)
        columns = np.multiply.outer(np.maximum(shares, propagated), sizes)
        self.floor[n:] = COLUMN_PART * np.where(sized, columns, moved).ravel()

    def check(self) -> None:
        super().check()
        for callback in self._callbacks.values():
            callback.check()


def _callback(function: Callable[[], None]) -> PythonCallback:
    def call() -> int:
        function()
        return 0

    return PythonCallback(call)
