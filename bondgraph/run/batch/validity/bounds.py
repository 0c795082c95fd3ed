"""Bounds on the change of the constraint matrix from one sample to the next, within which no loss of rank is suspected.

`outcome.singular` looks for positions where the root of the smallest eigenvalue falls to zero and rises again, and suspects an
interval of samples only where this root changes fast enough.
"""

from __future__ import annotations

import numpy as np

from bondgraph.run.validation.constraint_rank import EXTRAPOLATION

# Of the bounds beyond which an interval is suspected: what rounding may move them by.
_ROUNDING = 1e-3
# Intervals so many times as long as their neighbours are told from these by rounding only.
_UNLIKE = 1e6


def bounds(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each time of t (k,) and the one before: the least part of the eigenvalues before that must be left, and the least part
    of those now that must have been there before, so that `singular` suspects no interval.

    An interval of length L that begins at a root s is suspected if the straight line on which it came, from s' at the time d
    before, is zero within (1 + BEYOND) L: s' > s (1 + d / ((1 + BEYOND) L)); on its other side likewise. Eigenvalues are squares
    of roots.
    """
    d = np.diff(t)
    reach = (1.0 + EXTRAPOLATION) * (1.0 + _ROUNDING)
    falls, rises = np.zeros(len(t)), np.zeros(len(t))
    falls[1:-1] = (1.0 + d[:-1] / (reach * d[1:])) ** -2
    rises[2:] = (1.0 + d[1:] / (reach * d[:-1])) ** -2
    unlike = np.flatnonzero((d[1:] > _UNLIKE * d[:-1]) | (d[:-1] > _UNLIKE * d[1:]))
    falls[unlike + 1] = rises[unlike + 2] = np.inf  # which nothing fulfils
    return falls, rises
