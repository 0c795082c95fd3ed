"""Command `screwbond sweep`: run a model file by a plan file into a store, and resume an existing store."""

from __future__ import annotations

import argparse
import contextlib
import csv
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Executor
from pathlib import Path

from screwbond.models.pictures.figures import PLOTS
from screwbond.models.studies.commands import Command
from screwbond.models.studies.fields import field_lines
from screwbond.models.studies.reading import make_from_input
from screwbond.models.sweeping.plan import SweepPlan, read_plan

from bondgraph.interchange import load_model
from bondgraph.output.cells import plural
from bondgraph.output.extras import require_package
from bondgraph.output.files import atomic_file, known_ending, printable_path
from bondgraph.sweeps import Runs, sweep


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Runs a model at many points. What the store has is not run again: after an interrupt, type the same."
    parser.add_argument("model", type=Path, metavar="MODEL.json", help="a file of save_model")
    parser.add_argument("plan", type=Path, metavar="PLAN.json", help="what is varied, how long is run, what is kept")
    parser.add_argument("--store", type=Path, required=True, metavar="FILE", help="an SQLite database, made or gone on with")
    parser.add_argument("--out", type=Path, metavar="TABLE.csv", help="a row for each run, once all are there")
    parser.add_argument("--plot", type=Path, metavar="PICTURE", help="what is kept over what is varied: .png, .svg, .pdf")
    parser.add_argument(
        "--processes", type=_process_count, metavar="N", help="processes to run in, instead of threads of this one"
    )
    parser.epilog = "\n".join(
        ["PLAN.json: vary or points, keep, settings, and", *(f"  {line}" for line in field_lines(SweepPlan))]
    )


def _process_count(text: str) -> int:
    """Parse a number of processes."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no count of processes: a whole number from 1")
    return int(text)


def _sweep(options: argparse.Namespace) -> int:
    if options.out is not None:
        known_ending(options.out, ".csv")
    if options.plot is not None:
        known_ending(options.plot, *PLOTS)
        require_package("plots", "matplotlib")
    plan, model = read_plan(options.plan), load_model(options.model)
    with _executor(options.processes) as executor:
        runs = make_from_input(
            lambda: sweep(
                model,
                plan.points,
                plan.t_end,
                keep=plan.keep,
                runs=plan.runs,
                seed=plan.seed,
                store=options.store,
                executor=executor,
                **plan.settings,
            )
        )
    if options.out is not None:
        write_runs(runs, options.out)
    if options.plot is not None:
        write_plot(runs, options.plot)
    print("\n".join(_overview(runs, options.store)))
    return 0


def write_runs(runs: Runs, path: Path) -> None:
    """Write a CSV table with one row for each run, numbers with all digits; atomically."""
    columns = runs.table()
    with atomic_file(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))


def write_plot(runs: Runs, path: Path) -> None:
    """Write the plot of `Runs.plot` to a file, atomically."""
    import matplotlib.pyplot as plt

    figure = runs.plot()[0].figure
    with atomic_file(path) as part:
        figure.savefig(part, dpi=160)
    plt.close(figure)


def _overview(runs: Runs, store: Path) -> Iterator[str]:
    """Yield lines with the main figures."""
    failures = runs.failures
    yield f"{runs.name}: {plural(len(runs), 'run')} in {printable_path(store)}, {len(failures)} failed"
    for (kind, reason), count in Counter((fault.kind, fault.reason) for fault in failures).most_common(5):
        yield f"  {count} x {kind}: {reason}"


@contextlib.contextmanager
def _executor(processes: int | None) -> Iterator[Executor | None]:
    if processes is None:
        yield None
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        yield pool


SWEEP = Command("sweep", "run a model at many points, from files", _arguments, _sweep)
