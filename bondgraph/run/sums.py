"""Sums in the order of their terms, as a loop makes them: the same bits in machine code and on every processor.

NumPy adds in pairs and in lanes, whose order is a matter of its version and of the processor.
"""

from __future__ import annotations

import numpy as np


def in_order(terms: np.ndarray) -> float:
    """The sum of terms (k,), one after the other from the first; 0 of none."""
    return float(np.add.accumulate(terms)[-1]) if len(terms) else 0.0
