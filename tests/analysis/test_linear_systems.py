"""Poles, zeros, transfer functions and minimal realisations agree with closed forms, python-control, and prescribed values."""

from __future__ import annotations

import builtins

import numpy as np
import pytest
from scipy.linalg import eigvals

from bondgraph import ModelError, compile_model
from bondgraph.analysis import Linear, linearise
from tests.analysis.models import chain, coupled_masses, motor, two_masses, wired
from tests.inner.analysis import MAX_DENSE


def linear(a, b, c, d=None, name: str = "made") -> Linear:
    a, b, c = (np.atleast_2d(np.asarray(m, dtype=float)) for m in (a, b, c))
    d = np.zeros((len(c), b.shape[1])) if d is None else np.atleast_2d(np.asarray(d, dtype=float))
    names = [tuple(f"{letter}{k}" for k in range(n)) for letter, n in zip("xuy", (len(a), b.shape[1], len(c)), strict=True)]
    return Linear(name, a, b, c, d, *names, rates=np.zeros(len(a)), values=np.zeros(len(c)))


def same_set(found, wanted, tolerance=1e-6) -> None:
    found, wanted = list(np.asarray(found, dtype=complex)), np.asarray(wanted, dtype=complex)
    assert len(found) == len(wanted), (found, wanted)
    for value in wanted:
        nearest = min(range(len(found)), key=lambda k: abs(found[k] - value))
        assert abs(found.pop(nearest) - value) <= tolerance * (1.0 + abs(value)), (found, wanted)


def test_dc_motor() -> None:
    model = compile_model(motor(), backend="numpy")
    system = linearise(model, ["supply.value"], ["rotor.flow"])
    np.testing.assert_allclose(system.poles(), [-266643.9, -23.755], rtol=1e-5)
    transfer = system.transfer_function()
    assert transfer.zeros.size == 0 and transfer.order == 2
    assert 5.0 * transfer(0.0).real == pytest.approx(502.044, rel=1e-6)
    assert transfer.num[0] == pytest.approx(9.54e-3 / (15e-6 * 1e-6), rel=1e-12)
    assert transfer.den[0] == 1.0
    assert system.part("supply.value", "rotor.flow").outputs == ("rotor.flow",)


def test_two_masses_in_series_from_the_wall() -> None:
    poles = linearise(compile_model(two_masses(), backend="numpy")).poles()
    np.testing.assert_allclose(
        poles, [-11.6728 - 22.5896j, -11.6728 + 22.5896j, -0.82715 - 8.75500j, -0.82715 + 8.75500j], atol=6e-5
    )


def test_dependent_inertias() -> None:
    system = linearise(compile_model(coupled_masses(), backend="numpy"), ["push.value"], ["v1.flow"])
    np.testing.assert_allclose(system.poles(), [-7.0 / 23.0], rtol=1e-12)
    assert system.transfer_function().gain == pytest.approx(9.0 / 23.0, rel=1e-12)


def test_zeros_of_two_masses_are_those_of_the_absorber() -> None:
    """The driven mass rests under a constant force (s = 0), and while the second mass swings: m2 s^2 + c2 s + k2 = 0."""
    model = compile_model(two_masses(), backend="numpy")
    zeros = linearise(model, ["force.value"], ["v1.flow"]).zeros()
    same_set(zeros, [*np.roots([1.0, 15.0, 400.0]), 0.0], 1e-10)


def test_chain_is_sparse_and_its_slowest_poles_are_found() -> None:
    sections = 300
    system = linearise(compile_model(chain(sections), backend="numpy"), ["push.value"], ["v0.flow"])
    assert system.is_sparse and system.A.nnz < 10 * sections
    few = system.poles(count=6)
    everything = system.poles()
    nearest = everything[np.argsort(np.abs(everything), kind="stable")[:6]]
    same_set(few, nearest, 1e-7)
    omega = np.array([0.1, 1.0, 5.0])
    a, b, c, d = system.dense()
    wanted = [c @ np.linalg.solve(1j * w * np.eye(len(a)) - a, b) + d for w in omega]
    np.testing.assert_allclose(system.frequency_response(omega), wanted, rtol=1e-8)


def test_too_many_states_for_all_poles(monkeypatch: pytest.MonkeyPatch) -> None:
    system = linearise(compile_model(chain(210), backend="numpy"))
    monkeypatch.setattr("bondgraph.analysis.linear.MAX_DENSE", 100)
    assert MAX_DENSE > 100
    with pytest.raises(ModelError, match="E256"):
        system.poles()


@pytest.mark.parametrize("seed", range(30))
def test_zeros_against_python_control(seed: int) -> None:
    control = pytest.importorskip("control")
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    rank = int(rng.integers(0, m + 1))
    d = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, m))
    a, b, c = rng.normal(size=(n, n)), rng.normal(size=(n, m)), rng.normal(size=(m, n))
    wanted = control.ss(a, b, c, d).zeros()
    wanted = wanted[np.abs(wanted) < 1e6]
    same_set(linear(a, b, c, d).zeros(), wanted, 1e-5)
    scale = 10.0 ** rng.uniform(-4, 4, n)
    same_set(linear(a * scale[:, None] / scale, b * scale[:, None], c / scale, d).zeros(), wanted, 1e-5)


