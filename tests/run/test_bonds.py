"""In the table of bonds, junctions conserve power, and elements receive the energy that the ledger records."""

from __future__ import annotations

import contextlib
import functools
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson
from screwbond.models import read_scenario, two_body_graph
from screwbond.models.delta import DeltaParameters, DeltaRobot
from screwbond.models.hand import Hand

from bondgraph import GY, J1, TF, C, Compiled, Graph, I, ModelError, R, Se, compile_model, quasistatic
from examples.pushing import in_a_plane
from tests.acceptance.suite import SUITE
from tests.inner.model import Junction
from tests.inner.render import diagram
from tests.inner.run import BondVariables, Result
from tests.laws.test_acceptance_models import shown_by

PAPERS = {
    "eggs": lambda: two_body_graph(read_scenario(Path(__file__).parents[1] / "models" / "data" / "S1a.json")),
    "delta": lambda: DeltaRobot(DeltaParameters.fit()).graph(),
    "hand": lambda: Hand().graph(),
}


@functools.cache
def of_paper(name: str) -> Compiled:
    return compile_model(PAPERS[name](), backend="numpy")


def every_model(name: str) -> list[Compiled]:
    if name in PAPERS:
        return [of_paper(name)]
    found = []
    for graph in {id(shown.graph): shown.graph for shown in shown_by(name)}.values():
        with contextlib.suppress(ModelError):
            found.append(compile_model(graph, backend="numpy"))
    return found


def values_of(compiled: Compiled) -> dict[str, np.ndarray]:
    """Return efforts and flows by name, at a random state near the start if all such states are consistent."""
    x, _ = compiled.initial()
    if not compiled.program.contacts and not compiled.program.loops and not compiled.program.closing:
        x = x + 0.1 * np.random.default_rng(1).standard_normal(len(x)) * (np.abs(x) + 1.0)
    found = compiled.evaluate(0.0, x)
    return {name: np.ravel(found[name]) for bond in compiled.bonds for name in (bond.effort, bond.flow)}


@pytest.mark.parametrize("name", [*SUITE, *PAPERS])
def test_every_bond_has_effort_and_flow_and_junctions_balance(name: str) -> None:
    for compiled in every_model(name):
        model, layout = compiled.model, compiled.program.layout
        assert [bond.name for bond in compiled.bonds] == [bond.name for bond in model.bonds]
        assert len({bond.name for bond in compiled.bonds}) == len(model.bonds)
        for own, bond in zip(compiled.bonds, model.bonds, strict=True):
            assert (own.tail, own.head, own.dimension) == (bond.tail.element, bond.head.element, bond.dimension)
            assert layout[own.effort].shape == layout[own.flow].shape == bond.shape
        values = values_of(compiled)
        power = {bond.name: float(values[bond.effort] @ values[bond.flow]) for bond in compiled.bonds}
        # Where efforts nearly cancel, rounding is relative to the products, not to their sum.
        size = {bond.name: float(np.abs(values[bond.effort]) @ np.abs(values[bond.flow])) for bond in compiled.bonds}
        largest = max(size.values())
        for path, element in model.elements.items():
            if isinstance(element.law, Junction):
                at = [bond for bond in compiled.bonds if path in (bond.tail, bond.head)]
                total = sum(power[bond.name] * (1 if bond.head == path else -1) for bond in at)
                assert abs(total) <= 1e-12 * largest, (path, total)


def energy_through(result: Result, bond: BondVariables, path: str) -> np.ndarray:
    """Return the energy (k,) that a bond has transferred to an element since the start, J."""
    power = result.bond_values(bond.name).power * (1.0 if bond.head == path else -1.0)
    return cumulative_simpson(power, x=result.t, initial=0.0)


def motor() -> Graph:
    graph, armature, shaft, wheel = Graph("motor"), J1("armature"), J1("shaft"), J1("wheel")
    graph.connect(Se("battery", 12.0), armature)
    graph.connect(armature, I("coil", inertia=0.02)).connect(armature, R("winding", resistance=1.5))
    machine, gear = GY("motor", ratio=0.3), TF("gear", ratio=4.0)
    graph.connect(armature, machine).connect(machine, shaft).connect(shaft, gear).connect(gear, wheel)
    graph.connect(shaft, R("bearing", resistance=0.01)).connect(shaft, I("rotor", inertia=0.004))
    graph.connect(wheel, R("load", resistance=0.05)).connect(wheel, C("belt", stiffness=3.0))
    return graph


