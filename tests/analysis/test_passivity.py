"""Systems that are passive or reciprocal by construction pass the tests, and counterexamples fail them."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import J0, J1, C, Graph, I, ModelError, R, Se, Sf, compile_model
from bondgraph.analysis import linearise, passivity, reciprocity
from examples import rolling_eggs
from tests.analysis.models import coupled_masses, motor, two_masses
from tests.analysis.test_linear_systems import linear


def test_power_ports_of_passive_networks() -> None:
    force = linearise(compile_model(two_masses(), backend="numpy"), ["force.value"], ["v1.flow"])
    found = passivity(force)
    assert found and found.method == "grid" and found.strict is None and found.reason == ""
    supply = linearise(compile_model(motor(), backend="numpy"), ["supply.value"], ["armature.flow"])
    assert passivity(supply)


def test_lossless_networks_are_passive() -> None:
    graph = Graph("tank")
    node = J0("node", domain="electrical")
    graph.connect(Sf("drive", 0.0), node).connect(node, C("c", capacitance=0.5)).connect(node, I("l", 2.0))
    assert passivity(linearise(compile_model(graph, backend="numpy"), ["drive.value"], ["node.effort"]))
    # a negative capacitor: the same poles, with residues of opposite sign
    assert not passivity(linear([[0.0, -1.0], [1.0, 0.0]], [[-1.0], [0.0]], [[1.0, 0.0]]), np.array([0.5, 2.0]))


def test_unknown_ports_are_refused() -> None:
    found = passivity(linearise(compile_model(motor(), backend="numpy"), ["supply.value"], ["rotor.flow"]))
    assert not found and "the system delivers power" in found.reason


def test_unstable() -> None:
    found = passivity(linear([[1.0]], [[1.0]], [[1.0]], [[1.0]]))
    assert not found and found.reason == "unstable pole at 1 1/s"


def test_strict_by_the_hamiltonian() -> None:
    assert passivity(linear([[-1.0]], [[1.0]], [[1.0]], [[1.0]])).strict
    # 1 + g / (s^2 + 0.02 s + 1): a coarse grid misses the narrow dip of the real part, 1 - g (w^2 - 1) / ..., below zero
    for gain, passive in ((0.01, True), (0.05, False), (-0.005, True), (0.0405, False), (0.0395, True)):
        found = passivity(linear([[0.0, 1.0], [-1.0, -0.02]], [[0.0], [gain]], [[1.0, 0.0]], [[1.0]]))
        lowest = min(_real_part(gain, w) for w in np.linspace(0.9, 1.1, 20001))
        assert bool(found) == passive == (lowest >= 0.0), (gain, found, lowest)
        assert found.method == "hamiltonian"
        assert found.strict is passive


def _real_part(gain: float, w: float) -> float:
    return float(np.real(1.0 + gain / (1.0 - w * w + 0.02j * w)))


def test_ports_must_be_pairs() -> None:
    with pytest.raises(ModelError, match="E257"):
        passivity(linearise(compile_model(motor(), backend="numpy"), ["supply.value"], ["rotor.flow", "coil.flow"]))


def plate(force) -> Graph:
    graph = Graph("plate")
    node = J1("node", dimension=2)

    def output(q, c):
        from screws.scalars import array

        return array([q[0] * (1.0 + q[1]) / c, force(q, c)])

    law = C(
        "capacitor",
        output=output,
        energy=lambda q, c: q[0] ** 2 * (1.0 + q[1]) / (2.0 * c),
        parameters={"c": 2.0},
        initial=np.array([0.5, 1.0]),
        dimension=2,
    )
    graph.connect(Se("u", np.zeros(2)), node).connect(node, law)
    return graph.connect(node, R("r", effort=lambda f: -f, dimension=2)).connect(node, I("i", 1.0, initial=np.zeros(2)))


def by_name(graph: Graph):
    return {found.element: found for found in reciprocity(compile_model(graph, backend="numpy"))}


def test_reciprocity_of_a_moving_plate_capacitor() -> None:
    found = by_name(plate(lambda q, c: q[0] ** 2 / (2.0 * c)))
    assert found["capacitor"].ok and found["capacitor"].asymmetry < 1e-14
    assert found["i"].ok
    assert not found["r"].passive and found["r"].dissipation == pytest.approx(-1.0) and not found["r"].ok


def test_a_gyrator_hidden_in_a_resistor() -> None:
    graph = Graph("hidden")
    node = J1("node", dimension=2)
    graph.connect(node, I("i", 1.0, initial=np.zeros(2)))
    graph.connect(node, R("r", effort=lambda f: np.array([[1.0, 0.3], [-0.3, 1.0]]) @ f, dimension=2))
    found = by_name(graph)["r"]
    assert found.passive and not found.reciprocal
    assert found.asymmetry == pytest.approx(0.6 * np.sqrt(2.0) / np.sqrt(2.18))


def test_storages_on_poses_keep_power() -> None:
    found = by_name(rolling_eggs.build()[0])
    assert found and all(result.conservative for result in found.values() if result.kind in "CI")


def test_a_dependent_storage_is_checked_too() -> None:
    found = by_name(coupled_masses())
    assert {"m1", "m2", "b"} == set(found) and all(result.ok for result in found.values())
