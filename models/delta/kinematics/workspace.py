"""Workspace of a delta robot on a grid: where the tool can be, how well it is moved there, and a picture of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.output.progress import counted
from bondgraph.output.sheet import DASHES, INK, MUTED, PAPER, SMALL
from models.delta.kinematics.parameters import DeltaParameters
from models.delta.kinematics.refusals import SINGULAR, error
from models.delta.kinematics.whole_robot import DeltaKinematics


@dataclass(frozen=True, eq=False)
class Workspace:
    """What a grid of tool positions tells; quantities are nan where the tool cannot be.

    Parameters
    ----------
    axes : x1, x2, x3 of the grid, (n1,), (n2,), (n3,), m.
    reachable : (n1, n2, n3), whether the tool can be there with this working branch, below the plane of the elbows.
    condition : (n1, n2, n3) ratio of the largest to the smallest singular value of dw/dy, infinite at singularities.
    determinant : (n1, n2, n3) of dw/dy, m^3.
    side, stretch : (n1, n2, n3) determinant of the distal directions, 0 where the forward kinematics is singular; the
        least |cosine| between a distal link and the velocity of its elbow, 0 where the inverse kinematics is.
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
        """Volume of the reachable part, m^3: count of points times the volume of a cell; needs a grid in all three axes."""
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
    """Map the workspace on the grid x1 x x2 x x3, m; an axis that is one number makes a slice.

    Parameters
    ----------
    branch : working branch as in `DeltaKinematics.inverse`.

    Raises `ModelError` E466 for an axis that is empty, not finite, or no list of numbers.
    """
    axes = tuple(_axis(f"x{k + 1}", values) for k, values in enumerate((x1, x2, x3)))
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    kinematics, shape = DeltaKinematics(parameters, backend), points.shape[:3]
    slabs = np.array_split(points.reshape(-1, 3), 1 + points.size // (3 * SLAB))
    found = [_known(kinematics, slab, branch) for slab in counted(slabs, "workspace", progress=progress)]
    whole = (np.concatenate(parts) for parts in zip(*found, strict=True))
    reachable, *known = (values.reshape(*shape, *values.shape[1:]) for values in whole)
    return Workspace((axes[0], axes[1], axes[2]), reachable, *known)


def _known(kinematics: DeltaKinematics, points: np.ndarray, branch: str | Sequence[str]) -> tuple[np.ndarray, ...]:
    """What a `Workspace` holds, in its order, of points (k, 3)."""
    q, reached = kinematics.inverse_many(points, branch=branch)
    postures = kinematics.postures_many(q[reached])
    below = postures["side"] > SINGULAR
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


SLAB = 20_000
"""Points that are looked at together."""


def plot_workspace(
    parameters: DeltaParameters,
    path: str | os.PathLike[str],
    *,
    x1: float = 0.0,
    x3: float | None = None,
    points: int = 901,
    branch: str | Sequence[str] = "out",
    dpi: int = 160,
) -> None:
    """Write two cuts through the workspace, upright at x1 and level at x3, shaded by 1/condition. Needs matplotlib.

    Parameters
    ----------
    path : a file whose suffix says the format (png, svg, pdf).
    x1, x3 : where the cuts are, m; x3 by default at four fifths of the way from the base to the lowest point.
    points : along the longer side of each cut.
    """
    from models.pictures.figures import plot_file

    p = parameters
    span = np.linspace(-1.0, 1.0, points) * (abs(p.L0 - p.L3) + p.L1 + p.L2)
    deep = np.linspace(-0.05, 1.02, points) * (p.L1 + p.L2)
    upright = workspace(p, x1, span, deep, branch=branch)
    if x3 is None:
        occupied = deep[np.any(upright.reachable[0], axis=0)]
        x3 = 0.8 * float(occupied.max(initial=0.0)) or 0.5 * (p.L1 + p.L2)
    level = workspace(p, span, span, x3, branch=branch)
    cuts = (
        (upright.condition[0].T, span, deep, "x_2", "x_3", f"cut at $x_1$ = {x1:.3g} m", x3, True),
        (level.condition[:, :, 0].T, span, span, "x_1", "x_2", f"cut at $x_3$ = {x3:.3g} m", None, False),
    )
    seen = [_frame(values, a, b) for values, a, b, *_ in cuts]
    widths = [s[1] - s[0] for s in seen]
    look: dict[str, Any] = {"layout": "constrained", "title": "Workspace of the delta robot"}
    with plot_file(path, (10.4, 5.0), dpi=dpi, **look) as figure:
        panels = figure.subplots(1, 2, gridspec_kw={"width_ratios": widths})
        for axes, (values, across, along, first, second, title, mark, down), frame in zip(panels, cuts, seen, strict=True):
            shade = _draw(axes, values, across, along, frame)
            axes.set(xlabel=f"${first}$ (m)", ylabel=f"${second}$ (m)", aspect="equal")
            axes.set_title(title)
            if down:
                axes.invert_yaxis()
                _draw_robot(axes, p)
                axes.axhline(mark, color=INK, linewidth=0.8, linestyle=DASHES[2])
        bar = figure.colorbar(shade, ax=panels, shrink=0.86, pad=0.015, aspect=32)
        bar.set_label("dexterity: smallest / largest singular value of $dw/dy$")
        bar.outline.set_linewidth(0.0)


def _draw(axes: Any, condition: np.ndarray, across: np.ndarray, along: np.ndarray, frame: tuple[float, ...]) -> Any:
    dexterity = np.ma.masked_invalid(1.0 / condition)
    shade = axes.pcolormesh(across, along, dexterity, cmap="viridis", vmin=0.0, vmax=1.0, shading="nearest")
    shade.set_rasterized(True)
    lines = axes.contour(across, along, dexterity, levels=[0.1, 0.25, 0.5, 0.75], colors=PAPER, linewidths=0.7)
    axes.clabel(lines, levels=[0.25, 0.5, 0.75], fmt="%g", fontsize=SMALL)
    inside = np.isfinite(condition).astype(float)
    axes.contour(across, along, inside, levels=[0.5], colors=INK, linewidths=1.1)
    axes.set(xlim=frame[:2], ylim=frame[2:])
    return shade


def _draw_robot(axes: Any, p: DeltaParameters) -> None:
    """Arm 1 of the robot, which lies in this plane, with its tool at a point on the axis."""
    kinematics = DeltaKinematics(p)
    y = 0.6
    w = kinematics.forward_many(np.full((1, 3), y))[0][0]
    if not np.all(np.isfinite(w)):
        return
    arm = np.array([[p.L0, 0.0], [p.L0 + p.L1 * np.cos(y), p.L1 * np.sin(y)], [w[1] + p.L3, w[2]], [w[1], w[2]]])
    axes.plot([0.0, p.L0], [0.0, 0.0], color=MUTED, linewidth=3.0, solid_capstyle="round")
    axes.plot(arm[:, 0], arm[:, 1], color=INK, linewidth=1.8, marker="o", markersize=3.6, markerfacecolor=PAPER)


def _frame(values: np.ndarray, across: np.ndarray, along: np.ndarray) -> tuple[float, float, float, float]:
    """Limits that hold the reachable part, and the base's origin, with a margin."""
    inside = np.isfinite(values)
    limits: list[float] = []
    for axis, here in ((across, np.any(inside, axis=0)), (along, np.any(inside, axis=1))):
        used = axis[here] if np.any(here) else axis
        low, high = min(float(used.min()), 0.0), max(float(used.max()), 0.0)
        margin = 0.04 * (high - low)
        limits += [low - margin, high + margin]
    return limits[0], limits[1], limits[2], limits[3]


def _axis(name: str, values: Any) -> np.ndarray:
    try:
        out = np.atleast_1d(np.array(values, dtype=float))
    except (TypeError, ValueError):
        out = np.empty(0)
    if out.ndim != 1 or not len(out) or not np.all(np.isfinite(out)):
        raise error("E466", f"the grid's axis {name} is no list of finite numbers", "np.linspace(-0.3, 0.3, 61)")
    return out
