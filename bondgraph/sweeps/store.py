"""Checkpoint store of a sweep: rows of runs in an SQLite file, or in memory, and their columns as arrays.

| table | columns |
|---|---|
| `meta` | key, value, checksum: format, version, the header as JSON, and `shapes` of kept columns |
| `runs` | run, varied and kept columns: numbers as 8-byte floats, arrays as bytes of such floats, automata as words |
| `failures` | run, kind, reason, time, suspect |
| `doubts` | run, kind, reason, time, suspect |
| `devices` | run, name of the card that made it; others are of the CPU |
| `checksums` | run, checksum of all that the other tables have of this run |

Stores of version 1 have no checksums; they are read and resumed as they are.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import sqlite3
import struct
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from bondgraph.errors import FileError, Problem, refusal
from bondgraph.output.files import check_name, printable_path
from bondgraph.run.batch.results import CPU
from bondgraph.sweeps.points import RUN
from bondgraph.sweeps.tasks import Row, RunIssue
from screws.renamed import current_settings

FORMAT, VERSION = "screwbond-runs", 2
_WITHOUT_CHECKSUMS = 1
"""Version of stores without checksums."""
_WAIT = 60.0
"""Longest wait (s) for another process that writes."""
_UNREADABLE = (sqlite3.Error, UnicodeDecodeError)
"""Errors of SQLite; damaged texts are not in UTF-8."""
_WRITTEN = 'the path of a file that sweep(..., store="runs.db") has written'
_SETTING = 'setting "'
"""Beginning of the keys of settings in a plan."""
_FAULT_TABLES = ("failures", "doubts")
_FAULTS = "(run INTEGER, kind TEXT, reason TEXT, time REAL, suspect TEXT)"


def _current(plan: Mapping[str, Any]) -> dict[str, Any]:
    """A plan with the names and values of settings of today."""
    settings = {key.removeprefix(_SETTING)[:-1]: value for key, value in plan.items() if key.startswith(_SETTING)}
    others = {key: value for key, value in plan.items() if not key.startswith(_SETTING)}
    return {**others, **{f'{_SETTING}{name}"': value for name, value in current_settings(settings).items()}}


class Store:
    """Store of rows of runs.

    Parameters
    ----------
    path : of the file; None for memory.
    write : False opens an existing file for reading only.

    Raises `FileError` E364 where the file cannot be opened.
    """

    def __init__(self, path: Path | None, *, write: bool = True):
        self.path, self._write, self._lock = path, write, threading.Lock()
        if path is not None:
            with self._refusing(OSError):
                check_name(path)
        name = ":memory:" if path is None else f"{path.absolute().as_uri()}?mode={'rwc' if write else 'ro'}"
        with self._refusing():
            self._connection = sqlite3.connect(name, timeout=_WAIT, check_same_thread=False, uri=path is not None)
        weakref.finalize(self, self._connection.close)  # closes readers and stores in memory

    def begin(self, header: Mapping[str, Any], shortened: Callable[[int], Mapping[str, Any]]) -> None:
        """Create the tables, or resume existing ones, whose plan may have fewer values along its first axis.

        Parameters
        ----------
        header : of the plan. shortened : the header of its points up to a count along the first axis.

        Raises `ModelError` E363 for a store of another plan; `FileError` E364 for a file that is no store of runs.
        """
        if self._tables():
            stored = self.header()["plan"]
            self.verify()
            count = stored["axes"][0][1]
            if count < header["axes"][0][1] and stored == shortened(count)["plan"]:
                self._lengthen(stored, header)
                stored = self.header()["plan"]
            if stored != header["plan"]:
                raise _of_another_plan(stored, header["plan"], header["model"], self.path)
        with self._refusing(), self._lock:
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")
            with self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                if not self._connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                    self._make(header)
        self._columns = {column["name"]: column["column"] for column in self.header()["columns"]}

    def _lengthen(self, plan: Mapping[str, Any], header: Mapping[str, Any]) -> None:
        """Replace the plan by a longer one, whose first runs the store has, unless another process has changed the plan."""
        with self._refusing(), self._lock, self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            (text,) = self._connection.execute("SELECT value FROM meta WHERE key='header'").fetchone()
            stored = json.loads(text)
            if _current(stored["plan"]) == plan:
                longer = {**stored, "axes": header["axes"], "plan": header["plan"]}
                self._update("header", json.dumps(longer))

    def _update(self, key: str, value: str) -> None:
        """Replace a value of the table `meta`, with its checksum where the store has checksums."""
        self._connection.execute("UPDATE meta SET value=? WHERE key=?", (value, key))
        if self._has_checksums():
            self._connection.execute("UPDATE meta SET checksum=? WHERE key=?", (checksum((key, value)), key))

    def _has_checksums(self) -> bool:
        return self.path is not None and "checksums" in self._names_of_tables()

    def _names_of_tables(self) -> set[str]:
        return {name for (name,) in self._connection.execute("SELECT name FROM sqlite_master")}

    def _tables(self) -> set[str]:
        with self._refusing(), self._lock:
            return self._names_of_tables()

    def _make(self, header: Mapping[str, Any]) -> None:
        """Create the tables."""
        columns = [
            f"{quoted(c['column'])} {'TEXT' if c['text'] else 'BLOB' if c['shape'] != [] else 'REAL'}" for c in header["columns"]
        ]
        self._connection.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value, checksum BLOB)")
        self._connection.execute(f"CREATE TABLE runs (run INTEGER PRIMARY KEY, {', '.join(columns)})")
        for table in _FAULT_TABLES:
            self._connection.execute(f"CREATE TABLE {table} {_FAULTS}")
        self._connection.execute("CREATE TABLE checksums (run INTEGER PRIMARY KEY, checksum BLOB)")
        content = {"format": FORMAT, "version": VERSION, "header": json.dumps(header), "shapes": "{}"}
        self._connection.executemany("INSERT INTO meta VALUES (?, ?, ?)", ((*item, checksum(item)) for item in content.items()))

    def header(self) -> dict[str, Any]:
        """Return the header that the store was created with, and the shapes of kept columns; E364 for no store."""
        tables = self._tables()
        meta = dict(self.read("SELECT key, value FROM meta")) if "meta" in tables else {}
        if meta.get("format") != FORMAT or meta.get("version") not in (VERSION, _WITHOUT_CHECKSUMS):
            why = f"it is of version {meta.get('version')}" if meta.get("format") == FORMAT else "other tables are in it"
            raise self._no_store(why)
        if (meta["version"] == VERSION) != ("checksums" in tables):
            raise self._damaged("the version")
        if meta["version"] == VERSION and self.path is not None:
            for key, value, expected in self.read("SELECT key, value, checksum FROM meta"):
                if checksum((key, value)) != expected:
                    raise self._damaged(f'the entry "{key}" of its table meta')
        try:
            header: dict[str, Any] = json.loads(meta["header"])
            header["plan"] = _current(header["plan"])
            shapes = json.loads(meta["shapes"])
            for column in header["columns"]:
                column["shape"] = shapes.get(column["name"], column["shape"])
            columns = {column["column"] for column in header["columns"]}
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise self._no_store("what it says of itself is damaged") from error
        # SQLite reads a quoted name of no column as a string
        if missing := columns - {name for (name,) in self.read("SELECT name FROM pragma_table_info('runs')")}:
            raise self._no_store(f"its table of runs has no column {', '.join(sorted(missing))}")
        return header

    def verify(self) -> None:
        """Raise E364 if a stored run differs from its checksum, or is missing; a store in memory or without checksums passes."""
        if not self._has_checksums():
            return
        columns = "".join(f", {quoted(column['column'])}" for column in self.header()["columns"])
        joined = f"SELECT checksum, run{columns} FROM runs LEFT JOIN checksums USING (run)"
        with self._refusing(), self._one_state():
            issues: dict[int, list[tuple[Any, ...]]] = {}
            for table in _FAULT_TABLES:
                for run, *entries in self.read(f"SELECT run, kind, reason, time, suspect FROM {table} ORDER BY rowid"):
                    issues.setdefault(run, []).append((table, *entries))
            for expected, run, *entries in self.read(joined):
                if checksum([run, *entries, *itertools.chain(*issues.pop(run, ()))]) != expected:
                    raise self._damaged(f"run {run}")
            self.count()
        if issues:
            raise self._damaged(f"the failure or doubt of run {next(iter(issues))}")

    def count(self) -> int:
        """Return the number of stored runs; E364 if it is not that of the checksums."""
        if not self._has_checksums():
            return next(count for (count,) in self.read("SELECT COUNT(*) FROM runs"))
        ((runs, sums),) = self.read("SELECT (SELECT COUNT(*) FROM runs), (SELECT COUNT(*) FROM checksums)")
        if runs != sums:
            raise self._damaged("the number of runs")
        return int(runs)

    @contextlib.contextmanager
    def _one_state(self) -> Iterator[None]:
        """Read one state of the file, also while another process writes to it."""
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.execute("ROLLBACK")

    def done(self) -> np.ndarray:
        """Return the numbers of the stored runs, ascending."""
        return np.array([run for (run,) in self.read("SELECT run FROM runs ORDER BY run")], dtype=int)

    def add(
        self, rows: Sequence[Row], points: Mapping[str, np.ndarray], kept: Sequence[str], shapes: Mapping[str, tuple[int, ...]]
    ) -> None:
        """Store rows, all or none; a stored run stays unchanged.

        Parameters
        ----------
        points : varied values of these rows, by name.
        kept : names of the rows' values. shapes : known shapes of these.
        """
        varied = [values.tolist() if values.ndim == 1 else [_bytes(value) for value in values] for values in points.values()]
        nothing = (None,) * len(kept)
        stored = [
            (row.run, *(of[k] for of in varied), *(nothing if row.values is None else map(_stored, row.values)))
            for k, row in enumerate(rows)
        ]
        columns = ", ".join(["run", *(quoted(self._columns[name]) for name in (*points, *kept))])
        into = f"INSERT INTO runs ({columns}) VALUES ({', '.join('?' * (1 + len(varied) + len(kept)))})"
        with self._refusing(), self._lock, self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            done = {run for row in rows for (run,) in self._connection.execute("SELECT run FROM runs WHERE run=?", (row.run,))}
            self._connection.executemany(into, [row for row in stored if row[0] not in done])
            new = [row for row in rows if row.run not in done]
            _put(self._connection, "failures", (row.failure for row in new if row.failure is not None))
            _put(self._connection, "doubts", (doubt for row in new for doubt in row.warnings))
            if cards := [(row.run, row.device) for row in new if row.device != CPU]:
                self._connection.execute("CREATE TABLE IF NOT EXISTS devices (run INTEGER PRIMARY KEY, device TEXT)")
                self._connection.executemany("INSERT INTO devices VALUES (?, ?)", cards)
            self._update("shapes", json.dumps(shapes))
            if self._has_checksums():
                names = [*points, *kept]
                order = [1 + names.index(name) for name in self._columns]
                sums = [
                    (row.run, checksum([row.run, *(entries[k] for k in order), *_entries_of_faults(row)]))
                    for row, entries in zip(rows, stored, strict=True)
                    if row.run not in done
                ]
                self._connection.executemany("INSERT INTO checksums VALUES (?, ?)", sums)

    def devices(self) -> dict[int, str]:
        """Return the cards that made runs, by the number of the run; runs of the CPU are left out."""
        return dict(self.read("SELECT run, device FROM devices")) if "devices" in self._tables() else {}  # type: ignore[arg-type]

    def read(self, statement: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield rows of a query, read a thousand at a time."""
        with self._refusing():
            cursor = self._connection.execute(statement, values)
            while True:
                with self._lock:
                    rows = cursor.fetchmany(1000)
                if not rows:
                    return
                yield from rows

    def close(self) -> None:
        """Merge SQLite's write-ahead log into the file, and close it."""
        with self._lock:
            if self.path is not None and self._write:
                with contextlib.suppress(*_UNREADABLE):  # another process has the file open, and merges later
                    self._connection.execute("PRAGMA journal_mode=DELETE")
            self._connection.close()

    @contextlib.contextmanager
    def _refusing(self, *kinds: type[Exception]) -> Iterator[None]:
        """Raise E364 for errors of these kinds, and for those of an unreadable database."""
        caught: tuple[type[Exception], ...] = (*kinds, *_UNREADABLE)
        try:
            yield
        except caught as error:
            raise self._no_store(str(error)) from error

    def reading_entries(self) -> contextlib.AbstractContextManager[None]:
        """Return a context that raises E364 for entries that do not fit their column."""
        return self._refusing(ValueError, TypeError)

    def _no_store(self, why: str) -> FileError:
        if self.path is not None and not self.path.absolute().parent.is_dir():
            why = f"there is no folder {printable_path(self.path.absolute().parent)}"
        elif self.path is not None and not self._write and not self.path.exists():
            why = "there is no such file"
        file = "memory" if self.path is None else printable_path(self.path)
        if not self._write:
            return FileError(Problem("E364", f"{file} holds no runs that can be read", (why,), (), (_WRITTEN,)))
        cures = ("another file", "the same file, once it can be written, there is room for it, and no other program holds it")
        return FileError(Problem("E364", f"{file} cannot hold runs", (why,), (), cures))

    def _damaged(self, what: str) -> FileError:
        """Return E364 for a part of the store that differs from its checksum."""
        why, cures = f"{what} differs from its checksum", ("an older copy of the file", "the same sweep into another file")
        file = "memory" if self.path is None else printable_path(self.path)
        return FileError(Problem("E364", f"{file} is damaged", (why,), (), cures))


