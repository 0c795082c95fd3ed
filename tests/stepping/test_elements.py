"""Elements in time steps agree with closed forms and with `simulate`."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from screwbond.models import planar_body, planar_contact

from bondgraph import IC, J0, J1, MTF, C, Constraint, Element, Graph, I, R, Se, Sf, simulate
from bondgraph.stepping import stepper
from examples.parallel_gripper import T_END, gripper
from screws.scalars import array, cos

GRAVITY = 9.81


def link(form: str) -> Element:
    start: dict[str, Any] = {"position": 0.5, "velocity": 0.3}
    return IC("link", inertia=lambda q: 1.0 + 0.5 * cos(q), potential=lambda q: -GRAVITY * cos(q), form=form, **start)


@pytest.mark.parametrize("form", ["lagrangian", "hamiltonian"])
def test_an_inertia_that_depends_on_place_swings_to_first_order(form: str) -> None:
    graph, joint = Graph("pendulum"), J1("joint", domain="rotation")
    graph.connect(joint, link(form)).connect(joint, R("bearing", 0.1))
    exact = simulate(graph, 1.0, rtol=1e-10)["link.q"][-1]
    made = stepper(graph, inertia="full")
    runs = [made.simulate(1.0, step=h) for h in (0.005, 0.0025)]
    off = [run["link.q"][-1] - exact for run in runs]
    assert abs(off[1]) < 2e-3 and off[1] == pytest.approx(0.5 * off[0], rel=0.05)
    assert runs[1].ledger.relative_residual < 1e-5


@pytest.mark.parametrize("form", ["lagrangian", "hamiltonian"])
def test_quasi_statically_it_hangs_in_balance(form: str) -> None:
    graph, joint, servo = Graph("held"), J1("joint", domain="rotation"), J0("servo", domain="rotation")
    graph.connect(joint, link(form)).connect(Sf("command", 0.0), servo).connect(servo, joint)
    run = stepper(graph.connect(servo, C("spring", stiffness=50.0))).simulate(1.0, step=0.05)
    assert run["spring.effort"][-1] == pytest.approx(GRAVITY * np.sin(run["link.q"][-1]), abs=1e-9)


def test_a_constraint_holds_in_every_step() -> None:
    graph, along = Graph("rod"), J1("along")
    bob = planar_body("bob", mass=1.0, place=(1.0, 0.0), gravity=GRAVITY)
    rod = MTF("rod", lambda place: array([place[0], place[1]]), signals=["bob.place"], dimensions=(2, 1))
    graph.connect(bob.motion, rod).connect(rod, along).connect(along, Constraint("length")).connect(along, Se("nothing", 0.0))
    exact = simulate(graph, 0.5)["bob.place"][-1]
    runs = [stepper(graph, inertia="full").simulate(0.5, step=h) for h in (0.01, 0.005)]
    off = [np.linalg.norm(run["bob.place"][-1] - exact) for run in runs]
    assert off[1] == pytest.approx(0.5 * off[0], rel=0.1)
    assert abs(np.linalg.norm(runs[1]["bob.place"][-1]) - 1.0) < 5e-4
    assert runs[1].ledger.relative_residual < 1e-12


def test_moving_ground_carries_and_drags() -> None:
    """A block moves with the belt until the force of its spring is mu N, then stands still while the belt slips beneath it."""
    graph = Graph("belt")
    x, z, belt = (J1(name, domain="translation") for name in ("x", "z", "belt"))
    graph.connect(x, I("block", 1.0)).connect(z, I("up", 1.0)).connect(Se("weight", -GRAVITY), z)
    graph.connect(x, C("spring", stiffness=100.0)).connect(Sf("drive", 0.2), belt)
    touch = planar_contact("floor", friction=0.5)
    graph.connect(z, touch.port("normal")).connect(x, touch.port("tangent")).connect(touch.port("tangent"), belt)
    run = stepper(graph).simulate(1.0, step=0.01)
    assert run["spring.effort"][-1] == pytest.approx(0.5 * GRAVITY, abs=1e-8)
    (slips,) = (event.time for event in run.events)
    assert slips == pytest.approx(0.5 * GRAVITY / 100.0 / 0.2, abs=0.011)
    ledger = run.ledger
    assert ledger.elements["floor.moved"][-1] == pytest.approx(0.5 * GRAVITY * 0.2 * (1.0 - slips), rel=0.2)
    assert ledger.relative_residual < 1e-12


def test_a_resistor_creeps() -> None:
    """Under a load, a spring and a damper in parallel follow 1 - exp(-k t / r), to first order with backward Euler."""
    graph, v = Graph("creep"), J1("v")
    graph.connect(Se("load", 1.0), v).connect(v, I("m", 1.0)).connect(v, R("r", 2.0)).connect(v, C("k", stiffness=4.0))
    made = stepper(graph)
    for h in (0.01, 0.001):
        count = round(0.5 / h)
        exact = 0.25 * (1.0 - (1.0 + 2.0 * h) ** -count)
        assert made.simulate(0.5, step=h)["k.q"][-1] == pytest.approx(exact, rel=1e-9)


def test_steps_end_where_sources_jump() -> None:
    run = stepper(gripper()).simulate(T_END, step=0.04)
    assert np.any(np.abs(run.t - 0.15) < 1e-12)
    assert run["y place.y"][-1] == pytest.approx(-0.014, abs=1e-9)


def test_the_result_is_as_of_any_run() -> None:
    run = stepper(gripper()).simulate(T_END, step=0.05)
    for name in run.names():
        assert np.all(np.isfinite(run[name])), name
    again = pickle.loads(pickle.dumps(run))  # noqa: S301
    np.testing.assert_array_equal(again["left finger.normal force"], run["left finger.normal force"])
    before, after = run.at_events("left finger.mode")
    assert set(zip(before, after, strict=True)) <= {(a, b) for a in range(3) for b in range(3)}
    assert run.peak("left finger.normal force")[1] == pytest.approx(10.0, abs=1e-7)
