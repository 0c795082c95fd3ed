"""Sweeps: the cost of a stored run relative to `simulate` in a loop and to the right-hand sides alone; threads and processes.

The caller's part of a sweep (points, the store) runs in one thread, whatever the number of workers, and limits their gain.

`python -m benchmarks.sweeps [--quick] [--json FILE] [--write]`
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from screwbond.models.delta import DeltaParameters, delta_graph

from benchmarks.command import run_command
from benchmarks.hand_written import Disagreement
from benchmarks.timing import median, processor, ratio, table
from bondgraph import Graph, compile_model, sweep
from bondgraph.compile.compiled import Compiled
from bondgraph.sweeps import Measure, Runs, last
from examples.bouncing_ball import with_restitution
from examples.tolerances import motor


@dataclass(frozen=True)
class Case:
    """Model, the parameter that varies, the kept quantity, and the end time (s) and number of its runs."""

    build: Callable[[], Graph]
    varied: str
    keep: Measure
    t_end: float
    runs: int


def delta() -> Graph:
    return delta_graph(DeltaParameters.fit())


CASES = {
    "motor": Case(motor, "winding.resistance", last("rotor.flow"), 0.1, 4000),
    "ball, 36 bounces": Case(with_restitution, "ball.inertia", last("floor.h"), 4.0, 40),
    "delta robot, 1 s": Case(delta, "arm 1.mechanism.M2", last("arm 1.mechanism.q[0]"), 1.0, 4000),
}
SAMPLES = 11


def measure(case: Case, runs: int, rounds: int) -> dict[str, Any]:
    compiled = compile_model(case.build(), progress=False)
    values = compiled.parameters[case.varied].value * np.linspace(0.9, 1.1, runs)
    samples, folder = case.t_end / (SAMPLES - 1), tempfile.TemporaryDirectory()
    stores = iter(range(10**6))

    def swept(executor: Executor | None, model: Any = compiled) -> Runs:
        store = Path(folder.name, f"{next(stores)}.db")
        points, keep = {case.varied: values}, {"it": case.keep}
        return sweep(model, points, case.t_end, keep=keep, store=store, executor=executor, samples=samples, progress=False)

    def looped() -> np.ndarray:
        settings = {"samples": samples, "progress": False}
        results = (compiled.simulate(case.t_end, parameters={case.varied: value}, **settings) for value in values)
        return np.array([case.keep(result) for result in results])

    spawned = multiprocessing.get_context("spawn")
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(2) as two, ProcessPoolExecutor(2, mp_context=spawned) as processes:
        ways: dict[str, Callable[[], Any]] = {"loop": looped, "one": lambda: swept(one), "two": lambda: swept(two)}
        ways["processes"] = lambda: swept(processes, case.build)
        for name in ("one", "two", "processes"):
            if not np.array_equal(ways[name]()["it"], looped()):
                raise Disagreement(f"a sweep by {name} and a loop differ")
        clocks = time.perf_counter, time.process_time, time.thread_time
        seconds = {name: np.empty((rounds, len(clocks))) for name in ways}
        for k in range(rounds):
            for name, way in ways.items():
                begin = [clock() for clock in clocks]
                way()
                seconds[name][k] = [(clock() - since) / runs for clock, since in zip(clocks, begin, strict=True)]
    folder.cleanup()
    rates = right_hand_sides(compiled, case, values, samples)
    return {
        "loop": median(seconds["loop"][:, 1]),
        "sweep": median(seconds["one"][:, 1]),
        "caller": median(seconds["one"][:, 2]),
        "sweep / loop": ratio(seconds["one"][:, 1], seconds["loop"][:, 1]),
        "right-hand sides": rates / median(seconds["one"][:, 1]),
        "two threads": ratio(seconds["one"][:, 0], seconds["two"][:, 0]),
        "two processes": ratio(seconds["one"][:, 0], seconds["processes"][:, 0]),
    }


def right_hand_sides(compiled: Compiled, case: Case, values: np.ndarray, samples: float) -> float:
    """Return the CPU seconds of as many evaluations of the right-hand side as a run has on average, in a loop of machine code.

    The nominal run does not give this number: a delta robot with equal arms needs fewer evaluations than the other runs.
    """
    prepared = compiled.prepare_run(case.t_end, samples=samples, progress=False)
    p, x0, m0 = prepared.start_values_many({case.varied: values})
    count = round(float(np.mean(prepared.run_many(p, x0, m0, threads=1).rates)))
    result = compiled.simulate(case.t_end, samples=samples, progress=False)
    kernel, p = compiled.program.rates, result.p
    times, x, m = (np.resize(block, (count, *block.shape[1:])) for block in (result.t, result.x, result.m))
    out, found = np.empty_like(x), []
    for _ in range(9):
        begin = time.process_time()
        kernel.many(times, x, p, m, out=out)
        found.append(time.process_time() - begin)
    return median(found)


HEAD = ("model", "simulate us", "sweep us", "the caller", "sweep / simulate", "its rates / sweep", "2 threads", "2 processes")


def main(arguments: Sequence[str] | None = None) -> dict[str, Any] | None:
    return run_command(__doc__, arguments, _run)


def _run(quick: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"processor": processor()}
    cases = ["motor"] if quick else list(CASES)
    for name in cases:
        case = CASES[name]
        found[name] = measure(case, *(4, 1) if quick else (case.runs, 5))
    rows = [
        (
            name,
            f"{1e6 * found[name]['loop']:.0f}",
            f"{1e6 * found[name]['sweep']:.1f}",
            f"{1e6 * found[name]['caller']:.2f}",
            *(f"{found[name]['sweep / loop']['median']:.2f}", f"{found[name]['right-hand sides']:.2f}"),
            *("{median:.2f} ({quartile 1:.2f}-{quartile 3:.2f})".format(**found[name][key]) for key in HEADS),
        )
        for name in cases
    ]
    print(table(f"CPU microseconds of a stored run, and wall time with one thread / with two ({found['processor']})", HEAD, rows))
    return found


HEADS = ("two threads", "two processes")


if __name__ == "__main__":
    main()
