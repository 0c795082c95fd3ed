"""Transitions from one state with the same guard and different targets are refused."""

import pytest

from bondgraph import J1, Automaton, Graph, I, ModelError, Se, Transition
from screws.scalars import minimum


def speed(v):
    return v - 1.0


def cart(*edges):
    """Return a cart with an automaton of the transitions (source, target, guard, signals)."""
    graph, v = Graph("cart"), J1("v", domain="translation")
    graph.connect(Se("f", 2.0), v).connect(v, I("m", mass=1.0))
    transitions = tuple(Transition(*edge) for edge in edges)
    return graph.add_automaton(Automaton("gear", ("low", "high", "top"), "low", transitions))


@pytest.mark.parametrize(
    ("guard", "other", "reads"),
    [
        (speed, speed, "v.flow"),
        (speed, lambda v: v - 1.0, "v.flow"),
        (speed, lambda v: -1.0 + v, "m.flow"),
        (lambda v, t: minimum(v - 1.0, t), lambda v, t: minimum(v - 1.0, t), ("v.flow", "time")),
        (lambda v: v > 1.0, lambda u: u > 1.0, "v.flow"),
    ],
)
def test_same_guards_to_unlike_targets_are_refused_in_any_order(guard, other, reads):
    edges = [("low", "high", guard, reads), ("low", "top", other, reads)]
    for listed in (edges, edges[::-1]):
        with pytest.raises(ModelError, match=r'(?s)E217.*"gear".*"low".*only one of these transitions'):
            cart(*listed).compile()


def test_guards_that_differ_or_lead_the_same_way_compile():
    reads = ("v.flow", "time")
    unlike = [("low", "high", speed, "v.flow"), ("low", "top", lambda v: v - 2.0, "v.flow")]
    elsewhere = [("low", "high", speed, "v.flow"), ("high", "top", speed, "v.flow")]
    alike = [("low", "high", speed, "v.flow"), ("low", "high", speed, "v.flow")]
    never = [("low", "high", lambda v: v * 0.0 - 1.0, "v.flow"), ("low", "top", lambda v: -1.0, "v.flow")]
    advised = [
        ("low", "high", lambda v, t: minimum(v - 1.0, t - 0.6), reads),
        ("low", "top", lambda v, t: minimum(v - 1.0, 0.6 - t), reads),
    ]
    for edges in (unlike, elsewhere, alike, never, advised):
        assert cart(*edges).compile()
    assert cart(*advised).simulate(1.0).events.kinds == ["gear: low to top"]
