"""Parts of a model: a numbered tree of its elements, automata and nested graphs, with branches of equal parts."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from bondgraph.assembly.system import Statement, System
from bondgraph.model.model import Model
from bondgraph.model.ops import Choice, Constant, Gate


@dataclass(frozen=True)
class Component:
    """Element, automaton or nested graph, with its own parts; numbered like the sections of a book."""

    path: str
    number: str
    parts: tuple[Component, ...] = ()

    def all(self) -> list[Component]:
        return [self, *(component for part in self.parts for component in part.all())]


@dataclass(frozen=True)
class Parts:
    root: Component

    @cached_property
    def by_path(self) -> Mapping[str, Component]:
        return {part.path: part for part in self.root.all()[1:]}

    def owner(self, name: str) -> Component:
        """Return the smallest part that contains the named value, or both ends of the named bond; the root for time."""
        ends = [self._owner(end.partition(":")[0]).split(".") for end in name.lstrip("-").split(" -> ")]
        common = ".".join(one for one, *others in itertools.takewhile(lambda each: len(set(each)) == 1, zip(*ends, strict=False)))
        return self.by_path[common] if common else self.root

    def _owner(self, path: str) -> str:
        while path and path not in self.by_path:
            path = path.rpartition(".")[0]
        return path


def parts_of(model: Model) -> Parts:
    paths = list(dict.fromkeys((*model.elements, *model.automata)))
    return Parts(Component("", "", _children("", "", paths)))


def _children(path: str, number: str, paths: Sequence[str]) -> tuple[Component, ...]:
    start = len(path) + 1 if path else 0
    inner: dict[str, list[str]] = {}
    for each in paths:
        if each != path:
            inner.setdefault(each[start:].partition(".")[0], []).append(each)
    components = []
    for k, (name, below) in enumerate(inner.items(), start=1):
        child_path, label = (f"{path}.{name}" if path else name), f"{number}.{k}" if number else str(k)
        components.append(Component(child_path, label, _children(child_path, label, below)))
    return tuple(components)


def _within(path: str, part: str) -> bool:
    return not part or path == part or path.startswith(f"{part}.")


def inside(system: System, part: Component) -> list[Statement]:
    return [s for s in system.statements if _within(s.element, part.path)]


INDICES = "ijklnqrvwz"
MIN_SAVED = 7
"""Minimum number of equations saved by writing equal parts once."""


@dataclass(frozen=True)
class Branch:
    """Parts with the same equations, except for parameter values and connections; often a single part."""

    members: tuple[Component, ...]
    index: str
    """Index letter of the parts; "" for a single part."""
    outside: tuple[tuple[str, ...], ...]
    """External values in the order of their first use; each row names one value, by one name for each member."""
    below: tuple[Branch, ...]

    def all(self) -> list[Branch]:
        return [self, *(component for branch in self.below for component in branch.all())]


def branches(system: System, model: Model, parts: Parts) -> tuple[Branch, ...]:
    """Return the tree of parts: equal parts share a branch, and inside such a branch each part has its own."""
    indices = _letters()

    def grown(siblings: Iterable[Component], alone: bool = False) -> tuple[Branch, ...]:
        groups: dict[object, list[tuple[Component, tuple[str, ...]]]] = {}
        for part in siblings:
            form, read = _form(system, model, parts, part)
            groups.setdefault(part.path if alone else form, []).append((part, read))
        out = []
        for group in _worthwhile(system, groups.values()):
            members = tuple(part for part, _ in group)
            outside = list(zip(*(names for _, names in group), strict=True)) if len(members) > 1 else []
            index, below = next(indices) if len(members) > 1 else "", grown(members[0].parts, alone or len(members) > 1)
            out.append(Branch(members, index, tuple(outside), below))
        return tuple(out)

    return grown(parts.root.parts)


def _letters() -> Iterator[str]:
    yield from INDICES
    yield from (f"{letter}_{{{count}}}" for count in itertools.count(2) for letter in INDICES)


def _worthwhile(
    system: System, groups: Iterable[list[tuple[Component, tuple[str, ...]]]]
) -> Iterator[list[tuple[Component, tuple[str, ...]]]]:
    kept_groups = []
    for group in groups:
        saved = len(inside(system, group[0][0])) * (len(group) - 1)
        kept_groups += [group] if saved >= MIN_SAVED else [[each] for each in group]
    yield from sorted(kept_groups, key=lambda group: [int(k) for k in group[0][0].number.split(".")])


def _form(system: System, model: Model, parts: Parts, part: Component) -> tuple[object, tuple[str, ...]]:
    """Return a form that is equal for parts that can share equations, and their external values in order of first use."""
    statements = inside(system, part)
    if not statements:
        return part.path, ()
    outside: dict[str, int] = {}
    own_path = re.compile(rf"(?<![\w.]){re.escape(part.path)}(?![\w ])")

    def local(name: str) -> object:
        if _within(parts.owner(name).path, part.path):
            return own_path.sub("~", name)
        return name if name == "time" else outside.setdefault(name, len(outside))

    lines = [
        (
            local(s.element),
            s.op.name,
            "" if isinstance(s.op, Constant) else s.op.latex,
            s.op.active if isinstance(s.op, (Gate, Choice)) else (),
            [local(out) for out in s.outs],
            [(local(arg), system.values[arg].shape) for arg in s.args if arg in system.values],
        )
        for s in statements
    ]
    kinds = [(local(path), element.kind) for path, element in model.elements.items() if _within(path, part.path)]
    machines = [
        (local(path), automaton.states, automaton.initial)
        for path, automaton in model.automata.items()
        if _within(path, part.path)
    ]
    transitions = [
        (
            local(event.automaton),
            (event.source, event.target, event.internal, event.error, event.impulse, event.accumulates, event.passes),
            [local(state) for state, _ in event.resets],
            [(local(system.resolve(f"{path}.h'")), local(f"{path}.restitution")) for path in event.impact],
        )
        for event in system.events
        if _within(event.automaton, part.path)
    ]
    solved = [(local(u.value), u.reason, u.algebraic) for u in system.implicit if _within(u.element, part.path)]
    return repr((lines, kinds, machines, transitions, solved)), tuple(outside)
