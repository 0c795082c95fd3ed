"""Samples as text: quantities in; a table with a column for each component, and lines of metadata that begin with "#", out."""

from __future__ import annotations

import contextlib
import csv
import io
import os
from collections.abc import Mapping, Sequence
from typing import TextIO

import numpy as np

from bondgraph.output.files import Unfinished, whole_file
from bondgraph.run_arguments import KeptQuantity, Sink
from bondgraph.sinks.about import about, columns_of, ending, table_of, told
from bondgraph.sinks.coded import coded


class CsvSink(Sink):
    """A CSV file, for pandas: `read_csv(path, comment="#")`. Numbers are exact.

    The first line says of which model, in which units; the last one of a run that ended early, or is in doubt, says why.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self._path = path
        self._file: Unfinished | None = None
        self._text: TextIO = io.StringIO()

    @coded
    def begin(self, model: str, kept: Sequence[KeptQuantity]) -> None:
        """Write the names."""
        self._kept, self._file = tuple(kept), Unfinished(whole_file(self._path))
        self._text = self._file.part.open("w", encoding="utf-8", newline="")
        self._text.write(f"# {told(about(model, kept))}\n")
        names = [name for name, _ in columns_of(kept)]
        table = csv.writer(self._text, lineterminator="\n")
        if any("#" in name for name in names):  # which begins no comment between quotes
            table = csv.writer(self._text, lineterminator="\n", quoting=csv.QUOTE_ALL)
        table.writerow(names)

    @coded
    def take(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        """Write rows."""
        rows = table_of(t, values, self._kept).tolist()
        self._text.writelines(",".join(map(repr, row)) + "\n" for row in rows)

    @coded
    def end(self, wrong: str, valid: int) -> None:
        """Put the file in its place."""
        assert self._file is not None, "it has begun"
        if words := ending(wrong, valid):
            self._text.write(f"# {told(words)}\n")
        self._text.close()
        self._file.finish()

    def abandon(self) -> None:
        """Leave no file."""
        if self._file is not None:
            with contextlib.suppress(OSError):  # what cannot be written is not wanted
                self._text.close()
            self._file.drop()
