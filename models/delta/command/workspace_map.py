"""Task `workspace` of the command `screwbond delta`: the workspace of the tool as arrays and a figure."""

from __future__ import annotations

import time
from argparse import Namespace
from dataclasses import dataclass
from typing import Any

import numpy as np
from screwbond.models.delta.command.robot_arguments import ROBOT_FIELDS, read_robot
from screwbond.models.delta.kinematics.workspace import Workspace, workspace
from screwbond.models.delta.pictures.workspace_figure import plot_workspace
from screwbond.models.delta.studies.robot import DeltaRobot
from screwbond.models.studies.artefacts import plot
from screwbond.models.studies.commands import add_fields, record_of
from screwbond.models.studies.fields import check_record, number, word
from screwbond.models.studies.tasks import Outcome, Task


@dataclass(frozen=True)
class Grid:
    """Grid of a workspace map; its points, with all their quantities, have to fit into memory (else E466)."""

    points: int = number("", "of the grid along each axis", 61, integer=True, least=2, most=300)
    branch: str = word(("out", "in"), "elbows out or in", "out")

    def __post_init__(self) -> None:
        check_record(self, "E466", "workspace", name="delta robot")


MAP_FLAGS = {"--points": "points", "--branch": "branch"}
"""Command-line arguments that set fields of the grid."""


def map_workspace(robot: DeltaRobot, options: Namespace) -> Outcome:
    """Map the workspace on a grid of points^3 around it; workspace.npz has the fields of `Workspace`, x1, x2, x3 its axes.

    Raises `ModelError` (E466) for an invalid grid.
    """
    grid = record_of(Grid, options, MAP_FLAGS)
    points, branch, p = grid.points, grid.branch, robot.parameters
    reach, depth = abs(p.L0 - p.L3) + p.L1 + p.L2, p.L1 + p.L2
    across, down = np.linspace(-reach, reach, points), np.linspace(-depth, depth, points)
    begin = time.perf_counter()
    mapped = workspace(p, across, across, down, branch=branch)
    summary = {"points": points**3, "branch": branch, "volume": mapped.volume, "wall_time": time.perf_counter() - begin}
    summary |= _extent(mapped)
    arrays = {f"x{k + 1}": axis for k, axis in enumerate(mapped.axes)}
    arrays |= {name: getattr(mapped, name) for name in ("reachable", "condition", "determinant", "side", "stretch", "y")}
    pictures = {"workspace.png": plot(lambda path: plot_workspace(p, path, branch=branch))}
    return Outcome(summary, {"workspace.npz": arrays}, _overview(summary), pictures)


def _extent(mapped: Workspace) -> dict[str, Any]:
    """Return corners of the bounding box of the reachable part, its most dexterous point, m, and the dexterity there, or None."""
    occupied = np.argwhere(mapped.reachable)
    if not len(occupied):
        return dict.fromkeys(("low", "high", "best", "best_dexterity"))
    best = np.unravel_index(int(np.nanargmin(mapped.condition)), mapped.condition.shape)
    corners = {"low": occupied.min(axis=0), "high": occupied.max(axis=0), "best": best}
    positions = {
        name: [float(axis[k]) for axis, k in zip(mapped.axes, indices, strict=True)] for name, indices in corners.items()
    }
    return {**positions, "best_dexterity": float(1.0 / mapped.condition[best])}


def _overview(summary: dict[str, Any]) -> list[str]:
    lines = [f"workspace: {summary['points']} points in {1e3 * summary['wall_time']:.0f} ms, {summary['volume']:.4g} m^3"]
    if summary["volume"]:
        spans = zip(summary["low"], summary["high"], strict=True)
        box = ", ".join(f"x{k + 1} {a:.3g} to {b:.3g}" for k, (a, b) in enumerate(spans))
        best = ", ".join(f"{value:.3g}" for value in summary["best"])
        lines.append(f"  {box} m; most dexterous at ({best}) m, {summary['best_dexterity']:.3f}")
    return lines


WORKSPACE = Task(
    "where the tool can be, and how well it is moved there",
    read_robot,
    map_workspace,
    files=("workspace.npz",),
    pictures=("workspace.png",),
    arguments=lambda group: add_fields(group, Grid, MAP_FLAGS),
    fields=ROBOT_FIELDS,
)
