"""Digests of the results of every kind of run, with solver procedures compiled from LLVM IR or by a C compiler.

`python -m tests.run.courses gcc` prints the digests.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from bondgraph import methods
from tests.compilers import replace_procedures

METHODS = tuple(name for name, entry in methods.METHODS.items() if not entry.needs_series)


def digest(arrays: Iterable[np.ndarray | float]) -> str:
    total = hashlib.sha256()
    for array in arrays:
        given = np.ascontiguousarray(array)
        total.update(f"{given.dtype} {given.shape}".encode() + given.tobytes())
    return total.hexdigest()


def of_run(run: object) -> str:
    cost = run.statistics
    counts = np.array([cost.steps, cost.rejected, cost.rates, cost.jacobians, cost.guards, cost.ticks, cost.rounding.steps])
    sides = [(e.since, e.transition, e.x_before, e.x_after, e.m_after, e.energies_after, e.supplied) for e in run.events]
    said = "" if run.failure is None else run.failure.reason
    return digest([run.t, run.x, run.m, run.integrals, counts, *(part for side in sides for part in side)]) + said


def programs() -> Iterator[tuple[str, Callable[[], str]]]:
    from tests.inner.run import simulate
    from tests.run import problems, test_noise

    def run(made, *given, **options):
        return lambda: of_run(simulate(made(), *given, **options))

    for method in METHODS:
        yield f"ball {method}", run(problems.ball, [1.0, 0.0], [9.81, 0.8], [0.0], 2.0, method=method)
        yield f"bumper {method}", run(problems.bumper, [-1.0, 1.0], [50.0, 0.3], [0.0], 6.0, method=method)
        yield f"top {method}", run(problems.top, [1.0, 0.1, 2.0, 1.0, 0.0, 0.0, 0.0], [1.0, 2.0, 3.0], [], 2.0, method=method)
        yield f"noise {method}", run(test_noise.loud, [1.0, 0.0], [test_noise.LOUD], [], 3.0, method=method, rtol=1e-12)
        yield f"powers {method}", run(lambda: problems.oscillator(fused=True), [1.0, 0.0], [1.0, 0.1], [], 5.0, method=method)
    yield "stiff", run(problems.oscillator, [1.0, 0.0], [1e3, 1e3], [], 300.0)
    yield "stiff rodas5p", run(problems.oscillator, [1.0, 0.0], [1e3, 1e3], [], 300.0, method="rodas5p")
    yield "sparse", run(problems.oscillator, [1.0, 0.0], [1e3, 1e3], [], 3.0, method="rodas5p", linear="sparse")


def graphs() -> Iterator[tuple[str, Callable[[], str]]]:
    from bondgraph import J1, C, Graph, R, Se, compile_model, signals
    from screws import scalars as s
    from tests.inner.run import mean, peak
    from tests.run import test_accumulation, test_breaks, test_ticks, test_together

    def run(made, end, **options):
        return lambda: of_run(compile_model(made()).simulate(end, **options))

    def loop():
        graph, v = Graph("loop"), J1("v")
        graph.connect(Se("source", lambda t: 2.0 * s.sin(6.0 * t), signals=["time"]), v).connect(v, R("r", 1.0))
        return graph.connect(v, R("d", effort=lambda i: i + i**3)).connect(v, C("c", capacitance=0.3))

    def clocked():
        return test_ticks.pushed(test_ticks.proportional(0.013), start=1.0)

    def pulsed():
        return test_breaks.pushed(signals.square("p", period=0.3, start=0.05, duty=0.1, high=2.0))

    for method in METHODS:
        yield f"clock {method}", run(clocked, 1.0, method=method)
        yield f"breaks {method}", run(pulsed, 1.0, method=method)
    yield "rest", run(test_accumulation.ball, 5.0)
    cradle = test_together.cradle(3)
    start = test_together.start(np.ones(3), np.eye(3)[0], [0.1, 1e-14])
    for how in ("simultaneous", "sequential"):
        yield f"cradle {how}", lambda how=how: of_run(cradle.simulate(0.2, initial=start, impacts=how))
    yield "loop", run(loop, 2.0)

    def many(made, end, of, **varied):
        prepared = compile_model(made()).prepare_run(end, samples=end / 20.0)
        ends = prepared.run_many(
            *prepared.start_values_many(varied), {"peak": peak(of), "mean": mean(of), "series": of}, threads=1
        )
        assert ends.ok.all()
        return digest([ends.x, ends.m, ends.integrals, ends.steps, ends.events, *(ends[what] for what in ends.kept)])

    yield "many rests", lambda: many(test_accumulation.ball, 5.0, "height.x")
    yield "many clocks", lambda: many(clocked, 1.0, "m.p", **{"control.period": [0.013, 0.02, 0.02]})
    yield "many loops", lambda: many(loop, 2.0, "c.q", **{"r.resistance": [1.0, 2.0, 3.0]})


def others() -> Iterator[tuple[str, Callable[[], str]]]:
    from tests.emit.expressions import EXPRESSIONS
    from tests.emit.test_interpreter import both
    from tests.inner.stepping import motion_of
    from tests.piles.test_piles import random_contacts, solved
    from tests.run import problems

    def sweeps() -> str:
        table, _, _ = random_contacts(np.random.default_rng(3), 0.5)
        return digest([*solved(table), table["change"], table["sweeps"]])

    def motion() -> str:
        x = np.array([1.0, 0.1, 2.0, 1.0, 0.0, 0.0, 0.0])
        move = motion_of(problems.top().rates, x, np.array([1.0, 2.0, 3.0]), np.zeros(0))
        for k in range(5):
            move(0.1 * k, 0.1)
        return digest([x])

    def interpreter() -> str:
        found = []
        for formula, (low, high) in EXPRESSIONS.values():
            interpreted, _, _ = both([formula], 3)
            found += [interpreted(point) for point in np.random.default_rng(5).uniform(low, high, (5, 3))]
        return digest(found)

    yield from {"sweeps": sweeps, "motion": motion, "interpreter": interpreter}.items()


def digests() -> dict[str, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: course() for part in (programs, graphs, others) for name, course in part()}


if __name__ == "__main__":
    made = replace_procedures(sys.argv[1]) if sys.argv[1:] else []
    found = digests()
    json.dump({"digests": found, "made": made}, sys.stdout)
