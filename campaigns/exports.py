"""Compare exported models with native runs: C by gcc and clang, FMI 3.0 and 2.0 in FMPy, and WebAssembly in node.

`python -m campaigns.exports [MODEL ...]` takes the ten models of live pages, the systems of the papers and the gallery. It prints
a row for each model, and the numbers of runs that are the same, differ, fail, and are refused with each error code. "Same" means
that states, outputs and modes are bit-identical at every sample, and the counts of steps and events are equal (an FMU does not
report its events). The exit status is 1 if any run differs or fails. Machine code is compiled for `SCREWBOND_PROCESSOR=baseline`.

`--columns gcc clang fmi3 fmi2 wasm` chooses columns; `--write` writes the results to docs/exports.md and keeps the results of
other models and columns.

`--compiler "clang -O2"` replaces gcc; `--compiler "aarch64-linux-gnu-gcc -static" --runner qemu-aarch64-static` runs the C code
on another processor.
"""

from __future__ import annotations

import argparse
import collections
import functools
import json
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from bondgraph import Graph, ModelError, compile_model
from bondgraph.compile.compiled import Compiled
from bondgraph.export import c_run, fmu
from bondgraph.export.fmi.variables import PLACES, VariableKind
from bondgraph.export.fmi.writer import KINDS
from bondgraph.export.run.c import run_content
from bondgraph.export.run.source import RunContent
from bondgraph.export.wasm.instance import instance_of, page_part, script
from bondgraph.output.extras import missing_package
from bondgraph.run.program.names import Slot
from bondgraph.run.results.result import Result
from bondgraph.run_arguments import RunSettings
from campaigns.processes import Progress
from examples.gallery import ENTRIES
from tests.export.live_models import CASES
from tests.systems import SYSTEMS

PAGE = Path(__file__).parents[1] / "docs" / "exports.md"
SECONDS = 900.0
"""Wall time without a result after which a model counts as failed, s."""
POINTS = 97.31
"""Number of output intervals in a run of an FMU, not an integer: no output falls on a tick, where an FMU returns the values just
after it."""
SAME, DIFFERS, FAILS, ABSENT = "same", "differs", "fails", "-"
EACH = " / "


class Model(NamedTuple):
    """Function that builds a graph, the end time of its run (s), and settings of the run."""

    make: Callable[[], Graph]
    t_end: float
    settings: Mapping[str, Any]


GROUPS: Mapping[str, Mapping[str, Model]] = {
    "Ten models from live pages": {name: Model(case.graph, case.t_end, case.settings) for name, case in CASES.items()},
    "Systems of the papers": {
        name: Model(make, {"hand": 0.05, "soft touch": 0.3}.get(name, 1.0), {})
        for name, make in SYSTEMS.items()
        if make not in [case.graph for case in CASES.values()]
    },
    "Gallery": {f"gallery: {name}": Model(entry.make, entry.t_end, dict(entry.settings)) for name, entry in ENTRIES.items()},
}
MODELS: Mapping[str, Model] = {name: model for group in GROUPS.values() for name, model in group.items()}


@dataclass(frozen=True)
class Job:
    """Compiled model whose run is exported: the end of the run (s), its settings, a folder for files, and the C compiler and
    runner."""

    compiled: Compiled
    t_end: float
    settings: Mapping[str, Any]
    folder: Path
    compiler: str
    runner: str

    def here(self, method: str, samples: np.ndarray | None = None) -> Result:
        more = {} if samples is None else {"samples": samples}
        return self.compiled.simulate(self.t_end, **{**self.settings, "method": method, **more})

    @functools.cached_property
    def content(self) -> RunContent:
        return run_content(self.compiled, self.t_end, "c_run", None, None, None, cast("RunSettings", self.settings))[0]


def outputs_of(run: Result) -> np.ndarray:
    kernel = run.program.outputs
    return np.zeros((len(run.t), 0)) if kernel is None else kernel.many(run.t, run.x, run.p, run.m)


