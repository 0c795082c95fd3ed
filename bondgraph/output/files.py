"""Atomic writing of files and folders: the complete target appears, or nothing changes and an error is raised.

Every writer creates the folders that its target needs, and deletes them again if it fails. Everything is first written to a
folder `.unfinished-...` beside the target, and moved when it is complete. The folder stays locked while its process runs; the
next process deletes the folders that killed processes left behind.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bondgraph.errors import FileError, Problem

UNFINISHED = ".unfinished-"
_ABANDONED_AGE = 86400.0
"""Age (s) beyond which a folder is abandoned, on systems without file locks."""


def known_ending(path: str | os.PathLike[str], *endings: str) -> str:
    """Return the lower-case ending of a file name, which selects its format; raise E415 if it is not among the endings.

    >>> known_ending("graph.SVG", ".svg", ".png")
    '.svg'
    """
    ending = Path(path).suffix.lower()
    if ending in endings:
        return ending
    title = f"{printable_path(path)} has an unknown suffix" if ending else f"the name {printable_path(path)} has no suffix"
    raise FileError(Problem("E415", title, ("the suffix selects the format",), (), (" or ".join(endings),)))


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    with atomic_file(path) as part:
        part.write_text(text, encoding="utf-8")
    return Path(path)


def json_text(content: Any) -> str:
    """Return indented JSON; numbers that are not finite, which JSON lacks, become null.

    >>> json_text({"residual": float("nan"), "pose": (1.0, 2)})
    '{\\n "residual": null,\\n "pose": [\\n  1.0,\\n  2\\n ]\\n}\\n'
    """
    return json.dumps(nonfinite_to_null(content), indent=1, allow_nan=False) + "\n"


def nonfinite_to_null(content: Any) -> Any:
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if isinstance(content, Mapping):
        return {key: nonfinite_to_null(value) for key, value in content.items()}
    return [nonfinite_to_null(value) for value in content] if isinstance(content, list | tuple) else content


@contextlib.contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path of the same name; at the end of the block the file there replaces the file at `path`.

    Links are followed. Raises `FileError` (E414) if the file cannot be written.
    """
    target = Path(path)
    try:
        with _place_for(target) as (real, folder):
            if real.exists() and not real.is_file():
                raise write_error(target, "it is a folder" if real.is_dir() else "it is not an ordinary file")
            part = folder / real.name
            yield part
            with contextlib.suppress(FileNotFoundError):
                shutil.copymode(real, part)
            os.replace(part, real)
    except FileError:
        raise
    except OSError as error:
        raise write_error(target, system_reason(error)) from error


class AtomicWrite:
    """Atomic write of a file or folder in several calls: write to `path`, then `commit` or `discard`."""

    def __init__(self, opened: contextlib.AbstractContextManager[Path]):
        self._stack = contextlib.ExitStack()
        self.path = self._stack.enter_context(opened)

    def commit(self) -> None:
        self._stack.close()

    def discard(self) -> None:
        with contextlib.suppress(_Discard), self._stack:
            raise _Discard


class _Discard(Exception): ...


def write_error(path: Path, why: str) -> FileError:
    return FileError(Problem("E414", f"cannot write {printable_path(path)}", (why,), (), ("another path",)))


def system_reason(error: OSError) -> str:
    return error.strerror or (str(error).strip().splitlines() or [type(error).__name__])[0]


def printable_path(path: str | os.PathLike[str]) -> str:
    text = "".join(c if c.isprintable() else "?" for c in os.fspath(path))
    return text if len(text) <= 120 else f"{text[:60]} ... {text[-40:]}"


def check_name(path: Path) -> None:
    try:
        os.fsencode(path)
    except UnicodeEncodeError as error:
        raise OSError("a name with characters that the file system cannot encode") from error
    if "\0" in str(path):
        raise OSError("a name with a zero byte")


@contextlib.contextmanager
def temporary_folder(parent: Path) -> Iterator[Path]:
    """Yield a new folder inside another, for unfinished files; it is deleted at the end, or later if the process is killed."""
    delete_abandoned(parent)
    folder, lock = _locked_folder(parent)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def delete_abandoned(parent: Path) -> None:
    """Delete unfinished folders whose processes have ended; without file locks, those older than a day."""
    with contextlib.suppress(OSError):
        for folder in parent.glob(f"{UNFINISHED}*"):
            if folder.is_symlink() or not folder.is_dir():
                continue
            status, lock = _lock(folder)
            if status == "locked" or (status == "unknown" and time.time() - folder.stat().st_mtime > _ABANDONED_AGE):
                shutil.rmtree(folder, ignore_errors=True)
            if lock is not None:
                os.close(lock)


