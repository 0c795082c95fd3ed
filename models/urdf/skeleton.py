"""Kinematic tree of a robot by names, its selection between base and tips, and its joints: screws, limits and mimic relations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from screwbond.models.chains import Link, Mimic
from screwbond.models.chains.trees import cycles
from screwbond.models.urdf.document import Ignored, place

from bondgraph.errors import Problem
from screws.joints import Joint, fixed, free, planar, prismatic, revolute
from screws.similar_names import similar_names

FIXED = "fixed"


@dataclass(frozen=True)
class Branch:
    """Joint by name: its kind, parent link, child link, and line in the file."""

    name: str
    kind: str
    parent: str
    child: str
    line: int
    leader: str | None = None
    """Joint that it mimics."""
    multiplier: float = 1.0

    @property
    def moves(self) -> bool:
        """True if its child link moves relative to its parent link."""
        return self.kind != FIXED


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Links (name -> line) and the joints between them."""

    file: Path
    links: Mapping[str, int]
    joints: tuple[Branch, ...]
    duplicates: tuple[tuple[str, str, int, int], ...] = field(default=())
    """("link" or "joint", name, line, first line) of duplicates."""

    @cached_property
    def parent_joint(self) -> dict[str, Branch]:
        """Link -> the joint whose child it is."""
        return {joint.child: joint for joint in self.joints}

    @cached_property
    def child_joints(self) -> dict[str, list[Branch]]:
        """Link -> the joints whose parent it is."""
        joints: dict[str, list[Branch]] = {link: [] for link in self.links}
        for joint in self.joints:
            joints[joint.parent].append(joint)
        return joints

    @cached_property
    def joints_by_name(self) -> dict[str, Branch]:
        """Joints by name."""
        return {joint.name: joint for joint in self.joints}

    @property
    def roots(self) -> list[str]:
        """Links that are the child of no joint."""
        return [link for link in self.links if link not in self.parent_joint]

    def path_to_root(self, link: str) -> list[Branch]:
        """Return the joints from a link to the root, the nearest first."""
        joints = []
        while link in self.parent_joint:
            joints.append(self.parent_joint[link])
            link = joints[-1].parent
        return joints

    def subtree(self, link: str) -> list[Branch]:
        """Return all joints below a link, body by body: parents before children, fixed joints before moving ones."""
        joints: list[Branch] = []
        stack: list[Branch] = []
        start = link
        while True:
            frames, movable = [start], []
            for frame in frames:
                movable += [joint for joint in self.child_joints[frame] if joint.moves]
                joints += [joint for joint in self.child_joints[frame] if not joint.moves]
                frames += [joint.child for joint in self.child_joints[frame] if not joint.moves]
            stack += reversed(movable)
            if not stack:
                return joints
            joints.append(stack.pop())
            start = joints[-1].child


def skeleton_of(file: Path, root: Any) -> Skeleton:
    """Return the skeleton of a checked XML tree."""
    duplicates: list[tuple[str, str, int, int]] = []
    seen: dict[tuple[str, str], int] = {}
    for element in root:
        if element.tag not in ("link", "joint"):
            continue
        key = (element.tag, element.get("name"))
        if key in seen:
            duplicates.append((*key, element.sourceline, seen[key]))
        seen.setdefault(key, element.sourceline)
    joints = tuple(_branch(element) for element in root.findall("joint"))
    links = {name: line for (tag, name), line in seen.items() if tag == "link"}
    return Skeleton(file, links, joints, tuple(duplicates))


def _branch(joint: Any) -> Branch:
    ends = joint.find("parent").get("link"), joint.find("child").get("link")
    mimic = joint.find("mimic")
    leader = (None, 1.0) if mimic is None else (mimic.get("joint"), float(mimic.get("multiplier", "1")))
    return Branch(joint.get("name"), joint.get("type"), *ends, joint.sourceline, *leader)


