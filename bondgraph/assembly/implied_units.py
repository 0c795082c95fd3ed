"""Units that the equations imply for values without a declared unit, such as signals and the gains of a controller.

Terms of a sum have one unit, a product has the product of units, a sine has an argument in radians. Statements are recorded on
tapes, and each operation with one unknown unit determines it. Numbers in formulas may stand for quantities, so a product with
one of them determines nothing, nor does an equation that contradicts another one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from bondgraph.assembly.system import Statement, System
from bondgraph.model.ops import SOUGHT, TIME_DERIVATIVE
from bondgraph.model.units import blocks, joined, powers, spread, written
from bondgraph.tape import opcodes as op
from bondgraph.tape.scalar import Tape, TapeScalar, TraceError
from bondgraph.units import SYMBOLS

Powers = Mapping[str, Fraction]
"""Symbols of a unit with their powers."""

DIMENSIONLESS: Powers = {}
RADIAN: Powers = {"rad": Fraction(1)}
SECOND: Powers = {"s": Fraction(1)}
_SAME = {op.NEGATIVE, op.ABSOLUTE, op.ADD, op.SUBTRACT, op.MINIMUM, op.MAXIMUM}
"""Operations whose result has the unit of their arguments."""
_COMPARED = {op.LESS, op.LESS_EQUAL, op.EQUAL, op.ATAN2}
"""Operations whose arguments have one unit."""
_OF_ANGLES = {op.SIN, op.COS, op.TAN}
_TO_ANGLES = {op.ASIN, op.ACOS, op.ATAN}
_OF_NUMBERS = {op.EXP, op.EXPM1, op.LOG, op.TANH}
_ELECTRICAL = ("V", "A", "Ohm", "S", "F", "H", "Wb", "C", "W", "J")
"""Units that replace an equal product of electrical ones, such as V/A."""
_LAST = {"m": 1, "rad": 2, "s": 3}
"""Symbols at the end of a product, as in N m s."""


@dataclass(frozen=True)
class UnitEquation:
    """Product of the units of some nodes, each to a power, that equals the unit `product`."""

    terms: tuple[tuple[int, Fraction], ...]
    product: Powers = field(default_factory=dict)


def units_of(system: System) -> dict[str, str]:
    """Return the unit of every value with a shape: its declared unit, else the implied one, else ""."""
    nodes = _Nodes(system)
    for statement in system.statements:
        nodes.add(statement)
    for state in system.states:
        nodes.equal_entries(state.rate, state.name, _times({}, SECOND, -1))
    for clock in system.clocks:
        for name, value in clock.updates:
            nodes.equal_entries(name, value)
    for event in system.events:
        for name, value in event.resets:
            nodes.equal_entries(name, value)
    solution = _solved(nodes)
    return {name: value.unit or _unit(nodes.entries(name), value.shape or (), solution) for name, value in system.values.items()}


class _Nodes:
    """Nodes with known or unknown units, numbered, and the equations between them: entries of values, then tape nodes."""

    def __init__(self, system: System):
        self.system = system
        self.units: dict[int, Powers] = {}
        self.equations: list[UnitEquation] = []
        self.first: dict[str, int] = {}
        self.count = 0
        for name, value in {"time": None, **system.values}.items():
            size = 1 if value is None else int(np.prod(value.shape or ()))
            self.first[name], self.count = self.count, self.count + size
            declared = ["s"] if value is None else spread(value.unit, size) if value.unit else None
            for k, unit in enumerate(declared or ()):
                if (exponents := powers(unit)) is not None:
                    self.units[self.first[name] + k] = exponents

    def entries(self, name: str) -> range:
        """Return the nodes of the entries of a value."""
        value = self.system.values.get(name)
        first = self.first[name]
        return range(first, first + (1 if value is None else int(np.prod(value.shape or ()))))

    def equal_entries(self, one: str, other: str, ratio: Powers = DIMENSIONLESS) -> None:
        """Make the unit of each entry of a value that of another one, times a ratio."""
        pairs = zip(self.entries(one), self.entries(other), strict=False)
        self.equations += [UnitEquation(((a, Fraction(1)), (b, Fraction(-1))), ratio) for a, b in pairs if a != b]

    def add(self, statement: Statement) -> None:
        """Add the equations of a statement; none if its formula cannot be recorded."""
        if statement.op is TIME_DERIVATIVE:
            self.equal_entries(statement.outs[0], statement.args[0], _times({}, SECOND, -1))
            return
        if statement.op is SOUGHT or any(name not in self.first for name in (*statement.outs, *statement.args)):
            return
        tape, inputs = Tape(), [self.entries(name) for name in statement.args]
        scalars = tape.inputs("x", sum(map(len, inputs)))
        arrays, start = [], 0
        for name, entries in zip(statement.args, inputs, strict=True):
            shape = getattr(self.system.values.get(name), "shape", None)
            some = scalars[start : start + len(entries)]
            arrays.append(some.reshape(shape) if shape else some[0])
            start += len(entries)
        try:
            results = [np.ravel(np.asarray(each, dtype=object)) for each in statement.results(arrays)]
        except (
            TraceError,
            ArithmeticError,
            AttributeError,
            TypeError,
            ValueError,
        ):  # foreign code, or a formula that only takes floats
            return
        nodes = [entry for entries in inputs for entry in entries]
        place = self._tape(tape, nodes)
        for name, result in zip(statement.outs, results, strict=True):
            for entry, scalar in zip(self.entries(name), result, strict=False):
                if isinstance(scalar, TapeScalar) and (node := place.get(scalar.index)) is not None and node != entry:
                    self.equations.append(UnitEquation(((entry, Fraction(1)), (node, Fraction(-1)))))

    def _tape(self, tape: Tape, inputs: list[int]) -> dict[int, int]:
        """Add the equations of a tape's instructions, and return the node of each tape position but those of constants."""
        place: dict[int, int] = {}
        for position, (code, *arguments) in enumerate(tape.nodes):
            if code == op.INPUT:
                place[position] = inputs[arguments[1]]
            elif code not in (op.CONSTANT, op.TABLE, op.TABLE_OF_INPUTS):
                place[position] = self.count
                self.count += 1
                self.equations += self._instruction(tape, code, arguments, place, inputs, place[position])
        return place

    def _instruction(
        self, tape: Tape, code: int, arguments: list[int], place: Mapping[int, int], inputs: list[int], out: int
    ) -> Iterator[UnitEquation]:
        """Yield the equations of one instruction; constants take part in none."""
        operands = [place.get(argument) for argument in arguments]
        if code in _SAME or code == op.WHERE:
            yield from (_equal(out, each) for each in (operands[1:] if code == op.WHERE else operands) if each is not None)
        elif code in _COMPARED or code in op.CONDITIONS:
            yield _is(out, RADIAN if code == op.ATAN2 else DIMENSIONLESS)
            if code in _COMPARED and None not in operands:
                yield _equal(operands[0], operands[1])
        elif code in _OF_ANGLES | _TO_ANGLES | _OF_NUMBERS:
            yield _is(out, RADIAN if code in _TO_ANGLES else DIMENSIONLESS)
            if operands[0] is not None:
                yield _is(operands[0], RADIAN if code in _OF_ANGLES else DIMENSIONLESS)
        elif code in (op.MULTIPLY, op.DIVIDE) and None not in operands:
            yield UnitEquation(_collected((out, 1), (operands[0], -1), (operands[1], -1 if code == op.MULTIPLY else 1)))
        elif code == op.RECIPROCAL:
            yield UnitEquation(_collected((out, 1), (operands[0], 1)))
        elif code == op.SQRT:
            yield UnitEquation(_collected((out, 2), (operands[0], -1)))
        elif code == op.POWER and operands[0] is not None and operands[1] is None:
            power = Fraction(float(tape.value(arguments[1]) or 0.0)).limit_denominator(12)
            yield UnitEquation(_collected((out, 1), (operands[0], -power)))
        elif code == op.SIGN:
            yield _is(out, DIMENSIONLESS)
        elif code in op.LOOKUPS:
            table = tape.nodes[arguments[1]]
            with_row = operands[0] if code == op.SEARCHSORTED else out
            if code == op.SEARCHSORTED:
                yield _is(out, DIMENSIONLESS)
            if table[0] == op.TABLE_OF_INPUTS and with_row is not None:
                yield from (_equal(with_row, inputs[k]) for k in range(table[2], table[2] + table[3]))


