"""Runs that keep only some names have the same bits, failures and warnings as plain runs."""

from __future__ import annotations

import functools
import itertools
import pickle
import threading
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from bondgraph import J1, C, Graph, I, R, RunEndedWarning, RunError, Se, UnreliableRunWarning, compile_model, signals
from bondgraph.run_arguments import KeepOptions, setting_key
from examples import rolling_eggs
from screws import scalars as s
from tests.inner.run import (
    Bound,
    KeptResult,
    Result,
    SampleRows,
    Slot,
    SolutionCheck,
    energies_at,
    energy_account,
    find_lost_solution,
    outputs,
    simulate,
    validity_concerns,
)
from tests.inner.run import run as kept_runs
from tests.models.test_loops import cranks
from tests.run import problems, test_accumulation, test_breaks, test_ticks, test_trust
from tests.run.test_prepared import fails
from tests.schedule.graphs import bouncing, chain

METHODS = ("dop853", "rodas5p")
COLUMNS = ("t", "stored", "supplied", "dissipated", "injected", "lost", "residual")


def loop(*more) -> Graph:
    graph, v = Graph("loop"), J1("v")
    graph.connect(Se("source", lambda t: 2.0 * s.sin(6.0 * t), signals=["time"]), v).connect(v, R("r", 1.0))
    graph.connect(v, R("d", effort=lambda i: i + i**3)).connect(v, C("c", capacitance=0.3))
    for part in more:
        graph.add(part)
    return graph


def of_graph(made: Callable[[], Graph], end: float, **fixed):
    compiled = compile_model(made(), progress=False)
    return lambda **options: compiled.simulate(end, progress=False, **fixed, **options)


def of_program(made, *given, **fixed):
    built = made()
    return lambda **options: simulate(built, *given, progress=False, **fixed, **options)


def eggs() -> Graph:
    built = rolling_eggs.build()
    return built[0] if isinstance(built, tuple) else built


CASES: dict[str, Callable[[], Callable[..., Result]]] = {
    "rc": lambda: of_graph(lambda: test_trust.loop(C("c", capacitance=1.0, initial=1.0), R("r", 0.3)), 2.0, samples=0.02),
    "interpreted ball": lambda: of_program(
        lambda: problems.ball(machine=False), [1.0, 0.0], [9.81, 0.8], [0.0], 1.0, samples=0.02
    ),
    "stiff": lambda: of_program(problems.oscillator, [1.0, 0.0], [1e3, 1e3], [], 300.0, samples=2.0),
    "bounces": lambda: of_graph(lambda: bouncing(3), 1.0, samples=0.01),
    "rest": lambda: of_graph(lambda: test_accumulation.ball(0.5, [test_accumulation.stop()]), 2.5, samples=0.02),
    "clocked loop": lambda: of_graph(lambda: loop(signals.sampled("h", lambda y: y + 1.0, period=0.07)), 1.0, samples=0.01),
    "breaks": lambda: of_graph(
        lambda: test_breaks.pushed(signals.square("p", period=0.3, start=0.05, duty=0.1, high=2.0)), 1.0, samples=0.01
    ),
    "a loop whose rank is watched": lambda: of_graph(cranks, 0.25, samples=0.01),
    "dates": lambda: of_graph(loop, 1e6 + 1.0, t_start=1e6, samples=1e6 + np.array([0.1, 0.3, 0.35, 1.0])),
    "eggs": lambda: of_graph(eggs, 0.1, samples=0.002),
    "loops of kernels": lambda: of_graph(lambda: chain(400), 0.1, samples=0.004),
    "end of a singular position": lambda: of_graph(lambda: cranks((1.0, 1.0), start=2.4), 1.0, samples=0.01, rtol=1e-6),
    "end at a pole": lambda: lambda **options: test_trust.loop_of_poles().simulate(2.0, samples=0.05, **options),
    "end without a finite state": lambda: of_program(
        lambda: fails(slots={"x": Slot("x", 0)}), [1.0, 1.0], [1.0], [], 2.0, samples=0.05
    ),
    "end of interpreted formulas": lambda: of_program(
        lambda: fails(slots={"x": Slot("x", 0)}, machine=False), [1.0, 1.0], [1.0], [], 2.0, samples=0.05
    ),
    "nothing that moves": lambda: of_graph(
        lambda: test_trust.loop(Se("u", lambda t: s.sin(t), signals=["time"]), R("r", 2.0)), 1.0, samples=0.05
    ),
    "end of an overflow": lambda: of_graph(
        lambda: test_trust.loop(I("m", 1.0, initial=1.0), R("negative", effort=lambda f: -f)), 2000.0, samples=40.0
    ),
    "many samples in a step": lambda: of_program(
        problems.oscillator, [1.0, 0.0], [1.0, 0.1], [], 20.0, samples=0.1, max_step=20.0
    ),
    "doubts": lambda: of_graph(
        lambda: test_trust.loop(I("m", 1.0), C("k", stiffness=4.0, initial=1.0)), 50.0, atol=1e-2, rtol=1e-9, samples=0.5
    ),
}
for method in ("rodas5p", "dopri5"):
    CASES[f"bounces {method}"] = lambda method=method: of_graph(lambda: bouncing(3), 0.7, samples=0.01, method=method)
    CASES[f"clock {method}"] = lambda method=method: of_graph(
        lambda: test_ticks.pushed(test_ticks.proportional(0.013), start=1.0), 0.3, samples=0.005, method=method
    )
