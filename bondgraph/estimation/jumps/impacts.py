"""Jump conditions of sensitivities at a collision: D, the derivative of the state just after it (see the package), from the
derivatives of its impulses.

Contacts that do not act on each other belong to separate parts, each with its own time, at which all contacts of the part must be
closed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bondgraph.estimation.jumps.impulse_derivatives import (
    APPROACHES,
    PUSHES,
    Degeneracy,
    EventScales,
    ImpulseDerivatives,
    InputDerivatives,
    RunKernels,
    SensitivityState,
    closed,
    edge_refusal,
    refuse_opening,
    refuse_separating,
)
from bondgraph.run.events.guard_history import GuardHistory
from bondgraph.run.events.impacts.friction_cones import Cones
from bondgraph.run.events.impacts.participants import (
    SIMULTANEITY,
    CollisionOptions,
    ImpactParticipants,
    UnitImpulses,
    participants_of,
    unit_impulses,
)
from bondgraph.run.events.impacts.simultaneous import LAST_FRICTION_MODE, Impact, impact_of
from bondgraph.run.events.records import Event
from bondgraph.run.program import Collisions

NEAR = 10.0
"""Distance from a degeneracy that counts as zero, in units of the run's rtol."""

COUPLED = 1e-12
"""Coupling of two contacts, relative to their mobilities, above which they act on each other."""


def interact(table: UnitImpulses, scalars: np.ndarray, others: np.ndarray) -> bool:
    sizes = np.where(np.isfinite(table.scale), table.scale, 0.0)
    return bool(np.any(np.abs(table.flows[np.ix_(scalars, others)]) > COUPLED * np.outer(sizes[scalars], sizes[others])))


@dataclass(frozen=True)
class ImpactPart:
    """Contacts and friction elements of a collision that act on each other: their impact, the model's friction elements in it,
    and the transitions by which the contacts bounce, fastest first."""

    participants: ImpactParticipants
    impact: Impact
    frictions: np.ndarray
    transitions: tuple[int, ...]

    def acts_on(self, other: ImpactPart) -> bool:
        return interact(self.participants.table, self.impact.indices, other.impact.indices)


