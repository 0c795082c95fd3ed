"""`simulate`, `run_many` and `sweep` give every measure the value of its definition."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from bondgraph import compile_model, measures, sweep, sweeps
from bondgraph.errors import RunEndedWarning
from bondgraph.run_arguments import KeepOptions, setting_key
from examples.bouncing_ball import GRAVITY, HEIGHT, with_restitution
from tests.inner.run import MEASURES, STORED, MachineRule, Measure, Slot, prepare
from tests.run.problems import oscillator, program
from tests.run.test_prepared import fails, pushed
from tests.run.test_repeated_events import CASES, alone, compiled_case, falls
from tests.sweeps.oscillators import pendulum_in_space

__all__ = ["alone"]
WORDS = tuple(MEASURES)
OF_EVENTS = [word for word in WORDS if MEASURES[word].of_event]


def made(word, of):
    return getattr(measures, word)(of)


def of_all(layout, quantities, events=()):
    keep = {f"{word} {of}": made(word, of) for word in OF_EVENTS for of in ("", *events)}
    for of in quantities:
        scalar = not layout[of].shape
        keep |= {f"{w} {of}": made(w, of) for w, kind in MEASURES.items() if not kind.of_event and (scalar or not kind.scalar)}
    return keep


# --- the table --------------------------------------------------------------------------------------------------------------


def test_every_measure_has_a_word_a_rule_a_unit_and_its_row_on_the_page():
    page = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text(encoding="utf-8")
    assert set(measures.__all__) == set(WORDS) <= set(sweeps.__all__)
    assert sorted(kind.machine for kind in MEASURES.values()) == sorted(MachineRule)
    for word, kind in MEASURES.items():
        of = "bounces" if kind.of_event else "mass.flow"
        assert made(word, of) == Measure(word, of) and repr(made(word, of)) == f"{word}({of!r})"
        assert getattr(sweeps, word) is getattr(measures, word)
        row = f'| `{word}("{of}")` | {kind.meaning} | {kind.unit("m/s") or "1"} |'
        assert row in page, f"docs/sweeps.md has no row\n{row}"


def test_stores_have_the_words_that_they_had():
    texts = [measure.stored for measure in (measures.series("v.flow"), measures.peak("v.flow"), measures.events())]
    assert texts == ["course('v.flow')", "peak('v.flow')", "events()"] and STORED == {"course": "series"}


def test_settings_with_the_same_measures_are_the_same():
    same = [KeepOptions({"a": measures.peak("f"), "b": "g"}) for _ in range(2)]
    others = KeepOptions({"a": measures.lowest("f"), "b": "g"}), KeepOptions({"a": measures.peak("f")})
    keys = [setting_key(1.0, kept, {}) for kept in (*same, *others)]
    assert keys[0] == keys[1] and None not in keys and len(set(keys)) == 3


# --- the same number by all routes ------------------------------------------------------------------------------------------

EVENTS = {"bounces": ("bounces", "contact"), "friction": ("f",)}


@pytest.mark.parametrize("name", CASES)
def test_all_ways_give_the_same_number(name, alone):
    _, t_end, parameters, initial, quantities = CASES[name]
    compiled, settings = compiled_case(name), {"samples": t_end / 40.0, "progress": False}
    words = {word for edge in compiled.program.transitions for word in (edge.name, edge.kind) if not edge.internal}
    keep = of_all(compiled.program.layout, quantities, sorted(words))
    run = compiled.prepare_run(t_end, **settings)
    ends = [
        run.run_many(*run.start_values_many(parameters, initial), keep, threads=threads, check_rank=False) for threads in (1, 2)
    ]
    rows = [{key: values[k] for key, values in {**parameters, **initial}.items()} for k in range(3)]
    swept = sweep(compiled, rows, t_end, keep=keep, **settings)
    assert not alone, "machine code must take all measures"
    for k in range(3):
        given = {"parameters": {n: v[k] for n, v in parameters.items()}, "initial": {n: v[k] for n, v in initial.items()}}
        result = compiled.simulate(t_end, **given, **settings)
        kept = compiled.simulate(t_end, keep=keep, **given, **settings)
        for word, measure in keep.items():
            expected = measure(result)
            for way, found in (("one thread", ends[0][word][k]), ("two", ends[1][word][k]), ("sweep", swept[word][k])):
                np.testing.assert_array_equal(found, expected, err_msg=f"{word} by {way}")
            np.testing.assert_array_equal(kept[word], expected, err_msg=f"{word} by simulate")
        assert ends[0][f"events {''}"][k] == np.sum(~result.events.internal)


@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_lanes_change_no_number(lanes, alone):
    for compiled, varied, samples in (
        (pushed(), {"spring.stiffness": np.linspace(20.0, 80.0, 37)}, 0.05),
        (compile_model(pendulum_in_space()), {"springs.q": np.linspace(0.5, 1.5, 37)[:, None] * np.ones(3)}, 0.07),
    ):
        name = next(iter(varied)).split(".")[0] + ".q"
        component = [f"{name}[1]"] if compiled.program.layout[name].shape else []
        keep = of_all(compiled.program.layout, (name, "mass.flow", *component))
        run = compiled.prepare_run(1.0, samples=samples, progress=False)
        where = "initial" if name in varied else "parameters"
        ends = run.run_many(*run.start_values_many(**{where: varied}), keep, lanes=lanes, threads=1)
        assert ends.ok.all() and not alone
        for k in (0, 17, 36):
            result = compiled.simulate(1.0, samples=samples, progress=False, **{where: {n: v[k] for n, v in varied.items()}})
            for word, measure in keep.items():
                np.testing.assert_array_equal(ends[word][k], measure(result), err_msg=word)


@pytest.mark.parametrize("samples", [[0.45, 0.5, 0.9], [0.0, 2.0], [2.0], [0.0], None])
def test_samples_may_end_before_the_run_and_be_few(samples):
    compiled = compile_model(with_restitution(), progress=False)
    keep = of_all(compiled.program.layout, ("ball.flow", "floor.h"), ("bounces",))
    run = compiled.prepare_run(2.0, samples=samples, progress=False)
    ends, result = run.run_many(*run.start_values_many(), keep), run()
    for word, measure in keep.items():
        np.testing.assert_array_equal(ends[word][0], measure(result), err_msg=word)
    assert ends["events bounces"][0] == 3
    way = float(ends["integral ball.flow"][0])
    assert way == pytest.approx(float(ends["last floor.h"][0]) - HEIGHT, abs=1e-7)


# --- closed forms -----------------------------------------------------------------------------------------------------------


def height(t, e=0.8):
    fall = np.sqrt(2.0 * HEIGHT / GRAVITY)
    if t < fall:
        return HEIGHT - 0.5 * GRAVITY * t * t
    begin, up = fall, e * GRAVITY * fall
    while t > begin + 2.0 * up / GRAVITY:
        begin, up = begin + 2.0 * up / GRAVITY, e * up
    return up * (t - begin) - 0.5 * GRAVITY * (t - begin) ** 2


@pytest.mark.parametrize("count", [2, 11, 12, 101])
def test_the_integral_of_velocity_is_the_displacement(count):
    """Between events the trapezoidal rule is exact, because velocity is linear."""
    compiled, settings = compile_model(with_restitution()), {"samples": np.linspace(0.0, 2.0, count), "progress": False}
    keep = {"way": measures.integral("ball.flow"), "top": measures.peak("ball.flow"), "low": measures.lowest("ball.flow")}
    run = compiled.prepare_run(2.0, **settings)
    batch, kept = run.run_many(*run.start_values_many(), keep), compiled.simulate(2.0, keep=keep, **settings)
    turned = run.run_many(*run.start_values_many(), dict(reversed(keep.items())))
    swept = sweep(compiled, [{"ball.inertia": 1.0}], 2.0, keep=keep, **settings)
    fall = np.sqrt(2.0 * HEIGHT / GRAVITY)
    expected = {"way": height(2.0) - HEIGHT, "top": 0.8 * GRAVITY * fall, "low": -GRAVITY * fall}
    assert expected["way"] == pytest.approx(-0.739, abs=5e-4) and expected["top"] == pytest.approx(3.54, abs=5e-3)
    for word, value in expected.items():
        assert kept[word] == batch[word][0] == swept[word][0] == turned[word][0] == pytest.approx(value, rel=2e-6)
    if count == 11:
        result = run()
        assert np.trapezoid(result["ball.flow"], result.t) == pytest.approx(-0.389, abs=5e-4)


def test_units_of_the_states_change_no_measure_but_by_their_factor():

    def ended(scale):
        made_of = program(
            lambda t, x, p, m: [x[1], -p[0] * scale],
            (2, 2, 1),
            guards=lambda t, x, p, m: [-x[0] / scale, -1.0],
            resets=[lambda t, x, p, m: [x[0], -p[1] * x[1]], None],
            transitions=falls().transitions,
            slots={"height": Slot("x", 0), "speed": Slot("x", 1)},
        )
        prepared = prepare(made_of, 1.5, samples=0.1, progress=False)
        keep = {word: made(word, "speed") for word in ("integral", "mean", "peak", "lowest", "last")}
        ends = prepared.run_many([9.81, 0.7], [scale, 0.0], [0.0], keep)
        return np.array([ends[word][0] for word in keep])

    np.testing.assert_allclose(ended(1024.0), 1024.0 * ended(1.0), rtol=1e-9)


def test_a_peak_between_samples_is_nearer_than_the_largest_sample():
    """cos(10 t) has its maxima of 1 and its minima of -1 between samples."""
    prepared = prepare(oscillator(), 1.0, samples=0.03, progress=False)
    keep = {"top": measures.peak("spring.q"), "low": measures.lowest("spring.q"), "all": "spring.q"}
    ends = prepared.run_many([100.0, 0.0], [0.0, 10.0], [], keep)
    top, low, values = ends["top"][0], ends["low"][0], ends["all"][0]
    assert abs(top - 1.0) < 0.1 * (1.0 - values.max()) and abs(low + 1.0) < 0.1 * (values.min() + 1.0)


# --- failures, and measures unknown to machine code -----------------------------------------------------------------------


def test_a_run_that_ends_early_has_no_number_by_any_way():
    ending = fails(slots={"x": Slot("x", 0)})
    prepared = prepare(ending, 2.0, samples=0.5, progress=False)
    keep = {word: made(word, "" if word in OF_EVENTS else "x") for word in WORDS}
    ends = prepared.run_many([[0.1], [1.0]], [1.0, 1.0], [], keep)
    single = prepare(ending, 2.0, KeepOptions(keep), samples=0.5, progress=False)
    with pytest.warns(RunEndedWarning):
        result = single.result([1.0, 1.0], [1.0], [])
    assert list(ends.failures) == [1] and result.failure is not None
    for word in WORDS:
        if MEASURES[word].over_time:
            np.testing.assert_array_equal(ends[word][1, : len(result.t)], result[word])
            assert np.isnan(ends[word][1, len(result.t) :]).all()
        else:
            assert np.isnan(ends[word][1]) and np.isnan(result[word]) and np.isfinite(ends[word][0]) == (word != "first_time")


def test_nan_is_not_a_peak(alone):
    made_of = program(
        lambda t, x, p, m: [1.0],
        (1, 1, 0),
        outputs=lambda t, x, p, m: [(x[0] - p[0]) ** 0.5],
        slots={"root": Slot("out", 0), "x": Slot("x", 0)},
    )
    keep = of_all(made_of.layout, ("root",))
    prepared = prepare(made_of, 1.0, samples=0.1, progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ends = prepared.run_many([[0.35], [-1.0]], [0.0], [], keep, threads=1)
        assert not alone
        for k, p in enumerate((0.35, -1.0)):
            result = prepared.checked_run([0.0], [p], [])
            for word, measure in keep.items():
                np.testing.assert_array_equal(ends[word][k], measure(result), err_msg=word)
    assert np.isnan(ends["peak root"][0]) and ends["peak root"][1] == pytest.approx(2.0**0.5)