for method in METHODS:
    CASES[f"ball {method}"] = lambda method=method: of_program(
        problems.ball, [1.0, 0.0], [9.81, 0.8], [0.0], 2.0, samples=0.02, method=method
    )
    CASES[f"bumper {method}"] = lambda method=method: of_program(
        problems.bumper, [-1.0, 1.0], [50.0, 0.3], [0.0], 6.0, samples=0.05, method=method
    )
    CASES[f"clock {method}"] = lambda method=method: of_graph(
        lambda: test_ticks.pushed(test_ticks.proportional(0.013), start=1.0), 0.5, samples=0.005, method=method
    )


@functools.cache
def case_of(name: str) -> Callable[..., Result]:
    return CASES[name]()


def page(monkeypatch: pytest.MonkeyPatch, rows: int, result: Result) -> None:
    width = result.program.states + result.program.modes + result.program.described().power_names.__len__()
    monkeypatch.setattr(kept_runs, "PAGE", rows * max(width, 1))


def some(result: Result, most: int = 12) -> list[str]:
    layout = result.program.layout
    return [name for block in ("x", "m", "out") for name in layout.names(block)[:: max(1, len(layout.names(block)) // most)]]


def alike(kept: Result, plain: Result) -> None:
    assert str(kept.failure) == str(plain.failure) and kept.warnings == plain.warnings and kept.ok == plain.ok
    assert kept.events == plain.events
    np.testing.assert_array_equal(kept.t, plain.t)
    np.testing.assert_array_equal(kept.since, plain.since)
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(kept.ledger, name), getattr(plain.ledger, name), err_msg=name)
    assert kept.ledger.in_play == plain.ledger.in_play and kept.ledger.summary() == plain.ledger.summary()
    np.testing.assert_equal(dict(kept.final), dict(plain.final))
    free = dict.fromkeys(("wall_time", "integration_time"), 0.0)
    assert replace(kept.statistics, **free) == replace(plain.statistics, **free)


@pytest.mark.filterwarnings("ignore::bondgraph.UnreliableRunWarning", "ignore::bondgraph.RoundingWarning")
@pytest.mark.parametrize("case", CASES)
def test_kept_values_equal_the_full_run_for_any_page_size(case, monkeypatch):
    run = case_of(case)
    plain = run()
    names = some(plain)
    for rows in (1, 7, 10**6):
        page(monkeypatch, rows, plain)
        kept = run(keep=names)
        alike(kept, plain)
        for name in names:
            assert kept[name].tobytes() == plain[name].tobytes(), f"{name}, {rows} samples per page"


def test_the_cases_cover_their_features():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {case: case_of(case)() for case in CASES if "end" in case or case in ("doubts", "stiff", "rest", "dates")}
    kinds = {run.failure.kind for case, run in found.items() if run.failure}
    assert {"singular position", "not finite"} <= kinds
    assert found["doubts"].warnings and "rodas5p" in found["stiff"].statistics.method
    assert len(found["rest"].events) > 5 and found["dates"].t[0] == 1e6


def test_some_outputs_of_a_large_model_are_computed_alone(monkeypatch):
    monkeypatch.setattr(outputs, "MAX_EAGER_NUMBERS", 0)
    run = case_of("loops of kernels")
    plain = run()
    names = list(plain.program.layout.names("out"))[5::200]
    page(monkeypatch, 3, plain)
    kept, table = run(keep=names), plain.to_dataframe(names)
    for name in names:
        assert kept[name].tobytes() == table[name].to_numpy().tobytes()
    assert kept.to_dataframe().equals(table)


def test_memory_does_not_grow_with_the_count_of_samples(monkeypatch):
    sizes, turned = [], []
    original, flush = kept_runs._begun, SampleRows.flush

    def begun(program, settings, taking, bar):
        run = original(program, settings, taking, bar)
        sizes.append((taking, run))
        return run

    monkeypatch.setattr(kept_runs, "_begun", begun)
    monkeypatch.setattr(kept_runs, "PAGE", 3000)
    monkeypatch.setattr(SampleRows, "flush", lambda rows: turned.append(rows.pending) or flush(rows))
    found, pages = [], []
    for count in (2001, 20001, 40001):
        turned.clear()
        taken: list[int] = []
        of_program(problems.oscillator, [1.0, 0.0], [1.0, 0.1], [], 20.0, samples=np.linspace(0.0, 20.0, count))(
            keep="spring.q", sink=lambda t, values, taken=taken: taken.append(len(t))
        )
        taking, run = sizes[-1]
        assert sum(taken) == count
        pages.append(len(turned))
        rows, kept_rows = run.samples.rows.nbytes + run.samples.modes.nbytes, sum(len(part[0]) for part in taking._kept)
        found.append((rows, kept_rows, taking.account._rows.nbytes <= 8 * 8 * (energy_account.MAX_SAMPLES + 2)))
    assert found == [found[0]] * 3 and found[0][0] <= 8 * 3000 and found[0][2]
    assert pages[0] < pages[1] < pages[2]


def test_a_long_account_keeps_the_largest_residual(monkeypatch):
    run = case_of("doubts")
    with pytest.warns(UnreliableRunWarning):
        plain = run()
    monkeypatch.setattr(energy_account, "MAX_SAMPLES", 10)
    page(monkeypatch, 7, plain)
    with pytest.warns(UnreliableRunWarning):
        kept = run(keep="k.q")
    assert len(kept.ledger.t) <= 12 < len(plain.ledger.t) and len(kept.t) == len(plain.t)
    assert kept.ledger.relative_residual == plain.ledger.relative_residual
    assert kept.ledger.summary() == plain.ledger.summary()
    (mine,), (other,) = kept.warnings, plain.warnings
    assert (mine.residual, mine.expected, mine.suspect) == (other.residual, other.expected, other.suspect)


def test_a_doubt_without_elements_is_led_to_them():
    run = of_graph(lambda: test_trust.loop(Se("u", 1.0), I("m", 1.0), R("r", 1.0)), 5.0)()
    wrong = replace(run.account(), residual=run.account().residual + 0.1, elements={})
    (doubt,) = validity_concerns(run, wrong, 1e-9)
    assert doubt.suspect in ("u", "m", "r")


def test_lost_solutions_are_found_bit_by_bit():
    compiled = compile_model(loop(), progress=False)
    run = compiled.simulate(1.0, samples=0.05, progress=False)
    (own,), bound = compiled.program.loops, Bound(compiled.program, run.p)
    grown = run.x.copy()
    for k in range(15, len(grown)):
        grown[k, compiled.program.layout["c.q"].start] = -3e4
        grown[k], unsolved = bound.consistent(float(run.t[k]), grown[k], run.m[k])
        assert unsolved is None
    lost = {"as it is": [], "grown": []}
    for size in np.geomspace(0.01, 100.0, 13):
        for case, states in (("as it is", run.x), ("grown", grown)):
            x = states.copy()
            x[4, list(own.states)] += size
            whole = find_lost_solution(compiled.program, run.t, run.p, x, run.m, run.integrals, 1e-7)
            lost[case].append(whole is not None)
            for step in (1, 2, 7):
                search = SolutionCheck(compiled.program, run.p, 1e-7)
                for k in range(0, len(x), step):
                    part = slice(k, k + step)
                    energies = energies_at(compiled.program, run.t[part], run.p, x[part], run.m[part])
                    search.see(run.t[part], x[part], run.m[part], run.integrals[part], energies)
                found = search.result()
                assert (found is None) == (whole is None)
                if found is not None and whole is not None:
                    assert (found.sample, found.kind, found.suspect) == (whole.sample, whole.kind, whole.suspect)
                    assert found.sample == 4
                    np.testing.assert_array_equal(found.x, whole.x)
    assert 0 < sum(lost["grown"]) < sum(lost["as it is"]) < 13


# --- results that keep some names -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bumper():
    return of_program(problems.bumper, [-1.0, 1.0], [50.0, 0.3], [0.0], 6.0, samples=0.05)


def test_a_result_offers_only_kept_quantities(bumper):
    plain, kept = bumper(), bumper(keep=["mass.x", "wall.mode"])
    assert isinstance(kept, KeptResult) and kept.names() == ("mass.x", "wall.mode") and "mass.v" not in kept
    assert kept.peak("mass.x") == plain.peak("mass.x")
    np.testing.assert_array_equal(kept.at_events("mass.v"), plain.at_events("mass.v"))
    for asked in (
        lambda: kept["mass.v"],
        lambda: kept.x[0],
        lambda: len(kept.m),
        lambda: np.asarray(kept.integrals),
        lambda: kept.x.T,
    ):
        with pytest.raises(RunError, match=r"(?s)E347.*not kept.*mass\.x.*keep=") as caught:
            asked()
        assert ("its name in keep=" in str(caught.value)) == ('"mass.v"' in str(caught.value))
    with pytest.raises(KeyError, match="mass"):
        kept["mass.y"]
    assert "mass.x" in kept._repr_html_() and "mass.v" not in kept._repr_html_()


def test_components_parameters_and_tables():
    run = case_of("eggs")
    plain = run()
    name = next(name for name in plain.program.layout.names("x") if plain.program.layout[name].shape)
    whole, part = run(keep=name), run(keep=[f"{name}[2]"])
    np.testing.assert_array_equal(whole[f"{name}[2]"], plain[f"{name}[2]"])
    np.testing.assert_array_equal(part[f"{name}[2]"], plain[f"{name}[2]"])
    with pytest.raises(RunError, match="E347"):
        part[name]
    parameter = plain.program.layout.names("p")[0]
    np.testing.assert_array_equal(part[parameter], plain[parameter])
    assert whole.to_dataframe().equals(plain.to_dataframe([name]))
    assert part.to_xarray([f"{name}[2]"]).equals(plain.to_xarray([f"{name}[2]"]))
    assert list(whole.to_dataframe()) == [f"{name}[{k}]" for k in range(plain.program.layout[name].size)]


def test_plots_and_pickles(bumper):
    kept = bumper(keep=["mass.x", "wall.mode"])
    assert len(kept.plot()) == 2
    assert bumper(keep=np.array(["mass.x", "wall.mode"])).names() == kept.names()
    sent = pickle.loads(pickle.dumps(kept))  # noqa: S301 - our own
    np.testing.assert_array_equal(sent["mass.x"], kept["mass.x"])
    assert sent.ledger.summary() == kept.ledger.summary() and sent.final == kept.final and sent.events == kept.events
    with pytest.raises(RunError, match="E347"):
        sent["mass.v"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"keep": "mass.y"}, r'E346.*"mass\.y".*mass\.x'),
        ({"keep": []}, "E346.*it is empty"),
        ({"keep": 3}, "E346.*3 is not a name"),
        ({"keep": ["mass.x", 3]}, "E346.*3 is not a name"),
        ({"sink": "run.csv"}, "E348.*no quantities for the sink"),
        ({"keep": "mass.x", "sink": 3}, r"E348.*int is not a sink.*run\.parquet"),
    ],
    ids=str,
)
def test_unavailable_quantities_cannot_be_kept(bumper, given, said):
    with pytest.raises(RunError, match=f"(?s){said}"):
        bumper(**given)


