"""Atomic writing of folders: all files of a run appear in the folder, or a coded error and the folder as it was."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from bondgraph.errors import FileError, Problem
from bondgraph.output.files import check_name, printable_path, system_reason, temporary_folder, write_error


def check_directory(out: str | os.PathLike[str], files: Iterable[str] = ()) -> None:
    """Check before any work that `files` can be written to the folder `out`; it is left as it was.

    Raises `FileError` E413 if nothing can be written there, E417 if a folder has the name of one of the files.
    """
    with _staging_folder(Path(out), files, keep=False):
        pass


def write_all(out: str | os.PathLike[str], write: Callable[[Path], None], files: Iterable[str] = ()) -> None:
    """Let `write` fill a fresh folder, then move its files to `out`; if anything fails, `out` stays as it was.

    Parameters
    ----------
    out : is created if it does not exist; files of other names in it stay.
    write : receives the folder to fill.
    files : all names that `write` may use: old files of these names are deleted, since they belong to another run.

    Raises `FileError` E413 where nothing can be written there, E417 where a folder has the name of one of the files.
    """
    out = Path(out)
    with _staging_folder(out, files, keep=True) as folder:
        new, old = folder / "new", folder / "old"
        new.mkdir()
        old.mkdir()
        write(new)
        names = sorted(path.name for path in new.iterdir())
        _check_names(out, names)
        _swap_files(out, new, old, names, sorted({*names, *files}))


def write_texts(out: str | os.PathLike[str], texts: Mapping[str, str], files: Iterable[str] = ()) -> list[Path]:
    """Write texts by file name, all or none, as `write_all` does; return their paths."""

    def write(folder: Path) -> None:
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")

    write_all(out, write, {*texts, *files})
    return [Path(out) / name for name in texts]


@contextlib.contextmanager
def atomic_folder(path: str | os.PathLike[str], mark: str) -> Iterator[Path]:
    """Yield a temporary folder of the same name; at the end of the block it replaces the folder at `path`, if that contains a
    file called `mark` (any other folder is left alone).

    Raises `FileError` (E414) where it cannot be written.
    """
    target = Path(path)
    try:
        check_name(target)
        real = Path(os.path.realpath(target))
        if os.path.lexists(real) and not (real / mark).is_file():
            raise write_error(target, f"there is something else, without a file {mark}")
        if not real.parent.is_dir():
            raise write_error(target, f"there is no folder {printable_path(real.parent)}")
        with temporary_folder(real.parent) as folder:
            new, old = folder / "new", folder / "old"
            new.mkdir()
            old.mkdir()
            yield new / real.name
            _swap_files(real.parent, new, old, [real.name], [real.name])
    except FileError:
        raise
    except OSError as error:
        raise write_error(target, system_reason(error)) from error


@contextlib.contextmanager
def _staging_folder(out: Path, files: Iterable[str], keep: bool) -> Iterator[Path]:
    """Yield a fresh folder inside `out` from which `files` can be moved; turn the system's errors into E413.

    Creates `out` if needed. Unless all went well and `keep` is set, the folders created are deleted again, if empty.
    """
    created: list[Path] = []
    try:
        _make_folders(out, created)
        with temporary_folder(out) as folder:
            _check_names(out, files)
            yield folder
        created = [] if keep else created
    except FileError:
        raise
    except OSError as error:
        title = f"cannot write to the folder {printable_path(out)}"
        raise FileError(Problem("E413", title, (system_reason(error),), (), ("another place",))) from error
    finally:
        for path in reversed(created):
            with contextlib.suppress(OSError):
                path.rmdir()


def _swap_files(out: Path, new: Path, old: Path, names: Sequence[str], replaced: Sequence[str]) -> None:
    """Move the `replaced` files from `out` to `old`, and the `names` from `new` to `out`; undo all if one move fails."""
    moves = [(out / name, old / name) for name in replaced if os.path.lexists(out / name)]
    moves += [(new / name, out / name) for name in names]
    done: list[tuple[Path, Path]] = []
    try:
        for source, target in moves:
            os.replace(source, target)
            done.append((source, target))
    except BaseException:
        for source, target in reversed(done):
            os.replace(target, source)
        raise


def _check_names(out: Path, names: Iterable[str]) -> None:
    for name in names:
        path = out / name
        if path.is_dir():
            what = f"a link to the folder {printable_path(os.path.realpath(path))}" if path.is_symlink() else "a folder"
            title = f"cannot write the file {name} to {printable_path(out)}"
            raise FileError(Problem("E417", title, (f"{what} has this name there",), (), ("another place",)))


def _make_folders(out: Path, created: list[Path]) -> None:
    """Create a folder and its parents, and append those created to `created`, the innermost last."""
    check_name(out)
    for path in reversed([parent for parent in (out, *out.parents) if not os.path.lexists(parent)]):
        with contextlib.suppress(FileExistsError):
            path.mkdir()
            created.append(path)
    for path in (out, *out.parents):
        if path.is_symlink() and not path.exists():
            raise OSError(f"{printable_path(path)} is a link to {printable_path(os.readlink(path))}, which does not exist")
        if path.exists() and not path.is_dir():
            raise OSError(f"{printable_path(path)} is a file")
