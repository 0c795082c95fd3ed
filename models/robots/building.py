"""Build a robot from the description of its file.

A body is a moving link with all links fixed to it; its inertia is the sum of theirs, in the frame of the moving link.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from screwbond.models.chains import BEFORE, BodyInertia, Chain, Link, Tree
from screwbond.models.chains.links import UncheckedInertia, combined_moments
from screwbond.models.chains.trees import FixedTree
from screwbond.models.robots.records import Ignored, InertiaTerms, RobotFile, merged
from screwbond.models.robots.robot import Packages, Robot, read_visuals, visuals_by_link
from screwbond.models.robots.skeleton import (
    RobotJoint,
    SelectedTree,
    limit_problems,
    mimic_of,
    mimic_problems,
    robot_joint,
    select_tree,
    skeleton_of,
    tree_problems,
    unused_fields,
)

from bondgraph.errors import ModelError, Problem, Records, raise_if_any, refusal
from screws.errors import GeometryError, plural
from screws.joints import fixed, free
from screws.poses import inverse

ROUNDING = 1e-12
"""Fraction of the other moments of inertia up to which a negative moment counts as zero."""
GYRATION = 1e-10
"""Radius of gyration up to which a negative moment of inertia counts as zero, m: the size of an atom."""

KINDS = ("collision", "visual", False)


@dataclass(frozen=True, eq=False)
class Selection:
    """Checked arguments of a reader.

    Raises `ModelError` E524 for a base or tip that is not a name, E527 for an unknown kind of `meshes`, or `packages` that do not
    map names to existing folders.
    """

    file: Path
    base: str | None
    tip: str | Sequence[str] | None
    floating: bool
    meshes: str | bool
    packages: Packages | None
    limits: bool

    def __post_init__(self) -> None:
        file, meshes = self.file, self.meshes
        ends = self.tips if isinstance(self.tips, Iterable) else (self.tips,)
        for what, link in (("base", "" if self.base is None else self.base), *(("tip", tip) for tip in ends)):
            if not isinstance(link, str):
                raise refusal("E524", f"{what}={link!r} is not the name of a link", f'{what}="name"', about=file.name)
        if not isinstance(self.packages or {}, Mapping):
            cure = 'packages={"name": "folder"}'
            raise refusal("E527", f"packages={self.packages!r} does not map packages to folders", cure, about=file.name)
        if not any(meshes is kind or meshes == kind for kind in KINDS):
            cure = 'meshes="collision", "visual" or False'
            raise refusal("E527", f"meshes={meshes!r} is not a kind of shape", cure, about=file.name)
        for name, folder in (self.packages or {}).items():
            if not (isinstance(folder, (str, os.PathLike)) and Path(folder).is_dir()):
                why = f"{folder} is not a folder"
                raise refusal("E527", f'the package "{name}" cannot be found', "a folder that exists", about=file.name, why=why)

    @property
    def tips(self) -> Any:
        return () if self.tip is None else (self.tip,) if isinstance(self.tip, str) else self.tip


def robot_of(robot: RobotFile, selection: Selection) -> Robot:
    skeleton = skeleton_of(robot)
    structure_problems = [*tree_problems(robot, skeleton), *mimic_problems(skeleton)]
    if structure_problems:
        raise ModelError(robot.file.name, [*robot.problems, *structure_problems])
    base = None if selection.base is None else plain_name(selection.base)
    selected, tip_problems = select_tree(skeleton, base, [plain_name(name) for name in selection.tips])
    if selected is None:
        raise ModelError(robot.file.name, [*robot.problems, *tip_problems])
    tree_links = links_of(selected, limits=selection.limits, floating=selection.floating)
    entries = [skeleton.links[link] for link in (selected.base, *(joint.child for joint in selected.joints))]
    meshes, packages = selection.meshes, selection.packages or {}
    skins, mesh_problems = read_visuals(robot.file, entries, str(meshes), packages) if meshes else ([], [])
    problems = [*robot.problems, *tree_links.problems, *mesh_problems]
    raise_if_any(robot.file.name, problems or _immobile_problems(selected, tree_links))
    ignored = (*_omitted_links(selected), *tree_links.ignored, *_ignored_shapes(robot, meshes), *robot.ignored)
    ignored = (*robot.harmless, *_immobile_note(tree_links), *ignored)
    mechanism = FixedTree if not tree_links.joints else Chain if selected.serial else Tree
    visuals = visuals_by_link(robot.file, entries, packages) if meshes else {}
    links = tuple(replace(link, visual=visuals.get(link.name)) for link in tree_links.links)
    at = robot.base if selected.base == skeleton.roots[0] else np.eye(4)
    tree = mechanism(plain_name(robot.name or robot.file.stem), links, at)
    moving = {joint.name for joint in tree_links.joints}
    return Robot(
        tree, Records(tree_links.joints), tuple(skins), ignored, tuple(drive for drive in robot.drives if drive.joint in moving)
    )


def plain_name(name: str) -> str:
    """Return a name with underscores for dots, colons, apostrophes, arrows, and a leading minus.

    >>> plain_name("link_1.0"), plain_name("base/camera")
    ('link_1_0', 'base/camera')
    """
    return re.sub(r"->|[.:']|^-", "_", name)


def renamed_note(places: Mapping[str, int]) -> tuple[Ignored, ...]:
    changed = {name: line for name, line in places.items() if name != plain_name(name)}
    if not changed:
        return ()
    first = next(iter(changed))
    why = f'paths in a graph use them; "{first}" becomes "{plain_name(first)}"'
    return (Ignored("dots, colons, apostrophes, arrows and leading minuses in names", why, tuple(changed.values())),)


@dataclass(frozen=True, eq=False)
class TreeLinks:
    links: tuple[Link, ...] = ()
    joints: tuple[RobotJoint, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    problems: tuple[Problem, ...] = ()


def links_of(selected: SelectedTree, *, limits: bool, floating: bool) -> TreeLinks:
    home_poses = {selected.base: np.eye(4)}
    for joint in selected.joints:
        home_poses[joint.child] = home_poses[joint.parent] @ joint.origin
    inertias, ignored = inertias_of(selected, home_poses, floating)
    links = [Link(selected.base, free() if floating else fixed(), inertias.get(selected.base), parent=None)]
    joints = [RobotJoint(selected.base, "floating", selected.base)] if floating else []
    problems: list[Problem] = []
    notes: list[Ignored] = []
    for joint in selected.joints:
        mimic, mimic_errors = mimic_of(selected, joint)
        problems += [*joint.problems, *(joint.limit_problems if limits else ()), *mimic_errors]
        notes += [*joint.notes, *(joint.limit_notes if limits else ())]
        if joint.screws is not None:
            at = home_poses[joint.child]
            screws = replace(joint.screws.seen_from(at), name=joint.name)
            numbers = {key: getattr(joint, key) for key in ("damping", "armature", "stiffness", "rest")}
            bounds = joint.limits if limits else None
            inertia = inertias.get(joint.child)
            links.append(Link(joint.child, screws, inertia, at, limits=bounds, parent=joint.parent, mimic=mimic, **numbers))
            joints += [robot_joint(joint)] if joint.moves else []
    problems += [] if problems else limit_problems(selected, links)
    if selected.serial:
        # The parent of a fixed link may be any link of its body, even the previous one.
        links = [replace(link, parent=BEFORE) for link in links]
    ignored += [*merged(notes), *unused_fields(selected, joints, limits)]
    return TreeLinks(tuple(links), tuple(joints), tuple(ignored), tuple(problems))


def inertias_of(
    selected: SelectedTree, home_poses: Mapping[str, np.ndarray], floating: bool
) -> tuple[dict[str, BodyInertia], list[Ignored]]:
    """Return the inertia of each moving body that has one, by its link, and notes: on bodies without inertia or armature that
    carry no mass, and on inertias that no rigid body can have.

    Parameters
    ----------
    home_poses : pose (4, 4) of each link in the base with all joints at zero.
    floating : True if the base moves too.
    """
    inertias: dict[str, BodyInertia] = {}
    massless: list[str] = []
    carriers: set[str | None] = set()
    for body, links in reversed(selected.bodies.items()):
        if body == selected.base and not floating:
            continue
        terms = {link: selected.skeleton.links[link].inertia for link in links}
        parts = {link: each for link, each in terms.items() if each is not None}
        to_body = inverse(home_poses[body])
        total = combined_moments([_seen_from(to_body @ home_poses[link], each) for link, each in parts.items()])
        if total[0] == 0.0 and not np.any(total[1]):
            massless += [] if body in carriers else [body]
        else:
            inertias[body] = _body_inertia(selected, next(iter(parts)), total)
        if body in inertias or body in carriers:
            carriers.add(selected.carrier(body))
    return inertias, [*_massless_note(selected, massless[::-1]), *_unchecked_notes(inertias)]


def _seen_from(H: np.ndarray, inertia: InertiaTerms) -> InertiaTerms:
    mass, moment, centre = inertia
    return mass, H[:3, :3] @ moment @ H[:3, :3].T, H[:3, :3] @ centre + H[:3, 3]


def _body_inertia(selected: SelectedTree, link: str, total: InertiaTerms) -> BodyInertia:
    try:
        return BodyInertia(*total)
    except GeometryError as error:
        mass, moment, centre = total
        smallest = float(np.linalg.eigvalsh(moment)[0])
        rounding = ROUNDING * float(np.abs(moment).max() + mass * centre @ centre) + mass * GYRATION**2
        place = selected.skeleton.links[link].place
        return UncheckedInertia(*total, error.message.replace(" of the body", ""), smallest >= -rounding, place)


def _massless_note(selected: SelectedTree, bodies: Sequence[str]) -> list[Ignored]:
    bodies = [body for body in bodies if not getattr(selected.skeleton.parent_joint.get(body), "armature", 0.0)]
    if not bodies:
        return []
    named = ", ".join(bodies[:8]) + (" ..." if len(bodies) > 8 else "")
    why = "a pose needs no mass; computing M(q) or building the graph raises E538 for joints that move no mass"
    return [Ignored(f"no mass of {named}", why, tuple(selected.skeleton.links[body].place.line for body in bodies))]


def _unchecked_notes(inertias: Mapping[str, BodyInertia]) -> list[Ignored]:
    notes = []
    for body, inertia in inertias.items():
        if isinstance(inertia, UncheckedInertia):
            effect = "kept as in the file" if inertia.is_passive else "computing M(q) or building the graph raises E526"
            lines = () if inertia.place is None else (inertia.place.line,)
            notes.append(Ignored(f'no rigid body can have the inertia of "{body}"', f"{inertia.defect}; {effect}", lines))
    return notes[::-1]


def _immobile_problems(selected: SelectedTree, tree_links: TreeLinks) -> list[Problem]:
    if tree_links.joints or not any(joint.moves for joint in selected.skeleton.joints):
        return []
    title = f'no joint moves: only "{selected.base}" is selected'
    if selected.joints:
        title = f'no joint moves between "{selected.base}" and "{selected.joints[-1].child}"'
    cures = ("floating=True", f"another base or tip; links: {', '.join(list(selected.skeleton.links)[:12])}")
    return [Problem("E524", title, (), (selected.skeleton.links[selected.base].place,), cures)]


def _immobile_note(tree_links: TreeLinks) -> list[Ignored]:
    why = "the robot has only poses, and its masses do not matter; floating=True makes it a free body"
    return [] if tree_links.joints else [Ignored("no joint moves", why)]


def _omitted_links(selected: SelectedTree) -> list[Ignored]:
    if not selected.omitted:
        return []
    named = ", ".join(selected.omitted[:8]) + (" ..." if len(selected.omitted) > 8 else "")
    lines = tuple(selected.skeleton.links[link].place.line for link in selected.omitted)
    what = f"{plural(len(selected.omitted), 'link')}: {named}"
    return [Ignored(what, "not between base and tip; their mass is omitted too", lines)]


def _ignored_shapes(robot: RobotFile, meshes: str | bool) -> list[Ignored]:
    kinds = {
        "collision": sum(len(link.collisions) for link in robot.links),
        "visual": sum(len(link.visuals) for link in robot.links),
    }
    return [
        Ignored(f"{plural(count, 'shape')} <{kind}>", f'not in `visuals`; meshes="{kind}" selects them')
        for kind, count in kinds.items()
        if count and kind != meshes
    ]
