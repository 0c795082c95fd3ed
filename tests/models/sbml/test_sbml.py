"""SBML networks compared with SciPy, and their bonds where detailed balance is satisfied."""

from __future__ import annotations

from dataclasses import replace

import pytest
from screwbond.models.sbml import parse_sbml, read_sbml

from bondgraph import ModelError, compile_model
from tests.models.sbml.networks import NETWORKS

pytest.importorskip("libsbml")
TEXT = NETWORKS["michaelis"].text()


@pytest.mark.parametrize("name", NETWORKS)
def test_concentrations_are_those_of_scipy(name) -> None:
    network = NETWORKS[name]
    read = parse_sbml(network.text())
    result = compile_model(read.graph).simulate(3.0, samples=[0.0, 3.0], rtol=1e-10)
    for species, expected in network.concentrations(3.0).items():
        if species not in network.held:
            amount = result[f"{species}.q" if read.has_bonds else f"network.{species}"][-1]
            assert amount / network.size == pytest.approx(expected, rel=1e-8)


REASONS = {
    "michaelis": 'the reaction "make" is not reversible mass action',
    "triangle": "",
    "synthesis": "",
    "chemostats": "",
    "brusselator": 'the reaction "source" is not reversible mass action',
    "gene": 'the rate of "transcribe" is not a polynomial of amounts',
}


@pytest.mark.parametrize("name", NETWORKS)
def test_it_says_whether_there_are_bonds(name) -> None:
    read = parse_sbml(NETWORKS[name].text())
    assert (read.has_bonds, read.reason) == (not REASONS[name], REASONS[name])
    kinds = [element.kind for element in read.graph.freeze().elements.values()]
    assert ("Re" in kinds) == read.has_bonds and ("block" in kinds) == (not read.has_bonds)


def test_bonds_account_for_the_free_energy() -> None:
    result = compile_model(parse_sbml(NETWORKS["synthesis"].text()).graph).simulate(20.0)
    energy = result.ledger.summary()
    assert energy["dissipated"] > 0.1 and abs(energy["residual"]) < 1e-8


def test_a_cycle_without_detailed_balance_becomes_rates() -> None:
    triangle = NETWORKS["triangle"]
    driven = replace(triangle, parameters={**triangle.parameters, "k1": 2.5})
    read = parse_sbml(driven.text())
    assert not read.has_bonds and "a cycle has no detailed balance" in read.reason
    result = compile_model(read.graph).simulate(3.0, samples=[0.0, 3.0], rtol=1e-10)
    assert result["network.A"][-1] == pytest.approx(driven.concentrations(3.0)["A"], rel=1e-8)


def test_amounts_below_zero_have_rates_alone() -> None:
    network = replace(NETWORKS["triangle"], species={"A": -1.0, "B": 0.5, "C": 0.1})
    read = parse_sbml(network.text())
    assert read.reason == '"A" starts below zero, where it has no potential'
    result = compile_model(read.graph).simulate(3.0, samples=[0.0, 3.0], rtol=1e-10)
    assert result["network.A"][-1] == pytest.approx(network.concentrations(3.0)["A"], rel=1e-8)


def with_assignments(text: str, **formulas: str) -> str:
    import libsbml

    document = libsbml.readSBMLFromString(text)
    for symbol, formula in formulas.items():
        item = document.getModel().createInitialAssignment()
        item.setSymbol(symbol), item.setMath(libsbml.parseL3Formula(formula))
    return libsbml.writeSBMLToString(document)


def test_initial_assignments_may_precede_those_that_they_use() -> None:
    read = parse_sbml(with_assignments(TEXT, E="2*kf", S="E + kcat", kf="3*kr"))
    initial = compile_model(read.graph).simulate(1e-9, samples=[0.0])
    assert [initial[f"network.{name}"][0] for name in "ES"] == pytest.approx([0.5 * 6.0, 0.5 * 6.5], rel=1e-12)


RULE = '<listOfRules><rateRule variable="kf"><math xmlns="http://www.w3.org/1998/Math/MathML"><cn>1</cn></math></rateRule></listOfRules>'
REFUSED = {
    "doctype": (lambda t: t.replace("<sbml", '<!DOCTYPE a [<!ENTITY b "c">]>\n<sbml', 1), "E650", "entities"),
    "truncated": (lambda t: t[: len(t) // 2], "E650", "it is not SBML"),
    "not XML": (lambda t: "graph: a", "E650", "it is not SBML"),
    "empty": (lambda t: "", "E650", "it is not SBML"),
    "deep": (lambda t: "<a>" * 5000, "E650", "nested more than 100 deep"),
    "deep behind comments": (lambda t: f"<!--{'</é>' * 5000}-->" + "<é>" * 5000, "E650", "nested more than 100 deep"),
    "rule": (
        lambda t: t.replace("<listOfReactions>", RULE.replace("kf", "kr") + "<listOfReactions>", 1),
        "E651",
        "rules are not supported",
    ),
    "operation": (lambda t: t.replace("<minus/>", "<quotient/>", 1), "E651", "is not supported"),
    "name": (lambda t: t.replace("<ci> kf </ci>", "<ci> nobody </ci>", 1), "E652", '"nobody"'),
    "no number": (
        lambda t: t.replace("<ci> kf </ci>", "<apply><root/><degree><cn>0</cn></degree><cn>2</cn></apply>", 1),
        "E652",
        "no value",
    ),
    "no law": (lambda t: t[: t.index("<kineticLaw>")] + t[t.index("</kineticLaw>") + 13 :], "E652", "has no kinetic law"),
    "no value": (lambda t: t.replace('id="kf" value="2"', 'id="kf"'), "E652", '"kf", which has no value'),
    "no size": (lambda t: t.replace('size="0.5" ', ""), "E652", "has no size"),
    "no initial amount": (lambda t: t.replace('initialConcentration="10" ', ""), "E652", '"S" has no initial amount'),
    "assigned compartment": (lambda t: with_assignments(t, cell="2"), "E651", 'assignment of "cell" is not supported'),
    "mutual assignments": (lambda t: with_assignments(t, kf="kr", kr="2*kf"), "E652", "define each other: kf, kr"),
    "unknown species": (lambda t: t.replace('species="ES"', 'species="EX"', 1), "E652", 'unknown species "EX"'),
}


@pytest.mark.parametrize("case", REFUSED)
def test_unsupported_sbml_is_refused(case) -> None:
    change, code, title = REFUSED[case]
    assert change(TEXT) != TEXT
    with pytest.raises(ModelError) as refused:
        parse_sbml(change(TEXT), "wrong.xml")
    problem = refused.value.problems[0]
    assert problem.code == code and title in problem.title
    assert str(problem.places[0]).startswith("wrong.xml:")


def test_functions_that_double_each_other_are_refused() -> None:
    functions = {"f0": "lambda(x, x + x)"} | {f"f{k}": f"lambda(x, f{k - 1}(f{k - 1}(x)))" for k in range(1, 20)}
    with pytest.raises(ModelError, match="grows without bound"):
        parse_sbml(replace(NETWORKS["gene"], functions={**NETWORKS["gene"].functions, **functions}).text())
    for text in ("<!--", "<?", "<![CDATA["):
        with pytest.raises(ModelError, match="E650"):
            parse_sbml(text * 100_000)


def test_files(tmp_path) -> None:
    path = tmp_path / "network.xml"
    path.write_text(TEXT)
    assert read_sbml(path, "enzyme").graph.name == "enzyme"
    with pytest.raises(ModelError, match="E630"):
        read_sbml(tmp_path / "nothing.xml")
