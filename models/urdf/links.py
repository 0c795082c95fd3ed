"""Links: a skeleton and the records of yourdfpy in; a chain's links with screws, inertias, damping and limits out.

A body is a link with all that is fixed to it: its inertia is theirs together, in the frame of the link that moves. The other
links stay as frames without mass, so that every name of the file can be asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bondgraph.errors import Problem
from models.chains import BodyInertia, Link
from models.urdf.document import place
from models.urdf.grammar import Ignored
from models.urdf.skeleton import Branch, Kept, Skeleton
from screws.errors import GeometryError
from screws.joints import Joint, fixed, planar, prismatic, revolute
from screws.poses import inverse

Screws = Callable[[Sequence[float]], Joint]

JOINTS: dict[str, Screws | None] = {
    "revolute": revolute,
    "continuous": revolute,
    "prismatic": lambda axis: prismatic(axis),
    "planar": lambda axis: planar(axis),
    "fixed": lambda axis: fixed(),
    "floating": None,
}
"""All kinds of joints of URDF: the joint about or along an axis, in its own frame; None: not to be had in a chain."""

LIMITED = ("revolute", "prismatic")


@dataclass(frozen=True)
class RobotJoint:
    """A joint that moves.

    Attributes
    ----------
    name, kind : as in the file.
    link : the link that it carries; the name of its coordinate in the chain, with a number where there are several.
    effort : most torque or force of its motor, N m or N; None where not said.
    velocity : its greatest speed, rad/s or m/s; None where not said.
    friction : dry friction, N m or N.
    """

    name: str
    kind: str
    link: str
    effort: float | None = None
    velocity: float | None = None
    friction: float = 0.0


@dataclass(frozen=True, eq=False)
class Made:
    """Links and moving joints in the order of the chain, what of them is ignored, and what is wrong."""

    links: tuple[Link, ...] = ()
    joints: tuple[RobotJoint, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    problems: tuple[Problem, ...] = ()


def links_of(bones: Skeleton, kept: Kept, parsed: Any, unweighed: frozenset[str], limits: bool) -> Made:
    """Links of a chain from what is kept of a robot; `parsed`: its record of yourdfpy, `unweighed`: links of unknown inertia."""
    records = {joint.name: joint for joint in parsed.joints}
    home = {kept.base: np.eye(4)}
    for joint in kept.joints:
        home[joint.child] = home[joint.parent] @ _pose(records[joint.name])
    inertias, problems = _inertias(bones, kept, {link.name: link.inertial for link in parsed.links}, home, unweighed)
    problems += _branches(bones, kept)
    links = [Link(kept.base, fixed(), None)]
    joints: list[RobotJoint] = []
    ignored: list[Ignored] = []
    for joint in kept.joints:
        record = records[joint.name]
        made, wrong = _joint(bones, joint, record, home[joint.child])
        problems += wrong
        bounds, wrong, unsaid = _bounds(bones, joint, record) if limits else (None, [], ())
        problems += wrong
        ignored += unsaid
        if made is None:
            continue
        damping = float(getattr(record.dynamics, "damping", None) or 0.0)
        links.append(Link(joint.child, made, inertias.get(joint.child), home[joint.child], damping, bounds))
        if joint.moves:
            joints.append(_moving(joint, record))
    return Made(tuple(links), tuple(joints), (*ignored, *_unused(bones, joints, limits)), tuple(problems))


def _branches(bones: Skeleton, kept: Kept) -> list[Problem]:
    """E525: bodies that carry several others, which no chain can hold."""
    carried: dict[str, list[Branch]] = {}
    body = {kept.base: kept.base}
    for joint in kept.joints:
        body[joint.child] = joint.child if joint.moves else body[joint.parent]
        if joint.moves:
            carried.setdefault(body[joint.parent], []).append(joint)
    found = []
    for link, joints in carried.items():
        if len(joints) > 1:
            title = f'the robot branches at "{link}", which carries {len(joints)} moving joints: a chain holds one'
            ends = [_end(bones, joint) for joint in joints]
            cures = tuple(f'tip="{end}"' for end in ends[:4])
            found.append(Problem("E525", title, (), tuple(place(bones.file, joint.line) for joint in joints), cures))
    return found


def _end(bones: Skeleton, joint: Branch) -> str:
    """Where one gets to from a joint, always along the last of those that move."""
    link = joint.child
    while moving := [one for one in bones.below[link] if one.moves] or bones.below[link]:
        link = moving[-1].child
    return link


def _pose(record: Any) -> np.ndarray:
    """Pose (4, 4) of an <origin>; the identity where there is none."""
    return np.eye(4) if record.origin is None else np.asarray(record.origin, dtype=float)


def _moving(joint: Branch, record: Any) -> RobotJoint:
    limit, friction = record.limit, getattr(record.dynamics, "friction", None)
    effort, velocity = (None, None) if limit is None else (limit.effort, limit.velocity)
    return RobotJoint(joint.name, joint.kind, joint.child, effort, velocity, float(friction or 0.0))


def _joint(bones: Skeleton, joint: Branch, record: Any, home: np.ndarray) -> tuple[Joint | None, list[Problem]]:
    """Its screws in the frame of the base with all joints at zero."""
    lines = (place(bones.file, joint.line),)
    if joint.kind not in JOINTS:
        title = f'joint "{joint.name}" is of the kind "{joint.kind}", which URDF does not have'
        return None, [Problem("E525", title, (), lines, (f"one of: {', '.join(JOINTS)}",))]
    screws = JOINTS[joint.kind]
    if screws is None:
        cures = (f'base="{joint.child}": what hangs on that link', 'type="fixed" in the file')
        return None, [Problem("E525", f'joint "{joint.name}" is floating, which no chain can hold', (), lines, cures)]
    if record.mimic is not None and joint.moves:
        title = f'joint "{joint.name}" follows joint "{record.mimic.joint}" (mimic), which no chain can hold'
        cures = (f'tip="{joint.parent}": the chain up to that joint', 'type="fixed" in the file, or no <mimic>')
        return None, [Problem("E525", title, (), lines, cures)]
    if joint.moves and not np.any(record.axis):
        title = f'the axis of joint "{joint.name}" has no direction'
        return None, [Problem("E522", title, (), lines, ('<axis xyz="0 0 1"/>: three numbers, not all zero',))]
    return replace(screws(record.axis).seen_from(home), name=joint.name), []


def _bounds(bones: Skeleton, joint: Branch, record: Any) -> tuple[tuple[float, float] | None, list[Problem], tuple[Ignored, ...]]:
    """Its position limits; none of kinds that have none, and of one that says none."""
    limit = record.limit
    if joint.kind not in LIMITED:
        return None, [], ()
    if limit is None or (limit.lower is None and limit.upper is None):
        missing = Ignored(f'limits of joint "{joint.name}"', "none are said, so it has none", (joint.line,))
        return None, [], (missing,)
    lower, upper = float(limit.lower or 0.0), float(limit.upper or 0.0)
    if lower < upper:
        return (lower, upper), [], ()
    title = f'joint "{joint.name}" cannot move: its limits are {lower:g} and {upper:g}'
    cures = ("limits=False, to read none of the limits", 'lower below upper in the file, type="continuous" or type="fixed"')
    return None, [Problem("E525", title, (), (place(bones.file, joint.line),), cures)], ()


def _unused(bones: Skeleton, joints: Sequence[RobotJoint], limits: bool) -> list[Ignored]:
    """What the joints say and no chain has."""
    lines = {joint.name: joint.line for joint in bones.joints}
    kinds = (
        ("effort limits", "kept in `joints`; the graph's motors give what they are told", lambda j: j.effort is not None),
        ("velocity limits", "kept in `joints`; nothing in the graph holds them", lambda j: j.velocity is not None),
        ("friction of joints", "kept in `joints`; in a graph: bondgraph.Friction at a joint port", lambda j: j.friction),
        ("position limits", "as asked for, limits=False", lambda j: not limits and j.kind in LIMITED),
    )
    found = []
    for what, why, has in kinds:
        at = tuple(lines[joint.name] for joint in joints if has(joint))
        found += [Ignored(what, why, at)] if at else []
    return found


def _inertias(
    bones: Skeleton, kept: Kept, inertials: Mapping[str, Any], home: Mapping[str, np.ndarray], unweighed: frozenset[str]
) -> tuple[dict[str, BodyInertia], list[Problem]]:
    """Moving link -> inertia of its body; nothing for bodies without mass that carry others."""
    bodies: dict[str, list[str]] = {kept.base: [kept.base]}
    body_of = {kept.base: kept.base}
    above: dict[str, str] = {}
    for joint in kept.joints:
        body_of[joint.child] = joint.child if joint.moves else body_of[joint.parent]
        bodies.setdefault(body_of[joint.child], []).append(joint.child)
        if joint.moves:
            above[joint.child] = body_of[joint.parent]
    found: dict[str, BodyInertia] = {}
    problems: list[Problem] = []
    carrying: set[str] = set()
    for body in reversed([body for body in bodies if body != kept.base]):
        named = [link for link in bodies[body] if inertials.get(link) is not None]
        if unweighed & set(bodies[body]):
            carrying |= {body, above[body]}
            continue
        total = _together([_seen_from(home[body], home[link], inertials[link]) for link in named])
        if _weightless(total) and body in carrying:
            carrying.add(above[body])
            continue
        carrying.add(above[body])
        try:
            found[body] = BodyInertia(*total)
        except GeometryError as error:
            problems.append(_unphysical(bones, body, bodies[body], named, total, error))
    for link in bodies[kept.base]:
        if inertials.get(link) is not None and inertials[link].mass is not None and inertials[link].mass < 0.0:
            title = f'link "{link}" has a mass of {inertials[link].mass:g} kg'
            problems.append(Problem("E526", title, (), (place(bones.file, bones.links[link]),), ("a mass of zero or more",)))
    return found, problems


Total = tuple[float, np.ndarray, np.ndarray]
"""Mass, rotational inertia (3, 3) about the centre of mass, and the centre (3,)."""


def _seen_from(body: np.ndarray, link: np.ndarray, inertial: Any) -> Total:
    """Inertia of a link in the frame of its body; both poses in the base."""
    H = inverse(body) @ link @ _pose(inertial)
    return float(inertial.mass), H[:3, :3] @ inertial.inertia @ H[:3, :3].T, H[:3, 3]


def _together(parts: Sequence[Total]) -> Total:
    """As `welded`, of parts that need not be bodies by themselves: points, thin rods, corrections."""
    mass = sum(part[0] for part in parts)
    first = sum((part[0] * part[2] for part in parts), np.zeros(3))
    centre = first / mass if mass else np.zeros(3)
    moment = np.zeros((3, 3))
    for own, inertia, place_ in parts:
        r = place_ - centre
        moment = moment + inertia + own * ((r @ r) * np.eye(3) - np.outer(r, r))
    return mass, moment, centre


def _weightless(total: Total) -> bool:
    return total[0] == 0.0 and not np.any(total[1])


def _unphysical(
    bones: Skeleton, body: str, links: Sequence[str], named: Sequence[str], total: Total, error: GeometryError
) -> Problem:
    """E526, in words of the file."""
    joint = bones.above[body]
    with_ = f" with what is fixed to it ({', '.join(link for link in links if link != body)})" if len(links) > 1 else ""
    about = f'"{body}"{with_}'
    if _weightless(total):
        title = f'nothing that joint "{joint.name}" moves has mass: {about} has none, and carries nothing that has'
        cures = (f'<inertial> with mass and inertia in link "{body}"', f'type="fixed" for joint "{joint.name}"')
    else:
        title = f"{about} moves, and no body can have its inertia: {error.message.replace('the body', 'it')}"
        cures = (error.cure, f'type="fixed" for joint "{joint.name}"')
    return Problem("E526", title, (), tuple(place(bones.file, bones.links[link]) for link in named or [body]), cures)
