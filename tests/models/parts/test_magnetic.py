"""Magnetic parts against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from screwbond.models import parts

from bondgraph import J1, C, Graph, I, R, Se, Sf, compile_model
from tests.models.parts.checks import checks, final

m = parts.magnetic
MU0 = 4e-7 * np.pi


@checks("magnetic.coil", "magnetic.reluctance")
def test_a_coil_on_a_core_is_an_inductor() -> None:
    """L = N^2 mu A / l."""
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
    """A spring balances mu0 A (N i)^2 / (2 x^2)."""
    graph, gap, coil = Graph("g"), m.air_gap("gap", gap=2e-3), m.coil("coil", turns=1000.0)
    x = J1("armature", domain="translation")
    graph.connect(Se("u", 5.0), loop := J1("loop", domain="electrical")).connect(loop, R("r", 10.0))
    graph.connect(loop, coil.port("winding")).connect(coil.port("core"), gap.port("core")).connect(x, gap.port("gap"))
    graph.connect(x, I("mass", mass=0.1)).connect(x, C("spring", stiffness=5e4)).connect(x, R("d", damping=20.0))
    moved, pull = final(graph, "spring.q", "spring.effort", t_end=1.0)
    assert pull == pytest.approx(-MU0 * 1e-4 * 500.0**2 / (2 * (2e-3 + moved) ** 2), rel=1e-5)


@checks("magnetic.magnet")
def test_magnet_in_a_ring_with_a_gap() -> None:
    """Its flux is Hc l over the sum of the reluctances."""
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
