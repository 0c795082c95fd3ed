"""A command against a constraint is refused, and the stiffness of a servo is the cure (Hogan 1985)."""

from __future__ import annotations

import pytest

from bondgraph import J0, J1, TF, Automaton, C, Constraint, Element, Graph, I, ModelError, Sf, Transition, compile_model
from tests.inner.tracing import prescribing_sources


def arm(*held: Element, spring: bool = False, ratio: float = 1.0) -> Graph:
    graph, joint, tip = Graph("arm"), J1("joint", domain="translation"), J1("tip", domain="translation")
    lever, command = TF("lever", ratio), Sf("command", 0.1)
    if spring:
        servo = J0("servo", domain="translation")
        graph.connect(command, servo).connect(servo, C("stiffness", stiffness=100.0)).connect(servo, joint)
        graph.connect(joint, I("link", 1.0))
    else:
        graph.connect(command, joint)
    graph.connect(joint, lever).connect(lever, tip)
    for part in held:
        graph.connect(tip, part)
    return graph


def switched() -> Element:
    return Constraint("wall", automaton="touch", active=["closed"], initial=1.0)


def with_machine(graph: Graph) -> Graph:
    hits = Transition("open", "closed", lambda h: -h, ("wall.h",), kind="hits")
    return graph.add_automaton(Automaton("touch", ("open", "closed"), "open", (hits,)))


def test_a_command_against_a_constraint_is_refused_with_a_spring_as_cure() -> None:
    with pytest.raises(ModelError) as refused:
        compile_model(arm(Constraint("wall"), ratio=2.0))
    said = str(refused.value)
    assert "E208 a commanded motion conflicts with a constraint" in said
    assert 'Sf "command" commands a flow that constraint "wall" holds at zero' in said
    assert "a C (a spring) between the command and the parts that it moves" in said and "Hogan 1985" in said
    assert compile_model(arm(Constraint("wall"), spring=True)).simulate(0.1).ok


def test_a_command_against_a_contact_is_refused_in_its_mode() -> None:
    with pytest.raises(ModelError) as refused:
        compile_model(with_machine(arm(switched())))
    said = str(refused.value)
    assert (
        "E212" in said
        and '"closed" of "touch"' in said
        and 'Sf "command" commands a flow that constraint "wall" holds at zero' in said
    )
    assert compile_model(with_machine(arm(switched(), spring=True))).simulate(0.1).ok


def test_who_commands() -> None:
    model = arm(Constraint("wall")).freeze()
    assert prescribing_sources(model, "wall") == ("command",)
    assert prescribing_sources(arm(Constraint("wall"), spring=True).freeze(), "wall") == ()


def test_redundant_constraints_are_reported_as_before() -> None:
    with pytest.raises(ModelError, match="redundant constraints"):
        compile_model(arm(Constraint("wall"), Constraint("floor"), spring=True))
