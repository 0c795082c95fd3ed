"""Operational-space control: PD with feedforward computes a task acceleration; the task inertia maps it to torques."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from screwbond.models.control import control_blocks
from screwbond.models.control.control_blocks import ModelTerm
from screwbond.models.control.gains import check_gains
from screwbond.models.motion.polynomials import Motion, refuse

from bondgraph import Element, Op
from bondgraph.model.arguments import in_units
from bondgraph.model.units import per_second
from screws.linear import solve_spd
from screws.scalars import array

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
    """Build the acceleration u = kp (r - y) + kd (r' - y') + r'' (+ f) of every task axis: `<name>.acceleration`, with `.error`.

    Parameters
    ----------
    reference : name of a `screwbond.models.motion.reference` block, or a mapping of "position" and, unless zero, "velocity" and
        "acceleration" to paths.
    position, velocity : paths of y and y'. Without a velocity, y is differentiated: y' = filtered' = (y - filtered) / T.
    kp, kd : numbers or (axes,), 1/s^2 and 1/s; kp also a function of time (`fading_gain`).
    filter_time : T, s, where no velocity is given.
    initial, nominal : y at the start (for a continuous filter) and its size, where no velocity is given.
    extra : path of f, an acceleration that is added.
    dimension : number of axes, where all gains are scalars.
    period : s between samples; the acceleration is held between them, and y' is a filtered difference. None: continuous.
    unit : of the acceleration.

    Raises `ModelError` E476 for gains outside 0 <= kp <= kd^2, E478 for an incomplete wiring.

    Source: Bortoff 2020, (11).
    """
    check_gains(kp, kd, name)
    shape = control_blocks.signal_shape(name, dimension, (kp, kd))
    builder = control_blocks.new_builder(name, period)
    control_blocks.add_reference(builder, reference, ("position", "velocity", "acceleration"))
    position_unit = per_second(unit, -2)
    control_blocks.add_rate(
        builder, position, velocity, filter_time, np.zeros(shape) + np.asarray(initial, dtype=float), nominal, position_unit
    )
    arguments = [*control_blocks.add_pd(builder, kp, kd, position_unit, ("1/s^2", "1/s")), "reference_acceleration"]
    result = "acceleration" if period is None else "sample"
    if extra is None:
        builder.add(result, PD, *arguments)
    else:
        builder.inputs["extra"] = extra
        builder.add(result, PD_EXTRA, *arguments, "extra")
    return control_blocks.finish(builder, "acceleration", result, np.zeros(shape)[()], unit, "u")


def task_inertia(mass: Any, jacobian: Any) -> np.ndarray:
    """Return Lambda^-1 = J M^-1 J^T (m, m), the inverse inertia of the task space, from M (n, n) and J (m, n); any scalar.

    Source: Khatib 1987 (operational space).
    """
    columns = [solve_spd(mass, row) for row in jacobian]
    return array([[sum(a * b for a, b in zip(row, column, strict=True)) for column in columns] for row in jacobian])


def task_force(mass: Any, jacobian: Any, acceleration: Any) -> np.ndarray:
    """Return the force F = Lambda u (m,) that gives the task space the acceleration u (m,)."""
    return solve_spd(task_inertia(mass, jacobian), acceleration)


def _as_vector_task(jacobian: Any, acceleration: Any) -> tuple[Any, Any]:
    """Return the Jacobian (m, n) and acceleration (m,) of a task, also of a scalar one."""
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

    Exact (y'' = u) where compensation is the whole bias h of M v' + h = torque and the drift J' v is given.

    Parameters
    ----------
    acceleration : path of u, () or (m,).
    jacobian, mass, Lambda : J (m, n), and either M (n, n) or the task's own inertia Lambda (m, m): functions of the signals
        `position`, or paths of signals.
    drift, compensation : J' v (m,), and torques (n,) such as gravity: functions of the signals `position` and `velocity`.
    position, velocity : paths, arguments of these functions in this order.
    dimension : n, where the torque is sampled.
    period : s between samples, None: continuous. Blocks that tick at one time do so in the order in which they were added:
        add the controller that gives u first.

    Raises `ModelError` E478 unless one of mass and Lambda is given.

    Source: Khatib 1987, operational space.
    """
    if (mass is None) == (Lambda is None):
        why = "given: " + ("none" if mass is None else "mass and Lambda")
        refuse("E478", f'"{name}" needs one inertia', why, "the mass matrix of the joints, or the inertia of the task", name)
    builder = control_blocks.new_builder(name, period)
    builder.inputs["u"] = acceleration
    q = control_blocks.add_signals(builder, "q", position)
    v = control_blocks.add_signals(builder, "v", velocity)
    control_blocks.add_term(builder, "jacobian", jacobian, q)
    control_blocks.add_term(builder, "inertia", mass if mass is not None else Lambda, q)  # type: ignore[arg-type]
    desired = "u"
    if drift is not None:
        control_blocks.add_term(builder, "drift", drift, [*q, *v])
        builder.add("wanted", control_blocks.DIFFERENCE, "u", "drift")
        desired = "wanted"
    law = TORQUE_BY_MASS if mass is not None else TORQUE
    result = "torque" if period is None else "sample"
    builder.add(result if compensation is None else "moving", law, "inertia", "jacobian", desired)
    if compensation is not None:
        builder.units["moving"], builder.symbols["moving"] = unit, r"\tau_u"
        control_blocks.add_term(builder, "compensation", compensation, [*q, *v])
        builder.add(result, control_blocks.SUM, "moving", "compensation")
    return control_blocks.finish(builder, "torque", result, np.zeros(dimension or ())[()], unit, r"\tau")
