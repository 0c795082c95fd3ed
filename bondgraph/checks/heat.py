"""Checks of heat: elements at pseudo-bonds, and 1-junctions that would create heat."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from bondgraph.errors import Problem
from bondgraph.model.dissipation import HeatFlow
from bondgraph.model.domains import THERMAL
from bondgraph.model.element import Element, named
from bondgraph.model.expected_units import converted_numbers
from bondgraph.model.laws import IdealSwitch, Junction, Law, Resistor, Source, Storage
from bondgraph.model.modal import modal_parameters
from bondgraph.model.model import Bond, Model
from screws.errors import plural

AT_PSEUDO_BONDS: tuple[type[Law], ...] = (Junction, Resistor, Source, IdealSwitch, HeatFlow)
"""Laws other than C that transmit, supply or absorb heat."""


def check_pseudo_bonds(model: Model) -> Iterator[Problem]:
    """Check that the elements at pseudo-bonds, and their 1-junctions, conserve the flow (E179)."""
    wrong: dict[str, Bond] = {}
    for bond in model.bonds:
        if bond.domain.pseudo:
            for end in bond.ends:
                if not _conserves(model.elements[end.element]):
                    wrong.setdefault(end.element, bond)
    for path, bond in wrong.items():
        element, domain = model.elements[path], bond.domain
        title = f'{element.kind} "{path}" has no meaning at a pseudo-bond of the domain {domain.name}'
        why = f"the {domain.flow} there is already a power; {element.kind} relates efforts and flows whose product is the power"
        cures = (
            "J0, J1, C, R, Se or Sf there",
            'domain="thermal" for bonds of temperature and entropy flow, which accept every element',
        )
        yield Problem("E179", title, (f"bond: {bond.name}", why), (element.place, bond.place), cures)
    for path, element in model.elements.items():
        if isinstance(element.law, Junction) and element.law.type == 1:
            yield from _one_junction(model, path, element)


def check_heat_ports(model: Model) -> Iterator[Problem]:
    """Check that heat ports turn power into heat and are at bonds with a temperature, true or pseudo-bonds (E177)."""
    for path, element in model.elements.items():
        for bond in model.bonds_at(path):
            domain = bond.domain
            if isinstance(element.law, HeatFlow) and domain != THERMAL and not domain.pseudo:
                title = f'{element.kind} "{path}" gives heat to a bond of the domain {domain.name}'
                why = "the bond needs a temperature, to receive an entropy flow (thermal) or a heat flow (heat, a pseudo-bond)"
                cure = 'domain="thermal", or domain="heat", for the junction or C at this port'
                yield Problem("E177", title, (f"bond: {bond.name}", why), (element.place, bond.place), (cure,))
            elif element.heat and domain.pseudo:
                title = f'{element.kind} "{path}" with heat=True is at a pseudo-bond of the domain {domain.name}'
                why = "the flow there is already heat; no other power is dissipated"
                cure = "use heat=True only at bonds of other domains"
                yield Problem("E177", title, (f"bond: {bond.name}", why), (element.place, bond.place), (cure,))


def check_second_law(model: Model) -> Iterator[Problem]:
    """Check by sampling that formulas of heat transfer without signals move heat from hot to cold (E153)."""
    for path, element in model.elements.items():
        law = element.law
        if not isinstance(law, HeatFlow) or law.heat is None or element.signals or modal_parameters(element):
            continue
        values = converted_numbers(model, path)
        if values is None:
            continue
        for one, other in itertools.permutations(TEMPERATURES, 2):
            try:
                with np.errstate(all="ignore"):
                    heat = float(law.heat(one, other, *values))
            except Exception:  # the pass `shapes` reports a formula that fails, with its arguments
                break
            if heat * (one - other) < 0.0:
                title = f'{element.kind} "{path}" moves heat from cold to hot'
                why = f"from {one:g} K to {other:g} K its heat is {heat:.4g} W, which would destroy entropy"
                cure = "a formula that is positive where the first temperature is higher, and negative where it is lower"
                yield Problem("E153", title, (why,), (element.place,), (cure,))
                break


TEMPERATURES = (30.0, 250.0, 300.0, 310.0, 1500.0)
"""Temperatures at which heat transfer is sampled, K."""


def _conserves(element: Element) -> bool:
    law = element.law
    if isinstance(law, Storage):
        return law.gives == "effort" and law.rate is None
    return isinstance(law, AT_PSEUDO_BONDS)


def _one_junction(model: Model, path: str, element: Element) -> Iterator[Problem]:
    """Report a 1-junction where the heat that enters differs from the heat that leaves, because its bonds share one flow."""
    bonds = model.bonds_at(path)
    if not bonds or not bonds[0].domain.pseudo:
        return
    ends, passing = model.heat_ends(path)
    inward = sum(bond.head.element == path for bond in ends)
    if (len(ends) < 2 and passing) or (len(ends), inward) == (2, 1):
        return
    others = [model.across(bond, path) for bond in ends]
    title = f'1-junction "{path}" of the domain {bonds[0].domain.name} does not conserve heat'
    outward = plural(len(ends) - inward, "bond")
    why = f"not counting R and switches, one {bonds[0].domain.flow} enters via {plural(inward, 'bond')} and leaves via {outward}"
    near = f"these bonds lead to {named(model.elements_at(others))}"
    cures = (
        "in addition to R and switches, only two bonds, one with its arrow to the junction and one with its arrow away",
        "a J0, where heat flows meet at one temperature",
    )
    yield Problem("E179", title, (why, near), (element.place,), cures)
