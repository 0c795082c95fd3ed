"""In ungrounded networks, differences of efforts do not depend on the junction whose effort is set to zero."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import J0, J1, C, Diode, Graph, I, R, Se
from screws.scalars import sin


def joined(parts: list, inner: type, outer: type, names: list[str]) -> Graph:
    graph, nodes = Graph("floating"), [outer(name) for name in names]
    for k, (tail, head, part) in enumerate(parts):
        arm = inner(f"arm{k}")
        graph.connect(nodes[tail], arm).connect(arm, nodes[head]).connect(arm, part)
    return graph


@pytest.mark.parametrize("names", [["a", "b"], ["z", "b"]])
@pytest.mark.parametrize(("inner", "outer"), [(J1, J0), (J0, J1)])
def test_a_ring_of_storages_swings(inner: type, outer: type, names: list[str]) -> None:
    parts = [(0, 1, C("C", capacitance=0.5, initial=1.0)), (0, 1, I("L", 2.0))]
    run = joined(parts, inner, outer, names).simulate(3.0, samples=0.5, progress=False)
    assert run.ok
    if outer is J0:
        np.testing.assert_allclose(run["C.q"], np.cos(run.t), atol=1e-7)
    assert abs(run.ledger.summary()["relative residual"]) < 1e-9
    first = min(names)
    level = run[f"{first}.effort" if outer is J0 else f"{first}.flow"]
    assert not level.any()


def rectifier(order: list[int], names: list[str]) -> Graph:
    source = Se("u", lambda t: 10.0 * sin(t), signals="time")
    parts = [(4, 0, source), (4, 1, R("inside", 0.1)), (0, 2, Diode("up0")), (1, 2, Diode("up1")), (3, 0, Diode("low0"))]
    parts += [(3, 1, Diode("low1")), (2, 3, R("load", 2.0)), (2, 3, C("C", capacitance=0.3))]
    return joined([parts[k] for k in order], J1, J0, names)


def test_differences_do_not_depend_on_order_and_names() -> None:
    runs = [
        rectifier(order, names).simulate(9.0, samples=0.1, progress=False)
        for order, names in (([*range(8)], list("abcde")), ([7, 3, 1, 0, 5, 2, 6, 4], list("qcrpa")))
    ]
    assert all(run.ok and abs(run.ledger.summary()["relative residual"]) < 1e-9 for run in runs)
    np.testing.assert_allclose(runs[0]["load.effort"], runs[1]["load.effort"], atol=1e-6)
    assert runs[0]["load.effort"].min() > -1e-9 and runs[0]["load.effort"].max() > 5.0


def test_a_network_with_a_ground_gets_no_reference() -> None:
    graph = joined([(0, 1, I("L", 2.0)), (0, 1, R("R", 1.0))], J1, J0, ["a", "b"])
    graph.connect(graph.parts["b"], C("C", capacitance=1.0))
    assert not [path for path in graph.compile(progress=False).model.elements if path.endswith("reference")]


@pytest.mark.parametrize(("inner", "outer", "common"), [(J1, J0, "effort"), (J0, J1, "flow")])
def test_the_report_names_the_reference(inner: type, outer: type, common: str) -> None:
    compiled = joined([(0, 1, C("C", capacitance=0.5)), (0, 1, I("L", 2.0))], inner, outer, ["b", "a"]).compile(progress=False)
    assert compiled.model.references == ("a",)
    title, line = compiled.report().splitlines()[-2:]
    assert title == "references of networks without ground"
    assert f'"a": its {common} is set to zero' in line


def test_a_spatial_network_has_a_reference_of_its_dimension() -> None:
    parts = [(0, 1, C("C", stiffness=np.diag([1.0, 2.0, 3.0]))), (0, 1, I("L", np.diag([1.0, 1.0, 2.0])))]
    compiled = joined(parts, J0, J1, ["a", "b"]).compile(progress=False)
    assert compiled.model.references == ("a",)
    assert compiled.model.elements["a reference"].ports[0].dimension == 3
