"""The dexterous hand: graph to callable, runs, and the compiled right-hand side compared with hand-written C."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from screwbond.models.hand import SCENARIOS, Hand, HandScenario, initial_posture
from screwbond.models.hand.graph import OBJECT, contact_name, finger_name
from screwbond.models.hand.graph import VIRTUAL as VIRTUAL_OBJECT
from screwbond.models.hand.grasping import in_last_link, virtual_points_in_object

from benchmarks import timing
from benchmarks.command import run_command
from benchmarks.hand_written import FLAGS, Disagreement, compiler, compiler_version
from bondgraph import Compiled, compile_model

SOURCE = Path(__file__).with_name("hand.c")
FINGERS, STATES, MODES, PARAMETERS = 3, 80, 9, 80
FINGER, CONTACT, BALL, VIRTUAL = 0, 24, 54, 67
"""Indices at which the states of the fingers (8 each), of the contacts (10 each) and of the two bodies begin."""


@contextmanager
def library(flags: tuple[str, ...] = ("-O2",)) -> Iterator[ctypes.CDLL]:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "hand.so"
        command = [compiler(), *flags, "-std=gnu11", "-shared", "-fPIC", "-o", str(target), str(SOURCE), "-lm"]
        subprocess.run(command, check=True)
        loaded = ctypes.CDLL(str(target))
        loaded.hand_many.argtypes = [ctypes.c_long, *[ctypes.c_void_p] * 5]
        loaded.hand_many.restype = None
        yield loaded


def rates(loaded: ctypes.CDLL, t: float, x: np.ndarray, p: np.ndarray, m: np.ndarray) -> np.ndarray:
    x = np.ascontiguousarray(np.atleast_2d(x), dtype=float)
    time, out = np.array([t]), np.full_like(x, np.nan)
    p, m = np.ascontiguousarray(p, dtype=float), np.ascontiguousarray(m, dtype=float)
    loaded.hand_many(len(x), *(array.ctypes.data for array in (time, x, p, m, out)))
    return out


def packed(scenario: HandScenario) -> np.ndarray:
    """Return the parameters (80,) of the C function."""
    g = scenario.parameters
    if g.fingers != FINGERS or g.object_shape != "sphere" or len(scenario.steps) > 2:
        raise ValueError("the C code is written for three fingers, a sphere and two steps of the reference")
    pose = initial_posture(g)
    lengths = np.array(g.link_lengths[1:])
    masses = np.array([*g.link_masses[1:], g.tip_mass])
    arms = np.array([[0.5, 0, 0], [1, 0.5, 0], [1, 1, 0.5], [1, 1, 1]]) * lengths
    W = arms.T @ (masses[:, None] * arms)
    ball = np.array([0.0, 0.0, 0.4 * g.tip_mass * g.tip_radius**2])
    m, r = masses[:-1], g.link_radius
    along, across = 0.5 * m * r * r + ball, m * (3.0 * r * r + lengths * lengths) / 12.0 + ball
    pole = in_last_link(g, 0, pose.joints[0], pose.poles[0])
    steps = np.zeros((2, 8))
    steps[:, 1] = 1.0
    for i, step in enumerate(scenario.steps):
        steps[i] = [step.begin, step.end, *step.shift, *step.turn]
    k = (g.rotational_stiffness, g.tangential_stiffness, g.tangential_stiffness, g.normal_stiffness)
    c = (g.rotational_damping, g.tangential_damping, g.tangential_damping, g.normal_damping)
    return np.array(
        [
            g.base_radius,
            *g.link_lengths,
            *W[np.triu_indices(3)],
            *across,
            *along,
            0.5 * g.link_masses[0] * r * r,
            g.joint_damping,
            pole[0],
            pole[2],
            g.finger_stiffness,
            g.tip_radius,
            *g.object_size,
            *k,
            *c,
            1.0 / g.object_mass,
            *(1.0 / g.inertia),
            1.0 / g.virtual_mass,
            1.0 / g.virtual_inertia,
            g.virtual_damping,
            g.virtual_rotational_damping,
            g.reference_stiffness,
            g.reference_rotational_stiffness,
            *virtual_points_in_object(g, pose).ravel(),
            *np.stack([np.cos(g.azimuths), np.sin(g.azimuths)], 1).ravel(),
            *g.object_quaternion,
            *g.object_position,
            *steps.ravel(),
        ]
    )


AGREEMENT = 1e-10
"""Largest difference of the two right-hand sides that counts as rounding error, relative to the root mean square of each rate:
forces of 2e4 N/m times 0.1 m cancel in the accelerations."""

RTOL = 1e-8
WAYS = tuple((method, rtol) for rtol in (1e-6, RTOL) for method in ("auto", "radau5"))
"""Methods and relative tolerances of the runs: damped contacts limit the steps of the explicit method that "auto" selects."""
SAMPLES = 250
START = """
import time, json
import screwbond.models.hand, bondgraph.emit.llvm
from bondgraph import compile_model
from screwbond.models.hand import SCENARIOS, Hand
begin = time.perf_counter()
graph = Hand.of(SCENARIOS["main"]).graph()
built = time.perf_counter()
compiled = compile_model(graph)
ready = time.perf_counter()
compiled.simulate(9.0, progress=False)
print(json.dumps({"graph": built - begin, "compile": ready - built, "ready": ready - begin,
                  "first run": time.perf_counter() - ready}))
