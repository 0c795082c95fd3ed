"""Check that formulas agree: an output with the gradient of its energy, an inverse with the relation it inverts.

Formulas are sampled at many values around the start of an element and far from it; signals keep their values at the start.
Samples where a formula is undefined (a logarithm of a negative number) or dominated by rounding error are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.checks.parameters import is_linear
from bondgraph.emit.numpy import numpy_kernel
from bondgraph.errors import Problem
from bondgraph.model.element import Element
from bondgraph.model.expected_units import converted_parameters
from bondgraph.model.laws import ByMode, InertialField, Parameter, Resistor, Storage
from bondgraph.model.mechanics import gradient, partials
from bondgraph.model.model import Model
from bondgraph.model.ops import Op
from bondgraph.model.quadrature import NoQuadrature, double_exponential
from bondgraph.quantities import real
from bondgraph.tape.routine import Routine
from bondgraph.tape.scalar import Tape

SCALES = 10.0 ** np.array([-12.0, -9.0, -6.0, -4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, 8.0])
"""Sizes of the samples, as multiples of the nominal sizes."""
OFFSETS, OFFSET_SIZE = np.array([0.0, -1.0, -0.71, -0.43, 0.37, 0.59, 1.0]), 1e-2
"""Offsets of a sample's neighbours in units of OFFSET_SIZE times the sample; the first is the sample itself."""
MAX_NOISE = 0.2
"""Largest deviation from a fitted parabola, as a fraction of the difference; a difference that is only rounding error deviates by
about its own size."""
EVERY, MAX_REST = 8, 1e-10
"""Stride of the sampled quadrature nodes, and largest fraction of the sum of their terms that the node nearest to zero may
contribute."""
TRIALS = 3
"""Maximum number of points with a finite energy to try."""
AGREEMENT = 1e-6

Formula = Callable[[Any], Any]
PairValues = Callable[[Sequence[Any]], "list[tuple[np.ndarray, np.ndarray, float] | None]"]
"""Function of samples of one variable that returns the values of both formulas at each sample and the size of their terms; None
where a formula is undefined."""


@dataclass(frozen=True)
class Pair:
    """Two formulas of one variable that must agree, and their descriptions."""

    variable: str
    one: str
    other: str
    first: Formula
    second: Formula
    cure: str
    terms: Formula = lambda _: 0.0
    """Terms of sums that may cancel: a difference much smaller than these terms is rounding error."""


def contradictions(model: Model, signal: Callable[[str], Any]) -> Iterator[Problem]:
    """Yield a problem for each element whose formulas contradict each other (E155), or whose missing energy quadrature cannot
    compute (E110).


    `signal` returns the value of a signal at the start, or None.
    """
    for path, element in model.elements.items():
        law = element.law
        if isinstance(law, InertialField):
            pairs_of, start, nominal = _of_inertial_field, law.position.initial, law.position.nominal
        elif isinstance(law, Storage) and law.rate is None and not is_linear(element):
            pairs_of, start, nominal = _of_storage, law.spec.initial, law.spec.nominal
            if law.output is None:
                start, nominal = 0.0, 1.0
        elif isinstance(law, Resistor) and law.effort and law.flow and not is_linear(element):
            pairs_of, start, nominal = _of_resistor, 0.0, 1.0
        else:
            continue
        signals = [signal(name) for name in element.signals]
        bonds = model.bonds_at(path)
        shape = bonds[0].shape if bonds else ()
        centre, size = real(start), real(1.0 if nominal is None else nominal)
        if centre is None or size is None or any(value is None for value in signals):
            continue
        samples = _samples(np.broadcast_to(centre, shape) if shape else centre[()], size)
        for values, mode in _parameters(converted_parameters(model, path)):
            problem = next(
                (p for pair in pairs_of(element, [*values, *signals]) if (p := _contradiction(element, pair, samples, mode))),
                None,
            )
            if problem is None and isinstance(law, Storage):
                problem = _divergent(element, samples, [*values, *signals])
            if problem is not None:
                yield problem
                break


def _parameters(read: Mapping[str, Parameter]) -> Iterator[tuple[list[Any], str]]:
    parameters = [parameter.value for parameter in read.values()]
    count = max((len(value.values) for value in parameters if isinstance(value, ByMode)), default=1)
    for k in range(count):
        values, states = [], []
        for value in parameters:
            if isinstance(value, ByMode):
                state = list(value.values)[min(k, len(value.values) - 1)]
                states.append(f'"{state}" of "{value.automaton}"')
                value = value.values[state]
            values.append(np.asarray(value, dtype=float)[()])
        yield values, " and ".join(dict.fromkeys(states))


