"""Prepared runs, single or many, equal single runs bit for bit, for any number of threads and chunks."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest

from benchmarks.chain import chain
from benchmarks.front_end import calls
from bondgraph import IC, J1, C, Constraint, Graph, I, R, RunEndedWarning, Se, compile_model, signals
from bondgraph.errors import ModelError, RunError
from bondgraph.run_arguments import KeepOptions, setting_key
from examples.bouncing_ball import with_restitution
from screws import scalars as s
from tests.inner.output import Progress
from tests.inner.run import Bound, ClockSchedule, Hybrid, choose, integral, last, lowest, mean, peak, prepare, result_of, simulate
from tests.run.problems import ball, oscillator, program, top

KEEP = {
    "end": last("spring.q"),
    "high": peak("mass.v"),
    "low": lowest("force"),
    "work": integral("force"),
    "usual": mean("spring.q"),
    "course": "force",
}


def points(runs: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(3)
    return random.uniform([50.0, 0.0], [400.0, 5.0], (runs, 2)), random.normal(size=(runs, 2))


def fails(**options):
    """Return a program of x' = p x^2, which is infinite at 1 / (p x0), and of a state whose power is wrong for p < -1."""
    return program(
        lambda t, x, p, m: [p[0] * x[0] * x[0], -x[1]],
        (2, 1, 0),
        energies=lambda t, x, p, m: [0.5 * x[1] * x[1]],
        powers=lambda t, x, p, m: [x[1] * x[1] * s.where(s.less(p[0], -1.0), 0.5, 1.0)],
        roles=("dissipated",),
        **options,
    )


def leg_by_leg(made, x, p, m, t_end, **settings):
    prepared = prepare(made, t_end, **settings)
    checked = prepared.numbers(x, p, m)
    bound = Bound(made, checked.p, checked.t_start, checked.span)
    run = Hybrid(bound, checked, ClockSchedule(bound, checked.t_start, t_end), Progress("", 1.0, False))
    choice = choose(made, checked)
    run.run(choice)
    return result_of(run, choice, 0.0)


