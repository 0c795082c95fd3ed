"""Exported runs: the cost of writing and compiling them, and the speed of ten models in C and WebAssembly, relative to native
runs.

`python -m benchmarks.exports [--quick] [--json FILE]`. All times are CPU times, including compilers.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from benchmarks.command import run_command
from benchmarks.hand_written import FLAGS, Missing, compiler
from benchmarks.timing import median, processor, table
from bondgraph import compile_model
from bondgraph.compile.compiled import Compiled
from bondgraph.export import c_run, fmu, live_page
from bondgraph.export.run.c import run_content
from bondgraph.export.wasm.instance import instance_of, page_part, script
from bondgraph.run_arguments import RunSettings
from tests.export.live_models import CASES, Case

ROUNDS, SECONDS = 7, 0.2
"""Number of rounds, and the approximate run time of a model in each round, s."""
EXPORTS: Mapping[str, str] = {"c": "c_run, text", "gcc": "c_run, text and gcc -O2", "fmu": "fmu, FMI 3.0", "page": "live_page"}
_MAIN = """
#include "run.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static run_memory memory;

int main(int count, char **words)
{
    const int runs = atoi(words[count - 1]);
    run_begin(&memory);
    run_run(&memory, NULL, 0);
    const clock_t begin = clock();
    for (int k = 0; k < runs; k++)
        run_run(&memory, NULL, 0);
    printf("%.9g %d", (double)(clock() - begin) / CLOCKS_PER_SEC / runs, memory.steps);
    return 0;
}
"""
_IN_NODE = """
simulator(S).then(({ run }) => {
  const runs = Number(process.argv[2]);
  const spent = () => { const { user, system } = process.cpuUsage(); return 1e-6 * (user + system); };
  for (const begin = spent(); spent() - begin < 0.5;) run([]);  // until the engine has optimised it
  const begin = spent();
  let steps = 0;
  for (let k = 0; k < runs; k++) steps = run([]).steps;
  console.log((spent() - begin) / runs, steps);
});
"""


def _cpu() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def cost(what: str) -> None:
    case = CASES["oscillator"]
    compiled = compile_model(case.graph(), progress=False)
    compiled.simulate(case.t_end, progress=False)
    with tempfile.TemporaryDirectory() as folder:
        begin = _cpu()
        if what in ("c", "gcc"):
            run = c_run(compiled, case.t_end, name="run", progress=False)
            size = len(run.text)
            if what == "gcc":
                run.write(folder)
                subprocess.run([compiler(), *_flags(), "-c", "run.c"], cwd=folder, check=True)
                size = Path(folder, "run.o").stat().st_size
        elif what == "fmu":
            size = fmu(compiled, Path(folder, "unit.fmu"), t_end=case.t_end, progress=False).path.stat().st_size
        else:
            live = {"spring.stiffness": (10.0, 200.0)}
            page = live_page(compiled, t_end=case.t_end, live=live, show=case.show, progress=False)
            size = len(page.text)
        print(json.dumps({"seconds": _cpu() - begin, "size": size}))


def _flags() -> tuple[str, ...]:
    return "-std=c99", "-ffp-contract=off", *FLAGS["gcc -O2"]


def _node() -> tuple[str, ...]:
    """Return the node command with relaxed SIMD, without which a fused multiply-add takes many operations."""
    relaxed = ("node", "--experimental-wasm-relaxed-simd")
    return relaxed if subprocess.run([*relaxed, "-e", ""], capture_output=True).returncode == 0 else relaxed[:1]


def costs(names: Sequence[str], quick: bool) -> dict[str, dict[str, float]]:
    """Return the seconds and sizes of exports of the oscillator in two new processes, with an empty and with a full cache;
    with `quick`, in one process with the usual cache."""
    found = dict[str, dict[str, float]]()
    for name in names:
        command = [sys.executable, "-c", f"from benchmarks.exports import cost; cost({name!r})"]
        with tempfile.TemporaryDirectory() as empty:
            kept = {**os.environ} if quick else {**os.environ, "SCREWBOND_CACHE": empty}
            told = [
                json.loads(subprocess.run(command, env=kept, stdout=subprocess.PIPE, check=True).stdout)
                for _ in range(1 if quick else 2)
            ]
        found[name] = {"first": told[0]["seconds"], "size": told[0]["size"], "again": np.nan if quick else told[1]["seconds"]}
    return found


def speeds(case: Case, folder: Path, rounds: int, seconds: float) -> dict[str, float]:
    compiled = compile_model(case.graph(), progress=False)
    settings = {**case.settings, "progress": False}
    here, count = _here(compiled, case, settings)
    _write_c(compiled, case, settings, folder)
    run = run_content(compiled, case.t_end, "c_run", None, None, None, cast("RunSettings", settings))[0]
    facts = instance_of(run, [compiled.program.layout[name] for name in case.show]).text({})
    (folder / "run.js").write_text(f"const S = {facts};\n{page_part('inflate.js')}{script()}{_IN_NODE}", encoding="utf-8")
    here(1)
    runs = max(1, int(seconds / here(3)))
    steps = {"here": float(count)}

    def told(*command: str | Path) -> float:
        words = subprocess.run([*command, str(runs)], cwd=folder, capture_output=True, text=True, check=True).stdout.split()
        steps[str(command[0])] = float(words[1])
        return float(words[0])

    calls: dict[str, Callable[[], float]] = {"here": lambda: here(runs), "C": lambda: told("./run")}
    node = _node()
    calls["wasm"] = lambda: told(*node, "run.js")
    times = {name: np.empty(rounds) for name in calls}
    for k in range(rounds):  # in turn, so that a disturbance affects all runs
        for name, call in calls.items():
            times[name][k] = call()
    ratios = {f"{name} / here": median(times[name] / times["here"]) for name in ("C", "wasm")}
    counted = {"steps": steps["here"], "steps in C": steps["./run"], "steps in wasm": steps["node"]}
    return {**counted, **{name: median(each) for name, each in times.items()}, **ratios}


def _here(compiled: Compiled, case: Case, settings: Mapping[str, Any]) -> tuple[Callable[[int], float], int]:
    prepared = compiled.prepare_run(case.t_end, **settings)
    x, p, m = prepared.start_values()
    steps = compiled.simulate(case.t_end, **settings).statistics.steps

    def seconds(runs: int) -> float:
        begin = time.process_time()
        for _ in range(runs):
            prepared.run(p, x, m)
        return (time.process_time() - begin) / runs

    return seconds, steps


def _write_c(compiled: Compiled, case: Case, settings: Mapping[str, Any], folder: Path) -> None:
    c_run(compiled, case.t_end, name="run", **settings).write(folder)
    (folder / "main.c").write_text(_MAIN, encoding="utf-8")
    subprocess.run([compiler(), *_flags(), "-march=native", "run.c", "main.c", "-lm", "-o", "run"], cwd=folder, check=True)


def main(arguments: Sequence[str] | None = None) -> dict[str, Any] | None:
    return run_command(__doc__, arguments, _run)


def _run(quick: bool) -> dict[str, Any]:
    compiler()
    if shutil.which("node") is None:
        raise Missing("node is not installed: apt install nodejs")
    names = ("c",) if quick else tuple(EXPORTS)
    cases = {name: CASES[name] for name in ("oscillator",)} if quick else CASES
    found: dict[str, Any] = {"processor": processor(), "costs": costs(names, quick), "speeds": {}}
    for name, case in cases.items():
        with tempfile.TemporaryDirectory() as folder:
            found["speeds"][name] = speeds(case, Path(folder), *((1, 0.01) if quick else (ROUNDS, SECONDS)))
    written = [
        (EXPORTS[name], f"{each['first']:.2f}", f"{each['again']:.2f}", f"{each['size'] / 1024:.0f}")
        for name, each in found["costs"].items()
    ]
    title = f"Exports of the oscillator in a new process, CPU seconds ({found['processor']})"
    print(table(title, ("export", "nothing cached", "cached", "KB"), written))
    rows = [
        (
            name,
            *(f"{each[word]:.0f}" for word in ("steps", "steps in C", "steps in wasm")),
            *(f"{1e3 * each[word]:.3g}" for word in ("here", "C", "wasm")),
            *(f"{each[word]:.2f}" for word in ("C / here", "wasm / here")),
        )
        for name, each in found["speeds"].items()
    ]
    head = ("model", "steps", "in C", "in wasm", "here ms", "C ms", "wasm ms", "C / here", "wasm / here")
    print(table("\nRuns in CPU milliseconds: machine code here, C with gcc -O2 -march=native, WebAssembly in node", head, rows))
    return found


if __name__ == "__main__":
    main()
