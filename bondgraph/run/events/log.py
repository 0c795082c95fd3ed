"""What happened in a run, row by row: passages of transitions in, from Python or from machine code, one array of rows out."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bondgraph.run.events.impacts.fired_transitions import Passage, Said, at_rest
from bondgraph.run.program import Program, RunTransition

PLAIN = -1
"""Of a row of which its transition says all."""
SCALARS = ("since", "time", "clock", "transition", "limit", "said")
"""What stands at the front of a row: the time since the start, the same on the user's clock and on that of the formulas, s; the
transition; where it stands for all that would follow, the time of their limit since the start, else nan; the place among what is
said of passages, or `PLAIN`."""


@dataclass(frozen=True)
class Rows:
    """Where the numbers of one passage stand in its row: scalars, then states and modes on both sides, then what was supplied."""

    states: int
    modes: int
    powers: int

    @staticmethod
    def of(program: Program) -> Rows:
        """Those of a program."""
        return _rows(program.states, program.modes, 0 if program.powers is None else int(program.powers.n_out))

    @cached_property
    def width(self) -> int:
        """Numbers in a row."""
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
def _rows(states: int, modes: int, powers: int) -> Rows:
    return Rows(states, modes, powers)


def said_at_rest(edges: Sequence[RunTransition]) -> list[Said]:
    """What is said of transitions that accumulate."""
    return list(dict.fromkeys(at_rest(edge) for edge in edges if edge.accumulates is not None))


def resting_notes(edges: Sequence[RunTransition]) -> dict[int, int]:
    """Of transitions that accumulate, the place of what is said then in `Log.said`."""
    said = said_at_rest(edges)
    return {i: said.index(at_rest(edge)) for i, edge in enumerate(edges) if edge.accumulates is not None}


class Log:
    """Grows with a run that began at `start` on the user's clock, s."""

    def __init__(self, program: Program, start: float):
        self.layout, self._start = Rows.of(program), start
        self._rows, self._count = np.empty((16, self.layout.width)), 0
        self.said: list[Said] = said_at_rest(program.transitions)

    def __len__(self) -> int:
        return self._count

    @property
    def rows(self) -> np.ndarray:
        """All rows so far (k, width)."""
        return self._rows[: self._count]

    @property
    def last(self) -> int:
        """The transition of the last row."""
        return int(self.rows[-1, SCALARS.index("transition")])

    def take(self, rows: np.ndarray) -> None:
        """Add rows (k, width)."""
        count = self._count + len(rows)
        if count > len(self._rows):
            more = np.empty((max(count, 2 * len(self._rows)), self.layout.width))
            more[: self._count] = self.rows
            self._rows = more
        self._rows[self._count : count] = rows
        self._count = count

    def add(self, passage: Passage) -> None:
        """Add one passage."""
        said = PLAIN
        if passage.said is not None:
            said = self.said.index(passage.said) if passage.said in self.said else len(self.said)
            self.said[said : said + 1] = [passage.said]
        limit = np.nan if passage.limit is None else passage.limit
        scalars = (passage.time, self._start + passage.time, passage.clock, passage.transition, limit, said)
        sides = passage.x_before, passage.x_after, passage.m_before, passage.m_after
        self.take(np.concatenate([scalars, *sides, passage.supplied])[None])

    def extend(self, passages: Iterable[Passage]) -> None:
        """Add some, in order."""
        for passage in passages:
            self.add(passage)

    def until(self, since: float) -> None:
        """Leave out what happened later."""
        kept = self.rows[self.rows[:, 0] <= since]
        self._rows[: len(kept)], self._count = kept, len(kept)
