"""Coils with the coupling k = 1 are refused, and both suggestions of the message give the same run."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import J0, J1, TF, C, Graph, I, ModelError, R, Se, compile_model, multiport
from tests.checks.small_graphs import loop

L1, L2, LOAD = 1.0, 4.0, 10.0


def by_energy(k):
    M = k * np.sqrt(L1 * L2)
    D = L1 * L2 - M * M
    ports = {"1": "electrical", "2": "electrical"}
    coils = multiport(
        "I", "coils", lambda p: (L2 * p[0] ** 2 - 2 * M * p[0] * p[1] + L1 * p[1] ** 2) / (2 * D), ports, initial=[0, 0]
    )
    graph, first, second = Graph("coils"), J1("first"), J1("second")
    graph.connect(Se("u", 1.0), first).connect(first, R("r", 1.0)).connect(first, coils.port("1"))
    return graph.connect(second, coils.port("2")).connect(second, R("load", LOAD))


def by_matrix(k):
    M = k * np.sqrt(L1 * L2)
    return loop(Se("u", [-1.0, 0.0]), I("coils", inductance=np.array([[L1, M], [M, L2]])), R("r", [1.0, LOAD]))


def ideal():
    graph, first, flux = Graph("ideal"), J1("first"), J0("flux")
    graph.connect(Se("u", 1.0), first).connect(first, R("r", 1.0)).connect(first, flux).connect(flux, I("shared", L1))
    turns = TF("turns", np.sqrt(L1 / L2))
    return graph.connect(flux, turns.port("1")).connect(turns.port("2"), R("load", LOAD))


@pytest.mark.parametrize(("make", "code"), [(by_energy, "E125"), (by_matrix, "E119")])
def test_a_coupling_factor_of_one_has_a_cure(make, code):
    with pytest.raises(ModelError, match=code) as refused:
        compile_model(make(1.0))
    text = str(refused.value)
    assert "a coupling k below 1" in text and "an ideal TF" in text and "other start values" not in text


@pytest.mark.parametrize("make", [by_energy, by_matrix])
def test_a_coupling_below_one_and_an_ideal_transformer_agree(make):
    """The leakage, the fraction 1 - k^2 = 2e-4 of the inductance, hardly changes the currents."""
    times = np.linspace(0.5, 3.0, 6)
    near = make(0.9999).simulate(3.0, samples=times, progress=False)
    current = np.atleast_2d(near["r.effort"].T)[0]
    exact = ideal().simulate(3.0, samples=times, progress=False)["r.effort"]
    np.testing.assert_allclose(np.abs(current[1:]), np.abs(exact[1:]), rtol=5e-3)


def test_a_start_or_parameter_that_cures_is_named():
    with pytest.raises(ModelError, match=r"(?s)E125.*other start values: with another c\.q it is finite"):
        compile_model(loop(C("c", energy=lambda q: 1.0 / q), R("r", 1.0)))
    compile_model(loop(C("c", energy=lambda q: 1.0 / q, initial=1.0), R("r", 1.0)))
    with pytest.raises(ModelError, match=r"(?s)E125.*another c\.k: with .* it is finite"):
        compile_model(loop(C("c", energy=lambda q, k: q * q / k, parameters={"k": 0.0}, initial=1.0), R("r", 1.0)))
    compile_model(loop(C("c", energy=lambda q, k: q * q / k, parameters={"k": 0.1}, initial=1.0), R("r", 1.0)))
