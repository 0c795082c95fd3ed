"""Acceptance cases: the table that stores them, and helpers that build their models and evaluate them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bondgraph import Compiled, Graph, compile_model
from bondgraph.analysis import linearise
from tests.inner.run import Result

Found = Sequence[tuple[Any, Any, float]]
"""Triples (computed value, expected value, tolerance) of a case."""


class Entries(dict[str, Callable[[], Found]]):
    def add(self, name: str) -> Callable[[Callable[[], Found]], Callable[[], Found]]:
        def put(function: Callable[[], Found]) -> Callable[[], Found]:
            self[name] = function
            return function

        return put


def joined(junction, *parts, name: str = "model") -> Graph:
    graph = Graph(name)
    for part in parts:
        graph.connect(part, junction) if part.kind in ("Se", "Sf") else graph.connect(junction, part)
    return graph


def compiled(graph: Graph) -> Compiled:
    return compile_model(graph, backend="numpy")


def matrices(graph: Graph, states: Sequence[str], inputs: Sequence[str] = ()) -> np.ndarray:
    linear = linearise(compiled(graph), inputs)
    place = [linear.states.index(name) for name in states]
    assert len(place) == len(linear.states)
    return np.hstack([linear.A[np.ix_(place, place)], linear.B[place]])


def poles(graph: Graph) -> np.ndarray:
    return np.sort_complex(linearise(compiled(graph)).poles())


def run(graph: Graph, t_end: float, samples: Any = None, **more: Any) -> Result:
    result = compile_model(graph).simulate(t_end, samples=samples, progress=False, **more)
    assert result.ok, result.failure
    assert result.ledger.relative_residual < 1e-7
    return result


def at_end(graph: Graph, t_end: float, *names: str, **more: Any) -> list[float]:
    result = run(graph, t_end, [0.0, t_end], **more)
    return [float(result[name][-1]) for name in names]
