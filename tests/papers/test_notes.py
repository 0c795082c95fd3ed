"""Notes in the notation of a paper have formulas that, evaluated as printed, agree with the code."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from screwbond.models.delta import DeltaParameters

from bondgraph import compile_model
from bondgraph.export import document
from examples import bouncing_ball
from screws import surfaces
from screws.surfaces import Surface
from tests.export.formula import value_of
from tests.inner.models_contacts import GAUSS_FRAME_NOTE, geometry_op
from tests.inner.models_delta import ROTATIONS, arm, closure, closure_jacobian, delta_graph, formula_notes, phi_of

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
    assert note.endswith(GAUSS_FRAME_NOTE) and note.count("$") % 2 == 0
    for equations in surface.latex:
        assert all(equation.partition(" = ")[2] in note for equation in equations)
    assert all(f"${letter}$ ({name})" in note for name, letter in surface.letters.items())
    assert bool(surface.latex) == (surface in WITH_LATEX) == ("last column" not in note)


def test_the_note_of_a_gauss_frame_defines_metric_curvature_and_torsion() -> None:
    equations = [text for text in GAUSS_FRAME_NOTE.split("$")[1::2] if text.startswith(("M = ", "K = ", "T = "))]
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


def equations_of(note: str) -> list[str]:
    found = [text for text in note.split("$")[1::2] if " = " in text]
    return [text for text in found if not text.startswith(("(", "m\\,", "M ", "\\dot", "q_", "z_"))]


def random_arm(rng: np.random.Generator) -> tuple[DeltaParameters, dict[str, Any], np.ndarray, np.ndarray]:
    fit = DeltaParameters.fit()
    p = DeltaParameters(**{f.name: getattr(fit, f.name) * rng.uniform(0.9, 1.1) for f in fields(fit)})
    theta, rates = rng.uniform(-1.2, 1.2, 3), rng.uniform(-2.0, 2.0, 3)
    names = ("L0", "L1", "L2", "L3", "M1", "M2", "M3", "J1", "J2")
    letters = {f"{name[0]}_{name[1]}": getattr(p, name) for name in names}
    letters |= {"L_{C1}": p.LC1, "L_{C2}": p.LC2, "g": p.g, r"\theta": theta, r"\dot\theta": rates, r"\varphi": phi_of(theta)}
    return p, letters, theta, rates


def test_the_notes_of_an_arm_agree_with_the_code() -> None:
    rng = np.random.default_rng(7)
    both = [
        text
        for text in equations_of(f"{formula_notes.INERTIA} {formula_notes.BIAS} {formula_notes.GRAVITY}")
        if "varphi" not in text
    ]
    for _ in range(20):
        p, letters, theta, rates = random_arm(rng)
        wanted = {
            "m": arm.inertia(theta, p),
            "c": arm.coriolis_torque(theta, rates, p),
            "V": arm.potential_energy(theta, p),
            "G": arm.gravity_torque(theta, p),
        }
        for letter, value in wanted.items():
            found = np.ravel(value_of(letter, both, letters))  # a single column is stored flat
            assert found == pytest.approx(np.ravel(value).astype(float), rel=1e-12, abs=1e-14), letter


def test_the_notes_of_a_tip_agree_with_the_code() -> None:
    rng = np.random.default_rng(8)
    place, slope = (
        [text for text in note.split("$")[1::2] if text.startswith(start)]
        for note, start in ((formula_notes.TIP, r"\psi ="), (formula_notes.SLOPE, r"\partial\psi ="))
    )
    left, right = next(text for text in formula_notes.TIP.split("$") if text.startswith("(")).split(" = ")
    for _ in range(20):
        p, letters, theta, _ = random_arm(rng)
        one, other = (value_of("n", [f"n = {side}"], letters) for side in (left, right))
        assert one == pytest.approx(other, abs=1e-14) and one == pytest.approx(arm.direction(theta).astype(float), abs=1e-14)
        assert np.ravel(value_of(r"\psi", place, letters)) == pytest.approx(arm.tip(theta, p).astype(float), rel=1e-12, abs=1e-14)
        found = value_of(r"\partial\psi", slope, letters)
        assert found == pytest.approx(arm.tip_jacobian(theta, p).astype(float), rel=1e-12, abs=1e-14)


def test_the_notes_of_the_closure_agree_with_the_code() -> None:
    rng = np.random.default_rng(9)
    text = next(text for text in formula_notes.TIP.split("$") if text.startswith("h ="))
    inside = text.partition(" = ")[2].rpartition(" = ")[0]
    blocks = next(text for text in formula_notes.SLOPE.split("$") if text.startswith("H ="))
    for _ in range(5):
        p, _, _, _ = random_arm(rng)
        q = rng.uniform(-1.0, 1.0, 9)
        named = {rf"\psi(q_{i + 1})": arm.tip(q[3 * i : 3 * i + 3], p).astype(float) for i in range(3)}
        for sign in ("", "-"):
            angle = float(f"{sign}1") * 2.0 * np.pi / 3.0
            turn = np.array([[np.cos(angle), -np.sin(angle), 0.0], [np.sin(angle), np.cos(angle), 0.0], [0.0, 0.0, 1.0]])
            named[rf"R_z({sign}\tfrac{{2}}{{3}} \pi)"] = turn
        assert value_of("h", [f"h = {inside}"], named) == pytest.approx(closure(q, p).astype(float), abs=1e-14)
        slopes = [ROTATIONS[i] @ arm.tip_jacobian(q[3 * i : 3 * i + 3], p).astype(float) for i in range(3)]
        turned = {rf"\partial\psi_{i + 1}": slope for i, slope in enumerate(slopes)}
        assert value_of("H", [blocks], turned) == pytest.approx(closure_jacobian(q, p).astype(float), abs=1e-14)


@pytest.mark.parametrize("form", ["lagrangian", "hamiltonian"])
def test_a_page_of_the_robot_has_each_line_of_a_note_once(form: str) -> None:
    text = document(compile_model(delta_graph(DeltaParameters.fit(), form=form), backend="numpy"), style="markdown")
    notes = [formula_notes.INERTIA, formula_notes.GRAVITY, formula_notes.TIP, formula_notes.SLOPE]
    notes.append(formula_notes.BIAS if form == "lagrangian" else formula_notes.MOMENTUM)
    for line in {line for note in notes for line in note.split("\n")}:
        assert all(text.count(f"${piece}$") >= 1 for piece in line.split("$")[1::2])
        longest = max(line.split("$")[1::2], key=len)
        assert text.count(f"${longest}$") == 1
    assert "In the notation of the source: See D" in text


def test_the_page_of_a_ball_on_a_constraint_names_the_stabilised_constraint_and_its_machine() -> None:
    text = document(compile_model(bouncing_ball.on_constraint(20.0), backend="numpy"), style="markdown")
    law = next(line for line in text.splitlines() if "BO20 (6)" in line)
    assert r"\alpha_{1}\,\dot{h} + \alpha_{0}\,h + \alpha_{2}\,(h)^3 = 0" in law
    assert "it starts in `free` (BO20 fig. 1)." in text
