"""Pace of many runs: how many there are in; pieces for a call each, which threads take one after the other, out."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from time import perf_counter

HEARD = 0.3
"""How long a call may take, s: nothing else is heard during it."""
CALL, THREAD = 1e-3, 5e-3
"""How long a call should take at least, s, and the work of a thread: many times what Python does around them."""
_SHARES = 4
"""Calls of each thread, for what is left: none waits for long at the end."""


class Pace:
    """How long a run takes, s, as far as is known from those before, else 0; threads may share it."""

    def __init__(self) -> None:
        self.each = 0.0


class Claims:
    """So many runs, of which threads take piece after piece, `least` runs in each where there are as many; none once all is
    `called_off`."""

    def __init__(self, runs: int, least: int, pace: Pace, called_off: threading.Event):
        self.begun, self._runs, self._least, self._pace, self._called_off = 0, runs, least, pace, called_off
        self._threads, self._lock = 1, threading.Lock()

    def shared_by(self, threads: int) -> int:
        """Let so many threads share what is left, or as many as that is worth; how many these are."""
        worth = (self._runs - self.begun) * self._pace.each / THREAD
        self._threads = max(1, min(threads, int(worth)) if self._pace.each else threads)
        return self._threads

    def first(self) -> Iterator[slice]:
        """Ever more runs, from one on, until it is known how long they take; with the first, things are made that stay."""
        count, enough = 1, HEARD
        while not self._pace.each and (piece := self._taken(count)):
            begin = perf_counter()
            yield piece
            seconds = perf_counter() - begin
            if seconds > enough:
                self._pace.each = seconds / count
            count, enough = (2 * count if enough == CALL else 1), CALL

    def pieces(self) -> Iterator[slice]:
        """Those that one thread takes."""
        while piece := self._taken():
            begin = perf_counter()
            yield piece
            self._pace.each = (perf_counter() - begin) / (piece.stop - piece.start)

    def _taken(self, count: int | None = None) -> slice | None:
        """The runs that follow, so many or as many as are to be done in a call; None for none."""
        with self._lock:
            first = self.begun
            if first >= self._runs or self._called_off.is_set():
                return None
            self.begun = min(first + (count or self._fitting()), self._runs)
            return slice(first, self.begun)

    def _fitting(self) -> int:
        each, left = self._pace.each, self._runs - self.begun
        if not each:
            return self._least
        share = left if self._threads == 1 else max(left // (_SHARES * self._threads), int(CALL / each))
        return max(self._least, min(share, int(HEARD / each)))
