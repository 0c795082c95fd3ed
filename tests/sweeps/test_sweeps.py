"""Sweeps: each run as `simulate` gives it, each once, whoever runs it and however often it was interrupted."""

from __future__ import annotations

import multiprocessing
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas
import pytest

from bondgraph import J1, Automaton, C, Graph, I, ModelError, R, RunError, Se, Transition, compile_model
from bondgraph.errors import FileError
from bondgraph.sweeps import driving, events, integral, last, load_runs, mean, normal, peak, sweep, uniform
from bondgraph.sweeps.sending import SentModel
from bondgraph.sweeps.store import Store, distinct
from tests.sweeps import mpi_sweep
from tests.sweeps.oscillators import extremes, oscillator, relaxed

DRAWN = {"spring.stiffness": normal(50.0, 10.0), "damper.resistance": normal(3.0, 2.0), "spring.q": uniform(-0.1, 0.1)}
KEPT = {"q": last("spring.q"), "top": peak("spring.q"), "ends": extremes, "course": "spring.q"}


@pytest.fixture(scope="module")
def compiled():
    return compile_model(oscillator())


def drawn(model, runs=40, **more):
    return sweep(model, DRAWN, 1.0, keep=KEPT, runs=runs, seed=2, **{"samples": 0.25, "progress": False, **more})


@pytest.fixture(scope="module")
def reference(compiled):
    """In memory, by threads."""
    return drawn(compiled)


def content(runs):
    """Everything that runs hold, to the last bit."""
    return {name: runs[name].tobytes() for name in ("run", *runs.names())}, runs.failures, runs.doubts


# --- runs ------------------------------------------------------------------------------------------------------------


def test_a_run_is_what_simulate_gives(compiled, reference):
    failed = {fault.run: fault for fault in reference.failures}
    assert 0 < len(failed) < 10 and reference.complete and len(reference) == 40
    for run in reference:
        if run.run in failed:
            assert run.failure == failed[run.run] and run.failure.time is None
            assert all(np.isnan(value).all() for value in run.values.values()), run
            with pytest.raises(ModelError, match="E119"):
                compiled.simulate(1.0, parameters=run.parameters, initial=run.initial)
            continue
        result = compiled.simulate(1.0, parameters=run.parameters, initial=run.initial, samples=0.25, progress=False)
        assert run.values["q"] == result["spring.q"][-1] and run.values["top"] == result.peak("spring.q")[1]
        np.testing.assert_array_equal(run.values["ends"], extremes(result))
        np.testing.assert_array_equal(run.values["course"], result["spring.q"])


def test_runs_in_one_call_of_machine_code_are_runs_alone(compiled):
    """A function of the user's needs a result of each; without one all go together."""
    measures = {"q": last("spring.q"), "top": peak("spring.q"), "mean": mean("mass.flow"), "way": integral("mass.flow")}
    measures |= {"course": "damper.effort", "count": events(), "speed": last("mass.flow")}
    asked = {"runs": 30, "seed": 2, "samples": 0.02, "progress": False}
    together = sweep(compiled, DRAWN, 1.0, keep=measures, **asked)
    alone = sweep(compiled, DRAWN, 1.0, keep={**measures, "own": extremes}, **asked)
    assert together.failures == alone.failures != ()
    for name in measures:
        assert together[name].tobytes() == alone[name].tobytes(), name


def test_a_run_that_fails_keeps_its_reason(reference):
    fault = reference.failures[0]
    assert fault.kind == "E119" and 'R "damper": resistance must be positive' in fault.reason
    assert reference["damper.resistance"][fault.run] < 0.0
    table = reference.to_dataframe()
    assert table["failure"][fault.run].startswith("E119: R") and (table["failure"] == "").sum() == 40 - len(reference.failures)


def ended() -> Graph:
    """A mass that flies off, until a rope of 1 m is tight; of its switch the end of the run is a part."""
    graph, v = Graph("rope"), J1("v", domain="translation")
    graph.connect(v, I("mass", 1.0)).connect(v, C("rope", stiffness=1e-3)).connect(v, R("air", 0.1))
    broken = Transition("whole", "whole", lambda q: q - 1.0, ("rope.q",), kind="breaks", error="the rope broke")
    return graph.add_automaton(Automaton("rope state", ("whole",), "whole", (broken,)))


