"""Results give values by name and have ledgers; failures of runs are returned, not raised."""

from __future__ import annotations

import threading
from ast import literal_eval
from dataclasses import replace

import numpy as np
import pytest

from bondgraph.errors import RunError
from bondgraph.methods import RETIRED
from screws import scalars as s
from tests.inner.output import progress
from tests.inner.run import Layout, RunTransition, Slot, longest_step, simulate
from tests.run.problems import ball, bumper, decay, oscillator, program

METHODS = ["dop853", "rodas5p"]


def test_names_shapes_and_unknown_names():
    slots = {"body.pose": Slot("x", 0, (2, 2)), "stiffness": Slot("p", 0), "force": Slot("out", 1, (2,))}
    made = program(lambda t, x, p, m: list(x), (4, 1, 0), outputs=lambda t, x, p, m: [t, x[0] + p[0], x[1]], slots=slots)
    result = simulate(made, [1.0, 2.0, 3.0, 4.0], [7.0], [], 1.0, samples=0.25)
    assert result["body.pose"].shape == (5, 2, 2)
    assert result["body.pose"][0].tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert result["stiffness"] == 7.0
    assert result["force"][0].tolist() == [8.0, 2.0]
    for strange in (5, None, ["body.twist"]):
        with pytest.raises(KeyError, match="is not the name of one quantity"):
            result[strange]
    with pytest.raises(KeyError, match=r"body\.pose"):
        result["body.pos"]
    assert "force" in result and "farce" not in result
    frame = result.to_dataframe()
    assert list(frame.columns)[:2] == ["body.pose[0, 0]", "body.pose[0, 1]"] and frame.index.name == "t"
    assert list(result.to_dataframe(["force"]).columns) == ["force[0]", "force[1]"]
    assert made.layout.label("x", 2) == "body.pose[1, 0]"


def test_peak_between_samples():
    result = simulate(oscillator(), [0.0, 1.0], [1.0, 0.0], [], 3.0, samples=0.05)
    time, value = result.peak("spring.q")
    assert time == pytest.approx(np.pi / 2.0, abs=1e-3) and value == pytest.approx(1.0, abs=1e-6)


def test_ledger_by_role_and_element():
    made = program(
        lambda t, x, p, m: [p[0] - p[1] * x[0]],
        (1, 2, 0),
        powers=lambda t, x, p, m: [p[0] * x[0], p[1] * x[0] * x[0]],
        energies=lambda t, x, p, m: [0.5 * x[0] * x[0]],
        roles=("supplied", "dissipated"),
    )
    result = simulate(made, [0.0], [2.0, 1.0], [], 3.0)
    ledger = result.ledger
    assert ledger.stored[-1] == pytest.approx(ledger.supplied[-1] - ledger.dissipated[-1], abs=1e-9)
    assert ledger.supplied[-1] == pytest.approx(4.0 * (3.0 - 1.0 + np.exp(-3.0)), rel=1e-9)
    assert ledger.relative_residual < 1e-9
    assert set(ledger.elements) == {"storage 0", "power 0", "power 1"}
    assert "relative residual" in str(ledger)


@pytest.mark.parametrize("options", [{"method": name} for name in METHODS])
def test_rates_that_stop_being_finite_are_a_failure(options):
    slots = {"clock": Slot("x", 0), "valve.q": Slot("x", 1)}
    made = program(lambda t, x, p, m: [1.0, -s.sqrt(1.0 - x[0])], (2, 0, 0), slots=slots)
    result = simulate(made, [0.0, 0.0], [], [], 2.0, **options)
    failure = result.failure
    assert failure is not None and failure.kind == "not finite"
    assert failure.time == pytest.approx(1.0, abs=1e-3)
    assert failure.suspect == "valve.q"
    assert failure.state["clock"] == pytest.approx(1.0, abs=1e-3)
    assert result.t[-1] <= failure.time + 1e-9 and np.all(np.isfinite(result.x))


@pytest.mark.parametrize("options", [{"method": name} for name in METHODS])
def test_rates_that_are_not_finite_at_the_start(options):
    made = program(lambda t, x, p, m: [s.log(x[0])], (1, 0, 0))
    result = simulate(made, [-1.0], [], [], 1.0, **options)
    assert result.failure is not None and result.failure.kind == "not finite"
    assert result.failure.time == 0.0 and len(result.t) == 1


def test_a_solution_that_runs_away():
    made = program(lambda t, x, p, m: [x[0] * x[0]], (1, 0, 0))
    result = simulate(made, [1.0], [], [], 2.0)
    assert result.failure is not None and result.failure.time == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("count", [-3, 0, 1, 10**13])
