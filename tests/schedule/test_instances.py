"""Models of equal parts: statements generated from numbers equal those written with names."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from benchmarks.front_end import plate, uneven
from bondgraph import GY, J0, J1, TF, C, Graph, I, ModelError, R, Se, Sf, compile_model
from tests.inner.assembly import System, assemble
from tests.inner.causality import Causality, assign_causality
from tests.inner.compile import equations
from tests.inner.model import Element, Model, PortRef
from tests.inner.schedule import instances, lazy_system, numbered, system_of_instances
from tests.inner.tracing import output_names
from tests.schedule.graphs import chain


def mixed(sections: int, seed: int = 0) -> Graph:
    """Return a chain with two-ports, formulas, symbols and random arrows."""
    rng = np.random.default_rng(seed)
    graph, before = Graph("mixed"), None

    def join(one: Element, other: Element | PortRef) -> None:
        graph.connect(*((one, other) if rng.uniform() < 0.7 else (other, one)))

    for i in range(sections):
        mass, node, joint, drawn = J1(f"v{i}"), J0(f"f{i}"), J1(f"joint {i}"), rng.uniform(size=5)
        join(mass, I(f"m{i}", 1.0 + 0.1 * i, initial=0.1 * i, symbols={"p": "P"} if drawn[0] < 0.3 else None))
        if drawn[1] < 0.2 and before:
            gear = TF(f"t{i}", 1.5 + 0.01 * i)
            join(before, gear.port("1"))
            join(node, gear.port("2"))
        else:
            join(before or Sf("wall", 0.5), node)
        join(node, mass)
        join(node, joint)
        if drawn[2] < 0.2:
            motor, coil = GY(f"g{i}", 0.5 + 0.01 * i), J1(f"coil {i}")
            join(mass, motor.port("1"))
            join(coil, motor.port("2"))
            join(coil, I(f"l{i}", 0.1 + i))
            join(coil, R(f"r{i}", 1.0))
        quartic = C(f"k{i}", energy=lambda q, k: k * q**4 / 4, parameters={"k": 1.0 + i}, initial=0.1)
        join(joint, quartic if drawn[3] < 0.3 else C(f"k{i}", capacitance=0.1 + i, nominal=0.1))
        join(joint, R(f"c{i}", 0.1 + i))
        join(joint, R(f"d{i}", effort=lambda f, c: c * f**3, parameters={"c": 0.1}))
        if drawn[4] < 0.2:
            join(mass, Se(f"pull{i}", 0.1 * i))
        before = mass
    return graph


def assert_the_same(model: Model) -> bool:
    """Compare both ways; return False if there are no statements by numbers."""
    causality = assign_causality(model)
    system = equations(model, causality)
    found = system_of_instances(model, causality)
    if found is None:
        return False
    own, table, wanted = *found, numbered(system)
    assert (table.args, table.outs, table.formulas) == (wanted.args, wanted.outs, wanted.formulas)
    assert (table.shapes, table.producer, table.book) == (wanted.shapes, wanted.producer, wanted.book)
    assert [op.name for op in table.ops] == [op.name for op in wanted.ops]
    assert {name: table.numbers[name] for name in wanted.numbers} == wanted.numbers
    assert own.states == system.states and list(own.parameters.items()) == list(system.parameters.items())
    assert (own.energies, own.powers, own.name) == (system.energies, system.powers, system.name)
    assert list(own.statements) == list(system.statements) and list(own.values.items()) == list(system.values.items())
    return True


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat every model as large, and any number of elements as a pattern."""
    for least in ("MIN_ELEMENTS", "MIN_PATTERN_ELEMENTS"):
        monkeypatch.setattr(instances, least, 0)
    monkeypatch.setattr(lazy_system, "loops_are_better", lambda kinds: True)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("make", [chain, uneven, plate, mixed])
def test_numbers_are_those_of_the_names(make: Callable[[int], Graph]) -> None:
    assert assert_the_same(make(40).freeze())


@pytest.mark.usefixtures("small")
def test_numbers_of_random_chains_are_those_of_the_names() -> None:
    assert sum(assert_the_same(mixed(4 + seed % 12, seed).freeze()) for seed in range(1, 25)) > 20


def test_names_are_made_when_somebody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def watched(model: Model, causality: Causality) -> System:
        asked.append(model.name)
        return assemble(model, causality)

    monkeypatch.setattr(lazy_system, "assemble", watched)
    compiled = compile_model(chain(200))
    x, m = compiled.initial()
    compiled.program.rates(0.0, x, compiled.parameters({"k3.stiffness": 7.0}), m)
    assert not asked
    assert compiled.parameters["k3.stiffness"].value == 103.0 and asked == ["chain"]
    assert "k3.effort" in compiled.names() and compiled.system.aliases["d3.flow"] and asked == ["chain"]
    assert compiled.program.outputs is not None and asked == ["chain"]
    assert compiled.program.outputs.n_out == len(output_names(compiled.system))


@pytest.mark.parametrize("code", ["E129", "E155", "E206"])
def test_what_is_wrong_with_one_of_many_parts_is_said_as_ever(code: str) -> None:
    graph = chain(200)
    joint = graph["d100"]
    if code == "E129":
        graph.connect(joint, R("odd", effort=lambda f, c: c * f["x"], parameters={"c": 1.0}))
    elif code == "E155":
        own = {"energy": lambda q, k: k * q * q / 2, "output": lambda q, k: 2 * k * q, "parameters": {"k": 1.0}}
        graph.connect(joint, C("odd", **own, initial=0.1))
    else:
        ring = J1("one"), J1("two")
        graph.connect(joint, ring[0]).connect(ring[0], ring[1]).connect(ring[1], joint)
    with pytest.raises(ModelError, match=code):
        compile_model(graph)
