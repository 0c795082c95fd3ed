"""Reference values of the delta robot, and hand-written C code, agree with the independent code.

`python -m tests.models.delta.delta_independent` writes the values to `delta_reference.json` beside this file.
"""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from screwbond.models.delta import DeltaParameters

from tests.models.delta import delta_independent as independent

ROBOTS = ("fit", "lab")


@cache
def reference() -> dict:
    return json.loads(Path(__file__).with_name("delta_reference.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ROBOTS)
def test_recorded_poles(name):
    p, numbers = independent.SETS[name], reference()[name]
    for key, y in (("pi/4", np.pi / 4.0), ("0", 0.0)):
        stored = np.array(numbers[key]["poles"]) @ [1.0, 1j]
        found = independent.poles(p, [y] * 3)
        assert max(np.abs(found - z).min() for z in stored) < 1e-7
        q = independent.assemble(p, [y] * 3)
        assert np.abs(q - numbers[key]["q"]).max() < 1e-13
        assert np.abs(independent.holding_torque(p, q) - numbers[key]["torque"]).max() < 1e-12
    assert np.rad2deg(independent.crossing(p)) == pytest.approx(numbers["crossing_deg"], abs=1e-8)


def test_poles_of_the_paper():
    """The poles are those of Bortoff 2018, fig. 5."""
    p = independent.SETS["fit"]
    upper = independent.poles(p, [np.pi / 4.0] * 3)
    assert np.all(np.abs(upper.real + 0.5) < 0.35) and np.all(np.abs(np.abs(upper.imag) - 5.5) < 0.6)
    lower = independent.poles(p, [0.0] * 3)
    assert lower[0] == pytest.approx(-6.5, abs=0.1) and lower[-1] == pytest.approx(5.2, abs=0.1)
    assert np.all(np.abs(lower[1:5].real + 2.0) < 0.3) and np.all(np.abs(np.abs(lower[1:5].imag) - 1.0) < 0.1)
    assert 22.0 < np.rad2deg(independent.crossing(p)) < 22.5


@pytest.mark.parametrize("name", ROBOTS)
def test_twelve_eigenvalues_are_at_minus_five(name):
    """The eigenvalues scatter like those of a Jordan block."""
    p = independent.SETS[name]
    for y in ([np.pi / 4.0] * 3, [0.2, 0.5, 0.6]):
        roots = np.linalg.eigvals(independent.linearise(p, y)[0])
        distance = np.sort(np.abs(roots + 5.0))
        assert distance[11] < 1e-5 < 0.1 < distance[12]
        for pole in independent.poles(p, y):
            assert np.abs(roots - pole).min() < 1e-5


def test_start_off_the_constraint():
    """h decays as h0 (1 + 5 t) e^{-5 t}, whatever the motion of the robot."""
    p = independent.SETS["fit"]
    q = independent.assemble(p, [0.6, 0.7, 0.9]) + 1e-3 * np.random.default_rng(2).normal(size=9)
    t = np.linspace(0.0, 0.4, 3)
    x = independent.simulate(p, np.concatenate([q, np.zeros(9)])[independent.BY_ARMS], t, rtol=1e-11)
    h0 = independent.constraint(p, q, np.zeros(9))[0]
    assert np.abs(h0).max() > 1e-4
    for time, row in zip(t, x, strict=True):
        qv = np.empty(18)
        qv[independent.BY_ARMS] = row
        h = independent.constraint(p, qv[:9], qv[9:])[0]
        assert np.abs(h - h0 * (1.0 + 5.0 * time) * np.exp(-5.0 * time)).max() < 1e-11


def test_energy_without_damping():
    p = {**independent.SETS["lab"], "DAMPING": 0.0}
    q = independent.assemble(p, [0.4, 0.6, 0.5])
    x = independent.simulate(p, np.concatenate([q, np.zeros(9)])[independent.BY_ARMS], np.array([0.0, 0.3]), rtol=1e-11)
    qv = np.empty(18)
    qv[independent.BY_ARMS] = x[-1]
    assert 0.5 * np.abs(qv[9:]).max() > 0.5, "it moves"
    assert independent.energy(p, qv[:9], qv[9:]) == pytest.approx(independent.energy(p, q, np.zeros(9)), abs=1e-10)


@pytest.mark.skipif(shutil.which("gcc") is None and shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("name", ROBOTS)
def test_hand_written_c(name):
    from benchmarks.delta_c import delta_c, random_states

    p = getattr(DeltaParameters, name)()
    x, u = random_states(60)
    with delta_c(p) as c:
        found = c.rates(x, u)
    expected = np.array([independent.rates(independent.SETS[name], a, b) for a, b in zip(x, u, strict=True)])
    assert np.max(np.abs(found - expected).max(axis=1) / np.abs(expected).max(axis=1)) < 1e-12


@pytest.mark.skipif(shutil.which("gcc") is None and shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("name", ROBOTS)
def test_recorded_motion(name):
    from scipy.integrate import solve_ivp

    from benchmarks.delta_c import delta_c

    motion = reference()[name]["disturbed"]
    torque = independent.torque_of(np.array(motion["offset"]), np.array(motion["amplitude"]))
    expected = np.array(motion["x"])
    x, u, out = np.empty(18), np.empty(3), np.empty(18)
    with delta_c(getattr(DeltaParameters, name)()) as c:
        call = c.one(x, u, out)

        def rates(t, state):
            x[:], u[:] = state, torque(t)
            call()
            return out.copy()

        run = solve_ivp(rates, (0.0, 2.0), expected[0], "LSODA", motion["t"], rtol=1e-12, atol=1e-13)
    assert np.abs(run.y.T - expected).max() < 2e-9
    assert np.abs(expected[:, 3] - expected[0, 3]).max() > 0.3, "it moves"
    assert max(np.abs(expected[:, k] - expected[:, k + 6]).max() for k in range(3)) > 0.1, "away from symmetry"
