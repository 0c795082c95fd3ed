"""Terminals of a functional mock-up unit: open ports of a graph, and sources that the importer sets and whose response it
reads.

Their members are the effort and flow of a bond. Where terminals meet, efforts are equal and flows sum to zero; in mechanics,
velocities are equal and forces sum to zero.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as Xml

import numpy as np

from bondgraph.compile.pipeline import Compilable
from bondgraph.elements.one_ports import Se, Sf
from bondgraph.export.fmi.description import document
from bondgraph.export.fmi.variables import ModelVariable
from bondgraph.graph.builder import Graph
from bondgraph.model.arguments import shape_of
from bondgraph.model.domains import ROTATION, SCREW, TRANSLATION
from bondgraph.model.element import Element
from bondgraph.model.laws import Junction, Source
from bondgraph.model.model import Model

_MECHANICAL = (TRANSLATION, ROTATION, SCREW)
"""Domains whose efforts, such as forces, sum to zero where terminals meet; in other domains, flows such as currents do."""
_VENDOR = "_screwbond_"
"""Prefix of the terms that the standard lets tools define."""


@dataclass(frozen=True)
class Terminal:
    """Terminal with its name, the name of its domain, and the name, variable and kind of each member."""

    name: str
    domain: str
    members: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class DrivenModel:
    model: Compilable
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()


def drive_ports(model: Compilable) -> DrivenModel:
    """Return a model with a source of zero at each open port of a junction: an Se at a 1-junction, an Sf at a 0-junction. The
    graph itself is unchanged; a compiled model has no ports."""
    if not isinstance(model, Graph) or not model.ports:
        return DrivenModel(model)
    bonds = {end.element: bond for bond in model.freeze().bonds for end in bond.ends}
    inner, inputs, outputs = copy.copy(model), list[str](), list[str]()
    for port in model.ports:
        path, owner = _owner_of(model, port)
        if owner is None or not isinstance(owner.law, Junction):
            continue
        name, size = port, bonds[path].dimension
        while name in inner.parts:
            name += " port"
        element, answer = (Se, "flow") if owner.law.type == 1 else (Sf, "effort")
        inner.connect(element(name, np.zeros(size) if size > 1 else 0.0), inner.ports[port])
        inputs.append(f"{name}.value")
        outputs.append(f"{name}.{answer}")
    return DrivenModel(inner, tuple(inputs), tuple(outputs))


def _owner_of(graph: Graph, port: str) -> tuple[str, Element | None]:
    (owner, name), prefix = graph.ports[port], ""
    while isinstance(owner, Graph) and owner.ports:
        prefix += f"{owner.name}."
        owner, name = owner.ports[name or next(iter(owner.ports))]
    return f"{prefix}{owner.name}", owner if isinstance(owner, Element) else None


def terminals_of(model: Model, variables: Iterable[ModelVariable], computed: Mapping[str, str]) -> list[Terminal]:
    """Return the terminals: sources that give their value unchanged, with this value an input and their flow or effort an
    output, under any of its names; `computed` maps other names of a value to the name under which it is computed."""
    named = {computed.get(each.name, each.name): each for each in variables if each.causality == "output"}
    inputs = {each.name for each in variables if each.causality == "input"}
    result = list[Terminal]()
    for bond in model.bonds:
        for end, sign in ((bond.tail, "inflow"), (bond.head, "outflow")):
            source, value = model.elements[end.element], f"{end.element}.value"
            law = source.law
            if not isinstance(law, Source) or value not in inputs or not _gives_number(source, law):
                continue
            conjugate = "flow" if law.gives == "effort" else "effort"
            name = f"{end.element}.{conjugate}"
            answer = named.get(computed.get(name, name))
            if answer is None:
                continue
            through = "effort" if bond.domain in _MECHANICAL else "flow"
            summed = sign if bond.dimension == 1 else f"{_VENDOR}{sign}"  # the standard considers only the signs of scalars
            names = {law.gives: value, conjugate: answer.name}
            members = tuple((member, names[member], summed if member == through else "signal") for member in ("effort", "flow"))
            result.append(Terminal(end.element, bond.domain.name, members))
    return result


def _gives_number(source: Element, law: Source) -> bool:
    """Return True if a source returns its parameter `value` unchanged; its formula is called with objects without arithmetic."""
    if law.value is None or source.signals or source.parameters.keys() != {"value"}:
        return False
    shape = shape_of(source.parameters["value"])
    marks = np.array([object() for _ in range(math.prod(shape))]).reshape(shape)
    try:
        return bool(np.all(np.asarray(law.value(marks)) == marks))
    except (TypeError, AttributeError):
        return False


def terminals_and_icons(terminals: Sequence[Terminal], icon: tuple[float, float] | None) -> dict[str, bytes]:
    """Return terminalsAndIcons.xml of version 3.0 by name, unless it is empty; `icon` is the width and height of the icon, px."""
    if not terminals and icon is None:
        return {}
    root = Xml.Element("fmiTerminalsAndIcons", fmiVersion="3.0")
    if icon is not None:
        picture = Xml.SubElement(root, "GraphicalRepresentation")
        x, y = (100.0 * side / max(icon) for side in icon)
        corners = {"x1": f"{-x:.6g}", "y1": f"{-y:.6g}", "x2": f"{x:.6g}", "y2": f"{y:.6g}"}
        Xml.SubElement(picture, "CoordinateSystem", corners, suggestedScalingFactorTo_mm="0.1")
        Xml.SubElement(picture, "Icon", corners)
    if terminals:
        group = Xml.SubElement(root, "Terminals")
        for terminal in terminals:
            about = {"name": terminal.name, "matchingRule": "plug", "terminalKind": f"{_VENDOR}{terminal.domain}"}
            element = Xml.SubElement(group, "Terminal", about)
            for member, variable, kind in terminal.members:
                Xml.SubElement(element, "TerminalMemberVariable", variableName=variable, memberName=member, variableKind=kind)
    return {"terminalsAndIcons/terminalsAndIcons.xml": document(root)}
