"""Check sweeps that are killed: each run is stored once, and equals the same run of an undisturbed sweep.

A process sweeps a motor by Monte Carlo and is killed with all its workers (SIGKILL) after a random number of runs, repeatedly,
until all runs are complete: `python -m campaigns.sweeps --count 20000 --kills 20 --seed 1`. The system must have SIGKILL.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import NoReturn, TypeVar

import numpy as np

from bondgraph import GY, J1, Graph, I, R, Se
from bondgraph.errors import FileError
from bondgraph.sweeps import last, load_runs, normal, peak, sweep
from screws.errors import plural

T = TypeVar("T")
ROOT = Path(__file__).parents[1]
EXECUTORS = ("threads", "processes")
LONGEST_WAIT = 600.0
"""Wall time (s) without a new run after which a sweep counts as a hang."""


def motor() -> Graph:
    """Return a motor that is switched on; the resistance drawn for the winding is invalid in about one run of twenty."""
    graph, winding, rotor = Graph("motor"), J1("winding loop", domain="electrical"), J1("rotor speed", domain="rotation")
    graph.connect(Se("supply", 12.0), winding).connect(winding, R("winding", 1.0)).connect(winding, I("coil", inductance=0.01))
    armature = GY("armature", 0.1)
    graph.connect(winding, armature).connect(armature, rotor)
    return graph.connect(rotor, I("rotor", 1e-3)).connect(rotor, R("bearing", 1e-4))


def run(store: Path, count: int, executor: str, held: int | None = None) -> None:
    """Run a sweep or its remaining runs; chunks that begin at run `held` or later wait to be killed."""
    drawn = {"winding.resistance": normal(1.0, 0.6), "rotor.inertia": normal(1e-3, 1e-4)}
    keep = {"speed": last("rotor.flow"), "current": peak("coil.flow"), "course": "rotor.flow"}
    with _executor(executor, held) as chosen:
        sweep(motor, drawn, 0.1, keep=keep, runs=count, seed=7, samples=0.02, store=store, executor=chosen, progress=False)


@dataclass(frozen=True)
class Held:
    """Executor whose tasks wait from run `first` on, so that a sweep, however fast, does not end before it is killed."""

    executor: Executor
    num_workers: int
    first: int

    def submit(self, task: Callable[..., T], model: object, asked: object, runs: np.ndarray, points: object) -> Future[T]:
        return self.executor.submit(waiting if runs[0] >= self.first else task, model, asked, runs, points)


def waiting(*_: object) -> NoReturn:
    while True:
        time.sleep(LONGEST_WAIT)


@contextlib.contextmanager
def _executor(name: str, held: int | None) -> Iterator[Executor | Held | None]:
    if name == "threads" and held is None:
        yield None
        return
    workers = 2
    chosen = ThreadPoolExecutor(workers) if name == "threads" else ProcessPoolExecutor(workers, get_context("spawn"))
    with chosen:
        yield chosen if held is None else Held(chosen, workers, held)


def start_sweep(store: Path, count: int, executor: str, held: int | None = None) -> subprocess.Popen[bytes]:
    """Start a sweep as the leader of a process group, which its child processes join."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-m", "campaigns.sweeps", "--store", str(store), "--count", str(count), "--executor", executor]
    command += [] if held is None else ["--held", str(held)]
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, start_new_session=True)


def stored(store: Path) -> int:
    with contextlib.suppress(FileError):
        return len(load_runs(store))
    return 0


def kill_and_resume(store: Path, count: int, kills: int, executor: str, rng: random.Random) -> list[int]:
    """Kill a sweep `kills` times and let it end; return the counts of stored runs at each kill."""
    places, goals = [], sorted(rng.sample(range(1, 9 * count // 10), kills))
    for goal in goals:
        process = start_sweep(store, count, executor, goal + rng.randint(0, count // 20))
        met, since = stored(store), time.monotonic()
        while met < goal and process.poll() is None:
            time.sleep(rng.uniform(0.0, 0.02))
            now = stored(store)
            met, since = now, (time.monotonic() if now > met else since)
            if time.monotonic() - since > LONGEST_WAIT:
                raise RuntimeError(f"no further run after {met} in {LONGEST_WAIT:.0f} s")
        time.sleep(rng.uniform(0.0, 0.1))
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        places.append(stored(store))
        print(f"killed after {places[-1]} of {plural(count, 'run')}", file=sys.stderr, flush=True)
    process = start_sweep(store, count, executor)
    if process.wait() != 0:
        raise RuntimeError(f"the sweep ended with exit code {process.returncode}")
    return places


def integrity(store: Path) -> list[str]:
    with contextlib.closing(sqlite3.connect(f"{store.absolute().as_uri()}?mode=ro", uri=True)) as reading:
        return [word for (word,) in reading.execute("PRAGMA integrity_check")]


def wrong(store: Path, reference: Path, count: int) -> list[str]:
    found, known, state = load_runs(store), load_runs(reference), integrity(store)
    said = [] if state == ["ok"] else [f"the file is damaged: {state[:3]}"]
    numbers = found["run"]
    said += [] if numbers.tolist() == list(range(count)) else [f"{len(numbers)} of {len(set(numbers))} runs, not {count}"]
    said += [f"{name} differs" for name in found.names() if found[name].tobytes() != known[name].tobytes()]
    return said + [f"{name} differ" for name in ("failures", "warnings") if getattr(found, name) != getattr(known, name)]


def campaign(count: int, kills: int, seed: int, executor: str, folder: Path) -> tuple[list[int], list[str]]:
    store, reference = folder / "killed.db", folder / "reference.db"
    places = kill_and_resume(store, count, kills, executor, random.Random(seed))
    run(reference, count, "threads")
    return places, wrong(store, reference, count)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=20_000, help="runs (default %(default)d)")
    parser.add_argument("--kills", type=int, default=20, help="number of kills (default %(default)d)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--executor", choices=EXECUTORS, default="threads")
    parser.add_argument("--store", type=Path, help="only run the sweep, and store it in this file")
    parser.add_argument("--held", type=int, help="with --store: first run at which the sweep only waits to be killed")
    given = parser.parse_args()
    if given.store is not None:
        run(given.store, given.count, given.executor, given.held)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        places, found = campaign(given.count, given.kills, given.seed, given.executor, Path(folder))
    outcome = "; ".join(found) or "each run is stored once, bit for bit"
    print(f"killed after {', '.join(map(str, places))} of {plural(given.count, 'run')}: {outcome}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
