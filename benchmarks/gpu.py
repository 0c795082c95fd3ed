"""Runs on a GPU: comparison bit for bit with the CPU, and runs per second, also of all cores and of other installed programs.

`python -m benchmarks.gpu [--quick] [--json FILE] [--write]`; without a GPU, it prints the reason and stops.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from screwbond.models.delta import DeltaParameters

from benchmarks.command import run_command
from benchmarks.delta_mujoco import DeltaMujoco
from benchmarks.hand_written import Missing
from benchmarks.sweeps import CASES, SAMPLES, Case
from benchmarks.timing import median, processor, table
from bondgraph import J1, C, Graph, I, R, Se, compile_model
from bondgraph.devices.choose import device_of
from bondgraph.devices.device import DeviceFacts
from bondgraph.errors import ExtraError, RunError
from bondgraph.sweeps import last

DAMPING, INERTIA, PUSH, T_END = 5.0, 2.0, 1.0, 5.0
COMPARED = 1000
"""Number of runs that are compared bit for bit."""
_SINGLE = 1e-6
"""Tolerance of MuJoCo Warp's solver, which has single precision."""
RTOL = 1e-10
"""Tolerance of the oscillator's runs, here and in diffrax."""


def oscillator() -> Graph:
    graph, velocity = Graph("oscillator"), J1("velocity", domain="translation")
    graph.connect(Se("push", PUSH), velocity).connect(velocity, I("mass", inertia=INERTIA))
    return graph.connect(velocity, C("spring", stiffness=50.0)).connect(velocity, R("damper", resistance=DAMPING))


MODELS = {"oscillator": Case(oscillator, "spring.stiffness", last("spring.q"), T_END, COMPARED), **CASES}


def first_gpu() -> DeviceFacts:
    try:
        device = device_of("cuda", 1)
    except (ExtraError, RunError) as error:
        raise Missing(f"there is no GPU to run on: {str(error).splitlines()[0]}") from error
    assert device is not None
    return device.facts


def stiffnesses(runs: int) -> np.ndarray:
    return 50.0 * np.linspace(0.9, 1.1, runs)


def exact(stiffness: np.ndarray) -> np.ndarray:
    """Return the position of the oscillator at the end in closed form, m."""
    decay = DAMPING / (2.0 * INERTIA)
    rate = np.sqrt(stiffness / INERTIA - decay**2)
    swing = np.cos(rate * T_END) + decay / rate * np.sin(rate * T_END)
    return PUSH / stiffness * (1.0 - np.exp(-decay * T_END) * swing)


def seconds_of(call: Callable[[], Any], rounds: int) -> float:
    call()
    found = []
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        found.append(time.perf_counter() - begin)
    return median(found)


