"""Workspace of a delta robot: reachability and dexterity on a grid of tool positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from screwbond.models.delta.kinematics.parameters import DeltaParameters
from screwbond.models.delta.kinematics.robot_kinematics import SINGULARITY_TOLERANCE, DeltaKinematics, error

from bondgraph.output.progress import track


@dataclass(frozen=True, eq=False)
class Workspace:
    """Workspace on a grid of tool positions; quantities are nan out of reach.

    Parameters
    ----------
    axes : x1, x2, x3 of the grid, (n1,), (n2,), (n3,), m.
    reachable : (n1, n2, n3) True where the tool can be below the plane of the elbows with this working branch.
    condition : (n1, n2, n3) ratio of the largest to the smallest singular value of dw/dy, infinite at singularities.
    determinant : (n1, n2, n3) of dw/dy, m^3.
    side, stretch : (n1, n2, n3) as in `Configuration`; stretch is the smallest |stretch| of the three arms.
    y : (n1, n2, n3, 3) motor angles, rad.
    """

    axes: tuple[np.ndarray, np.ndarray, np.ndarray]
    reachable: np.ndarray
    condition: np.ndarray
    determinant: np.ndarray
    side: np.ndarray
    stretch: np.ndarray
    y: np.ndarray

    @property
    def volume(self) -> float:
        """Volume of the reachable part, m^3: the number of reachable points times the volume of a cell. It needs a grid along
        all three axes."""
        if min(map(len, self.axes)) < 2:
            raise error("E466", "a volume needs two points or more along each axis", "a grid in x1, x2 and x3")
        cell = np.prod([(axis[-1] - axis[0]) / (len(axis) - 1) for axis in self.axes])
        return float(np.count_nonzero(self.reachable) * cell)


def workspace(
    parameters: DeltaParameters,
    x1: Sequence[float] | np.ndarray | float,
    x2: Sequence[float] | np.ndarray | float,
    x3: Sequence[float] | np.ndarray | float,
    *,
    branch: str | Sequence[str] = "out",
    backend: str = "auto",
    progress: bool = True,
) -> Workspace:
    """Map the workspace on the grid of x1, x2 and x3, m; a single number for an axis makes a slice.

    Parameters
    ----------
    branch : working branch as for `DeltaKinematics.inverse`.

    Raises `ModelError` E466 for an axis that is empty, not finite, or not a list of numbers, or an unknown branch.
    """
    axes = tuple(_axis(f"x{k + 1}", values) for k, values in enumerate((x1, x2, x3)))
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    kinematics, shape = DeltaKinematics(parameters, backend), points.shape[:3]
    slabs = np.array_split(points.reshape(-1, 3), 1 + points.size // (3 * SLAB_SIZE))
    slab_results = [_evaluate(kinematics, slab, branch) for slab in track(slabs, "workspace", progress=progress)]
    columns = (np.concatenate(parts) for parts in zip(*slab_results, strict=True))
    reachable, *quantities = (values.reshape(*shape, *values.shape[1:]) for values in columns)
    return Workspace((axes[0], axes[1], axes[2]), reachable, *quantities)


def boundary_points(
    parameters: DeltaParameters, inside: np.ndarray, outside: np.ndarray, *, branch: str | Sequence[str] = "out"
) -> np.ndarray:
    """Return the points (k, 3) on the workspace boundary between points `inside` and `outside`, both (k, 3), m.

    Bisection locates them to a millionth of the distance.
    """
    kinematics, low, high = DeltaKinematics(parameters), np.zeros(len(inside)), np.ones(len(inside))
    for _ in range(20):
        middle = 0.5 * (low + high)
        reachable = _evaluate(kinematics, inside + middle[:, None] * (outside - inside), branch)[0]
        low, high = np.where(reachable, middle, low), np.where(reachable, high, middle)
    return np.asarray(inside + (0.5 * (low + high))[:, None] * (outside - inside))


def _evaluate(kinematics: DeltaKinematics, points: np.ndarray, branch: str | Sequence[str]) -> tuple[np.ndarray, ...]:
    q, reached = kinematics.inverse_many(points, branch=branch)
    postures = kinematics.postures_many(q[reached])
    below = postures["side"] > SINGULARITY_TOLERANCE
    rows = np.flatnonzero(reached)[below]

    def spread(values: np.ndarray) -> np.ndarray:
        out = np.full((len(q), *values.shape[1:]), np.nan)
        out[rows] = values[below]
        return out

    reachable = np.zeros(len(q), dtype=bool)
    reachable[rows] = True
    with np.errstate(divide="ignore", invalid="ignore"):
        jacobian = np.where(np.isfinite(postures["jacobian"]), postures["jacobian"], 0.0)
        singular = np.linalg.svd(jacobian, compute_uv=False)
        condition = np.where(singular[:, 2] > 0.0, singular[:, 0] / singular[:, 2], np.inf)
    return (
        reachable,
        spread(condition),
        spread(np.linalg.det(jacobian)),
        spread(postures["side"]),
        spread(np.min(np.abs(postures["stretch"]), axis=1, initial=1.0)),
        spread(q[reached][:, ::3]),
    )


SLAB_SIZE = 20_000


def _axis(name: str, values: Any) -> np.ndarray:
    try:
        out = np.atleast_1d(np.array(values, dtype=float))
    except (TypeError, ValueError):
        out = np.empty(0)
    if out.ndim != 1 or not len(out) or not np.all(np.isfinite(out)):
        raise error("E466", f"the grid's axis {name} is not a list of finite numbers", "np.linspace(-0.3, 0.3, 61)")
    return out
