"""Subcommands of `screwbond`: argument parsers whose `--help` lists every parameter."""

from __future__ import annotations

import argparse
import shutil
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from screwbond.models.studies.fields import REQUIRED, declarations, field_lines, format_value
from screwbond.models.studies.reading import make_from_input
from screwbond.models.studies.tasks import Task

T = TypeVar("T")


@dataclass(frozen=True)
class Command:
    """Subcommand of `screwbond`.

    Parameters
    ----------
    name, help : its name, and a line.
    fill : adds arguments, a description and an epilog to its parser.
    run : parsed arguments -> exit status.
    """

    name: str
    help: str
    fill: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def parser_of(commands: Iterable[Command], version: str = "") -> argparse.ArgumentParser:
    """Return the parser of a table of commands; parsed arguments have the `run` of the chosen command."""
    parser = argparse.ArgumentParser(prog="screwbond", description="Screw bond graphs: simulate and picture.")
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
    """Return a command for one task, or for several by name; the first is the default.

    `help` is a line, by default that of the first task; `arguments` adds arguments of all tasks, besides those of files.
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
            "--only", type=_words, default=(), metavar="NAME,...", help="write these files alone, named with endings or without"
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
    """Wrap lines to the terminal width; continuation lines of indented ones are indented further."""
    width = shutil.get_terminal_size().columns - 2
    indents = ["      " if line.startswith(" ") else "" for line in lines]
    return "\n".join(
        textwrap.fill(line, width, subsequent_indent=indent, break_on_hyphens=False)
        for line, indent in zip(lines, indents, strict=True)
    )


def add_fields(group: Any, record: type, flags: Mapping[str, str]) -> None:
    """Add arguments for declared fields of a record, flag -> field, with meaning, unit, count and default of the field."""
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
    """Make the record of the arguments that `add_fields` added, and of further `fields`."""
    values = {name: getattr(options, flag.removeprefix("--").replace("-", "_")) for flag, name in flags.items()}
    return make_from_input(lambda: record(**values, **fields))


def add_solver(group: Any, rtol: float) -> None:
    """Add the arguments --rtol and --method of a run."""
    group.add_argument("--rtol", type=float, default=rtol, help="relative tolerance (default %(default)g)")
    group.add_argument("--method", default="auto", help="integration method (default %(default)s)")
