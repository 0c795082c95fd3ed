"""Checks of parameters: finite, in range, positive (definite) or passive where energy requires it, of the bond's dimension, with
known units."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bondgraph.errors import Problem
from bondgraph.model.arguments import unit_problem
from bondgraph.model.dissipation import ResistorField
from bondgraph.model.domains import COEFFICIENTS
from bondgraph.model.element import Element
from bondgraph.model.expected_units import coefficients_with_unit, converted_numbers, converted_parameters, unit_conversions
from bondgraph.model.laws import InertialField, Junction, Parameter, Resistor, SignalBlock, Storage, Transformer
from bondgraph.model.modal import modal_parameters, parameter_values
from bondgraph.model.model import Model
from bondgraph.model.ops import Constant
from bondgraph.quantities import real
from bondgraph.units import Conversion, Mismatch, conversion, quantity_cure, unknown_unit

COUPLED = (
    "for coupled coils, a coupling k below 1, such as 0.999, whose leakage stores energy; k = 1 is an ideal TF with the ratio of "
    "the turns, and one I for the shared flux"
)


def check_numbers(model: Model) -> Iterator[Problem]:
    """Check that parameters, start values, nominal sizes and structural ratios are finite, and nominal sizes positive (E113)."""
    for path, element in model.elements.items():
        if _plain(element):
            continue
        for name, value in _numbers(element):
            if isinstance(value, float) and 0.0 < value < math.inf:
                continue
            array = real(value)
            wanted = "a finite number or an array of finite numbers"
            fine = array is not None and bool(np.isfinite(array).all())
            if fine and name.startswith("nominal size"):
                wanted, fine = "positive", bool(np.all(array > 0))  # type: ignore[operator]
            if not fine:
                title = f'{element.kind} "{path}": {name} is {_short(value)}'
                cure = "a number" if isinstance(value, str) or callable(value) else ""
                if isinstance(value, (list, tuple)) and (units := [each.unit for each in value if isinstance(each, Parameter)]):
                    cure = f'all numbers in one unit: Parameter([...], "{units[0]}")'
                cures = (quantity_cure(value) or cure or "check where this value comes from",)
                yield Problem("E113", title, (f"it must be {wanted}",), (element.place,), cures)


def _plain(element: Element) -> bool:
    law = element.law
    if isinstance(law, Transformer):
        return False
    for parameter in element.parameters.values():
        value = parameter.value
        if not isinstance(value, float) or not math.isfinite(value):
            return False
    for spec in law.states().values():
        if spec.nominal is not None or not isinstance(spec.initial, float) or not math.isfinite(spec.initial):
            return False
    return True


def _all_positive(element: Element) -> bool:
    for parameter in element.parameters.values():
        if not isinstance(parameter.value, float) or not parameter.value > 0.0:
            return False
    return True


def _numbers(element: Element) -> Iterator[tuple[str, Any]]:
    for name, parameter in element.parameters.items():
        yield from parameter_values(name, parameter).items()
    for name, spec in element.law.states().items():
        yield f"start value of {name}", spec.initial
        if spec.nominal is not None:
            yield f"nominal size of {name}", spec.nominal
    law = element.law
    if isinstance(law, Transformer) and isinstance(law.matrix, Constant):
        yield "ratio", law.matrix()


def _short(value: Any) -> str:
    if callable(value):
        return "a function"
    shown = repr(value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value)
    return shown if len(shown) < 80 else shown[:76] + " ..."


def check_energies(model: Model) -> Iterator[Problem]:
    """Check that parameters of linear storages and resistors are positive, or symmetric and positive definite (E119).

    Zeros and semidefinite matrices are allowed if the law needs no inverse, as for a stiffness or resistance.
    """
    for path, element in model.elements.items():
        if not is_linear(element) or _all_positive(element):
            continue
        numbers = [
            (name, coefficient.positive, number)
            for key, parameter in element.parameters.items()
            if (coefficient := COEFFICIENTS.get(key.partition(" in ")[0])) is not None
            for name, number in parameter_values(key, parameter).items()
        ]
        for name, strict, number in numbers:
            value = None if isinstance(number, float) and number > 0.0 else real(number)
            if value is None or not np.isfinite(value).all() or value.ndim > 2:
                continue
            if not is_positive(value, strict):
                wanted = "positive" if strict else "positive or zero"
                if value.ndim == 2:
                    wanted = f"symmetric and positive {'definite' if strict else 'semidefinite'}"
                active = "; for an element that supplies power, R(effort=...)" if isinstance(element.law, Resistor) else ""
                title = f'{element.kind} "{path}": {name} must be {wanted}'
                cures = (f"{'an' if name[0] in 'aeiou' else 'a'} {name} that is {wanted}{active}",)
                coupled = strict and value.ndim == 2 and is_positive(value, strict=False)
                details = (f"given: {_short(value)}", *(("it is singular: one motion stores no energy",) if coupled else ()))
                yield Problem("E119", title, details, (element.place,), (COUPLED,) if coupled and np.any(value) else cures)


def check_kinetic_energies(model: Model) -> Iterator[Problem]:
    """Check that the kinetic energy of an IC without signals and modes is quadratic in the velocity (E136)."""
    for path, element in model.elements.items():
        law = element.law
        if not isinstance(law, InertialField) or element.signals or modal_parameters(element):
            continue
        parameters, position = converted_numbers(model, path), real(law.position.initial)
        if parameters is None or position is None or not np.isfinite(position).all():
            continue
        q = position[()]
        v = np.linspace(0.7, 1.3, q.size).reshape(q.shape)[()]
        try:
            at_rest, at_v, at_2v = (float(law.energy(q, factor * v, *parameters)) for factor in (0.0, 1.0, 2.0))
        except Exception:  # the pass `shapes` reports a formula that fails, with its arguments
            continue
        if abs(at_2v - at_rest - 4.0 * (at_v - at_rest)) > 1e-9 * (abs(at_2v) + abs(at_rest) + abs(at_v)):
            title = f'the kinetic energy of IC "{path}" is not quadratic in the velocity'
            energies = f"{at_v - at_rest:.6g} J at a velocity and {at_2v - at_rest:.6g} J at twice the velocity"
            details = (f"at the start it is {energies}",)
            cures = ("T = v M(q) v / 2; a part that depends on q alone belongs in `potential`",)
            yield Problem("E136", title, details, (element.place,), cures)


def is_linear(element: Element) -> bool:
    return isinstance(element.law, (Storage, Resistor)) and element.law.linear


def is_positive(value: np.ndarray, strict: bool) -> bool:
    """Return True if a number or diagonal is positive, or a symmetric matrix positive definite; unless `strict`, also if zero or
    semidefinite."""
    if value.ndim < 2:
        return bool(np.all(value > 0) if strict else np.all(value >= 0))
    if value.shape[0] != value.shape[1] or not np.allclose(value, value.T, rtol=1e-12, atol=1e-12 * np.abs(value).max()):
        return False
    lowest = float(np.linalg.eigvalsh(value)[0])
    return lowest > 0 if strict else lowest >= -1e-12 * float(np.abs(value).max())


def check_sizes(model: Model) -> Iterator[Problem]:
    """Check that start values, nominal sizes and the parameters of linear elements have the dimension of the bond (E128)."""
    for path, element in model.elements.items():
        law = element.law
        if len(element.ports) != 1 or not isinstance(law, (Storage, Resistor, InertialField)):
            continue
        bonds = model.bonds_at(path)
        if len(bonds) != 1 or (not isinstance(law, InertialField) and _plain(element)):
            continue
        n = bonds[0].dimension
        vector: list[tuple[int, ...]] = [(n,)] if n > 1 else []
        allowed: list[tuple[str, Any, list[tuple[int, ...]]]] = []
        if isinstance(law, Storage) and law.rate is None:
            allowed.append((f"start value of {law.state}", law.spec.initial, [(), *vector]))
            allowed.append(("nominal size", law.spec.nominal, [(), *vector]))
        if isinstance(law, InertialField):
            for name, spec in element.law.states().items():
                allowed.append((f"start value of {name}", spec.initial, vector or [()]))
                allowed.append((f"nominal size of {name}", spec.nominal, [(), *vector]))
        square = [(n, n)] if n > 1 else []
        for name in COEFFICIENTS:
            if name in element.parameters and is_linear(element):
                numbers = parameter_values(name, element.parameters[name])
                allowed += [(label, value, [(), *vector, *square]) for label, value in numbers.items()]
        for name, value, shapes in allowed:
            if value is None:  # no hint
                continue
            array = None if isinstance(value, float) else real(value)
            if array is not None and array.shape not in shapes:
                title = f'{element.kind} "{path}": {name} has shape {array.shape}'
                details = (f'its bond "{bonds[0].name}" has dimension {n}', f"allowed shapes: {', '.join(map(str, shapes))}")
                yield Problem("E128", title, details, (element.place,), ("a value of an allowed shape, or another `dimension`",))


def check_ranges(model: Model) -> Iterator[Problem]:
    """Check that parameters lie between zero and their `max_value`, and not below the parameter in `not_below` (E151)."""
    for path, element in model.elements.items():
        parameters = converted_parameters(model, path)
        for key, parameter in parameters.items():
            most = parameter.max_value
            for name, number in parameter_values(key, parameter).items() if most is not None else ():
                value = real(number)
                if value is None or not np.isfinite(value).all() or (np.all(value >= 0.0) and np.all(value <= most)):
                    continue
                wanted, cure = f"between 0 and {most:g}", f"a number between 0 and {most:g}"
                if most == math.inf:
                    wanted, cure = "non-negative", "a non-negative number"
                title = f'{element.kind} "{path}": {name} must be {wanted}'
                details = (f"given: {value.tolist()}",)
                yield Problem("E151", title, details, (element.place,), (f"for {name}, {cure}",))
            if not parameter.not_below:
                continue
            number, least = _number(parameters, key), _number(parameters, parameter.not_below)
            if number is not None and least is not None and 0.0 <= number < least:
                title = f'{element.kind} "{path}": {key} must be no less than {parameter.not_below}'
                cures = (f"make {key} no less than {parameter.not_below}; to change {key} of a run, pass both",)
                yield Problem("E151", title, (f"{key} {number:g}, {parameter.not_below} {least:g}",), (element.place,), cures)


def _number(parameters: Mapping[str, Parameter], key: str) -> float | None:
    value = real(parameters[key].value) if key in parameters else None
    return float(value) if value is not None and value.shape == () else None


SAMPLE_SIZES = np.concatenate([[0.0], np.logspace(-6, 6, 49)])
DIRECTIONS = 24
"""Number of random directions in which a formula of several components is sampled, in addition to its axes."""
BISECTIONS, AT_ROOT = 60, 1e-9
"""Number of halvings of an interval with a change of sign; largest residual at a root, as a fraction of the residual at the
ends: at a pole it is larger."""
POWER_ROUNDING = 1e-12
"""Power that counts as zero, as a fraction of |effort| |flow|."""


def check_passive(model: Model) -> Iterator[Problem]:
    """Check by sampling that relations declared passive absorb power, effort times flow >= 0 (E153); a relation that reads
    signals, or is implicit and has several components, cannot be sampled, and is refused."""
    for path, element in model.elements.items():
        law = element.law
        if not isinstance(law, Resistor | ResistorField) or not law.passive:
            continue
        if element.signals:
            yield _not_passive(element, "it reads signals, so it cannot be sampled by itself", "leave `passive` out", _UNTESTED)
            continue
        values = converted_numbers(model, path)
        if values is None:
            continue
        bonds = model.bonds_at(path)
        dimension = bonds[0].dimension if bonds else 1
        if isinstance(law, ResistorField):
            yield from _active_field(element, law, values)
            continue
        if law.relation is not None:
            yield from _active_relation(element, law.relation, values, dimension)
        for name, formula in (("flow", law.effort), ("effort", law.flow)):
            sample = None if formula is None else _active_sample(formula, values, dimension)
            if sample is not None:
                why = f"at {name} = {np.array2string(np.asarray(sample[0]), precision=4)} its power is {sample[1]:.4g} W"
                yield _not_passive(element, why, "a relation through zero in the quadrants of positive power")
                break


_UNTESTED = "this cannot be verified"


def _active_field(element: Element, law: ResistorField, values: list[Any]) -> Iterator[Problem]:
    def formula(x: Any, *others: Any) -> np.ndarray:
        return np.asarray(law.formula(np.atleast_1d(x), *others), dtype=float)

    sample = _active_sample(formula, values, len(element.ports))
    if sample is not None:
        ports = ", ".join(port.name for port in element.ports)
        at = np.array2string(np.atleast_1d(sample[0]), precision=4)
        why = f"at the {law.takes}s {at} of {ports} its power is {sample[1]:.4g} W"
        yield _not_passive(element, why, "a formula whose power, the sum over its ports, is never negative")


def _active_relation(element: Element, relation: Any, values: list[Any], dimension: int) -> Iterator[Problem]:
    """Yield the problem of a relation g(e, f) = 0 with a solution whose power is negative: a change of sign of g along f."""
    cure = "a relation through zero in the quadrants of positive power"
    if dimension > 1:
        why = "it is a relation of several components, which cannot be sampled"
        yield _not_passive(element, why, "leave `passive` out", _UNTESTED)
        return
    for effort in (float(sign * size) for size in SAMPLE_SIZES[1:] for sign in (1.0, -1.0)):

        def residual(flow: float, effort: float = effort) -> float:
            with np.errstate(all="ignore"):
                return float(relation(np.float64(effort), np.float64(flow), *values))

        flows = (-math.copysign(1.0, effort) * SAMPLE_SIZES[1:]).tolist()
        residuals = [residual(flow) for flow in flows]
        for begin, end, first, last in zip(flows, flows[1:], residuals, residuals[1:], strict=False):
            if first == 0.0 or not first * last <= 0.0:
                continue
            flow = _bisected(residual, begin, end)
            if abs(residual(flow)) <= AT_ROOT * max(abs(first), abs(last)):
                yield _not_passive(
                    element, f"at effort = {effort:.4g}, flow = {flow:.4g} its power is {effort * flow:.4g} W", cure
                )
                return


def _bisected(function: Callable[[float], float], begin: float, end: float) -> float:
    first = function(begin)
    for _ in range(BISECTIONS):
        middle = (begin + end) / 2.0
        if first * function(middle) > 0.0:
            begin = middle
        else:
            end = middle
    return end


def _active_sample(formula: Any, values: list[Any], dimension: int) -> tuple[Any, float] | None:
    for sample in _samples(dimension):
        with np.errstate(all="ignore"):
            result = np.asarray(formula(sample, *values), dtype=float)
            power, size = float(np.sum(result * sample)), float(np.sum(np.abs(result * sample)))
        if np.isfinite(power) and power < -POWER_ROUNDING * size:
            return sample, power
    return None


def _samples(dimension: int) -> Iterator[Any]:
    if dimension == 1:
        yield from (float(sign * size) for size in SAMPLE_SIZES for sign in (1.0, -1.0))
        return
    rng = np.random.default_rng(0)
    directions = np.vstack([np.eye(dimension), -np.eye(dimension), rng.normal(size=(DIRECTIONS, dimension))])
    yield from (size * direction / np.linalg.norm(direction) for size in SAMPLE_SIZES for direction in directions)


def _not_passive(element: Element, why: str, cure: str, fault: str = "supplies power") -> Problem:
    title = f'{element.kind} "{element.name}" is declared passive, but {fault}'
    return Problem("E153", title, (why,), (element.place,), (cure,))


def check_units(model: Model) -> Iterator[Problem]:
    """Check that units are products of known symbols and symbols of the model's domains (E156), and that the units of parameters
    and start values have the dimension that laws and domains expect (E175)."""
    reported: set[tuple[str, str]] = set()
    for path, key, parameter, fault in unit_conversions(model):
        name = key.partition(" in ")[0]
        if isinstance(fault, Conversion) or (path, name) in reported:
            continue
        reported.add((path, name))
        element = model.elements[path]
        title = f'{element.kind} "{path}": the unit of {name} cannot be {parameter.unit!r}'
        problem = unit_problem(title, fault, element.place)
        others = coefficients_with_unit(element.kind, parameter) if name in COEFFICIENTS and problem.code == "E175" else []
        cures = [f'{element.kind}("{path}", {word}=..., domain="{domain.name}")' for word, domain in others]
        yield replace(problem, cures=(*problem.cures, *cures))
    yield from _starts_in_wrong_units(model)
    valid: set[str] = set()
    for path, element in model.elements.items():
        if isinstance(element.law, Junction):
            continue
        for name, unit in _units(element):
            if isinstance(unit, str) and unit in valid:
                continue
            unreadable = unknown_unit(unit, model.domain_symbols)
            if unreadable is None:
                valid.add(unit)
            elif (path, name) not in reported:
                title = f'{element.kind} "{path}": the unit of {name} cannot be {unit!r}'
                yield unit_problem(title, unreadable, element.place)


def _starts_in_wrong_units(model: Model) -> Iterator[Problem]:
    for path, element in model.elements.items():
        law = element.law
        if isinstance(law, Storage) and law.rate is None and law.spec.unit and (bonds := model.bonds_at(path)):
            domain = bonds[0].domain
            expected = domain.displacement_unit if law.gives == "effort" else domain.momentum_unit
            fault = conversion(law.spec.unit, expected, np.shape(law.spec.initial), model.domain_symbols) if expected else None
            if isinstance(fault, Mismatch):
                title = f'{element.kind} "{path}": the unit of its start value cannot be {law.spec.unit!r}'
                problem, unit = unit_problem(title, fault, element.place), getattr(domain, f"{law.gives}_unit")
                if unit and not isinstance(conversion(law.spec.unit, unit, (), model.domain_symbols), Mismatch):
                    by_output = f'simulate(..., initial={{"{path}.{law.gives}": Parameter(..., "{law.spec.unit}")}})'
                    problem = replace(problem, cures=(by_output, *problem.cures))
                yield problem


def _units(element: Element) -> Iterator[tuple[str, str]]:
    for name, parameter in element.parameters.items():
        if parameter.unit:
            yield name, parameter.unit
    for name, spec in element.law.states().items():
        if spec.unit:
            yield name, spec.unit
    if isinstance(element.law, SignalBlock):
        yield from ((name, unit) for name, unit in element.law.units.items() if unit)
