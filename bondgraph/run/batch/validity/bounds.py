"""Bounds on the change of the constraint matrix from one sample to the next, within which no loss of rank is suspected.

`outcome.singular` looks for positions where the root of the smallest eigenvalue falls to zero and rises again, and suspects an
interval of samples only where this root changes fast enough.
"""

from __future__ import annotations

import numpy as np

from bondgraph.run.validation.constraint_rank import EXTRAPOLATION

# Relative rounding margin of the bounds beyond which an interval is suspected.
_ROUNDING = 1e-3
# Ratio of neighbouring intervals from which only rounding distinguishes them.
_UNLIKE = 1e6


def bounds(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each time of t (k,) and the one before, the least fraction of the earlier eigenvalues that must remain, and the
    least fraction of the present ones that must have been there before, for `singular` to suspect no interval.

    An interval of length L that begins at a root s is suspected if the straight line through s and the root s' at the time d
    before reaches zero within (1 + BEYOND) L: s' > s (1 + d / ((1 + BEYOND) L)); likewise on its other side. Eigenvalues are
    squares of roots.
    """
    d = np.diff(t)
    reach = (1.0 + EXTRAPOLATION) * (1.0 + _ROUNDING)
    falls, rises = np.zeros(len(t)), np.zeros(len(t))
    falls[1:-1] = (1.0 + d[:-1] / (reach * d[1:])) ** -2
    rises[2:] = (1.0 + d[1:] / (reach * d[:-1])) ** -2
    unlike = np.flatnonzero((d[1:] > _UNLIKE * d[:-1]) | (d[:-1] > _UNLIKE * d[1:]))
    falls[unlike + 1] = rises[unlike + 2] = np.inf  # which nothing satisfies
    return falls, rises
