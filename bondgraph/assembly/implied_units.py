"""Units that the equations imply for values without a declared unit, such as signals and the gains of a controller.

The terms of a sum have the same unit, the unit of a product is the product of the units, and the argument of a sine is in
radians. A formula is called with `UnitScalar`s: each operation adds an equation, and an equation with one unknown unit determines
it. Numbers in formulas may stand for quantities, so a product with a number other than -1 determines nothing; neither does an
equation that contradicts another, or that contains an effort or flow of the generic domain or a temperature in degrees Celsius.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from bondgraph.assembly.system import Statement, System
from bondgraph.assembly.unit_scalars import DIMENSIONLESS, UnitScalar
from bondgraph.model.ops import SOUGHT, TIME_DERIVATIVE
from bondgraph.model.units import Powers, blocks, joined, powers, times, unit_text
from bondgraph.units import SYMBOLS, entry_units
from bondgraph.units.conversions import PI

PER_SECOND: Powers = {"s": Fraction(-1)}
_ELECTRICAL = frozenset(("V", "A", "Ohm", "S", "F", "H", "Wb", "C"))
_NAMED = ("V", "A", "Ohm", "S", "F", "H", "V s", "C", "W", "J")
"""Units that replace an equal product with electrical units, such as V/A. The integral of a voltage is not always a flux."""
_LAST = {"m": 1, "rad": 2, "s": 3}
"""Symbols at the end of a product, as in N m s."""


@dataclass(frozen=True)
class UnitEquation:
    """Product of the units of some nodes, each to a power, that equals the unit `product`."""

    terms: tuple[tuple[int, Fraction | int], ...]
    product: Powers = field(default_factory=dict)


def units_of(system: System) -> dict[str, str]:
    equations = UnitEquations(system)
    choices = {(unknown.residual,) for unknown in system.implicit if unknown.held}  # between values of different units
    guards = {event.guard for event in system.events}
    telling = [each for each in system.statements if each.outs not in choices and not equations.are_known(each.outs + each.args)]
    for statement in sorted(telling, key=lambda each: each.outs):  # so that the order of parts changes no unit
        equations.selects_units = guards.isdisjoint(statement.outs)
        equations.add_statement(statement)
    for name, rate in sorted((state.name, state.rate) for state in system.states):
        equations.add_ratio(rate, name, PER_SECOND)
    changes = [clock.updates for clock in system.clocks] + [event.resets for event in system.events]
    for name, value in sorted(itertools.chain(*changes)):
        equations.add_ratio(name, value)
    solution = _solved(equations)
    return {
        name: value.unit or _unit(equations.entries(name), value.shape or (), solution) for name, value in system.values.items()
    }


class UnitEquations:
    """Equations between the units of nodes, which are the entries of values and the intermediate results of formulas."""

    def __init__(self, system: System):
        self.shapes = {"time": (), **{name: value.shape or () for name, value in system.values.items()}}
        self.declared: dict[int, Powers] = {}
        self.opaque: set[int] = set()
        """Nodes whose equations determine nothing: efforts and flows of the generic domain, and temperatures in degrees."""
        self.selects_units = True
        """False in guards, of which only the sign counts: `minimum` is also the conjunction of conditions of any units."""
        self.equations: list[UnitEquation] = []
        self.first: dict[str, int] = {}
        self.count = 0
        read = functools.cache(_units_of_entries)
        for name, shape in self.shapes.items():
            self.first[name], self.count = self.count, self.count + math.prod(shape)
            unit = "s" if name == "time" else system.values[name].unit
            if not unit and _is_of_port(name, system):
                self.opaque.update(self.entries(name))
            if name in system.conversions:  # statements read it in another unit
                continue
            for node, exponents in enumerate(read(unit, shape), start=self.first[name]):
                if exponents is not None and any(SYMBOLS[symbol].zero for symbol in exponents if symbol in SYMBOLS):
                    self.opaque.add(node)
                elif exponents is not None:
                    self.declared[node] = exponents

    def entries(self, name: str) -> range:
        return range(self.first[name], self.first[name] + math.prod(self.shapes[name]))

    def are_known(self, names: Iterable[str]) -> bool:
        """Return True if equations between these values determine no unit."""
        nodes = (node for name in names if name in self.first for node in self.entries(name))
        return all(node in self.declared or node in self.opaque for node in nodes)

    def node(self) -> UnitScalar:
        self.count += 1
        return UnitScalar(self, self.count - 1)

    def add_product(self, unit: Powers, *terms: tuple[int, Fraction | int]) -> None:
        sums: dict[int, Fraction | int] = defaultdict(int)
        for node, power in terms:
            sums[node] += power
        if sums.keys().isdisjoint(self.opaque):
            self.equations.append(UnitEquation(tuple((node, power) for node, power in sums.items() if power), unit))

    def add_ratio(self, one: str, other: str, ratio: Powers = DIMENSIONLESS) -> None:
        for a, b in zip(self.entries(one), self.entries(other), strict=False):
            self.add_product(ratio, (a, 1), (b, -1))

    def add_statement(self, statement: Statement) -> None:
        if statement.op is TIME_DERIVATIVE:
            self.add_ratio(statement.outs[0], statement.args[0], PER_SECOND)
            return
        if statement.op is SOUGHT or any(name not in self.first for name in (*statement.outs, *statement.args)):
            return
        arguments = []
        for name in statement.args:
            scalars = np.empty(len(self.entries(name)), dtype=object)
            scalars[:] = [UnitScalar(self, node) for node in self.entries(name)]
            arguments.append(scalars.reshape(self.shapes[name]) if self.shapes[name] else scalars[0])
        try:
            results = [np.ravel(np.asarray(each, dtype=object)) for each in statement.results(arguments)]
        except Exception:  # a formula may do anything with its arguments
            return
        for name, result in zip(statement.outs, results, strict=True):
            for node, scalar in zip(self.entries(name), result, strict=False):
                if isinstance(scalar, UnitScalar):
                    self.add_product(DIMENSIONLESS, (node, 1), (scalar.node, -1))


def _units_of_entries(unit: str, shape: tuple[int, ...]) -> list[Powers | None]:
    units = entry_units(unit, shape) if unit else None
    return [] if units is None else [powers(part) for part in units.flat]


def _is_of_port(name: str, system: System) -> bool:
    """Return True for the effort or flow of a port, False for a signal of that name."""
    owner, _, variable = name.rpartition(".")
    other = {"effort": "flow", "flow": "effort"}.get(variable)
    return other is not None and system.resolve(f"{owner}.{other}") in system.values


def _solved(equations: UnitEquations) -> dict[int, Powers]:
    """Return the units of nodes: each equation with one unknown determines it. An implied unit that a contradicted equation
    contains is withdrawn, with the implied units from which it follows, and with all units that follow from any of them."""
    units, source = dict(equations.declared), dict[int, UnitEquation]()
    containing: dict[int, list[UnitEquation]] = defaultdict(list)
    for equation in equations.equations:
        for node, _ in equation.terms:
            containing[node].append(equation)
    waiting = equations.equations
    while waiting:  # in rounds, so that the shortest way to a unit counts
        derived: dict[int, Powers] = {}
        for equation in waiting:
            unknown = [(node, power) for node, power in equation.terms if node not in units]
            if len(unknown) == 1 and unknown[0][0] not in derived:
                (node, power), unit = unknown[0], equation.product
                for other, exponent in equation.terms:
                    if other != node:
                        unit = times(unit, units[other], -exponent)
                derived[node], source[node] = {symbol: exponent / power for symbol, exponent in unit.items()}, equation
        units |= derived
        waiting = [equation for node in derived for equation in containing[node]]
    contradicted = [equation for equation in equations.equations if _contradicts(equation, units)]
    withdrawn: set[int] = set()
    doubtful = [node for equation in contradicted for node, _ in equation.terms]
    while doubtful:
        if (node := doubtful.pop()) in source and node not in withdrawn:
            withdrawn.add(node)
            doubtful += [other for other, _ in source[node].terms]
    waiting_nodes = list(withdrawn)
    while waiting_nodes:
        for equation in containing[waiting_nodes.pop()]:
            for node, _ in equation.terms:
                if source.get(node) is equation and node not in withdrawn:
                    withdrawn.add(node)
                    waiting_nodes.append(node)
    return {node: unit for node, unit in units.items() if node not in withdrawn}


def _contradicts(equation: UnitEquation, units: Mapping[int, Powers]) -> bool:
    if any(node not in units for node, _ in equation.terms):
        return False
    product = times({}, equation.product, -1)
    for node, power in equation.terms:
        product = times(product, units[node], power)
    if not product:
        return False
    factors = [(SYMBOLS[symbol], power) for symbol, power in product.items() if symbol in SYMBOLS]
    scale = sum(math.log(unit.ratio * PI**unit.turns) * power for unit, power in factors)
    return bool(_dimension(product)) or abs(scale) > 1e-9


def _dimension(unit: Powers) -> dict[str, Fraction]:
    product: dict[str, Fraction] = {}
    for symbol, power in unit.items():
        unit_symbol = SYMBOLS.get(symbol)
        product = times(product, dict(unit_symbol.dimension) if unit_symbol else {symbol: Fraction(1)}, power)
    return product


def _unit(entries: range, shape: tuple[int, ...], solved: Mapping[int, Powers]) -> str:
    units = [unit_text(_readable(solved[node])) if node in solved else "" for node in entries]
    several = len(set(units)) > 1
    return "" if not units or (several and len(shape) > 1) else joined(blocks(units)) if all(units) else ""


def _readable(unit: Powers) -> Powers:
    """Return a unit with W for a power, one electrical symbol for an equal product, and no radians in other numerators, except in
    rad, rad/s and similar units."""
    dimension = _dimension(unit)
    if len(unit) > 1 and unit.get("rad", 0) >= 0 and set(unit) <= {*_ELECTRICAL, "W", "J", "s", "kg", "m", "N", "Pa", "rad"}:
        if not dimension:
            return DIMENSIONLESS
        for name in ("W",) if _ELECTRICAL.isdisjoint(unit) else _NAMED:
            if _dimension(named := powers(name) or {}) == dimension:
                return named
    keeps_angles = unit.get("rad", 0) < 0 or (unit.get("rad") == 1 and not set(unit) - {"rad", "s"})
    ordered = sorted(unit, key=lambda symbol: _LAST.get(symbol, 0))
    return {symbol: unit[symbol] for symbol in ordered if symbol != "rad" or keeps_angles}
