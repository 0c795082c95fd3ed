"""Checks of numbers: finite, positive where energy asks for it, of the dimension of the bond."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from bondgraph.errors import Problem
from bondgraph.model.domains import COEFFICIENTS
from bondgraph.model.element import Element
from bondgraph.model.laws import InertialField, Resistor, Storage, Transformer
from bondgraph.model.modal import modal_parameters, numbers_of
from bondgraph.model.model import Model
from bondgraph.model.ops import Constant
from bondgraph.quantities import real


def check_numbers(model: Model) -> Iterator[Problem]:
    """Parameters, start values, nominal sizes and structural ratios are finite numbers; nominal sizes are positive."""
    for path, element in model.elements.items():
        if _plain(element):
            continue
        for name, value in _given_numbers(element):
            if isinstance(value, float) and 0.0 < value < math.inf:
                continue
            array = real(value)
            wanted = "a finite number or an array of them"
            fine = array is not None and bool(np.isfinite(array).all())
            if fine and name.startswith("nominal size"):
                wanted, fine = "positive", bool(np.all(array > 0))  # type: ignore[operator]
            if not fine:
                title = f'{element.kind} "{path}": {name} is {_short(value)}'
                cures = ("the number without quotes" if isinstance(value, str) else "check where this value comes from",)
                yield Problem("E113", title, (f"it must be {wanted}",), (element.place,), cures)


def _plain(element: Element) -> bool:
    """Whether all numbers of an element are finite scalars, and nothing else is given."""
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
    """Whether all parameters of an element are positive numbers."""
    for parameter in element.parameters.values():
        if not isinstance(parameter.value, float) or not parameter.value > 0.0:
            return False
    return True


def _given_numbers(element: Element) -> Iterator[tuple[str, Any]]:
    for name, parameter in element.parameters.items():
        yield from numbers_of(name, parameter).items()
    for name, spec in element.law.states().items():
        yield f"start value of {name}", spec.initial
        if spec.nominal is not None:
            yield f"nominal size of {name}", spec.nominal
    law = element.law
    if isinstance(law, Transformer) and isinstance(law.matrix, Constant):
        yield "ratio", law.matrix()


def _short(value: Any) -> str:
    shown = repr(value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value)
    return shown if len(shown) < 80 else shown[:76] + " ..."


def check_energies(model: Model) -> Iterator[Problem]:
    """Linear storages hold positive energy and linear resistors take power: positive, or symmetric and positive
    definite (semidefinite where zero makes sense)."""
    for path, element in model.elements.items():
        if not is_linear(element) or _all_positive(element):
            continue
        numbers = [
            (own, known.positive, given)
            for key, parameter in element.parameters.items()
            if (known := COEFFICIENTS.get(key.partition(" in ")[0])) is not None
            for own, given in numbers_of(key, parameter).items()
        ]
        for name, strict, given in numbers:
            value = None if isinstance(given, float) and given > 0.0 else real(given)
            if value is None or not np.isfinite(value).all() or value.ndim > 2:
                continue
            if not is_positive(value, strict):
                wanted = "positive" if strict else "positive or zero"
                if value.ndim == 2:
                    wanted = f"symmetric and positive {'definite' if strict else 'semidefinite'}"
                active = "; for an element that gives power, R(effort=...)" if isinstance(element.law, Resistor) else ""
                title = f'{element.kind} "{path}": {name} must be {wanted}'
                details = (f"given: {_short(value)}",)
                yield Problem("E119", title, details, (element.place,), (f"a {name} that is {wanted}{active}",))


def check_kinetic_energies(model: Model) -> Iterator[Problem]:
    """The kinetic energy of an IC is quadratic in the velocity; where signals enter, only the run's ledger can tell."""
    for path, element in model.elements.items():
        law = element.law
        if not isinstance(law, InertialField) or element.signals or modal_parameters(element):
            continue
        numbers = [real(value) for _, value in _given_numbers(element)]
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
            details = (f"at the start it is {once - rest:.6g} J at a velocity and {twice - rest:.6g} J at twice that",)
            places = (element.place,)
            cures = ("T = v M(q) v / 2; what depends on q alone belongs to `potential`",)
            yield Problem("E136", f'the kinetic energy of IC "{path}" is not quadratic in the velocity', details, places, cures)


def is_linear(element: Element) -> bool:
    """Whether an element is a storage or resistor with one number, diagonal or matrix as its parameter."""
    return isinstance(element.law, (Storage, Resistor)) and element.law.linear


def is_positive(value: np.ndarray, strict: bool) -> bool:
    """Whether a number, a diagonal or a symmetric matrix is positive (or, not strict, zero as well)."""
    if value.ndim < 2:
        return bool(np.all(value > 0) if strict else np.all(value >= 0))
    if value.shape[0] != value.shape[1] or not np.allclose(value, value.T, rtol=1e-12, atol=1e-12 * np.abs(value).max()):
        return False
    lowest = float(np.linalg.eigvalsh(value)[0])
    return lowest > 0 if strict else lowest >= -1e-12 * float(np.abs(value).max())


def check_sizes(model: Model) -> Iterator[Problem]:
    """Start values and the parameters of linear elements have the dimension of the bond."""
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
                numbers = numbers_of(name, element.parameters[name])
                allowed += [(own, value, [(), *vector, *square]) for own, value in numbers.items()]
        for name, value, shapes in allowed:
            if value is None:  # no hint
                continue
            array = None if isinstance(value, float) else real(value)
            if array is not None and array.shape not in shapes:
                title = f'{element.kind} "{path}": {name} has shape {array.shape}'
                details = (f'its bond "{bonds[0].name}" has dimension {n}', f"shapes that fit: {', '.join(map(str, shapes))}")
                yield Problem("E128", title, details, (element.place,), ("a value of a fitting shape, or another `dimension`",))
