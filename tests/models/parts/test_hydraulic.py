"""Hydraulic parts agree with closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from screwbond.models import parts

from bondgraph import J0, C, Graph, I, R, Se, Sf, compile_model
from tests.models.parts.checks import checks, final

h = parts.hydraulic


def flow(part, pressure: float) -> float:
    graph, node = Graph("g"), J0("node", domain="hydraulic")
    return final(graph.connect(Se("p", pressure), node).between(node, None, part), "p.flow", t_end=1e-3)[0]


def pressure(part, volume_flow: float) -> float:
    graph, node = Graph("g"), J0("node", domain="hydraulic")
    return final(graph.connect(Sf("Q", volume_flow), node).between(node, None, part), "Q.effort", t_end=1e-3)[0]


@checks("hydraulic.orifice")
@pytest.mark.parametrize("p", [-5e6, 2e6])
def test_orifice(p) -> None:
    """The flow is K sqrt(p) to a relative error of (p0 / p)^2 / 4."""
    assert flow(h.orifice("o", K=2e-7, opening=0.5), p) == pytest.approx(1e-7 * np.sign(p) * np.sqrt(abs(p)), rel=1e-6)
    assert flow(h.orifice("o", opening=0.0), p) == 0.0


@checks("hydraulic.check_valve", "hydraulic.relief_valve", "hydraulic.reducing_valve")
def test_valves_open_at_their_pressures() -> None:
    check = h.check_valve("c", leak=0.0)
    assert flow(check, 5e4) == pytest.approx(1e-8 * 4e4) and flow(check, -5e4) == 0.0
    relief = h.relief_valve("r")
    assert flow(relief, 9e6) == 0.0 and flow(relief, 1.05e7) == pytest.approx(0.5e-7 * np.sqrt(1.05e7))
    assert flow(relief, 2e7) == pytest.approx(1e-7 * np.sqrt(2e7))
    graph, node, out = Graph("g"), J0("in", domain="hydraulic"), J0("out", domain="hydraulic")
    graph.connect(Se("supply", 2e7), node).between(node, out, h.reducing_valve("v", K=1e-6, downstream="out.effort"))
    graph.connect(out, C("oil", elastance=1e12)).between(out, None, h.orifice("o", K=1e-8))
    (p,) = final(graph, "out.effort", t_end=60.0)
    opening = 1e-8 * np.sqrt(p) / (1e-6 * np.sqrt(2e7 - p))
    assert p == pytest.approx(5e6 - 5e5 * opening, rel=1e-5)


@checks("hydraulic.spool_valve", "hydraulic.cylinder")
@pytest.mark.parametrize("opening", [0.5, -0.2])
def test_valve_and_cylinder(opening) -> None:
    """Without a load, the pressures of a symmetric cylinder are half the supply pressure, and v = K x sqrt(ps / 2) / A."""
    graph, valve, cylinder = Graph("servo"), h.spool_valve("v", opening=opening), h.cylinder("c", A1=1e-3, A2=1e-3)
    graph.connect(Se("supply", 2e7), valve.port("P")).connect(valve.port("T"), Se("reservoir", 0.0))
    for port, side in (("A", "head"), ("B", "rod")):
        chamber = J0(f"chamber {port}", domain="hydraulic")
        graph.connect(valve.port(port), chamber).connect(chamber, C(f"oil {port}", elastance=1e13, initial=1e-6))
        graph.connect(chamber, cylinder.port(side))
    graph.connect(cylinder.port("piston"), I("mass", mass=5.0))
    assert final(graph, "mass.flow", t_end=5.0) == pytest.approx([opening * 1e-7 * np.sqrt(1e7) / 1e-3], rel=1e-5)


def test_a_differential_cylinder_pushes_by_its_rod() -> None:
    """With both sides at one pressure, the force is this pressure times the area of the rod."""
    graph, cylinder, supply = Graph("g"), h.cylinder("c", A1=3e-3, A2=1e-3), J0("supply", domain="hydraulic")
    graph.connect(Se("p", 1e6), supply).connect(supply, cylinder.port("head")).connect(supply, cylinder.port("rod"))
    force, volume_flow = final(graph.connect(cylinder.port("piston"), R("load", damping=1e4)), "load.effort", "p.flow")
    assert force == pytest.approx(2e3) and volume_flow == pytest.approx(2e-3 * 0.2)


@checks("hydraulic.laminar_pipe", "hydraulic.pipe")
@pytest.mark.parametrize("Q", [1e-5, -8e-4])
def test_pipes(Q) -> None:
    laminar = 128 * 0.04 * 3 * Q / (np.pi * 0.01**4)
    assert pressure(h.laminar_pipe("p", length=3.0), Q) == pytest.approx(laminar)
    reynolds = 4 * 850 * abs(Q) / (np.pi * 0.04 * 0.01)
    friction = max(64 / reynolds, 0.3164 * reynolds**-0.25)
    speed = Q / (np.pi * 0.005**2)
    assert pressure(h.pipe("p", length=3.0), Q) == pytest.approx(friction * 3 / 0.01 * 850 * speed * abs(speed) / 2)


@checks("hydraulic.line")
def test_line_takes_its_time() -> None:
    """L di/dt + R i = p has the time constant rho length / (area R)."""
    graph, node = Graph("g"), J0("node", domain="hydraulic")
    graph.connect(Se("p", 1e5), node).between(node, None, h.line("l", length=2.0, resistance=1e8))
    time = 850 * 2 / 1e-4 / 1e8
    assert final(graph, "p.flow", t_end=time) == pytest.approx([1e-3 * (1 - np.exp(-1))], rel=1e-6)


@checks("hydraulic.tank")
def test_tank_runs_out_by_torricelli() -> None:
    """The square root of the level falls linearly, since A dh/dt = -a sqrt(2 g h)."""
    graph, node, a = Graph("g"), J0("node", domain="hydraulic"), 1e-3
    graph.between(node, None, h.tank("t", initial=2.0)).between(node, None, h.orifice("o", K=a * np.sqrt(2 / 1000), p0=1e-3))
    fallen = (np.sqrt(2.0) - a * np.sqrt(2 * 9.81) / 2 * 200.0) ** 2
    assert final(graph, "t.q", t_end=200.0) == pytest.approx([fallen], rel=1e-6)


@checks("hydraulic.chamber", "hydraulic.accumulator")
def test_vessels() -> None:
    for part, law, volume in (
        (h.chamber("c"), lambda V: 1.6e9 * V / 1e-4, 1e-6),
        (h.accumulator("c", n=1.2), lambda V: 5e6 * (1e-3 / (1e-3 - V)) ** 1.2, 4e-4),
    ):
        graph = Graph("g").connect(Sf("Q", volume), part)
        run = compile_model(graph, progress=False).simulate(1.0, rtol=1e-10, progress=False)
        assert run["c.effort"][-1] == pytest.approx(law(volume))
        assert run["c.energy"][-1] - run["c.energy"][0] == pytest.approx(quad(law, 0.0, volume)[0], rel=1e-6)


@checks("hydraulic.pump")
def test_pump() -> None:
    graph, pump = Graph("g"), h.pump("p", leak=1e-12, b=0.01)
    graph.connect(Sf("drive", 100.0), pump.port("shaft")).connect(Se("reservoir", 0.0), pump.port("inlet"))
    torque, delivered = final(graph.connect(pump.port("outlet"), Se("load", 1e7)), "drive.effort", "load.flow")
    assert delivered == pytest.approx(100e-6 - 1e-12 * 1e7) and torque == pytest.approx(1e-6 * 1e7 + 0.01 * 100)


@checks("hydraulic.hydraulic_motor")
@pytest.mark.parametrize("cf", [0.0, 0.1])
def test_hydraulic_motor_loses_torque_in_proportion_to_its_pressure(cf) -> None:
    """The torque is D p (1 - cf) - b w."""
    for load, speed in ((10.0 * (1 - cf) - 0.01 * 50.0, 50.0), (9.5, 0.0 if cf else 50.0)):
        graph, motor = Graph("g"), h.hydraulic_motor("m", b=0.01, cf=cf)
        graph.connect(Se("supply", 1e7), motor.port("outlet")).connect(motor.port("inlet"), Se("reservoir", 0.0))
        graph.connect(motor.port("shaft"), graph.series(I("rotor", 1e-5), Se("load", load)))
        assert final(graph, "rotor.flow", t_end=0.05) == pytest.approx([-speed], rel=1e-6, abs=1e-9)


@checks("hydraulic.pump_by_curve")
def test_pump_by_curve() -> None:
    """At speed 1 the pump follows its curve, and at half that speed the affinity laws."""
    for speed, volume, rise in ((1.0, 1.5e-3, 2.4e5), (0.5, 0.75e-3, 0.6e5), (0.0, 1e-3, 0.0)):
        graph, pump = Graph("g"), h.pump_by_curve("p", speed=speed)
        graph.connect(Sf("Q", volume), pump.port("inlet")).connect(pump.port("outlet"), Se("load", 5e5))
        assert final(graph, "Q.effort", t_end=1e-3) == pytest.approx([5e5 - rise], abs=2.0)


@checks("hydraulic.gas_chamber", "hydraulic.choked_orifice")
def test_a_gas_vessel_empties_through_a_choked_orifice() -> None:
    """The pressure falls as exp(-K p0 t / V) down to the pressure ratio b."""
    graph, orifice, node = Graph("g"), h.choked_orifice("o", K=1e-8, b=0.3), J0("vessel", domain="hydraulic")
    graph.connect(node, h.gas_chamber("gas", V=1e-2, initial=9e-2)).connect(node, orifice.port("1"))
    graph.connect(orifice.port("2"), Se("ambient", 0.0))
    time = np.log(2.0) * 1e-2 / (1e-8 * 101325)
    run = compile_model(graph, progress=False).simulate(60.0, samples=[time, 60.0], rtol=1e-9, progress=False)
    assert run.ok and 101325 * np.exp(run["vessel.effort"] / 101325) == pytest.approx([1013250, 506625, 101325], rel=1e-5)
    subsonic = flow_through(h.choked_orifice("o", K=1e-8, b=0.3), 2e5, 1.6e5)
    assert subsonic == pytest.approx(1e-8 * 2e5 * np.sqrt(1 - ((0.8 - 0.3) / 0.7) ** 2), rel=1e-5)
    assert flow_through(h.choked_orifice("o"), 1e5, 3e5) == -flow_through(h.choked_orifice("o"), 3e5, 1e5)


def flow_through(orifice, p1: float, p2: float) -> float:
    graph, efforts = Graph("g"), [101325 * np.log(p / 101325) for p in (p1, p2)]
    graph.connect(Se("a", efforts[0]), orifice.port("1")).connect(Se("b", efforts[1]), orifice.port("2"))
    return final(graph, "a.flow", t_end=1e-3)[0]


@checks("hydraulic.overflowing_tank")
def test_a_tank_runs_over_its_rim() -> None:
    """The tank fills at 0.1 m^3/s up to 2 m, and then overflows at the level at which the inflow leaves."""
    graph, node = Graph("g"), J0("node", domain="hydraulic")
    graph.connect(Sf("Q", 0.1), node).between(node, None, h.overflowing_tank("t"))
    run = compile_model(graph, progress=False).simulate(40.0, samples=[10.0, 40.0], rtol=1e-9, progress=False)
    assert run["Q.effort"][1:] == pytest.approx([9810.0, 2 * 9810 + 0.1 / 1e-3]) and run["t.rim.flow"][-1] == pytest.approx(0.1)
