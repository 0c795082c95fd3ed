"""Compare many runs of the GPU code, compiled as C, with native runs: `python -m campaigns.ptx [--bits] [--runs N] [NAME ...]`.

A row gives the number of runs whose final states, measures, counts and samples are bit-identical, in threads that pause and take
the next run. If `ptxas` is installed (pip: nvidia-cuda-nvcc), it also gives the figures of NVIDIA's assembler, which takes
minutes for large models. Nothing here runs on a GPU. `--write` writes the rows into docs/gpu.md.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from screwbond.models.delta import DeltaParameters, DeltaRobot, task_control
from screwbond.models.motion import axes, quintic

from benchmarks.events import boost
from bondgraph import GY, J1, Graph, I, R, Se, compile_model, measures
from campaigns.page_tables import write_rows
from screws.errors import plural
from tests.export.live_models import CASES
from tests.gpu_runs import differences, empty_batch, on_gpu, on_processor
from tests.inner.run import gpu_kernel, kept_of
from tests.ptx_emulator import Emulated
from tests.systems import SYSTEMS

ARCHITECTURE = "sm_90"
SLOTS, BUDGET = 7, 61
HEAD = (
    "| model | runs | bit-identical | steps | events | launches | PTX, KB | KB of a thread: own, scratch | registers |"
    " stack, bytes | spilled, bytes |",
    11 * "|---" + "|",
)
PAGE = Path(__file__).parents[1] / "docs" / "gpu.md"


class Model(NamedTuple):
    """Graph, end time of its run (s), a varied parameter, the value whose samples and peak are kept (its first component),
    and settings."""

    graph: Callable[[], Graph]
    t_end: float
    varied: str
    peak: str
    settings: Mapping[str, Any] = {}


def motor() -> Graph:
    graph, current, speed = Graph("motor"), J1("current", domain="electrical"), J1("speed", domain="rotation")
    graph.connect(Se("supply", 12.0), current).connect(current, R("winding", 1.0)).connect(current, I("coil", 2e-3))
    gyrator = GY("motor", 0.05)
    graph.connect(current, gyrator).connect(gyrator, speed)
    return graph.connect(speed, I("rotor", 1e-4)).connect(speed, R("bearing", 1e-4))


def sampled_delta() -> Graph:
    robot = DeltaParameters.fit()
    way = axes(quintic(0.0, 0.01, 0.0, 1.0), quintic(0.0, 0.0, 0.0, 1.0), quintic(0.45, 0.45, 0.0, 1.0))
    control = task_control(robot, way, kp=25.0, kd=10.0, period=1e-3)
    graph = DeltaRobot(robot).graph(signals=control.torque)
    graph.add(*control.blocks)
    return graph


def _live(name: str, varied: str, peak: str) -> Model:
    case = CASES[name]
    return Model(case.graph, case.t_end, varied, peak, case.settings)


MODELS = {
    "oscillator": _live("oscillator", "spring.stiffness", "mass.flow"),
    "motor": Model(motor, 0.1, "winding.resistance", "rotor.flow"),
    "ball to rest": _live("ball to rest", "ball.inertia", "ball.flow"),
    "boost converter": Model(boost, 2e-3, "load.resistance", "c.q"),
    "bridge rectifier": _live("bridge", "load.resistance", "plus.effort"),
    "Newton loop": _live("Newton loop", "c.capacitance", "c.q"),
    "stiff (rodas5p)": _live("stiff", "r.resistance", "c.q"),
    "delta robot": _live("delta", "arm 1.mechanism.M2", "arm 1.mechanism.q"),
    "delta robot under control, 1 kHz": Model(sampled_delta, 0.1, "arm 1.mechanism.M2", "arm 1.mechanism.q"),
    "ball maze": Model(SYSTEMS["maze"], 2.0, "weight.value", "q.ball"),
    "two eggs that collide": Model(SYSTEMS["two bodies"], 0.3, "contact.spring.stiffness", "contact.spring.q"),
    "rolling eggs": _live("eggs", "gravity.spring.force", "contact.gap"),
}
SHARES = 0.9, 1.1
"""Smallest and largest value of the varied parameter, relative to the model's."""


