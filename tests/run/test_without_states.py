"""In models without storage only work is integrated, and no stored energy sets its scale."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import Graph, R, Se, compile_model, signals
from bondgraph.methods import METHODS
from screws.scalars import sin

RESISTANCE, END, RTOL = 2.0, 10.0, 1e-8
SOURCES = {
    "a wave": (lambda t: 3e-6 * sin(t), 9e-12 * (END / 2.0 - np.sin(2.0 * END) / 4.0)),
    "a wave of another size": (lambda t: 3e9 * sin(t), 9e18 * (END / 2.0 - np.sin(2.0 * END) / 4.0)),
    "a power of time": (lambda t: t * t * t, END**7 / 7.0),
    "a constant": (lambda t: 5.0 + 0.0 * t, 25.0 * END),
    "nothing": (lambda t: 0.0 * t, 0.0),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", SOURCES)
def test_work_of_a_source_on_a_resistance(method: str, name: str) -> None:
    course, squares = SOURCES[name]
    model = compile_model(Graph("no states").connect(Se("u", course, signals="time"), R("r", RESISTANCE)))
    result = model.simulate(END, rtol=RTOL, method=method, samples=1.0, strict=True, progress=False)
    assert result.integrals[-1] == pytest.approx([squares / RESISTANCE] * 2, rel=100.0 * RTOL)


@pytest.mark.parametrize("method", [name for name, entry in METHODS.items() if not entry.needs_series])
def test_work_that_begins_when_a_signal_has_come(method: str) -> None:
    """The problem is x' = 1, u = x, where x is a signal's state without energy."""
    graph = Graph("late").connect(Se("u", lambda x: x, signals=["clock.y"]), R("r", RESISTANCE))
    for part in (signals.step("one", before=1.0), signals.integrator("clock", "one.y")):
        graph.add(part)
    model = compile_model(graph)
    result = model.simulate(END, rtol=RTOL, method=method, samples=1.0, strict=True, progress=False)
    assert result.integrals[-1] == pytest.approx([END**3 / 3.0 / RESISTANCE] * 2, rel=100.0 * RTOL)
