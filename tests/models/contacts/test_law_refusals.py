"""Impossible contact laws are refused with a code and a cure."""

from __future__ import annotations

from typing import Any

import pytest
from screwbond.models import attach_contact, contact, ground, rigid_body
from screwbond.models.contacts import LAWS, Compliant, Impact, Maxwell, Rigid, ThreeState, VirtualSpring, Viscoelastic

from bondgraph import Graph, ModelError, RunEndedWarning, compile_model
from bondgraph.stepping import stepper
from screws.surfaces import plane, sphere

REFUSED: list[tuple[Any, dict[str, Any], str, str]] = [
    (Viscoelastic(1e5, 1e4), {"constrained": "rolling"}, "E435", "omega_z, v_x, v_y"),
    (Maxwell(1e5, 1e4), {"constrained": ["v_x"]}, "E435", "v_x"),
    (Impact(0.5), {"constrained": ["v_x", "v_y"]}, "E435", "cannot leave v_z free"),
    (Rigid(), {"constrained": ["v_x", "v_y", "v_z"]}, "E435", "v_x, v_y"),
    (Rigid(0.5), {"constrained": "rolling"}, "E435", "omega_z"),
    (Viscoelastic(0.0, 1e4), {}, "E436", "k = 0.0"),
    (Viscoelastic(None, 1e4), {}, "E436", "k = None"),
    (Viscoelastic(1e5, -1.0), {}, "E436", "c = -1.0"),
    (VirtualSpring(1e5, 0.0), {}, "E436", "restitution = 0.0"),
    (VirtualSpring(float("inf"), 0.5), {}, "E436", "k = inf"),
    (Maxwell(1e5, "much"), {}, "E436", "c = 'much'"),
    (Impact(-0.1), {}, "E436", "restitution = -0.1"),
    (Impact(1.1), {}, "E436", "restitution = 1.1"),
    (Impact(float("nan")), {}, "E436", "restitution = nan"),
    (Impact(True), {}, "E436", "restitution = True"),
    (ThreeState(-1.0, 25.0), {}, "E436", "alpha1 = -1.0"),
    (ThreeState(10.0, 25.0, (1.0, 2.0)), {}, "E436", "alpha2"),
    (Rigid(-0.5), {}, "E490", "friction = -0.5"),
    (Impact, {}, "E438", "law = Impact"),
    ("impact", {}, "E438", "law = 'impact'"),
    (0.8, {}, "E438", "law = 0.8"),
    (Impact(0.5), {"normal_stiffness": 1e5}, "E438", "a law and also normal_stiffness"),
    (Compliant(normal_stiffness=1e5), {"friction": 0.3}, "E438", "a law and also friction"),
    (Compliant(), {"constrained": "v_z"}, "E422", "normal_stiffness = None"),
    (Impact(0.5, friction=-0.3), {}, "E490", "friction = -0.3"),
    (ThreeState(10.0, 25.0, friction=0.3), {"constrained": ["v_z"]}, "E491", "leaves v_x, v_y free"),
    (ThreeState(10.0, 25.0, friction="much"), {}, "E490", "'much'"),
    (Rigid(friction=0.3), {"constrained": ["v_z"]}, "E491", "leaves v_x, v_y free"),
    (None, {"constrained": "v_z"}, "E422", "normal_stiffness = None"),
]


@pytest.mark.parametrize(("law", "options", "code", "words"), REFUSED, ids=[f"{code} {words}" for *_, code, words in REFUSED])
def test_laws_that_cannot_be(law: Any, options: dict[str, Any], code: str, words: str) -> None:
    ball = rigid_body("ball", mass=1.0, inertia=(1.0,) * 3, surface=sphere(0.1))
    with pytest.raises(ModelError) as caught:
        contact("touch", ground("floor", surface=plane()), ball, law=law, **options)
    problem = caught.value.problems[0]
    assert problem.code == code and words in problem.title and '"touch"' in problem.title and problem.cures
    assert problem.places[0].file == __file__
    cures = {"E491": "constrained=['v_x', 'v_y', 'v_z']", "E422": "normal_stiffness=..."}
    assert cures.get(code) in (None, problem.cures[0])


