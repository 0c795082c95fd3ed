"""Errors that users can fix: their base class, errors for invalid geometry and calls, and helpers for messages."""

from __future__ import annotations

import sys


class ScrewbondError(Exception):
    """Base of the errors of screws, bondgraph and screwbond that the user can fix."""


class CodedError(ScrewbondError):
    """Error with a stable code.

    Parameters
    ----------
    code : stable identifier, such as "G101"; the documentation lists all codes.
    message : what is wrong, where, and why.
    cure : what to try.
    """

    def __init__(self, code: str, message: str, cure: str) -> None:
        super().__init__(code, message, cure)
        self.code = code
        self.message = message
        self.cure = cure

    def __str__(self) -> str:
        return f"{self.code} {self.message}\n  try: {self.cure}"


class GeometryError(CodedError, ValueError):
    """Geometric input from which no equation can be built: codes "G101" and up."""


class TableError(CodedError, ValueError):
    """Points and values through which no function can be drawn: codes E146, E147."""


class CallError(CodedError, TypeError):
    """Call with arguments that a function or an object does not take: E317, E150, E684."""


def is_own(module: str) -> bool:
    return module.partition(".")[0] in ("bondgraph", "screws", "screwbond", "models")


def is_called_by_user() -> bool:
    """Return True if code outside this project called the caller of this function; wrappers that explain calls are skipped."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(("screws.calls", "screws.names")):
        frame = frame.f_back
    return not is_own(frame.f_globals.get("__name__", ""))


def plural(count: int, noun: str) -> str:
    """Return a count and its noun, in the plural unless the count is 1.

    >>> plural(1, "state"), plural(0, "input"), plural(2, "entry")
    ('1 state', '0 inputs', '2 entries')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun[:-1]}ies" if noun.endswith(("ry", "ty")) else f"{count} {noun}s"
