"""Causality: Model -> which end of every bond sets its effort (sequential causality assignment, SCAP).

All components of a vector bond share one stroke. Order: elements with only one causality, then storages in integral
causality, then resistors of one relation as it is given, then other resistors, then what is left; each choice is propagated
before the next, and taken back where it leads nowhere (which a ring of junctions can do). A resistor that must be used against
its relation is solved for what the relation takes.

Of storages that cannot all be integral, properties decide which follow (`first_integral`), not the order in which a graph was
written; where a switched junction would make physics of such a choice, the graph is refused (`ambiguity`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bondgraph.causality.ambiguity import ambiguous_junctions, first_integral, setters
from bondgraph.causality.conflict import describe, describe_dead_end
from bondgraph.causality.strokes import Clash, Strokes
from bondgraph.errors import ModelError, Problem, no_model, raise_if_any
from bondgraph.model.laws import CausalityPreference, Junction, Storing
from bondgraph.model.model import Bond, Model
from bondgraph.output.short_repr import short_repr

FREE = "a free choice"
_MAX_RETRACTIONS = 2000


@short_repr
@dataclass(frozen=True)
class Causality:
    """Strokes of all bonds, and the storages that could not have integral causality."""

    effort_into_head: Mapping[str, bool]
    """Bond -> True: the tail sets the effort and the causal stroke is at the head."""
    derivative: tuple[str, ...]
    """Storages in derivative causality."""
    chosen: tuple[str, ...]
    """Bonds whose stroke was a free choice (a sign of algebraic loops)."""
    forced_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Storage in derivative causality -> the elements that decide its effort or flow for it."""

    def effort_into(self, bond: Bond, element: str) -> bool:
        """Whether the element receives the effort on this bond (and so sets its flow)."""
        return self.effort_into_head[bond.name] == (bond.head.element == element)


def assign_causality(model: Model) -> Causality:
    """Assign causality, or raise `ModelError`.

    E203 names the elements of every conflict and a cure, E154 switched junctions that open differently for each of several
    causalities that are equally good.
    """
    if not isinstance(model, Model):
        raise no_model(model, "assign_causality", "graph.freeze()")
    causality, setters_of = _assigned(model)
    raise_if_any(model.name, ambiguous_junctions(model, setters_of))
    return causality


def openings(model: Model) -> dict[str, tuple[str, ...]]:
    """Switched junction -> the bonds of which one is left to itself as it opens; the chosen one first, then those that causality
    could have chosen as well. Raises `ModelError` E203."""
    return {path: tuple(model.bonds[i].name for i in bonds) for path, bonds in _assigned(model)[1].items()}


def _assigned(model: Model) -> tuple[Causality, dict[str, list[int]]]:
    """The causality of a model, and which bonds could set the common variable of each switched junction."""
    strokes = Strokes(model, lambda path: ordered_bonds(model, path))
    asking = _asking(model)
    problems: dict[str, Problem] = {}
    for path, bond, into_element in asking[CausalityPreference.MUST]:
        if path in problems:
            continue
        try:
            strokes.assign(strokes.index[bond.name], into_element == (bond.head.element == path), path)
        except Clash as clash:
            problems[path] = describe(model, strokes, clash)
    raise_if_any(model.name, list(problems.values()))
    fixed = len(strokes.trail)
    wishes = list(_wishes(model, strokes.index, asking))
    forced_by, chosen, denied = _complete(model, strokes, wishes)

    def others_with(bond: int, into_head: bool) -> int | None:
        """Wishes that would be denied if this stroke were demanded too; None where that is impossible."""
        strokes.undo(fixed)
        try:
            strokes.assign(bond, into_head, FREE)
            return len(_complete(model, strokes, wishes)[2])
        except (Clash, ModelError):
            return None

    into_head = {bond.name: bool(into) for bond, into in zip(model.bonds, strokes.into_head, strict=True)}
    derivative = tuple(path for path in denied if isinstance(model.elements[path].law, Storing))
    names = tuple(model.bonds[i].name for i in chosen)
    causality = Causality(into_head, derivative, names, {path: forced_by.get(path, ()) for path in derivative})
    return causality, setters(model, strokes, denied, FREE, others_with)


