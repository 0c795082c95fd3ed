"""Compliant contacts tend to rigid ones as mass and compliance vanish, and steps converge as the step size vanishes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from screwbond.models import Compliant, Rigid, attach_contact, contact, ground, rigid_body

from bondgraph import J0, J1, C, Graph, R, Sf, simulate
from bondgraph.stepping import stepper
from screws.surfaces import plane, sphere

MU, WEIGHT, SPEED, STIFFNESS, T_END = 0.5, 9.81, 0.1, 200.0, 0.5
WORLD: dict[str, Any] = {"domain": "screw", "frame": "0"}


def pulled(mass: float, law: Compliant | Rigid) -> Graph:
    """Return a ball of weight 9.81 N, for any mass, pulled over the floor through a spring that keeps it from rolling."""
    graph = Graph("pulled")
    body = rigid_body(
        "ball",
        mass=mass,
        inertia=(0.004 * mass,) * 3,
        surface=sphere(0.1),
        position=(0.0, 0.0, 0.1),
        gravity=(0.0, 0.0, -WEIGHT / mass),
    )
    floor = ground("floor", surface=plane())
    held = ["v_z"] if law == Rigid() else ["v_x", "v_y", "v_z"]
    touch = contact("touch", floor, body, constrained=held, law=law)
    attach_contact(graph, touch, floor, body)
    servo, stretch = J0("servo", dimension=6, **WORLD), J1("stretch", dimension=6, **WORLD)
    graph.connect(Sf("command", (0.0, 0.0, 0.0, SPEED, 0.0, 0.0), dimension=6, **WORLD), servo).connect(servo, stretch)
    stiff = np.diag([10.0, 10.0, 10.0, STIFFNESS, STIFFNESS, 0.0])
    graph.connect(stretch, C("spring", stiffness=stiff, initial=np.zeros(6), **WORLD))
    graph.connect(stretch, R("damper", np.diag([0.02, 0.02, 0.02, 2.0, 2.0, 0.0]), **WORLD))
    return graph.connect(servo, body.world)


def test_compliant_contacts_tend_to_rigid_ones() -> None:
    """The ball slides once the spring force is mu N, then lags behind the command by mu N / k."""
    rigid = stepper(pulled(1.0, Rigid(MU))).simulate(T_END, step=0.01)
    assert rigid["ball.pose"][-1, 4] == pytest.approx(SPEED * T_END - MU * WEIGHT / STIFFNESS, abs=1e-9)
    off = []
    for mass, stiffness in ((0.1, 1e4), (0.02, 5e4), (0.004, 25e4)):
        damping = 2.0 * np.sqrt(mass * stiffness)
        law = Compliant(
            normal_stiffness=stiffness,
            normal_damping=damping,
            tangential_stiffness=stiffness,
            tangential_damping=damping,
            friction=MU,
        )
        soft = simulate(pulled(mass, law), T_END, progress=False)
        assert soft.ok
        off.append(abs(soft["ball.pose"][-1, 4] - rigid["ball.pose"][-1, 4]))
        assert soft["touch.gap"][-1] == pytest.approx(-WEIGHT / stiffness, rel=1e-6)
    assert off[2] < 0.4 * off[1] < 0.04 * off[0] and off[2] < 1e-5
    assert soft["spring.effort"][-1, 3] == pytest.approx(rigid["spring.effort"][-1, 3], abs=1e-6)


def test_damped_steps_tend_to_those_without_inertia() -> None:
    exact = stepper(pulled(1.0, Rigid(MU))).simulate(T_END, step=0.01)["ball.pose"][:, 4]
    off = []
    for mass in (1e-3, 1e-4):
        damped = stepper(pulled(mass, Rigid(MU)), inertia="damped").simulate(T_END, step=0.01)
        off.append(np.abs(damped["ball.pose"][:, 4] - exact).max())
    assert off[1] < 0.2 * off[0] and off[1] < 1e-5


def test_steps_with_inertia_tend_to_finer_ones() -> None:
    law = Rigid(MU)
    made, off = stepper(pulled(1.0, law), inertia="full"), []
    fine = made.simulate(T_END, step=1.25e-4)["ball.pose"][-1, 4]
    for h in (4e-3, 2e-3):
        off.append(abs(made.simulate(T_END, step=h)["ball.pose"][-1, 4] - fine))
    assert off[1] < 0.7 * off[0]


def test_the_wrench_of_a_run_is_that_of_its_steps() -> None:
    law = Compliant(normal_stiffness=1e4, normal_damping=60.0, tangential_stiffness=1e4, tangential_damping=60.0, friction=MU)
    soft = simulate(pulled(0.1, law), T_END, progress=False)["touch.wrench"][-1]
    for given in (Rigid(MU), Rigid()):
        found = stepper(pulled(1.0, given)).simulate(T_END, step=0.01)["touch.wrench"][-1]
        expected = soft if given == Rigid(MU) else (0.0, 0.0, 0.0, 0.0, 0.0, soft[5])
        np.testing.assert_allclose(found, expected, atol=1e-6)
