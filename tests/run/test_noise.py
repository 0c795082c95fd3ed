"""Runs work with tolerances below the rounding error of the rates, and from starts at which no state has a size yet."""

from __future__ import annotations

import warnings
from dataclasses import fields, replace

import numpy as np
import pytest

from bondgraph import J0, J1, C, Graph, I, R, RoundingWarning, Se, compile_model, signals
from screws import scalars as s
from tests.analysis.models import motor
from tests.inner.run import MAX_COUPLING, MIN_COUPLING, Bound, CouplingStructure, StructureCache, simulate, structure_of
from tests.run.problems import oscillator, program
from tests.run.test_error_control import coupled
from tests.witnesses import balancing
from tests.witnesses.coupling_structure import strong_components, structure_by_lists
from tests.witnesses.natural_scales import natural_scales
from tests.witnesses.rounding_noise import rounding

METHODS = ["dop853", "rodas5p"]
LOUD = 1e5


def loud(**options):
    """Return a program of x'' = -x that has, for the parameter `LOUD`, a rounding error of about 1e-11 in a force of 1."""
    return program(lambda t, x, p, m: [x[1], (p[0] - x[0]) - p[0]], (2, 1, 0), **options)


def test_noise_is_measured_where_it_is_and_smooth_parts_leave_none():
    bound, m = Bound(loud(), np.array([LOUD])), np.zeros(0)
    sigma = rounding(bound, 0.3, np.array([0.4, 0.9]), m, np.ones(2), 0.1)
    assert 0.01 * np.spacing(LOUD) < sigma[1] < 2.0 * np.spacing(LOUD) and sigma[0] < 1e-15
    steep = Bound(program(lambda t, x, p, m: [s.exp(p[0] * x[0])], (1, 1, 0)), np.array([40.0]))
    assert rounding(steep, 0.0, np.ones(1), m, np.ones(1), 0.1)[0] < 1e3 * np.spacing(np.exp(40.0))


@pytest.mark.parametrize("method", METHODS)
def test_a_tolerance_below_the_rounding_of_the_rates_is_raised_and_the_run_says_so(method):
    """A rounding error of 1e-11 precludes an accuracy of 1e-12."""
    made = loud()
    with pytest.warns(RoundingWarning, match="below the rounding error of the rates"):
        run = simulate(made, [1.0, 0.0], [LOUD], [], 10.0, method=method, rtol=1e-12)
    assert run.ok and run.statistics.steps < 20_000
    found = run.statistics.rounding
    assert found.steps > 0.01 * run.statistics.steps and found.rtol > 1e-12 and "x[1]" in found.states
    assert np.abs(run.x[:, 0] - np.cos(run.t)).max() < 1e-6


def test_a_tolerance_that_is_hardly_raised_causes_no_warning():
    """Rounding errors contribute to the error weights of a motor, but hardly raise its tolerance."""
    compiled = compile_model(motor())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = compiled.simulate(0.2, rtol=1e-11, progress=False)
    assert run.statistics.rounding.steps > 0.01 * run.statistics.steps and run.statistics.rounding.rtol == pytest.approx(
        1e-11, rel=0.04
    )


@pytest.mark.parametrize("method", METHODS)
def test_a_tolerance_that_can_be_had_is_kept_without_a_word(method):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = simulate(oscillator(), [1.0, 0.0], [1.0, 0.1], [], 10.0, method=method, rtol=1e-7)
    assert run.statistics.rounding.steps == 0 and run.statistics.rounding.states == ()


def flying(inertia, speed):
    """Return a program of a body in flight, in which x * (y / m) - y * (x / m) is a torque of rounding error alone, and its
    start."""
    return program(
        lambda t, x, p, m: [x[1] * (x[2] / p[0]) - x[2] * (x[1] / p[0]), x[0] / inertia * x[2], -x[0] / inertia * x[1]],
        (3, 1, 0),
        energies=lambda t, x, p, m: [0.5 * x[0] * x[0] / inertia, 0.5 * (x[1] * x[1] + x[2] * x[2]) / p[0]],
    ), [0.0, 0.07 * speed, 0.07e-4 * speed]


