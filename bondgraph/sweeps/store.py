"""The store of a sweep: rows of runs in, a chunk a transaction; the same by name out. An SQLite file, or memory.

| table | columns |
|---|---|
| `meta` | key, value: format, version, the header as JSON, and `shapes`, those of what is kept |
| `runs` | run, what is varied, what is kept: numbers as 8-byte floats, arrays as bytes of such floats, automata as words |
| `failures` | run, kind, reason, time, suspect |
| `doubts` | run, kind, reason, time, suspect |
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np

from bondgraph.errors import FileError, Problem, refusal
from bondgraph.output.files import check_name, printable_path
from bondgraph.sweeps.tasks import Fault, Row

FORMAT, VERSION = "screwbond-runs", 1
_WAIT = 60.0
"""How long (s) to wait while another process writes."""
_UNREADABLE = (sqlite3.Error, UnicodeDecodeError)
"""What SQLite raises; damaged texts are not in UTF-8."""
_WRITTEN = 'the path of a file that sweep(..., store="runs.db") has written'
_FAULTS = "(run INTEGER, kind TEXT, reason TEXT, time REAL, suspect TEXT)"


class Store:
    """Rows of runs.

    Parameters
    ----------
    path : of the file; None for memory.
    write : False opens a file that is there, for reading alone.

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
        weakref.finalize(self, self._connection.close)  # nobody else need close what only reads, or lies in memory

    def begin(self, header: Mapping[str, Any], shortened: Callable[[int], Mapping[str, Any]]) -> None:
        """Make the tables, or go on with those that are there, whose plan may have fewer values along its first axis.

        Parameters
        ----------
        header : of the plan. shortened : the header of its points up to a count along the first axis.

        Raises `ModelError` E363 where they belong to another plan; `FileError` E364 where the file is no store of runs.
        """
        if self._tables():
            known = self.header()["plan"]
            count = known["axes"][0][1]
            if count < header["axes"][0][1] and known == shortened(count)["plan"]:
                self._lengthen(known, header)
                known = self.header()["plan"]
            if known != header["plan"]:
                raise _of_another_plan(known, header["plan"], header["model"], self.path)
        with self._refusing(), self._lock:
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")
            with self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                if not self._connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                    self._make(header)
        self._columns = {column["name"]: column["column"] for column in self.header()["columns"]}

    def _lengthen(self, plan: Mapping[str, Any], header: Mapping[str, Any]) -> None:
        """Let the store be that of a longer plan, whose first runs it has, unless it is no longer of the plan that it was."""
        with self._refusing(), self._lock, self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            (text,) = self._connection.execute("SELECT value FROM meta WHERE key='header'").fetchone()
            known = json.loads(text)
            if known["plan"] == plan:
                longer = {**known, "axes": header["axes"], "plan": header["plan"]}
                self._connection.execute("UPDATE meta SET value=? WHERE key='header'", (json.dumps(longer),))

    def _tables(self) -> set[str]:
        return {name for (name,) in self.read("SELECT name FROM sqlite_master")}

    def _make(self, header: Mapping[str, Any]) -> None:
        """Tables."""
        columns = [
            f"{quoted(c['column'])} {'TEXT' if c['text'] else 'BLOB' if c['shape'] != [] else 'REAL'}" for c in header["columns"]
        ]
        self._connection.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value)")
        self._connection.execute(f"CREATE TABLE runs (run INTEGER PRIMARY KEY, {', '.join(columns)})")
        for table in ("failures", "doubts"):
            self._connection.execute(f"CREATE TABLE {table} {_FAULTS}")
        content = {"format": FORMAT, "version": VERSION, "header": json.dumps(header), "shapes": "{}"}
        self._connection.executemany("INSERT INTO meta VALUES (?, ?)", content.items())

    def header(self) -> dict[str, Any]:
        """What `begin` was given by whoever made the store, with the shapes of what is kept; E364 where it is none."""
        found = dict(self.read("SELECT key, value FROM meta")) if "meta" in self._tables() else {}
        if found.get("format") != FORMAT or found.get("version") != VERSION:
            why = f"it is of version {found.get('version')}" if found.get("format") == FORMAT else "other tables are in it"
            raise self._no_store(why)
        try:
            header: dict[str, Any] = json.loads(found["header"])
            shapes = json.loads(found["shapes"])
            for column in header["columns"]:
                column["shape"] = shapes.get(column["name"], column["shape"])
            columns = {column["column"] for column in header["columns"]}
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise self._no_store("what it says of itself is damaged") from error
        # a name that is no column would be a word to SQLite
        if missing := columns - {name for (name,) in self.read("SELECT name FROM pragma_table_info('runs')")}:
            raise self._no_store(f"its table of runs has no column {', '.join(sorted(missing))}")
        return header

    def done(self) -> np.ndarray:
        """Numbers of the runs that are stored, ascending."""
        return np.array([run for (run,) in self.read("SELECT run FROM runs ORDER BY run")], dtype=int)

    def add(
        self, rows: Sequence[Row], points: Mapping[str, np.ndarray], kept: Sequence[str], shapes: Mapping[str, tuple[int, ...]]
    ) -> None:
        """Store rows, all or none; a run that is there already stays as it is.

        Parameters
        ----------
        points : by name, the values that were varied, of these rows.
        kept : names of the rows' values. shapes : of those that are known.
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
            known = {run for row in rows for (run,) in self._connection.execute("SELECT run FROM runs WHERE run=?", (row.run,))}
            self._connection.executemany(into, [row for row in stored if row[0] not in known])
            new = [row for row in rows if row.run not in known]
            _put(self._connection, "failures", (row.failure for row in new if row.failure is not None))
            _put(self._connection, "doubts", (doubt for row in new for doubt in row.doubts))
            self._connection.execute("UPDATE meta SET value=? WHERE key='shapes'", (json.dumps(shapes),))

    def read(self, statement: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Rows of a query, a thousand at a time."""
        with self._refusing():
            cursor = self._connection.execute(statement, values)
            while True:
                with self._lock:
                    found = cursor.fetchmany(1000)
                if not found:
                    return
                yield from found

    def close(self) -> None:
        """Put everything into the one file, and let it go."""
        with self._lock:
            if self.path is not None and self._write:
                with contextlib.suppress(*_UNREADABLE):  # another process has it open, and does so later
                    self._connection.execute("PRAGMA journal_mode=DELETE")
            self._connection.close()

    @contextlib.contextmanager
    def _refusing(self, *kinds: type[Exception]) -> Iterator[None]:
        """E364 for errors of these kinds, and for those of a database that cannot be read."""
        caught: tuple[type[Exception], ...] = (*kinds, *_UNREADABLE)
        try:
            yield
        except caught as error:
            raise self._no_store(str(error)) from error

    def reading_entries(self) -> contextlib.AbstractContextManager[None]:
        """E364 for entries that are none of their column."""
        return self._refusing(ValueError)

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


