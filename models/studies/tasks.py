"""Tasks of commands: run a study from its arguments, write its files, print an overview, and return an exit status."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from screwbond.models.studies.artefacts import Picture, draw_pictures, select_names
from screwbond.models.studies.fields import Declared
from screwbond.models.studies.files import write_files

from bondgraph.output.files import check_directory, write_all
from bondgraph.run.results.failure import Failure

SUMMARY = "summary.json"
"""File that every task writes."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """Outcome of a run, to be written and printed.

    Parameters
    ----------
    summary : its main figures, the content of summary.json.
    files : contents of the other files by name (`screwbond.models.studies.files`), or functions that return them.
    overview : the main figures as lines.
    pictures : by file name, in the order of drawing.
    notes : corrections and likely mistakes.
    failure : reason of an early end.
    """

    summary: Mapping[str, Any]
    files: Mapping[str, Any]
    overview: Sequence[str]
    pictures: Mapping[str, Picture] = field(default_factory=dict)
    notes: Sequence[str] = ()
    failure: Failure | None = None

    def screen_text(self, out: Path) -> str:
        """Return the overview, and the folder `out` of the files."""
        return "\n".join([*self.overview, f"  files in {out}"])


@dataclass(frozen=True)
class Task:
    """Task of a command.

    Parameters
    ----------
    help : a line.
    read : arguments -> the request, a record; raises errors in it.
    run : request and arguments -> the outcome.
    files, pictures : every file that it can write besides summary.json, and every picture that it can draw.
    arguments : adds its own arguments to a parser or a group of one.
    fields : records with the declared fields of its parameter file, by title.
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
        """All files that it can write."""
        return (*self.files, SUMMARY, *self.pictures)

    def save(
        self, outcome: Outcome, out: Path, *, render: bool = True, only: Collection[str] = (), progress: bool = True
    ) -> None:
        """Write all files of an outcome to the folder `out`, all or none; with `render` the pictures, too.

        Parameters
        ----------
        only : names of the files written besides the summary, with suffixes or without, default all; E590 for an unknown one.
            Other files of an earlier run are deleted, so that all files in a folder are of one run.
        progress : show a bar on a terminal if it takes longer than two seconds.

        One line on stderr names missing requirements of pictures; all other files are written.
        """
        names = select_names(self.names, only, out.name)
        files = {name: content for name, content in outcome.files.items() if name in names}
        pictures = {name: picture for name, picture in outcome.pictures.items() if render and name in names}

        def write(folder: Path) -> None:
            write_files({**files, SUMMARY: outcome.summary}, folder)
            missing = draw_pictures(pictures, folder, progress=progress)
            if missing:
                print(missing, file=sys.stderr)

        write_all(out, write, self.names)

    def __call__(self, options: Namespace) -> int:
        """Read, run, write and print; return 0 done, 1 the run ended early."""
        select_names(self.names, options.only, options.out.name)
        request = self.read(options)
        check_directory(options.out, self.names)
        outcome = self.run(request, options)
        self.save(outcome, options.out, render=not options.no_render, only=options.only)
        print("\n".join([outcome.screen_text(options.out), *(f"note: {note}" for note in outcome.notes)]))
        if outcome.failure is not None:
            print(f"screwbond: {outcome.failure}", file=sys.stderr)
        return 0 if outcome.failure is None else 1