def mimic_problems(skeleton: Skeleton) -> list[Problem]:
    """Return E528 for mimic joints whose leader is unknown, fixed or a follower of theirs, or with the multiplier 0."""
    problems: list[Problem] = []
    named = skeleton.joints_by_name
    circling = {name for cycle in cycles({joint.name: joint.leader for joint in skeleton.joints}) for name in cycle}
    for joint in skeleton.joints:
        if joint.leader is None or not joint.moves:
            continue
        leader, why = named.get(joint.leader), ""
        leaders = [other for other in skeleton.joints if other is not joint and other.moves and other.leader is None]
        cures = [f'<mimic joint="{other.name}"/>' for other in leaders]
        if leader is None:
            why = "there is no such joint"
        elif leader is joint:
            why = "that is itself"
        elif not leader.moves:
            why = "which is fixed"
        elif joint.name in circling:
            why = "which follows it in turn"
        elif joint.multiplier == 0.0:
            why, cures = "with the multiplier 0, so that it never moves", ['type="fixed"']
        if why:
            title = f'joint "{joint.name}" is to follow joint "{joint.leader}", {why}'
            cure = " or ".join(cures[:3]) or "no <mimic>"
            problems.append(Problem("E528", title, (), (place(skeleton.file, joint.line),), (cure,)))
    return problems


def tree_problems(skeleton: Skeleton) -> list[Problem]:
    """Return E523 for links and joints that form no tree."""
    problems: list[Problem] = []

    def problem(title: str, cure: str, *lines: int) -> None:
        problems.append(Problem("E523", title, (), tuple(place(skeleton.file, line) for line in lines), (cure,)))

    if not skeleton.links:
        problem("the robot has no links", '<link name="base"/> and more, with joints between them', 1)
        return problems
    for tag, name, line, before in skeleton.duplicates:
        problem(f'two {tag}s are called "{name}"', "another name for one of them", before, line)
    carried: dict[str, Branch] = {}
    for joint in skeleton.joints:
        for role, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in skeleton.links:
                title = f'the {role} of joint "{joint.name}" is "{link}", which is not a link'
                problem(title, f'{_close_names(link, skeleton.links)}; or <link name="{link}"/> in <robot>', joint.line)
        if joint.child in carried:
            first = carried[joint.child]
            title = f'link "{joint.child}" is the child of two joints, "{first.name}" and "{joint.name}"'
            cure = "one of them: a URDF is a tree; close loops in the graph around it, with screwbond.models.joints.joint_graph"
            problem(title, cure, first.line, joint.line)
        carried.setdefault(joint.child, joint)
    if problems:
        return problems
    for loop in _loops(skeleton):
        names = " -> ".join([loop[0].parent, *(joint.child for joint in loop)])
        problem(f"joints form a cycle: {names}", "another parent for one of these joints", *(joint.line for joint in loop))
    if not problems and len(skeleton.roots) > 1:
        title = f"no joint carries {len(skeleton.roots)} links: {', '.join(skeleton.roots[:8])}"
        cure = 'joints that connect them, <joint type="fixed"> for rigid connections'
        problem(title, cure, *(skeleton.links[link] for link in skeleton.roots[:8]))
    return problems


def _close_names(name: str, names: Sequence[str] | Mapping[str, Any]) -> str:
    candidates = similar_names(name, names, most=3) or list(names)[:12]
    return f"one of: {', '.join(candidates)}"


def _loops(skeleton: Skeleton) -> list[list[Branch]]:
    """Return the cycles of joints, each from its first link in the file."""
    carriers = {link: skeleton.parent_joint[link].parent for link in skeleton.links if link in skeleton.parent_joint}
    return [[skeleton.parent_joint[name] for name in reversed(cycle)] for cycle in cycles(carriers)]


