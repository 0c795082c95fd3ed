"""Zarr sink: a folder of chunked arrays that xarray opens as a data set."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bondgraph.errors import Problem, RunError
from bondgraph.output.extras import require_package
from bondgraph.output.files import AtomicWrite
from bondgraph.output.folders import atomic_folder
from bondgraph.run_arguments import KeptQuantity, Sink
from bondgraph.sinks.file_sinks import BUFFER_SIZE, SampleBuffer, end_metadata, with_write_errors

MARKER_FILE = "zarr.json"
"""File that marks a folder of Zarr."""


class ZarrSink(Sink):
    """Folder of Zarr, version 3: `xarray.open_zarr("run.zarr", consolidated=False)["rotor.flow"]`, over "t".

    Each array has its "units" among its attributes; the folder has the "model" and, of a run that ended early or is in doubt,
    "not ok" and the count of "valid samples". Raises E416, also an ImportError, if zarr is not installed.
    """

    def __init__(self, path: str | os.PathLike[str]):
        require_package("a folder of Zarr", "zarr")
        self._path = path
        self._file: AtomicWrite | None = None

    @with_write_errors
    def begin(self, model: str, kept: Sequence[KeptQuantity]) -> None:
        """Create an array for each quantity; E348 for names that folders cannot have."""
        import zarr

        _check_names(kept)
        self._file, self._rows = AtomicWrite(atomic_folder(self._path, MARKER_FILE)), SampleBuffer(self._write)
        quantities = [KeptQuantity("t", "s", ()), *kept]
        row_size = sum(int(np.prod(one.shape, dtype=int)) for one in quantities)
        self._folder: Any = zarr.open_group(self._file.path, mode="w", zarr_format=3, attributes={"model": model})
        for quantity in quantities:
            self._folder.create_array(
                quantity.name,
                shape=(0, *quantity.shape),
                chunks=(max(1, BUFFER_SIZE // row_size), *quantity.shape),
                dtype="float64",
                fill_value=float("nan"),
                dimension_names=("t", *(f"{quantity.name} {k}" for k in range(len(quantity.shape)))),
                attributes={"units": quantity.unit},
            )

    @with_write_errors
    def take(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        """Write chunks, buffered."""
        self._rows.take(t, values)

    def _write(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        for name, array in {"t": t, **values}.items():
            self._folder[name].append(array)

    @with_write_errors
    def end(self, wrong: str, valid: int) -> None:
        """Move the folder to its place."""
        assert self._file is not None, "it has begun"
        self._rows.flush()
        self._folder.attrs.update(end_metadata(wrong, valid))
        self._file.commit()

    def abandon(self) -> None:
        """Leave no folder."""
        if self._file is not None:
            self._file.discard()


def _check_names(kept: Sequence[KeptQuantity]) -> None:
    by_folder: dict[str, str] = {"t": "t"}
    for name in (quantity.name for quantity in kept):
        same = by_folder.setdefault(name.casefold(), name)
        slash = {"/", "\\"} & set(name)
        if slash or same != name:
            why = f'"{name}" has a slash' if slash else f'some systems take "{name}" and "{same}" for one'
            cures = ("a file: .parquet, .npz or .csv", "another name in the graph")
            raise RunError(Problem("E348", "a folder of Zarr has a folder for each quantity", (why,), cures=cures))
