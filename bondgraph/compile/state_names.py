"""Names of inputs and outputs, whole ("force.value") or a component ("force.value[2]") -> scalars of a traced system."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from bondgraph.assembly.system import State, System
from bondgraph.errors import ModelError, refusal
from bondgraph.tracing.on_tape.values import scalars_of
from bondgraph.tracing.walk import Traced

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
    followers, every = system.guesses, system.places
    states = [state for state in system.states if state.name not in followers]
    places = [place for state in states for place in every[state.name]]
    labels = [label for state in states for label in labels_of(state.name, np.shape(state.initial))]
    return tuple(states), tuple(places), tuple(labels)


def pick_inputs(traced: Traced, names: Sequence[str]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Labels of inputs and their places in the parameter vector.

    Raises
    ------
    ModelError
        E250, if a name is no parameter, or a parameter is named twice.
    """
    starts: dict[str, int] = {}
    total = 0
    for name, value in traced.ground.system.parameters.items():
        starts[name] = total
        total += int(np.size(value))
    labels: list[str] = []
    places: list[int] = []
    for name in _listed(names):
        full, index = _split(traced.ground.system, name, starts)
        if full is None:
            raise _unknown(traced.ground.system, "E250", name, "parameter, so no input", starts)
        shape = np.shape(traced.ground.system.parameters[full])
        for label, k in _components(traced.ground.system, "E250", name, shape, index):
            labels.append(label)
            places.append(starts[full] + k)
    if len(set(places)) < len(places):
        twice = sorted({label for label, place in zip(labels, places, strict=True) if places.count(place) > 1})
        title = f"an input is named twice: {', '.join(twice)}"
        raise refusal("E250", title, "name each input once", about=traced.ground.system.name, places=())
    return tuple(labels), tuple(places)


def pick_outputs(traced: Traced, names: Sequence[str]) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """Labels of outputs and their scalars on the tape.

    Raises
    ------
    ModelError
        E251, if there is no value of a name.
    """
    labels: list[str] = []
    scalars: list[Any] = []
    for name in _listed(names):
        full, index = _split(traced.ground.system, name, traced.values)
        if full is None:
            known = [*traced.values, *traced.ground.system.aliases]
            raise _unknown(traced.ground.system, "E251", name, "value of the model", known)
        value = traced.values[full]
        flat = scalars_of(value)
        for label, k in _components(traced.ground.system, "E251", name, np.shape(value), index):
            labels.append(label)
            scalars.append(flat[k])
    return tuple(labels), tuple(scalars)


def pick_states(system: System, names: Sequence[str]) -> tuple[int, ...]:
    """Places of named states among the model's own states, by component.

    Raises
    ------
    ModelError
        E261, if a name is no state.
    """
    states, _, labels = own_states(system)
    shapes = {state.name: np.shape(state.initial) for state in states}
    picked: list[int] = []
    for name in _listed(names):
        full, index = _split(system, name, shapes)
        if full is None:
            raise _unknown(system, "E261", name, "state", shapes)
        first = labels.index(labels_of(full, shapes[full])[0])
        picked += [first + k for _, k in _components(system, "E261", name, shapes[full], index)]
    return tuple(picked)


def _listed(names: Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _split(system: System, name: str, known: Collection[str]) -> tuple[str | None, tuple[int, ...] | None]:
    """The name under which a value is known (None: it is not) and the component that is meant (None: all)."""
    full = system.resolve(name)
    if full in known:
        return full, None
    found = _COMPONENT.fullmatch(name)
    if found and (full := system.resolve(found[1])) in known:
        return full, tuple(int(part) for part in found[2].split(","))
    return None, None


def _components(
    system: System, code: str, name: str, shape: tuple[int, ...], index: tuple[int, ...] | None
) -> list[tuple[str, int]]:
    if index is None:
        return [(label, k) for k, label in enumerate(labels_of(name, shape))]
    if len(index) != len(shape) or any(i >= n for i, n in zip(index, shape, strict=False)):
        cure = 'indices from 0, one for each axis, as in "force.value[2]"; the name alone means all components'
        raise refusal(code, f'"{name}" is no component', cure, about=system.name, why=f"the value has shape {shape}", places=())
    return [(name, int(np.ravel_multi_index(index, shape)))]


def _unknown(system: System, code: str, name: str, what: str, known: Collection[str]) -> ModelError:
    near = difflib.get_close_matches(name, list(known), n=4, cutoff=0.5)
    listed = near or sorted(known)[:8]
    why = f"{'similar names' if near else 'names'}: {', '.join(listed)}" if listed else "there is none"
    cures = ('a name from the list, or a component of it such as "force.value[2]"',) if listed else ()
    return refusal(code, f'"{name}" is no {what}', *cures, about=system.name, why=why, places=())
