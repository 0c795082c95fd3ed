"""Read an SDF file: the description of a robot from links, joints and frames of its model; the grammar of SDF.

Source: the specification of SDFormat, http://sdformat.org, versions 1.4 to 1.12.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from screwbond.models.robots.building import Selection, plain_name, renamed_note, robot_of
from screwbond.models.robots.document import SDF, read_document
from screwbond.models.robots.grammar import (
    FACTOR,
    LENGTH,
    LENGTHS,
    MASS,
    NAME,
    NOT_NEGATIVE,
    NUMBER,
    SCALE,
    TEXT,
    THREE,
    AttributeRule,
    ElementRule,
    Grammar,
    Refusal,
    check,
    numbers_of,
    place_of,
)
from screwbond.models.robots.mjcf import WORLD, omitted
from screwbond.models.robots.reading import fixed_axis_rotation, hex_colour
from screwbond.models.robots.records import FIXED, Ignored, InertiaTerms, JointEntry, LinkEntry, RobotFile, ShapeEntry, merged
from screwbond.models.robots.robot import Packages, Robot

from bondgraph.errors import ModelError, Place, Problem, raise_if_any
from bondgraph.output.extras import require_package
from screws.errors import plural
from screws.joints import Joint, fixed, prismatic, revolute, spherical
from screws.poses import inverse, pose
from screws.rotations import rotation

ENDLESS = 1e16
"""Smallest limit of position, effort or velocity that counts as none."""

_UNIVERSAL = ("universal", "revolute2")

MODEL_FRAME = "__model__"


def _text(rule: AttributeRule, **others: Any) -> ElementRule:
    return ElementRule(text=rule, **others)


def _bound(text: str) -> bool:
    try:
        return not math.isnan(float(text))
    except ValueError:
        return False


_LIMIT = AttributeRule(_bound, "a number, inf or -inf")
_POSE = AttributeRule(
    lambda text: not text or numbers_of(text, 6) or (numbers_of(text, 7) and any(map(float, text.split()[3:]))),
    "six numbers: x y z roll pitch yaw; or seven: x y z, and a quaternion x y z w",
)
_COLOUR = AttributeRule(lambda text: numbers_of(text, 3, 4), "three or four numbers")
_BOOLEAN = AttributeRule(lambda text: text in ("0", "1", "true", "false"), "true or false")
_POSES = ElementRule(
    {"relative_to": TEXT, "degrees": _BOOLEAN, "rotation_format": TEXT},
    refused={"frame": Refusal("versions before 1.7 left its meaning open", ("",), 'relative_to="..."', False)},
    text=_POSE,
)
_AXIS = ElementRule(
    {},
    {
        "xyz": ElementRule({"expressed_in": TEXT}, text=THREE, least=1),
        "use_parent_model_frame": _text(_BOOLEAN),
        "limit": ElementRule(
            {},
            {"lower": _text(_LIMIT), "upper": _text(_LIMIT), "effort": _text(_LIMIT), "velocity": _text(_LIMIT)},
            ignored=dict.fromkeys(("stiffness", "dissipation"), 'set by chain_graph(..., limits="stop", stop_stiffness=...)'),
        ),
        "dynamics": ElementRule(
            {},
            {
                "damping": _text(NOT_NEGATIVE),
                "friction": _text(NOT_NEGATIVE),
                "spring_reference": _text(NUMBER),
                "spring_stiffness": _text(NOT_NEGATIVE),
            },
        ),
        "mimic": ElementRule(
            {"joint": NAME.required, "axis": TEXT},
            {"multiplier": _text(FACTOR), "offset": _text(FACTOR), "reference": _text(FACTOR)},
        ),
    },
    ignored={"initial_position": "chain_graph(..., position=...) sets where a run starts"},
)
_JOINT = ElementRule(
    {"name": NAME.required, "type": NAME.required},
    {"parent": _text(NAME, least=1), "child": _text(NAME, least=1), "pose": _POSES, "axis": _AXIS, "axis2": _AXIS},
    most=math.inf,
    ignored={"physics": "settings of another simulator", "sensor": "sensors are parts of the graph around the robot"},
    refused=dict.fromkeys(
        ("screw_thread_pitch", "thread_pitch", "gearbox_ratio", "gearbox_reference_body"),
        Refusal("this kind of joint is not supported"),
    ),
)
_GEOMETRY = ElementRule(
    {},
    {
        "box": ElementRule({}, {"size": _text(LENGTHS, least=1)}),
        "cylinder": ElementRule({}, {"radius": _text(LENGTH, least=1), "length": _text(LENGTH, least=1)}),
        "capsule": ElementRule({}, {"radius": _text(LENGTH, least=1), "length": _text(LENGTH, least=1)}),
        "sphere": ElementRule({}, {"radius": _text(LENGTH, least=1)}),
        "ellipsoid": ElementRule({}, {"radii": _text(LENGTHS, least=1)}),
        "mesh": ElementRule(
            {}, {"uri": _text(NAME, least=1), "scale": _text(SCALE)}, ignored={"submesh": "the whole mesh is drawn"}
        ),
    },
    least=1,
    ignored=dict.fromkeys(("plane", "cone", "heightmap", "polyline", "image", "empty"), "not drawn"),
)
_SHAPE_PARTS = {"pose": _POSES, "geometry": _GEOMETRY}
_MATERIAL = ElementRule(
    {}, {"diffuse": _text(_COLOUR), "ambient": _text(_COLOUR)}, ignored={"script": "pictures show plain colours"}
)
_INERTIA = {f"i{entry}": _text(FACTOR) for entry in ("xx", "xy", "xz", "yy", "yz", "zz")}
_INERTIAL = ElementRule(
    {},
    {"pose": _POSES, "mass": _text(MASS), "inertia": ElementRule({}, _INERTIA)},
    refused={
        "auto": Refusal("masses of shapes are not computed", cure="<mass> and <inertia> as numbers"),
        "density": Refusal("masses of shapes are not computed", cure="<mass> and <inertia> as numbers"),
        "fluid_added_mass": Refusal("a tree cannot represent the added mass of a fluid"),
    },
)
_DECAY = ElementRule({}, {}, refused=dict.fromkeys(("linear", "angular"), Refusal("damping of free links is not supported")))
_LINK = ElementRule(
    {"name": NAME.required},
    {
        "pose": _POSES,
        "inertial": _INERTIAL,
        "visual": ElementRule({"name": TEXT}, {**_SHAPE_PARTS, "material": _MATERIAL}, most=math.inf),
        "collision": ElementRule({"name": TEXT}, _SHAPE_PARTS, most=math.inf),
        "velocity_decay": _DECAY,
    },
    most=math.inf,
    refused={
        "gravity": Refusal("gravity acts on all links alike", ("1", "true")),
        "kinematic": Refusal("kinematic links are not read", ("0", "false")),
        "enable_wind": Refusal("wind is not read", ("0", "false")),
    },
)
_FRAME = ElementRule({"name": NAME.required, "attached_to": TEXT}, {"pose": _POSES}, most=math.inf)
_MODEL_RULE = ElementRule(
    {"name": TEXT, "canonical_link": TEXT, "placement_frame": TEXT},
    {"pose": _POSES, "link": _LINK, "joint": _JOINT, "frame": _FRAME},
    most=math.inf,
    refused={
        "static": Refusal("all joints of a static model are fixed", ("0", "false")),
        "model": Refusal("nested models are not supported", (), "links and joints of one model"),
        "include": Refusal("other files are not read", (), "the model itself, as `gz sdf -p` prints it"),
        "enable_wind": Refusal("wind is not read", ("0", "false")),
    },
)
_REASONS = {
    **dict.fromkeys(("plugin", "gripper", "projector", "battery", "particle_emitter"), "programs of a simulator"),
    **dict.fromkeys(("physics", "self_collide", "allow_auto_disable", "must_be_base_link"), "settings of another simulator"),
    **dict.fromkeys(("sensor", "light", "audio_source", "audio_sink", "scene", "gui"), "not a moving part of a robot"),
    **dict.fromkeys(("surface", "max_contacts", "laser_retro"), "contacts are made in the graph around the robot"),
    **dict.fromkeys(("transparency", "cast_shadows", "visibility_flags", "meta", "lighting"), "pictures do not depend on it"),
    "version": "all versions are read",
}
_WORLD_RULE = ElementRule(
    {"name": TEXT},
    {"model": _MODEL_RULE},
    ignored={"gravity": "set by chain_graph(..., gravity=...)"},
    refused={
        "include": Refusal("other files are not read", (), "the model itself"),
        "joint": Refusal("joints outside a model are not read", ()),
    },
)
_SDF_GRAMMAR = Grammar(
    "sdf",
    ElementRule({"version": TEXT}, {"model": _MODEL_RULE, "world": _WORLD_RULE}),
    _REASONS,
    "none of the parts of SDF that describe how a robot moves or looks",
)
_REFUSABLE = {name for rule in (_JOINT, _INERTIAL, _DECAY, _LINK, _MODEL_RULE, _WORLD_RULE) for name in rule.refused}


def read_sdf(
    path: str | os.PathLike[str],
    base: str | None = None,
    tip: str | Sequence[str] | None = None,
    *,
    floating: bool = False,
    meshes: str | bool = "collision",
    packages: Packages | None = None,
    limits: bool = True,
    omit: Collection[str] = (),
) -> Robot:
    """Read a robot from an SDF file with one model, as `read_urdf` does.

    Parameters
    ----------
    path : path of an SDF file.
    base, tip, floating, meshes, packages, limits : as in `read_urdf`. The root is the link "world", if a joint starts there.
    omit : elements and attributes, such as "static", to list in `ignored` instead of refusing them (E295).

    The poses of the model and of its root link place the tree. A link without <inertial> has a mass of 1 kg and moments of
    inertia of 1 kg m^2, as SDF prescribes. A universal joint becomes two joints, "<name> axis" and "<name> axis2". Springs and
    damping are fields of the links.

    Raises `ModelError` with every problem and its line: the errors of `read_urdf`; E295 for elements and attributes that are not
    read but would change the robot; E299 for frames that the model lacks, or that form a cycle.
    """
    file = Path(path)
    selection = Selection(file, base, tip, floating, meshes, packages, limits)
    skipped = omitted(file, omit, _REFUSABLE)
    require_package("a robot from SDF", "lxml")
    root, harmless = read_document(file, SDF)
    checked = check(file, root, _SDF_GRAMMAR, shape_kind=str(meshes or ""), omit=skipped)
    raise_if_any(file.name, checked.problems)
    models = [*checked.root.findall("model"), *checked.root.findall("world/model")]
    if len(models) != 1:
        where = tuple(place_of(file, model) for model in models[:8]) or (Place(str(file), 1),)
        problem = Problem("E523", f"the file has {plural(len(models), 'model')}", (), where, ("a file with one <model>",))
        raise ModelError(file.name, [problem])
    reader = _Model(file, models[0], checked.root.get("version", "1.7"))
    links, joints = reader.links(), reader.joints()
    ignored = (*renamed_note(reader.lines), *merged(reader.notes), *checked.ignored)
    name = models[0].get("name", "")
    return robot_of(RobotFile(file, name, links, joints, reader.base(), ignored=ignored, harmless=harmless), selection)


@dataclass(frozen=True, eq=False)
class _Frame:
    H: np.ndarray
    relative_to: str
    place: Place


class _Model:
    def __init__(self, file: Path, model: Any, version: str):
        self.file, self.model = file, model
        self.version = tuple(int(word) for word in version.split(".")[:2] if word.isdigit())
        self.pose = _pose(model)
        self.notes: list[Ignored] = []
        self.lines = {link.get("name"): link.sourceline for link in model.findall("link")}
        self.frames: dict[str, _Frame] = {}
        for tag, default in (("link", None), ("frame", "attached_to"), ("joint", "child")):
            for element in model.findall(tag):
                other = element.get("attached_to") if default == "attached_to" else _words(element, "child", "")
                relative_to = _frame_of(element) or other or MODEL_FRAME
                self.frames.setdefault(element.get("name"), _Frame(_pose(element), relative_to, place_of(file, element)))
        self.attached = {MODEL_FRAME: model.get("canonical_link") or next(iter(self.lines), WORLD)}
        self.attached |= {frame.get("name"): frame.get("attached_to") or MODEL_FRAME for frame in model.findall("frame")}
        self.attached |= {joint.get("name"): _words(joint, "child", "") for joint in model.findall("joint")}
        self.parents, self.children = (
            {self._link_of(joint, end) for joint in model.findall("joint")} for end in ("parent", "child")
        )
        place = place_of(file, model)
        if (frame := _frame_of(model)) not in ("", WORLD):
            title, cure = f'the pose of the model is relative to "{frame}"', "a <pose> of the model in the world"
            raise ModelError(file.name, [Problem("E299", title, ("only the model is read",), (place,), (cure,))])
        self.pose = self.pose @ inverse(self.frame(model.get("placement_frame") or MODEL_FRAME, place)).astype(float)

    def frame(self, name: str, place: Place) -> np.ndarray:
        H, path = np.eye(4), [name]
        while name != MODEL_FRAME:
            if name == WORLD:
                return np.asarray(inverse(self.pose) @ H, dtype=float)
            if name not in self.frames or len(path) > len(self.frames) + 1:
                why = f'"{name}" is not a frame' if name not in self.frames else "they form a cycle"
                raise self._no_frame(path, why, place)
            H = self.frames[name].H @ H
            name = self.frames[name].relative_to
            path.append(name)
        return H

    def _no_frame(self, path: Sequence[str], why: str, place: Place) -> ModelError:
        title, cure = f"the frames {' -> '.join(path[:6])} have no pose: {why}", f"one of: {', '.join([*self.frames][:12])}"
        return ModelError(self.file.name, [Problem("E299", title, (), (place,), (cure,))])

    def _link_of(self, joint: Any, end: str) -> str:
        """Return the link at the "parent" or "child" end of a joint; a frame there stands for the link that carries it."""
        path = [joint.findtext(end).strip()]
        while path[-1] in self.attached and path[-1] not in self.lines:
            path.append(self.attached[path[-1]])
            if path[-1] in path[:-1]:
                raise self._no_frame(path, "they form a cycle", place_of(self.file, joint))
        return path[-1]

    def base(self) -> np.ndarray:
        roots = [link for link in self.model.findall("link") if link.get("name") not in self.children]
        if WORLD in self.parents or not roots:
            return np.eye(4)
        return self.pose @ self.frame(roots[0].get("name"), place_of(self.file, roots[0]))

    def links(self) -> tuple[LinkEntry, ...]:
        entries = []
        if WORLD in self.parents and WORLD not in self.lines:
            entries.append(LinkEntry(WORLD, place_of(self.file, self.model)))
        for link in self.model.findall("link"):
            shapes = (tuple(self._shapes(link, kind)) for kind in ("visual", "collision"))
            entries.append(LinkEntry(plain_name(link.get("name")), place_of(self.file, link), self._inertia(link), *shapes))
        for joint in self.model.findall("joint"):
            if joint.get("type") in _UNIVERSAL:
                entries.append(LinkEntry(plain_name(f"{joint.get('name')} axis"), place_of(self.file, joint)))
        return tuple(entries)

    def _inertia(self, link: Any) -> InertiaTerms:
        inertial = link.find("inertial")
        if inertial is None:
            why = "its mass is 1 kg and its moments are 1 kg m^2, as SDF prescribes"
            self.notes.append(Ignored("a <link> without <inertial>", why, (link.sourceline,)))
            return 1.0, np.eye(3), np.zeros(3)
        H, moments = self._pose_in(inertial, link), inertial.find("inertia")
        J = np.zeros((3, 3))
        for i, a in enumerate("xyz"):
            for k, b in enumerate("xyz"):
                J[i, k] = _number(moments, f"i{min(a + b, b + a)}", 1.0 if i == k else 0.0)
        return _number(inertial, "mass", 1.0), H[:3, :3] @ J @ H[:3, :3].T, H[:3, 3]

    def _shapes(self, link: Any, kind: str) -> list[ShapeEntry]:
        shapes = []
        for element in link.findall(kind):
            for solid in element.find("geometry"):
                lengths = {"box": "size", "ellipsoid": "radii", "sphere": "radius"}
                if solid.tag == "mesh":
                    size = _numbers(solid, "scale", "1 1 1")
                elif solid.tag in lengths:
                    size = _numbers(solid, lengths[solid.tag])
                else:
                    size = np.array([_number(solid, "radius", 0.0), _number(solid, "length", 0.0)])
                keys = (f"material/{key}" for key in ("diffuse", "ambient"))
                rgba = next((_numbers(element, key) for key in keys if element.find(key) is not None), None)
                colour = None if rgba is None else hex_colour(np.clip(rgba, 0.0, 1.0))
                at = self._pose_in(element, link)
                shapes.append(ShapeEntry(solid.tag, tuple(float(x) for x in size), at, colour, _words(solid, "uri", "")))
        return shapes

    def _pose_in(self, element: Any, link: Any) -> np.ndarray:
        frame = _frame_of(element)
        if not frame:
            return _pose(element)
        place = place_of(self.file, element)
        return np.asarray(inverse(self.frame(link.get("name"), place)) @ self.frame(frame, place) @ _pose(element), dtype=float)

    def joints(self) -> tuple[JointEntry, ...]:
        return tuple(entry for joint in self.model.findall("joint") for entry in self._joint(joint))

    def _joint(self, joint: Any) -> list[JointEntry]:
        name, kind, place = joint.get("name"), joint.get("type"), place_of(self.file, joint)
        parent, child = (self._link_of(joint, end) for end in ("parent", "child"))
        H_parent, H_child, H_joint = (self.frame(each, place) for each in (parent, child, name))
        origin, in_child = inverse(H_parent) @ H_child, inverse(H_child) @ H_joint
        ends = {"parent": plain_name(parent), "child": plain_name(child), "place": place, "origin": origin}
        if kind == FIXED:
            return [JointEntry(name, kind, screws=fixed(), **ends)]
        if kind == "ball":
            return [JointEntry(name, kind, screws=spherical(in_child[:3, 3]), **ends)]
        if kind in _UNIVERSAL:
            between = f"{name} axis"
            return [
                self._axis(joint, "axis", between, "revolute", in_child, {**ends, "child": plain_name(between)}),
                self._axis(
                    joint,
                    "axis2",
                    f"{name} axis2",
                    "revolute",
                    in_child,
                    {**ends, "parent": plain_name(between), "origin": np.eye(4)},
                ),
            ]
        if kind in ("revolute", "continuous", "prismatic"):
            return [self._axis(joint, "axis", name, kind, in_child, ends)]
        kinds = "revolute, continuous, prismatic, fixed, ball, universal, revolute2"
        title = f'joint "{name}" has the type "{kind}", which is not supported'
        return [JointEntry(name, kind, problems=(Problem("E525", title, (), (place,), (f"one of: {kinds}",)),), **ends)]

    def _axis(self, joint: Any, tag: str, name: str, kind: str, in_child: np.ndarray, ends: Mapping[str, Any]) -> JointEntry:
        place, axis = ends["place"], joint.find(tag)
        direction = in_child[:3, :3] @ self._direction(joint, axis, place)
        problems: tuple[Problem, ...] = ()
        screws: Joint | None = None
        if np.linalg.norm(direction) > 0.0:
            screws = prismatic(direction) if kind == "prismatic" else revolute(direction, in_child[:3, 3])
        else:
            cure = "<xyz>0 0 1</xyz>: three numbers, not all zero"
            problems = (Problem("E522", f'the <{tag}> of joint "{name}" has no direction', (), (place,), (cure,)),)
        limit, dynamics, mimic = (None if axis is None else axis.find(each) for each in ("limit", "dynamics", "mimic"))
        lower, upper = _number(limit, "lower", -ENDLESS), _number(limit, "upper", ENDLESS)
        lower, upper = (-np.inf if lower <= -ENDLESS else lower), (np.inf if upper >= ENDLESS else upper)
        bounded = kind != "continuous" and (lower > -np.inf or upper < np.inf)
        limit_problems: tuple[Problem, ...] = ()
        if bounded and not lower < upper:
            title = f'joint "{name}" cannot move: its limits are {lower:g} and {upper:g}'
            cures = ("limits=False, to ignore all limits", 'lower below upper in the file, or type="fixed"')
            limit_problems, bounded = (Problem("E525", title, (), (place,), cures),), False
        motor: dict[str, Any] = {key: _number(limit, key, -1.0) for key in ("effort", "velocity")}
        limits: dict[str, Any] = {key: value if 0.0 <= value < ENDLESS else None for key, value in motor.items()}
        leader = None
        if mimic is not None:
            universal = next(
                (
                    each
                    for each in self.model.findall("joint")
                    if each.get("name") == mimic.get("joint") and each.get("type") in _UNIVERSAL
                ),
                None,
            )
            leader = mimic.get("joint") + (f" {mimic.get('axis', 'axis')}" if universal is not None else "")
        factor = _number(mimic, "multiplier", 1.0)
        stiffness = _number(dynamics, "spring_stiffness", 0.0)
        return JointEntry(
            name,
            kind,
            screws=screws,
            limits=(lower, upper) if bounded else None,
            damping=_number(dynamics, "damping", 0.0),
            stiffness=stiffness,
            rest=_number(dynamics, "spring_reference", 0.0) if stiffness else 0.0,
            friction=_number(dynamics, "friction", 0.0),
            leader=leader,
            multiplier=factor,
            offset=_number(mimic, "offset", 0.0) - factor * _number(mimic, "reference", 0.0),
            **limits,
            problems=problems,
            limit_problems=limit_problems,
            **ends,
        )

    def _direction(self, joint: Any, axis: Any, place: Place) -> np.ndarray:
        xyz = None if axis is None else axis.find("xyz")
        if xyz is None:
            return np.array([0.0, 0.0, 1.0])
        frame = xyz.get("expressed_in") or None
        if self.version <= (1, 4) or (self.version <= (1, 6) and _words(axis, "use_parent_model_frame", "") in ("1", "true")):
            frame = frame or MODEL_FRAME
        direction = _numbers(axis, "xyz")
        if frame is None:
            return direction
        to_joint = inverse(self.frame(joint.get("name"), place)) @ self.frame(frame, place)
        return np.asarray(to_joint[:3, :3] @ direction, dtype=float)


def _words(element: Any, tag: str, default: str) -> str:
    text = None if element is None else element.findtext(tag)
    return default if text is None else text.strip()


def _numbers(element: Any, tag: str, default: str = "0") -> np.ndarray:
    return np.array([float(word) for word in _words(element, tag, default).split()])


def _number(element: Any, tag: str, default: float) -> float:
    text = _words(element, tag, "")
    return float(text) if text else default


def _frame_of(element: Any) -> str:
    at = element.find("pose")
    return "" if at is None else str(at.get("relative_to", ""))


def _pose(element: Any) -> np.ndarray:
    at = element.find("pose")
    numbers = [] if at is None else [float(word) for word in (at.text or "").split()]
    if not numbers:
        return np.eye(4)
    if len(numbers) == 7:
        x, y, z, w = np.array(numbers[3:]) / np.linalg.norm(numbers[3:])
        return pose(np.asarray(rotation([w, x, y, z]), dtype=float), numbers[:3])
    unit = np.pi / 180.0 if at.get("degrees") in ("1", "true") else 1.0
    return pose(fixed_axis_rotation(*(unit * angle for angle in numbers[3:])), numbers[:3])
