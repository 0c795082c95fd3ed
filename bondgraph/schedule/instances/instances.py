"""Instances: numbered statements of a model with few patterns of elements, each with all its instances in arrays.

`assemble` writes the statements of one element after the other by name; here each pattern holds them once, with the values of
each element. Values are numbered in the order in which `assemble` declares them, statements in the order in which it writes them.
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
from bondgraph.model.expected_units import unit_conversions
from bondgraph.model.model import Model
from bondgraph.model.ops import Op

MIN_ELEMENTS, MIN_PATTERN_ELEMENTS = 300, 8
"""Minimum numbers of elements, in total and per pattern, for which arrays pay off."""


@dataclass(frozen=True, eq=False)
class PatternInstances:
    """A pattern and its elements: the elements' numbers (n,), and values (n, positions) at the positions of the pattern."""

    pattern: Pattern
    elements: np.ndarray
    bonds: np.ndarray
    rows: np.ndarray
    first: np.ndarray
    """Number of the first statement of each element (n,)."""


@dataclass(frozen=True, eq=False)
class StatementInstances:
    """A statement with all its instances: numbers (n,), results (n, results) and arguments (n, arguments)."""

    op: Op
    numbers: np.ndarray
    outs: np.ndarray
    args: np.ndarray
    negative: bool
    """True if its result is named "-x", as the negative of a value x."""


@dataclass(frozen=True, eq=False)
class Instances:
    """A model as patterns of elements; its values are time, the variables of bonds, and values declared by elements."""

    model: Model
    kinds: tuple[PatternInstances, ...]
    starts: np.ndarray
    """Number of the first value that each element declares, followed by the number of all values (elements + 1,)."""
    statements: int

    @property
    def values(self) -> int:
        return int(self.starts[-1])

    @cached_property
    def paths(self) -> list[str]:
        return list(self.model.elements)

    @cached_property
    def _kind_of(self) -> list[PatternInstances]:
        kinds: list[PatternInstances] = [*self.kinds[:1]] * len(self.paths)
        for kind in self.kinds:
            for element in kind.elements.tolist():
                kinds[element] = kind
        return kinds

    @cached_property
    def _row_of(self) -> list[int]:
        rows = np.zeros(len(self.paths), dtype=int)
        for kind in self.kinds:
            rows[kind.elements] = np.arange(len(kind.elements))
        return [*rows.tolist()]

    @cached_property
    def _starts(self) -> list[int]:
        return [*self.starts.tolist()]

    def name(self, value: int) -> str:
        if value < self._starts[0]:
            bond, is_flow = divmod(value - 1, 2)
            return f"{self.model.bonds[bond].name}:{'flow' if is_flow else 'effort'}" if value else "time"
        element = bisect_right(self._starts, value) - 1
        kind, position = self._kind_of[element], value - self._starts[element]
        mark = kind.pattern.marks[position]
        if not mark:
            return kind.pattern.texts[position] % self.paths[element]
        bond = int(kind.bonds[self._row_of[element], mark - 1])
        return kind.pattern.texts[position] % self.model.bonds[bond].name

    def at(self, positions: Callable[[Pattern], Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
        """Return the values (k,) at these positions of the patterns, sorted by element, and the element of each value (k,)."""
        rows = [kind.rows[:, [*positions(kind.pattern)]] for kind in self.kinds]
        elements = np.concatenate([np.repeat(kind.elements, row.shape[1]) for kind, row in zip(self.kinds, rows, strict=True)])
        order = np.argsort(elements, kind="stable")
        return np.concatenate([row.ravel() for row in rows])[order], elements[order]

    @property
    def states(self) -> np.ndarray:
        return self.at(lambda pattern: [state for state, *_ in pattern.states])[0]

    @property
    def parameters(self) -> np.ndarray:
        return self.at(lambda pattern: pattern.parameters)[0]

    def columns(self) -> list[StatementInstances]:
        statements = []
        for kind in self.kinds:
            for index, (outs, op, args) in enumerate(kind.pattern.statements):
                new = len(kind.pattern.texts)
                negative = outs[0] < new and kind.pattern.texts[outs[0]].startswith("-")
                numbers = kind.first + index
                statements.append(StatementInstances(op, numbers, kind.rows[:, list(outs)], kind.rows[:, list(args)], negative))
        return statements

    def equal_values(self) -> np.ndarray:
        pairs = [kind.rows[:, list(pair)] for kind in self.kinds for pair in kind.pattern.equal]
        return np.concatenate(pairs) if pairs else np.zeros((0, 2), dtype=int)


@dataclass(eq=False)
class _Members:
    elements: list[int] = field(default_factory=list)
    bonds: list[int] = field(default_factory=list)


def instances(model: Model, causality: Causality) -> Instances | None:
    if (
        len(model.elements) < MIN_ELEMENTS
        or model.automata
        or causality.derivative
        or any(True for _ in unit_conversions(model))
        or {bond.dimension for bond in model.bonds} != {1}
    ):
        return None
    patterns = Patterns(model, causality, frozenset())
    index = {bond.name: number for number, bond in enumerate(model.bonds)}
    by_pattern: dict[Hashable, _Members] = {}
    for number, (path, element) in enumerate(model.elements.items()):
        bonds = model.bonds_at(path)
        key = None if element.signals else patterns.key(path, element, bonds)
        if key is None:
            return None
        members = by_pattern.get(key)
        if members is None:
            members = by_pattern[key] = _Members()
        members.elements.append(number)
        members.bonds += [index[bond.name] for bond in bonds]
    if MIN_PATTERN_ELEMENTS * len(by_pattern) > len(model.elements):
        return None
    return _numbered(model, causality, list(by_pattern.values()))


def _numbered(model: Model, causality: Causality, groups: Sequence[_Members]) -> Instances | None:
    paths, elements = list(model.elements), list(model.elements.values())
    patterns = []
    sizes, counts = (np.zeros(len(paths) + 1, dtype=int) for _ in range(2))
    for members in groups:
        first = members.elements[0]
        pattern = pattern_of(model, causality, paths[first], elements[first], write_element)
        if any(value.shape != () for value in pattern.values):
            return None
        numbers = np.array(members.elements)
        sizes[numbers + 1], counts[numbers + 1] = len(pattern.texts), len(pattern.statements)
        patterns.append((pattern, numbers, np.array(members.bonds, dtype=int).reshape(len(numbers), -1)))
    sizes[0] = 1 + 2 * len(model.bonds)
    starts, firsts = np.cumsum(sizes), np.cumsum(counts)
    kinds = []
    for pattern, numbers, bonds in patterns:
        declared = starts[numbers][:, None] + np.arange(len(pattern.texts))
        variables = (1 + 2 * bonds[:, :, None] + np.arange(2)).reshape(len(numbers), -1)
        kinds.append(PatternInstances(pattern, numbers, bonds, np.hstack([declared, variables]), firsts[numbers]))
    return Instances(model, tuple(kinds), starts, int(firsts[-1]))
