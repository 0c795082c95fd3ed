"""CSV sink: a table with a column for each component, and lines of metadata that begin with "#"."""

from __future__ import annotations

import contextlib
import csv
import io
import os
from collections.abc import Mapping, Sequence
from typing import TextIO

import numpy as np

from bondgraph.output.files import AtomicWrite, atomic_file
from bondgraph.run_arguments import KeptQuantity, Sink
from bondgraph.sinks.file_sinks import end_metadata, metadata_json, run_metadata, table_columns, table_rows, with_write_errors


class CsvSink(Sink):
    """CSV file, for pandas: `read_csv(path, comment="#")`. Numbers are exact.

    The first line names the model and the units; the last one, if a run ended early or is in doubt, says why.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self._path = path
        self._file: AtomicWrite | None = None
        self._text: TextIO = io.StringIO()

    @with_write_errors
    def begin(self, model: str, kept: Sequence[KeptQuantity]) -> None:
        """Write the names."""
        self._kept, self._file = tuple(kept), AtomicWrite(atomic_file(self._path))
        self._text = self._file.path.open("w", encoding="utf-8", newline="")
        self._text.write(f"# {metadata_json(run_metadata(model, kept))}\n")
        names = [name for name, _ in table_columns(kept)]
        table = csv.writer(self._text, lineterminator="\n")
        if any("#" in name for name in names):  # "#" between quotes begins no comment
            table = csv.writer(self._text, lineterminator="\n", quoting=csv.QUOTE_ALL)
        table.writerow(names)

    @with_write_errors
    def take(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        """Write rows."""
        rows = table_rows(t, values, self._kept).tolist()
        self._text.writelines(",".join(map(repr, row)) + "\n" for row in rows)

    @with_write_errors
    def end(self, wrong: str, valid: int) -> None:
        """Move the file to its place."""
        assert self._file is not None, "it has begun"
        if metadata := end_metadata(wrong, valid):
            self._text.write(f"# {metadata_json(metadata)}\n")
        self._text.close()
        self._file.commit()

    def abandon(self) -> None:
        """Leave no file."""
        if self._file is not None:
            with contextlib.suppress(OSError):  # the file is deleted anyway
                self._text.close()
            self._file.discard()
