"""The runs of a sweep: a store in; columns, failures, tables and data sets out, read when they are asked for."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondgraph.output.cells import cell, collapsible, line, plural, table
from bondgraph.output.extras import require_package
from bondgraph.output.tables import unknown_name
from bondgraph.sweeps.columns import Column, over_axes
from bondgraph.sweeps.pictures import pictures
from bondgraph.sweeps.points import FAILURE, RUN
from bondgraph.sweeps.roles import ARGUMENTS
from bondgraph.sweeps.store import Store, path_of, quoted
from bondgraph.sweeps.tasks import Fault

if TYPE_CHECKING:
    import pandas
    import xarray


@dataclass(frozen=True)
class Run:
    """One run: its number, what was changed for it, what is kept of it, why it failed, and why it is in doubt.

    `compiled.simulate(t_end, parameters=run.parameters, initial=run.initial)` repeats it.
    """

    run: int
    parameters: Mapping[str, Any]
    initial: Mapping[str, Any]
    values: Mapping[str, Any] = field(repr=False)
    failure: Fault | None = None
    doubts: tuple[Fault, ...] = ()


class Runs:
    """What a sweep has kept: `runs["speed"]`, iteration over runs, `failures`, `to_dataframe`, `to_xarray`.

    Runs that are not stored yet are left out; `complete` says whether there are any.
    """

    def __init__(self, source: Store | Path):
        """`source` is the file of a store, or one in memory."""
        self._source = source if isinstance(source, Store) else source.absolute()  # wherever the process goes
        with self._reading() as reading:
            header = reading.header()
        self.name: str = header["model"]
        self.t_end: float = header["t_end"]
        self.axes: tuple[tuple[str, int], ...] = tuple((name, count) for name, count in header["axes"])
        self.times = np.array(header["times"])
        self.columns = {given["name"]: Column.of(given) for given in header["columns"]}

    @contextlib.contextmanager
    def _reading(self) -> Iterator[Store]:
        """The store; a file is open as long as something is read."""
        if isinstance(self._source, Store):
            yield self._source
        else:
            with contextlib.closing(Store(self._source, write=False)) as reading:
                yield reading

    def _read(self, statement: str) -> list[tuple[Any, ...]]:
        with self._reading() as reading:
            return list(reading.read(statement))

    @property
    def count(self) -> int:
        """How many runs were planned."""
        return math.prod(count for _, count in self.axes)

    @property
    def complete(self) -> bool:
        """Whether all of them are here."""
        return len(self) == self.count

    def __len__(self) -> int:
        return int(self._read("SELECT COUNT(*) FROM runs")[0][0])

    def names(self) -> tuple[str, ...]:
        """What is varied, and what is kept; besides, there is "run", the numbers."""
        return tuple(self.columns)

    def __getitem__(self, name: str) -> np.ndarray:
        """A column (runs, *shape) in the order of the runs: what is varied or kept, or "run", their numbers; nan in runs that
        failed. An unknown name is a KeyError that lists similar ones."""
        return self.arrays(name)[name]

    def arrays(self, *names: str) -> dict[str, np.ndarray]:
        """Columns (runs, *shape) by name, all of them by default, and "run" (runs,), the numbers of the runs.

        They are of the same runs, also while more are being stored. KeyError for an unknown name.
        """
        chosen = [name for name in names or self.names() if name != RUN]
        for name in chosen:
            if name not in self.columns:
                raise unknown_name("column", name, self.names())
        asked = ", ".join([RUN, *(quoted(self.columns[name].column) for name in chosen)])
        rows = self._read(f"SELECT {asked} FROM runs ORDER BY run")
        found = {RUN: np.array([row[0] for row in rows], dtype=int)}
        with self._reading() as reading, reading.reading_entries():
            for place, name in enumerate(chosen, start=1):
                found[name] = self.columns[name].array([row[place] for row in rows])
        return found

    def __contains__(self, name: object) -> bool:
        return name == RUN or name in self.columns

    def __iter__(self) -> Iterator[Run]:
        failures = {fault.run: fault for fault in self.failures}
        doubts: dict[int, list[Fault]] = {}
        for doubt in self.doubts:
            doubts.setdefault(doubt.run, []).append(doubt)
        names = ", ".join(quoted(column.column) for column in self.columns.values())
        with self._reading() as reading:
            for run, *entries in reading.read(f"SELECT run, {names} FROM runs ORDER BY run"):
                pairs = zip(self.columns.values(), entries, strict=True)
                with reading.reading_entries():
                    values = {column: _plain(column.array([entry])[0]) for column, entry in pairs}
                parts = {part: {c.name: v for c, v in values.items() if c.part == part} for part in (*ARGUMENTS, "")}
                changed = {argument: parts[part] for part, argument in ARGUMENTS.items()}
                yield Run(run, **changed, values=parts[""], failure=failures.get(run), doubts=tuple(doubts.get(run, ())))

    @property
    def failures(self) -> tuple[Fault, ...]:
        """Of every run that failed, why."""
        return self._faults("failures")

    @property
    def doubts(self) -> tuple[Fault, ...]:
        """Of every run that cannot be trusted, why; its values are kept."""
        return self._faults("doubts")

    def _faults(self, name: str) -> tuple[Fault, ...]:
        rows = self._read(f"SELECT run, kind, reason, time, suspect FROM {name} ORDER BY run, rowid")
        return tuple(Fault(*row) for row in rows)

    def __repr__(self) -> str:
        done, failed, doubted = len(self), len(self.failures), len({doubt.run for doubt in self.doubts})
        said = [plural(done, "run") if done == self.count else f"{done} of {plural(self.count, 'run')}"]
        said += [f"{failed} failed"] if failed else []
        said += [f"{doubted} in doubt"] if doubted else []
        return f'Runs("{self.name}", {", ".join(said)}: {", ".join(self._of("kept"))})'

    def _of(self, what: str) -> list[str]:
        return [column.name for column in self.columns.values() if column.what == what]

    def _repr_html_(self) -> str:
        rows = [(name, column.what, column.unit, *self._ends(column)) for name, column in self.columns.items()]
        failed = [(str(fault.run), fault.kind, fault.reason) for fault in self.failures]
        more = [collapsible(f"failures ({len(failed)})", table(("run", "kind", "reason"), failed))] if failed else []
        said = line(self.name, repr(self).partition(", ")[2].removesuffix(")"))
        return cell(said, table(("", "", "unit", "least", "mean", "most"), rows), *more)

    def _ends(self, column: Column) -> tuple[Any, ...]:
        """Least, mean and largest number of a column, or the size of its arrays."""
        if column.text or column.shape != ():
            return "", "" if column.shape is None else " × ".join(map(str, column.shape)), ""
        values = self[column.name]
        finite = values[np.isfinite(values)]
        return (finite.min(), finite.mean(), finite.max()) if finite.size else ("", "", "")

    def table(self) -> dict[str, np.ndarray]:
        """Columns of single numbers and words (runs,) by name: "run", what is varied, what is kept, and "failure", why a run
        failed ("" where it did not); components of an array are "name[0]" or "name[0, 1]"."""
        columns = {RUN: (read := self.arrays()).pop(RUN)}
        for name, values in read.items():
            for place in np.ndindex(values.shape[1:]):
                columns[f"{name}[{', '.join(map(str, place))}]" if place else name] = values[(slice(None), *place)]
        reasons = {fault.run: f"{fault.kind}: {fault.reason}" for fault in self.failures}
        return columns | {FAILURE: np.array([reasons.get(int(run), "") for run in columns[RUN]], dtype=str)}

    def to_dataframe(self) -> pandas.DataFrame:
        """The table by the number of the run. E416, an ImportError too, where pandas is not installed."""
        require_package("a data frame", "pandas")
        import pandas

        return pandas.DataFrame(self.table()).set_index(RUN)

    def to_xarray(self) -> xarray.Dataset:
        """What is kept over the axes of the sweep, with units (`attrs["units"]`): of crossed values, an axis for each name; else
        "run". A course has "t" besides. Runs that failed or are not stored are nan. E416 where xarray is not installed."""
        require_package("a data set", "xarray")
        import xarray

        return xarray.Dataset(*over_axes(self), {"model": self.name})

    def plot(self, *names: str, against: str | None = None, axes: Any = None) -> np.ndarray:
        """A panel for each name that is kept (all by default): Matplotlib's axes (panels,).

        What is drawn follows from how the runs lie. Courses are over time: one by one up to 12 runs, else their median with the
        middle 50 and 90 of a hundred. Numbers are lines over a name whose values were given, or over two of them, where many
        make a map; dots against the one that was drawn, or listed; and else how often each comes. `against` asks for dots
        against any column, or "run". Runs that failed are left out. No window is opened; `axes[0].figure.savefig("runs.png")`
        writes a file.

        Raises E416, an ImportError too, where Matplotlib is not installed; `ModelError` E560 for axes that are too few, more
        than 12 columns of which nobody chose, and what cannot be drawn; KeyError for an unknown name.
        """
        return pictures(self, names, against, axes)


def _plain(value: np.ndarray) -> Any:
    """A number of Python's, or the array."""
    return value if np.ndim(value) else value.item()


def load_runs(path: str | os.PathLike[str]) -> Runs:
    """The runs of a store, also of one that is still being written, or was left unfinished; `FileError` E364 where it is none."""
    return Runs(path_of(path))
