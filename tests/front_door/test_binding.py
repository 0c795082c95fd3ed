"""Formulas take parameters and signals by name, in any position, in every element that takes a formula."""

import numpy as np
import pytest

from bondgraph import GY, IC, J1, MTF, C, Constraint, Graph, I, ModelError, R, Se, multiport, signals
from tests.inner.elements import bound


def mass(*parts, **start):
    junction, graph = J1("j", domain="translation"), Graph("g")
    for part in parts:
        graph.connect(junction, part)
    return graph.connect(junction, I("m", mass=2.0, **start))


def test_parameters_and_signals_in_any_position():
    """p' = -c t^k p / m, so p(1) = p(0) exp(-c / (m (k + 1)))."""
    given = {"c": 3.0, "k": 2.0}
    for formula, read in (
        (lambda f, time, k, c: c * time**k * f, "time"),
        (lambda f, k, c, t: c * t**k * f, {"t": "time"}),
        (lambda f, *, c, t, k: c * t**k * f, {"t": "time"}),
        (lambda f, c, k, t: c * t**k * f, ["time"]),
        (lambda f, a, b, t: a * t**b * f, ["time"]),  # no argument has this name: bound by order, as before
    ):
        run = mass(R("r", effort=formula, parameters=given, signals=read), initial=5.0).simulate(1.0)
        assert run["m.p"][-1] == pytest.approx(5.0 * np.exp(-0.5), rel=1e-5)


def test_formulas_take_only_needed_arguments():
    law = {"energy": lambda q, k, offset: k * q**4 / 4 + offset, "output": lambda q, k: k * q**3}
    graph = mass(C("stop", **law, parameters={"offset": 7.0, "k": 8.0}, initial=0.5))
    run = graph.simulate(1.0)
    assert run["stop.effort"][0] == pytest.approx(1.0)
    assert run["stop.energy"] + run["m.energy"] == pytest.approx(7.0 + 8.0 * 0.5**4 / 4, rel=1e-6)


def test_every_element_passes_arguments_by_name():
    """The parameters 2 and 3 and the signal 5 reveal the order in which each formula gets them."""
    named = {"parameters": {"a": 2.0, "b": 3.0}, "signals": {"s": "five.y"}}
    arm = IC("arm", inertia=lambda q, b, a: 1.0 + 0 * q + b - a, potential=lambda q, s, b: (s + 10 * b) * q, **named)
    lever = MTF("lever", lambda s, b, a: a + 10 * b + 100 * s, dimensions=(1, 1), **named)
    push, pad = Se("push", lambda b, a: b - a, parameters={"a": 2.0, "b": 3.0}), Se("pad", lambda s, a: s - a, **named)
    graph = Graph("all").connect(push, arm).connect(pad, lever).connect(lever, R("r", damping=1.0))
    graph.add(signals.gain("five", "time", 0.0), signals.sampled("held", lambda y, s, b, a: s + a / b, period=1.0, **named))
    graph = graph.replace("five", signals.step("five", start=-1.0, after=5.0))
    run = graph.simulate(0.5)
    assert run["lever.2.effort"][-1] == pytest.approx(3.0 / 532.0) and run["held.y"][-1] == pytest.approx(5.0 + 2.0 / 3.0)
    assert run["arm.v"][-1] == pytest.approx((1.0 - 35.0) / 2.0 * 0.5)
    tied = Constraint("tied", position=lambda q, b, a: q + a - b, coordinates=["spring.q"], parameters={"a": 3.0, "b": 3.1})
    assert tied.law.position(2.0, 3.0, 5.0) == pytest.approx(4.0)  # (a, b, q): q + a - b
    field = multiport(
        "C",
        "field",
        lambda x, b, a: a * x[0] ** 2 + b * x[1] ** 2,
        {"1": None, "2": None},
        initial=[1.0, 1.0],
        parameters={"a": 2.0, "b": 3.0},
    )
    ends = [J1("one"), J1("two")]
    both = Graph("both").connect(ends[0], field.port("1")).connect(ends[1], field.port("2"))
    for k, end in enumerate(ends):
        both.connect(end, I(f"m{k}", 1.0)).connect(end, GY(f"g{k}", 1.0)).connect(both[f"g{k}"], R(f"r{k}", 1.0))
    assert both.simulate(0.1)["field.storage.effort"][0] == pytest.approx([4.0, 6.0])


def test_a_value_that_a_loop_captured_stays_its_default():
    formulas = [bound("r", lambda f, k=k: k * f, 1, {}, ["time"]) for k in (1.0, 2.0)]
    assert [formula(3.0) for formula in formulas] == [3.0, 6.0]
    assert bound("r", lambda f, c, k=4.0: k * c * f, 1, {"c": 0.0})(3.0, 2.0) == 24.0


@pytest.mark.parametrize("formula", [lambda f, k, t, more, c: f, lambda f, c, s, t, u: f])
def test_arguments_that_do_not_fit_are_refused(formula):
    with pytest.raises(ModelError, match=r'E567 the arguments \(f, .*\) of a formula of "r"') as caught:
        R("r", effort=formula, parameters={"c": 2.0, "k": 3.0}, signals="time")
    assert caught.value.problems[0].places[0].file == __file__
