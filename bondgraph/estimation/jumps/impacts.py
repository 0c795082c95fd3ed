"""Collisions as problems of impulses: D = S + f dt before one in; D after it out, by the derivatives of its impulses.

What does not act on each other is taken apart: each part has a time of its own, at which all its contacts must be closed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bondgraph.estimation.jumps.context import Passing, RunKernels
from bondgraph.estimation.jumps.impulse_derivatives import Given, ImpulseSlopes
from bondgraph.estimation.jumps.nonsmooth import Known, came_apart, closed, lets_go, refused, rested, touches
from bondgraph.run.events.guard_history import Courses
from bondgraph.run.events.impacts.friction_cones import Cones
from bondgraph.run.events.impacts.participants import WITHIN, Meeting, Together, UnitImpulses, meeting_of, unit_impulses
from bondgraph.run.events.impacts.simultaneous import RUBBING, Impact, impact_of
from bondgraph.run.events.records import Event
from bondgraph.run.program import Collisions

NEAR = 10.0
"""Times the run's rtol: how near to an edge is at it."""

COUPLED = 1e-12
"""ImpactPart of the mobilities of two contacts by which they act on each other."""


def acting(table: UnitImpulses, ones: np.ndarray, others: np.ndarray) -> bool:
    """Whether impulses in one of these places change flows in the others."""
    sizes = np.where(np.isfinite(table.scale), table.scale, 0.0)
    return bool(np.any(np.abs(table.flows[np.ix_(ones, others)]) > COUPLED * np.outer(sizes[ones], sizes[others])))


@dataclass(frozen=True)
class ImpactPart:
    """Contacts and frictions of a collision that act on each other: their impact, which frictions of the model are in it, the
    transitions by which its contacts bounce, the one that meets fastest first."""

    meeting: Meeting
    impact: Impact
    frictions: np.ndarray
    transitions: tuple[int, ...]

    def acts_on(self, other: ImpactPart) -> bool:
        """Whether impulses of one change flows of the other."""
        return acting(self.meeting.table, self.impact.places, other.impact.places)


