"""The delta robot: forward dynamics compared with hand-written C, MuJoCo and Pinocchio; drift; minimal coordinates; tracking.

`python -m benchmarks.delta [--quick] [--json FILE]`
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np
from screwbond.models.delta import DeltaParameters, DeltaRobot, delta_graph

from benchmarks.command import run_command
from benchmarks.delta_c import delta_c, in_theta, random_states
from benchmarks.delta_engines import START, engines, engines_text
from benchmarks.delta_minimal import minimal_graph
from benchmarks.delta_sampled import TITLE, sampled_tracking
from benchmarks.delta_tracking import report as tracked
from benchmarks.delta_tracking import tracking
from benchmarks.hand_written import AGREEMENT, FLAGS, Disagreement, compiler_version
from benchmarks.timing import interleaved, median, processor, ratio, table, without_cache
from bondgraph import compile_model
from bondgraph.tape.routine import Routine, listing
from bondgraph.tracing.routines import trace

STATES = 500
TOLERANCES = (1e-3, 1e-4, 1e-6, 1e-8, 1e-10)
DROPS = tuple(itertools.product((DeltaParameters.fit().DAMPING, 1e-3, 0.0), (1e-6, 1e-9)))
"""Damping of the angles, and rtol, of the free drops."""
STALLED = 20_000
"""Number of steps after which a run in minimal coordinates is stopped."""


def construction() -> dict[str, float]:
    with without_cache():
        begin = time.perf_counter()
        graph = delta_graph(DeltaParameters.fit())
        built = time.perf_counter()
        compiled = compile_model(graph)
        x, m = compiled.initial()
        compiled.program.rates(0.0, x, compiled.parameters(), m)
        done = time.perf_counter()
    return {"graph": built - begin, **compiled.timings, "total": done - begin}


def dynamics(rounds: int) -> dict[str, Any]:
    """Return the seconds per evaluation of the rates (18,), in both forms and in C, at random states that violate the
    constraints."""
    p = DeltaParameters.fit()
    x, u = random_states(STATES)
    u[:] = u[0]  # one set of parameters for all states, on both sides
    torques = {f"motor {i + 1}.torque": u[0, i] for i in range(3)}
    t, m, calls, found = np.zeros(1), np.zeros(0), {}, {}
    with ExitStack() as stack:
        by_c = np.empty_like(x)
        for label, flags in FLAGS.items():
            calls[label] = stack.enter_context(delta_c(p, flags)).many(x, u, by_c)
        calls["gcc -O2"]()
        states, expected = in_theta(x, by_c)
        for form in ("lagrangian", "hamiltonian"):
            compiled = DeltaRobot(p, form=form).compiled
            out, numbers = np.empty_like(x), compiled.parameters(torques)
            given = states if form == "lagrangian" else _momenta(p, states)
            calls[form] = _many(compiled.program.rates, t, given, numbers, m, out)
            calls[form]()
            off = np.abs(out - expected)[:, _coordinates() if form == "hamiltonian" else slice(None)]
            worst = float(off.max() / np.abs(expected).max())
            if not worst <= AGREEMENT:
                raise Disagreement(f"delta robot, {form}: compiled and hand-written rates differ by {worst:.1e}")
            routine = trace(compiled.system)[0]["rates"]
            assert isinstance(routine, Routine), "straight-line code"
            steps = listing(routine).steps
            found[form] = {"agreement": worst, "operations": sum(step[0] > 1 for step in steps)}
        seconds = interleaved(calls, rounds)
    for name, value in seconds.items():
        found.setdefault(name, {})["seconds"] = median(value) / STATES
        found[name]["ratio"] = {flags: ratio(value, seconds[flags]) for flags in FLAGS}
    return found


def _many(kernel: Any, *given: Any) -> Callable[[], Any]:
    return lambda: kernel.many(*given[:-1], out=given[-1])


def _coordinates() -> np.ndarray:
    return np.concatenate([6 * i + np.arange(3) for i in range(3)])


def _momenta(p: DeltaParameters, x: np.ndarray) -> np.ndarray:
    from screwbond.models.delta.kinematics.arm import inertia

    out = x.copy().reshape(-1, 3, 2, 3)
    for row in out:
        for q, v in row:
            v[:] = np.asarray(inertia(q, p), dtype=float) @ v
    return out.reshape(x.shape)


def tolerances(several: Sequence[float] = TOLERANCES, repeats: int = 7) -> list[dict[str, float]]:
    """Measure a free motion of two seconds at several tolerances: drift, error relative to a run at 1e-13, steps and time."""
    robot = DeltaRobot(DeltaParameters.fit())
    given: dict[str, Any] = {"y": START, "torque": -0.8 * np.ones(3), "samples": 0.02}
    exact = robot.simulate(2.0, **given, rtol=1e-13)
    rows = []
    for rtol in several:
        runs = [robot.simulate(2.0, **given, rtol=rtol, max_step=1.0) for _ in range(repeats)]
        walls = [run.statistics.wall_time for run in runs]
        rows.append(
            {
                "rtol": rtol,
                "drift": float(runs[0].drift.max()),
                "error": float(np.abs(runs[0].w - exact.w).max()),
                "steps": runs[0].statistics.steps,
                "evaluations": runs[0].statistics.rates,
                "seconds": median(walls),
            }
        )
    return rows


def coordinates(drops: Sequence[tuple[float, float]] = DROPS, repeats: int = 9) -> dict[str, Any]:
    """Compare eighteen stabilised states with six minimal states: cost, and free drops through singular postures."""
    p = DeltaParameters.fit()
    y, u = np.array(START), (-1.2, -1.5, -1.3)
    minimal, robot = compile_model(minimal_graph(p, y, torques=u)), DeltaRobot(p)
    found: dict[str, Any] = {"cost": {}, "drop": []}
    for name, run in (
        ("stabilised", lambda: robot.simulate(1.0, y=y, torque=u, rtol=1e-8, samples=0.05, max_step=1.0).result),
        ("minimal", lambda: minimal.simulate(1.0, rtol=1e-8, samples=0.05, max_step=1.0)),
    ):
        results = [run() for _ in range(repeats)]
        angles = results[0]["y" if name == "stabilised" else "mechanism.q"]
        work = [result.statistics for result in results]
        found["cost"][name] = {
            "states": results[0].x.shape[1],
            "evaluations": work[0].rates,
            "angles": angles[-1].tolist(),
            "seconds per evaluation": median([w.time_per_rate for w in work]),
            "seconds": median([w.integration_time for w in work]),
        }
    ends = [np.array(found["cost"][name]["angles"]) for name in found["cost"]]
    found["difference"] = float(np.abs(ends[0] - ends[1]).max())
    for damping, rtol in drops:
        given = replace(p, DAMPING=damping)
        at = (0.25 * np.pi,) * 3
        other = compile_model(minimal_graph(given, at))
        small = other.simulate(5.0, rtol=rtol, max_steps=STALLED, progress=False)
        large = DeltaRobot(given).simulate(5.0, y=at, rtol=rtol)
        found["drop"].append(
            {
                "damping": damping,
                "rtol": rtol,
                "minimal ends": _end(small),
                "stabilised ends": _end(large.result),
                "minimal steps": small.statistics.steps,
                "stabilised steps": large.statistics.steps,
                "drift": float(large.drift.max()),
            }
        )
    return found


def _end(run: Any) -> float:
    return float(run.t[-1] if run.ok else run.failure.time)


# --- report -----------------------------------------------------------------------------------------------------------


def measure(quick: bool = False) -> dict[str, Any]:
    DeltaRobot(DeltaParameters.fit()).simulate(0.1)  # modules that are loaded only once
    found = {"processor": processor(), "compiler": compiler_version(), "construction": construction()}
    for name, (section, _) in SECTIONS.items():
        found[name] = section(quick)
    return found


def _dynamics_text(found: Mapping[str, Any]) -> str:
    rows = []
    for name in ("lagrangian", "hamiltonian"):
        part, ratios = found[name], found[name]["ratio"]
        rows.append(
            [
                name,
                str(part["operations"]),
                f"{1e9 * part['seconds']:.0f}",
                *(text for flags in FLAGS for text in (f"{1e9 * found[flags]['seconds']:.0f}", _ratio(ratios[flags]))),
            ]
        )
    head = ["", "operations", "compiled", *(word for flags in FLAGS for word in (flags, "ratio"))]
    return table("Forward dynamics of the graph, ns per evaluation; ratio compiled : C, median (quartiles)", head, rows)


def _ratio(given: Mapping[str, float]) -> str:
    return "{median:.2f} ({quartile 1:.2f}-{quartile 3:.2f})".format(**given)


def _tolerances_text(rows: Sequence[Mapping[str, float]]) -> str:
    lines = [
        [
            f"{row['rtol']:.0e}",
            f"{row['drift']:.1e}",
            f"{row['error']:.1e}",
            f"{row['steps']:.0f}",
            f"{row['evaluations']:.0f}",
            f"{1e3 * row['seconds']:.2f}",
        ]
        for row in rows
    ]
    return table(
        "Two seconds: distance of the tips, error of the tool relative to rtol 1e-13, m; cost of the whole call",
        ["rtol", "drift", "error", "steps", "evaluations", "ms"],
        lines,
    )


def _coordinates_text(found: Mapping[str, Any]) -> str:
    rows = [
        [
            name,
            str(part["states"]),
            str(part["evaluations"]),
            f"{1e9 * part['seconds per evaluation']:.0f}",
            f"{1e3 * part['seconds']:.2f}",
        ]
        for name, part in found["cost"].items()
    ]
    drops = [
        [
            f"{drop['damping']:g}",
            f"{drop['rtol']:.0e}",
            *(f"{drop[f'{name} ends']:.3f}" for name in found["cost"]),
            *(f"{drop[f'{name} steps']}" for name in found["cost"]),
            f"{drop['drift']:.1e}",
        ]
        for drop in found["drop"]
    ]
    head = ["damping", "rtol", *(f"{name} ends" for name in found["cost"]), *(f"{name} steps" for name in found["cost"]), "drift"]
    return "\n\n".join(
        [
            table(
                f"One second at rtol 1e-8; both agree to {found['difference']:.0e} rad",
                ["", "states", "evaluations", "ns per evaluation", "ms"],
                rows,
            ),
            table(f"Free drop of 5 s from pi/4: time reached, s (stopped after {STALLED} steps)", head, drops),
        ]
    )


SECTIONS: dict[str, tuple[Callable[[bool], Any], Callable[[Any], str]]] = {
    "dynamics": (lambda quick: dynamics(5 if quick else 200), _dynamics_text),
    "engines": (lambda quick: engines(400 if quick else 8000), engines_text),
    "tolerances": (lambda quick: tolerances((1e-4,), 1) if quick else tolerances(), _tolerances_text),
    "coordinates": (lambda quick: coordinates(DROPS[:1], 1) if quick else coordinates(), _coordinates_text),
    "tracking": (lambda quick: tracking(rounds=1 if quick else 5), tracked),
    "sampled": (lambda quick: sampled_tracking(1 if quick else 5), lambda found: tracked(found, TITLE)),
}


def report(found: Mapping[str, Any]) -> str:
    stages = ", ".join(f"{name} {seconds:.2f}" for name, seconds in found["construction"].items())
    texts = [f"{found['processor']}; {found['compiler']}\ngraph to callable, s: {stages}"]
    return "\n\n".join([*texts, *(text(found[name]) for name, (_, text) in SECTIONS.items())])


def main(arguments: Sequence[str] | None = None) -> dict[str, Any] | None:
    return run_command(__doc__, arguments, _run)


def _run(quick: bool) -> dict[str, Any]:
    found = measure(quick)
    print(report(found))
    return found


if __name__ == "__main__":
    main()
