"""Build an object once in a process, under a lock: all threads wait for the first build and share its result.

`functools.cache` lets two threads build at the same time and drops one result, even if it is machine code whose addresses are in
use.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

Built = TypeVar("Built")


def build_once(make: Callable[[], Built]) -> Callable[[], Built]:
    """Decorate a function without arguments so that it is called only once, when its result is first needed."""
    lock, made = threading.RLock(), functools.cache(make)

    @functools.wraps(make)
    def one() -> Built:
        with lock:
            return made()

    return one


class OnceProperty(functools.cached_property[Built]):
    """A `cached_property` that is computed once across all threads, which `functools` has not guaranteed since Python 3.12."""

    _lock = threading.RLock()

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        with self._lock:
            return super().__get__(instance, owner)


class LatestBuild(Generic[Built]):
    """Cache of the latest object, whose key contains everything that determines the object; threads may share the cache."""

    def __init__(self) -> None:
        self._latest: tuple[object, Built] | None = None

    def made(self, key: object, make: Callable[[], Built]) -> Built:
        latest = self._latest
        if key is None or latest is None or latest[0] != key:
            latest = key, make()
            self._latest = latest if key is not None else self._latest
        return latest[1]
