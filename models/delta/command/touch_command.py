"""The task `soft-touch` of the command `screwbond delta`: arguments, run and files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from models.delta.studies.robot import DeltaRobot
    from models.delta.studies.soft_touch import Touch

HELP = "the finger touches a brick on a table and presses without moving it"


def touch_arguments(group: Any) -> None:
    """Arguments of the task; times and tolerance are those of `simulate`."""
    group.add_argument("--place", nargs=3, type=float, metavar=("WX", "WY", "WZ"), help="tool at the contact, m (default: pi/4)")
    group.add_argument("--gap", type=float, default=0.045, help="at the start, m (default %(default)g)")
    group.add_argument("--speed", type=float, default=2e-4, help="of the approach, m/s (default %(default)g)")
    group.add_argument("--hold-force", type=float, default=0.04, help="N (default %(default)g)")
    group.add_argument("--peak-force", type=float, default=0.09, help="at the contact, N (default %(default)g)")
    group.add_argument("--kp", type=float, help="position gain before it fades, 1/s^2 (default kd^2/4)")
    group.add_argument("--keep-kp", action="store_true", help="do not let it fade: the brick slips")
    group.add_argument("--ball", action="store_true", help="a contact as hard as a ball's: it bounces")
    group.add_argument("--until", type=float, default=20.0, help="end of the soft touch, s (default %(default)g)")


def run_touch(robot: DeltaRobot, options: argparse.Namespace) -> int:
    """Run it, write the files; 0 done, 1 the run ended early."""
    from models.delta.studies.soft_touch import BALL, TouchPlan, soft_touch

    plan = TouchPlan(
        place=None if options.place is None else tuple(options.place),
        gap=options.gap,
        speed=options.speed,
        hold=options.hold_force,
        peak=options.peak_force,
        kp=options.kp,
        constants=BALL if options.ball else None,
        fade=None if options.keep_kp else TouchPlan.fade,
    )
    touch = soft_touch(robot, plan, t_end=options.until, samples=1e-3)
    save_touch(touch, options.out, render=not options.no_render)
    times = ", ".join(
        f"{1e3 * force:.2f} mN at {t:.4f} s" for t, force in list(zip(touch.contacts, touch.impacts, strict=True))[:5]
    )
    print(f"soft touch: {options.until:g} s simulated in {1e3 * touch.run.statistics.wall_time:.0f} ms")
    count = "1 contact" if len(touch.contacts) == 1 else f"{len(touch.contacts)} contacts"
    print(f"  {count}" + (f": {times}" if times else ""))
    slipped = f"slips at {touch.slips[0]:.4f} s" if touch.slips else "does not slip"
    print(f"  held with {1e3 * touch.held:.2f} mN; the brick {slipped} and moves by {1e6 * touch.displacement:.3g} um")
    print(f"  files in {options.out}")
    if touch.run.failure is not None:
        print(f"screwbond: {touch.run.failure}", file=sys.stderr)
        return 1
    return 0


COLUMNS = ("t", "wx", "wy", "wz", "u1", "u2", "u3", "gap", "force", "kp", "displacement", "mode")
"""Columns of touch.csv: s, m, N m, m, N, 1/s^2, m, and the contact's state (0 free, 1 contact, 2 ballistic)."""


TOUCH_FILES = ("touch.csv", "events.json", "summary.json", "graph.svg", "soft_touch.png")
"""Every file that a soft touch can have."""


def save_touch(touch: Touch, out: Path, *, render: bool = True) -> None:
    """Write a soft touch to the folder `out`, all files or none: touch.csv (`COLUMNS`), events.json, summary.json, graph.svg,
    and with `render` soft_touch.png."""
    from bondgraph.output.files import json_text
    from bondgraph.output.folders import write_all
    from bondgraph.render.diagram import diagram
    from models.pictures.figures import can_plot

    rows = np.column_stack(
        [
            touch.run.t,
            touch.run.w,
            touch["motors.torque"],
            touch["contact.h"],
            touch["contact.multiplier"],
            np.asarray(touch["control.kp"])[:, 0],
            touch["displacement.y"],
            touch["touch.mode"],
        ]
    )
    forces = [side.tolist() for side in touch.run.result.at_events("contact.multiplier")] if touch.run.result.events else [[], []]
    events = [
        {"time": event.time, "kind": event.kind, "automaton": event.name, "force_before": before, "force_after": after}
        for event, before, after in zip(touch.run.result.events, *forces, strict=True)
    ]

    def write(folder: Path) -> None:
        np.savetxt(folder / "touch.csv", rows, delimiter=",", header=",".join(COLUMNS), comments="", fmt="%.12g")
        (folder / "events.json").write_text(json_text(events), encoding="utf-8")
        (folder / "summary.json").write_text(json_text(touch.summary()), encoding="utf-8")
        compiled = touch.run.compiled
        diagram(compiled, folded="all").write(folder / "graph.svg")
        if render and can_plot():
            from models.delta.pictures.touch_figure import plot_touch

            plot_touch(touch, folder / "soft_touch.png")

    write_all(out, write, TOUCH_FILES)
