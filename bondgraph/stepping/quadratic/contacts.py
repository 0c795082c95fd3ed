"""Rows of the contacts of a step: gaps that stay open, friction within its cone, and how far each slips."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bondgraph.model.model import ContactPoint
from bondgraph.stepping.quadratic.cone import CONE, Cone, directions
from bondgraph.stepping.quadratic.layout import Wanted
from bondgraph.stepping.quadratic.values import Sparse, StepValues
from screws.scalars import maximum, minimum, where


@dataclass
class ContactRows:
    """What contacts add to the program of a step."""

    cones: list[Cone] = field(default_factory=list)
    """For each contact where its rows are."""
    rows: Sparse = field(default_factory=dict)
    """Entries (row, velocity) of what must not be below `lower`."""
    lower: list[Any] = field(default_factory=list)
    friction: list[Any] = field(default_factory=list)
    """Coefficient of each contact."""
    gaps: list[Any] = field(default_factory=list)
    """Of each contact."""
    slips: Sparse = field(default_factory=dict)
    """Entries (slip, velocity)."""
    drift: list[Any] = field(default_factory=list)
    """Of each slip over the step, with all velocities zero."""

    @property
    def count(self) -> int:
        """Of rows."""
        return len(self.lower)


def contact_rows(values: StepValues, wanted: Wanted) -> ContactRows:
    """The rows of all contacts of a model."""
    found = ContactRows()
    for contact in values.model.contacts:
        _add(found, values, wanted, contact)
    return found


def _add(found: ContactRows, values: StepValues, wanted: Wanted, contact: ContactPoint) -> None:
    gap, rate = values.at(contact.gap)[0], values.at(contact.gap_rate)
    normal = {k: value for (_, k), value in values.slopes(rate).items()}
    sliding, coefficient = _slip(values, contact)
    D = values.slopes(sliding) if sliding else {}
    moves = sorted({i for i, _ in D})
    facets = directions(len(moves), wanted.facets)
    exact = len(moves) == 2 and wanted.facets == CONE
    cone = Cone(contact.path, found.count, facets, exact, len(found.drift), tuple(moves))
    found.cones.append(cone)
    carried = [values.h * scalar for scalar in values.resting([sliding[i] for i in moves])] if moves else []
    for own, i in enumerate(moves):
        found.slips |= {(cone.slip + own, k): value for (row, k), value in D.items() if row == i}
    bound = _bound(values, wanted, contact, normal)
    if exact:
        found.rows |= {(cone.first, k): value for k, value in normal.items()}
        found.lower.append(bound)
    for j, facet in enumerate(facets):
        row: dict[int, Any] = {} if exact else dict(normal)
        low = 0.0 if exact else bound
        for own, weight in enumerate(facet):
            for (i, k), value in D.items():
                if i == moves[own] and weight != 0.0:
                    row[k] = row.get(k, 0.0) + coefficient * float(weight) * value
            low = low - coefficient * float(weight) * carried[own]
        found.rows |= {(cone.first + exact + j, k): value for k, value in row.items()}
        found.lower.append(low)
    found.friction.append(coefficient)
    found.gaps.append(gap)
    found.drift += carried


def _slip(values: StepValues, contact: ContactPoint) -> tuple[list[Any], Any]:
    """Slip velocities and coefficient of friction; nothing without."""
    if contact.friction is None or not contact.slip:
        return [], 0.0
    sliding = []
    for entry in contact.slip:
        scalars = values.at(entry.signal)
        sliding.append(scalars[0 if entry.index is None else entry.index])
    return sliding, values.at(contact.friction)[0]


def _bound(values: StepValues, wanted: Wanted, contact: ContactPoint, normal: Mapping[int, Any]) -> Any:
    """What n dq must not be below: -gap; where bodies meet in the step and bounce, what brings them apart again (Moreau)."""
    gap, rate = values.at(contact.gap)[0], values.at(contact.gap_rate)[0]
    given = wanted.restitution.get(contact.path, 0.0)
    if not wanted.full or given == 0.0:
        return -gap
    carried = values.resting([rate])[0]
    approach = sum((value * values.v[k] for k, value in normal.items()), start=values.tape.scalar(0.0))
    rebound = -values.h * carried - given * values.h * minimum(rate, 0.0)
    return where(gap + values.h * approach <= 0.0, maximum(-gap, rebound), -gap)