def test_parameters_need_not_be_kept():
    run = of_graph(lambda: test_trust.loop(I("m", 1.0), C("k", stiffness=4.0, initial=1.0)), 1.0)
    with pytest.raises(RunError, match=r'(?s)E346.*"k\.stiffness" is a parameter.*"nothing"'):
        run(keep=["k.stiffness", "nothing"])


def test_strict_runs_and_warnings_are_those_of_plain_runs():
    run = case_of("doubts")
    with pytest.raises(RunError, match=r"(?s)E323.*cannot be trusted"):
        run(keep="k.q", strict=True)
    with pytest.warns(RunEndedWarning, match="ended at t"):
        assert not case_of("end at a pole")(keep="m.p").ok


def test_threads_share_a_prepared_run(monkeypatch):
    monkeypatch.setattr(kept_runs, "PAGE", 50)
    compiled = compile_model(bouncing(2), progress=False)
    run = compiled.prepare_run(0.5, samples=0.01, progress=False, keep=["m0.p", "m1.flow"])
    starts = [0.1, 0.2, 0.3, 0.4]
    alone = [run(initial={"h0.q": start}) for start in starts]
    found: dict[int, Result] = {}
    crew = [threading.Thread(target=lambda k=k: found.update({k: run(initial={"h0.q": starts[k]})})) for k in range(4)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    for k, one in enumerate(alone):
        plain = compiled.simulate(0.5, samples=0.01, progress=False, initial={"h0.q": starts[k]})
        for name in ("m0.p", "m1.flow"):
            assert found[k][name].tobytes() == one[name].tobytes() == plain[name].tobytes()


def test_runs_that_keep_other_names_share_nothing_with_each_other():
    compiled, settings = compile_model(bouncing(2), progress=False), {"samples": 0.1, "progress": False}
    plain = compiled.simulate(0.5, **settings)
    runs = [plain]
    for names in (["m0.p"], ["m1.flow"], ["m0.p", "m1.flow"]):
        kept = compiled.simulate(0.5, keep=names, **settings)
        assert isinstance(kept, KeptResult) and set(names) == set(kept.slots)
        for name in names:
            assert kept[name].tobytes() == plain[name].tobytes()
        runs.append(kept)
    for one, other in itertools.combinations(runs, 2):
        assert not np.shares_memory(one.t, other.t) and not np.shares_memory(one.since, other.since)
    for _ in range(2):
        taken, others = list[np.ndarray](), list[np.ndarray]()
        for into in (taken, others):
            compiled.simulate(0.5, keep="m0.p", sink=lambda t, values, into=into: into.append(values["m0.p"]), **settings)
        assert np.concatenate(taken).tobytes() == np.concatenate(others).tobytes() == plain["m0.p"].tobytes()
    again = compiled.simulate(0.5, **settings)
    assert not isinstance(again, KeptResult) and again.x.tobytes() == plain.x.tobytes() and again.t.tobytes() == plain.t.tobytes()
    keys = [setting_key(0.5, KeepOptions(keep), settings) for keep in (None, "m0.p", ["m0.p"], ("m0.p",), ["m0.p", "m1.flow"])]
    assert len(set(keys)) == len(keys) and None not in keys
    assert setting_key(0.5, KeepOptions("m0.p", "run.csv"), settings) is setting_key(0.5, KeepOptions({"m0.p"}), settings) is None
