"""Pictures of a contact run: poster, stills, movie, plots and an interactive page."""

from __future__ import annotations

from pathlib import Path

from models.contact_run import ContactRun
from models.pictures.motion import ContactMotion, Event


def contact_motion(run: ContactRun, title: str = "") -> ContactMotion:
    """The neutral record that the pictures are made from."""
    arrays = run.trajectory
    names = ("t", "p1", "q1_wxyz", "p2", "q2_wxyz", "cp1_O1", "cp2_O2", "frame1", "frame2", "gap", "fn",
             "force_on_2_world", "uv1", "uv2", "alpha", "residual")  # fmt: skip
    energies = {name: run.result.ledger.elements[name] for name in run.result.program.energy_names}
    return ContactMotion(
        name=run.name,
        title=title or f"{run.bodies[1]} on {run.bodies[0]}",
        surface1=run.surfaces[0],
        surface2=run.surfaces[1],
        energies=energies,
        events=tuple(Event(e.time, e.kind, e.internal) for e in run.result.events),
        names=run.bodies,
        **{name: arrays[name] for name in names},
    )
