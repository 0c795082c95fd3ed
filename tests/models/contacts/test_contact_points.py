"""`Model.contacts` lists where bodies may touch, by full paths, even in nested graphs."""

import pytest
from screwbond.models import attach_contact, contact, ground, rigid_body

from bondgraph import Graph, ModelError
from screws.surfaces import plane, sphere
from tests.inner.model import ContactPoint, SignalEntry


def ball_on_floor(friction: float | None = 0.5) -> Graph:
    scene = Graph("scene")
    floor = ground("floor", surface=plane())
    ball = rigid_body("ball", mass=1.0, inertia=[0.4, 0.4, 0.4], position=[0, 0, 1.0], surface=sphere(1.0))
    touch = contact(
        "touch",
        floor,
        ball,
        normal_stiffness=1e4,
        tangential_stiffness=1e4,
        tangential_damping=10.0,
        rotational_stiffness=1.0,
        friction=friction,
    )
    attach_contact(scene, touch, floor, ball)
    return scene


def test_contacts_of_a_nested_graph_have_full_paths():
    inner = ball_on_floor()
    whole = Graph("whole")
    whole.add(inner)
    for graph, prefix in ((inner, ""), (whole, "scene.")):
        (point,) = graph.freeze().contacts
        assert point.path == f"{prefix}touch"
        assert point.gap == f"{prefix}touch.kinematics.d"
        assert point.gap_rate == f"{prefix}touch.kinematics.d'"
        assert point.normal == SignalEntry(f"{prefix}touch.X0.effort", 5)
        assert point.slip == (SignalEntry(f"{prefix}touch.Ad.2.flow", 3), SignalEntry(f"{prefix}touch.Ad.2.flow", 4))
        assert point.friction == f"{prefix}touch.friction cone.coefficient"
        assert point.off == ((f"{prefix}touch.switch", "free"), (f"{prefix}touch.friction", "off"))
        assert point.ignored == (f"{prefix}touch.spring.q",)


def test_without_friction_there_is_no_coefficient():
    (point,) = ball_on_floor(friction=None).freeze().contacts
    assert point.friction is None


def test_a_contact_of_a_signal_that_does_not_exist_is_refused():
    graph = ball_on_floor()
    graph.mark_contact(ContactPoint("other", "height", "height'"))
    with pytest.raises(ModelError) as caught:
        graph.freeze()
    assert {problem.code for problem in caught.value.problems} == {"E106"}
    assert "other (contact)" in str(caught.value)
