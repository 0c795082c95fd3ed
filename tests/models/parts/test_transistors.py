"""Transistors against closed forms, of both kinds."""

from __future__ import annotations

import numpy as np
import pytest
from screwbond.models import parts

from bondgraph import J0, Graph, R, Se
from tests.models.parts.checks import checks, final

t = parts.transistors
KT = 8.617333262e-5
KINDS = pytest.mark.parametrize("sense", [1.0, -1.0])


def stage(transistor, end: str, feeds: dict[str, tuple[float, float]]) -> Graph:
    """A transistor with one pin at ground, and the others at sources behind resistances."""
    graph = Graph("stage").connect(Se("ground", 0.0), transistor.port(end))
    for pin, (voltage, resistance) in feeds.items():
        graph.between(None, node := J0(pin), Se(f"source {pin}", voltage), R(f"r {pin}", resistance))
        graph.connect(node, transistor.port(pin))
    return graph


@checks("transistors.bjt")
@KINDS
@pytest.mark.parametrize("T", [300.0, 350.0])
def test_a_bjt_amplifies_and_saturates(sense, T) -> None:
    """Active: i_c = B i_b, v_be = V_T ln(i_c / I_s(T)). Saturated: v_ce of Ebers and Moll, 1954, by i_c / i_b."""
    V_T, Is = KT * T, 1e-16 * (T / 300) ** 3 * np.exp((T / 300 - 1) * 1.11 / (KT * T))
    for load, saturated in ((100.0, False), (1e4, True)):
        transistor = t.bjt("q", polarity=sense, Bf=50.0, Br=2.0, T=T)
        feeds = {"base": (5.0 * sense, 1e5), "collector": (10.0 * sense, load)}
        v_b, v_c, i_b, i_c = final(
            stage(transistor, "emitter", feeds), "base.effort", "collector.effort", "r base.flow", "r collector.flow"
        )
        ratio = i_c / i_b
        if saturated:
            assert sense * v_c == pytest.approx(V_T * np.log((1.5 + ratio / 2) / (1 - ratio / 50)), rel=1e-6)
        else:
            assert ratio == pytest.approx(50.0, rel=1e-6)
            assert sense * v_b == pytest.approx(V_T * np.log(sense * i_c / Is), rel=1e-6)


@checks("transistors.mosfet")
@KINDS
@pytest.mark.parametrize(("gate", "end"), [(3.0, "source"), (8.0, "source"), (8.0, "drain"), (0.5, "source")])
def test_a_mosfet_is_open_saturated_or_ohmic(sense, gate, end) -> None:
    """Shichman and Hodges 1968, equations of the three regions; with drain and source exchanged it is the same."""
    other = "source" if end == "drain" else "drain"
    transistor = t.mosfet("m", polarity=sense, Gds=0.0)
    graph = stage(transistor, end, {"gate": (gate * sense, 1.0), other: (10.0 * sense, 1e3)})
    v, i, drawn = final(graph, f"{other}.effort", f"r {other}.flow", "r gate.flow")
    v, i, above = sense * v, sense * i, gate - 1.0
    region = above**2 / 2 if v > above else above * v - v * v / 2
    assert i == pytest.approx(2e-3 * max(region, 0.0) * (1 + 0.01 * v) if above > 0 else 0.0, rel=1e-6, abs=1e-12)
    assert (above < 0, v > above) == ((True, True) if gate < 1 else (False, gate < 5)) and abs(drawn) < 1e-12
