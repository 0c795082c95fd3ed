"""Names of inputs and outputs, whole ("force.value") or a component ("force.value[2]") -> scalars of a traced system."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bondgraph.assembly.system import State, System
from bondgraph.errors import ModelError, Problem, refusal
from bondgraph.model.names import names_of
from bondgraph.tracing.evaluate import Traced
from bondgraph.tracing.on_tape.values import scalars_of

_COMPONENT = re.compile(r"(.+)\[\s*(\d+(?:\s*,\s*\d+)*)\s*\]")


def labels_of(name: str, shape: tuple[int, ...]) -> list[str]:
    """One label for each scalar of a value, in row-major order: "pose[3]", "matrix[0, 1]"."""
    if not shape:
        return [name]
    return [f"{name}[{', '.join(map(str, index))}]" for index in np.ndindex(*shape)]


def own_states(system: System) -> tuple[tuple[State, ...], tuple[int, ...], tuple[str, ...]]:
    """States of the model, their places in x, and a label for each of these.

    What holds the unknowns of a nonlinear algebraic loop lies in x too, but follows from the others.
    """
    followers = system.guesses
    return _described(system, [state for state in system.states if state.name not in followers])


def moving_states(system: System) -> tuple[tuple[State, ...], tuple[int, ...], tuple[str, ...]]:
    """As `own_states`, without those that only ticks and resets change: in between they are as constant as parameters."""
    return _described(system, [state for state in own_states(system)[0] if not state.held])


def _described(system: System, states: list[State]) -> tuple[tuple[State, ...], tuple[int, ...], tuple[str, ...]]:
    every = system.places
    places = [place for state in states for place in every[state.name]]
    labels = [label for state in states for label in labels_of(state.name, np.shape(state.initial))]
    return tuple(states), tuple(places), tuple(labels)


def pick_inputs(traced: Traced, names: str | Sequence[str]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Labels of inputs and their places in the parameter vector; `ModelError` E250 for what is no parameter or named twice."""
    system = traced.ground.system
    sizes = [int(np.size(value)) for value in system.parameters.values()]
    starts = dict(zip(system.parameters, itertools.accumulate(sizes, initial=0), strict=False))
    picked = list(_picked(system, "inputs", names, system.parameters, "E250", "parameter, so no input"))
    labels = tuple(label for label, _, _ in picked)
    places = tuple(starts[full] + k for _, full, k in picked)
    if len(set(places)) < len(places):
        twice = sorted({label for label, place in zip(labels, places, strict=True) if places.count(place) > 1})
        title = f"an input is named twice: {', '.join(twice)}"
        raise refusal("E250", title, "name each input once", about=system.name, places=())
    return labels, places


def pick_outputs(traced: Traced, names: str | Sequence[str]) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """Labels of outputs and their scalars on the tape; `ModelError` E251 where there is no value of a name."""
    picked = list(_picked(traced.ground.system, "outputs", names, traced.values, "E251", "value of the model"))
    flat = {full: scalars_of(traced.values[full]) for _, full, _ in picked}
    return tuple(label for label, _, _ in picked), tuple(flat[full][k] for _, full, k in picked)


def pick_states(system: System, names: str | Sequence[str]) -> tuple[int, ...]:
    """Places of named states among those that move, by component; `ModelError` E261 for what is none of them."""
    states, _, labels = moving_states(system)
    starts = {state.name: state.initial for state in states}
    picked = _picked(system, "names of states", names, starts, "E261", "state that moves")
    return tuple(labels.index(labels_of(full, np.shape(starts[full]))[k]) for _, full, k in picked)


def _picked(
    system: System, argument: str, names: str | Sequence[str], known: Mapping[str, Any], code: str, what: str
) -> Iterator[tuple[str, str, int]]:
    """A label for each scalar that is named, the full name of the value that it is of, and its place there."""
    for name in names_of(names, argument):
        full, index = system.resolve(name), None
        found = _COMPONENT.fullmatch(name)
        if full not in known and found:
            full, index = system.resolve(found[1]), tuple(int(part) for part in found[2].split(","))
        if full not in known:
            aliases = [alias for alias, target in system.aliases.items() if target in known]
            raise ModelError(system.name, [unknown_name(code, name, what, [*known, *aliases], _COMPONENTS)])
        shape = np.shape(known[full])
        if index is None:
            yield from ((label, full, k) for k, label in enumerate(labels_of(name, shape)))
        elif len(index) != len(shape) or any(i >= n for i, n in zip(index, shape, strict=False)):
            cure = 'indices from 0, one for each axis, as in "force.value[2]"; the name alone means all components'
            why = f"the value has shape {shape}"
            raise refusal(code, f'"{name}" is no component', cure, about=system.name, why=why, places=())
        else:
            yield name, full, int(np.ravel_multi_index(index, shape))


_COMPONENTS = ', or a component of it such as "force.value[2]"'


def unknown_name(code: str, name: str, what: str, known: Iterable[str], also: str = "") -> Problem:
    """The finding that a name is not among those that are known; `also` says what else it may be."""
    near = difflib.get_close_matches(name, known := list(known), n=4, cutoff=0.5)
    listed = near or sorted(known)[:8]
    why = f"{'similar names' if near else 'names'}: {', '.join(listed)}" if listed else "there is none"
    cures = (f"a name from the list{also}",) if listed else ("leave it out",)
    return Problem(code, f'"{name}" is no {what}', (why,), cures=cures)
