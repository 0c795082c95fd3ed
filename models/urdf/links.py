"""Links: a skeleton and the records of yourdfpy in; a tree's links with screws, inertias, damping and limits out.

A body is a link with all that is fixed to it: its inertia is theirs together, in the frame of the link that moves. The other
links stay as frames without mass, so that every name of the file can be asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bondgraph.errors import Problem
from models.chains import BodyInertia, Link, Mimic
from models.urdf.document import place
from models.urdf.grammar import Ignored
from models.urdf.skeleton import Branch, Kept, Skeleton
from screws.errors import GeometryError
from screws.joints import Joint, fixed, free, planar, prismatic, revolute
from screws.poses import inverse

Screws = Callable[[Sequence[float]], Joint]

JOINTS: dict[str, Screws] = {
    "revolute": revolute,
    "continuous": revolute,
    "prismatic": lambda axis: prismatic(axis),
    "planar": lambda axis: planar(axis),
    "fixed": lambda axis: fixed(),
    "floating": lambda axis: free(),
}
"""All kinds of joints of URDF: the joint about or along an axis, in its own frame."""

LIMITED, SEVERAL = ("revolute", "prismatic"), ("planar", "floating")
"""Kinds with position limits, and with several freedoms."""


@dataclass(frozen=True)
class RobotJoint:
    """A joint that moves.

    Attributes
    ----------
    name, kind : as in the file.
    link : the link that it carries; the name of its coordinate in the tree, with a number where there are several.
    leader : the joint that it follows (mimic), so that it has no coordinate; "" where it has its own.
    effort : most torque or force of its motor, N m or N; None where not said.
    velocity : its greatest speed, rad/s or m/s; None where not said.
    friction : dry friction, N m or N.
    """

    name: str
    kind: str
    link: str
    leader: str = ""
    effort: float | None = None
    velocity: float | None = None
    friction: float = 0.0


@dataclass(frozen=True, eq=False)
class Made:
    """Links and moving joints in the order of the tree, what of them is ignored, and what is wrong."""

    links: tuple[Link, ...] = ()
    joints: tuple[RobotJoint, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    problems: tuple[Problem, ...] = ()


def links_of(bones: Skeleton, kept: Kept, parsed: Any, unweighed: frozenset[str], limits: bool, floating: bool) -> Made:
    """Links of a tree from what is kept of a robot; `parsed`: its record of yourdfpy, `unweighed`: links of unknown inertia."""
    records = {joint.name: joint for joint in parsed.joints}
    home = {kept.base: np.eye(4)}
    for joint in kept.joints:
        home[joint.child] = home[joint.parent] @ _pose(records[joint.name])
    inertias, problems = _inertias(bones, kept, {link.name: link.inertial for link in parsed.links}, home, unweighed, floating)
    links = [Link(kept.base, free() if floating else fixed(), inertias.get(kept.base), parent=None)]
    joints = [RobotJoint(kept.base, "floating", kept.base)] if floating else []
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
        mimic, wrong = _mimic(bones, kept, joint, record)
        problems += wrong
        inertia, at = inertias.get(joint.child), home[joint.child]
        links.append(Link(joint.child, made, inertia, at, damping, bounds, parent=joint.parent, mimic=mimic))
        if joint.moves:
            joints.append(_moving(joint, record))
    problems += [] if problems else _closed(bones, links)
    return Made(tuple(links), tuple(joints), (*ignored, *_unused(bones, joints, limits)), tuple(problems))


def _pose(record: Any) -> np.ndarray:
    """Pose (4, 4) of an <origin>; the identity where there is none."""
    return np.eye(4) if record.origin is None else np.asarray(record.origin, dtype=float)


def _moving(joint: Branch, record: Any) -> RobotJoint:
    limit, friction = record.limit, getattr(record.dynamics, "friction", None)
    effort, velocity = (None, None) if limit is None else (limit.effort, limit.velocity)
    return RobotJoint(joint.name, joint.kind, joint.child, joint.leader or "", effort, velocity, float(friction or 0.0))


def _joint(bones: Skeleton, joint: Branch, record: Any, home: np.ndarray) -> tuple[Joint | None, list[Problem]]:
    """Its screws in the frame of the base with all joints at zero."""
    lines = (place(bones.file, joint.line),)
    if joint.kind not in JOINTS:
        title = f'joint "{joint.name}" is of the kind "{joint.kind}", which URDF does not have'
        return None, [Problem("E525", title, (), lines, (f"one of: {', '.join(JOINTS)}",))]
    screws = JOINTS[joint.kind]
    if joint.moves and not np.any(record.axis):
        title = f'the axis of joint "{joint.name}" has no direction'
        return None, [Problem("E522", title, (), lines, ('<axis xyz="0 0 1"/>: three numbers, not all zero',))]
    return replace(screws(record.axis).seen_from(home), name=joint.name), []


def _mimic(bones: Skeleton, kept: Kept, joint: Branch, record: Any) -> tuple[Mimic | None, list[Problem]]:
    """What drives it, by the link of that joint; E528 where that is left out, or either has several freedoms."""
    leader = bones.named.get(joint.leader or "")
    if leader is None or not joint.moves:
        return None, []
    lines = (place(bones.file, joint.line), place(bones.file, leader.line))
    title = f'joint "{joint.name}" follows joint "{leader.name}"'
    if leader not in kept.joints:
        cures = (f'tip=("{leader.child}", ...): the link of that joint among the tips', f'tip="{joint.parent}"')
        return None, [Problem("E528", f"{title}, which is not between base and tip", (), lines, cures)]
    many = [one for one in (joint, leader) if one.kind in SEVERAL]
    if many:
        return None, [Problem("E528", f"{title}, and {many[0].kind} joints cannot", (), lines, ("joints with one freedom",))]
    return Mimic(leader.child, float(record.mimic.multiplier), float(record.mimic.offset)), []


def _closed(bones: Skeleton, links: Sequence[Link]) -> list[Problem]:
    """E528: joints whose limits, with those of the joints that they drive, leave no room."""
    named = {link.name: link for link in links}
    room = {link.name: link.limits for link in links if link.mimic is None and link.limits is not None}
    found = []
    for link in links:
        at, factor, offset = link, 1.0, 0.0
        while at.mimic is not None:
            offset, factor, at = offset + factor * at.mimic.offset, factor * at.mimic.factor, named[at.mimic.link]
        if link.mimic is None or link.limits is None:
            continue
        lower, upper = sorted((limit - offset) / factor for limit in link.limits)
        before = room.get(at.name, (-np.inf, np.inf))
        room[at.name] = max(lower, before[0]), min(upper, before[1])
        if not room[at.name][0] < room[at.name][1]:
            joints = [bones.above[link.name], bones.above[at.name]]
            title = f'joint "{joints[0].name}" follows joint "{joints[1].name}", and their limits leave no room'
            cures = ("limits=False, to read none of the limits", "wider limits, or another multiplier or offset")
            found.append(Problem("E528", title, (), tuple(place(bones.file, joint.line) for joint in joints), cures))
    return found


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
    """What the joints say and no tree has."""
    lines = {joint.name: joint.line for joint in bones.joints}
    kinds = (
        ("effort limits", "kept in `joints`; the graph's motors give what they are told", lambda j: j.effort is not None),
        ("velocity limits", "kept in `joints`; nothing in the graph holds them", lambda j: j.velocity is not None),
        ("friction of joints", "kept in `joints`; in a graph: bondgraph.Friction at a joint port", lambda j: j.friction),
        ("position limits", "as asked for, limits=False", lambda j: not limits and j.kind in LIMITED),
    )
    found = []
    for what, why, has in kinds:
        at = tuple(lines[joint.name] for joint in joints if joint.name in lines and has(joint))
        found += [Ignored(what, why, at)] if at else []
    return found


def _inertias(
    bones: Skeleton,
    kept: Kept,
    inertials: Mapping[str, Any],
    home: Mapping[str, np.ndarray],
    unweighed: frozenset[str],
    floating: bool,
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
    for body in reversed([body for body in bodies if floating or body != kept.base]):
        named = [link for link in bodies[body] if inertials.get(link) is not None]
        if unweighed & set(bodies[body]):
            carrying |= {body, above.get(body, body)}
            continue
        total = _together([_seen_from(home[body], home[link], inertials[link]) for link in named])
        if _weightless(total) and body in carrying:
            carrying.add(above.get(body, body))
            continue
        carrying.add(above.get(body, body))
        try:
            found[body] = BodyInertia(*total)
        except GeometryError as error:
            problems.append(_unphysical(bones, body, bodies[body], named, total, error))
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
    with_ = f" with what is fixed to it ({', '.join(link for link in links if link != body)})" if len(links) > 1 else ""
    about = f'"{body}"{with_}'
    fixed_ = f'type="fixed" for joint "{bones.above[body].name}"' if body in bones.above else "floating=False"
    if _weightless(total):
        title = f"nothing that moves with {about} has mass, and it carries nothing that has"
        cures = (f'<inertial> with mass and inertia in link "{body}"', fixed_)
    else:
        title = f"{about} moves, and no body can have its inertia: {error.message.replace('the body', 'it')}"
        cures = (error.cure, fixed_)
    return Problem("E526", title, (), tuple(place(bones.file, bones.links[link]) for link in named or [body]), cures)
