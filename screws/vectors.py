"""Vectors of three scalars and their products; triples avoid the overhead of small arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from screws.arrays import Vector3
from screws.scalars import Scalar, array, sqrt

Triple = tuple[Scalar, Scalar, Scalar]


def dot(a: Vector3, b: Vector3) -> Scalar:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def length(a: Vector3) -> Scalar:
    return sqrt(dot(a, a))


def cross(a: Vector3, b: Vector3) -> Any:
    """Return the vector product of two vectors (3,): an array if one of them is an array, else a triple."""
    product = (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
    return array(product) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else product


def scaled(a: Vector3, factor: Scalar) -> Triple:
    return (a[0] * factor, a[1] * factor, a[2] * factor)


def times(a: Vector3, b: Vector3) -> Triple:
    return (a[0] * b[0], a[1] * b[1], a[2] * b[2])
