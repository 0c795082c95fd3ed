"""If a matrix transformer is used against its direction, the message advises reversing it, which gives the same motion."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import J1, MTF, TF, Graph, I, ModelError, R, Se, Sf


def matrix(n, seed):
    return np.eye(n) + 0.3 * np.random.default_rng(seed).normal(size=(n, n))


def element(kind, values):
    n = len(values)
    return (
        TF("turn", values)
        if kind == "TF"
        else MTF("turn", lambda t: values * (1.0 + 0.0 * t), signals=["time"], dimensions=(n, n))
    )


def behind(near, far, turn, junctions):
    n = 3
    graph, drive, mass = Graph("g"), Se("drive", np.arange(1.0, n + 1)), I("mass", 2.0, dimension=n)
    if not junctions:
        return graph.connect(drive, turn.port(near)).connect(turn.port(far), mass)
    first, second = J1("first"), J1("second")
    graph.connect(drive, first).connect(first, turn.port(near)).connect(turn.port(far), second)
    return graph.connect(second, mass).connect(second, R("r", 1.0, dimension=n))


@pytest.mark.parametrize("junctions", [False, True])
@pytest.mark.parametrize("kind", ["TF", "MTF"])
def test_the_advice_turns_it_round(kind, junctions):
    values = matrix(3, 1)
    with pytest.raises(ModelError, match=r"E203(?s:.*)MTF|E203(?s:.*)TF") as refused:
        behind("1", "2", element(kind, values), junctions).compile()
    (problem,) = refused.value.problems
    assert f'{kind} "turn" has a matrix: its flow is an input at port 1' in problem.details[0]
    assert problem.cures[0].startswith("reverse it")
    run = behind("2", "1", element(kind, np.linalg.inv(values)), junctions).simulate(0.1, rtol=1e-11, progress=False)
    assert run.ok
    if not junctions:  # e_mass = N^-T e_drive, constant
        expected = np.linalg.solve(values.T, np.arange(1.0, 4.0)) * 0.1 / 2.0
        np.testing.assert_allclose(run["mass.flow"][-1], expected, rtol=1e-9)


@pytest.mark.parametrize(
    "make",
    [
        lambda turn: Graph("g").connect(Sf("v", np.ones(3)), turn.port("2")).connect(turn.port("1"), Sf("w", np.ones(3))),
        lambda turn: Graph("g").connect(Se("e", np.ones(3)), turn.port("1")).connect(turn.port("2"), Se("f", np.ones(3))),
    ],
)
def test_a_conflict_that_turning_does_not_cure_has_other_advice(make):
    with pytest.raises(ModelError, match="E203") as refused:
        make(TF("turn", matrix(3, 2))).compile()
    assert not any("reverse it" in cure for problem in refused.value.problems for cure in problem.cures)


def test_a_matrix_that_is_not_square_is_not_turned():
    graph = Graph("g").connect(Se("e", np.ones(2)), (turn := TF("turn", np.ones((3, 2)))).port("1"))
    with pytest.raises(ModelError, match="E203") as refused:
        graph.connect(turn.port("2"), I("m", 1.0, dimension=3)).compile()
    assert "reverse it" not in str(refused.value)
