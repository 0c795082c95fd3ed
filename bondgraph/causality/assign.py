"""Causality assignment: decide which end of every bond sets its effort (sequential causality assignment procedure, SCAP).

All components of a vector bond share one stroke. Order: elements with only one causality, then storages in integral causality,
then resistors with one formula in the causality of that formula, then other resistors, then the remaining bonds; each choice is
propagated before the next, and undone if it leads to a dead end, as in a ring of junctions. A resistor used against its formula
is solved for the argument of the formula.

If storages cannot all be integral, their properties decide which become dependent (`first_integral`), not the order in which a
graph was written. Rigidly coupled storages have one motion, so any choice is right. A switched junction that opens is different:
the bond that set its common variable is left without flow (effort, for an X1), and all other bonds without effort (flow). If one
of several bonds may set it, opening is ambiguous, and the graph is refused (E154).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from bondgraph.causality.rings import Ring, Term, dependent_elements, has_ring, tie_of
from bondgraph.causality.strokes import Clash, Node, Strokes
from bondgraph.checks.parameters import is_linear
from bondgraph.errors import ModelError, Place, Problem, no_model, raise_if_any
from bondgraph.model.domains import GENERIC
from bondgraph.model.element import Element
from bondgraph.model.laws import (
    CausalityPreference,
    Gyrator,
    IdealConstraint,
    IdealSwitch,
    Junction,
    Ratio,
    Resistor,
    Source,
    Storing,
    Transformer,
)
from bondgraph.model.model import Bond, Model
from bondgraph.output.short_repr import short_repr
from bondgraph.quantities import real


def describe(model: Model, strokes: Strokes, clash: Clash) -> Problem:
    """Return the problem E203 of a clash between elements that have only one causality."""
    sides = [side for side in (_side(strokes, group) for group in clash.groups) if side]
    culprits = list(dict.fromkeys(path for side in sides for path in side))
    if turned := _transformer_to_reverse(model, [*culprits, *((clash.node.path,) if clash.node else ())]):
        return _matrix_problem(model, clash, turned, culprits)
    where = _name(model, clash.node.path) if clash.node else f'bond "{model.bonds[clash.bond].name}"'
    if clash.node is None:
        bond = model.bonds[clash.bond]
        variable = "flow" if strokes.into_head[clash.bond] == (bond.head.element == culprits[0]) else "effort"
        says = f"{_all(model, culprits)} {'both set' if len(culprits) > 1 else 'sets'} its {variable}"
        cure = "a junction with a C, I or R between them"
    elif clash.node.strong_takes_effort is None:
        says, cure = _at_two_port(model, clash.node, culprits)
    elif clash.case == "two":
        says, cure = _too_many(model, clash.node, sides, culprits)
    else:
        says, cure = _no_setter(model, clash.node, culprits)
    details = (says, _bonds(model, clash))
    return Problem("E203", f"causality conflict at {where}", details, _places(model, clash, culprits), (cure,))


def _transformer_to_reverse(model: Model, paths: Sequence[str]) -> str:
    """Return the path of the first matrix transformer whose reversal would make the graph causal; "" if none would."""
    for path in dict.fromkeys(paths):
        element = model.elements.get(path)
        if element is None or not isinstance(element.law, Transformer) or element.law.invertible:
            continue
        if len({bond.dimension for bond in model.bonds_at(path)}) > 1:
            continue  # only a square matrix has an inverse
        free = replace(element, law=replace(element.law, invertible=True))
        try:
            _assign(replace(model, elements={**model.elements, path: free}))
        except ModelError:
            continue
        return path
    return ""


def _matrix_problem(model: Model, clash: Clash, path: str, culprits: Sequence[str]) -> Problem:
    name, others = _name(model, path), [each for each in culprits if each != path]
    where = _name(model, clash.node.path) if clash.node else f'bond "{model.bonds[clash.bond].name}"'
    details = (
        f"{name} has a matrix: its flow is an input at port 1 and an output at port 2",
        f"{_all(model, others)} would need its inverse",
        _bonds(model, clash),
    )
    cure = 'reverse it: port("2") where port("1") is now, port("1") where port("2") is, and the inverse matrix as its ratio'
    return Problem("E203", f"causality conflict at {where}", details, _places(model, clash, [path, *others]), (cure,))


def describe_dead_end(model: Model, strokes: Strokes, clash: Clash) -> Problem:
    where = _name(model, clash.node.path) if clash.node else f'bond "{model.bonds[clash.bond].name}"'
    near = dict.fromkeys(path for group in clash.groups for path in _side(strokes, group) if path in model.elements)
    details = ("the search found no strokes that satisfy all junctions and two-ports here", _bonds(model, clash))

    cure = f"a C, I or R at one of the junctions of the ring through {where}"
    return Problem("E203", f"causality conflict at {where}", details, _places(model, clash, list(near)), (cure,))


def _side(strokes: Strokes, group: tuple[int, ...] | str) -> tuple[str, ...]:
    return (group,) if isinstance(group, str) else strokes.roots(group)


def _too_many(model: Model, node: Node, sides: Sequence[Sequence[str]], culprits: Sequence[str]) -> tuple[str, str]:
    variable, between, drive = ("effort", "an I or R", "Sf") if node.strong_takes_effort is True else ("flow", "a C or R", "Se")
    names = " and ".join(_all(model, side) for side in dict.fromkeys(map(tuple, sides)))
    laws = {path: model.elements[path].law for path in culprits}
    sources = [path for path, law in laws.items() if isinstance(law, Source) and law.gives == variable]
    cure = f"{between} between them{_in_words(model, node, between)}"
    if sources:
        cure += f", or drive the junction with {drive} instead of {_name(model, sources[-1])}"
    return f"two bonds set its {variable}: {names}", cure


def _no_setter(model: Model, node: Node, culprits: Sequence[str]) -> tuple[str, str]:
    missing, imposed, kinds = (
        ("effort", "flow", "a C or R") if node.strong_takes_effort is True else ("flow", "effort", "an I or R")
    )
    says = f"no bond sets its {missing}: {_all(model, culprits)} set the {imposed} of every bond"
    return says, f"{kinds} at this junction{_in_words(model, node, kinds)}"


def _in_words(model: Model, node: Node, kinds: str) -> str:
    domain = model.bonds[node.bonds[0][0]].domain
    return "" if domain is GENERIC else f" ({domain.parts['CIR'.index(kinds.split()[1])]} or {domain.parts[2]})"


def _at_two_port(model: Model, node: Node, culprits: Sequence[str]) -> tuple[str, str]:
    element = model.elements[node.path]
    others = [path for path in culprits if path != node.path]
    if node.path in culprits:
        law = element.law
        inputs = "the flows at both ports" if isinstance(law, Gyrator) else "the flow at port 1 and the effort at port 2"
        sources = [path for path in others if path in model.elements and isinstance(model.elements[path].law, Source)]
        cure = f"turn {_name(model, node.path)} around, or insert a C, I or R between it and {_all(model, others)}"
        if sources and model.elements[sources[0]].law_as(Source).gives == "flow":  # such as the speed of a joint
            holds = 'Constraint("drive", holds="velocity", closing="smooth")'
            cure = f"{_name(model, sources[0])} and {holds} at a new J0 between them, which makes both flows equal"
        return f"it is a matrix, so its inputs are {inputs}; {_all(model, others or culprits)} would need its inverse", cure
    variables = "one flow and one effort" if isinstance(element.law, Gyrator) else "both flows or both efforts"
    return (
        f"{_all(model, others)} set {variables}, but the element computes one from the other",
        "a C, I or R between it and one of them",
    )


def _name(model: Model, path: str) -> str:
    element = model.elements[path]
    law, kind = element.law, element.kind
    if isinstance(law, Junction):
        kind = f"{'switched ' if law.automaton else ''}{law.type}-junction"
    return f'{kind} "{path}"'


def _all(model: Model, paths: Sequence[str]) -> str:
    return " and ".join(_name(model, path) for path in paths if path in model.elements) or "its neighbours"


def _bonds(model: Model, clash: Clash) -> str:
    if clash.node is None:
        return f"bond: {model.bonds[clash.bond].name}"
    names = [model.bonds[i].name for i, _ in clash.node.bonds]
    shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    return f"bonds: {shown}"


def _places(model: Model, clash: Clash, culprits: Sequence[str]) -> tuple[Place | None, ...]:
    paths = [path for path in culprits if path in model.elements] or ([clash.node.path] if clash.node else [])
    return (*(model.elements[path].place for path in paths), model.bonds[clash.bond].place if clash.node is None else None)


def first_integral(element: Element) -> tuple[int | bool, ...]:
    """Return the sort key of a storage: the first storages keep their states in integral causality, the last storages become
    dependent.

    A storage whose state is not a plain integral cannot be dependent, and a configuration (IC) is less suited than a plain
    storage; a start value other than zero is worth keeping; a storage without an inverse must be solved for its state; a
    nonlinear storage is less suited than a linear storage. For storages with equal keys the motion is the same either way.
    """
    law = element.law_as(Storing)
    initial = law.follows[1].initial
    start = initial if isinstance(initial, float) else real(initial)
    moves = bool(start) if isinstance(start, float) else start is not None and bool(np.any(start))
    rank, *criteria = law.dependence_order
    return (rank, not moves, *criteria)


def setters(
    model: Model, strokes: Strokes, denied: Sequence[str], free: str, denied_count: Callable[[int, bool], int | None]
) -> dict[str, list[int]]:
    """Return, for each switched junction, the bonds that set its common variable in equally good causalities, the chosen bond
    first.

    Parameters
    ----------
    strokes : all strokes, already decided; changed in place.
    denied : elements without their preferred causality.
    free : cause of a stroke that no element required.
    denied_count : function (bond, into_head) -> number of denied elements with this stroke, or None if it is impossible.
    """
    switched = []
    for path, element in model.elements.items():
        law = element.law
        if isinstance(law, Junction) and law.automaton is not None:
            node = strokes.nodes[path]
            open_ = denied or free in strokes.roots((node.strong,))
            switched.append((path, law.type == 0, node.strong, tuple(node.bonds) if open_ else ()))
    bonds_of = {}
    for path, zero, strong, bonds in switched:
        counts = {i: denied_count(i, zero == at_head) for i, at_head in bonds if i != strong}
        bonds_of[path] = [strong, *(i for i, count in counts.items() if count is not None and count <= len(denied))]
    return bonds_of


def ambiguous_junctions(model: Model, setters: Mapping[str, Sequence[int]]) -> list[Problem]:
    """Report the switched junctions whose common variable another bond could set as well, unless both bonds lead to linear
    resistors (E154)."""
    problems = []
    for path, (strong, *others) in setters.items():
        for i in others:
            if not all(_leads_to_linear_resistor(model, model.bonds[j], path) for j in (i, strong)):
                problems.append(_ambiguity(model, path, model.bonds[strong], model.bonds[i]))
                break
    return problems


def _leads_to_linear_resistor(model: Model, bond: Bond, junction: str) -> bool:
    """Return True if a bond leads, directly or through scalar transformers and gyrators, to a linear resistor, whose effort and
    flow vanish together."""
    element = model.elements[_beyond(bond, junction)]
    while isinstance(element.law, Ratio) and element.law.invertible:
        bond = next(b for b in model.bonds_at(element.name) if b is not bond)
        element = model.elements[_beyond(bond, element.name)]
    return isinstance(element.law, Resistor) and is_linear(element)


def _beyond(bond: Bond, junction: str) -> str:
    return next(end.element for end in bond.ends if end.element != junction)


def _ambiguity(model: Model, path: str, strong: Bond, other: Bond) -> Problem:
    element = model.elements[path]
    assert isinstance(element.law, Junction)
    one, two = (model.elements[_beyond(bond, path)] for bond in (strong, other))
    zero = element.law.type == 0
    common, dual = ("effort", "flow") if zero else ("flow", "effort")
    cures = (
        ("a J0 instead, with the separated elements behind a J1 with a Switch that is open in the other modes", "an I or R")
        if zero
        else ("a J1 instead, with the separated elements behind a J0 with a Switch that is closed in the other modes", "a C or R")
    )
    return Problem(
        "E154",
        f'switched junction {element.kind} "{path}": its behaviour when open is ambiguous',
        (
            f'either {one.kind} "{one.name}" or {two.kind} "{two.name}" sets its {common}; '
            f"when the junction opens, the element that sets the {common} receives no {dual}, and the other element no {common}",
        ),
        (element.place, one.place, two.place),
        (cures[0], f"{cures[1]} between it and one of them"),
    )


FREE = "a free choice"
_MAX_RETRACTIONS = 2000


@short_repr
@dataclass(frozen=True)
class Causality:
    """Strokes of all bonds, and the storages that could not have integral causality."""

    effort_into_head: Mapping[str, bool]
    """True for each bond whose tail sets the effort, so that the causal stroke is at the head."""
    derivative: tuple[str, ...]
    chosen: tuple[str, ...]
    """Bonds whose stroke was a free choice (a sign of algebraic loops)."""
    forced_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Elements that impose the effort or flow of each storage in derivative causality."""
    ties: Mapping[str, tuple[Term, ...]] = field(default_factory=dict)
    """Sum of variables set by elements, for each junction that computes the input of a dependent element of a ring."""

    def effort_into(self, bond: Bond, element: str) -> bool:
        """Return True if the element receives the effort on this bond (and so sets its flow)."""
        return self.effort_into_head[bond.name] == (bond.head.element == element)


