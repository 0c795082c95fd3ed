"""Numeric arguments: `real` reads numbers and arrays."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np


def real(value: Any) -> np.ndarray | None:
    """Return a number, or an array or nested list of numbers, as floats; None for strings, truth values, None, complex or masked
    numbers.

    >>> real([1, 2.5]), real("1.0"), real(True), real(None), real([1.0, "2"]), real(-(10**400))
    (array([1. , 2.5]), None, None, None, None, array(-inf))
    """
    if type(value) is float:
        return np.asarray(value)
    if has_masked(value):
        return None
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        return None
    if array.dtype.kind == "O":
        valid = all(isinstance(v, Real) and not isinstance(v, bool) for v in array.flat)
    else:
        valid = array.dtype.kind in "iuf" and not _holds_truth(value)
    return _floats(array) if valid else None


def _floats(array: np.ndarray) -> np.ndarray:
    try:
        return array.astype(float)
    except OverflowError:
        return np.array([_float(v) for v in array.flat]).reshape(array.shape)


def _float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.copysign(math.inf, number > 0 or -1)


def has_masked(value: Any) -> bool:
    return isinstance(value, np.ndarray) and bool(np.any(getattr(value, "mask", False)))


def _holds_truth(value: Any) -> bool:
    """Return True if a nested list contains a truth value, which NumPy would convert to a number."""
    if isinstance(value, (list, tuple)):
        return any(map(_holds_truth, value))
    return isinstance(value, (bool, np.bool_))
