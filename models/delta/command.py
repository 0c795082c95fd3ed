"""Command `screwbond delta`: its tasks, each a run or an analysis with files and figures."""

from __future__ import annotations

import time
from argparse import Namespace
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from screwbond.models.delta.kinematics.parameters import DeltaParameters, read_parameters
from screwbond.models.delta.kinematics.robot_kinematics import format_numbers
from screwbond.models.delta.kinematics.workspace import Workspace, workspace
from screwbond.models.delta.pictures import figures
from screwbond.models.delta.pictures.figures import bode_plot, plot_touch, time_plot
from screwbond.models.delta.pictures.workspace_figure import plot_workspace
from screwbond.models.delta.studies import analysis
from screwbond.models.delta.studies.robot import VELOCITY, DeltaRobot, DeltaRun
from screwbond.models.delta.studies.soft_touch import BALL, SoftTouchRun, TouchPlan, soft_touch
from screwbond.models.studies.fields import check_record, number, word
from screwbond.models.studies.tasks import (
    Outcome,
    Picture,
    Table,
    Task,
    add_fields,
    compile_times,
    complex_pairs,
    cost_line,
    end_summary,
    graph_files,
    plot,
    record_of,
    study_command,
    wall_times,
)

from bondgraph.compile.compiled import Compiled
from bondgraph.errors import ModelError
from bondgraph.render.diagram import diagram
from screws.errors import plural

PARAMETER_SETS = {"fit": DeltaParameters.fit, "lab": DeltaParameters.lab}

ROBOT_FIELDS = {"FILE.json": DeltaParameters}


def robot_arguments(parser: Any) -> None:
    parser.add_argument(
        "--params", required=True, metavar="|".join(["FILE.json", *PARAMETER_SETS]), help="the robot's parameters"
    )
    parser.add_argument("--form", default="lagrangian", choices=tuple(VELOCITY))


def read_robot(options: Namespace) -> DeltaRobot:
    parameters = PARAMETER_SETS[options.params]() if options.params in PARAMETER_SETS else read_parameters(options.params)
    return DeltaRobot(parameters, form=options.form)


def robot_files(compiled: Compiled) -> dict[str, Any]:
    return {**graph_files(compiled, "all"), "arm.svg": lambda: diagram(compiled, folded=["arm 2", "arm 3"])}


@dataclass(frozen=True)
class Grid:
    points: int = number("", "number of grid points along each axis", 61, integer=True, least=2, most=300)
    branch: str = word(("out", "in"), "elbows out or in", "out")

    def __post_init__(self) -> None:
        check_record(self, "E466", "workspace", name="delta robot")


MAP_FLAGS = {"--points": "points", "--branch": "branch"}


def map_workspace(robot: DeltaRobot, options: Namespace) -> Outcome:
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
    return Outcome(summary, {"workspace.npz": arrays}, _map_overview(summary), pictures)


def _extent(mapped: Workspace) -> dict[str, Any]:
    occupied = np.argwhere(mapped.reachable)
    if not len(occupied):
        return dict.fromkeys(("low", "high", "best", "best_dexterity"))
    best = np.unravel_index(int(np.nanargmin(mapped.condition)), mapped.condition.shape)
    corners = {"low": occupied.min(axis=0), "high": occupied.max(axis=0), "best": best}
    positions = {
        name: [float(axis[k]) for axis, k in zip(mapped.axes, indices, strict=True)] for name, indices in corners.items()
    }
    return {**positions, "best_dexterity": float(1.0 / mapped.condition[best])}


def _map_overview(summary: dict[str, Any]) -> list[str]:
    lines = [
        f"workspace: {plural(summary['points'], 'point')} in {1e3 * summary['wall_time']:.0f} ms, {summary['volume']:.4g} m^3"
    ]
    if summary["volume"]:
        spans = zip(summary["low"], summary["high"], strict=True)
        box = ", ".join(f"x{k + 1} {a:.3g} to {b:.3g}" for k, (a, b) in enumerate(spans))
        best = ", ".join(f"{value:.3g}" for value in summary["best"])
        lines.append(f"  {box} m; most dexterous at ({best}) m, {summary['best_dexterity']:.3f}")
    return lines


WORKSPACE = Task(
    "where the tool can be, and its dexterity there",
    read_robot,
    map_workspace,
    files=("workspace.npz",),
    pictures=("workspace.png",),
    arguments=lambda group: add_fields(group, Grid, MAP_FLAGS),
    fields=ROBOT_FIELDS,
)


TOUCH_COLUMNS = {
    "t": ("t",),
    "tool": ("wx", "wy", "wz"),
    "motors.torque": ("u1", "u2", "u3"),
    "contact.h": ("gap",),
    "contact.multiplier": ("force",),
    "control.kp": ("kp",),
    "displacement.y": ("displacement",),
    "touch.mode": ("mode",),
}
"""Columns of touch.csv, in s, m, N m, m, N, 1/s^2 and m; the last is the contact's state (0 free, 1 contact, 2 ballistic)."""