@pytest.mark.parametrize("case", ["oscillator", "top"])
def test_runs_in_machine_code_are_those_of_the_loop_in_python(case):
    cases = {"oscillator": (oscillator, [1.0, 0.0], [100.0, 1.0]), "top": (top, [0.1, 9, 0.1, 1, 0, 0, 0], [1.0, 2.0, 3.0])}
    make, x, p = cases[case]
    made = make()
    prepared = prepare(made, 3.0, t_start=1.0, progress=False)
    assert prepared.in_machine_code
    for factor in (1.0, 1.7, 1.0):  # again, in the same arrays
        expected = leg_by_leg(made, np.array(x) * factor, p, [], 3.0, t_start=1.0)
        found = prepared.checked_run(np.array(x) * factor, p, [])
        for name in ("t", "since", "x", "m", "integrals", "start_energies"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
        for name in ("steps", "rejected", "rates", "rounding"):
            assert getattr(found.statistics, name) == getattr(expected.statistics, name)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_many_runs_are_single_runs_whatever_the_threads(threads):
    made, (p, x) = oscillator(), points(70)
    prepared = prepare(made, 2.0, samples=0.1, progress=False)
    ends = prepared.run_many(p, x, np.zeros((1, 0)), KEEP, threads=threads)
    assert ends.ok.all() and len(ends) == 70
    for k in range(0, 70, 9):
        run = simulate(made, x[k], p[k], [], 2.0, samples=0.1)
        np.testing.assert_array_equal(ends.x[k], run.x[-1])
        np.testing.assert_array_equal(ends.integrals[k], run.integrals[-1])
        assert (ends.t[k], ends.steps[k], ends.rates[k]) == (2.0, run.statistics.steps, run.statistics.rates)
        assert ends["end"][k] == run["spring.q"][-1]
        assert ends["high"][k] == run.peak("mass.v")[1] >= run["mass.v"].max() and ends["low"][k] <= run["force"].min()
        np.testing.assert_array_equal(ends["course"][k], run["force"])
        assert ends["work"][k] == pytest.approx(np.trapezoid(run["force"], run.t), rel=1e-12)
        assert ends["usual"][k] == pytest.approx(np.trapezoid(run["spring.q"], run.t) / 2.0, rel=1e-12)


def test_the_progress_bar_counts_finished_runs(monkeypatch):
    shown: list[float] = []
    monkeypatch.setattr(Progress, "show", lambda bar, done, note="": shown.append(done) if bar.total == 5 else None)
    p, x = points(5)
    prepare(oscillator(machine=False), 1.0, samples=0.1).run_many(p, x, [], KEEP)
    assert shown == [1, 2, 3, 4, 5]


def test_kept_values_do_not_depend_on_the_device():
    p, x = points(5)
    found = prepare(oscillator(), 1.0, samples=0.1, progress=False).run_many(p, x, [], KEEP, threads=2)
    interpreted = prepare(oscillator(machine=False), 1.0, samples=0.1, progress=False, rtol=1e-10)
    assert not interpreted.in_machine_code
    near = interpreted.run_many(p, x, [], KEEP)
    for name in KEEP:
        np.testing.assert_allclose(near[name], found[name], rtol=1e-4, atol=1e-5)
    assert near.ok.all()


@pytest.mark.parametrize("start", [0.0, 1.5673898856423394])
def test_steps_of_samples_that_divide_a_run_end_with_it(start):
    made, random = oscillator(), np.random.default_rng(8)
    for span, parts in zip(10.0 ** random.uniform(-2.0, 1.0, 30), random.integers(2, 300, 30), strict=True):
        end = start + span
        prepared = prepare(made, end, t_start=start, samples=(end - start) / parts, progress=False)
        times, dates = prepared.requested_times
        assert len(times) == parts + 1 and times[-1] == prepared.settings.span and dates[-1] == end
        assert 0.0 < times[-1] - times[-2] < 1.001 * span / parts
    run = prepared.checked_run([1.0, 0.0], [4.0, 0.1], [])
    assert np.array_equal(run.x[-1], prepared.run_many([4.0, 0.1], [1.0, 0.0], []).x[0])


@pytest.mark.parametrize("samples", [[0.0, 0.03], [0.02, 0.1], None, 0.04, [-0.05]])
@pytest.mark.parametrize("method", ["auto", "rodas5p"])
def test_a_run_ends_where_it_ends_whatever_its_samples(samples, method):
    made, start, end = oscillator(), -0.05, 0.1
    assert start + (end - start) != end
    x, p = np.array([1.0, 0.3]), np.array([100.0, 1.0])
    ended = simulate(made, x, p, [], end, t_start=start, method=method, samples=[end] if samples is None else None).x[-1]
    prepared = prepare(made, end, t_start=start, method=method, samples=samples, progress=False)
    ends, one = prepared.run_many(p, x, [], KEEP), prepared.run(p, x, np.zeros(0))
    assert ends.t.tolist() == [end] and one.t == end - start and one.completed
    np.testing.assert_allclose(ends.x[0], ended, rtol=1e-6)
    np.testing.assert_array_equal(one.x, ends.x[0])
    result = prepared.result(x, p, [])
    assert samples not in (None, 0.04) or result.t[-1] == end
    mean = np.nan if len(result.t) == 1 else np.trapezoid(result["spring.q"], result.t) / np.ptp(result.t)
    assert ends["usual"][0] == pytest.approx(mean, rel=1e-12, nan_ok=True)


def test_events_are_had_in_threads():
    prepared = prepare(ball(), 2.0, progress=False)
    assert prepared.in_machine_code
    heights = np.array([[1.0, 0.0], [2.0, 0.0], [0.5, 1.0]])
    ends = prepared.run_many([9.81, 0.7], heights, [0.0], {"top": peak("height")}, threads=2)
    for k, start in enumerate(heights):
        run = simulate(ball(), start, [9.81, 0.7], [0.0], 2.0)
        np.testing.assert_array_equal(ends.x[k], run.x[-1])
        assert ends["top"][k] == run.peak("height")[1]


def test_failures_doubts_and_refusals_come_back_by_run():
    prepared = prepare(fails(), 2.0, samples=0.5, progress=False)
    p = np.array([[0.1], [1.0], [-2.0], [np.nan], [0.2]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ends = prepared.run_many(p, [1.0, 1.0], [], threads=2)
    assert list(ends.failures) == [1] and list(ends.warnings) == [2] and list(ends.errors) == [3]
    assert ends.ok.tolist() == [True, False, False, False, True]
    with pytest.warns(RunEndedWarning):
        alone = simulate(fails(), [1.0, 1.0], p[1], [], 2.0, samples=0.5)
    assert str(ends.failures[1]) == str(alone.failure) and np.array_equal(ends.x[1], alone.x[-1])
    assert ends.errors[3].problem.code == "E309" and np.isnan(ends.x[3]).all()


def test_too_many_steps_are_reported_as_in_single_runs():
    prepared = prepare(oscillator(), 1e4, samples=[1e4], max_steps=20_000, progress=False)
    ends = prepared.run_many([[1e4, 0.0]], [1.0, 0.0], [])
    with pytest.warns(RunEndedWarning):
        alone = simulate(oscillator(), [1.0, 0.0], [1e4, 0.0], [], 1e4, samples=[1e4], max_steps=20_000)
    assert ends.failures[0].kind == alone.failure.kind == "too many steps"


def test_stiff_runs_change_their_method_as_single_runs_do():
    made = program(lambda t, x, p, m: [-p[0] * (x[0] - s.cos(t))], (1, 1, 0))
    prepared = prepare(made, 10.0, samples=[10.0], progress=False)
    ends = prepared.run_many([[1.0], [1e6]], [0.0], [])
    for k, rate in enumerate((1.0, 1e6)):
        run = simulate(made, [0.0], [rate], [], 10.0, samples=[10.0])
        assert np.array_equal(ends.x[k], run.x[-1]) and ends.steps[k] == run.statistics.steps


def test_threads_share_a_prepared_run():
    prepared = prepare(top(), 1.0, samples=[1.0], progress=False)
    starts = [np.array([0.1 + k, 9.0, 0.1, 1.0, 0.0, 0.0, 0.0]) for k in range(4)]
    numbers, none = np.array([1.0, 2.0, 3.0]), np.zeros(0)
    expected = [prepared.run(numbers, start, none).x for start in starts]
    wrong = []

    def work(k):
        for _ in range(50):
            if not np.array_equal(prepared.run(numbers, starts[k], none).x, expected[k]):
                wrong.append(k)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_refusals():
    prepared = prepare(oscillator(), 1.0, progress=False)
    with pytest.raises(RunError, match="E305"):
        prepared.run_many(np.ones((3, 2)), np.ones((2, 2)), [])
    with pytest.raises(RunError, match="E305"):
        prepared.run_many(np.ones((3, 1)), np.ones((3, 2)), [])
    for asked, why in (
        (("highest", "force"), "neither a name nor a measure"),
        (("max", "force"), r"measures\.peak\('force'\)"),
        (("course", "force"), r"measures\.series\('force'\)"),
        (peak("farce"), 'did you mean "force"'),
    ):
        with pytest.raises(RunError, match=f"(?s)E345.*{why}"):
            prepared.run_many([1.0, 1.0], [1.0, 1.0], [], {"a": asked})


def pushed():
    graph, velocity = Graph("pushed"), J1("velocity", domain="translation")
    graph.connect(Se("push", 1.0), velocity).connect(velocity, I("mass", inertia=2.0))
    graph.connect(velocity, C("spring", stiffness=50.0)).connect(velocity, R("damper", resistance=5.0))
    return compile_model(graph)


@pytest.mark.parametrize("lanes", [1, 4])
def test_one_row_for_all_of_no_runs_is_read_by_none(lanes):
    prepared = prepare(oscillator(), 1.0, samples=0.5, progress=False)
    p, x = np.array([[100.0, 1.0]]), np.array([[1.0, 0.0]])
    for blocks in ((p[:0], x), (p, x[:0]), (p[:0], x[:0])):
        ends = prepared.run_many(*blocks, np.zeros((1, 0)), KEEP, lanes=lanes, threads=1)
        assert len(ends) == 0 and ends.ok.shape == (0,) and ends["course"].shape == (0, 3)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"p": "abc"}, "E305"),
        ({"p": [[100.0 + 1j, 1.0]]}, "E305"),
        ({"p": [["100.0", "1.0"]]}, "E305"),
        ({"keep": [last("spring.q")]}, "E345"),
        ({"keep": {"a": last(5)}}, "E345"),
        ({"threads": "2"}, "E306"),
        ({"threads": 0}, "E306"),
    ],
)
def test_unsupported_settings_of_batches_are_refused(given, code):
    prepared = prepare(oscillator(), 1.0, samples=0.5, progress=False)
    with pytest.raises(RunError, match=code):
        prepared.run_many(**{"p": [100.0, 1.0], "x0": [1.0, 0.0], "m0": [], **given})


