"""Pace of many runs: a chunk of them in; pieces for a call each, after which interrupts are heard, out."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event
from time import perf_counter

HEARD = 0.3
"""How long a call may take, s: nothing else is heard during it."""


class Pace:
    """How long a run takes, as far as is known from those before; threads may share it."""

    def __init__(self) -> None:
        self._each = 0.0

    def pieces(self, chunk: slice, least: int, called_off: Event) -> Iterator[slice]:
        """Runs to be done before the next piece is asked for, at least so many where there are; none once all is called off."""
        first = chunk.start
        while first < chunk.stop and not called_off.is_set():
            count = max(least, int(HEARD / self._each) if self._each else 0)
            piece = slice(first, min(first + count, chunk.stop))
            begin = perf_counter()
            yield piece
            self._each = (perf_counter() - begin) / (piece.stop - piece.start)
            first = piece.stop
