"""NPZ sink: a NumPy archive with an array for each quantity, and one with the metadata."""

from __future__ import annotations

import contextlib
import os
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import IO

import numpy as np

from bondgraph.output.files import AtomicWrite, atomic_file
from bondgraph.run_arguments import KeptQuantity, Sink
from bondgraph.sinks.file_sinks import METADATA_KEY, end_metadata, metadata_json, run_metadata, with_write_errors


class NpzSink(Sink):
    """NumPy archive: `np.load("run.npz")["rotor.flow"]` has the samples of a quantity (k, *shape), `["t"]` their times, and
    `json.loads(str(np.load("run.npz")["screwbond"]))` the model, the units, and the reason why a run is not ok.

    During the run, each quantity is written to a file of its own, beside the future archive.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self._path = path
        self._file: AtomicWrite | None = None

    @with_write_errors
    def begin(self, model: str, kept: Sequence[KeptQuantity]) -> None:
        """Create a file for each quantity."""
        self._model, self._kept, self._count = model, tuple(kept), 0
        self._file, self._open = AtomicWrite(atomic_file(self._path)), ExitStack()
        folder = self._file.path.parent
        self._shapes = {"t": (), **{quantity.name: quantity.shape for quantity in kept}}
        paths = {name: folder / f"{number}.numbers" for number, name in enumerate(self._shapes)}
        self._parts: dict[str, IO[bytes]] = {name: self._open.enter_context(path.open("w+b")) for name, path in paths.items()}

    @with_write_errors
    def take(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        """Write the numbers."""
        self._count += len(t)
        for name, part in self._parts.items():
            part.write(np.ascontiguousarray(t if name == "t" else values[name], dtype="<f8").tobytes())

    @with_write_errors
    def end(self, wrong: str, valid: int) -> None:
        """Collect the numbers in the archive, and move it to its place."""
        assert self._file is not None, "it has begun"
        with self._open, zipfile.ZipFile(self._file.path, "w") as archive:
            for name, part in self._parts.items():
                header = {"descr": "<f8", "fortran_order": False, "shape": (self._count, *self._shapes[name])}
                part.seek(0)
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array_header_1_0(entry, header)
                    shutil.copyfileobj(part, entry)
            with archive.open(f"{METADATA_KEY}.npy", "w") as entry:
                metadata = metadata_json({**run_metadata(self._model, self._kept), **end_metadata(wrong, valid)})
                np.lib.format.write_array(entry, np.array(metadata), allow_pickle=False)
        self._file.commit()

    def abandon(self) -> None:
        """Leave no file."""
        if self._file is not None:
            with contextlib.suppress(OSError):  # the file is deleted anyway
                self._open.close()
            self._file.discard()
