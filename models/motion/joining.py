"""Motions of several axes, and rests, made of simple ones."""

from __future__ import annotations

from math import factorial

import numpy as np
from screwbond.models.motion.polynomials import Array, Motion, piece_starts, horner, pad_powers, extended_coefficients
from screwbond.models.motion.refusals import numbers, refuse


def axes(*motions: Motion) -> Motion:
    """Motions side by side, each along axes of its own: r = (r1, r2 ...); each keeps its own time."""
    if not motions:
        refuse("E470", "a motion of no axes", "", "one motion or more")
    breaks = np.unique(np.concatenate([motion.breaks for motion in motions]))
    order = max(extended_coefficients(motion).shape[1] for motion in motions)
    columns = [pad_powers(_refine_breaks(motion, breaks), order) for motion in motions]
    shaped = [c[:, :, None] if c.ndim == 2 else c for c in columns]
    return Motion(breaks, np.concatenate(shaped, axis=2))


def _refine_breaks(motion: Motion, breaks: Array) -> Array:
    """Coefficients of the same polynomials counted from other breaks, which hold the motion's own."""
    table = extended_coefficients(motion)
    index = np.searchsorted(motion.breaks, breaks[:-1], side="right")
    shifts = breaks[:-1] - piece_starts(motion.breaks)[index]
    return np.array(
        [
            [horner(shift, table[k], power) / factorial(power) for power in range(table.shape[1])]
            for k, shift in zip(index, shifts, strict=True)
        ]
    )


def hold(position: float | Array | list[float] | tuple[float, ...], duration: float, start: float = 0.0) -> Motion:
    """Rest at a position () or (axes,) for a time (s)."""
    point = numbers("the position", position)
    if not numbers("the duration", duration, (0,)) > 0.0:
        refuse("E471", f"a motion lasts {duration!r} s", "", "a duration above 0 s")
    return Motion(np.array([start, start + duration]), np.stack([point, np.zeros_like(point)])[None])
