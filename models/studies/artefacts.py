"""Output files of a study: selection by name, and drawing of pictures."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from bondgraph.errors import refusal
from bondgraph.output.extras import missing_package
from bondgraph.output.progress import Progress
from screws.renamed import FILES
from screws.similar_names import similar_names


@dataclass(frozen=True, eq=False)
class Picture:
    """Picture file of a study.

    Parameters
    ----------
    draw : draws it into a path.
    missing : returns a line on a missing requirement and how to get it; "" if none is missing.
    work : approximate duration; a plot is 1.
    bar : True if it shows its own progress, as movies do: `draw` then takes `progress`, too.
    """

    draw: Callable[..., object]
    missing: Callable[[], str] = lambda: ""
    work: float = 1.0
    bar: bool = False


def plot(draw: Callable[[Path], object], work: float = 1.0) -> Picture:
    """Return a picture that needs Matplotlib alone."""
    return Picture(draw, lambda: missing_package("matplotlib"), work)


def select_names(names: Sequence[str], only: Collection[str], about: str = "") -> tuple[str, ...]:
    """Select file names by `only`, with suffixes or without; all if `only` is empty.

    Raises `ModelError` E590 for an unknown name.

    >>> select_names(["graph.svg", "movie.mp4", "movie.gif"], ["movie"])
    ('movie.mp4', 'movie.gif')
    """
    stems = list(dict.fromkeys(PurePath(name).stem for name in names))
    for word in only:
        if word not in stems and word not in names:
            similar = similar_names(word, [*stems, *names], most=1)
            similar = [FILES[word]] if FILES.get(word) in stems else similar
            cures = ([f'did you mean "{similar[0]}"?'] if similar else []) + [", ".join(stems)]
            raise refusal("E590", f'there is no "{word}" to be written', *cures, about=about, places=())
    return tuple(name for name in names if not only or name in only or PurePath(name).stem in only)


def draw_pictures(pictures: Mapping[str, Picture], folder: Path, *, progress: bool = True) -> str:
    """Draw pictures by file name; return a line with omitted pictures and reasons, or ""."""
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
