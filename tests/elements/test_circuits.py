"""Scalar elements agree with closed forms, in both causalities and with arrows both ways."""

from __future__ import annotations

import pytest

from bondgraph import GY, J0, J1, TF, C, Graph, I, Parameter, R, Se, Sf
from tests.elements.small_models import compiled, rates, star, value


@pytest.mark.parametrize("reverse", [False, True])
def test_capacitor_discharges_through_a_resistor(reverse: bool) -> None:
    model = compiled(star(J1("loop"), C("c", capacitance=0.5, initial=3.0), R("r", 2.0), reverse=reverse))
    assert rates(model)["c.q"] == pytest.approx(-3.0 / (2.0 * 0.5))
    assert value(model, "c.energy") == pytest.approx(9.0)
    assert value(model, "r.power") == pytest.approx(6.0**2 / 2.0)
    assert value(model, "c.power") == pytest.approx(-18.0)


@pytest.mark.parametrize("reverse", [False, True])
def test_resonant_circuit_in_series_and_in_parallel(reverse: bool) -> None:
    parts = lambda: (C("c", capacitance=0.5, initial=3.0), I("l", 4.0, initial=2.0), R("r", 5.0))  # noqa: E731
    series = rates(compiled(star(J1("series"), Se("u", 7.0), *parts(), reverse=reverse)))
    parallel = rates(compiled(star(J0("node"), Sf("i", 7.0), *parts(), reverse=reverse)))
    if not reverse:
        assert series == {"c.q": pytest.approx(0.5), "l.p": pytest.approx(7.0 - 6.0 - 2.5)}
        assert parallel == {"c.q": pytest.approx(7.0 - 0.5 - 6.0 / 5.0), "l.p": pytest.approx(6.0)}
    else:  # a storage element's output has the sign of the bond, its input is counted inwards
        assert series == {"c.q": pytest.approx(-0.5), "l.p": pytest.approx(-7.0 + 6.0 - 2.5)}
        assert parallel == {"c.q": pytest.approx(-7.0 + 0.5 - 6.0 / 5.0), "l.p": pytest.approx(-6.0)}


@pytest.mark.parametrize("kind", ["resistance", "conductance"])
@pytest.mark.parametrize("junction", [J0, J1])
def test_a_resistor_works_in_both_causalities(kind: str, junction) -> None:
    r = R("r", **{kind: 4.0})
    storage = C("s", capacitance=0.5, initial=3.0) if junction is J0 else I("s", 0.5, initial=3.0)
    ratio = 4.0 if (kind == "resistance") == (junction is J1) else 0.25
    (rate,) = rates(compiled(star(junction("j"), storage, r))).values()
    assert rate == pytest.approx(-6.0 * ratio)


def test_a_user_s_relations_and_energies() -> None:
    spring = C("s", output=lambda q, k: k * q**3, energy=lambda q, k: k * q**4 / 4, parameters={"k": 2.0}, initial=0.5)
    mass = I("m", output=lambda p: p / 3, energy=lambda p: p * p / 6, initial=6.0)
    drag = R("d", effort=lambda f, c: c * f * f * f, parameters={"c": Parameter(0.1, "kg s/m^2")})
    leak = R("g", flow=lambda e, g: g * e, parameters={"g": 0.3})
    graph = star(J1("v"), mass, drag)
    graph.connect(graph.parts["v"], node := J0("node"))
    graph.connect(node, spring).connect(node, leak)
    model = compiled(graph)
    force = 2.0 * 0.5**3
    found = rates(model)
    assert found["m.p"] == pytest.approx(-0.1 * 8.0 - force)
    assert found["s.q"] == pytest.approx(2.0 - 0.3 * force)
    assert value(model, "s.energy") == pytest.approx(2.0 * 0.5**4 / 4)
    assert value(model, "m.energy") == pytest.approx(6.0)
    assert rates(model, parameters={"s.k": 4.0})["m.p"] == pytest.approx(-0.8 - 2 * force)


