"""Write a tree as URDF: links with inertias, joints with limits, damping and mimic relations; shapes are not written."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

import numpy as np
from screwbond.models.chains import Link, Tree

from bondgraph.errors import ModelError, Problem, caller_place, refusal
from screws.joints import free
from screws.poses import inverse, pose

ON_AXIS = 1e-12
"""Distance from a frame to its joint's axis, relative to 1 m plus the frame's distance from the base, up to which the frame
counts as on the axis."""

FAR = 1e9
"""Limit of travel, effort and velocity where URDF requires a limit and the tree has none."""


def to_urdf(tree: Tree) -> str:
    """Return a tree as the content of a URDF file, which `read_urdf` reads as a tree with the same motions and dynamics.

    A joint has the name of the link that it moves. In URDF its axis passes through the origin of this link's frame; for a frame
    off the axis, the joint moves a massless link "<name> axis", to which the link is fixed. Limits of travel, effort and
    velocity that URDF requires and the tree lacks are written as 1e9. Surfaces and visuals are omitted.

    Raises `ModelError` E344 with everything that URDF does not support: joints of other kinds, armature, springs, damping of a
    free joint, limits on one side only; or for anything but a tree.
    """
    if not isinstance(tree, Tree):
        raise refusal("E344", f"{tree!r} is not a tree", "a Chain or Tree, such as robot.tree", about="URDF")
    problems = [problem for link in tree.links for problem in _unwritable(tree, link)]
    if problems:
        raise ModelError(tree.name, problems)
    robot = ElementTree.Element("robot", name=tree.name)
    root = f"{tree.name} base"
    ElementTree.SubElement(robot, "link", name=root)
    for k, link in enumerate(tree.links):
        before = tree.links[tree.parents[k]] if tree.parents[k] >= 0 else None
        at = inverse(before.home) @ link.home if before else tree.base @ link.home
        carrier, offset = before.name if before else root, _offset_to_axis(link)
        if np.any(offset):
            ElementTree.SubElement(robot, "link", name=f"{link.name} axis")
            _joint(robot, link, carrier, f"{link.name} axis", at @ pose(np.eye(3), offset))
            mount = ElementTree.SubElement(robot, "joint", name=f"{link.name} frame", type="fixed")
            _ends(mount, f"{link.name} axis", link.name, pose(np.eye(3), -offset))
        else:
            _joint(robot, link, carrier, link.name, at)
        _link(robot, link)
    ElementTree.indent(robot)
    return ElementTree.tostring(robot, encoding="unicode") + "\n"


def _kind(link: Link) -> str | None:
    screws = link.joint.screws
    if screws.shape[1] == 0:
        return "fixed"
    if screws.shape[1] == 6 and np.allclose(screws, free().seen_from(link.home).screws, rtol=0, atol=ON_AXIS):
        return "floating"
    if screws.shape[1] > 1:
        return None
    omega, v = screws[:3, 0], screws[3:, 0]
    if not np.any(omega):
        return "prismatic"
    return None if abs(omega @ v) > ON_AXIS * (1.0 + np.linalg.norm(v)) else "continuous" if link.limits is None else "revolute"


def _unwritable(tree: Tree, link: Link) -> Iterator[Problem]:
    kind = _kind(link)
    lost = [
        name for name in ("armature", "stiffness", *(["damping"] if kind == "floating" else [])) if np.any(getattr(link, name))
    ]
    if lost:
        title = f'URDF cannot represent the {" and ".join(lost)} of "{link.name}"'
        cure = f"Tree(tree.name, [replace(link, {', '.join(f'{name}=0.0' for name in lost)}) for link in tree.links])"
        yield Problem("E344", title, (), (tree.place or caller_place(),), (cure,))
    if kind is None:
        title = f'the joint of "{link.name}" is of a kind that URDF lacks: {link.joint.name}'
        cure = "revolute, prismatic or fixed joints; a joint of several freedoms as a chain of massless links"
        yield Problem("E344", title, (), (tree.place or caller_place(),), (cure,))
    elif link.limits is not None and (kind not in ("revolute", "prismatic") or not np.all(np.isfinite(link.limits))):
        title = f'URDF cannot represent the limits {link.limits!r} of "{link.name}"'
        yield Problem(
            "E344", title, (), (tree.place or caller_place(),), ("two finite limits of a joint of one freedom, or none",)
        )


def _offset_to_axis(link: Link) -> np.ndarray:
    """Return the vector (3,) from the origin of a link to the axis about which it turns, in its frame, or zero on the axis."""
    if _kind(link) not in ("revolute", "continuous"):
        return np.zeros(3)
    omega, v = link.joint.screws[:3, 0], link.joint.screws[3:, 0]
    origin = link.home[:3, 3]
    to_axis = np.cross(omega, v) + omega * (omega @ origin) - origin
    near = np.linalg.norm(to_axis) <= ON_AXIS * (1.0 + np.linalg.norm(origin))
    return np.zeros(3) if near else link.home[:3, :3].T @ to_axis


def _joint(robot: ElementTree.Element, link: Link, carrier: str, moved: str, at: np.ndarray) -> None:
    kind = _kind(link)
    joint = ElementTree.SubElement(robot, "joint", name=link.name, type=str(kind))
    _ends(joint, carrier, moved, at)
    if link.joint.freedoms != 1:
        return
    omega, v = link.joint.screws[:3, 0], link.joint.screws[3:, 0]
    ElementTree.SubElement(joint, "axis", xyz=_numbers(link.home[:3, :3].T @ (omega if np.any(omega) else v)))
    ElementTree.SubElement(joint, "dynamics", damping=_numbers(link.damping))
    if kind != "continuous":
        lower, upper = (-FAR, FAR) if link.limits is None else np.ravel(link.limits)
        limits = {"lower": _numbers(lower), "upper": _numbers(upper)}
        ElementTree.SubElement(joint, "limit", limits, effort=_numbers(FAR), velocity=_numbers(FAR))
    if link.mimic is not None:
        driven = {"multiplier": _numbers(link.mimic.factor), "offset": _numbers(link.mimic.offset)}
        ElementTree.SubElement(joint, "mimic", driven, joint=link.mimic.link)


def _ends(joint: ElementTree.Element, carrier: str, moved: str, at: np.ndarray) -> None:
    ElementTree.SubElement(joint, "parent", link=carrier)
    ElementTree.SubElement(joint, "child", link=moved)
    R = at[:3, :3]
    roll, pitch = np.arctan2(R[2, 1], R[2, 2]), np.arctan2(-R[2, 0], np.hypot(R[2, 1], R[2, 2]))
    sine, cosine = R[:2, 2] * np.sin(roll) - R[:2, 1] * np.cos(roll)  # right for any roll at a pitch of +-90 degrees
    angles = roll, pitch, np.arctan2(sine, -cosine)
    ElementTree.SubElement(joint, "origin", xyz=_numbers(at[:3, 3]), rpy=_numbers(angles))


def _link(robot: ElementTree.Element, link: Link) -> None:
    element = ElementTree.SubElement(robot, "link", name=link.name)
    if link.inertia is None:
        return
    inertial = ElementTree.SubElement(element, "inertial")
    ElementTree.SubElement(inertial, "origin", xyz=_numbers(link.inertia.centre))
    ElementTree.SubElement(inertial, "mass", value=_numbers(link.inertia.mass))
    J = link.inertia.rotational
    moments = {f"i{'xyz'[i]}{'xyz'[j]}": _numbers(J[i, j]) for i in range(3) for j in range(i, 3)}
    ElementTree.SubElement(inertial, "inertia", moments)


def _numbers(values: object) -> str:
    return " ".join(repr(float(value)) for value in np.ravel(np.asarray(values, dtype=float)))
