"""Ground: System -> what all work on a tape stands on: the system, its stages, a tape with its inputs, and sample states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.assembly.stages import Stages, stages_of
from bondgraph.assembly.system import System, Unknown
from bondgraph.tape.differentiate import SparseJacobian, jacobian
from bondgraph.tape.routine import reachable
from bondgraph.tape.scalar import Tape, TapeScalar
from bondgraph.tape.specialise import substitute
from bondgraph.tracing.on_tape.sampling import Samples, samples_of
from bondgraph.tracing.on_tape.values import Values, scalars_of


@dataclass(frozen=True)
class Ground:
    """A system and the tape that its values are on."""

    system: System
    stages: Stages
    tape: Tape
    inputs: Mapping[str, np.ndarray]
    """The blocks t, x, p, m."""
    ticking: frozenset[int]
    """Positions on the tape of states that clocks change."""
    sampled: Samples

    def unknowns(self, count: int) -> list[TapeScalar]:
        """New inputs of the tape that stand for so many unknowns."""
        return list(self.tape.inputs(f"w{len(self.tape.blocks)}", count))

    def reached(self, scalars: Sequence[Any]) -> set[int]:
        """Positions on the tape that scalars need."""
        return set(reachable(self.tape, [self.tape.scalar(scalar).index for scalar in scalars]))

    def without(self, inputs: Sequence[TapeScalar], scalars: Sequence[Any]) -> list[TapeScalar]:
        """Scalars with zero in place of some inputs."""
        nothing = {scalar.index: self.tape.constant(0.0) for scalar in inputs}
        return list(substitute(self.tape, scalars, nothing))

    def rates(self, values: Values) -> list[Any]:
        """Rates of all states, in a row; guesses stand still: what is differentiated does not depend on them."""
        guesses, rates = self.system.guesses, list[Any]()
        for state in self.system.states:
            rates += [0.0] * int(np.size(state.initial)) if state.name in guesses else scalars_of(values[state.rate])
        return rates

    def slopes(self, scalars: Sequence[Any]) -> SparseJacobian:
        """Derivatives of scalars with respect to the states and to time."""
        return jacobian(scalars, [*self.inputs["x"], self.inputs["t"][0]])


def ground_of(system: System) -> Ground:
    """A new tape for a system."""
    tape = Tape()
    sizes = {
        "t": 1,
        "x": sum(int(np.size(s.initial)) for s in system.states),
        "p": sum(int(np.size(v)) for v in system.parameters.values()),
        "m": len(system.modes),
    }
    inputs = {name: tape.inputs(name, size) for name, size in sizes.items()}
    changed = {state for clock in system.clocks for state, _ in clock.updates}
    ticking = frozenset(inputs["x"][k].index for name, places in system.places.items() if name in changed for k in places)
    samples = samples_of(system) if system.loops or system.unknowns else ()
    return Ground(system, stages_of(system), tape, inputs, ticking, Samples(tape, samples))


def along(sparse: SparseJacobian, rates: Sequence[Any], begin: Sequence[Any]) -> list[Any]:
    """Derivatives along the motion, from those with respect to states and time, added to what is there to `begin` with."""
    total = list(begin)
    for i, j, partial in zip(sparse.rows, sparse.columns, sparse.values, strict=True):
        total[i] = total[i] + partial * (rates[j] if j < len(rates) else 1.0)
    return total


@dataclass(frozen=True)
class Acting:
    """The unknowns whose residuals hold time derivatives as inputs w of the tape, and all values in terms of them."""

    w: tuple[TapeScalar, ...]
    owners: tuple[Unknown, ...]
    """The unknown that each of w is a scalar of."""
    values: Values
    decided: Mapping[str, Sequence[Any]]
    """Of elements with an algebraic unknown: where no unknown acts on what vanishes there, so that an impulse must."""