@pytest.mark.parametrize("law", [Impact(0.5, friction=0.3), ThreeState(20.0, 100.0, friction=0.3)], ids=str)
def test_two_ideal_contacts_with_friction_in_a_groove_are_advised_to_be_compliant(law: Any) -> None:
    def groove(law: Any) -> Graph:
        graph = Graph("groove")
        ball = rigid_body("ball", mass=1.0, inertia=(4e-3,) * 3, surface=sphere(0.1), position=(0.0, 0.0, 0.1 * 2.0**0.5))
        for side in (1.0, -1.0):
            wall = ground(f"wall {side:g}", surface=plane(), quaternion=(0.92387953251, 0.0, side * 0.38268343236, 0.0))
            attach_contact(graph, contact(f"touch {side:g}", wall, ball, law=law))
        return graph

    with pytest.raises(ModelError, match="E212") as caught:
        compile_model(groove(law))
    ((cure,),) = (problem.cures for problem in caught.value.problems)
    assert "a compliant contact" in cure and 'constraint "touch -1.normal"' in cure
    stiff = Compliant(normal_stiffness=1e4, tangential_stiffness=1e3, tangential_damping=10.0, friction=0.3)
    assert compile_model(groove(stiff)).simulate(1e-3, progress=False).ok


STIFF = Compliant(normal_stiffness=1e5, tangential_stiffness=1e5, tangential_damping=1e2, friction=0.3)
NOT_RIGID = (STIFF, Viscoelastic(1e5, 1e4), VirtualSpring(1e5, 0.5), Maxwell(1e5, 1e3), Impact(0.5), ThreeState(20.0, 100.0))


@pytest.mark.parametrize("law", NOT_RIGID, ids=lambda law: type(law).__name__)
def test_steps_refuse_every_contact_law_but_the_rigid_one(law: Any) -> None:
    def stepped(law: Any) -> Any:
        ball = rigid_body("ball", mass=1.0, inertia=(4e-3,) * 3, surface=sphere(0.1), position=(0.0, 0.0, 0.1))
        touch = contact("touch", ground("floor", surface=plane()), ball, law=law)
        return stepper(attach_contact(Graph("steps"), touch), "full")

    assert {*map(type, NOT_RIGID), Rigid} == set(LAWS)
    with pytest.raises(ModelError, match='E502 a step cannot contain contact "touch"') as caught:
        stepped(law)
    (problem,) = caught.value.problems
    assert problem.places[0].file == __file__ and problem.cures[0].startswith("law=Rigid(friction=")
    assert stepped(Rigid(0.3)).simulate(0.01, step=1e-3, progress=False).ok


def test_a_ball_without_friction_needs_inertia_in_steps() -> None:
    """Nothing resists its rotation, so quasi-static steps do not determine it; the advice of the message does."""

    def stepped(inertia: str = "ignored", **law: Any) -> Any:
        ball = rigid_body(
            "ball", mass=1.0, inertia=(4e-3,) * 3, surface=sphere(0.1), position=(0.0, 0.0, 0.1), gravity=(0.0, 0.0, -9.81)
        )
        touch = contact("touch", ground("floor", surface=plane()), ball, law=Rigid(**law))
        return stepper(attach_contact(Graph("steps"), touch), inertia).simulate(0.01, step=1e-3, progress=False)

    with pytest.warns(RunEndedWarning, match="E511"):
        failure = stepped().failure
    assert "the motion of a step is not determined" in failure.reason and 'inertia="damped"' in str(failure)
    assert stepped("damped").ok and stepped("full").ok and stepped(friction=0.3).ok
