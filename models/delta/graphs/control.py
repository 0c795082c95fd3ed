"""Controllers of the delta robot as signal blocks: gravity compensation, joint PID, task-space PD, and feedback linearisation.

```
 reference --> control --> motors --> Se motor 1, 2, 3 --> robot
                  ^           ^                              |
                  |           +-- J, M, gravity -- model <-- y
                  +---------------- w ------------- model
```

The block `model` is the controller's model of the robot. It has its own parameters `model.L1` ..., so that a controller can have
model errors.

Exact linearisation inverts the stabilised dynamics M v' = B u + H^T lambda - h(q, v) and H v' = -H' v - alpha1 H v - alpha0 c,
where h is the sum of Coriolis, damping and gravity forces and c is the closure. With A = H M^-1 H^T,

v' = P u + a,  P = M^-1 B - M^-1 H^T A^-1 H M^-1 B,  a = -M^-1 h + M^-1 H^T A^-1 (H M^-1 h - H' v - alpha1 H v - alpha0 c)

For an output with the acceleration E v' + d, the torques for a target are u = (E P)^-1 (target - d - E a).

Source: Bortoff 2018, section 4; Bortoff 2020, section 4, fig. 14.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from screwbond.models.control import joint_pid, operational_torque, pd_feedforward
from screwbond.models.delta.kinematics import arm
from screwbond.models.delta.kinematics.arm import ArmParameters, Constants
from screwbond.models.delta.kinematics.closure import ROTATIONS, closure, closure_jacobian, forward_closed_form, newton_step
from screwbond.models.delta.kinematics.parameters import LETTERS, UNITS, DeltaParameters
from screwbond.models.delta.kinematics.robot_kinematics import error
from screwbond.models.motion import Motion, reference

from bondgraph import Block, Element, Op, Parameter
from bondgraph.model.units import per_second
from screws.linear import solve_spd
from screws.scalars import array, cos, sin
from screws.vectors import cross, dot

OUTPUTS = ("tool", "motors")


def tip_drift(theta: Any, v: Any, p: ArmParameters) -> np.ndarray:
    """Return (d/dt dpsi) v (3,) in m/s^2: the tip's acceleration at zero angular acceleration, in the arm's axes."""
    s1, s2, s3 = sin(theta[0]), sin(theta[1]), sin(theta[2])
    c1, c2, c3 = cos(theta[0]), cos(theta[1]), cos(theta[2])
    square = v[1] * v[1] + v[2] * v[2]
    return array(
        [
            -p.L2 * s3 * v[2] * v[2],
            -p.L1 * c1 * v[0] * v[0] - p.L2 * (c3 * c2 * square - 2.0 * s3 * s2 * v[1] * v[2]),
            -p.L1 * s1 * v[0] * v[0] - p.L2 * (c3 * s2 * square + 2.0 * s3 * c2 * v[1] * v[2]),
        ]
    )


def torques(q: Any, v: Any, target: Any, p: ArmParameters, alpha1: Any, alpha0: Any, output: str = "tool") -> np.ndarray:
    """Return motor torques (3,) for the output's acceleration `target` (3,), at coordinates q and rates v (9,) of all arms."""
    arms = [slice(3 * i, 3 * i + 3) for i in range(3)]
    inertias = [arm.inertia(q[s], p) for s in arms]
    forces = [arm.coriolis_torque(q[s], v[s], p) + arm.gravity_torque(q[s], p) + arm.friction_torque(q[s], v[s], p) for s in arms]
    H = closure_jacobian(q, p)
    drifts = [R @ tip_drift(q[s], v[s], p) for R, s in zip(ROTATIONS, arms, strict=True)]
    violation = np.concatenate([drifts[0] - drifts[1], drifts[0] - drifts[2]]) + alpha1 * (H @ v) + alpha0 * closure(q, p)
    # Columns of M^-1 [H^T, B, h], arm by arm.
    by_closure = np.concatenate(
        [np.stack([solve_spd(m, row[s]) for row in H], axis=1) for m, s in zip(inertias, arms, strict=True)]
    )
    by_motors = np.zeros((9, 3), dtype=object)
    for i, (m, s) in enumerate(zip(inertias, arms, strict=True)):
        by_motors[s, i] = solve_spd(m, (1.0, 0.0, 0.0))
    free = np.concatenate([solve_spd(m, f) for m, f in zip(inertias, forces, strict=True)])
    closure_matrix = H @ by_closure
    closure_response = np.stack([solve_spd(closure_matrix, column) for column in (H @ by_motors).T], axis=1)
    a = by_closure @ solve_spd(closure_matrix, H @ free - violation) - free
    P = by_motors - by_closure @ closure_response
    if output == "motors":
        rows, d = (lambda x: array([x[0], x[3], x[6]])), np.zeros(3)
    else:
        slope = arm.tip_jacobian(q[:3], p)
        rows, d = (lambda x: slope @ x[:3]), drifts[0]
    beta = np.stack([rows(column) for column in P.T], axis=1)
    return _solve3(beta, target - d - rows(a))


