"""Patterns: copy the statements of identical elements from the first of them, by replacing names.

Elements are identical if they differ only in names and parameter values: they have the same law, formulas, units and shapes of
parameters, and the same kinds, directions and causality of bonds. The statements of one element are written with placeholders as
names, a template for all other elements.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np

from bondgraph.assembly.draft import Assembly, filled
from bondgraph.assembly.formula_keys import formula_key
from bondgraph.assembly.system import Power, State, Statement, Value
from bondgraph.causality.assign import Causality
from bondgraph.model import laws
from bondgraph.model.dissipation import HeatFlow
from bondgraph.model.element import Element
from bondgraph.model.model import Bond, End, Model
from bondgraph.model.ops import Op

Names = Sequence[str]
Pick = Callable[[Names], tuple[str, ...]]
Write = Callable[[Assembly, str, Element], None]

_PATTERN_LAWS = (
    *(laws.Storage, laws.Resistor, laws.Reaction, laws.Source, laws.Transformer, laws.Gyrator, laws.Junction),
    HeatFlow,
)
"""Laws whose statements depend only on their element, its bonds and their causality."""


@dataclass(frozen=True, eq=False)
class Pattern:
    """Template for adding identical elements to a draft. Numbers are indices into all names: first new values, then the variables
    of the bonds, then the signals."""

    texts: tuple[str, ...]
    """The new names, each with one `%s`."""
    marks: tuple[int, ...]
    """Index into (path, *bonds) of the name for each `%s`."""
    values: tuple[Value, ...]
    statements: tuple[tuple[tuple[int, ...], Op, tuple[int, ...]], ...]
    equal: tuple[tuple[int, int], ...]
    states: tuple[tuple[int, int, tuple[int, ...], bool], ...]
    """Entries (state, rate, shape, held), one for each state."""
    parameters: tuple[int, ...]
    energies: tuple[int, ...]
    powers: tuple[tuple[int, str], ...]

    def write(self, draft: Assembly, path: str, element: Element, bonds: Names, variables: Iterable[str]) -> None:
        text, marked, statements, equal = self._writers
        names = (*(text % marked((path, *bonds))).split("\n"), *variables, *element.signals)
        draft.values.update(zip(names, self.values, strict=False))
        draft.equal += [pair(names) for pair in equal]  # type: ignore[misc]
        draft.statements += [Statement(outs(names), op, args(names), path) for outs, op, args in statements]
        for index, parameter in zip(self.parameters, element.parameters.values(), strict=True):
            draft.parameters[names[index]] = np.asarray(parameter.value, dtype=float)
        for state, rate, shape, held in self.states:
            draft.states.append(state_of(element, names[state], names[rate], shape, held))
        for stored in self.energies:
            draft.energies.append((path, names[stored]))
        for power, role in self.powers:
            draft.powers.append(Power(path, names[power], role))

    @cached_property
    def _writers(self) -> tuple[str, Callable[[Names], Any], list[tuple[Pick, Op, Pick]], list[Pick]]:
        statements = [(_picking(outs), op, _picking(args)) for outs, op, args in self.statements]
        return "\n".join(self.texts), itemgetter(*self.marks), statements, [_picking(pair) for pair in self.equal]


def state_of(element: Element, name: str, rate: str, shape: tuple[int, ...], held: bool) -> State:
    spec = element.law_as(laws.Storage).spec
    hint = 0.0 if spec.nominal is None else spec.nominal
    return State(name, filled(spec.initial, shape), filled(hint, shape), rate, held=held)


@dataclass(eq=False)
class Patterns:
    """Patterns of a model's elements by key; a pattern is built for the second element with a key."""

    model: Model
    causality: Causality
    custom: frozenset[type[laws.Law]]
    patterns: dict[Hashable, Pattern | None] = field(default_factory=dict)
    law_keys: dict[int, Hashable] = field(default_factory=dict)
    ops: dict[int, int] = field(default_factory=dict)
    formulas: dict[Hashable, int] = field(default_factory=dict)
    kinds: dict[str, int] = field(default_factory=dict)
    """Index of each bond's kind; bonds of one kind differ only in name and ends."""

    def __post_init__(self) -> None:
        kinds: dict[Hashable, int] = {}
        into = self.causality.effort_into_head
        for bond in self.model.bonds:
            kind = (bond.dimension, id(bond.domain), bond.frame, into[bond.name])
            self.kinds[bond.name] = 2 * kinds.setdefault(kind, len(kinds))

    def write(self, draft: Assembly, path: str, element: Element, write: Write) -> None:
        bonds = self.model.bonds_at(path)
        key = self.key(path, element, bonds)
        if key is None or key not in self.patterns:
            self.patterns[key] = None
            write(draft, path, element)
            return
        pattern = self.patterns[key]
        if pattern is None:
            pattern = self.patterns[key] = pattern_of(self.model, self.causality, path, element, write)
        names = [bond.name for bond in bonds]
        pattern.write(draft, path, element, names, itertools.chain.from_iterable(map(draft.variables.__getitem__, names)))

    def key(self, path: str, element: Element, bonds: Sequence[Bond]) -> Hashable:
        """Return a key of everything that determines the statements of an element, except names and values; None if no other
        element can share them."""
        if path in self.causality.ties:
            return None
        law = self.law_keys.get(id(element.law))
        if law is None:
            law = self._law(path, element.law)
            if law is None:
                return None
            if not isinstance(element.law, laws.Storage):
                self.law_keys[id(element.law)] = law
        parameters: list[Hashable] = []
        for name, parameter in element.parameters.items():
            value = parameter.value
            if type(value) is not float:
                if isinstance(value, laws.ByMode):
                    return None
                parameters += np.shape(value)
            parameters += name, parameter.unit
        kinds = self.kinds
        around: list[Hashable] = [kinds[bond.name] + (bond.head.element == path) for bond in bonds]
        if len(element.ports) > 1:
            around += [end.port for bond in bonds for end in bond.ends if end.element == path]
        symbols = tuple(element.symbols.items()) if element.symbols else None
        passed_on = self.model.heat_shares.get(path)
        return law, tuple(parameters), symbols, len(element.signals), tuple(around), passed_on, element.heat

    def _law(self, path: str, law: laws.Law) -> Hashable:
        kind = type(law)
        if kind not in _PATTERN_LAWS or kind in self.custom:
            return None
        if isinstance(law, laws.Storage):
            if path in self.causality.derivative:
                return None
            spec, op = law.spec, self._op
            return (
                *(kind, law.gives, law.state, law.by_gradient, law.linear, spec.unit, spec.symbol),
                *(
                    op(law.output),
                    op(law.stored),
                    op(law.inverse) if law.output is None else None,
                    op(law.rate),
                    None if law.rate is None else spec.shape,
                ),
            )
        if isinstance(law, laws.Junction):
            return None if law.automaton is not None else (kind, law.type)
        if isinstance(law, laws.Resistor):
            return kind, self._op(law.effort), self._op(law.flow), self._op(law.relation)
        if isinstance(law, laws.Source):
            return kind, law.gives, self._op(law.value)
        if isinstance(law, laws.Reaction):
            return kind, self._op(law.flow)
        if isinstance(law, HeatFlow):
            return kind, self._op(law.heat), law.sense
        assert isinstance(law, laws.Ratio)
        action = law.action if isinstance(law, laws.Transformer) else None
        products = None if action is None else (self._op(action.forward), self._op(action.transposed))
        return kind, self._op(law.matrix), law.invertible, products

    def _op(self, op: Op | None) -> int:
        number = self.ops.get(id(op))
        if number is None:
            key = None if op is None else (type(op), op.name, op.latex, op.source, op.note, formula_key(op))
            number = self.ops[id(op)] = self.formulas.setdefault(key, len(self.formulas))
        return number


