"""Tasks of a study and their commands, which read arguments, run, write files and pictures, print an overview and return an exit
status.

The suffix of a file sets its format.

| suffix | content |
|---|---|
| .npz | arrays by name |
| .json | JSON values; non-finite numbers become null |
| .csv | a `Table` |
| .tex, .txt | text |
| .svg | a drawing, as from `bondgraph.render.diagram` |
"""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
from argparse import Namespace
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, TypeVar

import numpy as np
from screwbond.models.studies.fields import REQUIRED, Declared, declarations, field_lines, format_value
from screwbond.models.studies.reading import make_from_input

from bondgraph.compile.compiled import Compiled
from bondgraph.errors import refusal
from bondgraph.export import document
from bondgraph.output.extras import missing_package
from bondgraph.output.files import check_directory, json_text, write_all
from bondgraph.output.progress import Progress
from bondgraph.render.diagram import diagram
from bondgraph.run.results.failure import Failure
from bondgraph.run.results.result import Result
from screws.names import similar_names
from screws.names.renamed import FILES


@dataclass(frozen=True, eq=False)
class Picture:
    """Picture file of a study.

    Parameters
    ----------
    draw : function that draws it to a path.
    missing : function that returns a line on a missing requirement and how to get it; "" if none is missing.
    work : approximate duration, relative to a plot.
    bar : True if `draw` shows its own progress, as for movies, and takes `progress`.
    """

    draw: Callable[..., object]
    missing: Callable[[], str] = lambda: ""
    work: float = 1.0
    bar: bool = False


def plot(draw: Callable[[Path], object], work: float = 1.0) -> Picture:
    return Picture(draw, lambda: missing_package("matplotlib"), work)


def select_names(names: Sequence[str], only: Collection[str], about: str = "") -> tuple[str, ...]:
    """Select file names by `only`, with suffixes or without; all if `only` is empty.

    Raises `ModelError` E590 for an unknown name.

    >>> select_names(["graph.svg", "movie.mp4", "movie.gif"], ["movie"])
    ('movie.mp4', 'movie.gif')
    """
    stems = list(dict.fromkeys(PurePath(name).stem for name in names))
    for word in only:
        if word not in stems and word not in names:
            similar = similar_names(word, [*stems, *names], most=1)
            similar = [FILES[word]] if FILES.get(word) in stems else similar
            cures = ([f'did you mean "{similar[0]}"?'] if similar else []) + [", ".join(stems)]
            raise refusal("E590", f'no output is called "{word}"', *cures, about=about, places=())
    return tuple(name for name in names if not only or name in only or PurePath(name).stem in only)


def draw_pictures(pictures: Mapping[str, Picture], folder: Path, *, progress: bool = True) -> str:
    reasons = {name: picture.missing() for name, picture in pictures.items()}
    ready = {name: picture for name, picture in pictures.items() if not reasons[name]}
    done = 0.0
    with Progress("pictures", sum(picture.work for picture in ready.values()), progress) as bar:
        for name, picture in ready.items():
            bar.show(done, name)
            picture.draw(folder / name, **({"progress": progress} if picture.bar else {}))
            done += picture.work
    names_by_reason = {
        why: [name for name, reason in reasons.items() if reason == why] for why in dict.fromkeys(filter(None, reasons.values()))
    }
    return "; ".join(f"without {', '.join(names)}: {why}" for why, names in names_by_reason.items())


@dataclass(frozen=True, eq=False)
class Table:
    """Rows (k, n) under n column heads; `form` is the format of an entry."""

    head: Sequence[str]
    rows: Any
    form: str = "%.17g"


def write_table(path: Path, table: Table) -> None:
    np.savetxt(path, table.rows, delimiter=",", header=",".join(table.head), comments="", fmt=table.form, encoding="utf-8")


WRITERS: dict[str, Callable[[Path, Any], object]] = {
    ".npz": lambda path, arrays: np.savez_compressed(path, **arrays),
    ".json": lambda path, content: path.write_text(json_text(content), encoding="utf-8"),
    ".csv": write_table,
    ".tex": lambda path, text: path.write_text(text, encoding="utf-8"),
    ".txt": lambda path, text: path.write_text(text, encoding="utf-8"),
    ".svg": lambda path, drawing: drawing.write(path),
}


def graph_files(compiled: Compiled, folded: Collection[str] = ()) -> dict[str, Callable[[], Any]]:
    return {"graph.svg": lambda: diagram(compiled, folded=folded), "equations.tex": lambda: document(compiled)}


SUMMARY = "summary.json"


