"""Selection of inputs, outputs and states of a compiled model by name."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bondgraph.assembly.system import State, System
from bondgraph.errors import ModelError, Problem, refusal
from bondgraph.model.arguments import names_of
from bondgraph.output.tables import labels_of
from bondgraph.tracing.evaluate import Traced
from bondgraph.tracing.on_tape.values import scalars_of
from screws.names import similar_names

_COMPONENT = re.compile(r"(.+)\[\s*(\d+(?:\s*,\s*\d+)*)\s*\]")


def own_states(system: System) -> tuple[tuple[State, ...], tuple[int, ...], tuple[str, ...]]:
    """Return the independent states of the model, their indices in x, and a label for each of these.

    States that track the unknowns of a nonlinear algebraic loop are also in x, but depend on other states.
    """
    followers = system.guesses
    return _described(system, [state for state in system.states if state.name not in followers])


def moving_states(system: System) -> tuple[tuple[State, ...], tuple[int, ...], tuple[str, ...]]:
    """Return `own_states` without states that change only at ticks and resets."""
    return _described(system, [state for state in own_states(system)[0] if not state.held])


def _described(system: System, states: list[State]) -> tuple[tuple[State, ...], tuple[int, ...], tuple[str, ...]]:
    indices = [index for state in states for index in system.places[state.name]]
    labels = [label for state in states for label in labels_of(state.name, np.shape(state.initial))]
    return tuple(states), tuple(indices), tuple(labels)


def pick_inputs(
    traced: Traced, names: str | Sequence[str], signals: Mapping[str, str] = {}, others: Iterable[str] = ()
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return labels of inputs and their indices in the parameter vector; raise `ModelError` E250 for a name that is not a
    parameter or is given twice.

    `signals` are the names by which users know parameters that were added to signals; `others` are signals to suggest too.
    """
    system = traced.context.system
    sizes = [int(np.size(value)) for value in system.parameters.values()]
    starts = dict(zip(system.parameters, itertools.accumulate(sizes, initial=0), strict=False))
    kind = "a parameter, source or signal of a block, so not an input"
    picked = list(_picked(system, "inputs", names, system.parameters, "E250", kind, signals, others))
    labels = tuple(label for label, _, _ in picked)
    indices = tuple(starts[full] + k for _, full, k in picked)
    if len(set(indices)) < len(indices):
        twice = sorted({label for label, index in zip(labels, indices, strict=True) if indices.count(index) > 1})
        title = f"an input is named twice: {', '.join(twice)}"
        raise refusal("E250", title, "name each input once", about=system.name, places=())
    return labels, indices


def pick_outputs(traced: Traced, names: str | Sequence[str]) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """Return labels of outputs and their scalars on the tape; raise `ModelError` E251 for an unknown name."""
    picked = list(_picked(traced.context.system, "outputs", names, traced.values, "E251", "a value of the model"))
    flat = {full: scalars_of(traced.values[full]) for _, full, _ in picked}
    return tuple(label for label, _, _ in picked), tuple(flat[full][k] for _, full, k in picked)


def pick_states(system: System, names: str | Sequence[str]) -> tuple[int, ...]:
    """Return the indices of named states among `moving_states`, by component; raise `ModelError` E261 for other names."""
    states, _, labels = moving_states(system)
    starts = {state.name: state.initial for state in states}
    picked = _picked(system, "names of states", names, starts, "E261", "a state that moves")
    return tuple(labels.index(labels_of(full, np.shape(starts[full]))[k]) for _, full, k in picked)


def _picked(
    system: System,
    argument: str,
    names: str | Sequence[str],
    values: Mapping[str, Any],
    code: str,
    kind: str,
    signals: Mapping[str, str] = {},
    others: Iterable[str] = (),
) -> Iterator[tuple[str, str, int]]:
    """Yield (label, name of the value, component) for each named scalar; see `pick_inputs` for the last two arguments."""
    for name in names_of(names, argument):
        full, index = system.resolve(name), None
        match = _COMPONENT.fullmatch(name)
        if full not in values and match:
            full, index = system.resolve(match[1]), tuple(int(part) for part in match[2].split(","))
        if full not in values:
            aliases = [alias for alias, target in system.aliases.items() if target in values]
            raise ModelError(system.name, [unknown_name(code, name, kind, [*values, *aliases, *others], _COMPONENTS)])
        shape, (value, bracket, component) = np.shape(values[full]), name.partition("[")
        name = signals.get(value, value) + bracket + component
        if index is None:
            yield from ((label, full, k) for k, label in enumerate(labels_of(name, shape)))
        elif len(index) != len(shape) or any(i >= n for i, n in zip(index, shape, strict=False)):
            cure = 'indices from 0, one for each axis, as in "force.value[2]"; the name alone means all components'
            why = f"the value has shape {shape}"
            raise refusal(code, f'"{name}" is not a component', cure, about=system.name, why=why, places=())
        else:
            yield name, full, int(np.ravel_multi_index(index, shape))


_COMPONENTS = ', or a component of it such as "force.value[2]"'


def unknown_name(code: str, name: str, kind: str, names: Iterable[str], also: str = "") -> Problem:
    near = similar_names(name, names := list(names))
    listed = near or sorted(names)[:8]
    why = f"{'similar names' if near else 'names'}: {', '.join(listed)}" if listed else "there is none"
    cures = (f"a name from the list{also}",) if listed else ("leave it out",)
    return Problem(code, f'"{name}" is not {kind}', (why,), cures=cures)
