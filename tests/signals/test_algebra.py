"""Algebra and logic of signals agree with plain formulas."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bondgraph import J1, Block, Graph, I, ModelError, R, compile_model, signals
from screws.scalars import where
from tests.signals.chains import TIMES, compiled, over_time, ramped, value


def test_gain_sum_and_product() -> None:
    model = compiled(
        ramped(),
        signals.sine("s", 1.0, 2.0),
        signals.gain("k", "t.y", -3.0, unit="V"),
        signals.summation("sum", {"t.y": 1, "s.y": -1, "k.y": 1}),
        signals.product("p", ["t.y", "s.y", "k.y"]),
        signals.summation("minus", {"t.y": -1}),
    )
    for t in (0.3, 1.7):
        s = np.sin(2.0 * t)
        assert value(model, "k.y", t) == pytest.approx(-3.0 * t)
        assert value(model, "sum.y", t) == pytest.approx(t - s - 3.0 * t)
        assert value(model, "p.y", t) == pytest.approx(-3.0 * t * t * s)
        assert value(model, "minus.y", t) == -t
        assert value(model, "k.y", t, {"k.k": 5.0}) == pytest.approx(5.0 * t)
    assert model.program.layout.unit("k.y") == "V"


@pytest.mark.parametrize("k", [2.0, [1.0, 2.0, 3.0], [[1.0, 0.0, 2.0], [0.0, 1.0, -1.0]]])
def test_gain_of_a_vector(k) -> None:
    start = np.array([0.5, -1.0, 2.0])
    graph, v = Graph("vector"), J1("v")
    graph.connect(v, I("m", 1.0, initial=start)).connect(v, R("d", 1.0, dimension=3))
    graph.add(signals.gain("g", "m.p", k), signals.limiter("limited", "m.p", -0.7, 0.7))
    model = compile_model(graph)
    np.testing.assert_allclose(value(model, "g.y"), np.dot(k, start))
    np.testing.assert_allclose(value(model, "limited.y"), np.clip(start, -0.7, 0.7))


def test_limiter_and_dead_zone() -> None:
    model = compiled(ramped(offset=-2.0), signals.limiter("l", "t.y", -1.0, 2.0), signals.dead_zone("d", "t.y", -0.5, 1.0))
    u = np.maximum(TIMES, 0.0) - 2.0
    np.testing.assert_allclose(over_time(model, "l.y", TIMES), np.clip(u, -1.0, 2.0), atol=1e-15)
    np.testing.assert_allclose(over_time(model, "d.y", TIMES), u - np.clip(u, -0.5, 1.0), atol=1e-15)
    assert value(model, "l.y", 4.5, {"l.highest": 0.25}) == 0.25


@pytest.mark.parametrize("count", [2, 3, 12])
def test_table_is_numpy_interp(count: int) -> None:
    random = np.random.default_rng(count)
    points, values = np.sort(random.uniform(-1.0, 4.0, count)), random.normal(size=count)
    model = compiled(ramped(offset=-1.5), signals.table("f", "t.y", points, values))
    times = np.sort(np.concatenate([np.linspace(0.0, 7.0, 40), points[points > -1.5] + 1.5]))
    np.testing.assert_allclose(over_time(model, "f.y", times), np.interp(times - 1.5, points, values), atol=1e-13)
    other = random.normal(size=count)
    assert value(model, "f.y", 2.0, {"f.values": other}) == pytest.approx(np.interp(0.5, points, other))
    assert value(model, "f.y", 9.0) == values[-1]


def test_truth_table() -> None:
    for a, b, c in itertools.product((0.0, 1.0), repeat=3):
        model = compiled(
            signals.step("a", -1.0, after=a),
            signals.step("b", -1.0, after=b),
            signals.step("c", -1.0, after=c),
            signals.logic("all", "and", ["a.y", "b.y", "c.y"]),
            signals.logic("any", "or", ["a.y", "b.y", "c.y"]),
            signals.logic("none", "not", ["any.y"]),
        )
        assert value(model, "all.y") == float(a and b and c)
        assert value(model, "any.y") == float(a or b or c)
        assert value(model, "none.y") == float(not (a or b or c))


def test_comparator_with_a_number_and_with_a_signal() -> None:
    model = compiled(
        ramped(),
        signals.step("level", 2.0, 1.0, 3.5),
        signals.comparator("above", "t.y", 1.5),
        signals.comparator("higher", "t.y", "level.y"),
    )
    u = np.maximum(TIMES, 0.0)
    np.testing.assert_array_equal(over_time(model, "above.y", TIMES), u > 1.5)
    np.testing.assert_array_equal(over_time(model, "higher.y", TIMES), u > np.where(TIMES < 2.0, 1.0, 3.5))
    assert value(model, "above.y", 1.5) == 0.0  # strictly above
    assert value(model, "above.y", 1.0, {"above.threshold": 0.5}) == 1.0


@pytest.mark.parametrize(
    "formula",
    [
        lambda x: where(x, 1.0, 2.0),
        lambda x: where(x - 1.0, 1.0, 2.0),
        lambda x: where((x > 0.0) * (x < 1.0), 1.0, 2.0),
        lambda x: where((x > 0.0) & x, 1.0, 2.0),
        lambda x: where(~x, 1.0, 2.0),
        lambda x: where(1.0, x, 2.0),
    ],
)
def test_a_number_is_refused_as_condition(formula: Callable[[Any], Any]) -> None:
    with pytest.raises(ModelError, match=r'(?s)E129.*block "own".*(comparison|bitwise_and|invert)'):
        compiled(Block("own", [("y", formula, ["u"])], inputs={"u": "time"}))


def test_conditions_are_comparisons_and_their_combinations() -> None:
    def formula(x: Any) -> Any:
        return where((x > 0.0) & ~(x > 2.0) | (x != x), where(bool(1), x, 0.0), where(np.less(1.0, 2.0), 5.0 * x, 0.0))

    values = compiled(Block("own", [("y", formula, ["u"])], inputs={"u": "time"})).simulate(4.0, samples=[1.0, 3.0])
    assert values["own.y"].tolist() == [0.0, 1.0, 15.0]
