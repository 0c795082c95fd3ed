"""What is asked of a soft touch, and what follows from it: gains, the motion of the approach, the controller.

Holding force = Lambda_xx kd v, where the axis is blocked under velocity control; peak = Lambda_xx alpha1 v, what the constraint
needs to take away the speed of the approach.

Source: Bortoff 2020, section 4.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from screwbond.models.control import SoftTouch, fading_gain, soft_touch_gains
from screwbond.models.delta.graphs.control import FILTER_TIME, Control, model_terms, task_control
from screwbond.models.delta.kinematics.arm import friction_torque
from screwbond.models.delta.kinematics.parameters import DeltaParameters
from screwbond.models.delta.studies.robot import DeltaRobot
from screwbond.models.motion import Motion, axes, cubic_spline, hold
from screwbond.models.studies.fields import check_record, number, vector

from bondgraph.errors import Problem

BALL = (100.0, 4e5, 0.0)
"""alpha1, alpha0, alpha2 of a contact as hard as a ball's: 1/s, 1/s^2, 1/(m^2 s^2). It bounces."""

REST = (0.25 * math.pi,) * 3
"""Motor angles at the contact where no place is given, rad."""


@dataclass(frozen=True)
class TouchPlan:
    """What is asked of a soft touch.

    Raises `ModelError` E441 for a number that cannot be, or times that do not follow each other.

    Source: Bortoff 2020, fig. 13. (That figure's "within 5 mm" at 2.5 s cannot be: 9.5 s at 0.2 mm/s are 1.9 mm.)
    """

    place: tuple[float, float, float] | None = vector(
        3, "m", "tool at the contact, met along x1 from below; where the motor angles are pi/4 if left out", None
    )
    gap: float = number("m", "between finger and brick at the start", 0.045, above=0.0)
    arrive: float = number("s", "when the finger is near and the slow approach begins", 2.5, above=0.0)
    contact: float = number("s", "when the reference meets the brick; damping delays the finger a little", 12.0, above=0.0)
    speed: float = number("m/s", "of the approach", 2e-4, above=0.0)
    hold: float = number("N", "force that is held", 40e-3, above=0.0)
    peak: float = number("N", "force at the instant of contact", 90e-3, above=0.0)
    fade: tuple[float, float] | None = vector(
        2, "s", "when kp fades to zero along x1; None keeps it, and the brick slips", (2.5, 9.0), optional=True
    )
    kp: float | None = number("1/s^2", "position gain before it fades; kd^2 / 4 if left out", None, least=0.0)
    kd: float | None = number("1/s", "velocity gain; what gives `hold` if left out", None, above=0.0)
    constants: tuple[float, float, float] | None = vector(
        3, "SI", "alpha1, alpha0, alpha2 of the contact; what gives `peak` if left out; see `BALL`", None
    )
    brick_mass: float = number("kg", "of the brick", 0.03, above=0.0)
    friction: float = number("", "of the brick on the table", 0.5, above=0.0)
    period: float = number("s", "of the sampled controller", 1e-3, above=0.0)
    filter_time: float = number("s", "of the sampled controller", FILTER_TIME, above=0.0)

    def __post_init__(self) -> None:
        check_record(self, "E441", "soft touch", _contradictions)

    @property
    def near(self) -> float:
        """Distance at which the slow approach begins, m."""
        return self.speed * (self.contact - self.arrive)


def _contradictions(plan: TouchPlan) -> Iterator[Problem]:
    if plan.contact <= plan.arrive:
        title = f"the contact at {plan.contact:g} s comes before the approach at {plan.arrive:g} s"
        yield Problem("E441", title, cures=("a later contact, or an earlier `arrive`",))
    if plan.near >= plan.gap:
        title = f"{plan.contact - plan.arrive:g} s at {plan.speed:g} m/s are {plan.near:g} m, more than the gap"
        yield Problem("E441", title, cures=(f"a gap above {plan.near:g} m, a slower approach, or a later `arrive`",))


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

    Raises `ModelError` E463, E464 for a place out of reach; E477 for a peak below the holding force.
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
    gain = fading_gain(kp, first, last, axis=0, to=0.0 if plan.fade is not None else designed.gains.kp0)
    return task_control(
        parameters,
        approach(plan, designed.place),
        kp=gain,
        kd=np.full(3, designed.gains.kd),
        period=plan.period,
        filter_time=plan.filter_time,
    )
