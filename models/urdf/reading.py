"""Read a URDF file: the robot that it describes, or all its problems.

Inertias of moving bodies from the elements <inertial> of a robot.

A body is a moving link with all links fixed to it; its inertia is the sum of theirs, in the frame of the moving link.
"""

from __future__ import annotations

import io
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
from screwbond.models.urdf.document import Ignored, place, read_document
from screwbond.models.urdf.grammar import check
from screwbond.models.urdf.robot import Packages, Robot, read_visuals, visuals_by_link
from screwbond.models.urdf.skeleton import (
    RobotJoint,
    SelectedTree,
    bounds_of,
    limit_problems,
    mimic_of,
    mimic_problems,
    negative_limits,
    robot_joint,
    screws_of,
    select_tree,
    skeleton_of,
    tree_problems,
    unused_fields,
)

from bondgraph.errors import ModelError, Problem, raise_if_any, refusal
from bondgraph.output.extras import require_package
from screws.errors import GeometryError
from screws.joints import fixed, free
from screws.poses import inverse

InertiaTerms = tuple[float, np.ndarray, np.ndarray]
"""Mass, rotational inertia (3, 3) about the centre of mass, and the centre (3,)."""

ROUNDING, GYRATION = 1e-12, 1e-10
"""Moments below this share of their neighbours, or of a radius of gyration (m) below the size of an atom, are zero."""


def inertias_of(
    selected: SelectedTree, inertials: Mapping[str, Any], home_poses: Mapping[str, np.ndarray], floating: bool
) -> tuple[dict[str, BodyInertia], list[Ignored]]:
    """Return moving link -> inertia of its body, without massless bodies, and notes on inertias that no rigid body has.

    Parameters
    ----------
    inertials : link -> record of yourdfpy, or None.
    home_poses : link -> pose (4, 4) in the base with all joints at zero.
    floating : True if the base moves too.
    """
    inertias: dict[str, BodyInertia] = {}
    massless: list[str] = []
    carriers: set[str | None] = set()
    for body, links in reversed(selected.bodies.items()):
        if body == selected.base and not floating:
            continue
        parts = [link for link in links if inertials.get(link) is not None]
        total = combined_moments([_inertia_in_body(home_poses[body], home_poses[link], inertials[link]) for link in parts])
        if total[0] == 0.0 and not np.any(total[1]):
            massless += [] if body in carriers else [body]
        else:
            inertias[body] = _body_inertia(selected, parts, total)
        if body in inertias or body in carriers:
            carriers.add(selected.carrier(body))
    return inertias, [*_massless_note(selected, massless[::-1]), *_unchecked_notes(inertias)]


def _inertia_in_body(body: np.ndarray, link: np.ndarray, inertial: Any) -> InertiaTerms:
    """Return the inertia of a link in the frame of its body; both poses in the base."""
    H = inverse(body) @ link @ pose_of(inertial)
    return float(inertial.mass), H[:3, :3] @ inertial.inertia @ H[:3, :3].T, H[:3, 3]


def _body_inertia(selected: SelectedTree, links: Sequence[str], total: InertiaTerms) -> BodyInertia:
    """Return the inertia of a body; unchecked where no rigid body has it."""
    try:
        return BodyInertia(*total)
    except GeometryError as error:
        mass, moment, centre = total
        smallest = float(np.linalg.eigvalsh(moment)[0])
        rounding = ROUNDING * float(np.abs(moment).max() + mass * centre @ centre) + mass * GYRATION**2
        line = place(selected.skeleton.file, selected.skeleton.links[links[0]])
        return UncheckedInertia(*total, error.message.replace(" of the body", ""), smallest >= -rounding, line)


def _massless_note(selected: SelectedTree, bodies: Sequence[str]) -> list[Ignored]:
    """Return a note on bodies without mass that carry none: forces on them have no answer."""
    if not bodies:
        return []
    named = ", ".join(bodies[:8]) + (" ..." if len(bodies) > 8 else "")
    why = "a pose needs none; M(q) and a run refuse joints that move no mass (E538)"
    return [Ignored(f"no mass of {named}", why, tuple(selected.skeleton.links[body] for body in bodies))]