class CollisionSlopes:
    """Collisions of one run, and what they make of D."""

    def __init__(self, kernels: RunKernels, collisions: Collisions):
        self._kernels, self._collisions = kernels, collisions
        self._courses = Courses(kernels.bound, kernels.bound.span)
        self._courses.sizes[:] = kernels.sizes
        self._every = [*collisions.constraints, *(f.name for f in collisions.frictions for _ in range(f.dimension))]

    def parts(self, at: Passing, event: Event) -> list[ImpactPart]:
        """The parts of the collision of an event; none where it is no problem of impulses, or no linear one."""
        collisions = self._collisions
        if event.accumulation is not None or not (collisions.frictions or event.simultaneous or not self._is_plain(at, event)):
            return []
        for alone in (False, True):
            how = Together(WITHIN * self._kernels.rtol, alone)
            meeting = meeting_of(self._kernels.bound, self._courses, at.t, at.x, at.m, event.transition, how)
            impact = None if meeting is None else impact_of(collisions, meeting)
            if meeting is None or impact is None:
                continue
            after = at.x + meeting.table.states @ impact.impulses
            noted = [k for rubs in collisions.frictions for k in (*rubs.heading, *rubs.pace)]
            after[noted] = event.x_after[noted]
            after = self._kernels.bound.consistent(at.t, after, event.m_after)[0]
            if self._kernels.same(after, event.x_before, event.x_after):
                return _parts(meeting, impact)
        return []

    def _is_plain(self, at: Passing, event: Event) -> bool:
        """Whether an event is what the reset of its transition makes, with its impulse or without."""
        bound, index = self._kernels.bound, event.transition
        pushed = bound.pushed(index, at.t, at.x, at.m)
        made = [bound.reset(index, at.t, at.x, at.m), *([] if pushed is None else [pushed[1]])]
        return any(self._kernels.same(x, event.x_before, event.x_after) for x in made)

    def couples(self, event: Event, other: Event) -> bool:
        """Whether impulses of one of two events that are single bounces change flows of what bounces in the other."""
        bounces, sides = self._collisions.bounces, []
        for one in (event, other):
            sides.append(np.array([c for c, own in enumerate(bounces) if one.transition in own], dtype=int))
        table = unit_impulses(self._kernels.bound, event.since, event.x_before, event.m_before)
        return acting(table, *sides)

    def passed(self, part: ImpactPart, event: Event, at: Passing, D: np.ndarray, dt: np.ndarray) -> np.ndarray:
        """D after a part of a collision; E374 where it has no derivative."""
        kernels, own = self._kernels, part.impact
        known = Known.of(kernels, event, D)
        came_apart(known, part.transitions, at, D, dt)
        taken = np.zeros(len(own.impulses))
        taken[own.places] = own.push * own.found
        pushed, responses, flows, restitutions, limits = self._slopes(at, D, dt, taken)
        self._beside(part, known, responses)
        turned, places = own.apart[:, None], own.places
        given = Given(turned * flows[places], turned * responses[places], restitutions[places], limits[part.frictions])
        found = ImpulseSlopes(own, given, NEAR * kernels.rtol, known.apart, known.shares)
        if found.edges:
            raise refused(known, found.edges, self._names(part))
        return np.asarray(D + pushed + part.meeting.table.states[:, places] @ (own.push[:, None] * found.slopes))

    def _beside(self, part: ImpactPart, known: Known, responses: np.ndarray) -> None:
        """Refuse contacts that hold, and on which a part acts along a direction alone, so that it draws or presses them: E374."""
        table = part.meeting.table
        scale = np.where(np.isfinite(table.scale), table.scale, 0.0)
        most = float(np.max(_in(scale, np.abs(table.flow)), initial=0.0))
        terms = np.max(_in(scale[:, None], np.abs(responses)), axis=0, initial=0.0) + known.shares * most
        for contact in part.meeting.contacts:
            off = np.abs(responses[contact.place]) > known.apart * scale[contact.place] * terms
            if contact.held and contact.place not in part.impact.places and off.any():
                raise lets_go(known, self._every[contact.place], off)

    def noted(self, event: Event, at: Passing, D: np.ndarray, dt: np.ndarray) -> np.ndarray:
        """D after a collision, where frictions in a plane have noted how they slip on."""
        place, D = len(self._collisions.constraints), D.copy()
        slipping = []
        for rubs in self._collisions.frictions:
            if rubs.heading and event.m_before[rubs.slot] <= RUBBING and event.m_after[rubs.slot] == 1.0:
                slipping.append((rubs, slice(place, place + rubs.dimension)))
            place += rubs.dimension
        if not slipping:
            return D
        there = Passing(at.t, event.x_after, at.S, event.m_before)
        flow = unit_impulses(self._kernels.bound, there.t, there.x, there.m).flow
        flows = self._slopes(there, D, dt, np.zeros(place))[2]
        for rubs, own in slipping:
            size = float(np.linalg.norm(flow[own]))
            heading = flow[own] / size
            D[list(rubs.heading)] = (flows[own] - np.outer(heading, heading @ flows[own])) / size
            if size >= event.x_before[rubs.pace[0]]:
                D[list(rubs.pace)] = heading @ flows[own]
        return D

    def leaves(self, event: Event, at: Passing, D: np.ndarray, dt: np.ndarray) -> None:
        """Refuse what collisions one after the other have left touching at no speed, where a direction makes it approach: E374.
        The last one is as its own restitution says."""
        self._resting(Known.of(self._kernels, event, D), at, D, dt, set(range(len(at.m))) - self._slots(event))

    def waits(self, event: Event, at: Passing, D: np.ndarray, dt: np.ndarray) -> None:
        """Refuse a collision that others set off and whose contact touched at no speed before them, where a direction makes it
        approach or opens it: E374."""
        known = Known.of(self._kernels, event, D)
        rested(known, event.transition, at, D, dt)
        self._resting(known, at, D, dt, self._slots(event))

    def _slots(self, event: Event) -> set[int]:
        return {self._kernels.bound.program.transitions[index].slot for index in event.transitions}

    def _resting(self, known: Known, at: Passing, D: np.ndarray, dt: np.ndarray, slots: set[int]) -> None:
        """Refuse contacts, those of some automata, that touch at no speed but along a direction."""
        kernels, collisions, bound = self._kernels, self._collisions, self._kernels.bound
        edges, event = bound.program.transitions, known.event
        table = unit_impulses(bound, at.t, at.x, at.m)
        scale = np.where(np.isfinite(table.scale), table.scale, 0.0)
        sides = (table.flow, unit_impulses(bound, at.t, event.x_before, at.m).flow)
        most = float(np.max([_in(scale, np.abs(flow)) for flow in sides], initial=0.0))
        slopes = self._slopes(at, D, dt, np.zeros(len(scale)))[2]
        terms = np.max(_in(scale[:, None], np.abs(slopes)), axis=0, initial=0.0) + known.shares * most
        for c, bounces in enumerate(collisions.bounces):
            off = np.abs(slopes[c]) > known.apart * scale[c] * terms
            if not off.any() or abs(table.flow[c]) > NEAR * kernels.rtol * scale[c] * most:
                continue
            own = [i for i in bounces if edges[i].slot in slots and at.m[edges[i].slot] == edges[i].source]
            if any(closed(known, i, at, D, dt) for i in own):
                raise touches(known, self._every[c], off)

    def _slopes(self, at: Passing, D: np.ndarray, dt: np.ndarray, taken: np.ndarray) -> list[np.ndarray]:
        """Derivatives along the directions, at fixed impulses: of what these do to states (n, k) and to flows (c, k), of flows
        before them and restitutions (c, k), and of limits (f, k)."""
        kernels, count = self._kernels, len(taken)
        out = kernels.values(kernels.variational.impact(), at, D, dt, np.zeros(len(at.x)), taken)
        return np.split(out.reshape(1 + len(dt), -1)[1:].T, np.cumsum([len(at.x), count, count, count]))

    def _names(self, part: ImpactPart) -> list[str]:
        """Of each scalar of an impact the element that it belongs to."""
        return [self._every[place] for place in part.impact.places]


