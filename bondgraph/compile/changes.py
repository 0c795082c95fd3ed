"""What a user changes for a run: parameters, start values and modes by name -> numbers that fit, in the model's order."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from bondgraph.assembly.execute import computed
from bondgraph.assembly.system import System
from bondgraph.causality.assign import Causality
from bondgraph.checks.parameters import check_energies, check_ranges
from bondgraph.compile.starts import AGREES, contradicting_friction, sliding_at_start
from bondgraph.errors import ModelError, raise_if_any, refusal
from bondgraph.model.element import Element
from bondgraph.model.laws import Storing
from bondgraph.model.model import Model
from bondgraph.quantities import real


def checked_changes(model: Model, system: System, changes: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Parameters that are changed, by the names under which they are known.

    Raises `ModelError` E121 an unknown name, E124 numbers that do not fit, or one by two names, E119 a negative resistance and
    the like, E151 a number that no friction or constraint can have.
    """
    known_values, found = system.parameters, dict[str, np.ndarray]()
    changed: dict[str, Element] = {}
    given: dict[str, str] = {}
    for name, value in changes.items():
        known = name if name in known_values else system.resolve(name)
        if known not in known_values:
            raise _unknown(model, "E121", f'"{name}" is no parameter', known_values)
        _once(model.name, name, known, given)
        found[known] = _fitting(model.name, name, value, known_values[known])
        path, _, local = known.rpartition(".")
        element = changed.get(path, model.elements[path])
        parameter = replace(element.parameters[local.partition(" in ")[0]], value=found[known])
        changed[path] = replace(element, parameters={**element.parameters, local: parameter})
    if changed:
        part = replace(model, elements=changed)
        raise_if_any(model.name, [*check_energies(part), *check_ranges(part)])
    return found


@dataclass(frozen=True)
class Started:
    """What a function of start values was given, and what it gave."""

    arguments: tuple[np.ndarray, ...]
    results: tuple[Any, ...]

    def fits(self, values: Sequence[Any]) -> bool:
        """Whether it would be given the same."""
        return all(np.array_equal(old, new) for old, new in zip(self.arguments, values, strict=True))


def changed_start(
    model: Model, system: System, changes: Mapping[str, Any], parameters: Mapping[str, Any], earlier: Sequence[Started] = ()
) -> tuple[np.ndarray, np.ndarray, tuple[Started, ...]]:
    """Start state x and modes m with some changed, and with what follows from others computed; and how that went.

    `changes` names states (`spring.q`) or automata (`contact`, by the name of a state), `parameters` are those that are changed,
    as `checked_changes` gives them; `earlier` tells how it went before, so that only those functions are called again whose
    arguments changed.

    Raises `ModelError` E122 an unknown name or state of an automaton, E124 numbers that do not fit, or one by two names, E171 two
    start functions that disagree, E214 friction that its motion contradicts.
    """
    states = ChainMap[str, Any]({}, cast(MutableMapping[str, Any], system.initial))
    modes = {name.removesuffix(".mode"): start for name, (_, start) in system.modes.items()}
    given: dict[str, str] = {}
    for name, value in changes.items():
        known = name if name in states else system.resolve(name)
        _once(model.name, name, known, given)
        if known in states:
            states[known] = _fitting(model.name, name, value, states[known])
        elif name in modes:
            modes[name] = value
        else:
            title = f'"{name}" is no state and no automaton'
            raise _unknown(model, "E122", title, {**states, **modes})
    started, made = [], dict[str, Any]()
    numbers = cast(list[MutableMapping[str, Any]], [parameters, system.parameters])
    known_by_name = ChainMap[str, Any](*states.maps, *numbers)
    for index, start in enumerate(system.starts):
        values = [computed(system, system.resolve(a), known_by_name) for a in start.arguments]
        if index < len(earlier) and earlier[index].fits(values):
            started.append(earlier[index])
        else:
            arguments = tuple(np.array(value) for value in values)
            started.append(Started(arguments, tuple(start.function(*values))))
        for name, value in zip(start.results, started[-1].results, strict=True):
            known = system.resolve(name)
            if known in given or name in given:
                continue
            if known in made and known not in map(system.resolve, start.arguments) and _differ(made[known], value):
                lines = tuple(each.place for each in system.starts if name in each.results)
                title, why = f'two start functions disagree on "{name}"', f"one gives {made[known]!r}, and a later one {value!r}"
                cures = ("one start function for it", f'"{name}" among the arguments of the later one, if that refines it')
                raise refusal("E171", title, *cures, about=model.name, why=why, places=lines)
            made[known] = value
            if known in states:
                states[known] = _fitting(model.name, name, value, states[known])
            else:
                modes[name] = value
    places = {}
    for name, (known_states, _) in system.modes.items():
        automaton = name.removesuffix(".mode")
        if modes[automaton] not in known_states:
            title = f'"{automaton}" has no state {modes[automaton]!r}'
            raise _unknown(model, "E122", title, known_states)
        places[name] = known_states.index(modes[automaton])
    sliding = sliding_at_start(model, system, lambda: {**system.parameters, **parameters, **states, **places, "time": 0.0})
    told = {path: found for path, found in sliding.items() if path in given}
    raise_if_any(model.name, contradicting_friction(model, system, places, told))
    places |= {f"{path}.mode": found.place for path, found in sliding.items()}
    for found in sliding.values():
        states.update(found.noted)
    x = system.initial_row.copy()
    for name, value in states.maps[0].items():
        x[system.places[name]] = np.ravel(value)
    return x, np.array([float(place) for place in places.values()]), tuple(started)


