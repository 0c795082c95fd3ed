"""Constraint (Delassus) matrix A = J M^-1 J^T of the position constraints in a run, and its redundant rows.

A planar loop of hinges in space constrains three motions twice: its constraints are redundant, so its motion is unique, but its
forces are not. The matrix is then singular wherever the loop closes, but not at other states. The least-norm solution is used;
each multiplier is scaled by its own diagonal entry (`linear.indeterminate`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bondgraph.assembly.system import ConstraintMatrixLayout, System
from bondgraph.model.ops import STABILISED
from bondgraph.tracing.linear.equations import SparseEquations
from bondgraph.tracing.linear.indeterminate import RedundantPart
from bondgraph.tracing.on_tape.values import Values, owners_of, scalars_of


@dataclass(frozen=True)
class Closures:
    """The constraints of a system, and the scalars of their routine: flows, entries of A, and the right-hand sides and residuals
    of redundant rows."""

    closing: ConstraintMatrixLayout
    scalars: tuple[Any, ...]

    @property
    def flows(self) -> tuple[Any, ...]:
        return self.scalars[: len(self.closing.flows)]

    @property
    def matrix(self) -> tuple[Any, ...]:
        first = len(self.closing.flows)
        return self.scalars[first : first + len(self.closing.pattern)]


def closures_of(
    system: System, values: Values, equations: SparseEquations, repeating: Sequence[RedundantPart]
) -> Closures | None:
    owners = owners_of(system, system.unknowns)
    flows = [(u.element, s) for u in system.unknowns if u.reason == "constraint" for s in scalars_of(values[u.vanishing])]
    if not flows:
        return None
    always = [k for k in sorted(positions_held(system)) if owners[k].residual == owners[k].held]
    at = {k: row for row, k in enumerate(always)}
    entries = {(at[i], at[j]): value for (i, j), value in equations.entries.items() if i in at and j in at}
    rows = [(at[i], b, r) for part in repeating for i, b, r in zip(part.rows, part.right, part.residuals, strict=True) if i in at]
    elements = tuple(owners[k].element for k in always)
    closing = ConstraintMatrixLayout(
        tuple(element for element, _ in flows), elements, tuple(entries), tuple(i for i, _, _ in rows)
    )
    scalars = (*(flow for _, flow in flows), *entries.values(), *(b for _, b, _ in rows), *(r for _, _, r in rows))
    return Closures(closing, scalars)


def positions_held(system: System) -> frozenset[int]:
    """Return the indices, among the scalars of all unknowns, of constraints on positions that are computed and are not states."""
    states = {state.name for state in system.states}
    makes = {out for s in system.statements for out in s.outs if s.op is STABILISED and s.args[2] not in states}
    return frozenset(k for k, unknown in enumerate(owners_of(system, system.unknowns)) if unknown.held in makes)
