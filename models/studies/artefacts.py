"""Artefacts: all that a study can write, and what of it is wanted; the names of its files, and pictures drawn, out."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from bondgraph.errors import refusal
from bondgraph.output.extras import missing_package
from bondgraph.output.progress import Progress
from screws.renamed import FILES


@dataclass(frozen=True, eq=False)
class Picture:
    """A file that is drawn.

    Parameters
    ----------
    draw : draws it into a path.
    missing : what it needs that is not there and how to get it, in a line; "" where nothing is.
    work : how long it takes, about, where a plot is 1.
    bar : whether it shows itself how far it is, as movies do: `draw` then takes `progress`, too.
    """

    draw: Callable[..., object]
    missing: Callable[[], str] = lambda: ""
    work: float = 1.0
    bar: bool = False


def plot(draw: Callable[[Path], object], work: float = 1.0) -> Picture:
    """A picture for which Matplotlib is enough."""
    return Picture(draw, lambda: missing_package("matplotlib"), work)


def select_names(names: Sequence[str], only: Collection[str], about: str = "") -> tuple[str, ...]:
    """Of names of files those that are wanted, with their endings or without; all where nobody chose.

    Raises `ModelError` E590 for what is none of them.

    >>> chosen(["graph.svg", "movie.mp4", "movie.gif"], ["movie"])
    ('movie.mp4', 'movie.gif')
    """
    stems = list(dict.fromkeys(PurePath(name).stem for name in names))
    for word in only:
        if word not in stems and word not in names:
            near = difflib.get_close_matches(word, [*stems, *names], 1)
            near = [FILES[word]] if FILES.get(word) in stems else near
            cures = ([f'did you mean "{near[0]}"?'] if near else []) + [", ".join(stems)]
            raise refusal("E590", f'there is no "{word}" to be written', *cures, about=about, places=())
    return tuple(name for name in names if not only or name in only or PurePath(name).stem in only)


def draw_pictures(pictures: Mapping[str, Picture], folder: Path, *, progress: bool = True) -> str:
    """Draw pictures by the names of their files; a line that says which were left out and why, or "". All others are drawn."""
    reasons = {name: picture.missing() for name, picture in pictures.items()}
    ready = {name: picture for name, picture in pictures.items() if not reasons[name]}
    done = 0.0
    with Progress("pictures", sum(picture.work for picture in ready.values()), progress) as bar:
        for name, picture in ready.items():
            bar.show(done, name)
            picture.draw(folder / name, **({"progress": progress} if picture.bar else {}))
            done += picture.work
    names_by_reason = {
        why: [name for name, reason in reasons.items() if reason == why] for why in dict.fromkeys(filter(None, reasons.values()))
    }
    return "; ".join(f"without {', '.join(names)}: {why}" for why, names in names_by_reason.items())