def _put(connection: sqlite3.Connection, table: str, faults: Iterable[RunIssue]) -> None:
    connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?)", map(astuple, faults))


def _entries_of_faults(row: Row) -> Iterator[Any]:
    """Yield the entries of the failure and doubts of a run, in the order in which `Store.verify` reads them."""
    failures = () if row.failure is None else (row.failure,)
    for table, faults in zip(_FAULT_TABLES, (failures, row.warnings), strict=True):
        for fault in faults:
            yield from (table, *astuple(fault)[1:])


def checksum(entries: Iterable[Any]) -> bytes:
    """Return the checksum of entries as SQLite gives them back: nan is NULL, and zero has no sign.

    >>> checksum([1, -0.0, float("nan"), "on"]) == checksum([1.0, 0.0, None, "on"]) != checksum([1.0, 0.0, None, "off"])
    True
    """
    total = hashlib.blake2b(digest_size=8)
    for entry in entries:
        if entry is None or entry != entry:
            total.update(b"-")
        elif isinstance(entry, str | bytes):
            content = entry.encode("utf-8", "surrogatepass") if isinstance(entry, str) else entry
            total.update(struct.pack("<cq", b"t" if isinstance(entry, str) else b"b", len(content)) + content)
        else:
            total.update(struct.pack("<cd", b"n", entry + 0.0))
    return total.digest()


