"""A chain of N mass-spring-damper sections: from the graph to a callable right-hand side, compared with C, and as a stiff model.

`python -m benchmarks.chain [--quick] [--json FILE]`
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.command import run_command
from benchmarks.hand_written import Disagreement, compiler
from benchmarks.timing import interleaved, machine_loop, median, processor, ratio, table, without_cache
from bondgraph import J0, J1, C, Compiled, Graph, I, R, Sf, compile_model

SOURCE = Path(__file__).with_name("chain.c")
SECTIONS = (10, 100, 1000, 10_000)
STIFF = (500, 1000, 2000, 5000)
AGREEMENT = 1e-12


def chain(sections: int, stiffness: float = 100.0, damping: float = 0.5) -> Graph:
    """Return masses in a row from a wall, with a spring and a damper between neighbours."""
    graph, before = Graph("chain"), None
    for i in range(sections):
        mass, node, joint = J1(f"v{i}"), J0(f"f{i}"), J1(f"d{i}")
        graph.connect(mass, I(f"m{i}", 1.0 + 0.01 * (i % 7), initial=0.1 * (i % 3)))
        graph.connect(before or Sf("wall"), node).connect(node, mass).connect(node, joint)
        graph.connect(joint, C(f"k{i}", stiffness=stiffness * (1.0 + 0.01 * (i % 11)), initial=0.01 * (i % 5)))
        graph.connect(joint, R(f"c{i}", damping * (1.0 + 0.01 * (i % 13))))
        before = mass
    return graph


@contextmanager
def by_hand() -> Iterator[Callable[..., Any]]:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "chain.so"
        command = [compiler(), "-O2", "-std=gnu11", "-shared", "-fPIC", "-o", str(target), str(SOURCE)]
        subprocess.run(command, check=True)
        function = ctypes.CDLL(str(target)).chain_many
        function.argtypes = [ctypes.c_long, ctypes.c_long, *[ctypes.c_void_p] * 5]
        function.restype = None
        yield function


def construction(sections: int) -> tuple[Compiled, dict[str, float]]:
    begin = time.perf_counter()
    graph = chain(sections)
    built = time.perf_counter()
    compiled = compile_model(graph)
    x, m = compiled.initial()
    p = compiled.parameters()
    compiled.program.rates(0.0, x, p, m)
    done = time.perf_counter()
    return compiled, {"graph": built - begin, **compiled.timings, "total": done - begin}


def against_c(compiled: Compiled, sections: int, rounds: int, function: Callable[..., Any]) -> dict[str, Any]:
    samples = max(1, 20_000 // sections)
    x = np.random.default_rng(0).normal(size=(samples, 2 * sections))
    ours, theirs = np.empty_like(x), np.empty_like(x)
    p, m, t = compiled.parameters(), np.zeros(0), np.zeros(1)
    given = compiled.system.parameters
    lightness, stiffness, damping = (
        np.array([float(given[f"{element}{i}.{name}"]) for i in range(sections)])
        for element, name in (("m", "inertia"), ("k", "stiffness"), ("c", "resistance"))
    )
    lightness = 1.0 / lightness
    addresses = [array.ctypes.data for array in (x, lightness, stiffness, damping, theirs)]
    loops = machine_loop(compiled.program.rates, t, x, p, m, out=ours)

    def hand() -> None:
        function(samples, sections, *addresses)

    hand()
    loops()
    worst = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    if not worst <= AGREEMENT:
        raise Disagreement(f"chain of {sections}: compiled and hand-written right-hand sides differ by {worst:.1e}")
    seconds = interleaved({"ours": loops, "C": hand}, rounds)
    return {
        "ours": median(seconds["ours"]) / samples,
        "C": median(seconds["C"]) / samples,
        "ratio": ratio(seconds["ours"], seconds["C"]),
        "difference": worst,
    }


def machine_code(compiled: Compiled) -> float:
    """Return the seconds that LLVM takes for the routines that every run needs; nan for a model that is not compiled in loops."""
    from bondgraph.schedule.build import EAGER, schedule_routines
    from bondgraph.schedule.kernels import is_large
    from bondgraph.schedule.machine_code.kernels import machine_kernels

    if not is_large(compiled.system):
        return float("nan")
    made, _, _ = schedule_routines(compiled.system)
    schedules = [made.schedules[name]() for name in EAGER if name in made.schedules]
    begin = time.perf_counter()
    machine_kernels(schedules)
    return time.perf_counter() - begin


def stiff(sections: int) -> dict[str, float]:
    """Measure a run with springs of about 1e6 N/m by rodas5p, in CPU seconds."""
    compiled = compile_model(chain(sections, stiffness=1e6, damping=2e3))
    compiled.simulate(1e-6, method="rodas5p")  # compiles the Jacobian
    begin = time.process_time()
    result = compiled.simulate(0.5, method="rodas5p", rtol=1e-6, samples=0.1)
    seconds = time.process_time() - begin
    if result.failure is not None:
        raise RuntimeError(f"the stiff chain of {sections} sections stops: {result.failure}")
    work = result.statistics
    assert compiled.program.jacobian_pattern is not None
    return {
        "states": 2 * sections,
        "nonzeros": len(compiled.program.jacobian_pattern[1]),
        "steps": work.steps,
        "seconds": seconds,
        "microseconds per step and section": 1e6 * seconds / work.steps / sections,
    }


def growth(counts: Sequence[int], seconds: Sequence[float]) -> list[float]:
    """Return the exponent b of seconds = a N^b between successive sizes."""
    return [float(e) for e in np.diff(np.log(seconds)) / np.diff(np.log(counts))]


def main(arguments: Sequence[str] | None = None) -> dict[str, Any] | None:
    return run_command(__doc__, arguments, _run, "small sizes, few repetitions, as a trial")


def _run(quick: bool) -> dict[str, Any]:
    if quick:
        return _measure((10, 400), (100,), 3)
    with without_cache():
        return _measure(SECTIONS, STIFF, 60)


def _measure(sizes: Sequence[int], stiff_sizes: Sequence[int], rounds: int) -> dict[str, Any]:
    construction(5)  # modules that are loaded only once
    found: dict[str, Any] = {"processor": processor(), "chain": {}, "stiff": {}}
    with by_hand() as function:
        for n in sizes:
            compiled, seconds = construction(n)
            compared = against_c(compiled, n, rounds, function)
            found["chain"][n] = {"construction": seconds, "LLVM": machine_code(compiled), "right-hand side": compared}
    totals = [part["construction"]["total"] for part in found["chain"].values()]
    found["growth"] = growth(sizes, totals)
    rows = [
        (
            f"{n:,}",
            *(f"{part['construction'][k]:.2f}" for k in ("graph", "build", "trace", "compile", "total")),
            f"{power:.2f}",
            f"{part['LLVM']:.2f}",
            f"{1e6 * part['right-hand side']['ours']:.3f}",
            f"{1e6 * part['right-hand side']['C']:.3f}",
            "{median:.2f} ({quartile 1:.2f}-{quartile 3:.2f})".format(**part["right-hand side"]["ratio"]),
        )
        for (n, part), power in zip(found["chain"].items(), [float("nan"), *found["growth"]], strict=True)
    ]
    head = ("sections", "graph", "build", "trace", "compile", "total s", "N^", "LLVM s", "ours us", "gcc -O2 us", "ratio")
    print(table(f"chain of N sections, graph to right-hand side ({found['processor']})", head, rows))
    for n in stiff_sizes:
        found["stiff"][n] = stiff(n)
    lines = [
        (
            f"{n:,}",
            f"{part['states']:,}",
            f"{part['nonzeros']:,}",
            str(part["steps"]),
            f"{part['seconds']:.2f}",
            f"{part['microseconds per step and section']:.3f}",
        )
        for n, part in found["stiff"].items()
    ]
    titles = ("sections", "states", "nonzeros", "steps", "CPU s", "us/(step section)")
    print(table("stiff chain, rodas5p, 0.5 s", titles, lines))
    return found


if __name__ == "__main__":
    main()
