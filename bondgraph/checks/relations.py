"""Check of formulas that must agree with each other: an output with the slope of its energy, an inverse with what it inverts.

They are tried at many values around the start of an element and far from it; signals are held at what they are at the start.
Where a formula is not defined (a logarithm of something negative), or lost in rounding, nothing is concluded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.checks.numbers import is_linear
from bondgraph.emit.numpy import numpy_kernel
from bondgraph.errors import Problem
from bondgraph.model.element import Element
from bondgraph.model.gradient import gradient
from bondgraph.model.laws import ByMode, InertialField, Resistor, Storage
from bondgraph.model.model import Model
from bondgraph.quantities import real
from bondgraph.tape.routine import Routine
from bondgraph.tape.scalar import Tape

SCALES = 10.0 ** np.array([-12.0, -9.0, -6.0, -4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, 8.0])
"""Sizes at which formulas are tried, in nominal sizes."""
APART, NEAR_BY = np.array([0.0, -1.0, -0.71, -0.43, 0.37, 0.59, 1.0]), 1e-2
"""A value and its neighbours: how far these are apart from it, in such parts of it."""
SCATTER = 0.2
"""Part of a difference that parabolas through it and its neighbours, and through the values that differ, may leave; what rounding
makes leaves all of it."""
AGREES = 1e-6
"""Relative difference up to which two formulas agree."""

Formula = Callable[[Any], Any]
Both = Callable[[Sequence[Any]], "list[tuple[np.ndarray, np.ndarray, float] | None]"]
"""Values of one variable -> both formulas' numbers at each and the size of their terms, None where one is not defined."""


@dataclass(frozen=True)
class Pair:
    """Two formulas of one variable that must agree, with what they are in words."""

    variable: str
    one: str
    other: str
    first: Formula
    second: Formula
    cure: str
    terms: Formula = lambda _: 0.0
    """What the numbers are sums of, where terms may cancel: a difference far below these is rounding."""


def contradictions(model: Model, signal: Callable[[str], Any]) -> Iterator[Problem]:
    """Elements whose formulas contradict each other (E155); `signal` gives a signal's value at the start, None if unknown."""
    for path, element in model.elements.items():
        law = element.law
        if isinstance(law, InertialField):
            pairs_of, start, nominal = _of_inertial_field, law.position.initial, law.position.nominal
        elif isinstance(law, Storage) and law.rate is None and not is_linear(element):
            pairs_of, start, nominal = _of_storage, law.spec.initial, law.spec.nominal
        elif isinstance(law, Resistor) and law.effort and law.flow and not is_linear(element):
            pairs_of, start, nominal = _of_resistor, 0.0, 1.0
        else:
            continue
        read = [signal(name) for name in element.signals]
        bonds = model.bonds_at(path)
        shape = bonds[0].shape if bonds else ()
        given, size = real(start), real(1.0 if nominal is None else nominal)
        if given is None or size is None or any(value is None for value in read):
            continue
        tried = _tried(np.broadcast_to(given, shape) if shape else given[()], size)
        for values, mode in _parameters(element):
            found = next(
                (problem for pair in pairs_of(element, [*values, *read]) if (problem := _refused(element, pair, tried, mode))),
                None,
            )
            if found is not None:
                yield found
                break


def _parameters(element: Element) -> Iterator[tuple[list[Any], str]]:
    """Values of an element's parameters, once for each state that one of them depends on, and those states in words."""
    given = [parameter.value for parameter in element.parameters.values()]
    count = max((len(value.values) for value in given if isinstance(value, ByMode)), default=1)
    for k in range(count):
        values, states = [], []
        for value in given:
            if isinstance(value, ByMode):
                state = list(value.values)[min(k, len(value.values) - 1)]
                states.append(f'"{state}" of "{value.automaton}"')
                value = value.values[state]
            values.append(np.asarray(value, dtype=float)[()])
        yield values, " and ".join(dict.fromkeys(states))


