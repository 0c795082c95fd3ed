"""Threads, processes and clusters execute the runs of a sweep with equal results, and failures of executors are reported."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import subprocess
import sys
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bondgraph import J1, C, Graph, I, ModelError, R, RunError, Se, compile_model
from bondgraph.methods import METHODS
from bondgraph.sweeps import load_runs, sweep
from tests.inner.run import TABLEAU, explicit_method
from tests.inner.sweeps import Chunk, SentModel, interface
from tests.sweeps import mpi_sweep
from tests.sweeps.drawn import DRAWN, content, drawn
from tests.sweeps.oscillators import oscillator, relaxed

RELAXED = {"points": {"spring.stiffness": [20.0, 50.0]}, "keep": {"q": "spring.q"}, "samples": 0.5, "progress": False}


def test_threads_and_processes_give_equal_bytes(compiled, reference):
    with ThreadPoolExecutor(3) as threads:
        assert content(drawn(oscillator(), executor=threads)) == content(reference)
        known = sweep(relaxed(), t_end=1.0, executor=threads, **RELAXED)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as processes:
        assert interface.workers_of(processes) == 2
        assert content(drawn(compiled, executor=processes)) == content(reference)
        assert content(sweep(relaxed, t_end=1.0, executor=processes, **RELAXED)) == content(known)
        with pytest.raises(
            ModelError, match=r"(?s)E366 this model cannot be sent to other processes.*functions compute its start values"
        ):
            sweep(relaxed(), t_end=1.0, executor=processes, **RELAXED)
        with pytest.raises(ModelError, match='E366 the function of "own" cannot be sent to other processes'):
            sweep(compiled, DRAWN, 1.0, keep={"own": lambda run: 0.0}, runs=2, executor=processes, progress=False)
        own = replace(METHODS["dopri5"], name="own", load=lambda: METHODS["dopri5"].load())
        with pytest.raises(ModelError, match='E366 the method "own" cannot be sent to other processes'):
            sweep(compiled, t_end=1.0, method=own, executor=processes, **RELAXED)
        named = explicit_method(TABLEAU, 5, 4, "a method", "a test")
        here, there = (sweep(compiled, t_end=1.0, method=named, executor=to, **RELAXED) for to in (None, processes))
        assert content(there) == content(here)


@pytest.mark.thorough
def test_a_cluster_of_dask_gives_equal_bytes(compiled, reference):
    distributed = pytest.importorskip("distributed", reason="distributed is not installed: sweeps by Dask are not tested")
    cluster = {"n_workers": 1, "threads_per_worker": 2, "dashboard_address": None, "processes": True}
    with distributed.LocalCluster(**cluster) as local, distributed.Client(local) as client:
        executor = client.get_executor(pure=False)
        assert interface.workers_of(executor) == 2
        assert content(drawn(compiled, executor=executor)) == content(reference)


@pytest.mark.thorough
def test_workers_of_mpi_give_equal_bytes(tmp_path):
    pytest.importorskip("mpi4py", reason="mpi4py is not installed: sweeps by MPI are not tested")
    mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if mpiexec is None:
        pytest.skip("mpiexec is not installed: sweeps by MPI are not tested")
    script = ["-n", "3", sys.executable, "-m", "mpi4py.futures", mpi_sweep.__file__, str(tmp_path / "runs.db")]
    as_it_is = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    as_it_is["PRTE_MCA_rmaps_default_mapping_policy"] = ":oversubscribe"  # a real cluster needs none of these settings
    path = os.pathsep.join(filter(None, (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, **as_it_is, "PYTHONPATH": path}
    done = subprocess.run([mpiexec, *script], env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0 and "by 2 workers" in done.stdout, done.stderr
    assert content(load_runs(tmp_path / "runs.db")) == content(mpi_sweep.run(None))


def test_a_model_is_known_by_its_content_not_by_its_lines():
    """A changed formula makes another model, even if the change has no effect near the start."""
    assert SentModel(oscillator().compile()).fingerprint == SentModel(elsewhere().compile()).fingerprint
    one, other = (SentModel(compile_model(bent(power), backend="numpy")).fingerprint for power in (4, 6))
    assert one != other


def elsewhere() -> Graph:
    graph, velocity = Graph("oscillator"), J1("velocity", domain="translation")
    graph.connect(Se("push", 1.0), velocity).connect(velocity, I("mass", inertia=2.0))
    return graph.connect(velocity, C("spring", stiffness=50.0)).connect(velocity, R("damper", resistance=5.0))


def bent(power: int) -> Graph:
    """Return a mass on a spring with the energy q^power, whose force is zero at the start."""
    graph, velocity = Graph("bent"), J1("velocity", domain="translation")
    return graph.connect(velocity, I("mass", 1.0)).connect(velocity, C("spring", energy=lambda q: q**power))


class Broken(Executor):
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


def test_a_dead_worker_leaves_finished_runs(compiled, reference, tmp_path):
    with pytest.raises(RunError, match=r"(?s)E367.*RuntimeError: killed by the system.*the same call again"):
        drawn(compiled, executor=Broken(), store=tmp_path / "runs.db")
    assert 0 < len(load_runs(tmp_path / "runs.db")) < 40
    assert content(drawn(compiled, store=tmp_path / "runs.db")) == content(reference)


def test_an_executor_that_refuses_work_is_reported(compiled):
    ended = ThreadPoolExecutor(1)
    ended.shutdown()
    with pytest.raises(RunError, match=r"E367.*\n.*after shutdown"):
        drawn(compiled, executor=ended)
    for none in (3, ThreadPoolExecutor):
        with pytest.raises(RunError, match=r"E367.*does not accept tasks"):
            drawn(compiled, executor=none)


class Watched(ThreadPoolExecutor):
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


def test_sweeps_of_a_model_share_compiled_code():
    compiled = oscillator().compile()
    one, other = SentModel(compiled), SentModel(compiled)
    assert other.text is one.text and other.fingerprint is one.fingerprint
    settings = [{"samples": np.linspace(0.0, 1.0, count), "rtol": 1e-6} for count in (3, 3, 4)]
    runs = [sent.prepared(1.0, given).program for sent, given in zip((one, one, one), settings, strict=True)]
    assert runs[0] is runs[1] and runs[2] is not runs[1] and len(runs[2].requested_times[0]) == 4
    assert other.prepared(1.0, settings[2]).program is runs[2]
    assert SentModel(oscillator().compile()).text is not one.text


class Timed(Executor):
    num_workers = 4

    def __init__(self, wait=0.0):
        self.wait, self.pending, self.most, self.sizes = wait, 0, 0, []

    def submit(self, runs, /):
        future, self.pending = Future(), self.pending + 1
        self.most = max(self.most, self.pending)
        self.sizes.append(len(runs))
        threading.Timer(self.wait, self.end, (future, runs)).start()
        return future

    def end(self, future, runs):
        self.pending -= 1
        future.set_result(Chunk(runs, {}, (), (), 1e-3 * len(runs)))

    def run(self, count):
        runs = []
        interface.run_chunks(self, np.arange(count), type(self).submit, lambda chunk: runs.extend(chunk.runs.tolist()))
        assert sorted(runs) == list(range(count))
        return self


def test_workers_share_the_last_runs_in_chunks_that_are_worth_sending():
    """A chunk of 0.2 s would have 200 runs, more than a sixteenth of the remaining runs."""
    sizes = Timed().run(600).sizes
    assert sizes[0] == 1 and 16 < max(sizes) <= 600 // 16
    assert all(size >= 8 for size in sizes[sizes.index(max(sizes)) : -1])


def test_all_workers_are_at_work_while_the_first_runs_are_slow():
    assert Timed(0.1).run(12).most == 8
