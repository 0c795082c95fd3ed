"""What is made once in a process: a function in; the same, which every thread waits for and nobody makes twice, out.

`functools.cache` lets two threads make a thing at the same time and forgets one of them: of machine code, with addresses that
somebody holds.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar

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