def measure(case: Case, runs: int, rounds: int) -> dict[str, Any]:
    compiled = compile_model(case.build(), progress=False)
    rtol = RTOL if case is MODELS["oscillator"] else 1e-7
    prepared = compiled.prepare_run(case.t_end, samples=case.t_end / (SAMPLES - 1), rtol=rtol, progress=False)

    def blocks(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        values = compiled.parameters[case.varied].value * np.linspace(0.9, 1.1, count)
        return prepared.start_values_many({case.varied: values})

    few, many, keep = blocks(COMPARED), blocks(runs), {"kept": case.keep}
    here, there = (prepared.run_many(*few, keep, device=device) for device in (None, "cuda"))
    equal = np.array([here.x[k].tobytes() == there.x[k].tobytes() for k in range(COMPARED)])
    equal &= (here.steps == there.steps) & (here.events == there.events)
    equal &= np.array([here["kept"][k].tobytes() == there["kept"][k].tobytes() for k in range(COMPARED)])
    timed_on_cores = blocks(max(COMPARED, runs // 20))
    return {
        "runs": runs,
        "same bits": int(np.count_nonzero(equal)),
        "handed back": int(np.count_nonzero(there.device == "cpu")),
        "gpu": runs / seconds_of(lambda: prepared.run_many(*many, keep, device="cuda"), rounds),
        "cores": len(timed_on_cores[0]) / seconds_of(lambda: prepared.run_many(*timed_on_cores, keep), rounds),
    }


def diffrax_peer(runs: int, rounds: int) -> dict[str, Any]:
    """Measure the oscillator in diffrax, Dopri8 in double precision, on the device that JAX finds."""
    try:
        import diffrax
        import jax
        import jax.numpy as jnp
    except ImportError as error:
        raise Missing("diffrax is not installed") from error
    jax.config.update("jax_enable_x64", True)

    def rates(t: Any, y: Any, stiffness: Any) -> Any:
        p, q = y
        return jnp.stack([PUSH - stiffness * q - DAMPING * p / INERTIA, p / INERTIA])

    control = diffrax.PIDController(rtol=RTOL, atol=RTOL * 1e-2)
    at = diffrax.SaveAt(ts=jnp.linspace(0.0, T_END, SAMPLES))

    @jax.jit
    @jax.vmap
    def solve(stiffness: Any) -> Any:
        term, solver = diffrax.ODETerm(rates), diffrax.Dopri8()
        start, more = jnp.zeros(2), {"saveat": at, "stepsize_controller": control, "max_steps": 100_000}
        found = diffrax.diffeqsolve(term, solver, 0.0, T_END, None, start, args=stiffness, **more)
        return found.ys[-1, 1]

    values = stiffnesses(runs)
    seconds = seconds_of(lambda: solve(jnp.asarray(values)).block_until_ready(), rounds)
    deviation = float(np.max(np.abs(np.asarray(solve(jnp.asarray(values))) - exact(values)) * values / PUSH))
    return {"device": str(jax.devices()[0]), "runs": runs, "per second": runs / seconds, "error": deviation}


def warp_peer(runs: int, rounds: int, step: float = 1e-3) -> dict[str, Any]:
    """Measure a simulated second of the delta robot in MuJoCo Warp, in single precision."""
    try:
        mujoco_warp, warp = (importlib.import_module(name) for name in ("mujoco_warp", "warp"))
    except ImportError as error:
        raise Missing("MuJoCo Warp is not installed") from error
    model = DeltaMujoco.make(DeltaParameters.fit(), step=step).model
    model.opt.tolerance = _SINGLE
    there = mujoco_warp.put_model(model)
    data = mujoco_warp.make_data(model, nworld=runs)
    there.opt.warn_overflow = 0  # it would print at every step
    mujoco_warp.step(there, data)

    def one() -> None:
        mujoco_warp.step(there, data)

    if warp.get_device().is_cuda:  # as in its own documentation
        with warp.ScopedCapture() as capture:
            one()
        replay: Callable[[], None] = lambda: warp.capture_launch(capture.graph)  # noqa: E731
    else:
        replay = one

    def second() -> None:
        for _ in range(round(1.0 / step)):
            replay()
        warp.synchronize()

    return {
        "device": str(warp.get_device()),
        "runs": runs,
        "per second": runs / seconds_of(second, rounds),
        "error": float("nan"),
    }


def peers(runs: int, rounds: int) -> tuple[dict[str, Any], list[str]]:
    found, absent = dict[str, Any](), list[str]()
    programs = {
        "diffrax, oscillator": lambda: diffrax_peer(runs, rounds),
        "MuJoCo Warp, delta robot 1 s": lambda: warp_peer(max(runs // 100, 1), rounds),
    }
    for name, measured in programs.items():
        try:
            found[name] = measured()
        except Missing as reason:
            absent.append(f"{reason}; it is omitted")
    return found, absent


def main(arguments: Sequence[str] | None = None) -> dict[str, Any] | None:
    return run_command(__doc__, arguments, _run)


def _run(quick: bool) -> dict[str, Any]:
    facts = first_gpu()
    runs, rounds = (2000, 1) if quick else (1_000_000, 3)
    found = {
        name: measure(case, runs if name == "oscillator" else max(runs // 10, COMPARED), rounds) for name, case in MODELS.items()
    }
    others, absent = peers(min(runs, 100_000), rounds)
    rows = [
        [
            name,
            f"{one['same bits']} of {COMPARED}",
            f"{one['handed back']}",
            f"{one['gpu']:,.0f}",
            f"{one['cores']:,.0f}",
            f"{one['gpu'] / one['cores']:.1f}",
        ]
        for name, one in found.items()
    ]
    head = ("", "bit-identical", "repeated on the CPU", "GPU, runs/s", "all cores, runs/s", "ratio")
    print(table(f"runs on a GPU: {facts.title}, compared with {processor()}", head, rows))
    if others:
        lines = [[name, one["device"], f"{one['per second']:,.0f}", f"{one['error']:.1e}"] for name, one in others.items()]
        print("\n" + table("peers", ("", "device", "runs/s", "error"), lines))
    for line in absent:
        print(line)
    return {"gpu": facts.title, **found, "peers": others}


if __name__ == "__main__":
    main()