def _unchecked_notes(inertias: Mapping[str, BodyInertia]) -> list[Ignored]:
    notes = []
    for body, inertia in inertias.items():
        if isinstance(inertia, UncheckedInertia):
            effect = "kept as the file says" if inertia.is_passive else "M(q) and a run refuse it (E526)"
            lines = () if inertia.place is None else (inertia.place.line,)
            notes.append(Ignored(f'no rigid body has the inertia of "{body}"', f"{inertia.defect}; {effect}", lines))
    return notes[::-1]


def pose_of(record: Any) -> np.ndarray:
    """Return the pose (4, 4) of the <origin> of a record; the identity where there is none."""
    return np.eye(4) if record.origin is None else np.asarray(record.origin, dtype=float)


@dataclass(frozen=True, eq=False)
class TreeLinks:
    """Links and moving joints in the order of the tree, with ignored fields and problems."""

    links: tuple[Link, ...] = ()
    joints: tuple[RobotJoint, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    problems: tuple[Problem, ...] = ()


def links_of(selected: SelectedTree, parsed: Any, *, limits: bool, floating: bool) -> TreeLinks:
    """Build the links of a selected tree from the record `parsed` of yourdfpy."""
    records = {joint.name: joint for joint in parsed.joints}
    home_poses = {selected.base: np.eye(4)}
    for joint in selected.joints:
        home_poses[joint.child] = home_poses[joint.parent] @ pose_of(records[joint.name])
    inertials = {link.name: link.inertial for link in parsed.links}
    inertias, ignored = inertias_of(selected, inertials, home_poses, floating)
    links = [Link(selected.base, free() if floating else fixed(), inertias.get(selected.base), parent=None)]
    joints = [RobotJoint(selected.base, "floating", selected.base)] if floating else []
    problems: list[Problem] = []
    for joint in selected.joints:
        record = records[joint.name]
        screws, screw_errors = screws_of(selected, joint, record, home_poses[joint.child])
        bounds, limit_errors, missing_limits = bounds_of(selected, joint, record) if limits else (None, [], ())
        mimic, mimic_errors = mimic_of(selected, joint, record)
        problems += [*screw_errors, *limit_errors, *mimic_errors]
        ignored += missing_limits
        if screws is not None:
            damping = float(getattr(record.dynamics, "damping", None) or 0.0)
            inertia, at = inertias.get(joint.child), home_poses[joint.child]
            links.append(Link(joint.child, screws, inertia, at, damping, bounds, parent=joint.parent, mimic=mimic))
            joints += [robot_joint(joint, record)] if joint.moves else []
    problems += [] if problems else limit_problems(selected, links)
    if selected.serial:
        # A fixed link may hang on any link of its body, so also on the previous one.
        links = [replace(link, parent=BEFORE) for link in links]
    ignored += [*negative_limits(selected, records), *unused_fields(selected, joints, limits)]
    return TreeLinks(tuple(links), tuple(joints), tuple(ignored), tuple(problems))


def plain_name(name: str) -> str:
    """Return a name without dots, colons, apostrophes, arrows, or a leading minus.

    >>> plain_name("link_1.0"), plain_name("base/camera")
    ('link_1_0', 'base/camera')
    """
    return re.sub(r"->|[.:']|^-", "_", name)


def rename_links(root: Any) -> tuple[Ignored, ...]:
    """Replace the names of robot and links in the tree by plain names."""
    changed = {}
    attributes = [(element, "name") for element in (root, *root.findall("link")) if element.get("name")]
    attributes += [(end, "link") for joint in root.findall("joint") for end in (joint.find("parent"), joint.find("child"))]
    for element, key in attributes:
        name = element.get(key)
        element.set(key, plain_name(name))
        if name != plain_name(name) and key == "name":
            changed[name] = element.sourceline
    if not changed:
        return ()
    first = next(iter(changed))
    why = f'they are parts of paths in a graph; "{first}" is "{plain_name(first)}"'
    return (Ignored("dots, colons, apostrophes and arrows in names", why, tuple(changed.values())),)


WORLD = "world"
"""Link that some programs know without a declaration."""


def declare_world(root: Any) -> tuple[Ignored, ...]:
    """Add the link "world" to the tree if joints start there and no element declares it."""
    joints = [joint for joint in root.findall("joint") if joint.find("parent").get("link") == WORLD]
    if not joints or WORLD in (link.get("name") for link in root.findall("link")):
        return ()
    root.insert(0, root.makeelement("link", {"name": WORLD}))
    root[0].sourceline = joints[0].sourceline
    lines = tuple(joint.sourceline for joint in joints)
    return (Ignored('parent "world" without <link name="world"/>', "it is read as a link without mass", lines),)


KINDS = ("collision", "visual", False)


def read_urdf(
    path: str | os.PathLike[str],
    base: str | None = None,
    tip: str | Sequence[str] | None = None,
    *,
    floating: bool = False,
    meshes: str | bool = "collision",
    packages: Packages | None = None,
    limits: bool = True,
) -> Robot:
    """Read a robot from a URDF file: a tree of links with inertias, joints, limits, damping and meshes.

    Parameters
    ----------
    path : of a URDF file (xacro is expanded by its own program).
    base : fixed link, whose frame is that of the world; None: the root.
    tip : last link, or several: the tree has the links between base and tips, with all links fixed to them. None: all links
        on the base.
    floating : True if the base moves freely, by six coordinates before the others (`screws.joints.free`).
    meshes : the shapes of `visuals`: "collision" (simple ones), "visual", or False for none, also in pictures of runs: these show
        the visual shapes whose files are there, or else collision shapes, and read the files when they are drawn.
    packages : name -> folder, for meshes at package://name/...; default: folders around the file.
    limits : False to ignore position limits.

    An inertia is that of a moving link with all links fixed to it. Fixed links stay as frames under their names.

    `ignored` of the robot lists what the file has and the robot lacks, and slips that leave no doubt. A robot may have no mass,
    or no joint: poses need none. `mass_matrix` and `chain_graph` refuse it (E538, E450), and an inertia with which a kinetic
    energy could be negative (E526).

    Raises `ModelError` with every problem and its line: E520 no URDF, or too large; E521 entities; E522 an invalid element or
    number; E523 links and joints that form no tree; E524 base or tip; E525 a joint of unknown kind, or without range of
    motion; E527 meshes; E528 mimic. `ExtraError` (E416) without yourdfpy.
    """
    file, tips = Path(path), () if tip is None else (tip,) if isinstance(tip, str) else tip
    _check_options(file, base, tips, meshes, packages)
    require_package("a robot from URDF", "yourdfpy")
    root, slips = read_document(file)
    checked = check(file, root, str(meshes or ""))
    renamed = (*declare_world(checked.root), *rename_links(checked.root)) if checked.complete else ()
    skeleton = skeleton_of(file, checked.root) if checked.complete else None
    structure_problems = [] if skeleton is None else [*tree_problems(skeleton), *mimic_problems(skeleton)]
    if skeleton is None or structure_problems:
        raise ModelError(file.name, [*checked.problems, *structure_problems])
    selected, tip_problems = select_tree(
        skeleton, None if base is None else plain_name(base), [plain_name(name) for name in tips]
    )
    if selected is None:
        raise ModelError(file.name, [*checked.problems, *tip_problems])
    parsed = _parse(checked.root)
    tree_links = links_of(selected, parsed, limits=limits, floating=floating)
    lines = {link: skeleton.links[link] for link in (selected.base, *(joint.child for joint in selected.joints))}
    skins, mesh_problems = read_visuals(file, parsed, str(meshes), lines, packages or {}) if meshes else ([], [])
    raise_if_any(file.name, [*checked.problems, *tree_links.problems, *mesh_problems] or _immobile_problems(selected, tree_links))
    ignored = (*_omitted_links(selected), *tree_links.ignored, *_ignored_shapes(parsed, meshes), *renamed, *checked.ignored)
    ignored = (*slips, *_immobile_note(tree_links), *ignored)
    mechanism = FixedTree if not tree_links.joints else Chain if selected.serial else Tree
    visuals = visuals_by_link(file, parsed, packages or {}) if meshes else {}
    links = tuple(replace(link, visual=visuals.get(link.name)) for link in tree_links.links)
    return Robot(mechanism(plain_name(parsed.name or file.stem), links), tree_links.joints, tuple(skins), ignored)


def _immobile_problems(selected: SelectedTree, tree_links: TreeLinks) -> list[Problem]:
    """Return E524 for a part of a robot without the joints that move."""
    if tree_links.joints or not any(joint.moves for joint in selected.skeleton.joints):
        return []
    title = f'nothing moves on "{selected.base}"' + (f" up to {selected.joints[-1].child}" if selected.joints else "")
    cures = ("floating=True", f"another base or tip; links: {', '.join(list(selected.skeleton.links)[:12])}")
    return [Problem("E524", title, (), (place(selected.skeleton.file, selected.skeleton.links[selected.base]),), cures)]


def _immobile_note(tree_links: TreeLinks) -> list[Ignored]:
    why = "it has poses alone, and its masses do not count; floating=True makes it a free body"
    return [] if tree_links.joints else [Ignored("no joint moves", why)]


def _parse(root: Any) -> Any:
    """Parse a checked tree with yourdfpy, from the text of that tree, so that it sees only checked elements."""
    from lxml import etree
    from yourdfpy import URDF

    root.set("name", root.get("name", ""))
    text = io.BytesIO(etree.tostring(root))
    return URDF.load(text, build_scene_graph=False, build_collision_scene_graph=False, load_meshes=False).robot


def _omitted_links(selected: SelectedTree) -> list[Ignored]:
    """Return the links outside the selected tree as ignored."""
    if not selected.omitted:
        return []
    named = ", ".join(selected.omitted[:8]) + (" ..." if len(selected.omitted) > 8 else "")
    lines = tuple(selected.skeleton.links[link] for link in selected.omitted)
    return [Ignored(f"{len(selected.omitted)} links: {named}", "not between base and tip, with all their mass", lines)]


def _ignored_shapes(parsed: Any, meshes: str | bool) -> list[Ignored]:
    """Return the shapes of the kinds not drawn as ignored."""
    kinds = {"collision": sum(len(x.collisions) for x in parsed.links), "visual": sum(len(x.visuals) for x in parsed.links)}
    return [
        Ignored(f"{count} shapes <{kind}>", f'not drawn; meshes="{kind}" takes them')
        for kind, count in kinds.items()
        if count and kind != meshes
    ]


def _check_options(file: Path, base: Any, tips: Any, meshes: Any, packages: Any) -> None:
    ends = tips if isinstance(tips, Iterable) else (tips,)
    for what, link in (("base", "" if base is None else base), *(("tip", tip) for tip in ends)):
        if not isinstance(link, str):
            raise refusal("E524", f"{what}={link!r} is not a name of a link", f'{what}="name"', about=file.name)
    if not isinstance(packages or {}, Mapping):
        raise refusal("E527", f"packages={packages!r} names no packages", 'packages={"name": "folder"}', about=file.name)
    if not any(meshes is kind or meshes == kind for kind in KINDS):
        cure = 'meshes="collision", "visual" or False'
        raise refusal("E527", f"meshes={meshes!r} is not a kind of shape", cure, about=file.name)
    for name, folder in (packages or {}).items():
        if not (isinstance(folder, (str, os.PathLike)) and Path(folder).is_dir()):
            why = f"{folder} is not a folder"
            raise refusal("E527", f'the package "{name}" cannot be found', "a folder that exists", about=file.name, why=why)
