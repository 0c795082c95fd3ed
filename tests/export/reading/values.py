"""Values of formulas: numbers, arrays (n,) for columns, (n, k) for matrices, and (1, n) for rows.

Values are complex in derivatives by a complex step; conditions use the real parts.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.export.reading.tokens import Unreadable


def real(value: Any) -> Any:
    return value.real if isinstance(value, complex | np.complexfloating) else value


def absolute(value: Any) -> Any:
    if np.ndim(value):
        return root(np.sum(value * value))
    return value if real(value) >= 0.0 else -value


def root(value: Any) -> Any:
    if isinstance(value, complex | np.complexfloating):
        return cmath.sqrt(value)
    return math.sqrt(value)


def arctangent(y: Any, x: Any) -> Any:
    if not isinstance(y, complex | np.complexfloating) and not isinstance(x, complex | np.complexfloating):
        return math.atan2(y, x)
    y, x = complex(y), complex(x)
    return complex(math.atan2(y.real, x.real), (x.real * y.imag - y.real * x.imag) / (x.real**2 + y.real**2))


def elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*values: Any) -> Any:
        if not any(np.ndim(value) for value in values):
            return function(*values)
        spread = np.broadcast_arrays(*values)
        each = zip(*(array.ravel().tolist() for array in spread), strict=True)
        return np.array([function(*numbers) for numbers in each]).reshape(spread[0].shape)

    return call


def of_both(for_real: Callable[[Any], Any], for_complex: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda z: for_complex(z) if isinstance(z, complex | np.complexfloating) else for_real(z)


def matrix_of(pose: Any) -> Any:
    """Return the matrix (4, 4) of a pose; seven numbers are converted by the page's formula."""
    if np.shape(pose) == (4, 4):
        return pose
    if np.shape(pose) != (7,):
        raise Unreadable(f"a pose of shape {np.shape(pose)}")
    w, x, y, z = pose[:4]
    turn = np.array(
        [
            [-y * y - z * z, x * y - w * z, x * z + w * y],
            [x * y + w * z, -x * x - z * z, y * z - w * x],
            [x * z - w * y, y * z + w * x, -x * x - y * y],
        ]
    )
    matrix = np.eye(4, dtype=np.asarray(pose).dtype)
    matrix[:3, :3] += 2.0 / (w * w + x * x + y * y + z * z) * turn
    matrix[:3, 3] = pose[4:]
    return matrix


def seven_of(matrix: Any) -> Any:
    """Return the seven numbers of a pose's matrix, with a quaternion of length 1 and w >= 0."""
    turn = matrix[:3, :3]
    both, trace = turn + turn.T, turn.trace()
    w = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    products = np.block([[np.array([[1.0 + trace]]), w[None]], [w[:, None], both + (1.0 - trace) * np.eye(3)]])  # 4 q q^T
    largest = int(np.argmax(products.diagonal().real))
    quaternion = products[largest] / (2.0 * np.sqrt(products[largest, largest]))
    return np.concatenate([quaternion if quaternion[0].real >= 0.0 else -quaternion, matrix[:3, 3]])


def adjoint(pose: Any) -> Any:
    matrix = matrix_of(pose)
    turn, (a, b, c) = matrix[:3, :3], matrix[:3, 3]
    tilde = np.array([[0.0, -c, b], [c, 0.0, -a], [-b, a, 0.0]])
    return np.block([[turn, np.zeros((3, 3))], [tilde @ turn, turn]])


def is_pose(value: Any) -> bool:
    return np.shape(value) in ((7,), (4, 4))


def times(left: Any, right: Any, poses: bool) -> Any:
    if poses and is_pose(left) and is_pose(right) and (7,) in (np.shape(left), np.shape(right)):
        return matrix_of(left) @ matrix_of(right)
    if poses and is_pose(left) and np.shape(right) == (3,):
        matrix = matrix_of(left)
        return matrix[:3, :3] @ right + matrix[:3, 3]
    shapes = np.ndim(left), np.ndim(right)
    if 0 in shapes or shapes == (1, 1):
        return left * right
    if shapes == (1, 2):
        return np.asarray(left)[:, None] * right if np.shape(right)[0] != 1 else np.outer(left, right)
    return left @ right


def dotted(left: Any, right: Any, poses: bool) -> Any:
    """Return the product with a dot, which for columns is the inner product."""
    if np.ndim(left) == 1 and np.ndim(right) == 1:
        return np.sum(left * right)
    return times(left, right, poses)


def inverse(value: Any, poses: bool) -> Any:
    if poses and np.shape(value) == (7,):
        return np.linalg.inv(matrix_of(value))
    if np.ndim(value) == 2:
        return np.linalg.inv(value)
    return 1.0 / value


def raised(value: Any, power: Any) -> Any:
    if isinstance(power, int | float) and float(power).is_integer():
        power = int(power)
    return value**power


def transposed(value: Any) -> Any:
    return np.asarray(value)[None, :] if np.ndim(value) == 1 else np.transpose(value)


class One:
    """The identity, in the size that the context needs."""

    __array_ufunc__ = None

    def __add__(self, other: Any) -> Any:
        return np.eye(len(other)) + other

    def __radd__(self, other: Any) -> Any:
        return other + np.eye(len(other))

    def __neg__(self) -> Any:
        raise Unreadable("-1 for a matrix without a size")


def skew(vector: Any) -> Any:
    a, b, c = vector
    return np.array([[0.0, -c, b], [c, 0.0, -a], [-b, a, 0.0]])


def crossed(left: Any, right: Any, poses: bool) -> Any:
    return skew(left) @ right


def halves(value: Any, poses: bool) -> tuple[Any, Any]:
    if poses and is_pose(value):
        matrix = matrix_of(value)
        return matrix[:3, :3], matrix[:3, 3]
    if np.ndim(value) != 1 or len(value) % 2:
        raise Unreadable(f"two parts of a value of shape {np.shape(value)}")
    return value[: len(value) // 2], value[len(value) // 2 :]


def assembled(rows: Sequence[Sequence[Any]]) -> Any:
    """Return a matrix of numbers or blocks, where 0 and 1 take the size of their neighbours; stacked columns form a column."""
    blocks = [[entry[:, None] if np.ndim(entry) == 1 else entry for entry in row] for row in rows]
    sized = [(i, j, block.shape) for i, row in enumerate(blocks) for j, block in enumerate(row) if np.ndim(block) == 2]
    if not sized:
        return np.array(rows)
    high, wide = {i: shape[0] for i, _, shape in sized}, {j: shape[1] for _, j, shape in sized}
    for i, row in enumerate(blocks):
        for j, block in enumerate(row):
            if np.ndim(block) == 0:
                n, k = high.get(i, wide.get(j)), wide.get(j, high.get(i))
                row[j] = np.eye(n) if isinstance(block, One) else np.full((n, k), block)
    whole = np.block(blocks)
    return whole[:, 0] if whole.shape[1] == 1 else whole


PRODUCTS = {"": times, r"\cdot": dotted, r"\times": crossed}
