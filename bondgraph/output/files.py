"""Atomic writing of files: the complete file appears in its place, or a coded error and nothing.

Everything is first written into a folder `.unfinished-...` beside the target, and moved when it is complete. The folder stays
locked while its process lives; the next process deletes what a killed one has left.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bondgraph.errors import FileError, Problem

UNFINISHED = ".unfinished-"
_ABANDONED_AGE = 86400.0
"""Age (s) beyond which a folder is abandoned, on systems without file locks."""


def known_ending(path: str | os.PathLike[str], *endings: str) -> str:
    """Return the lower-case ending of a file name, which says its format; raise E415 if it is not among the endings.

    >>> known_ending("graph.SVG", ".svg", ".png")
    '.svg'
    """
    ending = Path(path).suffix.lower()
    if ending in endings:
        return ending
    title = f"no format has the ending of {printable_path(path)}" if ending else f"the name {printable_path(path)} has no ending"
    raise FileError(Problem("E415", title, ("the ending decides what is written",), (), (" or ".join(endings),)))


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write a text file as UTF-8, atomically; E414 if it cannot be written."""
    with atomic_file(path) as part:
        part.write_text(text, encoding="utf-8")
    return Path(path)


def json_text(content: Any) -> str:
    """Return indented JSON; a number that is not finite, which JSON does not have, becomes null.

    >>> json_text({"residual": float("nan"), "pose": (1.0, 2)})
    '{\\n "residual": null,\\n "pose": [\\n  1.0,\\n  2\\n ]\\n}\\n'
    """
    return json.dumps(nonfinite_to_null(content), indent=1, allow_nan=False) + "\n"


def nonfinite_to_null(content: Any) -> Any:
    """Return a JSON value with null for every number that is not finite."""
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if isinstance(content, Mapping):
        return {key: nonfinite_to_null(value) for key, value in content.items()}
    return [nonfinite_to_null(value) for value in content] if isinstance(content, list | tuple) else content


@contextlib.contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path of the same name; at the end of the block the file there replaces the file at `path`.

    Follows links. Raises `FileError` (E414) if the file cannot be written.
    """
    target = Path(path)
    try:
        check_name(target)
        real = Path(os.path.realpath(target))
        if real.exists() and not real.is_file():
            raise write_error(target, "it is a folder" if real.is_dir() else "it is no ordinary file")
        if not real.parent.is_dir():
            raise write_error(target, f"there is no folder {printable_path(real.parent)}")
        with temporary_folder(real.parent) as folder:
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
        """Move the complete file to its target."""
        self._stack.close()

    def discard(self) -> None:
        """Delete the incomplete file."""
        with contextlib.suppress(_Discard), self._stack:
            raise _Discard


class _Discard(Exception):
    """Ends the block of a file that is discarded."""


def write_error(path: Path, why: str) -> FileError:
    """Return the E414 for a file."""
    return FileError(Problem("E414", f"cannot write {printable_path(path)}", (why,), (), ("another place",)))


def system_reason(error: OSError) -> str:
    """Return the system's reason for refusing, in one line."""
    return error.strerror or (str(error).strip().splitlines() or [type(error).__name__])[0]


def printable_path(path: str | os.PathLike[str]) -> str:
    """Return a path for a message: without control characters, and a very long one without its middle."""
    text = "".join(c if c.isprintable() else "?" for c in os.fspath(path))
    return text if len(text) <= 120 else f"{text[:60]} ... {text[-40:]}"


def check_name(path: Path) -> None:
    """Raise OSError if no file can have this name."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError as error:
        raise OSError("a name that is no text") from error
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
    """Delete the unfinished folders inside another whose processes have ended."""
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
        # Another process may have deleted it as abandoned before it was locked.
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
