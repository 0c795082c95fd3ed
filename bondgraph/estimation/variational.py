"""The variational equations of a compiled model: what is varied in; kernels of its formulas with their derivatives along S, out.

With x' = f(t, x, p) the sensitivities S = dx/dp (n, k) follow S' = f_x S + f_p. A tape gives these products along the k
directions at once, without the matrices: each kernel takes S behind x, in the same block, column after column. Of what happens
at one instant (`instants`) the time itself depends on p: then dt/dp (k,) follows, and one more direction (f, 1) along the motion.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.compile.compiled import Compiled
from bondgraph.compile.kernels import kernels_of
from bondgraph.compile.state_names import pick_outputs
from bondgraph.emit.kernel import Kernel
from bondgraph.emit.numpy import numpy_kernel
from bondgraph.errors import refusal
from bondgraph.estimation.free_parameters import VariedNumbers
from bondgraph.run.events.impacts.participants import tabled
from bondgraph.run.program import Program
from bondgraph.tape.differentiate import compressed_columns, derivatives_along, jacobian
from bondgraph.tape.garbage_collection import paused_collection
from bondgraph.tape.routine import Routine
from bondgraph.tape.scalar import TapeScalar
from bondgraph.tape.specialise import appended, hoist
from bondgraph.tracing.evaluate import Traced
from bondgraph.tracing.events.time_events import breaks_of
from bondgraph.tracing.routines import outputs_of, values_on_tape

_Direction = dict[int, TapeScalar | float]
"""Of one variable: its components along the directions in which it has any."""

KEPT = 5000
"""Numbers of a model up to which its kernels are kept for another run with the same names."""

MOST = 150_000
"""Steps of one kernel: machine code of more takes minutes to make."""

SLOPES, TIMES, MOTION = _INSTANT = "slopes", "times", "motion"
"""Blocks of the tape: S, column after column (n k,); dt/dp (k,); rates (n,)."""

IMPULSES = "impulses"
"""Another: impulses of what collides and rubs (c,)."""


@dataclass(frozen=True)
class Prepared:
    """A kernel (t, x with what follows it, p, m) and what it needs of the parameters besides."""

    kernel: Kernel
    prepare: Kernel

    def parameters(self, p: np.ndarray) -> np.ndarray:
        """The kernel's parameter vector from the user's p."""
        return np.concatenate([p, self.prepare(p)])


class Variational:
    """Kernels of a model and of their derivatives by what is varied, each made when it is first asked for.

    Its fields do not change, so that many runs share it: `compiled`, `varied`, n states, k numbers that are varied.
    """

    def __init__(self, compiled: Compiled, varied: VariedNumbers):
        self.compiled, self.varied = compiled, varied
        with paused_collection():
            self._traced: Traced = values_on_tape(compiled.system)
            self._scalars = outputs_of(self._traced)
        ground = self._traced.context
        self.n, self.k = len(ground.inputs["x"]), len(varied)
        self._tape, self._given = ground.tape, ground.inputs
        collisions = compiled.program.collisions
        rubbing = [] if collisions is None else [len(collisions.constraints), *(f.dimension for f in collisions.frictions)]
        lengths = {SLOPES: self.n * self.k, TIMES: self.k, MOTION: self.n, IMPULSES: sum(rubbing)}
        self._blocks = {name: self._tape.inputs(name, length) for name, length in lengths.items()}
        self._made: dict[str, Prepared] = {}
        places = compiled.system.places
        self.guesses = np.array([k for name in compiled.system.guesses for k in places[name]], dtype=int)
        """Places in x of the unknowns of algebraic loops."""

    # -- what is integrated

    @functools.cached_property
    def explicit(self) -> tuple[Program, Kernel]:
        """x' and S' as a program of n (1 + k) states without events; and what prepares its parameters."""
        made = self._kernel("rates", self._scalars["rates"], self._directions, self.k, (SLOPES,))
        return Program(f"{self.compiled.program.name}, varied", made.kernel, self._nominal), made.prepare

    @functools.cached_property
    def implicit(self) -> tuple[Program, Kernel]:
        """The same with a Jacobian: f_x for x and for every column of S. What S' changes with x is left out, since Newton's
        iteration does without it, as in the simultaneous corrector of CVODES."""
        rates, inputs = self._scalars["rates"], list(self._given["x"])
        slopes = jacobian(rates, inputs)
        indptr, indices = compressed_columns(slopes)
        copies = range(1 + self.k)
        along = self._along(rates, self._directions(), self.k)
        groups = {"rates": [*rates, *along], "jacobian": [*slopes.values] * len(copies)}
        kernels = self._compiled(groups, (SLOPES,))
        starts = np.concatenate([*(indptr[:-1] + c * indptr[-1] for c in copies), [len(copies) * indptr[-1]]])
        rows = np.concatenate([indices + c * self.n for c in copies])
        found = kernels.get("jacobian"), (starts.astype(np.int32), rows.astype(np.int32))
        title = f"{self.compiled.program.name}, varied"
        return Program(title, kernels["rates"], self._nominal, differentiate=lambda: found), kernels["prepare"]

    @property
    def _nominal(self) -> np.ndarray:
        return np.concatenate([self.compiled.program.nominal, np.zeros(self.n * self.k)])

    # -- what is looked at

    def outputs(self, names: Sequence[str]) -> tuple[tuple[str, ...], Prepared]:
        """Labels (w,) of values, and (x, S) -> these (w,), then their derivatives, column after column (w k,).

        Raises `ModelError` E251 for unknown names.
        """
        labels, wanted = pick_outputs(self._traced, names)
        return labels, self._kernel(f"outputs {labels}", wanted, self._directions, self.k, (SLOPES,))

    # -- what happens at an instant

    def guard(self, index: int) -> Prepared:
        """(x, S, dt, f) -> guard of a transition, its derivatives along the directions (k,), and along the motion."""
        guard = self._scalars["guards"][index : index + 1]
        return self._kernel(f"guard_{index}", guard, self._at_an_instant, self.k + 1, _INSTANT)

    def reset(self, index: int, plain: bool = False) -> Prepared | None:
        """(x, S, dt, f) -> x after a transition, and its derivatives, column after column; with `plain` without an impulse that
        another transition answers. None where x stays as it is."""
        scalars = self._scalars.get(f"push_{index}" if plain else f"reset_{index}")
        if scalars is None:
            return None
        name = f"plain_{index}" if plain else f"reset_{index}"
        return self._kernel(name, scalars[-self.n :], self._at_an_instant, self.k, _INSTANT)

    def impact(self) -> Prepared:
        """(x, S, dt, f, z) -> what impulses z (c,) do to states (n,) and flows (c,); flows before them (c,), restitutions (c,),
        and limits of frictions (f,) that they make; then the derivatives of all of these, column after column."""
        program, z = self.compiled.program, np.array(self._blocks[IMPULSES], dtype=object)
        assert program.collisions is not None
        unit = tabled(program, program.collisions, np.array(self._scalars["collisions"], dtype=object))
        rows = [unit.states @ z, unit.flows @ z, unit.flow, unit.restitution, unit.bounds @ z]
        return self._kernel("impact", [*np.concatenate(rows)], self._at_an_instant, self.k, (*_INSTANT, IMPULSES))

    def tick(self, index: int) -> Prepared:
        """The same of a clock, by its number in the program."""
        numbers = [number for number, clock in enumerate(self.compiled.system.clocks) if clock.updates]
        name = f"tick_{numbers[index]}"
        return self._kernel(name, self._scalars[name], self._at_an_instant, self.k, _INSTANT)

    def solution(self, index: int) -> Prepared:
        """(x, S, dt, f) -> derivatives of the unknowns of an algebraic loop, column after column, at its solution: of the Newton
        step, whose derivative by the guesses themselves is -1."""
        steps = self._scalars[f"newton_{index}"]
        return self._kernel(f"newton_{index}", steps[len(steps) // 2 :], self._without_guesses, self.k, _INSTANT)

    @functools.cached_property
    def break_times(self) -> Kernel | None:
        """p -> for each break of time (b,) its time and its period, then their derivatives, column after column (2 b k,)."""
        found = breaks_of(self.compiled.system)
        if found is None:
            return None
        routine = found.routine
        inputs = routine.tape.inputs("p", dict(routine.blocks)["p"])
        directions = [{j: 1.0 for j, place in enumerate(self.varied.parameters) if place == p} for p in range(len(inputs))]
        along = derivatives_along(routine.outputs, list(inputs), directions, self.k)
        return numpy_kernel(Routine("breaks", routine.tape, routine.blocks, (*routine.outputs, *along.T.ravel())))

    # -- on the tape

    def _at_an_instant(self) -> list[_Direction]:
        return self._directions(instant=True)

    def _without_guesses(self) -> list[_Direction]:
        return [{} if place in self.guesses else direction for place, direction in enumerate(self._directions(instant=True))]

    def _directions(self, instant: bool = False) -> list[_Direction]:
        """Components of x, t and p, in this order, along the directions; of an `instant`, whose time moves, one more."""
        n, k, blocks = self.n, self.k, self._blocks
        x: list[_Direction] = [{j: blocks[SLOPES][j * n + i] for j in range(k)} for i in range(n)]
        t: _Direction = {}
        if instant:
            for i in range(n):
                x[i][k] = blocks[MOTION][i]
            t = {**dict(enumerate(blocks[TIMES])), k: 1.0}
        own = self.varied.parameters
        p: list[_Direction] = [
            {j: 1.0 for j, place in enumerate(own) if place == number} for number in range(len(self._given["p"]))
        ]
        return [*x, t, *p]

    def _along(self, values: Sequence[Any], directions: Sequence[Mapping[int, Any]], count: int) -> list[Any]:
        """Derivatives of values along the first `count` directions, column after column."""
        variables = [*self._given["x"], *self._given["t"], *self._given["p"]]
        own = [{j: part for j, part in parts.items() if j < count} for parts in directions]
        return list(derivatives_along(values, variables, own, count).T.ravel())

    def _kernel(
        self, name: str, values: Sequence[Any], directions: Callable[[], list[_Direction]], count: int, more: tuple[str, ...]
    ) -> Prepared:
        if name not in self._made:
            word = name.partition(" ")[0]
            kernels = self._compiled({word: [*values, *self._along(values, directions(), count)]}, more)
            self._made[name] = Prepared(kernels[word], kernels["prepare"])
        return self._made[name]

    @paused_collection()
    def _compiled(self, groups: Mapping[str, Sequence[Any]], more: tuple[str, ...]) -> dict[str, Kernel]:
        """Kernels of several groups of scalars, which share their parameters, and `prepare`; E372 where they are too long."""
        tape, moved = appended(self._tape, [scalar for group in groups.values() for scalar in group], "x", more)
        hoisted = hoist(tape, moved)
        if len(hoisted.tape) > MOST:
            title = f"{len(hoisted.tape)} steps of the variational equations are too many: at most {MOST}"
            why = f"{self.n} states and {self.k} numbers that are varied; nothing of it is in loops"
            cures = ("fewer numbers at a time", "a part of the model", "differences of runs: two for each number")
            raise refusal("E372", title, *cures, about=self.compiled.model.name, why=why, places=())
        blocks = tuple((name, hoisted.tape.blocks[name]) for name in ("t", "x", "p", "m"))
        routines = {"prepare": Routine("prepare", tape, (("p", len(self._given["p"])),), hoisted.prepared)}
        start = 0
        for name, group in groups.items():
            routines[name] = Routine(name, hoisted.tape, blocks, hoisted.outputs[start : start + len(group)])
            start += len(group)
        return kernels_of(routines, "llvm" if self.compiled.program.rates.is_machine_code else "numpy")


def variational_of(compiled: Compiled, varied: VariedNumbers) -> Variational:
    """The kernels of a model and of their derivatives by what is varied, or those of the last time where that was the same."""
    small = compiled.program.states + compiled.program.parameters <= KEPT
    found: Variational = compiled.last_varied.made(varied if small else None, lambda: Variational(compiled, varied))
    return found
