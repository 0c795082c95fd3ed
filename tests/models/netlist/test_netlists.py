"""Netlists give the voltages of ngspice, or are refused with the line number."""

from __future__ import annotations

import numpy as np
import pytest
from screwbond.models.netlist import parse_netlist, read_netlist

from bondgraph import ModelError, compile_model
from bondgraph.analysis import linearise
from tests.inner.models_netlist import Card, Scope
from tests.models.netlist.circuits import CIRCUITS, RESTING


@pytest.mark.parametrize("name", CIRCUITS)
def test_voltages_are_those_of_ngspice(name) -> None:
    text, end, voltages = CIRCUITS[name]
    result = compile_model(parse_netlist(text, uic=True)).simulate(end, samples=[0.0, end], rtol=1e-9)
    for node, voltage in voltages.items():
        assert result[f"node {node}.effort"][-1] == pytest.approx(voltage, rel=1e-5)


@pytest.mark.parametrize("name", RESTING)
def test_without_uic_a_run_begins_at_the_operating_point_of_ngspice(name) -> None:
    text, _, voltages = RESTING[name]
    found = linearise(parse_netlist(text), outputs=[f"node {node}.effort" for node in voltages]).values
    assert found == pytest.approx([voltage for voltage, _ in voltages.values()], rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("name", ["conducting at rest", "transformer with current", "held nodes"])
def test_runs_from_the_operating_point_are_those_of_ngspice(name) -> None:
    text, end, voltages = RESTING[name]
    result = compile_model(parse_netlist(text)).simulate(end, samples=[0.0, end], rtol=1e-9)
    for node, (_, voltage) in voltages.items():
        assert result[f"node {node}.effort"][-1] == pytest.approx(voltage, rel=1e-5)


def test_tran_says_whether_ic_counts() -> None:
    text = "start\nV1 a 0 4\nR1 a b 1k\nC1 b 0 1u IC=1\nR2 b 0 3k\n"

    def start(*cards: str, **words: bool) -> float:
        graph = parse_netlist(text + "\n".join(cards), **words)
        return compile_model(graph, backend="numpy").simulate(1e-9)["c1.effort"][0]

    assert start(".tran 1u 1m UIC") == start(uic=True) == start(".tran 1u 1m", uic=True) == pytest.approx(1.0)
    assert start(".tran 1u 1m") == start(uic=False) == pytest.approx(3.0)
    assert start(".tran 1u 1m", ".ic V(b)=2") == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("text", "value"),
    [("4.7k", 4.7e3), ("1MEG", 1e6), ("1M", 1e-3), ("10uF", 1e-5), ("1F", 1e-15), ("1mil", 25.4e-6), ("-2.5e-3V", -2.5e-3),
     ("5ohm", 5.0), ("3T", 3e12), ("1e3k", 1e6), ("{2k*r + 1m}", 4000.001), ("'max(r, 3)^2'", 9.0), ("{-r}", -2.0)],
)  # fmt: skip
def test_suffixes_and_expressions(text, value) -> None:
    scope = Scope({"r": ("2", None)})
    assert scope.value(Card("a.cir", 2, ()), text.lower()) == pytest.approx(value, rel=1e-15)


def graph_text(text: str) -> list[str]:
    model = parse_netlist(text, uic=True).freeze()
    parameters = {f"{path}.{name}": each.value for path, part in model.elements.items() for name, each in part.parameters.items()}
    return [*map(str, sorted(parameters.items())), *sorted(f"{bond.tail.element} {bond.head.element}" for bond in model.bonds)]


def test_case_comments_and_continued_lines_change_nothing() -> None:
    plain = "title\nV1 in 0 5\nR1 in out 1k\nC1 out 0 1u IC=2\n.end\n"
    written = "TITLE\n* a comment\nv1 IN GND DC 5 AC 1 0 ; of 5 V\nr1 In\n* between\n+ OUT\n+ 1K $ one\nc1 Out 0 1U ic = 2\n"
    written += ".control\nR9 none\n.endc\n.tran 1u 1m\n.END\nR2 after the end"
    assert graph_text(plain) == graph_text(written)


def test_a_node_of_one_device_is_open(tmp_path) -> None:
    path = tmp_path / "open.cir"
    path.write_text("open\nV1 a 0 5\nR1 a b 1k\nR2 a 0 1k\n")
    assert compile_model(read_netlist(path)).simulate(1.0)["node b.effort"][-1] == pytest.approx(5.0, rel=1e-12)


def test_start_voltages_are_those_of_ic() -> None:
    text = "start\nC1 a b 1u\nC2 b 0 2u IC=3\nR1 a 0 1k\nR2 b 0 1k\nL1 a 0 1m IC=2\n.ic V(a)=5 V(b)=1\n.tran 1n 1u uic\n"
    graph = parse_netlist(text)
    result = compile_model(graph, backend="numpy").simulate(1e-9)
    assert [result[name][0] for name in ("c1.q", "c2.q", "l1.p")] == pytest.approx([4e-6, 6e-6, 2e-3], rel=1e-12)


