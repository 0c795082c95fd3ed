"""What is made once in a process: a function in; the same, which every thread waits for and nobody makes twice, out.

`functools.cache` lets two threads make a thing at the same time and forgets one of them: of machine code, with addresses that
somebody holds.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

Made = TypeVar("Made")


def once(make: Callable[[], Made]) -> Callable[[], Made]:
    """The function without arguments, called when its result is first asked for, and never again."""
    lock, made = threading.RLock(), functools.cache(make)

    @functools.wraps(make)
    def one() -> Made:
        with lock:
            return made()

    return one


class OnceProperty(functools.cached_property[Made]):
    """A `cached_property` that is computed once, whatever threads ask for it; since Python 3.12 those of `functools` are not."""

    _lock = threading.RLock()

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        """The property itself, or its value."""
        with self._lock:
            return super().__get__(instance, owner)


class Last(Generic[Made]):
    """What was made last, under a key that says all that it was made of. Threads may share it."""

    def __init__(self) -> None:
        self._held: tuple[object, Made] | None = None

    def made(self, key: object, make: Callable[[], Made]) -> Made:
        """What was made last, where that was under this key; else made now, and kept unless the key is None."""
        held = self._held
        if key is None or held is None or held[0] != key:
            held = key, make()
            self._held = held if key is not None else self._held
        return held[1]
