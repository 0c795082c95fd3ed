"""Task `simulate` of the command `screwbond delta`: a run with its files and figures."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from typing import Any

import numpy as np
from screwbond.models.delta.command.robot_arguments import ROBOT_FIELDS, format_row, read_robot, robot_files
from screwbond.models.delta.pictures.figures import time_plot
from screwbond.models.delta.studies.robot import DeltaRobot
from screwbond.models.delta.studies.run import DeltaRun
from screwbond.models.studies.artefacts import plot
from screwbond.models.studies.files import Table
from screwbond.models.studies.runs import end_summary, wall_times
from screwbond.models.studies.tasks import Outcome, Task

_ANGLES = [f"phi{k}_arm{i}" for i in (1, 2, 3) for k in (1, 2, 3)]
_THREE = [f"{name}{k}" for name in ("y", "w", "v", "u") for k in ("123" if name in "yu" else "xyz")]
COLUMNS = ["t", *_THREE, *_ANGLES, *(f"{angle}'" for angle in _ANGLES), "energy", "drift"]
"""Columns of trajectory.csv: s, rad, m, m/s, N m, rad, rad/s, J, m."""


def _arguments(group: Any) -> None:
    # --y and --w are also those of `linearise`
    start = group.add_mutually_exclusive_group()
    start.add_argument(
        "--y",
        nargs=3,
        type=float,
        metavar=("Y1", "Y2", "Y3"),
        help="motor angles at the start, and of the linear system, rad (default pi/4)",
    )
    start.add_argument("--w", nargs=3, type=float, metavar=("WX", "WY", "WZ"), help="the tool instead, m; x3 down")
    group.add_argument("--rates", nargs=3, type=float, metavar=("V1", "V2", "V3"), help="motor velocities, rad/s")
    torque = group.add_mutually_exclusive_group()
    torque.add_argument("--torque", nargs=3, type=float, metavar=("U1", "U2", "U3"), help="motor torques, N m (default 0)")
    torque.add_argument("--hold", action="store_true", help="the torques that hold the start at rest")
    group.add_argument("--t-end", type=float, default=5.0, help="s (default %(default)g)")
    group.add_argument("--samples", type=float, default=0.005, help="step of the output, s (default %(default)g)")
    group.add_argument("--rtol", type=float, default=1e-9, help="relative tolerance (default %(default)g)")


def simulate(robot: DeltaRobot, options: Namespace) -> Outcome:
    """Run the robot; the files are trajectory.npz, trajectory.csv (`COLUMNS`), singularities.json, graphs and equations."""
    run = robot.simulate(
        options.t_end,
        y=options.y,
        w=options.w,
        rates=options.rates,
        torque="hold" if options.hold else options.torque,
        samples=options.samples,
        rtol=options.rtol,
    )
    arrays, summary = _trajectory(run), _summary(robot, run)
    files = {
        "trajectory.npz": arrays,
        "trajectory.csv": Table(COLUMNS, np.column_stack([*arrays.values()])),
        "singularities.json": [
            {"time": p.time, "kind": p.kind, "y": p.y.tolist(), "q": p.q.tolist(), "w": p.w.tolist()}
            for p in run.singular_postures
        ],
        **robot_files(run.compiled),
    }
    wall = summary["wall_time"]
    overview = [
        f"delta robot: {summary['t_end']:g} s simulated in {1e3 * wall['run']:.1f} ms"
        f" (build {1e3 * wall['build']:.0f} ms, compile {1e3 * wall['compile']:.0f} ms)",
        f"  tool at the end {format_row(summary['w_end'])} m; tips apart by {summary['largest_drift']:.1e} m at most;"
        f" ledger residual {summary['ledger_residual']:.1e} of the energy in play",
        *(f"  {line}" for line in summary["singular_configurations"]),
    ]
    pictures = {"course.png": plot(lambda path: time_plot(run, path, title="Delta robot"))}
    return Outcome(summary, files, overview, pictures, run.notes, run.failure)


def _trajectory(run: DeltaRun) -> dict[str, np.ndarray]:
    """Return arrays over time by name, in the order of `COLUMNS`."""
    return {
        "t": run.t,
        "y": run.y,
        "w": run.w,
        "velocity": run["tool velocity"],
        "torque": np.column_stack([run[f"motor {i}.effort"] for i in (1, 2, 3)]),
        "q": run.q,
        "v": run.v,
        "energy": run.energy,
        "drift": run.drift,
    }


def _summary(robot: DeltaRobot, run: DeltaRun) -> dict[str, Any]:
    work = run.statistics
    return {
        "parameters": asdict(robot.parameters),
        "form": robot.form,
        **end_summary(run.result),
        "notes": list(run.notes),
        "y_end": run.y[-1].tolist(),
        "w_end": run.w[-1].tolist(),
        "energy": {"at start": float(run.energy[0]), "at end": float(run.energy[-1])},
        "ledger_residual": run.ledger.relative_residual,
        "largest_drift": float(run.drift.max()),
        "singular_configurations": [str(p) for p in run.singular_postures],
        "steps": work.steps,
        "evaluations": work.rates,
        "method": work.method,
        "wall_time": wall_times(run.compiled, run.result),
    }


SIMULATE = Task(
    "a run with constant motor torques",
    read_robot,
    simulate,
    files=("trajectory.npz", "trajectory.csv", "singularities.json", "graph.svg", "arm.svg", "equations.tex"),
    pictures=("course.png",),
    arguments=_arguments,
    fields=ROBOT_FIELDS,
)
