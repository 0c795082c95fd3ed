"""Parts: the path of a nested graph or an element -> its states, and which values come from outside of it."""

from __future__ import annotations

from dataclasses import dataclass

from bondgraph.assembly.system import State
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.state_names import own_states, unknown_name
from bondgraph.errors import ModelError


@dataclass(frozen=True)
class Chosen:
    """What equations are written of."""

    states: tuple[State, ...]
    outside: frozenset[str]
    """Values that statements of other elements give."""


def part_of(compiled: Compiled, path: str | None) -> Chosen:
    """The elements at a path or below it; None is the whole model. E275 where nothing is there."""
    system, elements = compiled.system, compiled.model.elements
    states = own_states(system)[0]
    if path is None:
        return Chosen(states, frozenset())
    if not any(_is_inside(element, path) for element in elements):
        known = [*compiled.model.groups, *elements]
        raise ModelError(system.name, [unknown_name("E275", path, "part of the model", known)])
    outside = {out for s in system.statements if not _is_inside(s.element, path) for out in s.outs}
    unknowns = (*system.unknowns, *(u for loop in system.loops for u in loop.unknowns))
    outside |= {u.value for u in unknowns if not _is_inside(u.element, path) or u.residual in outside}
    outside |= {state.name for state in states if not _is_inside(_owner(compiled, state), path)}
    own = tuple(state for state in states if state.name not in outside)
    return Chosen(own, frozenset(outside))


def _is_inside(element: str, path: str) -> bool:
    return element == path or element.startswith(f"{path}.")


def _owner(compiled: Compiled, state: State) -> str:
    """The element that a state is of: the longest path of one that its name begins with."""
    path = state.name
    while path and path not in compiled.model.elements:
        path = path.rpartition(".")[0]
    return path
