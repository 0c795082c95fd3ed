"""In printed equations, a common denominator does not enlarge numbers with many digits."""

from __future__ import annotations

import re

import numpy as np

from bondgraph import J1, TF, Graph, I, Se, compile_model
from bondgraph.export import state_equations


def test_numbers_stay_of_the_size_that_they_have() -> None:
    graph, v = Graph("levers"), J1("v")
    ratios = [0.6137219, 1.2098713, 0.33017]
    graph.connect(Se("u", 1.0), v).connect(v, I("m0", 1.0, initial=1.0))
    for k, ratio in enumerate(ratios):
        lever, far = TF(f"n{k}", ratio, structural=True), J1(f"v{k}")
        graph.connect(v, lever).connect(lever, far).connect(far, I(f"m{k + 1}", 2.0 + k)).connect(Se(f"w{k}", 0.5), far)
    compiled = compile_model(graph)
    equations = state_equations(compiled)
    numbers = [float(n) for n in re.findall(r"(?<![\w.])\d+\.?\d*(?:e[+-]?\d+)?", str(equations).replace("**2", ""))]
    assert numbers and max(numbers) < 100.0, str(equations)
    ((state, rate),) = equations.equations.items()
    known = {**equations.parameters, "u.value": 1.0, **{f"w{k}.value": 0.5 for k in range(3)}, state: 1.0}
    found = float(rate.subs({symbol: known[symbol.name] for symbol in rate.free_symbols}))
    x, m = compiled.initial()
    expected = compiled.program.rates(0.0, x, compiled.parameters(), m)[0]
    mass = 1.0 + sum((2.0 + k) * n**2 for k, n in enumerate(ratios))
    np.testing.assert_allclose([found, expected], (1.0 + 0.5 * sum(ratios)) / mass, rtol=1e-12)
