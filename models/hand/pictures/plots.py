"""Plots of a hand's run over time: figure 7 of Visser 2002, and what the grasp does. Needs matplotlib."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from models.hand.studies.course import Study
from models.hand.studies.run import HandRun, turned_by
from models.pictures.figures import plot_file
from models.pictures.style import AXES, ENERGIES, INK, MUTED, PATHS

LOOKS: dict[str, dict[str, Any]] = {
    "reference": {"color": INK, "linestyle": (0, (4, 2)), "linewidth": 1.2},
    "virtual": {"color": PATHS[1], "linewidth": 1.5},
    "object": {"color": PATHS[0], "linewidth": 1.9},
}
NAMES = {"reference": "reference", "virtual": "virtual object", "object": "object"}
FINGERS = (PATHS[0], PATHS[1], "#2f9e58", "#9c27b0", *ENERGIES)


def figure7(run: HandRun, path: str | os.PathLike[str], dpi: int = 160) -> None:
    """Positions of reference, virtual object and object, and their turns where there are any."""
    arrays, until = run.trajectory, _until(run)
    shown = arrays["t"] <= until
    rows: list[Any] = []
    places = {name: 1e3 * arrays[name][:, 4:] for name in NAMES}
    turns = {name: turned_by(arrays[name]) for name in NAMES}
    for what, values, least in (("$@$ (mm)", places, 1e-3 * _largest(places, shown)), ("turn about $@$ (rad)", turns, 1e-3)):
        for i, axis in enumerate("xyz"):
            courses = {name: columns[:, i] for name, columns in values.items()}
            if _largest(courses, shown) > least:
                rows.append((what.replace("@", axis), [(NAMES[n], course, LOOKS[n]) for n, course in courses.items()]))
    _draw(run, path, dpi, run.title, rows, until)


def _largest(courses: dict[str, np.ndarray], shown: np.ndarray) -> float:
    """Largest change in any of some courses (k, ...)."""
    return max(float(np.max(np.ptp(course[shown], axis=0))) for course in courses.values())


def grasp_plot(run: HandRun, grasp: Study, path: str | os.PathLike[str], dpi: int = 160) -> None:
    """Normal forces, friction used and allowed, internal force, manipulability, stretch and contact paths."""
    arrays, until = run.trajectory, _until(run)
    held = np.where(arrays["normal"] > 0.0, arrays["normal"], np.nan)
    panels: list[Any] = [
        ("normal force (N)", _each(arrays["t"], held)),
        ("tangential /\nnormal force", [*_each(grasp.t, grasp.required), *_limit(run, grasp)]),
        ("internal force (N)", [("", grasp.internal, {"color": INK, "x": grasp.t})]),
        (
            "singular values",
            [
                (
                    f"σ{chr(0x2081 + i)}",
                    grasp.manipulability[:, i],
                    {"color": FINGERS[i % len(FINGERS)], "x": grasp.t, "log": True},
                )
                for i in range(6)
            ],
        ),
        ("stretch of\nfingers", _each(grasp.t, grasp.stretch)),
        ("path on the\nobject (mm)", _each(grasp.t, 1e3 * grasp.path2)),
    ]
    _draw(run, path, dpi, "Grasp: " + run.title[:1].lower() + run.title[1:], panels, until)


def _each(t: np.ndarray, values: np.ndarray) -> list[Any]:
    dashes = ("-", (0, (4, 2)), (0, (1, 1)))
    return [
        (f"finger {i}", column, {"color": FINGERS[i % len(FINGERS)], "x": t, "linestyle": dashes[i % 3]})
        for i, column in enumerate(values.T)
    ]


def _limit(run: HandRun, grasp: Study) -> list[Any]:
    mu = run.hand.parameters.friction
    if mu is None:
        return []
    return [(rf"$\mu = {mu:g}$", np.full(len(grasp.t), mu), {"color": AXES[0], "x": grasp.t, "linewidth": 1.0})]


def _draw(run: HandRun, path: Any, dpi: int, title: str, panels: list[Any], until: float) -> None:
    with plot_file(path, (8.4, 1.1 + 1.75 * len(panels)), dpi=dpi) as figure:
        axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
        for panel, (label, curves) in zip(axes, panels, strict=True):
            _events(run, panel, until)
            for name, values, look in curves:
                options = dict(look)
                x, log = options.pop("x", run.trajectory["t"]), options.pop("log", False)
                shown = x <= until * (1.0 + 1e-12)
                panel.plot(x[shown], values[shown], label=name, **options)
                if log:
                    panel.set_yscale("log")
            panel.set_ylabel(label)
            names = [name for name, *_ in curves if name]
            if len(names) > 1:
                panel.legend(
                    loc="lower right",
                    bbox_to_anchor=(1.0, 0.98),
                    borderaxespad=0.1,
                    ncols=len(names),
                    fontsize=8.5,
                    handlelength=1.6,
                    columnspacing=1.2,
                )
            panel.set_xlim(0.0, until)
            if not any(look.get("log") for _, _, look in curves):
                panel.locator_params(axis="y", nbins=5)
        axes[-1].set_xlabel("time (s)")
        figure.align_ylabels(axes)
        height = figure.get_figheight()
        figure.subplots_adjust(left=0.115, right=0.975, top=1.0 - 0.72 / height, bottom=0.48 / height, hspace=0.3)
        figure.text(0.115, 1.0 - 0.18 / height, title, fontsize=13, fontweight="bold", va="top")


def _events(run: HandRun, panel: Any, until: float) -> None:
    for event in run.events():
        if not event["internal"] and event["time"] <= until:
            colour, width = (AXES[0], 1.0) if event["kind"] == "object lost" else (MUTED, 0.7)
            panel.axvline(event["time"], color=colour, linewidth=width, linestyle=(0, (2, 2)), zorder=1)


def _until(run: HandRun) -> float:
    """A lost object flies on for ever: shortly after."""
    lost, end = run.lost(), float(run.result.t[-1])
    return end if lost is None else min(end, lost + 0.01 * end)
