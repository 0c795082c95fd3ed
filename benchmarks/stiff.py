"""Stiff models by the Rosenbrock method, by Radau IIA, by "auto", and by SciPy's Radau: steps, errors and run times.

The error is the largest over all states and samples, relative to the largest value of each state, in units of rtol; the reference
is a run of the Rosenbrock method with a tolerance a thousand times smaller. `python -m benchmarks.stiff [--quick] [--json FILE]
[--write]`
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from benchmarks.chain import chain
from benchmarks.command import run_command
from benchmarks.timing import median, processor, table
from bondgraph import J0, J1, Block, C, Diode, Graph, I, R, Se, StateSpec, compile_model
from screws import scalars as s

RTOL, EXACT = 1e-6, 1e-3
RODAS, RADAU5, AUTO, RADAU = {"method": "rodas5p"}, {"method": "radau5"}, {"method": "auto"}, {"by": "SciPy Radau"}
SMALL = (RODAS, RADAU5, AUTO, RADAU, {"method": "dop853"})
LARGE = (RODAS, RADAU5, AUTO)


def robertson() -> Graph:
    """Return Robertson's three reacting substances: the second adapts within a millisecond."""
    rates = [
        ("fast", lambda b, c: 1e4 * b * c, ["b", "c"]),
        ("slow", lambda a: 0.04 * a, ["a"]),
        ("pair", lambda b: 3e7 * b * b, ["b"]),
        ("a'", lambda fast, slow: fast - slow, ["fast", "slow"]),
        ("b'", lambda fast, slow, pair: slow - fast - pair, ["fast", "slow", "pair"]),
    ]
    states = {"a": StateSpec(1.0), "b": StateSpec(0.0), "c": StateSpec(0.0)}
    return _of(Block("r", rates, states=states, rates={"a": "a'", "b": "b'", "c": "pair"}))


def _of(block: Block) -> Graph:
    graph = Graph("block")
    graph.add(block)
    return graph


def van_der_pol(mu: float) -> Callable[[], Graph]:
    def made() -> Graph:
        rates = [("x'", lambda v: v, ["v"]), ("v'", lambda x, v, mu: mu * ((1.0 - x * x) * v) - x, ["x", "v", "mu"])]
        states = {"x": StateSpec(2.0), "v": StateSpec(0.0)}
        return _of(Block("o", rates, states=states, rates={"x": "x'", "v": "v'"}, parameters={"mu": mu}))

    return made


def rod(cells: int) -> Callable[[], Graph]:
    def made() -> Graph:
        graph = Graph("rod")
        before: Any = Se("hot", lambda t: 1.0 + 0.5 * s.sin(3.0 * t), signals=["time"])
        for i in range(cells):
            node, flow = J0(f"n{i}"), J1(f"q{i}")
            graph.connect(before, flow).connect(flow, R(f"r{i}", 1.0 / cells)).connect(flow, node)
            graph.connect(node, C(f"c{i}", capacitance=1.0 / cells))
            before = node
        return graph

    return made


def plate(side: int) -> Callable[[], Graph]:
    def made() -> Graph:
        graph, edge = Graph("plate"), J0("edge")
        nodes = {(i, j): J0(f"n{i} {j}") for i in range(side) for j in range(side)}
        graph.connect(Se("hot", 1.0), edge)
        for (i, j), node in nodes.items():
            graph.connect(node, C(f"c{i} {j}", capacitance=1.0 / side**2))
            before = [nodes.get((i - 1, j)), edge if j == 0 else nodes[i, j - 1]]
            for name, other in zip(("down", "along"), before, strict=True):
                if other is not None:
                    flow = J1(f"{name} {i} {j}")
                    graph.connect(other, flow).connect(flow, R(f"r {name} {i} {j}", 1.0)).connect(flow, node)
        return graph

    return made


def rectifier() -> Graph:
    graph, line, node = Graph("rectifier"), J1("line"), J0("node")
    graph.connect(Se("mains", lambda t: 10.0 * s.sin(314.0 * t), signals=["time"]), line).connect(line, I("l", inductance=1e-6))
    graph.connect(line, R("r", 1.0)).connect(line, Diode("d")).connect(line, node)
    return graph.connect(node, C("c", capacitance=1e-3)).connect(node, R("load", 100.0))


def network(count: int) -> Callable[[], Graph]:
    def made() -> Graph:
        graph = Graph("network")
        nodes = [J0(f"n{i}") for i in range(count)]
        for i, node in enumerate(nodes):
            graph.connect(node, C(f"c{i}", capacitance=1e-3 * (1 + i), initial=1e-3 * (1 + i) * float(np.cos(i))))
            for j in range(i):
                flow = J1(f"f{i} {j}")
                graph.connect(nodes[j], flow).connect(flow, R(f"r{i} {j}", 1.0 + i * j % 7)).connect(flow, node)
        return graph

    return made


def coupled(count: int) -> Callable[[], Graph]:
    """Return states that follow the mean of all states, at rates over five decades: a full Jacobian."""

    def made() -> Graph:
        names, fast = [f"x{i}" for i in range(count)], np.logspace(0.0, 5.0, count).tolist()
        rates: list[Any] = [("mean", lambda *x: sum(x[1:], x[0]) / count, names)]
        for name, k in zip(names, fast, strict=True):
            rates.append((f"{name}'", lambda x, mean, k=k: k * (mean - x - 0.1 * x * x * x), [name, "mean"]))
        states = {name: StateSpec(float(np.cos(3.0 * i))) for i, name in enumerate(names)}
        return _of(Block("b", rates, states=states, rates={name: f"{name}'" for name in names}))

    return made


