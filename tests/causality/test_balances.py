"""The balance of flows, and not an element, sets the effort of a node."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from screwbond.models import parts

from bondgraph import J0, J1, Graph, HeatTransfer, ModelError, R, Se, Sf, compile_model, simulate
from screws.scalars import sin

HOT, COLD = 400.0, 300.0


def between_bodies(*transfers: Any) -> Graph:
    graph, nodes = Graph("wall"), [J0(f"n{k}", domain="thermal") for k in range(1, len(transfers))]
    ends = [Se("hot", HOT), *nodes, Se("cold", COLD)]
    for transfer, start, stop in zip(transfers, ends, ends[1:], strict=False):
        graph.connect(start, transfer.port("1")).connect(transfer.port("2"), stop)
    return graph


def test_layers_of_a_wall_share_a_difference_of_temperature_by_their_resistances() -> None:
    result = simulate(between_bodies(*(HeatTransfer(f"layer {k}", g) for k, g in enumerate((3.0, 1.0, 2.0)))), 0.1)
    through = (HOT - COLD) / (1 / 3 + 1 + 1 / 2)
    assert result.ok
    assert result["layer 1.power"][-1] == pytest.approx(through, rel=1e-12)
    assert result["n1.effort"][-1] == pytest.approx(HOT - through / 3, rel=1e-12)
    assert result["n2.effort"][-1] == pytest.approx(COLD + through / 2, rel=1e-12)


def test_a_shield_between_radiators_has_the_temperature_of_its_balance() -> None:
    def glow(name: str, area: float) -> Any:
        return HeatTransfer(name, heat=lambda one, other, s: s * (one**4 - other**4), parameters={"s": area * 5.67e-8})

    result = simulate(between_bodies(glow("one", 1.0), glow("two", 3.0)), 0.1)
    assert result.ok
    assert result["n1.effort"][-1] == pytest.approx(((HOT**4 + 3.0 * COLD**4) / 4.0) ** 0.25, rel=1e-12)


def test_a_wire_without_a_capacity_warms_until_it_gives_off_its_heat() -> None:
    graph, loop, node = Graph("wire"), J1("loop", domain="electrical"), J0("node", domain="thermal")
    wire, film = R("wire", 5.0, heat=True), HeatTransfer("film", heat=lambda one, other: (one - other) + 0.1 * (one - other) ** 3)
    graph.connect(Sf("i", 2.0), loop).connect(loop, wire).connect(wire.port("heat"), node)
    graph.connect(node, film.port("1")).connect(film.port("2"), Se("room", 290.0, domain="thermal"))
    result = simulate(graph, 0.1)
    assert result["node.effort"][-1] == pytest.approx(290.0 + brentq(lambda d: d + 0.1 * d**3 - 20.0, 0.0, 20.0), rel=1e-12)
    assert np.abs(result.ledger.residual).max() <= 1e-12


AMPLITUDE, OMEGAS, INDUCTANCES, PAIRS = 5.0, (60.0, 90.0), np.array([2e-3, 3e-3]), 2


def driven_motor(third: Any) -> Graph:
    graph, out = Graph("drive"), J1("out", domain="rotation")
    motor = parts.machines.synchronous_motor("motor", PAIRS, 0.1, 0.5, *INDUCTANCES, 1e-3, 1e-3)
    sources = [Sf(f"i{k}", lambda t, w=w: AMPLITUDE * sin(w * t), signals=["time"]) for k, w in enumerate(OMEGAS)]
    for phase, source in zip("abc", [*sources, third], strict=True):
        node = J0(f"node {phase}", domain="electrical")
        graph.connect(source, node).connect(node, motor.port(phase))
    return graph.connect(motor.port("shaft"), out).connect(out, R("load", 1e-2))


def test_sources_of_current_drive_a_synchronous_motor() -> None:
    """Park's transform of the currents gives the fluxes, although no element sets the effort of the nodes."""
    result = simulate(driven_motor(Se("ground", 0.0)), 0.2)
    currents = [AMPLITUDE * np.sin(w * result.t) for w in OMEGAS]
    angles = [PAIRS * result["motor.angle.phi"] - 2 * np.pi * k / 3 for k in range(3)]
    currents.append(-currents[0] - currents[1])
    pairs = zip(angles, currents, strict=True)
    want = sum(np.sqrt(2 / 3) * np.array([np.cos(angle), -np.sin(angle)]) * i for angle, i in pairs)
    assert result.ok
    assert result["motor.flux.p"].T / INDUCTANCES[:, None] == pytest.approx(want, abs=1e-7)


def test_sources_that_add_up_to_zero_by_themselves_are_refused_with_advice_that_works() -> None:
    third = Sf("i2", lambda t: -AMPLITUDE * (sin(OMEGAS[0] * t) + sin(OMEGAS[1] * t)), signals=["time"])
    with pytest.raises(ModelError, match="E208") as refused:
        compile_model(driven_motor(third))
    assert "an Se of zero instead of one of several Sf" in str(refused.value)


def test_a_node_of_sources_alone_is_refused() -> None:
    graph, node = Graph("sources"), J0("node", domain="thermal")
    with pytest.raises(ModelError, match="E203"):
        compile_model(graph.connect(Sf("one", 1.0), node).connect(Sf("two", -1.0), node))
