"""Controllers as signal blocks: PID in joint space, PD with feedforward and operational-space torques in task space."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from screwbond.models.control.gains import check_gains
from screwbond.models.motion.blocks import DERIVATIVES, motion_parameters, motion_symbols
from screwbond.models.motion.polynomials import QUANTITIES, Motion, numbers, refuse

from bondgraph import Element, Op, Parameter, StateSpec
from bondgraph.model.arguments import in_units
from bondgraph.model.ops import IDENTITY, as_op
from bondgraph.model.units import per_second, quotient
from bondgraph.signals.arguments import BlockBuilder
from bondgraph.signals.formulas import LAG
from screws.arrays import Matrix, SquareMatrix
from screws.linear import solve_spd
from screws.scalars import array, maximum, minimum

ModelTerm = Callable[..., Any] | Op | str

DIFFERENCE = Op("difference", lambda r, y: r - y, "#1 - #2")
SUM = Op("sum", lambda a, b: a + b, "#1 + #2")
ZERO_LIKE = Op("zero", lambda value: 0.0 * value, "0")


def new_builder(name: str, period: float | None) -> BlockBuilder:
    if period is not None and not (np.isfinite(period) and period > 0.0):
        refuse("E478", f'the period of "{name}" is {period!r} s', "", "more than 0 s, or None for continuous control", name)
    return BlockBuilder(name, period=period)


def signal_shape(name: str, dimension: int | None, gains: Sequence[Any]) -> tuple[int, ...]:
    shapes = [gain.shape if isinstance(gain, Motion) else numbers("the gain", gain, name=name).shape for gain in gains]
    sizes = {shape for shape in shapes if shape} | ({(dimension,)} if dimension else set())
    if len(sizes) > 1:
        title, why = f'gains of "{name}" are for different numbers of axes', f"{sorted(size[0] for size in sizes)}"
        refuse("E478", title, why, "a number, or one for each axis", name)
    return next(iter(sizes), ())


def add_reference(builder: BlockBuilder, reference: str | Mapping[str, str], needed: Sequence[str]) -> None:
    paths = {what: f"{reference}.{what}" for what in needed} if isinstance(reference, str) else dict(reference)
    unknown = [key for key in paths if key not in QUANTITIES]
    if unknown or "position" not in paths:
        title, cure = (
            f'the reference of "{builder.name}" is {reference!r}',
            'the name of a `reference` block, or {"position": path, ...}',
        )
        refuse("E478", title, f"it may contain: {', '.join(needed)}", cure, builder.name)
    for what in needed:
        local = "reference" if what == "position" else f"reference_{what}"
        if what in paths:
            builder.inputs[local] = paths[what]
        else:
            builder.add(local, ZERO_LIKE, "reference")


def add_rate(
    builder: BlockBuilder, position: str, velocity: str | None, filter_time: Any, initial: Any, nominal: Any, unit: str
) -> None:
    """Add `y`, in `unit`, and its rate `dy`: a measured signal, or the output of the filter dy = filtered' = (y - filtered) / T.
    A sampled block takes a filtered difference quotient."""
    builder.inputs["y"] = position
    builder.units |= {f"reference_{what}": per_second(unit, order) for order, what in enumerate(QUANTITIES[1:3], start=1)}
    if (velocity is None) == (filter_time is None):
        title, why = (
            f'"{builder.name}" needs either a velocity or a filter',
            f"velocity {velocity!r}, filter_time {filter_time!r}",
        )
        refuse("E478", title, why, "the path of a measured velocity, or a `filter_time` in s that differentiates y", builder.name)
    if velocity is not None:
        builder.inputs["dy"] = velocity
        return
    time = numbers(
        "the filter time", filter_time.value if isinstance(filter_time, Parameter) else filter_time, (0,), builder.name
    )
    if not time > 0.0:
        refuse("E478", f'the filter time of "{builder.name}" is {float(time):g} s', "", "more than 0 s", builder.name)
    builder.parameters["filter_time"] = Parameter(float(time), "s")
    builder.symbols |= {"filter_time": r"T_{\mathrm{f}}", "dy": "v^{+}" if builder.period is not None else r"\dot y"}
    builder.units["dy"] = per_second(unit)
    if builder.period is not None:
        slope = StateSpec(np.zeros(np.shape(initial))[()], nominal, per_second(unit), "v")
        builder.add_difference("y", "slope", slope, "dy", "filter_time")
        return
    builder.states["filtered"] = StateSpec(initial, nominal, unit, r"\hat y")
    builder.add("dy", LAG, "y", "filtered", "filter_time")
    builder.rates["filtered"] = "dy"


def add_gain(builder: BlockBuilder, local: str, gain: Motion | ArrayLike, unit: str = "") -> None:
    letter = f"K_{{{local[1:]}}}"
    builder.symbols[local] = letter
    if not isinstance(gain, Motion):
        builder.parameters[local] = Parameter(numbers(f"the gain {local}", gain, name=builder.name)[()], unit)
        return
    builder.inputs["t"] = "time"
    builder.parameters |= motion_parameters(gain, unit, f"{local} ")
    builder.symbols |= motion_symbols(letter, f"{local} ")
    builder.units[local] = unit
    builder.add(local, DERIVATIVES[0], "t", f"{local} breaks", f"{local} coefficients")
    builder.breaks.append(f"{local} breaks")


def add_pd(builder: BlockBuilder, kp: Motion | ArrayLike, kd: ArrayLike, unit: str, gains: tuple[str, str]) -> list[str]:
    add_gain(builder, "kp", kp, gains[0])
    add_gain(builder, "kd", kd, gains[1])
    builder.units |= {"error": unit, "error_rate": per_second(unit)}
    builder.symbols |= {"error": r"\tilde y", "error_rate": r"\dot{\tilde y}"}
    builder.add("error", DIFFERENCE, "reference", "y")
    builder.add("error_rate", DIFFERENCE, "reference_velocity", "dy")
    return ["kp", "kd", "error", "error_rate"]


def add_term(builder: BlockBuilder, local: str, term: ModelTerm, arguments: Sequence[str]) -> None:
    if isinstance(term, str):
        builder.inputs[local] = term
    else:
        builder.add(local, as_op(term, local.replace("_", " ")), *arguments)


def add_signals(builder: BlockBuilder, prefix: str, paths: Sequence[str]) -> list[str]:
    if isinstance(paths, str):
        paths = [paths]
    local = [f"{prefix}{k}" for k in range(1, len(paths) + 1)]
    builder.inputs |= dict(zip(local, paths, strict=True))
    return local


def finish(builder: BlockBuilder, result: str, now: str, start: Any, unit: str, symbol: str) -> Element:
    if builder.period is not None:
        builder.states[result], builder.updates[result] = StateSpec(start, None, unit, symbol), now
        builder.symbols.setdefault(now, f"{symbol}^{{+}}")
    builder.units[result], builder.symbols[result] = unit, symbol
    return builder.block()


PD = Op("PD", lambda kp, kd, e, de, ff: kp * e + kd * de + ff, r"#1\,#3 + #2\,#4 + #5", "BO20 (11)")
PD_EXTRA = Op("PD", lambda kp, kd, e, de, ff, f: kp * e + kd * de + ff + f, r"#1\,#3 + #2\,#4 + #5 + #6", "BO20 (11)")


@in_units(filter_time="s", period="s")
def pd_feedforward(
    name: str,
    reference: str | Mapping[str, str],
    position: str,
    velocity: str | None = None,
    *,
    kp: Motion | ArrayLike,
    kd: ArrayLike,
    filter_time: Any = None,
    initial: ArrayLike = 0.0,
    nominal: Any = None,
    extra: str | None = None,
    dimension: int | None = None,
    period: float | None = None,
    unit: str = "",
) -> Element:
    """Build the acceleration u = kp (r - y) + kd (r' - y') + r'' (+ f) of every task axis as `<name>.acceleration`, and its error
    as `<name>.error`.

    Parameters
    ----------
    reference : name of a `screwbond.models.motion.reference` block, or a mapping of "position" and, unless zero, "velocity" and
        "acceleration" to paths.
    position, velocity : paths of y and y'. Without a velocity, y is differentiated: y' = filtered' = (y - filtered) / T.
    kp, kd : numbers or (axes,), 1/s^2 and 1/s; kp may be a function of time (`fading_gain`).
    filter_time : time constant T, s, if no velocity is given.
    initial, nominal : y at the start (for a continuous filter) and its size, if no velocity is given.
    extra : path of f, an additional acceleration.
    dimension : number of axes, if all gains are scalars.
    period : sampling period, s; the acceleration is held between samples, and y' is a filtered difference. None: continuous
        time.
    unit : unit of the acceleration.

    Raises `ModelError` E470 for invalid gains, E476 for gains outside 0 <= kp <= kd^2, E478 for incomplete wiring, times that are
    not positive, and numbers of axes that differ.

    Source: Bortoff 2020, (11).
    """
    check_gains(kp, kd, name)
    shape = signal_shape(name, dimension, (kp, kd))
    builder = new_builder(name, period)
    add_reference(builder, reference, ("position", "velocity", "acceleration"))
    position_unit = per_second(unit, -2)
    add_rate(builder, position, velocity, filter_time, np.zeros(shape) + np.asarray(initial, dtype=float), nominal, position_unit)
    arguments = [*add_pd(builder, kp, kd, position_unit, ("1/s^2", "1/s")), "reference_acceleration"]
    result = "acceleration" if period is None else "sample"
    if extra is None:
        builder.add(result, PD, *arguments)
    else:
        builder.inputs["extra"] = extra
        builder.add(result, PD_EXTRA, *arguments, "extra")
    return finish(builder, "acceleration", result, np.zeros(shape)[()], unit, "u")


def task_inertia(mass: SquareMatrix, jacobian: Matrix) -> np.ndarray:
    """Return Lambda^-1 = J M^-1 J^T (m, m), the inverse inertia of the task space, from M (n, n) and J (m, n), for any scalar
    type.

    Source: Khatib 1987 (operational space).
    """
    columns = [solve_spd(mass, row) for row in jacobian]
    return array([[sum(a * b for a, b in zip(row, column, strict=True)) for column in columns] for row in jacobian])


def task_force(mass: SquareMatrix, jacobian: Matrix, acceleration: Any) -> np.ndarray:
    """Return the force F = Lambda u (m,) that gives the task space the acceleration u (m,)."""
    return solve_spd(task_inertia(mass, jacobian), acceleration)


def _as_vector_task(jacobian: Any, acceleration: Any) -> tuple[Any, Any]:
    u = array([acceleration]) if np.ndim(acceleration) == 0 else acceleration
    return (jacobian if np.ndim(jacobian) == 2 else array(jacobian).reshape(len(u), -1)), u


def _torque_by_mass(mass: Any, jacobian: Any, u: Any) -> Any:
    J, desired = _as_vector_task(jacobian, u)
    M = mass if np.ndim(mass) == 2 else array(mass).reshape(1, 1)
    return J.T @ task_force(M, J, desired)


def _torque_by_task_inertia(Lambda: Any, jacobian: Any, u: Any) -> Any:
    J, desired = _as_vector_task(jacobian, u)
    return J.T @ ((Lambda if np.ndim(Lambda) == 2 else array(Lambda).reshape(1, 1)) @ desired)


TORQUE_BY_MASS = Op("torque", _torque_by_mass, r"#2^T \left(#2\,#1^{-1} #2^T\right)^{-1} #3", "Khatib 1987")
TORQUE = Op("torque", _torque_by_task_inertia, r"#2^T\,#1\,#3", "Khatib 1987")


@in_units(period="s")
def operational_torque(
    name: str,
    acceleration: str,
    *,
    jacobian: ModelTerm,
    mass: ModelTerm | None = None,
    Lambda: ModelTerm | None = None,
    position: Sequence[str] = (),
    velocity: Sequence[str] = (),
    drift: ModelTerm | None = None,
    compensation: ModelTerm | None = None,
    dimension: int | None = None,
    period: float | None = None,
    unit: str = "N m",
) -> Element:
    """Build torques `<name>.torque` = J^T Lambda (u - J' v) + compensation that give the task the acceleration u.

    They give y'' = u exactly if compensation is the full bias h of M v' + h = torque and the drift J' v is given.

    Parameters
    ----------
    acceleration : path of u, () or (m,).
    jacobian, mass, Lambda : J (m, n), and either M (n, n) or the task's own inertia Lambda (m, m): functions of the signals
        `position`, or paths of signals.
    drift, compensation : J' v (m,), and torques (n,) such as gravity compensation: functions of the signals `position` and
        `velocity`.
    position, velocity : paths of the arguments of these functions, in this order.
    dimension : n, if the torque is sampled.
    period : sampling period, s; None: continuous time. Blocks that tick together do so in the order in which they were added: add
        the controller of u first.

    Raises `ModelError` E478 unless exactly one of mass and Lambda is given, and for a period that is not positive.

    Source: Khatib 1987, operational space.
    """
    if (mass is None) == (Lambda is None):
        why = "given: " + ("none" if mass is None else "mass and Lambda")
        refuse("E478", f'"{name}" needs one inertia', why, "the mass matrix of the joints, or the inertia of the task", name)
    builder = new_builder(name, period)
    builder.inputs["u"] = acceleration
    q = add_signals(builder, "q", position)
    v = add_signals(builder, "v", velocity)
    add_term(builder, "jacobian", jacobian, q)
    add_term(builder, "inertia", mass if mass is not None else Lambda, q)  # type: ignore[arg-type]
    desired = "u"
    if drift is not None:
        add_term(builder, "drift", drift, [*q, *v])
        builder.add("wanted", DIFFERENCE, "u", "drift")
        desired = "wanted"
    law = TORQUE_BY_MASS if mass is not None else TORQUE
    result = "torque" if period is None else "sample"
    builder.add(result if compensation is None else "moving", law, "inertia", "jacobian", desired)
    if compensation is not None:
        builder.units["moving"], builder.symbols["moving"] = unit, r"\tau_u"
        add_term(builder, "compensation", compensation, [*q, *v])
        builder.add(result, SUM, "moving", "compensation")
    return finish(builder, "torque", result, np.zeros(dimension or ())[()], unit, r"\tau")


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
    """Build torques `<name>.torque` = kp e + ki integral(e) + kd e' + compensation of every joint, and their errors
    `<name>.error` = e = r - q.

    Parameters
    ----------
    reference : name of a `screwbond.models.motion.reference` block, or a mapping of "position" and, unless zero, "velocity" to
        paths.
    position, velocity : paths of q and q', () or (joints,). Without a velocity, q is differentiated through a filter.
    kp, kd, ki : numbers or (joints,), in N m/rad, N m s/rad, N m/(rad s); kp may be a function of time.
    dimension : number of joints, if all gains are scalars.
    filter_time : time constant of this filter, s, if no velocity is given.
    initial, nominal : q at the start and its size, for this filter.
    compensation : torques, such as gravity compensation: a function of `compensation_signals`, or the path of a signal.
    limit : largest torque, () or (joints,). In saturation, anti-windup drives the integral back with the time constant kp / ki.
    period : sampling period, s; the torque is held between samples, q' is a filtered difference, and the integral is a sum.
        None: continuous time.
    unit : unit of the torque; q is in rad for N m, in m for N.

    Raises `ModelError` E470 for invalid gains, E478 for incomplete wiring, negative gains, kp = 0 with ki and a limit, a limit or
    time that is not positive, and numbers of joints that differ.

    Source: Astrom and Hagglund 2006 (back-calculation).
    """
    position_unit = {"N m": "rad", "N": "m"}.get(unit, "")
    shape = signal_shape(name, dimension, (kp, kd, 0.0 if ki is None else ki))
    for what, value in (("kp", kp), ("kd", kd), ("ki", ki)):
        gain = 0.0 if value is None else value
        least = gain.extremes()[0] if isinstance(gain, Motion) else numbers(f"the gain {what}", gain, name=name)
        if np.any(least < 0.0) or (what == "kp" and ki is not None and limit is not None and np.any(least <= 0.0)):
            cure = "a gain of 0 or more; a positive kp if the torque is limited and ki is given"
            refuse("E478", f'the gain {what} of "{name}" is too small', f"{least}", cure, name)
    builder = new_builder(name, period)
    add_reference(builder, reference, ("position", "velocity"))
    add_rate(builder, position, velocity, filter_time, np.zeros(shape) + np.asarray(initial, dtype=float), nominal, position_unit)
    gains = quotient(unit, position_unit), quotient(unit, per_second(position_unit))
    terms, value, rate = add_pd(builder, kp, kd, position_unit, gains), "demand", "error"
    builder.units |= dict.fromkeys(("demand", "compensated", "limited"), unit)
    builder.symbols |= {"demand": r"\tau_{\mathrm{PID}}", "compensated": r"\tau_{\mathrm{c}}", "limited": r"\tau_{\mathrm{l}}"}
    if ki is None:
        builder.add(value, PD_TERMS, *terms)
    else:
        add_gain(builder, "ki", ki, quotient(unit, per_second(position_unit, -1)))
        builder.add(value, PID_TERMS, *terms, "ki", "integral")
    if compensation is not None:
        add_term(builder, "compensation", compensation, add_signals(builder, "c", compensation_signals))
        builder.add("compensated", SUM, value, "compensation")
        value = "compensated"
    if limit is not None:
        max_torque = numbers("the torque limit", limit, name=name)
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
    return finish(builder, "torque", value, np.zeros(shape)[()], unit, r"\tau")
