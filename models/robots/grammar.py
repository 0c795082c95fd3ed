"""Validation of robot files against a grammar, a table of elements and attributes; the grammar of URDF."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from screwbond.models.robots.document import place
from screwbond.models.robots.records import Ignored

from bondgraph.errors import Place, Problem
from screws.errors import plural
from screws.names import similar_names
from screws.numeric_arguments import excerpt

Predicate = Callable[[str], bool]

SMALL, LARGE = 1e-12, 1e12
"""Smallest and largest length, m; `LARGE` also bounds masses and moments, whose products then stay finite."""

LIGHTEST = 1e-100
"""Smallest accepted mass (kg) other than zero."""


def numbers_of(text: str, *counts: int) -> bool:
    return _accepts_numbers(len(text.split()))(text) and len(text.split()) in counts


def _accepts_numbers(count: int, least: float = -math.inf, most: float = math.inf) -> Predicate:
    def fits(text: str) -> bool:
        words = text.split()
        try:
            values = [float(word) for word in words]
        except ValueError:
            return False
        return len(values) == count and "_" not in text and all(math.isfinite(x) and least <= x <= most for x in values)

    return fits


@dataclass(frozen=True)
class AttributeRule:
    accepts: Predicate
    description: str
    is_required: bool = False

    @property
    def required(self) -> AttributeRule:
        return AttributeRule(self.accepts, self.description, True)


NAME = AttributeRule(lambda text: bool(text.strip()) and text.isprintable(), "a name that can be printed")
TEXT = AttributeRule(lambda text: True, "a text")
NUMBER = AttributeRule(_accepts_numbers(1), "a finite number")
FACTOR = AttributeRule(_accepts_numbers(1, -LARGE, LARGE), f"a number from {-LARGE:g} to {LARGE:g}")
LENGTH = AttributeRule(_accepts_numbers(1, SMALL, LARGE), f"a length from {SMALL:g} to {LARGE:g} m")
NOT_NEGATIVE = AttributeRule(_accepts_numbers(1, 0.0), "a finite, non-negative number")
MASS = AttributeRule(
    lambda text: _accepts_numbers(1, 0.0, LARGE)(text) and not 0.0 < float(text) < LIGHTEST,
    f"zero, or a number from {LIGHTEST:g} to {LARGE:g}",
)
THREE = AttributeRule(_accepts_numbers(3, -LARGE, LARGE), f"three numbers from {-LARGE:g} to {LARGE:g}")
FOUR = AttributeRule(_accepts_numbers(4, 0.0, 1.0), "four numbers from 0 to 1")
LENGTHS = AttributeRule(_accepts_numbers(3, SMALL, LARGE), f"three lengths from {SMALL:g} to {LARGE:g} m")
SCALE = AttributeRule(
    lambda text: _accepts_numbers(3, -LARGE, LARGE)(text) and all(abs(float(word)) >= SMALL for word in text.split()),
    f"three numbers with magnitudes from {SMALL:g} to {LARGE:g}",
)


@dataclass(frozen=True)
class Refusal:
    """Reason for refusing an element or attribute, its neutral values, which are accepted, and what to do instead."""

    why: str
    neutral: tuple[str, ...] = ("0", "false", "none")
    cure: str = ""
    may_be_omitted: bool = True

    def is_neutral(self, text: str) -> bool:
        zero = bool(text) and "0" in self.neutral and _accepts_numbers(len(text.split()), 0.0, 0.0)(text)
        return zero or text in self.neutral


@dataclass(frozen=True)
class ElementRule:
    attributes: Mapping[str, AttributeRule] = field(default_factory=dict)
    elements: Mapping[str, ElementRule] = field(default_factory=dict)
    least: int = 0
    most: float = 1
    choice: bool = False
    """True if the element must have exactly one child element."""
    first_counts: bool = False
    """True if repetitions are ignored; otherwise only copies of the first occurrence are ignored."""
    text: AttributeRule | None = None
    """Rule for the element's text, or None if the text is ignored."""
    ignored: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, Refusal] = field(default_factory=dict)
    """Elements and attributes that are refused, because the robot would differ without them."""


