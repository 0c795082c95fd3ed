"""Annotations of whole numbers, and of the arrays of screw theory with their shapes, which `screws.calls` checks; type checkers
see plain numbers and arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np


@dataclass(frozen=True)
class ArrayShape:
    sizes: tuple[int | str, ...]
    """Length of each axis; axes with the same letter have the same length in all arguments."""


Count = Annotated[int, "from 1"]
Natural = Annotated[int, "from 0"]
Row = Sequence[Any] | np.ndarray
Vector3 = Annotated[Row, ArrayShape((3,))]
Twist = Annotated[Row, ArrayShape((6,))]
"""Twist T = [omega; v], rad/s and m/s."""
Wrench = Annotated[Row, ArrayShape((6,))]
"""Wrench W = [moment; force], N m and N."""
Quaternion = Annotated[Row, ArrayShape((4,))]
PoseState = Annotated[Row, ArrayShape((7,))]
"""Quaternion and position, m."""
Rotation = Annotated[np.ndarray, ArrayShape((3, 3))]
Pose = Annotated[np.ndarray, ArrayShape((4, 4))]
Matrix3 = Annotated[np.ndarray, ArrayShape((3, 3))]
Points = Annotated[np.ndarray, ArrayShape(("n", 3))]
"""Points, m, or other vectors in space."""
Matrix = Annotated[np.ndarray, ArrayShape(("m", "n"))]
SquareMatrix = Annotated[np.ndarray, ArrayShape(("n", "n"))]
Matrix4 = Annotated[np.ndarray, ArrayShape((4, 4))]
"""Matrix in se(3), as `screws.hat` returns it."""
Matrix6 = Annotated[np.ndarray, ArrayShape((6, 6))]
"""Matrix of a linear map of twists, or spatial inertia."""
