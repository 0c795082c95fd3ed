"""Kinks and jumps of the formulas at a point: conditions that a rounding error would decide otherwise, with other results.

A condition whose two sides are equal at the point is a tie. The tape is evaluated again with the other outcome of each tie. The
formula has a kink there if values stay the same and derivatives change, and a jump if values change. Guards against a division
by zero have no finite other outcome.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from typing import Any

import numpy as np

from bondgraph.tape import opcodes as op
from bondgraph.tape.differentiate import active_nodes
from bondgraph.tape.interpret import blocks_of_tape, evaluate_nodes, term_sizes
from bondgraph.tape.nodes import Nodes
from bondgraph.tape.routine import Routine

MAX_TIES = 64
TIE = 1e-13
"""Difference up to which the sides of a condition count as equal, relative to the terms that are added in them."""
CHANGE = 1e-6
"""Relative change of a result that exceeds rounding error."""

Changes = dict[int, tuple[float, float]]
"""Values on both sides, by the number of the result."""
Variables = Collection[tuple[str, int]]
"""Inputs as (block, index)."""


def other_side(routine: Routine, blocks: Sequence[np.ndarray], variables: Variables) -> Changes | None:
    """Return the results that a tie changes, or None. Only ties that depend on one of the `variables` count; `blocks` are the
    inputs of the routine, one array each."""
    tape = routine.tape
    roots = [tape.scalar(output).index for output in routine.outputs]
    inputs = blocks_of_tape(routine, blocks)
    values: dict[int, Any] = {}
    evaluate_nodes(tape, roots, inputs, values)
    here = np.array([values[root] for root in roots], dtype=float)
    sizes = term_sizes(tape, values)
    floor = CHANGE * np.array([sizes[root] for root in roots])
    names = list(tape.blocks)
    seeds = {k for k in values if tape.nodes[k][0] == op.INPUT and (names[tape.nodes[k][1]], tape.nodes[k][2]) in variables}
    varying = set(active_nodes(tape, roots, seeds))
    for position, outcomes in _ties(tape, varying, values, sizes)[:MAX_TIES]:
        for outcome in outcomes:
            changed: dict[int, Any] = {position: np.float64(outcome)}
            evaluate_nodes(tape, roots, inputs, changed)
            beyond = np.array([changed[root] for root in roots], dtype=float)
            differs = np.abs(beyond - here) > np.fmax(floor, CHANGE * np.abs(beyond))
            if np.isfinite(beyond).all() and differs.any():
                return {int(k): (float(here[k]), float(beyond[k])) for k in np.flatnonzero(differs)}
    return None


def _ties(
    tape: Nodes, varying: Container[int], values: Mapping[int, Any], sizes: Mapping[int, float]
) -> list[tuple[int, tuple[float, ...]]]:
    """Return the positions of ties with `varying` sides, and the other outcomes of each."""
    ties: list[tuple[int, tuple[float, ...]]] = []
    for position in sorted(values):
        code, *arguments = tape.nodes[position]
        if code not in (op.LESS, op.LESS_EQUAL, op.SIGN) or not any(a in varying for a in arguments):
            continue
        difference = values[arguments[0]] - (values[arguments[1]] if code != op.SIGN else 0.0)
        if abs(difference) <= TIE * sum(sizes[a] for a in arguments):
            ties.append((position, (1.0, -1.0) if code == op.SIGN else (1.0 - float(values[position]),)))
    return ties
