"""Two bodies in contact: runs from scenario files or graphs, and the command `screwbond contact` with its files and pictures."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from screwbond.models.bodies import Body
from screwbond.models.connections import Touchable
from screwbond.models.contacts import ContactWarning, UntrackedContact, attach_contact, contact, find_untracked_contact
from screwbond.models.contacts.graph import ContactGraph
from screwbond.models.contacts.trajectory import Arrays, contact_intervals, contact_trajectory
from screwbond.models.pictures import Scene, from_archive, movie, page, plots, poster, save_scene
from screwbond.models.pictures.from_results.contacts import energies_of, event_marks_of
from screwbond.models.pictures.probe import rendering_problem
from screwbond.models.springs.point import attach_central_gravity, central_gravity
from screwbond.models.studies.tasks import (
    Outcome,
    Picture,
    Task,
    add_solver,
    cost_line,
    cost_summary,
    end_summary,
    graph_files,
    plot,
    study_command,
    wall_times,
)
from screwbond.models.two_bodies.scenario import MOTIONS, SURFACES, BodySpec, ContactSpec, GravitySpec, Scenario, read_scenario

from bondgraph import Compiled, Graph, compile_model
from bondgraph.errors import Problem, caller_place, raise_if_any, refusal
from bondgraph.output.short_repr import short_repr
from bondgraph.run.results.result import Result
from screws.errors import plural
from screws.names import answer_old_names
from screws.numeric_arguments import shown
from screws.surfaces import Surface

CONTACT = "contact"


def two_body_graph(scenario: Scenario) -> Graph:
    """Build the graph of a scenario: bodies `<surface> 1` and `<surface> 2`, `contact`, and `gravity` if central."""
    graph = Graph(scenario.name)
    specs = zip(body_names(scenario), (scenario.body1, scenario.body2), strict=True)
    body1, body2 = (MOTIONS[spec.motion].body(name, spec, scenario.gravity.vector) for name, spec in specs)
    spec = scenario.contact
    contact_part = contact(
        CONTACT,
        body1,
        body2,
        constrained=spec.constrained,
        normal_stiffness=spec.k_n,
        normal_damping=spec.c_n,
        tangential_stiffness=spec.k_t,
        tangential_damping=spec.r_t,
        rotational_stiffness=spec.k_w,
        rotational_damping=spec.r_w,
        friction=spec.friction,
        torsional_friction=spec.torsional_friction,
        transport=spec.transport,
    )
    attach_contact(graph, contact_part, body1, body2)
    if scenario.gravity.is_central:
        assert scenario.body2.mass is not None
        gravity = central_gravity("gravity", body2, body1, scenario.body2.mass * scenario.gravity.g0)
        attach_central_gravity(graph, gravity, body2, body1)
    return graph


def body_names(scenario: Scenario) -> tuple[str, str]:
    return f"{scenario.body1.surface_type} 1", f"{scenario.body2.surface_type} 2"


MIN_CONTACT_SAMPLES = 400


@answer_old_names
@short_repr
@dataclass(frozen=True)
class ContactRun:
    """Run of two bodies in contact: compiled model, result and trajectory."""

    name: str
    bodies: tuple[str, str]
    """Paths of the bodies in the graph, without `.pose`."""
    surfaces: tuple[Surface, Surface]
    contact: str
    compiled: Compiled
    result: Result
    trajectory: Arrays
    rtol: float
    method: str
    title: str = ""
    notes: tuple[str, ...] = ()
    untracked_contact: UntrackedContact | None = None
    """First penetration without contact that a search over the run finds, or None."""

    @property
    def wall_times(self) -> dict[str, float]:
        """Times to build (graph to equations), to compile (trace and machine code) and to run, s."""
        return wall_times(self.compiled, self.result)

    def events(self) -> list[dict[str, Any]]:
        """Return the time (s), the kind and the internal flag of every event."""
        return [{"time": e.time, "kind": e.kind, "internal": e.internal} for e in self.result.events]

    def dense(self) -> tuple[Result, Arrays]:
        """Repeat the run with additional, dense samples in every contact interval; return result and trajectory."""
        t, pieces = self.result.t, []
        for start, end in self.contact_intervals():
            # Four steps for each sample of the trajectory in the interval.
            count = 4 * int(np.count_nonzero((t >= start) & (t <= end))) + 1
            pieces.append(np.linspace(start, end, max(MIN_CONTACT_SAMPLES, count)))
        times = np.unique(np.concatenate([t, *pieces]))
        # The events of a run that ended early may lie after its last sample.
        times = times[times <= t[-1]]
        times = times[np.diff(times, prepend=-np.inf) > 1e-9 * times[-1]]
        result = self.compiled.simulate(float(times[-1]), samples=times, rtol=self.rtol, method=self.method, progress=False)
        return result, contact_trajectory(result, self.bodies, self.surfaces, self.contact)

    def peak_force(self) -> tuple[float, float]:
        """Return the time (s) and magnitude (N) of the largest normal force, or zeros without contact.

        It comes from dense samples in contact, refined as in `Result.peak`.
        """
        return self.dense()[0].peak(f"{self.contact}.normal force") if self.contact_intervals() else (0.0, 0.0)

    def contact_intervals(self) -> list[tuple[float, float]]:
        """Return the start and the end (s) of every contact."""
        return list(contact_intervals(self.result, self.contact))

    def summary(self) -> dict[str, Any]:
        """Return the content of `summary.json`: energies, ledger residual, peak force, events and cost."""
        when, force = self.peak_force()
        kinds = Counter(e.kind for e in self.result.events)
        others = ("impact", "slip", "stick", "torsional slip", "torsional stick")
        return {
            "name": self.name,
            **end_summary(self.result),
            "notes": [*self.notes, *([str(self.untracked_contact)] if self.untracked_contact else [])],
            "peak_force": {"time": when, "value": force},
            "events": {
                "contact on": kinds["contact on"],
                "contact off": kinds["contact off"],
                "chart switches": sum(count for kind, count in kinds.items() if kind.startswith("chart of surface")),
                **{kind: kinds[kind] for kind in others if kinds[kind]},
            },
            **cost_summary(self.result, self.wall_times),
        }


def _check_bodies(name: str, *bodies: Any) -> None:
    problems = []
    for body in bodies:
        cures: tuple[str, ...]
        if not isinstance(getattr(body, "pose_path", None), str):
            title = f"{shown(body)} ({type(body).__name__}) is not a body"
            cures = (
                "rigid_body(..., surface=sphere(0.02)), ground(...), prescribed_body(...)",
                'arm.link("hand") of a chain graph',
            )
        elif body.surface is None:
            title = f'"{body.name}" has no surface'
            cures = ("surface=sphere(0.02) where it is built; for a link: Link(..., surface=...), arm.link(name, surface=...)",)
        else:
            continue
        problems.append(Problem("E459", title, (), (caller_place(),), cures))
    raise_if_any(name, problems)


def run_contact(
    graph: Graph,
    body1: Touchable,
    body2: Touchable,
    t_end: float,
    samples: float | np.ndarray,
    *,
    contact: str = CONTACT,
    rtol: float = 1e-10,
    method: str = "auto",
    progress: bool = True,
    title: str = "",
    notes: tuple[str, ...] = (),
) -> ContactRun:
    """Compile and run a graph that contains two bodies, or links of a chain, and the contact between them.

    Raises the errors of `compile_model`, and `ModelError` E459 for anything but bodies with a surface, E301 for a contact
    passed as `t_end`. A run that ends early has a `result.failure`; bodies that overlap without contact appear in
    `result.warnings`, or cause a `ContactWarning`.
    """
    _check_bodies(graph.name, body1, body2)
    if isinstance(t_end, Graph):
        cure = f'run_contact(graph, body1, body2, t_end, samples, contact="{t_end.name}")'
        raise refusal("E301", f'the contact "{t_end.name}" is passed as t_end', cure, about=graph.name)
    compiled = compile_model(graph)
    result = compiled.simulate(t_end, samples=samples, rtol=rtol, method=method, progress=progress)
    assert body1.surface is not None and body2.surface is not None  # by _check_bodies
    paths, surfaces = [body.pose_path.removesuffix(".pose") for body in (body1, body2)], (body1.surface, body2.surface)
    bodies = paths[0], paths[1]
    trajectory = contact_trajectory(result, bodies, surfaces, contact)
    contact_paths = {
        path for name, part in graph.parts.items() for path in (part.paths if isinstance(part, ContactGraph) else (name,))
    }
    others = [c.point.path for c in result.program.contacts if c.point.frames and c.point.path in contact_paths]
    untracked = find_untracked_contact(result, bodies, surfaces, others)
    if untracked is not None and result.ok:
        warnings.warn(f'"{graph.name}": {untracked}', ContactWarning, stacklevel=2)
    return ContactRun(
        graph.name, bodies, surfaces, contact, compiled, result, trajectory, rtol, method, title or graph.name, notes, untracked
    )


def run_scenario(scenario: Scenario, *, rtol: float = 1e-10, method: str = "auto", progress: bool = True) -> ContactRun:
    """Build the graph of a scenario, compile and run it."""
    graph = two_body_graph(scenario)
    body1, body2 = (graph.parts[name] for name in body_names(scenario))
    assert isinstance(body1, Body) and isinstance(body2, Body)
    labels: dict[str, Any] = {"title": scenario.description, "notes": scenario.notes}
    settings: dict[str, Any] = {"rtol": rtol, "method": method, "progress": progress}
    return run_contact(graph, body1, body2, scenario.t_end, scenario.sample_dt, **settings, **labels)


def pictures_of(run: ContactRun) -> dict[str, Picture]:
    @cache
    def scene() -> Scene:
        return contact_scene(run)

    return {
        "page.html": Picture(lambda path: page(scene(), path)),
        "scene.glb": Picture(lambda path: save_scene(scene(), path, seconds=8.0)),
        "plots.png": plot(lambda path: plots(scene(), path)),
        "poster.png": Picture(lambda path: poster(scene(), path), rendering_problem, 8.0),
        "movie.mp4": Picture(
            lambda path, progress: movie(scene(), path, seconds=8.0, fps=24, progress=progress), rendering_problem, 30.0, bar=True
        ),
    }


def contact_scene(run: ContactRun) -> Scene:
    result, arrays = run.dense()
    return from_archive(
        arrays,
        run.surfaces,
        run.name,
        title=run.title[:1].upper() + run.title[1:],
        names=run.bodies,
        energies=energies_of(result, [run.contact]),
        intervals=tuple(run.contact_intervals()),
        event_marks=event_marks_of(run.result),
        result=result,
    )


def overview(summary: dict[str, Any], out: Path) -> str:
    return "\n".join([*_figures(summary), f"  files in {out}"])


def save_run(
    run: ContactRun, out: Path, *, render: bool = True, only: Collection[str] = (), progress: bool = True, show: bool = False
) -> dict[str, Any]:
    """Write the files of a contact run to the folder `out`, all or none; return the summary.

    Files: trajectory.npz, events.json, summary.json, graph.svg, equations.tex, and with `render` the pictures page.html,
    scene.glb, plots.png, poster.png and movie.mp4; `only` selects some to write in addition to the summary, such as ("page",
    "plots"). Pictures that cannot be rendered are omitted, and a line on stderr states why. `progress` shows a bar on a terminal.
    `show` first writes the page, opens it in the desktop's browser and prints its path.
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
    events, peak = summary["events"], summary["peak_force"]
    return [
        cost_line(summary["name"], summary, 1),
        f"  {_course(events, peak['value'] > 0.0)}; largest normal force {peak['value']:.6g} N at {peak['time']:.6g} s",
        f"  energy {summary['energy']['stored at start']:.6g} J at the start,"
        f" ledger residual {summary['ledger_residual']:.1e} of the energy scale",
    ]


def _course(events: dict[str, int], closed: bool) -> str:
    on, off, impacts = events["contact on"], events["contact off"], events.get("impact", 0)
    if on or off:
        return f"contact on {plural(on, 'time')}, off {plural(off, 'time')}"
    return plural(impacts, "impact") if impacts else "contact closed all the time" if closed else "no contact"


def _arguments(parser: Any) -> None:
    parser.add_argument("scenario", type=Path, metavar="SCENARIO.json")
    add_solver(parser, 1e-10)


TASK = Task(
    "run two bodies in contact from a scenario file",
    lambda options: read_scenario(options.scenario),
    lambda scenario, options: _outcome(run_scenario(scenario, rtol=options.rtol, method=options.method)),
    files=("trajectory.npz", "events.json", "graph.svg", "equations.tex"),
    pictures=("page.html", "scene.glb", "plots.png", "poster.png", "movie.mp4", "movie.gif"),
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
