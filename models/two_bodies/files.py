"""Files of a contact run: trajectory, events, summary, bond graph, equations and pictures."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from bondgraph.export import document
from bondgraph.output.files import json_text
from bondgraph.output.folders import write_all
from bondgraph.render.diagram import diagram
from models.two_bodies.run import ContactRun

FILES = (
    "trajectory.npz",
    "events.json",
    "summary.json",
    "graph.svg",
    "equations.tex",
    "page.html",
    "plots.png",
    "poster.png",
    "movie.mp4",
    "movie.gif",
)
"""Every file that a run can have."""


def save_run(run: ContactRun, out: Path, *, render: bool = True) -> dict[str, Any]:
    """Write all files of a contact run to the folder `out`, all or none; returns the summary.

    Files: trajectory.npz, events.json, summary.json, graph.svg, equations.tex, and with `render` the pictures. Where
    nothing can be rendered one line on stderr says what to install, and the rest is written.
    """
    summary = run.summary()
    write_all(out, lambda folder: _write_files(run, summary, folder, render), FILES)
    return summary


def _write_files(run: ContactRun, summary: dict[str, Any], folder: Path, render: bool) -> None:
    np.savez_compressed(folder / "trajectory.npz", **run.trajectory)  # type: ignore[arg-type]
    _write_json(folder / "events.json", run.events())
    _write_json(folder / "summary.json", summary)
    (folder / "equations.tex").write_text(document(run.compiled), encoding="utf-8")
    diagram(run.compiled).write(folder / "graph.svg")
    if render:
        from models.two_bodies.pictures import write_pictures

        message = write_pictures(run, folder)
        if message:
            print(message, file=sys.stderr)


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json_text(content), encoding="utf-8")
