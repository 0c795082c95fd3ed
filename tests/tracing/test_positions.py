"""The compiler differentiates positions of constraints."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import J0, J1, MTF, C, Constraint, Graph, I, ModelError, Se, compile_model, simulate
from screws.scalars import array


def weight(name: str, v, graph: Graph, start, mass=(1.0, 1.0), momentum=(0.0, 0.0)) -> Graph:
    graph.connect(v, I(f"mass {name}", list(mass), initial=list(momentum)))
    return graph.connect(v, C(name, energy=lambda q: 9.81 * mass[1] * q[1], dimension=2, initial=list(start)))


def rod(q):
    return (q[0] ** 2 + q[1] ** 2 - 1) / 2


def by_matrix(matrix, turned=False) -> Graph:
    graph, v = Graph("pendulum"), J1("v", dimension=2)
    weight("place", v, graph, (1.0, 0.0), (1.0, 3.0))
    along = MTF("J", matrix, signals=["place.q"], dimensions=(2, 1))
    held = Constraint("rod", position=rod, signals=["place.q"])
    graph.connect(v, along)
    return graph.connect(held, along) if turned else graph.connect(along, held)


def by_coordinates(turned=False) -> Graph:
    graph, v = Graph("pendulum"), J1("v", dimension=2)
    weight("place", v, graph, (1.0, 0.0), (1.0, 3.0))
    held = Constraint("rod", position=rod, coordinates={"place.q": 2})
    return graph.connect(held, v) if turned else graph.connect(v, held)


@pytest.mark.parametrize(
    ("matrix", "said"),
    [
        (lambda q: array([[q[0], -q[1]]]), "row 0, column 1"),
        (lambda q: array([[-q[0], q[1]]]), "row 0, column 0"),
        (lambda q: array([[2.0 * q[0], q[1]]]), "row 0, column 0"),
        (lambda q: array([[q[0], q[1] + 0.001]]), "row 0, column 1"),
        (lambda q: array([[q[0] * q[0], q[1]]]), "row 0, column 0"),
    ],
)
def test_a_jacobian_that_is_not_that_of_the_position_is_refused_with_its_entry(matrix, said):
    with pytest.raises(ModelError, match="E170") as refused:
        compile_model(by_matrix(matrix), backend="numpy")
    text = str(refused.value)
    assert said in text and 'MTF "J"' in text and '"rod"' in text and "test_positions.py" in text
    assert "coordinates={'place.q': 2}" in text


@pytest.mark.parametrize("turned", [False, True])
def test_the_right_jacobian_passes_whichever_way_the_arrow_points(turned):
    compile_model(by_matrix(lambda q: array([[q[0], q[1]]]), turned), backend="numpy")


def test_derivatives_of_the_position_serve_as_well_as_the_right_matrix():
    whole = simulate(by_matrix(lambda q: array([[q[0], q[1]]])), 1.0, progress=False)
    for turned in (False, True):
        derived = simulate(by_coordinates(turned), 1.0, progress=False)
        assert np.abs(derived["place.q"] - whole["place.q"]).max() < 1e-8
        assert np.abs(derived["rod.multiplier"] - whole["rod.multiplier"]).max() < 1e-6
        assert np.abs(derived.ledger.injected).max() < 1e-8 * derived.ledger.in_play


def dumbbell() -> Graph:
    """Return two masses on one rod, which no constant matrix describes."""
    graph, a, b = Graph("dumbbell"), J1("a", dimension=2), J1("b", dimension=2)
    weight("place a", a, graph, (0.0, 0.0), (1.0, 1.0))
    weight("place b", b, graph, (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))
    length = Constraint("rod", position=lambda x, y: ((y - x) @ (y - x) - 1.0) / 2, coordinates={"place a.q": 2, "place b.q": 2})
    return graph.connect(a, length.port("1")).connect(b, length.port("2"))


def test_a_rod_between_two_masses_turns_evenly_while_it_falls():
    run = simulate(dumbbell(), 3.0, rtol=1e-9, progress=False)
    apart, middle = run["place b.q"] - run["place a.q"], (run["place b.q"] + run["place a.q"]) / 2
    t = run.t
    assert np.abs(apart - np.c_[np.cos(t), np.sin(t)]).max() < 1e-7
    assert np.abs(middle - np.c_[0.5 + 0 * t, t / 2 - 9.81 * t * t / 2]).max() < 1e-6


def test_two_conditions_of_one_position_and_scalar_coordinates():
    """A mass is held in both directions, and one multiplier is half its weight, because its condition is 2 y = 0.8."""
    graph, v = Graph("pinned"), J1("v", dimension=2)
    weight("place", v, graph, (0.3, 0.4), (1.0, 2.0))
    pin = Constraint("pin", position=lambda q: array([q[0] - 0.3, 2.0 * q[1] - 0.8]), coordinates={"place.q": 2}, dimension=2)
    run = simulate(graph.connect(v, pin), 0.1, progress=False)
    assert np.abs(run["place.q"] - [0.3, 0.4]).max() < 1e-12
    np.testing.assert_allclose(run["pin.multiplier"][-1], [0.0, 2.0 * 9.81 / 2.0], atol=1e-9)
    graph, v = Graph("wheel"), J1("v")
    graph.connect(v, I("inertia", 2.0)).connect(Se("torque", 3.0), v).connect(v, C("angle", energy=lambda q: 0.0 * q))
    graph.connect(v, Constraint("stop", position=lambda q: q, coordinates=["angle.q"]))
    assert simulate(graph, 0.1, progress=False)["stop.multiplier"][-1] == pytest.approx(-3.0, rel=1e-9)


def test_a_position_with_a_foreign_flow_is_refused():
    graph, a, b, gap = Graph("gap"), J1("a"), J1("b"), J0("gap")
    for name, v in (("a", a), ("b", b)):
        graph.connect(v, I(f"mass {name}", 1.0)).connect(v, C(f"x {name}", stiffness=1.0))
    graph.connect(a, gap).connect(gap, b)
    graph.connect(gap, Constraint("weld", position=lambda x, y: y - x, signals=["x a.q", "x b.q"]))
    with pytest.raises(ModelError, match="E170"):
        compile_model(graph, backend="numpy")
    graph, v, w = Graph("crossed"), J1("v", dimension=2), J1("w", dimension=2)
    weight("here", v, graph, (1.0, 0.0))
    weight("there", w, graph, (1.0, 0.0))
    graph.connect(w, Constraint("rod", position=rod, coordinates={"here.q": 2}))
    with pytest.raises(ModelError, match="E170"):
        compile_model(graph, backend="numpy")


def test_coordinates_without_a_position_are_refused():
    with pytest.raises(ModelError, match="E110"):
        Constraint("rod", coordinates={"place.q": 2})


def test_start_functions_that_disagree_are_refused_and_one_may_refine_another():
    def started(second, arguments):
        graph, v = Graph("started"), J1("v")
        graph.connect(v, C("c", stiffness=1.0)).connect(v, I("m", 1.0))
        graph.start(lambda: (1.0,), [], ["c.q"]).start(second, arguments, ["c.q"])
        return compile_model(graph, backend="numpy")

    with pytest.raises(ModelError, match="E171") as refused:
        started(lambda: (2.0,), [])
    assert '"c.q"' in str(refused.value)
    assert started(lambda: (1.0,), []).initial()[0][0] == 1.0
    assert started(lambda q: (2.0 * q,), ["c.q"]).initial()[0][0] == 2.0