def _solve3(matrix: Any, right: Any) -> np.ndarray:
    a, b, c = matrix[:, 0], matrix[:, 1], matrix[:, 2]
    bc, ca, ab = cross(b, c), cross(c, a), cross(a, b)
    volume = dot(a, bc)
    return array([dot(bc, right) / volume, dot(ca, right) / volume, dot(ab, right) / volume])


def linearisation_block(parameters: DeltaParameters, alpha1: float, alpha0: float, output: str, acceleration: str) -> Element:
    """Return the block `linearisation`: its `.torque` (3,) gives the output the acceleration (3,) at this path; raise E440 for
    an unknown output."""
    if output not in OUTPUTS:
        raise error("E440", f"output {output!r} is unknown", *(f'output="{name}"' for name in OUTPUTS))
    names = [f"{what}{i}" for what in ("q", "v") for i in (1, 2, 3)]

    def formula(u: Any, *arguments: Any) -> np.ndarray:
        q, v = (np.concatenate([np.asarray(part) for part in arguments[k : k + 3]]) for k in (0, 3))
        *p, first, second = arguments[6:]
        return torques(q, v, u, Constants(*p), first, second, output)

    law = Op("linearisation", formula, r"\beta^{-1} (#1 - \alpha)", "BO18 (23), (33), (34), (35); BO18 (22), corrected")
    values = {key: Parameter(getattr(parameters, key), unit) for key, unit in UNITS.items()}
    return Block(
        "linearisation",
        [("torque", law, ["u", *names, *UNITS, "alpha1", "alpha0"])],
        inputs={"u": acceleration, **{name: f"arm {name[1]}.{'theta' if name[0] == 'q' else 'theta rate'}" for name in names}},
        parameters={**values, "alpha1": Parameter(alpha1, "1/s"), "alpha0": Parameter(alpha0, "1/s^2")},
        units={"torque": "N m"},
        symbols={"torque": r"\tau", **LETTERS},
    )


FILTER_TIME = 2e-3
"""Time constant of the filtered difference of sampled controllers, s. Source: Bortoff 2020, section 4."""

ARMS = (1, 2, 3)


@dataclass(frozen=True)
class Control:
    """Blocks of a controller in the order in which they tick, and the path of its torques (3,).

    `DeltaRobot.simulate(..., signals=control.torque, blocks=control.blocks)` closes the loop.
    """

    blocks: tuple[Element, ...]
    torque: str