def _in(scale: np.ndarray, flows: np.ndarray) -> np.ndarray:
    """Flows in their scales; none of what nothing moves."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(scale > 0.0, flows / scale, 0.0)


def _parts(meeting: Meeting, impact: Impact) -> list[ImpactPart]:
    """Contacts and frictions that act on each other, where anything bounces."""
    unit, _ = impact.cones.scaled()
    groups, starts = unit.places(), [own.start for own in unit.places()]
    acts = np.abs(unit.response) > COUPLED
    for own, row in zip(groups, unit.bounds, strict=True):
        acts[own] |= np.abs(row) > 0.0
        acts[own, own] = True
    reach = np.linalg.matrix_power((acts | acts.T | np.eye(len(acts), dtype=bool)).astype(float), max(len(acts), 1)) > 0.0
    found = []
    for k, row in enumerate(reach):
        places, table = np.flatnonzero(row), meeting.table
        bouncing = [c for c in (meeting.contacts[i] for i in places if i < unit.count) if not c.held]
        if row[:k].any() or not bouncing:
            continue
        order = sorted(bouncing, key=lambda c: c.apart * table.flow[c.place] / table.scale[c.place])
        frictions = np.array([g for g, start in enumerate(starts) if row[start]], dtype=int)
        found.append(ImpactPart(meeting, _alone(impact, places, frictions), frictions, tuple(c.transition for c in order)))
    return found


def _alone(impact: Impact, places: np.ndarray, frictions: np.ndarray) -> Impact:
    """The scalars of an impact at some places by themselves."""
    cones = impact.cones
    own = Cones(
        cones.response[np.ix_(places, places)],
        int(np.sum(places < cones.count)),
        tuple(cones.groups[g] for g in frictions),
        cones.bounds[np.ix_(frictions, places)],
    )
    columns = {name: getattr(impact, name)[places] for name in ("places", "push", "apart", "flow", "restitution", "found")}
    return replace(impact, cones=own, **columns)
