"""Ambiguity: what a choice between causalities that are equally good would decide, and who is to be preferred.

Storages that are rigidly coupled have one motion, whichever of them keeps its state: any choice is right, and `first_integral`
makes it by their properties. A switched junction that opens is another matter: the bond that set its common variable is left
without flow (of an X1: without effort), all others without effort (flow). Where one of several bonds may set it, opening means
several things, and the graph is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bondgraph.causality.strokes import Strokes
from bondgraph.checks.numbers import is_linear
from bondgraph.errors import Problem
from bondgraph.model.element import Element
from bondgraph.model.laws import Junction, Ratio, Resistor, Storing
from bondgraph.model.model import Bond, Model
from bondgraph.quantities import real


def first_integral(element: Element) -> tuple[int | bool, ...]:
    """Sort key of storages, those first that keep a state of their own.

    A storage whose state is no plain integral cannot follow, and a configuration (IC) follows less well than a plain storage; one
    with a start value of its own has something to say; one without an inverse must be solved for its state; one that is not
    linear follows less well than a linear one. What is still alike has the same motion either way.
    """
    law = element.law_as(Storing)
    initial = law.follows[1].initial
    start = initial if isinstance(initial, float) else real(initial)
    moves = bool(start) if isinstance(start, float) else start is not None and bool(np.any(start))
    rank, *rest = law.ease
    return (rank, not moves, *rest)


def setters(
    model: Model, strokes: Strokes, denied: Sequence[str], free: str, others_with: Callable[[int, bool], int | None]
) -> dict[str, list[int]]:
    """Switched junction -> bonds that set its common variable in causalities that are equally good, the chosen one first.

    Parameters
    ----------
    strokes : all decided; they are changed here.
    denied : elements that have not the causality which they prefer. free : who caused a stroke that nobody demanded.
    others_with : (bond, into its head) -> how many would not have it with this stroke demanded, None where it is impossible.
    """
    switched = []
    for path, element in model.elements.items():
        law = element.law
        if isinstance(law, Junction) and law.automaton is not None:
            node = strokes.nodes[path]
            open_ = denied or free in strokes.roots((node.strong,))
            switched.append((path, law.type == 0, node.strong, tuple(node.bonds) if open_ else ()))
    found = {}
    for path, zero, strong, bonds in switched:
        counts = {i: others_with(i, zero == at_head) for i, at_head in bonds if i != strong}
        found[path] = [strong, *(i for i, count in counts.items() if count is not None and count <= len(denied))]
    return found


def ambiguous_junctions(model: Model, setters: Mapping[str, Sequence[int]]) -> list[Problem]:
    """Switched junctions whose common variable another bond could set as well (E154)."""
    found = []
    for path, (strong, *others) in setters.items():
        for i in others:
            if not all(_is_dead(model, model.bonds[j], path) for j in (i, strong)):
                found.append(_problem(model, path, model.bonds[strong], model.bonds[i]))
                break
    return found


def _is_dead(model: Model, bond: Bond, junction: str) -> bool:
    """Whether what hangs on a bond has no effort without flow and no flow without effort: a linear resistor, and one behind a
    ratio."""
    element = model.elements[_beyond(bond, junction)]
    while isinstance(element.law, Ratio) and element.law.invertible:
        bond = next(b for b in model.bonds_at(element.name) if b is not bond)
        element = model.elements[_beyond(bond, element.name)]
    return isinstance(element.law, Resistor) and is_linear(element)


def _beyond(bond: Bond, junction: str) -> str:
    return next(end.element for end in bond.ends if end.element != junction)


def _problem(model: Model, path: str, strong: Bond, other: Bond) -> Problem:
    element = model.elements[path]
    assert isinstance(element.law, Junction)
    one, two = (model.elements[_beyond(bond, path)] for bond in (strong, other))
    zero = element.law.type == 0
    common, rest = ("effort", "flow") if zero else ("flow", "effort")
    cures = (
        ("a J0 in its place; what it is to part behind a J1 with a Switch, open where this is not active", "an I or R")
        if zero
        else ("a J1 in its place; what it is to part behind a J0 with a Switch, closed where this is not active", "a C or R")
    )
    return Problem(
        "E154",
        f'switched junction {element.kind} "{path}": what it does when it opens depends on a choice',
        (
            f'either {one.kind} "{one.name}" or {two.kind} "{two.name}" sets its {common}; '
            f"as it opens the one that does is left without {rest}, the other without {common}",
        ),
        (element.place, one.place, two.place),
        (cures[0], f"{cures[1]} between it and one of them"),
    )
