"""Dissipators with several ports and one formula describe a transistor (Ebers and Moll 1954) and a four-edge spool valve."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.optimize import brentq

from bondgraph import J0, J1, C, Graph, I, ModelError, R, Se, Sf, compile_model, dump_model, multiport, parse_model
from bondgraph.export import port_hamiltonian
from screws.scalars import absolute, array, exp, maximum, sign, sin, sqrt

SILICON = {"Is": 1e-14, "forward": 100.0, "reverse": 2.0, "Vt": 0.025}


def ebers_moll(v, Is, forward, reverse, Vt):
    """Return the base and collector currents as functions of the voltages to the emitter."""
    from_emitter, from_collector = Is * (exp(v[0] / Vt) - 1.0), Is * (exp((v[0] - v[1]) / Vt) - 1.0)
    base = from_emitter / forward + from_collector / reverse
    return array([base, from_emitter - from_collector - from_collector / reverse])


def currents(base, collector):
    return np.array(ebers_moll((base, collector), **SILICON), dtype=float)


def transistor(name="q", **arguments):
    return multiport("R", name, ebers_moll, {"b": "electrical", "c": "electrical"}, parameters=SILICON, **arguments)


def amplifier(capacitance=None, away=False):
    graph, base, node, load, q = Graph("amplifier"), J1("base"), J0("node"), J1("load"), transistor(passive=True)
    graph.connect(Se("signal", lambda t: 1.0 + 0.5 * sin(100.0 * t), signals=["time"]), base).connect(base, R("rb", 1e4))
    graph.connect(base, q.port("b")).connect(Se("supply", 10.0), load).connect(load, R("rc", 1e3)).connect(load, node)
    graph.connect(q.port("c"), node) if away else graph.connect(node, q.port("c"))
    return graph if capacitance is None else graph.connect(node, C("c", capacitance=capacitance, initial=5.0 * capacitance))


def base_voltage(t, collector):
    source = 1.0 + 0.5 * np.sin(100.0 * t)
    return brentq(lambda v: (source - v) / 1e4 - currents(v, collector)[0], -1.0, 1.2, xtol=1e-15, rtol=1e-14)


@pytest.mark.parametrize("away", [False, True])
def test_a_transistor_and_a_capacitor(away):
    run = amplifier(1e-6, away).simulate(0.05, samples=1e-3)
    expected = solve_ivp(
        lambda t, v: [((10.0 - v[0]) / 1e3 - currents(base_voltage(t, v[0]), v[0])[1]) / 1e-6],
        (0.0, 0.05),
        [5.0],
        "LSODA",
        t_eval=run.t,
        rtol=1e-9,
        atol=1e-9,
    )
    assert run.ok and run.ledger.relative_residual < 1e-9
    np.testing.assert_allclose(run["q.c.effort"], expected.y[0], atol=1e-5)
    expected_currents = np.array([currents(b, c) for b, c in zip(run["q.b.effort"], run["q.c.effort"], strict=True)])
    np.testing.assert_allclose(run["q.b.flow"], expected_currents[:, 0], rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(run["q.c.flow"] * (-1.0 if away else 1.0), expected_currents[:, 1], rtol=1e-9, atol=1e-15)


def test_a_transistor_without_storages():
    run = amplifier().simulate(0.05, samples=1e-3)
    assert run.ok and run.ledger.relative_residual < 1e-9
    for k in range(0, len(run.t), 10):
        base, collector = run["q.b.effort"][k], run["q.c.effort"][k]
        assert base == pytest.approx(base_voltage(run.t[k], collector), rel=1e-9)
        assert (10.0 - collector) / 1e3 == pytest.approx(currents(base, collector)[1], rel=1e-9)
    np.testing.assert_allclose(
        run["q.power"], run["q.b.effort"] * run["q.b.flow"] + run["q.c.effort"] * run["q.c.flow"], rtol=1e-12
    )
    assert run.ledger.dissipated[-1] == pytest.approx(run.ledger.supplied[-1], rel=1e-12)
    assert run.ledger.dissipated[-1] > 0.0


def test_two_bases_at_a_node_that_only_they_determine():
    """Newton's method finds the voltage of a node with two bases, fed by 0.1 mA."""
    graph, node = Graph("pair"), J0("node")
    graph.connect(Sf("bias", 1e-4), node)
    for k, resistance in (("1", 1e3), ("2", 2e3)):
        load, q = J1(f"load{k}"), transistor(f"q{k}")
        graph.connect(node, q.port("b")).connect(Se(f"u{k}", 10.0), load).connect(load, R(f"r{k}", resistance))
        graph.connect(load, q.port("c"))
    run = graph.simulate(1.0, samples=1.0)
    shared = run["q1.b.effort"][0]
    total = 0.0
    for k, resistance in (("1", 1e3), ("2", 2e3)):
        collector = brentq(lambda v, r=resistance: (10.0 - v) / r - currents(shared, v)[1], 0.0, 10.0, xtol=1e-15)
        assert run[f"q{k}.c.effort"][0] == pytest.approx(collector, rel=1e-9)
        total += currents(shared, collector)[0]
    assert run.ok and total == pytest.approx(1e-4, rel=1e-9)
    assert run["q2.b.effort"][0] == pytest.approx(shared, rel=1e-12)


def orifice(p):
    return sign(p) * sqrt(absolute(p))


def four_edges(p, x, k):
    """Return flows into P, A, B and T of a spool valve, m3/s, at an opening x from -1 to 1."""
    right, left = maximum(x, 0.0) * k, maximum(-x, 0.0) * k
    p_a, b_t, p_b, a_t = (
        right * orifice(p[0] - p[1]),
        right * orifice(p[2] - p[3]),
        left * orifice(p[0] - p[2]),
        left * orifice(p[1] - p[3]),
    )
    return array([p_a + p_b, a_t - p_a, b_t - p_b, -b_t - a_t])


