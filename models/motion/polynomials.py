"""Motions as piecewise polynomials in time, stored in frozen records and evaluated with NumPy or traceable formulas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import factorial
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bondgraph.errors import refusal
from screws.arrays import Natural
from screws.names import answer_old_names
from screws.scalars import array, less, where


def refuse(code: str, title: str, details: str | tuple[str, ...], cure: str, name: str = "motion") -> NoReturn:
    raise refusal(code, title, cure, about=name, why=details or ())


def numbers(what: str, value: Any, dimensions: tuple[int, ...] = (0, 1), name: str = "motion") -> NDArray[np.float64]:
    try:
        values = np.array(value, dtype=float)
    except (TypeError, ValueError):
        values = np.full((0,) * 9, 0.0)
    if values.ndim not in dimensions or not np.isfinite(values).all() or not values.size:
        kinds = " or ".join({0: "a number", 1: "a list of numbers", 2: "a list of points"}[d] for d in dimensions)
        refuse("E470", f"{what} is {value!r}", f"it must be {kinds}, all finite", kinds, name)
    return values


Array = NDArray[np.float64]

QUANTITIES = ("position", "velocity", "acceleration", "jerk")

REST_TOLERANCE = 1e-12
"""Fraction of the largest velocity up to which an end velocity counts as rounding error and is set to zero."""


@answer_old_names
@dataclass(frozen=True, init=False)
class Motion:
    """Piecewise polynomial r(t), scalar or vector; outside its breaks it continues with its end velocities.

    Between breaks k and k + 1, r = sum of coefficients[k, i] (t - breaks[k])^i. A motion that ends at rest stays there. At a
    break, the piece that begins there gives the values. Position and velocity must be continuous.

    Parameters
    ----------
    breaks : (N + 1,) ascending times, s.
    coefficients : (N, m) for a scalar motion, (N, m, n) for n axes, lowest power first; N >= 1.

    Raises `ModelError` E470 for arrays that do not match or are not finite, E471 for times that do not ascend, E472 for a jump.
    """

    breaks: Array
    coefficients: Array

    _cure_of_call = ".position(t)"

    def __init__(self, breaks: ArrayLike, coefficients: ArrayLike):
        breaks, table = np.array(breaks, dtype=float), np.array(coefficients, dtype=float)
        fit = breaks.ndim == 1 and table.ndim in (2, 3) and len(table) == len(breaks) - 1 >= 1 and table.shape[1] >= 1
        if not fit or not (np.isfinite(breaks).all() and np.isfinite(table).all()):
            title = "breaks and coefficients of a motion do not match"
            why = f"breaks {breaks.shape}, coefficients {table.shape}; all must be finite"
            refuse("E470", title, why, "N + 1 breaks for N pieces: coefficients (N, order + 1) or (N, order + 1, axes)")
        check_times(breaks)
        for values in (breaks, table):
            values.setflags(write=False)
        object.__setattr__(self, "breaks", breaks)
        object.__setattr__(self, "coefficients", table)
        check_jumps(self)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of r: () or (axes,)."""
        return self.coefficients.shape[2:]

    @property
    def start(self) -> float:
        """Time of the first break, s."""
        return float(self.breaks[0])

    @property
    def end(self) -> float:
        """Time of the last break, s."""
        return float(self.breaks[-1])

    @property
    def duration(self) -> float:
        """Time from the first to the last break, s."""
        return self.end - self.start

    def position(self, t: ArrayLike) -> Array:
        """Return r at times t (...), with the shape (..., axes) or (...)."""
        return self.derivative(t, 0)

    def velocity(self, t: ArrayLike) -> Array:
        """Return r' at times t (...)."""
        return self.derivative(t, 1)

    def acceleration(self, t: ArrayLike) -> Array:
        """Return r'' at times t (...)."""
        return self.derivative(t, 2)

    def jerk(self, t: ArrayLike) -> Array:
        """Return r''' at times t (...)."""
        return self.derivative(t, 3)

    def derivative(self, t: ArrayLike, order: Natural) -> Array:
        """Return the derivative of r of any order at times t (...), with the shape (..., axes) or (...)."""
        times = np.asarray(t, dtype=float)
        piece = np.searchsorted(self.breaks, times, side="right")
        elapsed = times - piece_starts(self.breaks)[piece]
        table = np.moveaxis(extended_coefficients(self), 1, 0)[:, piece]
        return np.asarray(horner(elapsed[..., None] if self.shape else elapsed, table, order))

    def extremes(self, order: Natural = 0) -> tuple[Array, Array, Array, Array]:
        """Return (minimum, its time, maximum, its time) of a derivative between start and end, (axes,) or () each."""
        times, values = _extreme_candidates(self, order)
        low, high = values.argmin(axis=0, keepdims=True), values.argmax(axis=0, keepdims=True)
        entries = (np.take_along_axis(table, at, axis=0)[0] for at in (low, high) for table in (values, times))
        return tuple(map(np.asarray, entries))  # type: ignore[return-value]

    def peak(self, order: Natural) -> Array:
        """Return the largest absolute value (axes,) or () of a derivative, including both one-sided values at a jump."""
        low, _, high, _ = self.extremes(order)
        return np.maximum(-low, high)

    def smoothness(self) -> int:
        """Count the derivatives that are continuous at all times, including both ends (within rounding error): 1 to 3."""
        jumps = [largest_jump(self, order).relative_size for order in (2, 3)]
        return 1 + int(jumps[0] < 1e-9) + int(jumps[0] < 1e-9 and jumps[1] < 1e-9)

    def scaled(self, factor: float) -> Motion:
        """Return the motion with its duration multiplied by `factor`, and the same path and start time."""
        if not (np.isfinite(factor) and factor > 0.0):
            refuse("E471", f"the duration of a motion cannot be scaled by {factor!r}", "", "a factor above 0")
        powers = factor ** -np.arange(self.coefficients.shape[1], dtype=float)
        shaped = powers.reshape(1, -1, *(1,) * len(self.shape))
        return Motion(self.start + factor * (self.breaks - self.start), self.coefficients * shaped)

    def starting_at(self, t: float) -> Motion:
        """Return the motion shifted in time so that it begins at t, s."""
        return Motion(self.breaks + (float(numbers("the start", t, (0,))) - self.start), self.coefficients)

    def then(self, following: Motion, pause: float = 0.0) -> Motion:
        """Return this motion followed by a pause (s) and another motion, shifted in time; see `sequence`."""
        return sequence(self, following, pause=pause)


