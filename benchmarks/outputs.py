"""One output of a large model at many samples: CPU seconds and memory of runs that keep everything, or only this output.

`python -m benchmarks.outputs [--quick] [--json FILE]`
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.chain import chain
from benchmarks.command import run_command
from benchmarks.timing import median, processor, table
from bondgraph import compile_model

SECTIONS, SAMPLES, T_END, ROUNDS = 10_000, 1001, 1.0, 5
STEPS = "two samples"


def one_output(sections: int, rounds: int) -> dict[str, dict[str, float]]:
    """Return CPU seconds and peak memory (MB), without the compiled model, for each choice of quantities to keep."""
    compiled = compile_model(chain(sections), progress=False)
    names = compiled.program.layout.names("out")
    name, times = names[len(names) // 2], np.linspace(0.0, T_END, SAMPLES)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.npz"

        def run(samples: Any = times, **given: Any) -> Any:
            return compiled.simulate(T_END, samples=samples, progress=False, **given)

        calls: dict[str, Callable[[], Any]] = {
            STEPS: lambda: run(times[[0, -1]]),
            "everything": run,
            "everything, one output read": lambda: run()[name],
            "one output": lambda: run(keep=name)[name],
            "one output, to a file": lambda: run(keep=name, sink=path),
        }
        np.testing.assert_array_equal(run(keep=name)[name], run()[name])
        seconds = {what: list[float]() for what in calls}
        for call in calls.values():  # objects that are made only once
            call()
        for _ in range(rounds):  # in turn, so that a disturbance affects all runs
            for what, call in calls.items():
                begin = time.process_time()
                call()
                seconds[what].append(time.process_time() - begin)
        memory = {what: _megabytes(call) for what, call in calls.items()}
    return {what: {"seconds": median(seconds[what]), "megabytes": memory[what]} for what in calls}


def _megabytes(call: Callable[[], Any]) -> float:
    tracemalloc.start()
    call()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / 2**20


def main(arguments: Sequence[str] | None = None) -> dict[str, Any] | None:
    return run_command(__doc__, arguments, _measure, "a hundredth of the sections, once, as a trial")


def _measure(quick: bool) -> dict[str, Any]:
    sections = SECTIONS // 100 if quick else SECTIONS
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.apply(one_output, (sections, 1 if quick else ROUNDS))
    steps = found[STEPS]["seconds"]
    lines = [
        (what, f"{own['seconds']:.2f}", f"{own['seconds'] - steps:.2f}", f"{own['megabytes']:.0f}") for what, own in found.items()
    ]
    title = f"a chain of {sections:,} sections at {SAMPLES} samples ({processor()})"
    print(table(title, ("kept", "CPU s", "beyond two samples", "MB"), lines))
    return {"processor": processor(), "sections": sections, "outputs": found}


if __name__ == "__main__":
    main()