def _equal(one: Any, other: Any) -> UnitEquation:
    return UnitEquation(_collected((one, 1), (other, -1)))


def _is(node: int, unit: Powers) -> UnitEquation:
    return UnitEquation(((node, Fraction(1)),), unit)


def _collected(*terms: tuple[Any, Any]) -> tuple[tuple[int, Fraction], ...]:
    """Return terms with the powers of equal nodes summed."""
    sums: dict[int, Fraction] = defaultdict(Fraction)
    for node, power in terms:
        sums[node] += Fraction(power)
    return tuple((node, power) for node, power in sums.items() if power)


def _times(unit: Powers, other: Powers, power: Fraction | int) -> dict[str, Fraction]:
    """Return a unit times a power of another one."""
    product = dict(unit)
    for symbol, exponent in other.items():
        product[symbol] = product.get(symbol, Fraction(0)) + exponent * power
    return {symbol: exponent for symbol, exponent in product.items() if exponent}


def _solved(nodes: _Nodes) -> dict[int, Powers]:
    """Return the units of nodes: each equation with one unknown determines it. An implied unit that a contradicted equation
    contains is withdrawn, with all units that follow from it."""
    units, source = dict(nodes.units), dict[int, UnitEquation]()
    containing: dict[int, list[UnitEquation]] = defaultdict(list)
    for equation in nodes.equations:
        for node, _ in equation.terms:
            containing[node].append(equation)
    waiting = list(reversed(nodes.equations))
    while waiting:
        equation = waiting.pop()
        unknown = [(node, power) for node, power in equation.terms if node not in units]
        if len(unknown) == 1:
            (node, power), unit = unknown[0], equation.product
            for other, exponent in equation.terms:
                if other != node:
                    unit = _times(unit, units[other], -exponent)
            units[node], source[node] = {symbol: exponent / power for symbol, exponent in unit.items()}, equation
            waiting += containing[node]
    contradicted = [equation for equation in nodes.equations if _contradicts(equation, units)]
    withdrawn = {node for equation in contradicted for node, _ in equation.terms if node in source}
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
    product = _times({}, equation.product, -1)
    for node, power in equation.terms:
        product = _times(product, units[node], power)
    return bool(_dimension(product))


