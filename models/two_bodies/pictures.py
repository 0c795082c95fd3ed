"""Pictures of a contact run: a run in; poster, movie, plots and an interactive page out."""

from __future__ import annotations

from pathlib import Path

from bondgraph.output.extras import lacking
from models.pictures import Scene, from_archive, movie, page, plots, poster, rendering
from models.pictures.filling.balances import energies_of, happenings_of
from models.two_bodies.run import ContactRun


def write_pictures(run: ContactRun, folder: Path) -> str:
    """Write page.html, plots.png, poster.png and movie.mp4; returns one line that says what is missing and why, or ""."""
    scene = contact_scene(run)
    page(scene, folder / "page.html")
    if not lacking("matplotlib"):
        plots(scene, folder / "plots.png")
    works, reason = rendering()
    if not works:
        return f"no pictures of the scene: {reason}"
    poster(scene, folder / "poster.png")
    movie(scene, folder / "movie.mp4", seconds=8.0, fps=24)
    return ""


def contact_scene(run: ContactRun) -> Scene:
    """The run with close samples in every contact, as the scene that its pictures are made from."""
    result, arrays = run.dense()
    return from_archive(
        arrays,
        run.surfaces,
        run.name,
        title=run.title[:1].upper() + run.title[1:],
        names=run.bodies,
        energies=energies_of(result, [run.contact]),
        intervals=tuple(run.contact_intervals()),
        happenings=happenings_of(run.result),
        result=result,
    )
