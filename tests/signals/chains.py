"""Chains of signal blocks, compiled and compared with the plain formulas."""

from __future__ import annotations

import numpy as np

from bondgraph import Compiled, Element, Graph, compile_model, signals


def chain(*blocks: Element) -> Graph:
    graph = Graph("chain")
    graph.add(*blocks)
    return graph


def compiled(*blocks: Element) -> Compiled:
    return compile_model(chain(*blocks))


def value(model: Compiled, name: str, t: float = 0.0, parameters=None):
    """Return one value from the compiled code, after a check against the plain formulas."""
    (x, m), p = model.initial(), model.parameters(parameters)
    slot = model.program.layout[name]
    if slot.block == "x":
        out = x
    else:
        assert slot.block == "out"
        out = model.program.outputs(t, x, p, m)
    found = out[slot.start : slot.stop].reshape(slot.shape)[()]
    np.testing.assert_allclose(found, model.evaluate(t, p=p)[model.system.resolve(name)], rtol=1e-13, atol=1e-15)
    return found


def over_time(model: Compiled, name: str, times: np.ndarray) -> np.ndarray:
    return np.array([value(model, name, float(t)) for t in times])


def ramped(**more) -> Element:
    return signals.ramp("t", 1.0, **more)


TIMES = np.linspace(-0.5, 4.5, 51)
