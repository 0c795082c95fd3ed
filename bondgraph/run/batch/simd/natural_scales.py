"""Natural scales of several runs in SIMD lanes: compute the fastest rates and scales of each run from its couplings before its
error control needs them.

Runs whose couplings share a structure go through `balancing` in groups of four; other runs get their scales one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from bondgraph.emit.kernel import aligned_zeros
from bondgraph.emit.kernel_language.language import Array, Fixed, Ints, Reals, Routine, Table, external, inline
from bondgraph.run.accuracy import balancing, error_weights
from bondgraph.run.accuracy.fields import FASTEST_RATES, PROPAGATED, Control
from bondgraph.run.sparsity.structure import Structure
from bondgraph.run.table import FieldTable

FOUR = 4
"""Number of runs per group: divisions dominate, and wider vectors do not speed them up."""

Controls = Annotated[list[Any], Array(Control)]
ArrayOfEach = Annotated[list[Any], Array(Array(float))]
"""Addresses of the same array in all runs."""


class LaneScales(Table):
    # Tables of the error control of all runs, and procedures for a single run.
    weights: Controls
    weights_raise_sizes: Routine
    couplings: Routine
    local_scales: Routine
    # Numbers of the runs in a group, in lanes; indices of these runs; 1 for each due run that is not yet in a group.
    values: Reals
    rates: Reals
    scales: Reals
    work: Reals
    members: Ints
    left: Ints


def lane_scales(n: int, entries: int, weights: Sequence[FieldTable]) -> FieldTable:
    library, table = error_weights.machine_code(), FieldTable(LaneScales)
    lengths = {"values": entries, "rates": n, "scales": n, "work": max(3 * n + 1, n + entries)}
    for name, length in lengths.items():
        table.point(name, aligned_zeros(length * FOUR))
    for name, length in {"members": FOUR, "left": len(weights)}.items():
        table.point(name, np.zeros(length, dtype=np.int64))
    for name in ("weights_raise_sizes", "couplings", "local_scales"):
        table.point(name, library.address(name))
    table.point("weights", np.array([each.address for each in weights], dtype=np.uint64))
    return table


def scale_ahead(a: LaneScales, t: Reals, x: ArrayOfEach, m: ArrayOfEach, due: Ints, count: int) -> None:
    """Compute natural scales of the `count` runs that are `due` and whose nonzeros are ready, from the time of each run and the
    addresses of its states and modes."""
    for k in range(count):
        w = a.weights[due[k]]
        a.weights_raise_sizes(w, x[k])
        w.scaled = 0
        a.couplings(w, t[k], x[k], m[k])
    by_fours(a, due, count, FASTEST_RATES)
    for k in range(count):
        w = a.weights[due[k]]
        if w.scaled == FASTEST_RATES:
            a.local_scales(w, t[k], x[k], m[k], w.size)
    by_fours(a, due, count, PROPAGATED)


def by_fours(a: LaneScales, due: Ints, count: int, level: int) -> None:
    left, members = a.left, a.members
    for k in range(count):
        left[k] = 1
    for first in range(count):
        if left[first] == 1:
            structure, joined = a.weights[due[first]].pattern.structure_key, 0
            for member in range(FOUR):
                members[member] = due[first]
            for k in range(first, count):
                if left[k] == 1 and joined < FOUR and a.weights[due[k]].pattern.structure_key == structure:
                    members[joined] = due[k]
                    left[k] = 0
                    joined += 1
            if joined > 1 and level == FASTEST_RATES:
                fastest_of_four(a)
            if joined > 1 and level == PROPAGATED and a.weights[a.members[0]].scaled == FASTEST_RATES:
                propagate_of_four(a)


def fastest_of_four(a: LaneScales) -> None:
    """Compute the fastest rates of the runs in a group; if one of them needs its strong cycles balanced, each run computes its
    own rates instead."""
    w = a.weights[a.members[0]]
    uneven = a.work[3 * w.n * FOUR :]
    load_lanes(a, a.values, "values", w.pattern.off_diagonal_count)
    load_lanes(a, a.rates, "diagonal", w.n)
    fastest(w.pattern.structure, a.values, a.rates, a.work)
    if uneven[0] + uneven[1] + uneven[2] + uneven[3] == 0.0:
        store_lanes(a, a.rates, "fastest", w.n)
        set_level(a, FASTEST_RATES)


def propagate_of_four(a: LaneScales) -> None:
    w = a.weights[a.members[0]]
    load_lanes(a, a.values, "values", w.pattern.off_diagonal_count)
    load_lanes(a, a.rates, "fastest", w.n)
    load_lanes(a, a.scales, "later", w.n)
    propagate(w.pattern.structure, a.values, a.rates, a.scales, a.work)
    store_lanes(a, a.scales, "later", w.n)
    set_level(a, PROPAGATED)


@external
def fastest(s: Structure, values: Reals, rates: Reals, work: Reals) -> None:
    for lane in range(FOUR):
        balancing.fastest(s, values[lane::FOUR], rates[lane::FOUR], work[lane::FOUR])


@external
def propagate(s: Structure, values: Reals, speed: Reals, scales: Reals, work: Reals) -> None:
    for lane in range(FOUR):
        balancing.propagate(s, values[lane::FOUR], speed[lane::FOUR], scales[lane::FOUR], work[lane::FOUR])


@inline
def array_of(a: LaneScales, member: int, name: Fixed) -> Reals:
    numbers: Reals = getattr(a.weights[a.members[member]], name)
    return numbers


def load_lanes(a: LaneScales, wide: Reals, name: Fixed, count: int) -> None:
    one, two, three, four = array_of(a, 0, name), array_of(a, 1, name), array_of(a, 2, name), array_of(a, 3, name)
    for i in range(count):
        lanes = wide[i * FOUR :]
        lanes[0], lanes[1], lanes[2], lanes[3] = one[i], two[i], three[i], four[i]


def store_lanes(a: LaneScales, wide: Reals, name: Fixed, count: int) -> None:
    one, two, three, four = array_of(a, 0, name), array_of(a, 1, name), array_of(a, 2, name), array_of(a, 3, name)
    for i in range(count):
        lanes = wide[i * FOUR :]
        one[i], two[i], three[i], four[i] = lanes[0], lanes[1], lanes[2], lanes[3]


def set_level(a: LaneScales, level: int) -> None:
    for member in range(FOUR):
        w = a.weights[a.members[member]]
        w.scaled = level
