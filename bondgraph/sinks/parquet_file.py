"""Samples as columns of Arrow: quantities in; a Parquet file with a column for each component out."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bondgraph.output.extras import required
from bondgraph.output.files import Unfinished, whole_file
from bondgraph.run_arguments import KeptQuantity, Sink
from bondgraph.sinks.about import KEY, about, columns_of, ending, table_of, told
from bondgraph.sinks.coded import coded
from bondgraph.sinks.gathered import Gathered


class ParquetSink(Sink):
    """A Parquet file, for pandas, Polars, DuckDB and others: columns "t", "rotor.flow", "body.pose[0]".

    Each column has its "unit" in the metadata of its field; the key "screwbond" of the file says of which model, and "screwbond
    end", of a run that ended early or is in doubt, why. Raises E416, an ImportError too, where pyarrow is not installed.
    """

    def __init__(self, path: str | os.PathLike[str]):
        required("a Parquet file", "pyarrow")
        self._path = path
        self._file: Unfinished | None = None
        self._writer: Any = None

    @coded
    def begin(self, model: str, kept: Sequence[KeptQuantity]) -> None:
        """Write the names."""
        import pyarrow
        import pyarrow.parquet

        self._kept, self._file, self._rows = tuple(kept), Unfinished(whole_file(self._path)), Gathered(self._write)
        fields = [pyarrow.field(name, pyarrow.float64(), False, {"unit": unit}) for name, unit in columns_of(kept)]
        self._schema = pyarrow.schema(fields, {KEY: told(about(model, kept))})
        self._writer = pyarrow.parquet.ParquetWriter(self._file.part, self._schema)

    @coded
    def take(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        """Write rows, many at once."""
        self._rows.take(t, values)

    def _write(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        import pyarrow

        columns = np.ascontiguousarray(table_of(t, values, self._kept).T)
        self._writer.write_table(pyarrow.Table.from_arrays([pyarrow.array(column) for column in columns], schema=self._schema))

    @coded
    def end(self, wrong: str, valid: int) -> None:
        """Put the file in its place."""
        assert self._file is not None, "it has begun"
        self._rows.flush()
        if words := ending(wrong, valid):
            self._writer.add_key_value_metadata({f"{KEY} end": told(words)})
        self._writer.close()
        self._file.finish()

    def abandon(self) -> None:
        """Leave no file."""
        if self._file is not None:
            with contextlib.suppress(OSError):  # what cannot be written is not wanted
                if self._writer is not None:
                    self._writer.close()
            self._file.drop()
