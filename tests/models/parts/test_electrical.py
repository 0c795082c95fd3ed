"""Electrical parts agree with closed forms and equivalent circuits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from screwbond.models import parts

from bondgraph import J0, J1, Block, Graph, I, R, Se, Sf, compile_model, signals
from screws.scalars import sin
from tests.models.parts.checks import checks, final

e = parts.electrical


def fed(voltage: float, resistance: float, part) -> Graph:
    graph, node = Graph("fed"), J0("node")
    return graph.between(None, node, Se("u", voltage), R("r", resistance)).between(node, None, part)


def voltage_of(current, voltage: float, resistance: float, below: float = -60.0, above: float = 60.0) -> float:
    return brentq(lambda v: current(v) - (voltage - v) / resistance, below, above, xtol=1e-14)


@checks("electrical.diode")
@pytest.mark.parametrize("voltage", [5.0, 0.3, -20.0])
def test_diode(voltage) -> None:
    def current(v):
        x = v / 0.04
        return 1e-6 * (np.exp(min(x, 15.0)) * (1 + max(x - 15.0, 0.0)) - 1) + v / 1e8

    assert final(fed(voltage, 100.0, e.diode("d")), "node.effort") == pytest.approx([voltage_of(current, voltage, 100.0)])


@checks("electrical.zener")
def test_zener_clamps_in_reverse() -> None:
    """At 0.7 A the voltage is Bv = 5.1 V; at a current i the voltage is higher by 0.74 x 0.04 ln(i / 0.7)."""
    (v,) = final(fed(-12.0, 10.0, e.zener("z")), "node.effort")
    current = (12.0 + v) / 10.0
    assert v == pytest.approx(-5.1 - 0.74 * 0.04 * np.log(current / 0.7), rel=1e-6)


@checks("electrical.varistor")
def test_varistor() -> None:
    assert final(Graph("g").between(n := J0("n"), None, e.varistor("v")).connect(Se("u", -110.0), n), "v.flow") == pytest.approx(
        [-1e-3 * 1.1**30]
    )


@checks("electrical.arc")
def test_arc_burns_at_its_voltage() -> None:
    assert final(fed(100.0, 8.0, e.arc("a", R=2.0)), "node.effort") == pytest.approx([36.0], rel=1e-6)


@checks("electrical.photovoltaic_cell")
def test_photovoltaic_cell() -> None:
    shorted = Graph("g").between(n := J0("n"), None, e.photovoltaic_cell("pv", G=500.0)).connect(Se("u", 0.0), n)
    assert final(shorted, "pv.flow") == pytest.approx([-1.5])
    lit = fed(0.0, 1e3, e.photovoltaic_cell("pv", Rp=1e3))
    assert final(lit, "node.effort") == pytest.approx(
        [voltage_of(lambda v: 1e-9 * np.expm1(v / 0.03) + v / 1e3 - 3.0, 0.0, 1e3, 0, 1)]
    )


@checks("electrical.junction_capacitance")
@pytest.mark.parametrize("voltage", [-10.0, 0.3, 1.0])
def test_junction_capacitance(voltage) -> None:
    (q,) = final(fed(voltage, 1.0, e.junction_capacitance("c", C0=1.0)), "c.q", t_end=200.0)
    v = np.linspace(0.0, voltage, 200_001)
    assert q == pytest.approx(np.trapezoid(1 / np.sqrt(1 - np.minimum(v, 0.35) / 0.7), v), rel=1e-6)


@checks("electrical.saturating_inductor")
def test_saturating_inductor() -> None:
    """At a constant voltage the flux is v t."""
    coil = e.saturating_inductor("L", L0=2.0, Linf=0.25, Is=0.5)
    (i,) = final(Graph("g").between(n := J0("n"), None, coil).connect(Se("u", -3.0), n), "L.flow", t_end=2.0)
    assert 0.25 * i + 1.75 * 0.5 * np.arctan(i / 0.5) == pytest.approx(-6.0, rel=1e-9)


def load_current(part, load: float, frequency: float = 50.0) -> complex:
    """Return the complex amplitude of the load current at the second port, with 1 V sin(w t) at the first."""
    graph, w = Graph("g"), 2 * np.pi * frequency
    graph.connect(Se("u", lambda t: sin(w * t), signals="time"), part.port("1")).connect(part.port("2"), R("load", load))
    return phasor(graph, "load.flow", w)


def phasor(graph: Graph, signal: str, w: float) -> complex:
    """Return the complex amplitude of a signal in the last two periods of a run of 2 s; sin(w t) gives 1."""
    t = 2.0 - 4 * np.pi / w + np.linspace(0.0, 4 * np.pi / w, 401)
    run = compile_model(graph, progress=False).simulate(2.0, samples=t, rtol=1e-9, progress=False)
    assert run.ok
    course = run[signal][-401:]
    return complex(np.trapezoid(course * np.exp(-1j * (w * t - np.pi / 2)), t) * w / (2 * np.pi))


@checks("electrical.ideal_transformer")
def test_ideal_transformer() -> None:
    graph = Graph("g").connect(Se("u", 10.0), (part := e.ideal_transformer("t", 5.0)).port("1"))
    assert final(graph.connect(part.port("2"), R("r", 4.0)), "r.effort", "u.flow") == pytest.approx([2.0, 0.1])


@checks("electrical.transformer")
def test_transformer_is_its_equivalent_circuit() -> None:
    part = e.transformer("t", 2.0, R1=1.0, L1=5e-3, R2=0.5, L2=1e-3, Lm=0.02)
    s, load = 2j * np.pi * 50, 10.0
    second = 0.5 + s * 1e-3 + load
    field = s * 0.02 * second / (s * 0.02 + second)
    voltage = 4 * field / (1.0 + s * 5e-3 + 4 * field) / 2.0
    assert load_current(part, load) == pytest.approx(voltage / second, rel=1e-4)


@checks("electrical.line_of_sections")
def test_a_line_is_a_chain_of_sections() -> None:
    """Counted from the end of the line, v_k = (1 + z y) v + z i and i_k = y v + i, with z and y of one section."""
    s, load = 2j * np.pi * 50, 10.0
    z, y = (4.0 + s * 0.02) / 4, (1e-2 + s * 1e-4) / 4
    voltage = (np.linalg.matrix_power([[1 + z * y, z], [y, 1]], 4) @ [load, 1.0])[0]
    assert load_current(e.line_of_sections("l", 4.0, 0.02, 1e-2, 1e-4, sections=4), load) == pytest.approx(1 / voltage, rel=1e-4)


@checks("electrical.coupled_coils")
def test_coupled_coils() -> None:
    """The current i1 induces the voltage s M i1 in the loop of s L2 and the load."""
    s, L1, L2, k, load = 2j * np.pi * 50, 0.2, 0.05, 0.8, 10.0
    M = k * np.sqrt(L1 * L2)
    currents = np.linalg.solve([[s * L1, s * M], [s * M, s * L2 + load]], [1.0, 0.0])
    graph, part, w = Graph("g"), e.coupled_coils("t", L1, L2, k), 2 * np.pi * 50
    graph.connect(Se("u", lambda t: -sin(w * t), signals="time"), part.port("1")).connect(part.port("2"), R("load", load))
    assert phasor(graph, "load.flow", w) == pytest.approx(currents[1], rel=1e-4)


LOADS = {"open": (Sf("load", 0.0), 1.0), "shorted": (Se("load", 0.0), -1.0)}
LOADS |= {"matched": (R("load", 50.0), 0.0), "heavier": (R("load", 100.0), 1 / 3)}


@checks("electrical.lossless_line")
@pytest.mark.parametrize("end", LOADS)
def test_lossless_line_reflects_a_step(end) -> None:
    """A step of 1 V enters through 25 ohm and crosses in one delay; each end reflects the fraction (R - Z) / (R + Z)."""
    (load, far), near, Z, T = LOADS[end], (25.0 - 50.0) / (25.0 + 50.0), 50.0, 1e-6
    graph, part, loop = Graph("line"), e.lossless_line("l", Z, T), J1("loop")
    graph.add(signals.step("u", 0.45e-6))
    graph.connect(Se("source", lambda u: u, signals=["u.y"], domain="electrical"), loop)
    graph.connect(loop, R("Rs", 25.0)).connect(loop, part.port("1")).connect(part.port("2"), load)
    run = compile_model(graph, progress=False).simulate(12e-6, samples=0.1e-6, progress=False)
    arrived = sum((far * near) ** k * (run.t > 0.45e-6 + (2 * k + 1) * T) for k in range(7)) * Z / (25.0 + Z)
    np.testing.assert_allclose(run["load.effort"], (1 + far) * arrived, atol=1e-12)
    np.testing.assert_allclose(run["load.flow"], (1 - far) * arrived / Z, atol=1e-12)
    assert run.ok


@checks("electrical.ideal_diode")
@pytest.mark.parametrize(("voltage", "current"), [(5.0, (5.0 - 0.6) / 10.5), (-5.0, 0.0), (0.5, 0.0)])
def test_ideal_diode(voltage, current) -> None:
    graph = fed(voltage, 10.0, e.ideal_diode("d", Ron=0.5, Goff=0.0, knee=0.6))
    assert final(graph, "r.flow") == pytest.approx([current], abs=1e-12)


def mean_currents(part) -> tuple[float, float]:
    """Return the mean forward and backward currents through a part fired at 90 degrees, at 100 V, 50 Hz and 10 ohm."""
    graph, node = Graph("g"), J0("node")
    graph.add(signals.square("fire", period=0.01, start=0.005, duty=0.1))
    source = Se("u", lambda t: 100 * sin(2 * np.pi * 50 * t), signals="time")
    graph.between(None, node, source, R("r", 10.0)).between(node, None, part)
    run = compile_model(graph, progress=False).simulate(0.04, samples=4e-6, rtol=1e-9, progress=False)
    assert run.ok
    i = run["r.flow"]
    return float(np.trapezoid(np.maximum(i, 0), run.t) / 0.04), float(np.trapezoid(np.minimum(i, 0), run.t) / 0.04)


@checks("electrical.thyristor", "electrical.triac", "electrical.gto")
def test_gated_valves() -> None:
    """A valve conducts a quarter wave, with a mean of 10 A / (2 pi); the GTO is turned off 18 degrees later."""
    quarter = 10.0 / (2 * np.pi)
    settings = {"gate": "fire.y", "Goff": 0.0}
    assert mean_currents(e.thyristor("v", **settings)) == pytest.approx((quarter, 0.0), rel=1e-3, abs=1e-9)
    assert mean_currents(e.triac("v", **settings)) == pytest.approx((quarter, -quarter), rel=1e-3)
    assert mean_currents(e.gto("v", **settings)) == pytest.approx((quarter * np.sin(np.pi / 10), 0.0), rel=2e-3, abs=1e-9)


def test_a_constant_gate_makes_a_diode() -> None:
    assert final(fed(5.0, 10.0, e.thyristor("v", Ron=0.0, Goff=0.0)), "r.flow") == pytest.approx([0.5])
    assert final(fed(5.0, 10.0, e.thyristor("v", gate=0.0, Goff=0.0)), "r.flow") == pytest.approx([0.0], abs=1e-12)
    assert final(fed(-5.0, 10.0, e.triac("v", Ron=0.0, knee=1.0)), "r.flow") == pytest.approx([-0.4], rel=1e-4)


@checks("electrical.switch")
def test_switch() -> None:
    graph = fed(10.0, 1.0, e.switch("s", "command.y", Ron=1.0, Goff=0.0))
    graph.add(signals.step("command", start=0.5))
    run = compile_model(graph, progress=False).simulate(1.0, samples=[0.25, 0.75], progress=False)
    assert run["r.flow"][1:] == pytest.approx([0.0, 5.0], abs=1e-12)
    assert final(fed(10.0, 1.0, e.switch("s", 1.0, Ron=1.0)), "r.flow") == pytest.approx([5.0], rel=1e-4)


@checks("electrical.two_way_switch")
@pytest.mark.parametrize(("control", "current"), [(1.0, 5.0), (0.0, 2.0)])
def test_two_way_switch(control, current) -> None:
    graph = Graph("g").connect(Se("u", 10.0), (part := e.two_way_switch("s", control, 0.0, 0.0)).port("common"))
    graph.connect(part.port("on"), R("r on", 2.0)).connect(part.port("off"), R("r off", 5.0))
    assert final(graph, "u.flow") == pytest.approx([current])


@checks("electrical.arc_switch")
@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_an_arc_ends_the_current_of_a_coil(sense) -> None:
    """In L di/dt = U - R i - V, the arc voltage is V = V0 + dVdt t up to Vmax."""
    graph, node = Graph("coil"), J0("node")
    coil = I("L", inductance=0.1), R("R", 1.0)
    graph.between(None, node, Se("u", 10.0 * sense), *coil).between(
        node, None, e.arc_switch("s", "command.y", Ron=0.0, Goff=1e-9)
    )
    graph.add(signals.step("command", start=10.0, before=1.0, after=0.0))
    run = compile_model(graph, progress=False).simulate(11.0, rtol=1e-9, progress=False)
    tau, slope = 0.1, 1e4
    rise = (60.0 - 30.0) / slope
    i = 10.0 - 30.0 - slope * (rise - tau) + (10.0 - (10.0 - 30.0 + slope * tau)) * np.exp(-rise / tau)
    end = 10.0 + rise + tau * np.log((i + 50.0) / 50.0)
    assert run.ok and [event.time for event in run.events][-1] == pytest.approx(end, rel=1e-8)
    assert run["L.flow"][-1] == pytest.approx(10.0 * sense * 1e-9, rel=1e-3)


@checks("electrical.fuse")
def test_fuse_blows_at_its_integral() -> None:
    run = compile_model(fed(10.0, 0.99, e.fuse("f")), progress=False).simulate(1.0, progress=False)
    assert sorted({event.time for event in run.events}) == pytest.approx([0.1]) and abs(run["r.flow"][-1]) < 1e-7


def chopped(bridge, high: str, low: str | None, resistance: float = 1.0) -> Graph:
    graph, plus, minus = Graph("chopped"), J0("supply"), J0("ground")
    graph.between(None, plus, Se("u", 12.0)).connect(Se("zero", 0.0), minus)
    graph.connect(plus, bridge.port("plus")).connect(bridge.port("minus"), minus)
    load = graph.series(I("L", inductance=1e-2), R("R", resistance))
    graph.connect(bridge.port(high), load)
    return graph.connect(load, minus) if low is None else graph.connect(load, bridge.port(low))


def ripple(high: float, low: float, duty: float, period: float = 1e-2, tau: float = 1e-2) -> tuple[float, float]:
    rise, fall = np.exp(-duty * period / tau), np.exp(-(1 - duty) * period / tau)
    first = (low * (1 - fall) + high * (1 - rise) * fall) / (1 - rise * fall)
    return first, high + (first - high) * rise


@checks("electrical.half_bridge", "electrical.h_bridge")
@pytest.mark.parametrize("duty", [0.3, 0.9])
def test_bridges_chop(duty) -> None:
    half = chopped(e.half_bridge("b", "pwm.y", Ron=0.0, Goff=0.0), "out", None)
    full = chopped(e.h_bridge("b", "pwm.y", "other.y", Ron=0.0, Goff=0.0), "left", "right")
    for graph, low in ((half, 0.0), (full, -12.0)):
        graph.add(signals.step("duty", -1.0, after=duty), signals.pwm("pwm", "duty.y", 1e-2))
        graph.add(Block("other", [("y", lambda u: 1.0 - u, ["u"])], inputs={"u": "pwm.y"}))
        run = compile_model(graph, progress=False).simulate(0.31, samples=[0.3, 0.3 + duty * 1e-2], rtol=1e-9, progress=False)
        assert run.ok and run["L.flow"][1:] == pytest.approx(ripple(12.0, low, duty), rel=1e-7)


@checks("electrical.three_phase_bridge")
def test_three_phase_bridge_steps_six_times() -> None:
    """Each resistance of a star gets 1/3, 2/3 and 1/3 of the supply voltage in turn, then the negative values."""
    graph, bridge, plus, minus = Graph("g"), e.three_phase_bridge("b", "a.y", "b wave.y", "c.y", Ron=0.0), J0("p"), J0("m")
    graph.between(None, plus, Se("u", 12.0)).connect(Se("zero", 0.0), minus)
    graph.connect(plus, bridge.port("plus")).connect(bridge.port("minus"), minus)
    star = J0("star")
    for k, (line, wave) in enumerate(zip("abc", ("a", "b wave", "c"), strict=True)):
        graph.add(signals.square(wave, 0.06, start=0.02 * k, low=0.0))
        graph.connect(bridge.port(line), load := J1(f"load {line}")).connect(load, R(f"R {line}", 2.0)).connect(load, star)
    times = 0.005 + 0.01 * np.arange(6)
    run = compile_model(graph, progress=False).simulate(0.06, samples=times, progress=False)
    assert run.ok and run["R a.effort"][1:] == pytest.approx([4.0, 8.0, 4.0, -4.0, -8.0, -4.0], rel=1e-6)


@checks("electrical.three_phase_source")
def test_three_phases_sum_to_nothing() -> None:
    graph, part = Graph("g"), e.three_phase_source("mains", R_line=1.0)
    for line in "abc":
        graph.connect(part.port(line), R(f"load {line}", 9.0))
    run = compile_model(graph, progress=False).simulate(0.02, progress=False)
    voltages = np.array([run[f"load {line}.effort"] for line in "abc"])
    assert voltages.sum(axis=0) == pytest.approx(0.0, abs=1e-9)
    assert voltages[1] == pytest.approx(0.9 * 325 * np.sin(2 * np.pi * (50 * run.t - 1 / 3)))


@checks("electrical.battery")
def test_battery() -> None:
    graph = Graph("g").between(n := J0("n"), None, e.battery("b")).connect(Sf("discharge", -1.0), n)
    falls = 3.6 - 1.2 * 100 / 3600 - 0.02 - 0.01 * (1 - np.exp(-10.0))
    assert final(graph, "n.effort", t_end=100.0) == pytest.approx([falls])


@checks("electrical.supercapacitor")
def test_supercapacitor() -> None:
    graph = Graph("g").between(n := J0("n"), None, e.supercapacitor("s", 2.0, ESR=1.0, R_leak=9.0, voltage=5.0))
    assert final(graph.between(n, None, R("load", 8.0)), "n.effort", t_end=9.0) == pytest.approx([40 / 9 * np.exp(-1.0)])
