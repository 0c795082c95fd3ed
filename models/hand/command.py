"""Command `screwbond hand`: run a scenario and write its files and figures."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Collection
from pathlib import Path
from typing import Any

from screwbond.models.hand.graph import parts_of
from screwbond.models.hand.pictures import pictures_of
from screwbond.models.hand.run import HandRun, run_hand, study
from screwbond.models.hand.scenarios import HandParameters, HandScenario, ReferenceStep, as_json, read_scenario
from screwbond.models.studies.reading import make_from_input
from screwbond.models.studies.tasks import Outcome, Task, add_solver, cost_line, graph_files, study_command


def save_hand(run: HandRun, out: Path, *, render: bool = True, only: Collection[str] = (), progress: bool = True) -> str:
    """Write the files of a run, or those in `only`, to the folder `out`; return the main figures as text."""
    return TASK.save(_outcome(run), out, render=render, only=only, progress=progress)


def _outcome(run: HandRun) -> Outcome:
    summary, grasp = run.summary(), study(run)
    files = {
        "trajectory.npz": run.trajectory,
        "study.csv": grasp.columns(),
        "events.json": run.events(),
        "scenario.json": as_json(run.scenario),
        **graph_files(run.compiled, parts_of(run.hand.parameters.fingers)),
    }
    return Outcome(summary, files, _figures(summary, grasp.table()), pictures_of(run, grasp), failure=run.result.failure)


def _figures(summary: dict[str, Any], table: str) -> list[str]:
    positions = {name: "({:.6f}, {:.6f}, {:.6f}) m".format(*pose[4:]) for name, pose in summary["final"].items()}
    low, high = summary["normal_force"]
    lines = [
        cost_line(summary["name"], summary),
        f"  object at {positions['object']}, virtual object at {positions['virtual']}, reference at {positions['reference']}",
        f"  normal forces {low:.4g} to {high:.4g} N, largest ratio of tangential to normal force"
        f" {summary['largest_tangential_over_normal']:.3f}",
    ]
    if summary["object_lost"] is not None:
        lines.append(f"  the object is lost at {summary['object_lost']:.4f} s")
    if summary["events"]:
        lines.append("  events: " + ", ".join(f"{kind} {count}" for kind, count in summary["events"].items()))
    lines += [f"  ledger residual {summary['ledger_residual']:.1e} of the energy scale"]
    return lines + ["  " + line for line in table.splitlines()]


def _arguments(parser: Any) -> None:
    parser.add_argument("--scenario", default="main", metavar="main|far|rotate|FILE.json", help="default %(default)s")
    parser.add_argument("--friction", type=float, metavar="MU", help="coefficient of friction that replaces the scenario's")
    add_solver(parser, 1e-8)


def _read(options: Namespace) -> HandScenario:
    scenario = read_scenario(options.scenario)
    if options.friction is None:
        return scenario
    return make_from_input(lambda: scenario.changed(parameters=scenario.parameters.changed(friction=options.friction)))


TASK = Task(
    "run the dexterous hand",
    _read,
    lambda scenario, options: _outcome(run_hand(scenario, rtol=options.rtol, method=options.method)),
    files=("trajectory.npz", "study.csv", "events.json", "scenario.json", "graph.svg", "equations.tex"),
    pictures=("page.html", "scene.glb", "figure6.png", "figure7.png", "grasp.png", "lost.png", "movie.mp4", "movie.gif"),
    arguments=_arguments,
    fields={"FILE.json": HandScenario, "each of motion": ReferenceStep, "parameters": HandParameters},
)
HAND = study_command("hand", TASK)
