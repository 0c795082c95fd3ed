"""Modelica source, run by rumoca, reproduces the native results and preserves names."""

from __future__ import annotations

import dataclasses
import html
import re

import numpy as np
import pytest

from bondgraph import (
    J1,
    Automaton,
    Block,
    C,
    Friction,
    Graph,
    I,
    ModelError,
    R,
    Se,
    StateSpec,
    Transition,
    by_mode,
    compile_model,
    signals,
)
from bondgraph.export import OPERATIONS, modelica_source
from campaigns.modelica import difference, trial
from screws.scalars import (
    acos,
    asin,
    atan,
    atan2,
    cos,
    equal,
    exp,
    expm1,
    floor,
    log,
    maximum,
    minimum,
    sign,
    sin,
    sqrt,
    tan,
    tanh,
    where,
)
from tests.export.live_models import CASES
from tests.inner.export import TEXTS, quoted, real, unit

WORDS = ('Größe Ω₀ 質量 "&amp;`', "when", "Mass", "mass", "<b>\\</script>", "x" * 200, "end if;", "q[1]")


LEAVES = {"constant", "table", "table of inputs", "input"}


def rumoca():
    return pytest.importorskip("rumoca", reason="rumoca is not installed: the Modelica source cannot run")


def swinging(*parts, rate=3.0):
    graph, v = Graph("swinging"), J1("v")
    graph.connect(Se("push", lambda t, w: sin(w * t), signals=["time"], parameters={"w": rate}), v)
    graph.connect(v, I("mass", 0.5, initial=0.1)).connect(v, C("spring", stiffness=8.0, initial=0.3))
    for part in parts:
        graph.add_automaton(part) if isinstance(part, Automaton) else graph.add(part)
    return graph


def swapped():
    exchange = (("spring.q", lambda p: p, "mass.p"), ("mass.p", lambda q: q, "spring.q"))
    above = Transition("low", "high", lambda t: t - 0.4, ("time",), resets=exchange)
    back = Transition("high", "after", lambda y: y - 0.5, ("jump.y",))
    graph = swinging(signals.step("jump", start=0.7, after=1.0))
    return graph.add_automaton(Automaton("turn", ("low", "high", "after"), "low", [above, back]))


def sampled():
    return swinging(signals.hold("first", "spring.q", period=0.1), signals.hold("second", "first.y", period=0.2))


def together():
    named = {"one": lambda q: 0.5 * q, "other": lambda q: q + 0.2}
    graph = swinging()
    for name, change in sorted(named.items(), reverse=True):
        resets = (("spring.q", change, "spring.q"),)
        turn = Transition("a", "b", lambda t: t - 0.41, ("time",), resets=resets)
        graph.add_automaton(Automaton(name, ("a", "b"), "a", [turn]))
    return graph


def in_turn():
    first = [Transition("a", "b", lambda t: t - 0.41, ("time",)), Transition("b", "c", lambda t: t - 0.2, ("time",))]
    resets = (("spring.q", lambda q: q + 0.2, "spring.q"),)
    second = Transition("a", "b", lambda mode: 0.5 - abs(mode - 1.0), ("first.mode",), resets=resets)
    return swinging(Automaton("first", ("a", "b", "c"), "a", first), Automaton("second", ("a", "b"), "a", [second]))


def broken():
    graph, v = Graph("broken"), J1("v")
    table = signals.curve(np.linspace(-1.0, 1.0, 21), np.sinh(np.linspace(-1.0, 1.0, 21)))
    graph.connect(Se("push", lambda t: where(floor(2.0 * t) < 1.0, 1.0, -0.5), signals=["time"]), v)
    graph.connect(v, I("mass", 1.0)).connect(v, C("spring", output=lambda q: q + q**3, initial=-0.2))
    return graph.connect(v, R("loss", effort=lambda f: 0.1 * table(f) + 0.1 * abs(f) * f))


def formulas():
    def force(t, q, a, b):
        angles = atan2(q, a) + asin(0.3 * q) + acos(0.3 * q) + atan(q) + 0.1 * tan(q)
        growth = expm1(q) + log(1.0 + q * q) + exp(a * q) / (1.0 / (a + b)) + sqrt(1.0 + q * q) * (a + b)
        corners = minimum(q, 0.1) - maximum(q, -0.1) + sign(q - 0.05) + tanh(q) + (1.0 + q * q) ** a - (q - 1.0) ** 3
        parts = where((q < 0.1) & (q > -0.1) | ~(q <= 0.2), 0.3, -0.3) + where(equal(floor(4.0 * q), 1.0), 0.2, -0.1)
        return 0.2 * (angles + growth + corners + parts) + cos(t)

    graph, v = Graph("formulas"), J1("v")
    given = {"signals": ["time", "spring.q"], "parameters": {"a": 0.7, "b": 0.4}}
    graph.connect(v, Se("pull", force, **given)).connect(v, I("mass", 0.5, initial=0.1))
    return graph.connect(v, C("spring", stiffness=8.0, initial=0.3)).connect(v, R("damper", 1.0))


