"""Parameters of resistors, springs, sources and gears depend on the mode of an automaton, in flat and nested graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bondgraph import (
    IC,
    J1,
    TF,
    Automaton,
    Block,
    C,
    Graph,
    I,
    ModelError,
    Parameter,
    R,
    Se,
    Sf,
    StateSpec,
    Transition,
    by_mode,
    compile_model,
)
from bondgraph.export import c_source, latex, state_equations


def after(time: float) -> Automaton:
    return Automaton("bumper", ("free", "contact"), "free", (Transition("free", "contact", lambda t: t - time, ("time",)),))


def test_a_damper_that_switches() -> None:
    graph, v = Graph("brake").add_automaton(after(1.0)), J1("v")
    graph.connect(v, I("mass", 2.0, initial=6.0))
    graph.connect(v, R("damper", by_mode("bumper", {"contact": 5.0, "free": 0.0})))
    compiled = compile_model(graph)
    result = compiled.simulate(2.0, samples=[0.0, 0.9, 2.0], rtol=1e-10)
    assert result["v.flow"] == pytest.approx([3.0, 3.0, 3.0 * np.exp(-2.5)], rel=1e-8)
    assert list(result["damper.resistance"]) == [0.0, 0.0, 5.0]
    assert result.ledger.dissipated[-1] == pytest.approx(9.0 * (1.0 - np.exp(-5.0)), rel=1e-7)
    other = compiled.simulate(2.0, parameters={"damper.resistance in contact": 1.0}, rtol=1e-10)
    assert other["v.flow"][-1] == pytest.approx(3.0 * np.exp(-0.5), rel=1e-8)
    written = str(state_equations(compiled, numbers=True))
    assert "mass.p' = -5*mass.p/2   (bumper: contact)" in written
    assert "cases" in latex(compiled)
    assert "RESISTANCE_IN_CONTACT" in c_source(compiled).header.upper()


def test_values_by_mode_have_units() -> None:
    def brake(value: Any) -> Graph:
        graph, v = Graph("brake").add_automaton(after(1.0)), J1("v", domain="translation")
        return graph.connect(v, I("mass", 2.0, initial=6.0)).connect(v, R("damper", value))

    each = by_mode("bumper", {"free": Parameter(2.0, "N s/mm"), "contact": Parameter(5.0, "kg/s")})
    for value in (each, Parameter(by_mode("bumper", {"free": 2.0, "contact": 0.005}), "kN s/m")):
        compiled = compile_model(brake(value), backend="numpy")
        assert str(compiled.parameters["damper.resistance in free"]).startswith("2. ")
        values = [compiled.evaluate(m=np.array([mode]))[compiled.system.resolve("damper.resistance")] for mode in (0.0, 1.0)]
        assert values == pytest.approx([2000.0, 5.0], rel=1e-15)
    brake(by_mode("bumper", {"free": 0.0, "contact": Parameter(5.0, "N s/mm")})).freeze()
    for wrong in (
        {"free": 1.0, "contact": Parameter(5.0, "kg/s")},
        {"free": Parameter(1.0, "V"), "contact": Parameter(5.0, "kg/s")},
    ):
        with pytest.raises(ModelError, match="E175"):
            by_mode("bumper", wrong)


def test_energy_gained_by_a_stiffer_spring_is_recorded() -> None:
    graph, v = Graph("spring").add_automaton(after(0.5)), J1("v")
    graph.connect(Sf("hold", 0.0), v)
    graph.connect(v, C("spring", stiffness=by_mode("bumper", {"free": 2.0, "contact": 8.0}), initial=1.5))
    ledger = compile_model(graph).simulate(1.0).ledger
    assert ledger.lost[-1] == pytest.approx(-0.5 * 6.0 * 1.5**2, rel=1e-12)
    assert ledger.relative_residual < 1e-12


def test_sources_ratios_and_formulas_take_values_by_mode() -> None:
    graph, one, two = Graph("drive").add_automaton(after(1.0)), J1("one"), J1("two")
    graph.connect(Se("pull", by_mode("bumper", {"free": 1.0, "contact": 4.0})), one)
    graph.connect(one, gear := TF("gear", by_mode("bumper", {"free": 2.0, "contact": 0.5}))).connect(gear, two)
    graph.connect(two, R("load", effort=lambda f, k: k * f, parameters={"k": by_mode("bumper", {"free": 3.0, "contact": 7.0})}))
    graph.connect(one, R("rub", 1.0)).connect(one, I("rotor", 1.0))
    compiled = compile_model(graph)
    values = compiled.simulate(30.0, samples=[0.0, 30.0])
    assert values["one.flow"][-1] == pytest.approx(4.0 / (1.0 + 0.25 * 7.0), rel=1e-6)


def test_vectors_and_nested_automata() -> None:
    part, v = Graph("left").add_automaton(after(1.0)), J1("v", dimension=2)
    part.connect(v, I("mass", 1.0, initial=[1.0, 2.0]))
    part.connect(v, R("damper", by_mode("bumper", {"free": [1.0, 2.0], "contact": [0.0, 0.0]})))
    graph = Graph("outer")
    graph.add(part)
    result = compile_model(graph).simulate(3.0, rtol=1e-10)
    assert result["left.v.flow"][-1] == pytest.approx([np.exp(-1.0), 2.0 * np.exp(-2.0)], rel=1e-8)


def test_blocks_and_fields_take_values_by_mode() -> None:
    graph = Graph("arm").add_automaton(after(1.0))
    weight = by_mode("bumper", {"free": 0.0, "contact": 9.81})
    graph.connect(Se("free end"), IC("arm", inertia=lambda q, g: 1.0, potential=lambda q, g: g * q, parameters={"g": weight}))
    speed = by_mode("bumper", {"free": 1.0, "contact": 3.0})
    graph.add(Block("clock", [], parameters={"k": speed}, states={"t": StateSpec(0.0)}, rates={"t": "k"}))
    result = compile_model(graph).simulate(2.0, rtol=1e-10)
    assert result["arm.v"][-1] == pytest.approx(-9.81, rel=1e-9)
    assert result["clock.t"][-1] == pytest.approx(4.0, rel=1e-9)


def test_refusals() -> None:
    def braked(value) -> Graph:
        v = J1("v")
        return Graph("g").add_automaton(after(1.0)).connect(v, I("mass", 2.0)).connect(v, R("damper", value))

    with pytest.raises(ModelError, match="E139"):
        braked(by_mode("bumper", {"free": 1.0})).freeze()
    with pytest.raises(ModelError, match="E106"):
        braked(by_mode("brake", {"free": 1.0, "contact": 2.0})).freeze()
    with pytest.raises(ModelError, match=r"resistance in contact must be positive"):
        braked(by_mode("bumper", {"free": 1.0, "contact": -2.0})).freeze()
    with pytest.raises(ModelError, match="E113"):
        braked(by_mode("bumper", {"free": 1.0, "contact": "hard"})).freeze()