FLAGS = {"--place": "place", "--gap": "gap", "--speed": "speed", "--hold-force": "hold", "--peak-force": "peak", "--kp": "kp"}


def _touch_arguments(group: Any) -> None:
    add_fields(group, TouchPlan, FLAGS)
    group.add_argument("--keep-kp", action="store_true", help="keep the gain constant, so that the brick slips")
    group.add_argument("--ball", action="store_true", help="make the contact as stiff as a hard ball, so that the finger bounces")
    group.add_argument("--until", type=float, default=20.0, help="end of the soft touch, s (default %(default)g)")


def touch(robot: DeltaRobot, options: Namespace) -> Outcome:
    constants, fade = BALL if options.ball else None, None if options.keep_kp else TouchPlan.fade
    plan = record_of(TouchPlan, options, FLAGS, constants=constants, fade=fade)
    result = soft_touch(robot, plan, t_end=options.until, samples=1e-3)
    run = result.run
    rows = np.column_stack([_column(result, name, len(heads)) for name, heads in TOUCH_COLUMNS.items()])
    files = {
        "touch.csv": Table([head for heads in TOUCH_COLUMNS.values() for head in heads], rows, "%.12g"),
        "events.json": _events(result),
        "graph.svg": lambda: diagram(run.compiled, folded="all"),
    }
    pictures = {"soft_touch.png": plot(lambda path: plot_touch(result, path))}
    return Outcome(result.summary(), files, _touch_overview(result, options.until), pictures, run.notes, run.failure)


def _column(touch: SoftTouchRun, name: str, width: int) -> np.ndarray:
    values = touch.run.t if name == "t" else np.asarray(touch[name])
    return values.reshape(len(touch.run.t), -1)[:, :width]


def _events(touch: SoftTouchRun) -> list[dict[str, Any]]:
    events = touch.run.result.events
    forces = [side.tolist() for side in touch.run.result.at_events("contact.multiplier")] if events else [[], []]
    return [
        {"time": event.time, "kind": event.kind, "automaton": event.name, "force_before": before, "force_after": after}
        for event, before, after in zip(events, *forces, strict=True)
    ]


def _touch_overview(touch: SoftTouchRun, until: float) -> list[str]:
    times = ", ".join(
        f"{1e3 * force:.2f} mN at {t:.4f} s" for t, force in zip(touch.contacts[:5], touch.impacts[:5], strict=True)
    )
    count = plural(len(touch.contacts), "contact")
    slipped = f"slips at {touch.slips[0]:.4f} s" if touch.slips else "does not slip"
    return [
        f"soft touch: {until:g} s simulated in {1e3 * touch.run.statistics.wall_time:.0f} ms",
        f"  {count}" + (f": {times}" if times else ""),
        f"  holding force {1e3 * touch.holding_force:.2f} mN; the brick {slipped} and moves by {1e6 * touch.displacement:.3g} um",
    ]


SOFT_TOUCH = Task(
    "the finger touches a brick on a table and presses without moving it",
    read_robot,
    touch,
    files=("touch.csv", "events.json", "graph.svg"),
    pictures=("soft_touch.png",),
    arguments=_touch_arguments,
    fields=ROBOT_FIELDS,
)


SWEEP_RANGE = (-10.0, 60.0)
"""Range of the common motor angle of the sweep, degrees."""