ORIGIN = ElementRule({"xyz": THREE, "rpy": THREE})
SHAPES = {
    "box": ElementRule({"size": LENGTHS.required}),
    "cylinder": ElementRule({"radius": LENGTH.required, "length": LENGTH.required}),
    "sphere": ElementRule({"radius": LENGTH.required}),
    "mesh": ElementRule({"filename": NAME.required, "scale": SCALE}),
}
MATERIAL = {"color": ElementRule({"rgba": FOUR})}
SHAPE_PARTS = {"origin": ORIGIN, "geometry": ElementRule({}, SHAPES, least=1, choice=True)}
INERTIA = {f"i{entry}": FACTOR.required if entry[0] == entry[1] else FACTOR for entry in ("xx", "xy", "xz", "yy", "yz", "zz")}
INERTIAL = {"origin": ORIGIN, "mass": ElementRule({"value": MASS.required}, least=1), "inertia": ElementRule(INERTIA, least=1)}
LINK = {
    "inertial": ElementRule({}, INERTIAL),
    "visual": ElementRule(
        {"name": TEXT}, {**SHAPE_PARTS, "material": ElementRule({"name": TEXT}, MATERIAL, first_counts=True)}, most=math.inf
    ),
    "collision": ElementRule({"name": TEXT}, SHAPE_PARTS, most=math.inf),
}
JOINT = {
    "parent": ElementRule({"link": NAME.required}, least=1),
    "child": ElementRule({"link": NAME.required}, least=1),
    "origin": ORIGIN,
    "axis": ElementRule({"xyz": THREE}),
    "limit": ElementRule({"lower": NUMBER, "upper": NUMBER, "effort": NUMBER, "velocity": NUMBER}),
    "dynamics": ElementRule({"damping": NOT_NEGATIVE, "friction": NOT_NEGATIVE}),
    "mimic": ElementRule({"joint": NAME.required, "multiplier": FACTOR, "offset": FACTOR}),
}
ROBOT = ElementRule(
    {"name": TEXT},
    {
        "link": ElementRule({"name": NAME.required}, LINK, most=math.inf),
        "joint": ElementRule({"name": NAME.required, "type": NAME.required}, JOINT, most=math.inf),
        "material": ElementRule({"name": TEXT.required}, MATERIAL, most=math.inf),
    },
)

SHAPE_KINDS = ("visual", "collision")

SIZES = {"box": ("size",), "cylinder": ("radius", "length"), "sphere": ("radius",)}

REASONS = {
    "transmission": "motors and gears are parts of the graph around the robot",
    "gazebo": "settings of another simulator",
    "safety_controller": "limits of a controller",
    "calibration": "reference positions of sensors",
    "hardwareInterface": "settings of a controller",
    "texture": "pictures show plain colours",
    "capsule": "a shape that is not part of URDF; it is not drawn",
    "sensor": "sensors are parts of the graph around the robot",
    "contact_coefficients": "friction belongs to contacts, in the graph around the robot",
    "verbose": "a setting of another program",
    "version": "all versions are read alike",
}

UNKNOWN = "none of the parts of URDF that describe how a robot moves or looks"


@dataclass(frozen=True)
class Grammar:
    tag: str
    rule: ElementRule
    reasons: Mapping[str, str]
    unknown: str
    """Reason for ignoring elements and attributes that the rules do not list, or "" to refuse them."""
    anchors: tuple[str, ...] = ("link", "joint")
    """Elements that messages name without the elements around them."""


URDF_GRAMMAR = Grammar("robot", ROBOT, REASONS, UNKNOWN)


@dataclass(frozen=True, eq=False)
class CheckedTree:
    root: Any
    problems: tuple[Problem, ...]
    ignored: tuple[Ignored, ...]
    complete: bool
    """True if no invalid link or joint was removed."""


def check(
    file: Path, root: Any, grammar: Grammar = URDF_GRAMMAR, *, shape_kind: str = "", omit: Collection[str] = ()
) -> CheckedTree:
    """Check an XML tree against a grammar; remove invalid elements from a copy, so that later checks can continue.

    `shape_kind` : the kind of shape whose errors are problems, "visual" or "collision"; other invalid shapes are ignored.
    `omit` : elements and attributes to list instead of refusing them.
    """
    clean = deepcopy(root)
    checker = _Checker(file, grammar, shape_kind, omit)
    checker.check(clean, grammar.rule, "robot" if grammar is URDF_GRAMMAR else f"<{grammar.tag}>")
    checker.drop_repeated(clean)
    return CheckedTree(clean, tuple(checker.problems), checker.ignored_items(), checker.complete)


