"""Read an MJCF file, the XML of MuJoCo: the description of a robot from its bodies, joints, shapes, equalities and actuators."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from screwbond.models.robots.building import Selection, plain_name, renamed_note, robot_of
from screwbond.models.robots.document import MJCF, read_document
from screwbond.models.robots.grammar import check, place_of
from screwbond.models.robots.mjcf_frames import (
    MAIN,
    CompilerSettings,
    Defaults,
    defaults_of,
    insert_included_files,
    named_assets,
    unique,
    values,
)
from screwbond.models.robots.mjcf_geoms import VISIBLE_GROUPS, Geoms, apply_bounds, body_inertia
from screwbond.models.robots.mjcf_grammar import MJCF_GRAMMAR, REFUSABLE, TRANSMISSION
from screwbond.models.robots.records import (
    FIXED,
    Ignored,
    InertiaTerms,
    JointEntry,
    LinkEntry,
    RobotDrive,
    RobotFile,
    ShapeEntry,
    merged,
)
from screwbond.models.robots.robot import Robot

from bondgraph.errors import Problem, raise_if_any, refusal
from bondgraph.output.extras import require_package
from screws.joints import Joint, fixed, free, prismatic, revolute, spherical
from screws.poses import exp

WORLD = "world"

OF_ONE_FREEDOM = ("hinge", "slide")

ALL_RATES = ("damping", "armature", "stiffness")
"""Attributes that are refused for ball and free joints, whose coordinate rates are not their angular velocity."""


GENERAL = {"dyntype": "none", "gaintype": "fixed", "biastype": "none"}

OMIT_GENERAL = 'omit=("actuator",), to read the robot without its actuators'


def read_mjcf(
    path: str | os.PathLike[str],
    base: str | None = None,
    tip: str | Sequence[str] | None = None,
    *,
    floating: bool = False,
    meshes: str | bool = "collision",
    limits: bool = True,
    omit: Collection[str] = (),
) -> Robot:
    """Read a robot from an MJCF file, the XML of MuJoCo: as `read_urdf` does, with the bodies as links below the link "world".

    Parameters
    ----------
    path : path of an MJCF file; files that it includes must be in its folder or below it.
    base, tip, floating, limits : as in `read_urdf`; a body with a free joint floats anyway.
    meshes : the shapes of `visuals`: "collision" (shapes that collide), "visual" (shapes of groups 0 to 2), or False.
    omit : elements and attributes, such as "tendon", to list in `ignored` instead of refusing them (E295).

    A body with several joints gets massless links between them, named after the joints. Positions are measured as in MuJoCo, from
    `ref`; ball and free joints have the coordinates of `screws.joints.spherical` and `free`, zero at the pose of the file.
    Damping, armature and springs are fields of the links; motors and servos are in `drives`; a linear equality of two joints
    becomes a mimic.

    Raises `ModelError` with every problem and its line: the errors of `read_urdf`; E295 for elements and attributes that are not
    read but would change the robot; E296 for names that the file lacks; E297 for a file that cannot be included; E298 for shapes
    of unknown size or mass.
    """
    file = Path(path)
    selection = Selection(file, base, tip, floating, meshes, None, limits)
    skipped = omitted(file, omit, REFUSABLE)
    require_package("a robot from MJCF", "lxml")
    root, harmless = read_document(file, MJCF)
    harmless = (*harmless, *insert_included_files(file, root))
    checked = check(file, root, MJCF_GRAMMAR, omit=skipped)
    raise_if_any(file.name, checked.problems)
    model = _Model(file, checked.root, skipped)
    worlds = checked.root.findall("worldbody")
    for other in worlds[1:]:
        worlds[0].extend(list(other))
    for world in worlds[:1]:
        model.add_contents(world, WORLD, MAIN)
    model.finish()
    ignored = (*renamed_note(model.lines), *merged(model.notes), *checked.ignored)
    name, links, joints = checked.root.get("model", ""), tuple(model.links), tuple(model.joints.values())
    fields: dict[str, Any] = {"drives": model.drives, "problems": tuple(model.problems), "ignored": ignored, "harmless": harmless}
    return robot_of(RobotFile(file, name, links, joints, **fields), selection)


def omitted(file: Path, omit: Any, refusable: Collection[str]) -> tuple[str, ...]:
    names = (omit,) if isinstance(omit, str) else tuple(omit)
    unknown = [name for name in names if name not in refusable]
    if unknown:
        cure = f"names from this list: {', '.join(sorted(refusable))}"
        raise refusal("E295", f"omit={omit!r} has names that are never refused: {unknown}", cure, about=file.name)
    return names


class _Model:
    def __init__(self, file: Path, root: Any, omit: tuple[str, ...]):
        self.file, self.root, self.omit = file, root, omit
        self.settings = CompilerSettings({key: text for each in root.findall("compiler") for key, text in each.attrib.items()})
        self.defaults: Defaults = defaults_of(file, root)
        meshes, materials = (named_assets(root, kind, self.defaults) for kind in ("mesh", "material"))
        self.geoms = Geoms(file, self.settings, meshes, materials)
        self.links: list[LinkEntry] = []
        self.joints: dict[str, JointEntry] = {}
        self.references: dict[str, float] = {}
        self.lines: dict[str, int] = {}
        self.drives: tuple[RobotDrive, ...] = ()
        self.notes: list[Ignored] = []
        self.problems: list[Problem] = []
        self.taken = {plain_name(each.get("name")) for each in root.iter("body") if each.get("name")} | {WORLD}

    def add_contents(self, body: Any, link: str, childclass: str) -> None:
        shapes: dict[str, list[ShapeEntry]] = {"visual": [], "collision": []}
        masses: list[InertiaTerms] = []
        parts = [*self._parts(body, np.eye(4), childclass)]
        inertial = next(((part, frame) for part, frame, _ in reversed(parts) if part.tag == "inertial"), None)
        source = self.settings.attributes.get("inertiafromgeom", "auto")
        from_shapes = link != WORLD and (source == "true" or (inertial is None and source == "auto"))
        for part, frame, its_class in parts:
            if part.tag == "geom":
                attributes = self.defaults.attributes(part, its_class)
                self._add_shape(part, attributes, frame, shapes)
                terms = self.geoms.inertia(part, attributes) if from_shapes else None
                if terms is not None:
                    mass, moment, centre = terms
                    R = frame[:3, :3]
                    masses.append((mass, R @ moment @ R.T, R @ centre + frame[:3, 3]))
        inertia = None
        if from_shapes:
            inertia = body_inertia(self.settings, masses)
        elif link != WORLD and inertial is not None:
            inertia = apply_bounds(self.settings, self._inertial(*inertial))
        place = place_of(self.file, body)
        self.links.append(LinkEntry(link, place, inertia, *(tuple(each) for each in shapes.values())))
        for part, frame, its_class in parts:
            if part.tag == "body":
                self._add_body(part, link, frame @ self.settings.pose(part.attrib), its_class)

    def _parts(self, element: Any, frame: np.ndarray, childclass: str) -> Iterator[tuple[Any, np.ndarray, str]]:
        """Yield the parts of a body, also those in its frames, each with the pose of its frame and its class of defaults."""
        childclass = element.get("childclass", childclass)
        for part in element:
            if part.tag == "frame":
                yield from self._parts(part, frame @ self.settings.pose(part.attrib), childclass)
            else:
                yield part, frame, childclass

    def _add_shape(self, element: Any, attributes: dict[str, str], frame: np.ndarray, shapes: Any) -> None:
        shape = self.geoms.shape(element, attributes)
        if shape is None:
            kind = attributes.get("type", "sphere")
            self.notes.append(Ignored(f"shapes of the type {kind}", "not drawn", (element.sourceline,)))
            return
        shape = replace(shape, origin=frame @ shape.origin)
        if float(attributes.get("group", "0")) <= VISIBLE_GROUPS:
            shapes["visual"].append(shape)
        if float(attributes.get("contype", "1")) or float(attributes.get("conaffinity", "1")):
            shapes["collision"].append(shape)

    def _inertial(self, element: Any, frame: np.ndarray) -> InertiaTerms:
        H = frame @ self.settings.pose(element.attrib)
        if "fullinertia" in element.attrib:
            xx, yy, zz, xy, xz, yz = values(element.attrib, "fullinertia")
            J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        else:
            J = np.diag(values(element.attrib, "diaginertia", "0 0 0"))
        return float(element.get("mass")), H[:3, :3] @ J @ H[:3, :3].T, H[:3, 3]

    def _add_body(self, body: Any, parent: str, at: np.ndarray, childclass: str) -> None:
        name = body.get("name") or unique("body", self.taken)
        link, childclass = plain_name(name), body.get("childclass", childclass)
        self.taken.add(link)
        self.lines[name] = body.sourceline
        elements = [part for part in self._parts(body, np.eye(4), childclass) if part[0].tag in ("joint", "freejoint")]
        if not elements:
            weld = unique(f"{link} mount", self.joints)
            self.joints[weld] = JointEntry(weld, FIXED, parent, link, place_of(self.file, body), at, fixed())
        for k, (element, frame, its_class) in enumerate(elements):
            label = element.get("name") or unique(link if len(elements) == 1 else f"{link}_joint_{k + 1}", self.joints)
            child = link if k == len(elements) - 1 else unique(plain_name(label), self.taken)
            entry = self._joint(element, frame, its_class, label, parent, child, at)
            if label in self.joints:
                title = f'two joints are called "{label}"'
                self.problems.append(Problem("E523", title, (), (entry.place,), ("another name for one of the joints",)))
            self.joints[label] = entry
            if child != link:
                self.taken.add(child)
                self.links.append(LinkEntry(child, entry.place))
            parent, at = child, np.eye(4)
        self.add_contents(body, link, childclass)

    def _joint(
        self, element: Any, frame: np.ndarray, childclass: str, name: str, parent: str, child: str, at: np.ndarray
    ) -> JointEntry:
        is_free = element.tag == "freejoint"
        attributes = {"type": "free"} if is_free else self.defaults.attributes(element, childclass)
        kind, place = attributes.get("type", "hinge"), place_of(self.file, element)
        axis, point = values(attributes, "axis", "0 0 1"), values(attributes, "pos", "0 0 0")
        if kind in OF_ONE_FREEDOM and not np.linalg.norm(axis) > 0.0:
            problem = Problem("E522", f'the axis of joint "{name}" has no direction', (), (place,), ('axis="0 0 1"',))
            return JointEntry(name, kind, parent, child, place, at, problems=(problem,))
        axis, point = frame[:3, :3] @ axis, frame[:3, :3] @ point + frame[:3, 3]
        makers = {"hinge": lambda: revolute(axis, point), "slide": lambda: prismatic(axis), "ball": lambda: spherical(point)}
        screws: Joint = makers.get(kind, free)()
        unit = self.settings.angle if kind == "hinge" else 1.0
        rates: dict[str, Any] = {key: float(attributes.get(key, "0")) for key in ALL_RATES}
        reference, rest = (float(attributes.get(key, "0")) * unit for key in ("ref", "springref"))
        if kind not in OF_ONE_FREEDOM:
            self._refuse_rates(name, kind, rates, place)
            rates = dict.fromkeys(rates, 0.0)
        elif reference:
            at = at @ np.asarray(exp(-reference * screws.screws[:, 0]), dtype=float)
            self.references[name] = reference
        limits, limit_problems = self._range(name, kind, attributes, place)
        force = self._actuator_range(attributes, "actuatorfrc")
        return JointEntry(
            name,
            kind,
            parent,
            child,
            place,
            at,
            screws,
            limits,
            **rates,
            rest=rest if rates["stiffness"] else 0.0,
            friction=float(attributes.get("frictionloss", "0")),
            effort=None if force is None else max(map(abs, force)),
            limit_problems=limit_problems,
        )

    def _refuse_rates(self, name: str, kind: str, rates: dict[str, float], place: Any) -> None:
        why = f"the {kind} joint has coordinates whose rates are not its angular velocity"
        for key in (key for key, value in rates.items() if value):
            if key in self.omit:
                self.notes.append(Ignored(f'{key} of joint "{name}"', f"omitted as requested: {why}", (place.line,)))
            else:
                cure = f'omit=("{key}",), to read the robot without it'
                self.problems.append(Problem("E295", f'{key} of joint "{name}" is not read', (why,), (place,), (cure,)))

    def _range(self, name: str, kind: str, attributes: dict[str, str], place: Any) -> Any:
        bounds, limited = values(attributes, "range"), attributes.get("limited", "auto")
        has_range = len(bounds) == 2 and bool(bounds[0] or bounds[1])
        if limited == "false" or kind == "free" or (limited == "auto" and not (has_range and self._limits_automatically)):
            return None, ()
        if kind == "ball":
            title, cure = f'the range of the ball joint "{name}" is not supported', "limits=False, to ignore all limits"
            return None, (Problem("E295", title, ("the range is a cone",), (place,), (cure,)),)
        if not (has_range and bounds[0] < bounds[1]):
            title = f'joint "{name}" cannot move: its range is {attributes.get("range")}'
            cures = ("limits=False, to ignore all limits", 'range="lower upper", in the unit of <compiler angle>')
            return None, (Problem("E525", title, (), (place,), cures),)
        lower, upper = bounds * (self.settings.angle if kind == "hinge" else 1.0)
        return (float(lower), float(upper)), ()

    @property
    def _limits_automatically(self) -> bool:
        return self.settings.is_true("autolimits", "true")

    def finish(self) -> None:
        total, masses = self.settings.number("settotalmass"), [link.inertia[0] for link in self.links if link.inertia]
        if total > 0.0 and np.sum(masses):
            factor = total / float(np.sum(masses))
            self.links = [
                link
                if link.inertia is None
                else replace(link, inertia=(factor * link.inertia[0], factor * link.inertia[1], link.inertia[2]))
                for link in self.links
            ]
        for tag in ("actuator", "equality"):
            for element in self.root.findall(tag) if tag in self.omit else ():
                self.notes.append(Ignored(f"<{tag}>", "omitted as requested", (element.sourceline,)))
                self.root.remove(element)
        for element in self.root.iterfind("actuator/*"):
            drive = self._drive(element)
            self.drives += () if drive is None else (drive,)
        for name in {drive.joint for drive in self.drives}:
            efforts: list[Any] = [drive.effort for drive in self.drives if drive.joint == name]
            together = np.inf if None in efforts else float(np.sum(efforts))
            bound = self.joints[name].effort
            least: Any = min(together, np.inf if bound is None else bound)
            self.joints[name] = replace(self.joints[name], effort=None if np.isinf(least) else float(least))
        for element in self.root.iterfind("equality/joint"):
            if element.get("active", "true") == "true":
                self._add_mimic(element)
            else:
                self.notes.append(Ignored("<joint> of <equality> that is not active", "it has no effect", (element.sourceline,)))

    def _add_mimic(self, element: Any) -> None:
        names, place = [element.get("joint1"), element.get("joint2")], place_of(self.file, element)
        unknown = [name for name in names if name is not None and name not in self.joints]
        if unknown:
            self._unknown(f"<joint> of <equality> names {', '.join(unknown)}", place)
            return
        coefficients, terms = np.array([0.0, 1.0, 0.0, 0.0, 0.0]), values(element.attrib, "polycoef")
        coefficients[: len(terms)] = terms
        linear = names[1] is not None and not np.any(coefficients[2:]) and coefficients[1]
        if not linear or self.joints[names[0]].leader:
            title = f'the equality of joint "{names[0]}" is not read'
            why = (
                "an earlier equality determines this joint"
                if linear
                else "only equalities that are linear in a second joint are read"
            )
            self.problems.append(Problem("E295", title, (why,), (place,), ('polycoef="offset factor 0 0 0"',)))
            return
        follower, leader = names[0], names[1]
        offset = coefficients[0] + self.references.get(follower, 0.0) - coefficients[1] * self.references.get(leader, 0.0)
        self.joints[follower] = replace(
            self.joints[follower], leader=leader, multiplier=float(coefficients[1]), offset=float(offset)
        )
        note = "rigid here, elastic in MuJoCo (solref, solimp)"
        self.notes.append(Ignored("equalities of joints", note, (element.sourceline,)))

    def _drive(self, element: Any) -> RobotDrive | None:
        attributes, place = self.defaults.attributes(element, MAIN), place_of(self.file, element)
        kind, name = element.tag, element.get("name") or unique(element.tag, [drive.name for drive in self.drives])
        joint = attributes.get("joint", attributes.get("jointinparent", ""))
        if not joint and any(key in self.omit for key in TRANSMISSION):
            self.notes.append(Ignored("actuators without a joint", "omitted as requested", (element.sourceline,)))
            return None
        if joint not in self.joints:
            self._unknown(f'actuator "{name}" drives the joint "{joint}"', place)
            return None
        gain = float(values(attributes, "gainprm", "1")[0])
        terms = [*map(float, values(attributes, "biasprm", "0")), 0.0, 0.0]
        kinds = [attributes.get(key, default) for key, default in GENERAL.items()]
        bias = (terms[0], terms[1], terms[2]) if kinds[2] == "affine" else (0.0, 0.0, 0.0)
        if kind == "general":
            kind = {(0.0, 0.0, 0.0): "motor", (0.0, -gain, bias[2]): "position", (0.0, 0.0, -gain): "velocity"}.get(bias, "")
        if not kind or kinds[:2] != ["none", "fixed"] or kinds[2] not in ("none", "affine"):
            why = "it is neither a motor nor a position or velocity servo"
            self.problems.append(Problem("E295", f'actuator "{name}" is not read', (why,), (place,), (OMIT_GENERAL,)))
            return None
        if self.joints[joint].kind not in OF_ONE_FREEDOM:
            why = f"its joint is of the kind {self.joints[joint].kind}"
            self.problems.append(Problem("E295", f'actuator "{name}" is not read', (why,), (place,), (OMIT_GENERAL,)))
            return None
        gear = float(values(attributes, "gear", "1")[0])
        for key in ("armature", "damping"):
            more = gear**2 * float(attributes.get(key, "0"))
            self.joints[joint] = replace(self.joints[joint], **{key: getattr(self.joints[joint], key) + more})
        ranges = {key: self._actuator_range(attributes, key) for key in ("ctrl", "force")}
        return RobotDrive(
            name, kind, joint, gear, gain, 0.0 - bias[2] if kind == "position" else 0.0, ranges["ctrl"], ranges["force"]
        )

    def _actuator_range(self, attributes: dict[str, str], key: str) -> tuple[float, float] | None:
        bounds, limited = values(attributes, f"{key}range"), attributes.get(f"{key}limited", "auto")
        automatic = limited == "auto" and self._limits_automatically and np.any(bounds)
        is_limited = len(bounds) == 2 and (limited == "true" or automatic)
        return (float(bounds[0]), float(bounds[1])) if is_limited else None

    def _unknown(self, title: str, place: Any) -> None:
        cure = f"one of: {', '.join(list(self.joints)[:12])}"
        self.problems.append(Problem("E296", f"{title}, which the file lacks", (), (place,), (cure,)))
