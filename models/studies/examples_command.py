"""Command `screwbond examples`: copy the installed example scripts into a folder."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from screwbond.models.studies.commands import Command

from bondgraph.errors import FileError, Problem
from bondgraph.output.files import printable_path, write_all

PACKAGE = Path(__file__).resolve().parents[1]


def example_files(package: Path = PACKAGE) -> list[Path]:
    """Return the example files: those installed beside `models`, else those of the checkout; E595 without any."""
    for folder in (package / "examples", package.parent / "examples"):
        files = sorted(path for path in folder.glob("[!_.]*") if path.is_file())
        if files:
            return files
    title = f"this installation has no examples: there is no folder {printable_path(package / 'examples')}"
    raise FileError(Problem("E595", title, (), (), ("install screwbond anew", "the folder examples/ of its sources")))


def copy_scripts(out: Path, package: Path = PACKAGE) -> list[Path]:
    """Copy all examples into a folder, all or none; return their paths.

    Raises `FileError` E595 without examples, E596 for an existing file with different content, E413, E417 for a folder that
    cannot be written.
    """
    files = example_files(package)
    changed = [path.name for path in files if (out / path.name).is_file() and (out / path.name).read_bytes() != path.read_bytes()]
    if changed:
        title = f"{printable_path(out)} holds {', '.join(changed)} with another content"
        raise FileError(Problem("E596", title, ("what you wrote there is not overwritten",), (), ("another folder",)))

    def write(folder: Path) -> None:
        for path in files:
            shutil.copyfile(path, folder / path.name)

    write_all(out, write)
    return [out / path.name for path in files]


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Copies the examples into a folder; each runs as python DIR/NAME.py --out PICTURES."
    parser.add_argument("out", type=Path, nargs="?", default=Path("examples"), metavar="DIR", help="default %(default)s")


def _copy(options: argparse.Namespace) -> int:
    written = copy_scripts(options.out)
    first = next(path for path in written if path.suffix == ".py")
    print(f"{len(written)} files in {options.out}; for instance: python {first}")
    return 0


EXAMPLES = Command("examples", "copy the scripts of the examples into a folder", _arguments, _copy)
