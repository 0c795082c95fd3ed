"""Rings of junctions whose strokes are consistent at every junction, although the values that elements set around the ring depend
on each other.

Two capacitors in parallel between two nodes, both in integral causality, set one voltage twice; a ring of capacitors, coils in
series between two 1-junctions, and closed switches do the same. Strokes do not show this: each junction has one deciding stroke.
The equations of the junctions, two-ports and resistors of such a ring are singular, and their left null vector names the
elements. Ratios and resistances are replaced by random numbers modulo a prime, so that parameter values do not matter.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bondgraph.causality.strokes import Strokes
from bondgraph.model.laws import Ratio, Resistor, SkewGyrator, Variable
from bondgraph.model.model import Model

PRIME = 2**61 - 1
MAX_RING = 2000
"""Maximum number of variables of a ring to examine."""

Row = dict[int, int]
"""Coefficients by variable. The effort of bond i is variable 2 i, its flow 2 i + 1."""


def has_ring(strokes: Strokes) -> bool:
    parent: dict[str, str] = {path: path for path in strokes.nodes}

    def find(path: str) -> str:
        while parent[path] != path:
            parent[path] = path = parent[parent[path]]
        return path

    for bond in strokes.bonds:
        tail, head = bond.tail.element, bond.head.element
        if tail in parent and head in parent:
            one, other = find(tail), find(head)
            if one == other:
                return True
            parent[one] = other
    return False


@dataclass(frozen=True)
class Ring:
    """Elements that set interdependent values around a ring, in the order of the model; and a sum of these values, with signs,
    that is always zero. Both are empty if there is no ring; the sum is also empty if it has factors other than 1 and -1, or if an
    algebraic loop contributes to it."""

    elements: tuple[str, ...] = ()
    sum: Mapping[int, int] = field(default_factory=dict)


def dependent_elements(model: Model, strokes: Strokes) -> Ring:
    rows = _equations(model, strokes)
    parts = _connected_parts(rows)
    position = {variable: k for k, part in enumerate(parts) for variable in part}
    for part in parts:
        if len(part) < 2 or len(part) > MAX_RING:
            continue
        null = _left_null_vector(part, rows)
        if null:
            elements, total = _setters(null, rows, parts, position, strokes)
            return Ring(tuple(path for path in model.elements if path in elements), _signs(total))
    return Ring()


def _signs(total: Row) -> Row:
    """Return the factors of a sum modulo the prime as 1 and -1; empty if any other factor remains after division by a common
    factor."""
    inverse = pow(next(iter(total.values())), -1, PRIME) if total else 0
    signs = {variable: factor * inverse % PRIME for variable, factor in total.items()}
    small = {1: 1, PRIME - 1: -1}
    return {variable: small[value] for variable, value in signs.items()} if set(signs.values()) <= small.keys() else {}


@dataclass(frozen=True)
class Term:
    """A term of a sum: its sign, a variable of a bond, and its ratios (element, exponent 1 or -1)."""

    sign: int
    bond: str
    variable: Variable
    ratios: tuple[tuple[str, int], ...] = ()


def tie_of(model: Model, strokes: Strokes, path: str, ring: Ring) -> tuple[str, tuple[Term, ...]] | None:
    """Return the junction that computes the input of a dependent element of a ring, and this input as a sum of variables that
    elements set; None if it also depends on other variables. In the sum that the junctions form, the unknowns cancel."""
    sums, ratios = _sums(strokes), _ratios(model, strokes)
    bond = model.bonds_by_port(path)[0]
    i = strokes.index[bond.name]
    variable = 2 * i + (0 if strokes.into_head[i] == (bond.head.element == path) else 1)
    taken = variable
    while variable in sums.shared:
        variable = sums.shared[variable]
    if taken in ring.sum and variable in sums.balances:
        sign = -ring.sum[taken]
        others = {other: sign * factor for other, factor in ring.sum.items() if other != taken}
        return _computing_junction(strokes, variable), tuple(_term(strokes, other, factor) for other, factor in others.items())
    while variable in sums.shared or variable in ratios:
        variable = sums.shared[variable] if variable in sums.shared else ratios[variable].argument
    counts: dict[_Monomial, int] = {}
    for key, count in _expanded(variable, sums, ratios, {}).items():
        counts[key] = counts.get(key, 0) + count
    terms = []
    for (leaf, powers), count in counts.items():
        end = strokes.bonds[leaf // 2]
        if abs(count) > 1 or all(each.element in strokes.nodes for each in end.ends):
            return None
        if count:
            terms.append(_term(strokes, leaf, count, powers))
    return (_computing_junction(strokes, variable), tuple(terms)) if terms and variable in sums.balances else None


def _term(strokes: Strokes, variable: int, sign: int, ratios: tuple[tuple[str, int], ...] = ()) -> Term:
    return Term(sign, strokes.bonds[variable // 2].name, "flow" if variable % 2 else "effort", ratios)


def _computing_junction(strokes: Strokes, variable: int) -> str:
    """Return the junction whose balance gives a variable: the flow of a 0-junction, the effort of a 1-junction. On a bond between
    two junctions, each may compute one variable."""
    nodes = [strokes.nodes[end.element] for end in strokes.bonds[variable // 2].ends if end.element in strokes.nodes]
    return next(node.path for node in nodes if node.strong_takes_effort is bool(variable % 2) and node.strong == variable // 2)


_Monomial = tuple[int, tuple[tuple[str, int], ...]]


def _expanded(
    variable: int, sums: _Sums, ratios: Mapping[int, _Ratio], memo: dict[int, dict[_Monomial, int]]
) -> dict[_Monomial, int]:
    """Expand a variable into a sum, through junctions and scalar ratios; a variable on a cycle of equations is not expanded."""
    if variable in memo:
        return memo[variable]
    memo[variable] = {(variable, ()): 1}
    total: dict[_Monomial, int] = {}
    if variable in ratios:
        ratio = ratios[variable]
        for (leaf, powers), count in _expanded(ratio.argument, sums, ratios, memo).items():
            total[leaf, _times(powers, ratio.path, ratio.exponent)] = ratio.sign * count
    elif variable in sums.shared or variable in sums.balances:
        terms = sums.balances.get(variable) or {sums.shared[variable]: 1}
        for other, sign in terms.items():
            for key, count in _expanded(other, sums, ratios, memo).items():
                total[key] = total.get(key, 0) + sign * count
        total = {key: count for key, count in total.items() if count}
    else:
        return memo[variable]
    memo[variable] = total
    return total


def _times(powers: tuple[tuple[str, int], ...], path: str, exponent: int) -> tuple[tuple[str, int], ...]:
    if (path, -exponent) in powers:
        k = powers.index((path, -exponent))
        return powers[:k] + powers[k + 1 :]
    return tuple(sorted((*powers, (path, exponent))))


@dataclass(frozen=True)
class _Sums:
    """Equations of junctions: for each variable, the variable that it equals, or the variables whose signed sum it equals."""

    shared: dict[int, int]
    balances: dict[int, Row]


class _Ratio(NamedTuple):
    """Equation of a two-port: sign times ratio^exponent times the argument."""

    argument: int
    sign: int
    path: str
    exponent: int


def _sums(strokes: Strokes) -> _Sums:
    shared, balances = dict[int, int](), dict[int, Row]()
    for node in strokes.nodes.values():
        if node.strong_takes_effort is None:
            continue
        common, balance = (0, 1) if node.strong_takes_effort else (1, 0)
        at_head = dict(node.bonds)[node.strong]
        weak = [(i, head) for i, head in node.bonds if i != node.strong]
        shared |= {2 * i + common: 2 * node.strong + common for i, _ in weak}
        balances[2 * node.strong + balance] = {2 * i + balance: -1 if head == at_head else 1 for i, head in weak}
    return _Sums(shared, balances)


def _ratios(model: Model, strokes: Strokes, every: bool = False) -> dict[int, _Ratio]:
    out: dict[int, _Ratio] = {}
    for path, node in strokes.nodes.items():
        if node.strong_takes_effort is not None or not (every or model.elements[path].law_as(Ratio).invertible):
            continue
        (one, first), (two, second) = node.bonds
        s1, s2 = (1 if first else -1), (1 if second else -1)
        if node.is_gyrator:
            flow, exponent = (1, 1) if strokes.into_head[one] != first else (0, -1)
            out[2 * one + 1 - flow] = _Ratio(2 * two + flow, -s2 if flow else s1, path, exponent)
            out[2 * two + 1 - flow] = _Ratio(2 * one + flow, s1 if flow else -s2, path, exponent)
        elif strokes.into_head[two] == second:
            out[2 * two + 1], out[2 * one] = _Ratio(2 * one + 1, -s1 * s2, path, 1), _Ratio(2 * two, 1, path, 1)
        else:
            out[2 * one + 1], out[2 * two] = _Ratio(2 * two + 1, -s1 * s2, path, -1), _Ratio(2 * one, 1, path, -1)
    return out


def _equations(model: Model, strokes: Strokes) -> dict[int, Row]:
    numbers, sums = random.Random(1), _sums(strokes)
    rows = {variable: {other: 1} for variable, other in sums.shared.items()} | sums.balances
    drawn = {path: numbers.randrange(2, PRIME) for path in strokes.nodes}
    for variable, ratio in _ratios(model, strokes, every=True).items():
        rows[variable] = {ratio.argument: ratio.sign * pow(drawn[ratio.path], ratio.exponent, PRIME)}
    for path, element in model.elements.items():
        if isinstance(element.law, (Resistor, SkewGyrator)):
            bond = model.bonds_at(path)[0]
            i = strokes.index[bond.name]
            takes_effort = int(strokes.into_head[i] == (bond.head.element == path))
            rows[2 * i + takes_effort] = {2 * i + 1 - takes_effort: numbers.randrange(2, PRIME)}
    return rows


def _connected_parts(rows: Mapping[int, Row]) -> list[list[int]]:
    """Return the strongly connected components of the variables (Tarjan), each after the components on which it depends."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    waiting: list[int] = []
    is_open: set[int] = set()
    parts: list[list[int]] = []
    for root in rows:
        if root in index:
            continue
        stack = [(root, iter(rows[root]))]
        index[root] = low[root] = len(index)
        waiting.append(root)
        is_open.add(root)
        while stack:
            variable, others = stack[-1]
            for other in others:
                if other not in index:
                    index[other] = low[other] = len(index)
                    waiting.append(other)
                    is_open.add(other)
                    stack.append((other, iter(rows.get(other, ()))))
                    break
                if other in is_open:
                    low[variable] = min(low[variable], index[other])
            else:
                stack.pop()
                if stack:
                    low[stack[-1][0]] = min(low[stack[-1][0]], low[variable])
                if low[variable] == index[variable]:
                    part = [waiting.pop()]
                    while part[-1] != variable:
                        part.append(waiting.pop())
                    is_open -= set(part)
                    parts.append(part)
    return parts


