"""Description of an FMU: what `modelDescription.xml` says of its variables and of co-simulation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from bondgraph.errors import ModelError, refusal

_KINDS = {
    2: {"Real": "Real", "Integer": "Integer", "Enumeration": "Integer", "Boolean": "Boolean"},
    3: {
        **{
            name: name
            for name in ("Float64", "Float32", "Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64")
        },
        "Boolean": "Boolean",
        "Enumeration": "Int64",
    },
}
"""XML element of a variable -> the type that its functions are named after, by version."""
CAUSALITIES = ("input", "output", "parameter", "local", "independent", "calculatedParameter", "structuralParameter")


@dataclass(frozen=True)
class Variable:
    """Scalar variable of an FMU: reference, causality, type, start value (NaN without one) and unit."""

    name: str
    reference: int
    causality: str
    kind: str
    start: float
    unit: str
    is_scalar: bool


@dataclass(frozen=True)
class Description:
    """Version of FMI (2 or 3), name, token, library, whether a process may have one instance only, and variables by name."""

    version: int
    name: str
    token: str
    identifier: str
    only_one: bool
    variables: Mapping[str, Variable]


def refused(path: str | Path, why: str, *details: str, cure: str = "an FMU of FMI 2.0 or 3.0 with co-simulation") -> ModelError:
    """Return E690: this file cannot be taken as an FMU."""
    return refusal("E690", f'"{Path(path).name}" cannot be taken: {why}', cure, about=str(path), why=details)


def description_of(path: Path, text: bytes) -> Description:
    """Read a description; E690 for text that is none, and for an FMU without co-simulation."""
    if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
        raise refused(path, "its modelDescription.xml defines entities")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise refused(path, "its modelDescription.xml cannot be read", str(error)) from None
    version = {"2": 2, "3": 3}.get(root.get("fmiVersion", "").partition(".")[0])
    if version is None:
        raise refused(path, f"it has FMI {root.get('fmiVersion', 'of no version')}")
    ways = root.find("CoSimulation")
    if ways is None:
        raise refused(path, "it has no co-simulation", "it may be made for model exchange alone")
    token = root.get("guid" if version == 2 else "instantiationToken", "")
    listed = root.find("ModelVariables")
    variables = [] if listed is None else [each for element in listed if (each := _variable(version, element)) is not None]
    once = ways.get("canBeInstantiatedOnlyOncePerProcess") == "true"
    identifier = ways.get("modelIdentifier", "")
    if not identifier.isidentifier():
        raise refused(path, f'its modelIdentifier "{identifier}" is no identifier')
    return Description(version, root.get("modelName", ""), token, identifier, once, {each.name: each for each in variables})


def _variable(version: int, element: ElementTree.Element) -> Variable | None:
    """Return a variable; None for one of text or bytes."""
    typed = element if version == 3 else next(iter(element), element)
    kind = _KINDS[version].get(typed.tag)
    reference = element.get("valueReference", "")
    if kind is None or not reference.isdigit():
        return None
    causality = element.get("causality", "local")
    is_scalar = element.find("Dimension") is None
    return Variable(
        element.get("name", ""),
        int(reference),
        causality,
        kind,
        _number(typed.get("start", "")),
        typed.get("unit", ""),
        is_scalar,
    )


def _number(text: str) -> float:
    if text in ("true", "false"):
        return float(text == "true")
    try:
        return float(text)
    except ValueError:
        return math.nan