def test_values_of_runs_count_from_zero_whatever_index_a_table_has():
    pandas = pytest.importorskip("pandas")
    run = compile_model(with_restitution(), progress=False).prepare_run(0.1, progress=False)
    starts = {name: np.ravel(value.value) for name, value in run.compiled.states.items()}
    name = next(name for name, value in starts.items() if len(value) == 1)
    mode = next(iter(run.compiled.system.modes.values()))
    table = pandas.DataFrame({"start": [3.0, 1.0, 2.0], "state": [mode.states[k] for k in (0, -1, 0)]}, index=[2, 0, 1])
    expected = run.start_values_many(initial={name: [3.0, 1.0, 2.0], mode.automaton: [mode.states[k] for k in (0, -1, 0)]})
    for found, block in zip(
        run.start_values_many(initial={name: table["start"], mode.automaton: table["state"]}), expected, strict=True
    ):
        np.testing.assert_array_equal(found, block)
    assert len({tuple(row) for row in expected[1]}) == 3


@pytest.mark.parametrize("value", [3.0, np.float64(3.0), np.array(3.0), None, {1.0, 2.0}, "ab"])
def test_points_need_a_value_for_every_run(value):
    run = pushed().prepare_run(1.0, progress=False)
    for given in ({"parameters": {"spring.stiffness": value}}, {"initial": {"spring.q": value}}):
        with pytest.raises(ModelError, match=r"(?s)E124.*needs a value for every run"):
            run.start_values_many(**given)
    with pytest.raises(ModelError, match="E321"):
        run.start_values_many(parameters=[("spring.stiffness", value)])
    none = run.start_values_many({"spring.stiffness": []})
    assert [block.shape[0] for block in none] == [0, 0, 0] and len(run.run_many(*none)) == 0