def test_dc_motor() -> None:
    graph = Graph("motor")
    coil, shaft = J1("coil", domain="electrical"), J1("shaft", domain="rotation")
    motor = GY("K", 0.2, domains=("electrical", "rotation"))
    graph.connect(Se("U", 5.0), coil).connect(coil, R("winding", 4.0)).connect(coil, I("L", 0.5, initial=0.3))
    graph.connect(coil, motor.port("1")).connect(motor.port("2"), shaft)
    graph.connect(shaft, I("J", 0.1, initial=0.7)).connect(shaft, R("b", 0.05))
    model = compiled(graph)
    current, speed = 0.3 / 0.5, 0.7 / 0.1
    assert rates(model)["L.p"] == pytest.approx(5.0 - 4.0 * current - 0.2 * speed)
    assert rates(model)["J.p"] == pytest.approx(0.2 * current - 0.05 * speed)
    assert {b.domain.name for b in model.model.bonds} == {"electrical", "rotation"}
    assert model.program.layout.unit("U.flow") == "A"


@pytest.mark.parametrize("first", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_chain_of_transformers_in_both_causalities_and_all_arrows(first: tuple[int, int]) -> None:
    """With v2 = 2 v1 and v3 = 3 v2, the flow at the end is 6 times the flow at the start, with a sign that depends on the
    arrows."""
    for spring_at_end in (False, True):
        graph = Graph("chain")
        a, b = TF("a", 2.0), TF("b", 3.0)
        j1, j2, j3 = J1("1"), J1("2"), J1("3")
        for one, two, flip in (
            (j1, a.port("1"), first[0]),
            (a.port("2"), j2, first[1]),
            (j2, b.port("1"), 0),
            (b.port("2"), j3, first[0]),
        ):
            graph.connect(two, one) if flip else graph.connect(one, two)
        # A reversed arrow at one port of a transformer reverses the flow beyond it.
        sign = (-1) ** (first[0] + first[1] + first[0])
        graph.connect(j3 if spring_at_end else j1, C("k", stiffness=10.0, initial=0.5))
        graph.connect(j1 if spring_at_end else j3, I("m", 4.0, initial=8.0))
        found = rates(compiled(graph))
        ratio = 6.0 if spring_at_end else 1 / 6.0
        assert found["k.q"] == pytest.approx(sign * ratio * 2.0)
        assert found["m.p"] == pytest.approx(-sign * ratio * 5.0)


@pytest.mark.parametrize("arrows", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("effort_in", [False, True])
def test_gyrator_in_both_causalities_and_all_arrows(arrows: tuple[int, int], effort_in: bool) -> None:
    graph, gyrator = Graph("g"), GY("g", 2.0)
    left, right = (J0, J0) if effort_in else (J1, J1)
    j1, j2 = left("left"), right("right")
    graph.connect(gyrator.port("1"), j1) if arrows[0] else graph.connect(j1, gyrator.port("1"))
    graph.connect(j2, gyrator.port("2")) if arrows[1] else graph.connect(gyrator.port("2"), j2)
    kind, name, one = (C, "q", {"capacitance": 1.0}) if effort_in else (I, "p", {"inertia": 1.0})
    graph.connect(j1, kind("s", **one, initial=3.0)).connect(j2, kind("t", **one, initial=5.0))
    sign = 1 if effort_in else (-1) ** sum(arrows)  # an arrow reverses the flow, never the effort
    found, ratio = rates(compiled(graph)), 0.5 if effort_in else 2.0
    assert found[f"s.{name}"] == pytest.approx(-sign * ratio * 5.0)
    assert found[f"t.{name}"] == pytest.approx(sign * ratio * 3.0)


def test_two_elements_without_a_junction() -> None:
    (rate,) = rates(compiled(Graph("pair").connect(C("c", capacitance=2.0, initial=3.0), R("r", 4.0)))).values()
    assert rate == pytest.approx(-1.5 / 4.0)


def test_a_graph_without_states() -> None:
    model = compiled(star(J1("j"), Se("u", 3.0), R("r", 2.0)))
    assert value(model, "r.flow") == pytest.approx(1.5)
    assert len(model.initial()[0]) == 0
