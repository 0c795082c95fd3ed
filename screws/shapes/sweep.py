"""Boxes around shapes in -> pairs of shapes whose boxes overlap: sort and sweep along the widest direction (Baraff 1992).

In the literature: the broad phase of collision detection.
"""

from __future__ import annotations

import numpy as np

__all__ = ["overlapping"]


def overlapping(low: np.ndarray, high: np.ndarray, allowed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Indices i < j of boxes (n, 3) that overlap or touch, where `allowed` (n, n) says so; in ascending order.

    Boxes may be infinite. Cost: n log n, and the pairs that overlap along the direction that is swept.
    """
    finite = np.all(np.isfinite(low) & np.isfinite(high), axis=1)
    middle = 0.5 * (low[finite] + high[finite])
    axis = int(np.argmax(np.ptp(middle, axis=0))) if len(middle) else 0
    order = np.argsort(low[:, axis], kind="stable")
    begin, end = low[order, axis], high[order, axis]
    here = np.arange(len(order))
    last = np.searchsorted(begin, end, side="right")
    count = last - here - 1
    first = np.repeat(here, count)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(count) - count, count)
    i, j = order[first], order[second]
    i, j = np.minimum(i, j), np.maximum(i, j)
    keep = allowed[i, j] & np.all((low[i] <= high[j]) & (low[j] <= high[i]), axis=1)
    i, j = i[keep], j[keep]
    sorted_rows = np.lexsort((j, i))
    return i[sorted_rows], j[sorted_rows]