def once():
    sample = Block("once", [], inputs={"u": "spring.q"}, states={"y": StateSpec(0.0)}, updates={"y": "u"}, offset=0.41)
    return swinging(sample)


def positive_at_start():
    return swinging(Automaton("turn", ("a", "b"), "a", [Transition("a", "b", lambda t: t + 1.0, ("time",))]))


def tick_at_start():
    return swinging(Block("once", [], inputs={"u": "spring.q"}, states={"y": StateSpec(0.0)}, updates={"y": "u"}, offset=0.0))


def loop_with_step():
    graph, v = Graph("loop"), J1("v")
    graph.add(signals.step("jump", start=0.5))
    graph.connect(Se("source", lambda y: y, signals=["jump.y"]), v).connect(v, R("r", 1.0))
    return graph.connect(v, R("d", effort=lambda i: i + i**3)).connect(v, C("c", capacitance=0.3))


def switched_loop():
    graph, v = Graph("loop"), J1("v")
    stiffer = by_mode("turn", {"a": 1.0, "b": 2.0})
    resets = (("c.q", lambda q: -q, "c.q"),)
    graph.add_automaton(Automaton("turn", ("a", "b"), "a", [Transition("a", "b", lambda q: 0.1 - q, ("c.q",), resets=resets)]))
    graph.connect(v, R("r", stiffer)).connect(v, R("d", effort=lambda i: i + i**3))
    return graph.connect(v, C("c", capacitance=0.3, initial=0.3))


def sampled_loop():
    graph, v = Graph("loop"), J1("v")
    graph.add(signals.hold("hold", "d.flow", period=0.1))
    graph.connect(Se("source", lambda y: 1.0 - 0.5 * y, signals=["hold.y"]), v).connect(v, R("r", 1.0))
    return graph.connect(v, R("d", effort=lambda i: i + i**3)).connect(v, C("c", capacitance=0.3))


def fires_at_a_tick():
    graph, v = Graph("brake"), J1("v")
    closes = Transition("free", "closed", lambda t: t - 0.5, ("time",))
    graph.add_automaton(Automaton("brake", ("free", "closed"), "free", [closes]))
    graph.connect(Se("push", 1.0), v).connect(v, I("mass", 1.0)).connect(
        v, R("drag", by_mode("brake", {"free": 1.0, "closed": 10.0}))
    )
    equations = [("next", lambda n, u: n + u, ["n", "u"])]
    graph.add(Block("sum", equations, inputs={"u": "drag.effort"}, states={"n": 0.0}, updates={"n": "next"}, period=0.1))
    return graph


RUNS = {
    "oscillator": (CASES["oscillator"].graph, 1.0),
    "ball on a constraint": (CASES["ball on a constraint"].graph, 3.0),
    "servo": (CASES["servo"].graph, 0.0713),
    "Newton loop": (CASES["Newton loop"].graph, 1.0),
    "swapped": (swapped, 0.973),
    "together": (together, 1.0),
    "in turn": (in_turn, 1.0),
    "sampled": (sampled, 0.973),
    "broken": (broken, 1.0),
    "formulas": (formulas, 1.0),
    "once": (once, 1.0),
    "fires at a tick": (fires_at_a_tick, 0.973),
    "tick at the start": (tick_at_start, 1.0),
    "positive at the start": (positive_at_start, 1.0),
    "loop with a step": (loop_with_step, 1.0),
    "loop that jumps": (switched_loop, 1.0),
    "loop with a clock": (sampled_loop, 0.973),
}
"""Models and the end times of their runs, whose samples coincide with no tick after the start."""


@pytest.mark.parametrize("name", RUNS)
def test_rumoca_gives_the_run(name: str) -> None:
    rumoca()
    make, t_end = RUNS[name]
    assert difference(compile_model(make(), progress=False), t_end, 41) < 1e-6


@pytest.mark.parametrize("number", [24, 45])
def test_random_graphs_agree(number: int) -> None:
    rumoca()
    assert trial(1, number).kind == "agrees"


def test_before_and_after_events_at_samples() -> None:
    """Every sample is at a tick or at the step of the input, where rumoca gives a row before and a row after the event."""
    rumoca()
    assert difference(compile_model(CASES["servo"].graph(), progress=False), 0.06, 61) < 1e-6


