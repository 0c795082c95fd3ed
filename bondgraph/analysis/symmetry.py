"""Reciprocity of storages and resistors: symmetry of the law's Jacobian, and balance of power and stored energy.

The laws themselves are differentiated, on a tape, at random points.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.emit.numpy import numpy_kernel
from bondgraph.model.arguments import refused
from bondgraph.model.laws import Resistor, Storage
from bondgraph.tape.differentiate import jacobian
from bondgraph.tape.routine import Routine
from bondgraph.tape.scalar import Tape
from bondgraph.tracing.on_tape.values import scalars_of, shaped
from screws.arrays import Count


@dataclass(frozen=True)
class Reciprocity:
    """Result of the checks of one element, with the worst values over all points.

    Parameters
    ----------
    asymmetry : |J - J^T| / |J| of the law's Jacobian (Maxwell's relations); nan if the law has no square Jacobian.
    imbalance : for a storage, |dH/dt - effort . flow| over the size of the power; nan for a resistor.
    dissipation : for a resistor, smallest effort . flow over |effort| |flow|, negative if it supplies power; nan for a storage.
    points : number of points with finite values.
    """

    element: str
    kind: str
    asymmetry: float
    imbalance: float
    dissipation: float
    points: int
    tolerance: float

    @property
    def reciprocal(self) -> bool:
        """True if the Jacobian is symmetric, or if the law has no square Jacobian."""
        return not self.asymmetry > self.tolerance

    @property
    def conservative(self) -> bool:
        """True if a storage conserves energy; always true for a resistor."""
        return not self.imbalance > self.tolerance

    @property
    def passive(self) -> bool:
        """True if a resistor supplied no power at any point; always true for a storage."""
        return not self.dissipation < -self.tolerance

    @property
    def ok(self) -> bool:
        """True if no check failed, and at least one point gave finite values."""
        return self.points > 0 and self.reciprocal and self.conservative and self.passive


def reciprocity(
    model: Compilable, *, points: Count = 20, spread: float = 1.0, seed: int = 0, tolerance: float = 1e-9
) -> tuple[Reciprocity, ...]:
    """Check storages and resistors at random points, except elements with several bonds and resistors with an implicit relation.

    A multiport storage is conservative only if the Jacobian of its output is symmetric (Maxwell's reciprocity) and the output is
    the gradient of its energy; both are checked, the second by a balance of power, which also applies to storages on poses. A
    resistor need not be reciprocal; the check reveals a gyrator hidden in it.

    Parameters
    ----------
    points, seed : number of points, and the seed of their random numbers.
    spread : standard deviation of the points: of states about their start values, in units of their nominal sizes; of the inputs
        of resistors about zero.
    tolerance : largest relative error that passes the checks.
    """
    compiled = compiled_form(model, "reciprocity")
    env, system = compiled.evaluate(), compiled.system
    nominal = {state.name: state.typical for state in system.states}
    if not isinstance(seed, int) or seed < 0:
        raise refused("seed", seed, "a whole number from 0", "seed=1")
    random = np.random.default_rng(seed)
    results = []
    for path, element in compiled.model.elements.items():
        law, bonds = element.law, compiled.model.bonds_at(path)
        if not isinstance(law, Storage | Resistor) or len(bonds) != 1 or (isinstance(law, Resistor) and law.relation):
            continue
        names = [*(f"{path}.{name}" for name in element.parameters), *element.signals]
        arguments = [env[system.resolve(name)] for name in names]
        port = np.zeros(bonds[0].shape)
        if isinstance(law, Storage):
            state = system.resolve(f"{path}.{law.coordinate}")
            start = np.asarray(env.get(state, port if law.rate is None else np.zeros(law.spec.shape)), dtype=float)
            check = _of_storage(law, start.shape, port.shape, arguments)
            around = [(start, spread * nominal.get(state, 1.0)), (port, 1.0)]
        else:
            check, around = _of_resistor(law, port.shape, arguments), [(port, spread)]
        rows = []
        for _ in range(points):
            rows += check(np.concatenate([np.ravel(at + size * random.normal(size=at.shape)) for at, size in around]))
        table = np.array(rows).reshape(-1, 3)
        asymmetry, imbalance, _ = table.max(axis=0, initial=0.0).tolist()
        least = float(table[:, 2].min(initial=np.inf))
        results.append(Reciprocity(path, element.kind, asymmetry, imbalance, least, len(table), tolerance))
    return tuple(results)


Check = Callable[[np.ndarray], list[tuple[float, float, float]]]
"""Function of a point, a row of numbers, that returns asymmetry, imbalance and dissipation; an empty list if they are not
finite."""


def _of_storage(law: Storage, state_shape: tuple[int, ...], port_shape: tuple[int, ...], arguments: list[Any]) -> Check:
    tape = Tape()
    x, u = tape.inputs("x", math.prod(state_shape)), tape.inputs("u", math.prod(port_shape))
    state, given_input = shaped(x, state_shape), shaped(u, port_shape)
    formula = law.inverse if law.output is None else law.output
    assert formula is not None
    output = scalars_of(formula(state, *arguments))
    rate = scalars_of(given_input if law.rate is None else law.rate(state, given_input, *arguments))
    slopes = jacobian([law.stored(state, *arguments)], list(x)).dense()[0]
    gain = sum(slope * speed for slope, speed in zip(slopes, rate, strict=True))
    n, count, square = len(x), len(output), law.rate is None and len(output) == len(x)
    inner = jacobian(output, list(x)).dense().ravel() if square else ()
    ends = output, scalars_of(given_input)
    if law.output is None:  # x is the output, and the state moves by the law's slope
        slopes_of_state = np.reshape(np.array(inner, dtype=object), (n, n))
        ends = list(x), [sum(a * b for a, b in zip(row, rate, strict=True)) for row in slopes_of_state]
    power = sum(a * b for a, b in zip(*ends, strict=True))
    kernel = numpy_kernel(Routine("storage", tape, (("x", n), ("u", len(u))), (gain, power, *output, *inner)))

    def check(point: np.ndarray) -> list[tuple[float, float, float]]:
        values = kernel(point[:n], point[n:])
        if not np.all(np.isfinite(values)):
            return []
        size = np.linalg.norm(values[2 : 2 + count]) * np.linalg.norm(point[n:])
        imbalance = abs(values[0] - values[1]) / max(size, 1e-300)
        return [(_asymmetry(values[2 + count :].reshape(n, n)) if square else np.nan, imbalance, np.nan)]

    return check


def _of_resistor(law: Resistor, shape: tuple[int, ...], arguments: list[Any]) -> Check:
    relation = law.effort or law.flow
    assert relation is not None
    tape, n = Tape(), math.prod(shape)
    u = tape.inputs("u", n)
    output = scalars_of(relation(shaped(u, shape), *arguments))
    kernel = numpy_kernel(Routine("resistor", tape, (("u", n),), (*output, *jacobian(output, list(u)).dense().ravel())))

    def check(point: np.ndarray) -> list[tuple[float, float, float]]:
        values = kernel(point)
        if not np.all(np.isfinite(values)):
            return []
        size = np.linalg.norm(values[:n]) * np.linalg.norm(point)
        return [(_asymmetry(values[n:].reshape(n, n)), np.nan, float(values[:n] @ point / size) if size > 0 else 0.0)]

    return check


def _asymmetry(matrix: np.ndarray) -> float:
    return float(np.linalg.norm(matrix - matrix.T)) / max(float(np.linalg.norm(matrix)), 1e-300)
