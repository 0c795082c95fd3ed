"""Cache of compiled object code on disk, by a key of its source code.

| variable | meaning |
|---|---|
| `SCREWBOND_CACHE` | the folder, or `off`; by default `screwbond` in `$XDG_CACHE_HOME` or the system's folder for caches |
| `SCREWBOND_CACHE_SIZE` | limit in megabytes (256); the least recently used code is deleted first |

Cached code is executed, so it is trusted only if no other user can have written it (Windows: not checked). A folder that
another user owns or can write to is not used at all, and causes a warning. Code is compiled again if its file is damaged, was
stored under another key, or belongs to or can be written by another user. Nothing is stored in a read-only folder. Processes
share the cache: files are replaced atomically.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import stat
import sys
import tempfile
import time
import warnings
from pathlib import Path

from bondgraph.errors import CacheWarning, Problem

MEGABYTES = 256.0
"""Default size limit of the cache, MB."""
SUPPLIED = Path(__file__).with_name("supplied")
"""Folder of the solvers' code that a wheel includes (`warming.supply`)."""
_DIGEST = 32
_PACKAGES = ("bondgraph", "screws")
_OBJECT_FILE = re.compile(r"[0-9a-f]{64}\.o")
_STALE_AGE = 3600.0
"""Age (s) above which a temporary file must be left over from a process that has ended."""
_PROCESS_START = time.time()
_WRITABLE = "other users can write to it"
_bytes_before_sweep: dict[Path, float] = {}
"""Bytes that this process may still store in a folder before it checks the folder's size again."""


def directory() -> Path | None:
    chosen = os.environ.get("SCREWBOND_CACHE", "")
    if chosen.lower() in ("off", "0", "no", "none"):
        return None
    if chosen:
        return Path(chosen)
    named = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else "")
    if named:
        return Path(named, "screwbond")
    with contextlib.suppress(RuntimeError):  # no home directory
        return Path.home().joinpath(
            {"win32": "AppData/Local", "darwin": "Library/Caches"}.get(sys.platform, ".cache"), "screwbond"
        )
    return None


def limit() -> float:
    """Return the size limit in bytes; warn of an invalid setting (E398) and use the default."""
    setting = os.environ.get("SCREWBOND_CACHE_SIZE", "").strip()
    try:
        megabytes = float(setting) if setting else MEGABYTES
    except ValueError:
        megabytes = -1.0
    if megabytes >= 0.0:
        return 1e6 * megabytes
    title = f'SCREWBOND_CACHE_SIZE is "{setting}", which is not a number of megabytes'
    warnings.warn(CacheWarning(Problem("E398", title, cures=(f"{MEGABYTES:g}, the default",))), stacklevel=1)
    return 1e6 * MEGABYTES


