"""Points next to one, a few units in the last place away: what values do there is what rounding makes of them.

So a value is small or large beside its own rounding, whatever its unit; no number is small by itself.
"""

from __future__ import annotations

import functools

import numpy as np

ULPS = 2.0**-50
"""How far away the points are, relative to each number."""

PAIRS = 4
"""Pairs of points, the two of each on opposite sides."""

MARGIN = 4.0
"""How much more than what was seen rounding may be."""


@functools.lru_cache(maxsize=64)
def nudges(count: int) -> np.ndarray:
    """Relative changes (2 PAIRS, count) of `count` numbers, the same at every call, to read only; row k + PAIRS is opposite to
    row k."""
    rng = np.random.default_rng(0)
    half = rng.choice([-1.0, 1.0], (PAIRS, count)) * rng.uniform(0.5, 1.0, (PAIRS, count))
    made = ULPS * np.concatenate([half, -half])
    made.flags.writeable = False
    return made


def spread(value: np.ndarray, near: np.ndarray) -> np.ndarray:
    """What rounding makes of `value` (...), which is `near` (2 PAIRS, ...) at the points of `nudges`. Of two opposite ones the
    nearer counts, for a law may jump here."""
    off = np.abs(near - value)
    return np.asarray(MARGIN * np.fmax.reduce(np.fmin(off[:PAIRS], off[PAIRS:]), axis=0))
