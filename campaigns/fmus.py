"""Check that a plant whose sampled PID is an exported FMU runs exactly like the whole graph, and measure the cost of a tick.

`python -m campaigns.fmus --ticks N` exits with 1 if a run differs, or if a tick takes over 10 us of CPU time more than a tick in
the graph. The campaign needs the C compiler `cc`, on Linux.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from screwbond.models.fmu import fmu_block

from bondgraph import Compiled, Graph, compile_model, signals
from bondgraph.model.element import Element
from tests.models.fmu.units import CAN_BUILD, archive, block, built, pid_unit, plant, twin

T_END = 0.2
CLOCKS = ((1e-3, 0.0), (1e-3, 5e-4), (7e-4, 1e-4), (3e-4, 0.0))
"""Periods and offsets, s; the reference signal jumps at tick 50."""
LARGEST_EXCESS = 10.0
"""Allowed excess of the CPU time per tick of an FMU over that of a controller in the graph, us."""


def pid(period: float, offset: float = 0.0) -> Element:
    return signals.sampled_pid("pid", "error.y", kp=0.4, ki=2.0, kd=1e-3, period=period, offset=offset)


def difference(folder: Path, version: int, period: float, offset: float) -> float:
    """Return the largest difference between a run with the FMU and a run of the whole graph; NaN if their steps differ."""
    start = offset + 50 * period
    whole = compile_model(plant(pid(period, offset), "pid.y", start)).simulate(T_END, progress=False)
    unit = pid_unit(folder / "unit.fmu", version, period, offset)
    part = fmu_block(unit, inputs={"u.value": "error.y"}, outputs=["pid.y"], period=period, offset=offset, name="unit")
    run = compile_model(plant(part, "unit.pid.y", start)).simulate(T_END, progress=False)
    if run.statistics.steps != whole.statistics.steps:
        return math.nan
    pairs = (("rotor.p", "rotor.p"), ("spring.q", "spring.q"), ("unit.pid.y", "pid.y"))
    return float(max(np.abs(run[name] - whole[other]).max() for name, other in pairs))


def microseconds(graph: Graph | Compiled, ticks: int) -> float:
    """Return the CPU time per tick of a run, the minimum of three."""
    compiled, spent = compile_model(graph) if isinstance(graph, Graph) else graph, []
    for _ in range(3):
        begin = time.process_time()
        compiled.simulate(ticks * 1e-3, samples=[0.0, ticks * 1e-3], progress=False, max_steps=100 * ticks)
        spent.append(time.process_time() - begin)
    return min(spent) / ticks * 1e6


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ticks", type=int, default=100_000)
    asked = parser.parse_args(arguments)
    if not CAN_BUILD:
        print("the FMUs need the C compiler cc, on Linux")
        return 0
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for version in (2, 3):
            for period, offset in CLOCKS:
                gap = difference(folder, version, period, offset)
                failures += gap != 0.0
                print(f"FMI {version}.0, period {period:g} s, offset {offset:g} s: {'same' if gap == 0.0 else gap}", flush=True)
        libraries, whole = built(folder), microseconds(plant(twin(1e-3, 0.4), "pid.y"), asked.ticks)
        print(f"controller in the graph: {whole:.2f} us a tick", flush=True)
        for version in (2, 3):
            empty = microseconds(plant(block(archive(folder, libraries[version], version))), asked.ticks)
            failures += empty - whole > LARGEST_EXCESS
            print(f"FMI {version}.0, one input, three outputs, empty steps: {empty - whole:+.2f} us", flush=True)
        in_graph = microseconds(plant(pid(1e-3), "pid.y"), asked.ticks)
        unit = pid_unit(folder / "unit.fmu", 2, 1e-3, 0.0)
        part = fmu_block(unit, inputs={"u.value": "error.y"}, outputs=["pid.y"], period=1e-3, name="unit")
        with_unit = microseconds(plant(part, "unit.pid.y"), asked.ticks)
        failures += with_unit - in_graph > LARGEST_EXCESS
        print(f"FMU of our PID, with its own time: {with_unit - in_graph:+.2f} us")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
