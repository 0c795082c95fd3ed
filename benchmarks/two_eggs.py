"""Two eggs: times to build, to compile and to run, and the compiled right-hand side compared with hand-written C."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from benchmarks import cold_start, timing
from benchmarks.command import run_command
from benchmarks.graphs import END, GRAPHS
from benchmarks.hand_written import FLAGS, HandWritten, compiler_version, ensure_same, hand_written, packed
from bondgraph import Compiled, compile_model

RTOL = 1e-8
STATES = 250
MODES = {
    "s2a": {"contact, charts z z": (1.0, 0.0, 0.0), "contact, charts x x": (1.0, 1.0, 1.0)},
    "s1a": {"contact, charts z z": (1.0, 0.0, 0.0), "free, charts z z": (0.0, 0.0, 0.0), "contact, charts x x": (1.0, 1.0, 1.0)},
}
"""Modes in which the right-hand sides are timed: (contact, chart of surface 1, chart of surface 2)."""


def right_hand_sides(name: str, compiled: Compiled, rounds: int = 200) -> dict[str, Any]:
    run = compiled.simulate(END[name], samples=END[name] / STATES, rtol=RTOL, progress=False)
    x = np.ascontiguousarray(run.x[:STATES])
    p, t, out = compiled.parameters(), np.zeros(1), np.empty_like(x)
    kernel, found = compiled.program.rates, {}
    with ExitStack() as stack:
        libraries = {label: stack.enter_context(hand_written(flags)) for label, flags in FLAGS.items()}
        agreement = max(ensure_same(name, compiled, library) for library in libraries.values())
        for label, modes in MODES[name].items():
            m = np.array(modes)
            calls = {"compiled": lambda m=m: kernel.many(t, x, p, m, out=out)}
            for flags, library in libraries.items():
                calls[flags] = HandWritten(library, name).many(x, packed(name, compiled), m, out)
            seconds = timing.interleaved(calls, rounds, inner=3)
            found[label] = {
                "nanoseconds": {key: 1e9 * timing.median(value) / len(x) for key, value in seconds.items()},
                "ratio": {flags: timing.ratio(seconds["compiled"], seconds[flags]) for flags in FLAGS},
            }
    return {"agreement": agreement, "modes": found}


def inside_the_run(name: str, compiled: Compiled, runs: int) -> dict[str, float]:
    bare, inside, walls, shares, starts = [], [], [], [], []
    program, p = compiled.program, compiled.parameters()
    kernel = program.rates if program.rates_and_powers is None else program.rates_and_powers
    m = compiled.initial()[1]
    first = compiled.simulate(END[name], samples=END[name] / STATES, rtol=RTOL, progress=False)
    x = np.ascontiguousarray(first.x[:STATES])
    out = np.empty((STATES, kernel.n_out))
    for _ in range(runs):
        calls = {"bare": lambda: kernel.many(np.zeros(1), x, p, m, out=out)}
        bare.append(timing.median(timing.interleaved(calls, 20)["bare"]) / len(x))
        statistics = compiled.simulate(END[name], rtol=RTOL, progress=False).statistics
        begin = time.perf_counter()
        compiled.initial()
        starts.append(time.perf_counter() - begin)
        inside.append(statistics.time_per_rate)
        walls.append(statistics.wall_time)
        shares.append(statistics.integration_time / statistics.wall_time)
    return {
        "right-hand sides": float(statistics.rates),
        "steps": float(statistics.steps),
        "bare nanoseconds": 1e9 * timing.median(bare),
        "inside nanoseconds": 1e9 * timing.median(inside),
        "inside to bare": timing.ratio(np.array(inside), np.array(bare))["median"],
        "wall seconds": timing.median(walls),
        "start values seconds": timing.median(starts),
        "integrator's share": timing.median(shares),
        "times faster than real time": END[name] / timing.median(walls),
        "times faster, slowest run": END[name] / max(walls),
        "times faster with start values": END[name] / timing.median(np.add(walls, starts)),
    }


def measure(names: Sequence[str] = tuple(GRAPHS), repeats: int = 5, rounds: int = 200, runs: int = 15) -> dict[str, Any]:
    found: dict[str, Any] = {"processor": timing.processor(), "compiler": compiler_version()}
    models = {name: compile_model(GRAPHS[name]()) for name in names}
    found["import"] = cold_start.imports(repeats)
    for name, compiled in models.items():
        found[name] = {
            "right-hand side": right_hand_sides(name, compiled, rounds),
            "run": inside_the_run(name, compiled, runs),
            "start": cold_start.measure(name, repeats),
        }
    return found


def report(found: Mapping[str, Any]) -> str:
    starts, sides, runs = [], [], []
    stages = ("graph", "build", "trace", "compile", "ready", "first run", "second run")
    names = [name for name in GRAPHS if name in found]
    for name in names:
        begin, run = found[name]["start"], found[name]["run"]
        for kind in ("cold", "warm"):
            starts.append([f"{name}, {kind}", *(f"{1e3 * begin[kind][key]:.0f}" for key in stages)])
        for label, figures in found[name]["right-hand side"]["modes"].items():
            ns, ratios = figures["nanoseconds"], figures["ratio"]
            row = [f"{name}, {label}", f"{ns['compiled']:.0f}"]
            for key in FLAGS:
                r = ratios[key]
                row += [f"{ns[key]:.0f}", f"{r['median']:.2f} ({r['quartile 1']:.2f}-{r['quartile 3']:.2f})"]
            sides.append(row)
        runs.append(
            [
                name,
                f"{run['right-hand sides']:.0f}",
                f"{run['bare nanoseconds']:.0f}",
                f"{run['inside nanoseconds']:.0f}",
                f"{run['inside to bare']:.2f}",
                f"{1e3 * run['wall seconds']:.1f}",
                f"{run['times faster than real time']:.0f}",
                f"{1e3 * run['start values seconds']:.1f}",
                f"{run['times faster with start values']:.0f}",
            ]
        )
    extra = 1e3 * (found["import"]["bondgraph"] - found["import"]["numpy"])
    worst = max(found[name]["right-hand side"]["agreement"] for name in names)
    flags = list(FLAGS)
    return "\n\n".join(
        [
            f"{found['processor']}; {found['compiler']}\n`import bondgraph` takes {extra:.0f} ms more than `import numpy`",
            timing.table(
                "Fresh process, imports excluded, ms (cold: no cached code; warm: code from the cache on disk)",
                ["", "graph", "equations", "trace", "machine code", "ready", "first run", "second run"],
                starts,
            ),
            timing.table(
                f"One right-hand side, ns; ratio compiled : C, median (quartiles); they agree to {worst:.0e}",
                ["", "compiled", flags[0], "ratio", flags[1], "ratio"],
                sides,
            ),
            timing.table(
                f"Run at rtol {RTOL:g} (rates and powers; inside: integration time per evaluation, all overhead\n"
                "included; start: closest points of the start poses, once per call of simulate)",
                ["", "evaluations", "bare ns", "inside ns", "ratio", "wall ms", "x real time", "start ms", "x with start"],
                runs,
            ),
        ]
    )


def main(arguments: Sequence[str] | None = None) -> dict[str, Any] | None:
    return run_command(__doc__, arguments, _run)


def _run(quick: bool) -> dict[str, Any]:
    found = measure(("s2a",), 0, 5, 1) if quick else measure()
    print(report(found))
    return found


if __name__ == "__main__":
    main()