def test_a_simulator_that_is_late_for_a_tick_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    rumoca()
    compiled = compile_model(sampled(), progress=False)
    assert difference(compiled, 1.0, 11) < 1e-6
    written = modelica_source(compiled)
    late = dataclasses.replace(written, source=written.source.replace("'first.y' = 'spring.q'", "'first.y' = pre('first.y')"))
    assert late != written
    monkeypatch.setattr("campaigns.modelica.modelica_source", lambda _: late)
    assert difference(compiled, 1.0, 11) > 1e-3


def test_every_operation_has_its_text() -> None:
    assert {one.name for one in OPERATIONS} == {*(OPERATIONS[code].name for code in TEXTS), *LEAVES}


def test_time_alone_makes_events() -> None:
    source = modelica_source(CASES["servo"].graph()).source
    assert "= (if (time < 'wanted.start') then 'wanted.before' else 'wanted.after');" in source
    assert "noEvent(if (pre('controller.count') < 0.5) then" in source
    assert (
        source.count("  discrete Real 'controller.") == 5
        and "  Real 'coil.p'(start = 0.0, fixed = true, unit = \"Wb\")" in source
    )


def test_names_come_back() -> None:
    simulator = rumoca()
    graph, v = Graph("names"), J1("v")
    for k, word in enumerate(WORDS):
        graph.connect(v, C(word, stiffness=1.0 + k, initial=0.1 * k))
    graph.connect(v, I("inertia", 2.0))
    source = modelica_source(graph)
    run = simulator.Session().loads(source.source, model=source.name).simulate(t=(0, 0.1), dt=0.1)
    assert {f"{word}.q" for word in WORDS} < {html.unescape(name.strip("'")) for name in run.names}
    states = compile_model(graph, progress=False).initial()[0]
    found = {html.unescape(name.strip("'")): run[name][0] for name in run.names}
    assert [found[f"{word}.q"] for word in WORDS] == pytest.approx([0.1 * k for k in range(len(WORDS))])
    assert len(states) == len(WORDS) + 1


def test_negative_numbers_are_in_parentheses() -> None:
    """Modelica allows no sign after an operator: "a - -0.0" is not a valid expression."""
    assert [real(value) for value in (2.0, -2.0, -0.0, np.nan, -np.inf)] == ["2.0", "(-2.0)", "(-0.0)", "0.0", "(-1e+300)"]


@pytest.mark.parametrize("word", WORDS)
def test_identifiers_are_those_of_the_standard(word: str) -> None:
    assert re.fullmatch(r"'[A-Za-z0-9_!#$%&()*+,\-./:;<>=?@\[\]^{}|~ ]+'", quoted(word))
    assert html.unescape(quoted(word).strip("'")) == word


def test_names_of_models() -> None:
    graph, v = Graph("when"), J1("v")
    graph.connect(v, I("m", 1.0)).connect(v, R("r", 1.0))
    source = modelica_source(graph)
    assert source.source.startswith('model model_when "when"') and source.source.endswith("end model_when;\n")
    with pytest.raises(ModelError, match=r'E270.*"flow" is not a Modelica name'):
        modelica_source(graph, name="flow")


def test_the_file_is_named_after_the_model(tmp_path) -> None:
    path = modelica_source(swinging(), name="Swing").write(tmp_path)
    assert path.name == "Swing.mo" and path.read_text(encoding="utf-8").startswith('model Swing "swinging"')


def test_units_are_those_of_the_standard() -> None:
    texts = ("N s/m", "kg m²", "1/s", "1/(s^2 m^2)", "Ω", "kohm", "V s/rad", "rad, m", "rpm", "", "1")
    assert [unit(text) for text in texts] == ["N.s/m", "kg.m2", "1/s", "1/(s2.m2)", "Ohm", "kOhm", "V.s/rad", "", "", "", "1"]


def friction():
    graph, v = Graph("friction"), J1("v")
    graph.connect(Se("push", lambda t: 2.0 * t, signals=["time"]), v).connect(v, I("mass", 1.0))
    return graph.connect(v, Friction("rub", 1.0))


def reset_sample():
    resets = (("hold.y", lambda q: q, "spring.q"),)
    turn = Automaton("turn", ("a", "b"), "a", [Transition("a", "b", lambda t: t - 0.5, ("time",), resets=resets)])
    return swinging(signals.hold("hold", "spring.q", period=0.1), turn)


REFUSED = {
    "E663.*contact: free to free.*events accumulate": CASES["ball to rest"].graph,
    "E663.*diode a plus: open to closed.*respond to its impulse": CASES["bridge"].graph,
    "E663.*rub: forward to stick.*dry friction": friction,
    'E664.*the ticks of "hold".*"turn" sets the same state': reset_sample,
}


@pytest.mark.parametrize("words", REFUSED)
def test_models_without_modelica_equivalent_are_refused(words: str) -> None:
    with pytest.raises(ModelError, match=f"(?s){words}.*an FMU"):
        modelica_source(REFUSED[words]())
