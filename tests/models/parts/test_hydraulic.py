"""Hydraulic parts against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from screwbond.models import parts

from bondgraph import J0, C, Graph, I, R, Se, Sf, compile_model
from tests.models.parts.checks import checks, final

h = parts.hydraulic


def flow(part, pressure: float) -> float:
    """Volume flow into a part at a pressure."""
    graph, node = Graph("g"), J0("node", domain="hydraulic")
    return final(graph.connect(Se("p", pressure), node).between(node, None, part), "p.flow", t_end=1e-3)[0]


def pressure(part, volume_flow: float) -> float:
    """Pressure of a part at a volume flow into it."""
    graph, node = Graph("g"), J0("node", domain="hydraulic")
    return final(graph.connect(Sf("Q", volume_flow), node).between(node, None, part), "Q.effort", t_end=1e-3)[0]


@checks("hydraulic.orifice")
@pytest.mark.parametrize("p", [-5e6, 2e6])
def test_orifice(p) -> None:
    """The root law, but for (p0 / p)^2 / 4; no flow where it is shut."""
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
    """Without a load, the pressures of a symmetric cylinder are half of the supply's, and v = K x sqrt(ps / 2) / A."""
    graph, valve, cylinder = Graph("servo"), h.spool_valve("v", opening=opening), h.cylinder("c", A1=1e-3, A2=1e-3)
    graph.connect(Se("supply", 2e7), valve.port("P")).connect(valve.port("T"), Se("reservoir", 0.0))
    for port, side in (("A", "head"), ("B", "rod")):
        chamber = J0(f"chamber {port}", domain="hydraulic")
        graph.connect(valve.port(port), chamber).connect(chamber, C(f"oil {port}", elastance=1e13, initial=1e-6))
        graph.connect(chamber, cylinder.port(side))
    graph.connect(cylinder.port("piston"), I("mass", mass=5.0))
    assert final(graph, "mass.flow", t_end=5.0) == pytest.approx([opening * 1e-7 * np.sqrt(1e7) / 1e-3], rel=1e-5)


def test_a_differential_cylinder_pushes_by_its_rod() -> None:
    """Both sides at one pressure: the area of the rod."""
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
    """L di/dt + R i = p: the time rho length / (area R)."""
    graph, node = Graph("g"), J0("node", domain="hydraulic")
    graph.connect(Se("p", 1e5), node).between(node, None, h.line("l", length=2.0, resistance=1e8))
    time = 850 * 2 / 1e-4 / 1e8
    assert final(graph, "p.flow", t_end=time) == pytest.approx([1e-3 * (1 - np.exp(-1))], rel=1e-6)


@checks("hydraulic.tank")
def test_tank_runs_out_by_torricelli() -> None:
    """The level's root falls in proportion to time: A dh/dt = -a sqrt(2 g h)."""
    graph, node, a = Graph("g"), J0("node", domain="hydraulic"), 1e-3
    graph.between(node, None, h.tank("t", initial=2.0)).between(node, None, h.orifice("o", K=a * np.sqrt(2 / 1000), p0=1e-3))
    fallen = (np.sqrt(2.0) - a * np.sqrt(2 * 9.81) / 2 * 200.0) ** 2
    assert final(graph, "t.q", t_end=200.0) == pytest.approx([fallen], rel=1e-6)


@checks("hydraulic.chamber", "hydraulic.accumulator")
def test_vessels() -> None:
    """Pressure and energy at a volume that was pressed in."""
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
    """Against a pressure it delivers D w less its leak; as a motor it turns with D p."""
    graph, pump = Graph("g"), h.pump("p", leak=1e-12, b=0.01)
    graph.connect(Sf("drive", 100.0), pump.port("shaft")).connect(Se("reservoir", 0.0), pump.port("inlet"))
    torque, delivered = final(graph.connect(pump.port("outlet"), Se("load", 1e7)), "drive.effort", "load.flow")
    assert delivered == pytest.approx(100e-6 - 1e-12 * 1e7) and torque == pytest.approx(1e-6 * 1e7 + 0.01 * 100)