def key(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(str(len(encoded)).encode() + b":" + encoded)
    return digest.hexdigest()


@functools.cache
def sources() -> str:
    """Return a key of the sources of this project on disk, or "" if there are none (as in an archive), or if some are newer than
    this process, which may have read an older version."""
    root = Path(__file__).parents[2]
    digest, count = hashlib.sha256(), 0
    pending = [str(root / package) for package in _PACKAGES]
    try:
        while pending:
            with os.scandir(pending.pop()) as entries:
                for entry in sorted(entries, key=lambda entry: entry.name):
                    if entry.is_dir():
                        pending.append(entry.path)
                    elif entry.name.endswith(".py"):
                        if entry.stat().st_mtime >= _PROCESS_START:
                            return ""
                        with open(entry.path, "rb") as file:
                            digest.update(entry.name.encode() + b"\n" + hashlib.sha256(file.read()).digest())
                        count += 1
    except OSError:
        return ""
    return digest.hexdigest() if count else ""


def load(name: str) -> bytes | None:
    """Return the bytes stored under the key `name`, or None if they are missing or cannot be trusted."""
    folder = directory()
    if folder is None or not _trusted(folder):
        return None
    stored = _read(folder / f"{name}.o")
    if stored is None or stored[:_DIGEST] != _seal(name, stored[_DIGEST:]):
        return None
    return stored[_DIGEST:]


def load_supplied(name: str) -> bytes | None:
    """Return the bytes under the key `name` that came with the installed package, or None if they are missing or damaged. They
    are trusted like the modules of the package."""
    try:
        stored = (SUPPLIED / f"{name}.o").read_bytes()
    except OSError:
        return None
    return stored[_DIGEST:] if stored[:_DIGEST] == _seal(name, stored[_DIGEST:]) else None


def supply(folder: Path, name: str, body: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.o").write_bytes(_seal(name, body) + body)


def store(name: str, body: bytes) -> bool:
    """Store `body` under the key `name` atomically; return False if it cannot be written."""
    folder = directory()
    if folder is None:
        return False
    try:
        opened = _open_temporary(folder)
    except OSError:
        return False
    if opened is None:
        return False
    handle, temporary = opened
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_seal(name, body) + body)
        os.replace(temporary, folder / f"{name}.o")
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        return False
    _limit_size(folder, len(body))
    return True


def obstacle() -> str:
    folder = directory()
    if folder is None:
        return "SCREWBOND_CACHE disables it" if os.environ.get("SCREWBOND_CACHE") else "there is no home directory"
    try:
        opened = _open_temporary(folder)
    except OSError as error:
        return f"{folder} cannot be written: {error.strerror or error}"
    if opened is None:
        return f"another user owns or can write to {folder}"
    os.close(opened[0])
    os.unlink(opened[1])
    return ""


def _open_temporary(folder: Path) -> tuple[int, str] | None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return tempfile.mkstemp(dir=folder, suffix=".part") if _trusted(folder) else None


def _seal(name: str, body: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\n" + body).digest()


def _read(path: Path) -> bytes | None:
    """Return the content of a regular file and mark it as used; return None if it cannot be read, or if another user can write to
    it."""
    safe_flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | safe_flags)) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or _other_writers(status):
                return None
            content = file.read()
    except OSError:
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return content


def _other_writers(status: os.stat_result) -> str:
    if not hasattr(os, "geteuid"):
        return ""
    if status.st_uid != os.geteuid():
        return f"it belongs to user {status.st_uid}, but this process runs as user {os.geteuid()}"
    return _WRITABLE if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else ""


def _trusted(folder: Path) -> bool:
    """Return True if no one else can write to the folder; warn (E397) if others can."""
    try:
        reason = _other_writers(os.stat(folder))
    except (OSError, ValueError):
        return False
    if not reason:
        return True
    cures = [f"chmod go-w {folder}, if you know who wrote there"] if reason == _WRITABLE else []
    cures.append("another folder in SCREWBOND_CACHE, or SCREWBOND_CACHE=off")
    title = f"the folder of compiled code {folder} is not used"
    warnings.warn(CacheWarning(Problem("E397", title, (reason,), (), tuple(cures))), stacklevel=1)
    return False


def _limit_size(folder: Path, stored: int) -> None:
    max_bytes = limit()
    remaining = _bytes_before_sweep.get(folder, 0.0) - stored
    if remaining > 0.0:
        _bytes_before_sweep[folder] = remaining
        return
    _bytes_before_sweep[folder] = max_bytes / 16.0
    with contextlib.suppress(OSError):
        _sweep(folder, max_bytes)


def _sweep(folder: Path, max_bytes: float) -> None:
    """Delete temporary files of killed processes and, above `max_bytes`, the least recently used objects until a quarter is
    free."""
    objects = []
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if _OBJECT_FILE.fullmatch(entry.name):
                    objects.append((status.st_mtime, status.st_size, entry.path))
                elif entry.name.endswith(".part") and time.time() - status.st_mtime > _STALE_AGE:
                    os.unlink(entry.path)
    total = sum(size for _, size, _ in objects)
    if total <= max_bytes:
        return
    for _, size, path in sorted(objects):
        if total <= 0.75 * max_bytes:
            return
        with contextlib.suppress(OSError):
            os.unlink(path)
            total -= size
