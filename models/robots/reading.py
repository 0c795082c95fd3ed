"""Read a URDF file: the description of a robot from its elements, with joints and limits as URDF defines them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from screwbond.models.robots.building import Selection, plain_name, renamed_note, robot_of
from screwbond.models.robots.document import URDF, place, read_document
from screwbond.models.robots.grammar import check
from screwbond.models.robots.records import Ignored, InertiaTerms, JointEntry, LinkEntry, RobotFile, ShapeEntry
from screwbond.models.robots.robot import Packages, Robot

from bondgraph.errors import ModelError, Problem
from bondgraph.output.extras import require_package
from screws.joints import Joint, fixed, free, planar, prismatic, revolute
from screws.poses import pose
from screws.rotations import exp

JOINTS: dict[str, Callable[[Sequence[float]], Joint]] = {
    "revolute": revolute,
    "continuous": revolute,
    "prismatic": lambda axis: prismatic(axis),
    "planar": lambda axis: planar(axis),
    "fixed": lambda axis: fixed(),
    "floating": lambda axis: free(),
}

LIMITED = ("revolute", "prismatic")
SEVERAL_FREEDOMS = ("planar", "floating")

WORLD = "world"
"""Link that some programs assume without a declaration."""


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
    path : path of a URDF file (expand xacro with its own program).
    base : fixed link, whose frame is the world frame; None: the root.
    tip : last link, or several: the tree has the links between base and tips, with all links fixed to them except beyond a tip.
        None: all links below the base.
    floating : True if the base moves freely, with six coordinates before all other coordinates (`screws.joints.free`).
    meshes : the shapes of `visuals`: "collision" (simple shapes), "visual", or False for none. Pictures of runs show the visual
        shapes whose files exist, or else collision shapes, and read these files when they are drawn. With False, pictures show no
        shapes.
    packages : folder of each package by name, for meshes at package://name/...; default: folders around the file.
    limits : False to ignore position limits.

    The inertia of a moving link includes the inertias of all links fixed to it. Fixed links remain as frames with their names.

    `robot.ignored` lists the parts of the file that were omitted, and harmless errors. A robot may have no mass or no joint:
    poses need neither. `mass_matrix` and `chain_graph` refuse a coordinate that moves no mass (E538) and an inertia that could
    make the kinetic energy negative (E526); `chain_graph` also refuses a robot without joints (E450).

    Raises `ModelError` with every problem and its line: E520 for a file that is missing, not URDF or too large; E521 for a
    document type; E522 for an invalid element or number; E523 for links and joints that do not form a tree; E524 for an invalid
    base or tip; E525 for a joint of unknown kind, or without range of motion; E527 for a mesh that cannot be loaded, or
    invalid `meshes` or `packages`; E528 for an invalid mimic joint. Raises `ExtraError` E416 without lxml.
    """
    file = Path(path)
    selection = Selection(file, base, tip, floating, meshes, packages, limits)
    require_package("a robot from URDF", "lxml")
    root, harmless = read_document(file, URDF)
    checked = check(file, root, shape_kind=str(meshes or ""))
    if not checked.complete:
        raise ModelError(file.name, checked.problems)
    renamed = (*declare_world(checked.root), *rename_links(checked.root))
    links, joints = _links(file, checked.root), tuple(_joint(file, joint) for joint in checked.root.findall("joint"))
    ignored, name = (*renamed, *checked.ignored), checked.root.get("name", "")
    return robot_of(
        RobotFile(file, name, links, joints, problems=checked.problems, ignored=ignored, harmless=harmless), selection
    )


def rename_links(root: Any) -> tuple[Ignored, ...]:
    named = {element.get("name"): element.sourceline for element in (root, *root.findall("link")) if element.get("name")}
    attributes = [(element, "name") for element in (root, *root.findall("link")) if element.get("name")]
    attributes += [(end, "link") for joint in root.findall("joint") for end in (joint.find("parent"), joint.find("child"))]
    for element, key in attributes:
        element.set(key, plain_name(element.get(key)))
    return renamed_note(named)


def declare_world(root: Any) -> tuple[Ignored, ...]:
    joints = [joint for joint in root.findall("joint") if joint.find("parent").get("link") == WORLD]
    if not joints or WORLD in (link.get("name") for link in root.findall("link")):
        return ()
    root.insert(0, root.makeelement("link", {"name": WORLD}))
    root[0].sourceline = joints[0].sourceline
    lines = tuple(joint.sourceline for joint in joints)
    return (Ignored('parent "world" without <link name="world"/>', "it is read as a link without mass", lines),)


def numbers(element: Any, key: str, default: str = "0") -> np.ndarray:
    return np.array([float(word) for word in (default if element is None else element.get(key, default)).split()])


