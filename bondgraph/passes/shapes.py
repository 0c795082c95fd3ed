"""Shape inference: find the shape of every value of a system, and report mismatches with the user's names.

All formulas run on floats, at the start values. A user's formula that fails, or whose result does not have the shape of its
bond, is reported here instead of somewhere in the compiler.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bondgraph.assembly.system import Statement, System
from bondgraph.assembly.transitions import owner_of, transition_in_words
from bondgraph.checks.relations import contradictions
from bondgraph.errors import Problem, ScrewbondError, raise_if_any
from bondgraph.model.automata import Automaton
from bondgraph.model.element import Element
from bondgraph.model.laws import Ratio, SignalBlock, SkewGyrator
from bondgraph.model.model import Model
from bondgraph.passes.repeatability import is_users
from screws.errors import plural

_POSITIONAL = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
_INDEXED_NUMBER = ("scalar variable", "'float' object is not subscriptable", "'TapeScalar' object is not subscriptable")
_TIME = frozenset({"t", "time"})


def wrong_arguments(
    statement: Statement, system: System, owner: Element | Automaton | None
) -> tuple[str, tuple[str, ...]] | None:
    """Return a report of the arguments that a formula takes and gets, with cures; return None if their numbers agree or are
    unknown."""
    arguments = _positional(statement.op.function)
    if arguments is None:
        return None
    required, received = [name for name, optional in arguments if not optional], statement.args
    if len(required) <= len(received) <= len(arguments):
        return None
    taken = [name for name, _ in arguments]
    why = f"it takes {_counted(taken)} and gets {_counted([path.rpartition(':')[2] for path in received])}"
    if len(taken) < len(received):
        return why, ("as many arguments as it gets: its own variables, the parameters, the signals",)
    return why, tuple(_cures(required[len(received) :], system, owner))


def _cures(missing: Sequence[str], system: System, owner: Element | Automaton | None) -> Iterator[str]:
    if not isinstance(owner, Element) or isinstance(owner.law, SignalBlock):
        yield f"a name for {' and '.join(missing)} among the names that follow the formula"
        return
    paths = [_path(name, system) for name in missing]
    if all(paths):
        yield f"signals=[{', '.join(_quoted(path) for path in (*owner.signals, *paths))}]"
    else:
        pairs = zip(missing, paths, strict=True)
        entries = [f"{_quoted(name)}: {_quoted(path or '<element>.<signal>')}" for name, path in pairs]
        yield f"signals={{{', '.join(entries)}}}"
    if not set(missing) & _TIME:
        yield f"parameters={{{', '.join(f'{_quoted(name)}: 1.0' for name in missing)}}}"


def _path(argument: str, system: System) -> str:
    if argument in _TIME:
        return "time"
    readable = [name for name in (*system.values, *system.aliases) if ":" not in name and not name.endswith("'")]
    ending = [name for name in readable if name.endswith(f".{argument}")]
    return next(iter(ending or difflib.get_close_matches(argument, readable, n=1)), "")


def _positional(formula: Callable[..., Any]) -> list[tuple[str, bool]] | None:
    try:
        arguments = inspect.signature(formula).parameters.values()
    except (TypeError, ValueError):
        return None
    if not {each.kind for each in arguments} <= _POSITIONAL:
        return None
    return [(each.name, each.default is not each.empty) for each in arguments]


def _counted(names: Sequence[str]) -> str:
    return f"{len(names)} argument{'' if len(names) == 1 else 's'}" + (f" ({', '.join(names)})" if names else "")


def _quoted(name: str) -> str:
    return f'"{name}"'


def find_shapes(system: System, model: Model) -> System:
    """Return the system with the shapes of all values.

    Raises `ModelError`: E128 for inconsistent shapes, E129 for a formula that fails, E133 for an Euler junction whose matrix
    is not skew-symmetric, E155 for formulas of one element that contradict each other, E110 for an energy that quadrature cannot
    compute.
    """
    torn = [u.value for loop in system.loops for u in loop.unknowns if system.values[u.value].shape is None]
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(torn, ())
    for _ in range(len(torn) + 1):  # a tearing variable is scalar unless its formula determines another shape
        problems: dict[str, Problem] = {}
        values = _start_values(system, shapes)
        with np.errstate(all="ignore"):
            for statement in system.statements:
                problem = _evaluate(statement, system, model, values)
                if problem:
                    problems.setdefault(statement.element, problem)
        computed = {name: _shape(values.get(f"{name}:computed", values[name])) for name in torn}
        if computed == shapes:
            break
        shapes = computed
    contradicting = contradictions(model, lambda signal: values.get(system.resolve(signal)))
    for problem in [*_mismatches(system, model, values), *_not_skew(system, model, values), *contradicting]:
        problems.setdefault(str(problem), problem)
    raise_if_any(system.name, list(problems.values()))
    unknown = [name for name, value in system.values.items() if value.shape is None and name in values]
    if not unknown:
        return system
    inferred = {name: replace(system.values[name], shape=_shape(values[name])) for name in unknown}
    return replace(system, values={**system.values, **inferred})


def _start_values(system: System, torn: Mapping[str, tuple[int, ...]]) -> dict[str, Any]:
    values: dict[str, Any] = {"time": np.float64(0.0)}
    values |= {name: np.float64(0.0) for name in system.modes}
    values |= {name: value[()] for name, value in system.parameters.items()}
    values |= {state.name: state.initial[()] for state in system.states}
    unknowns = [*system.unknowns, *(unknown for loop in system.loops for unknown in loop.unknowns)]
    shapes = {u.value: torn.get(u.value, system.values[u.value].shape or ()) for u in unknowns}
    values |= {name: np.zeros(shape)[()] for name, shape in shapes.items()}
    return values


def _shape(value: Any) -> tuple[int, ...]:
    return () if isinstance(value, float) else np.shape(value)


def _evaluate(statement: Statement, system: System, model: Model, values: dict[str, Any]) -> Problem | None:
    outs = statement.outs
    try:
        arguments = [values[arg] for arg in statement.args]
    except KeyError:
        return None  # an argument has failed already
    try:
        results = statement.results(arguments)
        if isinstance(results[0], float) and len(outs) == 1 and system.values[outs[0]].shape in ((), None):
            values[outs[0]] = results[0]
            return None
        shapes = [_shape(result) for result in results]
    except (ScrewbondError, ArithmeticError):
        return None  # not a matter of shapes: other start values may work
    except Exception as error:  # the user sees whatever a formula raises, with its element
        return _failure(statement, system, model, arguments, error)
    if len(results) != len(outs):
        counts = f"{plural(len(results), 'result')} for {plural(len(outs), 'name')}"
        title = f"{_owner(statement, model)}: {statement.op.name} gives {counts}"
        cure = f"a formula that returns {plural(len(outs), 'result')}"
        return _problem("E128", title, statement, model, arguments, cure=cure)
    if not all(map(_is_numeric, results)):
        return _no_number(statement, model, results)
    for name, result, shape in zip(outs, results, shapes, strict=True):
        needed = system.values[name].shape
        if needed is not None and shape != needed:
            title = f"{_owner(statement, model)}: {_readable(name)} has shape {shape}, but needs {needed}"
            vectors = [path for path, each in model.elements.items() if len(needed) == 1 and needed in _own_shapes(each)]
            why = f"values with {needed[0]} components: {', '.join(vectors[:4])}" if vectors else ""
            return _problem("E128", title, statement, model, arguments, why, f"a result of shape {needed}, that of its bond")
        values[name] = result
    return None


def _own_shapes(element: Element) -> Iterator[tuple[int, ...]]:
    yield from (np.shape(each.value) for each in element.parameters.values())
    yield from (np.shape(each.initial) for each in element.law.states().values())


def _is_numeric(result: Any) -> bool:
    if isinstance(result, np.ndarray) and result.dtype.kind in "OSU":
        return all(map(_is_numeric, result.flat))
    return result is not None and not isinstance(result, (str, bytes, Mapping, set))


def _failure(statement: Statement, system: System, model: Model, arguments: list[Any], error: Exception) -> Problem:
    formula = transition_in_words(statement, model) or f"formula of {_readable(statement.outs[0])}"
    title = f"{_owner(statement, model)}: the {formula} fails"
    owner = owner_of(statement, model)
    if isinstance(error, TypeError) and (wrong := wrong_arguments(statement, system, owner)) is not None:
        return Problem("E129", title, (wrong[0],), (owner.place if owner else None,), wrong[1])
    reason = f"{type(error).__name__}: {error}"
    if isinstance(error, (IndexError, TypeError)) and any(words in str(error) for words in _INDEXED_NUMBER):
        return _component_of_a_number(title, reason, statement, model, arguments)
    if isinstance(error, (ValueError, IndexError)) and not is_users(statement.op.function):
        title = f"{_owner(statement, model)}: the shapes of its parameters and signals are inconsistent"
        return _problem("E128", title, statement, model, arguments, reason)
    return _problem("E129", title, statement, model, arguments, reason)


def _component_of_a_number(title: str, reason: str, statement: Statement, model: Model, arguments: list[Any]) -> Problem:
    numbers = [name for name, value in zip(statement.args, arguments, strict=True) if _shape(value) == ()]
    are = "which is a number" if len(numbers) == 1 else "which are numbers"
    why = [f"it may read a component of {' or '.join(map(_readable, numbers))}, {are}"] if numbers else []
    owner, cures = owner_of(statement, model), ["a formula of the number itself"]
    for path, _, state in (name.rpartition(".") for name in numbers):
        source = model.elements.get(path)
        if source is not None and isinstance(source.law, SignalBlock) and state in source.law.states():
            cures.append(f'a start value with these components in block "{path}"')
    return Problem("E129", title, (*why, reason), (owner.place if owner else None,), tuple(cures[:2]))


def _no_number(statement: Statement, model: Model, results: tuple[Any, ...]) -> Problem:
    formula = transition_in_words(statement, model) or f"formula of {_readable(statement.outs[0])}"
    title = f"{_owner(statement, model)}: the {formula} returns {' and '.join(map(repr, results))}, not a number"
    owner = owner_of(statement, model)
    return Problem("E129", title, (), (owner.place if owner else None,), ("a function that returns a number on every path",))


def _problem(
    code: str, title: str, statement: Statement, model: Model, arguments: list[Any], why: str = "", cure: str = ""
) -> Problem:
    shapes = [f"{_readable(arg)} {_shape(value)}" for arg, value in zip(statement.args, arguments, strict=True)]
    details = [why] if why else []
    details.append(f"formula: {statement.op.name}; arguments with shapes: {', '.join(shapes) or 'none'}")
    owner = owner_of(statement, model)
    law = owner.law if isinstance(owner, Element) else None
    if code != "E128":
        cure = "a formula that accepts floats and arrays of floats with these shapes at the start values"
    elif isinstance(law, Ratio):
        cure = "dimensions=(n1, n2) if the ratio is a matrix: (n2, n1) for a transformer, (n1, n2) for a gyrator"
    else:
        cure = cure or "consistent shapes: a scalar for a scalar, (n,) for a vector, a matrix with a column for each component"
    return Problem(code, title, tuple(details), (owner.place if owner else None,), (cure,))


def _owner(statement: Statement, model: Model) -> str:
    element = model.elements.get(statement.element)
    return f'{element.kind} "{statement.element}"' if element else f'automaton "{statement.element}"'


def _readable(name: str) -> str:
    bond, _, variable = name.rpartition(":")
    return f'{variable} of bond "{bond}"' if bond and " " not in variable else name


def _mismatches(system: System, model: Model, values: dict[str, Any]) -> Iterator[Problem]:
    expected = {state.name: state.initial.shape for state in system.states}
    assigned = [(f'the rate of "{s.name}"', s.name, s.rate, s.name) for s in system.states]
    assigned += [(f'the update of "{name}"', name, value, name) for clock in system.clocks for name, value in clock.updates]
    for event in system.events:
        assigned += [(f'"{event.kind}" resets "{name}": the value', name, value, event.automaton) for name, value in event.resets]
    for label, state, value, path in assigned:
        if value in values and _shape(values[value]) != expected[state]:
            owner = model.automata.get(path) or model.elements.get(path.rpartition(".")[0])
            title = f"{label} has shape {_shape(values[value])}, but needs {expected[state]}"
            yield Problem("E128", title, (), (owner.place if owner else None,), ("the shape of the state's start value",))


def _not_skew(system: System, model: Model, values: dict[str, Any]) -> Iterator[Problem]:
    for path, element in model.elements.items():
        matrix = values.get(system.resolve(f"{path}.J")) if isinstance(element.law, SkewGyrator) else None
        if matrix is None:
            continue
        J = np.atleast_2d(np.asarray(matrix, dtype=float))
        if J.shape[0] != J.shape[-1] or (np.isfinite(J).all() and np.abs(J + J.T).max() > 1e-9 * np.abs(J).max()):
            title = f'the matrix of the Euler junction "{path}" is not skew-symmetric'
            shown = f"at the start it is {np.array2string(J, precision=4).replace(chr(10), '')}"
            cures = ("J with J^T = -J; for dissipation, an R",)
            yield Problem("E133", title, (shown, "so it would supply or absorb power"), (element.place,), cures)
