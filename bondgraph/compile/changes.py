"""Changes of parameters, start values and modes for a run: check them by name and arrange them in the model's order.

A start value given as an effort or flow sets the only state that determines this value, by the inverse of the law.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from bondgraph.assembly.draft import law_arguments
from bondgraph.assembly.system import System, evaluate_value
from bondgraph.causality.assign import Causality
from bondgraph.checks.parameters import check_energies, check_ranges
from bondgraph.compile.starts import START_RTOL, contradicting_friction, sliding_at_start
from bondgraph.errors import ModelError, Problem, raise_if_any, refusal
from bondgraph.model.arguments import has_unit, numbers_in_unit
from bondgraph.model.element import Element
from bondgraph.model.laws import InertialField, Storage, Storing
from bondgraph.model.mechanics import partials
from bondgraph.model.model import Model
from bondgraph.model.ops import Op
from bondgraph.quantities import real
from bondgraph.tracing.on_tape.values import flat
from bondgraph.units import quantity_cure
from screws.errors import plural
from screws.names import similar_names
from screws.numeric_arguments import shortened

_FIRST, _XTOL, _RTOL = 1e-3, 1e-15, 1e-9
"""First trial value of a state that is zero, relative tolerance of a state, and largest relative residual of a solution."""


@dataclass(frozen=True)
class ConvertedStart:
    """Flow or effort with the storage state that determines it."""

    state: str
    element: str
    arguments: tuple[str, ...]
    output: Op | None
    """Operation (state, other arguments) -> flow or effort; for an IC, (q, state, other arguments) -> flow; None if only the
    inverse exists."""
    inverse: Op | None
    """Operation (flow or effort, other arguments) -> state; for an IC, (q, flow, other arguments) -> state; None if unknown."""
    place: int = 0
    """Index of the state among the arguments."""


def converted_start(model: Model, system: System, root: str) -> ConvertedStart | None:
    """Return the storage whose law computes the value `root` from its own state, or else the storage whose state alone determines
    this effort or flow; None if there is no such storage."""
    return _by_law(model, system, root) or _by_one_state(system, root) if isinstance(root, str) else None


def converted_states(model: Model, system: System, changes: Iterable[str]) -> dict[str, str]:
    starts = {
        name: converted_start(model, system, system.resolve(name)) for name in changes if f"{name}.mode" not in system.modes
    }
    return {
        name: start.state for name, start in starts.items() if start is not None and system.resolve(name) not in system.initial
    }


def _by_one_state(system: System, root: str) -> ConvertedStart | None:
    if root.rpartition(".")[2] not in ("effort", "flow"):
        return None
    inputs, left = dict[str, None](), [root]
    while left:
        name = left.pop()
        if name in system.producers:
            left += system.producers[name].args
        elif name in system.initial or name in system.parameters or name in system.modes or name == "time":
            inputs[name] = None
        else:
            return None
    states = [name for name in inputs if name in system.initial]
    if len(states) != 1 or states[0] in system.guesses:
        return None
    arguments = (states[0], *(name for name in inputs if name not in states))

    def value(*numbers: Any) -> Any:
        return evaluate_value(system, root, dict(zip(arguments, numbers, strict=True)))

    return ConvertedStart(states[0], states[0].rpartition(".")[0], arguments, Op(root, value), None)


def _by_law(model: Model, system: System, root: str) -> ConvertedStart | None:
    states = {state.name for state in system.states}
    statement = system.producers.get(root)
    element = None if statement is None else model.elements.get(statement.element)
    if statement is None or element is None or statement.outs != (root,) or not statement.args:
        return next((start for start in _by_output(model, system, root) if start.state in states), None)
    law, path, arguments = element.law, statement.element, statement.args
    if isinstance(law, Storage) and law.rate is None and arguments[0] == system.resolve(f"{path}.{law.state}"):
        storage = ConvertedStart(arguments[0], path, arguments, law.output, law.inverse)
    elif isinstance(law, InertialField) and law.motion == "p" and len(arguments) > 1 and statement.op is law.flow:
        storage = ConvertedStart(arguments[1], path, arguments, law.flow, law.momentum, 1)
    else:
        return None
    return storage if storage.state in states else None


def _by_output(model: Model, system: System, root: str) -> Iterator[ConvertedStart]:
    for path, element in model.elements.items():
        law = element.law
        if isinstance(law, Storage) and law.output is None and system.resolve(f"{path}.{law.gives}") == root:
            state = system.resolve(f"{path}.{law.state}")
            yield ConvertedStart(state, path, (state, *law_arguments(path, element)), None, law.inverse)


def state_for(start: ConvertedStart, system: System, value: np.ndarray, inputs: Mapping[str, Any], name: str) -> np.ndarray:
    """Return the state at which the law gives `value`; `inputs` are states, parameters and modes by name.

    Raises `ModelError` E124 if no such state is found.
    """
    from scipy.optimize import root

    arguments = [evaluate_value(system, system.resolve(each), inputs) for each in start.arguments]
    if start.inverse is not None:
        return np.asarray(start.inverse(*_with(arguments, start.place, value[()])), dtype=float)
    assert start.output is not None
    output = start.output
    begun, others = np.array(arguments[start.place], dtype=float), [a for k, a in enumerate(arguments) if k != start.place]
    size = float(np.max(np.abs(value))) or 1.0

    def of_law(at: np.ndarray) -> np.ndarray:
        state = at.reshape(begun.shape)[()]
        return np.ravel(np.asarray(output(*_with(arguments, start.place, state)), dtype=float) - value) / size

    def slopes(at: np.ndarray) -> np.ndarray:
        def scalars(state: Any) -> list[Any]:
            return list(np.asarray(output(*_with(arguments, start.place, state)), dtype=object).flat)

        return np.asarray(partials(scalars, at.reshape(begun.shape)[()], others), dtype=float).reshape(at.size, at.size) / size

    with np.errstate(all="ignore"):
        solved = root(of_law, np.ravel(np.where(begun == 0.0, _FIRST, begun)), jac=slopes, options={"xtol": _XTOL})
    if np.max(np.abs(solved.fun)) <= _RTOL:
        return np.asarray(solved.x.reshape(begun.shape)[()])
    title = f'no {start.state.rpartition(".")[2]} of "{start.element}" was found that gives {name} = {value.tolist()}'
    raise refusal("E124", title, f'"{start.state}" itself', "inverse=, the inverse of its law", about=system.name, places=())


def _with(arguments: list[Any], place: int, value: Any) -> list[Any]:
    return [*arguments[:place], value, *arguments[place + 1 :]]


_MAX_LISTED = 12


def checked_changes(model: Model, system: System, changes: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return the changed parameters by the names under which they are computed.

    Raises `ModelError` E121 for an unknown name, E124 for an invalid value or a value set by two names, E119 for a negative
    resistance or similar, E151 for a value outside the range of friction or constraints.
    """
    defaults, checked = system.parameters, dict[str, np.ndarray]()
    changed: dict[str, Element] = {}
    name_used: dict[str, str] = {}
    for name, value in changes.items():
        root = name if name in defaults else system.resolve(name)
        if root not in defaults:
            raise _unknown(model, "E121", f'"{name}" is not a parameter', defaults)
        _refuse_second_name(model.name, name, root, name_used)
        checked[root] = _fitting(model.name, name, value, defaults[root], _unit_of(system, root, value))
        path, _, local = root.rpartition(".")
        element = changed.get(path, model.elements[path])
        parameter = replace(element.parameters[local.partition(" in ")[0]], value=checked[root])
        changed[path] = replace(element, parameters={**element.parameters, local: parameter})
    if changed:
        part = replace(model, elements=changed)
        raise_if_any(model.name, [*check_energies(part), *check_ranges(part)])
    return checked


