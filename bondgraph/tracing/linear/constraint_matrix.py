"""Constraints on positions as one matrix, A = J M^-1 J^T, for the run: values of a system -> its entries, and what repeats what.

A planar loop of hinges in space holds three motions twice: its constraints are redundant, the motion is unique, and how they
share the forces is not. The matrix is then singular wherever the loop closes, though not at states off it. Of all solutions
that of least norm is taken, each multiplier measured by its own diagonal entry (`linear.definite`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bondgraph.assembly.system import Closing, System
from bondgraph.model.ops import STABILISED
from bondgraph.tracing.linear.definite import Repeating
from bondgraph.tracing.linear.equations import SparseEquations
from bondgraph.tracing.on_tape.values import Values, owners_of, scalars_of


@dataclass(frozen=True)
class Closures:
    """The constraints of a system, and the scalars of their routine: their flows, the entries of A, then for each row that
    repeats others its right side, then what is left of each."""

    closing: Closing
    scalars: tuple[Any, ...]

    @property
    def flows(self) -> tuple[Any, ...]:
        """The flows alone."""
        return self.scalars[: len(self.closing.flows)]

    @property
    def matrix(self) -> tuple[Any, ...]:
        """The entries of A alone."""
        first = len(self.closing.flows)
        return self.scalars[first : first + len(self.closing.pattern)]


def closures_of(system: System, values: Values, equations: SparseEquations, repeating: Sequence[Repeating]) -> Closures | None:
    """The constraints among the unknowns of a system with values in place; None without any."""
    owners = owners_of(system, system.unknowns)
    flows = [(u.element, s) for u in system.unknowns if u.reason == "constraint" for s in scalars_of(values[u.vanishing])]
    if not flows:
        return None
    places = [k for k in sorted(positions_held(system)) if owners[k].residual == owners[k].held]
    at = {place: row for row, place in enumerate(places)}
    own = {(at[i], at[j]): value for (i, j), value in equations.entries.items() if i in at and j in at}
    rows = [(at[i], b, r) for part in repeating for i, b, r in zip(part.rows, part.right, part.left, strict=True) if i in at]
    closing = Closing(
        tuple(element for element, _ in flows), tuple(owners[k].element for k in places), tuple(own), tuple(i for i, _, _ in rows)
    )
    scalars = (*(flow for _, flow in flows), *own.values(), *(b for _, b, _ in rows), *(r for _, _, r in rows))
    return Closures(closing, scalars)


def positions_held(system: System) -> frozenset[int]:
    """Places, in the row of all scalars, of unknowns that hold a position which is a function of the states."""
    states = {state.name for state in system.states}
    makes = {out for s in system.statements for out in s.outs if s.op is STABILISED and s.args[2] not in states}
    return frozenset(k for k, unknown in enumerate(owners_of(system, system.unknowns)) if unknown.held in makes)
