"""Checkpoint store of a sweep: columns of runs in an SQLite file, or in memory, with one block of each column per chunk of runs.

| table | columns |
|---|---|
| `meta` | key, value, checksum: format, version, the header, and the state (counts of blocks and runs, shapes of kept columns) |
| `blocks` | name, block, data, checksum: the entries of a column in one chunk of runs |

The column `run` has the run numbers as 8-byte integers; `failure` has failures, warnings, and, if a GPU took part, the devices
that executed the runs, as JSON. Numbers are 8-byte floats, strings are JSON; a block is empty if no run so far returned a value,
because the shape is then unknown. A chunk is one transaction, whatever its number of runs.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from bondgraph.errors import FileError, Problem, refusal
from bondgraph.output.files import check_name, created_folders, printable_path
from bondgraph.run.batch.results import CPU
from bondgraph.sweeps.older_stores import OLDER_VERSIONS, Damage, older_chunks, older_header
from bondgraph.sweeps.points import FAILURE, RUN
from bondgraph.sweeps.tasks import Chunk, RunIssue
from screws.names.renamed import current_settings

FORMAT, VERSION = "screwbond-runs", 3
_WAIT = 60.0
"""Longest wait (s) for another process that is writing."""
_UNREADABLE = (sqlite3.Error, UnicodeDecodeError)
_WRITTEN = 'the path of a file that sweep(..., store="runs.db") has written'
_SETTING = 'setting "'
_LARGEST = 2**28
"""Size of a chunk's column, bytes, above which the chunk becomes several blocks; the limit of SQLite is 1e9 bytes."""
_LITTLE = {"i": "<i8", "f": "<f8"}


def _current(plan: Mapping[str, Any]) -> dict[str, Any]:
    settings = {key.removeprefix(_SETTING)[:-1]: value for key, value in plan.items() if key.startswith(_SETTING)}
    others = {key: value for key, value in plan.items() if not key.startswith(_SETTING)}
    return {**others, **{f'{_SETTING}{name}"': value for name, value in current_settings(settings).items()}}


