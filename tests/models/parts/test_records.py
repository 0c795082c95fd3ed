"""All recorded parts are complete and obey laws of power, passivity, and invariance under units, names and arrows."""

from __future__ import annotations

import functools
import importlib
import re
from pathlib import Path

import numpy as np
import pytest

from bondgraph import Graph, Parameter
from tests.at_releases import one_in
from tests.inner.models_parts import ICONS
from tests.inner.run import Result
from tests.inner.units import Unit, read
from tests.models.parts.checks import CHECKED, PARTS, bench, driven, gives_work_alone, ports_of

SCALED = re.compile(r"(V|A|H|F|S|Wb|N|Pa|ohm|C|W)(?![\w^])")
EACH = pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)


def nodes(run, graph: Graph) -> np.ndarray:
    return np.array([run[f"{name}.effort"] for name in graph if name.startswith("node ")])


@EACH
def test_a_record_is_complete(part) -> None:
    assert part.equation and re.search(r"\d{4}|Modelica", part.source) and part.summary.endswith(".")
    assert all(each.unit == "" or isinstance(read(each.unit), Unit) for each in part.parameters.values())
    Graph("drawn", icon=part.icon)


@EACH
def test_every_bond_of_a_part_has_a_domain(part) -> None:
    for bond in bench(part).freeze().bonds:
        inner = {end.element.rpartition(".")[2] for end in (bond.tail, bond.head)}
        assert bond.domain.name != "generic" or "ports" in inner, bond.name  # the vector bonds of a multiport mix domains


def test_every_icon_has_its_part() -> None:
    assert {part.name for part in PARTS.values()} == ICONS.keys()


def test_every_part_has_a_check() -> None:
    for path in Path(__file__).parent.glob("test_*.py"):
        importlib.import_module(f"tests.models.parts.{path.stem}")
    assert PARTS.keys() == CHECKED.keys()


@functools.cache
def usual(name: str) -> tuple[Graph, Result]:
    return (graph := bench(PARTS[name])), driven(graph)


@pytest.mark.parametrize("name", PARTS)
def test_power_balances(name) -> None:
    _, run = usual(name)
    assert run.ok and run.ledger.relative_residual < 1e-6
    if PARTS[name].passive and gives_work_alone(PARTS[name]):
        moved = run.ledger.elements
        taken = sum(moved[f"drive {port}"] - moved[f"inner {port}"] for port, _ in ports_of(PARTS[name].make("p")))
        held = run.ledger.stored[0] - run.ledger.stored.min()
        assert np.min(taken) >= -held - 1e-6 * run.ledger.summary()["in play"] - 1e-15


@pytest.mark.parametrize("name", one_in(3, PARTS))
def test_units_names_and_arrows_change_nothing(name) -> None:
    part, (graph, run) = PARTS[name], usual(name)
    scaled = {word: each for word, each in part.parameters.items() if SCALED.match(each.unit)}
    milli = {word: Parameter(1e3 * each.value, f"m{each.unit}") for word, each in scaled.items()}
    other = bench(part, name="a b", turned=True, **milli)
    reference = nodes(run, graph)
    assert nodes(driven(other), other) == pytest.approx(reference, rel=1e-6, abs=1e-6 * np.abs(reference).max())


@EACH
def test_an_unknown_parameter_is_named(part) -> None:
    with pytest.raises(TypeError, match=rf"{part.name}\(\) got an unexpected keyword argument 'colour'"):
        part.make("p", colour=1.0)


@EACH
def test_ports_have_names(part) -> None:
    assert all(name for name, _ in ports_of(part.make("p")))
