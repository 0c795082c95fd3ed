"""A progress line on the terminal for long runs; silent where standard error is no terminal."""

from __future__ import annotations

import sys
import time

_DELAY, _EVERY, _WIDTH = 2.0, 0.2, 30


class Progress:
    """A bar that appears after two seconds and is wiped at the end."""

    def __init__(self, name: str, span: float, wanted: bool):
        self._name, self._span = name, span
        self._begin = self._last = time.perf_counter()
        self._active = wanted and sys.stderr is not None and sys.stderr.isatty()
        self._drawn = False

    def show(self, t: float, events: int) -> None:
        """Redraw, if it is time to."""
        now = time.perf_counter()
        if not self._active or now - self._begin < _DELAY or now - self._last < _EVERY:
            return
        self._last, self._drawn = now, True
        share = t / self._span
        bar = "#" * int(_WIDTH * share)
        sys.stderr.write(f"\r{self._name} [{bar:<{_WIDTH}}] {100 * share:5.1f} %  t = {t:.6g} s, {events} events ")
        sys.stderr.flush()

    def close(self) -> None:
        """Wipe the line."""
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
