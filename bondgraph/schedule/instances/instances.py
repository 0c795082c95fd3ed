"""Instances: a model whose elements are alike in few ways -> its statements by numbers, each with all its instances in arrays.

What `assemble` says in names of one element after the other is here the pattern of each way, and where its elements have their
values. Values are numbered in the order in which `assemble` declares them, statements in that in which it writes them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from bondgraph.assembly.assemble import write_element
from bondgraph.assembly.patterns import Pattern, Patterns, pattern_of
from bondgraph.causality.assign import Causality
from bondgraph.model.model import Model
from bondgraph.model.ops import Op

FEWEST, ALIKE = 300, 8
"""Elements in all, and for each way in which they are alike, from which arrays are worth it."""


@dataclass(frozen=True, eq=False)
class PatternInstances:
    """A pattern and its elements: their numbers (n,), and the rows (n, places) of the values that its places stand for."""

    pattern: Pattern
    elements: np.ndarray
    bonds: np.ndarray
    """(n, bonds) numbers of their bonds."""
    rows: np.ndarray
    first: np.ndarray
    """Number of the first statement of each (n,)."""


@dataclass(frozen=True, eq=False)
class StatementInstances:
    """One statement of a kind with all its instances: their numbers (n,), results (n, results) and arguments (n, arguments)."""

    op: Op
    numbers: np.ndarray
    outs: np.ndarray
    args: np.ndarray
    negative: bool
    """Whether its result is called minus something."""


@dataclass(frozen=True, eq=False)
class Instances:
    """A model by the kinds of its elements; values are time, the variables of bonds, and what elements declare."""

    model: Model
    kinds: tuple[PatternInstances, ...]
    starts: np.ndarray
    """Number of the first value that each element declares, and behind the last of all (elements + 1,)."""
    statements: int

    @property
    def values(self) -> int:
        """Count of all values."""
        return int(self.starts[-1])

    @cached_property
    def paths(self) -> list[str]:
        """Of the elements."""
        return list(self.model.elements)

    @cached_property
    def _kind_of(self) -> list[PatternInstances]:
        found: list[PatternInstances] = [*self.kinds[:1]] * len(self.paths)
        for kind in self.kinds:
            for element in kind.elements.tolist():
                found[element] = kind
        return found

    @cached_property
    def _row_of(self) -> list[int]:
        found = np.zeros(len(self.paths), dtype=int)
        for kind in self.kinds:
            found[kind.elements] = np.arange(len(kind.elements))
        return [*found.tolist()]

    @cached_property
    def _starts(self) -> list[int]:
        return [*self.starts.tolist()]

    def name(self, value: int) -> str:
        """How a value is called."""
        if value < self._starts[0]:
            bond, which = divmod(value - 1, 2)
            return f"{self.model.bonds[bond].name}:{'flow' if which else 'effort'}" if value else "time"
        element = bisect_right(self._starts, value) - 1
        kind, place = self._kind_of[element], value - self._starts[element]
        mark = kind.pattern.marks[place]
        if not mark:
            return kind.pattern.texts[place] % self.paths[element]
        bond = int(kind.bonds[self._row_of[element], mark - 1])
        return kind.pattern.texts[place] % self.model.bonds[bond].name

    def at(self, places: Callable[[Pattern], Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
        """Values (k,) at these places of the patterns, in the order of their elements; and the elements (k,)."""
        rows = [kind.rows[:, [*places(kind.pattern)]] for kind in self.kinds]
        elements = np.concatenate([np.repeat(kind.elements, row.shape[1]) for kind, row in zip(self.kinds, rows, strict=True)])
        order = np.argsort(elements, kind="stable")
        return np.concatenate([row.ravel() for row in rows])[order], elements[order]

    @property
    def states(self) -> np.ndarray:
        """Values that are states."""
        return self.at(lambda pattern: [state for state, *_ in pattern.states])[0]

    @property
    def parameters(self) -> np.ndarray:
        """Values that are parameters."""
        return self.at(lambda pattern: pattern.parameters)[0]

    def columns(self) -> list[StatementInstances]:
        """All statements."""
        found = []
        for kind in self.kinds:
            for place, (outs, op, args) in enumerate(kind.pattern.statements):
                new = len(kind.pattern.texts)
                negative = outs[0] < new and kind.pattern.texts[outs[0]].startswith("-")
                numbers = kind.first + place
                found.append(StatementInstances(op, numbers, kind.rows[:, list(outs)], kind.rows[:, list(args)], negative))
        return found

    def same(self) -> np.ndarray:
        """Pairs (k, 2) of names of one value."""
        pairs = [kind.rows[:, list(pair)] for kind in self.kinds for pair in kind.pattern.equal]
        return np.concatenate(pairs) if pairs else np.zeros((0, 2), dtype=int)


@dataclass(eq=False)
class _Members:
    """Elements of one kind as they are met."""

    elements: list[int] = field(default_factory=list)
    bonds: list[int] = field(default_factory=list)


def instances(model: Model, causality: Causality) -> Instances | None:
    """The instances of a model; None where its elements are alike in too many ways, or are not all plain: of scalars, without
    modes and signals, their states kept."""
    if len(model.elements) < FEWEST or model.automata or causality.derivative or {bond.dimension for bond in model.bonds} != {1}:
        return None
    patterns = Patterns(model, causality, frozenset())
    index = {bond.name: number for number, bond in enumerate(model.bonds)}
    met: dict[Hashable, _Members] = {}
    for number, (path, element) in enumerate(model.elements.items()):
        bonds = model.bonds_at(path)
        key = None if element.signals else patterns.key(path, element, bonds)
        if key is None:
            return None
        members = met.get(key)
        if members is None:
            members = met[key] = _Members()
        members.elements.append(number)
        members.bonds += [index[bond.name] for bond in bonds]
    if ALIKE * len(met) > len(model.elements):
        return None
    return _numbered(model, causality, list(met.values()))


def _numbered(model: Model, causality: Causality, met: Sequence[_Members]) -> Instances | None:
    paths, elements = list(model.elements), list(model.elements.values())
    made = []
    sizes, counts = (np.zeros(len(paths) + 1, dtype=int) for _ in range(2))
    for members in met:
        own = members.elements[0]
        pattern = pattern_of(model, causality, paths[own], elements[own], write_element)
        if any(value.shape != () for value in pattern.values):
            return None
        places = np.array(members.elements)
        sizes[places + 1], counts[places + 1] = len(pattern.texts), len(pattern.statements)
        made.append((pattern, places, np.array(members.bonds, dtype=int).reshape(len(places), -1)))
    sizes[0] = 1 + 2 * len(model.bonds)
    starts, firsts = np.cumsum(sizes), np.cumsum(counts)
    kinds = []
    for pattern, places, bonds in made:
        own = starts[places][:, None] + np.arange(len(pattern.texts))
        variables = (1 + 2 * bonds[:, :, None] + np.arange(2)).reshape(len(places), -1)
        kinds.append(PatternInstances(pattern, places, bonds, np.hstack([own, variables]), firsts[places]))
    return Instances(model, tuple(kinds), starts, int(firsts[-1]))
