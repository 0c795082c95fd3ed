"""Event log of a run: one row for each fired transition, from Python or from machine code."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bondgraph.run.events.impacts.fired_transitions import EventLabel, FiredTransition, pass_label, rest_label
from bondgraph.run.program import Program, RunTransition

NO_LABEL = -1
"""Label index of a row whose event takes the label of its transition."""
SCALARS = ("since", "time", "clock", "transition", "limit", "label")
"""Scalars at the front of a row. `since`, `time` and `clock` are the time since the start, on the user's clock, and on the
clock of the formulas, s; `limit` is NaN or, if the row leads to a state of rest, the limit of the times of the events that it
replaces, since the start, s; `label` is the index of a label, or `NO_LABEL`."""


@dataclass(frozen=True)
class RowLayout:
    states: int
    modes: int
    powers: int

    @staticmethod
    def of(program: Program) -> RowLayout:
        return _layout(program.states, program.modes, program.quadratures)

    @cached_property
    def width(self) -> int:
        return self.supplied.stop

    @cached_property
    def x_before(self) -> slice:
        return slice(len(SCALARS), len(SCALARS) + self.states)

    @cached_property
    def x_after(self) -> slice:
        return slice(self.x_before.stop, self.x_before.stop + self.states)

    @cached_property
    def m_before(self) -> slice:
        return slice(self.x_after.stop, self.x_after.stop + self.modes)

    @cached_property
    def m_after(self) -> slice:
        return slice(self.m_before.stop, self.m_before.stop + self.modes)

    @cached_property
    def supplied(self) -> slice:
        return slice(self.m_after.stop, self.m_after.stop + self.powers)


@functools.lru_cache(maxsize=64)
def _layout(states: int, modes: int, powers: int) -> RowLayout:
    return RowLayout(states, modes, powers)


def known_labels(edges: Sequence[RunTransition]) -> list[EventLabel]:
    resting = [rest_label(edge) for edge in edges if edge.accumulates is not None]
    return list(dict.fromkeys([*resting, *(pass_label(edge) for edge in edges if _stops_slip(edge))]))


def _stops_slip(edge: RunTransition) -> bool:
    return edge.passes is not None and not edge.internal


def rest_label_indices(edges: Sequence[RunTransition]) -> dict[int, int]:
    labels = known_labels(edges)
    return {i: labels.index(rest_label(edge)) for i, edge in enumerate(edges) if edge.accumulates is not None}


def pass_label_indices(edges: Sequence[RunTransition]) -> dict[int, int]:
    labels = known_labels(edges)
    return {i: labels.index(pass_label(edge)) for i, edge in enumerate(edges) if _stops_slip(edge)}


class Log:
    """Event log that grows during a run; `start` is the start time on the user's clock, s."""

    def __init__(self, program: Program, start: float):
        self.layout, self._start = RowLayout.of(program), start
        self._rows, self._count = np.empty((16, self.layout.width)), 0
        self.labels: list[EventLabel] = known_labels(program.transitions)

    def __len__(self) -> int:
        return self._count

    @property
    def rows(self) -> np.ndarray:
        return self._rows[: self._count]

    def take(self, rows: np.ndarray) -> None:
        count = self._count + len(rows)
        if count > len(self._rows):
            more = np.empty((max(count, 2 * len(self._rows)), self.layout.width))
            more[: self._count] = self.rows
            self._rows = more
        self._rows[self._count : count] = rows
        self._count = count

    def add(self, firing: FiredTransition) -> None:
        label = NO_LABEL
        if firing.label is not None:
            label = self.labels.index(firing.label) if firing.label in self.labels else len(self.labels)
            self.labels[label : label + 1] = [firing.label]
        limit = np.nan if firing.limit is None else firing.limit
        scalars = (firing.time, self._start + firing.time, firing.clock, firing.transition, limit, label)
        sides = firing.x_before, firing.x_after, firing.m_before, firing.m_after
        self.take(np.concatenate([scalars, *sides, firing.supplied])[None])

    def extend(self, firings: Iterable[FiredTransition]) -> None:
        for firing in firings:
            self.add(firing)

    def until(self, since: float) -> None:
        kept = self.rows[self.rows[:, 0] <= since]
        self._rows[: len(kept)], self._count = kept, len(kept)
