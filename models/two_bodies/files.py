"""Files of a contact run: trajectory, events, summary, bond graph, equations and pictures."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bondgraph.errors import ModelError, Problem
from bondgraph.export import document
from bondgraph.render.diagram import diagram
from models.two_bodies.run import ContactRun


def save_run(run: ContactRun, out: Path, *, render: bool = True) -> dict[str, Any]:
    """Write all files of a contact run to the folder `out`, all or none; returns the summary.

    Files: trajectory.npz, events.json, summary.json, graph.svg, equations.tex, and with `render` the pictures. Where
    nothing can be rendered one line on stderr says what to install, and the rest is written.
    """
    summary = run.summary()
    write_all(out, lambda folder: _write_files(run, summary, folder, render))
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
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def check_directory(out: Path) -> None:
    """Raise E413 where nothing can be written to `out`, before any work is done."""
    place = out
    while not place.exists() and place != place.parent:
        place = place.parent
    reason = ""
    if not place.is_dir():
        reason = f"{place} is a file"
    elif not os.access(place, os.W_OK | os.X_OK):
        reason = f"{place} is not writable"
    if reason:
        raise ModelError(str(out), [Problem("E413", f"cannot write to {out}", (reason,), (), ("another --out",))])


def write_all(out: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a fresh folder and move its files to `out` only when all are there."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out, prefix=".unfinished-") as name:
        folder = Path(name)
        write(folder)
        for path in sorted(folder.iterdir()):
            target = out / path.name
            if target.is_dir():
                shutil.rmtree(target)
            os.replace(path, target)
