"""Transistors and amplifiers agree with closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from screwbond.models import parts

from bondgraph import J0, Graph, R, Se, compile_model
from screws.scalars import cos, sin
from tests.models.parts.checks import checks, final

t = parts.electronics
KT = 8.617333262e-5
KINDS = pytest.mark.parametrize("sense", [1.0, -1.0])


def stage(transistor, end: str, feeds: dict[str, tuple[float, float]]) -> Graph:
    graph = Graph("stage").connect(Se("ground", 0.0), transistor.port(end))
    for pin, (voltage, resistance) in feeds.items():
        graph.between(None, node := J0(pin), Se(f"source {pin}", voltage), R(f"r {pin}", resistance))
        graph.connect(node, transistor.port(pin))
    return graph


@checks("electronics.bjt")
@KINDS
@pytest.mark.parametrize("T", [300.0, 350.0])
def test_a_bjt_amplifies_and_saturates(sense, T) -> None:
    """In the active region i_c = B i_b and v_be = V_T ln(i_c / I_s(T)); for saturation see Ebers and Moll, 1954."""
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


@checks("electronics.mosfet")
@KINDS
@pytest.mark.parametrize(("gate", "end"), [(3.0, "source"), (8.0, "source"), (8.0, "drain"), (0.5, "source")])
def test_a_mosfet_is_open_saturated_or_ohmic(sense, gate, end) -> None:
    """The three regions obey Shichman and Hodges, 1968, even with drain and source swapped."""
    other = "source" if end == "drain" else "drain"
    transistor = t.mosfet("m", polarity=sense, Gds=0.0)
    graph = stage(transistor, end, {"gate": (gate * sense, 1.0), other: (10.0 * sense, 1e3)})
    v, i, drawn = final(graph, f"{other}.effort", f"r {other}.flow", "r gate.flow")
    v, i, above = sense * v, sense * i, gate - 1.0
    region = above**2 / 2 if v > above else above * v - v * v / 2
    assert i == pytest.approx(2e-3 * max(region, 0.0) * (1 + 0.01 * v) if above > 0 else 0.0, rel=1e-6, abs=1e-12)
    assert (above < 0, v > above) == ((True, True) if gate < 1 else (False, gate < 5)) and abs(drawn) < 1e-12


def inverting(make, voltage: float) -> Graph:
    graph, amplifier, n, out = Graph("g"), make("A"), J0("n"), J0("out")
    graph.between(None, n, Se("u", voltage), R("r1", 1e3)).between(n, out, R("r2", 2e4)).connect(n, amplifier.port("minus"))
    return graph.connect(amplifier.port("out"), out).connect(Se("zero", 0.0), amplifier.port("plus"))


@checks("electronics.op_amp")
@pytest.mark.parametrize("voltage", [0.2, 2.0, -2.0])
def test_op_amps_amplify(voltage) -> None:
    """The gain is -20 / (1 + 21 / A); a limited op amp clips the output."""
    expected = -20 * voltage / (1 + 21 / 1e5)
    assert final(inverting(t.op_amp, voltage), "out.effort") == pytest.approx([expected])
    assert final(inverting(t.limited_op_amp, voltage), "out.effort") == pytest.approx([np.clip(expected, -15.0, 15.0)])


@checks("electronics.nullor")
@pytest.mark.parametrize(("error", "expected"), [(0.0, -40.0), (-1e-5, -40.0 / (1 + 21e-5))])
def test_a_nullor_is_an_amplifier_without_limit_of_its_gain(error, expected) -> None:
    """With `error`, the gain is finite; the input draws no current."""
    graph, n, out, nullor = Graph("g"), J0("n"), J0("out"), t.nullor("N", error)
    graph.between(None, n, Se("u", 2.0), R("r1", 1e3)).between(n, out, R("r2", 2e4)).connect(n, nullor.port("in"))
    assert final(graph.connect(nullor.port("out"), out), "out.effort", "N.input.flow") == pytest.approx(
        [expected, 0.0], abs=1e-12
    )


@checks("electronics.comparator")
def test_a_comparator_switches_where_its_inputs_differ_by_its_hysteresis() -> None:
    graph, part, out = Graph("g"), t.comparator("c", low=-1.0, h=0.5), J0("out")
    graph.connect(Se("u", lambda t: 2 * sin(2 * np.pi * t), signals="time"), part.port("plus"))
    graph.connect(Se("level", 0.5), part.port("minus")).connect(part.port("out"), out).connect(out, R("load", 1.0))
    run = compile_model(graph, progress=False).simulate(1.0, samples=[0.2, 0.4, 0.7], progress=False)
    assert [event.time for event in run.events] == pytest.approx([1 / 12, 0.5], abs=1e-9)
    assert run.ok and run["out.effort"][1:4] == pytest.approx([5.0, 5.0, -1.0])


@checks("electronics.limited_op_amp")
@pytest.mark.parametrize("method", ["auto", "dop853", "dopri5", "rodas5p"])
def test_a_limited_op_amp_triggers(method) -> None:
    """A Schmitt trigger switches where the amplifier leaves its limit, at u / r1 + v_o / r2 = (v_o / A) (1 / r1 + 1 / r2)."""
    graph, amplifier = Graph("trigger"), t.limited_op_amp("A", 1e3, high=10.0)
    plus, out, source = J0("plus"), J0("out"), Se("u", lambda t: 5 * cos(2 * np.pi * t), signals="time")
    graph.between(None, plus, source, R("r1", 1e3)).between(plus, out, R("r2", 1e4)).connect(plus, amplifier.port("plus"))
    graph.connect(Se("zero", 0.0), amplifier.port("minus")).connect(amplifier.port("out"), out)
    run = compile_model(graph, progress=False).simulate(1.5, method=method, progress=False)
    first, second = (np.arccos((1.1e-3 * level - 0.1 * level) / 5) / (2 * np.pi) for level in (10.0, -15.0))
    assert run.ok and sorted({event.time for event in run.events}) == pytest.approx([0.0, first, 1 - second, 1 + first], rel=1e-6)
    assert run["out.effort"][[0, -1]] == pytest.approx([10.0, -15.0])