def assign_causality(model: Model) -> Causality:
    """Assign causality, or raise `ModelError`.

    E203 names the elements of every conflict and a cure, E154 the switched junctions that open differently in equally good
    causalities; E100 is for anything but a `Model`.
    """
    if not isinstance(model, Model):
        raise no_model(model, "assign_causality", "graph.freeze()")
    causality, setters_of = _assign(model)
    raise_if_any(model.name, ambiguous_junctions(model, setters_of))
    return causality


def openings(model: Model) -> dict[str, tuple[str, ...]]:
    """Return, for each switched junction, the bonds that could set its common variable, the chosen bond first.

    When the junction opens, nothing sets the other variable of the chosen bond. Raises `ModelError` E203.
    """
    return {path: tuple(model.bonds[i].name for i in bonds) for path, bonds in _assign(model)[1].items()}


def _assign(model: Model) -> tuple[Causality, dict[str, list[int]]]:
    """Return the causality of a model, and the bonds that could set the common variable of each switched junction.

    Dry friction sets its effort. If this makes storages dependent, such as a spring between a flow source and friction, friction
    sets its flow instead, provided that fewer storages are then dependent.
    """
    demands = demands_of(model)
    first = _assigned(model, demands)
    laws = {path: element.law for path, element in model.elements.items()} if first[0].derivative else {}
    dry = {path for path, law in laws.items() if isinstance(law, IdealConstraint) and law.may_give_flow}
    if not dry:
        return first
    must, rather = demands[CausalityPreference.MUST], demands[CausalityPreference.PREFERRED]
    eased = {
        **demands,
        CausalityPreference.MUST: [demand for demand in must if demand[0] not in dry],
        CausalityPreference.PREFERRED: [*(demand for demand in must if demand[0] in dry), *rather],
    }
    other = _assigned(model, eased)
    return other if len(other[0].derivative) < len(first[0].derivative) else first