FILE = "screwbond-file"
"""Attribute that holds the path of the included file from which an element comes."""


class _Checker:
    def __init__(self, file: Path, grammar: Grammar, shape_kind: str, omit: Collection[str]):
        self.file = file
        self.grammar = grammar
        self.shape_kind = shape_kind
        self.omit = omit
        self.problems: list[Problem] = []
        self.ignored: dict[str, tuple[str, list[int]]] = {}
        self.complete = True

    def check(self, element: Any, rule: ElementRule, label: str) -> bool:
        right = self._check_attributes(element, rule, label)
        missing: set[str] = set()
        unread = False
        for part in list(element):
            part_rule = rule.elements.get(part.tag)
            name = f' "{part.get("name")}"' if part.get("name") else ""
            at_top = element.tag == self.grammar.tag
            above = "" if at_top or part.tag in self.grammar.anchors else f" of {label}"
            if part_rule is None:
                unread = True
                what = f"<{part.tag}>" + ("" if at_top else f" of <{element.tag}>")
                self._leave_out(part, part.tag, (part.text or "").strip(), rule, what, f"<{part.tag}>{name}{above}")
                element.remove(part)
            elif part.tag == "color" and not FOUR.accepts(part.get("rgba", "")):
                self._ignore(f"<color> that is not {FOUR.description}", part, "the default colour is used")
                element.remove(part)
            elif part.tag in SHAPE_KINDS:
                if not self._check_shape(part, part_rule, f"<{part.tag}>{name}{above}"):
                    element.remove(part)
            elif not self.check(part, part_rule, f"<{part.tag}>{name}{above}"):
                missing.add(part.tag)
                self.complete &= not (at_top and part.tag in ("link", "joint"))
                element.remove(part)
        needed = {tag for tag, part_rule in rule.elements.items() if part_rule.least}
        if missing & needed or (rule.choice and not len(element) and (missing or unread)):
            return False
        return self._check_counts(element, rule, label, needed - missing) and right

    def ignored_items(self) -> tuple[Ignored, ...]:
        return tuple(Ignored(what, why, tuple(lines)) for what, (why, lines) in self.ignored.items())

    def drop_repeated(self, root: Any) -> None:
        first: dict[tuple[str, str], Any] = {}
        for element in list(root):
            earlier = first.setdefault((element.tag, element.get("name")), element)
            if earlier is not element and element.tag in ("link", "joint") and _are_copies(earlier, element):
                self._ignore(f"repeated <{element.tag}>", element, "each is a copy of an earlier one")
                root.remove(element)

    def _check_shape(self, shape: Any, rule: ElementRule, label: str) -> bool:
        if _is_point(shape):
            self._ignore(f"<{shape.tag}> of size zero", shape, "a point cannot be seen")
            return False
        before = len(self.problems)
        if self.check(shape, rule, label):
            return True
        errors = self.problems[before:]
        del self.problems[before:]
        if shape.tag == self.shape_kind:
            cure = "meshes=False, for a robot without shapes"
            self.problems += [replace(error, cures=(*error.cures, cure)) for error in errors]
        elif errors:
            self._ignore(f"<{shape.tag}> with errors", shape, f"not drawn; the first error: {errors[0].title}")
        return False

    def _check_attributes(self, element: Any, rule: ElementRule, label: str) -> bool:
        before = len(self.problems)
        for key, text in dict(element.attrib).items():
            if key == FILE:
                continue
            if key not in rule.attributes:
                self._leave_out(element, key, text, rule, f"{key} of <{element.tag}>", f"{key} of {label}")
                del element.attrib[key]
            else:
                self._check_text(element, rule.attributes[key], f'{key}="', text, f'" of {label}')
        if rule.text is not None:
            around = f"</{element.tag}> of {label.partition(' of ')[2]}"
            self._check_text(element, rule.text, f"<{element.tag}>", (element.text or "").strip(), around)
        for key, attribute in rule.attributes.items():
            if attribute.is_required and key not in element.attrib:
                self._problem(element, f"{label} has no {key}", f'{key}="...", {attribute.description}')
        return len(self.problems) == before

    def _check_text(self, element: Any, rule: AttributeRule, before: str, text: str, after: str) -> None:
        if rule.accepts(text):
            return
        cure = f"{before}...{after.partition(' of ')[0]}, {rule.description}"
        if "${" in text or "$(" in text:
            cure = f"xacro {self.file.name} > robot.urdf, and read that file: xacro files are not expanded here"
        self._problem(element, f"{before}{excerpt(text)}{after} is not {rule.description}", cure)

    def _leave_out(self, element: Any, name: str, value: str, rule: ElementRule, what: str, label: str) -> None:
        refusal = rule.refused.get(name)
        if refusal is None and (name in rule.ignored or name in self.grammar.reasons or self.grammar.unknown):
            self._ignore(what, element, rule.ignored.get(name, ""))
        elif refusal is None:
            names = [*rule.attributes, *rule.elements, *rule.ignored, *rule.refused]
            close = ", ".join(similar_names(name, names, most=3) or names[:8])
            self._problem(element, f"{label} is unknown to this reader", f"one of: {close}")
        elif refusal.is_neutral(value):
            pass
        elif name in self.omit:
            self._ignore(what, element, f"omitted as requested: {refusal.why}")
        else:
            cure = f'omit=("{name}",), to read the robot without it'
            cures = (*((refusal.cure,) if refusal.cure else ()), *((cure,) if refusal.may_be_omitted else ()))
            self.problems.append(Problem("E295", f"{label} is not read", (refusal.why,), (self._place(element),), cures))

    def _check_counts(self, element: Any, rule: ElementRule, label: str, needed: set[str]) -> bool:
        before = len(self.problems)
        for tag, part_rule in rule.elements.items():
            for spare in element.findall(tag)[1:] if part_rule.most == 1 else ():
                if part_rule.first_counts or _are_copies(element.find(tag), spare):
                    self._ignore(f"further <{tag}> of <{element.tag}>", spare, "the first element is used")
                    element.remove(spare)
            count = len(element.findall(tag))
            if count > part_rule.most:
                self._problem(element, f"{label} has {count} elements <{tag}>", f"one <{tag}>")
            elif count == 0 and tag in needed:
                self._problem(element, f"{label} has no <{tag}>", f"<{tag} .../> in this element")
        if rule.choice and len(element) != 1:
            listed = ", ".join(f"<{tag}>" for tag in rule.elements)
            self._problem(element, f"{label} has {plural(len(element), 'element')}", f"one of {listed}")
        return len(self.problems) == before

    def _ignore(self, what: str, element: Any, why: str = "") -> None:
        why = why or self.grammar.reasons.get(what.split(" of ")[0].strip("<>"), self.grammar.unknown)
        if element.get(FILE):
            what = f'{what} in "{Path(element.get(FILE)).name}"'
        self.ignored.setdefault(what, (why, []))[1].append(element.sourceline or 0)

    def _problem(self, element: Any, title: str, cure: str) -> None:
        self.problems.append(Problem("E522", title, (), (self._place(element),), (cure,)))

    def _place(self, element: Any) -> Place:
        return place_of(self.file, element)


def place_of(file: Path, element: Any) -> Place:
    return place(Path(element.get(FILE, str(file))), element.sourceline)


def _are_copies(first: Any, second: Any) -> bool:
    pairs = zip(first.iter(), second.iter(), strict=False)
    return sum(1 for _ in first.iter()) == sum(1 for _ in second.iter()) and all(
        a.tag == b.tag and a.attrib == b.attrib and len(a) == len(b) for a, b in pairs
    )


def _is_point(shape: Any) -> bool:
    solids = shape.findall("geometry/*")
    texts = [solid.get(key, "") for solid in solids for key in SIZES.get(solid.tag, ())]
    return bool(texts) and all(text.strip() and _accepts_numbers(len(text.split()), 0.0, 0.0)(text) for text in texts)
