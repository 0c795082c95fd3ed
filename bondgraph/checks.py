"""Checks of a flat model that need no causality: all problems at once, each with the user's source line."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from bondgraph.errors import Problem
from bondgraph.graph.element import Element
from bondgraph.graph.laws import (
    ByMode,
    IdealConstraint,
    IdealSwitch,
    InertialField,
    Junction,
    Resistor,
    SignalBlock,
    StateSpec,
    Storage,
    Transformer,
)
from bondgraph.graph.modal import numbers_of
from bondgraph.graph.model import Model


def check_model(model: Model, known: Collection[str] = ()) -> list[Problem]:
    """All problems of the model, from every check below.

    `known` are the codes of problems that are known already: checks that would only repeat them are left out.
    """
    return [problem for check, after in CHECKS for problem in (check(model) if after.isdisjoint(known) else ())]


def check_numbers(model: Model) -> Iterator[Problem]:
    """Parameters, start values, nominal sizes and structural ratios are finite numbers; nominal sizes are positive."""
    for path, element in model.elements.items():
        for name, value in _given_numbers(element):
            if isinstance(value, float) and 0.0 < value < math.inf:
                continue
            array = as_numbers(value)
            wanted = "a finite number or an array of them"
            fine = array is not None and bool(np.isfinite(array).all())
            if fine and name.startswith("nominal size"):
                wanted, fine = "positive", bool(np.all(array > 0))  # type: ignore[operator]
            if not fine:
                yield Problem(
                    "E113",
                    f'{element.kind} "{path}": {name} is {_short(value)}',
                    (f"it must be {wanted}",),
                    (element.place,),
                    ("check where this value comes from",),
                )


def _given_numbers(element: Element) -> Iterator[tuple[str, Any]]:
    for name, parameter in element.parameters.items():
        yield from numbers_of(name, parameter).items()
    for name, spec in states_of(element).items():
        yield f"start value of {name}", spec.initial
        yield f"nominal size of {name}", spec.nominal
    law = element.law
    if isinstance(law, Transformer) and law.matrix.name == "constant":
        yield "ratio", law.matrix()


def as_numbers(value: Any) -> np.ndarray | None:
    """A value as an array of floats; None where it is no number."""
    if isinstance(value, float):
        return np.asarray(value)
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return None


def _short(value: Any) -> str:
    shown = repr(value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value)
    return shown if len(shown) < 80 else shown[:76] + " ..."


def check_junctions(model: Model) -> Iterator[Problem]:
    """Every junction joins at least two bonds; at one that is a port of a graph, one may be all."""
    for path, element in model.elements.items():
        bonds = len(model.bonds_at(path)) if isinstance(element.law, Junction) else 2
        if bonds < (1 if path in model.exposed else 2):
            yield Problem(
                "E115",
                f'junction {element.kind} "{path}" has {bonds} bond' + ("" if bonds == 1 else "s"),
                ("a junction with fewer than two bonds joins nothing",),
                (element.place,),
                ("connect more elements to it, or connect its neighbour directly",),
            )


def check_switches(model: Model) -> Iterator[Problem]:
    """A switched junction, constraint or switch names states that its automaton has."""
    for path, element in model.elements.items():
        law = element.law
        if not isinstance(law, (Junction, IdealConstraint, IdealSwitch)) or law.automaton is None:
            continue
        word, active = ("closed", law.closed) if isinstance(law, IdealSwitch) else ("active", law.active)
        automaton = model.automata.get(element.signals[-1].removesuffix(".mode"))
        states = automaton.states if automaton else ()
        missing = [state for state in active if state not in states]
        if missing or not active:
            switched = "switched junction " if isinstance(law, Junction) else ""
            yield Problem(
                "E116",
                f'{switched}{element.kind} "{path}" is {word} in no known state',
                (f"{word}: {', '.join(active) or 'none'}", f"states: {', '.join(states) or 'none'}"),
                (element.place,),
                (f"name states of its automaton in `{word}`",),
            )


def check_impacts(model: Model) -> Iterator[Problem]:
    """Impacts turn round the flow of constraints that have a restitution."""
    for automaton in model.automata.values():
        for transition in automaton.transitions:
            for path in transition.impact:
                element = model.elements.get(path)
                if element is None or not isinstance(element.law, IdealConstraint):
                    says, cure = f'"{path}" is no Constraint', "name a Constraint of the same graph in `impact`"
                elif "restitution" not in element.parameters:
                    says, cure = f'Constraint "{path}" has no restitution', f'Constraint("{path}", restitution=0.8)'
                else:
                    continue
                yield Problem(
                    "E211",
                    f'automaton "{automaton.name}" has an impact that nothing takes',
                    (f"in its transition from {transition.source} to {transition.target}: {says}",),
                    (automaton.place, element.place if element else None),
                    (cure,),
                )


def check_automata(model: Model) -> Iterator[Problem]:
    """States are named once; start states and the ends of transitions are states of their automaton."""
    for automaton in model.automata.values():
        named = {automaton.initial} | {s for t in automaton.transitions for s in (t.source, t.target)}
        named |= {t.accumulates for t in automaton.transitions if t.accumulates is not None}
        unknown = sorted(named - set(automaton.states))
        twice = sorted({state for state in automaton.states if automaton.states.count(state) > 1})
        for states, says in ((unknown, "speaks of unknown states"), (twice, "has two states of one name")):
            if states:
                yield Problem(
                    "E117",
                    f'automaton "{automaton.name}" {says}: {", ".join(states)}',
                    (f"its states: {', '.join(automaton.states) or 'none'}",),
                    (automaton.place,),
                    ("list every state once in `states`, and use these names",),
                )


def check_resets(model: Model) -> Iterator[Problem]:
    """Resets set states."""
    states = {f"{path}.{name}" for path, element in model.elements.items() for name in states_of(element)}
    for automaton in model.automata.values():
        for transition in automaton.transitions:
            for target, _, _ in transition.resets:
                if target not in states:
                    yield Problem(
                        "E120",
                        f'automaton "{automaton.name}" resets "{target}", which is no state',
                        (f"in its transition from {transition.source} to {transition.target}",),
                        (automaton.place,),
                        ("reset states only: <storage>.q, <storage>.p or a block's state",),
                    )


def check_blocks(model: Model) -> Iterator[Problem]:
    """Blocks define each local name once, use only names they have, and give every state a rate."""
    for path, element in model.elements.items():
        law = element.law
        if not isinstance(law, SignalBlock):
            continue
        given = [*element.parameters, *law.inputs, *law.states]
        outs = [out for equation in law.equations for out in equation.outs]
        twice = sorted({name for name in given + outs if (given + outs).count(name) > 1})
        used = {arg for equation in law.equations for arg in equation.args}
        used |= {*law.rates.values(), *law.updates.values(), *law.breaks}
        unknown = sorted(used - set(given) - set(outs))
        for names, says, cure in (
            (twice, "defines twice", "one equation, parameter, input or state for each name"),
            (unknown, "uses but does not define", "an equation, parameter, input or state of this name"),
            (
                sorted(set(law.states) - set(law.rates) - set(law.updates)),
                "has no rate for its state",
                "rates={<state>: <local name>}",
            ),
            (
                sorted({*law.rates, *law.updates} - set(law.states)),
                "has a rate or update but no state",
                "states={<state>: StateSpec(<start>)}",
            ),
            (
                sorted(set(law.updates) if law.offset is None else ()),
                "has no clock for the updates of",
                "a period, an offset, or both",
            ),
            (
                sorted({name for name in (law.period, law.offset, *law.breaks) if name} - set(element.parameters)),
                "takes times from what is no parameter of its own:",
                "a parameter in s",
            ),
        ):
            if names:
                yield Problem("E118", f'block "{path}" {says} {", ".join(names)}', (), (element.place,), (cure,))


_POSITIVE = {"inertia": True, "capacitance": True, "stiffness": False, "resistance": False, "conductance": False}
"""Parameter of a linear storage or resistor -> whether zero is excluded."""


def check_energies(model: Model) -> Iterator[Problem]:
    """Linear storages hold positive energy and linear resistors take power: positive, or symmetric and positive
    definite (semidefinite where zero makes sense)."""
    for path, element in model.elements.items():
        numbers = [
            (own, strict, given)
            for key, strict in _POSITIVE.items()
            if key in element.parameters and is_linear(element)
            for own, given in numbers_of(key, element.parameters[key]).items()
        ]
        for name, strict, given in numbers:
            value = None if isinstance(given, float) and given > 0.0 else as_numbers(given)
            if value is None or not np.isfinite(value).all() or value.ndim > 2:
                continue
            if not is_positive(value, strict):
                sign = "positive" if strict else "positive or zero"
                definite = "definite" if strict else "semidefinite"
                wanted = sign if value.ndim < 2 else f"symmetric and positive {definite}"
                active = f"; for an element that gives power, {element.kind}(effort=...)" if element.kind == "R" else ""
                yield Problem(
                    "E119",
                    f'{element.kind} "{path}": {name} must be {wanted}',
                    (f"given: {_short(value)}",),
                    (element.place,),
                    (f"a {name} that is {wanted}{active}",),
                )


def modal_parameters(element: Element) -> dict[str, ByMode]:
    """Parameters of an element that depend on the mode of an automaton."""
    return {name: p.value for name, p in element.parameters.items() if isinstance(p.value, ByMode)}


def check_values_by_mode(model: Model) -> Iterator[Problem]:
    """A value by mode has a number for each state of its automaton, all of one shape."""
    for path, element in model.elements.items():
        for name, given in modal_parameters(element).items():
            states = model.automata[given.automaton].states if given.automaton in model.automata else ()
            shapes = {np.shape(value) for value in given.values.values()}
            if set(given.values) != set(states) or len(shapes) != 1:
                yield Problem(
                    "E139",
                    f'{element.kind} "{path}": {name} by mode does not fit the automaton "{given.automaton}"',
                    (
                        f"values for: {', '.join(given.values) or 'none'}; shapes: {', '.join(map(str, sorted(shapes)))}",
                        f"states: {', '.join(states) or 'none'}",
                    ),
                    (element.place,),
                    ("one value for each state, all of one shape",),
                )


def check_kinetic_energies(model: Model) -> Iterator[Problem]:
    """The kinetic energy of an IC is quadratic in the velocity; where signals enter, only the run's ledger can tell."""
    for path, element in model.elements.items():
        law = element.law
        if not isinstance(law, InertialField) or element.signals or modal_parameters(element):
            continue
        numbers = [as_numbers(value) for _, value in _given_numbers(element)]
        if any(array is None or not np.isfinite(array).all() for array in numbers):
            continue
        given = [np.asarray(parameter.value, dtype=float)[()] for parameter in element.parameters.values()]
        q = np.asarray(law.position.initial, dtype=float)[()]
        v = np.linspace(0.7, 1.3, q.size).reshape(q.shape)[()]
        try:
            rest, once, twice = (float(law.energy(q, factor * v, *given)) for factor in (0.0, 1.0, 2.0))
        except Exception:  # the pass `shapes` reports a formula that fails, with its arguments
            continue
        if abs(twice - rest - 4.0 * (once - rest)) > 1e-9 * (abs(twice) + abs(rest) + abs(once)):
            yield Problem(
                "E136",
                f'the kinetic energy of IC "{path}" is not quadratic in the velocity',
                (f"at the start it is {once - rest:.6g} J at a velocity and {twice - rest:.6g} J at twice that",),
                (element.place,),
                ("T = v M(q) v / 2; what depends on q alone belongs to `potential`",),
            )