@dataclass(frozen=True)
class Case:
    name: str
    make: Callable[[], Graph]
    end: float
    by: Sequence[dict[str, str]] = SMALL


CASES = (
    Case("Robertson, 4e5 s", robertson, 4e5, SMALL[:4]),
    Case("van der Pol, mu 1e3", van_der_pol(1e3), 2e3),
    Case("van der Pol, mu 1e6", van_der_pol(1e6), 2e6, SMALL[:4]),
    Case("rectifier, 3 turns", rectifier, 0.06),
    Case("rod of 100", rod(100), 1.0, (*LARGE, {"method": "dop853"})),
    Case("rod of 400", rod(400), 1.0, LARGE),
    Case("rod of 1000", rod(1000), 1.0, LARGE),
    Case("plate of 30 x 30", plate(30), 1.0, LARGE),
    Case("network of 30 capacitors", network(30), 100.0, (RODAS, RADAU5, AUTO, RADAU)),
    Case("network of 50 capacitors", network(50), 100.0, LARGE),
    Case("100 states, full Jacobian", coupled(100), 10.0, (RODAS, RADAU5, AUTO, RADAU)),
    Case("200 states, full Jacobian", coupled(200), 10.0, LARGE),
    Case("chain of 500 masses", lambda: chain(500, stiffness=1e6, damping=2e3), 0.5, LARGE),
)


def main(arguments: Sequence[str] | None = None) -> dict[str, Any] | None:
    return run_command(__doc__, arguments, _run, "small models, few repetitions, as a trial")


def _run(quick: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"processor": processor()}
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in CASES[:4] if quick else CASES:
            found[case.name] = _measured(case, 1 if quick else 5)
            first = next(iter(found[case.name].values()))
            for name, own in found[case.name].items():
                words = own["failure"] or f"{own['error']:.2g}"
                times = f"{own['ms']:.2f}", f"{own['ms'] / first['ms']:.2f}"
                rows.append((case.name, name, f"{own['steps']:,}", f"{own['rates']:,}", f"{own['events']}", words, *times))
        found["many"] = _many(20 if quick else 2000)
    head = ("", "by", "steps", "rates", "events", "error / rtol", "CPU ms", "ratio")
    print(table(f"stiff models, rtol {RTOL:g} ({found['processor']})", head, rows))
    lines = [(name, f"{own['us']:.0f}") for name, own in found["many"].items()]
    print(table("van der Pol, mu 100 to 1000, 20 s, many runs with different mu", ("by", "CPU us a run"), lines))
    return found


def _measured(case: Case, rounds: int) -> dict[str, Any]:
    compiled, samples = compile_model(case.make()), np.linspace(0.0, case.end, 101)

    def run(rtol: float = RTOL, **settings: str) -> Any:
        return compiled.simulate(case.end, samples=samples, rtol=rtol, progress=False, **settings)

    def by_radau() -> tuple[np.ndarray, dict[str, int]]:
        ode = compiled.ode(sparse=compiled.program.states > 50)
        atol = 1e-3 * RTOL * np.fmax.reduce(np.abs(exact.x)) + 1e-300
        found = solve_ivp(
            ode.rates,
            (0.0, case.end),
            ode.start,
            "Radau",
            samples,
            rtol=RTOL,
            atol=atol,
            jac=ode.jacobian,
            events=ode.event_functions,
        )
        return found.y.T, {"steps": int(found.nlu), "rates": int(found.nfev)}

    exact = run(RTOL * EXACT, **RODAS)
    found: dict[str, dict[str, Any]] = {_name(settings): {"settings": settings} for settings in case.by}
    seconds: dict[str, list[float]] = {name: [] for name in found}
    for _ in range(rounds):
        for name, own in found.items():
            begin = time.process_time()
            own["run"] = by_radau() if own["settings"] is RADAU else run(**own["settings"])
            seconds[name].append(time.process_time() - begin)
    sizes = np.fmax.reduce(np.abs(exact.x))
    for name, own in found.items():
        result = own.pop("run")
        if isinstance(result, tuple):
            x, counts = result
            own |= {**counts, "events": 0, "failure": "" if len(x) == len(samples) else "ends at an event"}
        else:
            x, statistics = result.x, result.statistics
            own |= {"steps": statistics.steps, "rates": statistics.rates, "events": len(result.events)}
            own["failure"] = "" if result.failure is None else f"ends: {result.failure.kind}"
        off = np.abs(x - exact.x[: len(x)]) / np.where(sizes > 0.0, sizes, 1.0)
        own |= {"error": float(off.max()) / RTOL, "ms": 1e3 * median(seconds[name])}
    return found


def _name(settings: dict[str, str]) -> str:
    return " ".join(settings.values())


def _many(runs: int) -> dict[str, dict[str, float]]:
    compiled, mu = compile_model(van_der_pol(1.0)()), np.linspace(100.0, 1000.0, runs)
    prepared = compiled.prepare_run(20.0, samples=20.0, rtol=RTOL, progress=False, method="rodas5p")
    points = prepared.start_values_many({"o.mu": mu})
    prepared.run_many(*points, threads=1)
    begin = time.process_time()
    ends = prepared.run_many(*points, threads=1)
    return {"rodas5p": {"us": 1e6 * (time.process_time() - begin) / len(ends)}}


if __name__ == "__main__":
    main()
