"""Settings of a whole MJCF file: compiler, classes of defaults, assets and included files; orientations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from screwbond.models.robots.document import MJCF, read_document
from screwbond.models.robots.grammar import FILE, place_of
from screwbond.models.robots.records import Ignored

from bondgraph.errors import ModelError, Problem, raise_if_any
from screws.names import similar_names
from screws.poses import pose
from screws.rotations import exp, rotation
from screws.vectors import cross

MAIN = "main"

ORIENTATIONS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")

SHORTCUTS = {"motor": "general", "position": "general", "velocity": "general"}

LAW = ("gainprm", "biasprm", "dyntype", "gaintype", "biastype")

SHORTCUT = "shortcut"
"""Attribute that holds the tag of the element that set the gains of an actuator."""


@dataclass(frozen=True)
class CompilerSettings:
    """Attributes of the elements <compiler> of a file; later elements replace those of earlier ones."""

    attributes: Mapping[str, str]

    @property
    def angle(self) -> float:
        return 1.0 if self.attributes.get("angle") == "radian" else float(np.pi / 180.0)

    def number(self, key: str) -> float:
        return float(self.attributes.get(key, "0"))

    def is_true(self, key: str, default: str = "false") -> bool:
        return self.attributes.get(key, default) == "true"

    @cached_property
    def groups(self) -> tuple[float, float]:
        """First and last group of shapes that give mass to a body."""
        low, high = values(self.attributes, "inertiagrouprange", "0 5")
        return float(low), float(high)

    def file(self, name: str) -> str:
        folder = self.attributes.get("meshdir", self.attributes.get("assetdir", ""))
        name = name.rpartition("/")[2] if self.is_true("strippath") else name
        return str(Path(folder) / name)

    def rotation(self, attributes: Mapping[str, str]) -> np.ndarray:
        if "axisangle" in attributes:
            *axis, angle = values(attributes, "axisangle")
            return np.asarray(exp(self.angle * angle * np.array(axis) / np.linalg.norm(axis)), dtype=float)
        if "xyaxes" in attributes:
            x, y = values(attributes, "xyaxes").reshape(2, 3)
            x = x / np.linalg.norm(x)
            y = y - (x @ y) * x
            y = y / np.linalg.norm(y)
            return np.column_stack([x, y, np.cross(x, y)])
        if "zaxis" in attributes:
            return from_z(values(attributes, "zaxis"))
        if "euler" in attributes:
            R = np.eye(3)
            for letter, angle in zip(self.attributes.get("eulerseq", "xyz"), values(attributes, "euler"), strict=True):
                turn = np.asarray(exp(self.angle * angle * np.eye(3)["xyz".index(letter.lower())]), dtype=float)
                R = R @ turn if letter.islower() else turn @ R
            return R
        quaternion = values(attributes, "quat", "1 0 0 0")
        return np.asarray(rotation(quaternion / np.linalg.norm(quaternion)), dtype=float)

    def pose(self, attributes: Mapping[str, str]) -> np.ndarray:
        return pose(self.rotation(attributes), values(attributes, "pos", "0 0 0"))


def values(attributes: Mapping[str, str], key: str, default: str = "") -> np.ndarray:
    return np.array([float(word) for word in attributes.get(key, default).split()])


def from_z(direction: np.ndarray) -> np.ndarray:
    d = direction / np.linalg.norm(direction)
    axis = np.asarray(cross([0.0, 0.0, 1.0], d), dtype=float)
    sine = float(np.linalg.norm(axis))
    axis = axis / sine if sine > 1e-10 else np.array([1.0, 0.0, 0.0])
    return np.asarray(exp(axis * np.arctan2(sine, d[2])), dtype=float)


@dataclass(frozen=True)
class Defaults:
    classes: Mapping[str, Mapping[str, Mapping[str, str]]]

    def attributes(self, element: Any, childclass: str) -> dict[str, str]:
        of_class = self.classes[element.get("class") or childclass].get(SHORTCUTS.get(element.tag, element.tag), {})
        written = dict(element.attrib)
        if any(key in written for key in ORIENTATIONS):
            of_class = {key: value for key, value in of_class.items() if key not in ORIENTATIONS}
        return _with_defaults(element.tag, of_class, written)


def _with_defaults(tag: str, default: Mapping[str, str], written: Mapping[str, str]) -> dict[str, str]:
    """Return the attributes of an element, with the law of a motor or servo as attributes of <general>. Gains that a servo does
    not state come from its defaults, unless a motor or servo of another kind set those defaults."""
    if tag not in SHORTCUTS:
        return {**default, **written}
    if default.get(SHORTCUT, tag) != tag:
        default = {key: value for key, value in default.items() if key not in LAW}
    gain, bias = [*values(default, "gainprm", "1")], [*values(default, "biasprm", "0"), 0.0, 0.0]
    k, damping = (
        float(written.get(key, other)) for key, other in (("kp" if tag == "position" else "kv", gain[0]), ("kv", -bias[2]))
    )
    k, terms = {"motor": (1.0, (0.0, 0.0)), "position": (k, (-k, -damping)), "velocity": (k, (0.0, -k))}[tag]
    law = {"gainprm": repr(k), "biasprm": "0 {!r} {!r}".format(*terms), "biastype": "none" if tag == "motor" else "affine"}
    return {**default, **written, **law, "dyntype": "none", "gaintype": "fixed", SHORTCUT: tag}


def defaults_of(file: Path, root: Any) -> Defaults:
    classes: dict[str, dict[str, dict[str, str]]] = {MAIN: {}}

    def read(element: Any, name: str, above: Mapping[str, Mapping[str, str]]) -> None:
        settings = classes.setdefault(name, {})
        for tag, attributes in above.items():
            settings[tag] = {**attributes, **settings.get(tag, {})}
        for part in element:
            if part.tag != "default":
                tag = SHORTCUTS.get(part.tag, part.tag)
                settings[tag] = _with_defaults(part.tag, settings.get(tag, {}), part.attrib)
        for part in element.findall("default"):
            read(part, part.get("class", ""), settings)

    for element in root.findall("default"):
        name = element.get("class", MAIN)
        if name != MAIN:
            classes[name] = classes[MAIN]
        read(element, MAIN, {})
    problems = []
    for element in root.iter():
        for key in ("class", "childclass"):
            name = element.get(key)
            if element.tag != "default" and name is not None and name not in classes:
                title = f'the class "{name}" of <{element.tag}> is not among the defaults'
                cure = f"one of: {', '.join(similar_names(name, classes, most=3) or list(classes)[:12])}"
                problems.append(Problem("E296", title, (), (place_of(file, element),), (cure,)))
    raise_if_any(file.name, problems)
    return Defaults(classes)


def insert_included_files(file: Path, root: Any) -> list[Ignored]:
    """Replace the elements <include> with the contents of their files; return the ignored parts of these documents.

    Raises `ModelError` E297 for a file that is outside the folder of the model or is included twice, and the errors of
    `read_document`.
    """
    folder, seen, ignored = file.resolve().parent, {file.resolve()}, list[Ignored]()
    while (element := next(root.iter("include"), None)) is not None:
        name = element.get("file", "")
        path = (folder / name).resolve()
        why = ""
        if not name or not path.is_relative_to(folder):
            why = f"{path} is not in the folder of the model, {folder}"
        elif path in seen:
            why = "a file can be included only once"
        if why:
            cure = "files in the model's folder or below it, each included only once"
            where = (place_of(file, element),)
            raise ModelError(file.name, [Problem("E297", f'"{name}" cannot be included', (why,), where, (cure,))])
        seen.add(path)
        part, harmless = read_document(path, MJCF)
        ignored += harmless
        for each in part.iter():
            if FILE not in each.attrib:
                each.set(FILE, str(path))
        parent = element.getparent()
        at = parent.index(element)
        parent.remove(element)
        for offset, child in enumerate(list(part)):
            parent.insert(at + offset, child)
    return ignored


def named_assets(root: Any, kind: str, defaults: Defaults) -> dict[str, dict[str, str]]:
    assets = {}
    for element in root.iterfind(f"asset/{kind}"):
        attributes = defaults.attributes(element, MAIN)
        assets[attributes.get("name") or Path(attributes.get("file", "")).stem] = attributes
    return assets


def unique(name: str, taken: Iterable[str]) -> str:
    """Return a name that is not in `taken`, with a number if needed.

    >>> unique("arm", ["arm", "arm_2"])
    'arm_3'
    """
    names, candidate, k = set(taken), name, 1
    while candidate in names:
        k += 1
        candidate = f"{name}_{k}"
    return candidate
