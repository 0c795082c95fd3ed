"""Task `soft-touch` of the command `screwbond delta`: a run of a soft touch with its files and figures."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import numpy as np
from screwbond.models.delta.command.robot_arguments import ROBOT_FIELDS, read_robot
from screwbond.models.delta.pictures.touch_figure import plot_touch
from screwbond.models.delta.studies.robot import DeltaRobot
from screwbond.models.delta.studies.soft_touch import BALL, SoftTouchRun, TouchPlan, soft_touch
from screwbond.models.studies.artefacts import plot
from screwbond.models.studies.commands import add_fields, record_of
from screwbond.models.studies.files import Table
from screwbond.models.studies.tasks import Outcome, Task

from bondgraph.render.diagram import diagram

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
"""Columns of touch.csv: s, m, N m, m, N, 1/s^2, m, and the contact's state (0 free, 1 contact, 2 ballistic)."""

FLAGS = {"--place": "place", "--gap": "gap", "--speed": "speed", "--hold-force": "hold", "--peak-force": "peak", "--kp": "kp"}
"""Command-line arguments that set fields of the plan."""


def _arguments(group: Any) -> None:
    add_fields(group, TouchPlan, FLAGS)
    group.add_argument("--keep-kp", action="store_true", help="do not let it fade: the brick slips")
    group.add_argument("--ball", action="store_true", help="a contact as hard as a ball's: it bounces")
    group.add_argument("--until", type=float, default=20.0, help="end of the soft touch, s (default %(default)g)")


def touch(robot: DeltaRobot, options: Namespace) -> Outcome:
    """Run the touch; the files are touch.csv (`TOUCH_COLUMNS`), events.json with the forces before and after, and graph.svg."""
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
    return Outcome(result.summary(), files, _overview(result, options.until), pictures, run.notes, run.failure)


def _column(touch: SoftTouchRun, name: str, width: int) -> np.ndarray:
    """Return the first `width` entries of a quantity over time (k, width)."""
    values = touch.run.t if name == "t" else np.asarray(touch[name])
    return values.reshape(len(touch.run.t), -1)[:, :width]


def _events(touch: SoftTouchRun) -> list[dict[str, Any]]:
    events = touch.run.result.events
    forces = [side.tolist() for side in touch.run.result.at_events("contact.multiplier")] if events else [[], []]
    return [
        {"time": event.time, "kind": event.kind, "automaton": event.name, "force_before": before, "force_after": after}
        for event, before, after in zip(events, *forces, strict=True)
    ]


def _overview(touch: SoftTouchRun, until: float) -> list[str]:
    times = ", ".join(
        f"{1e3 * force:.2f} mN at {t:.4f} s" for t, force in zip(touch.contacts[:5], touch.impacts[:5], strict=True)
    )
    count = "1 contact" if len(touch.contacts) == 1 else f"{len(touch.contacts)} contacts"
    slipped = f"slips at {touch.slips[0]:.4f} s" if touch.slips else "does not slip"
    return [
        f"soft touch: {until:g} s simulated in {1e3 * touch.run.statistics.wall_time:.0f} ms",
        f"  {count}" + (f": {times}" if times else ""),
        f"  held with {1e3 * touch.holding_force:.2f} mN; the brick {slipped} and moves by {1e6 * touch.displacement:.3g} um",
    ]


SOFT_TOUCH = Task(
    "the finger touches a brick on a table and presses without moving it",
    read_robot,
    touch,
    files=("touch.csv", "events.json", "graph.svg"),
    pictures=("soft_touch.png",),
    arguments=_arguments,
    fields=ROBOT_FIELDS,
)
