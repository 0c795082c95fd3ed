"""Base class of all errors that users can fix, and the error for invalid geometric input."""

from __future__ import annotations


class ScrewbondError(Exception):
    """Base of all errors that the user can fix, here and in the packages built on this one."""


class GeometryError(ScrewbondError, ValueError):
    """Geometric input from which no equation can be built.

    Parameters
    ----------
    code : stable, "G101" and up; the table is in the documentation.
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
