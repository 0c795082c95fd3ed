"""Messages about wrong bonds, parts and signals state what to write, and the advice works."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import J0, J1, TF, C, Graph, I, ModelError, R, Se, Sf, signals
from models import Compliant, attach_between, attach_contact, contact, ground, point_spring, rigid_body
from screws import plane, sphere


def problems(make):
    with pytest.raises(ModelError) as refused:
        make()
    return refused.value.problems


def test_more_or_less_than_two_ends():
    a, b, c = Se("a", 1.0), J1("b"), I("c", 1.0)
    (problem,) = problems(lambda: Graph("g").connect(a, b, c))
    assert problem.code == "E100" and "two ends of a bond, not 3: a, b, c" in problem.title and problem.places
    graph = Graph("g")
    assert problem.cures[0].startswith("graph.connect(a, b).connect(b, c)")
    assert graph.connect(a, b).connect(b, c).simulate(1.0, progress=False)["c.flow"][-1] == pytest.approx(1.0)
    (problem,) = problems(lambda: Graph("g").connect(a))
    assert problem.code == "E100" and "two ends of a bond, not 1: a" in problem.title


def test_text_is_a_name_of_a_part_or_of_a_signal():
    graph, v = Graph("g"), J1("v")
    graph.connect(Se("u", 1.0), v).connect(v, I("m", 1.0))
    (problem,) = problems(lambda: graph.connect("v", R("r", 1.0)))
    assert problem.code == "E100" and problem.cures[0].startswith('graph["v"]')
    graph.connect(graph["v"], R("r", 1.0))
    (problem,) = problems(lambda: graph.add("m.flow"))
    assert problem.cures[0].startswith('signals=["m.flow"]')
    graph.connect(v, R("q", effort=lambda f, s: f * s * s, signals=["m.flow"]))
    assert graph.simulate(1.0, progress=False).ok


@pytest.mark.parametrize("swapped", [False, True])
def test_a_block_has_no_bond_and_a_source_reads_it(swapped):
    def joined(first, second):
        return Graph("g").connect(*((second, first) if swapped else (first, second)))

    wave, v = signals.sine("wave", amplitude=2.0), J1("v")
    found = problems(lambda: joined(wave, v).connect(v, I("m", 1.0)).connect(v, R("r", 1.0)).freeze())
    (problem,) = [each for each in found if each.code == "E112"]
    assert 'signals=["wave.y"]' in problem.cures[0]
    graph = Graph("g").connect(Se("name", lambda y: y, signals=["wave.y"]), v).connect(v, I("m", 1.0))
    graph.add(wave)
    assert graph.simulate(1.0, progress=False).ok


@pytest.mark.parametrize(
    "make", [lambda wave: Se("f", wave), lambda wave: Sf("f", wave), lambda wave: Se("f", lambda y: y, signals=[wave])]
)
def test_a_block_in_the_place_of_its_signal(make):
    (problem,) = problems(lambda: make(signals.sine("wave")))
    assert problem.code == "E150" and 'signals=["wave.y"]' in problem.cures[0] and problem.places


@pytest.mark.parametrize("part", [I("m", 1.0), J0("n"), J1("v"), C("c", stiffness=1.0)])
def test_an_element_in_the_place_of_its_signal(part):
    (problem,) = problems(lambda: Se("f", lambda y: y, signals=[part]))
    graph, v, n = Graph("g"), J1("v"), J0("n")
    graph.connect(Se("f", lambda y: y, **eval(f"dict({problem.cures[0]})")), v).connect(v, I("m", 1.0)).connect(v, n)  # noqa: S307
    graph.connect(n, R("r", 1.0)).connect(n, C("c", stiffness=1.0)).freeze()


def test_a_list_of_parts():
    (problem,) = problems(lambda: Graph("g").connect(J1("v"), [I("m", 1.0), R("r", 1.0)]))
    assert problem.code == "E100" and "one by one, not a list of 2" in problem.title


@pytest.mark.parametrize("kind", [Se, Sf])
@pytest.mark.parametrize("components", [1, 2, 3])
def test_how_to_push_a_body(kind, components):
    """The message reports one problem, not one for each bond inside the body."""
    push = kind("push", [1.0] * components, dimension=components)
    (problem,) = problems(lambda: Graph("g").connect(push, rigid_body("body", mass=2.0, inertia=(1, 1, 1))).freeze())
    assert problem.code == "E103" and ("wrench" if kind is Se else "twist") in problem.details[-1]
    assert f'{push.kind}("push", ' in problem.cures[0]


def test_the_wrench_that_is_advised_moves_the_body():
    p, f = np.array([0.0, 0.2, 0.0]), np.array([1.0, 0.0, 0.0])
    body = rigid_body("body", mass=2.0, inertia=(1, 1, 1))
    run = Graph("g").connect(Se("push", (*np.cross(p, f), *f)), body).simulate(1e-3, progress=False)
    assert run["body.inertia.p"][-1] == pytest.approx([0.0, 0.0, -2e-4, 1e-3, 0.0, 0.0], rel=1e-3, abs=1e-9)
    far = rigid_body("body", mass=2.0, inertia=(1, 1, 1), position=(0.0, 5.0, 0.0))
    follows = Se("push", lambda s: np.array([*np.cross(s[4:], f), *f]), signals=["body.pose"])
    run = Graph("g").connect(follows, far).simulate(1.0, progress=False)
    assert run["body.inertia.p"][-1] == pytest.approx([0.0, 0.0, 0.0, 1.0, 0.0, 0.0], abs=1e-9)


def test_each_dimension_mismatch_has_its_own_advice():
    graph, v = Graph("g"), J1("v")
    graph.connect(Se("u", [1.0, 2.0]), v).connect(v, I("m", 1.0, dimension=3)).connect(v, R("r", 1.0, dimension=4))
    found = problems(graph.freeze)
    assert {each.code for each in found} == {"E103"} and not any("wrench" in str(each) for each in found)
    graph = (
        Graph("g")
        .connect(Se("u", [1.0, 2.0]), turn := TF("t", np.ones((3, 2))))
        .connect(turn, C("c", stiffness=1.0, dimension=3))
    )
    assert graph.freeze()


def parts():
    floor = ground("floor", surface=plane())
    ball = rigid_body("ball", mass=1.0, inertia=(1, 1, 1), surface=sphere(0.1), position=(0.0, 0.0, 0.2))
    return floor, ball


def test_a_contact_is_attached():
    floor, ball = parts()
    touch = contact("touch", floor, ball, law=Compliant(normal_stiffness=1e4))
    graph = Graph("g")
    for part in (touch, floor, ball):
        graph.add(part)
    found = [each for each in problems(graph.freeze) if each.code == "E108"]
    assert found and all(each.cures[0].startswith("attach_contact(graph, contact)") for each in found)
    assert attach_contact(Graph("g"), touch).freeze()


def test_a_spring_between_bodies_is_attached():
    floor, ball = parts()
    spring = point_spring("spring", stiffness=10.0)
    graph = Graph("g").connect(floor, ball)
    graph.add(spring)
    found = [each for each in problems(graph.freeze) if each.code == "E108"]
    assert found and all(each.cures[0].startswith("attach_between(graph, spring, a, b)") for each in found)
    attached = Graph("g")
    attach_between(attached, point_spring("spring", stiffness=10.0), *parts())
    assert attached.freeze()


def test_a_graph_of_ones_own_is_wired():
    part = Graph("part").declare_input("u")
    part.connect(Se("e", lambda u: u, signals=["u"]), v := J1("v")).connect(v, I("m", 1.0))
    part.expose("v", v)
    graph = Graph("g").connect(part, R("r", 1.0))
    (problem,) = problems(graph.freeze)
    assert problem.code == "E108" and problem.cures[0].startswith("graph.wire(<signal>, part, ")
    assert graph.wire("time", part, "u").freeze()
