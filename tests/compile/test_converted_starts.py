"""A run whose start values are flows or efforts starts with the corresponding states."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import IC, J0, J1, TF, C, Friction, Graph, I, ModelError, Parameter, R, Se, Sf
from tests.checks.small_graphs import loop


@pytest.fixture(scope="module")
def oscillator():
    graph, v = Graph("oscillator"), J1("v", domain="translation")
    graph.connect(Se("push", 1.0), v).connect(v, I("mass", mass=2.0)).connect(v, C("spring", stiffness=50.0))
    return graph.connect(v, R("damper", damping=5.0)).compile()


@pytest.mark.parametrize("name", ["v.flow", "mass.flow", "spring.flow", "damper.flow", "v -> mass:flow"])
def test_every_name_of_the_flow_of_an_i_starts_it(oscillator, name):
    x, _ = oscillator.initial({name: 3.0})
    assert x.tolist() == oscillator.initial({"mass.p": 6.0})[0].tolist()
    run = oscillator.simulate(0.1, initial={name: 3.0, "spring.effort": 20.0}, progress=False)
    assert run.ok and run[name][0] == 3.0 and run["spring.q"][0] == 0.4


def test_parameters_of_the_run_convert_start_values(oscillator):
    x, _ = oscillator.initial({"v.flow": 3.0}, {"mass.mass": 5.0})
    assert x.tolist() == oscillator.initial({"mass.p": 15.0})[0].tolist()


def test_start_values_hold_at_the_time_of_the_start():
    supply = Se("supply", lambda t: 1.0 + t, signals="time")
    in_series, alone = (loop(supply, C("c", capacitance=1.0), *more).compile() for more in ([R("r", 1.0)], []))
    run = in_series.simulate(3.0, t_start=2.0, initial={"r.effort": 0.5}, progress=False)
    assert run["r.effort"][0] == pytest.approx(0.5) and run["c.q"][0] == pytest.approx(-3.5)
    _, x, _ = in_series.prepare_run(3.0, t_start=2.0).start_values_many({}, {"r.effort": [0.5]})
    assert in_series.linearise(t=2.0, initial={"r.effort": 0.5}).point.x == x[0] == pytest.approx(-3.5)
    assert alone.simulate(3.0, t_start=2.0, initial={"c.q": -3.0}, progress=False).ok
    assert alone.consistent({"c.q": -3.0}, t_start=2.0) == {"c.q": -3.0}
    rubbing = loop(Sf("belt", lambda t: 1.0 - t, signals="time"), Friction("rub", 2.0)).compile()
    run = rubbing.simulate(3.0, t_start=2.0, progress=False)
    assert not run.events and np.all(run["rub.effort"] == -2.0)


def test_a_start_does_not_depend_on_the_units_of_parameters():
    graph, v = Graph("oscillator"), J1("v", domain="translation")
    graph.connect(v, I("mass", mass=Parameter(2000.0, "g"))).connect(v, C("spring", stiffness=Parameter(0.05, "N/mm")))
    compiled = graph.connect(v, R("damper", damping=5.0)).compile()
    for given in (
        {"v.flow": 3.0, "spring.effort": 20.0},
        {"v.flow": Parameter(10.8, "km/h"), "spring.effort": Parameter(2e-2, "kN")},
    ):
        run = compiled.simulate(0.1, initial=given, progress=False)
        assert [run[name][0] for name in ("v.flow", "mass.p", "spring.q")] == pytest.approx([3.0, 6.0, 0.4], rel=1e-14)
    x, _ = compiled.initial({"v.flow": 3.0}, {"mass.mass": 5000.0})
    assert x.tolist() == compiled.initial({"mass.p": 15.0})[0].tolist()
    for wrong in ({"v.flow": Parameter(1.0, "N")}, {"spring.effort": Parameter(1.0, "m/s")}):
        with pytest.raises(ModelError, match="E175"):
            compiled.initial(wrong)


def test_a_matrix_converts_start_values():
    mass = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 3.0]])
    compiled = loop(I("m", mass=mass, dimension=3), C("c", stiffness=np.array([1.0, 2.0, 4.0]), dimension=3)).compile()
    given = {"loop.flow": [1.0, -2.0, 0.5], "c.effort": [1.0, 1.0, 1.0]}
    x, _ = compiled.initial(given)
    assert compiled.simulate(0.01, initial=given, progress=False)["m.flow"][0] == pytest.approx([1.0, -2.0, 0.5], rel=1e-15)
    np.testing.assert_allclose(sorted(x), sorted([*(mass @ [1.0, -2.0, 0.5]), 1.0, 0.5, 0.25]), rtol=1e-15)


LAWS = {
    "a cube, by its inverse": (lambda **law: C("c", energy=lambda q: q**4 / 4, inverse=lambda e: e ** (1.0 / 3.0)), 8.0, 2.0),
    "a cube": (lambda **law: C("c", energy=lambda q: q**4 / 4), 8.0, 2.0),
    "a quartic": (lambda **law: C("c", energy=lambda q: (2.0 + q * q) ** 2), 48.0, 2.0),
    "one of picocoulombs": (lambda **law: C("c", energy=lambda q: q**4 / 4e-48), 8e12, 2e-12),
    "a negative one": (lambda **law: C("c", energy=lambda q: q * q / 2 + q**4 / 4), -10.0, -2.0),
}


@pytest.mark.parametrize("law", LAWS)
def test_a_curved_law_is_inverted(law):
    make, effort, q = LAWS[law]
    x, _ = loop(make(), R("r", 1.0)).compile().initial({"c.effort": effort})
    assert x == pytest.approx([q], rel=1e-12)


def test_a_law_that_reads_signals_takes_those_of_the_start():
    spring = C("c", energy=lambda q, s: (1.0 + s) * q * q / 2, signals=["other.q"])
    graph = loop(spring, I("m", 1.0))
    graph.connect(node := J0("n"), C("other", capacitance=1.0)).connect(node, R("r", 1.0))
    x, _ = graph.compile().initial({"c.effort": 8.0, "other.effort": 3.0, "m.flow": 1.0})
    assert sorted(x) == pytest.approx([1.0, 2.0, 3.0])


def test_the_velocity_of_an_ic_in_momenta():
    arm = IC("arm", inertia=lambda q: 2.0 + q * q, form="hamiltonian", position=1.0)
    compiled = loop(Se("u", 0.0), arm, R("r", 1.0)).compile()
    run = compiled.simulate(0.1, initial={"loop.flow": 2.0}, progress=False)
    assert run["arm.v"][0] == pytest.approx(2.0) and run["arm.p"][0] == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("initial", "code"),
    [
        ({"push.effort": 1.0}, "E122"),
        ({"v.flow": 1.0, "mass.p": 1.0}, "E124"),
        ({"v.flow": [1.0, 2.0]}, "E124"),
        ({"v.flow": float("nan")}, "E124"),
    ],
)
def test_unreachable_start_values_are_refused(oscillator, initial, code):
    with pytest.raises(ModelError, match=code):
        oscillator.initial(initial)


def test_a_value_that_the_law_never_has_is_refused():
    compiled = loop(C("c", energy=lambda q: q * q / 2 - q**3 / 3), R("r", 1.0)).compile()
    with pytest.raises(ModelError, match=r'(?s)E124 no q of "c" was found that gives c.effort = 3\.0.*"c\.q" itself'):
        compiled.initial({"c.effort": 3.0})  # q - q^2 is at most 1/4
    assert compiled.initial({"c.effort": 0.1})[0][0] == pytest.approx((1.0 - np.sqrt(0.6)) / 2.0)


def test_an_effort_or_flow_that_one_state_decides_starts_it():
    graph, v, w, slip = Graph("lever"), J1("v"), J1("w"), J0("slip")
    graph.connect(v, I("m", 2.0)).connect(v, lever := TF("t", 2.0)).connect(lever, wheel := J1("wheel"))
    graph.connect(wheel, I("rim", 0.5)).connect(wheel, R("r", 3.0))
    graph.connect(v, slip).connect(slip, w).connect(slip, R("clutch", 1.0)).connect(w, I("shaft", 1.0))
    compiled = graph.compile()
    by_momentum = compiled.initial({"m.p": 1.0})[0].tolist()
    for initial in ({"wheel.flow": 1.0}, {"rim.flow": 1.0}, {"r.effort": 3.0}, {"v.flow": 0.5}):
        np.testing.assert_allclose(compiled.initial(initial)[0], by_momentum, rtol=1e-15)
    with pytest.raises(
        ModelError, match=r'E122 "clutch\.flow" is neither a state nor an automaton, nor an effort or flow that one'
    ):
        compiled.initial({"clutch.flow": 1.0})