def test_models_by_name():
    compiled = pushed()
    run = compiled.prepare_run(3.0, samples=0.05, progress=False)
    stiffness, start = np.array([20.0, 50.0, 80.0]), np.array([0.0, 0.1, -0.1])
    ends = run.run_many(*run.start_values_many({"spring.stiffness": stiffness}, {"spring.q": start}), {"high": peak("spring.q")})
    for k in range(3):
        given = {"parameters": {"spring.stiffness": stiffness[k]}, "initial": {"spring.q": start[k]}}
        alone, again = compiled.simulate(3.0, samples=0.05, **given), run(**given)
        assert np.array_equal(alone.x, again.x) and np.array_equal(ends.x[k], alone.x[-1])
        assert ends["high"][k] == alone.peak("spring.q")[1]
        x, p, m = run.start_values(**given)
        assert np.array_equal(run.run(p, x, m).x, alone.x[-1])
    with pytest.raises(ModelError, match="E119"):
        run.start_values_many({"damper.resistance": [1.0, -1.0]})
    with pytest.raises(ModelError, match="E121"):
        run.start_values_many({"spring.softness": [1.0]})
    with pytest.raises(ModelError, match="E124"):
        run.start_values_many({"spring.stiffness": [1.0, 2.0]}, {"spring.q": [0.0]})


def test_models_with_breaks_of_time():
    graph, loop = Graph("late"), J1("loop")
    graph.add(signals.step("V", start=0.2, after=5.0))
    graph.connect(Se("source", lambda u: u, signals="V.y"), loop).connect(loop, R("r", 2.0)).connect(
        loop, C("c", capacitance=3.0)
    )
    compiled = compile_model(graph)
    run = compiled.prepare_run(1.0, samples=[1.0], progress=False)
    ends = run.run_many(*run.start_values_many({"r.resistance": [1.0, 2.0]}))
    assert np.array_equal(ends.x[1], compiled.simulate(1.0, samples=[1.0]).x[-1])


def test_starts_of_many_runs_are_those_of_each_alone():
    compiled = pushed()
    run = compiled.prepare_run(1.0, progress=False)
    parameters, initial = {"spring.stiffness": np.array([20.0, 50.0])}, {"spring.q": np.array([0.1, -0.1])}
    ready, *blocks = run.prechecked_starts(parameters, initial, 2)
    assert ready.all()
    for k in range(2):
        alone = run.start_values({"spring.stiffness": parameters["spring.stiffness"][k]}, {"spring.q": initial["spring.q"][k]})
        assert all(np.array_equal(a[k % len(a)], b) for a, b in zip(blocks, alone, strict=True))
    assert not run.prechecked_starts({"spring.stiffness": np.array([20.0, -1.0])}, {}, 2)[0].any(), "each must be checked"
    assert not run.prechecked_starts({}, {"spring.q": np.array([0.1, np.nan])}, 2)[0].any()