def model_terms(y: Any, p: ArmParameters, mode: Any = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return tool w (3,), Jacobian dw/dy (3, 3), inertia (3, 3) and gravity (3,) felt by the motors at motor angles y (3,).

    Accepts any scalar type. With S = dtheta/dy, the inertia is S^T M S; gravity is S^T G, the solution u of [B H^T] [u; lambda]
    = G.

    Parameters
    ----------
    mode : +1 for the tool below the plane of the elbows, -1 above it.

    Source: Bortoff 2018, eq. (27), (28), and (32) with its order corrected.
    """
    x = forward_closed_form(y, p, mode)["x"]
    terms = newton_step(x, y, p)
    slopes = terms["dtheta_dy"].reshape(9, 3)
    inertia, gravity = np.zeros((3, 3)), np.zeros(3)
    for i in range(3):
        theta, arm_slopes = (y[i], x[2 * i], x[2 * i + 1]), slopes[3 * i : 3 * i + 3]
        inertia = inertia + arm_slopes.T @ arm.inertia(theta, p) @ arm_slopes
        gravity = gravity + arm_slopes.T @ arm.gravity_torque(theta, p)
    return terms["w"], terms["jacobian"].reshape(3, 3), inertia, gravity


def robot_model(parameters: DeltaParameters, *, name: str = "model", y: str = "y", mode: str = "below") -> Element:
    """Return the model block: `<name>.w`, `.jacobian`, `.inertia` and `.gravity` at the motor angles of path y."""
    sign = {"below": 1.0, "above": -1.0}[mode]
    terms = Op(
        "model",
        lambda y, *p: model_terms(y, Constants(*p), sign),
        r"w, J, M, G \text{ of } #1",
        "BO18 (27), (28); BO18 (32), corrected",
    )
    return Block(
        name,
        [(("w", "jacobian", "inertia", "gravity"), terms, ["y", *UNITS])],
        inputs={"y": y},
        parameters={key: Parameter(getattr(parameters, key), unit) for key, unit in UNITS.items()},
        units={"w": "m", "jacobian": "m", "inertia": "kg m^2", "gravity": "N m"},
        symbols={"w": "w", "jacobian": "J", "inertia": r"\bar M", "gravity": r"\bar G", **LETTERS},
    )


def gravity_compensation(parameters: DeltaParameters, **options: Any) -> Control:
    """Return a controller whose torques hold the robot at rest in any pose; options: `name`, `y` and `mode` of `robot_model`."""
    model = robot_model(parameters, **options)
    return Control((model,), f"{model.name}.gravity")


def joint_control(
    parameters: DeltaParameters,
    motion: Motion,
    *,
    kp: Motion | ArrayLike,
    kd: ArrayLike,
    ki: ArrayLike | None = None,
    gravity: bool = True,
    limit: ArrayLike | None = None,
    period: float | None = None,
    filter_time: float = FILTER_TIME,
) -> Control:
    """Return a PID controller of the motor angles for a motion (3,), rad, by default with gravity compensation.

    Parameters
    ----------
    kp, kd, ki, limit : as for `screwbond.models.control.joint_pid`: N m/rad, N m s/rad, N m/(rad s), N m.
    period : time between samples, s; None for a continuous controller with measured velocities.
    filter_time : time constant of the filtered difference of a sampled controller, s.

    Raises `ModelError` E440 for a motion without three axes; E470, E478 as `joint_pid` does.
    """
    check_axes(motion)
    goal = reference("goal", motion, unit="rad")
    model = robot_model(parameters)
    rate: dict[str, Any] = {"velocity": "motor rates.rate"} if period is None else {"filter_time": filter_time}
    pid = joint_pid(
        "control",
        "goal",
        "y",
        kp=kp,
        kd=kd,
        ki=ki,
        dimension=3,
        initial=motion.position(motion.start),
        compensation=f"{model.name}.gravity" if gravity else None,
        limit=limit,
        period=period,
        **rate,
    )
    return Control((goal, model, *([_motor_rates()] if period is None else []), pid), "control.torque")


def task_control(
    parameters: DeltaParameters,
    motion: Motion,
    *,
    kp: Motion | ArrayLike,
    kd: ArrayLike,
    gravity: bool = True,
    extra: str | None = None,
    period: float | None = None,
    filter_time: float = FILTER_TIME,
) -> Control:
    """Return a PD controller with feedforward of the tool for a motion (3,), m: u = kp (r - w) + kd (r' - w') + r'' is an
    acceleration; the torque is J^T Lambda u plus gravity, where Lambda is the task-space inertia.

    Parameters
    ----------
    kp, kd : numbers or (3,), 1/s^2 and 1/s; kp may be a function of time (`screwbond.models.control.fading_gain`).
    gravity : True to add gravity torques.
    extra : path of an acceleration (3,) that is added to u.
    period : time between samples, s; None for a continuous controller with w' = J y'.
    filter_time : time constant of the filtered difference w' of a sampled controller, s.

    Raises `ModelError` E440 for a motion without three axes; E470, E476, E478 as `pd_feedforward` does.

    Source: Bortoff 2020, (11), (12).
    """
    check_axes(motion)
    goal = reference("goal", motion, unit="m")
    model = robot_model(parameters)
    sampled = period is not None
    rate: dict[str, Any] = {"filter_time": filter_time} if sampled else {"velocity": "tool rate.velocity"}
    pd = pd_feedforward(
        "control",
        "goal",
        f"{model.name}.w",
        kp=kp,
        kd=kd,
        dimension=3,
        extra=extra,
        period=period,
        initial=motion.position(motion.start),
        unit="m/s^2",
        **rate,
    )
    motors = operational_torque(
        "motors",
        "control.acceleration",
        jacobian=f"{model.name}.jacobian",
        mass=f"{model.name}.inertia",
        dimension=3,
        period=period,
        compensation=f"{model.name}.gravity" if gravity else None,
    )
    measured = [] if sampled else [_motor_rates(), _tool_rate(model.name)]
    return Control((goal, model, *measured, pd, motors), "motors.torque")


def linearising_control(
    parameters: DeltaParameters,
    motion: Motion,
    *,
    kp: Motion | ArrayLike,
    kd: ArrayLike,
    alpha1: float = 10.0,
    alpha0: float = 25.0,
    output: str = "tool",
) -> Control:
    """Return exact feedback linearisation: e'' + kd e' + kp e = 0 for tool (m) or motor angles (rad), even off the constraint.

    The controller takes all angles and rates of the robot, and its stabilisation constants: the multipliers are eliminated with
    the stabilised constraint, so that the output has the acceleration alpha(q, v) + beta(q) u at any value of the 18 states.

    Parameters
    ----------
    kp, kd : numbers or (3,), 1/s^2 and 1/s.
    alpha1, alpha0 : stabilisation constants of the robot.
    output : "tool" (the tip of arm 1), or "motors".

    Raises `ModelError` E440 for a motion without three axes, or an unknown output; E470, E476, E478 as `pd_feedforward` does.

    Source: Bortoff 2018, section 4.
    """
    check_axes(motion)
    block = linearisation_block(parameters, alpha1, alpha0, output, "control.acceleration")
    position, rate = ("tool", "tool velocity") if output == "tool" else ("y", "motor rates.rate")
    unit = "m" if output == "tool" else "rad"
    pd = pd_feedforward("control", "goal", position, rate, kp=kp, kd=kd, dimension=3, unit=per_second(unit, 2))
    measured = [] if output == "tool" else [_motor_rates()]
    return Control((reference("goal", motion, unit=unit), *measured, pd, block), "linearisation.torque")


def check_axes(motion: Motion) -> None:
    if motion.shape != (3,):
        raise error("E440", f"a motion of shape {motion.shape} does not fit three axes", "a motion of shape (3,)")


def _motor_rates() -> Element:
    paths = {f"v{i}": f"arm {i}.theta rate" for i in ARMS}
    return Block(
        "motor rates", [("rate", MOTOR_RATES, list(paths))], inputs=paths, units={"rate": "rad/s"}, symbols={"rate": r"\dot y"}
    )


def _tool_rate(model: str) -> Element:
    return Block(
        "tool rate",
        [("velocity", PRODUCT, ["jacobian", "rate"])],
        inputs={"jacobian": f"{model}.jacobian", "rate": "motor rates.rate"},
        units={"velocity": "m/s"},
        symbols={"velocity": r"\dot w"},
    )


MOTOR_RATES = Op("motor rates", lambda *v: np.array([rates[0] for rates in v]), r"\dot y(#1, #2, #3)")
PRODUCT = Op("product", lambda J, v: J @ v, "#1 #2")
