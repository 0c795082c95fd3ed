"""Runs as C files: compiled, run twice, and compared with the native run to the last bit.

`python -m campaigns.runs_in_c [MODEL ...]` prints a table: size of the text, time to write and to compile it, steps, events, and
whether states, integrated powers, modes and events have the same bits; then how many are the same, differ and are refused. It
exits with 1 if any differ.

Another compiler: `--compiler "clang -O2"`. Another processor: `--compiler "aarch64-linux-gnu-gcc -static"`, with
`--runner qemu-aarch64-static`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bondgraph import GY, J0, J1, C, Diode, Graph, I, ModelError, R, Se, compile_model, signals
from bondgraph.compile.compiled import Compiled
from bondgraph.export import CRun, c_run
from examples import bouncing_ball
from examples.gallery import ENTRIES
from screws.scalars import sin
from tests.systems import SYSTEMS

_MAIN = """
#include "MODEL.h"
#include <stdio.h>

static MODEL_memory memory;
static double events[10000 * LETTERS_EVENT_WIDTH];

int main(void)
{
    MODEL_begin(&memory);
    MODEL_run(&memory, NULL, 0);
    const int first = memory.steps, status = MODEL_run(&memory, events, 10000);
    const double head[] = {status, first, memory.steps, memory.events};
    fwrite(head, sizeof head, 1, stdout);
    fwrite(memory.rows, sizeof memory.rows, 1, stdout);
    fwrite(memory.modes, sizeof memory.modes, 1, stdout);
    fwrite(events, 8 * LETTERS_EVENT_WIDTH, (size_t)memory.events, stdout);
    return 0;
}
"""


def oscillator() -> Graph:
    """A mass on a spring with a damper under a constant force."""
    graph, v = Graph("oscillator"), J1("velocity", domain="translation")
    graph.connect(Se("push", 1.0), v).connect(v, I("mass", inertia=2.0))
    return graph.connect(v, C("spring", stiffness=50.0)).connect(v, R("damper", resistance=5.0))


def van_der_pol() -> Graph:
    """Van der Pol's oscillator, x'' = mu (1 - x^2) x' - x."""
    graph, v = Graph("Van der Pol"), J1("v")
    force = Se("f", lambda x, v, mu: mu * (1 - x * x) * v, signals=["c.q", "m.flow"], parameters={"mu": 1.0})
    return graph.connect(v, I("m", 1.0)).connect(v, C("c", stiffness=1.0, initial=2.0)).connect(force, v)


def stiff() -> Graph:
    """A mass on a spring with a damper that is far faster than both."""
    graph, v = Graph("stiff"), J1("v")
    graph.connect(v, I("m", 1.0, initial=1.0)).connect(v, C("c", stiffness=1e3, initial=1.0))
    return graph.connect(v, R("r", 1e3))


def servo() -> Graph:
    """A DC motor under a sampled PID at 1 kHz."""
    graph, current, speed = Graph("servo"), J1("current", domain="electrical"), J1("speed", domain="rotation")
    graph.add(signals.step("wanted", start=0.05, after=100.0))
    graph.add(signals.summation("error", {"wanted.y": 1, "rotor.flow": -1}))
    graph.add(signals.sampled_pid("controller", "error.y", kp=0.05, ki=2.0, kd=1e-4, period=1e-3, limits=(-24.0, 24.0)))
    graph.connect(Se("supply", lambda u: u, signals=["controller.y"]), current)
    graph.connect(current, R("winding", 1.0)).connect(current, I("coil", 2e-3))
    motor = GY("motor", 0.05)
    graph.connect(current, motor).connect(motor, speed)
    return graph.connect(speed, I("rotor", 1e-4)).connect(speed, R("bearing", 1e-4))


def bridge() -> Graph:
    """A rectifier of four diodes with a reservoir."""
    mains, a, b, plus = J1("mains"), J0("a"), J0("b"), J0("plus")
    graph = Graph("bridge").connect(Se("u", lambda t: 20 * sin(314.16 * t), signals="time"), mains)
    graph.connect(b, mains).connect(mains, a).connect(mains, R("winding", 1.0)).connect(b, R("leak", 1e6))
    for name, tail, head in (("a plus", a, plus), ("b plus", b, plus), ("ground a", None, a), ("ground b", None, b)):
        arm = J1(name)
        graph.connect(arm, Diode(f"diode {name}")).connect(arm, R(f"R {name}", 1e-3)).connect(arm, head)
        if tail is not None:
            graph.connect(tail, arm)
    return graph.connect(plus, C("reservoir", capacitance=1e-3)).connect(plus, R("load", 50.0))


def newton_loop() -> Graph:
    """A source that charges a capacitor through a resistor and a nonlinear resistor."""
    graph, v = Graph("loop"), J1("v")
    graph.connect(Se("source", lambda t: 2.0 * sin(6.0 * t), signals=["time"]), v).connect(v, R("r", 1.0))
    return graph.connect(v, R("d", effort=lambda i: i + i**3)).connect(v, C("c", capacitance=0.3))


MODELS: Mapping[str, tuple[Callable[[], Graph], float, dict[str, Any]]] = {
    "oscillator": (oscillator, 5.0, {}),
    "Van der Pol": (van_der_pol, 20.0, {}),
    "ball to rest": (bouncing_ball.with_restitution, 6.0, {}),
    "ball on a switched constraint": (lambda: bouncing_ball.on_constraint(20.0), 6.0, {}),
    "servo": (servo, 0.5, {}),
    "bridge": (bridge, 0.1, {}),
    "Newton loop": (newton_loop, 2.0, {}),
    "stiff": (stiff, 300.0, {}),
    **{name: (make, {"hand": 0.05, "soft touch": 0.3}.get(name, 1.0), {}) for name, make in SYSTEMS.items()},
    **{f"gallery: {name}": (entry.make, entry.t_end, dict(entry.settings)) for name, entry in ENTRIES.items()},
}


def compared(
    compiled: Compiled, run: CRun, t_end: float, settings: dict[str, Any], compiler: str, runner: str
) -> tuple[str, bool]:
    """Compile the C file of a run, run it and compare it; return a row of the table, and equality."""
    with tempfile.TemporaryDirectory() as folder:
        run.write(folder)
        main = _MAIN.replace("MODEL", run.name).replace("LETTERS", run.name.upper())
        (Path(folder) / "main.c").write_text(main, encoding="utf-8")
        begin = os.times()
        command = [*compiler.split(), "-std=c99", "-ffp-contract=off", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
        subprocess.run([*command, f"{run.name}.c", "main.c", "-lm", "-o", "run"], cwd=folder, check=True)
        seconds = os.times().children_user - begin.children_user
        numbers = np.frombuffer(subprocess.run([*runner.split(), f"{folder}/run"], capture_output=True, check=True).stdout)
    here = compiled.simulate(t_end, method=run.method, **settings)
    status, first, steps, events = numbers[:4].astype(int).tolist()
    samples, modes = len(here.t), here.m
    width = here.x.shape[1] + here.integrals.shape[1]
    rows = numbers[4 : 4 + samples * width].reshape(samples, width)
    after = 4 + samples * max(width, 1)
    held = numbers[after : after + samples * max(modes.shape[1], 1)].reshape(samples, -1)[:, : modes.shape[1]]
    log = numbers[after + samples * max(modes.shape[1], 1) :].reshape(events, -1) if events else np.zeros((0, 0))
    counts = (status, first, steps, events) == (0, here.statistics.steps, here.statistics.steps, len(here.events))
    states = here.x.shape[1]
    same = counts and np.ascontiguousarray(rows).tobytes() == np.hstack([here.x, here.integrals]).tobytes()
    same = same and np.array_equal(held, modes)
    if same and events:
        before, following = (log[:, 6 + k * states : 6 + (k + 1) * states] for k in range(2))
        same = np.array_equal(before, here.events.x[0]) and np.array_equal(following, here.events.x[1])
        same = same and np.array_equal(log[:, 1], here.events.times)
    row = f"{run.method} | {states} | {steps} = {here.statistics.steps} | {events} = {len(here.events)} | {seconds:.1f}"
    return f"{row} | {'yes' if same else 'NO'}", bool(same)


def main() -> int:
    """Compare the models that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", choices=[[], *MODELS], help="all by default")
    parser.add_argument("--compiler", default="gcc -O1", help="compiler with its options (default gcc -O1)")
    parser.add_argument("--runner", default="", help="command that runs a program, such as an emulator of another processor")
    asked = parser.parse_args()
    print(f"| model | text, KB | made, s | method | states | steps | events | {asked.compiler}, s | same bits |", flush=True)
    print("|---|---|---|---|---|---|---|---|---|")
    differ, refused, asked_for = 0, 0, asked.models or MODELS
    for name in asked_for:
        make, t_end, settings = MODELS[name]
        compiled = compile_model(make(), progress=False)
        begin = time.process_time()
        try:
            run = c_run(compiled, t_end, progress=False, **settings)
        except ModelError as error:
            refused += 1
            print(f"| {name} | refused: {error.problems[0].code}, {error.problems[0].details[0]} |", flush=True)
            continue
        made = time.process_time() - begin
        row, same = compared(compiled, run, t_end, {**settings, "progress": False}, asked.compiler, asked.runner)
        differ += not same
        print(f"| {name} | {len(run.text) // 1024} | {made:.1f} | {row} |", flush=True)
    print(f"{len(asked_for) - differ - refused} of {len(asked_for)} the same, {differ} differ, {refused} refused")
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
