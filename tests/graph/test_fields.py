"""The outputs of storage elements and multiport fields are the gradients of their energies."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from bondgraph import J0, J1, TF, C, Graph, I, ModelError, Op, R, Se, Sf, compile_model, multiport
from bondgraph.analysis import reciprocity
from screws.scalars import array, cos, exp, sqrt
from tests.inner.model import gradient


def test_duffing_from_its_energy() -> None:
    graph, v = Graph("duffing"), J1("v")
    graph.connect(v, C("spring", energy=lambda x: x**2 / 2 + x**4 / 4, initial=0.7)).connect(v, I("mass", 2.0))
    compiled = compile_model(graph)
    x, m = compiled.initial()
    rates = dict(
        zip([s.name for s in compiled.system.states], compiled.program.rates(0.0, x, compiled.parameters(), m), strict=True)
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
    graph.connect(v, C("c", energy=energy.function, parameters={"k": 1.7}, initial=[0.3, -0.8])).connect(v, I("m", [1.0, 2.0]))
    compiled = compile_model(graph)
    x, m = compiled.initial()
    assert compiled.evaluate()["c.effort"] == pytest.approx(floats, rel=1e-14)
    rates = compiled.program.rates(0.0, x, compiled.parameters(), m)
    assert -rates[compiled.program.layout["m.p"].start :][:2] == pytest.approx(floats, rel=1e-14)


def capacitor() -> Graph:
    """Return a moving-plate capacitor with the energy H = x^2 / (2 (C + y)), charged through a resistor."""
    field = multiport(
        "C",
        "capacitor",
        lambda x: x[0] ** 2 / (2.0 * (0.5 + x[1])),
        {"plate": "electrical", "gap": "translation"},
        initial=[0.4, 0.1],
    )
    graph, current, velocity = Graph("microphone"), J1("current"), J1("velocity")
    graph.connect(Se("supply", 2.0), current).connect(current, R("resistor", 3.0)).connect(current, field.port("plate"))
    graph.connect(velocity, field.port("gap")).connect(velocity, I("mass", 0.2)).connect(velocity, C("spring", stiffness=9.0))
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


# --- thermodynamic ports: U(S, V) of an ideal gas ---------------------------------------------------------------------

CV, R_GAS, GAMMA = 12.47, 8.314, 1.0 + 8.314 / 12.47  # J/(mol K), of a monatomic gas


def gas(name: str, amount: float, T: float, volume: float) -> Graph:
    """Return an ideal gas as a C-field with the states S - S0 and V0 - V, so that its efforts are temperature and pressure."""

    def energy(x, n, T0, V0):
        return n * CV * T0 * (V0 / (V0 - x[1])) ** (R_GAS / CV) * exp(x[0] / (n * CV))

    return multiport(
        "C",
        name,
        energy,
        {"heat": "thermal", "compression": "hydraulic"},
        initial=[0.0, 0.0],
        nominal=[amount * CV, volume],
        parameters={"n": amount, "T0": T, "V0": volume},
    )


def test_ideal_gas_efforts_are_temperature_and_pressure_and_reciprocal() -> None:
    cell = gas("gas", 2.0, 300.0, 0.05)
    graph = Graph("bottle").connect(Sf("insulation"), cell.port("heat")).connect(Sf("lid"), cell.port("compression"))
    compiled = compile_model(graph)
    x = np.array([5.0, 0.01])
    T, p = compiled.evaluate(x=x)[compiled.system.resolve("gas.storage.effort")]
    assert p == pytest.approx(2.0 * R_GAS * T / 0.04, rel=1e-14)
    assert pytest.approx(300.0 * (0.05 / 0.04) ** (GAMMA - 1.0) * np.exp(5.0 / (2.0 * CV)), rel=1e-14) == T
    (found,) = reciprocity(compiled, spread=0.1)  # Maxwell: dT/dV at constant S is -dp/dS at constant V
    assert found.ok


def test_piston_on_a_gas_swings_adiabatically() -> None:
    """With m x'' = (p0 - p) A, small oscillations have omega^2 = gamma p A^2 / (V m), and T V^(gamma - 1) is constant."""
    n, T, V, A, m = 2.0, 300.0, 0.05, 0.01, 3.0
    p0 = n * R_GAS * T / V
    cell, piston = gas("gas", n, T, V), J1("piston", domain="translation")
    area = TF("area", A, domains=("translation", "hydraulic"))
    graph = Graph("engine").connect(Sf("insulation"), cell.port("heat"))
    graph.connect(Se("atmosphere", p0 * A), piston).connect(piston, I("mass", m, initial=m * 1e-3))
    graph.connect(piston, area).connect(area, cell.port("compression"))
    omega = np.sqrt(GAMMA * p0 / (V * m)) * A
    compiled = compile_model(graph)
    swing = compiled.simulate(2.0 * np.pi / omega, rtol=1e-10)
    assert swing["piston.flow"][-1] == pytest.approx(1e-3, rel=1e-5)
    assert swing["mass.p"][-1] == pytest.approx(m * 1e-3, rel=1e-5)
    large = compiled.simulate(3.0, initial={"mass.p": 60.0}, rtol=1e-10)
    temperature, volume = large["gas.storage.effort"][:, 0], V - large["gas.storage.q"][:, 1]
    assert np.ptp(volume) > 0.3 * V
    assert temperature * volume ** (GAMMA - 1.0) == pytest.approx(T * V ** (GAMMA - 1.0), rel=1e-9)
    assert large.ledger.relative_residual < 1e-9


def test_two_gases_exchange_heat_and_make_entropy() -> None:
    """A wall passes the entropy flows G (T1 - T2) / T1 and G (T1 - T2) / T2."""
    graph, wall = Graph("wall"), J1("wall", dimension=2)
    graph.connect(wall, R("conduction", flow=_conduction, parameters={"G": 4.0}, dimension=2))
    for k, (amount, T) in enumerate(((2.0, 400.0), (1.0, 250.0))):
        cell, node = gas(f"gas {k}", amount, T, 0.05), J0(f"node {k}", domain="thermal")
        side = TF(f"side {k}", np.eye(2)[k], structural=True, domains=(None, "thermal"))
        graph.connect(node, cell.port("heat")).connect(node, side.port("2")).connect(side.port("1"), wall)
        graph.connect(Sf(f"lid {k}"), cell.port("compression"))
    compiled = compile_model(graph)
    result = compiled.simulate(60.0, rtol=1e-10)
    T = (2.0 * 400.0 + 250.0) / 3.0
    grown = 0.0
    for k, (amount, before) in enumerate(((2.0, 400.0), (1.0, 250.0))):
        assert result[f"gas {k}.storage.effort"][-1, 0] == pytest.approx(T, rel=1e-6)
        assert result[f"gas {k}.storage.q"][-1, 0] == pytest.approx(amount * CV * np.log(T / before), rel=1e-6)
        grown += result[f"gas {k}.storage.q"][-1, 0]
    assert grown > 0.1
    assert result.ledger.dissipated[-1] == pytest.approx(0.0, abs=1e-6)
    assert result.ledger.relative_residual < 1e-9


def _conduction(T, G):
    heat = G * (T[0] - T[1])
    return array([heat / T[0], -heat / T[1]])


@pytest.mark.parametrize("kind", ["C", "I"])
def test_a_field_of_a_single_port_is_a_storage(kind: str) -> None:
    """The energy takes x in the shape (1,), but on the bond x is a number."""
    field = multiport(kind, "one", lambda x, k: k * x[0] ** 2 / 2, {"p": None}, initial=[0.5], parameters={"k": 3.0})
    graph, node = Graph("lone"), (J0 if kind == "C" else J1)("n")
    graph.connect(node, field.port("p")).connect(node, R("r", 2.0))
    result = compile_model(graph).simulate(1.0, rtol=1e-9, progress=False)
    wanted = 0.5 * np.exp(-3.0 / 2.0 if kind == "C" else -6.0)
    assert result[f"one.storage.{'q' if kind == 'C' else 'p'}"][-1] == pytest.approx(wanted, rel=1e-7)


def test_a_field_of_another_kind_is_refused() -> None:
    with pytest.raises(ModelError, match=r"E110 .*kind cannot be 'X'"):
        multiport("X", "field", lambda x: x @ x, {"one": None}, initial=[0.0])
