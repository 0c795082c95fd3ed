"""Controller gains: fading gains, a stability check for time-varying gains, and a soft-touch design."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from screwbond.models.motion.polynomials import Motion, numbers, refuse
from screwbond.models.motion.profiles import quintic

BOUND_TOLERANCE = 1e-12
"""Relative tolerance of the bounds: kp0 = kd^2 passes."""


def fading_gain(kp0: ArrayLike, t0: float, t1: float, axis: int | None = None, to: float = 0.0) -> Motion:
    """Return a gain that changes smoothly from `kp0` to `to` between the times t0 and t1 (s), along one axis or all axes.

    Parameters
    ----------
    kp0 : () or (axes,), 1/s^2.
    axis : component that fades; None: all components.

    Raises `ModelError` E470 for invalid values or an unknown axis, E471 unless t0 < t1.
    """
    first = numbers("the gain", kp0, name="gain")
    last = first.copy()
    if axis is None:
        last[...] = to
    elif first.ndim == 0 or not -len(first) <= axis < len(first):
        refuse("E470", f"a gain of shape {first.shape} has no axis {axis}", "", "the index of an axis, or axis=None", "gain")
    else:
        last[axis] = to
    return quintic(first, last, t0, t1)


def check_gains(kp: Motion | ArrayLike, kd: ArrayLike, name: str = "controller") -> None:
    """Raise E476 unless kd >= 0 and 0 <= kp <= kd^2, at all times and along all axes; E470 for gains that do not match.

    Within these bounds, e'' + kd e' + kp(t) e = 0 is stable for a constant kd.

    Source: Bortoff 2020, (12), by the circle criterion.
    """
    rate = numbers("the gain kd", kd, name=name)
    if isinstance(kp, Motion):
        low, low_at, high, high_at = kp.extremes()
    else:
        low = high = numbers("the gain kp", kp, name=name)
        low_at = high_at = np.full(low.shape, np.nan)
    if low.ndim and rate.ndim and low.shape != rate.shape:
        why = f"kp {low.shape}, kd {rate.shape}"
        refuse("E470", f'gains of "{name}" do not match', why, "a number, or one for each axis", name)
    bound = rate * rate
    lines = []
    for what, wrong, value, at in (
        ("below 0", low < -BOUND_TOLERANCE * bound, low, low_at),
        ("above kd^2", high > bound * (1.0 + BOUND_TOLERANCE), high, high_at),
    ):
        wrong, value, at, most = (np.atleast_1d(a) for a in np.broadcast_arrays(wrong, value, at, bound))
        for k in np.flatnonzero(wrong):
            along = f" along axis {k}" if len(wrong) > 1 else ""
            when = "" if np.isnan(at[k]) else f" at {at[k]:g} s"
            lines.append(f"kp{along} is {value[k]:g}{when}, {what}: it must lie in 0 ... {most[k]:g} 1/s^2")
    if np.any(rate < 0.0):
        lines.append(f"kd is {rate}: it must not be negative")
    if lines:
        refuse("E476", f'the loop of "{name}" may be unstable', tuple(lines), "gains with 0 <= kp <= kd^2 and kd >= 0", name)


@dataclass(frozen=True)
class SoftTouch:
    """Gains of the approach axis and Baumgarte constants of the contact: kd and alpha1 in 1/s, all other values in 1/s^2."""

    kd: float
    kp0: float
    alpha1: float
    alpha0: float


def soft_touch_gains(Lambda_xx: float, approach_speed: float, hold_force: float, peak_force: float) -> SoftTouch:
    """Design gains for a soft touch: under velocity control (kp = 0), a blocked axis presses with Lambda kd v.

    At impact the constraint removes the speed v with the force Lambda alpha1 v. Both pole pairs are critically damped: alpha0 =
    alpha1^2 / 4, and kp0 = kd^2 / 4 before the gain fades, which satisfies 0 <= kp <= kd^2.

    Parameters
    ----------
    Lambda_xx : task-space inertia along the approach, kg.
    approach_speed : v, m/s.
    hold_force, peak_force : N.

    Raises `ModelError` E477 unless all are positive and the peak is not below the holding force.

    Source: Bortoff 2020, section 4 and fig. 13.
    """
    arguments = {"Lambda_xx": Lambda_xx, "approach_speed": approach_speed, "hold_force": hold_force, "peak_force": peak_force}
    wrong = tuple(f"{key} is {value!r}" for key, value in arguments.items() if not (np.isfinite(value) and value > 0.0))
    if wrong:
        refuse("E477", "no soft touch exists for these values", wrong, "positive numbers in kg, m/s and N", "soft touch")
    if peak_force < hold_force:
        title, why = "the peak of a soft touch is below its holding force", f"{peak_force:g} N and {hold_force:g} N"
        refuse("E477", title, why, "a peak of at least the holding force", "soft touch")
    momentum = Lambda_xx * approach_speed
    kd, alpha1 = hold_force / momentum, peak_force / momentum
    return SoftTouch(kd=kd, kp0=0.25 * kd * kd, alpha1=alpha1, alpha0=0.25 * alpha1 * alpha1)
