"""The delta robot of rigid bodies agrees with an independent simulation of the robot with thin rods."""

from __future__ import annotations

import functools

import numpy as np

from bondgraph import Se, compile_model
from screws.scalars import sin
from tests.inner.models_delta import DeltaParameters, rigid_delta_graph
from tests.models.delta import delta_independent as independent

Y, RATES = np.array([0.7, 0.8, 0.75]), np.array([0.3, -0.5, 0.2])
DRIVE = ((0.3, 5.0), (0.2, 7.0), (-0.25, 6.0))
AXIAL = 1e-9
END = 1.0
JOINTS = [f"{joint} {i}" for joint in ("shoulder", "elbow", "wrist") for i in (1, 2, 3)]


@functools.cache
def robot():
    graph = rigid_delta_graph(DeltaParameters.fit(), Y, rates=RATES, axial_inertia=AXIAL)
    for k, (size, rate) in enumerate(DRIVE):
        torque = Se(f"torque {k + 1}", lambda a, w, t: -1.2 + a * sin(w * t), parameters={"a": size, "w": rate}, signals=["time"])
        graph.connect(torque, graph.ports[f"motor {k + 1}"])
    return compile_model(graph)


def moved(axial, rtol):
    p, compiled = DeltaParameters.fit(), robot()
    start, _ = compiled.initial()
    states = compiled.system.states
    ends = np.cumsum([int(np.size(state.initial)) for state in states])
    own = {state.name: start[end - int(np.size(state.initial)) : end] for state, end in zip(states, ends, strict=True)}
    scale = np.array([1.0, axial / AXIAL, 1.0, 1.0, 1.0, 1.0])
    result = compiled.simulate(
        END,
        samples=0.02,
        rtol=rtol,
        progress=False,
        parameters={f"rod {i}.inertia.inertia": [p.J2, axial, p.J2, p.M2, p.M2, p.M2] for i in (1, 2, 3)},
        initial={f"rod {i}.inertia.p": own[f"rod {i}.inertia.p"] * scale for i in (1, 2, 3)},
    )
    assert result.ok
    return result, np.concatenate([result[f"phi {i}"] for i in (1, 2, 3)], axis=1)


@functools.cache
def reference():
    p = independent.SETS["fit"]
    q = independent.assemble(p, Y)
    H = independent.constraint(p, q, np.zeros(9))[1]
    own, free = [0, 3, 6], [1, 2, 4, 5, 7, 8]
    v = np.zeros(9)
    v[own] = RATES
    v[free] = -np.linalg.solve(H[:, free], H[:, own] @ RATES)
    t = np.linspace(0.0, END, 51)
    drive = lambda time: np.array([-1.2 + a * np.sin(w * time) for a, w in DRIVE])  # noqa: E731
    x = independent.simulate(p, np.concatenate([q, v])[independent.BY_ARMS], t, drive, rtol=1e-10)
    return np.concatenate([x[:, 6 * i : 6 * i + 3] for i in range(3)], axis=1)


def test_thin_rods_move_as_the_arms_of_the_paper():
    result, phi = moved(AXIAL, 1e-7)
    assert np.ptp(phi[:, 0]) > 0.3
    assert np.abs(phi - reference()).max() < 5e-9
    for joint in JOINTS:
        assert np.abs(result[f"{joint}.violation"]).max() < 1e-7
        assert np.abs(result[f"{joint}.constraint.flow"][0]).max() < 1e-12
    assert np.abs(result["tool"] - result["end effector.pose"][:, 4:]).max() == 0.0
    assert np.abs(result["end effector.twist"][:, :3]).max() < 1e-6, "it does not turn"


def test_the_difference_is_proportional_to_the_axial_inertia():
    errors = np.array([np.abs(moved(axial, 1e-8)[1] - reference()).max() for axial in (1e-5, 1e-6, 1e-7)])
    assert np.allclose(errors[:-1] / errors[1:], 10.0, rtol=0.02)
    assert errors[-1] < 2e-7


def test_bookkeeping_of_energy():
    result, _ = moved(1e-6, 1e-9)
    assert result.ledger.relative_residual < 1e-9