def test_failures_and_doubts_of_runs_are_kept_without_a_warning(recwarn):
    runs = sweep(ended(), {"mass.p": [0.1, 3.0]}, 2.0, keep={"q": last("rope.q")}, progress=False)
    (fault,) = runs.failures
    assert (fault.run, fault.kind) == (1, "ended") and "the rope broke" in fault.reason and 0.3 < fault.time < 0.4
    assert np.isfinite(runs["q"]).tolist() == [True, False]
    graph, v = Graph("free"), J1("v", domain="translation")
    graph.connect(v, I("mass", 1.0)).connect(v, C("spring", stiffness=4.0))
    loose = {"atol": 1e-2, "rtol": 1e-9, "progress": False}
    doubtful = sweep(graph, {"spring.q": [1.0]}, 50.0, keep={"q": last("spring.q")}, **loose)
    (doubt,) = doubtful.doubts
    assert doubt.run == 0 and "energy account" in doubt.reason and doubt.suspect in ("mass", "spring")
    assert np.isfinite(doubtful["q"]).all() and "1 in doubt" in repr(doubtful)
    assert not recwarn.list, [str(w.message) for w in recwarn.list]


def test_columns_tables_and_data_sets(compiled):
    given = {"spring.stiffness": [20.0, 50.0, 80.0], "damper.resistance": [1.0, 5.0], "mass.inertia": 2.0}
    runs = sweep(compiled, given, 1.0, keep=KEPT, samples=0.5, progress=False)
    assert repr(runs) == 'Runs("oscillator", 6 runs: q, top, ends, course)' and runs.names() == (*given, *KEPT)
    data = runs.to_xarray()
    assert data["q"].dims == ("spring.stiffness", "damper.resistance") and data["q"].attrs == {"units": "m"}
    assert data["course"].dims == ("spring.stiffness", "damper.resistance", "t") and data["t"].values.tolist() == [0.0, 0.5, 1.0]
    at = data.sel({"spring.stiffness": 50.0, "damper.resistance": 5.0})
    assert float(at["q"]) == runs["q"][3]
    np.testing.assert_array_equal(at["course"], runs["course"][3])
    table = runs.to_dataframe()
    assert list(table.columns[:4]) == [*given, "q"] and "course[2]" in table and table.index.name == "run"
    np.testing.assert_array_equal(table["ends[1]"], runs["ends"][:, 1])
    assert "spring.stiffness" in runs._repr_html_() and "failures" not in runs._repr_html_()
    with pytest.raises(KeyError, match='did you mean "top"'):
        runs["topp"]
    assert "q" in runs and "run" in runs and "p" not in runs


def test_the_cell_of_a_notebook_lists_failures(reference):
    text = reference._repr_html_()
    assert f"failures ({len(reference.failures)})" in text and "resistance must be positive" in text and "5" in text


def test_names_that_differ_by_the_size_of_letters_are_columns_of_their_own():
    graph, v = Graph("g"), J1("v")
    graph.connect(v, I("m", 1.0)).connect(v, R("M", 1.0)).connect(v, C("c", stiffness=1.0, initial=1.0))
    runs = sweep(graph, [{"m.inertia": 2.0}], 1.0, keep={"x": last("c.q"), "X": peak("c.q")}, progress=False)
    assert runs["X"] == 1.0 and runs["x"] < 1.0
    assert distinct(["a", "A", "run", "a (2)"]) == {"a": "a", "A": "A (2)", "run": "run (2)", "a (2)": "a (2) (2)"}


# --- stores ----------------------------------------------------------------------------------------------------------


