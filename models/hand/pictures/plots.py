"""Plots of a hand's run over time: figure 7 of Visser 2002, and the grasp. Needs matplotlib."""

from __future__ import annotations

import os

import numpy as np
from screwbond.models.hand.pictures.scene import NAMES, hand_event_marks
from screwbond.models.hand.studies.course import Study
from screwbond.models.hand.studies.run import HandRun, rotation_vectors
from screwbond.models.pictures import Curve, Panel, Scene, plots
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.style import AXES, PATHS

from bondgraph.output.plot_style import CYCLE, INK

LINE_STYLES = {"reference": (INK, 1), "virtual": (PATHS[1], 0), "object": (PATHS[0], 0)}
"""Colour and dash pattern of each frame of the trajectory."""


def figure7(run: HandRun, path: str | os.PathLike[str], dpi: int = 160) -> None:
    """Plot positions of reference, virtual object and object, and their rotations if there are any."""
    shown = run.trajectory["t"] <= _end_time(run)
    arrays = {name: run.trajectory[name][shown] for name in NAMES}
    positions = {name: rows[:, 4:] for name, rows in arrays.items()}
    turns = {name: rotation_vectors(rows) for name, rows in arrays.items()}
    panels = []
    for title, unit, values, threshold in (
        ("$@$", "m", positions, 1e-3 * _largest_range(positions)),
        ("turn about $@$", "rad", turns, 1e-3),
    ):
        for i, axis in enumerate("xyz"):
            components = {name: columns[:, i] for name, columns in values.items()}
            if _largest_range(components) > threshold:
                curves = tuple(Curve(NAMES[name], component, *LINE_STYLES[name]) for name, component in components.items())
                panels.append(Panel(title.replace("@", axis), unit, curves))
    _write_panels(run, path, dpi, run.title, run.trajectory["t"][shown], panels)


def _largest_range(series: dict[str, Array]) -> float:
    """Return the largest range of any of these series (k, ...)."""
    return max(float(np.ptp(values, axis=0).max()) for values in series.values())


def grasp_plot(run: HandRun, grasp: Study, path: str | os.PathLike[str], dpi: int = 160) -> None:
    """Plot normal forces, friction used and allowed, internal force, manipulability, stretch and contact paths."""
    shown, normal = grasp.t <= _end_time(run), run.trajectory["normal"][np.isin(run.trajectory["t"], grasp.t)]
    friction_curves, mu = _finger_curves(grasp.required[shown]), run.hand.parameters.friction
    if mu is not None:
        friction_curves += (Curve(rf"$\mu = {mu:g}$", np.full(len(friction_curves[0].values), mu), AXES[0]),)
    values = grasp.manipulability[shown].T
    singular = tuple(Curve(f"σ{chr(0x2081 + i)}", course, CYCLE[i % len(CYCLE)]) for i, course in enumerate(values))
    panels = [
        Panel("normal force", "N", _finger_curves(np.where(normal > 0.0, normal, np.nan)[shown])),
        Panel("tangential /\nnormal force", "", friction_curves),
        Panel("internal force", "N", (Curve("", grasp.internal[shown], INK),)),
        Panel("singular values", "", singular, log=True),
        Panel("stretch of\nfingers", "", _finger_curves(grasp.extension[shown])),
        Panel("path on the\nobject", "m", _finger_curves(grasp.path2[shown])),
    ]
    _write_panels(run, path, dpi, "Grasp: " + run.title[:1].lower() + run.title[1:], grasp.t[shown], panels)


def _finger_curves(values: Array) -> tuple[Curve, ...]:
    """Return a curve for each finger, from values (k, n)."""
    return tuple(Curve(f"finger {i}", column, CYCLE[i % len(CYCLE)], dashed=i % 3) for i, column in enumerate(values.T))


def _write_panels(run: HandRun, path: str | os.PathLike[str], dpi: int, title: str, t: Array, panels: list[Panel]) -> None:
    plots(Scene(title, t, panels=tuple(panels), event_marks=hand_event_marks(run)), path, dpi)


def _end_time(run: HandRun) -> float:
    """Return the end of the plots, s: shortly after a loss, since the object then flies on for ever."""
    lost, end = run.time_of_loss(), float(run.result.t[-1])
    return end if lost is None else min(end, lost + 0.01 * end)
