"""If several threads request an object that is created once per process, the first creates it and the others wait."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import bondgraph
from tests.inner.emit import OnceProperty, build_once


def by_function(make: Callable[[], object]) -> Callable[[], object]:
    return build_once(make)


def by_property(make: Callable[[], object]) -> Callable[[], object]:
    class Holder:
        made = OnceProperty(lambda self: make())

    holder = Holder()
    return lambda: holder.made


@pytest.mark.parametrize("through", [by_function, by_property])
def test_nothing_is_made_twice(through) -> None:
    count, together = [], threading.Barrier(8)

    def make() -> object:
        count.append(1)
        time.sleep(0.01)  # other threads request it meanwhile
        return object()

    ask = through(make)

    def asked() -> object:
        together.wait()
        return ask()

    with ThreadPoolExecutor(8) as threads:
        found = [future.result() for future in [threads.submit(asked) for _ in range(8)]]
    assert len(count) == 1 and len(set(map(id, found))) == 1


def test_no_machine_code_is_made_without_a_lock() -> None:
    """Without a lock, two threads could compile one function, and one of them would keep addresses of discarded code."""
    root = Path(bondgraph.__file__).parent
    found = [
        str(path)
        for path in root.rglob("*.py")
        if re.search(r"@functools\.(lru_)?cache.*\n(@.*\n)*def \w+\(.*-> Library:", path.read_text())
    ]
    assert not found
