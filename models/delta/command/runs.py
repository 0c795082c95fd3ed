"""The command `screwbond delta`: simulation and linear analysis of a delta robot from a parameter file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models.delta.command.files import LINEAR_FILES, RUN_FILES
from models.delta.command.touch_command import HELP as TOUCH_HELP
from models.delta.command.touch_command import TOUCH_FILES, run_touch, touch_arguments
from models.delta.command.workspace_command import HELP as WORKSPACE_HELP
from models.delta.command.workspace_command import WORKSPACE_FILES, run_workspace, workspace_arguments

if TYPE_CHECKING:
    from models.delta.studies.robot import DeltaRobot


@dataclass(frozen=True)
class Task:
    """What the command can do: a line of help, its own arguments, and the work, which returns the exit status, and
    every file that it can write."""

    help: str
    arguments: Callable[[Any], None]
    run: Callable[[DeltaRobot, argparse.Namespace], int]
    files: tuple[str, ...]


def add_delta_command(commands: Any) -> None:
    """Add the subcommand to a parser's subparsers."""
    parser = commands.add_parser(
        "delta",
        help="simulate or analyse a delta robot",
        description="Tasks: " + "; ".join(f"{name}: {task.help}" for name, task in TASKS.items()) + ".",
    )
    parser.add_argument("task", choices=list(TASKS), nargs="?", default="simulate", help="default %(default)s")
    parser.add_argument("--params", required=True, metavar="FILE.json|fit|lab", help="the robot's parameters")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--form", default="lagrangian", choices=("lagrangian", "hamiltonian"))
    parser.add_argument("--no-render", action="store_true", help="write no plots")
    for name, task in TASKS.items():
        task.arguments(parser.add_argument_group(name))
    parser.set_defaults(command=_delta)


def _delta(options: argparse.Namespace) -> int:
    from bondgraph.output.folders import check_directory
    from models.delta.kinematics.parameters import DeltaParameters, read_parameters
    from models.delta.studies.robot import DeltaRobot

    known = {"fit": DeltaParameters.fit, "lab": DeltaParameters.lab}
    parameters = known[options.params]() if options.params in known else read_parameters(options.params)
    task = TASKS[options.task]
    check_directory(options.out, task.files)
    return task.run(DeltaRobot(parameters, form=options.form), options)


def _simulation_arguments(group: Any) -> None:
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


def _simulate(robot: DeltaRobot, options: argparse.Namespace) -> int:
    from models.delta.command.files import save_run

    run = robot.simulate(
        options.t_end,
        y=options.y,
        w=options.w,
        rates=options.rates,
        torque="hold" if options.hold else options.torque,
        samples=options.samples,
        rtol=options.rtol,
    )
    summary = save_run(robot, run, options.out, render=not options.no_render)
    wall = summary["wall_time"]
    print(
        f"delta robot: {summary['t_end']:g} s simulated in {1e3 * wall['run']:.1f} ms"
        f" (build {1e3 * wall['build']:.0f} ms, compile {1e3 * wall['compile']:.0f} ms)"
    )
    print(
        f"  tool at the end {_row(summary['w_end'])} m; tips apart by {summary['largest_drift']:.1e} m at most;"
        f" ledger residual {summary['ledger_residual']:.1e} of the energy in play"
    )
    for line in (*(f"note: {note}" for note in run.notes), *summary["singular_configurations"], f"files in {options.out}"):
        print(f"  {line}")
    if run.failure is not None:
        print(f"screwbond: {run.failure}", file=sys.stderr)
        return 1
    return 0


def _linearise(robot: DeltaRobot, options: argparse.Namespace) -> int:
    import numpy as np

    from models.delta.command.files import save_linear

    y = robot.inverse_kinematics(options.w) if options.w else options.y or (0.25 * np.pi,) * 3
    summary = save_linear(robot, y, options.out, render=not options.no_render)
    print(f"delta robot at rest with motor angles {_row(summary['y'])} rad, tool {_row(summary['w'])} m")
    print(f"  held by {_row(summary['holding_torque'])} N m; {'stable' if summary['stable'] else 'unstable'}")
    print("  poles " + ", ".join(f"{complex(*pole):.5g}" for pole in summary["poles"]) + " 1/s")
    print(f"  {len(summary['cancelled'])} poles cancel with zeros; minimal order {summary['minimal_order']}")
    if summary["crossing_degrees"] is not None:
        print(f"  with equal motor angles a root crosses zero at {summary['crossing_degrees']:.4f} degrees")
    print(f"  files in {options.out}")
    return 0


def _row(values: Any) -> str:
    return "(" + ", ".join(f"{value:.6g}" for value in values) + ")"


def _no_arguments(group: Any) -> None:
    """A task without arguments of its own."""


TASKS: dict[str, Task] = {
    "simulate": Task("a run with constant motor torques", _simulation_arguments, _simulate, RUN_FILES),
    "linearise": Task("linear system, poles and zeros about rest at --y or --w", _no_arguments, _linearise, LINEAR_FILES),
    "soft-touch": Task(TOUCH_HELP, touch_arguments, run_touch, TOUCH_FILES),
    "workspace": Task(WORKSPACE_HELP, workspace_arguments, run_workspace, WORKSPACE_FILES),
}
"""Every task by its name."""
