"""Pages of samples: rows that an integrator fills, exchanged for empty ones where they are full."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from bondgraph.run.events.handler import Settler
from bondgraph.run.python_callbacks import PythonCallback
from bondgraph.run.samples import NextPage
from bondgraph.run.table import FieldTable


class Page:
    """Rows that Python fills: `left` are empty, `written` filled on this page, `total` on all; `following` gives the next
    page."""

    def __init__(self, rows: np.ndarray, m: np.ndarray, following: NextPage | None):
        self._rows, self._m, self._following = rows, m, following
        self.written = self.total = 0

    @property
    def left(self) -> np.ndarray:
        """Rows that are still empty."""
        return self._rows[self.written :]

    def put(self, values: np.ndarray) -> None:
        """Fill as many rows as there are values (k, n + quadratures)."""
        while len(values) > len(self.left):
            fit = len(self.left)
            self.left[:] = values[:fit]
            values = values[fit:]
            self.next(fit, self._m, 0)
        self.left[: len(values)] = values
        self.wrote(len(values))

    def wrote(self, count: int) -> None:
        """Count rows as filled."""
        self.written += count
        self.total += count

    def next(self, count: int, m: np.ndarray, held: int) -> np.ndarray:
        """A `NextPage`, after rows that were filled here before."""
        assert self._following is not None, "rows for all samples"
        self.total += count
        self._rows = self._following(self.written + count, m, self.written + held if held else 0)
        self.written = 0
        return self._rows


class LentPage:
    """Rows that machine code fills; it calls `drain` of its table where they are full."""

    def __init__(self, table: FieldTable, settler: Settler | None = None):
        self._table, self._settler = table, settler

    @cached_property
    def _drain(self) -> PythonCallback:
        """Callback of machine code for full rows; after an exception there are no more samples."""
        return PythonCallback(self._full, self._no_more)

    def provide(self, times: np.ndarray, rows: np.ndarray, following: NextPage | None) -> None:
        """Rows for samples at times (k,), s."""
        self._times, self._following = times, following
        table, fit = self._table, min(len(times), len(rows))
        table.point("times", times)
        table.point("rows", rows)
        table["samples"], table["written"] = fit, 0
        table.point("drain", self._drain.address if fit < len(times) else 0)
        if self._settler is not None:
            self._settler.depart(rows)

    def _full(self) -> int:
        table, count = self._table, int(self._table["written"])
        assert self._following is not None, "rows for all samples"
        held = 0 if self._settler is None else self._settler.arrive()
        rows = self._following(count, table.arrays["m"], held)
        self.provide(self._times[count:], rows, self._following)
        return 0

    def _no_more(self) -> int:
        self._table.point("drain", 0)
        return 0

    def check(self) -> None:
        """Raise the exception of a callback."""
        if "_drain" in self.__dict__:
            self._drain.check()
