"""The advice in messages works for the smallest refused model of each domain."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bondgraph import (
    J0,
    J1,
    TF,
    Automaton,
    C,
    Constraint,
    Diode,
    Friction,
    Graph,
    I,
    ModelError,
    R,
    RunEndedWarning,
    Se,
    Sf,
    Switch,
    Transition,
    compile_model,
)
from screws.scalars import absolute

DOMAINS = {
    "electrical": ("a capacitor", "a coil", "a resistance"),
    "translation": ("a spring", "a mass", "a damper"),
    "rotation": ("a torsion spring", "a moment of inertia", "a rotary damper"),
    "hydraulic": ("an elastic chamber", "the inertia of a line", "a throttle"),
}
SOME = ("rotation", "hydraulic")
Kind = Callable[..., object]


def at(kind: Callable, domain: str, *parts, more: Graph | None = None, name: str = "node") -> Graph:
    graph, node = more or Graph("model"), kind(name, domain=domain)
    for k, part in enumerate(parts):
        if isinstance(part, tuple):
            arm = (J1 if kind is J0 else J0)(f"{name} arm {k}", domain=domain)
            graph.connect(node, arm)
            for own in part:
                graph.connect(arm, own)
        else:
            graph.connect(node, part)
    return graph


def runs(graph: Graph) -> bool:
    return compile_model(graph, backend="numpy").simulate(0.5, progress=False).ok


def refused(graph: Graph, code: str, *words: str) -> None:
    with pytest.raises(ModelError) as caught:
        compile_model(graph, backend="numpy").simulate(0.1, progress=False)
    assert [problem.code for problem in caught.value.problems] == [code]
    for word in words:
        assert word in str(caught.value), str(caught.value)


@pytest.mark.parametrize("domain", DOMAINS)
def test_two_elements_that_set_one_effort(domain: str) -> None:
    _, inertia, damper = DOMAINS[domain]
    one, two, load = Se("one", 1.0), Se("two", 2.0), R("load", 1.0)
    refused(at(J0, domain, one, two, load), "E203", f"({inertia} or {damper})", "Sf instead")
    for between in (I("between", 1.0), R("between", 1.0)):
        assert runs(at(J0, domain, one, (between, two), load))
    assert runs(at(J0, domain, one, Sf("two", 2.0), load))
    refused(at(J0, domain, Friction("f", 1.0), Constraint("k")), "E203", f"({inertia} or {damper})")
    for between in (I("between", 1.0), R("between", 1.0)):
        assert runs(at(J0, domain, Friction("f", 1.0), (between, Constraint("k"))))


@pytest.mark.parametrize("domain", DOMAINS)
def test_two_elements_that_set_one_flow(domain: str) -> None:
    compliance, _, damper = DOMAINS[domain]
    one, two, load = Sf("one", 1.0), Sf("two", 2.0), R("load", 1.0)
    refused(at(J1, domain, one, two, load), "E203", f"({compliance} or {damper})", "Se instead")
    for between in (C("between", capacitance=1.0), R("between", 1.0)):
        assert runs(at(J1, domain, one, (between, two), load))
    assert runs(at(J1, domain, one, Se("two", 2.0), load))


@pytest.mark.parametrize("domain", SOME)
def test_no_element_sets_the_flow(domain: str) -> None:
    _, inertia, damper = DOMAINS[domain]
    parts = Friction("f", 1.0), Constraint("k")
    refused(at(J1, domain, *parts), "E203", f"an I or R at this junction ({inertia} or {damper})")
    for more in (I("more", 1.0), R("more", 1.0)):
        assert runs(at(J1, domain, *parts, more))


@pytest.mark.parametrize("domain", SOME)
def test_diodes_alone_need_no_advice(domain: str) -> None:
    for kind, source in ((J1, Se("u", 1.0)), (J0, Sf("u", 1.0))):
        assert runs(at(kind, domain, source, R("r", 1.0), Diode("one"), Diode("two")))


def lossy(domain: str, shaft: bool, growth: Callable) -> Graph:
    graph = at(J1, domain, Se("drive", 2.0), I("in", 1.0), name="fast")
    at(J1, domain, I("out", 1.5), R("load", 1.0), more=graph, name="slow")
    gear, fast, slow = TF("gear", 0.5), graph.parts["fast"], graph.parts["slow"]
    if shaft:
        twist = J0("shaft", domain=domain)
        graph.connect(fast, twist).connect(twist, C("shaft c", capacitance=1e-2)).connect(twist, gear)
    else:
        graph.connect(fast, gear)
    graph.connect(gear, slow)
    loss = Friction("loss", 0.1, scale=growth, signals=["gear.1.effort"])
    return graph.connect(fast, loss)


@pytest.mark.parametrize("domain", SOME)
def test_relations_nonlinear_in_the_unknowns(domain: str) -> None:
    compliance = DOMAINS[domain][0]
    refused(lossy(domain, False, lambda e: e * e), "E205", f"C ({compliance}) of high stiffness at a 0-junction")
    assert runs(lossy(domain, True, lambda e: e * e)) and runs(lossy(domain, False, absolute))

    def drag(stop) -> Graph:
        return at(J1, domain, I("m", 1.0), stop, Se("drag", lambda n: n * n, signals=["stop.effort"]))

    refused(drag(Constraint("stop")), "E205", f"C ({compliance}) of high stiffness, instead of a constraint")
    assert runs(drag(C("stop", capacitance=1e-2)))


@pytest.mark.parametrize("domain", SOME)
def test_constraints_that_contradict(domain: str) -> None:
    parts = Sf("drive", 1.0), I("m", 1.0)
    refused(at(J1, domain, *parts, Constraint("stop")), "E208", f"C ({DOMAINS[domain][0]}) of high stiffness")
    assert runs(at(J1, domain, *parts))
    assert runs(at(J1, domain, *parts, C("stop", capacitance=1e-2)))


def lever(graph: Graph, *transitions: Transition, states=("off", "on")) -> Graph:
    return graph.add_automaton(Automaton("lever", states, "off", transitions))


@pytest.mark.parametrize("domain", SOME)
def test_states_of_switches_without_a_solution(domain: str) -> None:
    damper = DOMAINS[domain][2]
    flips = Transition("off", "on", lambda t: t - 0.2, ("time",)), Transition("on", "off", lambda t: t - 0.4, ("time",))
    short, cut = Switch("s", automaton="lever", closed="on"), Switch("s", automaton="lever", closed="on")
    refused(lever(at(J0, domain, Se("u", 1.0), R("r", 1.0), short), *flips[:1]), "E212", f"R ({damper}) in series")
    assert runs(lever(at(J0, domain, Se("u", 1.0), R("r", 1.0), (short, R("own", 0.1))), flips[0]))
    refused(lever(at(J1, domain, Sf("i", 1.0), R("r", 1.0), cut), flips[0]), "E212", f"R ({damper}) in parallel")
    assert runs(lever(at(J1, domain, Sf("i", 1.0), R("r", 1.0), (cut, R("own", 10.0))), flips[0]))


@pytest.mark.parametrize("domain", SOME)
def test_switches_that_must_exclude_each_other(domain: str) -> None:
    closes = Transition("off", "on", lambda t: t - 0.2, ("time",))

    def half(first: tuple[str, str], second: tuple[str, str]) -> Graph:
        parts = [Switch(n, automaton=a, closed=c) for n, (a, c) in (("near", first), ("far", second))]
        return at(J0, domain, (parts[0], Se("u", 1.0)), parts[1], R("load", 1.0))

    two = lever(half(("lever", "on"), ("other", "on")), closes)
    two.add_automaton(Automaton("other", ("off", "on"), "on", ()))
    with pytest.warns(RunEndedWarning, match="one automaton for switches"):
        assert not runs(two)
    assert runs(lever(half(("lever", "on"), ("lever", "off")), closes))


@pytest.mark.parametrize("domain", SOME)
def test_switches_with_an_inconsistent_start(domain: str) -> None:
    def start(mode: str, charge: float) -> Graph:
        parts = C("c", capacitance=1.0, initial=charge), R("r", 1.0), Switch("s", automaton="lever", closed="on")
        return at(J0, domain, *parts).add_automaton(Automaton("lever", ("off", "on"), mode, ()))

    refused(start("on", 3.0), "E214", "a start in the other mode", "start values of the storages that agree with this mode")
    assert runs(start("off", 3.0))
    assert runs(start("on", 0.0))


def test_a_source_drives_a_row_of_a_matrix_through_a_constraint() -> None:
    """The row of the matrix gives the flow, like the speed of a joint between bodies, so a flow source needs a constraint."""

    def driven(*parts: object) -> Graph:
        graph, both, slide = Graph("driven"), J1("both", dimension=2), TF("slide", ratio=[1.0, 0.5])
        graph.connect(both, I("masses", inertia=[1.0, 2.0])).connect(both, slide)
        if not parts:
            return graph.connect(Sf("speed", 3.0), slide.port("2"))
        graph.connect(slide, node := J0("node")).connect(node, Sf("speed", 3.0))
        return graph.connect(node, parts[0])

    refused(driven(), "E203", 'Sf "speed" and Constraint("drive", holds="velocity", closing="smooth") at a new J0')
    run = compile_model(driven(Constraint("drive", holds="velocity", closing="smooth")), backend="numpy").simulate(
        9.0, progress=False
    )
    assert run.ok and run["slide.2.flow"][-1] == pytest.approx(3.0)
