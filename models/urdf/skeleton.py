"""Kinematic tree of a robot by names: tree and mimic checks, and selection of the links between base and tips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from screwbond.models.chains.trees import cycles
from screwbond.models.urdf.document import place

from bondgraph.errors import Problem
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
        leader, cures = (
            named.get(joint.leader),
            [f'<mimic joint="{candidate.name}"/>' for candidate in skeleton.joints if _can_lead(candidate, joint)],
        )
        why = ""
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


def _can_lead(leader: Branch, joint: Branch) -> bool:
    return leader is not joint and leader.moves and leader.leader is None


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
                title = f'the {role} of joint "{joint.name}" is "{link}", which is no link'
                problem(title, f'{_close_names(link, skeleton.links)}; or <link name="{link}"/> in <robot>', joint.line)
        if joint.child in carried:
            first = carried[joint.child]
            title = f'link "{joint.child}" hangs on two joints, "{first.name}" and "{joint.name}"'
            cure = "one of them: a URDF is a tree; close loops in the graph around it, with screwbond.models.joints.joint_graph"
            problem(title, cure, first.line, joint.line)
        carried.setdefault(joint.child, joint)
    if problems:
        return problems
    for loop in _loops(skeleton):
        names = " -> ".join([loop[0].parent, *(joint.child for joint in loop)])
        problem(
            f"joints go round in a circle: {names}", "another parent for one of these joints", *(joint.line for joint in loop)
        )
    if not problems and len(skeleton.roots) > 1:
        title = f"no joint carries {len(skeleton.roots)} links: {', '.join(skeleton.roots[:8])}"
        cure = 'joints that connect them, <joint type="fixed"> for parts that are as one'
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

    E524 for a base or a tip that is no link, or a tip that is no descendant of the base.
    """
    problems: list[Problem] = []
    for what, link in (("base", base), *(("tip", tip) for tip in tips)):
        if link is not None and link not in skeleton.links:
            title = f'the {what} "{link}" is no link of this robot'
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
    """Return E524 for a tip that is no descendant of the base."""
    title = f'the tip "{tip}" does not hang on the base "{start}"'
    others = [joint.child for joint in joints] or [f'no link hangs on "{start}"']
    tip_is_above = any(joint.parent == tip for joint in skeleton.path_to_root(start))
    cure = f'base="{tip}", tip="{start}"' if tip_is_above else f"one of: {', '.join(others[-12:])}"
    lines = (place(skeleton.file, skeleton.links[tip]), place(skeleton.file, skeleton.links[start]))
    return Problem("E524", title, (), lines, (cure,))
