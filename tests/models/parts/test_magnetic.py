"""Magnetic parts agree with closed forms."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from screwbond.models import parts

from bondgraph import J1, C, Graph, I, R, Se, Sf, compile_model
from screws.scalars import cos
from tests.inner.run import Result
from tests.models.parts.checks import checks, final

m = parts.magnetic
MU0 = 4e-7 * np.pi


@checks("magnetic.coil", "magnetic.reluctance")
def test_a_coil_on_a_core_is_an_inductor() -> None:
    """The inductance is L = N^2 mu A / l."""
    inductance = 200**2 * MU0 * 1000 * 1e-4 / 0.1
    graph, coil = Graph("g"), m.coil("coil", turns=200.0, resistance=3.0)
    graph.connect(Se("u", 6.0), coil.port("winding")).connect(coil.port("core"), m.reluctance("core"))
    assert final(graph, "u.flow", t_end=inductance / 3.0) == pytest.approx([2 * (1 - np.exp(-1.0))], rel=1e-6)


@checks("magnetic.saturating_core")
@pytest.mark.parametrize("B", [0.2, -1.8])
def test_saturating_core(B) -> None:
    graph = Graph("g").connect(Sf("rate", B * 1e-4, domain="magnetic"), m.saturating_core("core"))
    H = B / (MU0 * 2000) + 500 * np.sign(B) * abs(B / 1.5) ** 9
    assert final(graph, "core.effort", t_end=1.0) == pytest.approx([0.1 * H], rel=1e-6)


@checks("magnetic.air_gap")
def test_air_gap_pulls() -> None:
    """A spring balances the force mu0 A (N i)^2 / (2 x^2)."""
    graph, gap, coil = Graph("g"), m.air_gap("gap", gap=2e-3), m.coil("coil", turns=1000.0)
    x = J1("armature", domain="translation")
    graph.connect(Se("u", 5.0), loop := J1("loop", domain="electrical")).connect(loop, R("r", 10.0))
    graph.connect(loop, coil.port("winding")).connect(coil.port("core"), gap.port("core")).connect(x, gap.port("gap"))
    graph.connect(x, I("mass", mass=0.1)).connect(x, C("spring", stiffness=5e4)).connect(x, R("d", damping=20.0))
    moved, pull = final(graph, "spring.q", "spring.effort", t_end=1.0)
    assert pull == pytest.approx(-MU0 * 1e-4 * 500.0**2 / (2 * (2e-3 + moved) ** 2), rel=1e-5)


@checks("magnetic.magnet")
def test_magnet_in_a_ring_with_a_gap() -> None:
    """The magnet's flux is Hc l divided by the sum of the reluctances."""
    graph, magnet = Graph("g"), m.magnet("m")
    ring = J1("ring", domain="magnetic")
    graph.connect(magnet.port("1"), ring).connect(ring, m.reluctance("gap", length=1e-3, mu_r=1.0))
    graph.connect(ring, R("eddies", 1e5))
    reluctances = (0.01 / 1.05 + 1e-3) / (MU0 * 1e-4)
    assert abs(final(graph, "gap.q", t_end=1.0)[0]) == pytest.approx(9e5 * 0.01 / reluctances, rel=1e-6)


@checks("magnetic.eddy_loss")
def test_eddy_loss() -> None:
    graph = Graph("g").connect(Sf("rate", 1e-3, domain="magnetic"), m.eddy_loss("loss", G=2000.0))
    run = compile_model(graph, progress=False).simulate(1.0, progress=False)
    assert run["loss.effort"][-1] == pytest.approx(2.0) and run["loss.power"][-1] == pytest.approx(2e-3)


@checks("magnetic.leakage")
def test_leakage() -> None:
    graph = Graph("g").connect(Sf("rate", 1e-5, domain="magnetic"), m.leakage("path", permeance=2e-8))
    assert final(graph, "path.effort") == pytest.approx([500.0])


def hysteresis(t_end: float, **parameters: float) -> Result:
    """Run a hysteretic core of 1 cm^2 and 0.1 m at the flux density 1.2 T sin(t), and return the result."""
    rate = Sf("rate", lambda t: 1.2e-4 * cos(t), signals="time", domain="magnetic")
    graph = Graph("g").connect(rate, m.hysteretic_core("iron", **parameters))
    return compile_model(graph, progress=False).simulate(t_end, rtol=1e-8, progress=False)


@checks("magnetic.hysteretic_core")
def test_hysteretic_core() -> None:
    """SciPy's solution of the equations of Jiles and Atherton is the reference; later cycles lose equal energy to 5 per cent."""

    def slopes(t, y):
        field, wall = y
        way = np.sign(np.cos(t))
        level = 1.4e6 * np.tanh(field / 500)
        moving = max((level - wall) * way, 0.0) / 300
        whole = 0.9 * moving + 0.1 * 1.4e6 / 500 / np.cosh(field / 500) ** 2
        rise = 1.2 * np.cos(t) / (MU0 * (1 + (1 - 2e-4) * whole))
        return [rise, moving * rise]

    run, turn = hysteresis(4 * np.pi), np.pi / 2
    y, ends = [0.0, 0.0], [0.0, turn, 3 * turn, 5 * turn, 7 * turn, 8 * turn]
    for a, b in pairwise(ends):
        y = solve_ivp(slopes, (a, b), y, rtol=1e-10, atol=1e-6, method="LSODA").y[:, -1]
    magnetised = 0.9 * y[1] + 0.1 * 1.4e6 * np.tanh(y[0] / 500)
    assert run["iron.core.effort"][-1] == pytest.approx(0.1 * (y[0] - 2e-4 * magnetised), rel=1e-4)
    lost = [float(np.sum(run["iron.core.power"][(k <= run.t / turn) & (run.t / turn < k + 4)])) for k in (1.0, 2.0, 4.0)]
    assert run.ok and min(lost) > 0.0 and lost[1] == pytest.approx(lost[2], rel=0.05)


def test_a_core_without_pinning_has_no_loss() -> None:
    """At small k the core follows M_s tanh(H_e / a), a curve without a loop."""
    run = hysteresis(2 * np.pi, k=0.5)
    M = run["iron.iron.he"]
    assert run["iron.iron.mi"] == pytest.approx(1.4e6 * np.tanh(M / 500), abs=3e-3 * 1.4e6)