class Store:
    """Store of runs.

    Parameters
    ----------
    path : path of the file; None for memory.
    write : False opens an existing file only for reading, in its state at the first access.

    Raises `FileError` E364 if the file cannot be opened, is not a store or is damaged; E552 if its disk is full; E553 if another
    process has locked it.
    """

    def __init__(self, path: Path | None, *, write: bool = True):
        self.path, self._write, self._lock = path, write, threading.RLock()
        if path is not None:
            with self._refusing(OSError):
                check_name(path)
        name = ":memory:" if path is None else f"{path.absolute().as_uri()}?mode={'rwc' if write else 'ro'}"
        with self._refusing(OSError), created_folders(path.absolute().parent) if path and write else contextlib.nullcontext():
            self._connection = sqlite3.connect(
                name, timeout=_WAIT, check_same_thread=False, uri=path is not None, isolation_level=None
            )
            if not write:
                self._connection.execute("BEGIN")
        weakref.finalize(self, self._connection.close)  # close readers, and stores in memory
        self._blocks, self._runs_of_others = 0, np.zeros(0, dtype=np.int64)
        self._names: Sequence[str] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return _store_of, ((None, self._connection.serialize()) if self.path is None else (self.path.absolute(), b""))

    def begin(self, header: Mapping[str, Any], shortened: Callable[[int], Mapping[str, Any]]) -> None:
        """Create the tables, or resume existing tables, whose plan may have fewer values along the first axis.

        Parameters
        ----------
        header : header of the plan.
        shortened : function that returns the header for the points up to a count along the first axis.

        Raises `ModelError` E363 for a store of another plan; `FileError` E364 for a file that is not a store of runs.
        """
        if self._tables() and not self.is_old():
            with self._transaction("DEFERRED"):
                self.verify()
        with self._refusing(), self._lock:
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")
        with self._transaction():
            if not self._tables():
                self._make(header)
            elif self.is_old():
                self._upgrade()
            stored = self.header()
            plan, count = stored["plan"], stored["axes"][0][1]
            if plan != header["plan"]:
                if not (count < header["axes"][0][1] and plan == shortened(count)["plan"]):
                    raise _of_another_plan(plan, header["plan"], header["model"], self.path)
                self._put("header", json.dumps({**stored, "axes": header["axes"], "plan": header["plan"]}))
            self._names = _names_of(stored)

    @contextlib.contextmanager
    def _transaction(self, kind: str = "IMMEDIATE") -> Iterator[None]:
        with self._refusing(), self._lock:
            self._connection.execute(f"BEGIN {kind}")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # SQLite may have ended the transaction
                    self._connection.execute("ROLLBACK")
                raise

    def _put(self, key: str, value: Any) -> None:
        row = (key, value, checksum(key, 0, str(value).encode()))
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?, ?)", row)

    def _tables(self) -> set[str]:
        return {name for (name,) in self._read("SELECT name FROM sqlite_master WHERE type='table'")}

    def _make(self, header: Mapping[str, Any], shapes: Mapping[str, Any] | None = None) -> None:
        self._connection.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value, checksum BLOB)")
        self._connection.execute("CREATE TABLE blocks (name TEXT, block INTEGER, data BLOB, checksum BLOB, UNIQUE (name, block))")
        state = {"blocks": 0, "runs": 0, "shapes": shapes or {}}
        content = {"format": FORMAT, "version": VERSION, "header": json.dumps(header), "state": json.dumps(state)}
        for key, value in content.items():
            self._put(key, value)

    def is_old(self) -> bool:
        meta = dict(self._read("SELECT key, value FROM meta")) if "meta" in self._tables() else {}
        return meta.get("format") == FORMAT and meta.get("version") in OLDER_VERSIONS

    def _upgrade(self) -> None:
        with self.reading_entries():
            header, shapes = older_header(self._connection)
            chunks = list(older_chunks(self._connection, header, shapes))
        for table in self._tables():
            self._connection.execute(f"DROP TABLE {table}")
        self._make(header, shapes)
        self._names = _names_of(header)
        for chunk in chunks:
            self._insert(chunk, {}, shapes)

    def upgraded(self) -> Store:
        copy = Store(None)
        copy.path, copy._write = self.path, False
        with self._refusing():
            self._connection.backup(copy._connection)
        with copy._transaction():
            copy._upgrade()
        return copy

    def header(self) -> dict[str, Any]:
        """Return the header of the store, with the current names of settings and the known shapes of kept columns; raise E364 if
        the file is not a store, or damaged."""
        tables = self._tables()
        meta = {key: (value, sums) for key, value, *sums in self._read("SELECT * FROM meta")} if "meta" in tables else {}
        if meta.get("format", ("",))[0] != FORMAT:
            raise self._no_store("the file contains other tables" if tables else "the file is empty")
        if meta.get("version", ("",))[0] != VERSION:
            raise self._no_store(f"it is of version {meta.get('version', ('none',))[0]}")
        for key, (value, sums) in meta.items():
            if [checksum(key, 0, str(value).encode())] != sums:
                raise self._damaged(f'the entry "{key}" of its table meta')
        try:
            header: dict[str, Any] = json.loads(meta["header"][0])
            header["plan"] = _current(header["plan"])
            shapes = json.loads(meta["state"][0])["shapes"]
            for column in header["columns"]:
                column["shape"] = shapes.get(column["name"], column["shape"])
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise self._no_store("its description is damaged") from error
        return header

    def verify(self) -> None:
        for name in (FAILURE, *_names_of(self.header())):
            for _ in self._data(name):
                continue
        self.runs()

    def _state(self) -> dict[str, Any]:
        with self.reading_entries():
            ((value, expected),) = self._read("SELECT value, checksum FROM meta WHERE key='state'")
            if checksum("state", 0, str(value).encode()) != expected:
                raise self._damaged('the entry "state" of its table meta')
            state: dict[str, Any] = json.loads(value)
            return state

    def count(self) -> int:
        return int(self._state()["runs"])

    def _data(self, name: str, first: int = 0, count: int | None = None) -> Iterator[bytes]:
        stop = self._state()["blocks"] if count is None else first + count
        for block in range(first, stop):
            rows = self._read("SELECT data, checksum FROM blocks WHERE name=? AND block=?", (name, block))
            if not rows or not isinstance(rows[0][0], bytes) or checksum(name, block, rows[0][0]) != rows[0][1]:
                raise self._damaged(f'block {block} of "{name}"')
            yield rows[0][0]

    def runs(self, first: int = 0) -> list[np.ndarray]:
        blocks = [np.frombuffer(data, "<i8").astype(np.int64) for data in self._data(RUN, first)]
        if not first:
            count = sum(map(len, blocks))
            if count and len(np.unique(np.concatenate(blocks))) != count:
                raise self._damaged("a run", "is stored twice")
            if count != self.count():
                raise self._damaged("the list of run numbers", f"has {count} numbers instead of {self.count()}")
        return blocks

    def column(self, column: Column, counts: Sequence[int], first: int = 0) -> np.ndarray:
        with self.reading_entries():
            data = self._data(column.name, first, len(counts))
            arrays = [column.array(each, count) for each, count in zip(data, counts, strict=True)]
            return np.concatenate(arrays or [column.array(b"[]" if column.text else b"", 0)])

    def issues(self) -> tuple[tuple[RunIssue, ...], tuple[RunIssue, ...]]:
        failures, doubts = list[RunIssue](), list[RunIssue]()
        with self.reading_entries():
            for data in self._data(FAILURE):
                for issues, entries in zip((failures, doubts), json.loads(data or b"[[], []]")[:2], strict=True):
                    issues.extend(RunIssue(*entry) for entry in entries)
        for issues in (failures, doubts):
            issues.sort(key=lambda issue: issue.run)
        return tuple(failures), tuple(doubts)

    def devices(self) -> np.ndarray:
        with self.reading_entries():
            blocks, names = self.runs(), list[str]()
            for data, block in zip(self._data(FAILURE), blocks, strict=True):
                (devices,) = json.loads(data or b"[]")[2:] or [[CPU] * len(block)]
                names += devices
            return np.array(names, dtype=str)[np.argsort(np.concatenate([self._runs_of_others[:0], *blocks]))]

    def done(self) -> np.ndarray:
        with self._transaction("DEFERRED"):
            blocks = self.runs()
        self._blocks = len(blocks)
        return np.sort(np.concatenate([self._runs_of_others[:0], *blocks]))

    def add(self, chunk: Chunk, points: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Store a chunk of runs, all or none; runs that another process has stored meanwhile do not change.

        Parameters
        ----------
        points : varied values of these runs, by name.
        shapes : known shapes of kept columns.
        """
        with self._transaction():
            others = [self._runs_of_others, *(self.runs(self._blocks) if self._state()["blocks"] > self._blocks else ())]
            of_others = np.concatenate(others) if len(others) > 1 else self._runs_of_others
            blocks = self._blocks + len(others) - 1
            new = np.flatnonzero(~np.isin(chunk.runs, of_others))
            largest = max(values.nbytes for values in (chunk.runs, *points.values(), *chunk.values.values()))
            for part in np.array_split(new, min(1 + largest // _LARGEST, len(new))) if len(new) else ():
                self._insert(chunk.part(part), {name: values[part] for name, values in points.items()}, shapes)
                blocks += 1
        self._blocks, self._runs_of_others = blocks, of_others

    def _insert(self, chunk: Chunk, points: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]]) -> None:
        state, columns = self._state(), dict.fromkeys(self._names, b"")
        nothing = {name: np.full((len(chunk.runs), *shape), np.nan) for name, shape in shapes.items()}
        columns |= {name: _encoded(values) for name, values in {**nothing, **points, **chunk.values, RUN: chunk.runs}.items()}
        notes = [[astuple(issue) for issue in each] for each in (chunk.failures, chunk.warnings)]
        notes += [] if chunk.devices is None else [chunk.devices.tolist()]
        columns[FAILURE] = json.dumps(notes).encode() if any(notes) else b""
        block = state["blocks"]
        rows = [(name, block, data, checksum(name, block, data)) for name, data in columns.items()]
        self._connection.executemany("INSERT INTO blocks VALUES (?, ?, ?, ?)", rows)
        counts = {"blocks": block + 1, "runs": state["runs"] + len(chunk.runs)}
        self._put("state", json.dumps({**counts, "shapes": {**state["shapes"], **shapes}}))

    def _read(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._refusing(), self._lock:
            return self._connection.execute(statement, values).fetchall()

    def close(self) -> None:
        """Merge SQLite's write-ahead log into the file, and close the file."""
        with self._lock:
            if self.path is not None and self._write:
                with contextlib.suppress(*_UNREADABLE):  # another process has the file open and will merge later
                    self._connection.execute("PRAGMA journal_mode=DELETE")
            self._connection.close()

    @contextlib.contextmanager
    def _refusing(self, *kinds: type[Exception]) -> Iterator[None]:
        caught: tuple[type[Exception], ...] = (*kinds, *_UNREADABLE)
        try:
            yield
        except Damage as damage:
            raise self._damaged(str(damage)) from damage
        except caught as error:
            accessible = ("the same file, when it is writable and unlocked and the disk has space",)
            cures = accessible if isinstance(error, sqlite3.OperationalError | OSError) else ()
            raise self._disk_or_lock_error(error) or self._no_store(str(error), *cures) from error

    def reading_entries(self) -> contextlib.AbstractContextManager[None]:
        return self._refusing(ValueError, TypeError, KeyError)

    def _disk_or_lock_error(self, error: Exception) -> FileError | None:
        word, file = getattr(error, "sqlite_errorname", ""), self._file
        if word == "SQLITE_FULL":
            cure = "free some space: the same call then continues with the stored runs"
            return FileError(Problem("E552", f"the disk of {file} is full", (str(error),), (), (cure,)))
        if word.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            why = f"the file was still locked after a wait of up to {_WAIT:g} s: {error}"
            cures = ("the same call after the other program has ended", "a store for each sweep")
            return FileError(Problem("E553", f"another program is writing to {file}", (why,), (), cures))
        return None

    @property
    def _file(self) -> str:
        return "memory" if self.path is None else printable_path(self.path)

    def _no_store(self, why: str, *cures: str) -> FileError:
        if self.path is not None and not self.path.absolute().parent.is_dir():
            why = f"there is no folder {printable_path(self.path.absolute().parent)}"
        elif self.path is not None and not self._write and not self.path.exists():
            why = "there is no such file"
        elif self.path is not None and self.path.is_dir():
            why = "it is a folder"
        if not self._write:
            return FileError(Problem("E364", f"{self._file} contains no readable runs", (why,), (), (_WRITTEN,)))
        return FileError(Problem("E364", f"{self._file} cannot store runs", (why,), (), ("another file", *cures)))

    def _damaged(self, what: str, why: str = "is missing or does not match its checksum") -> FileError:
        cures = ("an older copy of the file", "the same sweep into another file")
        return FileError(Problem("E364", f"{self._file} is damaged", (f"{what} {why}",), (), cures))


def _names_of(header: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(column["name"] for column in header["columns"])


def checksum(name: str, block: int, data: bytes) -> bytes:
    """Return the checksum of a block of a column.

    >>> checksum("q", 0, b"") != checksum("q", 1, b"")
    True
    """
    total = hashlib.blake2b(f"{name}\0{block}\0".encode("utf-8", "surrogatepass"), digest_size=8)
    total.update(data)
    return total.digest()


def _encoded(values: np.ndarray) -> bytes:
    if values.dtype.kind == "U":
        return json.dumps(values.tolist()).encode()
    return values.astype(_LITTLE[values.dtype.kind], copy=False).tobytes()


def path_of(path: object) -> Path:
    if isinstance(path, str | os.PathLike) and isinstance(os.fspath(path), str):
        return Path(path)
    cures = ('"runs.db"', "a pathlib.Path")
    raise FileError(Problem("E364", f"{path!r:.60} is not the path of a store", (f"it is {type(path).__name__}",), (), cures))


def _store_of(path: Path | None, content: bytes) -> Store:
    """Return a store that was pickled or copied: its file for reading, or its content in memory."""
    store = Store(path, write=False)
    if path is None:
        store._connection.execute("ROLLBACK")  # of the transaction of a reader
        store._connection.deserialize(content)
    return store


def _of_another_plan(stored: Mapping[str, Any], plan: Mapping[str, Any], about: str, path: Path | None) -> Exception:
    keys = [key for key in dict.fromkeys([*stored, *plan]) if stored.get(key) != plan.get(key)]
    differences = [
        f"{key}: {stored.get(key, 'not given')}, not {plan.get(key, 'left out')}"
        if all(isinstance(each.get(key, ""), int | float | str) and len(str(each.get(key))) < 60 for each in (stored, plan))
        else f"{key}: different"
        for key in keys
    ]
    cures = ("another file for this plan", "the original plan of this file, which then resumes")
    why = ["the file was created with", *differences]
    return refusal("E363", f"{printable_path(str(path))} contains runs of another plan", *cures, about=about, why=why)


@dataclass(frozen=True)
class Column:
    """Column of the store.

    Parameters
    ----------
    name : name of the column.
    what : "varied" or "kept".
    part : "parameter" or "start value" for a varied column, else "".
    unit, shape : unit and shape of each entry; shape None if no run has returned it yet.
    text : True if entries are strings.
    over_time : True if entries are time series over the samples.
    """

    name: str
    what: str
    part: str
    unit: str
    shape: tuple[int, ...] | None
    text: bool = False
    over_time: bool = False

    def array(self, data: bytes, count: int) -> np.ndarray:
        if self.text:
            return np.array(json.loads(data), dtype=str)
        shape = (count, *(self.shape or ()))
        return np.frombuffer(data, "<f8").astype(float).reshape(shape) if data else np.full(shape, np.nan)

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Column:
        return cls(**{**entry, "shape": None if entry["shape"] is None else tuple(entry["shape"])})

    @property
    def stored(self) -> dict[str, Any]:
        return asdict(self)


class RunColumns(Protocol):
    @property
    def axes(self) -> tuple[tuple[str, int], ...]: ...

    @property
    def columns(self) -> Mapping[str, Column]: ...

    @property
    def times(self) -> np.ndarray: ...

    def arrays(self, *names: str) -> Mapping[str, np.ndarray]: ...


Variables = dict[str, tuple[tuple[str, ...], np.ndarray, dict[str, str]]]
"""Variables by name, as for xarray: axes of an array, the array, and its attributes."""


def _free_axis_name(axis: str, runs: RunColumns) -> str:
    name, count = axis, 1
    while name in runs.columns:
        count += 1
        name = f"{axis} ({count})"
    return name


def over_axes(runs: RunColumns) -> tuple[Variables, Variables]:
    """Return kept columns, and varied columns with the sample times, over the axes of the sweep, with NaN, or "", where no run is
    stored.

    Crossed values lie along the axis of their name, time series along "t", components of "q" along "q 0", "q 1", ...; if a column
    has the name of such an axis, "t (2)" replaces "t".
    """
    axes, shape = [name for name, _ in runs.axes], tuple(count for _, count in runs.axes)
    read = runs.arrays()
    indices = np.unravel_index(read[RUN], shape)
    kept, along, time = Variables(), Variables(), _free_axis_name("t", runs)
    for name, column in runs.columns.items():
        values = read[name]
        inner = tuple(
            time if column.over_time and k == 0 else _free_axis_name(f"{name} {k}", runs) for k in range(values.ndim - 1)
        )
        dimensions = [axes.index(name)] if name in axes else range(len(axes))
        array = np.full((*(shape[k] for k in dimensions), *values.shape[1:]), "" if column.text else np.nan, values.dtype)
        array[tuple(indices[k] for k in dimensions)] = values
        units = {"units": column.unit} if column.unit else {}
        (kept if column.what == "kept" else along)[name] = ((*(axes[k] for k in dimensions), *inner), array, units)
    if RUN in axes:
        along[RUN] = ((RUN,), np.arange(shape[axes.index(RUN)]), {})
    if any(column.over_time for column in runs.columns.values()):
        along[time] = ((time,), runs.times, {"units": "s"})
    return kept, along