def linearise(robot: DeltaRobot, options: Namespace) -> Outcome:
    y = robot.inverse_kinematics(options.w) if options.w else options.y or (0.25 * np.pi,) * 3
    linear, reduced = robot.linearise(y), analysis.linearise_reduced(robot, y)
    pole_zero_map, equilibrium = analysis.pole_zero_map(linear), analysis.equilibrium(robot, y)
    angle: float | None = None
    with suppress(ModelError):  # no root crosses zero, or the robot cannot take these postures
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
        "poles": complex_pairs(reduced.poles()),
        "zeros": complex_pairs(pole_zero_map.zeros),
        "cancelled": complex_pairs(pole_zero_map.cancelled_poles),
        "minimal_order": linear.minimal().order,
        "stable": bool(np.all(reduced.poles().real < 0.0)),
        "crossing_degrees": None if angle is None else float(np.rad2deg(angle)),
        "wall_time": compile_times(robot.compiled),
    }
    kinds = {"pole": "poles", "zero": "zeros", "cancelled pole": "cancelled_poles", "cancelled zero": "cancelled_zeros"}
    rows = [(kind, *map(repr, pair)) for kind, name in kinds.items() for pair in complex_pairs(getattr(pole_zero_map, name))]
    matrices = {name: getattr(linear, name) for name in "ABCD"} | {f"{name}6": getattr(reduced, name) for name in "ABC"}
    files = {"linear.npz": matrices, "poles.csv": Table(["kind", "real", "imaginary"], rows, "%s"), **robot_files(robot.compiled)}
    overview = [
        f"delta robot at rest with motor angles {format_numbers(equilibrium.y, 'rad')},"
        f" tool {format_numbers(equilibrium.w, 'm')}",
        f"  held by {format_numbers(equilibrium.torque, 'N m')}; {'stable' if summary['stable'] else 'unstable'}",
        "  poles " + ", ".join(f"{complex(*pole):.5g}" for pole in summary["poles"]) + " 1/s",
        f"  {plural(len(summary['cancelled']), 'cancelled pair')} of pole and zero; minimal order {summary['minimal_order']}",
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
        bode_plot(omega, courses, path, loop="$y_1 / u_1$", title="Response of the motor angles to the torque of motor 1")

    def sweep(path: Path) -> None:
        angles = np.deg2rad(np.linspace(*SWEEP_RANGE, 141))
        if angle is not None:
            # Near the crossing, a pole moves fast and then turns.
            angles = np.union1d(angles, angle + np.deg2rad(np.linspace(-0.9, 0.3, 25)))
        result = analysis.sweep_poles(robot, angles, progress=False)
        figures.sweep_plot(result, angle, path, title="Poles versus common motor angle")

    return {
        "poles_zeros.png": plot(lambda path: figures.pole_zero_plot({caption: pole_zero_map}, path, title="Poles and zeros")),
        "bode.png": plot(bode),
        "sweep.png": plot(sweep, 3.0),
    }


LINEARISE = Task(
    "linear system, poles and zeros about rest at --y or --w",
    read_robot,
    linearise,
    files=("linear.npz", "poles.csv", "graph.svg", "arm.svg", "equations.tex"),
    pictures=("poles_zeros.png", "bode.png", "sweep.png"),
    fields=ROBOT_FIELDS,
)


_ANGLES = [f"phi{k}_arm{i}" for i in (1, 2, 3) for k in (1, 2, 3)]
_THREE = [f"{name}{k}" for name in ("y", "w", "v", "u") for k in ("123" if name in "yu" else "xyz")]
COLUMNS = ["t", *_THREE, *_ANGLES, *(f"{angle}'" for angle in _ANGLES), "energy", "drift"]
"""Columns of trajectory.csv, in s, rad, m, m/s, N m, rad, rad/s, J and m."""


def _run_arguments(group: Any) -> None:
    # `linearise` uses --y and --w too
    start = group.add_mutually_exclusive_group()
    start.add_argument(
        "--y",
        nargs=3,
        type=float,
        metavar=("Y1", "Y2", "Y3"),
        help="initial motor angles, or angles of the linear system, rad (default pi/4)",
    )
    start.add_argument(
        "--w", nargs=3, type=float, metavar=("WX", "WY", "WZ"), help="tool position, instead of --y, m; x3 points down"
    )
    group.add_argument("--rates", nargs=3, type=float, metavar=("V1", "V2", "V3"), help="motor velocities, rad/s")
    torque = group.add_mutually_exclusive_group()
    torque.add_argument("--torque", nargs=3, type=float, metavar=("U1", "U2", "U3"), help="motor torques, N m (default 0)")
    torque.add_argument("--hold", action="store_true", help="torques that hold the initial posture at rest")
    group.add_argument("--t-end", type=float, default=5.0, help="end of the run, s (default %(default)g)")
    group.add_argument("--samples", type=float, default=0.005, help="step of the output, s (default %(default)g)")
    group.add_argument("--rtol", type=float, default=1e-9, help="relative tolerance (default %(default)g)")


def simulate(robot: DeltaRobot, options: Namespace) -> Outcome:
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
    overview = [
        cost_line("delta robot", summary, 1),
        f"  tool at the end {format_numbers(run.w[-1], 'm')}; tips at most {summary['largest_drift']:.1e} m apart;"
        f" ledger residual {summary['ledger_residual']:.1e} of the energy scale",
        *(f"  {line}" for line in summary["singular_configurations"]),
    ]
    pictures = {"course.png": plot(lambda path: time_plot(run, path, title="Delta robot"))}
    return Outcome(summary, files, overview, pictures, run.notes, run.failure)


def _trajectory(run: DeltaRun) -> dict[str, np.ndarray]:
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
    arguments=_run_arguments,
    fields=ROBOT_FIELDS,
)


TASKS = {"simulate": SIMULATE, "linearise": LINEARISE, "soft-touch": SOFT_TOUCH, "workspace": WORKSPACE}

DELTA = study_command("delta", TASKS, help="simulate or analyse a delta robot", arguments=robot_arguments)