@dataclass(frozen=True)
class StartCall:
    arguments: tuple[np.ndarray, ...]
    results: tuple[Any, ...]

    def fits(self, values: Sequence[Any]) -> bool:
        return all(np.array_equal(old, new) for old, new in zip(self.arguments, values, strict=True))


def changed_start(
    model: Model,
    system: System,
    changes: Mapping[str, Any],
    parameters: Mapping[str, Any],
    earlier: Sequence[StartCall] = (),
    t: float = 0.0,
) -> tuple[np.ndarray, np.ndarray, tuple[StartCall, ...]]:
    """Return the start state x and the modes m at the time t (s) with changes and dependent start values, and the calls of start
    functions.

    `changes` names states (`spring.q`), efforts and flows that one state determines (`wheel.flow`), or automata (`contact`, by
    the name of a state); `parameters` are the changes from `checked_changes`; start functions with the arguments of `earlier`
    calls are not called again.

    Raises `ModelError` E122 for an unknown name or state of an automaton, E124 for an invalid value or a value set by two names,
    E129 for results of a start function in the wrong number, E171 for two start functions that disagree, E214 for friction with
    a mode that contradicts its motion.
    """
    states = ChainMap[str, Any]({}, cast(MutableMapping[str, Any], system.initial))
    modes = {mode.automaton: mode.start for mode in system.modes.values()}
    name_used: dict[str, str] = {}
    converted: dict[str, tuple[ConvertedStart, np.ndarray]] = {}
    for name, value in changes.items():
        root = name if name in states else system.resolve(name)
        storage = None if root in states or name in modes else converted_start(model, system, root)
        _refuse_second_name(model.name, name, root if storage is None else storage.state, name_used)
        if root in states:
            states[root] = _fitting(model.name, name, value, states[root], _unit_of(system, root, value))
        elif name in modes:
            modes[name] = value
        elif storage is not None:
            like, unit = np.zeros(system.values[root].shape or ()), _unit_of(system, root, value)
            converted[name] = storage, _fitting(model.name, name, value, like, unit)
        else:
            title = f'"{name}" is neither a state nor an automaton, nor an effort or flow that one state determines'
            raise _unknown(model, "E122", title, {**states, **modes})
    if converted:
        numbers_in_si = system.in_statement_units({**system.parameters, **parameters})
        numbers_by_name = {**_modes_by_index(model, system, modes), **numbers_in_si, "time": t}
        _convert(model, system, converted, states, numbers_by_name)
    calls, computed_values = [], dict[str, Any]()
    declared = ChainMap[str, Any](*cast(list[MutableMapping[str, Any]], [parameters, system.parameters]))
    numbers = cast(MutableMapping[str, Any], system.in_statement_units(declared))
    indices: MutableMapping[str, Any] = dict(_modes_by_index(model, system, modes))
    inputs = ChainMap[str, Any](*states.maps, numbers, indices)
    for index, start in enumerate(system.starts):
        values = [evaluate_value(system, system.resolve(a), inputs) for a in start.arguments]
        if index < len(earlier) and earlier[index].fits(values):
            calls.append(earlier[index])
        else:
            arguments = tuple(np.array(value) for value in values)
            results = start.function(*values)
            if not isinstance(results, (tuple, list, np.ndarray)) or len(results) != len(start.results):
                title, why = f"a start function returns {results!r}", f"it sets {', '.join(start.results)}"
                cure = f"a tuple of {plural(len(start.results), 'value')}, such as (1.0,)"
                raise refusal("E129", title, cure, about=model.name, why=why, places=(start.place,))
            calls.append(StartCall(arguments, tuple(results)))
        for name, value in zip(start.results, calls[-1].results, strict=True):
            root = system.resolve(name)
            if root in name_used or name in name_used:
                continue
            refines = root in map(system.resolve, start.arguments)
            if root in computed_values and not refines and _differ(computed_values[root], value):
                lines = tuple(each.place for each in system.starts if name in each.results)
                title = f'two start functions disagree on "{name}"'
                why = f"one function gives {computed_values[root]!r}, and a later function {value!r}"
                cures = (
                    "one start function for it",
                    f'"{name}" among the arguments of the later function, if it refines the value',
                )
                raise refusal("E171", title, *cures, about=model.name, why=why, places=lines)
            computed_values[root] = value
            if root in states:
                states[root] = _fitting(model.name, name, value, states[root])
            else:
                modes[name] = value
                indices.update(_modes_by_index(model, system, modes))
    mode_indices = _modes_by_index(model, system, modes)
    sliding = sliding_at_start(model, system, lambda: {**numbers, **states, **mode_indices, "time": t})
    with_start = {path: slip for path, slip in sliding.items() if path in name_used}
    raise_if_any(model.name, contradicting_friction(model, system, mode_indices, with_start))
    mode_indices |= {f"{path}.mode": slip.mode for path, slip in sliding.items()}
    for slip in sliding.values():
        states.update(slip.noted)
    x = system.initial_row.copy()
    for name, value in states.maps[0].items():
        x[system.places[name]] = np.ravel(value)
    return x, np.array([float(index) for index in mode_indices.values()]), tuple(calls)


