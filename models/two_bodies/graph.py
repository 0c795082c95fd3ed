"""Two bodies and a contact as one graph, from a scenario file."""

from __future__ import annotations

from screwbond.models.contacts import attach_contact, contact
from screwbond.models.gravity import attach_central_gravity, central_gravity
from screwbond.models.two_bodies.body_fields import MOTIONS
from screwbond.models.two_bodies.scenario import Scenario

from bondgraph import Graph

CONTACT = "contact"
"""Name of the contact in the graph."""


def two_body_graph(scenario: Scenario) -> Graph:
    """The graph of a scenario: bodies `<surface> 1` and `<surface> 2`, `contact`, and `gravity` where it is central."""
    graph = Graph(scenario.name)
    named = zip(body_names(scenario), (scenario.body1, scenario.body2), strict=True)
    body1, body2 = (MOTIONS[spec.motion].body(name, spec, scenario.gravity.vector) for name, spec in named)
    law = scenario.contact
    touching = contact(
        CONTACT,
        body1,
        body2,
        constrained=law.constrained,
        normal_stiffness=law.k_n,
        normal_damping=law.c_n,
        tangential_stiffness=law.k_t,
        tangential_damping=law.r_t,
        rotational_stiffness=law.k_w,
        rotational_damping=law.r_w,
        friction=law.friction,
        torsional_friction=law.torsional_friction,
        transport=law.transport,
    )
    attach_contact(graph, touching, body1, body2)
    if scenario.gravity.is_central:
        assert scenario.body2.mass is not None
        pull = central_gravity("gravity", body2, body1, scenario.body2.mass * scenario.gravity.g0)
        attach_central_gravity(graph, pull, body2, body1)
    return graph


def body_names(scenario: Scenario) -> tuple[str, str]:
    """Names of the two bodies in the graph."""
    return f"{scenario.body1.surface_type} 1", f"{scenario.body2.surface_type} 2"
