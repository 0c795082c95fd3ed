"""Validation of numeric arguments: real numbers become floats; text, booleans and other objects become nan or None."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_REAL = "iuf"


def real(value: Any) -> float:
    """Convert a real number to a float; nan for anything else: text, True, None, a complex number, a list.

    >>> real(3), real("3"), real(True), real([[1], [2, 3]])
    (3.0, nan, nan, nan)
    """
    if isinstance(value, (str, bytes, bool, np.bool_, complex, list)):
        return math.nan
    try:
        return float(value) if np.ndim(value) == 0 else math.nan
    except (TypeError, ValueError, OverflowError):
        return math.nan


def reals(values: Any, count: int) -> np.ndarray | None:
    """Convert a sequence of real numbers to floats (count,); None for anything else, and for numbers that are not finite.

    >>> reals((1, 2.5), 2), reals(("1", "2"), 2), reals((1, 2), 3)
    (array([1. , 2.5]), None, None)
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in _REAL:
        array = values.astype(float)
    else:
        try:
            array = np.array([real(value) for value in values], dtype=float)
        except TypeError:
            return None
    return array if array.shape == (count,) and bool(np.all(np.isfinite(array))) else None


def floats(values: Any, *shapes: tuple[int, ...]) -> np.ndarray | None:
    """Convert values to finite floats of one of the shapes; None for anything else, including text and booleans.

    >>> floats([1, 2], (3,), (2,)), floats(1.0, (3,)), floats(("1", "2"), (2,))
    (array([1., 2.]), None, None)
    """
    try:
        array = np.asarray(values)
        numbers = array.astype(float) if holds_numbers(array) else None
    except (TypeError, ValueError):
        return None
    return numbers if numbers is not None and numbers.shape in shapes and bool(np.all(np.isfinite(numbers))) else None


def holds_numbers(array: np.ndarray) -> bool:
    if array.dtype.kind == "O":
        return not any(isinstance(entry, (str, bytes, bool, complex, type(None))) for entry in array.flat)
    return array.dtype.kind in _REAL


def length(values: Any) -> int:
    listed = isinstance(values, (list, tuple)) or (isinstance(values, np.ndarray) and values.ndim > 0)
    return len(values) if listed else 0


def fixed_floats(values: Any) -> np.ndarray:
    """Copy values into a read-only array of floats for the fields of frozen records."""
    out = np.array(values, dtype=float)
    out.setflags(write=False)
    return out


def shown(value: Any) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{value:g}"
    return excerpt(repr(value))


def excerpt(text: str) -> str:
    return text if len(text) < 60 else text[:56] + " ..."


def shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else text[:57] + "..."