def gap(here: np.ndarray, there: np.ndarray) -> float:
    """Return the largest difference between two arrays (k, n), relative to the largest value in its column; 0 if all values other
    than NaN are bit-identical."""
    here, there = (np.ascontiguousarray(each, dtype=float) for each in (here, there))
    if here.shape != there.shape:
        return float("inf")
    undefined = np.isnan(here)
    if not np.array_equal(undefined, np.isnan(there)):
        return float("inf")
    other = (here.view(np.int64) != there.view(np.int64)) & ~undefined
    if not other.any():
        return 0.0
    sizes = np.max(np.abs(here), axis=0, initial=0.0, where=np.isfinite(here))
    with np.errstate(invalid="ignore"):
        parts = np.abs(there - here) / np.where(sizes > 0.0, sizes, 1.0)
    return max(float(np.max(np.where(other, parts, 0.0))), 5e-324)  # the sign of a zero counts


def verdict(counts: Mapping[str, tuple[float, float]], columns: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> str:
    words = [f"{name} {there:g}, not {here:g}" for name, (here, there) in counts.items() if here != there]
    gaps = {name: gap(here, there) for name, (here, there) in columns.items()}
    words += [f"{name} by {size:.0e}" for name, size in gaps.items() if size > 0.0]
    return f"{DIFFERS}: {', '.join(words)}" if words else SAME


_MAIN = """
#include "MODEL.h"
#include <stdio.h>

static MODEL_memory memory;
static double events[ROOM * LETTERS_EVENT_WIDTH], outputs[LETTERS_OUTPUTS + 1];

int main(void)
{
    FILE *file = fopen("run.bin", "wb");
    MODEL_begin(&memory);
    MODEL_run(&memory, NULL, 0);
    const int first = memory.steps, status = MODEL_run(&memory, events, ROOM);
    const double head[] = {status, first, memory.steps, memory.events, memory.samples};
    fwrite(head, sizeof head, 1, file);
    for (int k = 0; k < memory.samples; k++) {
        fwrite(memory.rows[k], 8, LETTERS_WIDTH, file);
        fwrite(memory.modes[k], 8, LETTERS_MODES, file);
        MODEL_outputs(&memory, k, outputs);
        fwrite(outputs, 8, LETTERS_OUTPUTS, file);
    }
    fwrite(events, 8 * LETTERS_EVENT_WIDTH, (size_t)memory.events, file);
    return fclose(file);
}
"""


def in_c(job: Job, compiler: str, runner: str = "") -> str:
    run = c_run(job.compiled, job.t_end, **job.settings)
    here = job.here(run.method)
    run.write(job.folder)
    words = {"MODEL": run.name, "LETTERS": run.name.upper(), "ROOM": str(len(here.events) + 10)}
    main = re.sub("|".join(words), lambda word: words[word[0]], _MAIN)
    (job.folder / "main.c").write_text(main, encoding="utf-8")
    command = [*compiler.split(), "-std=c99", "-ffp-contract=off"]
    subprocess.run([*command, f"{run.name}.c", "main.c", "-lm", "-o", "run"], cwd=job.folder, check=True)
    subprocess.run([*runner.split(), job.folder / "run"], cwd=job.folder, check=True)
    numbers = np.fromfile(job.folder / "run.bin")
    status, first, steps, events, samples = numbers[:5].astype(int).tolist()
    blocks = {"states": here.x, "powers": here.integrals, "modes": here.m, "outputs": outputs_of(here)}
    width = sum(each.shape[1] for each in blocks.values())
    rows, log = np.split(numbers[5:], [samples * width])
    cuts = np.cumsum([each.shape[1] for each in blocks.values()])[:-1]
    parts = np.split(rows.reshape(samples, width), cuts, axis=1)
    columns = {name: (each, part) for (name, each), part in zip(blocks.items(), parts, strict=True)}
    n, log = here.x.shape[1], log.reshape(events, -1) if events else np.zeros((0, 0))
    if events and events == len(here.events):
        columns["times of events"] = here.events.times[:, None], log[:, 1:2]
        columns["states before events"] = here.events.x[0], log[:, 6 : 6 + n]
        columns["states after events"] = here.events.x[1], log[:, 6 + n : 6 + 2 * n]
    steps_here, ended = here.statistics.steps, here.failure is not None
    counts = {"steps": (steps_here, steps), "steps of the first run": (steps_here, first), "events": (len(here.events), events)}
    return verdict({**counts, "ended early": (ended, status != 0)}, columns)


def as_unit(job: Job, version: int) -> str:
    import fmpy
    from fmpy.validation import validate_fmu

    kinds = KINDS if version == 3 else KINDS[:1]
    unit = fmu(job.compiled, job.folder / "unit.fmu", t_end=job.t_end, version=version, kinds=kinds, **job.settings)
    if complaints := validate_fmu(str(unit.path)):
        return f"{FAILS}: invalid, {complaints[0]}"
    described = fmpy.read_model_description(str(unit.path), validate=False)
    folder = fmpy.extract(str(unit.path), str(job.folder / f"unit {version}"))
    instance = fmpy.instantiate_fmu(folder, described, fmi_type="CoSimulation")
    shown = {VariableKind.STATE: "states", VariableKind.OUTPUT: "outputs", VariableKind.MODE: "modes"}
    chosen = {each.name: each for each in described.modelVariables if each.valueReference >> PLACES in shown}
    there = fmpy.simulate_fmu(
        folder,
        model_description=described,
        fmu_instance=instance,
        stop_time=job.t_end,
        output_interval=job.t_end / POINTS,
        output=list(chosen),
        terminate=False,
        validate=False,
    )
    steps = _steps_of(instance, job.content)
    instance.terminate()
    instance.freeInstance()
    here = job.here(unit.method, np.minimum(there["time"], job.t_end))
    moved = bool(here.program.clocks or here.program.break_names)  # at ticks and time events, an FMU has the values just after
    kept = slice(int(moved), len(here.t) - moved)
    blocks = {"states": here.x, "outputs": outputs_of(here), "modes": here.m}
    columns: dict[str, tuple[list[np.ndarray], list[np.ndarray]]] = {name: ([], []) for name in blocks}
    for name, each in chosen.items():
        kind, first = VariableKind(each.valueReference >> PLACES), each.valueReference & ((1 << PLACES) - 1)
        values = np.asarray(there[name], dtype=float).reshape(len(there), -1)
        columns[shown[kind]][0].append(blocks[shown[kind]][kept, first : first + values.shape[1]])
        columns[shown[kind]][1].append(values[kept])
    stacked = {name: (np.hstack(a), np.hstack(b)) for name, (a, b) in columns.items() if a}
    return verdict({"samples": (len(here.t), len(there)), "steps": (here.statistics.steps, steps)}, stacked)


def _steps_of(instance: Any, run: RunContent) -> int:
    content, length = instance.serializeFMUState(instance.getFMUState()), 8 * len(run.image.words)
    words = np.frombuffer(content[-2 * length : -length], dtype=np.int64)
    return int(words[run.image.word("integrator", "steps")])


_IN_NODE = """
simulator(S).then(({ run }) => {
  const { wrong, t, columns, steps, events } = run([], 600000), fs = require("fs"), file = fs.openSync("run.bin", "w");
  for (const each of [t, ...columns]) fs.writeSync(file, new Uint8Array(each.buffer, each.byteOffset, each.byteLength));
  console.log(JSON.stringify({ wrong, steps, samples: t.length, times: events.map(([time]) => time) }));
});
"""


def in_node(job: Job) -> str:
    """Run, in node, the WebAssembly of a live page that shows all quantities, and compare it with the native run."""
    run = job.content
    here = job.here(run.method.name)
    blocks = {"x": here.x, "out": outputs_of(here), "m": here.m}
    slots = [Slot(block, 0, (each.shape[1],)) for block, each in blocks.items() if each.shape[1]]
    facts = instance_of(run, slots).text({})
    path = job.folder / "run.js"
    path.write_text(f"const S = {facts};\n{page_part('inflate.js')}{script()}{_IN_NODE}", encoding="utf-8")
    done = subprocess.run(["node", path], cwd=job.folder, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"{FAILS}: {next((line for line in done.stderr.splitlines() if 'Error' in line), 'node')}"
    told = json.loads(done.stdout)
    numbers = np.fromfile(job.folder / "run.bin").reshape(-1, told["samples"]).T
    cuts = np.cumsum([1, *(each.shape[1] for each in blocks.values())])[:-1]
    names = ("times", "states", "outputs", "modes")
    parts = np.split(numbers, cuts, axis=1)
    columns = dict(zip(names, zip((here.t[:, None], *blocks.values()), parts, strict=True), strict=True))
    columns["times of events"] = here.events.times[:, None], np.array(told["times"]).reshape(-1, 1)
    counts = {"steps": (here.statistics.steps, told["steps"]), "events": (len(here.events), len(told["times"]))}
    return verdict({**counts, "ended early": (here.failure is not None, told["wrong"] != "")}, columns)


class Column(NamedTuple):
    title: str
    compare: Callable[[Job], str]
    program: str = ""
    package: str = ""

    @property
    def missing(self) -> str:
        if self.package:
            return missing_package(self.package)
        return "" if shutil.which(self.program) else f"there is no {self.program}"


COLUMNS: Mapping[str, Column] = {
    "gcc": Column("C, gcc", lambda job: in_c(job, job.compiler, job.runner), program="gcc"),
    "clang": Column("C, clang", lambda job: in_c(job, "clang -O0 -Wall -Wextra -Wpedantic -Werror"), program="clang"),
    "fmi3": Column("FMI 3.0", lambda job: as_unit(job, 3), package="fmpy"),
    "fmi2": Column("FMI 2.0", lambda job: as_unit(job, 2), package="fmpy"),
    "wasm": Column("WebAssembly", in_node, program="node"),
}


def compare_model(name: str, columns: Iterable[str], compiler: str, runner: str, tell: Callable[[str, str], None]) -> None:
    """Pass the method, states, steps and events of a model, and then the result of each column, to `tell`."""
    warnings.simplefilter("ignore")  # an exported run is as unreliable as the native run
    model = MODELS[name]
    compiled = compile_model(model.make(), progress=False)
    with tempfile.TemporaryDirectory() as folder:
        job = Job(compiled, model.t_end, {**model.settings, "progress": False}, Path(folder), compiler, runner)
        try:
            method = job.content.method.name
        except ModelError:
            method = model.settings.get("method", "auto")
        here = job.here(method)
        facts = (here.statistics.method, compiled.program.states, here.statistics.steps, len(here.events))
        for word, value in zip(FACTS, facts, strict=True):
            tell(word, str(value))
        for column in columns:
            try:
                tell(column, COLUMNS[column].compare(job))
            except ModelError as error:
                tell(column, f"{error.problems[0].code}: {'; '.join((error.problems[0].title, *error.problems[0].details))}")
            except Exception as error:  # whatever the check raises
                tell(column, f"{FAILS}: {type(error).__name__}: {str(error)[:300]}")


def _in_process(pipe: Connection, name: str, columns: Sequence[str], compiler: str, runner: str) -> None:
    os.setsid()
    compare_model(name, columns, compiler, runner, lambda *cell: pipe.send(cell))
    pipe.close()


def cells(name: str, columns: Sequence[str], compiler: str, runner: str, seconds: float = SECONDS) -> dict[str, str]:
    """Return the row of a model from a process that is terminated after `seconds` without a result."""
    context = multiprocessing.get_context("fork")  # the parent has loaded and translated everything
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_in_process, args=(send, name, columns, compiler, runner))
    process.start()
    send.close()
    row, rest = dict[str, str](), f"{FAILS}: no result in {seconds:g} s"
    with suppress(EOFError):
        while receive.poll(seconds):
            column, said = receive.recv()
            row[column] = said
        with suppress(ProcessLookupError):
            os.killpg(process.pid or 0, signal.SIGKILL)
    process.join()
    if process.exitcode != -signal.SIGKILL:
        rest = f"{FAILS}: the process ended with exit code {process.exitcode}"
    return {**row, **{column: rest for column in columns if column not in row}}


FACTS = ("method", "states", "steps", "events")
HEAD = """# Exported runs

Every model of the [gallery](gallery_models.md), every system of the papers, and ten models of [live pages](live.md) are run as
C code, as FMUs and as WebAssembly, and compared with `simulate` under `SCREWBOND_PROCESSOR=baseline`.
`python -m campaigns.exports --write` writes this page.

* *Same*: states, outputs and modes are bitwise equal at every sample, and the numbers of steps and events are equal. For C and
  WebAssembly, event times are equal too; for C, so are states before and after events, and integrated powers.
* C is compiled with gcc and clang without optimisation, and clang gives no warnings. FMUs are compiled with gcc `-O2`, validated
  by FMPy (3.0 with model exchange) and simulated by `simulate_fmu` between ticks; at a tick or a discontinuity in time an FMU
  gives the values just after it. WebAssembly runs in node.
* [E281](errors.md) means that the model is refused, because part of the run needs Python; a dash, that it was not run.
* A single verdict in a row applies to all five exports.
"""
_ROW = re.compile(r"^\| `([^`]+)` \| (.*) \|$", re.MULTILINE)


def short(said: str) -> str:
    """Return a cell of the page: the code of a refusal, or the verdict, without its details if it has 40 letters or more."""
    code = re.match(r"E\d{3}", said)
    if code:
        return code[0]
    return said if len(said) < 40 else said.partition(":")[0]


def rows_of(page: str) -> dict[str, dict[str, str]]:
    found = {}
    for name, row in _ROW.findall(page):
        *facts, said = row.split(" | ")
        verdicts = said.split(EACH) if EACH in said else [said] * len(COLUMNS)
        found[name] = dict(zip((*FACTS, *COLUMNS), (*facts, *verdicts), strict=True))
    return found


def joined(verdicts: Sequence[str]) -> str:
    return verdicts[0] if len(set(verdicts)) == 1 else EACH.join(verdicts)


def page_text(rows: Mapping[str, Mapping[str, str]]) -> str:
    parts, titles = [HEAD, summary(rows)], EACH.join(column.title for column in COLUMNS.values())
    for group, models in GROUPS.items():
        lines = [_line(name, rows[name]) for name in models if name in rows]
        if lines:
            head = [f"| model | {' | '.join(FACTS)} | {titles} |", "|---" * (len(FACTS) + 2) + "|"]
            parts.append("\n".join([f"## {group}\n", *head, *lines]) + "\n")
    return "\n".join(parts)


def _line(name: str, row: Mapping[str, str]) -> str:
    facts, verdicts = ([row.get(word, ABSENT) for word in words] for words in (FACTS, COLUMNS))
    return f"| `{name}` | {' | '.join(facts)} | {joined(verdicts)} |"


def summary(rows: Mapping[str, Mapping[str, str]]) -> str:
    counts = {word: collections.Counter(_kind(row.get(word, ABSENT)) for row in rows.values()) for word in COLUMNS}
    kinds = sorted({kind for each in counts.values() for kind in each}, key=lambda kind: (kind != SAME, kind))
    lines = [f"| {kind} | {' | '.join(str(counts[word][kind]) for word in COLUMNS)} |" for kind in kinds]
    titles = " | ".join(column.title for column in COLUMNS.values())
    return "\n".join([f"| {len(rows)} models | {titles} |", "|---" * (len(COLUMNS) + 1) + "|", *lines]) + "\n"


def _kind(said: str) -> str:
    return short(said).partition(":")[0]


def compared_rows(
    names: Sequence[str], columns: Sequence[str], compiler: str, runner: str
) -> Iterator[tuple[str, dict[str, str]]]:
    progress = Progress(len(names), "models")
    for name in names:
        row = cells(name, columns, compiler, runner)
        bad = [f"{column}: {said}" for column, said in row.items() if said.startswith((DIFFERS, FAILS))]
        progress.add(f"{name}: {'; '.join(bad)}" if bad else "")
        yield name, row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", choices=[[], *MODELS], metavar="MODEL", help="all by default")
    parser.add_argument("--columns", nargs="+", choices=[*COLUMNS], default=[*COLUMNS], help="all by default")
    parser.add_argument("--compiler", default="gcc -O0", help="C compiler with its options (default gcc -O0)")
    parser.add_argument("--runner", default="", help="command that runs a program, such as an emulator of another processor")
    parser.add_argument("--write", action="store_true", help=f"write the results to {PAGE.name}")
    asked = parser.parse_args()
    os.environ["SCREWBOND_PROCESSOR"] = "baseline"
    columns = [name for name in asked.columns if not COLUMNS[name].missing]
    for name in set(asked.columns) - set(columns):
        print(COLUMNS[name].missing)
    found = dict[str, dict[str, str]]()
    for name in ("oscillator", "stiff"):  # so that every process inherits the solvers
        compare_model(name, columns, asked.compiler, asked.runner, lambda *_: None)
    for name, row in compared_rows(asked.models or list(MODELS), columns, asked.compiler, asked.runner):
        found[name] = row
        print(f"| {name} | {' | '.join(row.get(word, ABSENT) for word in (*FACTS, *columns))} |", flush=True)
        if asked.write:
            before = rows_of(PAGE.read_text(encoding="utf-8")) if PAGE.exists() else {}
            before[name] = {**before.get(name, {}), **{word: short(said) for word, said in row.items()}}
            PAGE.write_text(page_text(before), encoding="utf-8")
    print(f"\n{summary(found)}")
    return int(any(said.startswith((DIFFERS, FAILS)) for row in found.values() for said in row.values()))


if __name__ == "__main__":
    sys.exit(main())
