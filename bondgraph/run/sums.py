"""Sums in the order of their terms, as a loop makes them: the same bits in machine code and on every processor.

NumPy adds in pairs and in lanes, whose order is a matter of its version and of the processor.
"""

from __future__ import annotations

import numpy as np


def in_order(terms: np.ndarray) -> float:
    """The sum of terms (k,), one after the other from the first; 0 of none."""
    return float(np.add.accumulate(terms)[-1]) if len(terms) else 0.0


_AT_ONCE = 2**17
"""Numbers that are added up at once."""


def rows_in_order(terms: np.ndarray) -> np.ndarray:
    """The sum of every row of terms (rows, k), (rows,)."""
    total, step = np.zeros(len(terms)), max(1, _AT_ONCE // max(terms.shape[1], 1))
    for first in range(0, len(terms) if terms.shape[1] else 0, step):
        part = slice(first, first + step)
        total[part] += np.add.accumulate(terms[part], axis=1)[:, -1]
    return total
