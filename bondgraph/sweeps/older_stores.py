"""Sweep stores of versions 1 and 2, which had a row for each run: read and verify them, and return chunks for a current store.

| table | columns |
|---|---|
| `meta` | key, value, and a checksum since version 2: format, version, the header as JSON, and `shapes` of kept columns |
| `runs` | run, varied and kept columns: numbers as 8-byte floats, arrays as bytes of these floats, automata as strings |
| `failures`, `doubts` | run, kind, reason, time, suspect |
| `checksums` | since version 2: run, checksum of all entries of this run in the other tables |
"""

from __future__ import annotations

import hashlib
import itertools
import json
import sqlite3
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bondgraph.sweeps.tasks import Chunk, RunIssue

OLDER_VERSIONS = (1, 2)
_BLOCK = 10_000
Shapes = Mapping[str, tuple[int, ...]]


class Damage(Exception):
    """Error for a part of an older store that does not match its checksum."""


def older_header(connection: sqlite3.Connection) -> tuple[dict[str, Any], Shapes]:
    """Return the header of a store and the known shapes of kept columns.

    Raises `Damage`, or ValueError, KeyError or TypeError for an invalid header.
    """
    rows = connection.execute("SELECT * FROM meta").fetchall()
    if wrong := [key for key, value, *sums in rows if sums and checksum((key, value)) != sums[0]]:
        raise Damage(f'the entry "{wrong[0]}" of its table meta')
    meta = {row[0]: row[1] for row in rows}
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if "runs" not in tables or (meta["version"] == 2) != ("checksums" in tables):
        raise Damage("the version")
    return json.loads(meta["header"]), {name: tuple(shape) for name, shape in json.loads(meta["shapes"]).items()}


def older_chunks(connection: sqlite3.Connection, header: dict[str, Any], shapes: Shapes) -> Iterator[Chunk]:
    """Yield all runs, and convert the columns in the header to the current format; raise errors as `older_header` does."""
    columns = header["columns"]
    issues: dict[int, list[tuple[Any, ...]]] = {}
    for table in ("failures", "doubts"):
        for run, *entries in connection.execute(f"SELECT run, kind, reason, time, suspect FROM {table} ORDER BY rowid"):
            issues.setdefault(run, []).append((table, *entries))
    has_sums = "checksum" in {name for (name,) in connection.execute("SELECT name FROM pragma_table_info('meta')")}
    expected = dict(connection.execute("SELECT run, checksum FROM checksums")) if has_sums else {}
    in_table = {name for (name,) in connection.execute("SELECT name FROM pragma_table_info('runs')")}
    names = [column.pop("column") for column in columns]
    if missing := set(names) - in_table:  # SQLite reads a quoted unknown column name as a string
        raise KeyError(f"its table of runs has no column {', '.join(sorted(missing))}")
    selected = ", ".join(["run", *('"' + name.replace('"', '""') + '"' for name in names)])
    cursor = connection.execute(f"SELECT {selected} FROM runs ORDER BY run")
    while rows := cursor.fetchmany(_BLOCK):
        of_rows = {row[0]: issues.pop(row[0], []) for row in rows}
        for row in rows:
            if has_sums and checksum([*row, *itertools.chain(*of_rows[row[0]])]) != expected.pop(row[0], None):
                raise Damage(f"run {row[0]}")
        failures, doubts = (
            tuple(RunIssue(run, *entries) for run, each in of_rows.items() for kind, *entries in each if kind == table)
            for table in ("failures", "doubts")
        )
        by_column = zip(columns, list(zip(*rows, strict=True))[1:], strict=True)
        values = {column["name"]: _values(column, entries, shapes) for column, entries in by_column}
        runs = np.array([row[0] for row in rows], dtype=np.int64)
        yield Chunk(runs, {name: each for name, each in values.items() if each is not None}, failures, doubts)
    if issues or expected:
        raise Damage("the number of runs" if expected else f"the failure or warning of run {next(iter(issues))}")


def _values(column: Mapping[str, Any], entries: Sequence[Any], shapes: Shapes) -> np.ndarray | None:
    if column["text"]:
        return np.array(entries, dtype=str)
    shape = shapes.get(column["name"], column["shape"])
    if not shape:
        return None if shape is None else np.array([np.nan if entry is None else entry for entry in entries], dtype=float)
    nothing = np.full(shape, np.nan).astype("<f8").tobytes()
    joined = b"".join(nothing if entry is None else entry for entry in entries)
    return np.frombuffer(joined, "<f8").astype(float).reshape(len(entries), *shape)


def checksum(entries: Iterable[Any]) -> bytes:
    """Return the checksum of entries as SQLite returns them: NaN is NULL, and zero has no sign.

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
