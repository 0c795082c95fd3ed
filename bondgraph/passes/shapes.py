"""Shapes: System -> System with the shape of every value known, or what does not fit, in the user's names.

All formulas run once on floats, at the start values as written. A user's formula that fails, or whose result has not
the shape of its bond, ends here instead of somewhere in the compiler.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bondgraph.assembly.system import Statement, System
from bondgraph.assembly.transitions import owner_of, transition_in_words
from bondgraph.checks.relations import contradictions
from bondgraph.errors import Problem, ScrewbondError, raise_if_any
from bondgraph.model.element import Element
from bondgraph.model.laws import Ratio, SkewGyrator
from bondgraph.model.model import Model


def find_shapes(system: System, model: Model) -> System:
    """Shapes of all values. Raises `ModelError`: E128 unlike shapes, E129 a formula that fails, E133 an Euler junction
    whose matrix is not skew-symmetric, E155 formulas of one element that contradict each other."""
    torn = [u.value for loop in system.loops for u in loop.unknowns if system.values[u.value].shape is None]
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(torn, ())
    for _ in range(len(torn) + 1):  # what is torn is scalar unless its formula says otherwise
        problems: dict[str, Problem] = {}
        values = _start(system, shapes)
        with np.errstate(all="ignore"):
            for statement in system.statements:
                problem = _run(statement, system, model, values)
                if problem:
                    problems.setdefault(statement.element, problem)
        computed = {name: _shape(values.get(f"{name}:computed", values[name])) for name in torn}
        if computed == shapes:
            break
        shapes = computed
    disagreeing = contradictions(model, lambda signal: values.get(system.resolve(signal)))
    for problem in [*_unlike(system, model, values), *_skew(system, model, values), *disagreeing]:
        problems.setdefault(str(problem), problem)
    raise_if_any(system.name, list(problems.values()))
    unknown = [name for name, value in system.values.items() if value.shape is None and name in values]
    if not unknown:
        return system
    found = {name: replace(system.values[name], shape=_shape(values[name])) for name in unknown}
    return replace(system, values={**system.values, **found})


def _start(system: System, torn: Mapping[str, tuple[int, ...]]) -> dict[str, Any]:
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


def _run(statement: Statement, system: System, model: Model, values: dict[str, Any]) -> Problem | None:
    """Evaluate one statement into `values`; the problem it shows, if any."""
    outs = statement.outs
    try:
        arguments = [values[arg] for arg in statement.args]
    except KeyError:
        return None  # a value it needs has failed already
    try:
        results = statement.op.function(*arguments)
        if isinstance(results, float) and len(outs) == 1 and system.values[outs[0]].shape in ((), None):
            values[outs[0]] = results
            return None
        results = (results,) if len(outs) == 1 else tuple(results)
        shapes = [_shape(result) for result in results]
    except (ScrewbondError, ArithmeticError):
        return None  # says nothing about shapes; other start values may do, or have the geometry
    except Exception as error:  # whatever a user's formula raises is the user's to see, with its element
        return _failed(statement, model, arguments, error)
    if len(results) != len(outs):
        title = f"{_owner(statement, model)}: {statement.op.name} gives {len(results)} results for {len(outs)} names"
        return _problem("E128", title, statement, model, arguments)
    for name, result, shape in zip(outs, results, shapes, strict=True):
        needed = system.values[name].shape
        if needed is not None and shape != needed:
            title = f"{_owner(statement, model)}: {_plain(name)} has shape {shape}, and needs {needed}"
            return _problem("E128", title, statement, model, arguments)
        values[name] = result
    return None


def _failed(statement: Statement, model: Model, arguments: list[Any], error: Exception) -> Problem:
    formula = transition_in_words(statement, model) or f"formula of {_plain(statement.outs[0])}"
    title = f"{_owner(statement, model)}: the {formula} fails"
    return _problem("E129", title, statement, model, arguments, f"{type(error).__name__}: {error}")


def _problem(code: str, title: str, statement: Statement, model: Model, arguments: list[Any], why: str = "") -> Problem:
    given = [f"{_plain(arg)} {_shape(value)}" for arg, value in zip(statement.args, arguments, strict=True)]
    details = [why] if why else []
    details.append(f"formula: {statement.op.name}; arguments with shapes: {', '.join(given) or 'none'}")
    known = owner_of(statement, model)
    law = known.law if isinstance(known, Element) else None
    if code != "E128":
        cure = "the formula and its arguments"
    elif isinstance(law, Ratio):
        cure = "dimensions=(n1, n2) where the ratio is a matrix: (n2, n1) of a transformer, (n1, n2) of a gyrator"
    else:
        cure = "a result of the bond's shape: () for dimension 1, else (n,)"
    return Problem(code, title, tuple(details), (known.place if known else None,), (cure,))


def _owner(statement: Statement, model: Model) -> str:
    element = model.elements.get(statement.element)
    return f'{element.kind} "{statement.element}"' if element else f'automaton "{statement.element}"'


def _plain(name: str) -> str:
    """A value's name as a user reads it."""
    bond, _, variable = name.rpartition(":")
    return f'{variable} of bond "{bond}"' if bond and " " not in variable else name


def _unlike(system: System, model: Model, values: dict[str, Any]) -> Iterator[Problem]:
    """Rates of states, and what ticks and events set them to, that have not their shape."""
    needed = {state.name: state.initial.shape for state in system.states}
    given = [(f'the rate of "{s.name}"', s.name, s.rate, s.name) for s in system.states]
    given += [(f'the update of "{name}"', name, value, name) for clock in system.clocks for name, value in clock.updates]
    for event in system.events:
        given += [(f'"{event.kind}" resets "{name}": the value', name, value, event.automaton) for name, value in event.resets]
    for what, state, value, owner in given:
        if value in values and _shape(values[value]) != needed[state]:
            known = model.automata.get(owner) or model.elements.get(owner.rpartition(".")[0])
            title = f"{what} has shape {_shape(values[value])}, and needs {needed[state]}"
            yield Problem("E128", title, (), (known.place if known else None,), ("the shape of the state's start value",))


def _skew(system: System, model: Model, values: dict[str, Any]) -> Iterator[Problem]:
    for path, element in model.elements.items():
        matrix = values.get(system.resolve(f"{path}.J")) if isinstance(element.law, SkewGyrator) else None
        if matrix is None:
            continue
        J = np.atleast_2d(np.asarray(matrix, dtype=float))
        if J.shape[0] != J.shape[-1] or (np.isfinite(J).all() and np.abs(J + J.T).max() > 1e-9 * np.abs(J).max()):
            title = f'the matrix of the Euler junction "{path}" is not skew-symmetric'
            shown = f"at the start it is {np.array2string(J, precision=4).replace(chr(10), '')}"
            cures = ("J with J^T = -J; for what takes power, an R",)
            yield Problem("E133", title, (shown, "so it would give or take power"), (element.place,), cures)
