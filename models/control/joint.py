"""Joint-space control: PID of every joint, with gravity compensation, torque limit and anti-windup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from screwbond.models.control import control_blocks
from screwbond.models.control.control_blocks import ModelTerm
from screwbond.models.motion.polynomials import Motion, numbers, refuse

from bondgraph import Element, Op, Parameter, StateSpec
from bondgraph.model.arguments import in_units
from bondgraph.model.ops import IDENTITY
from bondgraph.model.units import per_second, quotient
from screws.scalars import maximum, minimum

PD_TERMS = Op("PD", lambda kp, kd, e, de: kp * e + kd * de, r"#1\,#3 + #2\,#4")
PID_TERMS = Op("PID", lambda kp, kd, e, de, ki, z: kp * e + kd * de + ki * z, r"#1\,#3 + #2\,#4 + #5\,#6")
SATURATED = Op("limit", lambda u, limit: maximum(minimum(u, limit), -limit), r"\min\left(\max\left(#1, -#2\right), #2\right)")
_BACK = "Astrom and Hagglund 2006"
ANTI_WINDUP = Op(
    "integral rate", lambda e, limited, demand, kp: e + (limited - demand) / kp, r"#1 + \tfrac{1}{#4}\left(#2 - #3\right)", _BACK
)
INTEGRAL_SUM = Op("sum", lambda z, rate, period: z + rate * period, r"#1 + #2\,#3")


@in_units(filter_time="s", period="s")
def joint_pid(
    name: str,
    reference: str | Mapping[str, str],
    position: str,
    velocity: str | None = None,
    *,
    kp: Motion | ArrayLike,
    kd: ArrayLike,
    ki: ArrayLike | None = None,
    dimension: int | None = None,
    filter_time: Any = None,
    initial: ArrayLike = 0.0,
    nominal: Any = None,
    compensation: ModelTerm | None = None,
    compensation_signals: Sequence[str] = (),
    limit: ArrayLike | None = None,
    period: float | None = None,
    unit: str = "N m",
) -> Element:
    """Build torques `<name>.torque` = kp e + ki integral(e) + kd e' + compensation of every joint, e = r - q: `<name>.error`.

    Parameters
    ----------
    reference : name of a `screwbond.models.motion.reference` block, or a mapping of "position" and, unless zero, "velocity" to
        paths.
    position, velocity : paths of q and q', () or (joints,). Without a velocity, q is differentiated through a filter.
    kp, kd, ki : numbers or (joints,), in N m/rad, N m s/rad, N m/(rad s); kp also a function of time.
    dimension : number of joints, where all gains are scalars.
    filter_time : s, where no velocity is given; `initial` and `nominal` are q at the start and its size.
    compensation : torques, such as of gravity: a function of `compensation_signals`, or the path of a signal.
    limit : largest torque, () or (joints,). In saturation, anti-windup drives the integral back with the time constant kp / ki.
    period : s between samples; the torque is held between them, q' is a filtered difference, the integral a sum. None:
        continuous.
    unit : of the torque; q is in rad if it is N m, in m if it is N.

    Raises `ModelError` E470 for invalid gains, E478 for an incomplete wiring, negative gains or a limit that is not
    positive.

    Source: Astrom and Hagglund 2006 (back-calculation).
    """
    position_unit = {"N m": "rad", "N": "m"}.get(unit, "")
    shape = control_blocks.signal_shape(name, dimension, (kp, kd, 0.0 if ki is None else ki))
    for what, value in (("kp", kp), ("kd", kd), ("ki", ki)):
        gain = 0.0 if value is None else value
        least = gain.extremes()[0] if isinstance(gain, Motion) else numbers(f"the gain {what}", gain)
        if np.any(least < 0.0) or (what == "kp" and ki is not None and limit is not None and np.any(least <= 0.0)):
            refuse("E478", f'the gain {what} of "{name}" is too small', f"{least}", "a positive gain", name)
    builder = control_blocks.new_builder(name, period)
    control_blocks.add_reference(builder, reference, ("position", "velocity"))
    control_blocks.add_rate(
        builder, position, velocity, filter_time, np.zeros(shape) + np.asarray(initial, dtype=float), nominal, position_unit
    )
    gains = quotient(unit, position_unit), quotient(unit, per_second(position_unit))
    terms, value, rate = control_blocks.add_pd(builder, kp, kd, position_unit, gains), "demand", "error"
    builder.units |= dict.fromkeys(("demand", "compensated", "limited"), unit)
    builder.symbols |= {"demand": r"\tau_{\mathrm{PID}}", "compensated": r"\tau_{\mathrm{c}}", "limited": r"\tau_{\mathrm{l}}"}
    if ki is None:
        builder.add(value, PD_TERMS, *terms)
    else:
        control_blocks.add_gain(builder, "ki", ki, quotient(unit, per_second(position_unit, -1)))
        builder.add(value, PID_TERMS, *terms, "ki", "integral")
    if compensation is not None:
        control_blocks.add_term(
            builder, "compensation", compensation, control_blocks.add_signals(builder, "c", compensation_signals)
        )
        builder.add("compensated", control_blocks.SUM, value, "compensation")
        value = "compensated"
    if limit is not None:
        max_torque = numbers("the limit of torque", limit)
        if not np.all(max_torque > 0.0):
            refuse("E478", f'the limit of "{name}" is {limit!r}', "", "a positive torque", name)
        builder.parameters["limit"] = Parameter(max_torque[()], unit)
        builder.symbols["limit"] = r"\tau_{\max}"
        builder.add("limited", SATURATED, value, "limit")
        if ki is not None:
            builder.add("integral rate", ANTI_WINDUP, "error", "limited", value, "kp")
            builder.units["integral rate"] = position_unit
            rate = "integral rate"
        value = "limited"
    if ki is not None:
        builder.states["integral"] = StateSpec(np.zeros(shape)[()], nominal, per_second(position_unit, -1), "z")
        builder.symbols["summed"] = "z^{+}"
        if period is None:
            builder.rates["integral"] = rate
        else:
            builder.add("summed", INTEGRAL_SUM, "integral", rate, "period")
            builder.updates["integral"] = "summed"
    if period is None:
        builder.add("torque", IDENTITY, value)
    return control_blocks.finish(builder, "torque", value, np.zeros(shape)[()], unit, r"\tau")
