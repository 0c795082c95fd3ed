"""The command `screwbond hand`: run a hand from a scenario and write its files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from models.hand.studies.run import HandRun


FILES = (
    "trajectory.npz",
    "study.csv",
    "events.json",
    "summary.json",
    "scenario.json",
    "graph.svg",
    "equations.tex",
    "page.html",
    "figure6.png",
    "figure7.png",
    "grasp.png",
    "lost.png",
    "movie.mp4",
    "movie.gif",
)
"""Every file that a run can have."""


def add_hand_command(commands: Any) -> None:
    """Add the subcommand to a parser's subparsers."""
    parser = commands.add_parser(
        "hand",
        help="run the dexterous hand",
        description="Writes trajectory.npz, study.csv, events.json, summary.json, scenario.json, graph.svg, equations.tex "
        "and the pictures.",
    )
    parser.add_argument("--scenario", default="main", metavar="main|far|rotate|FILE.json", help="default %(default)s")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--friction", type=float, metavar="MU", help="coefficient of friction instead of the scenario's")
    parser.add_argument("--no-render", action="store_true", help="write no pictures")
    parser.add_argument("--rtol", type=float, default=1e-8, help="relative tolerance (default %(default)g)")
    parser.add_argument("--method", default="auto", help="integration method (default %(default)s)")
    parser.set_defaults(command=_hand)


def _hand(options: argparse.Namespace) -> int:
    from bondgraph.output.folders import check_directory
    from models.hand.scenarios import read_scenario
    from models.hand.studies.run import run_hand

    scenario = read_scenario(options.scenario)
    if options.friction is not None:
        scenario = scenario.changed(parameters=scenario.parameters.changed(friction=options.friction))
    check_directory(options.out, FILES)
    run = run_hand(scenario, rtol=options.rtol, method=options.method)
    print(save_hand(run, options.out, render=not options.no_render))
    if run.result.failure is not None:
        print(f"screwbond: {run.result.failure}", file=sys.stderr)
        return 1
    return 0


def save_hand(run: HandRun, out: Path, *, render: bool = True) -> str:
    """Write all files of a run to the folder `out`, all or none; returns the main figures, for reading."""
    from bondgraph.output.files import json_text
    from bondgraph.output.folders import write_all
    from models.hand.studies.course import study

    summary, grasp = run.summary(), study(run)

    def write(folder: Path) -> None:
        import numpy as np

        from bondgraph.export import document
        from bondgraph.render.diagram import diagram
        from models.hand.graphs.whole_hand import parts_of
        from models.hand.scenarios import to_json

        np.savez_compressed(folder / "trajectory.npz", **run.trajectory)  # type: ignore[arg-type]
        grasp.write_csv(folder / "study.csv")
        for name, content in (("events.json", run.events()), ("summary.json", summary)):
            (folder / name).write_text(json_text(content), encoding="utf-8")
        (folder / "scenario.json").write_text(to_json(run.scenario), encoding="utf-8")
        (folder / "equations.tex").write_text(document(run.compiled), encoding="utf-8")
        folded = parts_of(run.hand.parameters.fingers)
        diagram(run.compiled, folded=folded).write(folder / "graph.svg")
        if render:
            from models.hand.pictures.files import write_pictures

            message = write_pictures(run, grasp, folder)
            if message:
                print(message, file=sys.stderr)

    write_all(out, write, FILES)
    return overview(summary, grasp.table(), out)


def overview(summary: dict[str, Any], table: str, out: Path) -> str:
    """The main figures of a run."""
    wall, final = summary["wall_time"], summary["final"]
    places = {name: "({:.6f}, {:.6f}, {:.6f}) m".format(*pose[4:]) for name, pose in final.items()}
    low, high = summary["normal_force"]
    lines = [
        f"{summary['name']}: {summary['t_end']:g} s simulated in {1e3 * wall['run']:.0f} ms"
        f" (graph {1e3 * wall['graph']:.0f} ms, build {1e3 * wall['build']:.0f} ms,"
        f" compile {1e3 * wall['compile']:.0f} ms)",
        f"  object at {places['object']}, virtual object at {places['virtual']}, reference at {places['reference']}",
        f"  normal forces {low:.4g} to {high:.4g} N, tangential over normal at most"
        f" {summary['largest_tangential_over_normal']:.3f}",
    ]
    if summary["object_lost"] is not None:
        lines.append(f"  the object is lost at {summary['object_lost']:.4f} s")
    if summary["events"]:
        lines.append("  events: " + ", ".join(f"{kind} {count}" for kind, count in summary["events"].items()))
    lines += [f"  ledger residual {summary['ledger_residual']:.1e} of the energy in play"]
    lines += ["  " + line for line in table.splitlines()]
    return "\n".join([*lines, f"  files in {out}"])
