"""State space and transfer functions, continuous and sampled, agree with closed forms and python-control."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import signal
from scipy.linalg import expm

from bondgraph import Graph, signals
from bondgraph.analysis import linearise
from tests.signals.chains import chain

A, B, C = np.array([[0.0, 1.0], [-4.0, -0.4]]), np.array([[0.0], [1.0]]), np.array([[1.0, 0.0]])
NUM, DEN = [1.0], [1.0, 0.4, 4.0]


def response(*blocks: Any, t_end: float = 3.0, samples: float = 0.05) -> Any:
    return chain(signals.step("u", -1.0, after=2.0), *blocks).simulate(t_end, samples=samples, rtol=1e-11, progress=False)


def exact(t: float) -> np.ndarray:
    """Return x(t) of x' = A x + 2 B from rest."""
    return np.asarray(np.linalg.solve(A, (expm(A * t) - np.eye(2)) @ B[:, 0] * 2.0))


def linear() -> Any:
    graph = Graph("plant").add(
        signals.step("push", after=0.0), signals.gain("pull", "x.y", -4.0), signals.gain("brake", "v.y", -0.4)
    )
    graph.add(signals.summation("force", {"push.y": 1, "pull.y": 1, "brake.y": 1}))
    graph.add(signals.integrator("v", "force.y"), signals.integrator("x", "v.y"))
    return linearise(graph, ["push.after"], ["x.y"])


def test_all_forms_of_one_system_answer_alike() -> None:
    whole = {
        "matrices": signals.state_space("matrices", "u.y", A, B[:, 0], C),
        "lists": signals.state_space("lists", "u.y", A.tolist(), B.tolist(), C.tolist(), 0.0),
        "quotient": signals.transfer_function("quotient", "u.y", NUM, DEN),
        "scipy": signals.state_space("scipy", "u.y", signal.StateSpace(A, B, C, 0.0)),
        "scipy quotient": signals.transfer_function("scipy quotient", "u.y", signal.TransferFunction(NUM, DEN)),
        "linear": signals.state_space("linear", "u.y", linear()),
        "linear quotient": signals.transfer_function("linear quotient", "u.y", linear()),
    }
    run = response(*whole.values())
    for name in whole:
        assert run[f"{name}.y"][-1] == pytest.approx(exact(3.0)[0], rel=1e-8), name


def test_several_inputs_and_outputs() -> None:
    matrices = (A, np.hstack([B, 0.0 * B]), np.eye(2), np.array([[0.0, 0.0], [0.0, 3.0]]))
    both = signals.state_space("both", "u.y", [], [], [], [[1.0], [-0.5]])
    two, one = signals.state_space("two", ["u.y", "w.y"], *matrices), signals.state_space("one", "both.y", *matrices)
    run = response(signals.step("w", -1.0, after=-1.0), two, both, one)
    expected = exact(3.0)
    for name in ("two.y", "one.y"):
        np.testing.assert_allclose(run[name][-1], [expected[0], expected[1] - 3.0], rtol=1e-8)
    loop = signals.state_space("loop", "back.y", [[-1.0]], [1.0], [1.0], [0.0], initial=[1.0])
    assert response(loop, signals.gain("back", "loop.y", -1.0))["loop.y"][-1] == pytest.approx(np.exp(-6.0), rel=1e-8)


def test_sampled_systems_follow_their_recursion() -> None:
    """y[k] is held from tick k, and a row at a tick shows the previous value."""
    h, d = 0.1, [[0.5]]
    a, b = expm(A * h), np.linalg.solve(A, (expm(A * h) - np.eye(2)) @ B)
    sampled = signal.dlti(a, b, C, d, dt=h)
    run = response(
        signals.state_space("x", "u.y", a, b, C, d, period=h),
        signals.state_space("object", "u.y", sampled),
        signals.transfer_function("quotient", "u.y", signal.TransferFunction(sampled)),
        signals.transfer_function("late", "u.y", [1.0], [1.0, 0.0], period=h, offset=0.05, initial=[7.0]),
        signals.transfer_function("static", "u.y", [3.0], [2.0], period=h),
        samples=h / 2.0,
    )
    x, y = np.zeros(2), []
    for _ in range(30):
        y.append((C @ x)[0] + 0.5 * 2.0)
        x = a @ x + b[:, 0] * 2.0
    for name in ("x", "object", "quotient"):
        np.testing.assert_allclose(run[f"{name}.y"][1::2], y, rtol=1e-9, err_msg=name)
    assert run["late.y"][[1, 2, 3, 4]].tolist() == [0.0, 7.0, 7.0, 2.0]
    assert run["static.y"][1] == 3.0


def test_systems_of_python_control() -> None:
    control = pytest.importorskip("control")
    continuous, quotient = control.ss(A, B, C, 0.0), control.tf(NUM, DEN)
    sampled = control.c2d(continuous, 0.1)
    run = response(
        signals.state_space("x", "u.y", continuous),
        signals.transfer_function("y", "u.y", quotient),
        signals.transfer_function("z", "u.y", control.tf(sampled)),
        signals.state_space("static", ["u.y", "x.y"], control.ss([], [], [], [[5.0, 1.0]])),
    )
    for name in ("x", "y"):
        assert run[f"{name}.y"][-1] == pytest.approx(exact(3.0)[0], rel=1e-8)
    assert run["z.y"][-1] == pytest.approx(exact(2.9)[0], rel=1e-8)
    assert run["static.y"][-1] == pytest.approx(10.0 + exact(3.0)[0], rel=1e-8)
    graph = chain(signals.step("u"), signals.state_space("x", "u.y", continuous))
    poles = graph.compile(progress=False).linearise(["u.after"], ["x.y"]).to_control().poles()
    np.testing.assert_allclose(np.sort_complex(poles), np.sort_complex(continuous.poles()), rtol=1e-12)
