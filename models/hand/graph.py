"""Dexterous hand as a single bond graph: fingers, contacts, object and passive controller (Visser 2002, section 5).

```
 finger i (chain) --- tip --- contact i --- object
                       |
                   controller: grip spring i --- virtual object --- reference spring --- reference (Sf)
                                                       |
                                                   damping (R)
```

The intrinsically passive controller is a virtual object on springs. It measures only the poses of the tips, and only its
reference can supply energy. Source: Stramigioli 2001 (intrinsically passive control); Visser 2002, section 5.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from screwbond.models.bodies import Body, rigid_body
from screwbond.models.chains import Chain, ChainGraph, Link, ball_inertia, chain_graph, combined_inertia, cylinder_inertia
from screwbond.models.contacts import attach_contact, contact
from screwbond.models.contacts.laws.compliant import COMPLIANCE_UNITS
from screwbond.models.hand.grasping import Posture, in_last_link, initial_posture, spring_deflections, virtual_points_in_object
from screwbond.models.hand.scenarios import HandParameters, HandScenario, ReferenceStep
from screwbond.models.motion import PoseMotion, axes, axis_rotations, following_body, hold, pose_motion, quintic
from screwbond.models.motion.polynomials import Motion
from screwbond.models.springs import attach_between, point_spring, spatial_spring

from bondgraph import Automaton, Compiled, Element, Graph, Op, R, Transition
from bondgraph.analysis import steady_state
from bondgraph.errors import ModelError, refusal
from bondgraph.model.domains import SCREW
from bondgraph.output.short_repr import short_repr
from screws.joints import revolute
from screws.poses import pose
from screws.scalars import minimum
from screws.surfaces import sphere


@dataclass(frozen=True)
class VirtualObject:
    """Gains of the controller (SI): inertia and absolute damping of the virtual object, springs to the reference and the tips."""

    mass: float
    inertia: float
    damping: float
    rotational_damping: float
    stiffness: float
    rotational_stiffness: float
    finger_stiffness: float


def passive_controller(
    name: str,
    gains: VirtualObject,
    reference: Body,
    poles: np.ndarray,
    points: np.ndarray,
    *,
    position: Sequence[float],
    quaternion: Sequence[float],
) -> Graph:
    """Return the controller as a graph with a port `tip i` and an input `pose i` for each tip, which `attach_tip` connects.

    Parameters
    ----------
    reference : body with a prescribed motion that the virtual object follows.
    poles : (n, 3) points of the springs in the tips' frames, m.
    points : (n, 3) other ends of the springs in the virtual object, m.
    position, quaternion : initial pose of the virtual object.

    Parts: `virtual object`, `reference`, `reference spring`, `damping`, `grip spring i`.
    """
    graph = Graph(name)
    virtual = rigid_body(
        "virtual object", mass=gains.mass, inertia=(gains.inertia,) * 3, position=tuple(position), quaternion=tuple(quaternion)
    )
    # The damper acts at the 1-junction of the body twist: it damps absolute motion, equally in all directions.
    body_twist = virtual.parts["body twist"]
    assert isinstance(body_twist, Element)
    virtual.expose("body", body_twist)
    damping = np.array([gains.rotational_damping] * 3 + [gains.damping] * 3)
    reference_spring = spatial_spring(
        "reference spring", rotational=gains.rotational_stiffness, translational=gains.stiffness, form="rotation vector"
    )
    attach_between(graph, reference_spring, reference, virtual)
    graph.connect(virtual.port("body"), R("damping", damping, domain=SCREW, frame=virtual.name))
    for i, (pole, point) in enumerate(zip(poles, points, strict=True)):
        graph.declare_input(f"pose {i}")
        spring = point_spring(f"grip spring {i}", gains.finger_stiffness, pole, point)
        graph.connect(virtual.world, spring.port("b"))
        graph.wire(virtual.pose_path, spring, "pose b")
        graph.wire(f"pose {i}", spring, "pose a")
        graph.expose(f"tip {i}", spring.port("a"))
    return graph


def attach_tip(graph: Graph, controller: Graph, index: int, finger: ChainGraph, tip: str) -> None:
    graph.connect(controller.port(f"tip {index}"), finger.port(tip))
    graph.wire(f"{finger.name}.{tip}.H", controller, f"pose {index}")


def reference_motion(
    steps: Sequence[ReferenceStep], position: Sequence[float], quaternion: Sequence[float] = (1.0, 0.0, 0.0, 0.0)
) -> PoseMotion:
    """Return the motion of the reference from an initial pose: the sum of all shifts, and all rotations in sequence."""
    start = np.asarray(position, dtype=float)
    shifts = [quintic(np.zeros(3), step.shift, step.begin, step.end) for step in steps if any(step.shift)]
    turns = [step for step in steps if any(step.turn)]
    centre: Motion | np.ndarray = start
    if shifts:
        stacked = axes(*shifts)
        table = stacked.coefficients
        summed = table.reshape(*table.shape[:2], len(shifts), 3).sum(axis=2)
        summed[:, 0] += start
        centre = Motion(stacked.breaks, summed)
    turn = axis_rotations(hold(0.0, 1.0), (0.0, 0.0, 1.0))
    if turns:
        angles = [quintic(0.0, float(np.linalg.norm(step.turn)), step.begin, step.end) for step in turns]
        turn = axis_rotations(angles, [step.turn for step in turns])
    return pose_motion(centre, turn, quaternion=tuple(quaternion))


OBJECT = "object"
CONTROLLER = "controller"
VIRTUAL = f"{CONTROLLER}.virtual object"
REFERENCE = f"{CONTROLLER}.reference"

TIP = "tip"

CONTACT_NUMBERS = tuple(name for name in COMPLIANCE_UNITS if name != "torsional_friction")

GRASP = "grasp"
"""Name of the automaton with the states "held", while any tip touches the object, and "lost"."""


def finger_name(i: int) -> str:
    return f"finger {i}"


def contact_name(i: int) -> str:
    return f"contact {i}"


def grip_name(i: int) -> str:
    return f"{CONTROLLER}.grip spring {i}"


def parts_of(fingers: int) -> list[str]:
    inside = [VIRTUAL, REFERENCE, f"{CONTROLLER}.reference spring", OBJECT]
    return inside + [name(i) for i in range(fingers) for name in (finger_name, contact_name, grip_name)]


@short_repr
@dataclass(frozen=True)
class Hand:
    """Hand that holds its object, and the motion of its reference.

    Parameters
    ----------
    parameters : parameters of hand, object and controller.
    steps : motion of the reference; at rest if empty.
    motion : any motion of the reference that starts at the object's pose, instead of steps.

    Raises `ModelError` on the first use of `posture`, `reference` or `graph`: E431 for a motion that starts elsewhere, E481 for
    an object out of reach, E482 without an equilibrium, E484 beyond joint limits.
    """

    parameters: HandParameters = field(default_factory=HandParameters)
    steps: tuple[ReferenceStep, ...] = ()
    motion: PoseMotion | None = None

    @classmethod
    def of(cls, scenario: HandScenario) -> Hand:
        """Return the hand of a scenario."""
        return cls(scenario.parameters, scenario.steps)

    @cached_property
    def posture(self) -> Posture:
        """Initial equilibrium."""
        return initial_posture(self.parameters)

    @cached_property
    def reference(self) -> PoseMotion:
        """Motion of the reference."""
        parameters = self.parameters
        if self.motion is not None:
            start = np.array([*parameters.object_quaternion, *parameters.object_position])
            _check_start(self.motion, start)
            return self.motion
        return reference_motion(self.steps, parameters.object_position, parameters.object_quaternion)

    def chain(self, finger: int) -> Chain:
        """Return a finger: four links on its base, the last with a ball as its tip; each link's frame is at its outer end."""
        parameters = self.parameters
        heights = np.cumsum([0.0, *parameters.link_lengths])
        links = []
        for j in range(4):
            low, high = (0.0, 0.0, heights[j]), (0.0, 0.0, heights[j + 1])
            # Joint 1 turns about z, all other joints about -e_t: positive angles flex inward.
            axis = (0.0, 0.0, 1.0) if j == 0 else (0.0, -1.0, 0.0)
            home = pose(np.eye(3), np.array(high))
            length = parameters.link_lengths[j]
            inertia = cylinder_inertia(parameters.link_masses[j], parameters.link_radius, (0.0, 0.0, -length), (0.0, 0.0, 0.0))
            if j == 3:
                inertia = combined_inertia(inertia, ball_inertia(parameters.tip_mass, parameters.tip_radius))
            links.append(
                Link(
                    TIP if j == 3 else f"link {j + 1}",
                    revolute(axis, low),
                    inertia,
                    home,
                    parameters.joint_damping,
                    (parameters.joint_lower[j], parameters.joint_upper[j]),
                    sphere(parameters.tip_radius) if j == 3 else None,
                )
            )
        c, s = np.cos(parameters.azimuths[finger]), np.sin(parameters.azimuths[finger])
        R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        return Chain(finger_name(finger), tuple(links), pose(R, parameters.bases[finger]))

    def finger(self, i: int) -> ChainGraph:
        """Return a finger as a graph with the port `tip`, in its initial posture."""
        return chain_graph(self.chain(i), ports=[TIP], position=self.posture.joints[i])

    def held_object(self) -> Body:
        """Return the object as a rigid body."""
        parameters = self.parameters
        return rigid_body(
            OBJECT,
            mass=parameters.object_mass,
            inertia=parameters.inertia,
            surface=parameters.surface,
            position=parameters.object_position,
            quaternion=parameters.object_quaternion,
        )

    def controller(self) -> Graph:
        """Return the controller with its reference."""
        parameters, posture = self.parameters, self.posture
        gains = VirtualObject(
            parameters.virtual_mass,
            parameters.virtual_inertia,
            parameters.virtual_damping,
            parameters.virtual_rotational_damping,
            parameters.reference_stiffness,
            parameters.reference_rotational_stiffness,
            parameters.finger_stiffness,
        )
        poles = np.array([in_last_link(parameters, i, posture.joints[i], posture.poles[i]) for i in range(parameters.fingers)])
        return passive_controller(
            CONTROLLER,
            gains,
            following_body("reference", self.reference),
            poles,
            virtual_points_in_object(parameters, posture),
            position=parameters.object_position,
            quaternion=parameters.object_quaternion,
        )

    def graph(self, name: str = "hand") -> Graph:
        """Return the graph of the hand, with the parts `finger i`, `contact i`, `object` and `controller`.

        It starts in equilibrium, with the contact springs at the deflections that hold the object.
        """
        parameters = self.parameters
        graph = Graph(name)
        body, controller = self.held_object(), self.controller()
        deflections = spring_deflections(parameters, self.posture)
        numbers: dict[str, Any] = {name: getattr(parameters, name) for name in CONTACT_NUMBERS}
        for i in range(parameters.fingers):
            finger = self.finger(i)
            tip = finger.link(TIP)
            rolling_contact = contact(contact_name(i), tip, body, constrained="rolling", transport="gauss", **numbers)
            rolling_contact.start(_preload(deflections[i]), ["spring.q"], ["spring.q"])
            attach_contact(graph, rolling_contact, tip, body)
            attach_tip(graph, controller, i, finger, TIP)
        gaps = tuple(f"{contact_name(i)}.gap" for i in range(parameters.fingers))
        graph.add_automaton(
            Automaton(
                GRASP,
                ("held", "lost"),
                "held",
                (
                    Transition("held", "lost", ALL_OPEN, gaps, kind="object lost"),
                    Transition("lost", "held", ONE_CLOSED, gaps, kind="object caught"),
                ),
            )
        )
        return graph


