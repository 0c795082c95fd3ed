"""Samples as chunked arrays: quantities in; a folder of Zarr that xarray opens as a data set out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bondgraph.errors import Problem, RunError
from bondgraph.output.extras import required
from bondgraph.output.files import Unfinished
from bondgraph.output.folders import whole_folder
from bondgraph.run_arguments import KeptQuantity, Sink
from bondgraph.sinks.about import ending
from bondgraph.sinks.coded import coded
from bondgraph.sinks.gathered import MOST, Gathered

MARK = "zarr.json"
"""The file by which a folder of Zarr is known."""


class ZarrSink(Sink):
    """A folder of Zarr, version 3: `xarray.open_zarr("run.zarr", consolidated=False)["rotor.flow"]`, over "t".

    Each array has its "units" among its attributes; the folder has the "model" and, of a run that ended early or is in doubt,
    "not ok" and the count of "valid samples". Raises E416, an ImportError too, where zarr is not installed.
    """

    def __init__(self, path: str | os.PathLike[str]):
        required("a folder of Zarr", "zarr")
        self._path = path
        self._file: Unfinished | None = None

    @coded
    def begin(self, model: str, kept: Sequence[KeptQuantity]) -> None:
        """Make an array for each quantity; E348 for names that folders cannot have."""
        import zarr

        _check(kept)
        self._file, self._rows = Unfinished(whole_folder(self._path, MARK)), Gathered(self._write)
        quantities = [KeptQuantity("t", "s", ()), *kept]
        together = sum(int(np.prod(one.shape, dtype=int)) for one in quantities)
        self._folder: Any = zarr.open_group(self._file.part, mode="w", zarr_format=3, attributes={"model": model})
        for one in quantities:
            self._folder.create_array(
                one.name,
                shape=(0, *one.shape),
                chunks=(max(1, MOST // together), *one.shape),
                dtype="float64",
                fill_value=float("nan"),
                dimension_names=("t", *(f"{one.name} {k}" for k in range(len(one.shape)))),
                attributes={"units": one.unit},
            )

    @coded
    def take(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        """Write chunks, many samples at once."""
        self._rows.take(t, values)

    def _write(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        for name, array in {"t": t, **values}.items():
            self._folder[name].append(array)

    @coded
    def end(self, wrong: str, valid: int) -> None:
        """Put the folder in its place."""
        assert self._file is not None, "it has begun"
        self._rows.flush()
        self._folder.attrs.update(ending(wrong, valid))
        self._file.finish()

    def abandon(self) -> None:
        """Leave no folder."""
        if self._file is not None:
            self._file.drop()


def _check(kept: Sequence[KeptQuantity]) -> None:
    known: dict[str, str] = {"t": "t"}
    for name in (one.name for one in kept):
        same = known.setdefault(name.casefold(), name)
        slash = {"/", "\\"} & set(name)
        if slash or same != name:
            why = f'"{name}" has a slash' if slash else f'some systems take "{name}" and "{same}" for one'
            cures = ("a file: .parquet, .npz or .csv", "another name in the graph")
            raise RunError(Problem("E348", "a folder of Zarr has a folder for each quantity", (why,), cures=cures))
