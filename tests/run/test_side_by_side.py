"""Runs in the vector lanes of the processor have the bits of single runs."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from screwbond.models.delta import DeltaParameters, DeltaRobot

from bondgraph import J0, J1, Block, C, Graph, I, R, compile_model
from bondgraph.errors import RunError
from screws import scalars as s
from tests.inner.emit import AT_SAMPLE, MANY, STRIP, Procedure, address_of, compile_procedures, integer
from tests.inner.run import FieldTable, IntegratorTable, last, prepare, sample_check
from tests.run.problems import beam_rates, oscillator, program, top
from tests.run.test_prepared import KEEP, fails, pushed


def assert_same(found, expected):
    for name in ("t", "x", "m", "integrals", "steps", "rejected", "rates"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    for name in expected.kept:
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)
    for name in ("failures", "warnings", "errors"):
        assert {k: str(told) for k, told in getattr(found, name).items()} == {
            k: str(told) for k, told in getattr(expected, name).items()
        }


def forced(**options):
    return program(
        lambda t, x, p, m: [
            x[1],
            s.exp(-t) * s.sin(p[1] * t)
            - s.tanh(p[0] * x[0])
            - s.absolute(x[1]) * x[1]
            + s.where(s.less(x[0], 0.1), 0.1, x[0]) ** 0.3,
        ],
        (2, 2, 0),
        powers=lambda t, x, p, m: [s.absolute(x[1]) ** 3, x[1] * s.sin(p[1] * t)],
        roles=("dissipated", "injected"),
        **options,
    )


@pytest.mark.parametrize("lanes", [4, 8])
@pytest.mark.parametrize("samples", [[2.0], 0.01, [0.0, 0.3, 0.3001, 1.9]])
def test_lanes_have_the_bits_of_runs_alone(lanes, samples):
    random = np.random.default_rng(4)
    x, p = random.normal(size=(19, 2)), random.uniform([50.0, 0.0], [4000.0, 5.0], (19, 2))
    prepared = prepare(oscillator(), 2.0, samples=samples, t_start=0.7 if samples == 0.01 else 0.0, progress=False)
    alone = prepared.run_many(p, x, [], KEEP, lanes=1, threads=1)
    for threads in (1, 3):
        assert_same(prepared.run_many(p, x, [], KEEP, lanes=lanes, threads=threads), alone)
    assert alone.ok.all() and len(set(alone.steps)) > 5


@pytest.mark.parametrize("fused", [False, True])
def test_operations_of_all_sorts_and_powers(fused):
    random = np.random.default_rng(5)
    x, p = random.normal(size=(11, 2)), random.uniform(0.5, 9.0, (11, 2))
    made = forced(fused=fused)
    assert made.in_lanes(8) is not None, "a power inside a selection must not keep the model out of lanes"
    prepared = prepare(made, 3.0, samples=0.5, progress=False)
    assert_same(prepared.run_many(p, x, [], lanes=8, threads=1), prepared.run_many(p, x, [], lanes=1))


def test_errors_whose_squares_underflow():
    """States so large that no increment changes them have no error, even in a lane."""
    prepared = prepare(program(lambda t, x, p, m: [p[0] * s.sin(t)], (1, 1, 0)), 2.0, samples=0.5, progress=False)
    x = 10.0 ** np.linspace(140.0, 170.0, 61)[:, None]
    alone = prepared.run_many([0.1], x, [], lanes=1)
    assert_same(prepared.run_many([0.1], x, [], lanes=4, threads=1), alone)
    assert alone.ok.all() and not alone.rejected.any()


def test_a_run_alone_is_the_run_of_a_lane():
    prepared = prepare(top(), 1.0, progress=False)
    starts = np.array([[0.1 + k, 9.0, 0.1, 1.0, 0.0, 0.0, 0.0] for k in range(5)])
    ends = prepared.run_many([1.0, 2.0, 3.0], starts, [], lanes=4, threads=1)
    for k, start in enumerate(starts):
        run = prepared.checked_run(start, [1.0, 2.0, 3.0], [])
        assert np.array_equal(ends.x[k], run.x[-1]) and ends.rates[k] == run.statistics.rates


def test_a_model_without_states_has_nothing_to_go_side_by_side():
    made = program(lambda t, x, p, m: [], (0, 1, 0), powers=lambda t, x, p, m: [p[0] * t], roles=("dissipated",))
    prepared = prepare(made, 1.0, samples=0.5, progress=False)
    p = np.linspace(1.0, 2.0, 9)[:, None]
    found = prepared.run_many(p, [], [], lanes=4, threads=1)
    assert_same(found, prepared.run_many(p, [], [], lanes=1))
    np.testing.assert_allclose(found.integrals[:, 0], p[:, 0] / 2.0, rtol=1e-12)


@pytest.mark.parametrize("lanes", [4, 8])
def test_runs_whose_states_are_coupled_in_other_ways(lanes):
    made = program(
        lambda t, x, p, m: [
            p[0] * x[1] - x[0],
            p[1] * x[2] + s.cos(t) - 30.0 * x[1],
            p[2] * x[0] - p[0] * x[2] + p[3] * x[3],
            -x[3],
        ],
        (4, 4, 0),
    )
    random = np.random.default_rng(6)
    p = random.uniform(0.5, 50.0, (41, 4)) * (random.random((41, 4)) < 0.7)
    x = random.normal(size=(41, 4)) * (random.random((41, 4)) < 0.5)
    prepared = prepare(made, 3.0, samples=0.5, progress=False)
    alone = prepared.run_many(p, x, [], lanes=1)
    assert_same(prepared.run_many(p, x, [], lanes=lanes, threads=1), alone)
    assert alone.ok.all() and len(set(alone.steps)) > 10


def test_runs_whose_strong_cycles_are_balanced_first():
    graph = Graph("beam")
    turn = ("turn", lambda t, x: s.array(beam_rates(t, list(x), 3e3, 100.0)), ["t", "x"])
    graph.add(Block("bar", [turn], inputs={"t": "time"}, states={"x": [0.0] * 24}, rates={"x": "turn"}))
    run, random = compile_model(graph).prepare_run(0.02, samples=0.01, progress=False), np.random.default_rng(8)
    decay = np.where(np.arange(13) % 5 < 3, 4.0, 0.0)
    starts = 0.01 * random.normal(size=(13, 24)) * 10.0 ** -(decay[:, None] * np.tile(np.arange(12.0)[::-1], 2))
    points = run.start_values_many({}, {"bar.x": starts})
    alone = run.run_many(*points, lanes=1)
    assert_same(run.run_many(*points, lanes=4, threads=1), alone)
    assert alone.ok.all()


@pytest.mark.parametrize("runs", [3, 5, 8, 9, 17])
def test_few_runs_leave_lanes_idle(runs):
    random = np.random.default_rng(7)
    x, p = random.normal(size=(runs, 2)), random.uniform([50.0, 0.0], [4000.0, 5.0], (runs, 2))
    prepared = prepare(oscillator(), 1.0, samples=0.5, progress=False)
    assert_same(prepared.run_many(p, x, [], lanes=4, threads=1), prepared.run_many(p, x, [], lanes=1))


def test_a_failing_lane_does_not_disturb_its_neighbours():
    prepared = prepare(fails(), 2.0, samples=0.5, progress=False)
    p = np.array([[0.1], [1.0], [-2.0], [np.nan], [0.2], [5.0], [0.3], [0.1], [40.0]])
    found, alone = (prepared.run_many(p, [1.0, 1.0], [], {}, lanes=lanes, threads=1) for lanes in (4, 1))
    assert_same(found, alone)
    assert sorted(found.failures) == [1, 5, 8] and list(found.warnings) == [2] and list(found.errors) == [3]


@pytest.mark.parametrize("stride", [1, 3])
def test_a_nonfinite_value_at_one_sample_is_detected(stride):
    made = program(lambda t, x, p, m: [p[0] * x[1], x[0]], (2, 1, 0), energies=lambda t, x, p, m: [1.0 / x[1]])
    lanes = 4
    write = Procedure("seen", {"s": "ptr", "c": "ptr", "samples": "ptr"}, "i64")
    run = [write["s"], write["c"]]
    write.call("load_run", run)
    for first in range(stride):
        write.call("mark_nonfinite_samples", [*run, write["samples"], integer(first)])
    write.return_value(write.call("any_nonfinite", run, "i64"))
    library = compile_procedures([*sample_check.procedures(lanes), write])
    times = np.linspace(0.0, 1.0, 11)
    kernels = made.in_lanes(lanes)
    look = sample_check.row_table(made, kernels.addresses[AT_SAMPLE], lanes, times, times, False, 1.0)
    look["stride"] = stride
    integrator = FieldTable(IntegratorTable)
    integrator["width"] = 2
    for name, values in (("p", np.ones(1)), ("m", np.zeros(0))):
        integrator.point(name, values)
    call = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 3)(library.address("seen"))

    def seen(samples):
        return call(look.address, integrator.address, address_of(samples))

    for k in range(11):
        samples = np.ones((11, 2))
        assert seen(samples) == 0
        samples[k, 1] = 0.0
        assert seen(samples) == 1
        samples[k] = np.nan, 1.0
        assert seen(samples) == 1


def test_numbers_that_are_not_finite_are_refused_whatever_comes_of_them():
    made = program(lambda t, x, p, m: [-x[0] / (1.0 + p[0] * p[0])], (1, 2, 1))
    prepared = prepare(made, 1.0, samples=0.5, progress=False)
    p = np.array([[1.0, 0.0], [np.inf, 0.0], [2.0, np.nan], [3.0, 1.0], [1.0, -np.inf]])
    for lanes in (1, 4):
        found = prepared.run_many(p, [1.0], [0.0], lanes=lanes, threads=1)
        assert sorted(found.errors) == [1, 2, 4] and all("E309" in str(told) for told in found.errors.values())
        assert not found.ok[[1, 2, 4]].any() and found.ok[[0, 3]].all()
        assert sorted(prepared.run_many(p[[0, 3]], [1.0], [np.nan], lanes=lanes, threads=1).errors) == [0, 1]


def test_stiff_noisy_and_endless_runs_are_done_again_alone():
    made = program(lambda t, x, p, m: [-p[0] * (x[0] - s.cos(t)) + p[1] * (s.sin(1e9 * x[0]))], (1, 2, 0))
    prepared = prepare(made, 5.0, samples=[5.0], max_steps=30_000, progress=False)
    p = np.array([[1.0, 0.0], [1e6, 0.0], [1.0, 1e-9], [3.0, 0.0], [1.0, 1e3], [2.0, 0.0]])
    assert_same(prepared.run_many(p, [0.0], [], lanes=4, threads=1), prepared.run_many(p, [0.0], [], lanes=1))


def test_a_delta_robot_in_every_lane_another():
    compiled = DeltaRobot(DeltaParameters.fit()).compiled
    run = compiled.prepare_run(0.1, samples=0.02, progress=False)
    masses = compiled.parameters["arm 1.mechanism.M2"].value * np.linspace(0.9, 1.1, 10)
    points = run.start_values_many({"arm 1.mechanism.M2": masses})
    keep = {"turned": "arm 1.mechanism.q[0]", "pushed": last("arm 2.mechanism.v")}
    for watch in (True, False):
        alone = run.run_many(*points, keep, lanes=1, check_rank=watch)
        assert alone.ok.all() and len(set(alone.x[:, 0])) == 10
        for lanes in (4, 8):
            assert_same(run.run_many(*points, keep, lanes=lanes, threads=1, check_rank=watch), alone)


def test_more_states_than_rows_of_derivatives_have_columns():
    graph, before = Graph("chain"), None
    for k in range(20):
        velocity = J1(f"v{k}")
        graph.connect(velocity, I(f"m{k}", inertia=0.1))
        graph.connect(velocity, R(f"r{k}", effort=lambda f: s.sign(f) * s.sqrt(s.absolute(f))))
        if before is not None:
            graph.connect(before, tie := J0(f"f{k}")).connect(tie, velocity).connect(tie, C(f"k{k}", stiffness=10.0))
        before = velocity
    compiled = compile_model(graph)
    assert compiled.program.states > STRIP > compiled.program.jacobian_couplings[0].steps.groups
    run = compiled.prepare_run(0.3, samples=0.1, progress=False)
    momenta = {f"m{k}.p": np.full(11, 0.1 * k) for k in range(20)}
    points = run.start_values_many({"k1.stiffness": np.linspace(5.0, 20.0, 11)}, momenta)
    alone = run.run_many(*points, lanes=1)
    assert alone.ok.all() and len(set(alone.x[:, 0])) == 11
    for lanes in (4, 8):
        assert_same(run.run_many(*points, lanes=lanes, threads=1), alone)


def test_lanes_are_chosen_where_many_runs_are_wanted():
    compiled = pushed()
    asked = []
    run = compiled.prepare_run(1.0, samples=[1.0], progress=False)
    given = run.program.program.in_lanes
    object.__setattr__(run.program.program, "in_lanes", lambda lanes: (asked.append(lanes), given(lanes))[1])
    p, x, m = run.start_values_many({"spring.stiffness": np.linspace(20.0, 80.0, MANY)})
    few = run.run_many(p[:-1], x, m)
    assert not asked
    ends = run.run_many(p, x, m)
    assert asked in ([4], [8]) and np.array_equal(ends.x[:-1], few.x)
    alone = compiled.simulate(1.0, samples=[1.0], parameters={"spring.stiffness": 80.0})
    assert np.array_equal(ends.x[-1], alone.x[-1])


def test_other_counts_of_lanes_are_refused():
    prepared = prepare(oscillator(), 1.0, progress=False)
    for lanes in (0, 3, 2.5, 4.0, "8"):
        with pytest.raises(RunError, match="E306") as refused:
            prepared.run_many([1.0, 1.0], [1.0, 1.0], [], lanes=lanes, threads=1)
        assert "1, 2, 4, 8" in str(refused.value)
