"""Implicit equations: unknowns of algebraic loops, dependent storages and constraints -> explicit values on the tape.

Most are linear systems A w = b whose entries come from the statements themselves: A by differentiating the residuals
with respect to the unknowns, b from the statements run with the unknowns at zero. With the solution in place the statements run
once more; what does not depend on the unknowns is shared, because equal operations are stored once. A nonlinear loop is
solved by Newton's method, straight-line like all else (`pursuit`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from bondgraph.assembly.system import Loop, LoweredTransition, System, Unknown
from bondgraph.tape.routine import reachable
from bondgraph.tape.scalar import Tape
from bondgraph.tracing.collisions import Colliding, collision_table
from bondgraph.tracing.derivatives import TimeDerivatives
from bondgraph.tracing.impulses import Acting, Impulse, after_impulse, jumps_at
from bondgraph.tracing.linear.closures import Closures, closures_of, positions_held
from bondgraph.tracing.linear.modewise import SharedMode, SingularMode, solve_in_modes
from bondgraph.tracing.linear.reactions import along_the_motion
from bondgraph.tracing.linear.solve import SingularSystem
from bondgraph.tracing.newton import Guess, Pursuit, follow, pursue
from bondgraph.tracing.refusals import Unsolvable
from bondgraph.tracing.sampling import Samples
from bondgraph.tracing.values import Entries, Values, carry_out, partials, placed, residuals_of, scalars_of, shapes_of

Found = TypeVar("Found")


class Solver:
    """Runs the statements of a system on a tape and solves its implicit equations on the way."""

    def __init__(self, system: System, tape: Tape, inputs: Mapping[str, np.ndarray], samples: Sequence[Sequence[Any]]):
        self.system, self.tape, self.inputs, self.samples = system, tape, inputs, samples
        self.sampled = Samples(tape, samples)
        self.loop_at = {loop.start: loop for loop in system.loops}
        self.pursuits: list[Pursuit] = []
        self.derivatives = TimeDerivatives(system, tape, inputs, self.sampled)
        self.nonlinear: dict[int, Loop] = {}
        """Loops that need guesses for their unknowns; without these, the values are none of the system's."""
        self.fresh = 0
        self.acting: Acting | None = None
        self.closures: Closures | None = None
        """Constraints on positions, where there are any."""
        self.shared_modes: list[SharedMode] = []
        """Modes in which the unknowns whose residuals hold time derivatives are not decided by them alone."""

    def values(self, given: Values) -> Values:
        """All values by name, from those that are given (states, parameters, modes, time)."""
        env = self._accelerations(given)
        for pursuit in self.pursuits[-len([loop for loop in self.system.loops if loop.guesses]) :]:
            follow(self.system, self.tape, self.inputs, env, pursuit)
        return env

    def _accelerations(self, given: Values) -> Values:
        unknowns = self.system.unknowns
        if not unknowns:
            return self._run(given)
        if self.derivatives.decide_rates:
            raise Unsolvable("index", unknowns, None)
        return self._solved(given, unknowns, None, lambda env: self.derivatives.carry_out(self._run(env)))

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
            if index not in self.derivatives.late:
                carry_out(statements[index], env)
            index += 1
        return env

    def _span(self, body: range, given: Values) -> Values:
        env = dict(given)
        for index in body:
            if index not in self.derivatives.late:
                carry_out(self.system.statements[index], env)
        return env

    def _inputs(self, shapes: Sequence[tuple[int, ...]]) -> list[Any]:
        """New inputs of the tape, one for each scalar of unknowns."""
        self.fresh += 1
        return list(self.tape.inputs(f"w{self.fresh}", sum(int(np.prod(shape)) for shape in shapes)))

    def _solved(self, given: Values, unknowns: Sequence[Unknown], loop: Loop | None, run: Callable[[Values], Values]) -> Values:
        """Values with the unknowns such that their residuals vanish."""
        shapes = shapes_of(self.system, unknowns)
        w = self._inputs(shapes)
        if loop is None:
            owners = [unknown for unknown, shape in zip(unknowns, shapes, strict=True) for _ in range(int(np.prod(shape)))]
            self.derivatives.sought = {scalar.index: unknown for scalar, unknown in zip(w, owners, strict=True)}
        env = run({**given, **placed(unknowns, shapes, w)})
        if loop is None:
            self.acting = Acting(tuple(w), tuple(unknowns), env, self.derivatives.conditions)
        entries = partials(residuals_of(env, unknowns), w)
        if self._is_nonlinear(entries, w):
            if loop is None:
                raise Unsolvable("nonlinear", unknowns, loop)
            self.nonlinear[loop.start] = loop
            return env
        zero = [0.0] * len(w)
        right = [-r for r in residuals_of(run({**given, **placed(unknowns, shapes, zero)}), unknowns)]
        ideal = (
            None
            if loop is not None
            else along_the_motion(self.system, self.tape, self.inputs, w, unknowns, env, self.derivatives.held)
        )
        held = positions_held(self.system, unknowns) if loop is None else frozenset()
        solved = self._regular(
            unknowns, loop, lambda: solve_in_modes(self.system, self.tape, entries, right, self.sampled, ideal, held)
        )
        self.shared_modes += solved.modes
        values = run({**given, **placed(unknowns, shapes, solved.values)})
        if loop is None:
            self.closures = closures_of(self.system, values, entries, solved.repeating)
        return values

    def _pursued(self, given: Values, unknowns: Sequence[Unknown], loop: Loop | None, run: Callable[[Values], Values]) -> Values:
        """Values with the unknowns of a nonlinear loop after Newton steps from the guesses."""
        assert loop is not None
        shapes = shapes_of(self.system, unknowns)
        w = self._inputs(shapes)
        residuals = residuals_of(run({**given, **placed(unknowns, shapes, w)}), unknowns)
        scalars = tuple(self.tape.scalar(scalar) for name in loop.guesses for scalar in scalars_of(given[name]))
        places = {scalar.index: k for k, scalar in enumerate(self.inputs["x"])}
        free = all(self.system.values[unknown.value].near is None for unknown in unknowns)
        guess = Guess(scalars, tuple(places[scalar.index] for scalar in scalars), free)
        try:
            pursuit = pursue(self.tape, loop, w, residuals, guess, self.sampled)
        except SingularSystem:
            raise Unsolvable("singular", unknowns, loop) from None
        self.pursuits.append(pursuit)
        return run({**given, **placed(unknowns, shapes, pursuit.solution)})

    def _regular(self, unknowns: Sequence[Unknown], loop: Loop | None, solve: Callable[[], Found]) -> Found:
        """What `solve` gives; an `Unsolvable` with the elements to suspect where a system is singular."""
        try:
            return solve()
        except (SingularSystem, SingularMode) as failure:
            stuck: SingularSystem | SingularMode = failure
        sizes = [int(np.prod(shape)) for shape in shapes_of(self.system, unknowns)]
        elements = [u.element for u, size in zip(unknowns, sizes, strict=True) for _ in range(size)]

        def suspects(singular: SingularSystem) -> list[str]:
            return list(dict.fromkeys(elements[k] for k in (*singular.equations, *singular.unknowns)))

        if isinstance(stuck, SingularSystem):
            raise Unsolvable("singular", unknowns, loop, suspects(stuck))
        modes = [(case, suspects(singular)) for case, singular in stuck.cases]
        raise Unsolvable("singular", unknowns, loop, list(dict.fromkeys(e for _, own in modes for e in own)), modes)

    def is_impulse(self, event: LoweredTransition) -> bool:
        """Whether an event makes something jump that unknown efforts or flows hold."""
        acting = self.acting
        return acting is not None and (event.impulse or jumps_at(self.system, self.tape, self.inputs, acting, event))

    def impulse(self, event: LoweredTransition, before: Sequence[Any]) -> Impulse:
        """The impulse of an event, from the states before it; the same states where it makes nothing jump."""
        acting = self.acting
        if acting is None or not self.is_impulse(event):
            return Impulse(list(before), [], [])
        return self._regular(
            acting.unknowns, None, lambda: after_impulse(self.system, self.tape, self.inputs, acting, event, before, self.sampled)
        )

    def elements_of(self, singular: SingularSystem) -> tuple[str, ...]:
        """Elements of the equations and unknowns of a singular part of the outer system."""
        sizes = [int(np.prod(shape)) for shape in shapes_of(self.system, self.system.unknowns)]
        owners = [u.element for u, size in zip(self.system.unknowns, sizes, strict=True) for _ in range(size)]
        return tuple(dict.fromkeys(owners[k] for k in (*singular.equations, *singular.unknowns)))

    def collisions(self, chosen: Colliding) -> list[Any]:
        """The table of collisions that may happen together (`collision_table`); empty where it would be singular."""
        if self.acting is None:
            return []
        try:
            return collision_table(self.system, self.tape, self.inputs, self.acting, chosen, self.sampled)
        except (SingularSystem, SingularMode):
            return []

    def _is_nonlinear(self, entries: Entries, w: Sequence[Any]) -> bool:
        roots = [self.tape.scalar(value).index for value in entries.values()]
        return bool({scalar.index for scalar in w} & set(reachable(self.tape, roots)))
