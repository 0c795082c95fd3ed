"""FMUs in model exchange: FMPy's CVODE integrates them, and the results are compared with native runs.

`python -m campaigns.model_exchange [MODEL ...] [--version 2]` writes each model as an FMU, integrates it at a relative tolerance
of 1e-9 and compares all states, at a hundred times, with a native run at a far smaller tolerance. An error is relative to the
size of the state: its largest absolute value in the run, or the FMU's nominal value, if that is larger. An instant is a time,
other than the start, at which the importer lets the FMU handle events or ticks.

Then four models that are known from other collections of FMUs follow: a bouncing ball, Van der Pol's oscillator, exponential
decay and a counter. FMPy's CVODE integrates the FMU, and the same equations as plain functions, both at a relative tolerance of
1e-12.

The command exits with 1 if an error is above 1e-6, or above 1e-9 for these four.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bondgraph import J0, J1, Automaton, Block, C, Constraint, Graph, I, R, Se, Transition, compile_model
from bondgraph.compile.compiled import Compiled
from bondgraph.export import FMU, fmu
from tests.export.live_models import CASES

POINTS = 100
_TIGHT = {"eggs": 1e-11}
"""Relative tolerance of the native run, if 1e-12 is below the rounding error of the rates."""


def states_of(path: Path) -> list[str]:
    import fmpy

    found: dict[int, str] = {}
    for variable in fmpy.read_model_description(str(path), validate=False).modelVariables:
        if variable.valueReference >> 24 == 1:
            found.setdefault(variable.valueReference, variable.name)
    return [found[reference] for reference in sorted(found)]


def exchanged(path: Path, t_end: float, names: list[str], tolerance: float) -> tuple[np.ndarray, np.ndarray, int, np.ndarray]:
    """Integrate an FMU; return times (rows,), values before events (rows, n), the number of instants, and the nominal
    values (n,)."""
    import fmpy
    from fmpy import sundials

    nominals = list[np.ndarray]()

    class Solver(sundials.CVodeSolver):  # type: ignore[misc]
        def __init__(self, nx: int, **given: Any) -> None:
            super().__init__(nx=nx, **given)
            nominals.append(self.npabstol / self.reltol)

    original, sundials.CVodeSolver = sundials.CVodeSolver, Solver
    try:
        given = {"stop_time": t_end, "output_interval": t_end / POINTS, "relative_tolerance": tolerance, "record_events": True}
        rows = fmpy.simulate_fmu(str(path), fmi_type="ModelExchange", output=names, **given)
    finally:
        sundials.CVodeSolver = original
    values = np.stack([np.concatenate([np.ravel(value) for value in list(row)[1:]]) for row in rows])
    first = np.append(True, np.diff(rows["time"]) != 0.0)
    return rows["time"][first], values[first], int(np.sum(~first)), nominals[0]


def compared(name: str, folder: Path, version: int) -> bool:
    case = CASES[name]
    compiled: Compiled = compile_model(case.graph(), progress=False)
    settings = {"progress": False, **case.settings}
    unit: FMU = fmu(compiled, folder / "unit.fmu", t_end=case.t_end, version=version, name="unit", **settings)
    t, x, instants, nominal = exchanged(unit.path, case.t_end, states_of(unit.path), 1e-9)
    events = {event.time for event in compiled.simulate(case.t_end, **settings).events} - {0.0}
    settings |= {"rtol": _TIGHT.get(name, 1e-12), "samples": case.t_end / POINTS}
    run = compiled.simulate(case.t_end, **settings)
    at = [int(np.argmin(np.abs(t - time))) for time in run.t]
    error, largest = np.abs(x[at] - run.x), np.abs(run.x).max(axis=0)
    relative = (error / np.maximum(largest, nominal)).max(axis=0)
    seen = (error[:, largest > 0.0] / largest[largest > 0.0]).max(axis=0, initial=0.0)
    ticks = run.statistics.ticks
    print(f"| {name} | {relative.max():.1e} | {seen.max():.1e} | {instants} | {len(events)} | {ticks} |", flush=True)
    return bool(relative.max() < 1e-6)


def ball() -> Graph:
    floor = Constraint("floor", initial=1.0, automaton="contact", active=["resting"], restitution=0.7)
    bounce = Transition("free", "free", lambda h: -h, ("floor.h",), kind="bounces", impact=("floor",), accumulates="resting")
    lift = Transition("resting", "free", lambda force: -force, ("floor.multiplier",), kind="lifts off")
    graph, velocity = Graph("ball"), J1("velocity", domain="translation")
    graph.connect(Se("weight", -9.81), velocity).connect(velocity, I("ball", 1.0)).connect(velocity, floor)
    return graph.add_automaton(Automaton("contact", ("free", "resting"), "free", (bounce, lift)))


def decay() -> Graph:
    graph, voltage = Graph("decay"), J0("v")
    return graph.connect(voltage, C("x", capacitance=1.0, initial=1.0)).connect(voltage, R("r", resistance=1.0))


def counter() -> Graph:
    graph, update = decay(), ("next", lambda n: n + 1.0, ["n"])
    graph.add(Block("counter", [update], states={"n": 1.0}, updates={"n": "next"}, period=1.0, offset=1.0))
    return graph


class Plain:
    """Equations x' = f(x) for CVODE; with a restitution, there is an event where the first state is zero."""

    def __init__(self, rates: Callable[[np.ndarray], list[float]], start: list[float], restitution: float | None = None) -> None:
        self.rates, self.x, self.restitution = rates, np.array(start), restitution

    def run(self, times: np.ndarray, tolerance: float) -> np.ndarray:
        from fmpy.sundials import CVodeSolver

        n, given = len(self.x), self.restitution is not None

        def at(place: Any, count: int) -> np.ndarray:
            return np.ctypeslib.as_array(place, (count,))

        def read(place: Any, count: int, values: Callable[[], Any]) -> None:
            at(place, count)[:] = values()

        class Nothing:
            def apply(self, t: float) -> None:
                pass

        def keep(place: Any, count: int) -> None:
            self.x = at(place, count).copy()

        solver = CVodeSolver(
            n,
            int(given),
            lambda place, count: read(place, count, lambda: self.x),
            keep,
            lambda place, count: read(place, count, lambda: self.rates(self.x)),
            lambda place, count: read(place, count, lambda: self.x[:count]) if count else None,
            lambda place, count: read(place, count, lambda: np.ones(count)),
            lambda t: None,
            Nothing(),
            0.0,
            times[-1] / 50.0,
            tolerance,
        )
        found, t = [self.x[0]], 0.0
        for goal in times[1:]:
            while t < goal and not np.isclose(t, goal, rtol=1e-12, atol=0.0):
                event, _, t = solver.step(t, goal)
                if event and self.restitution is not None:
                    self.x = np.array([sys.float_info.min, -self.restitution * self.x[1]])
                    solver.reset(t)
            found.append(self.x[0])
        return np.array(found)