@dataclass(frozen=True, eq=False)
class SelectedTree:
    """Selected part of a skeleton: the base, its descendant joints, and the omitted links."""

    skeleton: Skeleton
    base: str
    joints: tuple[Branch, ...]
    omitted: tuple[str, ...]

    @cached_property
    def body(self) -> dict[str, str]:
        """Link -> the moving link (or base) of its body: itself, if its joint moves."""
        bodies = {self.base: self.base}
        for joint in self.joints:
            bodies[joint.child] = joint.child if joint.moves else bodies[joint.parent]
        return bodies

    @cached_property
    def bodies(self) -> dict[str, list[str]]:
        """Moving link, or base -> the links of its body, itself first; each body after its carrier."""
        members: dict[str, list[str]] = {}
        for link, body in self.body.items():
            members.setdefault(body, []).append(link)
        return members

    def carrier(self, body: str) -> str | None:
        """Return the body on which the joint of a body stands; None for the base."""
        return None if body == self.base else self.body[self.skeleton.parent_joint[body].parent]

    @property
    def serial(self) -> bool:
        """True if no body carries two others."""
        carriers = [self.carrier(body) for body in self.bodies]
        return len(set(carriers)) == len(carriers)


def select_tree(skeleton: Skeleton, base: str | None, tips: Sequence[str]) -> tuple[SelectedTree | None, list[Problem]]:
    """Select the links from `base` (None: the root) to the tips, with all links fixed to them; without tips, all on the base.

    E524 for a base or a tip that is not a link, or a tip that is not a descendant of the base.
    """
    problems: list[Problem] = []
    for what, link in (("base", base), *(("tip", tip) for tip in tips)):
        if link is not None and link not in skeleton.links:
            title = f'the {what} "{link}" is not a link of this robot'
            problems.append(Problem("E524", title, (), (place(skeleton.file, 1),), (_close_names(link, skeleton.links),)))
    if problems:
        return None, problems
    start = skeleton.roots[0] if base is None else base
    joints = skeleton.subtree(start)
    descendants = {joint.child for joint in joints} | {start}
    links_on_path = {start}
    for tip in tips:
        if tip not in descendants:
            problems.append(_tip_problem(skeleton, start, tip, joints))
        else:
            links_on_path |= {tip, *(joint.child for joint in skeleton.path_to_root(tip))} & descendants
    if problems:
        return None, problems
    if tips:
        # Links fixed to the path belong to it; links fixed only to a tip do not.
        last = {tip for tip in tips if not any(joint.child in links_on_path for joint in skeleton.child_joints[tip])}
        for joint in joints:
            if not joint.moves and joint.parent in links_on_path - last:
                links_on_path.add(joint.child)
        joints = [joint for joint in joints if joint.child in links_on_path]
    links = {start, *(joint.child for joint in joints)}
    return SelectedTree(skeleton, start, tuple(joints), tuple(link for link in skeleton.links if link not in links)), []


def _tip_problem(skeleton: Skeleton, start: str, tip: str, joints: Sequence[Branch]) -> Problem:
    """Return E524 for a tip that is not a descendant of the base."""
    title = f'the tip "{tip}" is not connected to the base "{start}"'
    others = [joint.child for joint in joints] or [f'no link hangs on "{start}"']
    tip_is_above = any(joint.parent == tip for joint in skeleton.path_to_root(start))
    cure = f'base="{tip}", tip="{start}"' if tip_is_above else f"one of: {', '.join(others[-12:])}"
    lines = (place(skeleton.file, skeleton.links[tip]), place(skeleton.file, skeleton.links[start]))
    return Problem("E524", title, (), lines, (cure,))


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
            title = f'joint "{joints[0].name}" follows joint "{joints[1].name}", and their limits allow no motion'
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
        ("effort limits", "kept in `effort_limits`; `limited_drive` keeps motors within them", lambda j: j.effort is not None),
        ("velocity limits", "kept in `speed_limits`; `limited_drive` keeps motors within them", lambda j: j.velocity is not None),
        ("friction of joints", "kept in `joints`; in a graph: bondgraph.Friction at a joint port", lambda j: j.friction),
        ("position limits", "as requested, limits=False", lambda j: not limits and j.kind in LIMITED),
    )
    ignored = []
    for what, why, has_field in kinds:
        with_field = tuple(lines[joint.name] for joint in joints if joint.name in lines and has_field(joint))
        ignored += [Ignored(what, why, with_field)] if with_field else []
    return ignored