def _assigned(model: Model, demands: Demands) -> tuple[Causality, dict[str, list[int]]]:
    strokes = Strokes(model, model.bonds_by_port)
    problems: dict[str, Problem] = {}
    for path, bond, into_element in demands[CausalityPreference.MUST]:
        if path in problems:
            continue
        try:
            strokes.assign(strokes.index[bond.name], into_element == (bond.head.element == path), path)
        except Clash as clash:
            problems[path] = describe(model, strokes, clash)
    raise_if_any(model.name, list(problems.values()))
    fixed = len(strokes.trail)
    preferences = list(_preferences(model, strokes.index, demands))
    forced_by, chosen, denied = _complete(model, strokes, preferences)
    tied: dict[str, Ring] = {}
    while has_ring(strokes) and (ring := dependent_elements(model, strokes)).elements:
        again = _with_reversed_stroke(model, strokes, preferences, fixed, [path for path in ring.elements if path not in tied])
        if again is None:
            forced_by, chosen, denied = _complete(model, strokes, preferences)
            break
        path, fixed, (forced_by, chosen, denied) = again
        tied[path] = ring

    def denied_count(bond: int, into_head: bool) -> int | None:
        strokes.undo(fixed)
        try:
            strokes.assign(bond, into_head, FREE)
            return len(_complete(model, strokes, preferences)[2])
        except (Clash, ModelError):
            return None

    into_head = {bond.name: bool(into) for bond, into in zip(model.bonds, strokes.into_head, strict=True)}
    derivative = tuple(path for path in denied if isinstance(model.elements[path].law, Storing))
    names = tuple(model.bonds[i].name for i in chosen)
    forced_by |= {path: tuple(other for other in ring.elements if other != path) for path, ring in tied.items()}
    ties = dict(filter(None, (tie_of(model, strokes, path, ring) for path, ring in tied.items())))
    causality = Causality(into_head, derivative, names, {path: forced_by.get(path, ()) for path in derivative}, ties)
    return causality, setters(model, strokes, denied, FREE, denied_count)