def van_der_pol() -> Graph:
    graph, v = Graph("Van der Pol"), J1("v")
    force = Se("f", lambda x, v, mu: mu * (1 - x * x) * v, signals=["c.q", "m.flow"], parameters={"mu": 1.0})
    return graph.connect(v, I("m", 1.0)).connect(v, C("c", stiffness=1.0, initial=2.0)).connect(force, v)


TWINS: dict[str, tuple[Callable[[], Graph], float, str, Callable[[np.ndarray], np.ndarray]]] = {
    "bouncing ball": (ball, 2.0, "floor.h", lambda t: Plain(lambda x: [x[1], -9.81], [1.0, 0.0], 0.7).run(t, 1e-12)),
    "Van der Pol": (
        van_der_pol,
        20.0,
        "c.q",
        lambda t: Plain(lambda x: [x[1], (1.0 - x[0] * x[0]) * x[1] - x[0]], [2.0, 0.0]).run(t, 1e-12),
    ),
    "decay": (decay, 10.0, "x.q", lambda t: Plain(lambda x: [-x[0]], [1.0]).run(t, 1e-12)),
    "counter": (counter, 9.5, "counter.n", lambda t: 1.0 + np.floor(t)),
}
"""Models with the end of the run (s), the compared value, and the same model as plain equations."""


def twin(name: str, folder: Path, version: int) -> bool:
    graph, t_end, value, plain = TWINS[name]
    unit = fmu(graph(), folder / "unit.fmu", t_end=t_end, version=version, name="unit", progress=False)
    t, x, _, _ = exchanged(unit.path, t_end, [value], 1e-12)
    times = np.linspace(0.0, t_end, POINTS + 1)
    at = [int(np.argmin(np.abs(t - time))) for time in times]
    apart = np.abs(np.round(times) - times) > 1e-9 if name == "counter" else np.full(len(times), True)  # not at a tick itself
    error = np.abs(x[at, 0] - plain(times))[apart].max()
    print(f"| {name} | {error:.1e} |", flush=True)
    return bool(error < 1e-9)


def main() -> int:
    os.environ.setdefault("SCREWBOND_PROCESSOR", "baseline")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", choices=[[], *CASES, *TWINS], help="all by default")
    parser.add_argument("--version", type=int, default=3, help="version of the standard: 2 or 3 (default 3)")
    given = parser.parse_args()
    asked = given.models or [*CASES, *TWINS]
    fine = True
    with tempfile.TemporaryDirectory() as folder:
        if set(asked) & set(CASES):
            print("| model | error by size | by largest value | instants | native instants after the start | ticks |")
            print("|---|---|---|---|---|---|")
        for name in CASES:
            fine &= name not in asked or compared(name, Path(folder), given.version)
        if set(asked) & set(TWINS):
            print("\n| twin | largest difference |\n|---|---|")
        for name in TWINS:
            fine &= name not in asked or twin(name, Path(folder), given.version)
    return int(not fine)


if __name__ == "__main__":
    sys.exit(main())
