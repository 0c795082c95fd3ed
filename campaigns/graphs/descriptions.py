"""Graphs as data: descriptions that can be drawn at random, transformed, and built into a Graph.

A transformation is a pure function that returns another description of the same physics. It must not change the energy of any
storage or the power into any part; `owner` tracks which part of the original each part represents.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from bondgraph import GY, J0, J1, TF, C, Graph, I, R, Se, Sf
from campaigns.graphs.drawn import asinh, cosh_less_one, sinh


@dataclass(frozen=True)
class Joint:
    """Junction of type 0 or 1 in the nested graph `group`, if any."""

    name: str
    type: int
    group: str = ""


@dataclass(frozen=True)
class Link:
    """Link between two junctions, "bond", "tf" or "gy" with its ratio; the half arrows point from `a` to `b` or in
    reverse."""

    name: str
    a: str
    b: str
    kind: str
    ratio: float
    reversed: bool = False


@dataclass(frozen=True)
class Part:
    """One-port at a junction; "c" and "i" are nonlinear: output = size sinh(size x). It may be behind a unit transformer, or have
    its half arrow reversed."""

    name: str
    kind: str
    value: float
    start: float
    at: str
    owner: str
    unit: bool = False
    reversed: bool = False
    size: float = 1.0


@dataclass(frozen=True)
class Description:
    joints: tuple[Joint, ...]
    links: tuple[Link, ...]
    parts: tuple[Part, ...]
    order: tuple[int, ...] = field(default=())


def drawn(rng: np.random.Generator) -> Description:
    """Draw a tree of up to five junctions, sometimes with a ring, with independent and dependent storages, resistors and
    sources."""
    joints = tuple(Joint(f"j{k}", int(rng.integers(2))) for k in range(rng.integers(1, 6)))
    links: list[Link] = []
    pairs = [(int(rng.integers(k)), k) for k in range(1, len(joints))]
    if len(joints) > 2 and rng.random() < 0.15:
        pairs.append((0, len(joints) - 1))
    for a, b in pairs:
        alike = joints[a].type == joints[b].type
        kind = str(rng.choice(["gy", "gy", "tf", "bond"] if alike else ["bond", "bond", "tf"]))
        links.append(Link(f"l{len(links)}", joints[a].name, joints[b].name, kind, float(rng.uniform(0.5, 2.0))))
    parts: list[Part] = []
    for joint in joints:
        lead = "I" if joint.type else "C"
        kinds = [lead] if rng.random() < 0.75 else [str(rng.choice(["R", "Sf" if joint.type else "Se"]))]
        kinds += [
            str(rng.choice([lead, "C" if joint.type else "I", "R", "R", "Se" if joint.type else "Sf"]))
            for _ in range(rng.integers(1, 3))
        ]
        for kind in kinds:
            curved = kind in "CI" and rng.random() < 0.15
            start = float(rng.normal()) if kind in "CI" and rng.random() < 0.35 else 0.0
            name = f"p{len(parts)}"
            parts.append(Part(name, kind.lower() if curved else kind, float(rng.uniform(0.5, 2.0)), start, joint.name, name))
    return Description(joints, tuple(links), tuple(parts), tuple(range(len(links) + len(parts))))


def built(d: Description) -> Graph:
    graph = Graph("described")
    groups = {group: Graph(group) for group in dict.fromkeys(j.group for j in d.joints) if group}
    junctions = {j.name: (J1 if j.type else J0)(j.name) for j in d.joints}
    group = {j.name: j.group for j in d.joints}
    for inner in groups.values():
        graph.add(inner)
    for j in d.joints:
        if j.group:
            groups[j.group].expose(j.name, junctions[j.name])

    def end(joint: str):
        return groups[group[joint]].port(joint) if group[joint] else junctions[joint]

    def link(number: int) -> None:
        own = d.links[number]
        ends = [end(own.a), end(own.b)]
        if own.kind != "bond":
            middle = (TF if own.kind == "tf" else GY)(own.name, own.ratio)
            bonds = [(ends[0], middle.port("1")), (middle.port("2"), ends[1])]
        else:
            bonds = [(ends[0], ends[1])]
        for tail, head in bonds:
            graph.connect(head, tail) if own.reversed else graph.connect(tail, head)

    def part(number: int) -> None:
        own = d.parts[number]
        here, element, junction = groups.get(group[own.at], graph), element_of(own), junctions[own.at]
        tail, head = junction, element
        if own.unit:
            unit = TF(f"{own.name} unit", 1.0)
            here.connect(junction, unit.port("1"))
            tail = unit.port("2")
        here.connect(head, tail) if own.reversed else here.connect(tail, head)

    for number in d.order or range(len(d.links) + len(d.parts)):
        link(number) if number < len(d.links) else part(number - len(d.links))
    return graph


def element_of(part: Part):
    if part.kind in "ci":
        law = {
            "output": lambda x, k: k * sinh(k * x),
            "energy": lambda x, k: cosh_less_one(k * x),
            "inverse": lambda y, k: asinh(y / k) / k,
        }
        return {"c": C, "i": I}[part.kind](part.name, initial=part.start, parameters={"k": part.size}, **law)
    if part.kind == "C":
        return C(part.name, capacitance=part.value, initial=part.start)
    if part.kind == "I":
        return I(part.name, part.value, initial=part.start)
    return {"R": R, "Se": Se, "Sf": Sf}[part.kind](part.name, part.value)


# --- transformations -------------------------------------------------------------------------------------------------


def reordered(d: Description, rng: np.random.Generator) -> Description:
    return replace(d, order=tuple(int(k) for k in rng.permutation(len(d.links) + len(d.parts))))


def renamed(d: Description, rng: np.random.Generator) -> Description:
    words = iter(rng.permutation(1000))
    new = {name: f"n{next(words)}" for name in [j.name for j in d.joints] + [x.name for x in (*d.links, *d.parts)]}
    return replace(
        d,
        joints=tuple(replace(j, name=new[j.name]) for j in d.joints),
        links=tuple(replace(x, name=new[x.name], a=new[x.a], b=new[x.b]) for x in d.links),
        parts=tuple(replace(p, name=new[p.name], at=new[p.at]) for p in d.parts),
    )


def turned(d: Description, rng: np.random.Generator) -> Description:
    """Reverse half arrows, and the signs of numbers given in their directions.

    A bond's own effort (at a 1-junction) or flow (at a 0-junction) changes sign. A half arrow between a 0- and a
    1-junction is kept, because it defines the forward direction.
    """
    type_of = {j.name: j.type for j in d.joints}

    def part(p: Part) -> Part:
        if p.unit or rng.random() < 0.5:
            return p
        minus = p.kind.upper() in ("C", "SE") if type_of[p.at] else p.kind.upper() in ("I", "SF")
        sign = -1.0 if minus else 1.0
        value = sign * p.value if p.kind in ("Se", "Sf") else p.value
        return replace(p, reversed=not p.reversed, start=sign * p.start, value=value)

    def link(x: Link) -> Link:
        alike = type_of[x.a] == type_of[x.b]
        return replace(x, reversed=not x.reversed) if alike and x.kind != "gy" and rng.random() < 0.5 else x

    return replace(d, parts=tuple(map(part, d.parts)), links=tuple(map(link, d.links)))


def split(d: Description, rng: np.random.Generator) -> Description:
    """Replace every R by two, in series at a 1-junction, in parallel at a 0-junction."""
    type_of = {j.name: j.type for j in d.joints}
    parts: list[Part] = []
    for p in d.parts:
        if p.kind != "R":
            parts.append(p)
            continue
        part = float(rng.uniform(0.2, 0.8))
        for share, name in ((part, p.name), (1.0 - part, f"{p.name} too")):
            parts.append(replace(p, name=name, value=p.value * share if type_of[p.at] else p.value / share))
    return replace(d, parts=tuple(parts), order=())


def with_units(d: Description, rng: np.random.Generator) -> Description:
    return replace(d, parts=tuple(replace(p, unit=bool(rng.random() < 0.4)) for p in d.parts))


_DUAL = {"C": "I", "I": "C", "c": "i", "i": "c", "Se": "Sf", "Sf": "Se", "R": "R"}


def dual(d: Description, rng: np.random.Generator) -> Description:
    """Exchange effort and flow: 0 and 1, C and I, Se and Sf; invert resistances and ratios."""
    return replace(
        d,
        joints=tuple(replace(j, type=1 - j.type) for j in d.joints),
        links=tuple(replace(x, ratio=1.0 / x.ratio) for x in d.links),
        parts=tuple(replace(p, kind=_DUAL[p.kind], value=1.0 / p.value if p.kind == "R" else p.value) for p in d.parts),
    )


def nested(d: Description, rng: np.random.Generator) -> Description:
    names = ["", "left", "right"]
    return replace(d, joints=tuple(replace(j, group=names[rng.integers(3)]) for j in d.joints))


ORDERS = 12.0
"""Maximum number of decades by which units change, up or down."""


def rescaled(d: Description, rng: np.random.Generator) -> Description:
    """Change the unit of every state: efforts are multiplied and flows divided by a factor that differs on the two sides
    of each two-port."""
    region = {j.name: j.name for j in d.joints}
    for x in d.links:
        if x.kind == "bond":
            old, new = region[x.b], region[x.a]
            region = {name: new if at == old else at for name, at in region.items()}
    unit = {name: float(10.0 ** rng.uniform(-ORDERS, ORDERS)) for name in region}
    a = {name: unit[at] for name, at in region.items()}

    def part(p: Part) -> Part:
        own = a[p.at]
        value = {"C": own**-2, "I": own**2, "R": own**2, "Se": own, "Sf": 1.0 / own}.get(p.kind, 1.0)
        start = {"C": 1.0 / own, "I": own}.get(p.kind.upper(), 1.0)
        size = {"c": own, "i": 1.0 / own}.get(p.kind, 1.0)
        return replace(p, value=p.value * value, start=p.start * start, size=p.size * size)

    def link(x: Link) -> Link:
        factor = {"tf": a[x.a] / a[x.b], "gy": a[x.a] * a[x.b]}.get(x.kind, 1.0)
        return replace(x, ratio=x.ratio * factor)

    return replace(d, parts=tuple(map(part, d.parts)), links=tuple(map(link, d.links)))


TRANSFORMATIONS = {f.__name__: f for f in (rescaled, reordered, renamed, turned, split, with_units, dual, nested)}