def servo(x, chambers=False, unit=1.0):
    """Return a spool valve at 200 bar that drives a hydraulic motor of 1 TPa s/m3 between A and B; pressures are in 1 / `unit`
    Pa."""
    numbers = {"x": x, "k": 1e-8 / np.sqrt(unit)}
    valve = multiport("R", "valve", four_edges, dict.fromkeys("PABT", "hydraulic"), parameters=numbers, passive=True)
    graph, a, b, line = Graph("servo"), J0("a"), J0("b"), J1("line")
    graph.connect(Se("supply", 2e7 * unit), valve.port("P")).connect(Se("tank", 0.0), valve.port("T"))
    graph.connect(a, valve.port("A")).connect(b, valve.port("B"))
    graph.connect(a, line).connect(line, b).connect(line, R("motor", 1e12 * unit))
    if chambers:
        graph.connect(a, C("ca", capacitance=1e-13 / unit)).connect(b, C("cb", capacitance=1e-13 / unit))
    return graph


@pytest.mark.parametrize("x", [1.0, 0.5, -1.0])
@pytest.mark.parametrize("chambers", [False, True])
@pytest.mark.parametrize("unit", [1.0, 1e-5])
@pytest.mark.filterwarnings("ignore::bondgraph.errors.RoundingWarning")
def test_a_spool_valve_of_four_edges(x, chambers, unit):
    """Two edges and the motor are in series: 2 (q / (k x))^2 + R q = p. Without chambers, only the valve determines the pressures
    at A and B."""
    run = servo(x, chambers, unit).simulate(3.0, samples=[0.0, 3.0])
    through = brentq(lambda q: 2.0 * (q / (abs(x) * 1e-8)) ** 2 + 1e12 * q - 2e7, 0.0, 1.0, xtol=1e-20)
    assert run.ok and run.ledger.relative_residual < 1e-9
    assert run["motor.flow"][-1] == pytest.approx(np.sign(x) * through, rel=1e-6)
    assert run["valve.power"][-1] == pytest.approx((2e7 * through - 1e12 * through**2) * unit, rel=1e-6)
    assert sum(run[f"valve.{port}.flow"][-1] for port in "PABT") == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("away", [False, True])
def test_efforts_by_flows_and_one_formula_with_its_own_domains(away):
    """A lossy gearbox, given by efforts or by flows, matches its matrix exponential."""
    matrix = np.array([[2.0, -0.5], [-0.5, 1.0]])

    def braked(field):
        graph = Graph("braked")
        for port, domain in (("1", "rotation"), ("2", "translation")):
            v = J1(f"v{port}", domain=domain)
            graph.connect(v, I(f"mass{port}", 1.0, initial=float(port)))
            graph.connect(field.port(port), v) if away else graph.connect(v, field.port(port))
        return graph.simulate(2.0, samples=0.25)

    domains = {"1": "rotation", "2": "translation"}
    by_flows = braked(multiport("R", "field", lambda f, a: a * (matrix @ f), domains, gives="effort", parameters={"a": 3.0}))
    by_efforts = braked(multiport("R", "field", lambda e: np.linalg.inv(3.0 * matrix) @ e, domains, passive=True))
    expected = np.array([expm(-3.0 * matrix * t) @ [1.0, 2.0] for t in by_flows.t])
    for run in (by_flows, by_efforts):
        assert run.ok and run.ledger.relative_residual < 1e-9
        np.testing.assert_allclose(np.stack([run["mass1.p"], run["mass2.p"]], axis=1), expected, atol=1e-6)


def test_a_field_is_saved_read_and_has_no_place_in_other_forms():
    graph = servo(0.5)
    read = compile_model(parse_model(dump_model(graph))).simulate(1.0, samples=1.0)
    np.testing.assert_array_equal(read["motor.flow"], graph.simulate(1.0, samples=1.0)["motor.flow"])
    changed = graph.compile().simulate(1.0, samples=1.0, parameters={"valve.x": -0.5})
    np.testing.assert_allclose(changed["motor.flow"], -read["motor.flow"], rtol=1e-9)
    with pytest.raises(ModelError, match="E277"):
        port_hamiltonian(servo(0.5, chambers=True))


def test_a_field_that_gives_power_is_not_passive():
    field = multiport("R", "field", lambda e: array([e[0], -2.0 * e[1]]), {"1": None, "2": None}, passive=True)
    graph = Graph("active")
    for port in "12":
        graph.connect(Se(f"u{port}", 1.0), field.port(port))
    with pytest.raises(ModelError, match=r"E153 [\s\S]*at the efforts \[.*\] of 1, 2 its power is -"):
        graph.compile()


@pytest.mark.parametrize(
    ("kind", "arguments", "says"),
    [
        ("R", {"initial": [0.0]}, 'of kind "R" has initial'),
        ("R", {"gives": "power"}, "gives cannot be 'power'"),
        ("C", {"initial": [0.0], "passive": True}, 'of kind "C" has passive'),
        ("I", {"initial": [0.0], "gives": "effort"}, 'of kind "I" has gives'),
        ("C", {}, 'of kind "C" lacks its start value'),
    ],
)
def test_arguments_of_another_kind_are_refused(kind, arguments, says):
    with pytest.raises(ModelError, match=f"E110 .*{says}"):
        multiport(kind, "field", lambda x: x @ x, {"1": None}, **arguments)
