"""Check of units: every one that a parameter, a state or a signal is given is made of symbols that exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from bondgraph.errors import Problem
from bondgraph.model.element import Element
from bondgraph.model.laws import Junction, SignalBlock
from bondgraph.model.model import Model
from bondgraph.quantities import UNITS, symbols_of, unknown_unit


def check_units(model: Model) -> Iterator[Problem]:
    """Units are products of SI units and their usual companions, or of what the domains of the model bring along."""
    domains = {id(bond.domain): bond.domain for bond in model.bonds}
    given = [u for d in domains.values() for u in (d.effort_unit, d.flow_unit, d.displacement_unit, d.momentum_unit)]
    own = frozenset(symbol for unit in given for symbol in symbols_of(unit))
    sound: set[str] = set()
    for path, element in model.elements.items():
        law = element.law
        if not element.parameters and isinstance(law, Junction):
            continue
        for name, unit in _units(element):
            if isinstance(unit, str) and unit in sound:
                continue
            wrong = unknown_unit(unit, own)
            if wrong is None:
                sound.add(unit)
                continue
            near = difflib.get_close_matches(wrong, sorted(UNITS), n=3, cutoff=0.5)
            details = (f"there is no unit {wrong!r}" + (f"; near it: {', '.join(near)}" if near else ""),)
            places = (element.place,)
            cures = ('a product of powers, such as "kg m^2/s"; "1" for a plain number',)
            yield Problem("E156", f'{element.kind} "{path}": the unit of {name} cannot be {unit!r}', details, places, cures)


def _units(element: Element) -> Iterator[tuple[str, str]]:
    for name, parameter in element.parameters.items():
        yield name, parameter.unit
    for name, spec in element.law.states().items():
        yield name, spec.unit
    if isinstance(element.law, SignalBlock):
        yield from element.law.units.items()