_Completed = tuple[dict[str, tuple[str, ...]], list[int], tuple[str, ...]]


def _with_reversed_stroke(
    model: Model, strokes: Strokes, preferences: list[tuple[int, bool, str]], fixed: int, ring: Sequence[str]
) -> tuple[str, int, _Completed] | None:
    """Reverse the stroke of one element of a ring of redundant setters: the last of its switches, or else of its storages, for
    which this is possible; return None, with only the fixed strokes set, if there is none."""
    order = {by: k for k, (_, _, by) in enumerate(preferences)}
    storages = sorted((path for path in ring if path in order), key=lambda path: -order[path])
    switches = [path for path in reversed(ring) if isinstance(model.elements[path].law, IdealSwitch)]
    for path in [*switches, *(path for path in storages if isinstance(model.elements[path].law, Storing))]:
        i = strokes.index[model.bonds_by_port(path)[0].name]
        into_head = strokes.into_head[i]
        strokes.undo(fixed)
        try:
            strokes.assign(i, not into_head, path)
            mark = len(strokes.trail)
            return path, mark, _complete(model, strokes, preferences)
        except (Clash, ModelError):
            strokes.undo(fixed)
            _complete(model, strokes, preferences)
    strokes.undo(fixed)
    return None


def _complete(model: Model, strokes: Strokes, preferences: list[tuple[int, bool, str]]) -> _Completed:
    forced_by, chosen = _search(model, strokes, preferences)
    denied = {by for i, into, by in preferences if by != FREE and strokes.into_head[i] != into}
    return forced_by, chosen, tuple(path for path in model.elements if path in denied) if denied else ()


