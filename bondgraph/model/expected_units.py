"""Expected units of parameters and ratios, by the law of an element and the domains of its ports, and conversions to them.

Formulas read numbers in the expected unit, or in SI if none is implied (in custom formulas, or at bonds without a domain). The
parameters of a model, and changes to them, are in their declared units.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bondgraph.model.arguments import shape_of
from bondgraph.model.domains import COEFFICIENTS, DOMAINS, SCREW, Domain
from bondgraph.model.element import Element
from bondgraph.model.laws import (
    ByMode,
    Gyrator,
    IdealConstraint,
    IdealSwitch,
    Parameter,
    Ratio,
    Resistor,
    SignalBlock,
    Source,
    Storage,
)
from bondgraph.model.modal import parameter_values
from bondgraph.model.model import Bond, Model
from bondgraph.model.ops import Constant
from bondgraph.model.units import matrix, parts, quotient
from bondgraph.quantities import real
from bondgraph.units import Conversion, Mismatch, Unreadable, conversion

_USUAL: Mapping[str, str] = {"N s^2/m": "kg", "N m s^2/rad": "kg m^2", "C/V": "F", "Wb/A": "H", "V/A": "Ohm", "A/V": "S"}


def conversions(model: Model) -> dict[str, Conversion]:
    return {f"{path}.{key}": each for path, key, _, each in unit_conversions(model) if isinstance(each, Conversion)}


def unit_conversions(model: Model) -> Iterator[tuple[str, str, Parameter, Conversion | Unreadable | Mismatch]]:
    """Yield (path of the element, key of the value, parameter, conversion or fault) of each value that is not in the expected
    unit."""
    for path, element in model.elements.items():
        for name, parameter in element.parameters.items():
            if parameter.unit:
                for key, value in parameter_values(name, parameter).items():
                    each = conversion_of(model, path, name, parameter, value)
                    if each is not None:
                        yield path, key, parameter, each


def conversion_of(model: Model, path: str, name: str, parameter: Parameter, value: Any) -> Any:
    """Return the conversion of a parameter's number to the expected unit, None if it changes nothing, or a fault."""
    if not isinstance(parameter.unit, str):
        return Unreadable(repr(parameter.unit), "a unit must be a string")
    expected = expected_unit(model, path, name, parameter, value)
    return conversion(parameter.unit, expected, shape_of(value), model.domain_symbols)


def converted_parameters(model: Model, path: str) -> Mapping[str, Parameter]:
    parameters = model.elements[path].parameters
    if not any(parameter.unit for parameter in parameters.values()):
        return parameters
    return {name: _converted(model, path, name, parameter) for name, parameter in parameters.items()}


def converted_numbers(model: Model, path: str) -> list[Any] | None:
    """Return the parameters as finite numbers, None if one is not (the check of numbers reports it)."""
    numbers = [real(each.value) for each in converted_parameters(model, path).values()]
    return [array[()] for array in numbers if array is not None] if all(map(_is_finite, numbers)) else None


def _is_finite(array: np.ndarray | None) -> bool:
    return array is not None and bool(np.isfinite(array).all())


def _converted(model: Model, path: str, name: str, parameter: Parameter) -> Parameter:
    values = parameter.value.values if isinstance(parameter.value, ByMode) else {"": parameter.value}
    read = {}
    for state, value in values.items():
        convert = conversion_of(model, path, name, parameter, value) if parameter.unit else None
        numbers = real(value)
        read[state] = convert(numbers[()]) if isinstance(convert, Conversion) and numbers is not None else value
    return replace(parameter, value=replace(parameter.value, values=read) if isinstance(parameter.value, ByMode) else read[""])


def expected_unit(model: Model, path: str, local: str, parameter: Parameter, value: Any) -> str:
    return parameter.expected or implied_unit(model, path, local, value)


def implied_unit(model: Model, path: str, local: str, value: Any) -> str:
    element, bonds = model.elements[path], model.bonds_at(path)
    law = element.law
    if isinstance(law, SignalBlock):
        return "s" if local in law.breaks else ""
    if isinstance(law, (IdealConstraint, IdealSwitch)):
        return _of_constraint(element, local, bonds)
    if not bonds:
        return ""
    domain = bonds[0].domain
    if isinstance(law, (Storage, Resistor)) and law.linear:
        above, below = (_unit(domain, variable) for variable in (COEFFICIENTS[local].makes, COEFFICIENTS[local].of))
        return _usual(matrix(above, below) if np.ndim(value) == 2 else quotient(above, below))
    if isinstance(law, Source) and local == "value":
        return _unit(domain, law.gives)
    if isinstance(law, Ratio) and local == "ratio" and not element.signals:
        return ratio_unit(element, *model.bonds_by_port(path))
    return ""


def coefficients_with_unit(kind: str, parameter: Parameter) -> list[tuple[str, Domain]]:
    """Return the coefficients of a C, I or R that have the unit of a parameter, with the domain."""
    return [
        (word, domain)
        for word, coefficient in COEFFICIENTS.items()
        for domain in coefficient.domains or DOMAINS.values()
        if coefficient.kind == kind
        and domain is not SCREW
        and (unit := quotient(_unit(domain, coefficient.makes), _unit(domain, coefficient.of)))
        and not isinstance(conversion(parameter.unit, unit, ()), (Mismatch, Unreadable))
    ]


def ratio_unit(element: Element, one: Bond, two: Bond) -> str:
    """Return the unit of the ratio of a transformer (flow to flow) or gyrator (flow to effort)."""
    law = element.law_as(Ratio)
    entries = law.matrix() if isinstance(law.matrix, Constant) else None
    if isinstance(law, Gyrator):
        return matrix(one.domain.effort_unit, two.domain.flow_unit, entries)
    return matrix(two.domain.flow_unit, one.domain.flow_unit, entries)


def across_unit(domain: Domain) -> str:
    return matrix(domain.effort_unit, domain.flow_unit)


def _of_constraint(element: Element, local: str, bonds: tuple[Bond, ...]) -> str:
    fixed = {"alpha1": "1/s", "alpha0": "1/s^2", "restitution": "1"}
    if local in fixed or not bonds:
        return fixed.get(local, "")
    law, domain = element.law, bonds[0].domain
    if local == "alpha2" and not (isinstance(law, IdealConstraint) and law.coordinates):
        return ", ".join(quotient("1/s^2", part and f"{part} {part}") for part in dict.fromkeys(parts(domain.displacement_unit)))
    if isinstance(law, IdealConstraint) and law.released is not None and not element.signals:
        return domain.effort_unit if local in ("limit", "stick_limit") else across_unit(domain) if local == "viscous" else ""
    return ""


def _unit(domain: Domain, variable: str) -> str:
    return {
        "effort": domain.effort_unit,
        "flow": domain.flow_unit,
        "displacement": domain.displacement_unit,
        "momentum": domain.momentum_unit,
    }[variable]


def _usual(unit: str) -> str:
    return "; ".join(", ".join(_USUAL.get(part, part) for part in parts(row)) for row in unit.split("; "))
