"""Numbers as callers give them: real numbers pass as floats; text, truth values and the like become nan, never a number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_REAL = "iuf"
"""Kinds of arrays whose entries are real numbers."""


def real(value: Any) -> float:
    """The float that a real number is; nan for what is none: text, True, None, a complex number, a list.

    >>> real(3), real("3"), real(True)
    (3.0, nan, nan)
    """
    if isinstance(value, float):
        return float(value)
    if isinstance(value, (str, bytes, bool, np.bool_, complex)) or np.ndim(value) != 0:
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def reals(values: Any, count: int) -> np.ndarray | None:
    """The floats (count,) that a sequence of real numbers is; None where it is something else or one is not finite.

    >>> reals((1, 2.5), 2), reals(("1", "2"), 2), reals((1, 2), 3)
    (array([1. , 2.5]), None, None)
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in _REAL:
        found = values.astype(float)
    else:
        try:
            found = np.array([real(value) for value in values], dtype=float)
        except TypeError:
            return None
    return found if found.shape == (count,) and bool(np.all(np.isfinite(found))) else None


def floats(values: Any, *shapes: tuple[int, ...]) -> np.ndarray | None:
    """Finite floats of one of the shapes; None where they are something else, or text or truth values.

    >>> floats([1, 2], (3,), (2,)), floats(1.0, (3,)), floats(("1", "2"), (2,))
    (array([1., 2.]), None, None)
    """
    try:
        given = np.asarray(values)
        found = given.astype(float) if given.dtype.kind in _REAL + "O" else None
    except (TypeError, ValueError):
        return None
    return found if found is not None and found.shape in shapes and bool(np.all(np.isfinite(found))) else None


def fixed_floats(values: Any) -> np.ndarray:
    """A copy as floats that cannot be written to: the arrays of frozen records."""
    out = np.array(values, dtype=float)
    out.setflags(write=False)
    return out


def shown(value: Any) -> str:
    """A value for a message: a number as numbers are written, anything else as its source, cut where it is long."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{value:g}"
    text = repr(value)
    return text if len(text) < 60 else text[:56] + " ..."
