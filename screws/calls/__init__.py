"""Calls of public functions: an error of Python that an argument causes becomes one with a code, which names the argument."""

from screws.calls.explanations import check_calls, unknown_argument

__all__ = ["check_calls", "unknown_argument"]