"""


def places(compiled: Compiled) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the 80 states and the 9 modes of the C function among those of the graph."""
    layout = compiled.program.layout
    names = [f"{finger_name(i)}.mechanism.{state}" for i in range(FINGERS) for state in "qv"]
    for i in range(FINGERS):
        names += [f"{contact_name(i)}.{state}" for state in ("kinematics.q1", "kinematics.q2", "alpha", "gap", "spring.q")]
    names += [f"{body}.{state}" for body in (OBJECT, VIRTUAL_OBJECT) for state in ("inertia.p", "pose.H")]
    slots = [layout[name] for name in names]
    modes = [f"{contact_name(i)}.{mode}.mode" for i in range(FINGERS) for mode in ("switch", "chart 1", "chart 2")]
    return np.concatenate([np.arange(s.start, s.stop) for s in slots]), np.array([layout[name].start for name in modes])


def called(loaded: ctypes.CDLL, t: float, x: np.ndarray, p: np.ndarray, m: np.ndarray, out: np.ndarray) -> Callable[[], Any]:
    keep = (np.array([t]), x, p, m, out)
    addresses = [array.ctypes.data for array in keep]
    return lambda: (loaded.hand_many(len(x), *addresses), keep)[1]


def disagreement(compiled: Compiled, scenario: HandScenario, loaded: ctypes.CDLL, along: np.ndarray, t: float = 3.1) -> float:
    """Return the largest difference at states near the states `along`, with contacts on and off, in all charts, relative to the
    root mean square of each rate."""
    random = np.random.default_rng(2)
    states, modes = places(compiled)
    x = along[::10]
    x = x * (1.0 + 1e-3 * random.normal(size=x.shape)) + 1e-4 * random.normal(size=x.shape)
    kernel, p, packed_p = compiled.program.rates, compiled.parameters(), packed(scenario)
    start = compiled.initial()[1]
    worst = 0.0
    for bits in random.integers(0, 2, size=(40, 9)):
        m = start.copy()
        m[modes] = bits
        ours = kernel.many(np.array([t]), x, p, m)[:, states]
        theirs = rates(loaded, t, x[:, states], packed_p, bits.astype(float))
        size = np.maximum(np.sqrt(np.mean(ours * ours, axis=0)), 1e-6)
        worst = max(worst, float(np.max(np.abs(ours - theirs) / size)))
    return worst


def _states(compiled: Compiled, scenario: HandScenario) -> np.ndarray:
    run = compiled.simulate(scenario.t_end, samples=scenario.t_end / SAMPLES, rtol=RTOL, progress=False)
    return np.ascontiguousarray(run.x[:SAMPLES])