def distinct(names: Iterable[str]) -> dict[str, str]:
    """Return for each name one that is unique in SQL, which does not distinguish upper and lower case.

    >>> distinct(["motor.R", "motor.r"])
    {'motor.R': 'motor.R', 'motor.r': 'motor.r (2)'}
    """
    unique, used = dict[str, str](), {"run"}
    for name in names:
        candidate, count = name, 1
        while candidate.lower() in used:
            count += 1
            candidate = f"{name} ({count})"
        used.add(candidate.lower())
        unique[name] = candidate
    return unique


def quoted(name: str) -> str:
    """Return a name in the quotes of SQL."""
    return '"' + name.replace('"', '""') + '"'


def _stored(value: np.ndarray) -> float | bytes:
    """Convert a value for SQLite, which has one zero only, and no nan: a number loses the sign of zero; NULL is read as nan."""
    return _bytes(value) if value.ndim else float(value) + 0.0


def _bytes(value: np.ndarray) -> bytes:
    return value.astype("<f8").tobytes()


def array_of(entries: Sequence[Any], shape: tuple[int, ...] | None) -> np.ndarray:
    """Return entries of a column (k,) as an array (k, *shape); nan for NULL."""
    if not shape:
        return np.array([np.nan if entry is None else entry for entry in entries], dtype=float)
    nothing = np.full(shape, np.nan).astype("<f8").tobytes()
    joined = b"".join(nothing if entry is None else entry for entry in entries)
    return np.frombuffer(joined, "<f8").astype(float).reshape(len(entries), *shape)


