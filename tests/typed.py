"""mypy, with the folder models/ as the package `screwbond.models`: `python -m tests.typed`, with mypy's own arguments."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from os.path import abspath, join

from mypy.build import build
from mypy.errors import CompileError
from mypy.fscache import FileSystemCache
from mypy.main import process_options

ALL = ("screws", "bondgraph", "models", "screwbond")


def check(arguments: Sequence[str]) -> int:
    """Print mypy's messages about the requested files, by default all packages, and return the exit status."""
    cache = FileSystemCache()
    asked, options = process_options([*arguments], fscache=cache)
    options.cache_dir = join(options.cache_dir, "typed")  # in mypy's own cache the modules have their old names
    others, _ = process_options([*ALL], fscache=cache)
    sources = {abspath(source.path): source for source in (*others, *asked)}
    for source in sources.values():
        if source.module.partition(".")[0] == "models":
            source.module = f"screwbond.{source.module}"
    wanted, count = {abspath(source.path) for source in asked}, 0

    def show(path: str | None, lines: list[str], serious: bool) -> None:
        nonlocal count
        if lines and (serious or path is None or abspath(path) in wanted):
            count += len(lines)
            print(*lines, sep="\n", flush=True)

    try:
        build([*sources.values()], options, flush_errors=show, fscache=cache)
    except CompileError:  # its messages have been shown
        count += 1
    return min(count, 1)


if __name__ == "__main__":
    sys.exit(check(sys.argv[1:]))
