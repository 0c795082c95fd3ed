"""Joints of a robot: screws, position limits and mimic relations from the records of yourdfpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from screwbond.models.chains import Link, Mimic
from screwbond.models.urdf.document import Ignored, place
from screwbond.models.urdf.skeleton import Branch, SelectedTree

from bondgraph.errors import Problem
from screws.joints import Joint, fixed, free, planar, prismatic, revolute

Screws = Callable[[Sequence[float]], Joint]

JOINTS: dict[str, Screws] = {
    "revolute": revolute,
    "continuous": revolute,
    "prismatic": lambda axis: prismatic(axis),
    "planar": lambda axis: planar(axis),
    "fixed": lambda axis: fixed(),
    "floating": lambda axis: free(),
}
"""Joint kinds of URDF: the joint about or along an axis, in its own frame."""

LIMITED, WITH_SEVERAL_FREEDOMS = ("revolute", "prismatic"), ("planar", "floating")
"""Joint kinds with position limits, and with several degrees of freedom."""


@dataclass(frozen=True)
class RobotJoint:
    """Moving joint of a robot.

    Attributes
    ----------
    name, kind : as in the file.
    link : its child link; the name of its coordinate in the tree, with a number if there are several.
    leader : the joint that it mimics, so that it has no coordinate; "" for a joint with its own.
    effort : largest torque or force of its motor, N m or N; None: unknown.
    velocity : its largest speed, rad/s or m/s; None: unknown.
    friction : dry friction, N m or N.
    """

    name: str
    kind: str
    link: str
    leader: str = ""
    effort: float | None = None
    velocity: float | None = None
    friction: float = 0.0


def robot_joint(joint: Branch, record: Any) -> RobotJoint:
    """Return the record of a moving joint."""
    limit, friction = record.limit, getattr(record.dynamics, "friction", None)
    limits = (None, None) if limit is None else (limit.effort, limit.velocity)
    effort, velocity = (None if value is None or value < 0.0 else value for value in limits)
    return RobotJoint(joint.name, joint.kind, joint.child, joint.leader or "", effort, velocity, float(friction or 0.0))


def screws_of(selected: SelectedTree, joint: Branch, record: Any, home_pose: np.ndarray) -> tuple[Joint | None, list[Problem]]:
    """Return the screws of a joint in the frame of the base with all joints at zero."""
    lines = (place(selected.skeleton.file, joint.line),)
    if joint.kind not in JOINTS:
        title = f'joint "{joint.name}" is of the kind "{joint.kind}", which URDF does not have'
        return None, [Problem("E525", title, (), lines, (f"one of: {', '.join(JOINTS)}",))]
    screws = JOINTS[joint.kind]
    if joint.moves and not np.linalg.norm(record.axis) > 0.0:
        title = f'the axis of joint "{joint.name}" has no direction'
        return None, [Problem("E522", title, (), lines, ('<axis xyz="0 0 1"/>: three numbers, not all zero',))]
    return replace(screws(record.axis).seen_from(home_pose), name=joint.name), []


def bounds_of(
    selected: SelectedTree, joint: Branch, record: Any
) -> tuple[tuple[float, float] | None, list[Problem], tuple[Ignored, ...]]:
    """Return the position limits of a joint; None for kinds or files without them."""
    limit = record.limit
    if joint.kind not in LIMITED:
        has_limits = joint.moves and limit is not None and (limit.lower or limit.upper)
        unread = Ignored(f'position limits of joint "{joint.name}"', f"{joint.kind} joints have none", (joint.line,))
        return None, [], (unread,) if has_limits else ()
    if limit is None or (limit.lower is None and limit.upper is None):
        missing = Ignored(f'limits of joint "{joint.name}"', "none are said, so it has none", (joint.line,))
        return None, [], (missing,)
    lower, upper = float(limit.lower or 0.0), float(limit.upper or 0.0)
    if lower == upper == 0.0:
        blank = Ignored(f'limits of joint "{joint.name}"', "both are 0, as exporters write blanks, so it has none", (joint.line,))
        return None, [], (blank,)
    if lower < upper:
        return (lower, upper), [], ()
    title = f'joint "{joint.name}" cannot move: its limits are {lower:g} and {upper:g}'
    cures = ("limits=False, to read none of the limits", 'lower below upper in the file, type="continuous" or type="fixed"')
    return None, [Problem("E525", title, (), (place(selected.skeleton.file, joint.line),), cures)], ()


def mimic_of(selected: SelectedTree, joint: Branch, record: Any) -> tuple[Mimic | None, list[Problem]]:
    """Return the mimic relation of a joint; E528 if its leader is not selected, or either has several degrees of freedom."""
    leader = selected.skeleton.joints_by_name.get(joint.leader or "")
    if leader is None or not joint.moves:
        return None, []
    lines = (place(selected.skeleton.file, joint.line), place(selected.skeleton.file, leader.line))
    title = f'joint "{joint.name}" follows joint "{leader.name}"'
    if leader not in selected.joints:
        cures = (f'tip=("{leader.child}", ...): the link of that joint among the tips', f'tip="{joint.parent}"')
        return None, [Problem("E528", f"{title}, which is not between base and tip", (), lines, cures)]
    unsuitable = [candidate for candidate in (joint, leader) if candidate.kind in WITH_SEVERAL_FREEDOMS]
    if unsuitable:
        return None, [
            Problem("E528", f"{title}, and {unsuitable[0].kind} joints cannot", (), lines, ("joints with one freedom",))
        ]
    return Mimic(leader.child, float(record.mimic.multiplier), float(record.mimic.offset)), []


def limit_problems(selected: SelectedTree, links: Sequence[Link]) -> list[Problem]:
    """Return E528 for joints whose limits, with those of their followers, leave no range of motion."""
    named = {link.name: link for link in links}
    ranges = {link.name: link.limits for link in links if link.mimic is None and link.limits is not None}
    problems = []
    for link in links:
        leader, factor, offset = link, 1.0, 0.0
        while leader.mimic is not None:
            offset, factor, leader = offset + factor * leader.mimic.offset, factor * leader.mimic.factor, named[leader.mimic.link]
        if link.mimic is None or link.limits is None:
            continue
        lower, upper = sorted((limit - offset) / factor for limit in link.limits)
        previous = ranges.get(leader.name, (-np.inf, np.inf))
        ranges[leader.name] = max(lower, previous[0]), min(upper, previous[1])
        if not ranges[leader.name][0] < ranges[leader.name][1]:
            joints = [selected.skeleton.parent_joint[link.name], selected.skeleton.parent_joint[leader.name]]
            title = f'joint "{joints[0].name}" follows joint "{joints[1].name}", and their limits leave no room'
            cures = ("limits=False, to read none of the limits", "wider limits, or another multiplier or offset")
            problems.append(
                Problem("E528", title, (), tuple(place(selected.skeleton.file, joint.line) for joint in joints), cures)
            )
    return problems


def negative_limits(selected: SelectedTree, records: Mapping[str, Any]) -> list[Ignored]:
    """Return the negative limits of effort and velocity: programs write -1 for none."""
    ignored = []
    for key in ("effort", "velocity"):
        values = ((joint, getattr(records[joint.name].limit, key, None)) for joint in selected.joints)
        lines = tuple(joint.line for joint, value in values if value is not None and value < 0.0)
        ignored += [Ignored(f"negative {key} limits", "read as none", lines)] if lines else []
    return ignored


def unused_fields(selected: SelectedTree, joints: Sequence[RobotJoint], limits: bool) -> list[Ignored]:
    """Return fields of the joints that a tree does not use."""
    lines = {joint.name: joint.line for joint in selected.skeleton.joints}
    kinds = (
        ("effort limits", "kept in `joints`; the graph's motors give what they are told", lambda j: j.effort is not None),
        ("velocity limits", "kept in `joints`; nothing in the graph holds them", lambda j: j.velocity is not None),
        ("friction of joints", "kept in `joints`; in a graph: bondgraph.Friction at a joint port", lambda j: j.friction),
        ("position limits", "as asked for, limits=False", lambda j: not limits and j.kind in LIMITED),
    )
    ignored = []
    for what, why, has_field in kinds:
        with_field = tuple(lines[joint.name] for joint in joints if joint.name in lines and has_field(joint))
        ignored += [Ignored(what, why, with_field)] if with_field else []
    return ignored
