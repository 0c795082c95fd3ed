"""Participants of a simultaneous impact: contacts that touch and do not separate, contacts that are closed and could release, and
the effects of unit impulses there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bondgraph.run.bound import Bound
from bondgraph.run.events.guard_history import PERTURBATION, GuardHistory
from bondgraph.run.program import Collisions, Program

SIMULTANEITY = 1e-3
"""Largest difference in time, or in states, between collisions that count as one event, as a multiple of rtol."""

# Largest speed that counts as zero, relative to the speed of collision; look-ahead time of guards, as a fraction of the run.
NEGLIGIBLE_SPEED, _AHEAD = 1e-9, 1e-6


@dataclass(frozen=True)
class CollisionOptions:
    """Options of collisions, which are simultaneous if they differ in time by at most the fraction `tolerance` of the run, or in
    states by this fraction of the states' sizes; with `sequential`, no collisions are simultaneous."""

    tolerance: float
    sequential: bool = False


@dataclass(frozen=True)
class UnitImpulses:
    """Effects of unit impulses on c scalars, of constraints and of f friction elements.

    Parameters
    ----------
    states, flows, guards, supplies, bounds : changes of states (n, c), flows (c, c), guards (k, c), supplied energies (s, c) and
        friction limits (f, c) per unit impulse.
    flow, restitution : flows and restitutions of the scalars, (c,) each.
    """

    states: np.ndarray
    flows: np.ndarray
    guards: np.ndarray
    supplies: np.ndarray
    bounds: np.ndarray
    flow: np.ndarray
    restitution: np.ndarray

    @property
    def scale(self) -> np.ndarray:
        """Speed of each scalar for unit energy (c,), up to a factor; infinite if nothing moves the scalar."""
        mobility = np.abs(np.diag(self.flows))
        return np.where(mobility > 0.0, np.sqrt(mobility), np.inf)


@dataclass(frozen=True)
class Contact:
    """Constraint that takes part in an impact.

    Parameters
    ----------
    index : index of its scalar.
    push, apart : signs (+-1) of an impulse that pushes and of a flow that separates.
    transition : bounce of a collision, or release of a held contact.
    held : True if the contact is closed before the impact.
    """

    index: int
    push: float
    apart: float
    transition: int
    held: bool


@dataclass(frozen=True)
class ImpactParticipants:
    table: UnitImpulses
    contacts: tuple[Contact, ...]


def participants_of(
    bound: Bound, history: GuardHistory, t: float, x: np.ndarray, m: np.ndarray, index: int, options: CollisionOptions
) -> ImpactParticipants | None:
    """Find the contacts that take part in bounce `index`; return None if its own reset describes the impact."""
    collisions = bound.program.collisions
    first = None if collisions is None else next((c for c, bounces in enumerate(collisions.bounces) if index in bounces), None)
    if collisions is None or first is None or (options.sequential and not collisions.frictions):
        return None
    table = unit_impulses(bound, t, x, m)
    contacts = [*_bouncing_contacts(bound, history, t, x, m, table, first, options), *_held_contacts(bound, m, table)]
    # The first contact takes part even if its flow is within rounding error.
    contacts = [c for c in contacts if c.held or c.index == first or _approaches(c, table, first)]
    if len(contacts) < (1 if collisions.frictions else 2) or all(c.index != first for c in contacts):
        return None
    return ImpactParticipants(table, tuple(contacts))


def unit_impulses(bound: Bound, t: float, x: np.ndarray, m: np.ndarray) -> UnitImpulses:
    collisions = bound.program.collisions
    assert collisions is not None
    return unit_impulses_from(bound.program, collisions, collisions.kernel(bound.clock(t), x, bound.p, m))


def unit_impulses_from(program: Program, collisions: Collisions, numbers: np.ndarray) -> UnitImpulses:
    count = len(collisions.constraints) + sum(friction.dimension for friction in collisions.frictions)
    heights = [program.states, count, len(program.transitions), program.quadratures, len(collisions.frictions)]
    blocks = np.split(numbers[: count * sum(heights)].reshape(-1, count), np.cumsum(heights)[:-1])
    flow, restitution = np.split(numbers[count * sum(heights) :], 2)
    return UnitImpulses(blocks[0], blocks[1], blocks[2], blocks[3], blocks[4], flow, restitution)


def _bouncing_contacts(
    bound: Bound,
    history: GuardHistory,
    t: float,
    x: np.ndarray,
    m: np.ndarray,
    table: UnitImpulses,
    first: int,
    options: CollisionOptions,
) -> list[Contact]:
    collisions, edges = bound.program.collisions, bound.program.transitions
    assert collisions is not None
    step, out = _AHEAD * history.span, []
    now, soon = bound.guards(t, x, m), _guards_after(bound, t, x, m, step)
    near = history.zero(t, x, m) * max(1.0, options.tolerance / PERTURBATION)
    scale = table.scale
    speeds = np.abs(table.flow) / scale
    # If the first contact touches without speed, the largest speed of the other contacts is used.
    reference_speed = speeds[first] if speeds[first] > 0.0 else speeds.max()
    for c, bounces in enumerate(collisions.bounces):
        for index in bounces if c == first or not options.sequential else ():
            speed = max(np.abs(table.flow[c]), scale[c] * reference_speed)
            if m[edges[index].slot] != edges[index].source or table.flows[c, c] == 0.0:
                continue
            pushed = x + table.states[:, c] * speed / table.flows[c, c]
            rise = (_guards_after(bound, t, pushed, m, step)[index] - soon[index]) / step
            if rise != 0.0 and now[index] >= -abs(rise) * options.tolerance * history.span - near[index]:
                apart = -float(np.sign(rise))
                out.append(Contact(c, apart * float(np.sign(table.flows[c, c])), apart, index, False))
                break
    return out


def _held_contacts(bound: Bound, m: np.ndarray, table: UnitImpulses) -> list[Contact]:
    collisions, edges, out = bound.program.collisions, bound.program.transitions, []
    assert collisions is not None
    for c, bounces in enumerate(collisions.bounces):
        slots = {edges[index].slot for index in bounces}
        for k, edge in enumerate(edges):
            effect = table.guards[k, c]
            if edge.slot in slots and edge.source == m[edge.slot] and effect != 0.0 and table.flows[c, c] != 0.0:
                push = -float(np.sign(effect))
                out.append(Contact(c, push, push * float(np.sign(table.flows[c, c])), k, True))
                break
    return out


def _approaches(contact: Contact, table: UnitImpulses, first: int) -> bool:
    scale = table.scale
    apart = contact.apart * table.flow[contact.index] / scale[contact.index]
    return bool(apart <= NEGLIGIBLE_SPEED * np.abs(table.flow[first]) / scale[first])


def _guards_after(bound: Bound, t: float, x: np.ndarray, m: np.ndarray, step: float) -> np.ndarray:
    return bound.guards(t + step, x + step * bound.rates(t, x, m), m)
