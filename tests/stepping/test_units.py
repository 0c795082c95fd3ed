"""Time stepping gives the same motion in other units, with lengths in nm or km and forces in uN or MN."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from screwbond.models import Rigid, attach_contact, attach_planar_contact, contact, ground, planar_body, rigid_body

from bondgraph import J0, C, Graph, Se, Sf
from bondgraph.stepping import stepper
from screws.scalars import array
from screws.surfaces import plane, sphere
from tests.inner.run import Result

UNITS = [(1e3, 1e3), (1e6, 1e6), (1e9, 1e-6), (1e9, 1.0), (1e-3, 1e-6), (1e-9, 1.0)]
"""Units of length per metre, and of force per newton."""


def held(length: float, force: float) -> Graph:
    graph, stiffness = Graph("held"), force / length
    body = planar_body(
        "block", mass=stiffness, inertia=0.01 * force * length, place=(0.0, 0.2 * length, 0.0), gravity=9.81 * length
    )
    for name, x in (("rear", -0.3), ("front", 0.3)):
        attach_planar_contact(graph, name, (body, (x * length, -0.2 * length)), (None, (0.0, 1.0), 0.0), friction=0.3)
    servo = J0("servo", dimension=3)
    graph.connect(Sf("command", (0.1 * length, 0.0, 0.0)), servo).connect(servo, body.motion)
    graph.connect(Se("load", (0.0, -30.0 * force, 2.0 * force * length)), body.motion)
    return graph.connect(servo, C("spring", stiffness=np.diag([400.0 * stiffness, 0.0, 0.0]), initial=np.zeros(3)))


def pulled(length: float, force: float) -> Graph:
    graph, stiffness, angle = Graph("pulled"), force / length, math.pi / 7
    inertia = (0.004 * force * length,) * 3
    start, down = (0.0, 0.0, 0.1 * length), (0.0, 0.0, -9.81 * length)
    body = rigid_body("ball", mass=stiffness, inertia=inertia, surface=sphere(0.1 * length), position=start, gravity=down)
    floor = ground("floor", surface=plane())
    attach_contact(graph, contact("touch", floor, body, law=Rigid(friction=0.5)), floor, body)
    servo = J0("servo", dimension=6, domain="screw", frame="0")
    speed = (0.0, 0.0, 0.0, 0.1 * length * math.cos(angle), 0.1 * length * math.sin(angle), 0.0)
    stiff = np.diag([1e3 * force * length] * 3 + [200.0 * stiffness] * 2 + [0.0])
    graph.connect(Sf("command", lambda *_: array(speed), signals=["time"], dimension=6, domain="screw", frame="0"), servo)
    graph.connect(servo, C("spring", stiffness=stiff, initial=np.zeros(6), domain="screw", frame="0"))
    return graph.connect(servo, body.world)


@cache
def held_run(inertia: str, length: float = 1.0, force: float = 1.0) -> Result:
    return stepper(held(length, force), inertia=inertia).simulate(0.6, step=0.02)


@cache
def pulled_run(inertia: str, facets: int | str, length: float = 1.0, force: float = 1.0) -> Result:
    return stepper(pulled(length, force), inertia=inertia, facets=facets).simulate(0.6, step=0.05)


@pytest.mark.parametrize("length, force", UNITS)
@pytest.mark.parametrize("inertia", ["ignored", "full"])
def test_in_a_plane(inertia: str, length: float, force: float) -> None:
    found, known = held_run(inertia, length, force), held_run(inertia)
    assert known["spring.effort"][-1, 0] == pytest.approx(0.3 * 39.81, rel=1e-6 if inertia == "ignored" else 0.2)
    found_places, known_places = (result["block.place"][:, :2] for result in (found, known))
    np.testing.assert_allclose(found_places / length, known_places, rtol=0.0, atol=1e-9)
    for one in ("normal force", "friction force"):
        total, right = (sum(result[f"{name}.{one}"] for name in ("rear", "front")) for result in (found, known))
        np.testing.assert_allclose(total / force, right, rtol=0.0, atol=1e-6)


# Beyond 1e6, the patch of a plane ends and closest points are not found. Each unit appears with each inertia and kind of cone.
PAIRED = [
    (units, *how)
    for k, units in enumerate(units for units in UNITS if units[0] < 1e9)
    for how in ((("ignored", 8), ("full", "cone")) if k % 2 else (("ignored", "cone"), ("full", 8)))
]


@pytest.mark.parametrize("units, inertia, facets", PAIRED)
def test_in_space(units: tuple[float, float], inertia: str, facets: int | str) -> None:
    length, force = units
    found, known = pulled_run(inertia, facets, length, force), pulled_run(inertia, facets)
    assert found.statistics.quadratic_programs <= 2 * known.statistics.quadratic_programs
    assert [(e.name, e.kind, e.time) for e in found.events] == [(e.name, e.kind, e.time) for e in known.events] != []
    np.testing.assert_allclose(found["ball.pose"][:, 4:] / length, known["ball.pose"][:, 4:], rtol=0.0, atol=1e-9)
    for one in ("normal force", "friction force"):
        np.testing.assert_allclose(found[f"touch.{one}"] / force, known[f"touch.{one}"], rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("facets", [8, "cone"])
def test_a_spring_a_little_askew_holds_nothing(facets: int | str) -> None:
    """The spring's vertical stiffness is 8e-10 N/m, so its deflection of 1e10 m under the weight is no length scale."""
    made = stepper(pulled(1.0, 1.0), facets=facets)
    step = made.step(made.step(h=0.02), h=0.02)
    state = step.state.copy()
    layout = made.steps.compiled.program.layout
    state[[layout.label("x", k) for k in range(len(state))].index("ball.pose.H[1]")] += 1e-6
    after = made.step(state, h=0.02, t=0.04)
    assert after.mode == ("stick",) and after.normal == pytest.approx([9.81]) and np.abs(after.dq).max() < 1e-8
