"""Tasks: arguments of a command in; a run, its files, its lines on the screen and an exit status out."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from screwbond.models.studies.artefacts import Picture, chosen, draw_pictures
from screwbond.models.studies.fields import Declared
from screwbond.models.studies.files import write_files

from bondgraph.output.files import check_directory, write_all
from bondgraph.run.results.failure import Failure

SUMMARY = "summary.json"
"""The file that every task writes."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a run leaves to be written and told.

    Parameters
    ----------
    summary : its main figures, the content of summary.json.
    files : contents of the other files by name (`screwbond.models.studies.files`), or functions that give them.
    overview : the figures as lines, for reading.
    pictures : by the names of their files, in the order in which they are drawn.
    notes : what was put right, or is likely a mistake.
    failure : why the run ended early.
    """

    summary: Mapping[str, Any]
    files: Mapping[str, Any]
    overview: Sequence[str]
    pictures: Mapping[str, Picture] = field(default_factory=dict)
    notes: Sequence[str] = ()
    failure: Failure | None = None

    def told(self, out: Path) -> str:
        """The overview, and the folder `out` where the files are."""
        return "\n".join([*self.overview, f"  files in {out}"])


@dataclass(frozen=True)
class Task:
    """What a command can do.

    Parameters
    ----------
    help : a line.
    read : arguments -> the record of what is asked; raises what is wrong with it.
    run : that record and the arguments -> what the run leaves.
    files, pictures : every file that it can write besides summary.json, and every picture that it can draw.
    arguments : adds its own arguments to a parser or a group of one.
    fields : what its parameter file holds, by title: records with declared fields.
    """

    help: str
    read: Callable[[Namespace], Any]
    run: Callable[[Any, Namespace], Outcome]
    files: tuple[str, ...]
    pictures: tuple[str, ...] = ()
    arguments: Callable[[Any], None] = lambda group: None
    fields: Mapping[str, type | Mapping[str, Declared]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Every file that it can write."""
        return (*self.files, SUMMARY, *self.pictures)

    def save(
        self, outcome: Outcome, out: Path, *, render: bool = True, only: Collection[str] = (), progress: bool = True
    ) -> None:
        """Write all files of an outcome to the folder `out`, all or none; with `render` the pictures, too.

        Parameters
        ----------
        only : names of what is written besides the summary, with endings or without; E590 for an unknown one. All where it is
            empty. What else lies there from an earlier run is deleted, so that all files in a folder are of one run.
        progress : show a bar on a terminal where it takes longer than two seconds.

        What a picture needs and is not there one line on stderr says, and the rest is written.
        """
        wanted = chosen(self.names, only, out.name)
        files = {name: content for name, content in outcome.files.items() if name in wanted}
        pictures = {name: picture for name, picture in outcome.pictures.items() if render and name in wanted}

        def write(folder: Path) -> None:
            write_files({**files, SUMMARY: outcome.summary}, folder)
            missing = draw_pictures(pictures, folder, progress=progress)
            if missing:
                print(missing, file=sys.stderr)

        write_all(out, write, self.names)

    def __call__(self, options: Namespace) -> int:
        """Read, run, write and tell; 0 done, 1 the run ended early."""
        chosen(self.names, options.only, options.out.name)
        given = self.read(options)
        check_directory(options.out, self.names)
        outcome = self.run(given, options)
        self.save(outcome, options.out, render=not options.no_render, only=options.only)
        print("\n".join([outcome.told(options.out), *(f"note: {note}" for note in outcome.notes)]))
        if outcome.failure is not None:
            print(f"screwbond: {outcome.failure}", file=sys.stderr)
        return 0 if outcome.failure is None else 1
