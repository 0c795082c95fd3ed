"""Columns of a sweep's store, as arrays by run, or over the axes of the sweep for xarray."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np

from bondgraph.sweeps.points import RUN
from bondgraph.sweeps.store import array_of


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