def _locked_folder(parent: Path) -> tuple[Path, int | None]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=parent))
        status, lock = _lock(folder)
        # another process may have deleted the folder as abandoned before it was locked
        if status != "in use" and folder.is_dir():
            return folder, lock
        if lock is not None:
            os.close(lock)


def _lock(folder: Path) -> tuple[str, int | None]:
    """Lock a folder: return "locked" and the handle, "in use" if another process holds it, "unknown" if there are no locks."""
    try:
        import fcntl
    except ImportError:  # Windows
        return "unknown", None
    try:
        handle = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return "in use", None
    except OSError:
        return "unknown", None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return "in use", None
    except OSError:
        os.close(handle)
        return "unknown", None
    return "locked", handle


def check_directory(out: str | os.PathLike[str], files: Iterable[str] = ()) -> None:
    """Check before any work that `files` can be written to the folder `out`, which stays unchanged.

    Raises `FileError` E413 if nothing can be written there, E417 if a folder has the name of one of the files.
    """
    with _staging_folder(Path(out), files, keep=False):
        pass


def write_all(out: str | os.PathLike[str], write: Callable[[Path], None], files: Iterable[str] = ()) -> None:
    """Let `write` fill a new folder, then move its files to `out`; if anything fails, `out` stays unchanged.

    Parameters
    ----------
    out : created if it does not exist; files with other names in it stay.
    write : receives the folder to fill.
    files : all names that `write` may use; old files with these names are deleted, since they belong to another run.

    Raises `FileError` E413 if nothing can be written there, E417 if a folder has the name of one of the files.
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
    def write(folder: Path) -> None:
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")

    write_all(out, write, {*texts, *files})
    return [Path(out) / name for name in texts]


@contextlib.contextmanager
def atomic_folder(path: str | os.PathLike[str], mark: str) -> Iterator[Path]:
    """Yield a temporary path of the same name, where the block creates a folder; then this replaces the folder at `path`.

    Raises `FileError` (E414) if `path` exists without a file named `mark` in it, or cannot be written.
    """
    target = Path(path)
    try:
        with _place_for(target) as (real, folder):
            if os.path.lexists(real) and not (real / mark).is_file():
                raise write_error(target, f"something else, without a file {mark}, has this name")
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
def _place_for(target: Path) -> Iterator[tuple[Path, Path]]:
    check_name(target)
    with created_folders(target.parent):
        real = Path(os.path.realpath(target))
        if not real.parent.is_dir():
            raise write_error(target, f"it is a link to {printable_path(real)}, whose folder does not exist")
        with temporary_folder(real.parent) as folder:
            yield real, folder


@contextlib.contextmanager
def _staging_folder(out: Path, files: Iterable[str], keep: bool) -> Iterator[Path]:
    """Yield a new folder inside `out` from which `files` can be moved; turn the system's errors into E413.

    Creates `out` if needed, and deletes it again unless the block succeeds and `keep` is set.
    """
    try:
        with created_folders(out, keep), temporary_folder(out) as folder:
            _check_names(out, files)
            yield folder
    except FileError:
        raise
    except OSError as error:
        title = f"cannot write to the folder {printable_path(out)}"
        raise FileError(Problem("E413", title, (system_reason(error),), (), ("another folder",))) from error


def _swap_files(out: Path, new: Path, old: Path, names: Sequence[str], replaced: Sequence[str]) -> None:
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
            raise FileError(Problem("E417", title, (f"{what} has this name there",), (), ("another folder",)))


@contextlib.contextmanager
def created_folders(folder: Path, keep: bool = True) -> Iterator[None]:
    """Create a folder and its parents for the block; created folders that are empty are deleted again, unless the block ends
    without an error and `keep` is set. Raises OSError if a folder cannot be created."""
    created: list[Path] = []
    try:
        _make_folders(folder, created)
        yield
        created = [] if keep else created
    finally:
        for path in reversed(created):
            with contextlib.suppress(OSError):
                path.rmdir()


def _make_folders(out: Path, created: list[Path]) -> None:
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
