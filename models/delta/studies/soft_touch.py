"""Soft touch: the finger of a delta robot approaches a brick on a table, touches it, and presses without moving it.

The tool follows a spline until it is close, then approaches at a low speed v. Meanwhile the gain kp along its path fades to zero:
at the contact the robot is under velocity control and presses with the holding force Lambda_xx kd v, wherever the brick is. The
peak force Lambda_xx alpha1 v comes from the constraint, which removes the approach speed.

```
 tip of arm 1 <-- TF along x <-- 0 <-- 1 brick --> I mass
                                 |       |
                     contact (switched)  Friction table
```

The flow of the contact is the rate of its gap, h' = v_brick - v_finger. Its states are "free", "contact", where the constraint is
active, and "ballistic", without force until h > 0 (Bortoff 2020, fig. 1).

Source: Bortoff 2020, section 4 and fig. 13.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from screwbond.models.contacts.laws.three_state import CONTACT_EVENT, contact_states
from screwbond.models.contacts.switches import TOUCHING
from screwbond.models.control import SoftTouch, fading_gain, soft_touch_gains
from screwbond.models.delta.graphs.control import FILTER_TIME, Control, model_terms, task_control
from screwbond.models.delta.kinematics.arm import friction_torque
from screwbond.models.delta.kinematics.parameters import DeltaParameters
from screwbond.models.delta.kinematics.robot_kinematics import initial_state
from screwbond.models.delta.studies.robot import DeltaRobot, DeltaRun
from screwbond.models.motion import Motion, axes, cubic_spline, hold
from screwbond.models.studies.fields import check_record, number, vector

from bondgraph import J0, J1, TF, Block, Compiled, Constraint, Element, Friction, Graph, I, Op, StateSpec, compile_model
from bondgraph.errors import Problem
from bondgraph.graph.builder import subgraphs
from bondgraph.model.domains import TRANSLATION
from bondgraph.run.events.records import Event
from screws.names import answer_old_names
from screws.scalars import equal, where

APPROACH_DIRECTION = np.array([1.0, 0.0, 0.0])


def add_brick(
    robot: Graph, *, gap: float, mass: float, friction: float, gravity: float, alpha1: float, alpha0: float, alpha2: float = 0.0
) -> Graph:
    """Add a brick on a table in front of the finger of a robot (`delta_graph`), at a distance `gap` along x1, m.

    Parameters
    ----------
    mass : mass of the brick, kg.
    friction : friction coefficient on the table.
    gravity : m/s^2.
    alpha1, alpha0, alpha2 : constants of the contact, h'' + alpha1 h' + alpha0 h + alpha2 h^3 = 0: 1/s, 1/s^2, 1/(m^2 s^2).

    Signals: `contact.h` gap, m; `contact.multiplier` force, N; `displacement.y`, displacement of the brick, m; `table.effort`
    friction, N.
    """
    brick, gap_junction = (J1("brick", domain=TRANSLATION, dimension=1), J0("finger and brick", domain=TRANSLATION, dimension=1))
    finger = TF("along x", APPROACH_DIRECTION, structural=True, domains=(TRANSLATION, TRANSLATION))
    robot.connect(brick, gap_junction).connect(gap_junction, finger.port("2"))
    robot.connect(finger.port("1"), subgraphs(robot)["arm 1"].port("tip"))
    robot.connect(
        gap_junction,
        Constraint(
            "contact",
            automaton="touch",
            active=[TOUCHING],
            closing="smooth",
            initial=gap,
            alpha1=alpha1,
            alpha0=alpha0,
            alpha2=alpha2,
            domain=TRANSLATION,
        ),
    )
    robot.connect(brick, I("brick mass", mass, domain=TRANSLATION))
    robot.connect(brick, Friction("table", friction * mass * gravity, domain=TRANSLATION))
    robot.add(
        Block(
            "displacement",
            [("rate", SLIP_VELOCITY, ["mode", "flow"])],
            inputs={"mode": "table.mode", "flow": "brick.flow"},
            states={"y": StateSpec(0.0, 1e-3, "m")},
            rates={"y": "rate"},
            units={"y": "m", "rate": "m/s"},
        )
    )
    return robot.add_automaton(contact_states("touch", "contact.h", "contact.h'", "contact.multiplier"))


SLIP_VELOCITY = Op("slip", lambda mode, flow: where(equal(mode, 0.0), 0.0, flow), r"#2 \text{ while it slips, else } 0")
"""Velocity of a body on dry friction, exactly zero while the body sticks, so that rounding errors do not accumulate."""


BALL = (100.0, 4e5, 0.0)
"""Constants alpha1, alpha0, alpha2 of a contact as stiff as a hard ball, which bounces: 1/s, 1/s^2, 1/(m^2 s^2)."""

REST = (0.25 * math.pi,) * 3


@dataclass(frozen=True)
class TouchPlan:
    """Plan of a soft touch.

    Raises `ModelError` E441 for invalid values, a contact before the slow approach, or a slow approach longer than the gap.

    Source: Bortoff 2020, fig. 13. (A distance of 5 mm at 2.5 s, as there, is impossible: 9.5 s at 0.2 mm/s cover only 1.9 mm.)
    """

    place: tuple[float, float, float] | None = vector(
        3, "m", "tool position at the contact, by default that of motor angles of pi/4; the finger approaches along +x1", None
    )
    gap: float = number("m", "distance between finger and brick at the start", 0.045, above=0.0)
    arrive: float = number("s", "time at which the finger is near and the slow approach begins", 2.5, above=0.0)
    contact: float = number(
        "s", "time at which the reference meets the brick; damping delays the finger slightly", 12.0, above=0.0
    )
    speed: float = number("m/s", "approach speed", 2e-4, above=0.0)
    hold: float = number("N", "holding force", 40e-3, above=0.0)
    peak: float = number("N", "force at the instant of contact", 90e-3, above=0.0)
    fade: tuple[float, float] | None = vector(
        2, "s", "times between which kp fades to zero along x1; None keeps kp, and the brick slips", (2.5, 9.0), optional=True
    )
    kp: float | None = number("1/s^2", "position gain before it fades; by default kd^2 / 4", None, least=0.0)
    kd: float | None = number("1/s", "velocity gain; by default the gain that gives `hold`", None, above=0.0)
    constants: tuple[float, float, float] | None = vector(
        3, "SI", "alpha1, alpha0, alpha2 of the contact; by default constants that give `peak`; see `BALL`", None
    )
    brick_mass: float = number("kg", "mass of the brick", 0.03, above=0.0)
    friction: float = number("", "friction coefficient of the brick on the table", 0.5, above=0.0)
    period: float = number("s", "period of the sampled controller", 1e-3, above=0.0)
    filter_time: float = number("s", "filter time of the sampled controller", FILTER_TIME, above=0.0)

    def __post_init__(self) -> None:
        check_record(self, "E441", "soft touch", _contradictions)

    @property
    def near(self) -> float:
        """Distance at which the slow approach begins, m."""
        return self.speed * (self.contact - self.arrive)


def _contradictions(plan: TouchPlan) -> Iterator[Problem]:
    if plan.contact <= plan.arrive:
        title = f"the contact at {plan.contact:g} s does not come after the approach at {plan.arrive:g} s"
        yield Problem("E441", title, cures=("a later contact, or an earlier `arrive`",))
    if plan.near >= plan.gap:
        title = (
            f"the finger travels {plan.near:g} m in {plan.contact - plan.arrive:g} s at {plan.speed:g} m/s: the whole gap or more"
        )
        yield Problem("E441", title, cures=(f"a gap above {plan.near:g} m, a slower approach, or a later `arrive`",))


@dataclass(frozen=True)
class TouchDesign:
    """Design of a soft touch for a robot: tool position at the contact, inertia, gains, and speed.

    Parameters
    ----------
    position : (3,) tool position at the contact, m.
    Lambda : (3, 3) task-space inertia at the contact, kg.
    damping : damping of the joints, along x1 at the tool, N s/m.
    gains : gains of the controller and the contact.
    speed : finger speed just before the contact, m/s; the damping reduces it if kp fades.
    """

    position: np.ndarray
    Lambda: np.ndarray
    damping: float
    gains: SoftTouch
    speed: float


def design(parameters: DeltaParameters, plan: TouchPlan) -> TouchDesign:
    """Compute the gains from the holding force Lambda_xx kd v and the peak Lambda_xx alpha1 v_c, where v_c is the speed just
    before the contact; kd and kp of the plan have priority.

    Raises `ModelError` E463, E464 for a contact out of reach; E477 for a peak below the holding force.
    """
    kinematics = DeltaRobot(parameters).kinematics
    position = kinematics.forward(REST).w if plan.place is None else np.asarray(plan.place, dtype=float)
    y = kinematics.inverse(position)[::3]
    posture = kinematics.forward(y)
    _, jacobian, inertia, _ = (np.asarray(term, dtype=float) for term in model_terms(y, parameters))
    inverse = np.linalg.inv(jacobian)
    Lambda = inverse.T @ inertia @ inverse
    v = (posture.dtheta_dy @ inverse[:, 0]).reshape(3, 3)
    arms = zip(posture.theta.reshape(3, 3), v, strict=True)
    damping = float(sum(rates @ friction_torque(theta, rates, parameters) for theta, rates in arms))
    gains = soft_touch_gains(float(Lambda[0, 0]), plan.speed, plan.hold, plan.peak)
    kd = gains.kd if plan.kd is None else plan.kd
    kp = 0.25 * kd * kd if plan.kp is None else plan.kp
    speed = plan.speed / (1.0 + damping / (Lambda[0, 0] * kd)) if plan.fade is not None else plan.speed
    alpha1 = plan.peak / (float(Lambda[0, 0]) * speed)
    return TouchDesign(position, Lambda, damping, SoftTouch(kd, kp, alpha1, 0.25 * alpha1 * alpha1), speed)


def approach(plan: TouchPlan, position: np.ndarray) -> Motion:
    start, near = position[0] - plan.gap, position[0] - plan.near
    along = cubic_spline((start, near), times=(0.0, plan.arrive), end_velocity=plan.speed)
    return axes(along, hold(float(position[1]), plan.arrive), hold(float(position[2]), plan.arrive))


def touch_control(parameters: DeltaParameters, plan: TouchPlan, designed: TouchDesign) -> Control:
    first, last = plan.fade or (plan.arrive, plan.contact)
    kp = np.full(3, designed.gains.kp0)
    gain = fading_gain(kp, first, last, axis=0, to=0.0 if plan.fade is not None else designed.gains.kp0)
    return task_control(
        parameters,
        approach(plan, designed.position),
        kp=gain,
        kd=np.full(3, designed.gains.kd),
        period=plan.period,
        filter_time=plan.filter_time,
    )


def touch_graph(robot: DeltaRobot | DeltaParameters, plan: TouchPlan | None = None) -> Graph:
    robot, plan = DeltaRobot(robot) if isinstance(robot, DeltaParameters) else robot, plan or TouchPlan()
    parameters = robot.parameters
    designed = design(parameters, plan)
    control = touch_control(parameters, plan, designed)
    y = robot.inverse_kinematics(designed.position - [plan.gap, 0.0, 0.0])
    graph = robot.graph(y, signals=control.torque, name="soft touch")
    graph.add(*control.blocks)
    alpha1, alpha0, alpha2 = plan.constants or (designed.gains.alpha1, designed.gains.alpha0, 0.0)
    return add_brick(
        graph,
        gap=plan.gap,
        mass=plan.brick_mass,
        friction=plan.friction,
        gravity=abs(parameters.g),
        alpha1=alpha1,
        alpha0=alpha0,
        alpha2=alpha2,
    )


@dataclass(frozen=True)
class _CompiledKey:
    """Cache key of a compiled touch: the robot alone, since all values of a plan are run-time parameters of the graph."""

    robot: DeltaRobot
    graph: Graph = field(compare=False)


@functools.lru_cache(maxsize=8)
def _compiled(task: _CompiledKey) -> Compiled:
    return compile_model(task.graph, backend=task.robot.backend)


def soft_touch(
    robot: DeltaRobot | DeltaParameters,
    plan: TouchPlan | None = None,
    *,
    t_end: float = 20.0,
    samples: Any = 5e-3,
    rtol: float = 1e-7,
    **settings: Any,
) -> SoftTouchRun:
    """Run a soft touch. The compiled graph is cached and reused for all plans of the same robot.

    Parameters
    ----------
    robot : the robot, or its parameters alone.
    plan : plan of the touch; by default figure 13 of the paper.
    t_end, samples, rtol, settings : as for `bondgraph.run.simulate`.

    Raises `ModelError` E463, E464 for a start or contact out of reach; E471 for times of `fade` that do not ascend; E476 for
    gains outside 0 <= kp <= kd^2; E477 for a peak below the holding force.
    """
    robot, plan = DeltaRobot(robot) if isinstance(robot, DeltaParameters) else robot, plan or TouchPlan()
    designed = design(robot.parameters, plan)
    graph = touch_graph(robot, plan)
    compiled = _compiled(_CompiledKey(robot, graph))
    values = {
        f"{part.name}.{key}": np.asarray(parameter.value)
        for part in graph.parts.values()
        if isinstance(part, Element)
        for key, parameter in part.parameters.items()
    }
    start = initial_state(robot.kinematics, w=designed.position - [plan.gap, 0.0, 0.0])
    initial = {**robot.initial(start), "contact.h": plan.gap}
    result = compiled.simulate(t_end, parameters=values, initial=initial, samples=samples, rtol=rtol, **settings)
    return SoftTouchRun(DeltaRun(result, compiled, robot.kinematics), plan, designed)


@answer_old_names
@dataclass(frozen=True, eq=False)
class SoftTouchRun:
    """Result of a soft touch; `touch["contact.multiplier"]` returns a quantity by name.

    Parameters
    ----------
    run : the run, with `result` for events and energies.
    plan, design : the plan, and the gains.
    """

    run: DeltaRun
    plan: TouchPlan
    design: TouchDesign = field(repr=False)

    def __getitem__(self, name: str) -> np.ndarray:
        return self.run[name]

    @cached_property
    def _contact_events(self) -> list[Event]:
        return [event for event in self.run.result.events if event.name == "touch" and event.kind == CONTACT_EVENT]

    @property
    def contacts(self) -> tuple[float, ...]:
        """Times at which the finger touched the brick, s."""
        return tuple(event.time for event in self._contact_events)

    @cached_property
    def impacts(self) -> tuple[float, ...]:
        """Contact force just after each contact event, N: a jump, which rows of the result may miss."""
        return tuple(float(self.run.result.at_event(event, "contact.multiplier")[1]) for event in self._contact_events)

    @property
    def peak(self) -> float:
        """Largest contact force at contact events and in rows of the result, N, or 0 without contact."""
        return max(*self.impacts, float(np.max(self["contact.multiplier"])), 0.0) if self.impacts else 0.0

    @property
    def holding_force(self) -> float:
        """Contact force at the end, N."""
        return float(self["contact.multiplier"][-1])

    @property
    def displacement(self) -> float:
        """Largest distance of the brick from its initial position, m."""
        return float(np.max(np.abs(self["displacement.y"])))

    @cached_property
    def slips(self) -> tuple[float, ...]:
        """Times at which the brick began to slip, s."""
        events = self.run.result.events
        return tuple(event.time for event in events if event.name == "table" and "slips" in event.kind)

    @property
    def bounces(self) -> int:
        """Number of times the finger touched the brick again after leaving it."""
        return max(len(self.contacts) - 1, 0)

    def summary(self) -> dict[str, Any]:
        """Return key figures of the touch, for files: times in s, forces in N, gains as in `TouchPlan`."""
        gains = self.design.gains
        return {
            "ok": self.run.ok,
            "contacts": list(self.contacts),
            "impact_forces": list(self.impacts),
            "peak_force": self.peak,
            "held_force": self.holding_force,
            "brick_displacement": self.displacement,
            "slips": list(self.slips),
            "approach_speed": self.design.speed,
            "Lambda_xx": float(self.design.Lambda[0, 0]),
            "kd": gains.kd,
            "kp0": gains.kp0,
            "alpha1": float(self["contact.alpha1"]),
            "alpha0": float(self["contact.alpha0"]),
        }

    @property
    def in_contact(self) -> np.ndarray:
        """Mask (k,) of rows in contact."""
        return np.asarray(self["touch.mode"] == 1.0)
