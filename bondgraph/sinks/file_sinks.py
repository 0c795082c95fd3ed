"""File sinks: CSV, NPZ, Parquet and Zarr, selected by file extension, with metadata, buffers and write errors."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import os
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, TextIO

import numpy as np

from bondgraph.errors import FileError, Problem, RunError, caller_place
from bondgraph.output.extras import require_package
from bondgraph.output.files import AtomicWrite, atomic_file, atomic_folder, known_ending, system_reason, write_error
from bondgraph.output.tables import labels_of
from bondgraph.run_arguments import KeptQuantity, Sink
from bondgraph.units import entry_units
from screws.calls import signature_mismatch

METADATA_KEY = "screwbond"


def run_metadata(model: str, kept: Sequence[KeptQuantity]) -> dict[str, Any]:
    return {"model": model, "units": {"t": "s", **{quantity.name: quantity.unit for quantity in kept}}}


def metadata_json(metadata: Mapping[str, Any]) -> str:
    return json.dumps(metadata, ensure_ascii=False)


def table_columns(kept: Sequence[KeptQuantity]) -> list[tuple[str, str]]:
    columns = [("t", "s")]
    for quantity in kept:
        units = entry_units(quantity.unit, quantity.shape)
        of_entries = [""] * math.prod(quantity.shape) if units is None else units.flat
        columns += zip(labels_of(quantity.name, quantity.shape), of_entries, strict=True)
    return columns


def table_rows(t: np.ndarray, values: Mapping[str, np.ndarray], kept: Sequence[KeptQuantity]) -> np.ndarray:
    return np.hstack([t[:, None], *(values[quantity.name].reshape(len(t), -1) for quantity in kept)])


BUFFER_SIZE = 2**18
"""Number of values at which a buffer is written: 2 MB."""


class SampleBuffer:
    def __init__(self, write: Callable[[np.ndarray, dict[str, np.ndarray]], object]):
        self._write = write
        self._chunks: list[tuple[np.ndarray, Mapping[str, np.ndarray]]] = []
        self._numbers = 0

    def take(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        self._chunks.append((t, values))
        self._numbers += t.size + sum(array.size for array in values.values())
        if self._numbers >= BUFFER_SIZE:
            self.flush()

    def flush(self) -> None:
        if self._chunks:
            times, values = zip(*self._chunks, strict=True)
            self._chunks, self._numbers = [], 0
            self._write(np.concatenate(times), {name: np.concatenate([each[name] for each in values]) for name in values[0]})


class _FileSink(Sink):
    """Sink that creates the file or folder at a path when the run has ended; methods raise `FileError` E414 if the system cannot
    write."""

    def __init__(self, path: str | os.PathLike[str]):
        self._path = path
        self._file: AtomicWrite | None = None
        self._kept: tuple[KeptQuantity, ...] = ()

    @contextlib.contextmanager
    def _write_errors(self) -> Iterator[None]:
        try:
            yield
        except FileError:
            raise
        except OSError as error:
            raise write_error(Path(self._path), system_reason(error)) from error

    def begin(self, model: str, kept: Sequence[KeptQuantity]) -> None:
        self._kept = tuple(kept)
        with self._write_errors():
            self._begin(model)

    def take(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        with self._write_errors():
            self._take(t, values)

    def end(self, wrong: str, valid: int) -> None:
        assert self._file is not None, "`begin` comes first"
        with self._write_errors():
            self._finish(self._file.path, {"not ok": wrong, "valid samples": valid} if wrong else {})
            self._file.commit()

    def abandon(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):  # the file is deleted anyway
                self._close()
            self._file.discard()

    def _begin(self, model: str) -> None:
        raise NotImplementedError

    def _take(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        raise NotImplementedError

    def _finish(self, path: Path, metadata: dict[str, Any]) -> None:
        raise NotImplementedError

    def _close(self) -> None: ...


class CsvSink(_FileSink):
    """CSV file, for pandas: `read_csv(path, comment="#")`. Numbers are exact.

    The first line names the model and the units; if a run ended early or cannot be trusted, the last line gives the reason.
    """

    def __init__(self, path: str | os.PathLike[str]):
        super().__init__(path)
        self._text: TextIO = io.StringIO()

    def _begin(self, model: str) -> None:
        self._file = AtomicWrite(atomic_file(self._path))
        self._text = self._file.path.open("w", encoding="utf-8", newline="")
        self._text.write(f"# {metadata_json(run_metadata(model, self._kept))}\n")
        names = [name for name, _ in table_columns(self._kept)]
        table = csv.writer(self._text, lineterminator="\n")
        if any("#" in name for name in names):  # a "#" between quotes does not begin a comment
            table = csv.writer(self._text, lineterminator="\n", quoting=csv.QUOTE_ALL)
        table.writerow(names)

    def _take(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        rows = table_rows(t, values, self._kept).tolist()
        self._text.writelines(",".join(map(repr, row)) + "\n" for row in rows)

    def _finish(self, path: Path, metadata: dict[str, Any]) -> None:
        if metadata:
            self._text.write(f"# {metadata_json(metadata)}\n")
        self._text.close()

    def _close(self) -> None:
        self._text.close()


class NpzSink(_FileSink):
    """NumPy archive: `np.load("run.npz")["rotor.flow"]` has the samples of a quantity (k, *shape), `["t"]` their times, and
    `json.loads(str(np.load("run.npz")["screwbond"]))` the model, the units, and the reason why a run is not ok.

    During the run, each quantity is written to its own temporary file.
    """

    def _begin(self, model: str) -> None:
        self._model, self._count = model, 0
        self._file, self._open = AtomicWrite(atomic_file(self._path)), ExitStack()
        folder = self._file.path.parent
        self._shapes = {"t": (), **{quantity.name: quantity.shape for quantity in self._kept}}
        paths = {name: folder / f"{number}.numbers" for number, name in enumerate(self._shapes)}
        self._parts: dict[str, IO[bytes]] = {name: self._open.enter_context(path.open("w+b")) for name, path in paths.items()}

    def _take(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        self._count += len(t)
        for name, part in self._parts.items():
            part.write(np.ascontiguousarray(t if name == "t" else values[name], dtype="<f8").tobytes())

    def _finish(self, path: Path, metadata: dict[str, Any]) -> None:
        with self._open, zipfile.ZipFile(path, "w") as archive:
            for name, part in self._parts.items():
                header = {"descr": "<f8", "fortran_order": False, "shape": (self._count, *self._shapes[name])}
                part.seek(0)
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array_header_1_0(entry, header)
                    shutil.copyfileobj(part, entry)
            with archive.open(f"{METADATA_KEY}.npy", "w") as entry:
                text = metadata_json({**run_metadata(self._model, self._kept), **metadata})
                np.lib.format.write_array(entry, np.array(text), allow_pickle=False)

    def _close(self) -> None:
        self._open.close()


class ParquetSink(_FileSink):
    """Parquet file, for pandas, Polars, DuckDB and others: columns "t", "rotor.flow", "body.pose[0]".

    Each column has its "unit" in the metadata of its field; the file's key "screwbond" names the model, and "screwbond end" the
    reason why a run ended early or cannot be trusted. Raises E416, also an ImportError, if pyarrow is not installed.
    """

    def __init__(self, path: str | os.PathLike[str]):
        require_package("a Parquet file", "pyarrow")
        super().__init__(path)
        self._writer: Any = None

    def _begin(self, model: str) -> None:
        import pyarrow
        import pyarrow.parquet

        self._file, self._rows = AtomicWrite(atomic_file(self._path)), SampleBuffer(self._write)
        fields = [pyarrow.field(name, pyarrow.float64(), False, {"unit": unit}) for name, unit in table_columns(self._kept)]
        self._schema = pyarrow.schema(fields, {METADATA_KEY: metadata_json(run_metadata(model, self._kept))})
        self._writer = pyarrow.parquet.ParquetWriter(self._file.path, self._schema)

    def _take(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        self._rows.take(t, values)

    def _write(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        import pyarrow

        columns = np.ascontiguousarray(table_rows(t, values, self._kept).T)
        self._writer.write_table(pyarrow.Table.from_arrays([pyarrow.array(column) for column in columns], schema=self._schema))

    def _finish(self, path: Path, metadata: dict[str, Any]) -> None:
        self._rows.flush()
        if metadata:
            self._writer.add_key_value_metadata({f"{METADATA_KEY} end": metadata_json(metadata)})
        self._writer.close()

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()


MARKER_FILE = "zarr.json"


class ZarrSink(_FileSink):
    """Zarr folder, version 3: `xarray.open_zarr("run.zarr", consolidated=False)["rotor.flow"]`, over "t".

    Each array has its "units" among its attributes; the folder has the "model" and, for a run that ended early or cannot be
    trusted, "not ok" and the count of "valid samples". Raises E416, also an ImportError, if zarr is not installed; `begin` raises
    `RunError` E348 for names with a slash, or names that differ only in case.
    """

    def __init__(self, path: str | os.PathLike[str]):
        require_package("a Zarr folder", "zarr")
        super().__init__(path)

    def _begin(self, model: str) -> None:
        import zarr

        _check_names(self._kept)
        self._file, self._rows = AtomicWrite(atomic_folder(self._path, MARKER_FILE)), SampleBuffer(self._write)
        quantities = [KeptQuantity("t", "s", ()), *self._kept]
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

    def _take(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        self._rows.take(t, values)

    def _write(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        for name, array in {"t": t, **values}.items():
            self._folder[name].append(array)

    def _finish(self, path: Path, metadata: dict[str, Any]) -> None:
        self._rows.flush()
        self._folder.attrs.update(metadata)


def _check_names(kept: Sequence[KeptQuantity]) -> None:
    by_folder: dict[str, str] = {"t": "t"}
    for name in (quantity.name for quantity in kept):
        same = by_folder.setdefault(name.casefold(), name)
        slash = {"/", "\\"} & set(name)
        if slash or same != name:
            why = f'"{name}" has a slash' if slash else f'on some systems "{name}" and "{same}" are the same folder'
            cures = ("a file: .parquet, .npz or .csv", "another name in the graph")
            raise RunError(Problem("E348", "Zarr stores each quantity in a folder", (why,), cures=cures))


SINKS: Mapping[str, Callable[[str | os.PathLike[str]], Sink]] = {
    ".csv": CsvSink,
    ".npz": NpzSink,
    ".parquet": ParquetSink,
    ".zarr": ZarrSink,
}


class Observer(Sink):
    def __init__(self, function: Callable[[np.ndarray, Mapping[str, np.ndarray]], object]):
        self._function = function

    def begin(self, model: str, kept: Sequence[KeptQuantity]) -> None: ...

    def take(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        self._function(t, values)

    def end(self, wrong: str, valid: int) -> None: ...

    def abandon(self) -> None: ...


def sink_for(target: object) -> Sink:
    """Return the sink for a target: the target itself, a sink chosen by the extension of a path, or an observer for a function.

    Raises `RunError` E348 for anything else, such as a function of other arguments; `FileError` E415 for an unknown extension;
    `ExtraError` E416 if the package that writes the format is not installed.
    """
    if isinstance(target, str | os.PathLike):
        return SINKS[known_ending(target, *SINKS)](target)
    if isinstance(target, Sink):
        return target
    if callable(target):
        if why := signature_mismatch(target, np.empty(0), {}):
            details = (f"it is called with times and values by name: {why}",)
            raise RunError(
                Problem("E348", "the function cannot be a sink", details, (caller_place(),), ("lambda t, values: ...",))
            )
        return Observer(target)
    cures = (f'a path, "run.parquet"; extensions: {", ".join(SINKS)}', "a function of times and {name: values}", "your `Sink`")
    raise RunError(Problem("E348", f"{type(target).__name__} is not a sink", ("samples cannot be written there",), cures=cures))
