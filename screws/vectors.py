"""Vectors of three scalars and their products; triples avoid the overhead of small arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from screws.scalars import Scalar, array, sqrt

Triple = tuple[Scalar, Scalar, Scalar]


def dot(a: Sequence[Scalar] | np.ndarray, b: Sequence[Scalar] | np.ndarray) -> Scalar:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def length(a: Sequence[Scalar] | np.ndarray) -> Scalar:
    return sqrt(dot(a, a))


def cross(a: Any, b: Any) -> Any:
    product = (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
    return array(product) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else product


def scaled(a: Triple, factor: Scalar) -> Triple:
    return (a[0] * factor, a[1] * factor, a[2] * factor)


def times(a: Triple, b: Triple) -> Triple:
    return (a[0] * b[0], a[1] * b[1], a[2] * b[2])
