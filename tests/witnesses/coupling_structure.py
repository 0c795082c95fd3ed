"""Coupling structures by graph algorithms on lists, with the same components and ears in the same order as in machine code."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from tests.inner.run import CouplingStructure

Item = TypeVar("Item")


def _grouped(items: list[Item], group: np.ndarray, count: int) -> list[list[Item]]:
    ends = np.cumsum(np.bincount(group, minlength=count)).tolist()
    return [items[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def strong_components(drives: Sequence[Sequence[int]], driven_by: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the strong components of the graph with edges j -> drives[j], drivers first (Kosaraju's algorithm)."""
    seen: set[int] = set()
    finished = [state for start in range(len(drives)) for state in _depth_first(start, drives, seen)]
    seen.clear()
    parts = [_depth_first(start, driven_by, seen) for start in reversed(finished)]
    return [sorted(part) for part in parts if part]


def _depth_first(start: int, edges: Sequence[Sequence[int]], seen: set[int]) -> list[int]:
    finished: list[int] = []
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
            finished.append(node)
            path.pop()
    return finished


def ear_decomposition(
    part: Sequence[int], drives: Sequence[Sequence[tuple[int, int]]]
) -> list[tuple[int, list[tuple[int, int]]]]:
    """Return the ears of a strong component, each given as its start and its steps (state, coupling that leads there).

    Each ear is a shortest path from a state of the earlier ears back to such a state.
    """
    ears = []
    reached = {part[0]}
    queue = deque(reached)
    while queue:
        start = queue.popleft()
        for first in drives[start]:
            if first[0] in reached:
                continue
            path = _shortest_ear(first, drives, reached)
            ears.append((start, path))
            inner_states = [state for state, _ in path[:-1]]
            reached.update(inner_states)
            queue.extend(inner_states)
    return ears


def _shortest_ear(
    first: tuple[int, int], drives: Sequence[Sequence[tuple[int, int]]], reached: set[int]
) -> list[tuple[int, int]]:
    steps, predecessor, queue = {first[0]: first}, {first[0]: -1}, deque([first[0]])
    while queue:
        state = queue.popleft()
        for step in drives[state]:
            if step[0] in reached:
                path = [step]
                while state >= 0:
                    path.append(steps[state])
                    state = predecessor[state]
                return path[::-1]
            if step[0] not in predecessor:
                steps[step[0]], predecessor[step[0]] = step, state
                queue.append(step[0])
    raise ValueError("the component is not strong")


def structure_by_lists(n: int, rows: np.ndarray, columns: np.ndarray) -> CouplingStructure:
    by_row = np.argsort(rows, kind="stable")
    drivers = _grouped(columns[by_row].tolist(), rows[by_row], n)
    parts = strong_components(_grouped(rows.tolist(), columns, n), drivers)
    part, order = np.empty(n, dtype=np.int64), np.array([i for members in parts for i in members], dtype=np.int64)
    part[order] = np.repeat(np.arange(len(parts)), [len(members) for members in parts])
    inner = np.flatnonzero(part[rows] == part[columns])
    within = _grouped(list(zip(rows[inner].tolist(), inner.tolist(), strict=True)), columns[inner], n)
    ears = [ear for members in parts if len(members) > 1 for ear in ear_decomposition(members, within)]
    steps = [step for _, way in ears for step in way]
    states, couplings = np.array(steps, dtype=np.int64).reshape(-1, 2).T
    starts, ends = [start for start, _ in ears], np.cumsum([0, *(len(way) for _, way in ears)])
    return CouplingStructure(
        rows=np.ascontiguousarray(rows, dtype=np.int64),
        columns=np.ascontiguousarray(columns, dtype=np.int64),
        part=part,
        order=order,
        inner=inner.astype(np.int64),
        drivers_at=np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]).astype(np.int64),
        drivers=np.ascontiguousarray(columns[by_row], dtype=np.int64),
        ear_from=np.array(starts, dtype=np.int64),
        ear_at=np.ascontiguousarray(ends, dtype=np.int64),
        ear_couplings=np.ascontiguousarray(couplings),
        ear_states=np.ascontiguousarray(states),
    )
