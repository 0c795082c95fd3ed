"""Parts with too many mode combinations are refused with a message that names the limit and the automata."""

from __future__ import annotations

import pytest

from bondgraph import J0, J1, Friction, Graph, I, ModelError, R, Se


def row(blocks, softly=False, curved=True):
    graph, v = Graph("row"), [J1(f"v{i}", domain="translation") for i in range(blocks)]
    for i in range(blocks):
        graph.connect(v[i], I(f"m{i}", energy=lambda p: p * p / 2 + p**4) if curved else I(f"m{i}", 1.0))
    graph.connect(Se("F", 0.5), v[blocks // 2]).connect(v[0], Friction("left", 1.0)).connect(v[-1], Friction("right", 1.0))
    for i in range(blocks - 1):
        between = J0(f"z{i}", domain="translation")
        graph.connect(v[i], between).connect(between, v[i + 1])
        if softly:
            graph.connect(between, R(f"d{i}", damping=1e3))
        graph.connect(between, Friction(f"b{i}", 1.0))
    return graph


def test_the_limit_and_the_automata_are_named():
    with pytest.raises(ModelError, match="E212") as refused:
        row(5).compile(progress=False)
    text = str(refused.value)
    assert "243 combinations of modes exceed the limit of 19" in text
    assert "automata of this part: " in text and "b2, b3" in text and "no valid causality" not in text
    assert "in series with some of them, at a 0-junction with a friction" in text


def test_dampers_in_series_run():
    run = row(5, softly=True).simulate(0.5, progress=False)
    assert run.ok and abs(run["v2.flow"]).max() < 1e-2  # 0.5 N is below every limit, so only the dampers creep
