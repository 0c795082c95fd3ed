"""Smooth runs agree with closed forms and with SciPy."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from bondgraph import J0, Graph, R, Sf, compile_model
from screws import scalars as s
from tests.inner.run import simulate
from tests.run.problems import decay, oscillator, program, robertson, top
from tests.run.reference_solvers import SOLVERS, by_scipy, ode_of, solved_by

METHODS = ["dop853", "rodas5p"]
OMEGA = 577.0


def sized(made, nominal):
    return dataclasses.replace(made, nominal=np.array(nominal))


@pytest.mark.parametrize("method", METHODS)
def test_exponential(method):
    result = simulate(decay(), [1.0], [2.0], [], 3.0, method=method, rtol=1e-8)
    assert result.ok
    assert np.max(np.abs(result["x"] / np.exp(-2.0 * result.t) - 1.0)) < 1e-6
    assert result.t[0] == 0.0 and result.t[-1] == 3.0 and len(result.t) == 1001


@pytest.mark.parametrize("damping", [0.0, 0.02, 0.28])
def test_ledger_of_a_contact_spring_keeps_the_promise_at_rtol_1e_9(damping):
    made = sized(oscillator(), [1e-3, 1e-3 * OMEGA])
    result = simulate(made, [1e-3, 0.0], [OMEGA**2, damping * OMEGA], [], 2.0, rtol=1e-9)
    assert result.statistics.method == "dop853"
    assert result.ledger.relative_residual < 1e-9


@pytest.mark.parametrize("method", METHODS)
def test_ledger_falls_with_the_tolerance(method):
    made = sized(oscillator(), [1e-3, 1e-3 * OMEGA])
    residuals = []
    for rtol in (1e-4, 1e-6, 1e-8):
        result = simulate(made, [1e-3, 0.0], [OMEGA**2, 0.02 * OMEGA], [], 0.5, rtol=rtol, method=method)
        residuals.append(result.ledger.relative_residual)
    assert residuals[0] > 3.0 * residuals[1] > 9.0 * residuals[2]


def test_free_top_keeps_energy_and_momentum():
    inertia = np.array([1.0, 2.0, 3.0])
    made = sized(top(), [100.0] * 3 + [1.0] * 4)
    result = simulate(made, [0.1, 100.0, 0.1, 1, 0, 0, 0], inertia, [], 2.0, rtol=1e-9)
    assert result.ledger.relative_residual < 1e-9
    momentum = np.linalg.norm(result.x[:, :3] * inertia, axis=1)
    assert np.max(np.abs(momentum / momentum[0] - 1.0)) < 1e-9


@pytest.mark.parametrize("fused", [False, True])
def test_samples_between_steps_are_as_good_as_steps(fused):
    made = sized(oscillator(fused=fused), [1.0, 1.0])
    result = simulate(made, [1.0, 0.0], [1.0, 0.0], [], 20.0, rtol=1e-9, samples=0.001)
    assert len(result.t) == 20001
    assert np.max(np.abs(result["spring.q"] - np.cos(result.t))) < 1e-9
    assert np.max(np.abs(result["mass.v"] + np.sin(result.t))) < 1e-9


def test_fused_powers_change_nothing():
    runs = [simulate(oscillator(fused=fused), [1.0, 0.0], [9.0, 0.1], [], 5.0) for fused in (False, True)]
    assert np.array_equal(runs[0].integrals, runs[1].integrals)


@pytest.mark.parametrize("linear", ["dense", "band", "sparse"])
def test_robertson_against_radau(linear):
    made = robertson(nominal=[1.0, 1e-5, 1.0])
    arguments = ([1.0, 0.0, 0.0], [], [], 400.0)
    result = simulate(made, *arguments, method="rodas5p", linear=linear, rtol=1e-8)
    reference = by_scipy(ode_of(made, *arguments[:3]), result.t, "Radau", rtol=1e-10, atol=1e-15)
    assert np.max(np.abs(result.x - reference) / made.nominal) < 1e-7
    assert result.statistics.jacobians > 0


def vanderpol():
    return program(lambda t, x, p, m: [x[1], p[0] * (1.0 - x[0] * x[0]) * x[1] - x[0]], (2, 1, 0))


def test_stiff_model_changes_to_rodas5p_by_itself():
    result = simulate(vanderpol(), [2.0, 0.0], [1000.0], [], 2000.0, rtol=1e-6, samples=[2000.0])
    assert result.statistics.method == "dop853, rodas5p"
    assert result.x[-1, 0] == pytest.approx(1.70616773, abs=1e-5)
    assert result.statistics.rates < 20_000


def test_a_stiff_model_without_derivatives_runs():
    made = program(lambda t, x, p, m: [-p[0] * (x[0] - s.cos(t))], (1, 1, 0))
    made = dataclasses.replace(made, differentiate=None, couple=made.differentiate)
    result = simulate(made, [2.0], [1e5], [], 2.0, rtol=1e-5)
    assert result.ok and result.statistics.method == "dop853"
    assert result.x[-1, 0] == pytest.approx(np.cos(2.0), abs=2e-5)


def test_kinds_of_algebra_agree():
    n = 12

    def chain(t, x, p, m):
        at = [0.0, *x[:n], 0.0]
        return [*x[n:], *(p[0] * (at[i] - 2.0 * at[i + 1] + at[i + 2]) - p[1] * x[n + i] for i in range(n))]

    made = program(
        chain, (2 * n, 2, 0), powers=lambda t, x, p, m: [p[1] * sum((v * v for v in x[n:]), 0.0)], roles=["dissipated"]
    )
    start = np.zeros(2 * n)
    start[2] = 1.0
    dense, *others = (
        simulate(made, start, [100.0, 0.5], [], 1.0, method="rodas5p", linear=kind, rtol=1e-6)
        for kind in ("dense", "band", "sparse")
    )
    for other in others:
        assert np.max(np.abs(dense.x - other.x)) < 1e-9
        assert np.max(np.abs(dense.integrals - other.integrals)) < 1e-9


@pytest.mark.parametrize("method", METHODS)
def test_values_far_from_a_source_underflow_smoothly(method):
    """Each cell has a thousandth of its predecessor's value, down to 1e-312."""
    made = program(lambda t, x, p, m: [1.0 - x[0], *(p[0] * x[i - 1] - x[i] for i in range(1, 105))], (105, 1, 0))
    result = simulate(made, np.zeros(105), [1e-3], [], 400.0, method=method, rtol=1e-6, samples=[400.0])
    assert result.ok
    np.testing.assert_allclose(result.x[-1, :40], 1e-3 ** np.arange(40.0), rtol=1e-3)