@pytest.mark.filterwarnings("ignore::bondgraph.RoundingWarning")
@pytest.mark.parametrize("unit", [1.0, 1e-3])
@pytest.mark.parametrize("inertia", [1e-5, 1e-7])
def test_spin_of_rounding_does_not_bound_the_steps_of_a_flight(inertia, unit):
    made, start = flying(inertia / unit**2, 10.0 / unit)
    for t_end in (4.0, 400.0, 4e3):
        run = simulate(made, start, [0.07], [], t_end, samples=[0.0, t_end], rtol=1e-9, max_steps=1000)
        assert run.ok and run.statistics.steps < 300
        assert np.hypot(*run.x[-1, 1:]) == pytest.approx(np.hypot(*start[1:]), rel=1e-11)


def test_filters_with_op_amps_take_no_more_steps_for_rounding():
    """Op amps of gain 1e6 lose the feedback in the rounding error of the amplified signal."""
    gain, graph = 1e6, Graph("filter")
    minus, out, source = J0("minus"), J0("out"), J0("in")
    graph.connect(Se("source", 1.0), source)
    for name, a, b, part in (
        ("1", source, minus, R("r", 1.0)),
        ("2", minus, out, C("c", capacitance=1.0)),
        ("3", minus, out, R("l", 1.0)),
    ):
        branch = J1(f"branch {name}")
        graph.connect(a, branch).connect(branch, part).connect(branch, b)
    graph.connect(Se("op", lambda v: -gain * v, signals=["minus.effort"]), out)
    compiled = compile_model(graph)
    counts = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RoundingWarning)
        for rtol in (1e-6, 1e-9, 1e-12):
            run = compiled.simulate(6.0, rtol=rtol)
            assert run.ok and run["out.effort"][-1] == pytest.approx(np.exp(-6.0) - 1.0, rel=1e-4)
            counts.append(run.statistics.steps)
    assert max(counts) < 20 * counts[0]


