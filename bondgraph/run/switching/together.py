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
from bondgraph.run.program import Collisions
from bondgraph.run.switching.cones import Cones, restituted, split
from bondgraph.run.switching.course import Courses
from bondgraph.run.switching.passages import Passage, Said, by_name, recorded
from bondgraph.run.switching.rounding import ULPS, nudges, spread

# Speeds and impulses that count as none, relative to those that meet; how far guards are looked ahead, in lengths of the run.
_NONE, _AHEAD = 1e-9, 1e-6
# The last mode of friction itself; a model may add others, in which it is off.
_RUBBING = 2.0


@dataclass(frozen=True)
class Together:
    """What collides at the same time: what differs in time by the part `within` of the run, or in states by that part of their
    sizes; or, where each is `alone`, nothing."""

    within: float
    alone: bool = False


@dataclass(frozen=True)
class _Table:
    """What unit impulses of the c scalars of constraints and of f frictions do: states (n, c), flows (c, c), guards (k, c),
    supplies (s, c), limits of friction (f, c); their flows (c,) and restitutions (c,)."""

    states: np.ndarray
    flows: np.ndarray
    guards: np.ndarray
    supplies: np.ndarray
    bounds: np.ndarray
    flow: np.ndarray
    restitution: np.ndarray

    @property
    def scale(self) -> np.ndarray:
        """Speed of each where a unit of energy is in it, but for a factor, (c,); infinite where nothing moves it."""
        mobility = np.abs(np.diag(self.flows))
        return np.where(mobility > 0.0, np.sqrt(mobility), np.inf)


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
    bound: Bound, courses: Courses, t: float, x: np.ndarray, m: np.ndarray, index: int, how: Together
) -> tuple[Passage, list[int]] | None:
    """The passage of bounce `index` with all others that touch, and the transitions by which constraints that held let go in it;
    None where it is alone, or storages have curves that take more than one linear problem. Friction takes part: it sticks after
    it where the impulse has stopped it."""
    collisions = bound.program.collisions
    first = None if collisions is None else next((c for c, own in enumerate(collisions.bounces) if index in own), None)
    if collisions is None or first is None or (how.alone and not collisions.frictions):
        return None
    table = _table(bound, t, x, m)
    contacts = [*_bouncing(bound, courses, t, x, m, table, first, how), *_held(bound, m, table)]
    # The first one has been seen to: by its flow, or by what its flow becomes where that is rounding.
    contacts = [c for c in contacts if c.held or c.place == first or _approaches(c, table, first)]
    if len(contacts) < (1 if collisions.frictions else 2) or all(c.place != first for c in contacts):
        return None
    impulses = _impulses(collisions, contacts, table)
    if impulses is None:
        return None
    places, push = [c.place for c in contacts], np.array([c.push for c in contacts])
    after = x + table.states @ impulses
    there = _table(bound, t, after, m)
    expected = table.flow + table.flows @ impulses
    scale = table.scale
    least = _NONE * scale * np.max(np.abs(table.flow) / scale) + _rounding(bound, courses, t, after, m, there)
    if np.any(np.abs(there.flow - expected) > least):
        return None
    pushed = push * impulses[places] * scale[places]
    acting = [c for c, own in zip(contacts, pushed, strict=True) if own > _NONE * np.abs(pushed).max()]
    struck = {c.transition for c in contacts if not c.held and (c in acting or _closes(bound, c.transition))}
    bounced = [i for i in by_name(bound.program.transitions) if i in struck]
    released = [c.transition for c in contacts if c.held and c not in acting and c.apart * expected[c.place] > 0.0]
    modes = m.copy()
    for i in bounced:
        modes[bound.program.transitions[i].slot] = bound.program.transitions[i].target
    _rub(collisions, least, expected, after, modes)
    passage = recorded(bound, index, t, (x, m), (after, modes), there.supplies @ impulses)
    return (_named(bound, passage, bounced) if len(bounced) > 1 else passage), released


def _closes(bound: Bound, transition: int) -> bool:
    edge = bound.program.transitions[transition]
    return edge.source != edge.target


