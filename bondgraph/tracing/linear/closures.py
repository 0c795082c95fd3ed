"""Constraints on positions as one matrix, A = J M^-1 J^T: what repeats what, and solutions where some do.

A planar loop of hinges in space holds three motions twice: its constraints are redundant, the motion is unique, and how they
share the forces is not. The matrix is then singular wherever the loop closes, though not at states off it. Of all solutions
that of least norm is taken, each multiplier measured by its own diagonal entry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.assembly.system import Closing, System, Unknown
from bondgraph.model.ops import STABILISED
from bondgraph.tracing.linear.definite import solve_semidefinite
from bondgraph.tracing.values import Entries, scalars_of

SYMMETRIC = 1e-6
"""Part of its entries up to which a matrix, each row with a sign of its own, may differ from a symmetric and semidefinite one."""


@dataclass(frozen=True)
class Repeating:
    """A part of a system whose equations repeat each other: these, their right sides, and what the solution leaves of them."""

    rows: tuple[int, ...]
    right: Sequence[Any]
    left: Sequence[Any]


@dataclass(frozen=True)
class Closures:
    """The constraints of a system, and the scalars of their routine: their flows, the entries of A, then for each row that
    repeats others its right side, then what is left of each."""

    closing: Closing
    scalars: tuple[Any, ...]


def closures_of(system: System, values: Mapping[str, Any], entries: Entries, repeating: Sequence[Repeating]) -> Closures | None:
    """The constraints among the unknowns of a system with values in place; None without any."""
    owners = [u for u in system.unknowns for _ in scalars_of(values[u.value])]
    flows = [(u.element, s) for u in system.unknowns if u.reason == "constraint" for s in scalars_of(values[u.vanishing])]
    held = positions_held(system, system.unknowns)
    places = [k for k in sorted(held) if owners[k].residual == owners[k].held]
    at = {place: row for row, place in enumerate(places)}
    own = {(at[i], at[j]): value for (i, j), value in entries.items() if i in at and j in at}
    rows = [(at[i], b, r) for part in repeating for i, b, r in zip(part.rows, part.right, part.left, strict=True) if i in at]
    closing = Closing(
        tuple(element for element, _ in flows), tuple(owners[k].element for k in places), tuple(own), tuple(i for i, _, _ in rows)
    )
    scalars = (*(flow for _, flow in flows), *own.values(), *(b for _, b, _ in rows), *(r for _, _, r in rows))
    return Closures(closing, scalars) if flows else None


def positions_held(system: System, unknowns: Sequence[Unknown]) -> frozenset[int]:
    """Places, in the row of all scalars, of unknowns that hold a position which is a function of the states."""
    states = {state.name for state in system.states}
    makes = {out: s for s in system.statements for out in s.outs}
    found: list[int] = []
    at = 0
    for unknown in unknowns:
        count = int(np.prod(system.values[unknown.value].shape or ()))
        held = makes.get(unknown.held)
        if held is not None and held.op is STABILISED and held.args[2] not in states:
            found += range(at, at + count)
        at += count
    return frozenset(found)


def solve_repeating(
    entries: Entries, right: Sequence[Any], numbers: Mapping[tuple[int, int], np.ndarray]
) -> tuple[list[Any], list[Any]] | None:
    """Solution of least norm and what it leaves; None for a matrix that is not that of constraints on positions."""
    n = len(right)
    matrices = np.zeros((len(next(iter(numbers.values()))), n, n))
    for (i, j), values in numbers.items():
        matrices[:, i, j] = values
    diagonal = matrices[:, range(n), range(n)]
    if not np.all(diagonal[0]) or np.any(np.sign(diagonal) * np.sign(diagonal[0]) < 0.0):
        return None
    sizes = np.abs(diagonal).max(axis=0)
    scale = 1.0 / np.sqrt(sizes)
    scaled = np.sign(diagonal[0])[:, None] * scale[:, None] * matrices * scale
    skew = np.abs(scaled - scaled.transpose(0, 2, 1)).max()
    if skew > SYMMETRIC or np.linalg.eigvalsh(scaled).min() < -SYMMETRIC:
        return None
    return solve_semidefinite(entries, right, list(np.sign(diagonal[0]) * sizes))
