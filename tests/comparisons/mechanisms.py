"""Two mechanisms with clearances from the literature, as graphs: a slider-crank and a woodpecker toy."""

from __future__ import annotations

from typing import Any

import numpy as np
from screwbond.models import planar_contact

from bondgraph import IC, J1, TF, Automaton, Block, C, Constraint, Graph, I, Se, StateSpec, Transition
from screws.scalars import array, cos, sin


def slider_crank(restitution: float) -> Graph:
    """Return a crank, a rod and a slider with play in its guide (Flores et al. 2011).

    At each end of the slider, the upper or the lower corner can touch, so the two corners share an automaton.
    """
    l1, l2, a, b, play = 0.153, 0.306, 0.05, 0.025, 0.001
    m1, m2, m3, J1_, J2_, J3_, g = 0.038, 0.038, 0.076, 7.4e-5, 5.9e-4, 2.7e-6, 9.81

    def inertia(q: Any) -> Any:
        both = (0.5 * m2 + m3) * l1 * l2 * cos(q[1] - q[0])
        crank, rod = J1_ + (0.25 * m1 + m2 + m3) * l1**2, J2_ + (0.25 * m2 + m3) * l2**2
        return array([[crank, both, 0.0], [both, rod, 0.0], [0.0, 0.0, J3_]])

    def height(q: Any) -> Any:
        return (0.5 * m1 + m2 + m3) * g * l1 * sin(q[0]) + (0.5 * m2 + m3) * g * l2 * sin(q[1])

    graph, rates = Graph("slider-crank"), J1("rates", dimension=3)
    start = {"position": np.zeros(3), "velocity": np.array([150.0, -75.0, 0.0])}
    graph.connect(rates, IC("mechanism", inertia=inertia, potential=height, **start))
    for end, along in (("rear", -1.0), ("front", 1.0)):
        edges = []
        for side, up in (("above", 1.0), ("below", -1.0)):
            name = f"{end} {side}"

            def gap(q: Any, along: float = along, up: float = up) -> Any:
                middle = l1 * sin(q[0]) + l2 * sin(q[1])
                return b + play - up * (middle + along * a * sin(q[2]) + up * b * cos(q[2]))

            held = Constraint(
                name, position=gap, coordinates={"mechanism.q": 3}, automaton=end, active=[side], restitution=restitution
            )
            graph.connect(rates, held.port("1"))
            edges += [
                Transition("free", "free", lambda h: -h, (f"{name}.h",), kind=f"hit {side}", impact=(name,), accumulates=side),
                Transition(side, "free", lambda f: -f, (f"{name}.multiplier",), kind=f"off {side}"),
            ]
        graph.add_automaton(Automaton(end, ("free", "above", "below"), "free", tuple(edges)))
    return graph


def woodpecker() -> Graph:
    """Return a woodpecker toy (Glocker 2001), whose sleeve slides and jams on a pole and carries a bird on a spring."""
    r_O, r_M, h_M, l_M, l_G, h_S, l_S = 0.0025, 0.0031, 0.0058, 0.010, 0.015, 0.02, 0.0201
    m_M, m_S, J_M, J_S, spring, g = 0.0003, 0.0045, 5e-9, 7e-7, 0.0056, 9.81
    along = np.array([1.0, l_M, l_G])
    masses = m_S * np.outer(along, along) + np.diag([m_M, J_M, J_S])
    q, v = np.array([0.0, -0.1036, -0.2788]), np.array([-0.3411, 4.8572e-15, -7.4583])
    graph, rates = Graph("woodpecker"), J1("rates", dimension=3)
    graph.connect(rates, I("masses", masses, initial=masses @ v))
    graph.connect(Se("weight", -g * (m_S * along + [m_M, 0.0, 0.0])), rates)
    bend = TF("bend", np.array([0.0, -1.0, 1.0]))
    graph.connect(rates, bend).connect(bend, C("spring", stiffness=spring, initial=q[2] - q[1]))
    for name, normal, tangent, clearance in (
        ("beak", (0.0, 0.0, -h_S), (1.0, l_M, l_G - l_S), l_M + l_G - l_S - r_O),
        ("lower edge", (0.0, h_M, 0.0), (1.0, r_M, 0.0), r_M - r_O),
        ("upper edge", (0.0, -h_M, 0.0), (1.0, r_M, 0.0), r_M - r_O),
    ):
        touch = planar_contact(name, gap=float(np.dot(normal, q)) + clearance, friction=0.3)
        for port, row in (("normal", normal), ("tangent", tangent)):
            arm = TF(f"{name} {port}", np.array(row))
            graph.connect(rates, arm).connect(arm, touch.port(port))
    states, rates_of = {"q": StateSpec(q)}, {"q": "rate"}
    graph.add(Block("place", [("rate", lambda v: v, ["v"])], inputs={"v": "masses.flow"}, states=states, rates=rates_of))
    return graph
