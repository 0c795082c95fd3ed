"""Entry point of the command `screwbond`: parse the arguments, run the subcommand, and report an error in one message."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from screwbond.models.delta.command import DELTA
from screwbond.models.graph_files import EXPORT_FILE, RUN_FILE, SHOW_FILE
from screwbond.models.hand.command import HAND
from screwbond.models.impact.command import IMPACT
from screwbond.models.maze.command import MAZE_COMMAND
from screwbond.models.studies.model_commands import DIAGRAM, EXAMPLES
from screwbond.models.studies.tasks import Command, parser_of
from screwbond.models.sweeping import SWEEP
from screwbond.models.two_bodies.command import CONTACT_COMMAND

from bondgraph.errors import RunEndedWarning, ScrewbondError


def main(arguments: Sequence[str] | None = None, commands: Iterable[Command] | None = None) -> int:
    """Run a command and return the exit status: 0 done, 1 the run ended early, 2 bad input, a path that cannot be written, or an
    internal error, 130 interrupted. With the status 2 or 130 the command prints one message.

    `commands` : the table of commands, by default `COMMANDS`.
    """
    options = parser_of(COMMANDS if commands is None else commands, _version("screwbond")).parse_args(arguments)
    try:
        # The commands themselves report how a run ended and which values are not finite.
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", RunEndedWarning)
            warnings.showwarning = lambda message, *_, **__: print(f"screwbond: warning: {message}", file=sys.stderr)
            status = int(options.run(options))
            sys.stdout.flush()
            return status
    except BrokenPipeError:  # the reader closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ScrewbondError, ValueError, OSError) as error:
        message = str(error)
    except MemoryError:
        message = "not enough memory; try fewer points or fewer samples"
    except KeyboardInterrupt as interrupt:
        message = "; ".join(getattr(interrupt, "__notes__", ())) or "nothing is written"
        print(f"screwbond: interrupted, {message}", file=sys.stderr)
        return 130
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        text = (str(error).strip().splitlines() or [""])[0]
        message = f"internal error, please report: {type(error).__name__}: {text} ({frame.filename}:{frame.lineno})"
    print(f"screwbond: {message}", file=sys.stderr)
    return 2


def info() -> str:
    import platform

    from screwbond.models.pictures.probe import rendering

    lines = [f"screwbond {_version('screwbond')}, Python {platform.python_version()}, {platform.platform()}"]
    for package in ("numpy", "scipy", "sympy", "networkx", "llvmlite", "pyvista", "matplotlib", "pandas"):
        lines.append(f"  {package:14} {_version(package)}")
    ok, message = rendering()
    lines.append(f"rendering: {'works' if ok else message}")
    return "\n".join(lines)


def _version(package: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _info(_: Any) -> int:
    print(info())
    return 0


def _warm(_: Any) -> int:
    from bondgraph.warming import warm

    kernels = warm()
    for name, seconds in kernels.seconds.items():
        print(f"{seconds:7.2f} s  {name}")
    print(f"{sum(kernels.seconds.values()):7.2f} s  in all, kept in {kernels.folder}")
    return 0


INFO = Command("info", "show versions, and whether pictures can be rendered", lambda parser: None, _info)
WARM = Command("warm", "compile the solvers now instead of in the first run", lambda parser: None, _warm)
COMMANDS: tuple[Command, ...] = (CONTACT_COMMAND, DELTA, HAND, IMPACT, MAZE_COMMAND, RUN_FILE, SHOW_FILE, EXPORT_FILE)
COMMANDS += (SWEEP, DIAGRAM, EXAMPLES, INFO, WARM)


if __name__ == "__main__":
    sys.exit(main())
