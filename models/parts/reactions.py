"""Stoichiometry of a reaction network from its text: matrix, conserved moieties, cycles with their affinities, and constants.

A line is a reaction, "2 A + B <-> C : kf kr" or "C -> A : k", or "A <-> B : kappa" if constants are given. A side without species
is 0 or empty, # starts a comment, and a semicolon may end a line. Rates are numbers, or names of `rates`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import exp, inf, isfinite, lcm, log, nan, prod
from numbers import Real
from types import MappingProxyType
from typing import Any

import numpy as np

from bondgraph.errors import ModelError, refusal
from screws.errors import plural
from screws.scalars import array

BALANCED = 1e-6
"""Largest affinity of a cycle or a reaction, divided by R T, that is attributed to rounding errors of rates."""
_FORM = 'lines such as "E + S <-> ES : 1e6 0.1" or "ES -> E + P : 5"'
EMPTY: Mapping[str, Any] = MappingProxyType({})
Text = str | Sequence[tuple[Any, ...]]
"""Text of reactions, or rows of a table: the reaction, then its rates."""


@dataclass(frozen=True)
class Reaction:
    reactants: Mapping[str, int]
    products: Mapping[str, int]
    forward: float
    reverse: float | None
    """Reverse rate, or None for a reaction that only runs forward."""
    line: int
    begin: int
    """Column where the reaction begins, from 1."""
    text: str
    rate_names: tuple[str, ...] = ()
    """The words that state the rates: names of rates, or numbers."""

    def column(self, species: str) -> int:
        place = re.search(rf"\b{species}\b", self.text)
        return self.begin + (0 if place is None else place.start())

    @property
    def change(self) -> dict[str, int]:
        changed = {s: self.products.get(s, 0) - self.reactants.get(s, 0) for s in (*self.reactants, *self.products)}
        return {species: count for species, count in changed.items() if count}

    @property
    def log_constant(self) -> float:
        return inf if self.reverse is None else log(self.forward / self.reverse)


@dataclass(frozen=True)
class Stoichiometry:
    """Structure of a reaction network with `held` species, whose amounts are imposed."""

    species: tuple[str, ...]
    reactions: tuple[Reaction, ...]
    held: Mapping[str, float]

    @property
    def free(self) -> tuple[str, ...]:
        return tuple(each for each in self.species if each not in self.held)

    @cached_property
    def matrix(self) -> np.ndarray:
        """Stoichiometric matrix (species, reactions)."""
        return self.rows(self.species)

    def rows(self, species: Sequence[str]) -> np.ndarray:
        row = {each: k for k, each in enumerate(species)}
        matrix = np.zeros((len(species), len(self.reactions)))
        for column, reaction in enumerate(self.reactions):
            for each, count in reaction.change.items():
                if each in row:
                    matrix[row[each], column] = count
        return matrix

    @cached_property
    def moieties(self) -> tuple[dict[str, float], ...]:
        """Conserved sums of free species; each maps species to their factors."""
        return tuple(
            {each: float(n) for each, n in zip(self.free, vector, strict=True) if n}
            for vector in _null_space(self.rows(self.free).T)
        )

    @cached_property
    def cycles(self) -> tuple[dict[int, float], ...]:
        """Combinations of reactions that change no free species; each says how often reactions run, by their indices."""
        return tuple({k: float(n) for k, n in enumerate(vector) if n} for vector in _null_space(self.rows(self.free)))

    @property
    def affinities(self) -> tuple[float, ...]:
        """Affinity, divided by R T, that the held amounts impose on each cycle. It is zero in equilibrium, and infinite with a
        one-way reaction ("->")."""
        held = self.rows(tuple(self.held)).T @ np.log(np.array([*self.held.values()]))
        return tuple(
            sum(n * (self.reactions[k].log_constant - held[k]) for k, n in cycle.items()) if self._reversible(cycle) else inf
            for cycle in self.cycles
        )

    def _reversible(self, cycle: Mapping[int, float]) -> bool:
        return all(self.reactions[k].reverse is not None for k in cycle)

    @property
    def reversible(self) -> bool:
        return all(each.reverse is not None for each in self.reactions)

    def eliminated(self, amounts: Mapping[str, float]) -> dict[str, dict[str, float]]:
        """Return the free species that follow from other species, each as the factors of the other species.

        A moiety whose total is zero sets no scale: its members may become arbitrarily small, and the rounding errors of the fast
        reactions between them exceed the slow change of other species. The member with the most reactions is eliminated.
        """
        count = Counter(each for reaction in self.reactions for each in reaction.change)
        follow: dict[str, dict[str, float]] = {}
        used: set[str] = set()
        for moiety in self.moieties:
            if not used & moiety.keys() and sum(n * amounts.get(each, 0.0) for each, n in moiety.items()) == 0.0:
                used |= moiety.keys()
                out = max(moiety, key=lambda each: count[each])
                follow[out] = {each: -n / moiety[out] for each, n in moiety.items() if each != out}
        return follow

    def constants(self, name: str, fixed: Mapping[str, float]) -> dict[str, float]:
        """Return the constants K of the species in mu = R T ln(K q) that satisfy detailed balance, ln(kf / kr) = -N^T ln K;
        of several solutions, the one with the least norm of ln K. Raise E572 if the rates of a cycle have no detailed balance, or
        contradict `fixed` constants."""
        logs = np.array([each.log_constant for each in self.reactions])
        self._refuse_cycles(name, logs)
        others = tuple(each for each in self.species if each not in fixed)
        target = -logs - self.rows(tuple(fixed)).T @ np.log(np.array([*fixed.values()]))
        solved = np.linalg.lstsq(self.rows(others).T, target, rcond=None)[0]
        if (off := np.abs(self.rows(others).T @ solved - target)).max(initial=0.0) > BALANCED:
            reaction = self.reactions[int(np.argmax(off))]
            title = f'{_place(name, reaction.line)}: "{reaction.text}" contradicts the constants of {", ".join(fixed)}'
            why = "kf / kr is the product of K of the reactants divided by the product of K of the products"
            raise refusal("E572", title, "fewer constants, or other rates", about=name, why=why)
        return {**fixed, **{each: exp(value) for each, value in zip(others, solved, strict=True)}}

    def _refuse_cycles(self, name: str, logs: np.ndarray) -> None:
        solved = np.linalg.lstsq(self.matrix.T, logs, rcond=None)[0]
        if np.abs(self.matrix.T @ solved - logs).max(initial=0.0) <= BALANCED:
            return
        cycles = Stoichiometry(self.species, self.reactions, {})
        affinity, cycle = max(zip(cycles.affinities, cycles.cycles, strict=True), key=lambda each: abs(each[0]))
        last = self.reactions[max(cycle)]
        shown = "; ".join(f'{n:g} x "{self.reactions[k].text}"' for k, n in cycle.items())
        title = f"{_place(name, last.line)}: a cycle has no detailed balance: its affinity is {affinity:.6g} R T"
        cure = float(f"{last.reverse * exp(affinity / cycle[max(cycle)]):.9g}")  # type: ignore[operator]
        why = f"without a held species it would run forever: {shown}"
        raise refusal("E572", title, f"kr = {cure!r} in line {last.line}", about=name, why=why)


class MassAction:
    """Rates of a network as a function of the amounts of its species, free species first, then held species.

    Some of the free species follow from the other free species, the `states`, by conserved moieties.
    """

    def __init__(self, net: Stoichiometry, amounts: Mapping[str, float]) -> None:
        self.net = net
        self.follow = net.eliminated(amounts)
        self.states = tuple(each for each in net.free if each not in self.follow)
        self.start = [amounts.get(each, 0.0) for each in self.states]
        self._place = {each: k for k, each in enumerate((*net.free, *net.held))}

    def amounts(self, q: Any) -> list[Any]:
        by_name = dict(zip(self.states, np.ravel(q), strict=True))
        for each, factors in self.follow.items():
            by_name[each] = sum(factor * by_name[other] for other, factor in factors.items())
        return [by_name[each] for each in self.net.free]

    def in_order(self, amounts: Sequence[Any]) -> list[Any]:
        return [amounts[self._place[each]] for each in self.net.species]

    def rates(self, amounts: Sequence[Any], values: Mapping[str, Any] = EMPTY) -> list[Any]:
        """Return the rates of the reactions; `values` replace rates by name."""

        def speed(factor: Any, side: Mapping[str, int]) -> Any:
            return prod((amounts[self._place[s]] for s, n in side.items() for _ in range(n)), start=factor)

        def difference(each: Reaction) -> Any:
            one, other = (values.get(name) for name in (*each.rate_names, "", "")[:2])
            forward = speed(each.forward if one is None else one, each.reactants)
            return forward - (0.0 if each.reverse is None else speed(each.reverse if other is None else other, each.products))

        return [difference(each) for each in self.net.reactions]

    def changes(self, amounts: Sequence[Any], values: Mapping[str, Any] = EMPTY) -> list[Any]:
        total: dict[str, Any] = dict.fromkeys(self.net.species, 0.0)
        for reaction, speed in zip(self.net.reactions, self.rates(amounts, values), strict=True):
            for each, count in reaction.change.items():
                total[each] = total[each] + count * speed
        return [total[each] for each in self.states]


def pack(values: Any) -> Any:
    return array(values) if np.size(values) > 1 else np.ravel(values)[0]


def read_network(
    name: str,
    text: Text,
    held: Mapping[str, float],
    *,
    species: Sequence[str] = (),
    rates: Mapping[str, float] = EMPTY,
    contents: Mapping[str, Mapping[str, float]] = EMPTY,
    constants: Mapping[str, float] = EMPTY,
) -> Stoichiometry:
    """Return the structure of a network; raise E137 for invalid rates or constants, E568 for an unreadable string, E569 for a
    reaction that does not balance, E570 for an unknown species, E571 for a reaction that appears twice."""
    refuse_wrong(name, None, rates=rates, constants=constants)
    reactions = [_reaction(name, number, *line, rates, constants) for number, line in _lines(_as_text(name, text))]
    if not reactions:
        raise refusal("E568", f'network "{name}" has no reactions', _FORM, about=name)
    seen: dict[frozenset[Any], Reaction] = {}
    for each in reactions:
        _refuse_imbalance(name, each, contents)
        sides = (frozenset(each.reactants.items()), frozenset(each.products.items()))
        for way in (sides, sides[::-1])[: 1 if each.reverse is None else 2]:
            if (first := seen.setdefault(frozenset(enumerate(way)), each)) is not each:
                title = f'{_place(name, each.line)}: "{each.text}" is already in line {first.line}'
                raise refusal("E571", title, "one reaction with the sum of the rates", about=name)
        for each_species in {**each.reactants, **each.products} if species else ():
            if each_species not in species:
                title = f'{_place(name, each.line, each.column(each_species))}: unknown species "{each_species}" in "{each.text}"'
                raise refusal("E570", title, f"one of {', '.join(species)}; or add {each_species} to species=", about=name)
    order = (*species, *(s for each in reactions for s in (*each.reactants, *each.products)))
    return Stoichiometry(tuple(dict.fromkeys(order)), tuple(reactions), dict(held))


def _as_text(name: str, text: Text) -> str:
    if isinstance(text, str):
        return text
    try:
        return "\n".join(f"{'' + row[0]} : {' '.join(map(str, row[1:]))}" for row in text)
    except (TypeError, IndexError):
        title = f'the reactions of network "{name}" are {text!r}, which is neither a string nor rows of a table'
        raise refusal("E568", title, _FORM, 'rows such as ("E + S <-> ES", 1e6, 0.1)', about=name) from None


def refuse_wrong(
    name: str, species: Sequence[str] | None, *, least: float = -inf, above: float = -inf, **arguments: Mapping[str, float]
) -> None:
    """Refuse arguments that do not map names to numbers or are out of bounds (E137), or that name other species (E570)."""
    for argument, values in arguments.items():
        if not isinstance(values, Mapping):
            title = f'network "{name}": {argument} are {values!r}, not a dict of names and numbers'
            raise refusal("E137", title, f'{argument}={{"A": 1.0}}', about=name)
        numbers = {each: value if isinstance(value, Real) else nan for each, value in values.items()}
        if bad := {each: values[each] for each, value in numbers.items() if not (least <= value < inf and value > above)}:
            title = f'network "{name}": {argument} has {", ".join(f"{each} = {value!r}" for each, value in bad.items())}'
            cure = "positive numbers" if above >= 0.0 else "non-negative numbers" if least >= 0.0 else "finite numbers"
            raise refusal("E137", title, cure, about=name)
        if species is not None and (strangers := [str(each) for each in values if each not in species]):
            title = f'network "{name}": {argument} has {", ".join(strangers)}, but the species are {", ".join(species)}'
            raise refusal("E570", title, "names of species in the reactions; a held species takes no initial amount", about=name)


def _place(name: str, line: int, column: int = 0) -> str:
    return f'network "{name}", line {line}' + (f", column {column}" if column else "")


def _lines(text: str) -> Iterator[tuple[int, tuple[str, int]]]:
    for number, line in enumerate(text.splitlines(), start=1):
        for part in re.finditer(r"[^;]+", line.partition("#")[0]):
            if part[0].strip():
                yield number, (part[0], part.start())


def _reaction(
    name: str, line: int, text: str, begin: int, rates: Mapping[str, float], constants: Mapping[str, float]
) -> Reaction:
    """Return the reaction of a line; a single rate of a reversible reaction multiplies activities, K q."""

    def wrong(column: int, what: str, cure: str = _FORM) -> ModelError:
        return refusal("E568", f"{_place(name, line, begin + column + 1)}: {what}", cure, about=name, why=text.strip())

    def side(start: int, end: int) -> dict[str, int]:
        counted: dict[str, int] = {}
        at = start
        for term in text[start:end].split("+"):
            column, words = at + len(term) - len(term.lstrip()), term.split()
            at += len(term) + 1
            if words in ([], ["0"]) and "+" not in text[start:end]:
                continue
            factor = words[0] if len(words) == 2 else "1"
            if not words or not re.fullmatch(r"[1-9]\d{0,2}", factor) or not re.fullmatch(r"[A-Za-z]\w*", words[-1]):
                raise wrong(column, f'"{term.strip()}" is neither a species nor a number followed by a species')
            counted[words[-1]] = counted.get(words[-1], 0) + int(factor)
        return counted

    arrow, colon = re.search(r"<?->", text), text.find(":")
    if arrow is None or colon < arrow.end():
        raise wrong(0, "a reaction needs an arrow, <-> or ->, then a colon and its rates")
    words, values = [], []
    for word in re.finditer(r"\S+", text[colon + 1 :]):
        value = rates.get(word[0]) if word[0] in rates else _number(word[0])
        if value is None or not (value > 0 and isfinite(value)):
            named = f', or rates={{"{word[0]}": 1.0}}' if word[0].isidentifier() else ""
            raise wrong(colon + 1 + word.start(), f'"{word[0]}" is not a rate', f"a positive number{named}")
        words.append(word[0])
        values.append(float(value))
    reactants, products = side(0, arrow.start()), side(arrow.end(), colon)
    needed = 2 if arrow[0] == "<->" else 1
    if needed == 2 and len(values) == 1 and constants.keys() >= {*reactants, *products}:
        values = [values[0] * prod(constants[s] ** n for s, n in each.items()) for each in (reactants, products)]
    if len(values) != needed:
        cure = "two rates, or one with constants of all its species" if needed == 2 else _FORM
        raise wrong(colon, f"{plural(len(values), 'rate')}, where {arrow[0]} needs {needed}", cure)
    column = begin + 1 + len(text) - len(text.lstrip())
    reverse, equation = values[1] if needed == 2 else None, text[:colon].strip()
    return Reaction(reactants, products, values[0], reverse, line, column, equation, tuple(words) if len(words) == needed else ())


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


def _refuse_imbalance(name: str, reaction: Reaction, contents: Mapping[str, Mapping[str, float]]) -> None:
    if not reaction.change:
        title = f'{_place(name, reaction.line)}: "{reaction.text}" changes nothing'
        raise refusal("E569", title, "different sides", about=name)
    for what, each in contents.items():
        left, right = (sum(n * each.get(s, 0) for s, n in side.items()) for side in (reaction.reactants, reaction.products))
        if left != right:
            title = f'{_place(name, reaction.line)}: "{reaction.text}" does not balance: {what} {left:g} becomes {right:g}'
            cure = f"other stoichiometric numbers, or another {what} for one of these species: {', '.join(reaction.change)}"
            raise refusal("E569", title, cure, about=name)


def _null_space(matrix: np.ndarray, most: int = 1000) -> Iterator[np.ndarray]:
    """Yield vectors that span the null space of a matrix of integers, by Gauss-Jordan elimination; they have integer entries if a
    denominator up to `most` allows it."""
    a = matrix.astype(float)
    pivots: list[int] = []
    for column in range(a.shape[1]):
        row = len(pivots)
        if row == a.shape[0] or np.abs(a[row:, column]).max() < 1e-9:
            continue
        best = row + int(np.abs(a[row:, column]).argmax())
        a[[row, best]] = a[[best, row]]
        a[row] /= a[row, column]
        a -= np.outer(np.where(np.arange(a.shape[0]) == row, 0.0, a[:, column]), a[row])
        pivots.append(column)
    for column in sorted(set(range(a.shape[1])) - set(pivots)):
        vector = np.zeros(a.shape[1])
        vector[column], vector[pivots] = 1.0, -a[: len(pivots), column]
        vector[np.abs(vector) < 1e-9] = 0.0
        scale = lcm(*(Fraction(float(each)).limit_denominator(most).denominator for each in vector))
        scaled = np.round(scale * vector) if scale <= most else vector
        yield scaled if np.allclose(scaled, scale * vector, rtol=0.0, atol=1e-9 * most) else vector
