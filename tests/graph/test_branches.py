"""Elements between two nodes, in series and in parallel, agree with closed forms, for every direction of arrows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.linalg import expm
from screwbond.models import parts

from bondgraph import J0, J1, TF, C, Diode, Element, Graph, I, ModelError, R, Se, Sf, compile_model, multiport

NODES: dict[str, Callable[[str], Element]] = {"J0": J0, "J1": lambda name: J1(name, domain="translation")}


def final(graph: Graph, *signals: str, t_end: float = 1.0) -> list[float]:
    run = compile_model(graph, progress=False).simulate(t_end, rtol=1e-9, progress=False)
    return [float(np.ravel(run[name][-1])[0]) for name in signals]


def two_masses(*parts: Element) -> Graph:
    graph, a, b = Graph("two masses"), NODES["J1"]("a"), NODES["J1"]("b")
    return graph.connect(a, I("left", mass=1.0)).connect(b, I("right", mass=2.0)).between(a, b, *parts)


def test_parts_between_voltages_are_in_series() -> None:
    graph, a, b = Graph("circuit"), J0("a"), J0("b")
    graph.between(None, a, Se("u", 5.0)).between(a, b, R("r", 2.0), I("l", inductance=0.5)).between(b, None, R("load", 3.0))
    assert final(graph, "l.flow", "r.flow", "load.effort") == pytest.approx([1 - np.exp(-10.0), 1 - np.exp(-10.0), 3.0], rel=1e-4)


def test_elements_between_velocities_are_in_parallel() -> None:
    """The relative motion is that of the reduced mass 2/3 kg on k = 6 N/m and d = 2 N s/m, with omega0^2 = 9 and the decay rate
    1.5 1/s."""
    graph = two_masses(C("spring", stiffness=6.0, initial=0.1), R("damper", 2.0))
    omega, decay = np.sqrt(9 - 1.5**2), 1.5
    stretch = 0.1 * np.exp(-decay) * (np.cos(omega) + decay / omega * np.sin(omega))
    assert final(graph, "spring.q") == pytest.approx([stretch], rel=1e-6)


def test_an_extended_spring_pulls() -> None:
    left, right = final(two_masses(C("spring", stiffness=1e-6, initial=1.0)), "left.p", "right.p")
    assert left == pytest.approx(1e-6, rel=1e-4) and right == pytest.approx(-1e-6, rel=1e-4)


@pytest.mark.parametrize("others", [(), (R("damper", 0.0),)], ids=["alone", "with a damper"])
def test_a_force_pushes_the_end_away_from_the_start(others: tuple[Element, ...]) -> None:
    assert final(two_masses(Se("push", 3.0), *others), "left.p", "right.p") == pytest.approx([-3.0, 3.0])


@pytest.mark.parametrize("kind", NODES)
@pytest.mark.parametrize("grounded", ["start", "stop"])
def test_a_source_raises_its_end_above_its_start(kind: str, grounded: str) -> None:
    graph, node = Graph("driven"), NODES[kind]("node")
    source = Se("source", 3.0) if kind == "J0" else Sf("source", 3.0)
    graph.connect(node, R("load", 2.0)).between(*((None, node) if grounded == "start" else (node, None)), source)
    common = "load.effort" if kind == "J0" else "load.flow"
    assert final(graph, common) == pytest.approx([3.0 if grounded == "start" else -3.0])


@pytest.mark.parametrize("kind", NODES)
@pytest.mark.parametrize("grounded", ["start", "stop"])
def test_a_load_takes_power_at_either_end(kind: str, grounded: str) -> None:
    graph, node = Graph("decay"), NODES[kind]("node")
    store = C("store", capacitance=1.0, initial=1.0) if kind == "J0" else I("store", mass=1.0, initial=1.0)
    graph.connect(node, store).between(*((None, node) if grounded == "start" else (node, None)), R("load", 0.5))
    rate = 2.0 if kind == "J0" else 0.5
    assert final(graph, "store.q" if kind == "J0" else "store.p") == pytest.approx([np.exp(-rate)], rel=1e-6)


@pytest.mark.parametrize(("start", "stop", "current"), [(0, 1, 2.5), (1, 0, 0.0)])
def test_a_diode_conducts_from_start_to_stop(start: int, stop: int, current: float) -> None:
    nodes = J0("a"), J0("b")
    graph = Graph("rectifier").between(None, nodes[0], Se("u", 5.0)).between(nodes[1], None, R("load", 2.0))
    assert final(graph.between(nodes[start], nodes[stop], Diode("d")), "load.flow") == pytest.approx([current], abs=1e-12)


def test_ports_of_nested_graphs_are_nodes_and_parts() -> None:
    source, inner = Graph("battery"), J0("inner")
    source.between(None, inner, Se("emf", 12.0), R("inner r", 1.0)).expose("plus", inner)
    lamp = Graph("lamp")
    lamp.expose("1", R("filament", 5.0))
    assert final(Graph("torch").between(source.port("plus"), None, lamp), "lamp.filament.flow") == pytest.approx([2.0])


def test_series_and_parallel_return_their_junction() -> None:
    graph = Graph("resonant circuit")
    loop = graph.series(Se("u", 1.0), R("r", 2.0), I("l", inductance=1.0))
    node = graph.parallel(R("load", 3.0), C("c", capacitance=0.1))
    graph.connect(loop, node)
    assert (loop.name, node.name) == ("loop of u", "node of load")
    assert final(graph, "load.effort", t_end=40.0) == pytest.approx([0.6])


def test_a_removed_part_takes_its_bonds_and_ports_along() -> None:
    graph = Graph("rc")
    loop = graph.series(Se("u", 1.0), R("r", 1.0), C("c", capacitance=1.0))
    graph.expose("out", graph["c"])
    graph.remove("c")
    assert set(graph) == {"loop of u", "u", "r"} and not graph.ports and len(graph.freeze().bonds) == 2
    assert final(graph.connect(loop, R("c", 1.0)), "r.flow") == pytest.approx([0.5])
    outer = Graph("outer")
    outer.add(graph)
    assert "rc.r" not in outer.remove("rc.r") and "rc.u" in outer


def test_a_bond_is_removed_by_its_ends_in_any_direction() -> None:
    graph, a, b, r = Graph("divider"), J0("a"), J0("b"), R("r", 1.0)
    graph.connect(Se("u", 2.0), a).between(a, b, R("s", 1.0)).between(b, None, R("load", 1.0)).connect(a, r)
    assert final(graph, "r.effort") == pytest.approx([2.0])
    assert graph.disconnect("r", a).connect(b, r) is graph
    assert final(graph, "r.effort") == pytest.approx([2.0 / 3.0])
    graph.remove(r)
    assert final(graph, "load.effort") == pytest.approx([1.0])


def test_bonds_and_parts_that_cannot_be_removed() -> None:
    graph, v, both = Graph("double"), J1("v"), TF("both", 1.0)
    graph.connect(both.port("1"), v).connect(v, both.port("2"))
    with pytest.raises(ModelError, match=r'E138 "double" has 2 bonds between "both" and "v"'):
        graph.disconnect(both, v)
    graph.disconnect(v, both.port("2"))
    with pytest.raises(ModelError, match=r'E138 "double" has no bond between "v" and "both\.2"'):
        graph.disconnect(v, both.port("2"))
    for change in (lambda: graph.disconnect("v", "bath"), lambda: graph.disconnect(v, J1("bath"))):
        with pytest.raises(ModelError, match=r'E138 "double" has no part "bath" to disconnect'):
            change()
    with pytest.raises(ModelError, match=r"E100 None"):
        graph.disconnect("v", None)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r'E138 the part to remove is not the part "v" of "double"'):
        graph.remove(J1("v"))


def test_readers_of_a_removed_part_are_named() -> None:
    graph = Graph("read")
    graph.series(Se("u", lambda y: y, signals=["r.flow"]), R("r", 1.0), R("s", 1.0))
    with pytest.raises(ModelError, match=r'E106.*"r.flow"'):
        graph.remove("r").freeze()


def test_each_winding_has_a_branch_of_its_own() -> None:
    """One element takes part in several branches with one port in each, and i' = L^-1 (u - R i)."""
    ports = dict.fromkeys(("1", "2"), "electrical")
    coils = multiport("I", "coils", lambda p: (p[0] ** 2 - p[0] * p[1] + p[1] ** 2) / 1.5, ports, initial=[0.0, 0.0])
    graph, a, b, c = Graph("windings"), J0("a"), J0("b"), J0("c")
    graph.between(None, a, Se("u", 1.0)).between(a, b, coils.port("1")).between(c, b, coils.port("2"))
    graph.between(b, None, R("r", 1.0)).between(c, None, R("load", 1.0))
    assert {"branch of coils", "branch of coils 2"} <= set(graph.parts)
    inductances, resistances = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([[1.0, 1.0], [1.0, 2.0]])
    decayed = expm(-np.linalg.solve(inductances, resistances))
    currents = (np.eye(2) - decayed) @ np.linalg.solve(resistances, [1.0, 0.0])
    assert final(graph, "r.flow", "load.flow") == pytest.approx([currents.sum(), -currents[1]], rel=1e-7)


