"""Task `linearise` of the command `screwbond delta`: linear system, poles and zeros of the robot at rest."""

from __future__ import annotations

from argparse import Namespace
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from screwbond.models.delta.command.robot_arguments import ROBOT_FIELDS, format_row, read_robot, robot_files
from screwbond.models.delta.pictures import figures
from screwbond.models.delta.pictures.bode import bode_plot
from screwbond.models.delta.studies import analysis
from screwbond.models.delta.studies.robot import DeltaRobot
from screwbond.models.studies.artefacts import Picture, plot
from screwbond.models.studies.files import Table
from screwbond.models.studies.runs import compile_times
from screwbond.models.studies.tasks import Outcome, Task

from bondgraph.errors import ModelError

SWEEP_RANGE = (-10.0, 60.0)
"""Range of the common motor angle of the sweep, degrees."""


def linearise(robot: DeltaRobot, options: Namespace) -> Outcome:
    """Compute the linear system about rest at the motor angles, or the tool, of the arguments.

    Files: linear.npz (A, B, C, D and the reduced A6, B6, C6), poles.csv, graphs and equations.
    """
    y = robot.inverse_kinematics(options.w) if options.w else options.y or (0.25 * np.pi,) * 3
    linear, reduced = robot.linearise(y), analysis.linearise_reduced(robot, y)
    pole_zero_map, equilibrium = analysis.pole_zero_map(linear), analysis.equilibrium(robot, y)
    angle: float | None = None
    with suppress(ModelError):  # no root crosses, or the robot cannot be there
        angle = analysis.instability_angle(robot)
    summary: dict[str, Any] = {
        "parameters": asdict(robot.parameters),
        "form": robot.form,
        "y": equilibrium.y.tolist(),
        "w": equilibrium.w.tolist(),
        "holding_torque": equilibrium.torque.tolist(),
        "largest_rate_at_rest": equilibrium.residual,
        "inputs": list(linear.inputs),
        "outputs": list(linear.outputs),
        "states": list(linear.states),
        "poles": _pairs(reduced.poles()),
        "zeros": _pairs(pole_zero_map.zeros),
        "cancelled": _pairs(pole_zero_map.cancelled_poles),
        "minimal_order": linear.minimal().order,
        "stable": bool(np.all(reduced.poles().real < 0.0)),
        "crossing_degrees": None if angle is None else float(np.rad2deg(angle)),
        "wall_time": compile_times(robot.compiled),
    }
    kinds = {"pole": "poles", "zero": "zeros", "cancelled pole": "cancelled_poles", "cancelled zero": "cancelled_zeros"}
    rows = [(kind, *map(repr, pair)) for kind, name in kinds.items() for pair in _pairs(getattr(pole_zero_map, name))]
    matrices = {name: getattr(linear, name) for name in "ABCD"} | {f"{name}6": getattr(reduced, name) for name in "ABC"}
    files = {"linear.npz": matrices, "poles.csv": Table(["kind", "real", "imaginary"], rows, "%s"), **robot_files(robot.compiled)}
    overview = [
        f"delta robot at rest with motor angles {format_row(summary['y'])} rad, tool {format_row(summary['w'])} m",
        f"  held by {format_row(summary['holding_torque'])} N m; {'stable' if summary['stable'] else 'unstable'}",
        "  poles " + ", ".join(f"{complex(*pole):.5g}" for pole in summary["poles"]) + " 1/s",
        f"  {len(summary['cancelled'])} poles cancel with zeros; minimal order {summary['minimal_order']}",
    ]
    if summary["crossing_degrees"] is not None:
        overview.append(f"  with equal motor angles a root crosses zero at {summary['crossing_degrees']:.4f} degrees")
    return Outcome(summary, files, overview, _pictures(robot, y, pole_zero_map, angle))


def _pictures(robot: DeltaRobot, y: Any, pole_zero_map: analysis.PoleZeroMap, angle: float | None) -> dict[str, Picture]:
    caption = "motor angles " + ", ".join(f"{np.rad2deg(value):.4g}°" for value in y)

    def bode(path: Path) -> None:
        omega = np.geomspace(0.1, 100.0, 400)
        response = analysis.frequency_response(robot, y, omega)
        courses = {f"$y_{i + 1} / u_1$": response[:, i, 0] for i in range(3)}
        bode_plot(omega, courses, path, loop="$y_1 / u_1$", title="Motor angles over the torque of motor 1")

    def sweep(path: Path) -> None:
        angles = np.deg2rad(np.linspace(*SWEEP_RANGE, 141))
        if angle is not None:
            # Near the crossing a pole runs fast, and then turns.
            angles = np.union1d(angles, angle + np.deg2rad(np.linspace(-0.9, 0.3, 25)))
        result = analysis.sweep_poles(robot, angles, progress=False)
        figures.sweep_plot(result, angle, path, title="Poles over the common motor angle")

    return {
        "poles_zeros.png": plot(lambda path: figures.pole_zero_plot({caption: pole_zero_map}, path, title="Poles and zeros")),
        "bode.png": plot(bode),
        "sweep.png": plot(sweep, 3.0),
    }


def _pairs(values: np.ndarray) -> list[list[float]]:
    return [[float(value.real), float(value.imag)] for value in values]


LINEARISE = Task(
    "linear system, poles and zeros about rest at --y or --w",
    read_robot,
    linearise,
    files=("linear.npz", "poles.csv", "graph.svg", "arm.svg", "equations.tex"),
    pictures=("poles_zeros.png", "bode.png", "sweep.png"),
    fields=ROBOT_FIELDS,
)
