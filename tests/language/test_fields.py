"""Storages from an energy alone, and multiport fields: outputs are gradients for every kind of scalar."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from bondgraph import J1, C, Graph, I, Op, R, Se, compile_model, multiport
from bondgraph.graph.gradient import gradient
from screws.scalars import cos, sqrt


def test_duffing_from_its_energy() -> None:
    graph, v = Graph("duffing"), J1("v")
    graph.connect(v, C("spring", energy=lambda x: x**2 / 2 + x**4 / 4, initial=0.7)).connect(v, I("mass", 2.0))
    compiled = compile_model(graph)
    x, m = compiled.initial()
    rates = dict(
        zip(
            [s.name for s in compiled.system.states],
            compiled.program.rates(0.0, x, compiled.parameters(), m),
            strict=True,
        )
    )
    assert rates["mass.p"] == pytest.approx(-(0.7 + 0.7**3), rel=1e-15)
    assert compiled.simulate(20.0, rtol=1e-9).ledger.relative_residual < 1e-9


def test_gradient_of_floats_symbols_and_the_tape_agree() -> None:
    energy = Op("H", lambda x, k: k * x[0] ** 2 / (2.0 + cos(x[1])) + sqrt(1.0 + x[1] ** 2))
    slope = gradient(energy)
    floats = slope(np.array([0.3, -0.8]), 1.7)
    a, b, k = sympy.symbols("a b k", real=True)
    symbolic = slope(np.array([a, b], dtype=object), k)
    values = {a: 0.3, b: -0.8, k: 1.7}
    assert [float(s.subs(values)) for s in symbolic] == pytest.approx(list(floats), rel=1e-14)
    graph, v = Graph("two"), J1("v", dimension=2)
    graph.connect(v, C("c", energy=energy.function, parameters={"k": 1.7}, initial=[0.3, -0.8])).connect(
        v, I("m", [1.0, 2.0])
    )
    compiled = compile_model(graph)
    x, m = compiled.initial()
    assert compiled.evaluate()["c.effort"] == pytest.approx(floats, rel=1e-14)
    rates = compiled.program.rates(0.0, x, compiled.parameters(), m)
    assert -rates[compiled.program.layout["m.p"].start :][:2] == pytest.approx(floats, rel=1e-14)


def capacitor() -> Graph:
    """Moving-plate capacitor: H = x^2 / 2 (C + y), charged through a resistor, its plate on a mass and a spring."""
    field = multiport(
        "C", "capacitor", lambda x: x[0] ** 2 / (2.0 * (0.5 + x[1])), {"plate": "electrical", "gap": "translation"},
        initial=[0.4, 0.1],
    )  # fmt: skip
    graph, current, velocity = Graph("microphone"), J1("current"), J1("velocity")
    graph.connect(Se("supply", 2.0), current).connect(current, R("resistor", 3.0)).connect(current, field.port("plate"))
    graph.connect(velocity, field.port("gap")).connect(velocity, I("mass", 0.2)).connect(
        velocity, C("spring", stiffness=9.0)
    )
    return graph


def test_moving_plate_capacitor_efforts_and_reciprocity() -> None:
    compiled = compile_model(capacitor())
    values = compiled.evaluate()
    q, y, c = 0.4, 0.1, 0.5
    e = values[compiled.system.resolve("capacitor.storage.effort")]
    assert e == pytest.approx([q / (c + y), -(q**2) / (2.0 * (c + y) ** 2)], rel=1e-15)
    x, _ = compiled.initial()
    start = compiled.program.layout["capacitor.storage.q"].start
    slope = np.zeros((2, 2))
    for k in range(2):
        for sign in (1.0, -1.0):
            moved = x.copy()
            moved[start + k] += sign * 1e-6
            at = compiled.evaluate(x=moved)[compiled.system.resolve("capacitor.storage.effort")]
            slope[:, k] += sign * np.asarray(at) / 2e-6
    assert slope[0, 1] == pytest.approx(slope[1, 0], rel=1e-8)  # Maxwell reciprocity
    assert slope[0, 1] != 0.0
    assert compiled.simulate(5.0, rtol=1e-9).ledger.relative_residual < 1e-9


def test_an_inertia_field_couples_its_ports() -> None:
    """Two coils on one core: flows are the gradient of the energy, and each port has its own resistor."""
    L = np.array([[2.0, 0.6], [0.6, 1.0]])
    inverse = np.linalg.inv(L)

    def energy(p):
        return (p[0] * p[0] * inverse[0, 0] + 2.0 * p[0] * p[1] * inverse[0, 1] + p[1] * p[1] * inverse[1, 1]) / 2.0

    field = multiport("I", "coils", energy, {"first": "electrical", "second": "electrical"}, initial=[0.0, 0.0])
    graph, one, two = Graph("transformer"), J1("one"), J1("two")
    graph.connect(Se("supply", 1.0), one).connect(one, R("r1", 0.5)).connect(one, field.port("first"))
    graph.connect(two, field.port("second")).connect(two, R("r2", 0.8))
    compiled = compile_model(graph)
    x, m = compiled.initial({"coils.storage.p": [0.3, -0.2]})
    i = inverse @ [0.3, -0.2]
    rates = compiled.program.rates(0.0, x, compiled.parameters(), m)
    assert rates == pytest.approx([1.0 - 0.5 * i[0], -0.8 * i[1]], rel=1e-14)
