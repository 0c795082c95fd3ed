"""Dry friction on a tape: how its effort while it slips follows the unknown efforts of constraints, such as normal forces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.assembly.system import Statement, Unknown
from bondgraph.tracing.on_tape.context import Acting, Ground
from bondgraph.tracing.on_tape.values import nonzero, partials, scalars_of


@dataclass(frozen=True)
class Rubbing:
    """Dry friction: its unknown, the places of its scalars among all unknowns, the choice between sticking and slipping, and how
    its effort while it slips depends on the efforts of constraints: (its scalar, place of the other) -> slope."""

    unknown: Unknown
    places: tuple[int, ...]
    gate: Statement
    slopes: dict[tuple[int, int], Any]
    limit: Any
    """Size of its effort while it slips, without the viscous part."""

    @property
    def normals(self) -> tuple[int, ...]:
        """Places of the efforts that it follows."""
        return tuple(dict.fromkeys(j for _, j in self.slopes))


def rubbing(ground: Ground, acting: Acting) -> Iterator[Rubbing]:
    """All dry friction of a system."""
    released = {s.element: s for s in ground.system.statements if s.outs[0] == f"{s.element}.released effort"}
    for unknown in ground.system.unknowns:
        if unknown.element not in released:
            continue
        given = scalars_of(acting.values[f"{unknown.element}.released effort"])
        places = tuple(k for k, owner in enumerate(acting.owners) if owner.element == unknown.element)
        normal = {k for k, u in enumerate(acting.owners) if u.reason == "constraint" and u.element not in released}
        slopes = {(k, j): slope for (k, j), slope in nonzero(partials(given, acting.w)).items() if j in normal}
        limit = _limit(released[unknown.element], acting)
        yield Rubbing(unknown, places, ground.stages.gates[unknown.residual], slopes, limit)


def _limit(statement: Statement, acting: Acting) -> Any:
    """What slipping takes in the mode that follows sticking, without any flow: of several directions along the heading."""
    _, flow, *others = (acting.values[name] for name in statement.args)
    still = np.zeros(np.shape(flow)) if np.ndim(flow) else 0.0
    effort = statement.op(1.0, still, *others)
    if not np.ndim(flow):
        return effort
    return sum(e * u for e, u in zip(effort, others[0], strict=True))
