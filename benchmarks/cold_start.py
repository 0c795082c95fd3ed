"""Time to build and compile in fresh processes, without imports, and the time of `import bondgraph`.

`python -m benchmarks.cold_start NAME` is such a process: it reads a JSON list of modules to import first from its standard input,
and prints its times as JSON.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
IMPORT = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"


def python(arguments: list[str], cache: str, given: str = "") -> str:
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "SCREWBOND_CACHE": cache, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, input=given, capture_output=True, text=True, check=True
    )
    return done.stdout


def import_time(package: str) -> float:
    return float(python(["-c", IMPORT.format(package)], "off"))


def start(name: str, cache: str, modules: list[str]) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(python(["-m", "benchmarks.cold_start", name], cache, json.dumps(modules)))
    return answer


def measure(name: str, repeats: int = 5) -> dict[str, Any]:
    """Return medians over fresh processes, with the cache on disk disabled and with a full cache. With 0 repeats, return the
    times of one process with the usual cache as both: a trial does not recompile the solvers."""
    from benchmarks.timing import median

    with tempfile.TemporaryDirectory() as empty:
        folder = empty if repeats else os.environ.get("SCREWBOND_CACHE", "")
        first = start(name, folder, [])  # starts with an empty cache and fills it
        modules = first["modules"]
        cold = [start(name, "off", modules) for _ in range(repeats)] or [first]
        warm = [start(name, folder, modules) for _ in range(repeats)] or [first]
    keys = ("graph", "build", "trace", "compile", "ready", "first run", "second run", "again")
    return {
        "late imports included": first["ready"],
        "cold": {key: median([run[key] for run in cold]) for key in keys},
        "cold slowest": max(run["ready"] for run in cold),
        "warm": {key: median([run[key] for run in warm]) for key in keys},
        "processes": repeats,
    }


def imports(repeats: int = 5) -> dict[str, float]:
    from benchmarks.timing import median

    times: dict[str, list[float]] = {"numpy": [], "bondgraph": []}
    for _ in range(max(repeats, 1)):
        for package, found in times.items():
            found.append(import_time(package))
    return {package: median(found) for package, found in times.items()}


def worker(name: str) -> dict[str, Any]:
    for module in json.load(sys.stdin):
        try:
            importlib.import_module(module)
        except ImportError:  # parts of packages that exist only while those load
            continue
    from benchmarks.graphs import END, GRAPHS
    from bondgraph import compile_model

    begin = time.perf_counter()
    graph = GRAPHS[name]()
    composed = time.perf_counter()
    compiled = compile_model(graph)
    ready = time.perf_counter()
    runs = []
    for _ in range(2):
        from_here = time.perf_counter()
        compiled.simulate(END[name], rtol=1e-8, progress=False)
        runs.append(time.perf_counter() - from_here)
    modules = [module for module in sys.modules if "." not in module or module.split(".")[0] != "benchmarks"]
    from_here = time.perf_counter()
    compile_model(GRAPHS[name]())
    again = time.perf_counter() - from_here
    return {
        "graph": composed - begin,
        **compiled.timings,
        "ready": ready - begin,
        "first run": runs[0],
        "second run": runs[1],
        "again": again,
        "modules": [module for module in modules if not module.startswith("_")],
    }


if __name__ == "__main__":
    print(json.dumps(worker(sys.argv[1])))
