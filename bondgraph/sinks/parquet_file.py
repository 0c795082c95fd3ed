"""Parquet sink: a file with a column for each component."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bondgraph.output.extras import require_package
from bondgraph.output.files import AtomicWrite, atomic_file
from bondgraph.run_arguments import KeptQuantity, Sink
from bondgraph.sinks.file_sinks import (
    METADATA_KEY,
    SampleBuffer,
    end_metadata,
    metadata_json,
    run_metadata,
    table_columns,
    table_rows,
    with_write_errors,
)


class ParquetSink(Sink):
    """Parquet file, for pandas, Polars, DuckDB and others: columns "t", "rotor.flow", "body.pose[0]".

    Each column has its "unit" in the metadata of its field; the file's key "screwbond" names the model, and "screwbond end" the
    reason why a run ended early or is in doubt. Raises E416, also an ImportError, if pyarrow is not installed.
    """

    def __init__(self, path: str | os.PathLike[str]):
        require_package("a Parquet file", "pyarrow")
        self._path = path
        self._file: AtomicWrite | None = None
        self._writer: Any = None

    @with_write_errors
    def begin(self, model: str, kept: Sequence[KeptQuantity]) -> None:
        """Write the names."""
        import pyarrow
        import pyarrow.parquet

        self._kept, self._file, self._rows = tuple(kept), AtomicWrite(atomic_file(self._path)), SampleBuffer(self._write)
        fields = [pyarrow.field(name, pyarrow.float64(), False, {"unit": unit}) for name, unit in table_columns(kept)]
        self._schema = pyarrow.schema(fields, {METADATA_KEY: metadata_json(run_metadata(model, kept))})
        self._writer = pyarrow.parquet.ParquetWriter(self._file.path, self._schema)

    @with_write_errors
    def take(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        """Write rows, buffered."""
        self._rows.take(t, values)

    def _write(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        import pyarrow

        columns = np.ascontiguousarray(table_rows(t, values, self._kept).T)
        self._writer.write_table(pyarrow.Table.from_arrays([pyarrow.array(column) for column in columns], schema=self._schema))

    @with_write_errors
    def end(self, wrong: str, valid: int) -> None:
        """Move the file to its place."""
        assert self._file is not None, "it has begun"
        self._rows.flush()
        if metadata := end_metadata(wrong, valid):
            self._writer.add_key_value_metadata({f"{METADATA_KEY} end": metadata_json(metadata)})
        self._writer.close()
        self._file.commit()

    def abandon(self) -> None:
        """Leave no file."""
        if self._file is not None:
            with contextlib.suppress(OSError):  # the file is deleted anyway
                if self._writer is not None:
                    self._writer.close()
            self._file.discard()
