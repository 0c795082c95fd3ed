"""Definitions of long expressions: each gets a symbol, defined once on a separate line."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from bondgraph.export.forms.algebra.canonical import exact
from bondgraph.export.forms.records import LinearSystem
from bondgraph.output.lazy import sympy


class Definitions:
    """Definitions in evaluation order, and the floats in the formulas.

    Parameters
    ----------
    taken : names that are already used.
    longest : number of operations above which an expression gets a name.
    """

    def __init__(self, taken: Collection[str], longest: int) -> None:
        self.taken = set(taken)
        self.longest = longest
        self.expressions: dict[Any, Any] = {}
        self.value_names: dict[Any, str] = {}
        self.systems: list[LinearSystem] = []
        self.floats: set[float] = set()
        self._symbols: dict[Any, Any] = {}
        self._numbers = itertools.count(1)

    def exact(self, scalar: Any) -> Any:
        scalar = sympy.S(scalar)
        self.floats |= {float(number) for number in scalar.atoms(sympy.Float)}
        return exact(scalar)

    def new_symbol(self, name: str) -> Any:
        number, free = 1, name
        while free in self.taken:
            number, free = number + 1, f"{name} ({number + 1})"
        self.taken.add(free)
        symbol = sympy.Symbol(free, real=True)
        self.value_names[symbol] = name
        return symbol

    def _part(self) -> Any:
        name = next(free for k in self._numbers if (free := f"s{k}") not in self.taken)
        self.taken.add(name)
        return sympy.Symbol(name, real=True)

    def define(self, name: str, expression: Any) -> Any:
        """Return the symbol for an expression; a new symbol gets this name, which is "" for a common part of several values.

        The negative of a defined expression is minus its symbol, and an atom stands for itself.
        """
        if expression.is_Atom or (-expression).is_Atom:
            return expression
        symbol = self._symbols.get(expression)
        if symbol is not None:
            return symbol
        opposite = self._symbols.get(-expression)
        if opposite is not None:
            return -opposite
        symbol = self.new_symbol(name) if name else self._part()
        self.expressions[symbol] = expression
        self._symbols[expression] = symbol
        return symbol

    def shorten(self, name: str, expression: Any, unknowns: Collection[Any], longest: int | None = None) -> Any:
        """Return the expression, or its symbol if it is long.

        If it depends on `unknowns`, its coefficients are shortened instead, since definitions must not contain unknowns before
        they are solved for; a nonlinear expression is returned unchanged.
        """
        if sympy.count_ops(expression) <= (self.longest if longest is None else longest):
            return expression
        split = linear_in(expression, unknowns)
        if split is None:
            return expression
        constant, slopes = split
        if not slopes:
            return self.define(name, constant)
        return sympy.Add(self.define("", constant), *(self.define("", slope) * w for w, slope in slopes.items()))

    def mark(self) -> int:
        return len(self.expressions)

    def forget(self, mark: int, used: Iterable[Any]) -> None:
        roots = [*used, *(e for system in self.systems for e in (*system.A, *system.b))]
        kept = self.needed(roots)
        for symbol in list(self.expressions)[mark:]:
            if symbol not in kept:
                del self._symbols[self.expressions.pop(symbol)]
                self.taken.discard(symbol.name)

    def needed(self, expressions: Iterable[Any]) -> dict[Any, Any]:
        systems = {name: system for system in self.systems for name in system.unknowns}
        todo, reached = [s for e in expressions for s in e.free_symbols], set[Any]()
        while todo:
            symbol = todo.pop()
            if symbol in reached:
                continue
            reached.add(symbol)
            if symbol in self.expressions:
                todo += self.expressions[symbol].free_symbols
            elif symbol.name in systems:
                system = systems[symbol.name]
                todo += system.A.free_symbols | system.b.free_symbols
        return {symbol: meant for symbol, meant in self.expressions.items() if symbol in reached}

    def needed_systems(self, expressions: Iterable[Any]) -> list[LinearSystem]:
        names = {symbol.name for expression in expressions for symbol in expression.free_symbols}
        return [system for system in self.systems if names & set(system.unknowns)]


def linear_in(expression: Any, unknowns: Collection[Any]) -> tuple[Any, dict[Any, Any]] | None:
    constant: list[Any] = []
    slopes: dict[Any, list[Any]] = {}
    # term by term: most terms have one factor with unknowns, and long sums take long to differentiate
    todo = [(term, sympy.S.One) for term in sympy.Add.make_args(expression)]
    symbols = frozenset(unknowns)
    while todo:
        term, factor = todo.pop()
        if term in symbols:
            slopes.setdefault(term, []).append(factor)
        elif symbols.isdisjoint(term.free_symbols):
            constant.append(term * factor)
        else:
            free, bound = _parted(term, symbols)
            if len(bound) != 1 or not (bound[0].is_Add or bound[0].is_Symbol):
                split = _by_derivatives(term, symbols)
                if split is None:
                    return None
                constant.append(split[0] * factor)
                for w, slope in split[1].items():
                    slopes.setdefault(w, []).append(slope * factor)
            else:
                todo += [(inner, free * factor) for inner in sympy.Add.make_args(bound[0])]
    coefficients = {w: sympy.Add(*slopes[w]) for w in sorted(slopes, key=str)}
    return sympy.Add(*constant), {w: slope for w, slope in coefficients.items() if slope != 0}


def _parted(term: Any, symbols: frozenset[Any]) -> tuple[Any, list[Any]]:
    factors = sympy.Mul.make_args(term)
    bound = [factor for factor in factors if not symbols.isdisjoint(factor.free_symbols)]
    return sympy.Mul(*(factor for factor in factors if symbols.isdisjoint(factor.free_symbols))), bound


def _by_derivatives(term: Any, symbols: frozenset[Any]) -> tuple[Any, dict[Any, Any]] | None:
    met = sorted(term.free_symbols & symbols, key=str)
    slopes = {w: sympy.diff(term, w) for w in met}
    if any(not symbols.isdisjoint(slope.free_symbols) for slope in slopes.values()):
        return None
    return term.xreplace(dict.fromkeys(met, sympy.S.Zero)), slopes


class TimeDerivatives:
    """Time derivatives along the motion, by the chain rule through definitions.

    Parameters
    ----------
    definitions : expressions of symbols.
    moving : time derivative of each symbol that moves.
    unknowns : symbols that definitions must not contain.
    """

    def __init__(self, definitions: Definitions, moving: Mapping[Any, Any], unknowns: Collection[Any]) -> None:
        self.definitions, self.unknowns = definitions, unknowns
        self.rates = dict(moving)

    def time_derivative(self, expression: Any) -> Any:
        for symbol in self.definitions.needed([expression]):
            if symbol not in self.rates:
                slope = self._chain(self.definitions.expressions[symbol])
                self.rates[symbol] = self.definitions.shorten(f"{symbol.name}'", slope, self.unknowns)
        return self._chain(expression)

    def _chain(self, expression: Any) -> Any:
        moving = sorted(expression.free_symbols & self.rates.keys(), key=str)
        slopes = ((s, self.rates[s]) for s in moving)
        return sympy.Add(*(sympy.diff(expression, s) * slope for s, slope in slopes if slope != 0))
