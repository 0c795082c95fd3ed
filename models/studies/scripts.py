"""The examples that come with an installation: a folder in; their scripts, in that folder, out."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from screwbond.models.studies.commands import Command

from bondgraph.errors import FileError, Problem
from bondgraph.output.files import printable_path, write_all

PACKAGE = Path(__file__).resolve().parents[1]


def scripts(package: Path = PACKAGE) -> list[Path]:
    """The files of the examples: those that were installed beside `models`, else those of the checkout around it; E595 where
    there are none."""
    for folder in (package / "examples", package.parent / "examples"):
        found = sorted(path for path in folder.glob("[!_.]*") if path.is_file())
        if found:
            return found
    title = f"this installation has no examples: there is no folder {printable_path(package / 'examples')}"
    raise FileError(Problem("E595", title, (), (), ("install screwbond anew", "the folder examples/ of its sources")))


def copy_scripts(out: Path, package: Path = PACKAGE) -> list[Path]:
    """Copy all examples into a folder, all or none; returns their places.

    Raises `FileError` E595 where there are no examples, E596 where a file of that name with another content is there, E413, E417
    where the folder cannot be written.
    """
    found = scripts(package)
    changed = [path.name for path in found if (out / path.name).is_file() and (out / path.name).read_bytes() != path.read_bytes()]
    if changed:
        title = f"{printable_path(out)} holds {', '.join(changed)} with another content"
        raise FileError(Problem("E596", title, ("what you wrote there is not overwritten",), (), ("another folder",)))

    def write(folder: Path) -> None:
        for path in found:
            shutil.copyfile(path, folder / path.name)

    write_all(out, write)
    return [out / path.name for path in found]


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Copies the examples into a folder; each runs as python DIR/NAME.py --out PICTURES."
    parser.add_argument("out", type=Path, nargs="?", default=Path("examples"), metavar="DIR", help="default %(default)s")


def _copy(options: argparse.Namespace) -> int:
    written = copy_scripts(options.out)
    first = next(path for path in written if path.suffix == ".py")
    print(f"{len(written)} files in {options.out}; for instance: python {first}")
    return 0


EXAMPLES = Command("examples", "copy the scripts of the examples into a folder", _arguments, _copy)
