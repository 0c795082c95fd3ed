"""Implicit equations: unknowns of algebraic loops, dependent storages and constraints -> explicit values on the tape.

Most are linear systems A w = b whose entries come from the statements themselves: A by differentiating the residuals
with respect to the unknowns, b from the statements run with the unknowns at zero. With the solution in place the statements run
once more; what does not depend on the unknowns is shared, because equal operations are stored once.

A nonlinear loop is solved by Newton's method in a fixed number of steps, straight-line like all else. It starts from states that
follow the solution along the run, w~' = dw/dt + kappa (w - w~), so that the steps only remove what the integrator left; before
the run and after events the states are found by a damped Newton iteration from outside (`bondgraph.run.bound`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.emit.numpy import run
from bondgraph.equations.system import Event, Loop, Statement, System, Unknown
from bondgraph.ops import TIME_DERIVATIVE
from bondgraph.tape.differentiate import jacobian
from bondgraph.tape.routine import Routine, program, reachable
from bondgraph.tape.scalar import Tape, TapeScalar, TraceError
from bondgraph.tape.solve import SingularSystem, solve
from bondgraph.tape.specialise import substitute
from bondgraph.tracing.impulses import Acting, after_impulse, jumps_at
from bondgraph.tracing.jumps import jumps
from bondgraph.tracing.modewise import SingularMode, solve_in_modes
from screws.scalars import absolute, array, equal, where

Values = dict[str, Any]


class Untraceable(Exception):
    """A formula that works on floats but does with a traced value what cannot be recorded."""

    def __init__(self, statement: Statement, error: Exception):
        self.statement = statement
        self.error = error
        super().__init__(str(error))


class Unsolvable(Exception):
    """A set of unknowns that its equations do not determine linearly; `reason` is "nonlinear", "singular" or "index"."""

    def __init__(
        self,
        reason: str,
        unknowns: Sequence[Unknown],
        loop: Loop | None,
        suspects: Sequence[str] = (),
        modes: Mapping[str, str] | None = None,
    ):
        self.reason = reason
        self.unknowns = tuple(unknowns)
        self.loop = loop
        self.suspects = tuple(suspects)
        self.modes = dict(modes or {})
        """Automaton -> state, where other modes have a solution."""
        super().__init__(reason)


@dataclass(frozen=True)
class Pursuit:
    """A nonlinear loop on the tape: its unknowns as inputs w, residuals and their matrix in terms of w, the guesses, the
    solution after Newton's steps, and at the guesses the residuals and the first step."""

    loop: Loop
    w: tuple[Any, ...]
    residuals: tuple[Any, ...]
    matrix: dict[tuple[int, int], Any]
    guess: tuple[Any, ...]
    solution: tuple[Any, ...]
    first_residuals: tuple[Any, ...]
    first_step: tuple[Any, ...]


STEPS = 3
"""Newton steps at every evaluation; each squares the relative error that the integrator left in the guesses."""

PULL = 1.0
"""Rate at which guesses are drawn to the solution, 1/s; it only keeps them from drifting."""


