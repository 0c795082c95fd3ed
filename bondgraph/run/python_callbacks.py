"""Callbacks of machine code to Python, with exceptions that are kept until the machine code has returned.

Arguments are passed in memory. An exception from a signal, such as an interrupt, can occur before the first line of a
function, where the function cannot catch it, and machine code would get no result. So machine code calls the next step of a
generator, which continues inside a block that catches the exception.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack

MAX_TRIES = 3


class PythonCallback:
    """Python function that machine code calls at `address`; `check` raises its exceptions later.

    Parameters
    ----------
    function : returns an integer, such as an address.
    fallback : returns the integer that machine code gets after an exception in `function`.
    persistent : True to call `function` up to `MAX_TRIES` times, because a signal may have caused the exception.
    has_argument : True if machine code passes the address of its table, which `function` ignores.
    """

    def __init__(
        self, function: Callable[[], int], fallback: Callable[[], int] = int, persistent: bool = False, has_argument: bool = False
    ):
        self._error: BaseException | None = None
        self._steps = self._results(function, fallback, MAX_TRIES if persistent else 1)
        next(self._steps)
        step: Callable[..., int] = self._steps.send if has_argument else self._steps.__next__
        self._called = ctypes.CFUNCTYPE(*[ctypes.c_void_p] * (1 + has_argument))(step)
        self.address: int = ctypes.cast(self._called, ctypes.c_void_p).value or 0

    def _results(self, function: Callable[[], int], fallback: Callable[[], int], tries: int) -> Generator[int, None, None]:
        result, remaining = 0, 0
        while True:
            try:
                while True:
                    if not remaining:
                        remaining = tries + 1
                        yield result
                    result = function() if remaining > 1 else fallback()
                    remaining = 0
            except GeneratorExit:  # the caller no longer exists
                return
            except BaseException as error:
                self._error = self._error or error
                remaining = max(remaining - 1, 1)

    def check(self) -> None:
        if self._error is not None:
            error, self._error = self._error, None
            raise error


def check_each(checks: Iterable[Callable[[], None]]) -> None:
    """Run all checks, then raise the exception of the first that failed, so that no exception is left for a later run."""
    with ExitStack() as stack:
        for check in checks:
            stack.callback(check)
