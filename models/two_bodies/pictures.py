"""Pictures of a contact run: poster, movie, plots and an interactive page."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bondgraph.output.extras import lacking
from bondgraph.run.outcome.result import Result
from models.pictures import ContactMotion, Event, movie, page, plots, poster, rendering
from models.two_bodies.run import ContactRun


def write_pictures(run: ContactRun, folder: Path) -> str:
    """Write page.html, plots.png, poster.png and movie.mp4; returns one line that says what is missing and why, or ""."""
    motion = contact_motion(run)
    page(motion, folder / "page.html")
    if not lacking("matplotlib"):
        plots(motion, folder / "plots.png")
    works, reason = rendering()
    if not works:
        return f"no pictures of the scene: {reason}"
    poster(motion, folder / "poster.png")
    movie(motion, folder / "movie.mp4", seconds=8.0, fps=24)
    return ""


def contact_motion(run: ContactRun) -> ContactMotion:
    """The neutral record that the pictures are made from."""
    result, arrays = run.dense()
    return ContactMotion(
        name=run.name,
        title=run.title[:1].upper() + run.title[1:],
        surface1=run.surfaces[0],
        surface2=run.surfaces[1],
        t=arrays["t"],
        p1=arrays["p1"],
        q1_wxyz=arrays["q1_wxyz"],
        p2=arrays["p2"],
        q2_wxyz=arrays["q2_wxyz"],
        cp1_O1=arrays["cp1_O1"],
        cp2_O2=arrays["cp2_O2"],
        frame1=arrays["frame1"],
        frame2=arrays["frame2"],
        gap=arrays["gap"],
        fn=arrays["fn"],
        force_on_2_world=arrays["force_on_2_world"],
        uv1=arrays["uv1"],
        uv2=arrays["uv2"],
        alpha=arrays["alpha"],
        energies=_energies(run, result),
        residual=arrays["residual"],
        events=tuple(Event(e.time, e.kind, e.internal) for e in run.result.events),
        names=run.bodies,
    )


def _energies(run: ContactRun, result: Result) -> dict[str, np.ndarray]:
    """Energies by kind, J, whose sum is constant: kinetic, potential, of the contact's springs, dissipated and lost, and
    less what was supplied; kinds that do not matter are left out."""
    ledger = result.ledger
    kinds = {"kinetic": np.zeros(len(result.t)), "potential": np.zeros(len(result.t))}
    for name in result.program.energy_names:
        if name.startswith(f"{run.contact}."):
            kind = "contact"
        else:
            kind = "kinetic" if name.endswith(".inertia") else "potential"
        kinds[kind] = kinds.get(kind, 0.0) + ledger.elements[name]
    kinds |= {"dissipated": ledger.dissipated + ledger.lost, "less supplied": -ledger.supplied}
    return {kind: values for kind, values in kinds.items() if np.max(np.abs(values)) > 1e-4 * ledger.in_play}