def _differ(first: Any, second: Any) -> bool:
    """Whether two start values are not the same up to the digits of a start value."""
    if isinstance(first, str) or isinstance(second, str):
        return bool(first != second)
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    return a.shape != b.shape or bool(np.max(np.abs(a - b), initial=0.0) > AGREES * np.max(np.abs(a), initial=0.0))


def dependent_among(
    model: Model, system: System, causality: Causality, changes: Mapping[str, Any]
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Changed start values of storages in derivative causality by the name of the state, and all other changes; E124 where the
    former do not fit."""
    names = {f"{path}.{model.elements[path].law_as(Storing).follows[0]}" for path in causality.derivative}
    own = {system.resolve(name): name for name in names}
    found, others, given = {}, {}, dict[str, str]()
    for name, value in changes.items():
        known = system.resolve(name)
        if known in own:
            _once(model.name, name, known, given)
            found[own[known]] = _fitting(model.name, name, value, np.zeros(system.values[known].shape or ()))
        else:
            others[name] = value
    return found, others


def _once(model: str, name: str, known: str, given: dict[str, str]) -> None:
    """Note the number that a name means; E124 where another name gave it already."""
    if (other := given.setdefault(known, name)) != name:
        why = "each would have a value of its own"
        raise refusal("E124", f'"{other}" and "{name}" are two names of one number', "one of them", about=model, why=why)


def _fitting(model: str, name: str, value: Any, known: Any) -> np.ndarray:
    array = real(value)
    if array is None or array.shape != np.shape(known) or not np.all(np.isfinite(array)):
        shown = repr(value)
        given = "no number" if array is None else f"of shape {array.shape}"
        title = f'"{name}" cannot be {shown if len(shown) < 60 else shown[:57] + "..."}'
        why = f"it needs finite numbers of shape {np.shape(known)}; what is given is {given}"
        raise refusal("E124", title, about=model, why=why, places=())
    return array


def mapping_of(model: str, what: str, given: Any, example: str) -> Mapping[str, Any]:
    """What a user changes, by name; E321 where it is no dictionary."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return given
    title = f"{what} must be a dictionary of values by name, not {type(given).__name__}"
    raise refusal("E321", title, f"{what}={{{example}}}", about=model)


def _unknown(model: Model, code: str, title: str, known: Iterable[str]) -> ModelError:
    return refusal(code, title, about=model.name, why=f"known: {', '.join(known)}", places=())
