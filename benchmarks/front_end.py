"""Large models from graph to a callable right-hand side: CPU seconds by stage, peak memory, and Python calls per part.

`python -m benchmarks.front_end [--quick] [--large] [--json FILE]`; `--large` adds a chain of 100,000 sections.
"""

from __future__ import annotations

import gc
import multiprocessing
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.chain import chain, growth
from benchmarks.command import run_command
from benchmarks.timing import processor, table, without_cache
from bondgraph import J0, J1, C, Graph, I, ModelError, R, Se, Sf, compile_model
from bondgraph.tape.garbage_collection import paused_collection
from screws.scalars import sin

SIZES = (1000, 3000, 10_000)
LARGE = 100_000
TRIAL = (100,)
COUNTED, FEW = (324, 484), (16, 25)
"""Numbers of parts of the two models whose difference gives the Python calls per part; the second pair is for a trial."""


def uneven(sections: int) -> Graph:
    """Return a chain with random parameters; one section in ten has a spring, and one in ten a damper, with its own formula."""
    rng = np.random.default_rng(0)
    graph, before = Graph("uneven"), None
    for i in range(sections):
        mass, node, joint = J1(f"v{i}"), J0(f"f{i}"), J1(f"d{i}")
        graph.connect(mass, I(f"m{i}", float(rng.uniform(1.0, 2.0)), initial=float(rng.uniform())))
        graph.connect(before or Sf("wall"), node).connect(node, mass).connect(node, joint)
        k, c = float(rng.uniform(50.0, 100.0)), float(rng.uniform(0.1, 0.5))
        if i % 10 == 5:
            spring = C(f"k{i}", energy=lambda q, k: k * q * q / 2 + q**4 / 4, parameters={"k": k}, initial=0.1)
        else:
            spring = C(f"k{i}", stiffness=k, initial=0.01)
        damper = R(f"c{i}", effort=lambda f, c: c * f * abs(f), parameters={"c": c}) if i % 10 == 7 else R(f"c{i}", c)
        graph.connect(joint, spring).connect(joint, damper)
        before = mass
    return graph


def driven(sections: int) -> Graph:
    """Return a chain with a time-dependent force at every mass, each with its own constant in the formula."""
    graph = chain(sections)
    for i in range(sections):
        graph.connect(Se(f"u{i}", lambda t, w=1.0 + 0.001 * i: sin(w * t), signals=["time"]), graph[f"v{i}"])
    return graph


def plate(nodes: int) -> Graph:
    rng = np.random.default_rng(0)
    side = round(nodes**0.5)
    graph = Graph("plate")
    places = [(i, j) for i in range(side) for j in range(side)]
    at = {place: J0(f"node {place[0]} {place[1]}") for place in places}
    for node in at.values():
        capacity = float(rng.uniform(1.0, 2.0))
        graph.connect(node, C(f"c {node.name[5:]}", capacitance=capacity, initial=float(rng.uniform())))
    for (i, j), node in at.items():
        for other in (at.get((i + 1, j)), at.get((i, j + 1))):
            if other is not None:
                between = J1(f"{node.name[5:]} to {other.name[5:]}")
                graph.connect(node, between).connect(between, other)
                graph.connect(between, R(f"r {between.name}", conductance=float(rng.uniform(1.0, 2.0))))
    return graph


KINDS: dict[str, Callable[[int], Graph]] = {"chain": chain, "uneven chain": uneven, "driven chain": driven, "plate": plate}


def construction(kind: str, parts: int) -> dict[str, float]:
    """Return CPU seconds by stage and the peak memory of the process, MB."""
    import resource

    with without_cache():
        compile_model(KINDS[kind](9))  # modules that are loaded only once
        begin = time.process_time()
        graph = KINDS[kind](parts)
        built = time.process_time()
        model = graph.freeze()
        frozen = time.process_time()
        compiled = compile_model(model)
        x, m = compiled.initial()
        compiled.program.rates(0.0, x, compiled.parameters(), m)
        done = time.process_time()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    return {"graph": built - begin, "checks": frozen - built, "compile": done - frozen, "total": done - begin, "memory": memory}


def refusal(parts: int) -> float:
    """Return the CPU seconds until a chain is refused because a 0-junction has two sources of effort."""
    graph = chain(parts)
    wrong = Se("second source", 1.0)
    graph.connect(graph["f0"], wrong).connect(graph["f0"], Se("third source", 1.0))
    begin = time.process_time()
    try:
        compile_model(graph)
    except ModelError:
        return time.process_time() - begin
    raise RuntimeError("two sources of effort at one junction were not refused")


def calls(function: Callable[[], object]) -> int:
    """Return the number of Python functions that a call runs, without those run by garbage collection."""
    found = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal found
        found += event == "call"

    gc.collect()  # earlier garbage is not counted
    with paused_collection():
        sys.setprofile(note)
        try:
            function()
        finally:
            sys.setprofile(None)
    return found


def calls_per_part(make: Callable[[int], Graph], counted: tuple[int, int] = COUNTED) -> float:
    """Return the number of Python calls per additional part, from graph to right-hand side. A first model, which also loads
    modules and fills Python's caches, is not counted."""
    compile_model(make(counted[0]), backend="numpy")
    few, many = (calls(lambda parts=parts: compile_model(make(parts), backend="numpy")) for parts in counted)
    return (many - few) / (counted[1] - counted[0])


def main(arguments: Sequence[str] | None = None) -> dict[str, Any] | None:
    given = list(sys.argv[1:] if arguments is None else arguments)
    large = "--large" in given

    def run(quick: bool) -> dict[str, Any]:
        if quick:
            return _measure(("chain", "plate"), TRIAL, FEW, None)
        return _measure(tuple(KINDS), (*SIZES, *([LARGE] if large else [])), COUNTED, 1)

    return run_command(__doc__, [word for word in given if word != "--large"], run, "two models of one size, as a trial")


def _measure(kinds: Sequence[str], sizes: Sequence[int], counted: tuple[int, int], models: int | None) -> dict[str, Any]:
    """Measure everything; each process compiles `models` models, or one process compiles all if None."""
    found: dict[str, Any] = {"processor": processor(), "construction": {}, "calls": {}, "refusal": {}}
    fresh = multiprocessing.get_context("spawn")
    rows = []
    with fresh.Pool(1, maxtasksperchild=models) as pool:
        for kind in kinds:
            several = sizes if kind == "chain" else sizes[:3]
            found["construction"][kind] = {parts: pool.apply(construction, (kind, parts)) for parts in several}
    for kind, of_kind in found["construction"].items():
        found["calls"][kind] = calls_per_part(KINDS[kind], counted)
        powers = ["-", *(f"{e:.2f}" for e in growth(list(of_kind), [own["total"] for own in of_kind.values()]))]
        for (parts, own), power in zip(of_kind.items(), powers, strict=True):
            stages = [f"{own[stage]:.2f}" for stage in ("graph", "checks", "compile", "total")]
            rows.append((kind, f"{parts:,}", *stages, power, f"{own['memory']:.0f}", f"{found['calls'][kind]:.0f}"))
    head = ("model", "parts", "graph", "checks", "compile", "total CPU s", "N^", "MB", "calls per part")
    print(table(f"large models, graph to right-hand side ({found['processor']})", head, rows))
    for parts in sizes[:3]:
        found["refusal"][parts] = refusal(parts)
    lines = [(f"{parts:,}", f"{seconds:.2f}") for parts, seconds in found["refusal"].items()]
    print(table("one junction with two sources in a chain: CPU s until refusal", ("sections", "CPU s"), lines))
    return found


if __name__ == "__main__":
    main()
