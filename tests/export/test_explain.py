"""Explanations trace every value to states, parameters and time, in the user's names."""

from __future__ import annotations

import math
import re

import pytest

from bondgraph import J1, C, Graph, I, ModelError, R, Se
from bondgraph.export import explain
from tests.export.documented import compiled

SMALL = ("motor", "switched", "spatial", "held", "rectified", "sampled", "bouncing", "bouncing on a constraint", "rolling eggs")


@pytest.mark.parametrize("name", SMALL)
def test_every_value_has_its_causes(name: str) -> None:
    model = compiled(name)
    system = model.system
    ends = {*system.parameters, *system.modes, *(state.name for state in system.states), "time"}
    producer = {out: statement for statement in system.statements for out in statement.outs}
    unknown = {u.value for u in (*system.unknowns, *(u for loop in system.loops for u in loop.unknowns))}
    names = (*system.values, *system.aliases)
    for value in names[:: 1 + len(names) // 100]:
        found = explain(model, value)
        told = [cause.value for cause in found.causes]
        assert len([v for v, cause in zip(told, found.causes, strict=True) if cause.equation]) == len(
            set(filter(None, (c.equation for c in found.causes)))
        )
        covered = set(told) | {out for v in told if v in producer for out in producer[v].outs}
        for cause in found.causes:
            if cause.equation and cause.value in producer and cause.value not in unknown:
                for arg in producer[cause.value].args:
                    arg = arg.removesuffix(":computed").lstrip("-")
                    assert arg in covered or arg == "time" or arg in ends, (value, cause.value, arg)
        assert found.latex().count("{") == found.latex().count("}")


def test_a_chain_in_words() -> None:
    text = str(explain(compiled("rolling eggs"), "contact.spring.q"))
    assert text.splitlines()[0].startswith("contact.spring.q is a state; it starts at [")
    assert "at contact off: contact.spring.q := 0" in text
    assert "while contact.switch is contact, else 0" in text and "VI02 (4), corrected" in text
    assert "egg 2.pose.H is a state" in text and "egg 2.pose.H'" not in text
    assert "egg 2.pose.H'" in str(explain(compiled("rolling eggs"), "contact.spring.q", through=True))


def test_the_depth_of_an_explanation_is_limited() -> None:
    whole, short = (explain(compiled("motor"), "rotor_1.p", depth=depth) for depth in (None, 1))
    assert max(cause.depth for cause in short.causes) <= 2 < max(cause.depth for cause in whole.causes)
    assert short.causes == tuple(c for c in whole.causes if c in short.causes)


def test_sampled_and_iterated_values_are_explained() -> None:
    assert re.search(r"at each tick: controller\.\S+ := ", str(explain(compiled("sampled"), "drive.effort", through=True)))
    held = str(explain(compiled("held"), "stop.effort"))
    assert re.search(r"is such that \S+ vanishes", held)


def test_an_unknown_name() -> None:
    with pytest.raises(ModelError, match=r"E251 .windin.flow. is not a value of the model") as raised:
        explain(compiled("motor"), "windin.flow")
    assert "similar names" in str(raised.value)


def test_values_at_an_instant() -> None:
    """A source of 1 V drives 0.25 A through 2 ohm and 1 F in series at t = 2 ln 2 s."""
    line = J1("line", domain="electrical")
    circuit = Graph("rc").connect(Se("source", 1.0), line).connect(line, R("r", 2.0)).connect(line, C("c", capacitance=1.0))
    model = circuit.compile()
    run = model.simulate(2.0, rtol=1e-9, samples=0.04, progress=False)
    now = {cause.value: cause.now for cause in explain(model, "r.flow", at=(run, 2.0 * math.log(2.0))).causes}
    assert now["r.flow"] == "0.25 A" and now["c.effort"] == "0.5 V" and now["c.q"] == "0.5 C" and now["r.resistance"] == ""
    assert "[0.25 A]" in str(explain(model, "r.flow", at=(run, 2.0 * math.log(2.0))))
    kept = model.simulate(2.0, rtol=1e-9, samples=0.04, keep=["c.q"], progress=False)
    assert [(c.value, c.now) for c in explain(model, "r.flow", at=(kept, 0.0)).causes if c.now] == [("c.q", "0 C")]
    with pytest.raises(ModelError, match=r'E582 the run of "rc" has different quantities'):
        explain(Graph("still").connect(v := J1("v"), I("m", 1.0)).connect(v, R("r", 1.0)), "m.flow", at=(run, 1.0))
    with pytest.raises(ModelError, match="no values at -1 s"):
        explain(model, "r.flow", at=(run, -1.0))
