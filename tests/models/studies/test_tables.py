"""Tables of kinds are complete; the test named after a table fails if a kind is missing there."""

from __future__ import annotations

import dataclasses
import inspect
import json
from pathlib import Path

import numpy as np
import pytest
from screwbond.models.cli import COMMANDS

from screws import surfaces
from screws.surfaces import Surface
from tests.inner.models_delta import TASKS, DeltaParameters, Grid, TouchPlan
from tests.inner.models_hand import SHAPES, HandParameters, HandScenario, ReferenceStep
from tests.inner.models_hand import TASK as HAND
from tests.inner.models_impact import TASK as IMPACT_TASK
from tests.inner.models_maze import TASKS as MAZE_TASKS
from tests.inner.models_maze import GainGrid, MazeParameters
from tests.inner.models_studies import REQUIRED, SUMMARY, WRITERS, declarations, field_lines
from tests.inner.models_two_bodies import GRAVITIES, MOTIONS, STIFFNESS, SURFACES, ContactSpec, GravitySpec, Scenario
from tests.inner.models_two_bodies import TASK as CONTACT
from tests.inner.models_two_bodies import body_fields_BodySpec as BodySpec

ALL_TASKS = {"contact": CONTACT, "hand": HAND, "impact": IMPACT_TASK, **TASKS, **MAZE_TASKS}
RECORDS = (
    BodySpec,
    ContactSpec,
    GravitySpec,
    Scenario,
    HandParameters,
    HandScenario,
    ReferenceStep,
    DeltaParameters,
    TouchPlan,
    Grid,
)
RECORDS += (MazeParameters, GainGrid)
UNDECLARED = {
    BodySpec: {"name", "surface", "surface_type"},
    ContactSpec: {"label"},
    Scenario: {"name", "description", "file", "body1", "body2", "contact", "gravity", "notes"},
    HandScenario: {"name", "description", "steps", "parameters"},
}
WITHOUT_FILES = {"cylinder", "torus", "parametric", "revolution", "closed_surface"}


def test_surfaces() -> None:
    """The values in a file are the arguments of the surface's function in `screws`."""
    made = {name for name in surfaces.__all__ if inspect.isfunction(f := getattr(surfaces, name)) and _makes_surface(f)}
    assert set(SURFACES) == made - WITHOUT_FILES
    for name, kind in SURFACES.items():
        arguments = inspect.signature(kind.make).parameters
        needed = [argument for argument, its in arguments.items() if its.default is inspect.Parameter.empty]
        assert list(kind.numbers) == list(arguments)[: len(kind.numbers)] and set(needed) <= set(kind.numbers), name
        assert kind.make is getattr(surfaces, name) and (not kind.numbers or kind.error_key in kind.numbers)


def _makes_surface(function: object) -> bool:
    return inspect.signature(function).return_annotation in (Surface, "Surface")  # type: ignore[arg-type]


def test_motions_and_gravities() -> None:
    fields = set(declarations(BodySpec))
    assert declarations(BodySpec)["motion"].options == tuple(MOTIONS)
    for name, kind in MOTIONS.items():
        assert {*kind.needs, *kind.velocities} <= fields, name
    conditional = {name for name, declared in declarations(BodySpec).items() if declared.needed is not None}
    assert conditional == {field for kind in MOTIONS.values() for field in kind.needs}
    gravity = declarations(GravitySpec)
    assert gravity["type"].options == tuple(GRAVITIES)
    assert {field for needs in GRAVITIES.values() for field in needs} == set(gravity) - {"type"}
    contact = declarations(ContactSpec)
    assert set(STIFFNESS) == set(contact["constrained"].options) and set(STIFFNESS.values()) <= set(contact)


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_of_the_object_in_the_hand(name: str) -> None:
    assert set(SHAPES) == {surface for surface, kind in SURFACES.items() if kind.numbers}
    shape = SHAPES[name]
    size = {"egg": (0.035, 0.084)}.get(name, (0.03, 0.02, 0.04)[: len(shape.sizes)])
    points = np.asarray(shape.surface(*size).grid(101, 201), dtype=float)
    corners = points[:-1, :-1], points[1:, :-1], points[1:, 1:], points[:-1, 1:]
    volume, centre, squares = 0.0, np.zeros(3), np.zeros(3)
    for triangle in (corners[:3], (corners[0], *corners[2:])):
        a, b, c = (corner.reshape(-1, 3) for corner in triangle)
        six = np.einsum("ki,ki->k", a, np.cross(b, c))
        volume += six.sum() / 6.0
        centre += six @ (a + b + c) / 24.0
        squares += six @ (a * a + b * b + c * c + a * b + b * c + c * a) / 60.0
    # The inscribed polyhedron of n x 2 n cells is smaller by (pi / n)^2, or half of it.
    moments = (squares.sum() - squares) / volume
    error = (np.pi / 100.0) ** 2
    assert np.allclose(shape.moments(*size), moments, rtol=2.0 * error)
    assert np.allclose(centre / volume, 0.0, atol=error * max(size))


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: f"{record.__module__}.{record.__name__}")
def test_every_field_is_declared_and_described(record: type) -> None:
    names = {field.name for field in dataclasses.fields(record)}
    fields = declarations(record)
    assert names - set(fields) == UNDECLARED.get(record, set())
    for name, declared in fields.items():
        assert declared.meaning and (declared.options or declared.unit == declared.unit.strip()), name
        if declared.default not in (REQUIRED, None):
            assert declared.violation(declared.default, {key: other.default for key, other in fields.items()}) is None, name
    lines = field_lines(record)
    assert len(lines) == len(fields) and all(
        declared.unit in line and declared.meaning in line for line, declared in zip(lines, fields.values(), strict=True)
    )


def test_tasks() -> None:
    assert {command.name for command in COMMANDS} == {
        "contact",
        "delta",
        "diagram",
        "examples",
        "export",
        "hand",
        "impact",
        "info",
        "maze",
        "run",
        "show",
        "sweep",
        "warm",
    }
    for name, task in ALL_TASKS.items():
        assert task.help and len(set(task.names)) == len(task.names) and SUMMARY in task.names, name
        assert {Path(file).suffix for file in (*task.files, SUMMARY)} <= set(WRITERS), name
        assert not {Path(file).suffix for file in task.pictures} & set(WRITERS), name


def test_parameters_come_back_from_their_files() -> None:
    given = DeltaParameters.fit()
    assert DeltaParameters.from_json(given.to_json()) == given
    assert list(json.loads(given.to_json())) == list(declarations(DeltaParameters))