def test_a_count_of_samples_that_cannot_be_is_refused_with_advice_that_works(count):
    made = program(lambda t, x, p, m: [-x[0]], (1, 0, 0))
    with pytest.raises(RunError, match="E303") as caught:
        simulate(made, [1.0], [], [], 1.0, samples=count)
    assert ("samples=1.0 for a step" in str(caught.value)) is (count == 1)


@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("E301", {"t_end": 0.0}),
        ("E301", {"t_end": -1.0}),
        ("E301", {"t_end": np.inf}),
        ("E301", {"t_end": "soon"}),
        ("E301", {"t_end": 1e-300}),
        ("E301", {"t_end": 1e300}),
        ("E301", {"t_start": -1e308, "t_end": 1e308}),
        ("E301", {"t_end": 5e-324}),
        ("E301", {"t_start": -1e-310, "t_end": 1e-310}),
        ("E302", {"rtol": 0.0}),
        ("E302", {"rtol": 0.5}),
        ("E302", {"rtol": np.nan}),
        ("E302", {"rtol": "small"}),
        ("E302", {"atol": -1.0}),
        ("E302", {"atol": [1.0, 0.0]}),
        ("E302", {"atol": [1.0, 1.0, 1.0]}),
        ("E302", {"atol": "small"}),
        ("E303", {"samples": -0.1}),
        ("E303", {"samples": [0.1, 0.1]}),
        ("E303", {"samples": [0.1, 2.0]}),
        ("E303", {"samples": [0.1, np.nan]}),
        ("E303", {"samples": []}),
        ("E303", {"samples": 1e-12}),
        ("E303", {"samples": 1.001}),
        ("E303", {"samples": 200_000_000}),
        ("E303", {"samples": "often"}),
        ("E303", {"samples": np.ma.masked_equal([0.1, 0.2, 0.3], 0.2)}),
        ("E303", {"samples": np.ma.masked}),
        ("E304", {"method": "euler"}),
        ("E304", {"method": "bdf"}),
        ("E322", {"solver": "matlab"}),
        ("E322", {"iteration": "secant"}),
        ("E304", {"linear": "banded"}),
        ("E302", {"atol": np.ma.masked_equal([1.0, 2.0], 2.0)}),
        ("E305", {"x0": [1.0]}),
        ("E305", {"parameters": [1.0]}),
        ("E305", {"modes0": [1.0]}),
        ("E306", {"max_step": 0.0}),
        ("E306", {"max_step": 1e-300}),
        ("E306", {"max_step": 1e-300, "t_start": -1.0, "t_end": 0.0}),
        ("E306", {"max_step": 1e-17, "method": "rodas5p"}),
        ("E306", {"max_step": 0.9e-7}),
        ("E306", {"max_step": 0.09, "max_steps": 11}),
        ("E306", {"max_events": -1}),
        ("E306", {"max_events": 0.5}),
        ("E306", {"max_step": "long"}),
        ("E308", {"x0": [1.0, np.nan]}),
        ("E308", {"x0": ["a", "b"]}),
        ("E308", {"x0": np.ma.masked_equal([1.0, 2.0], 2.0)}),
        ("E309", {"parameters": [np.inf, 0.0]}),
        ("E309", {"parameters": np.ma.masked_equal([1.0, 2.0], 2.0)}),
    ],
)
def test_settings_that_are_refused(code, change):
    arguments = {"x0": [1.0, 0.0], "parameters": [1.0, 0.0], "modes0": [], "t_end": 1.0, **change}
    with pytest.raises(RunError) as caught:
        simulate(oscillator(), **arguments)
    assert caught.value.problem.code == code


@pytest.mark.parametrize("options", [{"method": name} for name in METHODS])
@pytest.mark.parametrize("times", [{"t_end": 7e-139}, {"t_end": 1e-30}, {"t_start": 1e9, "t_end": 1e9 + 1e-6, "max_step": 1e-8}])
def test_the_shortest_runs(options, times):
    result = simulate(oscillator(), [1.0, 0.5], [1.0, 1.0], [], **times, **options)
    span = times["t_end"] - times.get("t_start", 0.0)
    assert result.ok and result.since[-1] == span
    assert result.x[-1] == pytest.approx([1.0, 0.5], abs=2.0 * span + 1e-12)


def test_the_longest_step_that_max_steps_allow():
    with pytest.raises(RunError, match=r"(?s)E306.*makes 1e\+12 steps.*try: a max_step of 1e-07 s or more"):
        simulate(oscillator(), [1.0, 0.0], [1.0, 0.0], [], 1.0, max_step=1e-12)
    assert simulate(oscillator(), [1.0, 0.0], [1.0, 0.0], [], 1.0, max_step=1e-3, max_steps=1001).ok


