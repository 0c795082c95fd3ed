"""The register of equations agrees with the sources of operations, docs/papers.md, the code and the tests."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from screwbond.models import attach_between, attach_contact, contact, ground, point_spring, rigid_body, spatial_spring
from screwbond.models.control import fading_gain
from screwbond.models.delta import DeltaParameters
from screwbond.models.hand import Hand, HandParameters
from screwbond.models.maze import maze_graph
from screwbond.models.motion import hold

import bondgraph
from bondgraph import IC, J1, C, Graph, Op
from docs.pages import text_of
from screwbond import models
from screws.surfaces import egg, sphere
from tests.inner.assembly import System
from tests.inner.compile import equations
from tests.inner.model import Action, as_op, entries, gradient, sources_of
from tests.inner.models_delta import add_brick, delta_graph, linearising_control, task_control

ROOT = Path(bondgraph.__file__).parents[1]
PAPERS = ("VI02", "BO18", "BO20", "WA22")
PLACE = r"(?:\(\d+[a-d]?\)|fig\. \d+|table I|appendix|section [^,;|]+)"
ENTRY = re.compile(rf"({'|'.join(PAPERS)}) ({PLACE}(?:, {PLACE})*)(, corrected)?")
"""Pattern of a paper, the cited equations and figures, and the word "corrected" if they were corrected."""


def modules(package: ModuleType) -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def named_operations() -> Iterator[tuple[str, Op]]:
    for package in (bondgraph, models):
        for module in modules(package):
            for name, value in vars(module).items():
                parts = (
                    (value.forward, value.transposed)
                    if isinstance(value, Action)
                    else value
                    if isinstance(value, tuple)
                    else (value,)
                )
                yield from ((f"{module.__name__}.{name}", part) for part in parts if isinstance(part, Op))


def eggs() -> Graph:
    graph = Graph("eggs")
    bodies = [
        rigid_body(
            name, mass=0.06, inertia=(1e-5,) * 3, surface=egg(0.035, 0.084, 0.01), position=(x, 0.0, 0.0), gravity=(0, 0, -9.81)
        )
        for name, x in (("one", 0.0), ("two", 0.07))
    ]
    for number, transport in enumerate(("parallel", "bodies")):
        touch = contact(
            f"touch {number}",
            *bodies,
            normal_stiffness=1e4,
            tangential_stiffness=1e4,
            rotational_stiffness=1.0,
            transport=transport,
        )
        attach_contact(graph, touch, *bodies)
    attach_between(graph, spatial_spring("spring", rotational=1.0, translational=(1.0, 2.0, 3.0)), *bodies)
    attach_between(graph, point_spring("string", 1.0), *bodies)
    return graph


def delta(form: str, **control: Any) -> Graph:
    p = DeltaParameters.fit()
    graph = delta_graph(p, form=form, signals="motors.torque" if control else None)
    if control:
        motion = hold(np.array([0.0, 0.0, 0.4]), 1.0)
        graph.add(*task_control(p, motion, kp=fading_gain(100.0, 0.0, 1.0), kd=40.0, **control).blocks)
        add_brick(graph, gap=0.01, mass=0.03, friction=0.5, gravity=9.81, alpha1=10.0, alpha0=25.0)
    return graph


def linearised() -> Graph:
    p = DeltaParameters.fit()
    control = linearising_control(p, hold(np.array([0.0, 0.0, 0.4]), 1.0), kp=25.0, kd=10.0)
    graph = delta_graph(p, signals=control.torque)
    graph.add(*control.blocks)
    return graph


BUILT = {
    "eggs": eggs,
    "delta": lambda: delta("lagrangian"),
    "hamiltonian": lambda: delta("hamiltonian"),
    "touch": lambda: delta("lagrangian", period=1e-3),
    "linearised": linearised,
    "hand": lambda: Hand(HandParameters(), ()).graph(),
    "maze": maze_graph,
}


@cache
def system(name: str) -> System:
    return equations(BUILT[name]().freeze())


def operations() -> Iterator[tuple[str, Op]]:
    yield from named_operations()
    for name in BUILT:
        yield from ((f"{name}: {statement.element}", statement.op) for statement in system(name).statements)


@cache
def notes() -> dict[str, str]:
    return {op.note: place for place, op in operations() if op.note}


@cache
def sources() -> dict[str, str]:
    return {op.source: place for place, op in operations() if op.source}


def places_of(text: str) -> list[str]:
    return re.findall(PLACE, text)


@cache
def rows(paper: str, heading: str) -> list[list[str]]:
    section = re.search(rf"^### {heading} \({paper}\)$(.*?)(?=^##|\Z)", text_of("papers.md"), flags=re.MULTILINE | re.DOTALL)
    assert section, (paper, heading)
    lines = [line for line in section[1].splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line[1:-1].split(" | ")] for line in lines]


RIGHT, WRONG = "Correct as printed", "Wrong as printed"


def cited() -> Iterator[tuple[str, str, bool, str]]:
    told = [(entry, where) for source, where in sources().items() for entry in entries(source)]
    told += [(entry[0], where) for note, where in notes().items() for entry in ENTRY.finditer(note)]
    for entry, where in told:
        if found := ENTRY.fullmatch(entry):
            yield from ((found[1], place, bool(found[3]), where) for place in places_of(found[2]))


def test_sources_are_entries_of_the_page() -> None:
    works = re.findall(r"^\| (.+? \d{4}) \|", text_of("papers.md"), flags=re.MULTILINE)
    assert len(sources()) > 10
    for source, where in sources().items():
        for entry in entries(source):
            assert ENTRY.fullmatch(entry) or entry in works, (where, entry)


def test_every_cited_equation_is_listed_and_marked_if_corrected() -> None:
    found = list(cited())
    assert len({(paper, place) for paper, place, *_ in found}) > 25
    for paper, place, corrected, where in found:
        right = {p for row in rows(paper, RIGHT) for p in places_of(row[0])}
        wrong = {p for row in rows(paper, WRONG) for p in places_of(row[0])}
        assert place in (wrong if corrected else right), (where, paper, place, corrected)


def code_of(cell: str) -> list[str]:
    return re.findall(r"`([a-z_]+\.[\w.]+)`", cell)


def resolved(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def test_misprinted_equations_with_an_operation_are_marked_corrected() -> None:
    checked = 0
    for paper in PAPERS:
        for heading, corrected in ((RIGHT, False), (WRONG, True)):
            for row in rows(paper, heading):
                for path in code_of(row[2]):
                    value = resolved(path)
                    if not isinstance(value, Op):
                        continue
                    said = [ENTRY.fullmatch(entry) for entry in entries(value.source)]
                    mine = {p for e in said if e and e[1] == paper and bool(e[3]) == corrected for p in places_of(e[2])}
                    assert set(places_of(row[0])) <= mine, (path, row[0])
                    checked += 1
    assert checked >= 7


@pytest.mark.parametrize("paper", PAPERS)
def test_rows_name_code_and_tests_that_exist(paper: str) -> None:
    for row in rows(paper, RIGHT):
        assert len(row) == 3 and code_of(row[2]) and places_of(row[0]), row
    for row in rows(paper, WRONG):
        assert len(row) == 4 and code_of(row[2]) and places_of(row[0]), row
        file, _, test = row[3].strip("`").partition("::")
        path = ROOT / "tests" / ("papers" if "/" not in file else "") / file
        assert re.search(rf"^def {test}\(", path.read_text(encoding="utf-8"), flags=re.MULTILINE), row[3]
    for row in (*rows(paper, RIGHT), *rows(paper, WRONG)):
        for path in code_of(row[2]):
            assert resolved(path) is not None, path
    numbered = [{p for row in rows(paper, heading) for p in places_of(row[0]) if p[0] == "("} for heading in (RIGHT, WRONG)]
    assert not numbered[0] & numbered[1]


def test_every_test_of_the_papers_is_named_by_the_page_or_says_that_its_equation_is_right() -> None:
    named = {row[3].strip("`") for paper in PAPERS for row in rows(paper, WRONG)}
    for path in Path(__file__).parent.glob("test_*_20*.py"):
        tests = re.findall(r"^def (test_\w+)\(", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        unnamed = {test for test in tests if f"{path.name}::{test}" not in named}
        assert unnamed <= {
            "test_equations_10_and_11",
            "test_equation_28_converges_to_the_solution_of_27",
            "test_equations_34_and_35",
        }


SURVIVING = {
    "eggs": {
        "VI02 (18)\nVI02 (19), corrected\nVI02 (20)\nVI02 (21), corrected\nVI02 (14), corrected",
        "VI02 (5), (6), (7), (8), (9)",
        "VI02 (10)",
        "VI02 (4), corrected",
        "Fasse and Broenink 1997; Stramigioli 2001",
    },
    "delta": {
        "BO18 (1), corrected; BO18 appendix; BO18 (8), appendix; BO18 (5), corrected",
        "BO18 (4), corrected",
        "BO18 (10), corrected",
        "BO18 (23); BO20 (6)",
        "BO18 appendix",
    },
    "hamiltonian": {"BO18 (1), corrected; BO18 appendix; BO18 (5), corrected"},
    "touch": {"BO20 (11)", "Khatib 1987", "BO18 (27), (28); BO18 (32), corrected", "BO20 fig. 1"},
    "linearised": {"BO18 (23), (33), (34), (35); BO18 (22), corrected"},
    "hand": {
        "VI02 (18)\nVI02 (19), corrected\nVI02 (20)\nVI02 (21), corrected\nVI02 (14), corrected",
        "Featherstone 2008",
        "Brockett 1984; Murray, Li and Sastry 1994",
    },
    "maze": {"BO20 (9a), corrected", "BO20 (9b), corrected", "BO20 (10), corrected", "BO20 fig. 9", "BO18 (23); BO20 (6)"},
}


@pytest.mark.parametrize("name", SURVIVING)
def test_sources_reach_the_statements_of_a_model(name: str) -> None:
    assert SURVIVING[name] <= {statement.op.source for statement in system(name).statements}


def test_derived_operations_keep_their_source() -> None:
    energy = Op("energy", lambda q, k: 0.5 * k * q * q, r"\tfrac12 #2 #1^2", "BO18 (5), corrected")
    other = Op("inertia", lambda q: 1.0 + q * q, source="BO20 (11)")
    assert as_op(energy) is energy and gradient(energy).source == energy.source
    assert sources_of(energy, None, other, lambda q: q, energy) == "BO18 (5), corrected; BO20 (11)"
    v = J1("v")
    graph = Graph("pendulum").connect(v, C("spring", energy=energy, parameters={"k": 1.0}, initial=1.0))
    graph.connect(v, IC("mass", inertia=other, potential=lambda q: q))
    graph.replace("spring", C("spring", energy=energy, parameters={"k": 2.0}, initial=1.0))
    found = {statement.op.source for statement in equations(graph.freeze()).statements}
    assert {"BO18 (5), corrected", "BO20 (11)"} <= found


def test_another_surface_has_the_same_source() -> None:
    graph, floor = Graph("one"), ground("floor", surface=sphere(0.1))
    ball = rigid_body("ball", mass=1.0, inertia=(1e-2,) * 3, surface=sphere(0.02), position=(0, 0, 0.2))
    attach_contact(graph, contact("touch", floor, ball, constrained="v_z", normal_stiffness=1e3), floor, ball)
    gauss = [s.op for s in equations(graph.freeze()).statements if s.op.name.startswith("Gauss")]
    assert len(gauss) == 2 and {op.source for op in gauss} == {"VI02 (5), (6), (7), (8), (9)"}
