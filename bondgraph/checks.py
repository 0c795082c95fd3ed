"""Checks of a flat model that need no causality: all problems at once, each with the user's source line."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from bondgraph.errors import Problem
from bondgraph.graph.element import Element
from bondgraph.graph.laws import IdealConstraint, Junction, Resistor, SignalBlock, StateSpec, Storage, Transformer
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
        yield name, parameter.value
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
    """A switched junction names states that its automaton has."""
    for path, element in model.elements.items():
        law = element.law
        if not isinstance(law, Junction) or law.automaton is None:
            continue
        automaton = model.automata.get(element.signals[0].removesuffix(".mode"))
        states = automaton.states if automaton else ()
        missing = [state for state in law.active if state not in states]
        if missing or not law.active:
            yield Problem(
                "E116",
                f'switched junction {element.kind} "{path}" is active in no known state',
                (f"active: {', '.join(law.active) or 'none'}", f"states: {', '.join(states) or 'none'}"),
                (element.place,),
                ("name states of its automaton in `active`",),
            )


def check_automata(model: Model) -> Iterator[Problem]:
    """States are named once; start states and the ends of transitions are states of their automaton."""
    for automaton in model.automata.values():
        named = {automaton.initial} | {s for t in automaton.transitions for s in (t.source, t.target)}
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
        used = {arg for equation in law.equations for arg in equation.args} | set(law.rates.values())
        unknown = sorted(used - set(given) - set(outs))
        for names, says, cure in (
            (twice, "defines twice", "one equation, parameter, input or state for each name"),
            (unknown, "uses but does not define", "an equation, parameter, input or state of this name"),
            (sorted(set(law.states) - set(law.rates)), "has no rate for its state", "rates={<state>: <local name>}"),
            (
                sorted(set(law.rates) - set(law.states)),
                "has a rate but no state",
                "states={<state>: StateSpec(<start>)}",
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
        for name, strict in _POSITIVE.items():
            if name not in element.parameters or not is_linear(element):
                continue
            given = element.parameters[name].value
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
        square = [(n, n)] if n > 1 else []
        for name in _POSITIVE:
            if name in element.parameters and is_linear(element):
                allowed.append((name, element.parameters[name].value, [(), *vector, *square]))
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
    if isinstance(element.law, IdealConstraint):
        return {} if element.law.position else {"h": element.law.start}
    return element.law.states if isinstance(element.law, SignalBlock) else {}


_NOTHING: frozenset[str] = frozenset()
_ENDS = frozenset({"E100", "E101", "E103", "E111", "E112", "E126"})
CHECKS = (
    (check_numbers, _NOTHING),
    (check_junctions, _ENDS),
    (check_switches, frozenset({"E106"})),
    (check_automata, _NOTHING),
    (check_resets, frozenset({"E106"})),
    (check_blocks, _NOTHING),
    (check_energies, _NOTHING),
    (check_sizes, _ENDS),
)
"""The checks in the order of their report, each with the codes after which it would only repeat what is known."""