@pytest.mark.parametrize("current", [10.0, 1000.0])
def test_a_diode_takes_a_large_current(current) -> None:
    """The diode's resistance at zero voltage is 2.6 Tohm, so the first Newton step is at least 10^13 V."""
    text = f"start\nI1 0 a {current}\nD1 a 0 m\nC1 a 0 1n\n.model m d(IS=1e-14)\n"
    found = linearise(parse_netlist(text), outputs=["node a.effort"]).values[0]
    assert found == pytest.approx(0.0258649 * np.log(current / 1e-14), rel=1e-5)


@pytest.mark.parametrize(("tnom", "voltage"), [("", 0.759866112), ("TNOM=50", 0.884340001)])
def test_a_diode_has_the_nominal_temperature_of_its_model_or_of_the_options(tnom, voltage) -> None:
    text = f"start\nV1 in 0 5\nR1 in a 1k\nD1 a 0 m\n.model m d(IS=1e-14 N=1.2 {tnom})\n.options temp=60 tnom=20\n"
    found = linearise(parse_netlist(text), outputs=["node a.effort"]).values[0]
    assert found == pytest.approx(voltage, rel=1e-6)


def test_ic_has_expressions_and_nodes_of_subcircuits() -> None:
    text = "start\n.param u=2\nX1 a s\n.subckt s p\nR1 p q 1k\nC1 q 0 1u\n.ends\nC2 a 0 1u\n.ic V(x1.q)={u*1.5} V(a) = 'u'\n"
    result = compile_model(parse_netlist(text, uic=True), backend="numpy").simulate(1e-9)
    assert [result[f"{name}.q"][0] for name in ("x1 c1", "c2")] == pytest.approx([3e-6, 2e-6], rel=1e-12)
    with pytest.raises(ModelError, match=r'unknown node "x1 z"(.|\n)*created at a.cir:4'):
        parse_netlist("start\nR1 a 0 1\nC1 a 0 1u\n.ic V(x1.z)=1\n", "a.cir")


REFUSED = [
    ("R1 a 0 one", "E640", '"one" is not a number'),
    ("R1 a 0", "E640", "has 0 values"),
    ("V1 a", "E640", "has 1 node"),
    ("R1 a a 1", "E644", "both ends"),
    ("R1 a 0 1 tc=1", "E643", "tc= is not supported"),
    ("R1 a 0 {x}", "E641", 'unknown parameter "x"'),
    ("R1 a 0 {__import__}", "E641", 'unknown parameter "__import__"'),
    ("R1 a 0 {x.y}", "E640", "is refused"),
    ("R1 a 0 {2**3**4}", "E640", "an exponent contains a power"),
    ("R1 a 0 {1/0}", "E640", "division by zero"),
    ("R1 a 0 {r}\n.param r={s}\n.param s={r}", "E642", "define each other"),
    ("R1 a 0 1k\nR1 a 0 2k", "E640", 'two devices are called "r1"'),
    ("R1.x a 0 1k", "E640", '"r1.x" is not a valid name'),
    ("R1 a.b 0 1k", "E640", '"node a.b" is not a valid name'),
    ("Q1 a b c model", "E643", "devices Q are not supported"),
    (".include other.cir", "E643", "the card .include is not supported"),
    (".lib models.lib", "E643", "the card .lib is not supported"),
    ("D1 a 0 none", "E641", 'unknown model "none"'),
    ("D1 a 0 m\n.model m sw", "E641", "needs a model of the type D"),
    ("D1 a 0 m\n.model m d(BV=5)", "E643", "the parameter BV of the model"),
    ("D1 a 0 m\n.model m d(IS=0)", "E640", "IS, N and the area must be positive"),
    ("D1 a 0 m\n.model m d(TNOM=-300)", "E640", "must be above absolute zero"),
    (".model m", "E640", ".model needs a name and a type"),
    ("S1 a 0 a 0 m\n.model m sw(vh=-1)", "E643", "VH must not be negative"),
    ("V1 a 0 SIN(1)", "E640", "SIN needs two to six numbers"),
    ("V1 a 0 SIN(0 1)", "E640", "the frequency of SIN is missing"),
    ("V1 a 0 PULSE(0 1)", "E640", "a time of PULSE is missing"),
    ("V1 a 0 PWL(0 0 0 1)", "E640", "ascending times"),
    ("E1 a 0 poly(2) b 0 c 0 1", "E643", "only constant gains"),
    ("E1 a 0 vol='v(b)'", "E643", "vol= is not supported"),
    ("E1 a 0 2", "E640", "has 3 nodes but needs 4"),
    ("V1 a 0 3 4", "E640", "has 2 constant values"),
    ("R1 a 0 0", "E640", "is zero"),
    ("+ 0 1k\nR1 a 0 1", "E640", "no card precedes it"),
    (".model m d\n.model m sw", "E640", 'the model "m" is defined twice'),
    (".subckt s a\n.ends\n.subckt s b\n.ends", "E640", 'the subcircuit "s" is defined twice'),
    (".subckt s a\n.ic V(a)=1\n.ends", "E643", "the card .ic is not supported in a subcircuit"),
    ("X1 a s q=5\n.subckt s p r=1\nR1 p 0 {r}\n.ends", "E641", 'sets q=, which the subcircuit "s" does not declare'),
    ("F1 a 0 V9 2", "E641", "which is not a voltage source"),
    ("L1 a 0 1\nK1 L1 L2 0.5", "E641", 'couples the unknown inductor "l2"'),
    ("L1 a 0 1\nL2 a 0 1\nK1 L1 L2 1", "E640", "between -1 and 1"),
    ("L1 a 0 1\nL2 a 0 1\nL3 a 0 1\nK1 L1 L2 0.9\nK2 L2 L3 0.9\nK3 L1 L3 -0.9", "E640", "negative energy"),
    ("X1 a 0 sub", "E641", 'unknown subcircuit "sub"'),
    ("X1 a 0 s\n.subckt s p q\nX2 p q s\n.ends", "E642", 'the subcircuit "s" contains itself'),
    ("X1 a 0 s\n.subckt s p q\nX2 p q t\n.ends\n.subckt t p q\nX3 p q s\n.ends", "E642", "contains itself"),
    ("X1 a s\n.subckt s p q\nR1 p q 1\n.ends", "E640", "has 1 node"),
    (".subckt s p q\nR1 p q 1", "E640", "has no .ends"),
    (".ends", "E640", ".ends has no .subckt"),
    (".options gmin=0\nR1 a 0 1", "E640", "gmin must be positive"),
    (".tran 1u\nR1 a 0 1", "E640", ".tran needs a step and an end"),
    (".ic out=5\nR1 a 0 1", "E640", ".ic needs node voltages"),
    ("K1", "E640", "is not a number"),
    ("R1 a 0 1e308k", "E640", "is too large"),
    ("D1 a 0 m\n.model m d(N=1e-9)\n.temp 50", "E640", "out of range"),
    ("* nothing", "E644", "has no devices"),
    (".ic V(b)=1\nR1 a 0 1", "E641", 'unknown node "b"'),
    ("V1 a 0 1\nR1 a b 1\nC1 b c 1u\nC2 c 0 1u", "E653", "no unique operating point"),
    ("I1 0 a 1\nC1 a 0 1u", "E653", "no operating point"),
    ("V1 a 0 1\nL1 a 0 1m", "E653", "no operating point"),
    ("V1 a 0 1\nR0 a b 1k\nS1 b 0 b 0 m\n.model m sw(vt=0.5 ron=1)", "E653", "toggle each other"),
    ("C1 a 0 1u IC=2\nR1 a 0 1k", "E654", "does not say whether to use it"),
]


