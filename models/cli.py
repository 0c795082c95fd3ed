"""The command `screwbond`: run scenario files, and say what this installation can do."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bondgraph.errors import RunEndedWarning, ScrewbondError
from models.delta.command.runs import add_delta_command
from models.hand.command import add_hand_command


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status: 0 done, 1 the run ended early, 2 bad input, a place that cannot be
    written, or an error of this project; then one message says so, and nothing is written."""
    options = _parser().parse_args(arguments)
    try:
        # The commands say themselves how a run ended and what in it is not finite.
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", RunEndedWarning)
            warnings.showwarning = _say
            status = int(options.command(options))
            sys.stdout.flush()
            return status
    except (ScrewbondError, ValueError) as error:
        said = str(error)
    except BrokenPipeError:  # who reads has heard enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        said = str(error)
    except MemoryError:
        said = "there is not enough memory; fewer points, or fewer samples"
    except KeyboardInterrupt:
        print("screwbond: interrupted, nothing is written", file=sys.stderr)
        return 130
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        words = (str(error).strip().splitlines() or [""])[0]
        said = f"internal error, please report: {type(error).__name__}: {words} ({place.filename}:{place.lineno})"
    print(f"screwbond: {said}", file=sys.stderr)
    return 2


def _say(message: Warning | str, *_: Any, **__: Any) -> None:
    """A warning in one line: where Python met it says nothing to who types a command."""
    print(f"screwbond: warning: {message}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="screwbond", description="Screw bond graphs: simulate and picture.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    contact = commands.add_parser(
        "contact",
        help="run two bodies in contact from a scenario file",
        description="Writes trajectory.npz, events.json, summary.json, graph.svg, equations.tex and the pictures.",
    )
    contact.add_argument("scenario", type=Path, metavar="SCENARIO.json")
    contact.add_argument("--out", type=Path, required=True, metavar="DIR")
    contact.add_argument("--no-render", action="store_true", help="write no pictures of the scene and no plots")
    contact.add_argument("--rtol", type=float, default=1e-10, help="relative tolerance (default %(default)g)")
    contact.add_argument("--method", default="auto", help="integration method (default %(default)s)")
    contact.set_defaults(command=_contact)
    add_delta_command(commands)
    add_hand_command(commands)
    info = commands.add_parser("info", help="versions, and whether pictures can be rendered")
    info.set_defaults(command=_info)
    return parser


def _contact(options: argparse.Namespace) -> int:
    from bondgraph.output.folders import check_directory
    from models.two_bodies.files import FILES, save_run
    from models.two_bodies.run import run_scenario
    from models.two_bodies.scenario import read_scenario

    scenario = read_scenario(options.scenario)
    check_directory(options.out, FILES)
    run = run_scenario(scenario, rtol=options.rtol, method=options.method)
    summary = save_run(run, options.out, render=not options.no_render)
    print(overview(summary, options.out))
    for note in scenario.notes:
        print(f"note: {note}")
    if run.result.failure is not None:
        print(f"screwbond: {run.result.failure}", file=sys.stderr)
        return 1
    return 0


def overview(summary: dict[str, Any], out: Path) -> str:
    """The main figures of a run, for reading."""
    events, peak, wall = summary["events"], summary["peak_force"], summary["wall_time"]
    return "\n".join(
        [
            f"{summary['name']}: {summary['t_end']:g} s simulated in {1e3 * wall['run']:.1f} ms"
            f" (build {1e3 * wall['build']:.0f} ms, compile {1e3 * wall['compile']:.0f} ms)",
            f"  contact on {events['contact on']} times, off {events['contact off']} times;"
            f" largest normal force {peak['value']:.6g} N at {peak['time']:.6g} s",
            f"  energy {summary['energy']['stored at start']:.6g} J at the start,"
            f" ledger residual {summary['ledger_residual']:.1e} of the energy in play",
            f"  files in {out}",
        ]
    )


def _info(options: argparse.Namespace) -> int:
    print(info())
    return 0


def info() -> str:
    """Versions of everything that takes part, solvers and rendering."""
    import platform

    from bondgraph.run.integrators.sundials import library
    from models.pictures.probe import rendering

    lines = [f"screwbond {_version('screwbond')}, Python {platform.python_version()}, {platform.platform()}"]
    for package in ("numpy", "scipy", "sympy", "networkx", "llvmlite", "scikit-sundae", "pyvista", "matplotlib", "pandas"):
        lines.append(f"  {package:14} {_version(package)}")
    found, reason = library.available()
    lines.append(f"solver: {'SUNDIALS and machine code' if found else f'machine code and SciPy ({reason})'}")
    ok, message = rendering()
    lines.append(f"rendering: {'works' if ok else message}")
    return "\n".join(lines)


def _version(package: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


if __name__ == "__main__":
    sys.exit(main())
