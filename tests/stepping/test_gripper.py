"""Pang's parallel gripper is exact at any step size with Coulomb's law, and up to a layer mu v h with the convex law."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import Graph, quasistatic
from bondgraph.stepping import Stepper, stepper
from examples.parallel_gripper import FRICTION, SPEED, STIFFNESS, T_END, gripper
from tests.inner.run import Result


@pytest.fixture(scope="module")
def graph() -> Graph:
    return gripper()


@pytest.fixture(scope="module")
def coulomb(graph: Graph) -> Stepper:
    return stepper(graph, friction="coulomb")


@pytest.fixture(scope="module")
def convex(graph: Graph) -> Stepper:
    return stepper(graph, friction="convex")


def friction(result: Result) -> np.ndarray:
    """Return the total downward friction of both fingers on the disc, since only this sum is determined while they stick."""
    return -(result["left finger.friction force"] + result["right finger.friction force"])


@pytest.mark.parametrize("h", [0.05, 0.01])
def test_coulomb_is_exact_at_any_step(coulomb: Stepper, h: float) -> None:
    result = coulomb.simulate(T_END, step=h)
    assert result.ok
    assert result["y place.y"][-1] == pytest.approx(-0.014, abs=1e-9)
    for finger in ("left", "right"):
        np.testing.assert_allclose(result[f"{finger} finger.normal force"][1:], 10.0, atol=1e-8)
    np.testing.assert_allclose(friction(result)[1:], np.minimum(200.0 * result.t[1:], 16.0), atol=1e-7)
    np.testing.assert_allclose(result["floor.normal force"][1:], 9.81 + friction(result)[1:], atol=1e-7)
    assert np.abs(result["left finger.gap"]).max() < 1e-10


def test_changes_of_contacts_are_events(coulomb: Stepper) -> None:
    result = coulomb.simulate(T_END, step=0.01)
    told = [(event.name, event.kind, round(event.time, 9)) for event in result.events]
    fingers = ("left finger", "right finger")
    assert sorted(told) == sorted([(f, "slip", 0.08) for f in fingers] + [(f, "stick", 0.15) for f in fingers])


def test_the_layer_of_the_convex_law_and_its_decay(convex: Stepper) -> None:
    h = 1e-3
    result = convex.simulate(T_END, step=h)
    sliding = result["left finger.gap"][150]
    assert sliding == pytest.approx(FRICTION * SPEED * h, rel=1e-5)
    # the layer pushes the finger back, and its spring by as much
    assert result["left finger.normal force"][150] == pytest.approx(10.0 + STIFFNESS * sliding, rel=1e-6)
    assert friction(result)[150] == pytest.approx(16.256, abs=1e-3)
    layer = result["left finger.gap"][155:165]
    np.testing.assert_allclose(layer[1:] / layer[:-1], 1.0 - 1.0 / (1.0 + 2.0 * FRICTION**2), rtol=1e-5)
    assert layer[1] / layer[0] == pytest.approx(0.561404, abs=1e-6)


def test_programs_are_few(coulomb: Stepper) -> None:
    for h in (0.05, 0.01, 0.001):
        statistics = coulomb.simulate(T_END, step=h).statistics
        assert statistics.quadratic_programs <= 2 * statistics.steps


def test_the_energy_account_closes_and_shows_step_losses(coulomb: Stepper) -> None:
    taken = []
    for h in (0.01, 0.005):
        ledger = coulomb.simulate(T_END, step=h).ledger
        assert ledger.relative_residual < 1e-12
        taken.append(ledger.elements["step"][-1])
        slid = (ledger.elements["left finger.friction"] + ledger.elements["right finger.friction"])[-1]
        assert slid == pytest.approx(16.0 * 0.014, rel=1e-9)
    assert taken[0] == pytest.approx(2.0 * taken[1], rel=1e-6)  # of order h


def test_parameters_and_starts_are_inputs(coulomb: Stepper) -> None:
    low = {f"{name}.place.friction": 0.4 for name in ("left finger", "right finger")}
    result = coulomb.simulate(T_END, step=0.01, parameters=low)
    assert friction(result)[-1] == pytest.approx(8.0, abs=1e-8)
    tight = coulomb.simulate(T_END, step=0.01, initial={"left spring.q": 0.02, "right spring.q": -0.02})
    assert friction(tight)[-1] == pytest.approx(30.0, abs=1e-7)  # sticks throughout: 1000 N/m times 0.03 m


def test_one_line(graph: Graph) -> None:
    assert quasistatic(graph, T_END, step=0.05)["y place.y"][-1] == pytest.approx(-0.014, abs=1e-9)


def test_units_do_not_matter(coulomb: Stepper) -> None:
    small = {f"{name} spring.stiffness": STIFFNESS * 1e-3 for name in ("left", "right", "y")} | {"weight.value": -9.81e-3}
    result = coulomb.simulate(T_END, step=0.01, parameters=small)
    assert result["y place.y"][-1] == pytest.approx(-0.014, abs=1e-9)
    np.testing.assert_allclose(friction(result)[1:] * 1e3, np.minimum(200.0 * result.t[1:], 16.0), atol=1e-7)


def test_numpy_as_the_reference(graph: Graph) -> None:
    result = stepper(graph, backend="numpy").simulate(T_END, step=0.05)
    assert result["y place.y"][-1] == pytest.approx(-0.014, abs=1e-9)


def test_lengths_in_millimetres(graph: Graph) -> None:
    longer = {f"{name} spring.q": 1e3 * value for name, value in (("left", 0.01), ("right", -0.01))}
    units = {f"{name} spring.stiffness": STIFFNESS * 1e3 for name in ("left", "right", "y")} | {"weight.value": -9.81e6}
    tight = stepper(graph).simulate(0.08, step=0.01, parameters=units, initial=longer)
    np.testing.assert_allclose(tight["left finger.normal force"][1:], 10.0e6, rtol=1e-9)


@pytest.mark.parametrize("friction", ["coulomb", "convex"])
def test_each_finger_slips_as_far_as_the_object_moves_along_it(friction: str) -> None:
    made = stepper(gripper(), friction=friction)
    step = made.step(h=0.01)
    for _ in range(11):
        step = made.step(step, h=0.01)
    moved = abs(step.dq[made.steps.layout.owners.index("y mass")])
    assert moved > 1e-3 and step.mode == ("slip", "slip", "stick")
    np.testing.assert_allclose(step.slips, [moved, moved, 0.0], atol=1e-12)
