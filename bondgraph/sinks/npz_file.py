"""Samples as arrays of NumPy: quantities in; an archive of an array for each, and one of text that says what they are, out."""

from __future__ import annotations

import contextlib
import os
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import IO

import numpy as np

from bondgraph.output.files import Unfinished, whole_file
from bondgraph.run_arguments import KeptQuantity, Sink
from bondgraph.sinks.about import KEY, about, ending, told
from bondgraph.sinks.coded import coded


class NpzSink(Sink):
    """An archive: `np.load("run.npz")["rotor.flow"]` has the samples of a quantity (k, *shape), `["t"]` their times, and
    `json.loads(str(np.load("run.npz")["screwbond"]))` says of which model, in which units, and why a run is not ok.

    While the run goes on, the numbers lie in a file each, beside where the archive will be.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self._path = path
        self._file: Unfinished | None = None

    @coded
    def begin(self, model: str, kept: Sequence[KeptQuantity]) -> None:
        """Make a file for each quantity."""
        self._model, self._kept, self._count = model, tuple(kept), 0
        self._file, self._open = Unfinished(whole_file(self._path)), ExitStack()
        folder = self._file.part.parent
        self._shapes = {"t": (), **{one.name: one.shape for one in kept}}
        paths = {name: folder / f"{place}.numbers" for place, name in enumerate(self._shapes)}
        self._parts: dict[str, IO[bytes]] = {name: self._open.enter_context(path.open("w+b")) for name, path in paths.items()}

    @coded
    def take(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        """Write the numbers."""
        self._count += len(t)
        for name, part in self._parts.items():
            part.write(np.ascontiguousarray(t if name == "t" else values[name], dtype="<f8").tobytes())

    @coded
    def end(self, wrong: str, valid: int) -> None:
        """Gather them in the archive, and put it in its place."""
        assert self._file is not None, "it has begun"
        with self._open, zipfile.ZipFile(self._file.part, "w") as archive:
            for name, part in self._parts.items():
                header = {"descr": "<f8", "fortran_order": False, "shape": (self._count, *self._shapes[name])}
                part.seek(0)
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array_header_1_0(entry, header)
                    shutil.copyfileobj(part, entry)
            with archive.open(f"{KEY}.npy", "w") as entry:
                words = told({**about(self._model, self._kept), **ending(wrong, valid)})
                np.lib.format.write_array(entry, np.array(words), allow_pickle=False)
        self._file.finish()

    def abandon(self) -> None:
        """Leave no file."""
        if self._file is not None:
            with contextlib.suppress(OSError):  # what cannot be written is not wanted
                self._open.close()
            self._file.drop()
