"""Plots of a hand's run over time: figure 7 of Visser 2002, and what the grasp does. Needs matplotlib."""

from __future__ import annotations

import os

import numpy as np
from screwbond.models.hand.pictures.scene import NAMES, happenings
from screwbond.models.hand.studies.course import Study
from screwbond.models.hand.studies.run import HandRun, turned_by
from screwbond.models.pictures import Curve, Panel, Scene, plots
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.style import AXES, PATHS

from bondgraph.output.plot_style import CYCLE, INK

LOOKS = {"reference": (INK, 1), "virtual": (PATHS[1], 0), "object": (PATHS[0], 0)}
"""Colour, and how its line is broken, of each frame of the trajectory."""


def figure7(run: HandRun, path: str | os.PathLike[str], dpi: int = 160) -> None:
    """Positions of reference, virtual object and object, and their turns where there are any."""
    shown = run.trajectory["t"] <= _until(run)
    arrays = {name: run.trajectory[name][shown] for name in NAMES}
    places = {name: rows[:, 4:] for name, rows in arrays.items()}
    turns = {name: turned_by(rows) for name, rows in arrays.items()}
    panels = []
    for title, unit, values, least in (("$@$", "m", places, 1e-3 * _largest(places)), ("turn about $@$", "rad", turns, 1e-3)):
        for i, axis in enumerate("xyz"):
            courses = {name: columns[:, i] for name, columns in values.items()}
            if _largest(courses) > least:
                curves = tuple(Curve(NAMES[name], course, *LOOKS[name]) for name, course in courses.items())
                panels.append(Panel(title.replace("@", axis), unit, curves))
    _plots(run, path, dpi, run.title, run.trajectory["t"][shown], panels)


def _largest(courses: dict[str, Array]) -> float:
    """Largest change in any of some courses (k, ...)."""
    return max(float(np.ptp(course, axis=0).max()) for course in courses.values())


def grasp_plot(run: HandRun, grasp: Study, path: str | os.PathLike[str], dpi: int = 160) -> None:
    """Normal forces, friction used and allowed, internal force, manipulability, stretch and contact paths."""
    shown, normal = grasp.t <= _until(run), run.trajectory["normal"][np.isin(run.trajectory["t"], grasp.t)]
    needed, mu = _each(grasp.required[shown]), run.hand.parameters.friction
    if mu is not None:
        needed += (Curve(rf"$\mu = {mu:g}$", np.full(len(needed[0].values), mu), AXES[0]),)
    values = grasp.manipulability[shown].T
    singular = tuple(Curve(f"σ{chr(0x2081 + i)}", course, CYCLE[i % len(CYCLE)]) for i, course in enumerate(values))
    panels = [
        Panel("normal force", "N", _each(np.where(normal > 0.0, normal, np.nan)[shown])),
        Panel("tangential /\nnormal force", "", needed),
        Panel("internal force", "N", (Curve("", grasp.internal[shown], INK),)),
        Panel("singular values", "", singular, log=True),
        Panel("stretch of\nfingers", "", _each(grasp.extension[shown])),
        Panel("path on the\nobject", "m", _each(grasp.path2[shown])),
    ]
    _plots(run, path, dpi, "Grasp: " + run.title[:1].lower() + run.title[1:], grasp.t[shown], panels)


def _each(values: Array) -> tuple[Curve, ...]:
    """A curve for each finger, of values (k, n)."""
    return tuple(Curve(f"finger {i}", course, CYCLE[i % len(CYCLE)], dashed=i % 3) for i, course in enumerate(values.T))


def _plots(run: HandRun, path: str | os.PathLike[str], dpi: int, title: str, t: Array, panels: list[Panel]) -> None:
    plots(Scene(title, t, panels=tuple(panels), event_marks=happenings(run)), path, dpi)


def _until(run: HandRun) -> float:
    """A lost object flies on for ever: shortly after."""
    lost, end = run.time_of_loss(), float(run.result.t[-1])
    return end if lost is None else min(end, lost + 0.01 * end)