def fixed_axis_rotation(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """Return the rotation (3, 3) by these angles, rad, about the fixed axes x, y and z, in this order."""
    return np.asarray(exp([0.0, 0.0, yaw]) @ exp([0.0, pitch, 0.0]) @ exp([roll, 0.0, 0.0]), dtype=float)


def _origin(element: Any) -> np.ndarray:
    origin = element.find("origin")
    return pose(fixed_axis_rotation(*numbers(origin, "rpy", "0 0 0")), numbers(origin, "xyz", "0 0 0"))


def _links(file: Path, root: Any) -> tuple[LinkEntry, ...]:
    colours = {each.get("name"): each.find("color") for each in root.findall("material") if each.find("color") is not None}
    return tuple(
        LinkEntry(
            link.get("name"),
            place(file, link.sourceline),
            _inertia(link.find("inertial")),
            *(tuple(_shape(shape, colours) for shape in link.findall(kind)) for kind in ("visual", "collision")),
        )
        for link in root.findall("link")
    )


def _inertia(inertial: Any) -> InertiaTerms | None:
    if inertial is None:
        return None
    H, moments = _origin(inertial), inertial.find("inertia")
    J = np.array([[float(moments.get("i" + min(a + b, b + a), "0")) for a in "xyz"] for b in "xyz"])
    return float(inertial.find("mass").get("value")), H[:3, :3] @ J @ H[:3, :3].T, H[:3, 3]


def _shape(shape: Any, colours: Mapping[str, Any]) -> ShapeEntry:
    (geometry,) = shape.find("geometry")
    sizes: dict[str, Callable[[], Iterable[float]]] = {
        "box": lambda: numbers(geometry, "size"),
        "cylinder": lambda: [float(geometry.get("radius")), float(geometry.get("length"))],
        "sphere": lambda: [float(geometry.get("radius"))],
        "mesh": lambda: numbers(geometry, "scale", "1 1 1"),
    }
    material = shape.find("material")
    colour = None if material is None else material.find("color")
    colour = colours.get(material.get("name")) if colour is None and material is not None else colour
    shade = None if colour is None else hex_colour(numbers(colour, "rgba"))
    return ShapeEntry(geometry.tag, tuple(sizes[geometry.tag]()), _origin(shape), shade, geometry.get("filename", ""))


def hex_colour(rgba: Sequence[float] | np.ndarray) -> str:
    return "#" + "".join(f"{round(255.0 * value):02x}" for value in rgba[:3])


def _joint(file: Path, joint: Any) -> JointEntry:
    name, kind, at = joint.get("name"), joint.get("type"), place(file, joint.sourceline)
    axis, dynamics, limit, mimic = (joint.find(tag) for tag in ("axis", "dynamics", "limit", "mimic"))
    direction = numbers(axis, "xyz", "1 0 0")
    problems: tuple[Problem, ...] = ()
    if kind not in JOINTS:
        title = f'joint "{name}" has the type "{kind}", which URDF does not define'
        problems = (Problem("E525", title, (), (at,), (f"one of: {', '.join(JOINTS)}",)),)
    elif kind != "fixed" and not np.linalg.norm(direction) > 0.0:
        title = f'the axis of joint "{name}" has no direction'
        problems = (Problem("E522", title, (), (at,), ('<axis xyz="0 0 1"/>: three numbers, not all zero',)),)
    bounds, limit_problems, notes = _bounds(joint, at)
    motor: dict[str, Any] = {
        key: None if limit is None or key not in limit.attrib else float(limit.get(key)) for key in ("effort", "velocity")
    }
    motor_notes = tuple(
        Ignored(f"negative {key} limits", "read as none", (at.line,)) for key, value in motor.items() if (value or 0.0) < 0.0
    )
    limits: dict[str, Any] = {key: None if value is None or value < 0.0 else value for key, value in motor.items()}
    rates: dict[str, Any] = {key: float(numbers(dynamics, key)[0]) for key in ("damping", "friction")}
    if kind in SEVERAL_FREEDOMS:
        note = Ignored(f'damping, friction and limits of joint "{name}"', f"{kind} joints have none", (at.line,))
        motor_notes += (note,) if any((*limits.values(), *rates.values())) else ()
        limits, rates = {}, {}
    driven: dict[str, Any] = (
        {} if mimic is None else {"leader": mimic.get("joint"), "multiplier": float(mimic.get("multiplier", "1"))}
    )
    return JointEntry(
        name,
        kind,
        joint.find("parent").get("link"),
        joint.find("child").get("link"),
        at,
        _origin(joint),
        None if problems else JOINTS[kind](direction.tolist()),
        bounds,
        **rates,
        **limits,
        **driven,
        offset=0.0 if mimic is None else float(mimic.get("offset", "0")),
        problems=problems,
        limit_problems=limit_problems,
        limit_notes=notes,
        notes=motor_notes,
    )


def _bounds(joint: Any, at: Any) -> tuple[tuple[float, float] | None, tuple[Problem, ...], tuple[Ignored, ...]]:
    name, kind, limit = joint.get("name"), joint.get("type"), joint.find("limit")
    lower, upper = (float(numbers(limit, key)[0]) for key in ("lower", "upper"))
    if kind not in LIMITED:
        note = Ignored(f'position limits of joint "{name}"', f"{kind} joints have none", (at.line,))
        return None, (), (note,) if kind != "fixed" and (lower or upper) else ()
    if limit is None or not {"lower", "upper"} & set(limit.attrib):
        note = Ignored(f'limits of joint "{name}"', "the file gives no limits, so the joint is unlimited", (at.line,))
        return None, (), (note,)
    if lower == upper == 0.0:
        note = Ignored(
            f'limits of joint "{name}"',
            "both are 0, as some exporters write for a joint without limits; the joint is treated as unlimited",
            (at.line,),
        )
        return None, (), (note,)
    if lower < upper:
        return (lower, upper), (), ()
    title = f'joint "{name}" cannot move: its limits are {lower:g} and {upper:g}'
    cures = ("limits=False, to ignore all limits", 'lower below upper in the file, type="continuous" or type="fixed"')
    return None, (Problem("E525", title, (), (at,), cures),), ()
