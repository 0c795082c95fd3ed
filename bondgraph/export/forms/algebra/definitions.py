"""Definitions: expressions that grow too long in; symbols that stand for them, each defined once in a line of its own, out."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import sympy

from bondgraph.export.forms.algebra.canonical import exact
from bondgraph.export.forms.closed_form import LinearSystem


class Definitions:
    """Names given so far, in the order in which they can be evaluated; and the numbers that formulas brought.

    Parameters
    ----------
    taken : names that are something else.
    longest : operations of an expression beyond which it is named.
    """

    def __init__(self, taken: Collection[str], longest: int) -> None:
        self.taken = set(taken)
        self.longest = longest
        self.meant: dict[Any, Any] = {}
        """Symbol -> the expression that it stands for."""
        self.of: dict[Any, str] = {}
        """Symbol -> the value that it is of, where it is a whole one and not a common part of several."""
        self.systems: list[LinearSystem] = []
        self.floats: set[float] = set()
        self._symbols: dict[Any, Any] = {}
        self._numbers = itertools.count(1)

    def exactly(self, scalar: Any) -> Any:
        """A scalar with every float as the rational number that it stands for."""
        scalar = sympy.S(scalar)
        self.floats |= {float(number) for number in scalar.atoms(sympy.Float)}
        return exact(scalar)

    def fresh(self, name: str) -> Any:
        """A new symbol of this name, numbered if there is one."""
        number, free = 1, name
        while free in self.taken:
            number, free = number + 1, f"{name} ({number + 1})"
        self.taken.add(free)
        symbol = sympy.Symbol(free, real=True)
        self.of[symbol] = name
        return symbol

    def _part(self) -> Any:
        """A new symbol for a common part: s1, s2 ..."""
        name = next(free for k in self._numbers if (free := f"s{k}") not in self.taken)
        self.taken.add(name)
        return sympy.Symbol(name, real=True)

    def named(self, name: str, expression: Any) -> Any:
        """The symbol that stands for an expression, of this name if it has none; "" for a common part of several values.

        A sign stays outside."""
        if expression.is_Atom or (-expression).is_Atom:
            return expression
        known = self._symbols.get(expression)
        if known is not None:
            return known
        opposite = self._symbols.get(-expression)
        if opposite is not None:
            return -opposite
        symbol = self.fresh(name) if name else self._part()
        self.meant[symbol] = expression
        self._symbols[expression] = symbol
        return symbol

    def short(self, name: str, expression: Any, sought: Collection[Any], longest: int | None = None) -> Any:
        """The expression, or the symbol that stands for it if it is long; of one that is linear in symbols that are `sought`,
        which are no part of a definition before they are found, its coefficients."""
        if sympy.count_ops(expression) <= (self.longest if longest is None else longest):
            return expression
        split = linear_in(expression, sought)
        if split is None:
            return expression
        constant, slopes = split
        if not slopes:
            return self.named(name, constant)
        return sympy.Add(self.named("", constant), *(self.named("", slope) * w for w, slope in slopes.items()))

    def mark(self) -> int:
        """How many there are, for `forget`."""
        return len(self.meant)

    def forget(self, mark: int, used: Iterable[Any]) -> None:
        """Drop what came after a mark and is not needed by the expressions that are used, nor by a system."""
        roots = [*used, *(e for system in self.systems for e in (*system.A, *system.b))]
        kept = self.needed(roots)
        for symbol in list(self.meant)[mark:]:
            if symbol not in kept:
                del self._symbols[self.meant.pop(symbol)]
                self.taken.discard(symbol.name)

    def needed(self, expressions: Iterable[Any]) -> dict[Any, Any]:
        """Definitions that expressions follow from, in their order."""
        systems = {name: system for system in self.systems for name in system.unknowns}
        todo, found = [s for e in expressions for s in e.free_symbols], set[Any]()
        while todo:
            symbol = todo.pop()
            if symbol in found:
                continue
            found.add(symbol)
            if symbol in self.meant:
                todo += self.meant[symbol].free_symbols
            elif symbol.name in systems:
                system = systems[symbol.name]
                todo += system.A.free_symbols | system.b.free_symbols
        return {symbol: meant for symbol, meant in self.meant.items() if symbol in found}

    def needed_systems(self, expressions: Iterable[Any]) -> list[LinearSystem]:
        """Systems whose unknowns occur in expressions."""
        names = {symbol.name for expression in expressions for symbol in expression.free_symbols}
        return [system for system in self.systems if names & set(system.unknowns)]


def linear_in(expression: Any, sought: Collection[Any]) -> tuple[Any, dict[Any, Any]] | None:
    """Constant and coefficients of an expression that is linear in the symbols sought; None if it is not."""
    constant: list[Any] = []
    slopes: dict[Any, list[Any]] = {}
    # term by term: most have one factor with unknowns, and derivatives of long sums by each of many are slow
    todo = [(term, sympy.S.One) for term in sympy.Add.make_args(expression)]
    wanted = frozenset(sought)
    while todo:
        term, factor = todo.pop()
        if term in wanted:
            slopes.setdefault(term, []).append(factor)
        elif wanted.isdisjoint(term.free_symbols):
            constant.append(term * factor)
        else:
            free, bound = _parted(term, wanted)
            if len(bound) != 1 or not (bound[0].is_Add or bound[0].is_Symbol):
                whole = _by_derivatives(term, wanted)
                if whole is None:
                    return None
                constant.append(whole[0] * factor)
                for w, slope in whole[1].items():
                    slopes.setdefault(w, []).append(slope * factor)
            else:
                todo += [(inner, free * factor) for inner in sympy.Add.make_args(bound[0])]
    found = {w: sympy.Add(*slopes[w]) for w in sorted(slopes, key=str)}
    return sympy.Add(*constant), {w: slope for w, slope in found.items() if slope != 0}


def _parted(term: Any, wanted: frozenset[Any]) -> tuple[Any, list[Any]]:
    """Product of the factors without the symbols wanted, and the factors with them."""
    factors = sympy.Mul.make_args(term)
    bound = [factor for factor in factors if not wanted.isdisjoint(factor.free_symbols)]
    return sympy.Mul(*(factor for factor in factors if wanted.isdisjoint(factor.free_symbols))), bound


def _by_derivatives(term: Any, wanted: frozenset[Any]) -> tuple[Any, dict[Any, Any]] | None:
    """The same for any expression."""
    met = sorted(term.free_symbols & wanted, key=str)
    slopes = {w: sympy.diff(term, w) for w in met}
    if any(not wanted.isdisjoint(slope.free_symbols) for slope in slopes.values()):
        return None
    return term.xreplace(dict.fromkeys(met, sympy.S.Zero)), slopes


class Slopes:
    """Time derivatives along the motion, by the chain rule through definitions.

    Parameters
    ----------
    definitions : what symbols stand for.
    moving : symbol -> its time derivative.
    sought : symbols that no definition may contain.
    """

    def __init__(self, definitions: Definitions, moving: Mapping[Any, Any], sought: Collection[Any]) -> None:
        self.definitions, self.sought = definitions, sought
        self.known = dict(moving)

    def along(self, expression: Any) -> Any:
        """Time derivative of an expression."""
        for symbol in self.definitions.needed([expression]):
            if symbol not in self.known:
                slope = self._chain(self.definitions.meant[symbol])
                self.known[symbol] = self.definitions.short(f"{symbol.name}'", slope, self.sought)
        return self._chain(expression)

    def _chain(self, expression: Any) -> Any:
        moving = sorted(expression.free_symbols & self.known.keys(), key=str)
        slopes = ((s, self.known[s]) for s in moving)
        return sympy.Add(*(sympy.diff(expression, s) * slope for s, slope in slopes if slope != 0))