@pytest.mark.parametrize("most", [3, 7, 2003])
def test_the_longest_step_that_is_advised_may_be_taken(most):
    with pytest.raises(RunError, match="E306") as refused:
        longest_step(1e-6, 1.0, most)
    advised = float(str(refused.value).partition("a max_step of ")[2].partition(" s")[0])
    assert longest_step(advised, 1.0, most) == advised <= 1.011 / most


@pytest.mark.parametrize(("start", "span"), [(0.0, 1.0), (-3.0, 10.0), (1e3, 1e-3)])
def test_a_whole_number_counts_samples_and_any_other_is_a_step(start, span):
    def times(samples):
        run = simulate(oscillator(), [1.0, 0.0], [1.0, 0.0], [], t_start=start, t_end=start + span, samples=samples)
        return run.t

    for count in (2, np.int64(2000)):
        np.testing.assert_allclose(times(count), np.linspace(start, start + span, count), rtol=0, atol=1e-15 * abs(start + span))
    with pytest.raises(RunError, match=r"E303 a sample step of .* s is longer than the run") as refused:
        times(50.0 + span)
    count, end = refused.value.problem.cures
    assert len(times(int(count.removeprefix("samples=").partition(",")[0]))) == round(50.0 + span)
    assert len(times(literal_eval(end.partition(" for")[0]))) == len(times(float(span))) == 2
    with pytest.raises(RunError, match=r"E303 1 sample: .*\n.*samples=1\.0 for a step"):
        times(1)


def test_samples_of_which_none_is_masked():
    given = np.ma.masked_equal([0.25, 0.5, 0.75], 0.5)
    for samples in (np.ma.array([0.25, 0.75]), given.compressed()):
        result = simulate(oscillator(), [1.0, 0.0], [1.0, 0.0], [], 1.0, samples=samples)
        assert result.t.tolist() == [0.0, 0.25, 0.75] and type(result.t) is np.ndarray


def test_modes_that_are_not_finite():
    with pytest.raises(RunError, match="E310"):
        simulate(ball(), [1.0, 0.0], [9.81, 0.5], [np.nan], 1.0)


@pytest.mark.parametrize("name", RETIRED)
def test_renamed_methods_name_their_successor(name):
    with pytest.raises(RunError, match=f'method="{RETIRED[name]}"') as refused:
        simulate(decay(), [1.0], [1.0], [], 1.0, method=name)
    assert "ode()" in str(refused.value)


@pytest.mark.parametrize("setting", ["solver", "iteration"])
def test_renamed_settings_name_their_successor(setting):
    with pytest.raises(RunError, match=r"E322(.|\n)*ode\(\)"):
        simulate(decay(), [1.0], [1.0], [], 1.0, **{setting: "auto"})


def test_sparse_algebra_needs_a_jacobian():
    with pytest.raises(RunError, match="E304"):
        simulate(oscillator(with_jacobian=False), [1.0, 0.0], [1.0, 0.0], [], 1.0, linear="sparse")


def test_statistics():
    result = simulate(oscillator(), [1.0, 0.0], [1e4, 0.0], [], 1.0)
    statistics = result.statistics
    assert statistics.solver == "machine code" and statistics.rates > statistics.steps > 0
    assert 0.0 < statistics.integration_time < statistics.wall_time
    assert statistics.time_per_rate == statistics.integration_time / statistics.rates
    counted = replace(statistics, quadratic_programs=3)
    assert (counted + counted).quadratic_programs == 6 and (counted + counted).steps == 2 * statistics.steps


def test_runs_share_a_program_in_threads():
    made = bumper()
    found: list[tuple[str, tuple[float, ...]]] = []

    def work():
        for method in METHODS * 3:
            result = simulate(made, [-0.01, 1.0], [2.5e7, 500.0], [0.0], 0.02, method=method)
            found.append((method, tuple(map(float, result.x[-1]))))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 12 * len(METHODS)
    assert len(set(found)) == len(METHODS)


@pytest.mark.parametrize("method", METHODS)
def test_long_runs_are_cut_into_calls(method, monkeypatch):
    class Terminal:
        text = ""

        def isatty(self):
            return True

        def write(self, text):
            self.text += text

        def flush(self):
            pass

    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(progress, "_DELAY", -1.0)
    monkeypatch.setattr(progress, "_EVERY", 0.001)
    times = np.linspace(0.0, 100.0, 60_001)
    result = simulate(oscillator(), [1.0, 0.0], [1e4, 0.0], [], 100.0, method=method, rtol=1e-6, samples=times)
    assert len(result.t) == 60_001 and result.ok
    assert "%" in terminal.text and terminal.text.endswith("\x1b[K")
    silent = Terminal()
    monkeypatch.setattr("sys.stderr", silent)
    simulate(oscillator(), [1.0, 0.0], [1e4, 0.0], [], 1.0, method=method, progress=False)
    assert silent.text == ""