def _of_storage(element: Element, others: Sequence[Any]) -> Iterator[Pair]:
    law = element.law_as(Storage)
    if law.energy is None:
        word, formula = _law_by_quadrature(law)
        yield Pair(
            law.coordinate,
            f"the Jacobian of its `{word}`",
            "its transpose",
            lambda x: _jacobian(formula, x, others),
            lambda x: _jacobian(formula, x, others).T,
            "a law that is the gradient of an energy, which requires a symmetric Jacobian; a dissipative part belongs in an R",
        )
    if law.output is None:
        return
    output = _with(law.output, others)
    result = law.gives
    if law.energy is not None and not law.by_gradient:
        yield Pair(
            law.state,
            f"its {result} by `output`",
            "the slope of its `energy`",
            output,
            _with(gradient(law.energy), others),
            "the energy whose slope is the output, or `energy` alone",
        )
    if law.inverse is not None:
        back = _with(law.inverse, others)
        yield Pair(
            law.state,
            f"its {result} by `output`",
            f"the {result} at the {law.state} that `inverse` computes from it",
            output,
            lambda x: output(back(output(x))),
            "an inverse that recovers the argument of the output",
        )


def _law_by_quadrature(law: Storage) -> tuple[str, Op]:
    if law.output is not None:
        return "output", law.output
    assert law.inverse is not None
    return "charge" if law.gives == "effort" else "flux", law.inverse


def _jacobian(formula: Op, x: Any, others: Sequence[Any]) -> np.ndarray:
    return partials(lambda at: list(np.atleast_1d(np.asarray(formula(at, *others), dtype=object))), x, others)


def _divergent(element: Element, samples: Sequence[Any], others: Sequence[Any]) -> Problem | None:
    """Return the problem of a storage whose energy is neither given nor found by quadrature (E110): its law is too steep at zero,
    or has discontinuities that cannot be located."""
    law = element.law_as(Storage)
    if law.energy is not None:
        return None
    word, formula = _law_by_quadrature(law)
    nodes, weights = (each[::EVERY] for each in double_exponential())
    finite, why = 0, ""
    for x in samples:
        with np.errstate(all="ignore"):
            try:
                if not finite:
                    law.stored(x, *others)
                powers = np.array([np.sum(formula(s * x, *others) * np.asarray(x)) for s in nodes.tolist()], dtype=float)
            except NoQuadrature as error:
                why = str(error)
                break
            except Exception:  # the pass `shapes` reports a formula that fails
                return None
            terms = np.abs(weights * powers)
        is_finite = bool(np.isfinite(terms).all())
        if is_finite and terms[0] > MAX_REST * terms.sum():
            why = f"the work from {law.coordinate} = 0 to {_shown(x)} is infinite or nearly so"
        finite += is_finite and bool(terms.any())
        if why or finite == TRIALS:
            break
    if not why:
        return None
    title = f'{element.kind} "{element.name}" has the law {word}({law.coordinate[0]}), but its energy is missing'
    cure = f"energy=lambda {law.state}: ... as well, an integral of the {law.gives} over {law.state}"
    if law.output is None:
        cure = f"output=lambda {law.state}: ... and energy=lambda {law.state}: ... instead of `{word}`"
    return Problem("E110", title, (f"quadrature cannot compute it: {why}",), (element.place,), (cure,))


def _of_resistor(element: Element, others: Sequence[Any]) -> Iterator[Pair]:
    law = element.law_as(Resistor)
    assert law.effort is not None and law.flow is not None
    effort, flow = _with(law.effort, others), _with(law.flow, others)
    cure = "two relations that are inverses of each other, or only one relation"
    again = "its effort at the flow that `flow` computes from it"
    yield Pair("flow", "its `effort`", again, effort, lambda f: effort(flow(effort(f))), cure)
    again = "its flow at the effort that `effort` computes from it"
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
            "the kinetic energy of its inertia",
            listed(lambda q: mechanics.kinetic_energy(q, motion(q), *others)),
            listed(lambda q: motion(q) @ mechanics.momentum(q, motion(q), *others) / 2),
            "only `inertia`, or only `kinetic`",
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
            "the power of M' v - dT/dq from its kinetic energy",
            listed(lambda q: motion(q) @ force(q)),
            listed(lambda q: mechanics.kinetic_rate(q, motion(q), 0.0 * motion(q), *others)),
            "leave `bias` out: it follows from the inertia; dissipative forces belong in an R",
            listed(lambda q: motion(q) * force(q)),
        )
    if mechanics.solution is not None:

        def effort(q: Any) -> Any:  # large enough for accelerations of the size of these velocities
            v = motion(q)
            return mechanics.kinetic_energy(q, v, *others) / (v @ v) * v[::-1]

        def power_gain(q: Any) -> Any:
            a = np.asarray(mechanics.acceleration(q, motion(q), effort(q), *others))
            return mechanics.kinetic_rate(q, motion(q), a, *others)

        yield Pair(
            "q",
            "the power of its `acceleration`",
            "the power of the effort, less the power into its potential",
            listed(power_gain),
            listed(lambda q: effort(q) @ motion(q) - mechanics.potential_rate(q, motion(q), *others)),
            "leave `acceleration` out: it follows from the energies; dissipative forces belong in an R",
        )


