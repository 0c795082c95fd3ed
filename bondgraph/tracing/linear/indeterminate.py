"""Singular systems that have solutions all the same: the motion is unique, how ideal elements share what it takes is not.

Two clutches that stick side by side hold one speed with two torques; two diodes that block in series stop one current with two
voltages. The equations A w = b then depend on each other, and there are w = N y without any effect. Of all solutions the one is
taken whose reactions (torques of clutches that stick, voltages of open switches, currents of closed ones) have the least
norm, each measured by its natural size, so that neither units nor order nor causality matter and equal parts have equal shares.

Where b does not fit, what is left (g = L^T b, L^T A = 0) must vanish by the states alone: it is differentiated along the motion,
and its rate takes the place of the equation. Where no unknown acts on that either, the mode contradicts itself as long as g is
not zero. The ideal elements then push as stiff ones would, so that a diode among them can give way.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bondgraph.tracing.linear.definite import factorised
from bondgraph.tracing.linear.ideal import Ideal, IdealReaction
from bondgraph.tracing.linear.sizes import equilibrated, magnitudes, natural_sizes
from bondgraph.tracing.linear.solve import SINGULAR, Eliminated, SingularSystem, eliminate, rows_of
from bondgraph.tracing.on_tape.context import Ground
from bondgraph.tracing.on_tape.values import Entries
from screws.scalars import absolute, less, maximum, sign, where

GAP = 1e3
"""How much smaller what is left must be than the smallest pivot for a system to count as singular."""

ROUNDING = 1e-9
"""Part of the terms of a sum below which it counts as zero, at sample states."""

CONTRADICTS = 1e-6
"""Part of its terms from which the right side of an equation that has no unknowns left is a contradiction in a run; of what time
alone decides, which no integration has touched, `ROUNDING`."""

REDUCTIONS = 3
"""Most times that equations without unknowns are differentiated."""

PREFERS = 1e4
"""By how much what has no limit (a stop) is taken before what has one (friction)."""

STIFF = 1e6
"""Stiffness that ideal elements have for each other while they contradict, in natural sizes."""


@dataclass(frozen=True)
class Shared:
    """A solution of a singular system."""

    values: list[Any]
    elements: tuple[str, ...] = ()
    """Those whose reactions the equations leave open, so that these are shares by least norm."""
    contradiction: Any = None
    """None where the equations always fit; else a scalar that is positive where they do not."""
    always: bool = False
    """Whether what does not fit is decided by time and parameters alone, whatever the states are."""
    decided: bool = True
    """Whether the motion is unique."""
    singular: SingularSystem | None = field(default=None, compare=False)


def solve_shared(ground: Ground, entries: Entries, right: Sequence[Any], ideal: Ideal) -> Shared:
    """Solution of A w = b of least norm, in one mode, where elimination finds A singular; `SingularSystem` where it is not clear
    whether A is, or unknowns without any reaction are left open."""
    entries, right = dict(entries), list(right)
    found = _eliminated(ground, entries, right)
    misfits = _misfits(ground, found, right, ideal)
    for _ in range(REDUCTIONS):
        rates = _rates(ground, found, misfits, ideal)
        if not rates:
            break
        for i, (row, value) in rates.items():
            entries = {key: entry for key, entry in entries.items() if key[0] != i}
            entries |= {(i, j): entry for j, entry in row.items()}
            right[i] = value
        found = _eliminated(ground, entries, right)
        misfits = _misfits(ground, found, right, ideal)
    if not found.equations:
        return Shared(found.solution({}))
    singular = SingularSystem(found.equations, found.unknowns)
    free = {j: found.null_vector(j) for j in found.unknowns}
    reactions, slopes, sizes = _open(ground, ideal, free)
    if not all(any(j in row for row in slopes) for j in free):
        raise singular
    own = found.solution({})
    least = _least_norm(reactions, slopes, sizes, own, list(free))
    by_time = {i for i, (value, _) in misfits.items() if not _on_states(ground, value)}
    contradiction = _contradiction(misfits, by_time)
    if contradiction is not None:
        pushed = _pushes(ground, found, entries, free, ideal)
        size = sum((absolute(r.at(own)) / s for r, s in zip(reactions, sizes, strict=True)), 0.0)
        active = less(0.0, contradiction)
        least = [y + where(active, STIFF * (d + sign(d) * size), 0.0) for y, d in zip(least, pushed, strict=True)]
    values = found.solution(dict(zip(free, least, strict=True)))
    decided = not _moves(ground, ideal, free)
    elements = tuple(dict.fromkeys(r.element for r in reactions))
    return Shared(values, elements, contradiction, bool(by_time), decided, singular)


def _eliminated(ground: Ground, entries: Entries, right: Sequence[Any]) -> Eliminated:
    found = eliminate(entries, right, equilibrated(ground.sampled(entries), len(right), len(right)))
    if found.equations and not (found.left < SINGULAR and GAP * found.left < found.least):
        raise SingularSystem(found.equations, found.unknowns)
    return found


def _is_nothing(ground: Ground, values: Sequence[Any]) -> list[bool]:
    """Which values are no more than the rounding of their terms, at all samples."""
    if not values:
        return []
    numbers = ground.sampled.row([*values, *magnitudes(ground.tape, values)])
    return [
        bool(np.all(np.abs(value) <= ROUNDING * size))
        for value, size in zip(numbers[: len(values)], numbers[len(values) :], strict=True)
    ]


Misfit = tuple[Any, Any]


def _misfits(ground: Ground, found: Eliminated, right: Sequence[Any], ideal: Ideal) -> dict[int, Misfit]:
    """Equation without unknowns -> its right side and the size of the terms of that, where it is more than rounding."""
    if not found.equations:
        return {}
    tape = ground.tape
    sizes = magnitudes(tape, ideal.demanded(right))
    terms = [sum((absolute(c) * sizes[j] for j, c in found.combination(i).items()), tape.scalar(0.0)) for i in found.equations]
    values = [tape.scalar(value) for value in ideal.demanded([found.right[i] for i in found.equations])]
    numbers = ground.sampled.row([*values, *terms])
    out: dict[int, Misfit] = {}
    for k, i in enumerate(found.equations):
        if np.any(np.abs(numbers[k]) > ROUNDING * numbers[len(values) + k]):
            out[i] = (values[k], terms[k])
    return out


def _on_states(ground: Ground, value: Any) -> bool:
    """Whether a value depends on states."""
    return bool({scalar.index for scalar in ground.inputs["x"]} & ground.reached([value]))


def _rates(
    ground: Ground, found: Eliminated, misfits: Mapping[int, Misfit], ideal: Ideal
) -> dict[int, tuple[Mapping[int, Any], Any]]:
    """Equation -> its rate along the motion, of those misfits on whose rates unknowns act."""
    places = list(misfits) if ideal.motion else list(found.equations)  # what an impulse must stop is not in its right side
    if not places:
        return {}
    derived = ideal.derived([found.combination(i) for i in places], [found.right[i] for i in places])
    out: dict[int, tuple[Mapping[int, Any], Any]] = {}
    for i, (row, value) in zip(places, derived, strict=True):
        nothing = _is_nothing(ground, list(row.values()))
        kept = {j: entry for (j, entry), zero in zip(row.items(), nothing, strict=True) if not zero}
        if kept:
            out[i] = (kept, value)
    return out


def _open(
    ground: Ground, ideal: Ideal, free: Mapping[int, Sequence[Any]]
) -> tuple[list[IdealReaction], list[dict[int, Any]], list[float]]:
    """Reactions that undecided unknowns act on, by how much, and their natural sizes."""
    every = {
        (k, j): ground.tape.scalar(sum((slope * vector[i] for i, slope in reaction.slopes.items()), 0.0))
        for k, reaction in enumerate(ideal.reactions)
        for j, vector in free.items()
    }
    rows: list[dict[int, Any]] = [{} for _ in ideal.reactions]
    for ((k, j), value), zero in zip(every.items(), _is_nothing(ground, list(every.values())), strict=True):
        if not zero:
            rows[k][j] = value
    kept = [(reaction, row) for reaction, row in zip(ideal.reactions, rows, strict=True) if row]
    place = {j: k for k, j in enumerate(free)}
    numbers = ground.sampled({(i, place[j]): value for i, (_, row) in enumerate(kept) for j, value in row.items()})
    factors, _ = natural_sizes(numbers, len(kept), len(free))
    return [r for r, _ in kept], [row for _, row in kept], [1.0 / float(factor) for factor in factors]


def _least_norm(
    reactions: Sequence[IdealReaction],
    slopes: Sequence[Mapping[int, Any]],
    sizes: Sequence[float],
    own: Sequence[Any],
    free: Sequence[int],
) -> list[Any]:
    """y such that the reactions at w + N y have the least norm: sum of (r / size)^2. What has limits shares in proportion to
    them, and beside what has none takes next to nothing."""
    limits = [None if r.limit is None else absolute(r.limit) / s for r, s in zip(reactions, sizes, strict=True)]
    total = sum((limit for limit in limits if limit is not None), 0.0)
    unlimited = any(limit is None for limit in limits)
    weights = []
    for limit, size in zip(limits, sizes, strict=True):
        weight: Any = 1.0
        if limit is not None:
            part = where(less(0.0, total), limit / where(less(0.0, total), total, 1.0), 1.0)
            weight = (PREFERS if unlimited else 1.0) / (part + 1.0 / PREFERS)
        weights.append(weight / size**2)
    normal: dict[tuple[int, int], Any] = {}
    right = []
    for i, a in enumerate(free):
        value: Any = 0.0
        for reaction, row, weight in zip(reactions, slopes, weights, strict=True):
            if a in row:
                value = value - weight * row[a] * reaction.at(own)
                for j, b in enumerate(free):
                    if b in row:
                        normal[i, j] = normal.get((i, j), 0.0) + weight * row[a] * row[b]
        right.append(value)
    return factorised(rows_of(normal, len(free)))(right)


def _contradiction(misfits: Mapping[int, Misfit], by_time: Collection[int]) -> Any:
    worst: Any = None
    for i, (value, terms) in misfits.items():
        allowed = ROUNDING if i in by_time else CONTRADICTS
        part = where(less(0.0, terms), absolute(value) / where(less(0.0, terms), terms, 1.0), 0.0) - allowed
        worst = part if worst is None else maximum(worst, part)
    return worst


def _pushes(ground: Ground, found: Eliminated, entries: Entries, free: Mapping[int, Sequence[Any]], ideal: Ideal) -> list[Any]:
    """Which way y goes where the equations contradict: what elements with a little compliance D would do.

    (A - eps D) w = b gives w = N y / eps with L^T D N y = -L^T b.
    """
    r, c = natural_sizes(ground.sampled(entries), len(found.rows), len(found.rows))
    matrix, right = {}, []
    for k, i in enumerate(found.equations):
        left = found.combination(i)
        right.append(-ideal.demanded([found.right[i]])[0])
        for m, j in enumerate(free):
            value = sum(
                (factor * ideal.senses[a] * free[j][a] / float(r[a] * c[a]) for a, factor in left.items() if a in ideal.senses),
                0.0,
            )
            matrix[k, m] = ground.tape.scalar(value)
    nothing = _is_nothing(ground, list(matrix.values()))
    matrix = {key: value for (key, value), zero in zip(matrix.items(), nothing, strict=True) if not zero}
    size = len(right)
    pushed = eliminate(matrix, right, equilibrated(ground.sampled(matrix), size, size)) if matrix else None
    if pushed is None or pushed.equations:
        return [0.0] * size
    return pushed.solution({})


def _moves(ground: Ground, ideal: Ideal, free: Mapping[int, Sequence[Any]]) -> bool:
    """Whether undecided unknowns change the rate of a state."""
    totals: dict[tuple[int, int], Any] = {}
    for (state, unknown), slope in ideal.moves.items():
        for j, vector in free.items():
            totals[state, j] = totals.get((state, j), 0.0) + slope * vector[unknown]
    return not all(_is_nothing(ground, [ground.tape.scalar(value) for value in totals.values()]))
