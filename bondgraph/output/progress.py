"""Progress bar: one line on the terminal with a bar and the remaining time; silent without a terminal.

The line appears after two seconds, is redrawn during the work, and is erased at the end. Nested work, such as a movie among
pictures, occupies the line until it ends.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Generator, Iterable, Sized
from types import TracebackType
from typing import Self, TypeVar

__all__ = ["Progress", "track", "duration_text"]

_DELAY, _EVERY, _WIDTH = 2.0, 0.5, 30
Item = TypeVar("Item")


class Progress:
    """Progress bar, to be used in a `with` block.

    Parameters
    ----------
    name : name of the work.
    total : amount of work: seconds of a run, pictures, frames.
    enabled : False never draws; True draws if standard error is a terminal.
    initial : amount done before, which is ignored in the estimate of the speed.
    """

    _innermost: Progress | None = None
    """Progress bar that occupies the terminal line."""

    def __init__(self, name: str, total: float, enabled: bool = True, initial: float = 0.0):
        self.name, self.total, self.initial, self.done, self.note = name, total, initial, initial, ""
        self._active = enabled and sys.stderr is not None and sys.stderr.isatty()
        self._drawn = False
        self._begin = self._updated = time.perf_counter()
        self._outer: Progress | None = None
        if self._active:
            self._ended, self._clock = threading.Event(), threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Self:
        if self._active:
            self._outer, Progress._innermost = Progress._innermost, self
            self._clock.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._active:
            self._ended.set()
            self._clock.join()
            Progress._innermost = self._outer
            if self._drawn:
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()

    def show(self, done: float, note: str = "") -> None:
        self.done, self.note, self._updated = done, note, time.perf_counter()

    def line(self, now: float) -> str:
        """Return the terminal line at a time of `time.perf_counter()`, s; the bar advances at the average speed so far."""
        share, spent = self.done / self.total if self.total > 0.0 else 0.0, now - self._begin
        progress, remaining = self.done - self.initial, self.total - self.initial
        if progress > 0.0:
            expected = (self._updated - self._begin) * remaining / progress
            ahead = (self.initial + remaining * spent / expected) / self.total if expected > 0.0 else share
            share, remark = max(share, min(ahead, 0.99)), f"{duration_text(max(expected - spent, 0.0))} left"
        else:
            remark = f"since {duration_text(spent)}"
        share = min(share, 1.0)
        bar = "#" * int(_WIDTH * share)
        return f"{self.name} [{bar:<{_WIDTH}}] {100 * share:3.0f} %, {remark}{', ' if self.note else ''}{self.note}"

    def _tick(self) -> None:
        wait = _DELAY
        while not self._ended.wait(wait):
            wait = _EVERY
            if Progress._innermost is self:
                self._drawn = True
                sys.stderr.write(f"\r{self.line(time.perf_counter())}\x1b[K")
                sys.stderr.flush()


def track(items: Iterable[Item], name: str, *, total: int | None = None, progress: bool = True) -> Generator[Item]:
    """Yield the items, with a progress bar for `total` items, by default the number of items.

    >>> list(track("ab", "letters"))
    ['a', 'b']
    """
    assert total is not None or isinstance(items, Sized)
    count = total if total is not None else len(items)  # type: ignore[arg-type]
    with Progress(name, count, progress) as bar:
        for done, item in enumerate(items):
            bar.show(done, f"{done} of {count}")
            yield item


def duration_text(seconds: float) -> str:
    """Return a duration as text.

    >>> duration_text(4.2), duration_text(75.0), duration_text(7300.0)
    ('4 s', '1 min 15 s', '2 h 1 min')
    """
    rounded = round(seconds)
    if rounded < 60:
        return f"{rounded} s"
    return f"{rounded // 60} min {rounded % 60} s" if rounded < 3600 else f"{rounded // 3600} h {rounded % 3600 // 60} min"