@dataclass(frozen=True, eq=False)
class Outcome:
    """Outcome of a run, to be written and printed.

    Parameters
    ----------
    summary : main figures, the content of summary.json.
    files : contents of other files by name, or functions that return them.
    overview : main figures as lines of text.
    pictures : pictures by file name, in drawing order.
    notes : corrections and likely mistakes.
    failure : reason for an early end.
    """

    summary: Mapping[str, Any]
    files: Mapping[str, Any]
    overview: Sequence[str]
    pictures: Mapping[str, Picture] = field(default_factory=dict)
    notes: Sequence[str] = ()
    failure: Failure | None = None


@dataclass(frozen=True)
class Task:
    """Task of a command.

    Parameters
    ----------
    help : description in one line.
    read : function of the arguments that returns the request, a record, or raises errors for invalid arguments.
    run : function of the request and the arguments that returns the outcome.
    files, pictures : names of all files that it can write in addition to summary.json, and of all pictures that it can draw.
    arguments : function that adds the task's arguments to a parser or argument group.
    fields : records with the declared fields of the parameter file, by title.
    """

    help: str
    read: Callable[[Namespace], Any]
    run: Callable[[Any, Namespace], Outcome]
    files: tuple[str, ...]
    pictures: tuple[str, ...] = ()
    arguments: Callable[[Any], None] = lambda group: None
    fields: Mapping[str, type | Mapping[str, Declared]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.files, SUMMARY, *self.pictures)

    def save(self, outcome: Outcome, out: Path, *, render: bool = True, only: Collection[str] = (), progress: bool = True) -> str:
        """Write the files of an outcome to the folder `out`, all or none, with pictures if `render`; return the overview.

        Parameters
        ----------
        only : files to write in addition to the summary, with or without suffixes; all by default; an unknown file raises E590.
        progress : show a bar on a terminal if writing takes longer than two seconds.

        Files of an earlier run are deleted, so that all files in a folder belong to one run. One line on stderr names pictures
        that are omitted and what they need; all other files are written.
        """
        names = select_names(self.names, only, out.name)
        files = {name: content for name, content in outcome.files.items() if name in names}
        pictures = {name: picture for name, picture in outcome.pictures.items() if render and name in names}

        def write(folder: Path) -> None:
            for name, content in {**files, SUMMARY: outcome.summary}.items():
                WRITERS[Path(name).suffix](folder / name, content() if callable(content) else content)
            missing = draw_pictures(pictures, folder, progress=progress)
            if missing:
                print(missing, file=sys.stderr)

        write_all(out, write, self.names)
        return "\n".join([*outcome.overview, f"  files in {out}"])

    def __call__(self, options: Namespace) -> int:
        select_names(self.names, options.only, options.out.name)
        request = self.read(options)
        check_directory(options.out, self.names)
        outcome = self.run(request, options)
        text = self.save(outcome, options.out, render=not options.no_render, only=options.only)
        print("\n".join([text, *(f"note: {note}" for note in outcome.notes)]))
        if outcome.failure is not None:
            print(f"screwbond: {outcome.failure}", file=sys.stderr)
        return 0 if outcome.failure is None else 1


MAX_SAMPLES = 1e7


def complex_pairs(values: np.ndarray) -> list[list[float]]:
    return [[float(value.real), float(value.imag)] for value in values]


def compile_times(compiled: Compiled) -> dict[str, float]:
    timings = compiled.timings
    return {"build": timings["build"], "compile": timings["trace"] + timings["compile"]}


def wall_times(compiled: Compiled, result: Result) -> dict[str, float]:
    return {**compile_times(compiled), "run": result.statistics.wall_time}


def end_summary(result: Result) -> dict[str, Any]:
    failure = result.failure
    return {"t_end": float(result.t[-1]), "completed": failure is None, "failure": None if failure is None else str(failure)}


def cost_summary(result: Result, wall: Mapping[str, float]) -> dict[str, Any]:
    ledger, statistics = result.ledger, result.statistics
    return {
        "energy": ledger.summary(),
        "ledger_residual": ledger.relative_residual,
        "solver": {
            "solver": statistics.solver,
            "method": statistics.method,
            "steps": statistics.steps,
            "right_hand_sides": statistics.rates,
            "seconds_per_right_hand_side": statistics.time_per_rate,
        },
        "wall_time": dict(wall),
        "peak_memory_bytes": peak_memory(),
    }


