"""Answers of Python to machine code: a function in; what machine code calls, through which no exception goes, out.

What is asked lies in memory. An exception that a signal brings, such as an interrupt, comes before the first line of a function,
where nothing in it catches it, and machine code would have no answer. So what is called is the next step of a generator, which
goes on inside the block that does.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack

TRIES = 3
"""How often an answer that machine code cannot do without is tried for."""


class Answers:
    """What machine code calls: `address`. Exceptions wait for `check`.

    Parameters
    ----------
    answer : -> a whole number, such as an address.
    otherwise : the same where `answer` cannot be had, for machine code that goes on with it until `check`.
    persistent : whether the answer is tried for again after an exception, which a signal may have brought.
    """

    def __init__(self, answer: Callable[[], int], otherwise: Callable[[], int] = int, persistent: bool = False):
        self._error: BaseException | None = None
        self._steps = self._answers(answer, otherwise, TRIES if persistent else 1)
        next(self._steps)
        self._called = ctypes.CFUNCTYPE(ctypes.c_void_p)(self._steps.__next__)
        self.address: int = ctypes.cast(self._called, ctypes.c_void_p).value or 0

    def _answers(self, answer: Callable[[], int], otherwise: Callable[[], int], tries: int) -> Generator[int, None, None]:
        given, left = 0, 0
        while True:
            try:
                while True:
                    if not left:
                        left = tries + 1
                        yield given
                    given = answer() if left > 1 else otherwise()
                    left = 0
            except GeneratorExit:  # nobody asks any more
                return
            except BaseException as error:
                self._error = self._error or error
                left = max(left - 1, 1)

    def check(self) -> None:
        """Raise what has come while machine code was answered."""
        if self._error is not None:
            error, self._error = self._error, None
            raise error


def check_each(checks: Iterable[Callable[[], None]]) -> None:
    """Let each raise what has come while machine code was answered: the first of all is raised, and what came to others does not
    wait for a later run."""
    with ExitStack() as stack:
        for check in checks:
            stack.callback(check)
