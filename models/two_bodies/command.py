"""Command `screwbond contact`: run two bodies in contact from a scenario file, with files and pictures."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any

from screwbond.models.pictures import Scene, from_archive, movie, page, plots, poster
from screwbond.models.pictures.from_results.contacts import energies_of, happenings_of
from screwbond.models.pictures.probe import rendering_problem
from screwbond.models.studies.commands import add_solver, study_command
from screwbond.models.studies.tasks import Outcome, Picture, Task, graph_files, plot
from screwbond.models.two_bodies.run import ContactRun, run_scenario
from screwbond.models.two_bodies.scenario import SURFACES, BodySpec, ContactSpec, GravitySpec, Scenario, read_scenario


def pictures_of(run: ContactRun) -> dict[str, Picture]:
    """Return page.html, plots.png, poster.png and movie.mp4 of a run."""

    @cache
    def scene() -> Scene:
        return contact_scene(run)

    def film(path: Path, progress: bool) -> None:
        movie(scene(), path, seconds=8.0, fps=24, progress=progress)

    return {
        "page.html": Picture(lambda path: page(scene(), path)),
        "plots.png": plot(lambda path: plots(scene(), path)),
        "poster.png": Picture(lambda path: poster(scene(), path), rendering_problem, 8.0),
        "movie.mp4": Picture(film, rendering_problem, 30.0, bar=True),
    }


def contact_scene(run: ContactRun) -> Scene:
    """Return the scene of a run, with dense samples in every contact."""
    result, arrays = run.dense()
    return from_archive(
        arrays,
        run.surfaces,
        run.name,
        title=run.title[:1].upper() + run.title[1:],
        names=run.bodies,
        energies=energies_of(result, [run.contact]),
        intervals=tuple(run.contact_intervals()),
        event_marks=happenings_of(run.result),
        result=result,
    )


def overview(summary: dict[str, Any], out: Path) -> str:
    """Return the main figures of a run as text."""
    return "\n".join([*_figures(summary), f"  files in {out}"])


def save_run(
    run: ContactRun, out: Path, *, render: bool = True, only: Collection[str] = (), progress: bool = True, show: bool = False
) -> dict[str, Any]:
    """Write all files of a contact run to the folder `out`, all or none; return the summary.

    Files: trajectory.npz, events.json, summary.json, graph.svg, equations.tex, and with `render` the pictures page.html,
    plots.png, poster.png and movie.mp4; `only` selects some, such as ("page", "plots"). Without rendering, one line on stderr
    says what to install, and all other files are written. `progress` shows a bar on a terminal. `show` writes the page first
    and opens it in the browser of the desktop; one line prints its path.
    """
    if show:
        path = out / "page.html"
        out.mkdir(parents=True, exist_ok=True)
        print("opened" if page(contact_scene(run)).open(path) else "no desktop here; open in a browser:", path, flush=True)
    outcome = _outcome(run)
    TASK.save(outcome, out, render=render, only=only, progress=progress)
    return dict(outcome.summary)


def _outcome(run: ContactRun) -> Outcome:
    summary = run.summary()
    files = {"trajectory.npz": run.trajectory, "events.json": run.events(), **graph_files(run.compiled)}
    return Outcome(summary, files, _figures(summary), pictures_of(run), run.notes, run.result.failure)


def _figures(summary: dict[str, Any]) -> list[str]:
    events, peak, wall = summary["events"], summary["peak_force"], summary["wall_time"]
    return [
        f"{summary['name']}: {summary['t_end']:g} s simulated in {1e3 * wall['run']:.1f} ms"
        f" (build {1e3 * wall['build']:.0f} ms, compile {1e3 * wall['compile']:.0f} ms)",
        f"  contact on {events['contact on']} times, off {events['contact off']} times;"
        f" largest normal force {peak['value']:.6g} N at {peak['time']:.6g} s",
        f"  energy {summary['energy']['stored at start']:.6g} J at the start,"
        f" ledger residual {summary['ledger_residual']:.1e} of the energy in play",
    ]


def _arguments(parser: Any) -> None:
    parser.add_argument("scenario", type=Path, metavar="SCENARIO.json")
    add_solver(parser, 1e-10)


TASK = Task(
    "run two bodies in contact from a scenario file",
    lambda options: read_scenario(options.scenario),
    lambda scenario, options: _outcome(run_scenario(scenario, rtol=options.rtol, method=options.method)),
    files=("trajectory.npz", "events.json", "graph.svg", "equations.tex"),
    pictures=("page.html", "plots.png", "poster.png", "movie.mp4", "movie.gif"),
    arguments=_arguments,
    fields={
        "SCENARIO.json": Scenario,
        "body1, body2": BodySpec,
        **{f'surface of type "{name}"': kind.numbers for name, kind in SURFACES.items() if kind.numbers},
        "contact": ContactSpec,
        "gravity": GravitySpec,
    },
)
CONTACT_COMMAND = study_command("contact", TASK)