class Solver:
    """Runs the statements of a system on a tape and solves its implicit equations on the way."""

    def __init__(self, system: System, tape: Tape, inputs: Mapping[str, np.ndarray], samples: Sequence[Sequence[Any]]):
        self.system, self.tape, self.inputs, self.samples = system, tape, inputs, samples
        self.loop_at = {loop.start: loop for loop in system.loops}
        self.pursuits: list[Pursuit] = []
        self.late = _after_derivatives(system)
        self.fresh = 0
        self.algebraic = frozenset(u.element for u in system.unknowns if u.algebraic)
        self.acting: Acting | None = None
        self.decided: dict[str, tuple[list[Any], Any]] = {}
        ticking = {state for clock in system.clocks for state, _ in clock.updates}
        held = [state.name in ticking for state in system.states for _ in range(int(np.size(state.initial)))]
        self.held = frozenset(scalar.index for scalar, own in zip(inputs["x"], held, strict=True) if own)
        self.sought: dict[int, Unknown] = {}
        """Scalars of the tape that stand for the unknowns whose residuals hold time derivatives."""

    def values(self, given: Values) -> Values:
        """All values by name, from those that are given (states, parameters, modes, time)."""
        env = self._accelerations(given)
        for pursuit in self.pursuits[-len([loop for loop in self.system.loops if loop.guesses]) :]:
            self._follow(env, pursuit)
        return env

    def _accelerations(self, given: Values) -> Values:
        unknowns = self.system.unknowns
        if not unknowns:
            return self._run(given)
        late = {out for index in self.late for out in self.system.statements[index].outs}
        if late & {state.rate for state in self.system.states}:
            raise Unsolvable("index", unknowns, None)
        return self._solved(given, unknowns, None, lambda env: self._late(self._run(env)))

    def _run(self, given: Values) -> Values:
        """Statements that need no time derivative, in order."""
        env, index, statements = dict(given), 0, self.system.statements
        while index < len(statements):
            loop = self.loop_at.get(index)
            if loop is not None:
                body = range(loop.start, loop.stop)
                solved = self._pursued if loop.guesses else self._solved
                env = solved(env, loop.unknowns, loop, functools.partial(self._span, body))
                index = loop.stop
                continue
            if index not in self.late:
                self._step(env, index)
            index += 1
        return env

    def _span(self, body: range, given: Values) -> Values:
        env = dict(given)
        for index in body:
            if index not in self.late:
                self._step(env, index)
        return env

    def _step(self, env: Values, index: int) -> None:
        statement = self.system.statements[index]
        try:
            results = statement.op(*[env[arg] for arg in statement.args])
        except (TraceError, TypeError, ValueError, AttributeError) as error:
            raise Untraceable(statement, error) from error
        outs = statement.outs
        env.update(zip(outs, (results,) if len(outs) == 1 else results, strict=True))

    def _late(self, env: Values) -> Values:
        """Time derivatives along the motion, and what follows from them."""
        guesses = {name for loop in self.system.loops for name in loop.guesses}
        rates: list[Any] = []
        for state in self.system.states:  # guesses stand still here: what follows from them does not depend on them
            held = state.name in guesses
            rates += [0.0] * int(np.size(state.initial)) if held else scalars_of(env[state.rate])
        along = [*self.inputs["x"], self.inputs["t"][0]]
        self._refuse_unknown_derivatives(env)
        for index in sorted(self.late):
            statement = self.system.statements[index]
            if statement.op is not TIME_DERIVATIVE:
                self._step(env, index)
                continue
            value = env[statement.args[0]]
            flat = scalars_of(value)
            if statement.element in self.algebraic:
                slope = self._slope_where_decided(statement.element, flat, along, rates, env)
                env[statement.outs[0]] = shaped(slope, np.shape(value))
                continue
            if jumps(self.tape, [self.tape.scalar(scalar).index for scalar in flat], self.held):
                raise Unsolvable("jump", self.system.unknowns, None, [statement.element])
            env[statement.outs[0]] = shaped(_along(jacobian(flat, along), rates, len(flat)), np.shape(value))
        return env

    def _slope_where_decided(
        self, element: str, flat: Sequence[Any], along: Sequence[Any], rates: Sequence[Any], env: Values
    ) -> list[Any]:
        """Time derivative of what vanishes at an element, in modes in which no unknown acts on it; zero in others, where it
        vanishes by itself."""
        if element not in self.decided:
            self.decided[element] = self._decided(flat, along, env)
        conditions, sparse = self.decided[element]
        if sparse is None:
            return [0.0 * value for value in flat]
        slope = _along(sparse, rates, len(flat))
        return [where(condition, value, 0.0) for condition, value in zip(conditions, slope, strict=True)]

    def _decided(self, flat: Sequence[Any], along: Sequence[Any], env: Values) -> tuple[list[Any], Any]:
        """Of values: conditions that no unknown acts on them, and then their derivatives; None where one always does.

        An unknown that its own mode makes zero does not act.
        """
        w = [TapeScalar(self.tape, index) for index in self.sought]
        totals: list[Any] = [self.tape.scalar(0.0) for _ in flat]
        acting = jacobian(flat, w)
        gates = {s.outs[0]: s for s in self.system.statements if s.op.name == "choose"}
        for i, j, partial in zip(acting.rows, acting.columns, acting.values, strict=True):
            unknown = self.sought[w[j].index]
            gate = gates.get(unknown.residual)
            zero = gate is not None and gate.args[2] == unknown.value
            acts = gate.op(env[gate.args[0]], 1.0, 0.0) if gate is not None and zero else 1.0
            totals[i] = totals[i] + acts * absolute(partial)
        numbers = self._sampled({(0, k): self.tape.scalar(total) for k, total in enumerate(totals)})
        if all(np.all(values != 0.0) for values in numbers.values()):
            return [], None
        none = {scalar.index: self.tape.constant(0.0) for scalar in w}
        return [equal(total, 0.0) for total in totals], jacobian(list(substitute(self.tape, flat, none)), along)

    def _solved(
        self, given: Values, unknowns: Sequence[Unknown], loop: Loop | None, run: Callable[[Values], Values]
    ) -> Values:
        """Values with the unknowns such that their residuals vanish."""
        shapes = [self.system.values[u.value].shape or () for u in unknowns]
        sizes = [int(np.prod(shape)) for shape in shapes]
        self.fresh += 1
        w = list(self.tape.inputs(f"w{self.fresh}", sum(sizes)))
        if loop is None:
            owners = [unknown for unknown, size in zip(unknowns, sizes, strict=True) for _ in range(size)]
            self.sought = {scalar.index: unknown for scalar, unknown in zip(w, owners, strict=True)}
        env = run({**given, **_placed(unknowns, shapes, sizes, w)})
        if loop is None:
            conditions = {element: found[0] for element, found in self.decided.items() if found[1] is not None}
            self.acting = Acting(tuple(w), tuple(unknowns), env, conditions)
        residuals = self._residuals(env, unknowns)
        sparse = jacobian(residuals, w)
        entries = dict(
            zip(zip(map(int, sparse.rows), map(int, sparse.columns), strict=True), sparse.values, strict=True)
        )
        self._refuse_nonlinear(entries, w, unknowns, loop)
        zero = [0.0] * len(w)
        right = [-r for r in self._residuals(run({**given, **_placed(unknowns, shapes, sizes, zero)}), unknowns)]
        solution = self._regular(unknowns, loop, lambda: solve_in_modes(
            self.system, self.tape, entries, right, self._sampled))  # fmt: skip
        return run({**given, **_placed(unknowns, shapes, sizes, solution)})

    def _regular(self, unknowns: Sequence[Unknown], loop: Loop | None, solve: Callable[[], list[Any]]) -> list[Any]:
        """What `solve` gives; an `Unsolvable` with the elements to suspect where a system is singular."""
        try:
            return solve()
        except (SingularSystem, SingularMode) as failure:
            modes = failure.modes if isinstance(failure, SingularMode) else {}
            singular = failure.singular if isinstance(failure, SingularMode) else failure
        elements = [u.element for u in unknowns for _ in range(int(np.prod(self.system.values[u.value].shape or ())))]
        suspects = dict.fromkeys(elements[k] for k in (*singular.equations, *singular.unknowns))
        raise Unsolvable("singular", unknowns, loop, list(suspects), modes)

    def is_impulse(self, event: Event) -> bool:
        """Whether an event makes something jump that unknown efforts or flows hold."""
        acting = self.acting
        return acting is not None and (event.impulse or jumps_at(self.system, self.tape, self.inputs, acting, event))

    def impulse(self, event: Event, before: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """States after the impulse of an event from those before it, and what it adds to the guards of all events; the same
        states and nothing where it makes nothing jump."""
        acting = self.acting
        if acting is None or not self.is_impulse(event):
            return list(before), []
        found: list[tuple[list[Any], list[Any]]] = []

        def solve_once() -> list[Any]:
            found.append(after_impulse(
                self.system, self.tape, self.inputs, acting, event, before, self._sampled))  # fmt: skip
            return found[0][0]

        self._regular(acting.unknowns, None, solve_once)
        return found[0]

    def _pursued(
        self, given: Values, unknowns: Sequence[Unknown], loop: Loop | None, run: Callable[[Values], Values]
    ) -> Values:
        """Values with the unknowns of a nonlinear loop after Newton steps from the guesses."""
        assert loop is not None
        shapes = [self.system.values[u.value].shape or () for u in unknowns]
        sizes = [int(np.prod(shape)) for shape in shapes]
        self.fresh += 1
        w = list(self.tape.inputs(f"w{self.fresh}", sum(sizes)))
        residuals = self._residuals(run({**given, **_placed(unknowns, shapes, sizes, w)}), unknowns)
        sparse = jacobian(residuals, w)
        keys = list(zip(map(int, sparse.rows), map(int, sparse.columns), strict=True))
        guess = [self.tape.scalar(scalar) for name in loop.guesses for scalar in scalars_of(given[name])]
        now, first = guess, None
        for _ in range(STEPS):
            places = {a.index: b.index for a, b in zip(w, now, strict=True)}
            at = substitute(self.tape, [*residuals, *sparse.values], places)
            entries = dict(zip(keys, at[len(w) :], strict=True))
            right = [-r for r in at[: len(w)]]
            try:
                step = solve(entries, right, self._sampled(entries))
            except SingularSystem:
                raise Unsolvable("singular", unknowns, loop) from None
            now = [self.tape.scalar(a + b) for a, b in zip(now, step, strict=True)]
            first = first or (at[: len(w)], step)
        assert first is not None
        self.pursuits.append(Pursuit(loop, tuple(w), tuple(residuals), dict(zip(keys, sparse.values, strict=True)),
                                     tuple(guess), tuple(now), tuple(first[0]), tuple(first[1])))  # fmt: skip
        return run({**given, **_placed(unknowns, shapes, sizes, now)})

    def _follow(self, env: Values, pursuit: Pursuit) -> None:
        """Rates of a nonlinear loop's guesses: dw/dt from the residuals along the motion, and a pull to the solution."""
        guesses = {name for loop in self.system.loops for name in loop.guesses}
        along, rates = [self.inputs["t"][0]], [1.0]
        for state in self.system.states:
            if state.name not in guesses:
                along += scalars_of(env[state.name])
                rates += scalars_of(env[state.rate])
        count = len(pursuit.w)
        sparse = jacobian(pursuit.residuals, along)
        places = {a.index: b.index for a, b in zip(pursuit.w, pursuit.solution, strict=True)}
        at = substitute(self.tape, [*sparse.values, *pursuit.matrix.values()], places)
        right: list[Any] = [0.0] * count
        for i, j, partial in zip(sparse.rows, sparse.columns, at, strict=False):
            right[i] = right[i] - partial * rates[j]
        entries = dict(zip(pursuit.matrix, at[len(sparse.values) :], strict=True))
        slope = solve(entries, right, self._sampled(entries))
        start = 0
        for name in pursuit.loop.guesses:
            shape = np.shape(env[name])
            size = int(np.prod(shape))
            part = range(start, start + size)
            pull = [slope[k] + PULL * (pursuit.solution[k] - pursuit.guess[k]) for k in part]
            env[f"{name}'"] = shaped(pull, shape)
            start += size

    def _residuals(self, env: Values, unknowns: Sequence[Unknown]) -> list[Any]:
        return [scalar for unknown in unknowns for scalar in scalars_of(env[unknown.residual])]

    def _refuse_unknown_derivatives(self, env: Values) -> None:
        """A value whose time derivative is needed must not depend on the unknowns: their rates are not known."""
        statements = [self.system.statements[index] for index in sorted(self.late)]
        argument = {
            s.element: s.args[0] for s in statements if s.op is TIME_DERIVATIVE and s.element not in self.algebraic
        }
        roots = {e: [self.tape.scalar(v).index for v in scalars_of(env[a])] for e, a in argument.items()}
        if not self.sought.keys() & set(reachable(self.tape, [i for group in roots.values() for i in group])):
            return
        met = {
            element: [self.sought[i] for i in reachable(self.tape, group) if i in self.sought]
            for element, group in roots.items()
        }
        guilty = [element for element, unknowns in met.items() if unknowns]
        raise Unsolvable("index", list(dict.fromkeys(u for e in guilty for u in met[e])), None, guilty)

    def _refuse_nonlinear(
        self, entries: Mapping[Any, Any], w: Sequence[Any], unknowns: Sequence[Unknown], loop: Loop | None
    ) -> None:
        roots = [self.tape.scalar(value).index for value in entries.values()]
        own = {scalar.index for scalar in w}
        if own & set(reachable(self.tape, roots)):
            raise Unsolvable("nonlinear", unknowns, loop)

    def _sampled(self, entries: Mapping[tuple[int, int], Any]) -> dict[tuple[int, int], np.ndarray]:
        """Values of the matrix at the sample states; unknowns of outer systems count as zero."""
        blocks = tuple(self.tape.blocks.items())
        routine = Routine("matrix", self.tape, blocks, tuple(entries.values()))
        given = [np.array(block) for block in zip(*self.samples, strict=True)]
        known, count = dict(zip(("t", "x", "p", "m"), given, strict=True)), len(self.samples)
        table = np.zeros((count, len(entries)))
        run(program(routine), tuple(known.get(name, np.zeros((count, size))) for name, size in blocks), table)
        finite = np.all(np.isfinite(table), axis=1)
        table = table[finite] if np.any(finite) else table
        return {key: table[:, k] for k, key in enumerate(entries)}


def _along(sparse: Any, rates: Sequence[Any], count: int) -> list[Any]:
    """Derivatives of values along the motion, from those with respect to the states and to time."""
    slope: list[Any] = [0.0] * count
    for i, j, partial in zip(sparse.rows, sparse.columns, sparse.values, strict=True):
        slope[i] = slope[i] + partial * (rates[j] if j < len(rates) else 1.0)
    return slope


def scalars_of(value: Any) -> list[Any]:
    """The scalars of a value, in row-major order."""
    return list(np.asarray(value).flat) if np.ndim(value) else [value]


def shaped(scalars: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """A value of a shape from its scalars in row-major order."""
    return array(list(scalars)).reshape(shape) if shape else scalars[0]


def _placed(
    unknowns: Sequence[Unknown], shapes: Sequence[tuple[int, ...]], sizes: Sequence[int], scalars: Sequence[Any]
) -> Values:
    out, start = {}, 0
    for unknown, shape, size in zip(unknowns, shapes, sizes, strict=True):
        out[unknown.value] = shaped(scalars[start : start + size], shape)
        start += size
    return out


def _after_derivatives(system: System) -> frozenset[int]:
    """Statements that are time derivatives or need one."""
    late: set[int] = set()
    names: set[str] = set()
    for index, statement in enumerate(system.statements):
        if statement.op is TIME_DERIVATIVE or any(arg in names for arg in statement.args):
            late.add(index)
            names.update(statement.outs)
    return frozenset(late)
