"""Collisions at the same time as one problem of impulses: each pushes or does nothing, and none draws its bodies together.

With flows g of what collides (negative: approaching), impulses L and the flows G L that these cause:

    g+ = g + G L,    L >= 0,    g+ + e g >= 0,    and one of both zero for each constraint

where only what touches and does not separate takes part (g <= 0). Then the energy changes by sum (1 - e) g L / 2, which is not
positive whatever restitutions e in [0, 1] meet. What approaches only afterwards collides next, at the same time.

Source: Moreau 1988; Glocker, Set-Valued Force Laws, 2001.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bondgraph.run.bound import Bound
from bondgraph.run.switching.course import Courses
from bondgraph.run.switching.events import Event, by_name, recorded
from bondgraph.run.switching.rounding import ULPS

# Speeds and impulses that count as none, relative to those that meet; how far guards are looked ahead, in lengths of the run.
_NONE, _AHEAD = 1e-9, 1e-6


@dataclass(frozen=True)
class _Table:
    """What unit impulses of the c constraints do: states (n, c), flows (c, c), guards (k, c), supplies (s, c); their flows (c,)
    and restitutions (c,)."""

    states: np.ndarray
    flows: np.ndarray
    guards: np.ndarray
    supplies: np.ndarray
    flow: np.ndarray
    restitution: np.ndarray

    @property
    def scale(self) -> np.ndarray:
        """Speed of each constraint where a unit of energy is in it, but for a factor, (c,)."""
        return np.sqrt(np.abs(np.diag(self.flows)))


@dataclass(frozen=True)
class _Contact:
    """A constraint that takes part: its place, the sense of an impulse that pushes (+-1), that of a flow that separates (+-1),
    and the transition that happens: of a collision the bounce, of what was held its release."""

    place: int
    push: float
    apart: float
    transition: int
    held: bool


def collide(
    bound: Bound, courses: Courses, t: float, x: np.ndarray, m: np.ndarray, index: int, within: float
) -> tuple[Event, list[int]] | None:
    """The event of bounce `index` with all others that touch, and the transitions by which constraints that held let go in it;
    None where it is alone, or storages have curves that take more than one linear problem.

    What differs in time by the part `within` of the run, or in states by that part of their sizes, touches at the same time.
    """
    collisions = bound.program.collisions
    first = None if collisions is None else next((c for c, own in enumerate(collisions.bounces) if index in own), None)
    if collisions is None or first is None:
        return None
    table = _table(bound, t, x, m)
    contacts = [*_bouncing(bound, courses, t, x, m, table, first, within), *_held(bound, m, table)]
    contacts = [c for c in contacts if c.held or _approaches(c, table, first)]
    if len(contacts) < 2 or all(c.place != first for c in contacts):
        return None
    places = [c.place for c in contacts]
    push, apart = np.array([c.push for c in contacts]), np.array([c.apart for c in contacts])
    gain = apart[:, None] * table.flows[np.ix_(places, places)] * push
    flow = np.minimum(apart * table.flow[places], 0.0)
    impulses = complementary(gain, (1.0 + table.restitution[places]) * flow)
    if impulses is None:
        return None
    taken = np.zeros(len(table.flow))
    taken[places] = push * impulses
    after = x + table.states @ taken
    there = _table(bound, t, after, m)
    expected = table.flow + table.flows @ taken
    scale = table.scale
    if np.any(np.abs(there.flow - expected) > _NONE * scale * np.max(np.abs(table.flow) / scale)):
        return None
    size = np.abs(impulses * np.sqrt(np.diag(gain))).max()
    acting = [c for c, own in zip(contacts, impulses * np.sqrt(np.diag(gain)), strict=True) if own > _NONE * size]
    bounced = [i for i in by_name(bound.program.transitions) if i in {c.transition for c in acting if not c.held}]
    released = [c.transition for c in contacts if c.held and c not in acting and c.apart * expected[c.place] > 0.0]
    event = recorded(bound, index, t, (x, m), (after, m.copy()), there.supplies @ taken)
    return (_named(bound, event, bounced) if len(bounced) > 1 else event), released


def complementary(gain: np.ndarray, offset: np.ndarray) -> np.ndarray | None:
    """L >= 0 with gain L + offset >= 0 and one of both zero in each row, for a positive semidefinite `gain` (c, c) and `offset`
    (c,); None if no such L is found. Where `gain` is singular, the shortest L of those that act.

    Source: Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23.
    """
    root = np.sqrt(np.diag(gain))
    unit, start = gain / np.outer(root, root), offset / root
    found, acting = np.zeros(len(start)), np.zeros(len(start), dtype=bool)
    small = 1e-12 * np.abs(start).max(initial=0.0)
    for _ in range(10 + 4 * len(start) ** 2):
        left = unit @ found + start
        waiting = np.flatnonzero(~acting & (left < -small))
        if len(waiting) == 0:
            return found / root
        acting[waiting[np.argmin(left[waiting])]] = True
        while True:
            trial = np.zeros(len(start))
            trial[acting] = np.linalg.lstsq(unit[np.ix_(acting, acting)], -start[acting], rcond=1e-12)[0]
            against = np.flatnonzero(acting & (trial <= 0.0))
            if len(against) == 0:
                break
            parts = found[against] / np.maximum(found[against] - trial[against], 1e-300)
            found = found + parts.min() * (trial - found)
            acting &= found > 1e-14 * np.abs(found).max(initial=0.0)
            found[~acting] = 0.0
        found = trial
    return None


def _table(bound: Bound, t: float, x: np.ndarray, m: np.ndarray) -> _Table:
    collisions, program = bound.program.collisions, bound.program
    assert collisions is not None
    count = len(collisions.constraints)
    numbers = collisions.kernel(bound.clock(t), x, bound.p, m)
    heights = [program.states, count, len(program.transitions), bound.quadratures]
    blocks = np.split(numbers[: count * sum(heights)].reshape(-1, count), np.cumsum(heights)[:-1])
    flow, restitution = np.split(numbers[count * sum(heights) :], 2)
    return _Table(blocks[0], blocks[1], blocks[2], blocks[3], flow, restitution)


def _bouncing(
    bound: Bound, courses: Courses, t: float, x: np.ndarray, m: np.ndarray, table: _Table, first: int, within: float
) -> list[_Contact]:
    """Those whose bounce is active and whose guard is at zero, as exactly as states and times are known `within`."""
    collisions, edges = bound.program.collisions, bound.program.transitions
    assert collisions is not None
    step, out = _AHEAD * courses.span, []
    now, soon = bound.guards(t, x, m), _soon(bound, t, x, m, step)
    near = courses.zero(t, x, m) * max(1.0, within / ULPS)
    scale = table.scale
    for c, bounces in enumerate(collisions.bounces):
        for index in bounces:
            speed = max(np.abs(table.flow[c]), scale[c] * np.abs(table.flow[first]) / scale[first])
            if m[edges[index].slot] != edges[index].source or table.flows[c, c] == 0.0:
                continue
            pushed = x + table.states[:, c] * speed / table.flows[c, c]
            rise = (_soon(bound, t, pushed, m, step)[index] - soon[index]) / step
            if rise != 0.0 and now[index] >= -abs(rise) * within * courses.span - near[index]:
                apart = -float(np.sign(rise))
                out.append(_Contact(c, apart * float(np.sign(table.flows[c, c])), apart, index, False))
                break
    return out


def _held(bound: Bound, m: np.ndarray, table: _Table) -> list[_Contact]:
    """Those that hold now and would let go if they were drawn: an impulse acts on the guard by which their automaton leaves."""
    collisions, edges, out = bound.program.collisions, bound.program.transitions, []
    assert collisions is not None
    for c, bounces in enumerate(collisions.bounces):
        slots = {edges[index].slot for index in bounces}
        for k, edge in enumerate(edges):
            acts = table.guards[k, c]
            if edge.slot in slots and edge.source == m[edge.slot] and acts != 0.0 and table.flows[c, c] != 0.0:
                push = -float(np.sign(acts))
                out.append(_Contact(c, push, push * float(np.sign(table.flows[c, c])), k, True))
                break
    return out


def _approaches(contact: _Contact, table: _Table, first: int) -> bool:
    """Whether what touches does not separate, up to rounding beside the speed of the `first`."""
    scale = table.scale
    apart = contact.apart * table.flow[contact.place] / scale[contact.place]
    return bool(apart <= _NONE * np.abs(table.flow[first]) / scale[first])


def _soon(bound: Bound, t: float, x: np.ndarray, m: np.ndarray, step: float) -> np.ndarray:
    return bound.guards(t + step, x + step * bound.rates(t, x, m), m)


def _named(bound: Bound, event: Event, bounced: list[int]) -> Event:
    """One event under the names of all transitions that happen in it."""
    edges = [bound.program.transitions[i] for i in bounced]
    names, kinds = dict.fromkeys(e.name for e in edges), dict.fromkeys(e.kind for e in edges)
    return replace(event, name=", ".join(names), kind=", ".join(kinds), together=tuple(bounced))