def row(name: str, runs: int, folder: Path, command: str | None) -> tuple[str, bool]:
    """Return the row of a model, and whether the results are bit-identical; `command` is the PTX assembler or None."""
    try:
        cells, is_same = compared(name, runs, folder, command)
    except Exception as error:
        cells, is_same = [runs, f"fails: {(str(error) or repr(error)).splitlines()[0]}", *[""] * 8], False
    return f"| {' | '.join(map(str, [name, *cells]))} |", is_same


def compared(name: str, runs: int, folder: Path, command: str | None) -> tuple[Sequence[object], bool]:
    """Return the cells of a row after its name, and whether all runs that were not handed back are bit-identical."""
    model = MODELS[name]
    run = compile_model(model.graph(), progress=False).prepare_run(
        model.t_end, samples=model.t_end / 10, progress=False, **model.settings
    )
    values = np.multiply.outer(np.linspace(*SHARES, runs), np.asarray(run.compiled.parameters[model.varied].value))
    p, x, m = (np.ascontiguousarray(np.atleast_2d(b)) for b in run.start_values_many({model.varied: values}))
    prepared, blocks = run.program, (p, x, m)
    shown = f"{model.peak}[0]" if prepared.program.layout[model.peak].shape else model.peak
    kept, outputs = kept_of(prepared.program, {"top": measures.peak(shown), "course": measures.series(shown)})
    kernel = gpu_kernel(prepared, blocks, kept, outputs)
    expected, found = on_processor(prepared, blocks, kept, outputs), empty_batch(prepared, blocks, kept)
    launches = on_gpu(kernel, Emulated(kernel.ptx, folder), blocks, found, SLOTS, BUDGET)
    wrong = differences(expected, found)
    done = int((expected.status == 0).sum())
    same = f"{done} of {done}" if not wrong else f"not in {wrong}"
    if done < runs:
        same += f", {runs - done} handed back"
    counts = [f"{each.min()} to {each.max()}" for each in (expected.step_counts, expected.event_counts)]
    size = ", ".join(f"{8 * words / 1024:.1f}" for words in (kernel.state_words, kernel.scratch_words))
    cells = [runs, same, *counts, launches, len(kernel.ptx) // 1024, size, *assembled(kernel.ptx, folder, command)]
    return cells, done > 0 and not wrong


def assembled(ptx: str, folder: Path, command: str | None) -> Sequence[str]:
    if command is None:
        return ("",) * 3
    source = folder / "kernel.ptx"
    source.write_text(ptx)
    arguments = [command, "-v", f"-arch={ARCHITECTURE}", str(source), "-o", str(folder / "kernel.cubin")]
    said = subprocess.run(arguments, capture_output=True, text=True, check=True).stderr
    registers, stack = re.findall(r"Used (\d+) registers.*?(\d+) bytes cumulative stack size", said)[0]
    spills = sum(map(int, re.findall(r"(\d+) bytes spill stores", said)))
    return registers, f"{int(stack):,}", f"{spills:,}"


def assembler() -> str | None:
    """Return the path of `ptxas`, on the path or in the package nvidia-cuda-nvcc; None if it is not installed."""
    try:
        packaged = [str(each.locate()) for each in metadata.files("nvidia-cuda-nvcc") or () if each.name == "ptxas"]
    except metadata.PackageNotFoundError:
        packaged = []
    return next((path for path in packaged if os.access(path, os.X_OK)), shutil.which("ptxas"))


def no_gpu(rows: Sequence[str]) -> str:
    how = f"the PTX was run as C, and `ptxas -arch={ARCHITECTURE}` counted registers, stack and spills"
    return f"No GPU was used for these {plural(len(rows), 'row')}: {how}."


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m campaigns.ptx", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--bits", action="store_true", help="only compare results, without the assembler")
    parser.add_argument("--write", action="store_true", help=f"write the rows into {PAGE.name}")
    parser.add_argument("names", nargs="*", metavar="NAME")
    given, found, fresh = parser.parse_args([] if arguments is None else arguments), 0, list[str]()
    command = None if given.bits else assembler()
    with tempfile.TemporaryDirectory() as folder:
        print(*HEAD, sep="\n")
        for name in given.names or MODELS:
            text, is_same = row(name, given.runs, Path(folder), command)
            print(text, flush=True)
            fresh.append(text)
            found |= not is_same
    if given.write:
        write_rows(PAGE, "python -m campaigns.ptx --write", HEAD, fresh, MODELS, no_gpu)
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