def _impulses(collisions: Collisions, contacts: list[_Contact], table: _Table) -> np.ndarray | None:
    """Impulses (c,) of all scalars of constraints and frictions."""
    count, groups = len(contacts), tuple(rubs.dimension for rubs in collisions.frictions)
    rubbing = list(range(len(collisions.constraints), len(table.flow)))
    places = [c.place for c in contacts] + rubbing
    against = [float(np.sign(table.flows[k, k])) or 1.0 for k in rubbing]
    push, apart = (
        np.array([*(c.push for c in contacts), *against]),
        np.array([*(c.apart for c in contacts), *np.ones(len(rubbing))]),
    )
    gain = apart[:, None] * table.flows[np.ix_(places, places)] * push
    flow, restitution = apart * table.flow[places], table.restitution[places]
    flow[:count] = np.minimum(flow[:count], 0.0)
    if not groups:
        found = complementary(gain, (1.0 + restitution) * flow)
    else:
        cones = Cones(gain, count, groups, table.bounds[:, places] * push)

        def gained(z: np.ndarray) -> float:
            """Energy that impulses give."""
            return float(z @ (flow + 0.5 * gain @ z))

        most = float(np.max(flow * flow / np.maximum(np.abs(np.diag(gain)), 1e-300), initial=0.0))
        found = restituted(lambda part: cones.solve((1.0 + part * restitution) * flow), gained, 1e-12 * most)
    if found is None:
        return None
    taken = np.zeros(len(table.flow))
    taken[places] = push * found
    return taken


def _rounding(bound: Bound, courses: Courses, t: float, x: np.ndarray, m: np.ndarray, table: _Table) -> np.ndarray:
    """What rounding makes of the flows (c,) of a table at x."""
    near = x + nudges(len(x)) * np.fmax(courses.sizes, np.abs(x))
    return spread(table.flow, np.array([_table(bound, t, y, m).flow for y in near]))


def _rub(collisions: Collisions, least: np.ndarray, flow: np.ndarray, x: np.ndarray, m: np.ndarray) -> None:
    """Set, in states x and modes m after a collision, what friction notes, by the flows (c,) that it leaves, of which the `least`
    (c,) are none: it sticks, or slips along its flow; where its model has switched it off it stays so."""
    count = len(collisions.constraints)
    for rubs, own in zip(collisions.frictions, split(flow, count, [f.dimension for f in collisions.frictions]), strict=True):
        size = float(np.linalg.norm(own))
        count += rubs.dimension
        if m[rubs.slot] > _RUBBING:
            continue
        if size <= least[count - rubs.dimension : count].max():
            m[rubs.slot] = 0.0
        elif not rubs.heading:
            m[rubs.slot] = 1.0 if own[0] > 0.0 else 2.0
        else:
            m[rubs.slot] = 1.0
            x[list(rubs.heading)] = own / size
            x[list(rubs.pace)] = np.fmax(x[list(rubs.pace)], size)


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
    count = len(collisions.constraints) + sum(rubs.dimension for rubs in collisions.frictions)
    numbers = collisions.kernel(bound.clock(t), x, bound.p, m)
    heights = [program.states, count, len(program.transitions), bound.quadratures, len(collisions.frictions)]
    blocks = np.split(numbers[: count * sum(heights)].reshape(-1, count), np.cumsum(heights)[:-1])
    flow, restitution = np.split(numbers[count * sum(heights) :], 2)
    return _Table(blocks[0], blocks[1], blocks[2], blocks[3], blocks[4], flow, restitution)


def _bouncing(
    bound: Bound, courses: Courses, t: float, x: np.ndarray, m: np.ndarray, table: _Table, first: int, how: Together
) -> list[_Contact]:
    """Those whose bounce is active and whose guard is at zero, as exactly as states and times are known `how.within`; the `first`
    alone where it is `how.alone`."""
    collisions, edges = bound.program.collisions, bound.program.transitions
    assert collisions is not None
    step, out = _AHEAD * courses.span, []
    now, soon = bound.guards(t, x, m), _soon(bound, t, x, m, step)
    near = courses.zero(t, x, m) * max(1.0, how.within / ULPS)
    scale = table.scale
    speeds = np.abs(table.flow) / scale
    meets = speeds[first] if speeds[first] > 0.0 else speeds.max()  # of what touches without a speed, that of what else moves
    for c, bounces in enumerate(collisions.bounces):
        for index in bounces if c == first or not how.alone else ():
            speed = max(np.abs(table.flow[c]), scale[c] * meets)
            if m[edges[index].slot] != edges[index].source or table.flows[c, c] == 0.0:
                continue
            pushed = x + table.states[:, c] * speed / table.flows[c, c]
            rise = (_soon(bound, t, pushed, m, step)[index] - soon[index]) / step
            if rise != 0.0 and now[index] >= -abs(rise) * how.within * courses.span - near[index]:
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


def _named(bound: Bound, passage: Passage, bounced: list[int]) -> Passage:
    """One passage under the names of all transitions that happen in it."""
    edges = [bound.program.transitions[i] for i in bounced]
    names, kinds = dict.fromkeys(e.name for e in edges), dict.fromkeys(e.kind for e in edges)
    return replace(passage, said=Said(", ".join(kinds), ", ".join(names), tuple(bounced)))
