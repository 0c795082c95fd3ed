"""A joint between two bodies as a graph: free directions as a port, constrained directions held by an ideal constraint.

```
 body b --> 0 --> body a          the 0-junction subtracts the world twists: T_B^{0,A}
            |
           MTF  Ad(H_A_0)         expresses it in the joint's axes on body a
            |
            1  T_A_A_B
           / \\
    MTF held  MTF free
         |        |
   constraint     1 --> port "motion": springs, dampers, motors; no torque if left open
```
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from screwbond.models.connections import AD, AD_ACTION, Touchable, connect_bodies, screw_transformer, two_body_part
from screwbond.models.joints.kinds import KINDS, joint_error

from bondgraph import J1, MTF, Block, Constraint, Element, Graph, Op, Parameter, Se
from bondgraph.errors import Place, Problem, caller_place, raise_if_any, refusal
from bondgraph.model.arguments import in_units, need_name
from bondgraph.model.domains import SCREW, motions
from bondgraph.model.model import Visible
from bondgraph.model.ops import NEGATE
from screws.joints import Joint
from screws.numeric_arguments import real
from screws.poses import inverse, is_pose, pose_from_state, pose_state, product


@in_units(alpha1="1/s", alpha0="1/s^2", alpha2="", largest_gap="m", largest_tilt="rad")
def joint_graph(
    name: str,
    joint: Joint,
    *,
    frame_a: np.ndarray | None = None,
    frame_b: np.ndarray | None = None,
    alpha1: float = 10.0,
    alpha0: float = 25.0,
    alpha2: float = 0.0,
    closing: str = "impulse",
    largest_gap: float | None = 0.01,
    largest_tilt: float | None = 0.1,
) -> Graph:
    """Return a joint from body a to body b, with ports `a`, `b` for their world twists and the inputs `pose a`, `pose b`.

    Port `motion` has the rates of the joint's free motions as flow, in the order of its screws, and the torques and forces along
    them as effort: `connect(motor, joint.port("motion"))` drives b relative to a; it may be left open. Its domain follows from
    these motions: rotation, translation, or both.

    Parameters
    ----------
    joint : from `screws.joints`, of any kind but "general".
    frame_a, frame_b : poses (4, 4) of the joint frame in body a and in body b, which coincide at the joint's reference pose;
        identity by default.
    alpha1, alpha0, alpha2 : decay of the violation h of the joint, h'' + alpha1 h' + alpha0 h + alpha2 h^3 = 0.
    closing : "impulse" refuses inconsistent start velocities, "smooth" lets them decay too, which adds or takes energy.
    largest_gap, largest_tilt : m and rad by which the start poses may violate the joint; None for either: no check, as needed if
        the pose of a body is neither a state nor fixed.

    Signals: `q` and `rate` of the motions (angles wrap to (-pi, pi], except in a helical joint: integrate `rate` to count turns;
    rotations in space have sin(angle) times their axis), `violation` (6 - n,), `multiplier` (6 - n,), and `wrench`: the wrench of
    a on b through the joint, including motors, along the joint's axes on a and about their origin.

    Raises `ModelError` E455 at the start of a run whose poses violate the joint by more than allowed, or whose velocities are
    inconsistent with it; E456 for a joint of kind "general" or an object that is not a joint, E457 for an invalid frame, E151 for
    an invalid limit, E110 for an unknown `closing`.

    Source: Baumgarte 1972; free and constrained directions of a joint after Visser 2002, figure 3.
    """
    need_name("joint", name)
    place = caller_place()
    kind = joint.kind if isinstance(joint, Joint) else None
    if kind not in KINDS:
        title = f'joint "{name}" has the kind "{kind}", which defines only small motions'
        title = title if kind else f'joint "{name}" is built from {joint!r}, which is not a joint'
        chain = "links of a chain instead of the joint: they accept any screws, and may be massless (inertia=None)"
        raise refusal("E456", title, f"one of screws.joints: {', '.join(KINDS)}", chain, about=name, places=(place,))
    _refuse_limits(name, place, largest_gap=largest_gap, largest_tilt=largest_tilt)
    graph, relative = two_body_part(name, "attach_joint(graph, joint, a, b)")
    numbers = _numbers(joint)
    symbols = {"matrix": r"\mathrm{Ad}_{H_0^A}", "2.flow": "T_B^{A,A}"}
    to_joint = screw_transformer(AD, AD_ACTION, "relative pose.H_A_0", ("0", name), symbols=symbols)
    twist = J1("joint twist", domain=SCREW, frame=name, symbols={"flow": "T_B^{A,A}"})
    graph.connect(relative, to_joint).connect(to_joint, twist)
    graph.add(
        Block(
            "relative pose",
            [(("H_A_0", "H"), RELATIVE, ["pose a", "pose b", "frame a", "frame b"])],
            inputs={"pose a": "pose a", "pose b": "pose b"},
            parameters={
                "frame a": Parameter(_frame(name, "frame_a", frame_a, joint), "1, m"),
                "frame b": Parameter(_frame(name, "frame_b", frame_b, joint), "1, m"),
                **numbers,
            },
            symbols={"H": "H_B^A", "H_A_0": "H_0^A", "frame a": "H_A^a", "frame b": "H_B^b", **_letters(joint)},
            units={"H": "1, m", "H_A_0": "1, m"},
        )
    )
    if joint.freedoms < 6:
        decay = {"alpha1": alpha1, "alpha0": alpha0, "alpha2": alpha2}
        _hold(graph, twist, joint, closing=closing, **decay)
        if largest_gap is not None and largest_tilt is not None:
            check = _start_check(name, joint.kind, (largest_gap, largest_tilt), place)
            signals = [f"relative pose.{key}" for key in ("frame a", "frame b", *numbers)]
            graph.start(check, ["pose a", "pose b", *signals], [])
    if joint.freedoms:
        _leave_free(graph, twist, joint)
    annotations: dict[str, Any] = {"units": {"wrench": SCREW.effort_unit}, "symbols": {"wrench": "W^A"}}
    graph.add(Block("reaction", [("wrench", NEGATE, ["W"])], inputs={"W": "Ad.2.effort"}, **annotations))
    graph.export("wrench", "reaction.wrench")
    return graph.mark_visible(Visible("joint", {"pose": "pose a", "frame": "relative pose.frame a"}, joint.kind))


def _pose_and_number(joint: Joint) -> dict[str, str]:
    return {key: f"relative pose.{key}" for key in ("H", *_numbers(joint))}


def _hold(graph: Graph, twist: Element, joint: Joint, **options: Any) -> None:
    signals = list(_pose_and_number(joint).values())
    count, matrix = 6 - joint.freedoms, _op("held", joint.kind)
    angles = KINDS[joint.kind].angles
    constrained = motions([True] * angles + [False] * (count - angles))
    hold = MTF("held", matrix, signals=signals, dimensions=(6, count), domains=(SCREW, constrained))
    graph.connect(twist, hold)
    position = _op("violation", joint.kind)
    graph.connect(hold, Constraint("constraint", position=position, signals=signals, dimension=count, **options))
    graph.export("violation", "constraint.h")
    graph.export("multiplier", "constraint.effort")


def _leave_free(graph: Graph, twist: Element, joint: Joint) -> None:
    inputs = _pose_and_number(joint)
    count, matrix = joint.freedoms, _op("free", joint.kind)
    domain = motions([bool(np.any(screw[:3])) for screw in joint.screws.T])
    motion = J1("motion", dimension=count, domain=domain, symbols={"flow": r"\dot q"})
    leave = MTF("free", matrix, signals=list(inputs.values()), dimensions=(6, count), domains=(SCREW, domain))
    graph.connect(twist, leave).connect(leave, motion)
    graph.connect(motion, Se("no torque", dimension=count))
    graph.expose("motion", motion)
    graph.export("rate", "motion.flow")
    formula, units = _op("coordinates", joint.kind), {"q": domain.displacement_unit}
    graph.add(Block("coordinates", [("q", formula, list(inputs))], inputs=inputs, units=units))
    graph.export("q", "coordinates.q")


def _refuse_limits(name: str, place: Place | None, **limits: Any) -> None:
    title = f'joint "{name}": {{}} must be non-negative, or None'
    problems = [
        Problem("E151", title.format(which), (f"given: {value!r}",), (place,), (f"for {which}, a non-negative number",))
        for which, value in limits.items()
        if value is not None and not real(value) >= 0.0
    ]
    raise_if_any(name, problems)


def _start_check(name: str, kind: str, limits: tuple[float, float], place: Place | None) -> Callable[..., tuple[()]]:
    def check(pose_a: Any, pose_b: Any, frame_a: Any, frame_b: Any, *numbers: float) -> tuple[()]:
        H = _relative(pose_a, pose_b, frame_a, frame_b)[1]
        gap, tilt = joint_error(kind, np.asarray(H, dtype=float), *map(float, numbers))
        if gap > limits[0] or tilt > limits[1]:
            title, misfit = f'{kind} joint "{name}" does not close at the start', f"{gap:.4g} m and {tilt:.4g} rad"
            allowed = f"up to {limits[0]:g} m and {limits[1]:g} rad are allowed; such gaps decay"
            why = f"its axes on the two bodies differ by {misfit}; {allowed}"
            poses = "start positions and quaternions of the bodies, or frame_a and frame_b, that satisfy the joint"
            raise refusal("E455", title, poses, "a larger largest_gap or largest_tilt", about=name, why=why, places=(place,))
        return ()

    return check


def attach_joint(graph: Graph, joint: Graph, body_a: Touchable, body_b: Touchable) -> Graph:
    """Connect a joint to its bodies, with half arrows body b -> joint -> body a and the poses as signals, and return `graph`.

    Raises `ModelError` E458 for an object that is not a joint or a body, E488 for a joint that is attached already, E591 for a
    joint between a body and itself.
    """
    if not (isinstance(joint, Graph) and {"a", "b"} <= joint.ports.keys()):
        cure = 'joint_graph("hinge", revolute((0, 0, 1)))'
        raise refusal("E458", f"{joint!r} ({type(joint).__name__}) is not a joint of a graph", cure, about=graph.name)
    return connect_bodies(graph, joint, {"a": body_a, "b": body_b})


def _relative(pose_a: Any, pose_b: Any, frame_a: Any, frame_b: Any) -> tuple[Any, Any]:
    H_A_0 = inverse(product(pose_from_state(pose_a), pose_from_state(frame_a)))
    return H_A_0, product(H_A_0, product(pose_from_state(pose_b), pose_from_state(frame_b)))


RELATIVE = Op("relative pose", _relative, r"(#1\,#3)^{-1}\,#2\,#4")

ROLES = {
    "held": ("constraint_matrix", "W^T"),
    "violation": ("violation", "h"),
    "free": ("free", "F"),
    "coordinates": ("coordinates", "q"),
}


@cache
def _op(role: str, kind: str) -> Op:
    formula, letter = ROLES[role]
    return Op(f"{role} {kind}", getattr(KINDS[kind], formula), rf"{letter}_{{\mathrm{{{kind}}}}}(#1)")


def _numbers(joint: Joint) -> dict[str, Parameter]:
    number = KINDS[joint.kind].number
    return {} if number is None else {number.name: Parameter(number.of(joint), number.unit)}


def _letters(joint: Joint) -> dict[str, str]:
    number = KINDS[joint.kind].number
    return {} if number is None else {number.name: number.symbol}


def _frame(name: str, which: str, frame: np.ndarray | None, joint: Joint) -> np.ndarray:
    H = np.eye(4) if frame is None else frame
    if not is_pose(H):
        title = f'{which} of joint "{name}" is not a pose'
        cure = "(4, 4), finite, with a right-handed rotation: screws.pose(R, p)"
        raise refusal("E457", title, cure, about=name)
    return np.asarray(pose_state(np.asarray(H, dtype=float) @ joint.frame), dtype=float)
