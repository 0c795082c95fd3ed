"""Formulas of one arm agree with point masses and cross products, and wrong parameters are refused."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from screwbond.models.delta import DeltaParameters, read_parameters

from bondgraph.errors import ModelError
from tests.inner.emit import numpy_kernel
from tests.inner.models_delta import UNITS, phi_of, phi_rate, tip_drift
from tests.inner.models_delta import arm as formulas
from tests.inner.tape import Routine, Tape
from tests.models.delta import delta_appendix as appendix
from tests.models.delta import delta_independent as independent

ROBOTS = {"fit": DeltaParameters.fit(), "lab": DeltaParameters.lab()}
E = np.eye(3)


def states(seed: int, n: int = 60):
    rng = np.random.default_rng(seed)
    return zip(rng.uniform(-np.pi, np.pi, (n, 3)), rng.normal(0.0, 3.0, (n, 3)), strict=True)


def kinetic_energy(theta, v, p):
    """Return T of Bortoff 2018, eq. (1), J."""
    m = formulas.inertia(theta, p)
    crossed = v[0] * (m[0, 1] * v[1] + m[0, 2] * v[2])
    return 0.5 * (m[0, 0] * v[0] * v[0] + m[1, 1] * v[1] * v[1] + m[2, 2] * v[2] * v[2]) + crossed


@pytest.mark.parametrize("name", ROBOTS)
def test_terms_of_the_papers_appendix_agree_with_point_masses(name):
    p, other = ROBOTS[name], independent.SETS[name]
    assert asdict(p) == other
    for phi, _ in states(1):
        inertia, _, gravity = independent.arm_terms(other, phi, np.zeros(3))
        assert np.abs(appendix.inertia(phi, p) - inertia).max() < 1e-12
        assert np.abs(appendix.gravity_torque(phi, p) - gravity).max() < 1e-12

        def c(w, phi=phi):
            return independent.arm_terms(other, phi, w)[1]

        squares = [c(E[k]) for k in range(3)]
        products = [c(E[i] + E[k]) - squares[i] - squares[k] for i, k in ((0, 1), (1, 2), (0, 2))]
        for found, expected in zip(appendix.coriolis_vectors(phi, p), [*squares, *products], strict=True):
            assert np.abs(found - expected).max() < 1e-12


@pytest.mark.parametrize("name", ROBOTS)
def test_terms_in_theta_are_those_of_the_mass_points(name):
    """With phi' = B v: m = B^T m_phi B, c = B^T (c_phi + m_phi B' v), G = B^T G_phi and dpsi = dpsi_phi B.

    The terms agree to 1e-13 of a size that grows as phi nears its singularity.
    """
    p, other = ROBOTS[name], independent.SETS[name]
    for theta, v in states(1):
        phi, rate = phi_of(theta), phi_rate(theta, v)
        B = np.stack([phi_rate(theta, e) for e in E], axis=1)
        # exact, by a complex step
        turned = phi_rate((theta + 1e-30j * v)[:, None], v[:, None]).imag[:, 0] / 1e-30
        inertia, coriolis, gravity = independent.arm_terms(other, phi, rate)
        size = np.linalg.norm(B) ** 3 * (1.0 + rate @ rate)
        assert np.abs(formulas.inertia(theta, p) - B.T @ inertia @ B).max() < 1e-13 * size
        assert np.abs(formulas.coriolis_torque(theta, v, p) - B.T @ (coriolis + inertia @ turned)).max() < 1e-13 * size
        assert np.abs(formulas.gravity_torque(theta, p) - B.T @ gravity).max() < 1e-13 * size
        points = independent.arm_points(other, phi, rate)
        assert np.abs(formulas.tip(theta, p) - points[-1].place).max() < 1e-13
        assert np.abs(formulas.tip_jacobian(theta, p) - points[-1].jacobian @ B).max() < 1e-13 * size
        assert np.abs(tip_drift(theta, v, p) - points[-1].bias - points[-1].jacobian @ turned).max() < 1e-13 * size
        kinetic = sum(0.5 * x.mass * np.sum((x.jacobian @ rate) ** 2) for x in points)
        assert kinetic_energy(theta, v, p) == pytest.approx(kinetic, rel=1e-12)
        # V is zero at the height of the shaft
        assert formulas.potential_energy(theta, p) == pytest.approx(-sum(x.mass * p.g * x.place[2] for x in points), abs=1e-13)
        friction = B.T @ rate * p.DAMPING
        assert np.abs(formulas.friction_torque(theta, v, p) - friction).max() < 1e-13 * size


def test_formulas_on_the_tape():
    p = ROBOTS["lab"]
    tape = Tape()
    theta, v, c = tape.inputs("theta", 3), tape.inputs("v", 3), formulas.Constants(*tape.inputs("p", len(UNITS)))

    def terms(theta, v, p):
        return [
            *formulas.inertia(theta, p).flat,
            *formulas.coriolis_torque(theta, v, p),
            *formulas.gravity_torque(theta, p),
            *formulas.friction_torque(theta, v, p),
            kinetic_energy(theta, v, p),
        ]

    routine = Routine("terms", tape, (("theta", 3), ("v", 3), ("p", len(UNITS))), tuple(terms(theta, v, c)))
    for angles, rates in states(2, 5):
        expected = terms(angles, rates, p)
        assert np.allclose(numpy_kernel(routine)(angles, rates, p.values()), expected, rtol=1e-13, atol=1e-14)


def test_files(tmp_path):
    path = tmp_path / "robot.json"
    path.write_text(ROBOTS["lab"].to_json(), encoding="utf-8")
    assert read_parameters(path) == ROBOTS["lab"]
    values = asdict(ROBOTS["fit"])
    del values["DAMPING"], values["g"]
    path.write_text(json.dumps({"_": "measured", **values}), encoding="utf-8")
    assert read_parameters(path) == replace(ROBOTS["fit"], DAMPING=0.0)


@pytest.mark.parametrize(
    ("text", "codes"),
    [('{"L0": 0.1,', ["E402"]), ('{"L0": "long", "M4": 1.0}', ["E405", *["E403"] * 10, "E404"]), ("[]", ["E402"])],
)
def test_files_refused(text, codes):
    with pytest.raises(ModelError) as refused:
        DeltaParameters.from_json(text)
    assert [problem.code for problem in refused.value.problems] == codes


def test_missing_file(tmp_path):
    with pytest.raises(ModelError, match="E401"):
        read_parameters(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"L1": -0.24}, "E460"),
        ({"LC1": 1e200}, "E460"),
        ({"M1": 1e308}, "E460"),
        ({"L2": 1e-200}, "E460"),
        ({"L2": 0.0}, "E460"),
        ({"M1": -1.0, "L0": -0.1}, "E460"),
        ({"M3": float("nan")}, "E460"),
        ({"DAMPING": -0.01}, "E460"),
        ({"J1": True}, "E460"),
        ({"J2": 0.3 * 0.21**2 * 1.01}, "E461"),
        ({"J1": 0.4 * 0.12**2 * 1.01}, "E461"),
        ({"LC2": 0.1, "J2": 0.3 * 0.1 * 0.32 * 1.01}, "E461"),
        ({"LC1": 0.25}, "E461"),
        ({"M2": 0.0, "M3": 0.0, "J2": 0.0}, "E462"),
        ({"LC1": 0.0, "J1": 0.0}, "E462"),
    ],
)
def test_impossible_robots(changes, code):
    with pytest.raises(ModelError) as refused:
        replace(ROBOTS["fit"], **changes)
    assert {problem.code for problem in refused.value.problems} == {code}
    assert len(refused.value.problems) == (2 if len(changes) == 2 and code == "E460" else 1)


def test_extreme_rods_are_allowed():
    """The inertia of a rod is largest with all mass at both ends, and least with all mass at one point."""
    p = ROBOTS["fit"]
    most = p.M2 * p.LC2 * (p.L2 - p.LC2)
    for inertia in (most, 0.0):
        replace(p, J2=inertia, g=0.0, DAMPING=0.0)
