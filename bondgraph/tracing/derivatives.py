"""Statements that are time derivatives or need one: values differentiated along the motion, where that is possible.

What vanishes at a constraint or switch need not be differentiated in modes in which unknowns decide it at once; what is
unknown itself, or jumps, cannot be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bondgraph.assembly.system import System, Unknown
from bondgraph.model.ops import TIME_DERIVATIVE, Choice
from bondgraph.tape.differentiate import jacobian
from bondgraph.tape.routine import reachable
from bondgraph.tape.scalar import Tape, TapeScalar
from bondgraph.tape.specialise import substitute
from bondgraph.tracing.jumps import jumps
from bondgraph.tracing.linear.indeterminate import Sampled
from bondgraph.tracing.refusals import Unsolvable
from bondgraph.tracing.values import Values, carry_out, scalars_of, shaped
from screws.scalars import absolute, equal, where


class TimeDerivatives:
    """The late statements of a system: those that are time derivatives, or need one."""

    def __init__(self, system: System, tape: Tape, inputs: Mapping[str, np.ndarray], sampled: Sampled):
        self.system, self.tape, self.inputs, self.sampled = system, tape, inputs, sampled
        self.late = _late(system)
        self.algebraic = frozenset(u.element for u in system.unknowns if u.algebraic)
        self.decided: dict[str, tuple[list[Any], Any]] = {}
        ticking = {state for clock in system.clocks for state, _ in clock.updates}
        held = [state.name in ticking for state in system.states for _ in range(int(np.size(state.initial)))]
        self.held = frozenset(scalar.index for scalar, own in zip(inputs["x"], held, strict=True) if own)
        self.sought: dict[int, Unknown] = {}
        """Scalars of the tape that stand for the unknowns whose residuals hold time derivatives."""

    @property
    def decide_rates(self) -> bool:
        """Whether the rate of a state needs a time derivative, so that those could not be found in one go."""
        late = {out for index in self.late for out in self.system.statements[index].outs}
        return bool(late & {state.rate for state in self.system.states})

    @property
    def conditions(self) -> dict[str, list[Any]]:
        """Elements with an algebraic unknown -> where no unknown acts on what vanishes there."""
        return {element: found[0] for element, found in self.decided.items() if found[1] is not None}

    def carry_out(self, env: Values) -> Values:
        """Time derivatives along the motion, and what follows from them, added to the values."""
        guesses = self.system.guesses
        rates: list[Any] = []
        for state in self.system.states:  # guesses stand still here: what follows from them does not depend on them
            held = state.name in guesses
            rates += [0.0] * int(np.size(state.initial)) if held else scalars_of(env[state.rate])
        along = [*self.inputs["x"], self.inputs["t"][0]]
        self._refuse_unknown(env)
        for index in sorted(self.late):
            statement = self.system.statements[index]
            if statement.op is not TIME_DERIVATIVE:
                carry_out(statement, env)
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
        gates = {s.outs[0]: s for s in self.system.statements if isinstance(s.op, Choice)}
        for i, j, partial in zip(acting.rows, acting.columns, acting.values, strict=True):
            unknown = self.sought[w[j].index]
            gate = gates.get(unknown.residual)
            zero = gate is not None and gate.args[2] == unknown.value
            acts = gate.op(env[gate.args[0]], 1.0, 0.0) if gate is not None and zero else 1.0
            totals[i] = totals[i] + acts * absolute(partial)
        numbers = self.sampled({(0, k): self.tape.scalar(total) for k, total in enumerate(totals)})
        if all(np.all(values != 0.0) for values in numbers.values()):
            return [], None
        none = {scalar.index: self.tape.constant(0.0) for scalar in w}
        return [equal(total, 0.0) for total in totals], jacobian(list(substitute(self.tape, flat, none)), along)

    def _refuse_unknown(self, env: Values) -> None:
        """A value whose time derivative is needed must not depend on the unknowns: their rates are not known."""
        statements = [self.system.statements[index] for index in sorted(self.late)]
        argument = {s.element: s.args[0] for s in statements if s.op is TIME_DERIVATIVE and s.element not in self.algebraic}
        roots = {e: [self.tape.scalar(v).index for v in scalars_of(env[a])] for e, a in argument.items()}
        if not self.sought.keys() & set(reachable(self.tape, [i for group in roots.values() for i in group])):
            return
        met = {
            element: [self.sought[i] for i in reachable(self.tape, group) if i in self.sought] for element, group in roots.items()
        }
        guilty = [element for element, unknowns in met.items() if unknowns]
        raise Unsolvable("index", list(dict.fromkeys(u for e in guilty for u in met[e])), None, guilty)


def _late(system: System) -> frozenset[int]:
    late: set[int] = set()
    names: set[str] = set()
    for index, statement in enumerate(system.statements):
        if statement.op is TIME_DERIVATIVE or any(arg in names for arg in statement.args):
            late.add(index)
            names.update(statement.outs)
    return frozenset(late)


def _along(sparse: Any, rates: Sequence[Any], count: int) -> list[Any]:
    """Derivatives of values along the motion, from those with respect to the states and to time."""
    slope: list[Any] = [0.0] * count
    for i, j, partial in zip(sparse.rows, sparse.columns, sparse.values, strict=True):
        slope[i] = slope[i] + partial * (rates[j] if j < len(rates) else 1.0)
    return slope
