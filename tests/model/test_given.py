"""Invalid numbers, units, names, depth and kinds of objects are refused."""

from __future__ import annotations

import re

import numpy as np
import pytest

from bondgraph import (
    GY,
    IC,
    J0,
    J1,
    TF,
    Automaton,
    Block,
    C,
    Ce,
    Constraint,
    Domain,
    Element,
    Friction,
    Graph,
    HeatTransfer,
    I,
    ModelError,
    Parameter,
    R,
    Se,
    StateSpec,
    assign_causality,
    by_mode,
    compile_model,
    equations,
    multiport,
)
from bondgraph.analysis import passivity
from bondgraph.quantities import real
from bondgraph.units import unknown_unit


def codes(*parts: Element | Graph) -> set[str]:
    graph, loop = Graph("g"), J1("j")
    try:
        for part in (*parts, R("leak", 1.0)):
            graph.connect(loop, part) if not isinstance(part, Element) or part.ports else graph.add(part)
        graph.freeze()
    except ModelError as error:
        assert all(problem.places and problem.cures for problem in error.problems)
        return {problem.code for problem in error.problems}
    return set()


NO_NUMBERS = ("1.0", True, [1.0, "2"], [1.0, True], 1j, np.array([True]), "")
GIVEN = {
    "capacitance": lambda n: C("c", capacitance=n),
    "start": lambda n: C("c", capacitance=1.0, initial=n),
    "nominal": lambda n: C("c", capacitance=1.0, nominal=n),
    "resistance": lambda n: R("r", n),
    "conductance": lambda n: R("r", conductance=n),
    "effort": lambda n: Se("u", n),
    "alpha": lambda n: Constraint("k", alpha1=n),
    "limit": lambda n: Friction("f", n),
    "position": lambda n: IC("ic", inertia=lambda q: 1.0, position=n),
    "parameter": lambda n: C("c", output=lambda q, k: k * q, energy=lambda q, k: k * q * q / 2, parameters={"k": n}),
    "parameter with unit": lambda n: R("r", effort=lambda f, k: k * f, parameters={"k": Parameter(n, "N s/m")}),
    "by mode": lambda n: R("r", by_mode("a", {"x": n})),
    "block": lambda n: Block("b", [], parameters={"k": n}),
    "state of a block": lambda n: Block("b", [("dx", lambda: 0.0, ())], states={"x": n}, rates={"x": "dx"}),
    "field": lambda n: multiport("C", "field", lambda x: x @ x, {"a": None}, initial=[n]),
    "species": lambda n: Ce("s", 1.0, initial=n),
}


@pytest.mark.parametrize("what", GIVEN)
def test_invalid_numbers_are_refused_everywhere(what: str) -> None:
    for given in NO_NUMBERS:
        assert "E113" in codes(GIVEN[what](given)), (what, given)


def test_a_structural_ratio_is_a_number() -> None:
    for given in NO_NUMBERS:
        with pytest.raises(ModelError, match="E113"):
            TF("t", given, structural=True)


COEFFICIENTS = {
    "resistance": (lambda n: R("r", n), 'R("r", effort=lambda f: ...)'),
    "conductance": (lambda n: R("r", conductance=n), 'R("r", flow=lambda e: ...)'),
    "stiffness": (lambda n: C("r", stiffness=n), 'C("r", output=lambda q: ...)'),
    "mass": (lambda n: I("r", mass=n), 'I("r", output=lambda p: ...)'),
    "conductance of heat": (lambda n: HeatTransfer("r", n), 'HeatTransfer("r", heat=lambda T1, T2: ...)'),
    "ratio": (lambda n: TF("r", n), 'MTF("r", lambda y: ..., signals=["y"])'),
    "ratio of a gyrator": (lambda n: GY("r", n), 'MGY("r", lambda y: ..., signals=["y"])'),
}


@pytest.mark.parametrize("what", COEFFICIENTS)
def test_a_function_as_a_coefficient_is_refused_with_the_argument_for_laws(what: str) -> None:
    build, cure = COEFFICIENTS[what]
    with pytest.raises(ModelError, match="E150") as refused:
        build(lambda x: x)
    assert f"try: {cure}" in str(refused.value)


FORMULAS = {
    "heat": lambda n: HeatTransfer("w", heat=lambda a, b, k: k * (a - b), parameters={"k": n}),
    "heat transfer": lambda n: HeatTransfer("w", n),
    "passive": lambda n: R("w", effort=lambda f, k: k * f, parameters={"k": n}, passive=True),
    "kinetic": lambda n: IC("w", inertia=lambda q, k: k, parameters={"k": n}),
}


@pytest.mark.parametrize("what", FORMULAS)
def test_checks_that_sample_a_formula_leave_invalid_numbers_to_the_check_of_numbers(what: str) -> None:
    for number in (*NO_NUMBERS, [1.0, None], np.nan, *([len] if what != "heat transfer" else [])):
        with pytest.raises(ModelError, match="E113"):
            Graph("g").add(FORMULAS[what](number)).freeze()


