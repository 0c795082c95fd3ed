"""Runs that consist almost entirely of events, in screwbond and in hand-written C: a boost converter at 50 kHz and a bouncing
ball.

The C code is written for these two models (`events.c`); it uses the same method, and locates and steps to the events in the same
way. Models with many ideal elements, a bridge of six diodes and rows of blocks with dry friction between them, have no C version.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.command import run_command
from benchmarks.hand_written import Disagreement, compiler
from benchmarks.timing import median, processor, ratio, table
from bondgraph import (
    J0,
    J1,
    Automaton,
    Block,
    C,
    Compiled,
    Diode,
    Friction,
    Graph,
    I,
    R,
    Se,
    StateSpec,
    Switch,
    Transition,
    compile_model,
)
from bondgraph.run.steppers import dop853 as published
from examples.bouncing_ball import with_restitution
from screws.scalars import sin

SOURCE = Path(__file__).with_name("events.c")
SAMPLES = 101
AGREEMENT = 1e-6
"""Largest difference of final states, relative to the largest value of each state, that the tolerances here and in C allow."""


def boost() -> Graph:
    """Return a boost converter from 12 V at 50 kHz with a duty cycle of one half: two ideal switches that conduct alternately."""
    half = 0.5 / 50e3
    graph, coil, node, rail, out = Graph("boost"), J1("coil"), J0("node"), J1("rail"), J0("out")
    graph.connect(Se("battery", 12.0), coil).connect(coil, I("l", 100e-6, initial=100e-6 * 4.0, nominal=1e-4))
    graph.connect(coil, node).connect(node, Switch("transistor", automaton="switch", closed=["closed"]))
    graph.connect(node, rail).connect(rail, Switch("diode", automaton="switch", closed=["open"])).connect(rail, out)
    graph.connect(out, C("c", capacitance=100e-6, initial=100e-6 * 24.0, nominal=1e-3)).connect(out, R("load", 10.0))
    graph.add(Block("clock", [("s'", lambda: 1.0, [])], states={"s": StateSpec(0.0, half)}, rates={"s": "s'"}))
    again = (("clock.s", lambda: 0.0, ()),)
    turn = [
        Transition(a, b, lambda s: s - half, ("clock.s",), again, kind=b) for a, b in (("closed", "open"), ("open", "closed"))
    ]
    return graph.add_automaton(Automaton("switch", ("closed", "open"), "closed", tuple(turn)))


def bridge() -> Graph:
    graph, plus, minus, out = Graph("bridge"), J0("plus"), J0("minus"), J1("out")
    for k in range(3):
        node, late = J0(f"n{k}"), 2.0 * np.pi * k / 3.0
        graph.connect(Se(f"u{k}", lambda late, t: sin(t - late), parameters={"late": late}, signals=["time"]), node)
        for name, tail, head in ((f"up{k}", node, plus), (f"low{k}", minus, node)):
            arm = J1(name)
            graph.connect(tail, arm).connect(arm, Diode(f"D{name}")).connect(arm, head)
    return graph.connect(plus, out).connect(out, minus).connect(out, R("load", 1.0))


def row(blocks: int) -> Graph:
    """Return blocks with different masses, each under its own force, with dry friction between neighbours and at both ends."""
    graph, nodes, random = Graph("row"), [J1(f"v{i}", domain="translation") for i in range(blocks)], np.random.default_rng(blocks)
    for i, node in enumerate(nodes):
        size, speed, late = random.uniform((1.0, 2.0, 0.0), (3.0, 5.0, 6.0))
        given = {"size": size, "speed": speed, "late": late}
        force = Se(f"F{i}", lambda size, speed, late, t: size * sin(speed * t + late), parameters=given, signals=["time"])
        graph.connect(node, I(f"m{i}", random.uniform(1.0, 1.5))).connect(force, node)
    graph.connect(nodes[0], Friction("left", 1.0)).connect(nodes[-1], Friction("right", 1.1))
    for i in range(blocks - 1):
        between = J0(f"z{i}")
        graph.connect(nodes[i], between).connect(between, nodes[i + 1])
        graph.connect(between, Friction(f"b{i}", random.uniform(1.0, 1.3)))
    return graph


@dataclass(frozen=True)
class Case:
    """Model with the end times (s) of its run and of a trial run (`quick`), its flag in C, and its states in the order of
    the C code."""

    name: str
    make: Any
    end: float
    quick: float
    flag: str
    states: tuple[str, ...]


CASES = (
    Case("boost converter, 50 kHz", boost, 2.0, 0.02, "MODEL_BOOST", ("l.p", "c.q", "clock.s")),
    Case("bouncing ball", with_restitution, 6.0, 6.0, "MODEL_BALL", ("floor.h", "ball.p")),
)
WITHOUT_C = (("bridge of 6 diodes", bridge, 30.0), *((f"row of {n} blocks", partial(row, n), 60.0 / n) for n in (5, 20, 40)))
"""Models without C code: name, graph and end time of the run, s."""


def main(arguments: Sequence[str] | None = None) -> dict[str, Any] | None:
    return run_command(__doc__, arguments, _run)


WAYS = ("simulate", "run", "run_many")


def _run(quick: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"processor": processor()}
    rows = []
    for case in CASES:
        own = found[case.name] = _measured(case, quick)
        times = [f"{own[name]:.2f}" for name in (*WAYS, "C")]
        ratios = [f"{own[f'{name} / C']['median']:.1f}" for name in WAYS]
        rows.append((case.name, f"{own['events']}", f"{own['handed back']}", *times, *ratios, f"{own['whole run']:.2f}"))
    head = ("", "events", "in Python", *WAYS, "C -O2", *(f"{name} / C" for name in WAYS), "simulate, ms")
    title = f"microseconds of CPU time per event ({found['processor']})"
    print(table(title, head, rows))
    print()
    rows = []
    for name, make, end in WITHOUT_C:
        own = found[name] = _without_c(make(), end, 3 if quick else 15)
        rows.append((name, f"{own['transitions']}", f"{own['events']}", f"{own['handed back']}", f"{own['run']:.1f}"))
    print(table(title, ("", "transitions", "events", "in Python", "run"), rows))
    return found


def _without_c(graph: Graph, end: float, rounds: int) -> dict[str, Any]:
    compiled = compile_model(graph)
    settings: dict[str, Any] = {"samples": np.linspace(0.0, end, SAMPLES), "max_events": 1e7, "progress": False}
    run, prepared, seconds = compiled.simulate(end, **settings), compiled.prepare_run(end, **settings), np.empty(rounds)
    x, p, m = prepared.start_values()
    prepared.run(p, x, m)
    for k in range(rounds):
        begin = time.process_time()
        prepared.run(p, x, m)
        seconds[k] = time.process_time() - begin
    counted = {"events": len(run.events), "handed back": run.statistics.events_in_python}
    return {"transitions": len(compiled.program.transitions), **counted, "run": 1e6 * median(seconds) / len(run.events)}


def _measured(case: Case, quick: bool) -> dict[str, Any]:
    compiled, end = compile_model(case.make()), case.quick if quick else case.end
    settings: dict[str, Any] = {"samples": np.linspace(0.0, end, SAMPLES), "max_events": 1e7, "progress": False}
    times, prepared = settings["samples"], compiled.prepare_run(end, **settings)
    x, p, m = prepared.start_values()
    with _by_hand(case.flag, len(case.states)) as by_hand:
        run, alone = compiled.simulate(end, **settings), prepared.run(p, x, m)
        final, counts = by_hand(times)
        _ensure_same(case, compiled, run, final, counts)
        rounds, inner = (3, 1) if quick else (7, 1 if len(run.events) > 1000 else 50)
        copies = np.tile(p, (inner, 1))
        ends = prepared.run_many(copies, x, m, threads=1)
        if not (ends.ok.all() and alone.completed and ends.events[0] == alone.events == len(run.events)):
            raise Disagreement(f"{case.name}: single, prepared and many runs differ")
        calls: dict[str, Callable[[], object]] = {
            "simulate": lambda: [compiled.simulate(end, **settings) for _ in range(inner)],
            "run": lambda: [prepared.run(p, x, m) for _ in range(inner)],
            "run_many": lambda: prepared.run_many(copies, x, m, threads=1),
            "C": lambda: [by_hand(times) for _ in range(inner)],
        }
        seconds = {name: np.empty(rounds) for name in calls}
        for k in range(rounds):
            for name, call in calls.items():
                begin = time.process_time()
                call()
                seconds[name][k] = (time.process_time() - begin) / inner
    events = len(run.events)
    microseconds = {name: 1e6 * median(values) / events for name, values in seconds.items()}
    ratios = {f"{name} / C": ratio(seconds[name], seconds["C"]) for name in WAYS}
    counted = {"events": events, "events in C": int(counts[0]), "handed back": run.statistics.events_in_python}
    return {**microseconds, **ratios, **counted, "whole run": 1e3 * median(seconds["simulate"])}


def _ensure_same(case: Case, compiled: Compiled, run: Any, final: np.ndarray, counts: np.ndarray) -> None:
    """Raise `Disagreement` unless the final states agree to `AGREEMENT`, and the numbers of events to 15 %: the last bounces
    before a ball comes to rest differ."""
    places = [compiled.program.layout[name].start for name in case.states]
    sizes = np.abs(run.x[:, places]).max(axis=0)
    off = float(np.max(np.abs(run.x[-1, places] - final) / sizes))
    if not off <= AGREEMENT or abs(len(run.events) - int(counts[0])) > 0.15 * len(run.events):
        raise Disagreement(
            f"{case.name}: {len(run.events)} events here and {counts[0]} in C, and the final states differ by {off:.1e}"
        )


@contextmanager
def _by_hand(flag: str, states: int) -> Iterator[Any]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "coefficients.h").write_text(_coefficients(), encoding="utf-8")
        target = Path(folder, "events.so")
        command = [compiler(), "-O2", "-std=gnu11", "-shared", "-fPIC", f"-D{flag}", f"-I{folder}", "-o", str(target)]
        subprocess.run([*command, str(SOURCE), "-lm"], check=True)
        function = ctypes.CDLL(str(target)).simulate
        pointer = ctypes.c_void_p
        function.argtypes, function.restype = [ctypes.c_double, pointer, ctypes.c_int, pointer, pointer, pointer], None

        def simulate(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            rows, final, counts = np.empty((len(times), states)), np.empty(states), np.zeros(2, dtype=np.int64)
            places = [array.ctypes.data for array in (rows, final, counts)]
            function(float(times[-1]), times.ctypes.data, len(times), *places)
            return final, counts

        yield simulate


def _coefficients() -> str:
    """Return C macros that evaluate the published tables as sums over the stages with nonzero weights."""
    named = {f"SUM_{s}": published.A[s] for s in range(1, 16)}
    named |= {"ERROR_5": published.E5, "ERROR_3": published.E3}
    named |= {f"DENSE_{row}": published.D[row] for row in range(4)}

    def line(name: str, row: dict[int, float]) -> str:
        return f"#define {name}(k, i) ({' + '.join(f'({weight!r}) * (k)[{j}][i]' for j, weight in row.items())})"

    return "\n".join(line(name, row) for name, row in named.items()) + "\n"


if __name__ == "__main__":
    main()
