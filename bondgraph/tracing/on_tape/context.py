"""Tracing context: a system, its stages, a tape with its inputs, and sample states; derivatives along the motion.

Pivots of implicit equations are chosen from the values of their matrices at the sample states.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.assembly.stages import Stages, stages_of
from bondgraph.assembly.system import System, Unknown
from bondgraph.tape.differentiate import SparseJacobian, jacobian
from bondgraph.tape.interpret import evaluate_nodes, mark_rounding
from bondgraph.tape.routine import reachable
from bondgraph.tape.scalar import Tape, TapeScalar
from bondgraph.tape.specialise import substitute
from bondgraph.tracing.on_tape.values import Entries, Values, flat, scalars_of

SAMPLES_PER_MODE = 4
"""Number of states, in addition to the start, that are sampled in each combination of modes to choose pivots."""

MAX_COMBINATIONS = 64


def samples_of(system: System) -> list[tuple[np.ndarray, ...]]:
    rng = np.random.default_rng(0)
    x = flat(state.initial for state in system.states)
    p = flat(system.parameters.values())
    spread = flat(state.typical for state in system.states)
    computed = [k for start in system.starts for name in start.results for k in system.places.get(name, ())]
    # Their start values are not known yet, and equal ones would make equations dependent.
    x[computed] += spread[computed] * np.random.default_rng(1).normal(size=len(computed))
    out: list[tuple[np.ndarray, ...]] = []
    for combination in _mode_combinations(system):
        m = np.array(combination, dtype=float)
        out.append((np.zeros(1), x, p, m))
        for _ in range(SAMPLES_PER_MODE):
            out.append((rng.uniform(size=1), x + spread * rng.normal(size=len(x)), p, m))
    return out


def _mode_combinations(system: System) -> list[tuple[int, ...]]:
    counts = [len(mode.states) for mode in system.modes.values()]
    start = tuple(mode.states.index(mode.start) for mode in system.modes.values())
    if math.prod(counts) <= MAX_COMBINATIONS:
        return list(itertools.product(*map(range, counts)))
    changed = [(*start[:k], value, *start[k + 1 :]) for k, count in enumerate(counts) for value in range(count)]
    rng = np.random.default_rng(0)
    drawn = [tuple(map(int, rng.integers(counts))) for _ in range(MAX_COMBINATIONS)]
    return list(dict.fromkeys([start, *changed, *drawn]))[: max(MAX_COMBINATIONS, 1 + len(changed))]


MAX_CACHED_BYTES = 2**27


SUSPECT = 1e-8
"""Fraction of the largest entry of a matrix below which an entry may be only the rounding error of its terms and is examined."""


class Samples:
    """Values of a tape's scalars at sample states (t, x, p, m); unknowns of outer systems count as zero.

    Successive matrices have most of their terms in common, so values are cached, up to `MAX_CACHED_BYTES`.
    """

    def __init__(self, tape: Tape, samples: Sequence[Sequence[Any]]):
        self._tape, self._count = tape, len(samples)
        self.states = tuple(samples)
        blocks = zip(*samples, strict=True)  # empty without samples
        self._blocks = {name: np.array(block) for name, block in zip(("t", "x", "p", "m"), blocks, strict=False)}
        self._cache: dict[int, Any] = {}
        self._rounding: dict[int, np.ndarray] = {}
        self._marked: set[int] = set()
        self.shrunk: dict[int, float] = {}
        """Factor by which the samples of each state were scaled, by index of the state."""

    def shrink(self, states: Sequence[int], factor: float) -> None:
        self._blocks["x"][:, list(states)] *= factor
        self._forget()
        for k in states:
            self.shrunk[k] = self.shrunk.get(k, 1.0) * factor

    def weakened(self, sources: Sequence[int], factor: float) -> Samples:
        scaled = []
        for t, x, p, m in self.states:
            weak = np.array(p, dtype=float)
            weak[list(sources)] *= factor
            scaled.append((t, factor * np.asarray(x), weak, m))
        return Samples(self._tape, scaled)

    def with_other_parameters(self) -> Samples:
        """Return the samples with random values of all parameters: a value that is zero with both sets of parameters may be
        zero always."""
        random, moved = np.random.default_rng(0), []
        for t, x, p, m in self.states:
            p = np.asarray(p, dtype=float)
            moved.append((t, x, np.where(p == 0.0, 1.0, p) * random.uniform(0.5, 1.5, len(p)), m))
        return Samples(self._tape, moved)

    def _forget(self) -> None:
        self._cache.clear()
        self._rounding.clear()
        self._marked.clear()

    def row(self, scalars: Sequence[Any]) -> list[np.ndarray]:
        """Return values (samples,) of each scalar at the samples where all scalars are finite; at all samples if there are
        none."""
        return list(_finite(self.table(scalars)).T)

    def __call__(self, entries: Entries) -> dict[tuple[int, int], np.ndarray]:
        """Return values (samples,) of each entry of a matrix, like `row`, with zero where an entry is only the rounding error of
        its terms."""
        scalars = list(entries.values())
        table = self.table(scalars)
        sizes = np.abs(table)
        small = (sizes < SUSPECT * sizes.max(axis=1, initial=0.0, keepdims=True)) & (table != 0.0)
        suspects = {int(k): self._tape.scalar(scalars[k]).index for k in np.flatnonzero(small.any(axis=0))}
        if suspects:
            positions = reachable(self._tape, suspects.values(), skip=self._marked)
            mark_rounding(self._tape, positions, self._cache, self._rounding)
            self._marked.update(positions)
        for k, position in suspects.items():
            if position in self._rounding:
                table[self._rounding[position], k] = 0.0
        return dict(zip(entries, _finite(table).T, strict=True))

    def table(self, scalars: Sequence[Any]) -> np.ndarray:
        if 8 * self._count * len(self._cache) > MAX_CACHED_BYTES:
            self._forget()
        roots = [self._tape.scalar(value).index for value in scalars]
        for name in self._tape.blocks.keys() - self._blocks.keys():
            self._blocks[name] = np.zeros((self._count, self._tape.blocks[name]))
        evaluate_nodes(self._tape, roots, [self._blocks[name] for name in self._tape.blocks], self._cache)
        table = np.zeros((self._count, len(roots)))
        for k, root in enumerate(roots):
            table[:, k] = self._cache[root]
        return table


def _finite(table: np.ndarray) -> np.ndarray:
    finite = np.all(np.isfinite(table), axis=1)
    return table[finite] if np.any(finite) else table


@dataclass(frozen=True)
class TracingContext:
    system: System
    stages: Stages
    tape: Tape
    inputs: Mapping[str, np.ndarray]
    ticking: frozenset[int]
    """Tape positions of the states that clocks change."""
    sampled: Samples

    def unknowns(self, count: int) -> list[TapeScalar]:
        return list(self.tape.inputs(f"w{len(self.tape.blocks)}", count))

    def reached(self, scalars: Sequence[Any]) -> set[int]:
        return set(reachable(self.tape, [self.tape.scalar(scalar).index for scalar in scalars]))

    def without(self, inputs: Sequence[TapeScalar], scalars: Sequence[Any]) -> list[TapeScalar]:
        zeros = {scalar.index: self.tape.constant(0.0) for scalar in inputs}
        return list(substitute(self.tape, scalars, zeros))

    def rates(self, values: Values) -> list[Any]:
        """Return the rates of all states, concatenated; they are zero for guesses and for unknown rates, as no differentiated
        value depends on these states."""
        guesses, rates = self.system.guesses, list[Any]()
        for state in self.system.states:
            is_ready = state.name not in guesses and state.rate in values
            rates += scalars_of(values[state.rate]) if is_ready else [0.0] * int(np.size(state.initial))
        return rates

    def slopes(self, scalars: Sequence[Any]) -> SparseJacobian:
        return jacobian(scalars, [*self.inputs["x"], self.inputs["t"][0]])


def context_of(system: System) -> TracingContext:
    tape = Tape()
    sizes = {
        "t": 1,
        "x": sum(int(np.size(s.initial)) for s in system.states),
        "p": sum(int(np.size(v)) for v in system.parameters.values()),
        "m": len(system.modes),
    }
    inputs = {name: tape.inputs(name, size) for name, size in sizes.items()}
    changed = {state for clock in system.clocks for state, _ in clock.updates}
    ticking = frozenset(inputs["x"][k].index for name, indices in system.places.items() if name in changed for k in indices)
    samples = samples_of(system) if system.loops or system.unknowns else ()
    return TracingContext(system, stages_of(system), tape, inputs, ticking, Samples(tape, samples))


def along(sparse: SparseJacobian, rates: Sequence[Any], begin: Sequence[Any]) -> list[Any]:
    total = list(begin)
    for i, j, partial in zip(sparse.rows, sparse.columns, sparse.values, strict=True):
        total[i] = total[i] + partial * (rates[j] if j < len(rates) else 1.0)
    return total


@dataclass(frozen=True)
class ActingUnknowns:
    """The unknowns whose residuals contain time derivatives, as inputs w of the tape, and all values in terms of w."""

    w: tuple[TapeScalar, ...]
    owners: tuple[Unknown, ...]
    values: Values
    decided: Mapping[str, Sequence[Any]]
    """Conditions, by element with an algebraic unknown, under which its vanishing quantity depends on no unknown, so that an
    impulse may have to stop it."""
    sides: tuple[TapeScalar, ...] = ()
    """Side on which the values lie, for each kink of piecewise linear equations."""
    folds: tuple[tuple[frozenset[int], Any], ...] = ()
    """Equations with a common kink, with the ratio of the determinants beyond and before the kink."""
