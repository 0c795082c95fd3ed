"""Files: a path and how to fill it -> the whole file in its place, or a coded error and nothing.

Everything is first written into a folder `.unfinished-...` beside the place where it will be, and moved there when it is
complete. Such a folder is locked as long as its process lives; what killed processes left is deleted by the next.
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
_DAY = 86400.0
"""Age (s) of what certainly nobody uses, where the system knows no locks."""


def known_ending(path: str | os.PathLike[str], *known: str) -> str:
    """The ending of a file's name, in lower case, which says its format; E415 where it is none of those known.

    >>> known_ending("graph.SVG", ".svg", ".png")
    '.svg'
    """
    ending = Path(path).suffix.lower()
    if ending in known:
        return ending
    title = f"no format has the ending of {shown(path)}" if ending else f"the name {shown(path)} has no ending"
    raise FileError(Problem("E415", title, ("the ending decides what is written",), (), (" or ".join(known),)))


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write a text file as UTF-8, whole or not at all; E414 where it cannot be written."""
    with whole_file(path) as part:
        part.write_text(text, encoding="utf-8")
    return Path(path)


def json_text(content: Any) -> str:
    """JSON for reading; a number that is not finite, which JSON does not have, is null.

    >>> json_text({"residual": float("nan"), "pose": (1.0, 2)})
    '{\\n "residual": null,\\n "pose": [\\n  1.0,\\n  2\\n ]\\n}\\n'
    """
    return json.dumps(finite(content), indent=1, allow_nan=False) + "\n"


def finite(content: Any) -> Any:
    """A JSON value with null for every number that is not finite."""
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if isinstance(content, Mapping):
        return {key: finite(value) for key, value in content.items()}
    return [finite(value) for value in content] if isinstance(content, list | tuple) else content


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A place to write to, of the same name; what is there at the end of the block replaces the file at `path`.

    A link is followed, as in writing to it. Raises `FileError` (E414) where the file cannot be written.
    """
    target = Path(path)
    try:
        check_name(target)
        real = Path(os.path.realpath(target))
        if real.exists() and not real.is_file():
            raise unwritable(target, "it is a folder" if real.is_dir() else "it is no ordinary file")
        if not real.parent.is_dir():
            raise unwritable(target, f"there is no folder {shown(real.parent)}")
        with fresh_folder(real.parent) as folder:
            part = folder / real.name
            yield part
            with contextlib.suppress(FileNotFoundError):
                shutil.copymode(real, part)
            os.replace(part, real)
    except FileError:
        raise
    except OSError as error:
        raise unwritable(target, reason(error)) from error


class Unfinished:
    """A file, or a folder, that is written by and by: `part` is where to write, `finish` puts it in its place, and `drop` leaves
    nothing of it."""

    def __init__(self, opened: contextlib.AbstractContextManager[Path]):
        self._stack = contextlib.ExitStack()
        self.part = self._stack.enter_context(opened)

    def finish(self) -> None:
        """All is there."""
        self._stack.close()

    def drop(self) -> None:
        """It will not be finished."""
        with contextlib.suppress(_Dropped), self._stack:
            raise _Dropped


class _Dropped(Exception):
    """Ends the block of a file that is not to be."""


def unwritable(path: Path, why: str) -> FileError:
    """E414 for a file."""
    return FileError(Problem("E414", f"cannot write {shown(path)}", (why,), (), ("another place",)))


def reason(error: OSError) -> str:
    """Why the system refuses, in a line."""
    return error.strerror or (str(error).strip().splitlines() or [type(error).__name__])[0]


def shown(path: str | os.PathLike[str]) -> str:
    """A path as it is told in a message: without control characters, and the middle of a very long one left out."""
    text = "".join(c if c.isprintable() else "?" for c in os.fspath(path))
    return text if len(text) <= 120 else f"{text[:60]} ... {text[-40:]}"


def check_name(path: Path) -> None:
    """Raise OSError where no file can have this name."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError as error:
        raise OSError("a name that is no text") from error
    if "\0" in str(path):
        raise OSError("a name with a zero byte")


@contextlib.contextmanager
def fresh_folder(parent: Path) -> Iterator[Path]:
    """A new folder inside another, for what is not finished; deleted at the end, or by the next where a process is killed."""
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
            found, lock = _lock(folder)
            if found == "locked" or (found == "unknown" and time.time() - folder.stat().st_mtime > _DAY):
                shutil.rmtree(folder, ignore_errors=True)
            if lock is not None:
                os.close(lock)


def _locked_folder(parent: Path) -> tuple[Path, int | None]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=parent))
        found, lock = _lock(folder)
        # Another process may have taken it for abandoned before it was locked.
        if found != "in use" and folder.is_dir():
            return folder, lock
        if lock is not None:
            os.close(lock)


def _lock(folder: Path) -> tuple[str, int | None]:
    """Whether a folder is "in use", or now "locked" by the handle that is returned; "unknown" where there are no locks."""
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