def _with(op: Formula, others: Sequence[Any]) -> Formula:
    return lambda x: op(x, *others)


def _samples(start: Any, nominal: np.ndarray) -> list[Any]:
    rng = np.random.default_rng(0)
    points = [start * factor for factor in (1.0, 0.9, 1.1, 0.3, 3.0)] if np.any(start) else []
    for scale in SCALES:
        for sign in (1.0, -1.0):
            spread = rng.uniform(0.8, 1.2, size=np.shape(start)) * (rng.choice([-1.0, 1.0], size=np.shape(start)))
            points.append(start + sign * scale * nominal * (spread if np.shape(start) else float(rng.uniform(0.8, 1.2))))
    return points


def _contradiction(element: Element, pair: Pair, samples: Sequence[Any], mode: str) -> Problem | None:
    both = _compiled(pair, samples[0])
    if both is None:
        return None
    results = both(samples)
    defined = [values for values in results if values is not None]
    constant = [len({tuple(np.ravel(values[k]) + 0.0) for values in defined}) == 1 for k in (0, 1)]
    differing = [
        (x, values)
        for x, values in zip(samples, results, strict=True)
        if values is not None and _differs(*values) and _differs_beyond_noise(both, x, constant)
    ]
    if len(differing) < 2:
        return None
    x, (one, other, _) = min(differing, key=lambda case: abs(np.log10(float(np.max(np.abs(case[0]))) or 1e-300)))
    where = f"at {pair.variable} = {_shown(x)}" + (f" in {mode}" if mode else "")
    title = f'formulas of {element.kind} "{element.name}" contradict each other'
    details = (f"{where}, {pair.one} is {_shown(one)}", f"and {pair.other} is {_shown(other)}")
    return Problem("E155", title, details, (element.place,), (pair.cure,))


def _differs_beyond_noise(both: PairValues, x: Any, constant: Sequence[bool]) -> bool:
    """Return True if the formulas differ at a sample and its neighbours by more than their scatter about a fitted parabola; a
    formula that repeats a value there is too inaccurate, unless `constant` marks it."""
    neighbours = both([(1.0 + OFFSET_SIZE * offset) * x for offset in OFFSETS])
    cases = [case for case in neighbours if case is not None and _differs(*case)]
    if len(cases) < len(OFFSETS):
        return False
    component = int(np.argmax(np.abs(np.ravel(cases[0][0] - cases[0][1]))))
    sides = np.array([[np.ravel(side)[component] for side in values[:2]] for values in cases])
    gap = sides[:, 0] - sides[:, 1]
    noise = max(_noise(gap), _noise(sides[:, 0]), _noise(sides[:, 1]))
    imprecise = any(len(set(sides[:, k])) < len(cases) and not constant[k] for k in (0, 1))
    return not imprecise and noise <= MAX_NOISE * np.abs(gap).min()


def _noise(values: np.ndarray) -> float:
    return float(np.abs(values - np.polyval(np.polyfit(OFFSETS, values, 2), OFFSETS)).max())


def _compiled(pair: Pair, like: Any) -> PairValues | None:
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
        first, second, sizes = np.split(row, [one.size, 2 * one.size])
        return first.reshape(one.shape), second.reshape(one.shape), float(np.abs(sizes).max())

    def both(values: Sequence[Any]) -> list[tuple[np.ndarray, np.ndarray, float] | None]:
        rows = kernel.many(np.reshape([np.asarray(value, dtype=float) for value in values], (len(values), len(inputs))))
        return [of(row) for row in rows]

    return both


def _differs(one: np.ndarray, other: np.ndarray, terms: float) -> bool:
    size = max(float(np.max(np.abs(one) + np.abs(other), initial=0.0)), terms)
    return bool(np.max(np.abs(one - other), initial=0.0) > AGREEMENT * size)


def _shown(value: Any) -> str:
    return np.array2string(np.asarray(value, dtype=float) + 0.0, precision=5).replace("\n", "")