def test_a_part_with_two_ports_conducts_from_the_start_to_the_end() -> None:
    """Heat flows between two bodies, and a motor joins a circuit to a shaft; the heat port of a resistor is not one of its
    ends."""
    graph, hot, cold = Graph("heat"), J0("hot"), J0("cold")
    for node, start in ((hot, 350.0), (cold, 300.0)):
        graph.connect(node, parts.thermal.heat_capacity(f"{node.name} body", c=100.0, T0=start))
    graph.between(hot, cold, parts.thermal.conductance("wall", G=2.0))
    assert final(graph, "wall.power", "hot.effort", t_end=10.0) == pytest.approx([100 * np.exp(-0.4), 325 + 25 * np.exp(-0.4)])
    drive, circuit, shaft = Graph("drive"), J1("circuit"), J1("shaft", domain="rotation")
    drive.connect(Se("supply", 1.0), circuit).between(circuit, shaft, parts.machines.dc_motor("motor", k=0.1, R_a=1.0, b=0.0))
    assert final(drive.connect(shaft, I("load", 1e-3)), "shaft.flow", t_end=10.0) == pytest.approx([10.0])
    graph, a, b = Graph("warm"), J0("a"), J0("b")
    warm = R("warm", 2.0, heat=True)
    graph.between(None, a, Se("u", 4.0)).between(a, b, warm).between(b, None, R("load", 2.0))
    assert final(graph, "warm.flow") == pytest.approx([1.0])