def _complete(
    model: Model, strokes: Strokes, wishes: list[tuple[int, bool, str]]
) -> tuple[dict[str, tuple[str, ...]], list[int], tuple[str, ...]]:
    """Decide all strokes that are open: who denied which wish, the free choices, and the elements whose wish was denied:
    storages in derivative causality, and resistors against their only relation."""
    forced_by, chosen = _search(model, strokes, wishes)
    denied = {by for i, into, by in wishes if by != FREE and strokes.into_head[i] != into}
    return forced_by, chosen, tuple(path for path in model.elements if path in denied) if denied else ()


@dataclass
class _Choice:
    """A stroke that nothing demanded: which wish it served, and how much was decided before it."""

    wish: int
    mark: int
    other: bool = False
    """Whether the stroke that was wished for has been tried and taken back."""


def _search(model: Model, strokes: Strokes, wishes: list[tuple[int, bool, str]]) -> tuple[dict[str, tuple[str, ...]], list[int]]:
    """Fulfil the wishes in their order as far as possible; returns who denied which element's, and the free choices."""
    forced_by: dict[str, tuple[str, ...]] = {}
    choices: list[_Choice] = []
    retractions, at = 0, 0
    while at < len(wishes):
        i, wanted, by = wishes[at]
        known = strokes.into_head[i]
        if known is not None:
            if known != wanted and by != FREE:
                forced_by[by] = _others(strokes.roots((i,)), by)
            at += 1
            continue
        choice = _Choice(at, len(strokes.trail))
        while True:
            i, wanted, by = wishes[choice.wish]
            try:
                strokes.assign(i, wanted != choice.other, by)
                break
            except Clash as clash:
                if not choice.other:
                    if by != FREE:
                        bonds = [j for group in clash.groups if not isinstance(group, str) for j in group]
                        forced_by[by] = _others(strokes.roots(bonds), by)
                    choice.other = True
                    continue
                retractions += 1
                while choices and choices[-1].other:
                    choices.pop()
                if not choices or retractions > _MAX_RETRACTIONS:
                    raise_if_any(model.name, [describe_dead_end(model, strokes, clash)])
                choice = choices.pop()
                choice.other = True
                strokes.undo(choice.mark)
        choices.append(choice)
        at = choice.wish + 1
    return forced_by, [wishes[c.wish][0] for c in choices if wishes[c.wish][2] == FREE]


def _others(paths: tuple[str, ...], by: str) -> tuple[str, ...]:
    return tuple(path for path in paths if path not in (by, FREE))


# --- what each kind of element asks for ------------------------------------------------------------------------------


def ordered_bonds(model: Model, path: str) -> tuple[Bond, ...]:
    """Bonds of an element in the order of its ports."""
    bonds, element = model.bonds_at(path), model.elements[path]
    if len(bonds) < 2 or isinstance(element.law, Junction):
        return bonds
    names = [port.name for port in element.ports]

    def place(bond: Bond) -> int:
        return min(names.index(end.port) for end in bond.ends if end.element == path)

    return tuple(sorted(bonds, key=place))


Asking = Mapping[CausalityPreference, Sequence[tuple[str, Bond, bool]]]
"""How strongly a causality is asked for -> (element, bond, effort into the element) of those who do."""


def _asking(model: Model) -> Asking:
    found: dict[CausalityPreference, list[tuple[str, Bond, bool]]] = {wish: [] for wish in CausalityPreference}
    for path, element in model.elements.items():
        law = element.law
        if isinstance(law, Junction):  # it takes whatever its bonds decide
            continue
        for place, bond in enumerate(ordered_bonds(model, path)):
            demand = law.demand(place)
            if demand is not None:
                found[demand.wish].append((path, bond, demand.effort_in))
    return found


def _wishes(model: Model, index: Mapping[str, int], asking: Asking) -> Iterator[tuple[int, bool, str]]:
    """(bond, effort into its head, who is denied it) in the order in which they are heard; at last effort into 1-junctions,
    whichever way an arrow points."""
    storages = sorted(asking[CausalityPreference.INTEGRAL], key=lambda own: first_integral(model.elements[own[0]]))
    for path, bond, into in (*storages, *asking[CausalityPreference.AS_GIVEN]):
        yield index[bond.name], into == (bond.head.element == path), path
    for path, bond, into in asking[CausalityPreference.RATHER]:
        yield index[bond.name], into == (bond.head.element == path), FREE
    ones = {path for path, element in model.elements.items() if isinstance(element.law, Junction) and element.law.type == 1}
    for i, bond in enumerate(model.bonds):
        yield i, bond.head.element in ones or bond.tail.element not in ones, FREE
