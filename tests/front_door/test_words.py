"""Each coefficient of a linear C, I or R has a meaning and a unit, and invalid ones are refused."""

import numpy as np
import pytest

from bondgraph import J1, C, Graph, I, ModelError, R, Se, compile_model
from tests.inner.model import COEFFICIENTS, DOMAINS

MAKE = {"C": C, "I": I, "R": R}
UNITS = {
    "capacitance": "F",
    "compliance": "m/N",
    "stiffness": "N/m",
    "elastance": "V/C",
    "inertia": "kg",
    "mass": "kg",
    "inductance": "H",
    "inertance": "Pa s^2/m^3",
    "resistance": "Ohm",
    "damping": "N s/m",
    "conductance": "S",
}
DOMAIN = {"capacitance": "electrical", "resistance": "electrical", "conductance": "electrical"}


def other_parts(word, domain):
    kind, number = COEFFICIENTS[word].kind, {"C": 0.5, "I": 2.0, "R": 0.3}[COEFFICIENTS[word].kind]
    number = 1.0 / number if word in ("stiffness", "elastance", "conductance") else number
    parts = {"C": C("C", capacitance=0.5), "I": I("I", 2.0), "R": R("R", 0.3)} | {kind: MAKE[kind](kind, **{word: number})}
    loop = J1("loop", domain=domain)
    graph = Graph("loop").connect(Se("u", 1.0), loop)
    for part in parts.values():
        graph.connect(loop, part)
    return graph, f"{kind}.{word}", number


@pytest.mark.parametrize("word", COEFFICIENTS)
def test_every_word(word):
    known = COEFFICIENTS[word]
    domain = known.domains[0].name if known.domains else DOMAIN.get(word, "translation")
    graph, name, number = other_parts(word, domain)
    compiled = compile_model(graph, backend="numpy")
    assert compiled.parameters[name].value == number and compiled.parameters[name].unit == UNITS[word]
    roots = np.sort_complex(compiled.linearise().poles())
    np.testing.assert_allclose(roots, np.sort_complex(np.roots([2.0, 0.3, 2.0])), rtol=1e-9)


def test_the_table_is_complete():
    assert set(UNITS) == set(COEFFICIENTS)
    assert {domain for known in COEFFICIENTS.values() for domain in known.domains} <= set(DOMAINS.values())


def test_a_number_without_its_name_is_refused():
    with pytest.raises(ModelError, match=r'E562 C\("spring", 50.0\) is ambiguous') as caught:
        C("spring", 50.0)  # type: ignore[arg-type]
    assert caught.value.problems[0].cures[0] == 'C("spring", stiffness=50.0)'
    assert caught.value.problems[0].places[0].file.endswith("test_words.py")


@pytest.mark.parametrize(
    "make, domain",
    [
        (lambda d: I("coil", mass=1.0, domain=d), "electrical"),
        (lambda d: C("tank", compliance=1.0, domain=d), "hydraulic"),
        (lambda d: R("r", damping=1.0, domain=d), "electrical"),
    ],
)
def test_a_word_of_another_domain_is_refused(make, domain):
    with pytest.raises(ModelError, match="E563"):
        make(domain)
    assert make("generic") and make(None)


@pytest.mark.parametrize("word", COEFFICIENTS)
def test_a_word_of_a_single_domain_implies_it(word):
    known = COEFFICIENTS[word]
    element = MAKE[known.kind]("part", **{word: 1.0})
    graph = Graph("g").connect(velocity := J1("v"), element).connect(Se("source", 1.0), velocity)
    domain = known.domains[0].name if len(known.domains) == 1 else "generic"
    assert {bond.domain.name for bond in graph.freeze().bonds} == {domain}


def test_a_word_of_another_domain_is_refused_at_a_junction():
    graph = Graph("g").connect(J1("shaft", domain="rotation"), I("wheel", mass=1.0))
    with pytest.raises(ModelError, match=r'I "wheel" has domain translation, because of its mass\n') as caught:
        graph.freeze()
    (cure, *_) = next(problem for problem in caught.value.problems if problem.code == "E105").cures
    assert cure == 'I("wheel", inertia=...) without a domain'
    graph = Graph("g").connect(shaft := J1("shaft", domain="rotation"), I("wheel", inertia=1.0))
    assert graph.connect(Se("torque", 1.0), shaft).freeze()


_MASS = {"parameters": {"mass": 1.0}, "domain": "rotation"}


@pytest.mark.parametrize(
    "make",
    [
        lambda: I("wheel", mass=1.0, domain="generic"),
        lambda: I("wheel", energy=lambda p, mass: p * p / mass, **_MASS),
        lambda: R("wheel", effort=lambda f, mass: mass * f, **_MASS),
    ],
)
def test_a_declared_domain_follows_from_no_word(make):
    graph = Graph("g").connect(J1("shaft", domain="hydraulic"), make())
    with pytest.raises(ModelError, match=r'"wheel" has domain (generic|rotation)\n') as caught:
        graph.freeze()
    (problem,) = (each for each in caught.value.problems if each.code == "E105")
    assert not any("without a domain" in cure for cure in problem.cures)


def test_the_cure_names_a_storage_of_a_nested_graph_as_its_graph_does():
    inner = Graph("car").connect(velocity := J1("v"), I("body", mass=1.0)).expose("p", velocity)
    graph = Graph("g").connect(J1("shaft", domain="rotation"), inner.port("p"))
    with pytest.raises(ModelError) as caught:
        graph.freeze()
    (problem,) = (each for each in caught.value.problems if each.code == "E105")
    assert problem.cures[0] == 'I("body", inertia=...) without a domain'


def test_two_words_are_refused():
    with pytest.raises(ModelError, match="E110"):
        I("m", 1.0, mass=1.0)
