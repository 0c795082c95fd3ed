"""Error control takes the same steps in other units of states and time."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from bondgraph import J0, J1, C, Graph, I, R, Se, compile_model
from screws import scalars as s
from tests.inner.run import simulate
from tests.run.problems import ball, beam, bumper, oscillator, program, robertson, top

LINKS = 12


def chain(**options):
    """Return masses and springs, kicked at one end, in which displacements of far masses grow like t^23 from zero."""

    def rates(t, x, p, m):
        q, v = [*x[:LINKS], 0.0], x[LINKS:]
        pull = [p[0] * (q[i + 1] - q[i]) for i in range(LINKS)]
        return [*v, pull[0], *(pull[i] - pull[i - 1] for i in range(1, LINKS))]

    return program(rates, (2 * LINKS, 1, 0), **options)


def held(**options):
    control = (0.05, 0.0, lambda t, x, p, m: [x[0], x[1], -p[0] * (x[0] - 1.0) - p[1] * x[1]])
    return program(lambda t, x, p, m: [x[1], x[2], 0.0], (3, 2, 0), ticks=[control], **options)


def forced(**options):
    return program(
        lambda t, x, p, m: [p[0] * (s.sin(t) - x[0]), p[1] * (x[0] - x[1])],
        (2, 2, 0),
        powers=lambda t, x, p, m: [p[0] * x[0] * x[0], p[0] * x[0] * s.sin(t)],
        roles=["dissipated", "supplied"],
        energies=lambda t, x, p, m: [0.5 * x[0] * x[0]],
        **options,
    )


CASES = {
    "oscillator": (oscillator, [1.0, 0.0], [577.0**2, 80.0], [], 0.2),
    "top": (top, [0.1, 10.0, 0.1, 1.0, 0.0, 0.0, 0.0], [1.0, 2.0, 3.0], [], 1.0),
    "ball": (ball, [1.0, 0.0], [9.81, 0.7], [0.0], 2.0),
    "bumper": (bumper, [-0.01, 1.0], [5000.0**2, 100.0], [0.0], 0.02),
    "chain": (chain, [0.0] * LINKS + [1.0] + [0.0] * (LINKS - 1), [100.0], [], 2.0),
    "beam": (functools.partial(beam, 6), [0.0] * 12, [1296.0, 100.0], [], 0.05),
    "clock": (held, [0.0, 0.0, 0.0], [4.0, 2.0], [], 3.0),
    "forced": (forced, [0.0, 0.0], [1.0, 300.0], [], 3.0),
}
STIFF = {"robertson": (robertson, [1.0, 0.0, 0.0], [], [], 400.0)}


@functools.cache
def units(name: str, kind: str) -> tuple[float, ...] | None:
    if kind == "old":
        return None
    count, rng = len((CASES | STIFF)[name][1]), np.random.default_rng(len(name))
    if kind == "powers of two":
        return tuple(2.0 ** rng.integers(-40, 41, count))
    return tuple(10.0 ** rng.uniform(-12.0, 12.0, count))


@functools.cache
def run(name, kind, method, rtol=1e-8):
    make, start, p, m, t_end = (CASES | STIFF)[name]
    scales = units(name, kind)
    factors = np.ones(len(start)) if scales is None else np.array(scales)
    result = simulate(make(scales=scales), np.array(start) * factors, p, m, t_end, method=method, rtol=rtol)
    assert result.ok, result.failure
    return result, result.x / factors


@pytest.mark.parametrize("name", CASES)
def test_states_in_units_that_are_powers_of_two_take_the_same_steps_to_the_same_bits(name):
    (old, x), (new, y) = (run(name, kind, "dop853") for kind in ("old", "powers of two"))
    assert new.statistics.steps == old.statistics.steps
    assert new.statistics.rejected == old.statistics.rejected
    assert np.array_equal(x, y)
    assert [event.time for event in new.events] == [event.time for event in old.events]


PAIRS = [(name, method) for method in ("dop853", "rodas5p") for name in CASES]
PAIRS += [("robertson", "rodas5p")]


@pytest.mark.parametrize(("name", "method"), PAIRS)
def test_states_in_any_units_take_nearly_the_same_steps(name, method):
    (old, x), (new, y) = (run(name, kind, method) for kind in ("old", "any"))
    steps = old.statistics.steps
    assert abs(new.statistics.steps - steps) <= max(3, 0.02 * steps)
    assert np.all(np.abs(x - y).max(axis=0) <= 1e-6 * np.abs(x).max(axis=0))
    assert len(new.events) == len(old.events)


def ringing(farad, henry, ohm, second):
    """Return a tank circuit of 1 pF and 1 uH, fed by 1 V through 100 ohm, in units of the given sizes in SI."""
    w = 5e8 * second
    graph, source, node = Graph("tank"), J1("source"), J0("node")
    graph.connect(Se("u", lambda t: s.sin(w * t), signals="time"), source).connect(source, R("inner", 100.0 / ohm))
    graph.connect(source, node).connect(node, C("C", capacitance=1e-12 / farad)).connect(node, I("L", 1e-6 / henry))
    graph.connect(node, R("loss", 1e3 / ohm))
    return graph


def test_a_circuit_in_pF_uH_and_ns_runs_like_the_same_in_F_H_and_s():
    si = compile_model(ringing(1.0, 1.0, 1.0, 1.0)).simulate(40e-9)
    own = compile_model(ringing(1e-12, 1e-6, 1e3, 1e-9)).simulate(40.0)
    assert abs(own.statistics.steps - si.statistics.steps) <= max(3, 0.02 * si.statistics.steps)
    assert np.max(np.abs(own["node.effort"] - si["node.effort"])) < 1e-6
    assert own.ledger.relative_residual < 1e-7 and si.ledger.relative_residual < 1e-7


CURVES = {
    "cube": (lambda x, u: x / u + (x / u) ** 3, lambda q, u: u * ((q / u) ** 2 / 2 + (q / u) ** 4 / 4)),
    "sinh": (lambda x, u: (s.exp(x / u) - s.exp(-x / u)) / 2, lambda q, u: u * (s.exp(q / u) + s.exp(-q / u)) / 2 - u),
    "exp": (lambda x, u: s.exp(x / u) - 1.0, lambda q, u: u * (s.exp(q / u) - q / u - 1.0)),
}


@pytest.mark.parametrize("curve", CURVES)
def test_loops_do_not_depend_on_units(curve):
    """A capacitor and a resistor have curves u f(x / u) without an explicit inverse, with u from femto to tera."""
    output, energy = CURVES[curve]

    def run(u):
        graph, node = Graph("curved"), J0("node")
        graph.connect(node, C("line", capacitance=u, initial=2.0 * u)).connect(
            node, R("leak", effort=output, parameters={"u": u})
        )
        result = compile_model(
            graph.connect(node, C("bent", output=output, energy=energy, parameters={"u": u})), backend="numpy"
        ).simulate(2.0, samples=[0.0, 1.0, 2.0])
        assert result.ok
        return np.array([result[name] / u for name in ("line.q", "bent.q", "leak.flow")])

    wanted = run(1.0)
    np.testing.assert_allclose(output(wanted[1], 1.0), wanted[0], rtol=1e-13)
    for u in (1e-15, 1e-6, 1e12):
        np.testing.assert_allclose(run(u), wanted, rtol=1e-7)
