"""Prepared runs: the overhead of a run by model size, the cost of many runs, one by one and in SIMD lanes, relative to their
right-hand sides, and the gain from threads.

`python -m benchmarks.prepared [--quick] [--json FILE]`
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from screwbond.models.delta import DeltaParameters, DeltaRobot

from benchmarks.chain import chain
from benchmarks.command import run_command
from benchmarks.events import boost
from benchmarks.hand_written import Disagreement
from benchmarks.timing import median, processor, table
from benchmarks.tree import construction, oblique, rods
from bondgraph import J1, C, Graph, I, R, Se, compile_model
from bondgraph.compile.compiled import Compiled
from examples.bouncing_ball import with_restitution

SECTIONS = (1, 10, 100, 1000)
RATIOS = {
    "gain": "alone / in lanes",
    "core alone": "rates / alone",
    "core": "rates / in lanes",
    "cpu": "CPU, 2 threads / 1",
    "threads": "runs per second, 2 threads / 1",
}
COSTS = {
    "simulate": "simulate us",
    "changed": "with a change us",
    "watched": "many, watched us",
    "run": "run us",
    "run_many": "run_many us",
    "beyond": "run - run_many us",
}
RUNS, ROUNDS = 400, 7
VARIED = {
    **dict.fromkeys(("rc", "winding"), "r.resistance"),
    **dict.fromkeys(("chain of 10", "chain of 100"), "k0.stiffness"),
    "delta": "arm 1.mechanism.M2",
}
TREES = {
    "rods, 2 links": (rods(2), "rods.mechanism.rod 0 mass"),
    "rods, 5 links": (rods(5), "rods.mechanism.rod 0 mass"),
    "bodies, 5 links": (oblique(5), "oblique.mechanism.body 0 mass"),
}


def circuit() -> Graph:
    return (
        Graph("rc").connect(Se("u", 1.0), loop := J1("loop")).connect(loop, R("r", 100.0)).connect(loop, C("c", capacitance=1e-4))
    )


def motor() -> Graph:
    graph, current = Graph("winding"), J1("current")
    graph.connect(Se("supply", 12.0), current).connect(current, R("r", 3.0)).connect(current, I("l", inertia=5e-3))
    return graph.connect(current, C("c", capacitance=1e-5))


def _cpu(call: Callable[[], Any], inner: int) -> float:
    begin = time.process_time()
    for _ in range(inner):
        call()
    return (time.process_time() - begin) / inner


def overhead(compiled: Compiled, t_end: float, inner: int, rounds: int) -> dict[str, float]:
    """Return the CPU seconds of a run by `simulate` (parameters unchanged, or one of them changed), by `run`, and by `run_many`
    (with and without checks for lost rank); and the time that `run` adds to `run_many`."""
    run = compiled.prepare_run(t_end, samples=[t_end], progress=False)
    x, p, m = run.start_values()
    copies, few = np.tile(p, (inner, 1)), max(inner // 2, 1)
    ends = run.run_many(copies, x, m, threads=1, check_rank=False, lanes=1)
    name, numbers = next(iter(compiled.parameters)), itertools.count(1)
    value = np.asarray(compiled.parameters[name].value)

    def simulate(parameters: dict[str, Any] | None = None) -> None:
        compiled.simulate(t_end, samples=[t_end], parameters=parameters, progress=False)

    calls: dict[str, Callable[[], float]] = {
        "simulate": lambda: _cpu(simulate, few),
        "changed": lambda: _cpu(lambda: simulate({name: value * (1.0 + 1e-9 * next(numbers))}), few),
        "watched": lambda: _cpu(lambda: run.run_many(copies, x, m, threads=1, lanes=1), 1) / inner,
        "run": lambda: _cpu(lambda: run.run(p, x, m), inner),
        "run_many": lambda: _cpu(lambda: run.run_many(copies, x, m, threads=1, check_rank=False, lanes=1), 1) / inner,
    }
    seconds = {name: np.array([call()]) for name, call in calls.items()}  # modules that are loaded only once
    for _ in range(rounds):  # in turn, so that a disturbance affects all of them
        seconds = {name: np.append(seconds[name], call()) for name, call in calls.items()}
    found = {name: median(times[1:]) for name, times in seconds.items()}
    beyond = median(seconds["run"][1:] - seconds["run_many"][1:])
    return {"n": len(x), "steps": float(ends.steps[0]), **found, "beyond": beyond}


def lanes_compared(compiled: Compiled, name: str, t_end: float, runs: int, rounds: int) -> dict[str, float]:
    """Return CPU seconds per run for many runs that differ in one parameter, one by one, in lanes and by two threads; the same
    for their right-hand sides alone and for their start values; and ratios of CPU and wall times."""
    run = compiled.prepare_run(t_end, samples=[t_end], progress=False)
    values = compiled.parameters[name].value * np.linspace(0.9, 1.1, runs)
    p, x, m = run.start_values_many({name: values})
    alone, wide = (run.run_many(p, x, m, threads=1, lanes=lanes) for lanes in (1, None))
    if not (np.array_equal(alone.x, wide.x) and np.array_equal(alone.rates, wide.rates)):
        raise Disagreement(f"runs of {compiled.model.name} in lanes and alone differ")
    kernel, count, samples = compiled.program.rates, int(alone.rates.sum()) / runs, np.repeat(alone.x[:1], 1000, axis=0)
    out, start = np.empty_like(samples), np.zeros(1)
    ways: dict[str, Callable[[], Any]] = {
        "points": lambda: run.start_values_many({name: values}),
        "alone": lambda: run.run_many(p, x, m, threads=1, lanes=1),
        "wide": lambda: run.run_many(p, x, m, threads=1),
        "two": lambda: run.run_many(p, x, m, threads=2),
    }
    cpu, wall = ({key: np.empty(rounds) for key in [*ways, "rates"]} for _ in range(2))
    for k in range(rounds):  # in turn, so that a disturbance affects all of them
        for key, way in ways.items():
            clock = time.perf_counter()
            cpu[key][k] = _cpu(way, 1) / runs
            wall[key][k] = (time.perf_counter() - clock) / runs
        cpu["rates"][k] = _cpu(lambda: kernel.many(start, samples, p[0], m[0], out=out), 10) / 1000 * count
    ratios = {"gain": cpu["alone"] / cpu["wide"], "core alone": cpu["rates"] / cpu["alone"], "core": cpu["rates"] / cpu["wide"]}
    ratios |= {"cpu": cpu["two"] / cpu["wide"], "threads": wall["wide"] / wall["two"]}
    return {key: median(each) for key, each in {**cpu, **ratios}.items()}


def main(arguments: Sequence[str] | None = None) -> dict[str, Any] | None:
    return run_command(__doc__, arguments, _run)


def _run(quick: bool) -> dict[str, Any]:
    rounds, inner = (1, 5) if quick else (ROUNDS, 200)
    robot = DeltaRobot(DeltaParameters.fit()).compiled
    models = {"rc": (compile_model(circuit()), 0.1), "winding": (compile_model(motor()), 0.01), "delta": (robot, 1.0)}
    models |= {
        "ball, 72 events": (compile_model(with_restitution()), 6.0),
        "converter, 199 events": (compile_model(boost()), 2e-3),
    }
    models |= {f"chain of {count}": (compile_model(chain(count)), 1.0) for count in (SECTIONS[:3] if quick else SECTIONS)}
    found: dict[str, Any] = {"processor": processor(), "overhead": {}}
    for name, (compiled, t_end) in models.items():
        few = max(2, min(inner, 20_000 // compiled.program.states // 10))
        found["overhead"][name] = overhead(compiled, t_end, few, rounds)
    lanes = {name: (*models[name], parameter) for name, parameter in VARIED.items()}
    lanes |= {name: (construction(chain)[0], 1.0, parameter) for name, (chain, parameter) in TREES.items()}
    found["lanes"] = {
        name: lanes_compared(compiled, parameter, t_end, 16 if quick else RUNS, rounds)
        for name, (compiled, t_end, parameter) in lanes.items()
    }
    rows = [
        (name, f"{f['n']:.0f}", f"{f['steps']:.0f}", *(f"{f[k] * 1e6:.1f}" for k in COSTS))
        for name, f in found["overhead"].items()
    ]
    head = ("model", "n", "steps", *COSTS.values())
    print(table(f"CPU time of a run, microseconds ({found['processor']})", head, rows))
    rows = [
        (name, *(f"{f[k] * 1e6:.1f}" for k in ("alone", "wide", "rates", "points")), *(f"{f[k]:.2f}" for k in RATIOS))
        for name, f in found["lanes"].items()
    ]
    head = ("model", "alone", "in lanes", "its rates", "points", *RATIOS.values())
    print(table("\nRuns that differ in one parameter, with checks for lost rank: CPU microseconds per run", head, rows))
    return found


if __name__ == "__main__":
    main()
