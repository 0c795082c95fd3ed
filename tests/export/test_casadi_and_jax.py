"""Functions of CasADi and JAX have the values and the derivatives of the kernels."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import J1, Automaton, C, Graph, I, ModelError, R, Se, Transition, compile_model, signals
from bondgraph.export import to_casadi, to_jax
from screws.scalars import atan2, cos, exp, expm1, floor, log, sign, sin, sqrt, tanh, where


def every():
    graph, v = Graph("every"), J1("v")
    table = signals.curve(np.linspace(-1.0, 1.0, 21), np.sinh(np.linspace(-1.0, 1.0, 21)))
    given = {"signals": ["time", "spring.q", "hold.y"], "parameters": {"a": 0.7}}

    def force(t, q, y, a):
        smooth = exp(a * q) + log(1.0 + q * q) + sqrt(1.0 + a * q * q) + tanh(q) * atan2(q, a) + expm1(q) * cos(t) + q**3
        return where(floor(2.0 * t) < 1.0, smooth, -0.5 * smooth) + 0.1 * sign(q) * abs(q) * y

    graph.connect(Se("push", force, **given), v).connect(v, I("mass", 0.5, initial=0.1))
    graph.connect(v, C("spring", stiffness=8.0, initial=0.3)).connect(v, R("loss", effort=lambda f: 0.1 * table(f)))
    halved = (("spring.q", lambda q: 0.5 * q, "spring.q"),)
    turn = [Transition("a", "b", lambda t, q: sin(t) - 0.4 - q, ("time", "spring.q"), resets=halved)]
    graph.add(signals.hold("hold", "spring.q", period=0.1))
    return graph.add_automaton(Automaton("turn", ("a", "b"), "a", turn))


@pytest.fixture(scope="module")
def model():
    return compile_model(every(), progress=False)


@pytest.fixture(scope="module")
def points(model):
    (x, m), p, rng = model.initial(), model.parameters(), np.random.default_rng(1)
    return [(float(rng.random()), x + 0.3 * rng.standard_normal(len(x)), p, m) for _ in range(8)]


def central(model, t, x, p, m):
    count = sum(np.size(value.value) for value in model.parameters.values())

    def rates(u):
        own = dict(zip(model.parameters, u[1 + len(x) :], strict=True))
        return model.program.rates(u[0], u[1 : 1 + len(x)], model.parameters(own), m)

    u, h = np.concatenate([[t], x, p[:count]]), 1e-6
    return np.stack([(rates(u + h * e) - rates(u - h * e)) / (2.0 * h) for e in np.eye(len(u))], axis=1)


def test_casadi_gives_numbers_and_slopes(model, points) -> None:
    pytest.importorskip("casadi")
    function = to_casadi(model)
    jacobian = function.factory("slopes", function.name_in(), [f"jac:rates:{block}" for block in "txp"])
    for t, x, p, m in points:
        given = (t, x, p[: function.size1_in("p")], m)
        np.testing.assert_allclose(np.asarray(function(*given)).ravel(), model.program.rates(t, x, p, m), rtol=1e-14, atol=1e-14)
        slopes = np.hstack([np.asarray(part) for part in jacobian(*given)])
        np.testing.assert_allclose(slopes, central(model, t, x, p, m), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("routine", ["outputs", "guards", "energies", "reset_0", "tick_0"])
def test_other_routines_leave_too(model, points, routine: str) -> None:
    pytest.importorskip("casadi")
    function, places = to_casadi(model, routine), [model.program.layout[name].start for name in ("spring.q", "hold.y")]
    for t, x, p, m in points:
        there, after = np.asarray(function(t, x, p[: function.size1_in("p")], m)).ravel(), x.copy()
        spring, hold = places
        if routine == "reset_0":
            after[spring] *= 0.5
        elif routine == "tick_0":
            after[hold] = x[spring]
        else:
            after = getattr(model.program, routine)(t, x, p, m)
        np.testing.assert_allclose(there, after, rtol=1e-14, atol=1e-14)


@pytest.fixture
def jax():
    package = pytest.importorskip("jax")
    package.config.update("jax_enable_x64", True)
    return package


@pytest.mark.parametrize("lower", ["callback", pytest.param("xla", marks=pytest.mark.thorough)])
def test_jax_gives_numbers_in_batches(jax, model, points, lower: str) -> None:
    function = to_jax(model, lower=lower)
    _, _, p, m = points[0]
    times, states = np.array([t for t, *_ in points]), np.stack([x for _, x, *_ in points])
    there = jax.vmap(function, (0, 0, None, None))(times, states, p, m)
    np.testing.assert_allclose(there, model.program.rates.many(times, states, p, m), rtol=1e-14, atol=1e-14)


@pytest.mark.thorough
@pytest.mark.parametrize("way", ["jacrev", "jacfwd"])
def test_jax_gives_slopes(jax, model, points, way: str) -> None:
    function, (t, x, p, m) = to_jax(model), points[0]
    wanted = central(model, t, x, p, m)
    parts = getattr(jax, way)(function, (0, 1, 2))(t, x, p, m)
    slopes = np.hstack([np.asarray(part).reshape(len(x), -1) for part in parts])
    np.testing.assert_allclose(slopes[:, : wanted.shape[1]], wanted, rtol=1e-7, atol=1e-7)
    assert not slopes[:, wanted.shape[1] :].any()


@pytest.mark.thorough
def test_jax_checks_the_gradients(jax, model, points) -> None:
    from jax.test_util import check_grads

    function, (t, x, p, m) = to_jax(model), points[0]
    check_grads(lambda x, p: function(t, x, p, m), (jax.numpy.asarray(x), jax.numpy.asarray(p)), order=1)


@pytest.mark.thorough
def test_diffrax_goes_with_it(jax) -> None:
    diffrax = pytest.importorskip("diffrax")
    graph, v = Graph("swing"), J1("v")
    graph.connect(v, I("m", 1.0)).connect(v, C("c", stiffness=4.0, initial=0.1))
    model = compile_model(graph, progress=False)
    (x, m), p, rates = model.initial(), model.parameters(), to_jax(model)

    def end(p):
        term = diffrax.ODETerm(lambda t, y, p: rates(t, y, p, m))
        given = {"args": p, "max_steps": 100, "adjoint": diffrax.ForwardMode()}
        return diffrax.diffeqsolve(term, diffrax.Tsit5(), 0.0, 0.5, 0.01, jax.numpy.asarray(x), **given).ys[-1][0]

    value, slope = jax.jvp(
        end, (p,), (np.array([float(name == "c.stiffness") for name in model.parameters] + [0.0] * (len(p) - 2)),)
    )
    w = 2.0
    assert value == pytest.approx(-0.1 * w * np.sin(0.5 * w), rel=1e-8)
    assert slope == pytest.approx(-0.1 * (np.sin(0.5 * w) + 0.5 * w * np.cos(0.5 * w)) / (2.0 * w), rel=1e-7)


def test_unsupported_models_are_refused(model, monkeypatch) -> None:
    jax = pytest.importorskip("jax")
    with pytest.raises(ModelError, match=r'(?s)E660.*no routine "rate".*try: routine="rates"'):
        to_casadi(model, "rate")
    with pytest.raises(ModelError, match=r'(?s)E661.*lower="callback".*lower="xla"'):
        to_jax(model, lower="gpu")
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(ModelError, match=r"(?s)E662.*jax_enable_x64"):
            to_jax(model)
    finally:
        jax.config.update("jax_enable_x64", True)