def _dimension(unit: Powers) -> dict[str, Fraction]:
    """Return the base symbols of a unit with their powers; an unknown symbol is a base symbol."""
    product: dict[str, Fraction] = {}
    for symbol, power in unit.items():
        unit_symbol = SYMBOLS.get(symbol)
        product = _times(product, dict(unit_symbol.dimension) if unit_symbol else {symbol: Fraction(1)}, power)
    return product


def _unit(entries: range, shape: tuple[int, ...], solved: Mapping[int, Powers]) -> str:
    """Return the unit of the entries of a value, "" if one is unknown or if the entries of a matrix differ."""
    units = [written(_readable(solved[node])) if node in solved else "" for node in entries]
    several = len(set(units)) > 1
    return "" if not units or (several and len(shape) > 1) else joined(blocks(units)) if all(units) else ""


def _readable(unit: Powers) -> Powers:
    """Return a unit with one electrical symbol for an equal product, and without radians in a product of other units."""
    dimension = _dimension(unit)
    electrical = set(unit) <= {*_ELECTRICAL, "s", "kg", "m", "N"} and not set(unit).isdisjoint(_ELECTRICAL[:8])
    if electrical and len(unit) > 1:
        for symbol in _ELECTRICAL:
            if dict(SYMBOLS[symbol].dimension) == dimension:
                return {symbol: Fraction(1)}
    keeps_angles = unit.get("rad", 0) < 0 or (unit.get("rad") == 1 and not set(unit) - {"rad", "s"})
    ordered = sorted(unit, key=lambda symbol: _LAST.get(symbol, 0))
    return {symbol: unit[symbol] for symbol in ordered if symbol != "rad" or keeps_angles}
