"""Downsampling of a result's signals, with both sides of every event, that keeps every peak and every jump."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from screwbond.models.pictures.interpolation import Array, Interpolation

from bondgraph.run.results.result import Result

STRAIGHTNESS = 2e-3
"""Invisible distance of samples from the line between two kept rows, over the range of the curve."""


@dataclass(frozen=True, eq=False)
class EventRows:
    """Samples of a result in a span of time, with the values just before and just after simultaneous events in it.

    Attributes
    ----------
    t : times (k,), s; those of events appear twice.
    order : rows (k,) of samples, events before, events after, ends of the span, one below the other.
    ends : start and end of the span between samples.
    """

    result: Result
    t: Array
    order: NDArray[np.intp]
    ends: Interpolation

    @classmethod
    def of(cls, result: Result, start: float, end: float) -> EventRows:
        """Select the span from start to end, s."""
        happened = result.events.times
        times = np.concatenate([result.t, np.repeat(happened, 2), [start, end]])
        # Before each event, then after it; the ends come last, and only if no sample is there.
        order = np.argsort(times, kind="stable")
        inside = (times >= start) & (times <= end)
        inside[-2:] = ~np.isin([start, end], result.t)
        # Drop states between two events at one instant.
        first = np.diff(happened, prepend=-np.inf) > 0.0
        last = np.diff(happened, append=np.inf) > 0.0
        inside[len(result.t) : -2] &= np.column_stack([first, last]).ravel()
        order = order[inside[order]]
        return cls(result, times[order], order, Interpolation.of(result.t, [start, end]))

    def values(self, name: str) -> Array:
        """Return a quantity over time, (k, *shape)."""
        samples, (before, after) = np.asarray(self.result[name], dtype=float), self.result.at_events(name)
        sides = np.stack([before, after], axis=1).reshape(-1, *samples.shape[1:])
        constant = self.result.program.layout[name].block == "m"
        ends = samples[self.ends.low] if constant else self.ends.values(samples)
        return np.concatenate([samples, sides, ends])[self.order]


@dataclass(frozen=True, eq=False)
class Downsampling:
    """Selection of at most a given number of rows: two for each interval, one for an interval of one row.

    Where a curve is nearly straight in an interval, its ends are kept; elsewhere its least and its largest value, in the order of
    time: no short peak is lost.

    Attributes
    ----------
    t : times (k,) of all rows, s.
    first, last : rows (n,) at which intervals start and end.
    """

    t: Array
    first: NDArray[np.intp]
    last: NDArray[np.intp]

    @classmethod
    def of(cls, t: Array, count: int) -> Downsampling:
        """Divide rows at t (k,) into intervals; half of them follow time, half the rows."""
        rows = np.arange(len(t))
        if len(t) <= count:
            return cls(t, rows, rows)
        way = (t - t[0]) / ((t[-1] - t[0]) or 1.0) + rows / (len(t) - 1)
        stretch = np.minimum((0.25 * count * way).astype(int), count // 2 - 1)
        first = np.flatnonzero(np.diff(stretch, prepend=-1))
        return cls(t, first, np.append(first[1:], len(t)) - 1)

    @property
    def _kept_rows(self) -> NDArray[np.bool_]:
        """Mask (n, 2) of the first and last rows that are kept."""
        return np.column_stack([np.ones(len(self.first), dtype=bool), self.last > self.first])

    @property
    def times(self) -> Array:
        """Times of the kept rows, s."""
        return np.asarray(self.t[np.column_stack([self.first, self.last])[self._kept_rows]])

    def select(self, values: Array) -> Array:
        """Return the kept values (j,) of values (k,) in all rows; non-finite ones become NaN."""
        pair = np.column_stack([values[self.first], values[self.last]])
        if len(self.first) < len(self.t):
            finite = np.where(np.isfinite(values), values, np.nan)
            low, high = np.fmin.reduceat(finite, self.first), np.fmax.reduceat(finite, self.first)
            bent = np.maximum.reduceat(np.abs(finite - self._chord(finite)), self.first)
            limit = STRAIGHTNESS * (np.nanmax(high) - np.nanmin(low)) if np.isfinite(high).any() else 0.0
            # Intervals with NaN are not straight.
            bent = ~(bent <= limit)
            extremes = np.column_stack([low, high])
            rising = self._row_of(finite, low) <= self._row_of(finite, high)
            pair[bent] = np.where(rising[:, None], extremes, extremes[:, ::-1])[bent]
        return np.asarray(pair[self._kept_rows])

    def _chord(self, values: Array) -> Array:
        """Return the line (k,) from the first to the last row of every interval; without a jump between rows of one time."""
        sizes = self.last - self.first + 1
        start, end = (np.repeat(values[rows], sizes) for rows in (self.first, self.last))
        since, until = (np.repeat(self.t[rows], sizes) for rows in (self.first, self.last))
        part = (self.t - since) / np.where(until > since, until - since, 1.0)
        return np.asarray(start + part * (end - start))

    def _row_of(self, values: Array, targets: Array) -> NDArray[np.intp]:
        """Return the first row (n,) of each interval that has the target value (n,)."""
        matches = values == np.repeat(targets, self.last - self.first + 1)
        rows = np.where(matches, np.arange(len(values)), len(values))
        return np.asarray(np.minimum.reduceat(rows, self.first))
