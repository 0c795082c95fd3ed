"""Columns of a store: entries as they are stored in; arrays by run, or over the axes of a sweep, out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np

from bondgraph.sweeps.points import RUN
from bondgraph.sweeps.store import array_of


@dataclass(frozen=True)
class Column:
    """A column of the store.

    Parameters
    ----------
    name, column : here, and in SQL.
    what, part : "varied" or "kept"; of what is varied, the part that it plays in the model.
    unit, shape : of each entry; None where no run has told the shape yet.
    text : whether entries are words. over_time : whether they are courses over the samples.
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
        """Entries of the store (k,) as an array."""
        return np.array(entries, dtype=str) if self.text else array_of(entries, self.shape)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Column:
        """A column as the header of a store has it."""
        return cls(**{**given, "shape": None if given["shape"] is None else tuple(given["shape"])})

    @property
    def stored(self) -> dict[str, Any]:
        """The same as the header has it."""
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
        """Columns by name, and "run", of the same runs."""


Variables = dict[str, tuple[tuple[str, ...], np.ndarray, dict[str, str]]]
"""By name: the axes of an array, the array, and its units, as xarray takes them."""


def _free(axis: str, runs: Tabled) -> str:
    """A name for an axis that no column has."""
    own, count = axis, 1
    while own in runs.columns:
        count += 1
        own = f"{axis} ({count})"
    return own


def over_axes(runs: Tabled) -> tuple[Variables, Variables]:
    """What is kept, and what is varied with the sample times, over the axes of the sweep; nan, or "", where no run is stored.

    Values that were crossed lie along the axis of their name, courses along "t", components of "q" along "q 0", "q 1" ...; where
    a column is called so, along "t (2)".
    """
    axes, shape = [name for name, _ in runs.axes], tuple(count for _, count in runs.axes)
    read = runs.arrays()
    places = np.unravel_index(read[RUN], shape)
    kept, along, time = Variables(), Variables(), _free("t", runs)
    for name, column in runs.columns.items():
        values = read[name]
        inner = tuple(time if column.over_time and k == 0 else _free(f"{name} {k}", runs) for k in range(values.ndim - 1))
        own = [axes.index(name)] if name in axes else range(len(axes))
        whole = np.full((*(shape[k] for k in own), *values.shape[1:]), "" if column.text else np.nan, values.dtype)
        whole[tuple(places[k] for k in own)] = values
        units = {"units": column.unit} if column.unit else {}
        (kept if column.what == "kept" else along)[name] = ((*(axes[k] for k in own), *inner), whole, units)
    if RUN in axes:
        along[RUN] = ((RUN,), np.arange(shape[axes.index(RUN)]), {})
    if any(column.over_time for column in runs.columns.values()):
        along[time] = ((time,), runs.times, {"units": "s"})
    return kept, along