def _left_null_vector(part: Sequence[int], rows: Mapping[int, Row]) -> Row:
    """Return a combination of the equations of a part in which the variables of the part cancel; empty if the equations are
    independent."""
    inside = set(part)
    pivots: dict[int, tuple[Row, Row]] = {}
    for variable in part:
        row: Row = {variable: 1}
        for other, factor in rows[variable].items():
            if other in inside:
                row[other] = (row.get(other, 0) - factor) % PRIME
        row, combination = {k: v for k, v in row.items() if v}, {variable: 1}
        while row:
            column = next((k for k in row if k in pivots), None)
            if column is None:
                pivots[next(iter(row))] = row, combination
                break
            other_row, other_combination = pivots[column]
            factor = row[column] * pow(other_row[column], -1, PRIME) % PRIME
            row = _minus(row, other_row, factor)
            combination = _minus(combination, other_combination, factor)
        else:
            return combination
    return {}


def _minus(row: Row, other: Row, factor: int) -> Row:
    out = dict(row)
    for k, value in other.items():
        out[k] = (out.get(k, 0) - factor * value) % PRIME
    return {k: v for k, v in out.items() if v}


def _setters(
    null: Row, rows: Mapping[int, Row], parts: Sequence[Sequence[int]], position: Mapping[int, int], strokes: Strokes
) -> tuple[set[str], Row]:
    """Return, for a combination of equations in which the variables of a part cancel, the elements that set the other variables
    of the combination, and the sum of these variables; the sum is empty if it contains an algebraic loop."""
    weights: Row = {}
    inside = set(parts[position[next(iter(null))]])
    for variable, factor in null.items():
        _add(weights, rows[variable].items(), factor, inside)
    elements: set[str] = set()
    total: Row = {}
    loops = False
    while weights:
        variable = max(weights, key=lambda v: position.get(v, -1))
        factor = weights.pop(variable)
        if variable not in rows:
            bond = strokes.bonds[variable // 2]
            ends = [end.element for end in bond.ends if end.element not in strokes.nodes]
            elements |= set(ends) if factor else set()
            total |= {variable: factor} if factor else {}
        elif len(parts[position[variable]]) > 1:  # an algebraic loop depends on everything that enters it
            loops = True
            loop = set(parts[position[variable]])
            for other in loop:
                weights.pop(other, None)
                _add(weights, rows[other].items(), factor, loop)
        elif factor:
            _add(weights, rows[variable].items(), factor, ())
    return elements, {} if loops else total


def _add(weights: Row, terms: Iterable[tuple[int, int]], factor: int, inside: Iterable[int]) -> None:
    for variable, value in terms:
        if variable not in inside:
            weights[variable] = (weights.get(variable, 0) + factor * value) % PRIME