def piece_starts(breaks: Any) -> Any:
    """Return the base time of each piece: the first break for the piece before it, and each break for the piece after it."""
    return array([breaks[0], *breaks])


def extended_coefficients(motion: Motion) -> Array:
    """Return coefficients (N + 2, m, ...), m >= 2, that include the uniform motions before the start and after the end."""
    table = pad_powers(motion.coefficients, 2)
    first, last = np.zeros_like(table[:1]), np.zeros_like(table[:1])
    steps = np.diff(motion.breaks)
    speeds = np.abs(table[:, 1]).max() if table.size else 0.0
    slow = REST_TOLERANCE * max(speeds, float(np.abs(table[:, 0] - table[0, 0]).max()) / motion.duration)
    first[0, :2] = table[0, :2]
    last[0, 0] = horner(steps[-1], table[-1], 0)
    last[0, 1] = horner(steps[-1], table[-1], 1)
    for end in (first, last):
        end[0, 1] = np.where(np.abs(end[0, 1]) <= slow, 0.0, end[0, 1])
    return np.concatenate([first, table, last])


def horner(elapsed: Any, polynomial: Any, order: int) -> Any:
    """Evaluate a derivative of a polynomial (m, ...), lowest power first, for any scalar type."""
    count = len(polynomial)
    if count <= order:
        return 0.0 * polynomial[0]
    total = polynomial[count - 1] * (factorial(count - 1) / factorial(count - 1 - order))
    for power in reversed(range(order, count - 1)):
        total = total * elapsed + polynomial[power] * (factorial(power) / factorial(power - order))
    return total


def select_piece(t: Any, breaks: Any, table: Sequence[Any] | np.ndarray) -> Any:
    if len(table) == 1:
        return table[0]
    middle = len(table) // 2
    before = select_piece(t, breaks[: middle - 1], table[:middle])
    return where(less(t, breaks[middle - 1]), before, select_piece(t, breaks[middle:], table[middle:]))


def check_times(times: Array) -> None:
    bad = np.flatnonzero(~(np.diff(times) > 0.0))
    if bad.size:
        k = int(bad[0])
        why = f"{times[k]:g} s is followed by {times[k + 1]:g} s, at index {k + 1}"
        refuse("E471", "the times do not ascend", why, "ascending times; `hold` for a pause")