@pytest.mark.parametrize("seed", range(20))
def test_zeros_that_were_put_in(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    zeros, poles = rng.normal(size=int(rng.integers(0, n))), rng.normal(size=n)
    a = np.diag(np.ones(n - 1), 1)
    a[-1] = -np.poly(poles)[:0:-1]
    b = np.eye(n)[:, -1:]
    c = np.zeros((1, n))
    c[0, : len(zeros) + 1] = np.atleast_1d(np.poly(zeros))[::-1]
    t = np.linalg.qr(rng.normal(size=(n, n)))[0]
    system = linear(t @ a @ t.T, t @ b, c @ t.T)
    same_set(system.zeros(), zeros, 1e-6)
    transfer = system.transfer_function()
    same_set(transfer.zeros, zeros, 1e-6)
    same_set(transfer.poles, poles, 1e-6)
    assert transfer.gain == pytest.approx(1.0, rel=1e-6)
    s = np.array([0.3j, 2.0 + 1j, -0.4j])
    np.testing.assert_allclose(transfer(s), np.polyval(transfer.num, s) / np.polyval(transfer.den, s), rtol=1e-8)
    np.testing.assert_allclose(transfer(s), system.at(s)[:, 0, 0], rtol=1e-7)


def test_zeros_where_inputs_and_outputs_are_of_different_number() -> None:
    a = np.diag([-1.0, -2.0, -3.0])
    # the mode at -2 is uncontrollable, even with another input; the wide pencil keeps full rank although -3 is unobservable
    b, c = np.array([[1.0, 2.0], [0.0, 0.0], [1.0, 1.0]]), np.array([[1.0, 1.0, 0.0]])
    same_set(linear(a, b, c).zeros(), [-2.0], 1e-12)
    same_set(linear(a.T, c.T, b.T).zeros(), [-2.0], 1e-12)
    same_set(linear(a, b[:, :1], c).zeros(), [-2.0, -3.0], 1e-12)
    assert linear(a, np.array([[1.0, 2.0], [1.0, -1.0], [1.0, 0.5]]), np.ones((1, 3))).zeros().size == 0
    same_set(linear(a, np.zeros((3, 0)), np.array([[1.0, 0.0, 0.0]])).zeros(), [-2.0, -3.0], 1e-12)
    same_set(linear(a, np.zeros((3, 1)), np.zeros((1, 3))).zeros(), [-1.0, -2.0, -3.0], 1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_minimal_realisation_has_the_order_that_was_put_in(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, hidden, mute = (int(rng.integers(1, 5)) for _ in range(3))
    m, p = int(rng.integers(1, 3)), int(rng.integers(1, 3))
    total = n + hidden + mute
    a = rng.normal(size=(total, total))
    a[n : n + hidden, :n] = a[n : n + hidden, n + hidden :] = 0.0  # never excited
    a[:n, n + hidden :] = 0.0  # never seen
    b, c = rng.normal(size=(total, m)), rng.normal(size=(p, total))
    b[n : n + hidden], c[:, n + hidden :] = 0.0, 0.0
    t = rng.normal(size=(total, total)) + 2.0 * np.eye(total)
    system = linear(t @ a @ np.linalg.inv(t), t @ b, c @ np.linalg.inv(t))
    small = system.minimal(1e-9)
    assert small.order == n
    omega = np.geomspace(0.1, 10.0, 5)
    np.testing.assert_allclose(small.frequency_response(omega), system.frequency_response(omega), rtol=1e-6, atol=1e-8)
    same_set(small.poles(), eigvals(a[:n, :n]), 1e-5)


def test_minimal_realisation_of_twin_circuits() -> None:
    """Two equal RC circuits share one source, so only the sum of their states is controllable."""
    system = linearise(compile_model(wired(), backend="numpy"), ["supply.value"], ["c1.effort", "c2.effort"])
    assert system.order == 2 and system.minimal().order == 1
    assert system.minimal().states == ("z[0]",)


def test_to_control_keeps_numbers_and_names() -> None:
    pytest.importorskip("control")
    system = linearise(compile_model(motor(), backend="numpy"), ["supply.value"], ["rotor.flow", "coil.flow"])
    other = system.to_control()
    for ours, theirs in zip(system.dense(), (other.A, other.B, other.C, other.D), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert other.input_labels == ["supply_value"] and other.output_labels == ["rotor_flow", "coil_flow"]
    assert other.state_labels == ["coil_p", "inertia_p"]


def test_to_control_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name, *arguments, **keywords):
        if name == "control":
            raise ImportError(name)
        return real(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ModelError, match="E258"):
        linear([[-1.0]], [[1.0]], [[1.0]]).to_control()


def test_names_of_channels() -> None:
    system = linear(np.diag([-1.0, -2.0]), np.eye(2), np.eye(2))
    with pytest.raises(ModelError, match="E255 several inputs: name one"):
        system.transfer_function()
    with pytest.raises(ModelError, match='E255 the linear system has no output "z"'):
        system.transfer_function("u0", "z")
    assert system.transfer_function("u1", "y1").poles == pytest.approx([-2.0])
    assert system.transfer_function("u1", "y0").gain == 0.0
