"""Progress: work of a known amount -> one line on the terminal with a bar and the time left; silent where there is no terminal.

The line appears after two seconds, is drawn anew while the work goes on, and is wiped at the end. Work inside of other work (a
movie among pictures) has the line for itself until it ends.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Generator, Iterable, Sized
from types import TracebackType
from typing import Self, TypeVar

__all__ = ["Progress", "counted", "duration"]

_DELAY, _EVERY, _WIDTH = 2.0, 0.5, 30
Item = TypeVar("Item")


class Progress:
    """The bar of some work, to be used in a `with` block.

    Parameters
    ----------
    name : what is done.
    total : how much of it there is: seconds of a run, pictures, frames.
    wanted : False draws nothing anywhere; True draws where standard error is a terminal.
    already : how much of it was done before: it says nothing of how fast the rest goes.
    """

    _innermost: Progress | None = None
    """Whose line it is."""

    def __init__(self, name: str, total: float, wanted: bool = True, already: float = 0.0):
        self.name, self.total, self.already, self.done, self.note = name, total, already, already, ""
        self._active = wanted and sys.stderr is not None and sys.stderr.isatty()
        self._drawn = False
        self._begin = self._said = time.perf_counter()
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
        """So much is done; `note` stands behind the bar."""
        self.done, self.note, self._said = done, note, time.perf_counter()

    def line(self, now: float) -> str:
        """What stands in the terminal at a time of `time.perf_counter()`, s; the bar goes on as fast as it came there."""
        share, spent = self.done / self.total if self.total > 0.0 else 0.0, now - self._begin
        fresh, rest = self.done - self.already, self.total - self.already
        if fresh > 0.0:
            whole = (self._said - self._begin) * rest / fresh
            ahead = (self.already + rest * spent / whole) / self.total if whole > 0.0 else share
            share, left = max(share, min(ahead, 0.99)), f"{duration(max(whole - spent, 0.0))} left"
        else:
            left = f"since {duration(spent)}"
        share = min(share, 1.0)
        bar = "#" * int(_WIDTH * share)
        return f"{self.name} [{bar:<{_WIDTH}}] {100 * share:3.0f} %, {left}{', ' if self.note else ''}{self.note}"

    def _tick(self) -> None:
        """Draw the line while the work goes on, whether or not it says how far it is."""
        wait = _DELAY
        while not self._ended.wait(wait):
            wait = _EVERY
            if Progress._innermost is self:
                self._drawn = True
                sys.stderr.write(f"\r{self.line(time.perf_counter())}\x1b[K")
                sys.stderr.flush()


def counted(items: Iterable[Item], name: str, *, total: int | None = None, progress: bool = True) -> Generator[Item]:
    """The same items, with a bar that says how many of `total` are done; by default, as many as there are.

    >>> list(counted("ab", "letters"))
    ['a', 'b']
    """
    assert total is not None or isinstance(items, Sized)
    count = total if total is not None else len(items)  # type: ignore[arg-type]
    with Progress(name, count, progress) as bar:
        for done, item in enumerate(items):
            bar.show(done, f"{done} of {count}")
            yield item


def duration(seconds: float) -> str:
    """A time as it is said.

    >>> duration(4.2), duration(75.0), duration(7300.0)
    ('4 s', '1 min 15 s', '2 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"