def _convert(
    model: Model,
    system: System,
    converted: Mapping[str, tuple[ConvertedStart, np.ndarray]],
    states: MutableMapping[str, Any],
    numbers: Mapping[str, Any],
) -> None:
    """Set the states of storages whose flow or effort is given; a law may read the states of other storages, in any order."""
    for attempt in range(len(converted) + 1):
        before = {start.state: states[start.state] for start, _ in converted.values()}
        for name, (start, value) in converted.items():
            state = state_for(start, system, value, {**numbers, **states}, name)
            states[start.state] = _fitting(model.name, name, state, states[start.state])
        settled = all(np.allclose(states[name], before[name], rtol=1e-9, atol=0.0) for name in before)
        if settled and attempt:
            return
    title = f"{' and '.join(converted)} cannot be converted to states: each law reads the state of the other"
    raise refusal("E124", title, "the states themselves", about=model.name, places=())


def _modes_by_index(model: Model, system: System, modes: Mapping[str, Any]) -> dict[str, int]:
    indices = {}
    for name, mode in system.modes.items():
        state = modes[mode.automaton]
        if state not in mode.states:
            raise _unknown(model, "E122", f'"{mode.automaton}" has no state {state!r}', mode.states)
        indices[name] = mode.states.index(state)
    return indices


