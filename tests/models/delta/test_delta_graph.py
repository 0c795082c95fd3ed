"""The delta robot as a graph of arms agrees with independent equations, in both forms."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from screwbond.models.delta import DeltaParameters, DeltaRobot, connect_arms, delta_arm, delta_graph

from benchmarks.delta_c import in_theta
from benchmarks.delta_minimal import minimal_graph
from bondgraph import IC, J1, MTF, TF, Block, Graph, Op, R, compile_model, signals
from screws.scalars import array, cos, sin
from tests.inner.models_delta import ROTATIONS
from tests.models.delta import delta_independent as independent

SETS = {"fit": DeltaParameters.fit(), "lab": DeltaParameters.lab()}
REFERENCE = json.loads(Path(__file__).with_name("delta_reference.json").read_text(encoding="utf-8"))
NONE = np.zeros(0)


@cache
def robot(name: str, form: str = "lagrangian") -> DeltaRobot:
    return DeltaRobot(SETS[name], form=form)


@pytest.mark.parametrize("name", SETS)
def test_rates_are_those_of_the_independent_equations(name):
    compiled, rng = robot(name).compiled, np.random.default_rng(3)
    for _ in range(5):
        q = np.column_stack([rng.uniform(-0.5, 1.3, 3), rng.uniform(1.6, 2.8, 3), rng.uniform(-0.6, 0.6, 3)])
        x, u = np.column_stack([q, rng.normal(0.0, 2.0, (3, 3))]).ravel(), rng.normal(0.0, 2.0, 3)
        p = compiled.parameters({f"motor {i + 1}.torque": u[i] for i in range(3)})
        expected = independent.rates(independent.SETS[name], x, u)
        state, expected = in_theta(x[None], expected[None])
        assert np.abs(compiled.program.rates(0.0, state[0], p, NONE) - expected).max() < 1e-12 * np.abs(expected).max()


def disturbing(name: str) -> dict:
    recorded = REFERENCE[name]["disturbed"]
    waves = [signals.sine(f"wave {i + 1}", recorded["amplitude"][i], 3.0 * np.pi, float(i)) for i in range(3)]
    return {"y": [0.6, 0.8, 0.95], "torque": recorded["offset"], "signals": [f"{wave.name}.y" for wave in waves], "blocks": waves}


@pytest.mark.parametrize("name", SETS)
def test_both_forms_follow_the_recorded_disturbed_motion(name):
    expected = np.array(REFERENCE[name]["disturbed"]["x"]).reshape(-1, 3, 2, 3)[:, :, 0].reshape(-1, 9)
    found = {}
    for form in ("lagrangian", "hamiltonian"):
        run = robot(name, form).simulate(2.0, **disturbing(name), samples=0.25, rtol=1e-11)
        assert run.ok
        found[form] = run.q
        assert np.abs(run.q - expected).max() < 1e-8
    assert np.abs(found["lagrangian"] - found["hamiltonian"]).max() < 1e-10


@pytest.mark.parametrize("form", ["lagrangian", "hamiltonian"])
@pytest.mark.parametrize("name", SETS)
def test_energy_without_damping_is_constant(name, form):
    free = DeltaRobot(replace(SETS[name], DAMPING=0.0), form=form)
    run = free.simulate(2.0, y=[0.6, 0.8, 0.95], rtol=1e-10)
    assert np.ptp(run.energy) < 1e-9
    assert run.ledger.relative_residual < 1e-9
    speed = np.abs(run["tool velocity"]).max()
    assert speed > 1.0


@pytest.mark.parametrize("form", ["lagrangian", "hamiltonian"])
@pytest.mark.parametrize("name", SETS)
def test_a_start_off_the_constraint_decays_with_the_double_pole(name, form):
    """The closures obey h = h0 (1 + 5 t) exp(-5 t)."""
    given = robot(name, form)
    off = given.forward_kinematics((0.25 * np.pi,) * 3).q + 0.01 * np.array([1, 2, -1, 0.5, -2, 1, 1.5, 0.3, -0.7])
    run = given.simulate(2.0, q=off, project=False, rtol=1e-11)
    for name_of in ("closure 2", "closure 3"):
        h, t = run[name_of], run.t[:, None]
        assert np.abs(h[0]).max() > 3e-3
        assert np.abs(h - h[0] * (1.0 + 5.0 * t) * np.exp(-5.0 * t)).max() < 1e-9


@pytest.mark.parametrize(
    ("name", "form", "damping"),
    [
        ("fit", "lagrangian", 0.0),
        ("lab", "hamiltonian", 0.0),
        ("fit", "hamiltonian", 1e-3),
        ("lab", "lagrangian", 1e-3),
        ("fit", "lagrangian", None),
        ("lab", "hamiltonian", None),
    ],
)
def test_free_drop_runs_through_the_singularities(name, form, damping):
    """The falling robot stretches its arms, and its distal links become parallel."""
    p = SETS[name] if damping is None else replace(SETS[name], DAMPING=damping)
    for rtol, allowed in ((1e-6, 1e-6), (1e-9, 1e-9)):
        run = DeltaRobot(p, form=form).simulate(5.0, rtol=rtol, samples=0.002)
        assert run.ok and run.drift.max() < allowed
    kinds = {passage.kind for passage in run.singular_postures}
    assert {f"arm {i} is stretched or folded" for i in (1, 2, 3)} <= kinds
    assert "the distal links lie in one plane or are parallel" in kinds


def test_drift_in_ordinary_motion_at_a_loose_tolerance():
    run = robot("fit").simulate(2.0, **disturbing("fit"), rtol=1e-4)
    assert run.ok and run.drift.max() < 1e-6


@pytest.mark.parametrize("name", SETS)
def test_minimal_coordinates_move_alike(name):
    """The reference is an IC of the three motor angles, with kinematics in closed form."""
    given = {"y": (0.6, 0.8, 0.95), "torques": 0.9 * robot(name).gravity_torque((0.6, 0.8, 0.95))}
    small = compile_model(minimal_graph(SETS[name], given["y"], rates=(1.0, -1.0, 0.5), torques=given["torques"]))
    one = small.simulate(1.0, samples=0.1, rtol=1e-10)
    other = robot(name).simulate(1.0, y=given["y"], rates=(1.0, -1.0, 0.5), torque=given["torques"], samples=0.1, rtol=1e-10)
    assert one.ok and np.abs(one["mechanism.q"] - other.y).max() < 1e-9
    assert np.ptp(other.y, axis=0).min() > 0.05
    free = compile_model(minimal_graph(replace(SETS["fit"], DAMPING=0.0), given["y"]))
    stalled = free.simulate(1.0, rtol=1e-9, max_steps=5000, progress=False)
    assert not stalled.ok and stalled.failure.time < 0.6


# --- arms are parts ---------------------------------------------------------------------------------------------------


def turned(degrees: float) -> np.ndarray:
    c, s = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


@pytest.mark.parametrize("axes", [(0.0, 180.0), (0.0, 90.0, 180.0, 270.0)], ids=["two arms", "four arms"])
def test_robots_with_other_numbers_of_arms_conserve_energy(axes):
    """The run ends before all four equal arms are stretched, where their constraints become dependent."""
    p = replace(SETS["fit"], DAMPING=0.0)
    phi = DeltaRobot(p).forward_kinematics((0.3,) * 3).q[:3]
    arms = [delta_arm(f"arm {i + 1}", p, turned(angle), position=phi) for i, angle in enumerate(axes)]
    compiled = compile_model(connect_arms("robot", arms, torques=[0.1, -0.1, 0.05, 0.0][: len(axes)]))
    run = compiled.simulate(0.2, rtol=1e-10, parameters={f"motor {i + 1}.torque": 0.0 for i in range(len(axes))})
    total = np.sum([run[f"arm {i + 1}.mechanism.energy"] for i in range(len(axes))], axis=0)
    assert run.ok and np.ptp(total) < 1e-9
    assert max(np.abs(run[f"closure {i}"]).max() for i in range(2, len(axes) + 1)) < 1e-9
    assert np.abs(run["tool"][:, :2]).max() < 1e-9
    assert run["tool"][-1, 2] - run["tool"][0, 2] > 0.03
    pushed = compiled.simulate(0.2, rtol=1e-8)
    assert pushed.ok and np.abs(pushed["tool"][-1, :2]).max() > 1e-4


SLIDER = {"m": 0.4, "rod": 0.3, "L": 0.4, "g": 9.81}


def slider_arm(name: str, rotation: np.ndarray, s: float, distance: float) -> Graph:
    def tip(q, L):
        return array([L * sin(q[1]) * sin(q[2]), distance + L * cos(q[1]), q[0] + L * sin(q[1]) * cos(q[2])])

    def slope(q, L):
        return array(
            [
                [0.0, L * cos(q[1]) * sin(q[2]), L * sin(q[1]) * cos(q[2])],
                [0.0, -L * sin(q[1]), 0.0],
                [1.0, L * cos(q[1]) * cos(q[2]), -L * sin(q[1]) * sin(q[2])],
            ]
        )

    def inertia(q, m, rod, L, g):
        J = slope(q, L)
        return rod * (J.T @ J) + array([[m, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])

    graph, rates = Graph(name), J1("rates", dimension=3)
    q0 = np.array([s, np.arccos(-distance / SLIDER["L"]), 0.0])
    weight = {"potential": lambda q, m, rod, L, g: -g * (m * q[0] + rod * tip(q, L)[2])}
    graph.connect(rates, IC("mechanism", inertia=inertia, **weight, position=q0, parameters=SLIDER))
    shaft, end = J1("shaft", dimension=1), J1("tip", dimension=3, domain="translation")
    row = TF("carriage", np.array([1.0, 0.0, 0.0]), structural=True)
    graph.connect(shaft, row.port("2")).connect(row.port("1"), rates).connect(rates, R("damping", 0.0))
    jacobian = MTF("J", lambda q, L: rotation @ slope(q, L), signals=["mechanism.q", "mechanism.L"], dimensions=(3, 3))
    graph.connect(rates, jacobian).connect(jacobian, end)
    graph.add(
        Block(
            "place",
            [("w", Op("tip", lambda q, L: rotation @ tip(q, L)), ["q", "L"])],
            inputs={"q": "mechanism.q", "L": "mechanism.L"},
        )
    )
    return graph.expose("motor", shaft).expose("tip", end).export("tip", "place.w")


def test_another_type_of_arm_takes_the_same_robot():
    compiled = compile_model(
        connect_arms("linear delta", [slider_arm(f"arm {i + 1}", R, 0.0, 0.2) for i, R in enumerate(ROTATIONS)])
    )
    run = compiled.simulate(0.3, rtol=1e-10)
    assert np.abs(run["tool"][:, 2] - run["tool"][0, 2] - 0.5 * 9.81 * run.t**2).max() < 1e-8
    weight = -9.81 * (SLIDER["m"] + SLIDER["rod"])
    held = compiled.simulate(0.3, rtol=1e-10, parameters={f"motor {i}.torque": weight for i in (1, 2, 3)})
    assert np.abs(held["tool"] - held["tool"][0]).max() < 1e-9


def test_the_motors_take_signals():
    value = Block("drive", [("u", Op("drive", lambda t: array([0.1 * t, 0.2 * t, 0.3])), ["t"])], inputs={"t": "time"})
    single = [
        Block(
            f"drive {i}",
            [("u", Op("drive", lambda t, i=i: 0.1 * (i + 1) * t if i < 2 else 0.3 + 0.0 * t), ["t"])],
            inputs={"t": "time"},
        )
        for i in range(3)
    ]
    one = delta_graph(SETS["fit"], torques=[0.1, 0.2, 0.3], signals="drive.u")
    one.add(value)
    many = delta_graph(SETS["fit"], torques=[0.1, 0.2, 0.3], signals=[f"drive {i}.u" for i in range(3)])
    many.add(*single)
    a, b = (compile_model(graph).simulate(0.5, rtol=1e-9) for graph in (one, many))
    assert np.array_equal(a.x, b.x)
    assert [a[f"motor {i}.effort"][-1] for i in (1, 2, 3)] == pytest.approx([0.15, 0.3, 0.6], abs=1e-15)