def _put(connection: sqlite3.Connection, table: str, faults: Iterable[Fault]) -> None:
    connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?)", map(astuple, faults))


def distinct(names: Iterable[str]) -> dict[str, str]:
    """For each name one that SQL can tell from all others, which knows no large and small letters.

    >>> distinct(["motor.R", "motor.r"])
    {'motor.R': 'motor.R', 'motor.r': 'motor.r (2)'}
    """
    found, met = dict[str, str](), {"run"}
    for name in names:
        own, count = name, 1
        while own.lower() in met:
            count += 1
            own = f"{name} ({count})"
        met.add(own.lower())
        found[name] = own
    return found


def quoted(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def _stored(value: np.ndarray) -> float | bytes:
    """SQLite knows one zero only, and no nan: a plain number has the one, and comes back as nan where there is none."""
    return _bytes(value) if value.ndim else float(value) + 0.0


def _bytes(value: np.ndarray) -> bytes:
    return value.astype("<f8").tobytes()


def array_of(entries: Sequence[Any], shape: tuple[int, ...] | None) -> np.ndarray:
    """Entries of a column (k,) as an array (k, *shape); nan where there is none."""
    if not shape:
        return np.array([np.nan if entry is None else entry for entry in entries], dtype=float)
    nothing = np.full(shape, np.nan).astype("<f8").tobytes()
    data = b"".join(nothing if entry is None else entry for entry in entries)
    return np.frombuffer(data, "<f8").astype(float).reshape(len(entries), *shape)


def path_of(given: object) -> Path:
    """The path of a store as it was given; E364 where it is no path."""
    if isinstance(given, str | os.PathLike) and isinstance(os.fspath(given), str):
        return Path(given)
    cures = ('"runs.db"', "a pathlib.Path")
    raise FileError(
        Problem("E364", f"{given!r:.60} is no path of a file for runs", (f"it is {type(given).__name__}",), (), cures)
    )


def _of_another_plan(known: Mapping[str, Any], given: Mapping[str, Any], about: str, path: Path | None) -> Exception:
    keys = [key for key in dict.fromkeys([*known, *given]) if known.get(key) != given.get(key)]
    told = [
        f"{key}: {known.get(key, 'not given')}, not {given.get(key, 'left out')}"
        if all(isinstance(each.get(key, ""), int | float | str) and len(str(each.get(key))) < 60 for each in (known, given))
        else f"{key}: not the same"
        for key in keys
    ]
    cures = ("another file for this plan", "the plan that the file was begun with, which then goes on")
    why = ["the file was begun with", *told]
    return refusal("E363", f"{printable_path(str(path))} holds runs of another plan", *cures, about=about, why=why)
