"""Results of a sweep, read from its store on demand: columns, failures, tables, data frames, data sets and plots."""

from __future__ import annotations

import contextlib
import functools
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondgraph.errors import unknown_name
from bondgraph.output.cells import cell, collapsible, line, table
from bondgraph.output.extras import require_package
from bondgraph.sweeps.plots import plot_runs
from bondgraph.sweeps.points import ARGUMENTS, FAILURE, RUN
from bondgraph.sweeps.store import Column, Store, over_axes, path_of
from bondgraph.sweeps.tasks import RunIssue
from screws.errors import plural
from screws.names import answer_old_names
from screws.numeric_arguments import fixed_floats

if TYPE_CHECKING:
    import pandas
    import xarray

_READ_BLOCKS = 4


@answer_old_names
@dataclass(frozen=True)
class Run:
    """Run of a sweep: number, parameters and start values, kept values, failure and warnings.

    `compiled.simulate(t_end, parameters=run.parameters, initial=run.initial)` repeats it if it gets the settings of the sweep.
    """

    run: int
    parameters: Mapping[str, Any]
    initial: Mapping[str, Any]
    values: Mapping[str, Any] = field(repr=False)
    failure: RunIssue | None = None
    warnings: tuple[RunIssue, ...] = ()


@answer_old_names
class Runs:
    """Results of a sweep: `runs["speed"]`, iteration over runs, `failures`, `to_dataframe` and `to_xarray`.

    Runs that are not yet stored are omitted (NaN in `to_xarray`); `complete` is False until all are stored.
    """

    def __init__(self, source: Store | Path):
        """Read the header of `source`, a store in memory or its file."""
        # An absolute path stays valid after a change of directory.
        self._source = source if isinstance(source, Store) else source.absolute()
        with self._opened() as reading:
            if reading.is_old():
                self._source = reading.upgraded()
        with self._opened() as reading:
            header = reading.header()
            with reading.reading_entries():
                self.columns = {entry["name"]: Column.of(entry) for entry in header["columns"]}
        self.name: str = header["model"]
        self.t_end: float = header["t_end"]
        self.axes: tuple[tuple[str, int], ...] = tuple((name, count) for name, count in header["axes"])
        self.times = fixed_floats(header["times"])

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Store]:
        if isinstance(self._source, Store):
            yield self._source
        else:
            with contextlib.closing(Store(self._source, write=False)) as reading:
                yield reading

    @property
    def count(self) -> int:
        """Number of planned runs."""
        return math.prod(count for _, count in self.axes)

    @property
    def complete(self) -> bool:
        """True if all planned runs are stored."""
        return len(self) == self.count

    def __len__(self) -> int:
        with self._opened() as reading:
            return reading.count()

    def names(self) -> tuple[str, ...]:
        """Return the names of varied and kept columns; there is also a column "run" of run numbers."""
        return tuple(self.columns)

    def __getitem__(self, name: str) -> np.ndarray:
        """Return a varied or kept column, or "run" (run numbers), in the order of the runs, (runs, *shape); kept numbers of
        failed runs are NaN. An unknown name raises a KeyError that lists similar names."""
        return self.arrays(name)[name]

    def arrays(self, *names: str) -> dict[str, np.ndarray]:
        """Return columns (runs, *shape) by name, by default all, and "run" (runs,), the run numbers.

        All columns have the same runs, even while more are being stored. Raises KeyError for an unknown name.
        """
        chosen = [name for name in names or self.names() if name != RUN]
        for name in chosen:
            if name not in self.columns:
                raise unknown_name("column", name, self.names())
        with self._opened() as reading:
            blocks = reading.runs()
            counts, runs = [len(block) for block in blocks], np.concatenate([np.zeros(0, dtype=int), *blocks])
            order = np.argsort(runs)
            columns = {name: reading.column(self.columns[name], counts)[order] for name in chosen}
            return {RUN: runs[order], **columns}

    def __contains__(self, name: object) -> bool:
        return name == RUN or name in self.columns

    def __iter__(self) -> Iterator[Run]:
        failures = {fault.run: fault for fault in self.failures}
        concerns: dict[int, list[RunIssue]] = {}
        for concern in self.warnings:
            concerns.setdefault(concern.run, []).append(concern)
        with self._opened() as reading:
            blocks = reading.runs()

            @functools.lru_cache(_READ_BLOCKS)
            def block_of(block: int) -> dict[Column, np.ndarray]:
                counts = [len(blocks[block])]
                return {column: reading.column(column, counts, first=block) for column in self.columns.values()}

            places = ((run, block, k) for block, runs in enumerate(blocks) for k, run in enumerate(runs.tolist()))
            for run, block, k in sorted(places):
                values = {column: _plain(entries[k]) for column, entries in block_of(block).items()}
                parts = {part: {c.name: v for c, v in values.items() if c.part == part} for part in (*ARGUMENTS, "")}
                changed = {argument: parts[part] for part, argument in ARGUMENTS.items()}
                yield Run(run, **changed, values=parts[""], failure=failures.get(run), warnings=tuple(concerns.get(run, ())))

    @property
    def failures(self) -> tuple[RunIssue, ...]:
        """Failures, one for each failed run."""
        with self._opened() as reading:
            return reading.issues()[0]

    @property
    def warnings(self) -> tuple[RunIssue, ...]:
        """Warnings about runs whose values are kept but cannot be trusted."""
        with self._opened() as reading:
            return reading.issues()[1]

    @property
    def device(self) -> np.ndarray:
        """Device that executed each run (runs,): "cpu", or the name of a GPU."""
        with self._opened() as reading:
            return reading.devices()

    def __repr__(self) -> str:
        done, failed, doubted = len(self), len(self.failures), len({concern.run for concern in self.warnings})
        parts = [plural(done, "run") if done == self.count else f"{done} of {plural(self.count, 'run')}"]
        parts += [f"{failed} failed"] if failed else []
        parts += [f"{doubted} in doubt"] if doubted else []
        kept = [column.name for column in self.columns.values() if column.what == "kept"]
        return f'Runs("{self.name}", {", ".join(parts)}: {", ".join(kept)})'

    def _repr_html_(self) -> str:
        rows = [(name, column.what, column.unit, *self._ends(column)) for name, column in self.columns.items()]
        failed = [(str(fault.run), fault.kind, fault.reason) for fault in self.failures]
        more = [collapsible(f"failures ({len(failed)})", table(("run", "kind", "reason"), failed))] if failed else []
        title = line(self.name, repr(self).partition(", ")[2].removesuffix(")"))
        return cell(title, table(("", "", "unit", "least", "mean", "most"), rows), *more)

    def _ends(self, column: Column) -> tuple[Any, ...]:
        if column.text or column.shape != ():
            return "", "" if column.shape is None else " × ".join(map(str, column.shape)), ""
        values = self[column.name]
        finite = values[np.isfinite(values)]
        return (finite.min(), finite.mean(), finite.max()) if finite.size else ("", "", "")

    def table(self) -> dict[str, np.ndarray]:
        """Return columns of scalars and strings (runs,) by name: "run", varied and kept quantities, and "failure", the reason why
        a run failed (else ""); components of an array are "name[0]" or "name[0, 1]"."""
        columns = {RUN: (read := self.arrays()).pop(RUN)}
        for name, values in read.items():
            for index in np.ndindex(values.shape[1:]):
                columns[f"{name}[{', '.join(map(str, index))}]" if index else name] = values[(slice(None), *index)]
        reasons = {fault.run: f"{fault.kind}: {fault.reason}" for fault in self.failures}
        return columns | {FAILURE: np.array([reasons.get(int(run), "") for run in columns[RUN]], dtype=str)}

    def to_dataframe(self) -> pandas.DataFrame:
        """Return the table as a DataFrame, indexed by run number. Raises E416 (also an ImportError) if pandas is not
        installed."""
        require_package("a data frame", "pandas")
        import pandas

        return pandas.DataFrame(self.table()).set_index(RUN)

    def to_xarray(self) -> xarray.Dataset:
        """Return kept columns over the axes of the sweep, with units (`attrs["units"]`). The axes are the names with crossed
        values, and "run" for draws and rows; time series also have "t". Failed and missing runs are NaN. Raises E416 (also an
        ImportError) if xarray is not installed."""
        require_package("a data set", "xarray")
        import xarray

        return xarray.Dataset(*over_axes(self), {"model": self.name})

    def plot(self, *names: str, against: str | None = None, axes: Any = None) -> np.ndarray:
        """Plot kept columns (by default all), one per panel; return Matplotlib's axes (panels,).

        The axes of the sweep decide the kind of plot. Scalar time series are plotted one by one for up to 12 runs; others as
        their median with bands of the middle 50 and 90 %. Numbers are plotted as lines against one or two names with crossed
        values, or as a map if there would be many lines; as dots against the longest of these axes if there are more, or draws
        too, or against a single name with random or listed values; else as a histogram. `against` plots numbers as dots against
        a scalar column, or "run". Failed runs are omitted. No window is opened; `axes[0].figure.savefig("runs.png")` writes a
        file.

        Raises E416 (also an ImportError) if Matplotlib is not installed; `ModelError` E560 for too few axes, more than 12 columns
        without names, or columns that cannot be plotted; KeyError for an unknown name.
        """
        return plot_runs(self, names, against, axes)


def _plain(value: np.ndarray) -> Any:
    return value if np.ndim(value) else value.item()


def load_runs(path: str | os.PathLike[str]) -> Runs:
    """Load the runs of a store, which may be unfinished or still being written; raise `FileError` E364 if the store is
    invalid."""
    return Runs(path_of(path))
