"""Triples of scalars: the few products that surfaces need, without the overhead of small arrays."""

from __future__ import annotations

from screws.scalars import Scalar

Triple = tuple[Scalar, Scalar, Scalar]


def dot(a: Triple, b: Triple) -> Scalar:
    """Scalar product of two triples."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Triple, b: Triple) -> Triple:
    """Vector product of two triples."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def scaled(a: Triple, factor: Scalar) -> Triple:
    """Triple times a scalar."""
    return (a[0] * factor, a[1] * factor, a[2] * factor)


def times(a: Triple, b: Triple) -> Triple:
    """Componentwise product of two triples."""
    return (a[0] * b[0], a[1] * b[1], a[2] * b[2])