@dataclass(frozen=True)
class Jump:
    """Jump of a derivative at a break: values before and after, time (s), axis, and size relative to a bound of the
    derivative."""

    relative_size: float
    before: float
    after: float
    time: float
    axis: tuple[int, ...]


def largest_jump(motion: Motion, order: int) -> Jump:
    table, breaks = extended_coefficients(motion), motion.breaks
    steps = breaks - piece_starts(breaks)[:-1]
    before = np.array([horner(h, polynomial, order) for h, polynomial in zip(steps, table[:-1], strict=True)])
    after = table[1:, order] * factorial(order) if table.shape[1] > order else np.zeros_like(before)
    jumps = np.abs(after - before)
    size = max(_bound(motion, order), float(np.abs(before).max()), float(np.abs(after).max()))
    at = np.unravel_index(int(jumps.argmax()), jumps.shape)
    axis = tuple(int(k) for k in at[1:])
    return Jump(float(jumps[at]) / size if size else 0.0, float(before[at]), float(after[at]), float(breaks[at[0]]), axis)


def _bound(motion: Motion, order: int) -> float:
    steps = np.diff(motion.breaks).reshape(-1, *(1,) * len(motion.shape))
    return float(np.max(horner(steps, np.abs(np.moveaxis(motion.coefficients, 1, 0)), order)))


def check_jumps(motion: Motion) -> None:
    for order in (0, 1):
        jump = largest_jump(motion, order)
        if jump.relative_size > 1e-9:
            place = f" along axis {jump.axis[0]}" if jump.axis else ""
            title = f"the {QUANTITIES[order]} of a motion jumps at {jump.time:g} s{place}"
            cure = "phases that meet at equal position and velocity, such as rest, or a `quintic` in between"
            refuse("E472", title, f"from {jump.before:.6g} to {jump.after:.6g}", cure)


def _extreme_candidates(motion: Motion, order: int) -> tuple[Array, Array]:
    flat = motion.coefficients.reshape(*motion.coefficients.shape[:2], -1)
    steps, axes = np.diff(motion.breaks), flat.shape[2]
    degree = max(flat.shape[1] - 1 - order, 0)
    elapsed = np.zeros((len(flat), degree + 1, axes))
    if degree:
        elapsed[:, 1] = steps[:, None]
    for k, axis in np.ndindex(len(flat), axes):
        roots = _derivative_roots(flat[k, :, axis], order + 1, float(steps[k]))
        elapsed[k, 2 : 2 + len(roots), axis] = roots
    values = np.array([horner(u, p[:, None, :], order) for u, p in zip(elapsed, flat, strict=True)])
    times = elapsed + motion.breaks[:-1, None, None]
    shape = (-1, *motion.shape)
    return times.reshape(shape), values.reshape(shape)


def _derivative_roots(polynomial: Array, order: int, step: float) -> Array:
    count = len(polynomial) - order
    if count <= 1:
        return np.zeros(0)
    # Scaled by the step, so that negligible leading coefficients can be dropped.
    scaled = [polynomial[k + order] * factorial(k + order) / factorial(k) * step**k for k in range(count)]
    size = max(map(abs, scaled))
    while scaled and abs(scaled[-1]) <= 1e-14 * size:
        scaled.pop()
    roots = np.roots(scaled[::-1])
    real = roots[np.abs(roots.imag) < 1e-7].real
    return step * real[(real > 0.0) & (real < 1.0)]


def sequence(*motions: Motion, pause: float = 0.0) -> Motion:
    """Concatenate motions, with a pause (s) between; each motion is shifted in time to begin when the previous motion ends.

    Raises `ModelError` E470 for no motion or for different numbers of axes, E471 for a negative pause, E472 where position or
    velocity jumps.
    """
    if not motions or len({motion.shape for motion in motions}) > 1:
        shapes = ", ".join(str(motion.shape) for motion in motions) or "none"
        title = "consecutive motions have different shapes"
        refuse("E470", title, f"given: {shapes}", "at least one motion, all with the same axes")
    if not numbers("the pause", pause, (0,)) >= 0.0:
        refuse("E471", f"a pause of {pause!r} s between motions", "", "a pause of 0 s or more")
    order = max(extended_coefficients(motion).shape[1] for motion in motions)
    breaks, tables = [motions[0].start], []
    for k, motion in enumerate(motions):
        if k and pause > 0.0:
            tables.append(pad_powers(extended_coefficients(motions[k - 1])[-1:], order))
            breaks.append(breaks[-1] + pause)
        tables.append(pad_powers(extended_coefficients(motion)[1:-1], order))
        breaks.extend(breaks[-1] + (motion.breaks[1:] - motion.start))
    return Motion(np.array(breaks), np.concatenate(tables))


