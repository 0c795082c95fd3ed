"""Combinations of modes at an instant: the transitions that went round there in; the fewest after which no guard rises out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bondgraph.run.bound import Bound
from bondgraph.run.events.guard_history import Courses
from bondgraph.run.events.impacts.fired_transitions import JUMP, Passage, by_name, carried_out

MOST = 2000
"""Most combinations of modes that are tried."""


def goes_round(bound: Bound, courses: Courses, passages: Sequence[Passage], since: int) -> bool:
    """Whether the last passage changes modes as one from the place `since` on has done: by the same transition from the same
    modes, with the states where the instant began, but for rounding. There is no end of it unless rounding makes one."""
    last, start = passages[-1], passages[0].x_before
    edge = bound.program.transitions[last.transition]
    if edge.source == edge.target or not _still(bound, courses, start, last.x_before):
        return False
    before = (p for p in passages[since:-1] if p.transition == last.transition and np.array_equal(p.m_before, last.m_before))
    return any(_still(bound, courses, start, passage.x_before) for passage in before)


def _still(bound: Bound, courses: Courses, start: np.ndarray, x: np.ndarray) -> bool:
    """Whether states x are those of the start, but for rounding."""
    size = np.fmax(courses.sizes, np.abs(start))
    return bool(np.all((np.abs(x - start) <= JUMP * size)[bound.true_states]))


def consistent(
    bound: Bound, courses: Courses, t: float, x: np.ndarray, m: np.ndarray, taken: Sequence[int], probe: float
) -> list[Passage] | None:
    """The fewest transitions from (x, m) after which no guard rises, where no state jumps; None if there are none. Those of the
    automata of which some were `taken` are tried before those of all: who has to answer may not have had its turn."""
    found = _nearest(bound, courses, t, x, m, taken, probe)
    return found if found is not None else _nearest(bound, courses, t, x, m, range(len(bound.program.transitions)), probe)


def _nearest(
    bound: Bound, courses: Courses, t: float, x: np.ndarray, m: np.ndarray, tried: Sequence[int], probe: float
) -> list[Passage] | None:
    """Those of the automata of the transitions `tried`. What jumps by no more than rounding counts as standing still."""
    transitions = bound.program.transitions
    slots = {transitions[i].slot for i in tried}
    edges = [i for i in by_name(transitions) if transitions[i].slot in slots and transitions[i].error is None]
    paths: list[list[Passage]] = [[]]
    seen = {tuple(m)}
    for path in paths:
        y, modes = (path[-1].x_after, path[-1].m_after) if path else (x, m)
        if not courses.rising(t, y, modes, probe).any():
            return path
        for i in edges:
            after = modes.copy()
            after[transitions[i].slot] = transitions[i].target
            if modes[transitions[i].slot] != transitions[i].source or tuple(after) in seen or len(seen) > MOST:
                continue
            passage = carried_out(bound, i, t, y, modes)
            if _still(bound, courses, x, passage.x_after):
                seen.add(tuple(after))
                paths.append([*path, passage])
    return None
