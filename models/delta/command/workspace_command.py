"""The task `workspace` of the command `screwbond delta`: where the tool can be, as arrays and as a picture."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from models.delta.kinematics.parameters import DeltaParameters
    from models.delta.studies.robot import DeltaRobot

HELP = "where the tool can be, and how well it is moved there"


MOST_POINTS = 300
"""Points along an axis; their cube, with what is known of each, has to fit into memory."""
WORKSPACE_FILES = ("workspace.npz", "summary.json", "workspace.png")
"""Every file that a workspace can have."""


def workspace_arguments(group: Any) -> None:
    """Arguments of the task."""
    group.add_argument("--points", type=int, default=61, help="of the grid along each axis (default %(default)d)")
    group.add_argument("--branch", default="out", choices=("out", "in"), help="elbows out or in (default %(default)s)")


def run_workspace(robot: DeltaRobot, options: argparse.Namespace) -> int:
    """Map it, write the files."""
    summary = save_workspace(
        robot.parameters, options.out, points=options.points, branch=options.branch, render=not options.no_render
    )
    low, high = summary["low"], summary["high"]
    print(f"workspace: {summary['points']} points in {1e3 * summary['wall_time']:.0f} ms, {summary['volume']:.4g} m^3")
    if summary["volume"]:
        spans = ", ".join(f"x{k + 1} {a:.3g} to {b:.3g}" for k, (a, b) in enumerate(zip(low, high, strict=True)))
        best = ", ".join(f"{value:.3g}" for value in summary["best"])
        print(f"  {spans} m; most dexterous at ({best}) m, {summary['best_dexterity']:.3f}")
    print(f"  files in {options.out}")
    return 0


def save_workspace(
    parameters: DeltaParameters, out: Path, *, points: int = 61, branch: str = "out", render: bool = True
) -> dict[str, Any]:
    """Write the workspace on a grid of points^3 that holds all of it to the folder `out`; returns the summary.

    Files: workspace.npz (what `Workspace` holds, with x1, x2, x3 for its axes), summary.json, and with `render` workspace.png.

    Raises
    ------
    ModelError
        E466 for fewer than two points along an axis, or more than `MOST_POINTS`.
    """
    from bondgraph.output.files import json_text
    from bondgraph.output.folders import write_all
    from models.delta.kinematics.refusals import error
    from models.delta.kinematics.workspace import plot_workspace, workspace
    from models.pictures.figures import can_plot

    if not 2 <= points <= MOST_POINTS:
        raise error("E466", f"{points:.4g} points along each axis of the workspace", [], f"2 to {MOST_POINTS}")
    p = parameters
    reach = abs(p.L0 - p.L3) + p.L1 + p.L2
    across, down = np.linspace(-reach, reach, points), np.linspace(-(p.L1 + p.L2), p.L1 + p.L2, points)
    begin = time.perf_counter()
    found = workspace(p, across, across, down, branch=branch)
    wall = time.perf_counter() - begin
    places = np.argwhere(found.reachable)
    corners = [
        [float(axis[k]) for axis, k in zip(found.axes, side, strict=True)]
        for side in ((places.min(axis=0), places.max(axis=0)) if len(places) else ())
    ]
    summary: dict[str, Any] = {
        "points": points**3,
        "branch": branch,
        "volume": found.volume,
        "wall_time": wall,
        "low": corners[0] if corners else None,
        "high": corners[1] if corners else None,
        "best": None,
        "best_dexterity": None,
    }
    if corners:
        best = np.unravel_index(int(np.nanargmin(found.condition)), found.condition.shape)
        summary["best"] = [float(axis[k]) for axis, k in zip(found.axes, best, strict=True)]
        summary["best_dexterity"] = float(1.0 / found.condition[best])

    def write(folder: Path) -> None:
        arrays = {f"x{k + 1}": axis for k, axis in enumerate(found.axes)}
        for name in ("reachable", "condition", "determinant", "side", "stretch", "y"):
            arrays[name] = getattr(found, name)
        np.savez_compressed(folder / "workspace.npz", **arrays)  # type: ignore[arg-type]
        (folder / "summary.json").write_text(json_text(summary), encoding="utf-8")
        if render and can_plot():
            plot_workspace(parameters, folder / "workspace.png", branch=branch)

    write_all(out, write, WORKSPACE_FILES)
    return summary