def _of_storage(element: Element, others: Sequence[Any]) -> Iterator[Pair]:
    law = element.law_as(Storage)
    output = _with(law.output, others)
    result = law.gives
    if not law.by_gradient:
        yield Pair(
            law.state,
            f"its {result} by `output`",
            "the slope of its `energy`",
            output,
            _with(gradient(law.energy), others),
            "the energy that belongs to the output, or `energy` alone: its slope is then the output",
        )
    if law.inverse is not None:
        back = _with(law.inverse, others)
        yield Pair(
            law.state,
            f"its {result} by `output`",
            f"the {result} of the {law.state} that `inverse` makes of it",
            output,
            lambda x: output(back(output(x))),
            "an inverse that gives back what the output was made of",
        )


def _of_resistor(element: Element, others: Sequence[Any]) -> Iterator[Pair]:
    law = element.law_as(Resistor)
    assert law.effort is not None and law.flow is not None
    effort, flow = _with(law.effort, others), _with(law.flow, others)
    cure = "two relations that are each other's inverse, or one of them alone"
    again = "its effort of the flow that `flow` makes of it"
    yield Pair("flow", "its `effort`", again, effort, lambda f: effort(flow(effort(f))), cure)
    again = "its flow of the effort that `effort` makes of it"
    yield Pair("effort", "its `flow`", again, flow, lambda e: flow(effort(flow(e))), cure)


def _of_inertial_field(element: Element, others: Sequence[Any]) -> Iterator[Pair]:
    law = element.law_as(InertialField)
    mechanics = law.mechanics
    if mechanics is None:
        return

    def listed(formula: Formula) -> Formula:
        return lambda q: formula(np.atleast_1d(q))

    def motion(q: Any) -> np.ndarray:
        return np.linspace(0.7, 1.3, len(q))

    if mechanics.inertia is not None and mechanics.kinetic is not None:
        yield Pair(
            "q",
            "its kinetic energy",
            "that of its inertia",
            listed(lambda q: mechanics.kinetic_energy(q, motion(q), *others)),
            listed(lambda q: motion(q) @ mechanics.momentum(q, motion(q), *others) / 2),
            "leave one of them out",
        )
    elif mechanics.inertia is not None:

        def mass(q: Any) -> np.ndarray:
            return np.asarray(mechanics.mass(q, *others))

        cure = "an inertia M with M^T = M"
        yield Pair("q", "its inertia", "its symmetric part", listed(mass), listed(lambda q: (mass(q) + mass(q).T) / 2), cure)

    if mechanics.bias is not None:

        def force(q: Any) -> np.ndarray:
            return np.asarray(mechanics.given_bias(q, motion(q), *others))

        yield Pair(
            "q",
            "the power of its `bias`",
            "that of M' v - dT/dq, which belongs to its kinetic energy",
            listed(lambda q: motion(q) @ force(q)),
            listed(lambda q: mechanics.kinetic_rate(q, motion(q), 0.0 * motion(q), *others)),
            "leave `bias` out: it follows from the inertia; forces that take power belong into an R",
            listed(lambda q: motion(q) * force(q)),
        )
    if mechanics.solution is not None:

        def effort(q: Any) -> Any:  # as large as accelerations of the size of these velocities take
            v = motion(q)
            return mechanics.kinetic_energy(q, v, *others) / (v @ v) * v[::-1]

        def gained(q: Any) -> Any:
            a = np.asarray(mechanics.acceleration(q, motion(q), effort(q), *others))
            return mechanics.kinetic_rate(q, motion(q), a, *others)

        yield Pair(
            "q",
            "the power of its `acceleration`",
            "that of the effort, less what its potential takes",
            listed(gained),
            listed(lambda q: effort(q) @ motion(q) - mechanics.potential_rate(q, motion(q), *others)),
            "leave `acceleration` out: it follows from the energies; forces that take power belong into an R",
        )


def _with(op: Formula, others: Sequence[Any]) -> Formula:
    return lambda x: op(x, *others)


def _tried(start: Any, nominal: np.ndarray) -> list[Any]:
    """Values of one variable: near its start, and far from it in several directions."""
    rng = np.random.default_rng(0)
    points = [start * factor for factor in (1.0, 0.9, 1.1, 0.3, 3.0)] if np.any(start) else []
    for scale in SCALES:
        for sign in (1.0, -1.0):
            spread = rng.uniform(0.8, 1.2, size=np.shape(start)) * (rng.choice([-1.0, 1.0], size=np.shape(start)))
            points.append(start + sign * scale * nominal * (spread if np.shape(start) else float(rng.uniform(0.8, 1.2))))
    return points


