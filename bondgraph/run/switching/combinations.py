"""Combinations of modes at an instant: the transitions that went round there in; the fewest after which no guard rises out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bondgraph.run.bound import Bound
from bondgraph.run.switching.course import Courses
from bondgraph.run.switching.passages import Passage, by_name, carried_out

MOST, STILL = 2000, 1e-12
"""Most combinations of modes that are tried, and jumps that count as none, relative to the size of a state."""


def goes_round(passages: Sequence[Passage]) -> bool:
    """Whether the last passage begins as one before it began: the same transition from the same states and modes, bit for bit.
    What follows from there on is the same as well."""
    last, begun = passages[-1].transition, _start(passages[-1])
    return any(passage.transition == last and _start(passage) == begun for passage in passages[:-1])


def _start(passage: Passage) -> tuple[bytes, bytes]:
    return passage.m_before.tobytes(), passage.x_before.tobytes()


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
    size = np.fmax(courses.sizes, np.abs(x))
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
            if np.all((np.abs(passage.x_after - x) <= STILL * size)[bound.kept]):
                seen.add(tuple(after))
                paths.append([*path, passage])
    return None
