"""Under applied forces, torques and wrenches, momenta agree with closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from screwbond.models import BodyInertia, Chain, Link, attach_force, chain_graph, force, rigid_body, torque, wrench
from screwbond.models.pictures import scene_of

from bondgraph import Block, Graph, ModelError, compile_model, simulate
from screws import joints

AT, FORCE, TORQUE = np.array([0.3, -0.2, 0.1]), np.array([1.0, 2.0, -0.5]), np.array([0.4, -0.3, 0.2])
ANGLE = 0.6
QUATERNION = (np.cos(ANGLE / 2), np.sin(ANGLE / 2), 0.0, 0.0)
R = np.array([[1, 0, 0], [0, np.cos(ANGLE), -np.sin(ANGLE)], [0, np.sin(ANGLE), np.cos(ANGLE)]])


def body(name: str = "body", **options: Any) -> Any:
    return rigid_body(name, mass=2.0, inertia=(0.1, 0.2, 0.3), quaternion=QUATERNION, position=(3.0, 1.0, 2.0), **options)


def momentum_rate(graph: Graph, t: float = 0.0) -> Any:
    compiled = compile_model(graph, backend="numpy")
    x, m = compiled.initial()
    return compiled.program.rates(t, x, compiled.parameters(), m)[compiled.program.layout["body.inertia.p"].start :][:6]


@pytest.mark.parametrize("axes", ["world", "body"])
@pytest.mark.parametrize("kind", ["force", "torque", "wrench"])
def test_the_momentum_of_a_body_at_rest_grows_with_the_wrench_in_its_axes(kind: str, axes: str) -> None:
    part = {
        "force": lambda: force("push", FORCE, at=AT, axes=axes),
        "torque": lambda: torque("push", TORQUE, axes=axes),
        "wrench": lambda: wrench("push", [*TORQUE, *FORCE], at=AT, axes=axes),
    }[kind]()
    graph = Graph("g")
    attach_force(graph, part, body())
    turned = np.eye(3) if axes == "body" else R.T
    f = turned @ FORCE * (kind != "torque")
    moment = turned @ TORQUE * (kind != "force") + np.cross(AT, f)
    assert np.allclose(momentum_rate(graph), [*moment, *f], rtol=0, atol=1e-14)


def test_a_thrust_turns_with_its_body_and_its_work_is_in_the_account() -> None:
    """A force F along the x axis of a body that turns about z at the rate w gives v = F / (m w) (sin wt, 1 - cos wt)."""
    w, graph = 2.0, Graph("rocket")
    rocket = rigid_body("rocket", mass=2.0, inertia=(0.1, 0.2, 0.3), angular_velocity=(0, 0, w))
    attach_force(graph, force("thrust", (3.0, 0.0, 0.0), axes="body"), rocket)
    run = simulate(graph, 1.0, rtol=1e-10)
    v = 3.0 / (2.0 * w) * np.array([np.sin(w), 1.0 - np.cos(w)])
    assert np.allclose(run["thrust.wrench"][-1, 3:], [3 * np.cos(w), 3 * np.sin(w), 0.0], atol=1e-8)
    assert np.allclose(run["thrust.velocity"][-1, :2], [[np.cos(w), np.sin(w)], [-np.sin(w), np.cos(w)]] @ v, atol=1e-8)
    assert run.ledger.supplied[-1] == pytest.approx(v @ v, rel=1e-8)  # m / 2 is 1
    arrow = scene_of(run).forces[0]
    assert np.allclose(arrow.newtons, run["thrust.wrench"][:, 3:]) and np.allclose(arrow.points, run["rocket.pose"][:, 4:])


def test_a_function_reads_signals_of_the_graph_around_it_by_order_or_by_name() -> None:
    for read, law in (
        (["place.y", "time"], lambda y, t: (y + t, 0.0, 0.0)),
        ({"t": "time", "y": "place.y"}, lambda y, t: (y + t, 0.0, 0.0)),
    ):
        graph = Graph("g")
        graph.add(Block("place", [("y", lambda t: 5.0 + t, ["t"])], inputs={"t": "time"}))
        attach_force(graph, force("push", law, signals=read), body())
        assert momentum_rate(graph, 0.5)[3] == 6.0


def test_a_force_on_a_link_moves_the_joint_by_its_lever() -> None:
    arm = Chain("arm", (Link("bar", joints.revolute((0, 0, 1)), BodyInertia(1.0, np.full(3, 0.1))),))
    graph, moving = Graph("g"), chain_graph(arm, ports="bar")
    attach_force(graph, force("push", (0.0, 2.0, 0.0), at=(0.5, 0.0, 0.0)), moving.link("bar"))
    compiled = compile_model(graph, backend="numpy")
    x, m = compiled.initial()
    assert compiled.program.rates(0.0, x, compiled.parameters(), m)[1] == pytest.approx(0.5 * 2.0 / 0.1, rel=1e-14)


def refused(code: str, text: str, call: Any) -> None:
    with pytest.raises(ModelError) as caught:
        call()
    assert [problem.code for problem in caught.value.problems] == [code] and text in str(caught.value)


def test_forces_that_do_not_fit_are_refused() -> None:
    refused("E337", "the axes of \"f\" are 'tool'", lambda: force("f", FORCE, axes="tool"))
    refused("E337", "the point of", lambda: force("f", FORCE, at=(0.0, 1.0)))
    refused("E337", "has the components", lambda: force("f", (0.0, np.nan, 0.0)))
    refused("E337", "6 finite numbers", lambda: wrench("f", FORCE))
    push, car, wheel = force("push", FORCE), Graph("car"), body("wheel")
    car.add(wheel)
    refused("E336", "not a body", lambda: attach_force(car, push, "wheel"))  # type: ignore[arg-type]
    refused("E336", "not an applied force", lambda: attach_force(car, wheel, wheel))
    around = Graph("road")
    around.add(car)
    refused("E336", '"wheel", which is inside "car" and not in "road"', lambda: attach_force(around, push, wheel))
    attach_force(around["car"], push, wheel)  # type: ignore[arg-type]
    assert around.freeze().elements
