"""Pictures of a contact run: a run in; an interactive page, plots, poster and movie, as they can be drawn, out."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from screwbond.models.pictures import Scene, from_archive, movie, page, plots, poster
from screwbond.models.pictures.from_results.energies import energies_of, happenings_of
from screwbond.models.pictures.probe import rendering_problem
from screwbond.models.studies.artefacts import Picture, plot
from screwbond.models.two_bodies.run import ContactRun


def pictures_of(run: ContactRun) -> dict[str, Picture]:
    """page.html, plots.png, poster.png and movie.mp4."""

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
        event_marks=happenings_of(run.result),
        result=result,
    )
