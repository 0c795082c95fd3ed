"""Relations that are declared passive but generate power are refused."""

from __future__ import annotations

import pytest

from bondgraph import J1, Graph, I, ModelError, R
from screws.scalars import array, exp


def test_relations_declared_passive_are_tried() -> None:
    def freeze(part, size: int = 1) -> None:
        junction = J1("v", dimension=size)
        Graph("g").connect(junction, part).connect(junction, I("m", 1.0, dimension=size)).freeze()

    freeze(R("r", effort=lambda f, a: a * f * f * f, parameters={"a": 2.0}, passive=True))
    freeze(R("r", flow=lambda e: 1e-12 * (exp(e / 0.025) - 1.0), passive=True))
    freeze(R("r", effort=lambda f: array([f[0] + 3.0 * f[1], 0.5 * f[1] - 3.0 * f[0]]), dimension=2, passive=True), 2)
    with pytest.raises(ModelError, match="E153"):
        freeze(R("r", effort=lambda f: array([f[0] - 3.0 * f[1], 0.5 * f[1]]), dimension=2, passive=True), 2)