@pytest.mark.parametrize("name", ["motor", "eggs", "delta", "hand"])
def test_powers_of_bonds_add_up_to_the_ledger(name: str) -> None:
    graph = motor() if name == "motor" else PAPERS[name]()
    t_end = {"motor": 1.0, "eggs": 0.05, "delta": 0.1, "hand": 0.02}[name]
    compiled = compile_model(graph)
    result = compiled.simulate(t_end, samples=np.linspace(0.0, t_end, 1001), rtol=1e-10, progress=False)
    assert result.ok
    # Where a contact begins, powers jump within a step of the quadrature.
    jumps = len(result.events) * t_end / 1000 * max(np.abs(result.bond_values(bond.name).power).max() for bond in compiled.bonds)
    close = 1e-6 * result.ledger.in_play + jumps
    ledger, system, checked = result.ledger, compiled.system, 0
    for path, role in zip(compiled.program.power_names, compiled.program.power_roles, strict=True):
        at = [bond for bond in compiled.bonds if path in (bond.tail, bond.head)]
        if len(at) == 1 and path in ledger.elements:
            into = energy_through(result, at[0], path)
            # A source's account is the energy it supplies, a resistor's the energy it dissipates.
            wanted = ledger.elements[path] * (1.0 if role == "dissipated" else -1.0)
            assert into == pytest.approx(wanted, abs=close), path
            checked += 1
    for path, _ in system.energies:
        at = [bond for bond in compiled.bonds if path in (bond.tail, bond.head)]
        into = sum(energy_through(result, bond, path) for bond in at)
        assert into == pytest.approx(ledger.elements[path] - ledger.elements[path][0], abs=close), path
        checked += 1
    assert checked >= 2


def test_values_of_a_bond() -> None:
    graph, loop = Graph("rc"), J1("loop", domain="electrical")
    graph.connect(Se("u", 5.0), loop).connect(loop, R("r", resistance=10.0)).connect(loop, C("c", capacitance=1e-3))
    compiled = compile_model(graph)
    result = compiled.simulate(0.02, progress=False)
    known = {bond.name: bond for bond in compiled.bonds}
    assert list(known) == ["u -> loop", "loop -> r", "loop -> c"]
    own = known["loop -> r"]
    assert (own.tail, own.head, own.dimension) == ("loop", "r", 1)
    assert (own.domain, own.effort_unit, own.flow_unit) == ("electrical", "V", "A")
    current = 0.5 * np.exp(-result.t / 0.01)
    found = result.bond_values("loop -> r")
    assert found.flow == pytest.approx(current, rel=1e-4, abs=1e-6)
    assert found.effort == pytest.approx(10.0 * current, rel=1e-4, abs=1e-5)
    assert found.power == pytest.approx(10.0 * current**2, rel=1e-4, abs=1e-5)
    with pytest.raises(KeyError, match='did you mean "loop -> r"'):
        result.bond_values("lop -> r")


@pytest.mark.usefixtures("rough_layout")
@pytest.mark.parametrize("name", ["eggs", "delta"])
def test_the_diagram_marks_its_bonds(name: str) -> None:
    compiled = of_paper(name)
    root = ElementTree.fromstring(diagram(compiled).svg)
    groups = [node for node in root.iter("{http://www.w3.org/2000/svg}g") if node.get("data-bond") is not None]
    assert sorted(node.get("data-bond") for node in groups) == sorted(bond.name for bond in compiled.bonds)
    for node, own in ((node, bond) for node in groups for bond in compiled.bonds if bond.name == node.get("data-bond")):
        lines = [path for path in node if path.get("class") == "line"]
        assert len(lines) == (2 if own.dimension > 1 else 1)


def test_a_result_of_steps_knows_its_bonds() -> None:
    result = quasistatic(in_a_plane(), 0.1, step=0.01)
    assert result.bonds
    for bond in result.bonds:
        assert result.bond_values(bond.name).power.shape == result.t.shape
