"""Point-to-point motions: quintic smooth steps, and time-optimal S-curves with jerk limits."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from screwbond.models.motion.polynomials import Array, Motion, check_limits, check_times, limit_values, numbers, refuse, sequence

from bondgraph.signals.formulas import SMOOTH


def quintic(start: ArrayLike, end: ArrayLike, t0: float, t1: float) -> Motion:
    """Return a quintic smooth step from `start` to `end`, () or (axes,), from t0 to t1 (s), with two continuous derivatives.

    Raises `ModelError` E470 for points that do not fit together, E471 unless t0 < t1.
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
    jerk, acceleration, velocity : largest absolute values, a number or (axes,), in the unit of r per s^3, s^2 and s.
    duration : s; longer than the fastest one, the same curve is slowed down.
    at : time of the start, s.

    Raises `ModelError` E470 for invalid points or limits, E471 where start and end coincide, E473 for a duration that is
    too short.

    Source: Biagiotti and Melchiorri 2008, section 3.4 (double S).
    """
    first, last = _end_points(start, end)
    if jerk is None:
        refuse("E470", "an s-curve without a limit of jerk", "its acceleration would jump", "a limit of jerk, or `quintic`")
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
        # The limit of velocity is not reached.
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
    """Integrate a jerk proportional to `signs` during `steps` into a motion from rest at `first` to rest at `last`."""
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
    """Move from `pick` up by the vector `lift`, across, and down to `place`: three `s_curve` motions with rest between.

    Parameters
    ----------
    pick, place, lift : (axes,).
    jerk, acceleration, velocity : limits as of `s_curve`.
    pause : rest between the phases, s.
    at : time of the start, s.
    """
    first, last = _end_points(pick, place)
    up = np.broadcast_to(numbers("the lift", lift), first.shape)
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