def path_of(path: object) -> Path:
    """Return the path of a store; E364 for anything else."""
    if isinstance(path, str | os.PathLike) and isinstance(os.fspath(path), str):
        return Path(path)
    cures = ('"runs.db"', "a pathlib.Path")
    raise FileError(Problem("E364", f"{path!r:.60} is no path of a file for runs", (f"it is {type(path).__name__}",), (), cures))


def _of_another_plan(stored: Mapping[str, Any], plan: Mapping[str, Any], about: str, path: Path | None) -> Exception:
    keys = [key for key in dict.fromkeys([*stored, *plan]) if stored.get(key) != plan.get(key)]
    differences = [
        f"{key}: {stored.get(key, 'not given')}, not {plan.get(key, 'left out')}"
        if all(isinstance(each.get(key, ""), int | float | str) and len(str(each.get(key))) < 60 for each in (stored, plan))
        else f"{key}: not the same"
        for key in keys
    ]
    cures = ("another file for this plan", "the plan that the file was begun with, which then goes on")
    why = ["the file was begun with", *differences]
    return refusal("E363", f"{printable_path(str(path))} holds runs of another plan", *cures, about=about, why=why)


@dataclass(frozen=True)
class Column:
    """Column of the store.

    Parameters
    ----------
    name, column : here, and in SQL.
    what, part : "varied" or "kept"; of a varied one, its part in the model.
    unit, shape : of each entry; None where no run has given the shape yet.
    text : entries are words. over_time : entries are time series over the samples.
    """

    name: str
    column: str
    what: str
    part: str
    unit: str
    shape: tuple[int, ...] | None
    text: bool = False
    over_time: bool = False

    def array(self, entries: Sequence[Any]) -> np.ndarray:
        """Return entries of the store (k,) as an array."""
        return np.array(entries, dtype=str) if self.text else array_of(entries, self.shape)

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Column:
        """Read a column from the header of a store."""
        return cls(**{**entry, "shape": None if entry["shape"] is None else tuple(entry["shape"])})

    @property
    def stored(self) -> dict[str, Any]:
        """Entry of the header of a store."""
        return asdict(self)


class Tabled(Protocol):
    """Columns of runs."""

    @property
    def axes(self) -> tuple[tuple[str, int], ...]:
        """Names and counts."""

    @property
    def columns(self) -> Mapping[str, Column]:
        """Columns by name."""

    @property
    def times(self) -> np.ndarray:
        """Sample times (k,), s."""

    def arrays(self, *names: str) -> Mapping[str, np.ndarray]:
        """Return columns by name, and "run", of the same runs."""


Variables = dict[str, tuple[tuple[str, ...], np.ndarray, dict[str, str]]]
"""By name: the axes of an array, the array, and its units, as xarray takes them."""


def _free_axis_name(axis: str, runs: Tabled) -> str:
    """Return a name for an axis that no column has."""
    name, count = axis, 1
    while name in runs.columns:
        count += 1
        name = f"{axis} ({count})"
    return name


def over_axes(runs: Tabled) -> tuple[Variables, Variables]:
    """Return kept columns, and varied ones with the sample times, over the axes of the sweep; nan, or "", where no run is stored.

    Crossed values lie along the axis of their name, time series along "t", components of "q" along "q 0", "q 1" ...; where a
    column has that name, along "t (2)".
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