def test_velocities_that_must_fit_constraints_are_looked_at_alone():
    graph, v = Graph("rails"), J1("v", dimension=2)
    graph.connect(v, IC("mass", kinetic=lambda q, v: (v @ v) / 2, position=[0.0, 0.0]))
    graph.connect(v, Constraint("rail", position=lambda q: q[0] - q[1] ** 2, coordinates={"mass.q": 2}))
    compiled = compile_model(graph)
    run = compiled.prepare_run(1.0, progress=False)
    (state,) = (name for name in compiled.states if name != "mass.q")
    velocities = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    assert run.prechecked_starts({}, {state: velocities}, 3)[0].tolist() == [True, True, False]
    with pytest.raises(ModelError, match="E455"):
        run.start_values({}, {state: velocities[2]})


MADE = {
    "one section": (lambda: chain(1), 0.1),
    "a hundred sections": (lambda: chain(100), 0.1),
    "72 bounces": (with_restitution, 6.0),
    "one bounce": (with_restitution, 0.6),
}


@pytest.mark.usefixtures("one_loop", "few_objects")
def test_a_run_takes_few_calls_of_python_whatever_its_model_and_its_events():
    go, whole = {}, {}
    for name, (make, t_end) in MADE.items():
        compiled = compile_model(make())
        run = compiled.prepare_run(t_end, samples=[t_end], progress=False)
        x, p, m = run.start_values()
        assert run.run(p, x, m).completed
        go[name] = calls(lambda run=run, x=x, p=p, m=m: run.run(p, x, m))
        for _ in range(3):  # the second call already has everything that is made once per process
            whole[name] = calls(lambda made=compiled, end=t_end: made.simulate(end, samples=[end], progress=False))
    assert len({go[name] for name in ("one section", "a hundred sections")}) == 1
    assert len({go[name] for name in ("one bounce", "72 bounces")}) == 1
    assert max(go.values()) < 55 and max(whole.values()) < 150
    assert abs(whole["one section"] - whole["a hundred sections"]) < 10
    assert abs(whole["one bounce"] - whole["72 bounces"]) < 10


def test_prepared_data_are_reused_for_equal_settings_only():
    compiled, times, everything = pushed(), np.linspace(0.0, 1.0, 5), KeepOptions()

    def prepared(**settings):
        compiled.simulate(1.0, **settings)
        return compiled.last_prepared.made(setting_key(1.0, everything, settings), lambda: None)

    first = prepared(samples=times, rtol=1e-8)
    assert first is not None and prepared(samples=times.copy(), rtol=1e-8) is first
    assert np.array_equal(compiled.simulate(1.0, samples=times, rtol=1e-8).t, times)
    times[1] = 0.3
    assert prepared(samples=times, rtol=1e-8) is not first
    assert np.array_equal(compiled.simulate(1.0, samples=times, rtol=1e-8).t, times)
    asked = (times, times.tolist(), times[:2], 0.5, np.float64(0.5), None)
    keys = [setting_key(1.0, everything, {"samples": samples}) for samples in asked]
    assert len(set(keys)) == len(keys) and None not in keys
    assert setting_key(1.0, everything, {"samples": ["a", object()]}) is None
    with pytest.raises(RunError, match="E303"):
        compiled.simulate(1.0, samples=[object()])


def test_results_share_no_memory():
    compiled = pushed()
    first, second = (compiled.simulate(1.0, samples=0.25) for _ in range(2))
    for name in ("t", "since", "x", "p"):
        one, other = getattr(first, name), getattr(second, name)
        assert np.array_equal(one, other) and not np.shares_memory(one, other)


def test_threads_share_a_compiled_model():
    compiled, wrong = compile_model(with_restitution()), []
    heights = [1.0, 0.8, 1.2, 0.9]
    expected = [compiled.simulate(2.0, initial={"floor.h": height}, progress=False) for height in heights]

    def work(k):
        for _ in range(20):
            run = compiled.simulate(2.0, initial={"floor.h": heights[k]}, progress=False)
            if not (np.array_equal(run.x, expected[k].x) and run.events == expected[k].events):
                wrong.append(k)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong
