"""A result in; its courses with both sides of every event, and few rows of them that keep every peak and every jump, out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from screwbond.models.pictures.interpolation import Array, Between

from bondgraph.run.results.result import Result

STRAIGHT = 2e-3
"""Distance of samples from the line between two rows that are kept, over the range of the course, that nobody sees."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Samples of a result in a span of time, with the values just before and just after all that happens at once in it.

    Attributes
    ----------
    t : times (k,), s; those of events are there twice.
    order : rows (k,) of samples, events before, events after, ends of the span, one below the other.
    ends : where the span starts and ends between samples.
    """

    result: Result
    t: Array
    order: NDArray[np.intp]
    ends: Between

    @classmethod
    def of(cls, result: Result, start: float, end: float) -> Rows:
        """Of the span from start to end, s."""
        happened = result.events.times
        times = np.concatenate([result.t, np.repeat(happened, 2), [start, end]])
        # An event is before, then after; the ends stand last, and only where no sample is.
        order = np.argsort(times, kind="stable")
        inside = (times >= start) & (times <= end)
        inside[-2:] = ~np.isin([start, end], result.t)
        # What is between two events of one instant has never been.
        first = np.diff(happened, prepend=-np.inf) > 0.0
        last = np.diff(happened, append=np.inf) > 0.0
        inside[len(result.t) : -2] &= np.column_stack([first, last]).ravel()
        order = order[inside[order]]
        return cls(result, times[order], order, Between.of(result.t, [start, end]))

    def values(self, name: str) -> Array:
        """Course of a quantity, (k, *shape)."""
        samples, (before, after) = np.asarray(self.result[name], dtype=float), self.result.at_events(name)
        sides = np.stack([before, after], axis=1).reshape(-1, *samples.shape[1:])
        held = self.result.program.layout[name].block == "m"
        ends = samples[self.ends.low] if held else self.ends.values(samples)
        return np.concatenate([samples, sides, ends])[self.order]


@dataclass(frozen=True, eq=False)
class Thinning:
    """At most so many of many rows: two of each of the stretches into which they are cut, one of a stretch of one.

    Where a course is nearly straight in a stretch, its ends are kept; elsewhere its least and its largest value, in the order
    in which they come: nothing that is short is lost.

    Attributes
    ----------
    t : times (k,) of all rows, s.
    first, last : rows (n,) at which stretches start and end.
    """

    t: Array
    first: NDArray[np.intp]
    last: NDArray[np.intp]

    @classmethod
    def of(cls, t: Array, count: int) -> Thinning:
        """Of rows at t (k,); half of all stretches follow time, half the rows."""
        rows = np.arange(len(t))
        if len(t) <= count:
            return cls(t, rows, rows)
        way = (t - t[0]) / ((t[-1] - t[0]) or 1.0) + rows / (len(t) - 1)
        stretch = np.minimum((0.25 * count * way).astype(int), count // 2 - 1)
        first = np.flatnonzero(np.diff(stretch, prepend=-1))
        return cls(t, first, np.append(first[1:], len(t)) - 1)

    @property
    def _two(self) -> NDArray[np.bool_]:
        """Which of first and last rows (n, 2) are kept."""
        return np.column_stack([np.ones(len(self.first), dtype=bool), self.last > self.first])

    @property
    def times(self) -> Array:
        """Of the rows that are kept, s."""
        return np.asarray(self.t[np.column_stack([self.first, self.last])[self._two]])

    def kept(self, values: Array) -> Array:
        """Values (j,) of values (k,) in all rows; what is not finite is none."""
        pair = np.column_stack([values[self.first], values[self.last]])
        if len(self.first) < len(self.t):
            known = np.where(np.isfinite(values), values, np.nan)
            low, high = np.fmin.reduceat(known, self.first), np.fmax.reduceat(known, self.first)
            bent = np.maximum.reduceat(np.abs(known - self._chord(known)), self.first)
            limit = STRAIGHT * (np.nanmax(high) - np.nanmin(low)) if np.isfinite(high).any() else 0.0
            # What is not a number is no line either.
            bent = ~(bent <= limit)
            extremes = np.column_stack([low, high])
            rising = self._row_of(known, low) <= self._row_of(known, high)
            pair[bent] = np.where(rising[:, None], extremes, extremes[:, ::-1])[bent]
        return np.asarray(pair[self._two])

    def _chord(self, values: Array) -> Array:
        """The line (k,) from the first to the last row of every stretch; a jump between rows of one time is none."""
        sizes = self.last - self.first + 1
        start, end = (np.repeat(values[rows], sizes) for rows in (self.first, self.last))
        since, until = (np.repeat(self.t[rows], sizes) for rows in (self.first, self.last))
        part = (self.t - since) / np.where(until > since, until - since, 1.0)
        return np.asarray(start + part * (end - start))

    def _row_of(self, values: Array, wanted: Array) -> NDArray[np.intp]:
        """The first row (n,) of each stretch that has the value (n,) wanted there."""
        here = values == np.repeat(wanted, self.last - self.first + 1)
        rows = np.where(here, np.arange(len(values)), len(values))
        return np.asarray(np.minimum.reduceat(rows, self.first))
