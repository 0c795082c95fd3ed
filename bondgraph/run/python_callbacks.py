"""Call Python from machine code, and keep its exceptions until the machine code has returned.

Arguments lie in memory. An exception that a signal brings, such as an interrupt, comes before the first line of a function,
where nothing in it catches it, and machine code would get no result. So machine code calls the next step of a generator, which
goes on inside a block that catches it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack

MAX_TRIES = 3
"""Tries for a result that machine code cannot do without."""


class PythonCallback:
    """A Python function that machine code calls at `address`; exceptions wait for `check`.

    Parameters
    ----------
    answer : -> a whole number, such as an address.
    otherwise : the number where `answer` raises, with which machine code goes on until `check`.
    persistent : try again after an exception, which a signal may have brought.
    """

    def __init__(self, answer: Callable[[], int], otherwise: Callable[[], int] = int, persistent: bool = False):
        self._error: BaseException | None = None
        self._steps = self._results(answer, otherwise, MAX_TRIES if persistent else 1)
        next(self._steps)
        self._called = ctypes.CFUNCTYPE(ctypes.c_void_p)(self._steps.__next__)
        self.address: int = ctypes.cast(self._called, ctypes.c_void_p).value or 0

    def _results(self, answer: Callable[[], int], otherwise: Callable[[], int], tries: int) -> Generator[int, None, None]:
        result, remaining = 0, 0
        while True:
            try:
                while True:
                    if not remaining:
                        remaining = tries + 1
                        yield result
                    result = answer() if remaining > 1 else otherwise()
                    remaining = 0
            except GeneratorExit:  # nobody asks any more
                return
            except BaseException as error:
                self._error = self._error or error
                remaining = max(remaining - 1, 1)

    def check(self) -> None:
        """Raise the exception of a call, if there was one."""
        if self._error is not None:
            error, self._error = self._error, None
            raise error


def check_each(checks: Iterable[Callable[[], None]]) -> None:
    """Let each check raise its exception: the first of all is raised, and none waits for a later run."""
    with ExitStack() as stack:
        for check in checks:
            stack.callback(check)
