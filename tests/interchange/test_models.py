"""Saved and loaded models have the same names, equations and pictures, and bit-identical runs."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from screwbond.models import attach_between, attach_contact, collisions, contact, ground, point_spring, rigid_body

from bondgraph import (
    Compiled,
    Graph,
    Model,
    compile_model,
    dump_model,
    elements,
    equations,
    load_model,
    multiport,
    parse_model,
    save_model,
    simulate,
)
from bondgraph.export import latex
from bondgraph.interchange import digest
from campaigns.small_models import SMALL
from examples import rolling_eggs
from screws import scalars
from screws.shapes import Ball, Box, Capsule, HalfSpace, Hull
from screws.surfaces import closed_surface, parametric
from tests.inner.assembly import ASSEMBLE, System
from tests.inner.interchange import (
    ARGUMENTS,
    MODEL_RECORDS,
    NUMERIC_FIELDS,
    OPERATIONS,
    PORTS,
    RECORDS,
    FormulaOwner,
    Replay,
    argument_shapes,
    fields_of,
    formula_from_json,
)
from tests.inner.model import Domain, Mechanics, Op, laws
from tests.inner.render import diagram
from tests.inner.tape import listing
from tests.inner.tracing import trace_for_runs
from tests.schedule.graphs import chain
from tests.systems import SYSTEMS


@functools.cache
def pair(name: str) -> tuple[Compiled, Compiled]:
    compiled = compile_model(SMALL[name](), progress=False)
    return compiled, compile_model(parse_model(dump_model(compiled)), progress=False)


@pytest.mark.parametrize("name", SMALL)
def test_runs_are_equal_to_the_last_bit(name: str) -> None:
    first, second = (compiled.simulate(0.5, progress=False) for compiled in pair(name))
    assert first.names() == second.names()
    for value in first.names():
        np.testing.assert_array_equal(first[value], second[value], err_msg=value)
    assert [(e.time, e.kind) for e in first.events] == [(e.time, e.kind) for e in second.events]
    np.testing.assert_array_equal(first.ledger.stored, second.ledger.stored)
    assert len(first.t) > 100 and first.ok


@pytest.mark.parametrize("name", SMALL)
def test_saved_models_keep_their_descriptions(name: str) -> None:
    first, second = pair(name)
    assert first.report() == second.report()
    assert str(first.parameters) == str(second.parameters) and str(first.states) == str(second.states)
    assert first.names() == second.names() and first.bonds == second.bonds
    assert dump_model(second.model) == dump_model(first.model).replace(' "starts": "fixed",\n', "")


@pytest.mark.parametrize("name", ["bouncing", "rod"])
def test_pictures_and_equations_are_the_same(name: str) -> None:
    first, second = pair(name)
    assert diagram(first.model).svg == diagram(second.model).svg
    assert latex(first) == latex(second)


def routines(model: Model) -> tuple[System, dict[str, Any]]:
    found, system, differentiate = trace_for_runs(equations(model), lambda traced: None)
    jacobian, _ = differentiate()
    cases = {f"{name} {k}": listing(case) for name, r in found.items() for k, case in enumerate(r.cases)}
    return system, cases | ({} if jacobian is None else {"jacobian": listing(jacobian)})


def rolling() -> Graph:
    return rolling_eggs.build()[0]


def pebble() -> Graph:
    skin = closed_surface(lambda n, a: (a * n[0], 1.2 * a * n[1], 0.7 * a * n[2]), {"a": 0.05}, "pebble")
    bowl = parametric(lambda u, v, k: (u, v, k * (u * u + v * v)), (-1, 1), (-1, 1), {"k": 0.3}, inside=(0, 0, -1), name="bowl")
    floor = ground("floor", surface=bowl)
    stone = rigid_body("stone", mass=0.1, inertia=(1e-4, 1e-4, 1e-4), surface=skin, position=(0.02, 0.0, 0.05))
    graph = Graph("pebble")
    touching = contact("contact", floor, stone, constrained=["v_x", "v_y", "v_z"], normal_stiffness=1e4, tangential_stiffness=1e3)
    return attach_contact(graph, touching, floor, stone)


@pytest.mark.parametrize("build", [rolling, pebble])
def test_contacts_have_the_same_steps_and_the_same_start(build: Callable[[], Graph]) -> None:
    graph = build()
    model, again = graph.freeze(), parse_model(dump_model(graph))
    assert routines(model)[1] == routines(again)[1]
    first, second = (compile_model(m, backend="numpy", progress=False) for m in (model, again))
    for one, other in zip(first.initial(), second.initial(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert first.report() == second.report()
    assert dataclasses.replace(model.contacts[0], place=None) == dataclasses.replace(again.contacts[0], place=None)


def test_a_large_model_stores_equal_formulas_once() -> None:
    small, large = (dump_model(chain(sections)) for sections in (20, 200))
    assert small.count('"steps"') == large.count('"steps"') < 10
    assert len(large) < 10.5 * len(small) and len(large) / 200 < 3000


def test_files_are_the_same_in_every_process_and_read_in_a_fresh_one(tmp_path: Path) -> None:
    path = save_model(SMALL["rectifier"](), tmp_path / "rectifier.json")
    written = path.read_text(encoding="utf-8")
    code = (
        "import sys; from bondgraph import dump_model, load_model; from bondgraph.interchange import digest;"
        "model = load_model(sys.argv[1]); assert 'sympy' not in sys.modules; print(digest(dump_model(model)))"
    )
    found = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == digest(written) == hashlib.sha256(written.encode()).hexdigest()[:32]
    assert list(load_model(path).elements) == list(SMALL["rectifier"]().freeze().elements)


def test_a_graph_whose_node_needs_a_constraint_is_saved_as_it_is_compiled() -> None:
    """The current of a coupled coil without a load is zero, and no element sets the voltage of its node."""
    graph, a, b = Graph("open coil"), elements.J1("a", domain="electrical"), elements.J0("b", domain="electrical")
    ports = {"1": "electrical", "2": "electrical"}
    coils = multiport("I", "coils", lambda p: p[0] ** 2 - p[0] * p[1] + p[1] ** 2, ports, initial=[0.0, 0.0])
    graph.connect(elements.Se("source", 1.0), a).connect(a, elements.R("r", 1.0)).connect(a, coils.port("1"))
    graph.connect(b, coils.port("2")).connect(b, elements.Sf("open", 0.0, domain="electrical"))
    first, second = simulate(graph, 0.1), simulate(parse_model(dump_model(graph)), 0.1)
    assert first.names() == second.names()
    assert all(np.array_equal(first[name], second[name]) for name in first.names())


def test_a_short_table_stays_one() -> None:
    graph, node = Graph("tabled"), elements.J0("node", domain="electrical")
    source = elements.Se("source", lambda t: scalars.interpolate(t, [0.0, 0.1, 0.2, 0.25], [0.0, 1.0, -1.0, 0.0]), signals="time")
    graph.connect(source, node).connect(node, elements.C("c", capacitance=2.0)).connect(node, elements.R("r", 1.0))
    first, second = simulate(graph, 0.3), simulate(parse_model(dump_model(graph)), 0.3)
    assert all(np.array_equal(first[name], second[name]) for name in first.names())


def test_start_values_that_follow_are_written_as_found() -> None:
    graph, written = SMALL["lever"](), dump_model(SMALL["lever"]())
    model = parse_model(written)
    assert '"starts": "fixed"' in written and not model.starts
    assert model.elements["spring"].law.spec.initial == 0.1  # type: ignore[attr-defined]
    moved, held = (simulate(m, 0.1, initial={"m1.p": 2.0}, progress=False)["spring.q"][0] for m in (graph, model))
    assert (moved, held) == (0.2, 0.1)


def heap() -> Graph:
    tetrahedron = Hull(np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.1]]))
    solids = {"ball": Ball(0.1), "brick": Box(0.1, 0.2, 0.3), "pill": Capsule(0.1, 0.3), "wedge": tetrahedron}
    bodies = {
        name: rigid_body(name, mass=1.0, inertia=(0.1,) * 3, position=(0.5 * k, 0.0, 1.0), shape=solid)
        for k, (name, solid) in enumerate(solids.items())
    }
    floor = ground("floor", shape=HalfSpace())
    graph = collisions(Graph("heap"), [floor, *bodies.values()], friction=0.3, exclude=[(bodies["ball"], bodies["brick"])])
    attach_between(graph, point_spring("tie", 10.0), bodies["ball"], bodies["pill"])
    return graph


# --- completeness --------------------------------------------------------------------------------------------------------


def test_every_law_has_roles_and_ports() -> None:
    assert set(ARGUMENTS) == set(PORTS) == set(ASSEMBLE)


DRAWN_AS = {
    **{"J0": "0", "J1": "1", "EulerJunction": "MGY", "Switch": "Sw"},
    **{"Constraint": "constraint", "Friction": "friction", "Block": "block", "HeatTransfer": "RS"},
}


def held(value: Any, found: set[type]) -> set[type]:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        found.add(type(value))
        for field in dataclasses.fields(value):
            held(getattr(value, field.name), found)
    for part in value.values() if isinstance(value, Mapping) else value if isinstance(value, (tuple, list, frozenset)) else ():
        held(part, found)
    return found


def test_the_graphs_of_these_tests_have_every_record_law_and_element() -> None:
    models = [parse_model(dump_model(build())) for build in (*SMALL.values(), rolling, heap)]
    found = set().union(*(held(model, set()) for model in models))
    libraries = {kind for kind in MODEL_RECORDS if kind.__name__ == "ForeignLibrary"}
    assert set(MODEL_RECORDS) - libraries <= found and set(ASSEMBLE) <= found
    made = {element.kind for model in models for element in model.elements.values()}
    functions = {name for name in elements.__all__ if name not in ("Element", "Port", "PortRef")}
    assert {DRAWN_AS.get(name, name) for name in functions} <= made


def reachable(record: type, found: dict[type, None]) -> dict[type, None]:
    if record in found:
        return found
    found[record] = None
    for form, _ in fields_of(record).values():
        rest = [form]
        while rest:
            inside = list(rest.pop().of)
            rest += [part for part in inside if not isinstance(part, (type, str))]
            for kind in inside:
                if dataclasses.is_dataclass(kind) and isinstance(kind, type) and kind in RECORDS.values():
                    reachable(kind, found)
    return found


def test_every_field_of_every_record_of_a_model_can_be_written_and_read() -> None:
    """`reachable` raises TypeError for a field whose annotation a file cannot store, and for an unlisted record."""
    assert set(reachable(Model, {})) | {Domain} >= set(MODEL_RECORDS) - {laws.Action, Mechanics}
    assert {name for record, name in NUMERIC_FIELDS} <= {f.name for r in MODEL_RECORDS for f in dataclasses.fields(r)}
    assert set(OPERATIONS.values()) == {Op, *Op.__subclasses__()}


@pytest.mark.parametrize("name", SMALL)
def test_the_roles_of_formulas_are_those_of_the_statements(name: str) -> None:
    system = equations(SMALL[name]().freeze())
    model = parse_model(dump_model(SMALL[name]()))
    loaded = equations(model)
    met = 0
    for statement, again in zip(system.statements, loaded.statements, strict=True):
        assert statement.args == again.args and statement.outs == again.outs
        if isinstance(again.op.function, Replay):
            shapes = [loaded.values[argument].shape for argument in again.args]
            assert list(again.op.function.formula.arguments) == shapes
            met += 1
    assert met


def test_the_energies_of_a_configuration_are_kept() -> None:
    model = pair("pendulum")[1].model
    law = model.elements["arm"].law_as(laws.InertialField)
    assert law.mechanics is not None and law.mechanics.potential is not None
    assert law.mechanics.potential(0.0, 2.0, 1.0, 9.81) == 0.0
    assert FormulaOwner(model, "arm").arguments(law.mechanics, "kinetic") == ("arm.q", "arm.v", "arm.m", "arm.L", "arm.g")
    assert argument_shapes(pair("pendulum")[1].system, law.mechanics, "potential", ("arm.q",)) == [()]
    assert formula_from_json(law.mechanics.potential.formula.to_json()) == law.mechanics.potential.formula  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_systems_of_the_papers_are_read_as_they_were_written(name: str) -> None:
    text = dump_model(SYSTEMS[name]())
    first, second = (json.loads(each) for each in (text, dump_model(parse_model(text))))
    assert all(first[part] == second[part] for part in first if part not in ("starts", "left out"))
    assert len(first["model"]["elements"]) > 5