STARTS = {
    "a source that is zero at first": (
        lambda t, x, p, m: [s.sin(t) - x[0]],
        [0.0],
        lambda t: 0.5 * (np.sin(t) - np.cos(t) + np.exp(-t)),
    ),
    "a parabola": (lambda t, x, p, m: [t, x[0]], [0.0, 0.0], lambda t: 0.5 * t * t),
    "nothing at all": (lambda t, x, p, m: [-x[0]], [0.0], lambda t: 0.0 * t),
    "two equal branches": (
        lambda t, x, p, m: [1.0 - x[0], 1.0 - x[1], x[0] - x[1] - x[2]],
        [0.0, 0.0, 0.0],
        lambda t: 1.0 - np.exp(-t),
    ),
    "a chain": (lambda t, x, p, m: [1.0 - x[0], *(x[i] - x[i + 1] for i in range(9))], [0.0] * 10, lambda t: 1.0 - np.exp(-t)),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", STARTS)
def test_starts_from_zero(name, method):
    rates, start, exact = STARTS[name]
    runs = [simulate(program(rates, (len(start), 0, 0)), start, [], [], 3.0, method=method) for _ in range(2)]
    assert runs[0].ok, runs[0].failure
    assert runs[0].x[:, 0] == pytest.approx(exact(runs[0].t), abs=1e-6)
    assert runs[0].statistics.steps < (1_000 if method in ("dop853",) else 5_000)
    assert runs[0].statistics.steps == runs[1].statistics.steps and np.array_equal(runs[0].x, runs[1].x)


@pytest.mark.parametrize("method", METHODS)
def test_a_step_that_wakes_a_circuit_of_picofarads(method):
    graph, loop = Graph("late"), J1("loop")
    graph.add(signals.step("V", start=1e-6, after=5.0))
    graph.connect(Se("source", lambda u: u, signals="V.y"), loop).connect(loop, R("r", 1e3)).connect(
        loop, C("c", capacitance=1e-12)
    )
    run = compile_model(graph).simulate(2e-6, method=method)
    assert run["c.effort"][-1] == pytest.approx(5.0, rel=1e-6)
    late = run.t > 1e-6
    assert np.abs(run["c.effort"][late] - 5.0 * (1.0 - np.exp(-(run.t[late] - 1e-6) / 1e-9))).max() < 1e-5


def test_scales_are_those_of_the_energy_in_reciprocal_circuits_and_fade_along_weak_couplings():
    """A tank circuit of 1 pF and 1 uH, charged to 1 V, drives a pole of rate 1e6/s through a coupling of 1/s."""
    w2 = 1e18
    made = program(lambda t, x, p, m: [-x[1] / 1e-6, x[0] / 1e-12, 1.0 * x[0] - 1e6 * x[2]], (3, 0, 0))
    scales = natural_scales(
        Bound(made, np.zeros(0)), 0.0, np.array([1e-12, 0.0, 0.0]), np.zeros(0), np.array([1e-12, 0, 0]), 1e-8
    )
    assert scales[1] == pytest.approx(1e-12 / 1e-12 / np.sqrt(w2), rel=1e-6)
    assert 0.0 < scales[2] <= 1e-12 / 1e6


def test_strong_components_and_rates_of_a_ring_without_reciprocity():
    matrix = np.zeros((4, 4))
    matrix[[1, 2, 0, 3], [0, 1, 2, 0]] = 2e9, 4.0, 1e-9, 5.0
    parts = strong_components([[1, 3], [2], [0], []], [[2], [0], [1], [0]])
    assert sorted(map(sorted, parts)) == [[0, 1, 2], [3]] and parts[0] == [0, 1, 2]
    assert balancing.fastest(coupled(matrix)) == pytest.approx(np.full(4, 2.0), rel=1e-9)


def test_couplings_of_any_size_give_rates():
    random = np.random.default_rng(1)
    for largest in (90.0, 190.0, 307.0):
        for _ in range(20):
            n = int(random.integers(2, 20))
            matrix = (random.random((n, n)) < 0.4) * 10.0 ** random.uniform(-largest, largest, (n, n))
            with np.errstate(all="ignore"):
                rates = balancing.fastest(coupled(matrix))
            kept = np.where((matrix > MIN_COUPLING) & (matrix < MAX_COUPLING), matrix, 0.0)
            assert np.all(rates >= np.diagonal(kept)), "every state has a rate, at least its own"
    tiny = np.array([[0.0, 1e-191, 0.0], [1e-190, 0.0, 3.0], [0.0, 2.0, 0.0]])
    assert balancing.fastest(coupled(tiny)) == pytest.approx([0.0, np.sqrt(6.0), np.sqrt(6.0)])


def test_scales_are_found_where_couplings_are_out_of_all_proportion():
    """With x' = a y, y' = b x and a b = 1e-380, the look-ahead time must not be 0, which would cause an endless loop."""
    bound = Bound(program(lambda t, x, p, m: [1e-190 * x[1], 1e-190 * x[0]], (2, 0, 0)), np.zeros(0))
    assert np.isfinite(natural_scales(bound, 0.0, np.array([1.0, 2.0]), np.zeros(0), np.array([1.0, 2.0]), 0.1)).all()


def test_time_invariant_rates_are_examined_once():
    graph = Graph("at rest")
    for name, start in (("a", 1.0), ("b", 0.0)):
        loop = J1(f"loop {name}")
        graph.connect(loop, I(f"mass {name}", 2.0)).connect(loop, C(f"spring {name}", stiffness=3.0, initial=start))
    made = compile_model(graph).program
    assert made.autonomous
    found = {}
    for autonomous in (True, False):
        bound = Counted(replace(made, autonomous=autonomous), np.zeros(made.parameters) + 3.0)
        x = np.array([0.0, 1.0, 0.0, 0.0])
        found[autonomous] = natural_scales(bound, 0.0, x, np.zeros(0), x, 0.1), bound.looks
    assert np.array_equal(found[True][0], found[False][0]) and np.count_nonzero(found[True][0]) == 2
    assert (found[True][1], found[False][1]) == (2, 7)


class Counted(Bound):
    looks = 0

    def jacobian_couplings(self, t, x, m):
        self.looks += 1
        return super().jacobian_couplings(t, x, m)


def test_time_dependent_rates_are_detected():
    def driven(law, **signals):
        graph, loop = Graph("driven"), J1("loop")
        graph.connect(Se("source", law, **signals), loop).connect(loop, I("mass", 2.0)).connect(loop, R("damper", 1.0))
        return compile_model(graph).program.autonomous

    assert driven(1.0) and not driven(lambda t: s.sin(t), signals=["time"])


def test_structures_are_kept_and_follow_the_entries_that_are_not_zero():
    structures = StructureCache(np.array([0, 1, 2]), np.array([1, 0]))
    ring, again, ways = (structures.couplings(np.array(values)) for values in ([2.0, -3.0], [5.0, 1.0], [2.0, np.nan]))
    assert ring.structure is again.structure and len(ring.structure.inner) == 2
    assert np.array_equal(ring.values, [2.0, 3.0])
    assert not len(ways.structure.inner) and np.array_equal(ways.values, [2.0])


@pytest.mark.parametrize("density", [0.0, 0.02, 0.05, 0.1, 0.4, 1.0])
def test_machine_code_finds_the_structures_of_the_reference(density):
    rng, ears = np.random.default_rng(4), 0
    for n in (0, 1, 2, 3, 7, 30, 60):
        for _ in range(5):
            columns, rows = np.nonzero((rng.random((n, n)) < density) & ~np.eye(n, dtype=bool))
            found, expected = structure_of(n, rows, columns), structure_by_lists(n, rows, columns)
            for field in fields(CouplingStructure):
                own, other = getattr(found, field.name), getattr(expected, field.name)
                assert own.dtype == other.dtype == np.int64 and np.array_equal(own, other), field.name
            ears += len(found.ear_from)
    assert (ears > 10) == (density > 0.0)


def test_a_jacobian_without_entries():
    bound = Bound(program(lambda t, x, p, m: [t], (1, 0, 0)), np.zeros(0))
    assert np.array_equal(bound.jacobian(0.0, np.zeros(1), np.zeros(0)), np.zeros((1, 1)))
    compiled = compile_model(Graph("free").connect(Se("u", 1.0), I("i", 1.0)))
    empty = Bound(compiled.program, compiled.parameters())
    assert np.array_equal(empty.jacobian(0.0, np.zeros(1), np.zeros(0)), np.zeros((1, 1)))


@pytest.mark.parametrize("method", METHODS)
def test_a_trial_that_overflows_shortens_the_step(method):
    """The stages of a long step would put hundreds of volts across a diode."""
    graph, node, loop = Graph("diode"), J0("node"), J1("loop")
    graph.connect(Se("u", lambda t: 40.0 * s.sin(314.0 * t), signals="time"), loop).connect(loop, R("r", 50.0))
    graph.connect(loop, node).connect(node, C("c", capacitance=2e-12))
    graph.connect(node, R("d", flow=lambda v: 4e-8 * (s.exp(17.7 * v) - 1.0)))
    run = compile_model(graph).simulate(1e-4, method=method, rtol=1e-6, max_step=1e-5)
    assert run.ok, run.failure
    u, v = 40.0 * np.sin(314.0 * run.t), run["node.effort"]
    # The node follows its source within 0.1 ns.
    assert np.abs((u - v) / 50.0 - 4e-8 * (np.exp(17.7 * v) - 1.0))[1:].max() < 1e-4


def test_atol_takes_the_place_of_natural_scales():
    made = oscillator()
    fine, coarse = (simulate(made, [1.0, 0.0], [1.0, 0.0], [], 20.0, atol=atol) for atol in (1e-12, 1e-2))
    assert coarse.statistics.steps < fine.statistics.steps
    hinted = simulate(oscillator(nominal=[1e5, 1e5]), [1.0, 0.0], [1.0, 0.0], [], 20.0)
    assert hinted.statistics.steps < fine.statistics.steps


@pytest.mark.parametrize("method", METHODS)
def test_currents_below_the_rounding_of_one_do_not_decide_the_steps(method):
    ladder = Graph("ladder")
    nodes = [J0(f"node {k}", domain="electrical") for k in range(21)]
    ladder.between(None, nodes[0], Se("supply", lambda t: 5.0 * s.sin(300.0 * t), signals="time"), R("inner", 100.0))
    for k in range(20):
        ladder.between(nodes[k], nodes[k + 1], R(f"diode {k}", flow=lambda v: 1e-6 * (s.exp(v / 0.04) - 1.0)))
        ladder.between(nodes[k + 1], None, R(f"load {k}", 1e3))
        ladder.between(nodes[k + 1], None, C(f"smoothing {k}", capacitance=1e-6))
    run = compile_model(ladder, progress=False).simulate(2e-3, method=method, progress=False)
    assert run.ok and run.statistics.steps < 2000
    last = abs(run["smoothing 19.effort"]).max()
    assert 0.0 < last < 1e-20


@pytest.mark.parametrize("method", ["dopri5", "rodas5p"])
def test_coarse_rounding_is_noise_and_not_a_jump(method):
    """A force in multiples of 4e-9 has one step in most short lines of states; the run needs a few steps per oscillation."""
    with pytest.warns(RoundingWarning):
        run = simulate(loud(), [1.0, 0.0], [1.7e7], [], 10.0, method=method, rtol=1e-11)
    assert run.ok and run.statistics.steps < 5000
