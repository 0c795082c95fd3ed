"""Jumping relations make an algebraic loop nonlinear, although their derivatives do not show the jump."""

from __future__ import annotations

import pytest

from bondgraph import Graph, R, Se, UnreliableRunWarning, compile_model
from screws.scalars import floor, less, sign, where
from tests.inner.tracing import evaluate

LAWS = {
    "sign": (lambda i: 0.6 * sign(i), 0.04),
    "where": (lambda i: where(i > 0.0, 0.6, 0.0), 0.04),
    "floor": (lambda i: floor(24.0 * i) / 2.0, 0.05),
    "comparison": (lambda i: 0.6 * less(0.0, i), 0.04),
    "where of a line": (lambda i: where(i > 0.01, 10.0 * i, 0.0), 0.05),
    "in a step": (lambda i: 0.6 * sign(2.0 * sign(i)), 0.04),
}
"""Voltage as a function of current, A, and the current in series with 10 ohm at 1 V."""


def circuit(law) -> Graph:
    graph = Graph("loop")
    graph.series(Se("u", 1.0), R("load", 10.0), R("law", effort=law))
    return graph


@pytest.mark.parametrize(("law", "current"), LAWS.values(), ids=LAWS)
def test_the_loop_is_solved(law, current) -> None:
    run = compile_model(circuit(law), progress=False).simulate(0.1, progress=False)
    assert run.ok and run["load.flow"] == pytest.approx(current, rel=1e-9)


def test_an_account_without_storages_is_checked(monkeypatch) -> None:
    monkeypatch.setattr(evaluate, "jumps", lambda *of_a_loop: False)
    compiled = compile_model(circuit(LAWS["sign"][0]), progress=False)
    with pytest.warns(UnreliableRunWarning, match=r"off by 0\.23 of the energy scale"):
        assert not compiled.simulate(1.0, progress=False).ok