def right_hand_sides(compiled: Compiled, scenario: HandScenario, rounds: int) -> dict[str, Any]:
    x, p, t = _states(compiled, scenario), compiled.parameters(), np.array([3.1])
    states, modes = places(compiled)
    m, kernel = compiled.initial()[1], compiled.program.rates
    out = np.empty_like(x)
    with ExitStack() as stack:
        libraries = {label: stack.enter_context(library(flags)) for label, flags in FLAGS.items()}
        worst = max(disagreement(compiled, scenario, loaded, x) for loaded in libraries.values())
        if not worst <= AGREEMENT:
            raise Disagreement(f"hand: compiled and hand-written right-hand sides differ by {worst:.1e} relative")
        calls = {"compiled": lambda: kernel.many(t, x, p, m, out=out)}
        mine = np.ascontiguousarray(x[:, states])
        for label, loaded in libraries.items():
            calls[label] = called(loaded, 3.1, mine, packed(scenario), m[modes], np.empty_like(mine))
        seconds = timing.interleaved(calls, rounds, inner=3)
    return {
        "agreement": worst,
        "nanoseconds": {key: 1e9 * timing.median(value) / len(x) for key, value in seconds.items()},
        "ratio": {label: timing.ratio(seconds["compiled"], seconds[label]) for label in FLAGS},
    }


def runs(compiled: Compiled, scenario: HandScenario, repeats: int, method: str, rtol: float) -> dict[str, float]:
    found = [compiled.simulate(scenario.t_end, rtol=rtol, method=method, progress=False).statistics for _ in range(repeats)]
    return {
        "steps": float(found[0].steps),
        "evaluations": float(found[0].rates),
        "wall": timing.median([s.wall_time for s in found]),
        "ten seconds": timing.median([s.wall_time for s in found]) * 10.0 / scenario.t_end,
        "per evaluation": timing.median([s.time_per_rate for s in found]),
    }


def starts(repeats: int) -> dict[str, float]:
    """Measure the seconds from graph to callable in fresh processes without cached code, excluding imports; with 0 repeats, in
    one process with the usual cache, so that a trial does not recompile the solvers."""
    root = Path(__file__).parents[1]
    path = os.pathsep.join(filter(None, (str(root), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path, **({"SCREWBOND_CACHE": "off"} if repeats else {})}
    found = [
        json.loads(subprocess.run([sys.executable, "-c", START], env=environment, capture_output=True, check=True).stdout)
        for _ in range(max(repeats, 1))
    ]
    return {key: timing.median([each[key] for each in found]) for key in found[0]}


def measure(repeats: int = 5, rounds: int = 200, processes: int = 5) -> dict[str, Any]:
    scenario = SCENARIOS["main"]
    compiled = compile_model(Hand.of(scenario).graph())
    return {
        "processor": timing.processor(),
        "compiler": compiler_version(),
        "right-hand side": right_hand_sides(compiled, scenario, rounds),
        "runs": {f"{method}, rtol {rtol:g}": runs(compiled, scenario, repeats, method, rtol) for method, rtol in WAYS},
        "start": starts(processes),
    }


def report(found: dict[str, Any]) -> str:
    side, start = found["right-hand side"], found["start"]
    row = ["main", f"{side['nanoseconds']['compiled']:.0f}"]
    for label in FLAGS:
        r = side["ratio"][label]
        row += [f"{side['nanoseconds'][label]:.0f}", f"{r['median']:.2f} ({r['quartile 1']:.2f}-{r['quartile 3']:.2f})"]
    flags = [cell for label in FLAGS for cell in (label, "ratio")]
    return "\n\n".join(
        [
            f"{found['processor']}; {found['compiler']}",
            timing.table(
                f"Hand, one right-hand side of {STATES} states, ns; compiled : C; they agree to {side['agreement']:.0e}",
                ["", "compiled", *flags],
                [row],
            ),
            timing.table(
                "Hand, run of 9 s",
                ["", "steps", "evaluations", "wall s", "10 s of motion, s", "ns each"],
                [
                    [
                        way,
                        f"{run['steps']:.0f}",
                        f"{run['evaluations']:.0f}",
                        f"{run['wall']:.3f}",
                        f"{run['ten seconds']:.3f}",
                        f"{1e9 * run['per evaluation']:.0f}",
                    ]
                    for way, run in found["runs"].items()
                ],
            ),
            timing.table(
                "Hand, fresh process without cached code, s",
                ["", "graph", "compile", "graph to callable"],
                [["main", f"{start['graph']:.2f}", f"{start['compile']:.2f}", f"{start['ready']:.2f}"]],
            ),
        ]
    )


def main(arguments: Sequence[str] | None = None) -> dict[str, Any] | None:
    return run_command(__doc__, arguments, _run)


def _run(quick: bool) -> dict[str, Any]:
    found = measure(1, 5, 0) if quick else measure()
    print(report(found))
    return found


if __name__ == "__main__":
    main()
