"""Motions from points: quintic smooth steps, S-curves with jerk limits, and cubic splines through waypoints within limits."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from screwbond.models.motion.polynomials import (
    LIMIT_TOLERANCE,
    Array,
    Motion,
    check_limits,
    check_times,
    limit_ratio,
    limit_values,
    numbers,
    refuse,
    sequence,
    time_factor,
    violations,
)

from bondgraph.signals.formulas import SMOOTH
from screws.errors import plural


def quintic(start: ArrayLike, end: ArrayLike, t0: float, t1: float) -> Motion:
    """Return a quintic smooth step from `start` to `end`, () or (axes,), from t0 to t1 (s), with two continuous derivatives.

    Raises `ModelError` E470 for inconsistent points, E471 unless t0 < t1.
    """
    first, last = _end_points(start, end)
    times = numbers("the time", (t0, t1))
    check_times(times)
    powers = np.array(SMOOTH) / (times[1] - times[0]) ** np.arange(6.0)
    table = np.multiply.outer(powers, last - first)
    table[0] = first
    return Motion(times, table[None])


def s_curve(
    start: ArrayLike,
    end: ArrayLike,
    *,
    jerk: Any,
    acceleration: Any = None,
    velocity: Any = None,
    duration: float | None = None,
    at: float = 0.0,
) -> Motion:
    """Return the fastest straight motion from rest to rest within limits: piecewise constant jerk, up to seven cubic pieces.

    Parameters
    ----------
    start, end : () or (axes,); all axes are synchronised.
    jerk, acceleration, velocity : limits of absolute values, a number or (axes,), in the unit of r per s^3, s^2 and s.
    duration : s; if longer than the shortest duration, the same curve is slowed down.
    at : time of the start, s.

    Raises `ModelError` E470 for invalid points or limits, E471 if start and end coincide, E473 for a duration that is too short.

    Source: Biagiotti and Melchiorri 2008, section 3.4 (double S).
    """
    first, last = _end_points(start, end)
    if jerk is None:
        refuse("E470", "an S-curve without a jerk limit", "its acceleration would jump", "a jerk limit, or `quintic`")
    limits = limit_values(first.shape, velocity, acceleration, jerk)
    length = np.abs(last - first)
    if not length.any():
        refuse("E471", "a motion from a point to itself has no duration", f"from {first} to {last}", "`hold` for a pause")
    with np.errstate(divide="ignore"):
        v, a, j = (float(np.min(np.where(length > 0.0, limits[k] / length, np.inf))) for k in (1, 2, 3))
    steps, signs = _double_s(v, a, j)
    motion = _motion_from_jerk(first, last, np.array(steps), np.array(signs))
    if duration is not None:
        slow = motion.scaled(float(numbers("the duration", duration, (0,))) / motion.duration)
        check_limits(slow, limits, motion.duration)
        motion = slow
    return motion.starting_at(at)


def _double_s(v: float, a: float, j: float) -> tuple[list[float], list[float]]:
    """Return durations and signs of the jerk phases for a distance of 1, from rest to rest."""
    if v * j >= a * a:
        ramp = a / j
        rise = ramp + v / a
    else:
        ramp = (v / j) ** 0.5
        rise = 2.0 * ramp
    cruise = 1.0 / v - rise
    if not cruise > 0.0:
        # The velocity limit is not reached.
        cruise = 0.0
        if 2.0 * a**3 <= j * j:
            ramp = a / j
            rise = 0.5 * ramp + (0.25 * ramp * ramp + 1.0 / a) ** 0.5
        else:
            ramp = (0.5 / j) ** (1.0 / 3.0)
            rise = 2.0 * ramp
    flat = rise - 2.0 * ramp
    phases = [(ramp, 1), (flat, 0), (ramp, -1), (cruise, 0), (ramp, -1), (flat, 0), (ramp, 1)]
    nonzero = [phase for phase in phases if phase[0] > 1e-12 * rise]
    return [step for step, _ in nonzero], [float(sign) for _, sign in nonzero]


def _motion_from_jerk(first: Array, last: Array, steps: Array, signs: Array) -> Motion:
    rows, state = [], np.zeros(3)
    for h, sign in zip(steps, signs, strict=True):
        rows.append([state[0], state[1], state[2] / 2.0, sign / 6.0])
        x, v, a = state
        state = np.array([x + h * (v + h * (a / 2.0 + h * sign / 6.0)), v + h * (a + h * sign / 2.0), a + h * sign])
    table = np.multiply.outer(np.array(rows) / state[0], last - first)
    table[:, 0] += first
    return Motion(np.concatenate([[0.0], np.cumsum(steps)]), table)


def pick_and_place(
    pick: ArrayLike,
    place: ArrayLike,
    lift: ArrayLike,
    *,
    jerk: Any,
    acceleration: Any = None,
    velocity: Any = None,
    pause: float = 0.0,
    at: float = 0.0,
) -> Motion:
    """Return the motion from `pick` by the vector `lift`, across, and by -`lift` to `place`: three `s_curve` motions with rests
    between them.

    Parameters
    ----------
    pick, place, lift : (axes,).
    jerk, acceleration, velocity : limits as for `s_curve`.
    pause : duration of rest between phases, s.
    at : time of the start, s.

    Raises the errors of `s_curve` and `sequence`.
    """
    first, last = _end_points(pick, place)
    up = numbers("the lift", lift)
    if up.shape not in ((), first.shape):
        title = "the lift of a motion does not match its axes"
        refuse("E470", title, f"{up.shape} and {first.shape}", "a number for each axis")
    points = [first, first + up, last + up, last]
    limits = {"jerk": jerk, "acceleration": acceleration, "velocity": velocity}
    phases = [s_curve(a, b, **limits) for a, b in pairwise(points)]
    return sequence(*phases, pause=pause).starting_at(at)


def _end_points(start: ArrayLike, end: ArrayLike) -> tuple[Array, Array]:
    first, last = numbers("the start", start), numbers("the end", end)
    if first.shape != last.shape:
        title = "start and end of a motion have different shapes"
        refuse("E470", title, f"{first.shape} and {last.shape}", "two numbers, or two points with the same axes")
    return first, last


MIN_GAIN = 1e-7


def cubic_spline(
    waypoints: ArrayLike,
    times: ArrayLike | None = None,
    *,
    velocity: Any = None,
    acceleration: Any = None,
    jerk: Any = None,
    start_velocity: ArrayLike = 0.0,
    end_velocity: ArrayLike = 0.0,
    at: float = 0.0,
    shortest: bool = False,
) -> Motion:
    """Return the cubic spline with two continuous derivatives everywhere: its acceleration is zero at both ends.

    To this end, the first and last segments have an extra knot each. Without `times`, the proportions of the segment times follow
    from their lengths and the limits, and the motion is as short as the limits allow for these proportions.

    Parameters
    ----------
    waypoints : (points,) or (points, axes), two or more.
    times : (points,) s, or None.
    velocity, acceleration, jerk : limits of absolute values, a number or (axes,), in the unit of r per s, s^2, s^3, or None.
    start_velocity, end_velocity : () or (axes,), with which the motion continues before its start and after its end.
    at : start time if `times` is None, s.
    shortest : True to optimise the proportions and the extra knots too, if `times` is None.

    Raises `ModelError` E470 for mismatched arrays, or neither times nor limits; E471 for times that do not ascend, or equal
    consecutive points; E473 for given times that are too short for a limit; E474 for limits that no duration satisfies.

    Source: Biagiotti and Melchiorri 2008, section 4.4 (splines with given velocities and accelerations at the ends); Lin, Chang
    and Luh 1983 (simplex search for the shortest duration).
    """
    points = numbers("the list of waypoints", waypoints, (1, 2))
    if len(points) < 2:
        refuse("E470", "a motion through one waypoint", "", "two waypoints or more, or `hold`")
    shape = points.shape[1:]
    limits = limit_values(shape, velocity, acceleration, jerk)
    ends = _end_velocities(shape, start_velocity, end_velocity)
    if times is not None:
        knot_times = numbers("the list of times", times)
        if knot_times.shape != (len(points),):
            title = "times and waypoints do not match"
            refuse("E470", title, f"{plural(len(points), 'point')}, times {knot_times.shape}", "one time for each waypoint")
        check_times(knot_times)
        motion = _spline(points, knot_times, ends)
        factor = 1.0 if np.any(ends) else time_factor(motion.peak, limits)
        check_limits(motion, limits, motion.duration * factor if factor > 1.0 else None)
        return motion
    if all(np.isinf(limit).all() for limit in limits.values()):
        title = "the duration of the motion is not determined"
        refuse("E470", title, "neither times nor limits are given", "times, or a limit of velocity, acceleration or jerk")
    segment_times, fractions = _segment_times(points, limits), _knot_fractions(points)
    if shortest:
        segment_times, fractions = _minimise_duration(points, segment_times, fractions, limits)
    knots = np.concatenate([[0.0], np.cumsum(segment_times)])
    if np.any(ends):
        return _shortest_duration(points, knots, ends, limits, fractions).starting_at(at)
    motion = _spline(points, at + knots, ends, fractions)
    return motion.scaled(time_factor(motion.peak, limits))


def _end_velocities(shape: tuple[int, ...], start: ArrayLike, end: ArrayLike) -> Array:
    ends = [numbers("the end velocity", value) for value in (start, end)]
    if any(value.shape not in ((), shape) for value in ends):
        title = "velocities at the ends of a motion do not match its axes"
        refuse("E470", title, f"{ends[0].shape} and {ends[1].shape}", "a number, or one for each axis")
    return np.array([np.broadcast_to(value, shape) for value in ends])


def _segment_times(points: Array, limits: dict[int, Array]) -> Array:
    distances = np.abs(np.diff(points, axis=0)).reshape(len(points) - 1, -1)
    zero_distances = np.flatnonzero(~distances.any(axis=1))
    if zero_distances.size:
        k = int(zero_distances[0])
        title = f"waypoints {k} and {k + 1} are the same point"
        refuse("E471", title, f"{points[k]}", "omit one, or use `sequence` for motions with a pause between")
    # Smallest peaks of a motion over a unit distance in a unit time: velocity 1, acceleration 4, jerk 32.
    least_times = [(factor * distances / limits[k]) ** (1.0 / k) for k, factor in ((1, 1.0), (2, 4.0), (3, 32.0))]
    return np.asarray(np.max(least_times, axis=(0, 2)))


def _knot_fractions(points: Array) -> Array:
    """Return the positions of the extra knots in the first and last segments, as fractions measured from the ends of the
    spline."""
    # For a single segment, knots at the quarter points minimise jerk.
    return np.full(2, 0.25 if len(points) == 2 else 0.5)


def _spline(points: Array, times: Array, ends: Array, fractions: Array | None = None) -> Motion:
    return Motion(*_spline_coefficients(points, times, ends, _knot_fractions(points) if fractions is None else fractions))


def _spline_coefficients(points: Array, times: Array, ends: Array, fractions: Array) -> tuple[Array, Array]:
    """Return knots and coefficients of the spline, from the accelerations M at its knots.

    The positions at the extra knots follow from M by the end conditions:
    y_1 = y_0 + h v + h^2 M_1 / 6 after the start, and likewise before the end.
    """
    extra_knots = times[0] + fractions[0] * (times[1] - times[0]), times[-1] - fractions[1] * (times[-1] - times[-2])
    knots = np.array([times[0], extra_knots[0], *times[1:-1], extra_knots[1], times[-1]])
    h, count = np.diff(knots), len(knots)
    y = np.concatenate([points[:1], points[:1] + h[0] * ends[0], points[1:-1], points[-1:] - h[-1] * ends[1], points[-1:]])
    inner = np.arange(count - 2)
    second = np.zeros((count - 2, count))
    second[inner, inner] = 6.0 / h[:-1]
    second[inner, inner + 1] = -6.0 / h[:-1] - 6.0 / h[1:]
    second[inner, inner + 2] = 6.0 / h[1:]
    matrix = np.diag(2.0 * (h[:-1] + h[1:])) + np.diag(h[1:-1], 1) + np.diag(h[1:-1], -1)
    matrix[:, 0] -= second[:, 1] * h[0] ** 2 / 6.0
    matrix[:, -1] -= second[:, -2] * h[-1] ** 2 / 6.0
    flat = y.reshape(count, -1)
    M = np.zeros_like(flat)
    M[1:-1] = np.linalg.solve(matrix, second @ flat)
    flat[1] += M[1] * h[0] ** 2 / 6.0
    flat[-2] += M[-2] * h[-1] ** 2 / 6.0
    step = h[:, None]
    slopes = np.diff(flat, axis=0) / step - step * (2.0 * M[:-1] + M[1:]) / 6.0
    slopes[0] = ends[0].ravel()
    table = np.stack([flat[:-1], slopes, 0.5 * M[:-1], np.diff(M, axis=0) / (6.0 * step)], axis=1)
    return knots, table.reshape(-1, 4, *points.shape[1:])


def _minimise_duration(points: Array, segment_times: Array, fractions: Array, limits: dict[int, Array]) -> tuple[Array, Array]:
    from scipy.optimize import minimize

    zero_velocities = np.zeros((2, *points.shape[1:]))

    def read(z: Array) -> tuple[Array, Array]:
        # Times are exponentials, fractions lie between 0.02 and 0.48: every z gives a valid spline.
        return segment_times * np.exp(z[2:]), 0.25 + 0.23 * np.tanh(z[:2])

    def needed(z: Array) -> float:
        steps, at = read(z)
        knots, table = _spline_coefficients(points, np.concatenate([[0.0], np.cumsum(steps)]), zero_velocities, at)
        peaks = _cubic_peaks(np.diff(knots), table)
        return float(knots[-1]) * time_factor(peaks.__getitem__, limits)

    start = np.concatenate([np.arctanh((np.minimum(fractions, 0.45) - 0.25) / 0.23), np.zeros(len(segment_times))])
    best, least = start, needed(start)
    while True:
        # A simplex may collapse on a ridge, depending on rounding errors: restart it until a restart gains nothing.
        spread = np.vstack([best, best + 0.3 * np.eye(len(start))])
        options = {"initial_simplex": spread, "maxfev": 150 * len(start), "xatol": 1e-7, "fatol": 1e-9 * least, "adaptive": True}
        optimum = minimize(needed, best, method="Nelder-Mead", options=options)
        gain = least - optimum.fun
        if gain > 0.0:
            best, least = optimum.x, optimum.fun
        if gain <= MIN_GAIN * least:
            return read(best)


def _cubic_peaks(steps: Array, table: Array) -> dict[int, Array]:
    h = steps.reshape(-1, *(1,) * (table.ndim - 2))
    v, a, j = table[:, 1], 2.0 * table[:, 2], 6.0 * table[:, 3]
    ends = v + h * (a + 0.5 * h * j)
    flat = np.where((a * (a + h * j) < 0.0) & (j != 0.0), v - 0.5 * a * a / np.where(j == 0.0, 1.0, j), v)
    speed = np.max(np.abs([v, ends, flat]), axis=(0, 1))
    return {1: speed, 2: np.max(np.abs([a, a + h * j]), axis=(0, 1)), 3: np.max(np.abs(j), axis=0)}


def _shortest_duration(points: Array, segment_times: Array, ends: Array, limits: dict[int, Array], fractions: Array) -> Motion:
    from scipy.optimize import brentq

    def beyond(factor: float) -> float:
        return limit_ratio(_spline(points, factor * segment_times, ends, fractions), limits) - 1.0

    factors = np.geomspace(0.02, 200.0, 121)
    excesses = [beyond(factor) for factor in factors]
    first = next((k for k, value in enumerate(excesses) if value <= 0.0), None)
    if first is None:
        best = _spline(points, factors[int(np.argmin(excesses))] * segment_times, ends, fractions)
        reached = (f"at best, in {best.duration:.4g} s:", *violations(best, limits))
        title = "no duration satisfies the limits of a motion"
        refuse("E474", title, reached, "wider limits, slower ends, or more distance between the waypoints")
    if first == 0:
        return _spline(points, factors[0] * segment_times, ends, fractions)
    factor = brentq(beyond, factors[first - 1], factors[first], xtol=1e-14, rtol=1e-14)
    while beyond(factor) > LIMIT_TOLERANCE:
        factor *= 1.0 + 1e-12
    return _spline(points, factor * segment_times, ends, fractions)
