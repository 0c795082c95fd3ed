"""Models of a few elements around a junction."""

from __future__ import annotations

import numpy as np

from bondgraph import Compiled, Element, Graph, compile_model


def star(junction: Element, *parts: Element, reverse: bool = False, name: str = "star") -> Graph:
    graph = Graph(name)
    for part in parts:
        inward = (part.kind in ("Se", "Sf")) != reverse
        graph.connect(part, junction) if inward else graph.connect(junction, part)
    return graph


def compiled(graph: Graph) -> Compiled:
    return compile_model(graph, backend="numpy")


def rates(model: Compiled, t: float = 0.0, parameters=None, **initial) -> dict[str, np.ndarray]:
    x, m = model.initial(initial)
    dx = model.program.rates(t, x, model.parameters(parameters), m)
    slots = model.program.layout
    return {s.name: dx[slots[s.name].start : slots[s.name].stop].reshape(slots[s.name].shape) for s in model.system.states}


def value(model: Compiled, name: str, t: float = 0.0):
    return model.evaluate(t)[model.system.resolve(name)]


RNG = np.random.default_rng(5)


def spd(n: int) -> np.ndarray:
    root = RNG.normal(size=(n, n))
    return root @ root.T + np.eye(n)
