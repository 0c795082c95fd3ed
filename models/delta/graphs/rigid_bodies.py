"""Delta robot as a screw bond graph of seven rigid bodies; its nine joints are constraints.

Each arm is a proximal link on a revolute joint (shaft along x1 of the arm) and a distal rod between two universal joints, at the
elbow (first axis along x1) and at the end effector. The end effector has the mass 3 M3 and the three freedoms of the tool. As the
inertia `axial_inertia` of the rods about their axes tends to zero, the motion tends to that of Bortoff 2018, whose rods are thin.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from screwbond.models.bodies import Body, ground, rigid_body
from screwbond.models.delta.kinematics.arm import CONE, direction
from screwbond.models.delta.kinematics.closure import ROTATIONS
from screwbond.models.delta.kinematics.parameters import LETTERS, DeltaParameters
from screwbond.models.delta.kinematics.robot_kinematics import DeltaKinematics
from screwbond.models.joints import attach_joint, joint_graph

from bondgraph import MTF, Block, Graph, Op, Parameter, R
from bondgraph.model.domains import ROTATION, SCREW
from screws.joints import revolute, universal
from screws.poses import pose, pose_from_state
from screws.rotations import quaternion, tilde
from screws.scalars import array, atan2, maximum, sqrt

EYE = np.eye(3)
DAMPING = {"resistance": LETTERS["DAMPING"]}
SHAFT = revolute((1.0, 0.0, 0.0))
HOOKE = universal((1.0, 0.0, 0.0), (0.0, 0.0, 1.0))


def rigid_delta_graph(
    parameters: DeltaParameters,
    y: Sequence[float] | np.ndarray,
    *,
    rates: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0),
    axial_inertia: float = 1e-9,
    mode: str = "below",
    alpha1: float = 10.0,
    alpha0: float = 25.0,
    name: str = "delta robot",
) -> Graph:
    """Return the graph of the robot, started at motor angles y (3,), rad, with motor velocities `rates` (3,), rad/s.

    Parameters
    ----------
    axial_inertia : inertia of a distal rod about its own axis, kg m^2.
    mode : assembly mode, "below" or "above".
    alpha1, alpha0 : stabilisation constants of all joints.

    Ports `motor 1`, `motor 2`, `motor 3` take the torques. Signals: `phi 1`, `phi 2`, `phi 3`, the angles (3,) of each arm as in
    `screwbond.models.delta.kinematics.arm`, and `tool` (3,), m. Damping acts on these nine angles.

    Raises `ModelError` E463 to E466 for motor angles at which the robot cannot be assembled; `GeometryError` for parameters that
    leave a body without mass or inertia.

    Where the projections of the three rods along their motor shafts lie in one plane, the universal joints do not prevent the
    end effector from turning.
    """
    start = DeltaKinematics(parameters).forward(y, mode=mode)
    v = start.dtheta_dy @ np.asarray(rates, dtype=float)
    p, graph, base = parameters, Graph(name), ground("base")
    weight = (0.0, 0.0, p.g)
    disc = 3.0 * p.M3 * max(p.L3, 0.1 * p.L2) ** 2
    tool = rigid_body(
        "end effector",
        mass=3.0 * p.M3,
        inertia=(disc / 4.0, disc / 4.0, disc / 2.0),
        position=start.w.tolist(),
        velocity=(start.jacobian @ np.asarray(rates, dtype=float)).tolist(),
        gravity=weight,
    )
    stabilisation: dict[str, Any] = {"alpha1": alpha1, "alpha0": alpha0}
    for i, arm_axes in enumerate(ROTATIONS):
        label, arm = str(i + 1), slice(3 * i, 3 * i + 3)
        link, rod = _links(p, arm_axes, start.theta[arm], v[arm], axial_inertia, label, weight)
        on_base, on_tool = _arm_frame(arm_axes, p.L0), _arm_frame(arm_axes, p.L3)
        shoulder = joint_graph(f"shoulder {label}", SHAFT, frame_a=on_base, frame_b=_link_frame(-p.LC1), **stabilisation)
        elbow = joint_graph(
            f"elbow {label}", HOOKE, frame_a=_link_frame(p.L1 - p.LC1), frame_b=_link_frame(-p.LC2), **stabilisation
        )
        wrist = joint_graph(f"wrist {label}", HOOKE, frame_a=on_tool, frame_b=_link_frame(p.L2 - p.LC2), **stabilisation)
        attach_joint(graph, shoulder, base, link)
        attach_joint(graph, elbow, link, rod)
        attach_joint(graph, wrist, tool, rod)
        graph.connect(shoulder.port("motion"), R(f"shaft friction {label}", p.DAMPING, symbols=DAMPING))
        _rod_friction(graph, rod, label, arm_axes, p.DAMPING)
        graph.expose(f"motor {label}", shoulder.port("motion"))
        angles = Block(
            f"angles {label}",
            [("phi", ROD_ANGLES, ["link", "rod", "axes"])],
            inputs={"link": link.pose_path, "rod": rod.pose_path},
            parameters={"axes": Parameter(arm_axes, "1")},
            symbols={"axes": "R"},
            units={"phi": "rad"},
        )
        graph.add(angles)
        graph.export(f"phi {label}", f"angles {label}.phi")
    graph.add(Block("tool", [("w", POSITION, ["pose"])], inputs={"pose": tool.pose_path}, units={"w": "m"}))
    graph.export("tool", "tool.w")
    return graph


def _link_frame(distance: float) -> np.ndarray:
    return np.asarray(pose(EYE, (0.0, distance, 0.0)), dtype=float)


def _arm_frame(arm_axes: np.ndarray, radius: float) -> np.ndarray:
    return np.asarray(pose(arm_axes, arm_axes @ np.array([0.0, radius, 0.0])), dtype=float)


def _links(
    p: DeltaParameters, axes: np.ndarray, theta: np.ndarray, v: np.ndarray, axial: float, label: str, weight: Any
) -> tuple[Body, Body]:
    upper, slope = (np.array([0.0, np.cos(theta[0]), np.sin(theta[0])]), np.array([0.0, -np.sin(theta[0]), np.cos(theta[0])]))
    d = np.asarray(direction(theta), dtype=float)
    # The universal joint's axes: theta2 is about x1, theta3 about the other with negative sign.
    cross_axis = np.array([0.0, -np.sin(theta[1]), np.cos(theta[1])])
    omega = v[1] * EYE[0] - v[2] * cross_axis
    rate = np.cross(omega, d)
    rod_axes = np.column_stack([np.cross(d, cross_axis), d, cross_axis])
    link_axes = np.column_stack([EYE[0], upper, slope])
    shaft = np.array([0.0, p.L0, 0.0])
    link = rigid_body(
        f"link {label}",
        mass=p.M1,
        inertia=(p.J1, p.J1, p.J1),  # the link only turns about its shaft
        position=(axes @ (shaft + p.LC1 * upper)).tolist(),
        quaternion=_quaternion(axes @ link_axes),
        velocity=(axes @ (p.LC1 * v[0] * slope)).tolist(),
        angular_velocity=(axes[:, 0] * v[0]).tolist(),
        gravity=weight,
    )
    rod = rigid_body(
        f"rod {label}",
        mass=p.M2,
        inertia=(p.J2, axial, p.J2),
        position=(axes @ (shaft + p.L1 * upper + p.LC2 * d)).tolist(),
        quaternion=_quaternion(axes @ rod_axes),
        velocity=(axes @ (p.L1 * v[0] * slope + p.LC2 * rate)).tolist(),
        angular_velocity=(axes @ omega).tolist(),
        gravity=weight,
    )
    return link, rod


def _quaternion(axes: np.ndarray) -> Any:
    return np.asarray(quaternion(axes), dtype=float)


def _swing(state: Any, axes: Any) -> Any:
    """Return the (4, 6) map from a rod's world twist to the damped rates: minus the rate (3,) of its direction, and cos(phi2)
    phi3'.

    The squares add up to phi2'^2 + phi3'^2; near the arm's axis x2 they are bounded as in `arm.friction_rates`.
    """
    d, second = pose_from_state(state)[:3, 1], axes[:, 1]
    c2 = d @ second
    about = (second - c2 * d) * (c2 / maximum(1.0 - c2 * c2, CONE * CONE))
    return array([[*row, 0.0, 0.0, 0.0] for row in (*tilde(d), about)])


def _angles(link: Any, rod: Any, axes: Any) -> Any:
    u, d = axes.T @ pose_from_state(link)[:3, 1], axes.T @ pose_from_state(rod)[:3, 1]
    return array([atan2(u[2], u[1]), atan2(sqrt(d[0] * d[0] + d[2] * d[2]), d[1]), atan2(d[0], d[2])])


SWING = Op("swing", lambda axes, state: _swing(state, axes), r"J_\phi(#2)")
ROD_ANGLES = Op("angles", _angles, r"\phi(#1, #2)")
POSITION = Op("place", lambda state: array([state[4], state[5], state[6]]), r"p(#1)")


def _rod_friction(graph: Graph, rod: Body, label: str, axes: np.ndarray, damping: float) -> None:
    swing = MTF(
        f"swing {label}",
        SWING,
        signals=[rod.pose_path],
        parameters={"axes": Parameter(axes, "1")},
        dimensions=(6, 4),
        domains=(SCREW, ROTATION),
        symbols={"axes": "R"},
    )
    graph.connect(rod.world, swing).connect(swing, R(f"rod friction {label}", [damping] * 4, symbols=DAMPING))
