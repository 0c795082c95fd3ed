"""Figure of two sections through the workspace of a delta robot: shaded dexterity, and the boundary."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from screwbond.models.delta.kinematics.parameters import DeltaParameters
from screwbond.models.delta.kinematics.robot_kinematics import DeltaKinematics
from screwbond.models.delta.kinematics.workspace import Workspace, boundary_points, workspace
from screwbond.models.pictures.style import plot_file

from bondgraph.output.plot_style import DASHES, INK, MUTED, PAPER, SMALL

LEVELS = (0.1, 0.25, 0.5, 0.75)
"""Dexterities of the contour lines; the first has no label, because it lies too close to the boundary."""


@dataclass(frozen=True, eq=False)
class Outline:
    """Closed curve around a reachable part of a section.

    Parameters
    ----------
    points : (k, 3), m; the last equals the first. Boundary points are exact, not grid points.
    ends : (k,) True where the curve follows the end of the grid instead of the boundary.
    """

    points: np.ndarray
    ends: np.ndarray


def outlines(parameters: DeltaParameters, cut: Workspace, *, branch: str | Sequence[str] = "out") -> list[Outline]:
    from contourpy import contour_generator

    flat = next(k for k, axis in enumerate(cut.axes) if len(axis) == 1)
    first, second = (k for k in range(3) if k != flat)
    # Nothing is reachable beyond the grid, so that every curve closes.
    mask = np.pad(np.squeeze(cut.reachable, axis=flat), 1).astype(float)
    curves = []
    for line in map(np.asarray, contour_generator(z=mask.T).lines(0.5)):
        # The contour at one half between zeros and ones passes through the midpoints of grid edges.
        ends = (np.floor(line).astype(int), np.ceil(line).astype(int))
        lower, upper = mask[tuple(ends[0].T)] > 0.5, mask[tuple(ends[1].T)] > 0.5
        assert np.all(lower != upper)
        boundary = []
        for chosen in (lower, upper):
            index = np.where(chosen[:, None], ends[0], ends[1]) - 1
            position = np.full((len(line), 3), cut.axes[flat][0])
            for column, k in enumerate((first, second)):
                position[:, k] = cut.axes[k][np.clip(index[:, column], 0, len(cut.axes[k]) - 1)]
            boundary.append(position)
        points = boundary_points(parameters, boundary[0], boundary[1], branch=branch)
        curves.append(Outline(points, np.all(boundary[0] == boundary[1], axis=1)))
    return curves


def plot_workspace(
    parameters: DeltaParameters,
    path: str | os.PathLike[str],
    *,
    x1: float = 0.0,
    x3: float | None = None,
    points: int = 601,
    branch: str | Sequence[str] = "out",
    dpi: int = 160,
) -> None:
    """Plot two workspace sections, vertical at x1 and horizontal at x3, shaded by 1/condition.

    Parameters
    ----------
    x1, x3 : positions of the sections, m; x3 is by default four fifths of the way from the base to the lowest point.
    points : number along each side of a section.
    """
    p = parameters
    span = np.linspace(-1.0, 1.0, points) * (abs(p.L0 - p.L3) + p.L1 + p.L2)
    depth = np.linspace(-0.05, 1.02, points) * (p.L1 + p.L2)
    upright = workspace(p, x1, span, depth, branch=branch, progress=False)
    if x3 is None:
        occupied = depth[np.any(upright.reachable[0], axis=0)]
        x3 = 0.8 * float(occupied.max(initial=0.0)) or 0.5 * (p.L1 + p.L2)
    level = workspace(p, span, span, x3, branch=branch, progress=False)
    cuts = ((upright, 1, 2, f"cut at $x_1$ = {x1:.3g} m"), (level, 0, 1, f"cut at $x_3$ = {x3:.3g} m"))
    bounds = [_limits(cut, first, second) for cut, first, second, _ in cuts]
    widths = [s[1] - s[0] for s in bounds]
    look: dict[str, Any] = {"layout": "constrained", "title": "Workspace of the delta robot"}
    with plot_file(path, (10.4, 4.75), dpi=dpi, **look) as figure:
        panels = figure.subplots(1, 2, gridspec_kw={"width_ratios": widths})
        artists = []
        for axes, (cut, first, second, title), limits in zip(panels, cuts, bounds, strict=True):
            artists.append(_draw(axes, cut, first, second, outlines(p, cut, branch=branch)))
            axes.set(xlabel=f"$x_{first + 1}$ (m)", ylabel=f"$x_{second + 1}$ (m)", aspect="equal")
            axes.set(xlim=limits[:2], ylim=limits[2:])
            axes.set_title(title)
        panels[0].invert_yaxis()
        _draw_robot(panels[0], p)
        panels[0].axhline(x3, color=INK, linewidth=0.8, linestyle=DASHES[2])
        bar = figure.colorbar(artists[0][0], ax=panels, shrink=0.86, pad=0.015, aspect=32)
        bar.set_label("dexterity: smallest / largest singular value of $dw/dy$")
        bar.outline.set_linewidth(0.0)
        # The gap of a line at its label depends on the size on paper, so the layout must be computed first.
        figure.draw_without_rendering()
        for axes, (_, lines) in zip(panels, artists, strict=True):
            labels = {level**2: f"{level:g}" for level in LEVELS[1:] if level**2 in lines.levels}
            axes.clabel(lines, levels=[*labels], fmt=labels, fontsize=SMALL, inline_spacing=3)


def _draw(axes: Any, cut: Workspace, first: int, second: int, outlines: list[Outline]) -> tuple[Any, Any]:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    across, along = cut.axes[first], cut.axes[second]
    near, everywhere = _extend_to_nan(1.0 / np.squeeze(cut.condition, axis=3 - first - second).T)
    half = [0.5 * (axis[-1] - axis[0]) / (len(axis) - 1) for axis in (across, along)]
    extent = (across[0] - half[0], across[-1] + half[0], along[0] - half[1], along[-1] + half[1])
    look: dict[str, Any] = {"cmap": "viridis", "vmin": 0.0, "vmax": 1.0, "origin": "lower", "zorder": 1}
    shade = axes.imshow(everywhere, extent=extent, interpolation="bilinear", **look)
    # Near the singular boundary, dexterity grows with the root of the distance: its square is linear between points.
    squares = np.ma.masked_invalid(near * near)
    lines = axes.contour(across, along, squares, levels=[level**2 for level in LEVELS], colors=PAPER, linewidths=0.7)
    loops = [outline.points[:, [first, second]] for outline in outlines]
    compound = Path.make_compound_path(*(Path(loop, closed=True) for loop in loops)) if loops else Path(np.zeros((1, 2)))
    patch = PathPatch(compound, facecolor="none", edgecolor="none")
    axes.add_patch(patch)
    for piece in (shade, lines):
        piece.set_clip_path(patch)
    for loop, outline in zip(loops, outlines, strict=True):
        axes.plot(*np.where(outline.ends[:, None], np.nan, loop).T, color=INK, linewidth=1.1)
    return shade, lines


def _extend_to_nan(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from scipy.ndimage import distance_transform_edt

    missing = ~np.isfinite(values)
    if np.all(missing):
        return values, np.zeros_like(values)
    distance, nearest = distance_transform_edt(missing, return_indices=True)
    everywhere = values[tuple(nearest)]
    return np.where(distance <= 2.0, everywhere, np.nan), everywhere


def _draw_robot(axes: Any, p: DeltaParameters) -> None:
    kinematics = DeltaKinematics(p)
    y = 0.6
    w = kinematics.forward_many(np.full((1, 3), y))[0][0]
    if not np.all(np.isfinite(w)):
        return
    arm = np.array([[p.L0, 0.0], [p.L0 + p.L1 * np.cos(y), p.L1 * np.sin(y)], [w[1] + p.L3, w[2]], [w[1], w[2]]])
    axes.plot([0.0, p.L0], [0.0, 0.0], color=MUTED, linewidth=3.0, solid_capstyle="round")
    axes.plot(arm[:, 0], arm[:, 1], color=INK, linewidth=1.8, marker="o", markersize=3.6, markerfacecolor=PAPER)


def _limits(cut: Workspace, first: int, second: int) -> tuple[float, float, float, float]:
    limits: list[float] = []
    for k in (first, second):
        axis, occupied = cut.axes[k], np.any(cut.reachable, axis=tuple(other for other in range(3) if other != k))
        used = axis[occupied] if np.any(occupied) else axis
        low, high = min(float(used.min()), 0.0), max(float(used.max()), 0.0)
        margin = 0.04 * (high - low)
        limits += [low if occupied[0] else low - margin, high if occupied[-1] else high + margin]
    return limits[0], limits[1], limits[2], limits[3]
