"""Implied units of parameters and ratios, by the law of an element and the domains of its ports.

A unit that the element declares comes first; custom formulas imply none, and bonds without a domain have no units.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bondgraph.causality.assign import ordered_bonds
from bondgraph.model.domains import COEFFICIENTS, Domain
from bondgraph.model.element import Element
from bondgraph.model.laws import Gyrator, IdealConstraint, IdealSwitch, Ratio, Resistor, SignalBlock, Source, Storage
from bondgraph.model.model import Bond, Model
from bondgraph.model.ops import Constant
from bondgraph.model.units import matrix, parts, quotient

_USUAL: Mapping[str, str] = {"N s^2/m": "kg", "N m s^2/rad": "kg m^2", "C/V": "F", "Wb/A": "H", "V/A": "Ohm", "A/V": "S"}
"""Units that have a shorter name."""


def parameter_unit(model: Model, path: str, local: str, value: Any) -> str:
    """Return the implied unit of a parameter, "" if there is none."""
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
        return ratio_unit(element, *ordered_bonds(model, path))
    return ""


def ratio_unit(element: Element, one: Bond, two: Bond) -> str:
    """Return the unit of the ratio of a transformer (flow to flow) or gyrator (flow to effort)."""
    law = element.law_as(Ratio)
    entries = law.matrix() if isinstance(law.matrix, Constant) else None
    if isinstance(law, Gyrator):
        return matrix(one.domain.effort_unit, two.domain.flow_unit, entries)
    return matrix(two.domain.flow_unit, one.domain.flow_unit, entries)


def across_unit(domain: Domain) -> str:
    """Return the unit of a matrix from the flows of a bond to its efforts."""
    return matrix(domain.effort_unit, domain.flow_unit)


def _of_constraint(element: Element, local: str, bonds: tuple[Bond, ...]) -> str:
    """Return the unit of a stabilisation gain, a restitution or a limit of dry friction."""
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
