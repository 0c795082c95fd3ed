"""Differences of runs: a model, a number that is varied and a run in; its derivative by Richardson's extrapolation out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bondgraph.compile.compiled import Compiled
from bondgraph.estimation.varied import varied_by, with_values


def extrapolated(function: Callable[[float], np.ndarray], at: float, stride: float) -> np.ndarray:
    """Derivative by central differences of three strides, each half of the one before: an error of order six."""
    first, second, third = ((function(at + h) - function(at - h)) / (2.0 * h) for h in (stride, stride / 2.0, stride / 4.0))
    return (16.0 * (4.0 * third - second) - (4.0 * second - first)) / 45.0


def differences(compiled: Compiled, name: str, t_end: float, outputs: list[str], stride: float, **settings) -> np.ndarray:
    """d outputs / d name, (samples, outputs), of scalar outputs; `stride` relative to the number."""
    varied = varied_by(compiled, name)
    (at,) = varied.values(compiled.parameters(), compiled.initial()[0])

    def run(number: float) -> np.ndarray:
        changed, begun = with_values(compiled, varied, [number])
        result = compiled.simulate(t_end, parameters=changed, initial=begun, **settings)
        assert result.failure is None, result.failure
        return np.stack([result[output] for output in outputs], axis=-1)

    return extrapolated(run, float(at), stride * (abs(at) or 1.0))
