"""For laws that are not functions, or lack an energy, the message explains what a law is, and its advice works."""

from __future__ import annotations

import pytest

from bondgraph import MGY, MTF, TF, Automaton, Block, C, Constraint, EulerJunction, I, ModelError, R, Se, Sf, Transition, signals
from bondgraph.signals import sampled
from tests.checks.small_graphs import loop

MAKERS = {
    "effort of an R": lambda law: R("r", effort=law),
    "flow of an R": lambda law: R("r", flow=law),
    "energy of a C": lambda law: C("c", energy=law),
    "output of a C": lambda law: C("c", output=law, energy=lambda q: q * q / 2),
    "inverse of an I": lambda law: I("i", energy=lambda p: p * p / 2, inverse=law),
    "matrix of an MTF": lambda law: MTF("t", law),
    "matrix of an MGY": lambda law: MGY("g", law, signals=["time"]),
    "matrix of an Euler junction": lambda law: EulerJunction("e", law, dimension=3),
    "position of a constraint": lambda law: Constraint("h", position=law),
    "equation of a block": lambda law: Block("b", [("y", law, ["u"])], inputs={"u": "time"}),
    "update of a sampled block": lambda law: sampled("b", law, period=0.1),
    "guard": lambda law: Transition("a", "b", law, ("time",)),
    "reset": lambda law: Transition("a", "b", lambda t: t, ("time",), (("c.q", law, ("time",)),)),
}


@pytest.mark.parametrize("value", ["2.0 * x", [1.0, 2.0], 3.0, {"x": 1.0}])
@pytest.mark.parametrize("maker", MAKERS)
def test_a_law_must_be_a_function(maker, value):
    with pytest.raises(ModelError, match=r"E150 .* cannot be .*\n  it must be a function, lambda") as refused:
        MAKERS[maker](value)
    problem = refused.value.problems[0]
    assert problem.places and problem.cures[0].startswith("lambda")
    if isinstance(value, str):
        assert problem.cures == ("lambda x: 2.0 * x",)


def test_a_law_in_text_becomes_the_function_that_is_advised():
    with pytest.raises(ModelError, match="E150") as refused:
        R("r", effort="2.0 * x + x**3")
    law = eval(refused.value.problems[0].cures[0])  # noqa: S307 - the advice is an expression
    assert loop(I("m", 1.0, initial=1.0), R("r", effort=law)).simulate(1.0, progress=False).ok
    assert loop(Se("u", 1.0), TF("t", 2.0), I("m", 1.0)) is not None  # a constant matrix


def test_a_guard_that_is_advised_fires():
    with pytest.raises(ModelError, match="the guard of the transition from off to on cannot be 'x > 1'"):
        Transition("off", "on", "x > 1", ["m.p"])
    graph = loop(Se("u", -1.0), I("m", 1.0), R("r", 0.1))
    graph.add_automaton(Automaton("relay", ("off", "on"), "off", Transition("off", "on", lambda s: s - 1.0, ["m.p"])))
    assert len(graph.simulate(3.0, progress=False).events) == 1


@pytest.mark.parametrize(
    ("make", "word", "says"),
    [
        (lambda **law: C("c", inverse=lambda e: e, **law), "charge", r"has inverse\(e\), the q of its effort, but no law"),
        (lambda **law: I("c", inverse=lambda f: f, **law), "flux", r"has inverse\(f\), the p of its flow, but no law"),
    ],
)
def test_an_inverse_without_a_law_names_the_missing_law(make, word, says):
    with pytest.raises(ModelError, match=f"E110.*{says}") as refused:
        make()
    assert f"{word}=lambda" in refused.value.problems[0].cures[0]
    kind = {"charge": C, "flux": I}[word]
    for storage in (make(output=lambda x: x), kind("c", **{word: lambda y: y})):
        assert loop(storage, R("r", 1.0)).simulate(1.0, progress=False).ok


@pytest.mark.parametrize("kind", [C, I])
def test_a_storage_without_a_law_names_the_energy_too(kind):
    with pytest.raises(ModelError, match=r"E110.* needs exactly one of .*, energy"):
        kind("c")
    assert kind("c", energy=lambda x: x * x / 2)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: I("m", flow=lambda p: p), r"I\(\) .* 'flow'\n.*energy=lambda p: ..., whose gradient is the flow"),
        (lambda: C("c", effort=lambda q: q), r"C\(\) .* 'effort'\n.*energy=lambda q: ..., whose gradient is the effort"),
        (lambda: C("c", stiffnes=1.0), r"C\(\) .* 'stiffnes'\n  try: stiffness="),
        (lambda: R("r", law=lambda f: f), r"R\(\) .* 'law'\n.*effort=lambda f: ... or flow=lambda e: ..."),
    ],
)
def test_an_unknown_keyword_message_names_the_law_keywords(make, says):
    with pytest.raises(TypeError, match=says):
        make()


def test_a_matrix_without_signals_names_the_argument_that_it_lacks():
    with pytest.raises(ModelError, match=r"(?s)E129.*MTF.*takes 1 argument \(t\) and gets 0.*signals=\[\"time\"\]"):
        loop(Sf("f", 1.0), turn := MTF("t", lambda t: 1.0 + t)).connect(turn, R("r", 1.0)).compile()
    loop(Sf("f", 1.0), turn := MTF("t", lambda t: 1.0 + t, signals=["time"])).connect(turn, R("r", 1.0)).compile()


def test_points_in_the_place_of_a_law_become_a_table():
    with pytest.raises(ModelError, match=r"E150.*(?s:.*)signals\.table"):
        Se("u", effort=lambda t: t, signals=["time"]) and R("r", effort=[1.0, 2.0])
    graph = loop(Se("u", 1.0), I("m", 1.0), R("r", effort=lambda f, k: k * f, signals=["curve.y"]))
    graph.add(signals.table("curve", "time", [0.0, 1.0], [1.0, 2.0]))
    assert graph.simulate(1.0, progress=False).ok