def is_linear(element: Element) -> bool:
    """Whether an element is a storage or resistor with one number, diagonal or matrix as its parameter."""
    law = element.law
    op = law.output if isinstance(law, Storage) else (law.effort or law.flow) if isinstance(law, Resistor) else None
    return op is not None and op.name in ("divide", "multiply")


def is_positive(value: np.ndarray, strict: bool) -> bool:
    """Whether a number, a diagonal or a symmetric matrix is positive (or, not strict, zero as well)."""
    if value.ndim < 2:
        return bool(np.all(value > 0) if strict else np.all(value >= 0))
    if value.shape[0] != value.shape[1] or not np.allclose(
        value, value.T, rtol=1e-12, atol=1e-12 * np.abs(value).max()
    ):
        return False
    lowest = float(np.linalg.eigvalsh(value)[0])
    return lowest > 0 if strict else lowest >= -1e-12 * float(np.abs(value).max())


def check_sizes(model: Model) -> Iterator[Problem]:
    """Start values and the parameters of linear elements have the dimension of the bond."""
    for path, element in model.elements.items():
        law, bonds = element.law, model.bonds_at(path)
        if len(element.ports) != 1 or len(bonds) != 1:
            continue
        n = bonds[0].dimension
        vector: list[tuple[int, ...]] = [(n,)] if n > 1 else []
        allowed: list[tuple[str, Any, list[tuple[int, ...]]]] = []
        if isinstance(law, Storage) and law.rate is None:
            allowed += [(name, value, [(), *vector]) for name, value in
                        ((f"start value of {law.state}", law.spec.initial), ("nominal size", law.spec.nominal))]  # fmt: skip
        if isinstance(law, InertialField):
            for name, spec in states_of(element).items():
                allowed.append((f"start value of {name}", spec.initial, vector or [()]))
                allowed.append((f"nominal size of {name}", spec.nominal, [(), *vector]))
        square = [(n, n)] if n > 1 else []
        for name in _POSITIVE:
            if name in element.parameters and is_linear(element):
                numbers = numbers_of(name, element.parameters[name])
                allowed += [(own, value, [(), *vector, *square]) for own, value in numbers.items()]
        for name, value, shapes in allowed:
            array = None if isinstance(value, float) else as_numbers(value)
            if array is not None and array.shape not in shapes:
                yield Problem(
                    "E128",
                    f'{element.kind} "{path}": {name} has shape {array.shape}',
                    (
                        f'its bond "{bonds[0].name}" has dimension {n}',
                        f"shapes that fit: {', '.join(map(str, shapes))}",
                    ),
                    (element.place,),
                    ("a value of a fitting shape, or another `dimension`",),
                )


def states_of(element: Element) -> dict[str, StateSpec]:
    """State variables of an element by local name."""
    if isinstance(element.law, Storage):
        return {element.law.state: element.law.spec}
    if isinstance(element.law, InertialField):
        return {"q": element.law.position, element.law.motion: element.law.start}
    if isinstance(element.law, IdealConstraint):
        law = element.law
        return {"h": law.start} if law.position is None and law.stores_position else {}
    return element.law.states if isinstance(element.law, SignalBlock) else {}


_NOTHING: frozenset[str] = frozenset()
_ENDS = frozenset({"E100", "E101", "E103", "E111", "E112", "E126"})
CHECKS = (
    (check_numbers, _NOTHING),
    (check_junctions, _ENDS),
    (check_switches, frozenset({"E106"})),
    (check_automata, _NOTHING),
    (check_impacts, _NOTHING),
    (check_resets, frozenset({"E106"})),
    (check_blocks, _NOTHING),
    (check_energies, _NOTHING),
    (check_sizes, _ENDS),
    (check_kinetic_energies, _NOTHING),
    (check_values_by_mode, frozenset({"E106"})),
)
"""The checks in the order of their report, each with the codes after which it would only repeat what is known."""
