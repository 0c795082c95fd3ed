"""Kinematic tree of a robot by names, selection between base and tips, and joints with limits and mimic relations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from screwbond.models.chains import Link, Mimic
from screwbond.models.chains.trees import cycles
from screwbond.models.robots.records import Ignored, JointEntry, LinkEntry, RobotFile

from bondgraph.errors import Place, Problem
from screws.errors import plural
from screws.names import similar_names


@dataclass(frozen=True, eq=False)
class Skeleton:
    links: Mapping[str, LinkEntry]
    joints: tuple[JointEntry, ...]
    duplicates: tuple[tuple[str, str, Place, Place], ...] = ()
    """Links and joints whose name is taken, as ("link" or "joint", name, place, place of the first)."""

    @cached_property
    def parent_joint(self) -> dict[str, JointEntry]:
        return {joint.child: joint for joint in self.joints}

    @cached_property
    def child_joints(self) -> dict[str, list[JointEntry]]:
        joints: dict[str, list[JointEntry]] = {link: [] for link in self.links}
        for joint in self.joints:
            joints[joint.parent].append(joint)
        return joints

    @cached_property
    def joints_by_name(self) -> dict[str, JointEntry]:
        return {joint.name: joint for joint in self.joints}

    @property
    def roots(self) -> list[str]:
        return [link for link in self.links if link not in self.parent_joint]

    def path_to_root(self, link: str) -> list[JointEntry]:
        joints = []
        while link in self.parent_joint:
            joints.append(self.parent_joint[link])
            link = joints[-1].parent
        return joints

    def subtree(self, link: str) -> list[JointEntry]:
        """Return all joints below a link, body by body, with parents before children and fixed joints before moving joints."""
        joints: list[JointEntry] = []
        stack: list[JointEntry] = []
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


def skeleton_of(robot: RobotFile) -> Skeleton:
    duplicates: list[tuple[str, str, Place, Place]] = []
    for what, entries in (("link", robot.links), ("joint", robot.joints)):
        first: dict[str, Place] = {}
        for entry in entries:
            if entry.name in first:
                duplicates.append((what, entry.name, entry.place, first[entry.name]))
            first.setdefault(entry.name, entry.place)
    links = {link.name: link for link in reversed(robot.links)}
    return Skeleton({link.name: links[link.name] for link in robot.links}, robot.joints, tuple(duplicates))


def mimic_problems(skeleton: Skeleton) -> list[Problem]:
    """Return E528 for mimic joints whose leader is unknown, fixed or one of their followers, or whose multiplier is 0."""
    problems: list[Problem] = []
    named = skeleton.joints_by_name
    circling = {name for cycle in cycles({joint.name: joint.leader for joint in skeleton.joints}) for name in cycle}
    for joint in skeleton.joints:
        if joint.leader is None or not joint.moves:
            continue
        leader, why = named.get(joint.leader), ""
        leaders = [other.name for other in skeleton.joints if other is not joint and other.moves and other.leader is None]
        cures = [f'"{name}" as its leader' for name in similar_names(joint.leader, leaders) or leaders]
        if leader is None:
            why = "which does not exist"
        elif leader is joint:
            why = "which is itself"
        elif not leader.moves:
            why = "which is fixed"
        elif joint.name in circling:
            why = "which itself follows it"
        elif joint.multiplier == 0.0:
            why, cures = "with the multiplier 0, so that it never moves", ["a fixed joint"]
        if why:
            title = f'joint "{joint.name}" cannot follow joint "{joint.leader}", {why}'
            cure = " or ".join(cures[:3]) or "a joint without a leader"
            problems.append(Problem("E528", title, (), (joint.place,), (cure,)))
    return problems


def tree_problems(robot: RobotFile, skeleton: Skeleton) -> list[Problem]:
    problems: list[Problem] = []

    def problem(title: str, cure: str, *places: Place) -> None:
        problems.append(Problem("E523", title, (), places, (cure,)))

    if not skeleton.links:
        problem("the robot has no links", "links, with joints between them", Place(str(robot.file), 1))
        return problems
    for tag, name, second, first_place in skeleton.duplicates:
        problem(f'two {tag}s are called "{name}"', f"another name for one of the {tag}s", first_place, second)
    carried: dict[str, JointEntry] = {}
    for joint in skeleton.joints:
        for role, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in skeleton.links:
                title = f'the {role} of joint "{joint.name}" is "{link}", which is not a link'
                problem(title, f'{_close_names(link, skeleton.links)}; or <link name="{link}"/> in the file', joint.place)
        if joint.child in carried:
            first = carried[joint.child]
            title = f'link "{joint.child}" is the child of two joints, "{first.name}" and "{joint.name}"'
            cure = (
                "one of the two joints: a robot is a tree; close its loops in a graph, with screwbond.models.joints.joint_graph"
            )
            problem(title, cure, first.place, joint.place)
        carried.setdefault(joint.child, joint)
    if problems:
        return problems
    for loop in _loops(skeleton):
        names = " -> ".join([loop[0].parent, *(joint.child for joint in loop)])
        problem(f"joints form a cycle: {names}", "another parent for one of these joints", *(joint.place for joint in loop))
    if not problems and len(skeleton.roots) > 1:
        title = f"{plural(len(skeleton.roots), 'link')} have no parent joint: {', '.join(skeleton.roots[:8])}"
        cure = 'joints between them, <joint type="fixed"> for rigid connections'
        problem(title, cure, *(skeleton.links[link].place for link in skeleton.roots[:8]))
    return problems


def _close_names(name: str, names: Sequence[str] | Mapping[str, Any]) -> str:
    candidates = similar_names(name, names, most=3) or list(names)[:12]
    return f"one of: {', '.join(candidates)}"


def _loops(skeleton: Skeleton) -> list[list[JointEntry]]:
    carriers = {link: skeleton.parent_joint[link].parent for link in skeleton.links if link in skeleton.parent_joint}
    return [[skeleton.parent_joint[name] for name in reversed(cycle)] for cycle in cycles(carriers)]


@dataclass(frozen=True, eq=False)
class SelectedTree:
    skeleton: Skeleton
    base: str
    joints: tuple[JointEntry, ...]
    omitted: tuple[str, ...]

    @cached_property
    def body(self) -> dict[str, str]:
        """Moving link or base to which each link is fixed; for moving links and the base, the link itself."""
        bodies = {self.base: self.base}
        for joint in self.joints:
            bodies[joint.child] = joint.child if joint.moves else bodies[joint.parent]
        return bodies

    @cached_property
    def bodies(self) -> dict[str, list[str]]:
        """Base and moving links, each with itself and all links fixed to it; carriers precede the bodies that they carry."""
        members: dict[str, list[str]] = {}
        for link, body in self.body.items():
            members.setdefault(body, []).append(link)
        return members

    def carrier(self, body: str) -> str | None:
        return None if body == self.base else self.body[self.skeleton.parent_joint[body].parent]

    @property
    def serial(self) -> bool:
        carriers = [self.carrier(body) for body in self.bodies]
        return len(set(carriers)) == len(carriers)


def select_tree(skeleton: Skeleton, base: str | None, tips: Sequence[str]) -> tuple[SelectedTree | None, list[Problem]]:
    """Select the links from `base` (None: the root) to the tips, with all links fixed to them except beyond a tip; without tips,
    select all links below the base.

    Return None and problems E524 for a base or a tip that is not a link, or a tip that is not a descendant of the base.
    """
    problems: list[Problem] = []
    for what, link in (("base", base), *(("tip", tip) for tip in tips)):
        if link is not None and link not in skeleton.links:
            title = f'the {what} "{link}" is not a link of this robot'
            problems.append(
                Problem("E524", title, (), (skeleton.links[skeleton.roots[0]].place,), (_close_names(link, skeleton.links),))
            )
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


def _tip_problem(skeleton: Skeleton, start: str, tip: str, joints: Sequence[JointEntry]) -> Problem:
    title = f'the tip "{tip}" is not below the base "{start}"'
    tip_is_above = any(joint.parent == tip for joint in skeleton.path_to_root(start))
    others = ", ".join(joint.child for joint in joints[-12:])
    below = f"one of: {others}" if others else f'another base: "{start}" carries no links'
    cure = f'base="{tip}", tip="{start}"' if tip_is_above else below
    lines = (skeleton.links[tip].place, skeleton.links[start].place)
    return Problem("E524", title, (), lines, (cure,))


@dataclass(frozen=True)
class RobotJoint:
    """Moving joint of a robot.

    Attributes
    ----------
    name, kind : as in the file.
    link : its child link, which names its coordinate in the tree, with a number if there are several.
    leader : the joint that it mimics, so that it has no coordinate; "" for a joint with a coordinate of its own.
    effort : largest torque or force of its motor, N m or N; None: unknown.
    velocity : largest speed of the joint, rad/s or m/s; None: unknown.
    friction : dry friction, N m or N.
    """

    name: str
    kind: str
    link: str
    leader: str = ""
    effort: float | None = None
    velocity: float | None = None
    friction: float = 0.0


def robot_joint(joint: JointEntry) -> RobotJoint:
    return RobotJoint(joint.name, joint.kind, joint.child, joint.leader or "", joint.effort, joint.velocity, joint.friction)


def mimic_of(selected: SelectedTree, joint: JointEntry) -> tuple[Mimic | None, list[Problem]]:
    """Return the mimic relation of a joint, or E528 if its leader is not selected or if either joint has several degrees of
    freedom."""
    leader = selected.skeleton.joints_by_name.get(joint.leader or "")
    if leader is None or not joint.moves:
        return None, []
    places = (joint.place, leader.place)
    title = f'joint "{joint.name}" follows joint "{leader.name}"'
    if leader not in selected.joints:
        cures = (f'tip=("{leader.child}", ...), to include the link of that joint', f'tip="{joint.parent}"')
        return None, [Problem("E528", f"{title}, which is not between base and tip", (), places, cures)]
    unsuitable = [candidate for candidate in (joint, leader) if candidate.screws and candidate.screws.freedoms > 1]
    if unsuitable:
        return None, [
            Problem(
                "E528",
                f"{title}, but no {unsuitable[0].kind} joint can follow or lead",
                (),
                places,
                ("joints with one degree of freedom",),
            )
        ]
    return Mimic(leader.child, joint.multiplier, joint.offset), []


def limit_problems(selected: SelectedTree, links: Sequence[Link]) -> list[Problem]:
    """Return E528 for joints whose limits, combined with their followers' limits, leave no range of motion."""
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
            cures = ("limits=False, to ignore all limits", "wider limits, or another multiplier or offset")
            problems.append(Problem("E528", title, (), tuple(joint.place for joint in joints), cures))
    return problems


def unused_fields(selected: SelectedTree, joints: Sequence[RobotJoint], limits: bool) -> list[Ignored]:
    entries = selected.skeleton.joints_by_name
    kinds = (
        ("effort limits", "kept in `effort_limits`; `limited_drive` keeps motors within them", lambda j: j.effort is not None),
        ("velocity limits", "kept in `speed_limits`; `limited_drive` keeps motors within them", lambda j: j.velocity is not None),
        ("friction of joints", "kept in `joints`; in a graph: bondgraph.Friction at a joint port", lambda j: j.friction),
        ("position limits", "ignored as requested: limits=False", lambda j: not limits and _has_range(entries[j.name])),
    )
    ignored = []
    for what, why, has_field in kinds:
        with_field = tuple(entries[joint.name].place.line for joint in joints if joint.name in entries and has_field(joint))
        ignored += [Ignored(what, why, with_field)] if with_field else []
    return ignored


def _has_range(joint: JointEntry) -> bool:
    return joint.limits is not None or bool(joint.limit_problems)
