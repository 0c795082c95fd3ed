"""Strong components of a graph, and ways along all that is in one: edges in; components, and their ears, out."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence


def components(drives: Sequence[Sequence[int]], driven_by: Sequence[Sequence[int]]) -> list[list[int]]:
    """Strong components of the graph with edges j -> drives[j], which are driven_by[i] -> i, those that drive others before
    them (Kosaraju's algorithm)."""
    seen: set[int] = set()
    finished = [state for start in range(len(drives)) for state in _reached(start, drives, seen)]
    seen.clear()
    parts = [_reached(start, driven_by, seen) for start in reversed(finished)]
    return [sorted(part) for part in parts if part]


def _reached(start: int, edges: Sequence[Sequence[int]], seen: set[int]) -> list[int]:
    """What is reached from a node and was not seen before, itself included: each after all that is reached from it."""
    found: list[int] = []
    path = [] if start in seen else [(start, iter(edges[start]))]
    seen.add(start)
    while path:
        node, ahead = path[-1]
        for other in ahead:
            if other not in seen:
                seen.add(other)
                path.append((other, iter(edges[other])))
                break
        else:
            found.append(node)
            path.pop()
    return found


def ears_of(part: Sequence[int], drives: Sequence[Sequence[tuple[int, int]]]) -> list[tuple[int, list[tuple[int, int]]]]:
    """Ears of a strong component: each a shortest way from a state of those before back to one of them, as its start and
    the steps (state, coupling that leads there). `drives` has the same of each state within its component."""
    ears = []
    known = {part[0]}
    queue = deque(known)
    while queue:
        start = queue.popleft()
        for first in drives[start]:
            if first[0] in known:
                continue
            way = _shortest(first, drives, known)
            ears.append((start, way))
            between = [state for state, _ in way[:-1]]
            known.update(between)
            queue.extend(between)
    return ears


def _shortest(first: tuple[int, int], drives: Sequence[Sequence[tuple[int, int]]], known: set[int]) -> list[tuple[int, int]]:
    """The shortest way on from the step `first` to a known state, that step included."""
    steps, came, ahead = {first[0]: first}, {first[0]: -1}, deque([first[0]])
    while ahead:
        at = ahead.popleft()
        for step in drives[at]:
            if step[0] in known:
                way = [step]
                while at >= 0:
                    way.append(steps[at])
                    at = came[at]
                return way[::-1]
            if step[0] not in came:
                steps[step[0]], came[step[0]] = step, at
                ahead.append(step[0])
    raise ValueError("the component is not strong")