def pad_powers(table: Array, order: int) -> Array:
    missing = max(order - table.shape[1], 0)
    return np.concatenate([table, np.zeros((len(table), missing, *table.shape[2:]))], axis=1)


def axes(*motions: Motion) -> Motion:
    """Stack motions along separate axes: r = (r1, r2 ...); each keeps its own time."""
    if not motions:
        refuse("E470", "a motion without axes", "", "at least one motion")
    breaks = np.unique(np.concatenate([motion.breaks for motion in motions]))
    order = max(extended_coefficients(motion).shape[1] for motion in motions)
    columns = [pad_powers(_refine_breaks(motion, breaks), order) for motion in motions]
    shaped = [c[:, :, None] if c.ndim == 2 else c for c in columns]
    return Motion(breaks, np.concatenate(shaped, axis=2))


def _refine_breaks(motion: Motion, breaks: Array) -> Array:
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
    """Return a motion at rest at a position () or (axes,) for a duration (s); raise E470 for an invalid position, E471 for a
    duration that is not positive."""
    point = numbers("the position", position)
    if not numbers("the duration", duration, (0,)) > 0.0:
        refuse("E471", f"a motion lasts {duration!r} s", "", "a duration above 0 s")
    return Motion(np.array([start, start + duration]), np.stack([point, np.zeros_like(point)])[None])


LIMIT_TOLERANCE = 1e-9


def limit_values(shape: tuple[int, ...], velocity: Any, acceleration: Any, jerk: Any) -> dict[int, Array]:
    """Return limits by order of derivative (1, 2, 3), each with the shape of r, infinite where the argument is None.

    Raises `ModelError` E470 for limits that are not positive or do not match the axes.
    """
    limits = {}
    for order, limit in ((1, velocity), (2, acceleration), (3, jerk)):
        if limit is None:
            limits[order] = np.full(shape, np.inf)
            continue
        value = numbers(f"the limit of {QUANTITIES[order]}", limit)
        if value.shape not in ((), shape) or not np.all(value > 0.0):
            title = f"the limit of {QUANTITIES[order]} is {limit!r}"
            refuse("E470", title, f"the motion has the shape {shape}", "a positive number, or one for each axis")
        limits[order] = np.broadcast_to(value, shape)
    return limits


def time_factor(peak: Callable[[int], Array], limits: dict[int, Array]) -> float:
    """Return the factor of the times at which a motion from rest to rest just reaches a limit, from the peaks of its derivatives,
    or 0 without finite limits."""
    return max(float(np.max(peak(k) / limit)) ** (1.0 / k) for k, limit in limits.items())


def limit_ratio(motion: Motion, limits: dict[int, Array]) -> float:
    return max(float(np.max(motion.peak(k) / limit)) for k, limit in limits.items())


def violations(motion: Motion, limits: dict[int, Array]) -> tuple[str, ...]:
    lines = []
    for order, limit in limits.items():
        low, low_at, high, high_at = motion.extremes(order)
        peak = np.maximum(-low, high)
        ratio = np.atleast_1d(peak / limit)
        axis = int(np.argmax(ratio))
        if ratio[axis] > 1.0 + LIMIT_TOLERANCE:
            when = np.atleast_1d(np.where(-low > high, low_at, high_at))[axis]
            along = f" along axis {axis}" if motion.shape else ""
            lines.append(
                f"{QUANTITIES[order]}{along} reaches {np.atleast_1d(peak)[axis]:.6g} at {when:.6g} s, "
                f"limit {np.atleast_1d(limit)[axis]:.6g}"
            )
    return tuple(lines)


def check_limits(motion: Motion, limits: dict[int, Array], shortest: float | None = None) -> None:
    lines = violations(motion, limits)
    if lines:
        cure = "omit the times, so that they are computed" if shortest is None else f"a duration of {shortest:.6g} s or more"
        refuse("E473", "the motion exceeds its limits with the given times", lines, cure)
