"""Objects are displayed in notebooks with well-formed, bounded HTML."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from bondgraph import J1, TF, C, Graph, I, R, Se
from bondgraph.analysis import operating_point, sensitivities
from bondgraph.export import (
    c_source,
    explain,
    linear_equations,
    matlab_source,
    mechanical_equations,
    numpy_source,
    port_hamiltonian,
    state_equations,
)
from examples import bouncing_ball, rolling_eggs
from tests.front_door.typesetters import unknown
from tests.inner.analysis import TransferFunction
from tests.inner.output import MAX_LATEX_LENGTH, number, table, typeset

MOST = 20_000
VOID = ("meta", "br", "img")


class Reader(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.words = [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        assert tag not in ("script", "iframe", "link") and not any(name.startswith("on") for name, _ in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data.strip())


def words(thing):
    html = thing._repr_html_()
    assert len(html) < MOST
    return Reader(html).words


def oscillator(name="oscillator"):
    graph, velocity = Graph(name), J1("velocity", domain="translation")
    graph.connect(Se("push", 1.0), velocity).connect(velocity, I("mass", inertia=2.0))
    return graph.connect(velocity, C("spring", stiffness=50.0)).connect(velocity, R("damper", resistance=5.0))


@pytest.fixture(scope="module")
def compiled():
    return oscillator().compile()


@pytest.fixture(scope="module")
def result(compiled):
    return compiled.simulate(1.0)


def test_a_graph_is_its_diagram():
    graph = oscillator()
    assert graph._repr_svg_() == graph.diagram().svg and graph._repr_html_() is None


def test_an_incomplete_graph_names_its_missing_parts():
    graph = Graph("half")
    graph.connect(J1("alone", domain="translation"), C("spring", stiffness=2.0))
    said = " ".join(words(graph))
    assert graph._repr_svg_() is None
    assert "half" in said and '"alone"' in said and re.search(r"\bE\d{3}\b", said)


def test_a_compiled_model_is_its_report(compiled):
    said = words(compiled)
    assert "oscillator" in said and "strokes (4)" in said
    entries = [line.strip() for line in compiled.report().splitlines() if "sets the effort" in line]
    assert len(entries) == 4 and set(entries) <= set(said)
    assert any("algebraic loops" in word for word in said)  # there are none


def test_a_result_tells_states_quantities_and_its_account(result):
    said = words(result)
    assert {"states (2)", "spring.q", "mass.p", "m"} <= set(said)
    assert number(result["spring.q"][-1]) in said and number(result["mass.p"].max()) in said
    assert any(word.startswith("flow") for word in said)  # plottable quantities, below their part
    assert number(result.ledger.summary()["dissipated"]) in said
    assert f"energy account, residual {result.ledger.relative_residual:.1e}" in said


def test_a_result_tells_its_events_but_no_changes_of_description():
    result = bouncing_ball.runs()["restitution 0.8"]
    told = [event for event in result.events if not event.internal]
    said = words(result)
    assert f"events ({len(told)})" in said and f"{told[0].time:.6g} s" in said and told[0].kind in said


def test_a_run_that_ended_early_says_why():
    graph, flow = Graph("growing"), J1("flow", domain="translation")
    graph.connect(flow, I("mass", 1.0, initial=1.0)).connect(flow, R("motor", effort=lambda f: -(f**2)))
    with pytest.warns(Warning):
        result = graph.simulate(5.0)
    assert result.failure is not None
    said = " ".join(words(result))
    assert "ended early" in said and result.failure.reason in said


def test_a_ledger_is_a_table(result):
    said = words(result.ledger)
    assert {number(value) for value in result.ledger.summary().values()} <= set(said)
    assert {"mass", "spring", "damper", "push"} <= set(said)


def test_a_linear_system_shows_its_matrices_by_name_and_its_poles(compiled):
    linear = compiled.linearise(["push.value"], ["spring.q"])
    said = words(linear)
    assert {"mass.p", "spring.q", "push.value", "d/dt mass.p"} <= set(said)
    # x = (p, q): p' = u - 50 q - 5 p / 2, q' = p / 2; poles of s^2 + 2.5 s + 25
    assert {"−2.5", "−50", "0.5", "−1.25 + 4.8412j", "−1.25 − 4.8412j"} <= set(said)
    assert "5" in said and "0.25" in said  # sqrt(k / m), d / (2 sqrt(k m))


def test_a_large_linear_system_tells_its_size_alone():
    graph, before = Graph("chain"), J1("0", domain="translation")
    graph.connect(Se("push", 1.0), before).connect(before, I("mass 0", inertia=1.0))
    for k in range(1, 20):
        here = J1(str(k), domain="translation")
        lever = TF(f"lever {k}", 2.0)
        graph.connect(before, lever).connect(lever, here).connect(here, C(f"spring {k}", stiffness=1.0))
        before = here
    linear = graph.compile().linearise(["push.value"])
    assert linear.order > 16 and len(linear._repr_html_()) < 300


def test_an_operating_point_and_sensitivities(compiled):
    point = operating_point(compiled)
    assert {"spring.q", "0.02"} <= set(words(point))
    charging = Graph("charging").connect(Se("source", 3.0), joined := J1("joined", domain="electrical"))
    charging.connect(joined, R("resistor", resistance=2.0)).connect(joined, C("capacitor", capacitance=0.5))
    found = sensitivities(charging, ["capacitor.q"], ["capacitor.capacitance"], operating_point(charging))
    assert {"capacitor.capacitance", "3"} <= set(words(found))  # q = C u


def test_an_explanation_is_its_list(compiled):
    said = "".join(words(explain(compiled, "mass.p"))).splitlines()
    assert said == str(explain(compiled, "mass.p")).splitlines() and len(said) > 5


def test_parameters_and_states_are_tables(compiled):
    assert {"spring.stiffness", "50", "N/m"} <= set(words(compiled.parameters))
    assert {"spring.q", "0", "m"} <= set(words(compiled.states))


@pytest.mark.parametrize("source", [c_source, numpy_source, matlab_source])
def test_source_code_is_shown_by_its_first_lines(compiled, source):
    own = source(compiled)
    said = words(own)
    assert any("lines)" in word for word in said) and any("more lines" in word for word in said)


def test_names_cannot_write_html():
    graph = oscillator("<script>alert(1)</script> & so on")
    assert graph.name in words(graph.compile()) and graph.name in words(graph.simulate(0.1))
    assert "<script" not in graph.diagram().svg


def test_transfer_functions_are_quotients(compiled):
    linear = compiled.linearise(["push.value"], ["spring.q"])
    quotient = r"\frac{\text{spring.q}}{\text{push.value}} &= \frac{0.5}{s^{2} + 2.5 s + 25}"
    assert linear.transfer_function().latex() == f"\\begin{{align*}}\n{quotient}\n\\end{{align*}}\n"


def test_a_long_transfer_function_is_written_in_factors():
    poles = np.array([-1e6, -2.0 - 1.0j, -2.0 + 1.0j, 0.0, 0.5, -3.0, -4.0])
    found = TransferFunction("u_1", "y", np.array([-1.0]), poles, -2e-7).latex()
    assert r"-2\cdot 10^{-7}\,\frac{(s + 1)}{" in found
    assert r"(s + 10^{6})\,(s^{2} + 4 s + 5)\,s\,(s - 0.5)\,(s + 3)\,(s + 4)" in found


def test_numbers_and_tables():
    assert (number(0.0), number(-0.0), number(1e-9), number(np.zeros(7)), number(2.0 + 0.0j)) == ("0", "0", "1e−09", "7", "2")
    said = Reader(table(("", "value"), [(str(k), k) for k in range(100)])).words
    assert "and 76 more" in said and "23" in said and "24" not in said


def formulas():
    named = Graph("my_model")
    joined = J1("a_b", domain="electrical")
    named.connect(Se("u_in", 1.0), joined).connect(joined, R("r_1", resistance=2.0)).connect(joined, C("c_1", capacitance=2e-6))
    for graph in (oscillator(), named):
        for form in (state_equations, port_hamiltonian, linear_equations):
            yield form(graph)
    yield mechanical_equations(oscillator())
    yield explain(oscillator(), "spring.q")
    yield named.compile().linearise(["u_in.value"], ["c_1.q"]).transfer_function()
    for graph in (bouncing_ball.on_constraint(20.0), bouncing_ball.with_restitution()):
        yield state_equations(graph)
        yield explain(graph, "ball.p")


def test_both_typesetters_know_every_command():
    found = [typeset(form.latex()) for form in formulas()]
    for text in found:
        assert text.startswith("$$") and text.endswith("$$") and "$" not in text[2:-2]
        assert not unknown(text), text
    assert len(found) == 13


def test_what_one_of_them_does_not_know_is_found():
    for formula in (r"\mathscr{x}", r"\begin{align*}x\end{align*}", r"\frac{1}{2", r"\text{a\_b}"):
        assert unknown(formula)


def test_long_formulas_are_shown_as_text():
    found = state_equations(rolling_eggs.build()[0])
    assert len(found.latex()) > MAX_LATEX_LENGTH and found._repr_latex_() is None
    assert "rolling eggs" in "".join(Reader(found._repr_html_()).words)
    assert typeset("x" * (MAX_LATEX_LENGTH + 1)) is None
