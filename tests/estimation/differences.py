"""Derivatives of a run with respect to a number, from differences of runs with Richardson extrapolation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tests.inner.compile import Compiled
from tests.inner.estimation import free_parameters_of, with_values

HALVINGS, SHORTER = 5, 4.0
"""Number of step sizes, and the factor that shortens the longest step until the runs at both of its ends have the same events."""


def extrapolated(function: Callable[[float], np.ndarray], at: float, stride: float) -> np.ndarray:
    """Return a derivative by central differences with halved steps, whose best extrapolations agree (Ridders 1982)."""
    earlier: list[np.ndarray] = []
    best = scatter = np.zeros(0)
    for level in range(HALVINGS):
        h = stride / 2.0**level
        row = [(function(at + h) - function(at - h)) / (2.0 * h)]
        for order, known in enumerate(earlier, start=1):
            row.append(row[-1] + (row[-1] - known) / (4.0**order - 1.0))
            apart = np.maximum(np.abs(row[-1] - row[-2]), np.abs(row[-1] - known))
            if not best.size:
                best, scatter = row[-1], apart
            best, scatter = np.where(apart < scatter, row[-1], best), np.minimum(apart, scatter)
        earlier = row
    return best


def differences(
    compiled: Compiled, name: str, t_end: float, outputs: Sequence[str], stride: float, parameters=None, initial=None, **settings
) -> np.ndarray:
    """Return d outputs / d name (samples, outputs); `stride` is the longest step, relative to the number."""
    varied = free_parameters_of(compiled, name)
    (at,) = varied.values(compiled.parameters(parameters), compiled.initial(initial, parameters)[0])

    def run(number: float):
        changed, begun = with_values(compiled, varied, [number], parameters, initial)
        result = compiled.simulate(t_end, parameters=changed, initial=begun, **settings)
        assert result.failure is None, result.failure
        return result

    def looked_at(number: float) -> np.ndarray:
        result = run(number)
        return np.stack([result[output] for output in outputs], axis=-1)

    h, kinds = stride * (abs(at) or 1.0), run(float(at)).events.kinds
    while any(run(float(at) + s).events.kinds != kinds for s in (-h, h)):
        h /= SHORTER
        assert h > 1e-7 * (abs(at) or 1.0), "any change of the number changes the events"
    return extrapolated(looked_at, float(at), h)
