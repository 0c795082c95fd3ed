"""Notes in the notation of a paper: their formulas, evaluated as they stand there, against the code; all letters of surfaces."""

from __future__ import annotations

import numpy as np
import pytest

from models.contacts.kinematics import GAUSS, geometry_op
from screws import surfaces
from screws.surfaces import Surface
from tests.export.formula import value_of

WITH_LATEX = (
    surfaces.sphere(0.02),
    surfaces.ellipsoid((0.03, 0.02, 0.025)),
    surfaces.egg(0.035, 0.084, 0.01),
    surfaces.plane(),
    surfaces.cylinder(0.02),
    surfaces.torus(0.05, 0.02),
)
GIVEN = (
    surfaces.closed_surface(lambda n, a: (a * n[0], a * n[1], 0.5 * a * n[2]), {"a": 0.02}),
    surfaces.revolution(lambda w, a: a * (1.0 + 0.1 * w), lambda w, a: 0.8 * a * w, {"a": 0.05}),
    surfaces.parametric(lambda u, v: (u, v, u * v), (-1.0, 1.0), (-1.0, 1.0), inside=(0.0, 0.0, -1.0)),
)


@pytest.mark.parametrize("surface", WITH_LATEX, ids=lambda surface: surface.name)
def test_the_latex_of_a_surface_is_its_point(surface: Surface) -> None:
    rng = np.random.default_rng(5)
    assert len(surface.latex) == surface.charts and list(surface.letters) == list(surface.parameters)
    for chart, equations in enumerate(surface.latex):
        for _ in range(10):
            u, v = rng.uniform(0.1, 3.0, 2)
            numbers = {name: value * rng.uniform(0.9, 1.1) for name, value in surface.parameters.items()}
            letters = {surface.letters[name]: number for name, number in numbers.items()}
            found = value_of("c", equations, {"u": u, "v": v, **letters})
            assert found == pytest.approx(surface.point((u, v), float(chart), tuple(numbers.values())), rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("surface", [*WITH_LATEX, *GIVEN], ids=lambda surface: surface.name)
def test_the_note_of_a_gauss_frame_tells_the_surface(surface: Surface) -> None:
    note = geometry_op(surface, 1).note
    assert note.endswith(GAUSS) and note.count("$") % 2 == 0
    for equations in surface.latex:
        assert all(equation.partition(" = ")[2] in note for equation in equations)
    assert all(f"${letter}$ ({name})" in note for name, letter in surface.letters.items())
    assert bool(surface.latex) == (surface in WITH_LATEX) == ("last column" not in note)


def test_the_note_of_a_gauss_frame_defines_metric_curvature_and_torsion() -> None:
    """Its formulas of M, K and T, evaluated with differences of the frame."""
    equations = [text for text in GAUSS.split("$")[1::2] if text.startswith(("M = ", "K = ", "T = "))]
    assert len(equations) == 3
    rng, h = np.random.default_rng(6), 1e-5
    for surface in WITH_LATEX:
        for chart in range(surface.charts):
            q, steps = rng.uniform(0.7, 1.4, 2), h * np.eye(2)
            here = surface.geometry(q, float(chart))
            given = {"x": here.H[:3, 0], "y": here.H[:3, 1]}
            for letter, step in zip("uv", steps, strict=True):
                ends = [np.asarray(surface.geometry(q + s * step, float(chart)).H, dtype=float) for s in (1.0, -1.0)]
                slope = (ends[0] - ends[1])[:3] / (2.0 * h)
                given |= {f"x_{letter}": slope[:, 0], f"z_{letter}": slope[:, 2], f"c_{letter}": slope[:, 3]}
            for name in "MKT":
                found = value_of(name, equations, {key: np.asarray(value, dtype=float) for key, value in given.items()})
                assert np.ravel(found) == pytest.approx(np.ravel(getattr(here, name)).astype(float), rel=1e-7, abs=1e-7)