class CollisionJumps:
    def __init__(self, kernels: RunKernels, collisions: Collisions):
        self._kernels, self._collisions = kernels, collisions
        self._history = GuardHistory(kernels.bound, kernels.bound.span)
        self._history.sizes[:] = kernels.sizes
        self._elements = [*collisions.constraints, *(f.name for f in collisions.frictions for _ in range(f.dimension))]

    def parts(self, at: SensitivityState, event: Event) -> list[ImpactPart]:
        """Return the parts of an event's collision; an empty list if the reset of its transition gives the state after it, or if
        no single linear problem of impulses does."""
        collisions = self._collisions
        if event.accumulation is not None or not (collisions.frictions or event.simultaneous or not self._is_plain(at, event)):
            return []
        for alone in (False, True):
            options = CollisionOptions(SIMULTANEITY * self._kernels.rtol, alone)
            participants = participants_of(self._kernels.bound, self._history, at.t, at.x, at.m, event.transition, options)
            impact = None if participants is None else impact_of(collisions, participants)
            if participants is None or impact is None:
                continue
            after = at.x + participants.table.states @ impact.impulses
            slip_states = [k for friction in collisions.frictions for k in (*friction.heading, *friction.pace)]
            after[slip_states] = event.x_after[slip_states]
            after = self._kernels.bound.consistent(at.t, after, event.m_after)[0]
            if self._kernels.matches(after, event.x_before, event.x_after):
                return _parts(participants, impact)
        return []

    def _is_plain(self, at: SensitivityState, event: Event) -> bool:
        bound, index = self._kernels.bound, event.transition
        pushed = bound.pushed(index, at.t, at.x, at.m)
        results = [bound.reset(index, at.t, at.x, at.m), *([] if pushed is None else [pushed[1]])]
        return any(self._kernels.matches(x, event.x_before, event.x_after) for x in results)

    def couples(self, event: Event, other: Event) -> bool:
        bounces, sides = self._collisions.bounces, []
        for each in (event, other):
            sides.append(np.array([c for c, indices in enumerate(bounces) if each.transition in indices], dtype=int))
        table = unit_impulses(self._kernels.bound, event.since, event.x_before, event.m_before)
        return interact(table, *sides)

    def after_part(self, part: ImpactPart, event: Event, at: SensitivityState, D: np.ndarray, dt: np.ndarray) -> np.ndarray:
        kernels, impact = self._kernels, part.impact
        context = EventScales.of(kernels, event, D)
        refuse_separating(context, part.transitions, at, D, dt)
        impulses = np.zeros(len(impact.impulses))
        impulses[impact.indices] = impact.push * impact.solution
        pushed, responses, flows, restitutions, limits = self._slopes(at, D, dt, impulses)
        self._refuse_held(part, context, responses)
        signs, scalars = impact.apart[:, None], impact.indices
        inputs = InputDerivatives(
            signs * flows[scalars], signs * responses[scalars], restitutions[scalars], limits[part.frictions]
        )
        derivatives = ImpulseDerivatives(impact, inputs, NEAR * kernels.rtol, context.tolerance, context.shares)
        if derivatives.edges:
            raise edge_refusal(context, derivatives.edges, self._names(part))
        return np.asarray(D + pushed + part.participants.table.states[:, scalars] @ (impact.push[:, None] * derivatives.slopes))

    def _refuse_held(self, part: ImpactPart, context: EventScales, responses: np.ndarray) -> None:
        """Raise E374 for held contacts outside the impact that a change along a direction would pull or push."""
        table = part.participants.table
        scale = np.where(np.isfinite(table.scale), table.scale, 0.0)
        largest = float(np.max(_scaled(scale, np.abs(table.flow)), initial=0.0))
        terms = np.max(_scaled(scale[:, None], np.abs(responses)), axis=0, initial=0.0) + context.shares * largest
        for contact in part.participants.contacts:
            off = np.abs(responses[contact.index]) > context.tolerance * scale[contact.index] * terms
            if contact.held and contact.index not in part.impact.indices and off.any():
                raise edge_refusal(context, [Degeneracy(PUSHES, contact.index, off)], self._elements)

    def with_slip(self, event: Event, at: SensitivityState, D: np.ndarray, dt: np.ndarray) -> np.ndarray:
        """Return D after a collision, with the slip direction and speed that planar friction elements store as states."""
        start, D = len(self._collisions.constraints), D.copy()
        slipping = []
        for friction in self._collisions.frictions:
            if friction.heading and event.m_before[friction.slot] <= LAST_FRICTION_MODE and event.m_after[friction.slot] == 1.0:
                slipping.append((friction, slice(start, start + friction.dimension)))
            start += friction.dimension
        if not slipping:
            return D
        after = SensitivityState(at.t, event.x_after, at.S, event.m_before)
        flow = unit_impulses(self._kernels.bound, after.t, after.x, after.m).flow
        flows = self._slopes(after, D, dt, np.zeros(start))[2]
        for friction, scalars in slipping:
            size = float(np.linalg.norm(flow[scalars]))
            heading = flow[scalars] / size
            D[list(friction.heading)] = (flows[scalars] - np.outer(heading, heading @ flows[scalars])) / size
            if size >= event.x_before[friction.pace[0]]:
                D[list(friction.pace)] = heading @ flows[scalars]
        return D

    def refuse_after(self, event: Event, at: SensitivityState, D: np.ndarray, dt: np.ndarray) -> None:
        """Raise E374 for contacts that touch at zero speed after sequential collisions if a change along a direction makes them
        approach, except for the last contact, whose speed is determined by restitution."""
        self._refuse_touching(EventScales.of(self._kernels, event, D), at, D, dt, set(range(len(at.m))) - self._slots(event))

    def refuse_before(self, event: Event, at: SensitivityState, D: np.ndarray, dt: np.ndarray) -> None:
        """Raise E374 for a triggered collision of a contact that touched at zero speed, if a change along a direction makes it
        approach or open."""
        context = EventScales.of(self._kernels, event, D)
        refuse_opening(context, event.transition, at, D, dt)
        self._refuse_touching(context, at, D, dt, self._slots(event))

    def _slots(self, event: Event) -> set[int]:
        return {self._kernels.bound.program.transitions[index].slot for index in event.transitions}

    def _refuse_touching(
        self, context: EventScales, at: SensitivityState, D: np.ndarray, dt: np.ndarray, slots: set[int]
    ) -> None:
        """Raise E374 for contacts of the given automata that touch at zero speed, if the speed changes along a direction."""
        kernels, collisions, bound = self._kernels, self._collisions, self._kernels.bound
        edges, event = bound.program.transitions, context.event
        table = unit_impulses(bound, at.t, at.x, at.m)
        scale = np.where(np.isfinite(table.scale), table.scale, 0.0)
        sides = (table.flow, unit_impulses(bound, at.t, event.x_before, at.m).flow)
        largest = float(np.max([_scaled(scale, np.abs(flow)) for flow in sides], initial=0.0))
        slopes = self._slopes(at, D, dt, np.zeros(len(scale)))[2]
        terms = np.max(_scaled(scale[:, None], np.abs(slopes)), axis=0, initial=0.0) + context.shares * largest
        for c, bounces in enumerate(collisions.bounces):
            off = np.abs(slopes[c]) > context.tolerance * scale[c] * terms
            if not off.any() or abs(table.flow[c]) > NEAR * kernels.rtol * scale[c] * largest:
                continue
            possible = [i for i in bounces if edges[i].slot in slots and at.m[edges[i].slot] == edges[i].source]
            if any(closed(context, i, at, D, dt)[0] for i in possible):
                raise edge_refusal(context, [Degeneracy(APPROACHES, c, off)], self._elements)

    def _slopes(self, at: SensitivityState, D: np.ndarray, dt: np.ndarray, impulses: np.ndarray) -> list[np.ndarray]:
        """Return derivatives along the directions, at fixed impulses: of the impulses' effect on states (n, k) and flows (c, k),
        of flows before them and restitutions (c, k), and of friction limits (f, k)."""
        kernels, count = self._kernels, len(impulses)
        out = kernels.values(kernels.variational.impact(), at, D, dt, np.zeros(len(at.x)), impulses)
        return np.split(out.reshape(1 + len(dt), -1)[1:].T, np.cumsum([len(at.x), count, count, count]))

    def _names(self, part: ImpactPart) -> list[str]:
        return [self._elements[scalar] for scalar in part.impact.indices]