def test_a_truth_value_is_refused_as_dimension() -> None:
    assert "E103" in codes(C("c", capacitance=1.0, dimension=True))


def test_numbers_of_all_kinds_are_numbers() -> None:
    for given in (1, 2.5, np.float32(1.5), np.int8(3), [1, 2.5], np.arange(3), [[1, 2], [3, 4]], np.float64(2.0)):
        np.testing.assert_array_equal(real(given), np.asarray(given, dtype=float))


@pytest.mark.parametrize(
    "unit",
    [
        "",
        "1",
        "kg",
        "kg m^2",
        "N m/rad, N/m",
        "1, m",
        "J/(kg K)",
        "m/s^2",
        "1/s^2",
        "rad/s, m/s",
        "W/K",
        "Ohm",
        "uF",
        "%",
        "m**2",
        "s^-1",
        "m^0.5",
        "m^(1/2)",
        "V^2/Hz",
        "kW h",
        "°C",
        "N·m",
        "m²/s",
        "kPa",
        "rpm",
    ],
)
def test_units_that_exist(unit: str) -> None:
    assert unknown_unit(unit) is None


@pytest.mark.parametrize(("unit", "part"), [("kgg", "kgg"), ("kg metr", "metr"), ("N m/foo", "foo"), ("m^x", "m^x"), (3, "3")])
def test_units_that_do_not(unit: object, part: str) -> None:
    fault = unknown_unit(unit)
    assert fault is not None and fault.part == part


def test_a_unit_that_does_not_exist_is_refused_where_it_is_given() -> None:
    assert codes(R("r", effort=lambda f, k: k * f, parameters={"k": Parameter(1.0, "kgg")})) == {"E156"}
    block = Block("b", [("dx", lambda: 0.0, ())], states={"x": StateSpec(0.0, 1.0, "mettre")}, rates={"x": "dx"})
    assert codes(block) >= {"E156"}
    assert codes(Block("b", [("y", lambda: 0.0, ())], units={"y": "newtonne"})) >= {"E156"}


def test_a_domain_of_ones_own_brings_its_units_along() -> None:
    trade = Domain("trade", "price", "EUR/kg", "deliveries", "kg/d", "kg", "EUR d/kg")
    graph, market = Graph("market"), J0("market", domain=trade)
    demand = {"k": Parameter(1.0, "EUR d/kg^2")}
    graph.connect(market, C("store", capacitance=1.0)).connect(market, R("r", effort=lambda f, k: k * f, parameters=demand))
    graph.freeze()


@pytest.mark.parametrize("name", ["a\0b", "a\tb", "a\nb", "bell\a", "\x1b[0m", "zero\u200bwidth"])
@pytest.mark.parametrize("make", [lambda n: C(n, capacitance=1.0), Graph, J1, lambda n: Automaton(n, ("a",), "a", ())])
def test_names_of_characters_that_cannot_be_seen(make, name: str) -> None:
    with pytest.raises(ModelError, match="E102"):
        make(name)


def test_three_thousand_graphs_inside_one_another() -> None:
    graph = Graph("innermost").connect(J1("j"), R("r", 1.0))
    for k in range(3000):
        outer = Graph(f"g{k}")
        outer.add(graph)
        graph = outer
    with pytest.raises(ModelError, match="E159"):
        graph.freeze()


def test_duplicate_names_are_the_only_problem_reported() -> None:
    """E101 is reported without its consequences, such as a bond from a part to itself."""
    node, twin = J0("n"), J0("n")
    graph = Graph("g").connect(node, C("c", capacitance=1.0)).connect(node, twin).connect(twin, R("r", 1.0))
    other = Graph("h").connect(J1("j"), I("m", 1.0)).connect(J1("k"), I("m", 2.0))
    for wrong in (graph, other):
        with pytest.raises(ModelError) as caught:
            wrong.freeze()
        assert {problem.code for problem in caught.value.problems} <= {"E101", "E104"}
        assert caught.value.problems[0].code == "E101"


@pytest.mark.parametrize("function", [passivity, assign_causality, equations, compile_model])
@pytest.mark.parametrize("given", [None, 3, "model", [1.0], J1("j")])
def test_only_models_are_accepted(function, given: object) -> None:
    with pytest.raises(ModelError, match="E100"):
        function(given)


def test_passivity_takes_a_linear_system() -> None:
    graph = Graph("rc")
    loop = J1("loop")
    compiled = compile_model(graph.connect(loop, C("c", capacitance=1.0)).connect(loop, R("r", 1.0)), backend="numpy")
    for given in (graph, compiled):
        with pytest.raises(ModelError, match=re.escape("passivity(linearise(")):
            passivity(given)