def equilibrium(compiled: Compiled, parameters: Mapping[str, Any] | None = None) -> dict[str, np.ndarray]:
    """Return start values at which a compiled hand is in equilibrium with changed parameters, from the statics of its graph.

    The springs of the controller have no states, so the search moves the bodies until forces balance. Directions left free by
    rolling and by the history of the contact springs stay as close as possible to the start.

    Raises `ModelError` E430 if no equilibrium is nearby, or if contacts would open there.
    """
    try:
        steady = steady_state(compiled, parameters=parameters)
    except ModelError as error:
        reasons = tuple(problem.title for problem in error.problems)
        raise _no_equilibrium(compiled, reasons) from error
    if "contact off" in steady.due or "object lost" in steady.due:
        raise _no_equilibrium(compiled, "a contact would open")
    values, offset = {}, 0
    for state in compiled.system.states:
        shape = np.shape(state.initial)
        size = int(np.prod(shape))
        if size:
            values[state.name] = steady.point.x[offset : offset + size].reshape(shape)
        offset += size
    return values


def _no_equilibrium(compiled: Compiled, why: str | Sequence[str]) -> ModelError:
    cures = ("parameters closer to the original parameters", "a Hand built with these parameters")
    return refusal("E430", "the hand finds no equilibrium near its initial posture", *cures, about=compiled.model.name, why=why)


def _check_start(motion: PoseMotion, pose_state: np.ndarray) -> None:
    start = motion.pose(0.0)
    distance = float(np.linalg.norm(start[4:] - pose_state[4:]))
    angle = 2.0 * float(np.arccos(min(1.0, abs(start[:4] @ pose_state[:4]))))
    if distance > 1e-6 or angle > 1e-6:
        deviation = f"at time 0 it is {distance:.4g} m and {angle:.4g} rad away"
        cure = "a motion whose pose at time 0 is object_position, object_quaternion"
        raise refusal("E431", "the reference does not start at the object", cure, about="hand", why=deviation)


ALL_OPEN = Op("all contacts open", lambda *gaps: functools.reduce(minimum, gaps), r"\min d_i")
ONE_CLOSED = Op("a contact closed", lambda *gaps: -functools.reduce(minimum, gaps), r"-\min d_i")


def _preload(deflection: np.ndarray) -> Callable[[Any], tuple[np.ndarray]]:
    tangential = np.array([*deflection[:3], 0.0])
    return lambda spring: (np.asarray(spring, dtype=float) + tangential,)