def _differ(first: Any, second: Any) -> bool:
    if isinstance(first, str) or isinstance(second, str):
        return bool(first != second)
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    return a.shape != b.shape or bool(np.max(np.abs(a - b), initial=0.0) > START_RTOL * np.max(np.abs(a), initial=0.0))


def dependent_among(
    model: Model, system: System, causality: Causality, changes: Mapping[str, Any]
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Split changes into start values of storages in derivative causality, by the name of the state, and all other changes.

    Raises `ModelError` E124 for an invalid value of a storage.
    """
    names = {f"{path}.{model.elements[path].law_as(Storing).follows[0]}" for path in causality.derivative}
    state_of = {system.resolve(name): name for name in names}
    dependent, others, name_used = {}, {}, dict[str, str]()
    for name, value in changes.items():
        root = system.resolve(name)
        if root in state_of:
            _refuse_second_name(model.name, name, root, name_used)
            kind = system.values[root]
            dependent[state_of[root]] = _fitting(model.name, name, value, np.zeros(kind.shape or ()), kind.unit)
        else:
            others[name] = value
    return dependent, others


def _refuse_second_name(model: str, name: str, root: str, name_used: dict[str, str]) -> None:
    if (other := name_used.setdefault(root, name)) != name:
        why = "the two would have different values"
        raise refusal("E124", f'"{other}" and "{name}" are two names for the same number', "only one name", about=model, why=why)


def _unit_of(system: System, root: str, value: Any) -> str:
    """Return the unit of a quantity, or "" for a bare number, so that large models need not list all names."""
    return system.values[root].unit if has_unit(value) else ""


def _fitting(model: str, name: str, value: Any, like: Any, unit: str = "") -> np.ndarray:
    array = real(numbers_in_unit(model, name, value, unit))
    if array is None or array.shape != np.shape(like) or not np.all(np.isfinite(array)):
        fault = "not a number" if array is None else f"of shape {array.shape}" if array.shape != np.shape(like) else "not finite"
        title = f'"{name}" cannot be {shortened(value)}'
        why = f"finite numbers of shape {np.shape(like)} are needed; this value is {fault}"
        cure = f"an array of {np.size(like)} finite numbers" if np.ndim(like) else "one finite number"
        raise refusal("E124", title, quantity_cure(value) or cure, about=model, why=why, places=())
    return array


def mapping_of(model: str, argument: str, changes: Any, example: str) -> Mapping[str, Any]:
    if changes is None:
        return {}
    if isinstance(changes, Mapping):
        return changes
    title = f"{argument} must be a dictionary of values by name, not {type(changes).__name__}"
    cure = "initial=result.final" if argument == "initial" and hasattr(changes, "final") else f"{argument}={{{example}}}"
    raise refusal("E321", title, cure, about=model)


def _unknown(model: Model, code: str, title: str, names: Iterable[str]) -> ModelError:
    all_names = list(names)
    near = [f'did you mean "{name}"?' for name in similar_names(title.split('"')[1], all_names, most=2)]
    shown = ", ".join(all_names[:_MAX_LISTED]) + (
        f" and {len(all_names) - _MAX_LISTED} more" if len(all_names) > _MAX_LISTED else ""
    )
    return refusal(
        code, title, *(near or ("a name from this list",) * bool(all_names)), about=model.name, why=f"known: {shown}", places=()
    )


def unusable_parameters(
    model: Model, system: System, numbers: Mapping[str, Any], prepare: Callable[..., np.ndarray], values: Mapping[str, Any]
) -> list[Problem]:
    """Report parameters from which `prepare` derives a value that is not finite (E309): those whose former value (or, if none was
    changed, another value) makes all derived values finite, or else all changed parameters.

    Parameters
    ----------
    numbers : all parameters by name.
    values : every value of the model by name, computed from them.
    """
    if np.isfinite(prepare(flat(numbers.values()))).all():
        return []
    before = system.parameters
    others = {n: before[n] for n in numbers if not np.array_equal(numbers[n], before[n])}
    others = others or {n: 1.1 * np.asarray(value, dtype=float) + 0.1 for n, value in numbers.items()}
    cured = [n for n in others if np.isfinite(prepare(flat({**numbers, n: others[n]}.values()))).all()]
    guilty = cured or (list(others) if len(others) < len(numbers) else [])
    named = " and ".join(f"{name} = {_text(numbers[name])}" for name in guilty)
    title = f"{named or 'this set of parameters'} cannot be used"
    owners = list(dict.fromkeys(name.rpartition(".")[0] for name in guilty))
    lines = tuple(model.elements[path].place for path in owners if path in model.elements)
    cures = tuple(f"another {name}: {_text(others[name])} can be used" for name in cured)
    return [Problem("E309", title, _derived(system, values), lines, cures)]


def _derived(system: System, values: Mapping[str, Any]) -> tuple[str, ...]:
    for statement in system.statements:
        bad = [out for out in statement.outs if not _finite(values[out])]
        if bad and all(_finite(values[argument]) for argument in statement.args):
            arguments = ", ".join(f"{argument} = {_text(values[argument])}" for argument in statement.args)
            return (f'"{bad[0]}" is then {_text(values[bad[0]])}: {statement.op.name} of {arguments}',)
    return ("a value derived from it is not finite",)


def _finite(value: Any) -> bool:
    return bool(np.isfinite(np.asarray(value, dtype=float)).all())


def _text(value: Any) -> str:
    return np.array2string(np.asarray(value, dtype=float), precision=6, threshold=12)