def pattern_of(model: Model, causality: Causality, path: str, element: Element, write: Write) -> Pattern:
    bonds = model.bonds_at(path)
    marks = [f"⟦{k}⟧" for k in range(1 + len(bonds) + len(element.signals))]
    path_mark, bond_marks, signal_marks = marks[0], marks[1 : 1 + len(bonds)], tuple(marks[1 + len(bonds) :])

    def moved(end: End) -> End:
        return end._replace(element=path_mark) if end.element == path else end

    pairs = list(zip(bonds, bond_marks, strict=True))
    marked_bonds = [replace(b, name=mark, tail=moved(b.tail), head=moved(b.head)) for b, mark in pairs]
    into = {mark: causality.effort_into_head[bond.name] for bond, mark in pairs}
    stand_in = replace(element, name=path_mark, signals=signal_marks)
    part = replace(model, elements={path_mark: stand_in}, bonds=tuple(marked_bonds), automata={}, aliases={})
    shares = model.heat_shares
    draft = Assembly(part, Causality(into, (), ()), heat_shares={path_mark: shares[path]} if path in shares else {})
    before = len(draft.values)
    write(draft, path_mark, stand_in)

    new = list(draft.values)[before:]
    names = [*new, *itertools.chain.from_iterable(map(draft.variables.__getitem__, bond_marks)), *signal_marks]
    at = {name: k for k, name in enumerate(names)}
    texts, mark_indices = [], []
    for name in new:
        mark = next(m for m in marks if m in name)
        texts.append("%s".join(part.replace("%", "%%") for part in name.split(mark, 1)))
        mark_indices.append(marks.index(mark))
    return Pattern(
        tuple(texts),
        tuple(mark_indices),
        tuple(draft.values[name] for name in new),
        tuple((tuple(at[n] for n in s.outs), s.op, tuple(at[n] for n in s.args)) for s in draft.statements),
        tuple((at[one], at[other]) for one, other in draft.equal),
        tuple((at[s.name], at[s.rate], s.initial.shape, s.held) for s in draft.states),
        tuple(at[name] for name in draft.parameters),
        tuple(at[value] for _, value in draft.energies),
        tuple((at[power.value], power.role) for power in draft.powers),
    )


def _picking(indices: Sequence[int]) -> Pick:
    if len(indices) > 1:
        return itemgetter(*indices)
    return itemgetter(slice(indices[0], indices[0] + 1) if indices else slice(0))