@dataclass
class _Choice:
    preference: int
    mark: int
    other: bool = False
    """True if the preferred stroke was tried and undone."""


def _search(
    model: Model, strokes: Strokes, preferences: list[tuple[int, bool, str]]
) -> tuple[dict[str, tuple[str, ...]], list[int]]:
    forced_by: dict[str, tuple[str, ...]] = {}
    choices: list[_Choice] = []
    retractions, position = 0, 0
    while position < len(preferences):
        i, desired, by = preferences[position]
        decided = strokes.into_head[i]
        if decided is not None:
            if decided != desired and by != FREE:
                forced_by[by] = _others(strokes.roots((i,)), by)
            position += 1
            continue
        choice = _Choice(position, len(strokes.trail))
        while True:
            i, desired, by = preferences[choice.preference]
            try:
                strokes.assign(i, desired != choice.other, by)
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
        position = choice.preference + 1
    return forced_by, [preferences[c.preference][0] for c in choices if preferences[c.preference][2] == FREE]


def _others(paths: tuple[str, ...], by: str) -> tuple[str, ...]:
    return tuple(path for path in paths if path not in (by, FREE))


# --- demands of the elements ------------------------------------------------------------------------------------------


Demands = Mapping[CausalityPreference, Sequence[tuple[str, Bond, bool]]]
"""Required or preferred causalities, (element, bond, effort into the element), by priority."""


def demands_of(model: Model) -> Demands:
    demands: dict[CausalityPreference, list[tuple[str, Bond, bool]]] = {preference: [] for preference in CausalityPreference}
    for path, element in model.elements.items():
        law = element.law
        if isinstance(law, Junction):  # a junction requires nothing
            continue
        for port, bond in enumerate(model.bonds_by_port(path)):
            demand = law.demand(port)
            if demand is not None:
                demands[demand.preference].append((path, bond, demand.effort_in))
    return demands


def _preferences(model: Model, index: Mapping[str, int], demands: Demands) -> Iterator[tuple[int, bool, str]]:
    """Yield (bond, effort into its head, element with this preference) in order of priority; efforts into 1-junctions come last,
    whatever the direction of the arrow."""
    storages = sorted(demands[CausalityPreference.INTEGRAL], key=lambda demand: first_integral(model.elements[demand[0]]))
    for path, bond, into in (*storages, *demands[CausalityPreference.AS_GIVEN]):
        yield index[bond.name], into == (bond.head.element == path), path
    for path, bond, into in demands[CausalityPreference.PREFERRED]:
        yield index[bond.name], into == (bond.head.element == path), FREE
    ones = {path for path, element in model.elements.items() if isinstance(element.law, Junction) and element.law.type == 1}
    for i, bond in enumerate(model.bonds):
        yield i, bond.head.element in ones or bond.tail.element not in ones, FREE
