"""Description of an FMU: variables and co-simulation attributes in `modelDescription.xml`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree
from xml.parsers import expat

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
"""Type in the names of the FMI functions, by version and XML element of a variable."""


@dataclass(frozen=True)
class FmuVariable:
    """Variable of an FMU: reference, causality, type, start value (NaN without one) and unit."""

    name: str
    reference: int
    causality: str
    type_name: str
    start: float
    unit: str
    is_scalar: bool

    @property
    def is_real(self) -> bool:
        return self.type_name in ("Real", "Float64", "Float32")


@dataclass(frozen=True)
class Description:
    """Description of an FMU: version of FMI (2 or 3), token, name of the library, a flag for only one instance per process, and
    variables by name."""

    version: int
    token: str
    identifier: str
    only_one: bool
    variables: Mapping[str, FmuVariable]


def refused(path: str | Path, why: str, *details: str, cure: str = "an FMU of FMI 2.0 or 3.0 with co-simulation") -> ModelError:
    return refusal("E690", f'"{Path(path).name}" cannot be used: {why}', cure, about=str(path), why=details)


def description_of(path: Path, text: bytes) -> Description:
    """Read a description. Raises `ModelError` E690 for malformed XML, another version of FMI, or an FMU without co-simulation."""
    try:
        _refuse_document_type(path, text)
        root = ElementTree.fromstring(text)
    except (expat.ExpatError, ElementTree.ParseError, LookupError, ValueError) as error:
        raise refused(path, "its modelDescription.xml cannot be read", str(error)) from None
    version = {"2": 2, "3": 3}.get(root.get("fmiVersion", "").partition(".")[0])
    if version is None:
        raise refused(path, f"its FMI version is {root.get('fmiVersion', 'missing')}")
    co_simulation = root.find("CoSimulation")
    if co_simulation is None:
        raise refused(path, "it does not support co-simulation", "it may support only model exchange")
    token = root.get("guid" if version == 2 else "instantiationToken", "")
    listed = root.find("ModelVariables")
    variables = [] if listed is None else [each for element in listed if (each := _variable(version, element)) is not None]
    once = co_simulation.get("canBeInstantiatedOnlyOncePerProcess") == "true"
    identifier = co_simulation.get("modelIdentifier", "")
    if not identifier.isidentifier():
        raise refused(path, f'its modelIdentifier "{identifier}" is not an identifier')
    return Description(version, token, identifier, once, {each.name: each for each in variables})


def _refuse_document_type(path: Path, text: bytes) -> None:
    """Refuse a document type declaration in any encoding: it can define entities that grow without bound or read other files."""

    def begins(*_: object) -> None:
        raise refused(path, "its modelDescription.xml contains a document type declaration (<!DOCTYPE>)")

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = begins
    parser.Parse(text, True)


def _variable(version: int, element: ElementTree.Element) -> FmuVariable | None:
    """Return a variable; None for a variable that holds strings, bytes or a clock, or has no valid reference."""
    typed = element if version == 3 else next(iter(element), element)
    kind = _KINDS[version].get(typed.tag)
    reference = element.get("valueReference", "")
    if kind is None or not re.fullmatch("[0-9]{1,10}", reference) or not int(reference) < 1 << 32:
        return None
    causality = element.get("causality", "local")
    is_scalar = element.find("Dimension") is None
    return FmuVariable(
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
