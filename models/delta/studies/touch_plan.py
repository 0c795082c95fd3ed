"""What is asked of a soft touch, and what follows from it: gains, the motion of the approach, the controller.

Holding force = Lambda_xx kd v, where the axis is blocked under velocity control; peak = Lambda_xx alpha1 v, what the constraint
needs to take away the speed of the approach.

Source: Bortoff 2020, section 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from models.control import SoftTouch, fading, soft_touch_gains
from models.delta.graphs.control import FILTER_TIME, Control, model_terms, task_control
from models.delta.kinematics.arm import friction_torque
from models.delta.kinematics.parameters import DeltaParameters
from models.delta.kinematics.refusals import control_error
from models.delta.studies.robot import DeltaRobot
from models.motion import Motion, axes, cubic_spline, hold

BALL = (100.0, 4e5, 0.0)
"""alpha1, alpha0, alpha2 of a contact as hard as a ball's: 1/s, 1/s^2, 1/(m^2 s^2). It bounces."""

REST = (0.25 * math.pi,) * 3
"""Motor angles at the contact where no place is given, rad."""


@dataclass(frozen=True)
class TouchPlan:
    """What is asked of a soft touch.

    Parameters
    ----------
    place : (3,) tool at the contact, m; none is where the motor angles are pi/4. The approach is along x1, from below.
    gap : between finger and brick at the start, m.
    arrive : time at which the finger is near and the slow approach begins, s.
    contact : time at which the reference meets the brick, s; the finger is a little later, by what damping takes.
    speed : of the approach, m/s.
    hold, peak : force that is held, and at the instant of contact, N.
    fade : times between which kp goes to zero along x1, s; none keeps it (and the brick slips).
    kp, kd : gains, 1/s^2 and 1/s; none are designed: kd for `hold`, and kp = kd^2 / 4.
    constants : (alpha1, alpha0, alpha2) of the contact; none are designed for `peak`, see `BALL`.
    brick_mass, friction : kg, and of the brick on the table.
    period, filter_time : of the sampled controller, s.

    Raises
    ------
    ModelError
        E441 for what is no positive number, or times that do not follow each other.

    Source: Bortoff 2020, fig. 13. (That figure's "within 5 mm" at 2.5 s cannot be: 9.5 s at 0.2 mm/s are 1.9 mm.)
    """

    place: tuple[float, float, float] | None = None
    gap: float = 0.045
    arrive: float = 2.5
    contact: float = 12.0
    speed: float = 2e-4
    hold: float = 40e-3
    peak: float = 90e-3
    fade: tuple[float, float] | None = (2.5, 9.0)
    kp: float | None = None
    kd: float | None = None
    constants: tuple[float, float, float] | None = None
    brick_mass: float = 0.03
    friction: float = 0.5
    period: float = 1e-3
    filter_time: float = FILTER_TIME

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if not isinstance(value, (int, float)):
                continue
            allowed = value >= 0.0 if each.name == "kp" else value > 0.0
            if not (math.isfinite(value) and allowed):
                raise control_error("E441", f"a soft touch with {each.name} = {value!r}", "a positive number")
        if self.contact <= self.arrive:
            raise control_error(
                "E441",
                f"the contact at {self.contact:g} s comes before the approach at {self.arrive:g} s",
                "a later contact, or an earlier `arrive`",
            )
        if self.near >= self.gap:
            slow = self.contact - self.arrive
            raise control_error(
                "E441",
                f"{slow:g} s at {self.speed:g} m/s are {self.near:g} m, more than the gap",
                f"a gap above {self.near:g} m, a slower approach, or a later `arrive`",
            )

    @property
    def near(self) -> float:
        """Distance at which the slow approach begins, m."""
        return self.speed * (self.contact - self.arrive)


@dataclass(frozen=True)
class TouchDesign:
    """What follows from a plan for a robot: the tool at the contact, gains, and the motion that is asked for.

    Parameters
    ----------
    place : (3,) m.
    Lambda : (3, 3) inertia of the task space at the contact, kg.
    damping : that the joints' damping is along x1 for the tool, N s/m.
    gains : of the controller and the contact.
    speed : of the finger just before the contact, where its damping balances kd, m/s.
    """

    place: np.ndarray
    Lambda: np.ndarray
    damping: float
    gains: SoftTouch
    speed: float


def design(parameters: DeltaParameters, plan: TouchPlan) -> TouchDesign:
    """Gains for a plan: holding force Lambda_xx kd v, peak Lambda_xx alpha1 v_c with the speed v_c that damping leaves.

    Raises
    ------
    ModelError
        E463, E464 for a place out of reach; E477 for a peak below the holding force.
    """
    kinematics = DeltaRobot(parameters).kinematics
    place = kinematics.forward(REST).w if plan.place is None else np.asarray(plan.place, dtype=float)
    y = kinematics.inverse(place)[::3]
    posture = kinematics.forward(y)
    _, jacobian, inertia, _ = (np.asarray(term, dtype=float) for term in model_terms(y, parameters))
    back = np.linalg.inv(jacobian)
    Lambda = back.T @ inertia @ back
    v = (posture.dtheta_dy @ back[:, 0]).reshape(3, 3)
    arms = zip(posture.theta.reshape(3, 3), v, strict=True)
    damping = float(sum(rates @ friction_torque(theta, rates, parameters) for theta, rates in arms))
    wanted = soft_touch_gains(float(Lambda[0, 0]), plan.speed, plan.hold, plan.peak)
    kd = wanted.kd if plan.kd is None else plan.kd
    kp = 0.25 * kd * kd if plan.kp is None else plan.kp
    speed = plan.speed / (1.0 + damping / (Lambda[0, 0] * kd)) if plan.fade is not None else plan.speed
    alpha1 = plan.peak / (float(Lambda[0, 0]) * speed)
    return TouchDesign(place, Lambda, damping, SoftTouch(kd, kp, alpha1, 0.25 * alpha1 * alpha1), speed)


def approach(plan: TouchPlan, place: np.ndarray) -> Motion:
    """The motion of the tool (3,), m: a cubic spline until it is near, then straight on at the low speed."""
    start, near = place[0] - plan.gap, place[0] - plan.near
    along = cubic_spline((start, near), times=(0.0, plan.arrive), end_velocity=plan.speed)
    return axes(along, hold(float(place[1]), plan.arrive), hold(float(place[2]), plan.arrive))


def touch_control(parameters: DeltaParameters, plan: TouchPlan, designed: TouchDesign) -> Control:
    """The sampled controller of a plan; kp is a function of time. Raises E476 for gains outside 0 <= kp <= kd^2."""
    first, last = plan.fade or (plan.arrive, plan.contact)
    kp = np.full(3, designed.gains.kp0)
    gain = fading(kp, first, last, axis=0, to=0.0 if plan.fade is not None else designed.gains.kp0)
    return task_control(
        parameters,
        approach(plan, designed.place),
        kp=gain,
        kd=np.full(3, designed.gains.kd),
        period=plan.period,
        filter_time=plan.filter_time,
    )
