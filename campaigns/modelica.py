"""Export models to Modelica, run them with rumoca, and compare the results with native runs.

`python -m campaigns.modelica [MODEL ...]` prints a table for these models, by default all of `campaigns.exports`: lines of the
source, and the largest difference of all states at all samples, relative to the size of each state, before and after the events
at sample times; or the code of the refusal. `--write` writes the rows into docs/modelica.md. `--count N --seed S` draws random
graphs until N of them can be exported as Modelica and run natively, and counts them by verdict. Each model has 60 s of CPU time.
The exit status is 1 if a model differs or fails.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import multiprocessing
import re
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from bondgraph import Graph, ModelError, compile_model
from bondgraph.compile.compiled import Compiled
from bondgraph.export import modelica_source
from bondgraph.export.code.modelica.words import quoted
from bondgraph.output.extras import missing_package
from campaigns.exports import MODELS
from campaigns.page_tables import write_rows
from campaigns.random_graphs import drawn

SAMPLES = 51
T_END = 0.0973
TOLERANCE = 1e-6
ABSOLUTE = 1e-14
SECONDS = 60.0
METHODS = (("rk-like", 1e-9), ("bdf", 1e-10), ("bdf", 1e-9))
"""Methods of rumoca with their tolerances, in the order tried: the explicit method; the implicit method if that fails; the
implicit method with a larger tolerance if rumoca finds its own interpolation too coarse for the smaller tolerance."""
COMPARED = ("agrees", "differs", "failed", "timed out")
INSTANT = 1e-10
"""Time, as a fraction of a run, within which rows belong to the same instant."""
PAGE = Path(__file__).parents[1] / "docs" / "modelica.md"
HEAD = "| model | lines | rumoca |", "|---|---|---|"


class Verdict(NamedTuple):
    """Verdict on a model: "agrees", "differs", "failed", "timed out", "ends early", "no model" or "refused, CODE"."""

    kind: str
    lines: int = 0
    gap: float = float("nan")
    remark: str = ""


def rows_of(compiled: Compiled, source: str, name: str, grid: np.ndarray, method: tuple[str, float]) -> list[np.ndarray]:
    """Return the rows of states (rows, n) at each time of a grid in a rumoca run: one, or those before and after an event."""
    import rumoca

    errors = [str(each) for each in rumoca.validate_source(source) if "error" in str(each)]
    if errors:
        raise ValueError(errors[0])
    model = rumoca.Session().loads(source, model=name)
    config = rumoca.SimConfig(solver=method[0], rtol=method[1], atol=ABSOLUTE, max_wall_seconds=20.0 * SECONDS)
    result = model.simulate(t=(0.0, grid[-1]), dt=grid[1], config=config)
    layout = compiled.program.layout
    names = [quoted(state.name, index) for state in compiled.system.states for index in np.ndindex(*layout[state.name].shape)]
    columns = [np.asarray(result[name], dtype=float) for name in names]
    times = np.asarray(result.time)
    table = np.stack(columns, axis=1) if columns else np.zeros((len(times), 0))
    found = [table[np.abs(times - t) <= INSTANT * grid[-1]] for t in grid]
    assert all(len(rows) for rows in found), "the run ended early"
    return found


def difference(
    compiled: Compiled,
    t_end: float,
    samples: int = SAMPLES,
    method: tuple[str, float] = METHODS[0],
    settings: Mapping[str, Any] = MappingProxyType({}),
) -> float:
    """Return the largest difference from the native run, relative to the size of each state along it; nan if that run ends
    early.

    The size of a state is at least a million times the difference of two native runs, or the absolute tolerance of
    rumoca, because a state that is zero by symmetry has only rounding error. If rumoca gives rows before and after an
    event at a sample, both are compared; if the event coincides with the sample within rounding error, rumoca may give
    a single row.
    """
    source = modelica_source(compiled)
    grid = np.linspace(0.0, t_end, samples)
    around = np.unique(np.concatenate([grid, grid[1:] - INSTANT * t_end, grid + INSTANT * t_end]))
    here, rough = (
        compiled.simulate(float(around[-1]), **{**settings, "samples": around, "rtol": rtol, "progress": False})
        for rtol in (1e-11, 1e-9)
    )
    if len(here.t) < len(around) or not np.all(np.isfinite(here.x)) or np.any(np.abs(here.x) > 1e8):
        return float("nan")
    layout, sizes = compiled.program.layout, np.zeros(here.x.shape[1])
    for state in compiled.system.states:
        part = slice(layout[state.name].start, layout[state.name].start + layout[state.name].size)
        noise = np.abs(here.x[:, part] - rough.x[: len(here.t), part]).max(initial=ABSOLUTE)
        sizes[part] = np.abs(here.x[:, part]).max(initial=noise / TOLERANCE)
    worst = 0.0
    for t, rows in zip(grid, rows_of(compiled, source.source, source.name, grid, method), strict=True):
        known = here.x[np.abs(around - t) <= 1.5 * INSTANT * t_end]
        sides = [known[:-1], known[-1:]] if len(rows) > 1 and t > 0.0 else [known]
        for row, side in zip(rows[[0, -1]] if len(sides) > 1 else rows[-1:], sides, strict=True):
            worst = max(worst, float(np.min(np.max(np.abs(row - side) / sizes, axis=1, initial=0.0))))
    return worst


def verdict(
    make: Callable[[], Graph],
    t_end: float,
    method: tuple[str, float] = METHODS[0],
    settings: Mapping[str, Any] = MappingProxyType({}),
) -> Verdict:
    try:
        compiled = compile_model(make(), progress=False)
    except ModelError:
        return Verdict("no model")
    try:
        lines = modelica_source(compiled).source.count("\n")
    except ModelError as error:
        return Verdict(f"refused, {error.problems[0].code}", remark=error.problems[0].title)
    try:
        gap = difference(compiled, t_end, method=method, settings=settings)
    except ModelError:
        return Verdict("ends early", lines)
    except Exception as error:  # whatever rumoca raises
        return Verdict("failed", lines, remark=f"{type(error).__name__}: {str(error)[:300]}")
    if np.isnan(gap):
        return Verdict("ends early", lines)
    return Verdict("agrees" if gap <= TOLERANCE else "differs", lines, gap, method[0])


def _send(
    pipe: Connection, make: Callable[[], Graph], t_end: float, method: tuple[str, float], settings: Mapping[str, Any]
) -> None:
    import resource  # not on Windows

    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    resource.setrlimit(resource.RLIMIT_CPU, (int(used + SECONDS / len(METHODS)), resource.RLIM_INFINITY))
    pipe.send(verdict(make, t_end, method, settings))


def limited(make: Callable[[], Graph], t_end: float, settings: Mapping[str, Any] = MappingProxyType({})) -> Verdict:
    """Check a model in a separate process with a time limit, by each method until one does not fail or differ."""
    context = multiprocessing.get_context("fork")
    found = Verdict("timed out")
    for method in METHODS:
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_send, args=(sender, make, t_end, method, settings))
        process.start()
        sender.close()
        try:
            found = receiver.recv()
        except EOFError:
            process.join()
            ended = process.exitcode == -signal.SIGXCPU
            found = Verdict("timed out") if ended else Verdict("failed", remark=f"ended by {process.exitcode}")
        process.join()
        if found.kind not in ("failed", "differs", "timed out"):
            break
    return found


def trial(seed: int, number: int) -> Verdict:
    return verdict(lambda: drawn(seed, number).graph, T_END)


def random_graphs(count: int, seed: int) -> collections.Counter[str]:
    counts: collections.Counter[str] = collections.Counter()
    for number in itertools.count():
        found = limited(lambda number=number: drawn(seed, number).graph, T_END)  # type: ignore[misc]
        counts[found.kind] += 1
        if found.kind in COMPARED[1:]:
            print(f"{number}: {found.kind}, {found.gap:.1e} {found.remark}", flush=True)
        if sum(counts[kind] for kind in COMPARED) == count:
            return counts
    raise AssertionError


def rows(names: Iterable[str]) -> Iterator[tuple[str, Verdict]]:
    for name in names:
        make, t_end, settings = MODELS[name]
        found = limited(make, t_end, settings)
        said = f"agrees, {found.gap:.0e}" if found.kind == "agrees" else found.kind
        yield f"| {name} | {found.lines or ''} | {said} |", found


def verdicts(rows: Sequence[str]) -> str:
    kinds = collections.Counter(re.sub(r", \d.*", "", line.split("|")[3].strip()) for line in rows)
    words = {"agrees": "in agreement", "differs": "different", "refused, E663": "refused (E663)"}
    return f"{len(rows)} models: {', '.join(f'{count} {words.get(kind, kind)}' for kind, count in kinds.most_common())}."


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", choices=[[], *MODELS], help="all by default")
    parser.add_argument("--count", type=int, default=0, help="check this many random graphs instead")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="write the table into the page")
    asked = parser.parse_args()
    if missing := missing_package("rumoca"):
        print(missing)
        return 0
    if asked.count:
        counts = random_graphs(asked.count, asked.seed)
        print(*(f"{count} {kind}" for kind, count in counts.most_common()), sep="\n")
    else:
        counts, fresh = collections.Counter[str](), []
        for row, found in rows(asked.models or MODELS):
            counts[found.kind] += 1
            fresh.append(row)
            print(row, found.remark, f"{found.gap:.1e}", flush=True)
        if asked.write:
            write_rows(PAGE, "python -m campaigns.modelica --write", HEAD, fresh, MODELS, verdicts)
    return int(counts["differs"] + counts["failed"] > 0)


if __name__ == "__main__":
    sys.exit(main())