@pytest.mark.parametrize(("cards", "code", "title"), REFUSED, ids=range(len(REFUSED)))
def test_unreadable_cards_are_refused_with_their_line(cards, code, title) -> None:
    with pytest.raises(ModelError) as refused:
        parse_netlist(f"title\n{cards}\n", "wrong.cir")
    problem = refused.value.problems[0]
    assert problem.code == code
    assert title in problem.title
    assert str(problem.places[0]).startswith("wrong.cir:")


def test_all_problems_name_the_line_of_their_card() -> None:
    with pytest.raises(ModelError) as refused:
        parse_netlist("title\n* comment\nR1 a\n+ 0 one\nC1 a 0 1u\nM1 a b c d nmos\n", "wrong.cir")
    problems = {(each.code, str(each.places[0])) for each in refused.value.problems}
    assert problems == {("E640", "wrong.cir:3"), ("E643", "wrong.cir:6")}


def test_parameters_that_name_two_others_are_computed_once() -> None:
    """Each parameter is the sum of the next two, so without a cache p0 would take more than 1e10 evaluations."""
    texts = " ".join(f"p{k}={{p{k + 1}+p{k + 2}}}" for k in range(48))
    model = parse_netlist(f"title\n.param {texts} p48=1 p49=1\nR1 a 0 {{p0}}\n").freeze()
    assert model.elements["r1"].parameters["resistance"].value == 12586269025.0
    with pytest.raises(ModelError, match="more than 20000 characters"):
        parse_netlist("title\nR1 a 0 1\n" + "+ a\n" * 200_000)


def test_subcircuits_that_multiply_without_end_are_refused() -> None:
    deep = "\n".join(f".subckt s{k} a b\nX1 a b s{k + 1}\n.ends" for k in range(25))
    with pytest.raises(ModelError, match="more than 20 subcircuits deep"):
        parse_netlist(f"deep\nX1 a 0 s0\n{deep}\n.subckt s25 a b\nR1 a b 1\n.ends\n")
    doubling = "\n".join(f".subckt s{k} a b\nX1 a b s{k + 1}\nX2 a b s{k + 1}\n.ends" for k in range(18))
    with pytest.raises(ModelError, match="more than 10000 devices"):
        parse_netlist(f"bomb\nX1 a 0 s0\n{doubling}\n.subckt s18 a b\nR1 a b 1\n.ends\n")
