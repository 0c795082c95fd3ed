"""Short files give the models of the pages' scripts, and errors with their source line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bondgraph import Block, Graph, ModelError, compile_model, dump_model, read_graph
from bondgraph.interchange import parse_graph, short_schema
from tests.inner.interchange import KINDS, PUBLISHED, InvalidFormula, arithmetic, quantity, yaml_document
from tests.inner.models_parts import MAKERS
from tests.interchange.short.twins import (
    BUCK,
    LEFT_OUT,
    OSCILLATOR,
    QUARTIC,
    TWINS,
    WITH_PARTS,
    model_of,
    named_on_pages,
    sources,
)

pytest.importorskip("yaml")


def without_places(content):
    if isinstance(content, dict):
        return {key: without_places(each) for key, each in content.items() if key != "place"}
    return [without_places(each) for each in content] if isinstance(content, list) else content


def text_of(graph) -> str:
    return json.dumps(without_places(json.loads(dump_model(graph))))


@pytest.mark.parametrize("name", [name for name in TWINS if name != "delayed"])
def test_a_short_file_is_the_model_of_its_page(name) -> None:
    """Elements and bonds agree in order, and formulas step by step, so runs are bit-identical."""
    text = text_of(parse_graph(TWINS[name], parts=MAKERS))
    assert all(text == text_of(model_of(*source)) for source in sources(TWINS[name]))


def test_a_delay_cannot_be_saved_and_has_the_same_run() -> None:
    graphs = parse_graph(TWINS["delayed"]), model_of("docs/signals.md", "delayed")
    first, second = (compile_model(graph, backend="numpy").simulate(1.0) for graph in graphs)
    assert first.names() == second.names()
    assert all(np.array_equal(first[name], second[name]) for name in first.names())


def test_every_graph_of_the_pages_has_a_short_file_or_a_reason_why_not() -> None:
    said = {source for text in TWINS.values() for source in sources(text)}
    named = named_on_pages()
    missing = [
        f"{page}: {name}" for page, name in named if (page, name) not in said and not {page, f"{page}: {name}"} & LEFT_OUT.keys()
    ]
    assert missing == [] and len(named) > 60
    assert {name.partition(": ")[0] for name in LEFT_OUT} <= {page for page, _ in named}


def test_json_says_the_same(tmp_path) -> None:
    content = yaml_document(QUARTIC, "quartic.yaml").content
    path = tmp_path / "quartic.json"
    path.write_text(json.dumps(content, indent=1))
    assert text_of(read_graph(path)) == text_of(parse_graph(QUARTIC))


FORMULAS = {
    "__import__('os').system('x')": "is not arithmetic",
    "q.__class__": "attribute",
    "[k for _ in q]": "list comp",
    "lambda: 1": "is not arithmetic",
    "q if q else 1": "where(condition, a, b)",
    "open(q)": "there is no function 'open'",
    "sin(x=q)": "call",
    "q['a']": "is not arithmetic",
    "q[k]": "whole numbers in brackets",
    "q[0:1]": "is not arithmetic",
    "k**q**q": "an exponent contains a power",
    "9**9**9": "an exponent contains a power",
    "((9**1000)**1000)**1000": "too large",
    "k**5000": "exceeds 1000",
    "(-1)**0.5": "complex",
    "1/0": "division by zero",
    "1e999": "too large",
    "q^2": "write a power as **",
    "0<q<1": "compare two values",
    "q and k": "bool op",
    "x": "'x' is unknown; use q, k, pi",
    "sinn(q)": "use sin",
    "sin(q, k)": "sin takes 1 argument, not 2",
    "1j*q": "constant",
    "q := 1": "is not arithmetic",
    "": "is not arithmetic",
    "\u0441os(q)": "there is no function",
    "\uff50\uff4f\uff57(q)": "there is no function 'pow'",
    "q\u200b": "is not arithmetic",
    "q\u00b2": "is not arithmetic",
    "q if 1 else __builtins__": "where(condition, a, b)",
    "{q}": "is not arithmetic",
    "f'{q}'": "is not arithmetic",
    "q[-1]": "whole numbers in brackets",
    "q[999999]": "whole numbers in brackets",
    "sin(*q)": "is not arithmetic",
    "q.real": "attribute",
    "pi()": "there is no function 'pi'",
    "getattr(q, k)": "there is no function 'getattr'",
    "2**(2**(2**(2**q)))": "an exponent contains a power",
    "k**(q*k**q)": "an exponent contains a power",
    "k**-q**2": "an exponent contains a power",
    "((((2**999)**9)**9)**9)": "too large",
    "1_0**1_001": "exceeds 1000",
    "9" * 1999: "too",
    "[" * 900 + "q" + "]" * 900: "nested",
    "(" * 300 + "q" + ")" * 300: "nested",
    "q+" * 1000 + "q": "the limit is 2000",
}


@pytest.mark.parametrize(("text", "why"), FORMULAS.items(), ids=range(len(FORMULAS)))
def test_a_formula_is_arithmetic_alone(text, why) -> None:
    with pytest.raises(InvalidFormula) as refused:
        arithmetic(text, ["q", "k"])
    assert why in str(refused.value)


def test_long_formulas_are_refused_before_they_are_parsed() -> None:
    for text in ("q+" * 5_000_000, "(" * 10_000_000, "9" * 10_000_000, "q " * 5_000_000):
        with pytest.raises(InvalidFormula, match="the limit is 2000"):
            arithmetic(text, ["q"])


BOMBS = {
    "aliases": "graph: &a [x]\nelements: {" + ", ".join(f"e{k}: *a" for k in range(99)) + "}",
    "laughs": "a: &a [x, x]\n" + "\n".join(f"{b}: &{b} [*{a}, *{a}]" for a, b in zip("abcdef", "bcdefg", strict=True)),
    "merge": "graph: a\nelements: {<<: *b, r: J1}",
    "tags": "graph: !!python/object/apply:os.system [ls]\nelements: {r: J1}",
    "short tag": "graph: a\nelements: !!python/name:os.system {r: J1}",
    "binary": "graph: !!binary aGVsbG8=\nelements: {r: J1}",
    "own tag": "graph: !own a\nelements: {r: J1}",
    "key twice": "graph: a\nelements: {r: J1, r: J0}",
    "key twice, quoted": "graph: a\nelements: {r: J1, 'r': J0}",
    "key twice above": "graph: a\ngraph: b\nelements: {r: J1}",
    "deep flow": "graph: a\nelements: " + "{a: " * 10_000 + "}" * 10_000,
    "deep block": "graph: a\nelements:\n" + "".join(" " * k + "a:\n" for k in range(1, 700)),
    "deep list": "graph: a\nelements: " + "- " * 10_000,
    "list as key": "graph: a\nelements: {[r]: J1}",
    "mapping as key": "graph: a\nelements: {? {r: J1} : J1}",
    "two documents": "graph: a\nelements: {r: J1}\n---\ngraph: b",
    "null": "graph: a\nelements: {r: \x00}",
    "no text": "\ufeff\ufeff: a",
    "directive": "%YAML 9.9\n---\ngraph: a",
    "empty": "",
}


@pytest.mark.parametrize("name", BOMBS)
def test_ambiguous_yaml_is_refused(name) -> None:
    with pytest.raises(ModelError) as refused:
        parse_graph(BOMBS[name], "bomb.yaml")
    assert {problem.code for problem in refused.value.problems} <= {"E631", "E632"}


def test_json_has_no_keys_twice_and_no_depth() -> None:
    for text in ('{"graph": "a", "graph": "b", "elements": {}}', '{"graph": ' + "[" * 5000, '{"graph": 1e999, "elements": NaN}'):
        with pytest.raises(ModelError, match="E631"):
            parse_graph(text, "a.json")
    with pytest.raises(ModelError, match=r"is not JSON(.|\n)*created at a.json:2"):
        parse_graph('{"graph": "a",\n "elements": {"u": {"Se": 1.0},}}', "a.json")


def test_a_value_by_state_may_stand_alone() -> None:
    relay = "automata: {relay: {states: [a, b], transitions: [{from: a, to: b, when: time - 1}]}}\n"
    texts = [
        OSCILLATOR.replace("R: {resistance: 5.0}", f"R: {value}") + relay
        for value in ("{automaton: relay, values: {a: 1, b: 2}}", "{resistance: {automaton: relay, values: {a: 1, b: 2}}}")
    ]
    alone, named = (dump_model(parse_graph(text)) for text in texts)
    assert alone == named


def test_long_texts_take_no_longer_than_they_are() -> None:
    with pytest.raises(ModelError, match="E635"):
        parse_graph("graph: a\nelements: {r: J1}\nbonds: ['" + "-" * 900_000 + "']")
    twice = ", ".join(f'"e{k}": "J1"' for k in (*range(50_000), 49_999))
    with pytest.raises(ModelError, match="'e49999' appears twice"):
        parse_graph('{"graph": "a", "elements": {' + twice + "}}", "a.json")


def test_formulas_have_their_python_meaning() -> None:
    q, k = 1.7, np.float64(2.5)
    for text in ("-q**2", "k*q**3/3 - 2*q", "q/k*3", "2**-1 + q - k - 1", "+q", "pi*q", "1_000*q", "(q\n + k)"):
        assert arithmetic(text, ["q", "k"])(q, k) == eval(text, {"q": q, "k": k, "pi": np.pi})  # noqa: S307
    assert arithmetic("where(q > 1, 2*q, where(q <= 0, q, k))", ["q", "k"])(q, k) == 2 * q
    assert arithmetic("where(q >= 2, 1, 0) + where(q < 2, 2, 0) + where(q == 1.7, 4, 0)", ["q"])(q) == 6
    assert arithmetic("[q, [k, 1][0]][1]", ["q", "k"])(q, k) == k
    assert arithmetic("+".join(["q"] * 900), ["q"])(1.0) == 900.0
    assert [type(step[1]) for step in arithmetic("q**4/4.0", ["q"]).steps if step[0] == "number"] == [int, float]


@pytest.mark.parametrize(
    ("text", "value"),
    [("2 kN/m", (2.0, "kN/m")), ("1e-3 m", (1e-3, "m")), ("5V", (5.0, "V")), ("3 1/s", (3.0, "1/s")), ("-4.0*cos(q)", None),
     ("1e-3", None), ("2 - q", None), ("2(q)", None), ("spring.q", None)],
)  # fmt: skip
def test_numbers_with_units(text, value) -> None:
    assert quantity(text) == text if value is None else (quantity(text).value, quantity(text).unit) == value


WRONG = [
    ("R: {resistance: 5.0}", "R: {resistence: 5.0}", "E633", 'R has no argument "resistence"', 8),
    ("R: {resistance: 5.0}", "R: {resistance: -5.0}", "E119", "resistance must be positive", 8),
    ("R: {resistance: 5.0}", "R", "E110", "exactly one of", 8),
    ("R: {resistance: 5.0}", "Q: {resistance: 5.0}", "E633", 'unknown kind "Q"', 8),
    ("R: {resistance: 5.0}", "J1: 5.0", "E633", "J1 needs named arguments", 8),
    ("{R: {resistance: 5.0}}", "5.0", "E632", '"damper" has no kind', 8),
    ("R: {resistance: 5.0}", "R: {effort: c*f}", "E634", "'c' is unknown", 8),
    ("R: {resistance: 5.0}", "R: {effort: f, parameters: [1]}", "E632", "names to numbers", 8),
    ("R: {resistance: 5.0}", "R: {effort: s, signals: [mass.p, 3]}", "E632", "signals must be paths", 8),
    ("R: {resistance: 5.0}", "R: {effort: s, signals: 5}", "E632", "signals must be paths", 8),
    ("R: {resistance: 5.0}", "R: {resistance: 5.0 kgg}", "E156", "there is no unit 'kgg'", 8),
    ("{R: {resistance: 5.0}}", "{R: 5.0, I: 2.0}", "E632", '"damper" has 2 kinds', 8),
    ("R: {resistance: 5.0}", "Damper: 5.0", "E633", "try: R", 8),
    ("R: {resistance: 5.0}", "R: five", "E113", "try: a number", 8),
    ("R: {resistance: 5.0}", "R: {effort: f/0}", "E634", "division by zero", 8),
    ("R: {resistance: 5.0}", "C: 2 mm/N", "E562", 'compliance=Parameter(2.0, "mm/N")', 8),
    ("damper: {R", '"": {R', "E102", "it is empty", 8),
    ("damper: {R", '" ": {R', "E102", "it is empty", 8),
    ("damper: {R", "left.damper: {R", "E102", "a dot separates a part", 8),
    ("velocity -> damper", "velocity -> dampr", "E635", "which is not an element", 9),
    ("velocity -> damper", "velocity -> damper.heat.x", "E635", "which is not an element", 9),
    ("velocity -> damper", "velocity -> damper.x", "E635", 'but "damper" has no port "x"', 9),
    ("velocity -> damper", "velocity damper", "E635", "is not a chain of bonds", 9),
    ("graph: oscillator", "grph: oscillator", "E632", 'unknown key "grph"', 2),
    ("graph: oscillator", "graph: [oscillator]", "E632", '"graph" is not a name', 2),
    ("graph: oscillator", "format: screwbond-model", "E632", "written by save_model", 2),
    ("push: {Se: 1.0}", "push: {Se: 1.0", "E631", "the file is not YAML", 5),
    ("push: {Se: 1.0}", "push: &a {Se: 1.0}", "E631", "anchors", 4),
    ("push: {Se: 1.0}", "push: *a", "E631", "aliases", 4),
    ("push: {Se: 1.0}", "push: !!python/object:os.system {Se: 1.0}", "E631", "tag", 4),
    ("push: {Se: 1.0}", "mass: {Se: 1.0}", "E631", "appears twice", 6),
    ("push: {Se: 1.0}", "push: " + "[" * 40 + "]" * 40, "E631", "nested more than 32 levels deep", 4),
    ("push: {Se: 1.0}", f"push: {{Se: {'1' * 50}}}", "E631", "too long", 4),
]


@pytest.mark.parametrize(("right", "wrong", "code", "title", "line"), WRONG, ids=range(len(WRONG)))
def test_problems_are_reported_with_their_line(right, wrong, code, title, line) -> None:
    text = OSCILLATOR.replace(right, wrong)
    assert text != OSCILLATOR
    with pytest.raises(ModelError) as refused:
        parse_graph(text, "oscillator.yaml").freeze()
    problem = refused.value.problems[0]
    assert (problem.code, f"oscillator.yaml:{line}") == (code, str(problem.places[0]))
    assert title in str(problem)


AUTOMATA = [
    ("when: phase - duty", "when: phase - dty", "E634", "'dty' is unknown"),
    ("{from: on", "{start: on", "E632", 'unknown key "start"'),
    ("when: phase - duty, ", "", "E632", 'has no "when"'),
    ("{from: on", "{from: ", "E632", "is not text"),
    ("when: phase - duty", "when: 5", "E632", 'try: when: "q - 1"'),
    ('["on", "off"]', "on", "E632", "needs a list of states"),
    ("equations: {rise: f}", "equations: f", "E632", "equations must be formulas by name"),
    ("rates: {phase: rise}", "rate: {phase: rise}", "E632", 'unknown key "rate"'),
]


@pytest.mark.parametrize(("right", "wrong", "code", "title"), AUTOMATA)
def test_automata_and_blocks_that_are_wrong(right, wrong, code, title) -> None:
    with pytest.raises(ModelError) as refused:
        parse_graph(BUCK.replace(right, wrong), "buck.yaml")
    assert refused.value.problems[0].code == code
    assert title in str(refused.value)


def test_all_problems_are_reported_together() -> None:
    text = OSCILLATOR.replace("R:", "Q:").replace("stiffness", "stiffnes").replace("-> mass", "-> mas")
    with pytest.raises(ModelError) as refused:
        parse_graph(text)
    assert [problem.code for problem in refused.value.problems] == ["E633", "E633", "E635"]


def test_files_that_cannot_be_read(tmp_path) -> None:
    cases = {"none.yaml": None, "latin.yaml": b"\xe9", "large.yaml": b" " * 1_000_001, "graph.txt": b"graph: a", "a.json": b"[]"}
    codes = {}
    for name, content in cases.items():
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(ModelError) as refused:
            read_graph(tmp_path / name)
        codes[name] = refused.value.problems[0].code
        assert ("a smaller file" in str(refused.value)) == (name == "large.yaml")
    assert codes == {"none.yaml": "E630", "latin.yaml": "E630", "large.yaml": "E630", "graph.txt": "E631", "a.json": "E631"}


def test_too_many_elements_are_refused() -> None:
    text = "graph: a\nelements: {" + ", ".join(f"e{k}: J1" for k in range(10_001)) + "}"
    with pytest.raises(ModelError, match="the limit is 10000"):
        parse_graph(text)


def test_errors_of_compiling_name_the_lines_of_the_file() -> None:
    text = OSCILLATOR.replace("push: {Se: 1.0}", "push: {Sf: 1.0}").replace("mass: {I: {inertia: 2.0}}", "mass: {Sf: 2.0}")
    with pytest.raises(ModelError, match=r"created at two\.yaml:4 and two\.yaml:6"):
        compile_model(parse_graph(text, "two.yaml"))


def test_names_and_inputs_that_nothing_can_have_are_refused() -> None:
    for name, path, code in (("1.0", "time", "E102"), ("gain", None, "E150"), ("gain", 5, "E150")):
        graph = Graph("g")
        with pytest.raises(ModelError) as refused:
            graph.add(Block(name, [("y", lambda u: u, ["u"])], inputs={"u": path}))  # type: ignore[dict-item]
            graph.freeze()
        assert refused.value.problems[0].code == code


def test_graphs_in_graphs_have_problems_with_their_lines() -> None:
    text = TWINS["car"]
    cases = [
        ("ports: {foot: v}", "ports: {foot: w}", "E635", 'the port "foot" is "w"'),
        ("ports: {foot: v}", "port: {foot: v}", "E632", 'unknown key "port"'),
        ("exports: {travel: spring.q}", "exports: [spring.q]", "E632", '"exports" is not a mapping'),
        ("R: 8.0", "Q: 8.0", "E633", 'unknown kind "Q"'),
        ("v -> damper", "v -> dampr", "E635", '"dampr"'),
    ]
    for right, wrong, code, title in cases:
        with pytest.raises(ModelError) as refused:
            parse_graph(text.replace(right, wrong), "car.yaml")
        problem = refused.value.problems[0]
        line = 1 + text[: text.index(right)].count("\n")
        assert (problem.code, str(problem.places[0])) == (code, f"car.yaml:{line}") and title in problem.title


def test_parts_of_others_are_kinds() -> None:
    def pair(name: str, stiffness: float = 1.0) -> Graph:
        from bondgraph import J1, C

        graph = Graph(name)
        graph.connect(junction := J1("v"), C("spring", stiffness=stiffness))
        return graph.expose("end", junction)

    text = "graph: g\nelements: {v: J1, m: {I: 1.0}, s: {pair: {stiffness: 2.0}}}\nbonds: [v -> m, v -> s.end]"
    model = parse_graph(text, parts={"pair": pair}).freeze()
    assert model.elements["s.spring"].parameters["stiffness"].value == 2.0
    with pytest.raises(ModelError, match="one of its ports: end"):
        parse_graph(text.replace("s.end", "s.start"), parts={"pair": pair})


def test_the_published_schema_is_that_of_the_kinds() -> None:
    assert json.loads(PUBLISHED.read_text(encoding="utf-8")) == short_schema()
    validator = pytest.importorskip("jsonschema").Draft202012Validator(short_schema())
    with_parts = pytest.importorskip("jsonschema").Draft202012Validator(short_schema(MAKERS))
    for name, text in TWINS.items():
        (with_parts if name in WITH_PARTS else validator).validate(dict(yaml_document(text, "twin.yaml").content))
    assert list(validator.iter_errors({"graph": "a", "elements": {"r": {"R": {"resistence": 1.0}}}}))
    assert set(KINDS) <= set(short_schema()["$defs"]["element"]["anyOf"][0]["enum"])