def _refused(element: Element, pair: Pair, tried: Sequence[Any], mode: str) -> Problem | None:
    """The problem of a pair that differs at two values or more."""
    both = _traced(pair, tried[0])
    if both is None:
        return None
    known = both(tried)
    defined = [values for values in known if values is not None]
    still = [len({tuple(np.ravel(values[k]) + 0.0) for values in defined}) == 1 for k in (0, 1)]
    found = [
        (x, values)
        for x, values in zip(tried, known, strict=True)
        if values is not None and _differs(*values) and _differ(both, x, still)
    ]
    if len(found) < 2:
        return None
    x, (one, other, _) = min(found, key=lambda case: abs(np.log10(float(np.max(np.abs(case[0]))) or 1e-300)))
    where = f"at {pair.variable} = {_shown(x)}" + (f" in {mode}" if mode else "")
    details = (f"{where}, {pair.one} is {_shown(one)}", f"and {pair.other} is {_shown(other)}")
    places = (element.place,)
    return Problem("E155", f'formulas of {element.kind} "{element.name}" contradict each other', details, places, (pair.cure,))


def _differ(both: Both, x: Any, still: Sequence[bool]) -> bool:
    """Whether the two differ, there and nearby, by more than they scatter about a smooth course.

    `still` says which of the two is the same everywhere; one that takes a value twice nearby has too few digits left
    there.
    """
    cases = [case for case in both([(1.0 + NEAR_BY * apart) * x for apart in APART]) if case is not None and _differs(*case)]
    if len(cases) < len(APART):
        return False
    component = int(np.argmax(np.abs(np.ravel(cases[0][0] - cases[0][1]))))
    sides = np.array([[np.ravel(side)[component] for side in values[:2]] for values in cases])
    gap = sides[:, 0] - sides[:, 1]
    scatter = max(_scatter(gap), _scatter(sides[:, 0]), _scatter(sides[:, 1]))
    lost = any(len(set(sides[:, k])) < len(cases) and not still[k] for k in (0, 1))
    return not lost and scatter <= SCATTER * np.abs(gap).min()


def _scatter(values: np.ndarray) -> float:
    """How far values here and at the neighbours lie from a parabola."""
    return float(np.abs(values - np.polyval(np.polyfit(APART, values, 2), APART)).max())


def _traced(pair: Pair, like: Any) -> Both | None:
    """Both formulas of a variable of the shape of `like`, traced once; None where they do not give as many numbers."""
    tape = Tape()
    inputs = tape.inputs("x", max(int(np.size(like)), 1))
    x = inputs.reshape(np.shape(like)) if np.shape(like) else inputs[0]
    try:
        one, other, terms = (np.asarray(formula(x), dtype=object) for formula in (pair.first, pair.second, pair.terms))
        kernel = numpy_kernel(Routine("both", tape, (("x", len(inputs)),), (*one.flat, *other.flat, *terms.flat)))
    except Exception:  # a formula that fails is reported by the pass `shapes`
        return None
    if one.shape != other.shape:
        return None

    def of(row: np.ndarray) -> tuple[np.ndarray, np.ndarray, float] | None:
        if not np.isfinite(row).all():
            return None
        first, second, rest = np.split(row, [one.size, 2 * one.size])
        return first.reshape(one.shape), second.reshape(one.shape), float(np.abs(rest).max())

    def both(values: Sequence[Any]) -> list[tuple[np.ndarray, np.ndarray, float] | None]:
        rows = kernel.many(np.reshape([np.asarray(value, dtype=float) for value in values], (len(values), len(inputs))))
        return [of(row) for row in rows]

    return both


def _differs(one: np.ndarray, other: np.ndarray, terms: float) -> bool:
    size = max(float(np.max(np.abs(one) + np.abs(other), initial=0.0)), terms)
    return bool(np.max(np.abs(one - other), initial=0.0) > AGREES * size)


def _shown(value: Any) -> str:
    return np.array2string(np.asarray(value, dtype=float) + 0.0, precision=5).replace("\n", "")
