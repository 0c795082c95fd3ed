"""Files of the delta robot's runs and linear systems: arrays, tables, summaries, graph, equations and pictures."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from bondgraph.compile.compiled import Compiled
from bondgraph.export import document
from bondgraph.output.files import json_text
from bondgraph.output.folders import write_all
from bondgraph.render.diagram import diagram
from models.delta.studies import analysis
from models.delta.studies.robot import DeltaRobot
from models.delta.studies.run import DeltaRun
from models.pictures.figures import can_plot

ANGLES = [f"phi{k}_arm{i}" for i in (1, 2, 3) for k in (1, 2, 3)]
COLUMNS = [
    "t",
    "y1",
    "y2",
    "y3",
    "wx",
    "wy",
    "wz",
    "vx",
    "vy",
    "vz",
    "u1",
    "u2",
    "u3",
    *ANGLES,
    *(f"{a}'" for a in ANGLES),
    "energy",
    "drift",
]
"""Columns of trajectory.csv: s, rad, m, m/s, N m, rad, rad/s, J, m."""


RUN_FILES = (
    "trajectory.npz",
    "trajectory.csv",
    "singularities.json",
    "summary.json",
    "graph.svg",
    "arm.svg",
    "equations.tex",
    "course.png",
)
"""Every file that a run can have."""
LINEAR_FILES = (
    "linear.npz",
    "poles.csv",
    "summary.json",
    "graph.svg",
    "arm.svg",
    "equations.tex",
    "poles_zeros.png",
    "bode.png",
    "sweep.png",
)
"""Every file that a linear system can have."""


def save_run(robot: DeltaRobot, run: DeltaRun, out: Path, *, render: bool = True) -> dict[str, Any]:
    """Write a run to the folder `out`, all files or none; returns the summary.

    Files: trajectory.npz and trajectory.csv (`COLUMNS`), singularities.json, summary.json, graph.svg, arm.svg, equations.tex,
    and with `render` course.png.
    """
    summary = run_summary(robot, run)

    def write(folder: Path) -> None:
        arrays = trajectory(run)
        np.savez_compressed(folder / "trajectory.npz", **arrays)  # type: ignore[arg-type]
        table = np.column_stack([values.reshape(len(run.t), -1) for values in arrays.values()])
        _write_table(folder / "trajectory.csv", COLUMNS, table)
        _write_json(folder / "singularities.json", [_passage(p) for p in run.passages])
        _write_json(folder / "summary.json", summary)
        _write_graph(run.compiled, folder)
        if render and can_plot():
            from models.delta.pictures.figures import course_plot

            course_plot(run, folder / "course.png", title="Delta robot")

    write_all(out, write, RUN_FILES)
    return summary


def trajectory(run: DeltaRun) -> dict[str, np.ndarray]:
    """Arrays over time by name: t, y, w, velocity, torque, q, v, energy, drift."""
    torque = np.column_stack([run[f"motor {i}.effort"] for i in (1, 2, 3)])
    return {
        "t": run.t,
        "y": run.y,
        "w": run.w,
        "velocity": run["tool velocity"],
        "torque": torque,
        "q": run.q,
        "v": run.v,
        "energy": run.energy,
        "drift": run.drift,
    }


def run_summary(robot: DeltaRobot, run: DeltaRun) -> dict[str, Any]:
    """The main figures of a run."""
    work, end = run.statistics, -1
    return {
        "parameters": asdict(robot.parameters),
        "form": robot.form,
        "completed": run.ok,
        "failure": None if run.failure is None else str(run.failure),
        "notes": list(run.notes),
        "t_end": float(run.t[end]),
        "y_end": run.y[end].tolist(),
        "w_end": run.w[end].tolist(),
        "energy": {"at start": float(run.energy[0]), "at end": float(run.energy[end])},
        "ledger_residual": run.ledger.relative_residual,
        "largest_drift": float(run.drift.max()),
        "singular_configurations": [str(p) for p in run.passages],
        "steps": work.steps,
        "evaluations": work.rates,
        "method": work.method,
        "wall_time": {**_wall(run.compiled), "run": work.wall_time},
    }


def save_linear(robot: DeltaRobot, y: Sequence[float] | np.ndarray, out: Path, *, render: bool = True) -> dict[str, Any]:
    """Write the linear system about rest at motor angles y to the folder `out`; returns the summary.

    Files: linear.npz (A, B, C, D and the reduced A6, B6, C6), poles.csv, summary.json, graph.svg, arm.svg,
    equations.tex, and with `render` poles_zeros.png, bode.png, sweep.png.
    """
    linear, small = robot.linearise(y), analysis.reduced(robot, y)
    shown, rest = analysis.pole_zero_map(linear), analysis.equilibrium(robot, y)
    angle = _crossing(robot)
    summary = {
        "parameters": asdict(robot.parameters),
        "form": robot.form,
        "y": rest.y.tolist(),
        "w": rest.w.tolist(),
        "holding_torque": rest.torque.tolist(),
        "largest_rate_at_rest": rest.residual,
        "inputs": list(linear.inputs),
        "outputs": list(linear.outputs),
        "states": list(linear.states),
        "poles": _pairs(small.poles()),
        "zeros": _pairs(shown.zeros),
        "cancelled": _pairs(shown.cancelled_poles),
        "minimal_order": linear.minimal().order,
        "stable": bool(np.all(small.poles().real < 0.0)),
        "crossing_degrees": None if angle is None else float(np.rad2deg(angle)),
        "wall_time": _wall(robot.compiled),
    }

    def write(folder: Path) -> None:
        arrays = {"A": linear.A, "B": linear.B, "C": linear.C, "D": linear.D, "A6": small.A, "B6": small.B, "C6": small.C}
        np.savez_compressed(folder / "linear.npz", **arrays)
        rows = [
            (kind, repr(value.real), repr(value.imag))
            for kind, values in (
                ("pole", shown.poles),
                ("zero", shown.zeros),
                ("cancelled pole", shown.cancelled_poles),
                ("cancelled zero", shown.cancelled_zeros),
            )
            for value in map(complex, values)
        ]
        _write_table(folder / "poles.csv", ["kind", "real", "imaginary"], rows)
        _write_json(folder / "summary.json", summary)
        _write_graph(robot.compiled, folder)
        if render and can_plot():
            _linear_pictures(robot, y, shown, angle, folder)

    write_all(out, write, LINEAR_FILES)
    return summary


def _linear_pictures(
    robot: DeltaRobot, y: Sequence[float] | np.ndarray, shown: analysis.PoleZeroMap, angle: float | None, folder: Path
) -> None:
    from models.delta.pictures import figures as pictures

    caption = "motor angles " + ", ".join(f"{np.rad2deg(value):.4g}°" for value in y)
    pictures.pole_zero_plot({caption: shown}, folder / "poles_zeros.png", title="Poles and zeros")
    omega = np.geomspace(0.1, 100.0, 400)
    response = analysis.frequency_response(robot, y, omega)
    courses = {f"$y_{i + 1} / u_1$": response[:, i, 0] for i in range(3)}
    pictures.bode_plot(omega, courses, folder / "bode.png", title="Motor angles over the torque of motor 1")
    swept = analysis.sweep(robot, np.deg2rad(np.linspace(*SWEEP, 57)))
    pictures.sweep_plot(swept, angle, folder / "sweep.png", title="Poles over the common motor angle")


SWEEP = (-10.0, 60.0)
"""Common motor angles of the sweep, degrees."""


def _crossing(robot: DeltaRobot) -> float | None:
    """Where the unstable root crosses, or None where it does not, or the robot cannot be there."""
    from bondgraph.errors import ModelError

    try:
        return analysis.crossing(robot)
    except ModelError:
        return None


def _wall(compiled: Compiled) -> dict[str, float]:
    timings = compiled.timings
    return {"build": timings["build"], "compile": timings["trace"] + timings["compile"]}


def _passage(passage: Any) -> dict[str, Any]:
    return {"time": passage.time, "kind": passage.kind, "y": passage.y.tolist(), "q": passage.q.tolist(), "w": passage.w.tolist()}


def _pairs(values: np.ndarray) -> list[list[float]]:
    return [[float(value.real), float(value.imag)] for value in values]


def _write_graph(compiled: Compiled, folder: Path) -> None:
    (folder / "equations.tex").write_text(document(compiled), encoding="utf-8")
    diagram(compiled, folded="all").write(folder / "graph.svg")
    diagram(compiled, folded=["arm 2", "arm 3"]).write(folder / "arm.svg")


def _write_table(path: Path, head: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        writer.writerows([value if isinstance(value, str) else f"{value:.17g}" for value in row] for row in rows)


def _write_json(path: Path, content: Mapping[str, Any] | Sequence[Any]) -> None:
    path.write_text(json_text(content), encoding="utf-8")
