"""Storages and resistors of a model: is the gradient of the law symmetric, does the output come from the energy?

What the checks differentiate are the laws themselves, on a tape, at random points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.emit.numpy import numpy_kernel
from bondgraph.model.element import Element
from bondgraph.model.laws import Resistor, Storage
from bondgraph.tape.differentiate import jacobian
from bondgraph.tape.routine import Routine
from bondgraph.tape.scalar import Tape
from bondgraph.tracing.on_tape.values import scalars_of


@dataclass(frozen=True)
class Reciprocity:
    """What was found for one element, worst of all points.

    Parameters
    ----------
    asymmetry : |J - J^T| / |J| of the law's Jacobian (Maxwell's relations); nan where the law has no square one.
    imbalance : of a storage: |dH/dt - effort . flow| over the size of the power; nan for a resistor.
    dissipation : of a resistor: smallest effort . flow over |effort| |flow|, negative where it gives power; nan for a
        storage.
    points : how many points gave finite numbers.
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
        """Whether the Jacobian is symmetric."""
        return not self.asymmetry > self.tolerance

    @property
    def conservative(self) -> bool:
        """Whether a storage gives back what it takes."""
        return not self.imbalance > self.tolerance

    @property
    def passive(self) -> bool:
        """Whether a resistor never gave power at the points tried."""
        return not self.dissipation < -self.tolerance

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return self.points > 0 and self.reciprocal and self.conservative and self.passive


def reciprocity(
    model: Compilable, *, points: int = 20, spread: float = 1.0, seed: int = 0, tolerance: float = 1e-9
) -> tuple[Reciprocity, ...]:
    """Check every storage and every resistor at random points around the start values.

    A multiport storage is conservative only if the Jacobian of its output is symmetric (Maxwell's reciprocity) and the
    output is the gradient of its energy; both are checked, the second as a balance of power, which holds for storages
    on poses too. A resistor need not be reciprocal; a gyrator hidden in it shows here.

    Parameters
    ----------
    points : how many; spread : how far, in units of the nominal size of states; seed : of the random numbers.
    tolerance : what counts as rounding.
    """
    compiled = compiled_form(model, "reciprocity")
    env = compiled.evaluate()
    system = compiled.system
    nominal = {state.name: state.typical for state in system.states}
    random = np.random.default_rng(seed)
    found = []
    for path, element in compiled.model.elements.items():
        bonds = compiled.model.bonds_at(path)
        if not isinstance(element.law, Storage | Resistor) or len(bonds) != 1:
            continue
        names = [*(f"{path}.{name}" for name in element.parameters), *element.signals]
        arguments = [env[system.resolve(name)] for name in names]
        shape = bonds[0].shape
        if isinstance(element.law, Storage):
            state = system.resolve(f"{path}.{element.law.state}")
            at = env.get(state, np.zeros(shape if element.law.rate is None else element.law.spec.shape))
            around = nominal.get(state, 1.0)

            def draw(start: Any = at, size: Any = around, port: tuple[int, ...] = shape) -> np.ndarray:
                x = np.asarray(start, dtype=float) + spread * size * random.normal(size=np.shape(start))
                return np.concatenate([x.ravel(), random.normal(size=port).ravel()])

            found.append(_storage(path, element, np.shape(at), shape, arguments, draw, points, tolerance))
        else:

            def draw_flow(port: tuple[int, ...] = shape) -> np.ndarray:
                return spread * random.normal(size=port).ravel()

            found.append(_resistor(path, element, shape, arguments, draw_flow, points, tolerance))
    return tuple(found)


def _shaped(scalars: np.ndarray, shape: tuple[int, ...]) -> Any:
    return scalars.reshape(shape) if shape else scalars[0]


def _storage(
    path: str,
    element: Element,
    state_shape: tuple[int, ...],
    port_shape: tuple[int, ...],
    arguments: list[Any],
    draw: Callable[[], np.ndarray],
    points: int,
    tolerance: float,
) -> Reciprocity:
    law = element.law
    assert isinstance(law, Storage)
    n, k = int(np.prod(state_shape)), int(np.prod(port_shape))
    tape = Tape()
    x, u = tape.inputs("x", n), tape.inputs("u", k)
    state, given = _shaped(x, state_shape), _shaped(u, port_shape)
    output = scalars_of(law.output(state, *arguments))
    rate = scalars_of(given if law.rate is None else law.rate(state, given, *arguments))
    slopes = jacobian([law.energy(state, *arguments)], list(x)).dense()[0]
    gain = sum(slope * speed for slope, speed in zip(slopes, rate, strict=True))
    power = sum(one * other for one, other in zip(output, scalars_of(given), strict=True))
    square = law.rate is None and len(output) == n
    inner: list[Any] = list(jacobian(output, list(x)).dense().ravel()) if square else []
    routine = Routine("storage", tape, (("x", n), ("u", k)), (gain, power, *output, *inner))
    kernel = numpy_kernel(routine)
    asymmetry, imbalance, used = 0.0 if square else np.nan, 0.0, 0
    for _ in range(points):
        drawn = draw()
        values = kernel(drawn[:n], drawn[n:])
        if not np.all(np.isfinite(values)):
            continue
        used += 1
        size = np.linalg.norm(values[2 : 2 + len(output)]) * np.linalg.norm(drawn[n:])
        imbalance = max(imbalance, abs(values[0] - values[1]) / max(size, 1e-300))
        if square:
            asymmetry = max(asymmetry, _asymmetry(values[2 + len(output) :].reshape(n, n)))
    return Reciprocity(path, element.kind, asymmetry, imbalance, np.nan, used, tolerance)


def _resistor(
    path: str,
    element: Element,
    shape: tuple[int, ...],
    arguments: list[Any],
    draw: Callable[[], np.ndarray],
    points: int,
    tolerance: float,
) -> Reciprocity:
    law = element.law
    assert isinstance(law, Resistor)
    relation = law.effort or law.flow
    assert relation is not None
    n = int(np.prod(shape))
    tape = Tape()
    u = tape.inputs("u", n)
    output = scalars_of(relation(_shaped(u, shape), *arguments))
    kernel = numpy_kernel(Routine("resistor", tape, (("u", n),), (*output, *jacobian(output, list(u)).dense().ravel())))
    asymmetry, dissipation, used = 0.0, np.inf, 0
    for _ in range(points):
        given = draw()
        values = kernel(given)
        if not np.all(np.isfinite(values)):
            continue
        used += 1
        size = np.linalg.norm(values[:n]) * np.linalg.norm(given)
        dissipation = min(dissipation, float(values[:n] @ given / size) if size > 0 else 0.0)
        asymmetry = max(asymmetry, _asymmetry(values[n:].reshape(n, n)))
    return Reciprocity(path, element.kind, asymmetry, np.nan, dissipation, used, tolerance)


def _asymmetry(matrix: np.ndarray) -> float:
    return float(np.linalg.norm(matrix - matrix.T)) / max(float(np.linalg.norm(matrix)), 1e-300)
