"""Small smooth models compared with heyoka's Taylor series (Biscani and Izzo 2021), at equal true error.

Both solve the equations of the compiled right-hand side. The error is the largest over the components of the final state,
relative to the component's largest value in the run; the reference is heyoka in long doubles. Times are CPU seconds of a
prepared run: of one `run` by "auto", of one by "taylor", and of one of the 32 runs of a `run_many` with 8 lanes; for heyoka, of
one run without batches. The times are interpolated between the tolerances whose errors bracket the given error.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from screwbond.models.chains import chain_graph

from benchmarks import timing
from benchmarks.command import run_command
from benchmarks.tree import GRAVITY, rods
from bondgraph import J1, C, Compiled, Graph, I, Se, compile_model
from bondgraph.export import straight_lines
from screws.scalars import cos, sqrt

ERRORS = (1e-6, 1e-8, 1e-10, 1e-12)
TOLERANCES = tuple(float(f"{factor}e-{k}") for k in range(4, 14) for factor in (3, 1) if (factor, k) != (3, 4))
PROMISED = (1e-6, 1e-9, 1e-12)
"""Tolerances for which the true errors are stated."""
COPIES, LANES, REPEATED = 32, 8, 10


def pendulum() -> Graph:
    graph, turning = Graph("pendulum"), J1("v")
    graph.connect(turning, I("m", 1.0)).connect(turning, C("g", energy=lambda q: 9.81 * (1 - cos(q)), initial=2.0))
    return graph


def kepler() -> Graph:
    graph, moving = Graph("kepler"), J1("v", dimension=2)
    graph.connect(moving, I("m", np.eye(2), initial=[0, np.sqrt(1.3)]))
    sun = C("g", energy=lambda q: -1 / sqrt(q[0] * q[0] + q[1] * q[1]), initial=[1.0, 0.0], dimension=2)
    return graph.connect(moving, sun)


def two_rods() -> Graph:
    graph = Graph("two rods")
    return graph.connect(chain_graph(rods(2), gravity=GRAVITY).port("joints"), Se("idle", dimension=2))


MODELS: Mapping[str, tuple[Callable[[], Graph], float]] = {
    "pendulum": (pendulum, 100.0),
    "Kepler": (kepler, 100.0),
    "two rods": (two_rods, 10.0),
}


def equations(compiled: Compiled, p: np.ndarray) -> list[Any]:
    import heyoka as hy

    lines = straight_lines(compiled)["rates"]
    names = [f"x{k}" for k in range(len(lines.outputs))]
    inputs: dict[str, Any] = {"x": hy.make_vars(*names), "p": p, "m": (), "t": (hy.time,)}
    meanings: dict[str, Callable[..., Any]] = {
        "add": lambda a, b: a + b,
        "subtract": lambda a, b: a - b,
        "multiply": lambda a, b: a * b,
        "divide": lambda a, b: a / b,
        "negative": lambda a: -a,
        "reciprocal": lambda a: 1.0 / a,
        "sqrt": hy.sqrt,
        "sin": hy.sin,
        "cos": hy.cos,
    }
    values: list[Any] = []
    for word, *rest in lines.steps:
        if word == "input":
            values.append(inputs[lines.blocks[rest[0]][0]][rest[1]])
        elif word == "constant":
            values.append(rest[0])
        else:
            values.append(meanings[word](*(values[k] for k in rest)))
    return [(inputs["x"][k], values[place]) for k, place in enumerate(lines.outputs)]


def seconds(call: Callable[[], Any], rounds: int) -> float:
    """Return the CPU seconds of a call: the minimum of several calls after an untimed one."""
    call()
    least = np.inf
    for _ in range(rounds):
        begin = time.process_time()
        call()
        least = min(least, time.process_time() - begin)
    return least


def at_error(error: float, errors: Sequence[float], times: Sequence[float]) -> float:
    """Return the time at an error, or the error at a tolerance, by interpolation on logarithmic axes."""
    order = np.argsort(errors)
    e, t = np.log(np.array(errors)[order]), np.log(np.array(times)[order])
    return float(np.exp(np.interp(np.log(error), e, t)))


def _repeat(call: Callable[[], Any]) -> None:
    for _ in range(REPEATED):
        call()


def _propagate(series: Any, x: np.ndarray, end: float) -> None:
    series.time = 0.0
    series.state[:] = x
    series.propagate_until(end)


def compared(name: str, tolerances: Sequence[float], rounds: int) -> dict[str, Any]:
    import heyoka as hy

    make, end = MODELS[name]
    compiled = compile_model(make())
    x, m = compiled.initial()
    p = compiled.parameters()
    if name == "two rods":
        x[:2] = 0.5 * np.cos(1.3 * np.arange(2))
    system = equations(compiled, p)
    exact = hy.taylor_adaptive(system, x.astype(np.longdouble), tol=np.longdouble(1e-18), fp_type=np.longdouble)
    grid = exact.propagate_grid(np.linspace(0.0, end, 400).astype(np.longdouble))[-1]
    last, size = grid[-1].astype(float), np.abs(grid).max(axis=0).astype(float)

    def off(state: np.ndarray) -> float:
        return max(float(np.max(np.abs(state - last) / size)), 1e-17)

    ways: dict[str, list[tuple[float, float]]] = {"run": [], "in lanes": [], "taylor": [], "heyoka": []}
    copies = np.tile(p, (COPIES, 1))
    for rtol in tolerances:
        prepared = compiled.prepare_run(end, rtol=rtol, samples=[end], progress=False)
        error = off(prepared.run(p, x, m).x)
        ways["run"].append((error, seconds(partial(_repeat, partial(prepared.run, p, x, m)), rounds) / REPEATED))
        many = partial(prepared.run_many, copies, x, m, threads=1, lanes=LANES)
        ways["in lanes"].append((error, seconds(many, rounds) / COPIES))
        expanded = compiled.prepare_run(end, rtol=rtol, samples=[end], method="taylor", progress=False)
        error = off(expanded.run(p, x, m).x)
        ways["taylor"].append((error, seconds(partial(_repeat, partial(expanded.run, p, x, m)), rounds) / REPEATED))
        series = hy.taylor_adaptive(system, x, tol=max(rtol * 1e-2, 3e-16))
        taken = seconds(partial(_repeat, partial(_propagate, series, x, end)), rounds) / REPEATED
        ways["heyoka"].append((off(series.state), taken))
    at = {way: {error: at_error(error, *zip(*found, strict=True)) for error in ERRORS} for way, found in ways.items()}
    over = {
        f"{name}, {way}": {rtol: at_error(rtol, tolerances, [error for error, _ in ways[way]]) / rtol for rtol in PROMISED}
        for way in ("run", "taylor")
    }
    return {"at": at, "over": over, "found": ways}


def measure(quick: bool = False) -> dict[str, Any]:
    import heyoka as hy

    tolerances, rounds = (TOLERANCES[::6], 1) if quick else (TOLERANCES, 15)
    models = {name: compared(name, tolerances, rounds) for name in MODELS}
    return {"processor": timing.processor(), "heyoka": hy.__version__, "models": models}


def report(found: Mapping[str, Any]) -> str:
    rows, ways = [], ("run", "in lanes", "taylor", "heyoka")
    for name, model in found["models"].items():
        for error in ERRORS:
            *times, series = (model["at"][way][error] for way in ways)
            rows.append([name, f"{error:g}", *(f"{1e3 * each:.3f}" for each in (*times, series))])
            rows[-1] += [f"{each / series:.1f}" for each in times]
    over_rtol = {name: over for model in found["models"].values() for name, over in model["over"].items()}
    promised = [[name, *(f"{over[rtol]:.2g}" for rtol in PROMISED)] for name, over in over_rtol.items()]
    head = ["", "true error", *(f"{way}, ms" for way in ways), *(f"{way} / heyoka" for way in ways[:-1])]
    beside = timing.table(f"Small smooth models compared with heyoka {found['heyoka']}", head, rows)
    over = timing.table("True error at the end, over rtol", ["", *(f"rtol {rtol:g}" for rtol in PROMISED)], promised)
    return f"{found['processor']}\n\n{beside}\n\n{over}"


def main(arguments: Sequence[str] | None = None) -> dict[str, Any] | None:
    return run_command(__doc__.splitlines()[0] if __doc__ else None, arguments, _run)


def _run(quick: bool) -> dict[str, Any]:
    found = measure(quick)
    print(report(found))
    return found


if __name__ == "__main__":
    main()