def test_a_store_is_gone_on_with_and_nothing_runs_twice(compiled, reference, tmp_path, monkeypatch):
    met = []
    counted = {**KEPT, "ends": lambda run: met.append(1) or extremes(run)}

    def go():
        return sweep(compiled, DRAWN, 1.0, keep=counted, runs=40, seed=2, samples=0.25, store=tmp_path / "a.db", progress=False)

    add, calls = Store.add, []

    def interrupted(self, *given):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        add(self, *given)

    monkeypatch.setattr(driving, "CHUNK", 0.0)  # each chunk is one run
    monkeypatch.setattr(Store, "add", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        go()
    part = load_runs(tmp_path / "a.db")
    assert 3 <= len(part) < 40 and not part.complete and f"{len(part)} of 40 runs" in repr(part)
    assert re.search(rf"{len(part)} of 40 runs are stored in .*a\.db: the same call goes on", caught.value.__notes__[0])
    monkeypatch.undo()
    before, done = len(met), set(part["run"])
    whole = go()
    assert len(met) - before == 40 - len(done) - sum(fault.run not in done for fault in whole.failures)
    assert content(whole) == content(reference)
    assert content(go()) == content(load_runs(tmp_path / "a.db")) == content(reference)
    assert len(met) - before <= 40


def test_an_interrupt_without_a_store_says_what_is_lost(compiled, monkeypatch):
    monkeypatch.setattr(Store, "add", lambda *given: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt) as caught:
        drawn(compiled)
    assert 'with store="runs.db"' in caught.value.__notes__[0]


def test_a_store_is_an_ordinary_database(compiled, reference, tmp_path):
    path = tmp_path / "runs.db"
    drawn(compiled, store=path)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["runs.db"]
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    rows = connection.execute('SELECT run, "spring.stiffness", q FROM runs ORDER BY run').fetchall()
    assert [row[0] for row in rows] == list(range(40))
    assert [row[1] for row in rows] == reference["spring.stiffness"].tolist()
    np.testing.assert_array_equal(np.array([np.nan if row[2] is None else row[2] for row in rows]), reference["q"])
    connection.close()


CHANGES = {
    "another end": ({"t_end": 2.0}, r"t_end: 1\.0, not 2\.0"),
    "another setting": ({"rtol": 1e-6}, 'setting "rtol"'),
    "another seed": ({"seed": 1}, 'values of "spring.stiffness": not the same'),
    "fewer runs": ({"runs": 39}, "count of runs: 40, not 39"),
    "more runs of another seed": ({"runs": 41, "seed": 1}, "count of runs: 40, not 41"),
    "other values kept": ({"keep": {"q": peak("spring.q")}}, "kept as \"q\": last\\('spring.q'\\), not peak"),
    "another model": ({"model": lambda: oscillator().connect(J1("other"), I("more", 1.0)) and changed()}, "model: not the same"),
}


def changed():
    graph, velocity = Graph("oscillator"), J1("velocity", domain="translation")
    graph.connect(velocity, I("mass", inertia=2.0)).connect(velocity, R("damper", resistance=5.0))
    return graph.connect(
        velocity, C("spring", energy=lambda q, stiffness: 0.5 * stiffness * q**2 + q**4, parameters={"stiffness": 50.0})
    )


@pytest.fixture(scope="module")
def stored(compiled, tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "runs.db"
    drawn(compiled, store=path)
    return path


@pytest.mark.parametrize("change", CHANGES)
def test_a_store_of_another_plan_is_refused_and_stays_as_it_was(compiled, stored, reference, change):
    given, words = CHANGES[change]
    asked = {"model": compiled, "t_end": 1.0, "keep": KEPT, "runs": 40, "seed": 2, "samples": 0.25, **given}
    with pytest.raises(ModelError, match=f"(?s)E363.*{words}"):
        sweep(asked.pop("model"), DRAWN, asked.pop("t_end"), store=stored, progress=False, **asked)
    assert content(load_runs(stored)) == content(reference)


def test_the_order_of_names_is_no_other_plan(compiled, stored, reference):
    turned = [dict(reversed(each.items())) for each in (DRAWN, KEPT)]
    runs = sweep(compiled, turned[0], 1.0, keep=turned[1], runs=40, seed=2, samples=0.25, store=stored, progress=False)
    assert content(runs) == content(reference)


def listed(count: int) -> list[dict[str, float]]:
    return [{"spring.stiffness": 20.0 + k, "spring.q": 0.01 * k} for k in range(count)]


LONGER = {
    "draws": lambda n: (DRAWN, 3 * n),
    "a list": lambda n: (listed(3 * n), None),
    "a table": lambda n: (pandas.DataFrame(listed(3 * n)), None),
    "the first of several": lambda n: ({"spring.stiffness": 20.0 + np.arange(n), "damper.resistance": [1.0, 2.0, -1.0]}, None),
    "draws for each value": lambda n: ({"spring.stiffness": 20.0 + np.arange(n), "damper.resistance": normal(3.0, 2.0)}, 3),
}


@pytest.mark.parametrize("kind", LONGER)
def test_a_longer_plan_goes_on_with_the_store_of_a_shorter_one(compiled, tmp_path, kind):
    """Nothing runs twice, and the bytes are those of a sweep that was as long from the start."""
    met = []
    keep = {"q": last("spring.q"), "ends": lambda run: met.append(1) or extremes(run)}

    def go(length, **more):
        points, runs = LONGER[kind](length)
        return sweep(compiled, points, 1.0, keep=keep, runs=runs, samples=0.25, progress=False, **more)

    go(2, store=tmp_path / "a.db")
    met.clear()
    longer = go(5, store=tmp_path / "a.db")
    assert longer.count == len(longer) == 15 and len(met) == 9 - sum(fault.run >= 6 for fault in longer.failures)
    assert content(longer) == content(go(5))
    assert longer.to_xarray().equals(go(5).to_xarray())
    with pytest.raises(ModelError, match="E363"):
        go(4, store=tmp_path / "a.db")


def test_values_that_would_change_the_numbers_of_runs_are_another_plan(compiled, tmp_path):
    def go(stiffnesses, resistances, runs=None):
        given = {"spring.stiffness": stiffnesses, "damper.resistance": resistances}
        return sweep(compiled, given, 1.0, keep={"q": "spring.q"}, runs=runs, store=tmp_path / "a.db", progress=False)

    known = content(go([20.0, 30.0], [1.0, 2.0]))
    for other in ([20.0, 30.0], [1.0, 2.0, 3.0]), ([20.0, 31.0, 40.0], [1.0, 2.0]), ([10.0, 20.0, 30.0], [1.0, 2.0]):
        with pytest.raises(ModelError, match="E363"):
            go(*other)
    assert content(load_runs(tmp_path / "a.db")) == known


def test_of_two_that_lengthen_a_store_one_has_it(compiled, tmp_path, monkeypatch):
    """The other finds that it holds another plan by then."""
    path, lengthen = tmp_path / "a.db", Store._lengthen

    def go(*values):
        return sweep(compiled, {"spring.stiffness": values}, 1.0, keep={"q": "spring.q"}, store=path, progress=False)

    def overtaken(self, plan, header):
        monkeypatch.undo()
        go(20.0, 30.0)
        lengthen(self, plan, header)

    go(20.0)
    monkeypatch.setattr(Store, "_lengthen", overtaken)
    with pytest.raises(ModelError, match="E363"):
        go(20.0, 31.0, 40.0)
    assert load_runs(path)["spring.stiffness"].tolist() == [20.0, 30.0]


@pytest.mark.parametrize("kind", ["text", "another database", "folder", "newer"])
def test_what_is_no_store_is_refused(compiled, tmp_path, kind):
    path = tmp_path / "runs.db"
    if kind == "text":
        path.write_text("this is no database, and long enough to be seen as none" * 20)
    elif kind == "folder":
        path.mkdir()
    else:
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value)" if kind == "newer" else "CREATE TABLE birds (name)")
        if kind == "newer":
            connection.executemany("INSERT INTO meta VALUES (?, ?)", [("format", "screwbond-runs"), ("version", 99)])
        connection.commit()
        connection.close()
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(FileError, match="E364"):
        drawn(compiled, store=path)
    with pytest.raises(FileError, match="E364"):
        load_runs(path)
    assert (path.read_bytes() if path.is_file() else b"") == before


DAMAGES = {
    "a header that is no JSON": "UPDATE meta SET value='{' WHERE key='header'",
    "a header that is none": "UPDATE meta SET value='[]' WHERE key='header'",
    "no header": "DELETE FROM meta WHERE key='header'",
    "no shapes": "DELETE FROM meta WHERE key='shapes'",
    "another column": "ALTER TABLE runs RENAME COLUMN q TO p",
    "no table of runs": "DROP TABLE runs",
}
DAMAGED_ENTRIES = {
    "part of a course": "UPDATE runs SET course=x'0011' WHERE run=3",
    "a word in the place of a number": "UPDATE runs SET q='abc' WHERE run=3",
}


@pytest.mark.parametrize("damage", [*DAMAGES, *DAMAGED_ENTRIES])
def test_a_damaged_store_is_refused(compiled, stored, tmp_path, damage):
    path = Path(shutil.copy(stored, tmp_path / "runs.db"))
    connection = sqlite3.connect(path)
    connection.execute({**DAMAGES, **DAMAGED_ENTRIES}[damage])
    connection.commit()
    connection.close()
    if damage in DAMAGES:
        with pytest.raises(FileError, match=r"(?s)E364.*runs\.db"):
            drawn(compiled, store=path)
    for read in (lambda runs: [runs[name] for name in runs.names()], list, lambda runs: runs.table()):
        with pytest.raises(FileError, match=r"(?s)E364.*runs\.db"):
            read(load_runs(path))


def test_a_name_that_no_file_has_makes_no_file_of_another(compiled, tmp_path):
    with pytest.raises(FileError, match="E364"):
        drawn(compiled, store=tmp_path / "runs\0.db")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("given", [5, 2.5, True, b"runs.db", ["runs.db"], object()])
def test_what_is_no_path_is_no_store(compiled, tmp_path, monkeypatch, given):
    monkeypatch.chdir(tmp_path)
    for ask in (lambda: drawn(compiled, store=given), lambda: load_runs(given)):
        with pytest.raises(FileError, match=r"E364.*is no path"):
            ask()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("setting", [{"rtol": -1.0}, {"atol": {"spring.q": 1e-9}}, {"samples": "often"}, {"method": "best"}])
def test_settings_that_no_run_can_have_leave_no_store(compiled, tmp_path, setting):
    with pytest.raises(RunError, match=r"E30\d|E31\d"):
        drawn(compiled, store=tmp_path / "runs.db", **setting)
    assert not list(tmp_path.iterdir())


def test_runs_are_found_wherever_the_process_has_gone(compiled, reference, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runs, loaded = drawn(compiled, store="runs.db"), load_runs("runs.db")
    monkeypatch.chdir("/")
    assert content(runs) == content(loaded) == content(reference)


def test_a_store_that_is_not_there_is_not_made_by_reading(tmp_path):
    with pytest.raises(FileError, match="E364"):
        load_runs(tmp_path / "none.db")
    assert not list(tmp_path.iterdir())


# --- executors -------------------------------------------------------------------------------------------------------


RELAXED = {"points": {"spring.stiffness": [20.0, 50.0]}, "keep": {"q": "spring.q"}, "samples": 0.5, "progress": False}


def test_threads_and_processes_give_equal_bytes(compiled, reference):
    """Not only values: also failures, and arrays of a function of the user's. A model goes there as data, or as a function."""
    with ThreadPoolExecutor(3) as threads:
        assert content(drawn(oscillator(), executor=threads)) == content(reference)
        known = sweep(relaxed(), t_end=1.0, executor=threads, **RELAXED)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as processes:
        assert driving.workers_of(processes) == 2
        assert content(drawn(compiled, executor=processes)) == content(reference)
        assert content(sweep(relaxed, t_end=1.0, executor=processes, **RELAXED)) == content(known)
        with pytest.raises(ModelError, match=r"(?s)E366 other processes cannot have this model.*functions give its start values"):
            sweep(relaxed(), t_end=1.0, executor=processes, **RELAXED)
        with pytest.raises(ModelError, match='E366 other processes cannot have the function of "own"'):
            sweep(compiled, DRAWN, 1.0, keep={"own": lambda run: 0.0}, runs=2, executor=processes, progress=False)


def test_a_cluster_of_dask_gives_equal_bytes(compiled, reference):
    distributed = pytest.importorskip("distributed", reason="distributed is not installed: a sweep on a cluster of Dask")
    cluster = {"n_workers": 1, "threads_per_worker": 2, "dashboard_address": None, "processes": True}
    with distributed.LocalCluster(**cluster) as local, distributed.Client(local) as client:
        executor = client.get_executor(pure=False)
        assert driving.workers_of(executor) == 2
        assert content(drawn(compiled, executor=executor)) == content(reference)


def test_workers_of_mpi_give_equal_bytes(tmp_path):
    """As the page on sweeps says it is typed."""
    pytest.importorskip("mpi4py", reason="mpi4py is not installed: a sweep on a cluster by MPI")
    mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if mpiexec is None:
        pytest.skip("there is no mpiexec: a sweep on a cluster by MPI")
    script = ["-n", "3", sys.executable, "-m", "mpi4py.futures", mpi_sweep.__file__, str(tmp_path / "runs.db")]
    as_it_is = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    as_it_is["PRTE_MCA_rmaps_default_mapping_policy"] = ":oversubscribe"  # what a machine of a cluster need not be told
    path = os.pathsep.join(filter(None, (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, **as_it_is, "PYTHONPATH": path}
    done = subprocess.run([mpiexec, *script], env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0 and "by 2 workers" in done.stdout, done.stderr
    assert content(load_runs(tmp_path / "runs.db")) == content(mpi_sweep.run(None))


def test_a_model_is_known_by_its_content_not_by_its_lines():
    """Of source code; a change of a formula that shows nowhere near the start is another model."""
    assert SentModel(oscillator().compile()).fingerprint == SentModel(elsewhere().compile()).fingerprint
    one, other = (SentModel(compile_model(bent(power), backend="numpy")).fingerprint for power in (4, 6))
    assert one != other


def elsewhere() -> Graph:
    graph, velocity = Graph("oscillator"), J1("velocity", domain="translation")
    graph.connect(Se("push", 1.0), velocity).connect(velocity, I("mass", inertia=2.0))
    return graph.connect(velocity, C("spring", stiffness=50.0)).connect(velocity, R("damper", resistance=5.0))


def bent(power: int) -> Graph:
    """At rest where its spring does not pull, whatever the power."""
    graph, velocity = Graph("bent"), J1("velocity", domain="translation")
    return graph.connect(velocity, I("mass", 1.0)).connect(velocity, C("spring", energy=lambda q: q**power))


class Broken(Executor):
    """Its workers die at the third task."""

    def __init__(self):
        self.sent = 0

    def submit(self, function, /, *given):
        self.sent += 1
        future = Future()
        if self.sent < 3:
            future.set_result(function(*given))
        else:
            future.set_exception(RuntimeError("killed by the system"))
        return future


def test_a_worker_that_dies_leaves_what_is_done(compiled, reference, tmp_path):
    with pytest.raises(RunError, match=r"(?s)E367.*RuntimeError: killed by the system.*the same call again"):
        drawn(compiled, executor=Broken(), store=tmp_path / "runs.db")
    assert 0 < len(load_runs(tmp_path / "runs.db")) < 40
    assert content(drawn(compiled, store=tmp_path / "runs.db")) == content(reference)


def test_an_executor_that_takes_nothing_is_said(compiled):
    ended = ThreadPoolExecutor(1)
    ended.shutdown()
    with pytest.raises(RunError, match=r"E367.*\n.*after shutdown"):
        drawn(compiled, executor=ended)


class Watched(ThreadPoolExecutor):
    """Counts chunks under way."""

    most, now, sizes = 0, 0, ()

    def submit(self, function, /, *given):
        self.now += 1
        self.most, self.sizes = max(self.most, self.now), (*self.sizes, len(given[2]))
        future = super().submit(function, *given)
        future.add_done_callback(lambda _: setattr(self, "now", self.now - 1))
        return future


def test_few_chunks_are_under_way_and_they_grow(compiled, reference):
    with Watched(2) as executor:
        assert content(drawn(compiled, executor=executor)) == content(reference)
    assert executor.most <= 4 and executor.sizes[0] == 1 and max(executor.sizes) > 1


def test_what_sweeps_of_a_model_share_is_made_once():
    """Settings that come anew with each chunk, as they do to other processes, are known by their content; others are not."""
    compiled = oscillator().compile()
    one, other = SentModel(compiled), SentModel(compiled)
    assert other.text is one.text and other.fingerprint is one.fingerprint
    settings = [{"samples": np.linspace(0.0, 1.0, count), "rtol": 1e-6} for count in (3, 3, 4)]
    runs = [sent.prepared(1.0, given).runs for sent, given in zip((one, one, one), settings, strict=True)]
    assert runs[0] is runs[1] and runs[2] is not runs[1] and len(runs[2].wanted[0]) == 4
    assert other.prepared(1.0, settings[2]).runs is runs[2]
    assert SentModel(oscillator().compile()).text is not one.text
