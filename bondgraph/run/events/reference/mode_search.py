"""Mode search at an instant where transitions cycle: the fewest transitions after which no guard fires."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bondgraph.run.bound import Bound
from bondgraph.run.events.guard_history import GuardHistory
from bondgraph.run.events.impacts.fired_transitions import MIN_JUMP, FiredTransition, by_name, fire

MAX_COMBINATIONS = 2000
"""Largest number of combinations of modes that are tried."""


def modes_cycle(bound: Bound, history: GuardHistory, firings: Sequence[FiredTransition], since: int) -> bool:
    """Return True if the last transition changes modes as one from the position `since` on has done: by the same transition from
    the same modes, with the states where the instant began, up to rounding. This does not end unless rounding ends it."""
    last, start = firings[-1], firings[0].x_before
    edge = bound.program.transitions[last.transition]
    if edge.source == edge.target or not _still(bound, history, start, last.x_before):
        return False
    before = (p for p in firings[since:-1] if p.transition == last.transition and np.array_equal(p.m_before, last.m_before))
    return any(_still(bound, history, start, firing.x_before) for firing in before)


def _still(bound: Bound, history: GuardHistory, start: np.ndarray, x: np.ndarray) -> bool:
    """Return True if states x are those of the start, up to rounding."""
    size = np.fmax(history.sizes, np.abs(start))
    return bool(np.all((np.abs(x - start) <= MIN_JUMP * size)[bound.true_states]))


def consistent_modes(
    bound: Bound, history: GuardHistory, t: float, x: np.ndarray, m: np.ndarray, taken: Sequence[int], probe: float
) -> list[FiredTransition] | None:
    """Return the fewest transitions from (x, m) after which no guard fires, where no state jumps; None if there are none. First
    try the automata that have `taken` some, then all: the one that has to respond may not have had its turn."""
    path = _nearest(bound, history, t, x, m, taken, probe)
    return path if path is not None else _nearest(bound, history, t, x, m, range(len(bound.program.transitions)), probe)


def _nearest(
    bound: Bound, history: GuardHistory, t: float, x: np.ndarray, m: np.ndarray, tried: Sequence[int], probe: float
) -> list[FiredTransition] | None:
    """Search the transitions of the automata of the transitions `tried`. A jump within rounding does not count."""
    transitions = bound.program.transitions
    slots = {transitions[i].slot for i in tried}
    edges = [i for i in by_name(transitions) if transitions[i].slot in slots and transitions[i].error is None]
    paths: list[list[FiredTransition]] = [[]]
    seen = {tuple(m)}
    for path in paths:
        y, modes = (path[-1].x_after, path[-1].m_after) if path else (x, m)
        if not history.firing_guards(t, y, modes, probe).any():
            return path
        for i in edges:
            after = modes.copy()
            after[transitions[i].slot] = transitions[i].target
            if modes[transitions[i].slot] != transitions[i].source or tuple(after) in seen or len(seen) > MAX_COMBINATIONS:
                continue
            firing = fire(bound, i, t, y, modes)
            if _still(bound, history, x, firing.x_after):
                seen.add(tuple(after))
                paths.append([*path, firing])
    return None