def cost_line(name: str, summary: Mapping[str, Any], digits: int = 0) -> str:
    wall = summary["wall_time"]
    stages = ", ".join(f"{stage} {1e3 * wall[stage]:.0f} ms" for stage in wall if stage != "run")
    return f"{name}: {summary['t_end']:g} s simulated in {1e3 * wall['run']:.{digits}f} ms ({stages})"


def peak_memory() -> int | None:
    """Return the peak resident memory of this process, bytes, or None if unknown."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


T = TypeVar("T")


@dataclass(frozen=True)
class Command:
    """Subcommand of `screwbond`.

    Parameters
    ----------
    name, help : name, and description in one line.
    fill : function that adds arguments, a description and an epilog to a parser.
    run : function of the parsed arguments that returns the exit status.
    """

    name: str
    help: str
    fill: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def parser_of(commands: Iterable[Command], version: str = "") -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="screwbond", description="Simulate screw bond graphs and draw pictures.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {version}")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in commands:
        subparser = subparsers.add_parser(command.name, help=command.help, formatter_class=argparse.RawDescriptionHelpFormatter)
        command.fill(subparser)
        subparser.set_defaults(run=command.run)
    return parser


def study_command(
    name: str, tasks: Mapping[str, Task] | Task, *, help: str = "", arguments: Callable[[Any], None] = lambda parser: None
) -> Command:
    """Return a command for one task, or for several by name, of which the first is the default.

    `help` is a line, by default from the first task; `arguments` adds arguments shared by all tasks.
    """
    table = {"": tasks} if isinstance(tasks, Task) else dict(tasks)
    first = next(iter(table))

    def fill(parser: argparse.ArgumentParser) -> None:
        if len(table) > 1:
            text = "Tasks: " + "; ".join(f"{name}: {task.help}" for name, task in table.items()) + "."
            parser.add_argument("task", choices=list(table), nargs="?", default=first, help="default %(default)s")
        else:
            text = f"Writes {', '.join(table[first].names)}."
        arguments(parser)
        parser.add_argument("--out", type=Path, required=True, metavar="DIR")
        choice = parser.add_mutually_exclusive_group()
        choice.add_argument("--no-render", action="store_true", help="write no pictures and no plots")
        choice.add_argument(
            "--only", type=_words, default=(), metavar="NAME,...", help="write only these files, named with or without extensions"
        )
        for title, task in table.items():
            task.arguments(parser.add_argument_group(title) if title else parser)
        titled = {title: fields for task in table.values() for title, fields in task.fields.items()}
        parser.description = _wrapped(text)
        tables = [_wrapped(f"{title}:", *(f"  {line}" for line in field_lines(fields))) for title, fields in titled.items()]
        parser.epilog = "\n\n".join(tables)

    return Command(name, help or table[first].help, fill, lambda options: table[getattr(options, "task", first)](options))


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _wrapped(*lines: str) -> str:
    width = shutil.get_terminal_size().columns - 2
    indents = ["      " if line.startswith(" ") else "" for line in lines]
    return "\n".join(
        textwrap.fill(line, width, subsequent_indent=indent, break_on_hyphens=False)
        for line, indent in zip(lines, indents, strict=True)
    )


def add_fields(group: Any, record: type, flags: Mapping[str, str]) -> None:
    fields = declarations(record)
    for flag, name in flags.items():
        declared = fields[name]
        unit = f", {declared.unit}" if declared.unit else ""
        default = "" if declared.default in (None, REQUIRED) else f" (default {format_value(declared.default)})"
        count = declared.length({}) if declared.many else None
        group.add_argument(
            flag,
            type=int if declared.integer else str if declared.options else float,
            choices=declared.options or None,
            nargs=count,
            metavar=tuple(f"X{k + 1}" for k in range(count)) if count else None,
            default=None if declared.default is REQUIRED else declared.default,
            required=declared.default is REQUIRED,
            help=f"{declared.meaning}{unit}{default}".replace("%", "%%"),
        )


def record_of(record: Callable[..., T], options: argparse.Namespace, flags: Mapping[str, str], **fields: Any) -> T:
    values = {name: getattr(options, flag.removeprefix("--").replace("-", "_")) for flag, name in flags.items()}
    return make_from_input(lambda: record(**values, **fields))


def script_parser(about: str, out: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(out))
    return parser


def output_folder(about: str, out: str) -> Path:
    folder: Path = script_parser(about, out).parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def add_solver(group: Any, rtol: float) -> None:
    group.add_argument("--rtol", type=float, default=rtol, help="relative tolerance (default %(default)g)")
    group.add_argument("--method", default="auto", help="integration method (default %(default)s)")
