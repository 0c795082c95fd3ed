"""Output folder: what a run has to write -> all its files in a folder, or a coded error and the folder as it was."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from bondgraph.errors import FileError, Problem
from bondgraph.output.files import check_name, fresh_folder, reason, shown, unwritable


def check_directory(out: str | os.PathLike[str], files: Iterable[str] = ()) -> None:
    """Try whether `files` can be written to the folder `out`, before any work is done; it is left as it was.

    Raises `FileError` E413 where nothing can be written there, E417 where a folder has the name of one of the files.
    """
    with _folder_inside(Path(out), files, keep=False):
        pass


def write_all(out: str | os.PathLike[str], write: Callable[[Path], None], files: Iterable[str] = ()) -> None:
    """Let `write` fill a fresh folder, and move its files to `out` when all are there; else `out` stays as it was.

    Parameters
    ----------
    out : is made if there is none; files of other names in it stay.
    write : is given the folder to fill.
    files : every name that `write` may use: of those, what it did not make this time is deleted, for it is of another run.

    Raises `FileError` E413 where nothing can be written there, E417 where a folder has the name of one of the files.
    """
    out = Path(out)
    with _folder_inside(out, files, keep=True) as folder:
        new, old = folder / "new", folder / "old"
        new.mkdir()
        old.mkdir()
        write(new)
        names = sorted(path.name for path in new.iterdir())
        _check_names(out, names)
        _exchange(out, new, old, names, sorted({*names, *files}))


def write_texts(out: str | os.PathLike[str], texts: Mapping[str, str], files: Iterable[str] = ()) -> list[Path]:
    """Write texts by the names of their files, all or none, as `write_all` does; returns their paths."""

    def write(folder: Path) -> None:
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")

    write_all(out, write, {*texts, *files})
    return [Path(out) / name for name in texts]


@contextlib.contextmanager
def whole_folder(path: str | os.PathLike[str], mark: str) -> Iterator[Path]:
    """A place for a folder, of the same name; what is there at the end of the block replaces the folder at `path`, if that has a
    file called `mark`: another is not touched.

    Raises `FileError` (E414) where it cannot be written.
    """
    target = Path(path)
    try:
        check_name(target)
        real = Path(os.path.realpath(target))
        if os.path.lexists(real) and not (real / mark).is_file():
            raise unwritable(target, f"there is something else, without a file {mark}")
        if not real.parent.is_dir():
            raise unwritable(target, f"there is no folder {shown(real.parent)}")
        with fresh_folder(real.parent) as folder:
            new, old = folder / "new", folder / "old"
            new.mkdir()
            old.mkdir()
            yield new / real.name
            _exchange(real.parent, new, old, [real.name], [real.name])
    except FileError:
        raise
    except OSError as error:
        raise unwritable(target, reason(error)) from error


@contextlib.contextmanager
def _folder_inside(out: Path, files: Iterable[str], keep: bool) -> Iterator[Path]:
    """A fresh folder inside `out`, to which `files` can be written, and what the system refuses as E413.

    `out` is made where there is none. What was made is deleted in the end, unless all went well and it is to `keep`, or somebody
    put something there.
    """
    made: list[Path] = []
    try:
        _make(out, made)
        with fresh_folder(out) as folder:
            _check_names(out, files)
            yield folder
        made = [] if keep else made
    except FileError:
        raise
    except OSError as error:
        title = f"cannot write to the folder {shown(out)}"
        raise FileError(Problem("E413", title, (reason(error),), (), ("another place",))) from error
    finally:
        for place in reversed(made):
            with contextlib.suppress(OSError):
                place.rmdir()


def _exchange(out: Path, new: Path, old: Path, names: Sequence[str], known: Sequence[str]) -> None:
    """Move files of known names from `out` to `old`, and the named ones from `new` to `out`; undone where one cannot be moved."""
    moves = [(out / name, old / name) for name in known if os.path.lexists(out / name)]
    moves += [(new / name, out / name) for name in names]
    done: list[tuple[Path, Path]] = []
    try:
        for start, end in moves:
            os.replace(start, end)
            done.append((start, end))
    except BaseException:
        for start, end in reversed(done):
            os.replace(end, start)
        raise


def _check_names(out: Path, names: Iterable[str]) -> None:
    for name in names:
        place = out / name
        if place.is_dir():
            what = f"a link to the folder {shown(os.path.realpath(place))}" if place.is_symlink() else "a folder"
            title = f"cannot write the file {name} to {shown(out)}"
            raise FileError(Problem("E417", title, (f"{what} has this name there",), (), ("another place",)))


def _make(out: Path, made: list[Path]) -> None:
    """Make a folder where there is none, and note what was made, the innermost last."""
    check_name(out)
    for place in reversed([place for place in (out, *out.parents) if not os.path.lexists(place)]):
        with contextlib.suppress(FileExistsError):
            place.mkdir()
            made.append(place)
    for place in (out, *out.parents):
        if place.is_symlink() and not place.exists():
            raise OSError(f"{shown(place)} is a link to {shown(os.readlink(place))}, which does not exist")
        if place.exists() and not place.is_dir():
            raise OSError(f"{shown(place)} is a file")
