"""Simultaneous collisions as one linear complementarity problem (LCP) of impulses, solved by an active set instead of Lemke's
pivoting; with friction, by `friction_cones`.

With flows g of the contacts (negative: approaching), impulses L, and flows G L due to the impulses:

    g+ = g + G L,    L >= 0,    g+ + e g >= 0,    one of the last two zero for each constraint

Only contacts that touch and do not separate take part (g <= 0). The energy changes by sum (1 - e) g L / 2, which is not positive
for any restitutions e in [0, 1]. A contact that approaches only after the impact collides next, at the same time.

Source: Moreau 1988; Glocker, Set-Valued Force Laws, 2001.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bondgraph.run.bound import Bound
from bondgraph.run.events.guard_history import GuardHistory, perturbations, rounding_error
from bondgraph.run.events.impacts.fired_transitions import EventLabel, FiredTransition, by_name, fire, recorded
from bondgraph.run.events.impacts.friction_cones import Cones, split, with_restitution
from bondgraph.run.events.impacts.participants import (
    NEGLIGIBLE_SPEED,
    CollisionOptions,
    ImpactParticipants,
    UnitImpulses,
    participants_of,
    unit_impulses,
)
from bondgraph.run.program import Collisions

LAST_FRICTION_MODE = 2.0
"""Last mode in which friction acts; a model may add modes in which friction is off."""


def collide(
    bound: Bound, history: GuardHistory, t: float, x: np.ndarray, m: np.ndarray, index: int, options: CollisionOptions
) -> tuple[FiredTransition, list[int]] | None:
    """Fire bounce `index` with all other touching contacts; also return the transitions of constraints that release in this
    impact. Friction sticks after the impact if the impulse has stopped its slip.

    Return None if the reset of the bounce describes the impact: `participants_of` returns None, or no impulses are found, or the
    laws of storages make the problem nonlinear. With friction, the label says in the last two cases that it was left out.
    """
    collisions, participants = bound.program.collisions, participants_of(bound, history, t, x, m, index, options)
    if collisions is None or participants is None:
        return None
    table, contacts = participants.table, participants.contacts
    impact = impact_of(collisions, participants)
    if impact is None:
        return _without_friction(bound, t, x, m, index)
    impulses = impact.impulses
    after = x + table.states @ impulses
    effects_after = unit_impulses(bound, t, after, m)
    expected = table.flow + table.flows @ impulses
    scale = table.scale
    least = NEGLIGIBLE_SPEED * scale * np.max(np.abs(table.flow) / scale) + _rounding(bound, history, t, after, m, effects_after)
    for part in _friction_parts(collisions, least):
        part[:] = part.max()  # one unit; a component that nothing moves is rounding error of the others
    if np.any(np.abs(effects_after.flow - expected) > least):
        return _without_friction(bound, t, x, m, index)
    pushed = impact.solution[: len(contacts)] * scale[impact.indices[: len(contacts)]]
    acting = [c for c, impulse in zip(contacts, pushed, strict=True) if impulse > NEGLIGIBLE_SPEED * np.abs(pushed).max()]
    struck = {c.transition for c in contacts if not c.held and (c in acting or _closes(bound, c.transition))}
    bounced = [i for i in by_name(bound.program.transitions) if i in struck]
    released = [c.transition for c in contacts if c.held and c not in acting and c.apart * expected[c.index] > least[c.index]]
    modes = m.copy()
    for i in bounced:
        modes[bound.program.transitions[i].slot] = bound.program.transitions[i].target
    _set_friction(collisions, least, expected, after, modes)
    firing = recorded(bound, index, t, (x, m), (after, modes), effects_after.supplies @ impulses)
    return (_with_names(bound, firing, bounced) if len(bounced) > 1 else firing), released


def _without_friction(
    bound: Bound, t: float, x: np.ndarray, m: np.ndarray, index: int
) -> tuple[FiredTransition, list[int]] | None:
    if not bound.program.impact_frictions:
        return None
    edge = bound.program.transitions[index]
    return replace(fire(bound, index, t, x, m), label=EventLabel(edge.kind, edge.name, has_lost_friction=True)), []


def _closes(bound: Bound, transition: int) -> bool:
    edge = bound.program.transitions[transition]
    return edge.source != edge.target


@dataclass(frozen=True)
class Impact:
    """Problem of an impact with its solution, for the scalars that take part: contacts first, then friction elements.

    Parameters
    ----------
    indices : index of each scalar in the table (c,).
    push, apart : signs of an impulse that pushes and of a flow that separates, for each scalar (c,).
    cones : the problem.
    flow, restitution : separating flows before the impact, and restitutions (c,).
    part : largest fraction of the restitutions that gains no energy.
    solution : impulses of these scalars (c,).
    impulses : impulses of all scalars of the table.
    """

    indices: np.ndarray
    push: np.ndarray
    apart: np.ndarray
    cones: Cones
    flow: np.ndarray
    restitution: np.ndarray
    part: float
    solution: np.ndarray
    impulses: np.ndarray


def impact_of(collisions: Collisions, participants: ImpactParticipants) -> Impact | None:
    table, contacts = participants.table, participants.contacts
    count, groups = len(contacts), tuple(friction.dimension for friction in collisions.frictions)
    friction_indices = list(range(len(collisions.constraints), len(table.flow)))
    indices = [c.index for c in contacts] + friction_indices
    against = [float(np.sign(table.flows[k, k])) or 1.0 for k in friction_indices]
    push, apart = (
        np.array([*(c.push for c in contacts), *against]),
        np.array([*(c.apart for c in contacts), *np.ones(len(friction_indices))]),
    )
    gain = apart[:, None] * table.flows[np.ix_(indices, indices)] * push
    flow, restitution = apart * table.flow[indices], table.restitution[indices]
    flow[:count] = np.minimum(flow[:count], 0.0)
    cones = Cones(gain, count, groups, table.bounds[:, indices] * push)
    if not groups:
        solution, part = complementary(gain, (1.0 + restitution) * flow), 1.0
    else:

        def gained(z: np.ndarray) -> float:
            return float(z @ (flow + 0.5 * gain @ z))

        most = float(np.max(flow * flow / np.maximum(np.abs(np.diag(gain)), 1e-300), initial=0.0))
        solution, part = with_restitution(lambda part: cones.solve((1.0 + part * restitution) * flow), gained, 1e-12 * most)
    if solution is None:
        return None
    impulses = np.zeros(len(table.flow))
    impulses[indices] = push * solution
    return Impact(np.array(indices), push, apart, cones, flow, restitution, part, solution, impulses)


def _rounding(bound: Bound, history: GuardHistory, t: float, x: np.ndarray, m: np.ndarray, table: UnitImpulses) -> np.ndarray:
    near = x + perturbations(len(x)) * np.fmax(history.sizes, np.abs(x))
    return rounding_error(table.flow, np.array([unit_impulses(bound, t, y, m).flow for y in near]))


def _friction_parts(collisions: Collisions, values: np.ndarray) -> list[np.ndarray]:
    return split(values, len(collisions.constraints), [friction.dimension for friction in collisions.frictions])


def _set_friction(collisions: Collisions, least: np.ndarray, flow: np.ndarray, x: np.ndarray, m: np.ndarray) -> None:
    parts = (_friction_parts(collisions, values) for values in (flow, least))
    for friction, slip, negligible in zip(collisions.frictions, *parts, strict=True):
        size = float(np.linalg.norm(slip))
        if m[friction.slot] > LAST_FRICTION_MODE:
            continue
        if size <= negligible[0]:
            m[friction.slot] = 0.0
        elif not friction.heading:
            m[friction.slot] = 1.0 if slip[0] > 0.0 else 2.0
        else:
            m[friction.slot] = 1.0
            x[list(friction.heading)] = slip / size
            x[list(friction.pace)] = np.fmax(x[list(friction.pace)], size)


def complementary(gain: np.ndarray, offset: np.ndarray) -> np.ndarray | None:
    """Solve an LCP for a positive semidefinite `gain` (c, c) and `offset` (c,): L >= 0 and gain L + offset >= 0, where one of
    the two is zero in each row; return None if no L is found. If `gain` is singular, the impulses that act have the
    least norm, in units that give `gain` a unit diagonal.

    Source: Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23.
    """
    root = np.sqrt(np.diag(gain))
    unit, start = gain / np.outer(root, root), offset / root
    solution, acting = np.zeros(len(start)), np.zeros(len(start), dtype=bool)
    small = 1e-12 * np.abs(start).max(initial=0.0)
    for _ in range(10 + 4 * len(start) ** 2):
        residual = unit @ solution + start
        waiting = np.flatnonzero(~acting & (residual < -small))
        if len(waiting) == 0:
            return solution / root
        acting[waiting[np.argmin(residual[waiting])]] = True
        while True:
            trial = np.zeros(len(start))
            trial[acting] = np.linalg.lstsq(unit[np.ix_(acting, acting)], -start[acting], rcond=1e-12)[0]
            against = np.flatnonzero(acting & (trial <= 0.0))
            if len(against) == 0:
                break
            parts = solution[against] / np.maximum(solution[against] - trial[against], 1e-300)
            solution = solution + parts.min() * (trial - solution)
            acting &= solution > 1e-14 * np.abs(solution).max(initial=0.0)
            solution[~acting] = 0.0
        solution = trial
    return None


def _with_names(bound: Bound, firing: FiredTransition, bounced: list[int]) -> FiredTransition:
    edges = [bound.program.transitions[i] for i in bounced]
    names, kinds = dict.fromkeys(e.name for e in edges), dict.fromkeys(e.kind for e in edges)
    return replace(firing, label=EventLabel(", ".join(kinds), ", ".join(names), tuple(bounced)))