def test_programs_that_do_not_fit_together():
    with pytest.raises(ValueError, match="has 1 transitions, but its kernel has 2"):
        program(
            lambda t, x, p, m: [1.0],
            (1, 0, 1),
            guards=lambda t, x, p, m: [x[0], x[0]],
            transitions=[RunTransition("a", 0, 0, 1, "a")],
        )
    with pytest.raises(ValueError, match="unknown power roles"):
        program(lambda t, x, p, m: [1.0], (1, 0, 0), powers=lambda t, x, p, m: [1.0], roles=["given"])


def test_layout_is_a_mapping():
    layout = Layout({"a": Slot("x", 0), "b": Slot("out", 0, (3,))})
    assert list(layout) == ["a", "b"] and len(layout) == 2 and layout.names("out") == ("b",)
    assert layout["b"].stop == 3 and layout.label("m", 1) == "m[1]"


def test_each_component_has_its_unit():
    slots = {"H": Slot("out", 0, (4, 4)), "K": Slot("p", 0, (2, 2)), "w": Slot("x", 0, (2,))}
    layout = Layout(slots, {"H": "1, m", "K": "N, N m", "w": "V, A"})
    assert [layout.unit(name) for name in ("H[0, 3]", "H[2, 2]", "K[1, 0]", "K[0, 1]", "w[1]")] == ["m", "1", "N", "N m", "A"]


def peaked(formula):
    made = program(lambda t, x, p, m: [1.0], (1, 0, 0), outputs=lambda t, x, p, m: [formula(t)], slots={"y": Slot("out", 0)})
    return simulate(made, [0.0], [], [], 3.0, samples=np.arange(0.0, 3.0, 2.0 * np.pi / 20.0)).peak("y")


def test_a_peak_is_a_value_that_the_signal_has():
    clipped = peaked(lambda t: s.minimum(s.sin(t), 0.7))
    assert clipped[1] == 0.7
    saw = peaked(lambda t: s.where(s.less(t, 1.5), t, -1.0))
    assert saw[1] <= 1.5
    roof = peaked(lambda t: -s.absolute(t - 1.4))
    assert roof[1] <= 0.0
    smooth = peaked(lambda t: s.sin(t))
    assert smooth == (pytest.approx(np.pi / 2.0, abs=1e-3), pytest.approx(1.0, abs=1e-4))


@pytest.mark.parametrize("name", ["stiffness", "offsets", "pair"])
def test_parameters_and_arrays_have_no_peak(name):
    slots = {"stiffness": Slot("p", 0), "offsets": Slot("p", 0, (2,)), "pair": Slot("out", 0, (2,))}
    made = program(lambda t, x, p, m: [1.0], (1, 2, 0), outputs=lambda t, x, p, m: [t, t], slots=slots)
    with pytest.raises(ValueError, match=f'"{name}" is not a scalar over time'):
        simulate(made, [0.0], [7.0, 8.0], [], 1.0, samples=0.25).peak(name)


def test_a_peak_at_an_event_is_recorded_there():
    slots = {"force": Slot("out", 0), "x": Slot("x", 0)}
    force = lambda x, p, m: m[0] * (p[0] * x[0] + p[1] * x[1])  # noqa: E731
    made = program(
        lambda t, x, p, m: [x[1], -force(x, p, m)],
        (2, 2, 1),
        guards=lambda t, x, p, m: [s.where(s.less(m[0], 0.5), x[0], -1.0)],
        outputs=lambda t, x, p, m: [force(x, p, m)],
        transitions=[RunTransition("wall", 0, 0.0, 1.0, "contact on")],
        slots=slots,
    )
    run = simulate(made, [-0.0105, 1.0], [100.0, 50.0], [0.0], 0.1, samples=1e-3)
    assert run.peak("force") == (pytest.approx(0.0105, abs=1e-12), pytest.approx(50.0, rel=1e-9))
    assert np.max(run["force"]) < 49.0
    before, after = run.at_event(run.events[0], "force")
    assert before == 0.0 and after == pytest.approx(50.0, rel=1e-9)
    assert run.at_event(0, "x")[0] == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(KeyError):
        run.at_event(0, "farce")
