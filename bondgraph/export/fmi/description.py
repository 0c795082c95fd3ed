"""Model description of a functional mock-up unit: its variables and capabilities, as XML of versions 2.0 and 3.0."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as Xml

import numpy as np

from bondgraph.export.fmi.base_units import base_unit
from bondgraph.export.fmi.variables import ModelVariable, VariableKind

CO_SIMULATION, MODEL_EXCHANGE = "co-simulation", "model exchange"
_ELEMENTS = {MODEL_EXCHANGE: "ModelExchange", CO_SIMULATION: "CoSimulation"}
"""XML element of each interface type, in the order of the standard."""
_OF_3 = {MODEL_EXCHANGE: "needsCompletedIntegratorStep", CO_SIMULATION: "hasEventMode"}


@dataclass(frozen=True)
class UnitContent:
    """Contents of a model description other than its variables.

    Parameters
    ----------
    identifier : name of the library.
    token : string that the importer must pass back.
    start, stop, tolerance : start and stop time (s) and relative tolerance of the exported experiment.
    step : communication step of the exported experiment, s.
    derivatives : True if directional derivatives are provided.
    sources : names of source files, for version 2.0.
    """

    name: str
    identifier: str
    token: str
    kinds: tuple[str, ...]
    indicators: int
    start: float
    stop: float
    tolerance: float
    step: float
    derivatives: bool
    sources: tuple[str, ...] = ()


def description(unit: UnitContent, variables: Sequence[ModelVariable], version: int) -> bytes:
    root = _of_version_2(unit, variables) if version == 2 else _of_version_3(unit, variables)
    return document(root)


def document(root: Xml.Element) -> bytes:
    Xml.indent(root)
    return Xml.tostring(root, encoding="UTF-8", xml_declaration=True) + b"\n"


def _of_version_3(unit: UnitContent, variables: Sequence[ModelVariable]) -> Xml.Element:
    root = Xml.Element("fmiModelDescription", fmiVersion="3.0", modelName=unit.name, instantiationToken=unit.token)
    root.attrib |= {"generationTool": "screwbond", "variableNamingConvention": "flat"}
    flags = {"canGetAndSetFMUState": "true", "canSerializeFMUState": "true"}
    if unit.derivatives:
        flags |= {"providesDirectionalDerivatives": "true", "providesAdjointDerivatives": "true"}
    _interfaces(root, unit, flags)
    units = _units(root, variables)
    automata = [variable for variable in variables if variable.states]
    if automata:
        types = Xml.SubElement(root, "TypeDefinitions")
        for variable in automata:
            enumeration = Xml.SubElement(types, "EnumerationType", name=_type_of(variable))
            for number, state in enumerate(variable.states):
                Xml.SubElement(enumeration, "Item", name=state, value=str(number))
    _experiment(root, unit)
    listed = Xml.SubElement(root, "ModelVariables")
    for variable in variables:
        about = {"name": variable.name, "valueReference": str(variable.reference())}
        about |= {"causality": variable.causality, "variability": variable.variability}
        if variable.description:
            about["description"] = variable.description
        if variable.states:
            about["declaredType"] = _type_of(variable)
        about |= _initial(variable)
        if variable.kind is VariableKind.RATE:
            about["derivative"] = str(variable.reference() - (VariableKind.RATE - VariableKind.STATE << 24))
        if variable.start is not None:
            about["start"] = " ".join(map(_number if not variable.states else _whole, variable.start))
        if variable.unit in units:
            about["unit"] = variable.unit
        element = Xml.SubElement(listed, "Enumeration" if variable.states else "Float64", about)
        for length in variable.shape:
            Xml.SubElement(element, "Dimension", start=str(length))
        for alias in variable.aliases:
            Xml.SubElement(element, "Alias", name=alias)
    structure = Xml.SubElement(root, "ModelStructure")
    unknowns = [("Output", each) for each in variables if each.causality == "output"]
    unknowns += [("ContinuousStateDerivative", each) for each in variables if each.kind is VariableKind.RATE]
    initial = [each for tag, each in unknowns if each.kind is not VariableKind.STATE]
    unknowns += [("InitialUnknown", each) for each in sorted(initial, key=ModelVariable.reference)]
    unknowns += [("EventIndicator", each) for each in variables if each.kind is VariableKind.INDICATOR]
    for tag, variable in unknowns:
        Xml.SubElement(structure, tag, valueReference=str(variable.reference()))
    return root


def _of_version_2(unit: UnitContent, variables: Sequence[ModelVariable]) -> Xml.Element:
    root = Xml.Element("fmiModelDescription", fmiVersion="2.0", modelName=unit.name, guid=unit.token)
    root.attrib |= {"generationTool": "screwbond", "variableNamingConvention": "flat"}
    root.attrib["numberOfEventIndicators"] = str(unit.indicators)
    flags = {"canGetAndSetFMUstate": "true", "canSerializeFMUstate": "true"}
    if unit.derivatives:
        flags["providesDirectionalDerivative"] = "true"
    for element in _interfaces(root, unit, flags):
        if unit.sources:
            files = Xml.SubElement(element, "SourceFiles")
            for name in unit.sources:
                Xml.SubElement(files, "File", name=name)
    units = _units(root, variables)
    _experiment(root, unit)
    listed = Xml.SubElement(root, "ModelVariables")
    indices: dict[int, str] = {}
    outputs, rates = list[str](), list[str]()
    initial = list[str]()
    numbered = itertools.count(1)
    for variable, number in _scalars(variables):
        index = str(next(numbered))
        indices[variable.reference(number)] = index
        about = {"name": _element_name(variable, number), "valueReference": str(variable.reference(number))}
        about |= {"causality": variable.causality, "variability": variable.variability, **_initial(variable)}
        if variable.description:
            about["description"] = variable.description
        element = Xml.SubElement(listed, "ScalarVariable", about)
        value = Xml.SubElement(element, "Integer" if variable.states else "Real")
        if variable.kind is VariableKind.RATE:
            value.attrib["derivative"] = indices[variable.reference(number) - (VariableKind.RATE - VariableKind.STATE << 24)]
            rates.append(index)
        if variable.start is not None:
            value.attrib["start"] = (_whole if variable.states else _number)(variable.start[number])
        if variable.unit in units and not variable.states:
            value.attrib["unit"] = variable.unit
        if variable.causality == "output":
            outputs.append(index)
            if variable.kind is not VariableKind.STATE:
                initial.append(index)
    structure = Xml.SubElement(root, "ModelStructure")
    ordered = sorted([*initial, *rates], key=int)
    for tag, chosen in (("Outputs", outputs), ("Derivatives", rates), ("InitialUnknowns", ordered)):
        if chosen:
            group = Xml.SubElement(structure, tag)
            for index in chosen:
                Xml.SubElement(group, "Unknown", index=index)
    return root


def _interfaces(root: Xml.Element, unit: UnitContent, flags: dict[str, str]) -> list[Xml.Element]:
    elements = []
    for kind, tag in _ELEMENTS.items():
        if kind in unit.kinds:
            element = Xml.SubElement(root, tag, {"modelIdentifier": unit.identifier, **flags})
            if kind == CO_SIMULATION:
                element.attrib["canHandleVariableCommunicationStepSize"] = "true"
            if root.attrib["fmiVersion"] == "3.0":
                element.attrib[_OF_3[kind]] = "true"
            elements.append(element)
    return elements


def _units(root: Xml.Element, variables: Iterable[ModelVariable]) -> set[str]:
    names = sorted({each.unit for each in variables if each.unit not in ("", "1") and not set(",;") & set(each.unit)})
    if names:
        definitions = Xml.SubElement(root, "UnitDefinitions")
        for name in names:
            element, base = Xml.SubElement(definitions, "Unit", name=name), base_unit(name)
            if base is not None:
                Xml.SubElement(element, "BaseUnit", base)
    return set(names)


def _experiment(root: Xml.Element, unit: UnitContent) -> None:
    times = {"startTime": _number(unit.start), "stopTime": _number(unit.stop), "tolerance": _number(unit.tolerance)}
    times["stepSize"] = _number(unit.step)
    Xml.SubElement(root, "DefaultExperiment", times)


def _initial(variable: ModelVariable) -> dict[str, str]:
    if variable.causality in ("input", "independent") or variable.variability == "constant":
        return {}
    return {"initial": "calculated" if variable.start is None else "exact"}


def _scalars(variables: Iterable[ModelVariable]) -> Iterable[tuple[ModelVariable, int]]:
    return ((variable, number) for variable in variables for number in range(variable.size))


def scalar_names(variable: ModelVariable) -> list[str]:
    return [_element_name(variable, number) for number in range(variable.size)]


def _element_name(variable: ModelVariable, number: int) -> str:
    if not variable.shape:
        return variable.name
    place = ",".join(str(int(k) + 1) for k in np.unravel_index(number, variable.shape))
    if variable.kind is VariableKind.RATE:
        return f"{variable.name[:-1]}[{place}])"
    return f"{variable.name}[{place}]"


def _type_of(variable: ModelVariable) -> str:
    return f"{variable.name} states"


def _number(value: float) -> str:
    return repr(float(value))


def _whole(value: float) -> str:
    return str(int(value))