@pytest.mark.parametrize("machine", [True, False])
@pytest.mark.parametrize("solver", SOLVERS)
def test_solvers_of_others_agree(solver, machine):
    times = np.linspace(0.1, 2.0, 20)
    theirs = solved_by(solver, ode_of(oscillator(machine=machine), [1.0, 0.0], [9.0, 0.1]), times)
    ours = simulate(oscillator(), [1.0, 0.0], [9.0, 0.1], [], 2.0, rtol=1e-10, samples=times)
    assert np.max(np.abs(theirs - ours.x[1:])) < 1e-6  # SciPy's BDF misses its rtol by a factor of a hundred


@pytest.mark.parametrize("method", METHODS)
def test_interpreted_kernels_are_called_back(method):
    ours, theirs = (
        simulate(oscillator(machine=machine), [1.0, 0.0], [9.0, 0.1], [], 2.0, method=method) for machine in (False, True)
    )
    assert ours.ok and np.max(np.abs(ours.x - theirs.x)) < 1e-10
    assert np.max(np.abs(ours.integrals - theirs.integrals)) < 1e-10


def test_an_interrupt_in_an_interpreted_formula_is_raised(monkeypatch):
    made = oscillator(machine=False)

    def interrupted(*blocks):
        raise KeyboardInterrupt

    made.rates.__dict__["function"] = interrupted
    with pytest.raises(KeyboardInterrupt):
        simulate(made, [1.0, 0.0], [9.0, 0.1], [], 2.0)


def test_time_dependent_rates_and_another_start():
    made = program(lambda t, x, p, m: [t * t], (1, 0, 0))
    for method in METHODS:
        result = simulate(made, [0.0], [], [], 5.0, t_start=2.0, method=method, samples=[3.0, 5.0])
        assert result.t.tolist() == [2.0, 3.0, 5.0]
        assert result.x[:, 0] == pytest.approx([0.0, 19.0 / 3.0, 39.0], abs=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_equilibrium_and_no_energy(method):
    result = simulate(oscillator(), [0.0, 0.0], [1.0, 0.1], [], 1.0, method=method)
    assert result.ok and np.all(result.x == 0.0)
    assert result.ledger.relative_residual == 0.0


def test_coefficients_are_those_of_scipy():
    from scipy.integrate._ivp import dop853_coefficients as theirs

    from tests.inner.run import dop853 as ours

    def full(rows, shape):
        table = np.zeros(shape)
        for i, row in enumerate(rows):
            for j, value in row.items():
                table[i, j] = value
        return table

    assert np.array_equal(full(ours.A, (16, 16)), theirs.A)
    assert np.array_equal(full(ours.D, (4, 16)), theirs.D)
    assert np.array_equal(full([ours.A[12]], (1, 12))[0], theirs.B)
    assert np.array_equal(full([ours.E3, ours.E5], (2, 13)), [theirs.E3, theirs.E5])
    assert np.array_equal(ours.C, theirs.C)


@pytest.mark.parametrize(("method", "backend"), [(method, backend) for method in METHODS for backend in ("numpy", "llvm")])
def test_a_graph_that_stores_nothing_runs(method, backend):
    """A resistor stores no energy that could give a scale for the error of the dissipated work."""
    graph, node = Graph("still"), J0("node")
    graph.connect(Sf("i", 2.0), node).connect(node, R("r", 3.0))
    result = compile_model(graph, backend=backend).simulate(1.0, method=method, progress=False)
    assert result.ok and result.ledger.dissipated[-1] == pytest.approx(12.0, rel=1e-7)