def _scaled(scale: np.ndarray, flows: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(scale > 0.0, flows / scale, 0.0)


def _parts(participants: ImpactParticipants, impact: Impact) -> list[ImpactPart]:
    unit, _ = impact.cones.scaled()
    groups, starts = unit.slices(), [group.start for group in unit.slices()]
    coupled = np.abs(unit.response) > COUPLED
    for group, row in zip(groups, unit.bounds, strict=True):
        coupled[group] |= np.abs(row) > 0.0
        coupled[group, group] = True
    linked = (coupled | coupled.T | np.eye(len(coupled), dtype=bool)).astype(float)
    reach = np.linalg.matrix_power(linked, max(len(coupled), 1)) > 0.0
    parts = []
    for k, row in enumerate(reach):
        scalars, table = np.flatnonzero(row), participants.table
        bouncing = [c for c in (participants.contacts[i] for i in scalars if i < unit.count) if not c.held]
        if row[:k].any() or not bouncing:
            continue
        order = sorted(bouncing, key=lambda c: c.apart * table.flow[c.index] / table.scale[c.index])
        frictions = np.array([g for g, start in enumerate(starts) if row[start]], dtype=int)
        parts.append(ImpactPart(participants, _subset(impact, scalars, frictions), frictions, tuple(c.transition for c in order)))
    return parts


def _subset(impact: Impact, scalars: np.ndarray, frictions: np.ndarray) -> Impact:
    cones = impact.cones
    subset = Cones(
        cones.response[np.ix_(scalars, scalars)],
        int(np.sum(scalars < cones.count)),
        tuple(cones.groups[g] for g in frictions),
        cones.bounds[np.ix_(frictions, scalars)],
    )
    columns = {name: getattr(impact, name)[scalars] for name in ("indices", "push", "apart", "flow", "restitution", "solution")}
    return replace(impact, cones=subset, **columns)
