"""Plot a sweep with Matplotlib: kept columns against varied parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any, Protocol

import numpy as np

from bondgraph.errors import refusal, unknown_name
from bondgraph.output.plot_style import CYCLE, MAX_PANELS, axis_label, legend_beside, panels, widen_flat_range
from bondgraph.sweeps.points import RUN
from bondgraph.sweeps.store import Column, RunColumns
from bondgraph.sweeps.tasks import RunIssue
from screws.errors import plural

COLORMAP = "viridis"
BANDS = ((5.0, 95.0, 0.15), (25.0, 75.0, 0.25))
"""Percentile bands of runs, with the opacity of each."""


class Drawable(RunColumns, Protocol):
    @property
    def name(self) -> str: ...

    @property
    def failures(self) -> Sequence[RunIssue]: ...


@dataclass(frozen=True)
class _ReadColumns:
    name: str
    axes: tuple[tuple[str, int], ...]
    columns: Mapping[str, Column]
    times: np.ndarray
    arrays: Mapping[str, np.ndarray]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.arrays[name]

    def __len__(self) -> int:
        return len(self.arrays[RUN])


def plot_runs(runs: Drawable, names: Sequence[str], against: str | None, axes: Any) -> np.ndarray:
    drawn = names or [column.name for column in runs.columns.values() if column.what == "kept"]
    if not names and len(drawn) > MAX_PANELS:
        title = f"choose the columns to plot: {len(drawn)} are kept"
        raise refusal("E560", title, f'some columns by name: runs.plot("{drawn[0]}")', about=runs.name)
    for name in drawn:
        _ensure_drawable(runs, name)
    if against not in (None, RUN, *runs.columns):
        raise unknown_name("column", against, (RUN, *runs.columns))
    needed = {*drawn, *(each.name for each in runs.columns.values() if each.what == "varied"), against or RUN}
    read = _ReadColumns(runs.name, runs.axes, runs.columns, runs.times, runs.arrays(*needed))
    abscissa = None if against is None else _chosen_abscissa(read, against)
    failed = len({fault.run for fault in runs.failures} & set(read[RUN].tolist()))
    title = f"{runs.name}: {plural(len(read), 'run')}" + (f", {failed} failed" if failed else "")
    with panels(len(drawn), axes, "column", runs.name, title=title, same_x=False) as panel_axes:
        for name, own_axes in zip(drawn, panel_axes, strict=True):
            column = runs.columns[name]
            if column.over_time:
                _plot_series(read, column, own_axes)
            else:
                _plot_numbers(read, column, abscissa, own_axes)
    return panel_axes


def _ensure_drawable(runs: Drawable, name: str) -> None:
    if name not in runs.columns:
        raise unknown_name("column", name, tuple(runs.columns))
    column = runs.columns[name]
    size = math.prod((column.shape or ())[column.over_time :])
    if column.text or size > MAX_PANELS:
        why = "it holds strings" if column.text else f"it has {plural(size, 'entry')} per run"
        cure = "a column of numbers" if column.text else "some of its entries, from runs.to_xarray()"
        raise refusal("E560", f'"{name}" cannot be plotted', cure, about=runs.name, why=why)


@dataclass(frozen=True)
class _Abscissa:
    """Coordinates along an axis: a number for each run (runs,), the label, and tick labels for the numbers 0, 1, ..."""

    at: np.ndarray
    label: str
    words: tuple[str, ...] = ()

    def label_x(self, axes: Any) -> None:
        axes.set_xlabel(self.label)
        if self.words:
            axes.set_xticks(range(len(self.words)), self.words)

    def text(self, value: float) -> str:
        return self.words[int(value)] if self.words else f"{value:.4g}"


def _abscissa(runs: _ReadColumns, name: str) -> _Abscissa:
    """Return coordinates along a varied name; for arrays, which have no order, indices along the axis of the sweep."""
    if name == RUN:
        return _Abscissa(runs[RUN].astype(float), RUN)
    column, values = runs.columns[name], runs[name]
    if column.text:
        words, numbers = np.unique(values, return_inverse=True)
        return _Abscissa(numbers.reshape(-1).astype(float), name, tuple(words.tolist()))
    if values.ndim == 1:
        return _Abscissa(values, axis_label(name, column.unit, " "))
    names, counts = zip(*runs.axes, strict=True)
    return _Abscissa(np.unravel_index(runs[RUN], counts)[names.index(name)].astype(float), f"{name}, by number")


def _chosen_abscissa(runs: _ReadColumns, against: str) -> _Abscissa:
    if against != RUN and runs[against].ndim != 1:
        title = f'cannot plot against "{against}", which is an array in each run'
        raise refusal("E560", title, "the name of a scalar quantity", about=runs.name)
    return _abscissa(runs, against)


def _crossed(runs: _ReadColumns) -> list[str]:
    return [name for name, _ in sorted(runs.axes, key=lambda axis: -axis[1]) if name != RUN]


def _is_grid(runs: _ReadColumns) -> bool:
    return all(name != RUN for name, _ in runs.axes)


def _entries(runs: _ReadColumns, column: Column) -> dict[str, np.ndarray]:
    values, begin = runs[column.name], 1 + column.over_time
    return {
        f"{column.name}[{', '.join(map(str, index))}]" if index else column.name: values[(..., *index)]
        for index in np.ndindex(values.shape[begin:])
    }


def _plot_series(runs: _ReadColumns, column: Column, axes: Any) -> None:
    entries = _entries(runs, column)
    if len(entries) == 1 and 0 < len(runs) <= MAX_PANELS:
        along = [_abscissa(runs, name) for name in (_crossed(runs) if _is_grid(runs) else [RUN])]
        (series,), order = entries.values(), np.lexsort([each.at for each in reversed(along)])
        for run, color in zip(order, _color_sequence(len(runs)), strict=True):
            label = ", ".join(each.text(each.at[run]) for each in along)
            axes.plot(runs.times, series[run], color=color, label=label)
        legend_beside(axes, title=",\n".join(each.label for each in along))
    else:
        for color, (name, series) in zip(cycle(CYCLE), entries.items(), strict=False):
            _band(axes, runs.times, series[~np.isnan(series).all(axis=1)], color, name if len(entries) > 1 else "")
        legend_beside(axes)
    axes.set_xlabel("time (s)")
    axes.set_ylabel(axis_label(column.name, column.unit))
    widen_flat_range(axes)


def _band(axes: Any, t: np.ndarray, series: np.ndarray, color: str, name: str) -> None:
    axes.plot(t, np.nanmedian(series, axis=0) if len(series) else np.full(len(t), np.nan), color=color, label=name or "median")
    for low, high, shade in BANDS if len(series) else ():
        lower, upper = np.nanpercentile(series, [low, high], axis=0)
        label = None if name else f"{low:.0f} to {high:.0f} %"
        axes.fill_between(t, lower, upper, color=color, alpha=shade, linewidth=0.0, label=label)


def _plot_numbers(runs: _ReadColumns, column: Column, against: _Abscissa | None, axes: Any) -> None:
    entries, crossed = _entries(runs, column), _crossed(runs)
    if against is None and _is_grid(runs) and len(crossed) <= 2:
        _over_grid(runs, column, entries, [_abscissa(runs, name) for name in crossed], axes)
        return
    varied = [
        each.name for each in runs.columns.values() if each.what == "varied" and len(np.unique(runs[each.name], axis=0)) > 1
    ]
    names = crossed or (varied if len(varied) == 1 and runs[varied[0]].ndim == 1 else [])
    along = against or (_abscissa(runs, names[0]) if names else None)
    if along is None:
        for name, values in entries.items():
            axes.hist(values[np.isfinite(values)], bins="auto", alpha=0.8 / len(entries) ** 0.5, label=name)
        axes.set_xlabel(axis_label(column.name, column.unit, " "))
        axes.set_ylabel("runs")
    else:
        for name, values in entries.items():
            axes.plot(along.at, values, ".", markersize=4.0, label=name)
        along.label_x(axes)
        axes.set_ylabel(axis_label(column.name, column.unit))
    if len(entries) > 1:
        legend_beside(axes)


def _over_grid(
    runs: _ReadColumns, column: Column, entries: Mapping[str, np.ndarray], along: Sequence[_Abscissa], axes: Any
) -> None:
    """Plot over one or two axes: a line for each value of the shorter axis, or a map if there are too many for a legend."""
    x, by = along[0], along[1] if len(along) > 1 else None
    groups = np.unique(by.at) if by is not None else np.zeros(1)
    if by is not None and len(groups) * len(entries) > MAX_PANELS:
        if len(entries) > 1:
            title = f'"{column.name}" has {plural(len(entries), "entry")}, too many for a plot over two axes'
            raise refusal("E560", title, f'runs.plot("{column.name}", against=...) with the name of one axis', about=runs.name)
        _map(column, entries[column.name], x, by, axes)
        return
    colors = iter(_color_sequence(len(groups) * len(entries)) if by is not None else CYCLE * 2)
    for name, values in entries.items():
        for group in groups:
            members = np.flatnonzero(by.at == group) if by is not None else np.arange(len(values))
            members = members[np.argsort(x.at[members], kind="stable")]
            label = [name] if len(entries) > 1 else []
            label += [by.text(group)] if by is not None else []
            axes.plot(x.at[members], values[members], ".-", color=next(colors), label=", ".join(label))
    x.label_x(axes)
    axes.set_ylabel(axis_label(column.name, column.unit))
    if by is not None or len(entries) > 1:
        legend_beside(axes, title=None if by is None else by.label)


def _map(column: Column, values: np.ndarray, x: _Abscissa, y: _Abscissa, axes: Any) -> None:
    (columns, i), (rows, j) = (np.unique(each.at, return_inverse=True) for each in (x, y))
    grid = np.full((len(rows), len(columns)), np.nan)
    grid[j.reshape(-1), i.reshape(-1)] = values
    axes.grid(False)
    drawn = axes.pcolormesh(columns, rows, grid, shading="nearest", cmap=COLORMAP)
    axes.figure.colorbar(drawn, ax=axes, label=axis_label(column.name, column.unit, " "))
    x.label_x(axes)
    axes.set_ylabel(y.label)
    if y.words:
        axes.set_yticks(range(len(y.words)), y.words)


def _color_sequence(count: int) -> list[Any]:
    import matplotlib

    return list(matplotlib.colormaps[COLORMAP](np.linspace(0.0, 0.85, count)))
