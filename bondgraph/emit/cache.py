"""Object code on disk: a key of text -> the bytes compiled from it, or nothing.

| variable | meaning |
|---|---|
| `SCREWBOND_CACHE` | the folder; `off` for none. Without it `$XDG_CACHE_HOME/screwbond`, else the system's place for caches |
| `SCREWBOND_CACHE_SIZE` | most megabytes that are kept (256); the least recently used goes first |

What lies there is run, so that it is believed only where nobody else can have put it: a folder that others own or may write is
not used at all (a warning says so once), and a file that others own or may write, that is damaged, or that was stored under
another key is compiled anew. A folder that cannot be written is passed over, since all that the cache does is to save time.
Processes share it: a file appears whole or not at all.
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
"""Most that is kept, unless the environment says otherwise."""
_DIGEST = 32
_PACKAGES = ("bondgraph", "screws")
"""Of which procedures are written."""
_OWN_FILE = re.compile(r"[0-9a-f]{64}\.o")
_ABANDONED = 3600.0
"""Age (s) of a temporary file whose process has certainly ended."""
_BEGAN = time.time()
_unswept: dict[Path, float] = {}
"""Bytes that this process may still store in a folder before its size is looked at again."""


def directory() -> Path | None:
    """The folder of the cache, or None where it is disabled."""
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
    """Most bytes that are kept; a setting that is no size is said to be none (E398), and the default holds."""
    given = os.environ.get("SCREWBOND_CACHE_SIZE", "").strip()
    try:
        megabytes = float(given) if given else MEGABYTES
    except ValueError:
        megabytes = -1.0
    if megabytes >= 0.0:
        return 1e6 * megabytes
    title = f'SCREWBOND_CACHE_SIZE is "{given}", which is no number of megabytes'
    warnings.warn(CacheWarning(Problem("E398", title, cures=(f"{MEGABYTES:g}, which holds now",))), stacklevel=1)
    return 1e6 * MEGABYTES


def key(*parts: str) -> str:
    """A name for what is compiled from `parts`."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(str(len(encoded)).encode() + b":" + encoded)
    return digest.hexdigest()


@functools.cache
def sources() -> str:
    """A key of the sources of this project as they lie on disk. "" where there are none (in an archive, say), or where some are
    newer than this process, which may have read what stood there before."""
    root = Path(__file__).parents[2]
    digest, count = hashlib.sha256(sys.version.encode()), 0
    pending = [str(root / package) for package in _PACKAGES]
    try:
        while pending:
            with os.scandir(pending.pop()) as entries:
                for entry in sorted(entries, key=lambda entry: entry.name):
                    if entry.is_dir():
                        pending.append(entry.path)
                    elif entry.name.endswith(".py"):
                        if entry.stat().st_mtime >= _BEGAN:
                            return ""
                        with open(entry.path, "rb") as file:
                            digest.update(entry.name.encode() + b"\n" + hashlib.sha256(file.read()).digest())
                        count += 1
    except OSError:
        return ""
    return digest.hexdigest() if count else ""


def load(name: str) -> bytes | None:
    """The bytes stored under the key `name`; None if there are none, or if they cannot be believed."""
    folder = directory()
    if folder is None or not _trusted(folder):
        return None
    stored = _read(folder / f"{name}.o")
    if stored is None or stored[:_DIGEST] != _seal(name, stored[_DIGEST:]):
        return None
    return stored[_DIGEST:]


def store(name: str, body: bytes) -> bool:
    """Store `body` under the key `name` in one step, so that readers never see half of it; False if it cannot be written."""
    folder = directory()
    if folder is None:
        return False
    try:
        begun = _begun(folder)
    except OSError:
        return False
    if begun is None:
        return False
    handle, temporary = begun
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_seal(name, body) + body)
        os.replace(temporary, folder / f"{name}.o")
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        return False
    _make_room(folder, len(body))
    return True


def obstacle() -> str:
    """Why nothing can be kept, in a few words; "" where it can."""
    folder = directory()
    if folder is None:
        return "SCREWBOND_CACHE says so" if os.environ.get("SCREWBOND_CACHE") else "there is no home directory"
    try:
        begun = _begun(folder)
    except OSError as error:
        return f"{folder} cannot be written: {error.strerror or error}"
    if begun is None:
        return f"{folder} is not this user's alone"
    os.close(begun[0])
    os.unlink(begun[1])
    return ""


def _begun(folder: Path) -> tuple[int, str] | None:
    """A new file in a folder, which is made if need be: its handle and its name; None where the folder is not ours alone."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return tempfile.mkstemp(dir=folder, suffix=".part") if _trusted(folder) else None


def _seal(name: str, body: bytes) -> bytes:
    """Digest of a key and what belongs to it."""
    return hashlib.sha256(name.encode() + b"\n" + body).digest()


def _read(path: Path) -> bytes | None:
    """Content of a file that is ours alone, which now counts as used; None for any other."""
    careful = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | careful)) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or _strangers(found):
                return None
            content = file.read()
    except OSError:
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return content


def _strangers(found: os.stat_result) -> str:
    """Who else can have written a file or a folder, or ""; Windows keeps strangers out of a user's folders by itself."""
    if not hasattr(os, "geteuid"):
        return ""
    if found.st_uid != os.geteuid():
        return f"it belongs to the user with number {found.st_uid}, and this one has {os.geteuid()}"
    return "others may write there" if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else ""


def _trusted(folder: Path) -> bool:
    """Whether a folder is ours alone; a warning, once for each, where it is not (E397)."""
    try:
        reason = _strangers(os.stat(folder))
    except (OSError, ValueError):
        return False
    if not reason:
        return True
    cures = (f"chmod go-w {folder}, if you know who wrote there", "another folder as SCREWBOND_CACHE, or SCREWBOND_CACHE=off")
    title = f"the folder of compiled code {folder} is not used"
    warnings.warn(CacheWarning(Problem("E397", title, (reason,), (), cures)), stacklevel=1)
    return False


def _make_room(folder: Path, stored: int) -> None:
    """Look at the size of a folder now and then, and delete what was not used for the longest time."""
    most = limit()
    left = _unswept.get(folder, 0.0) - stored
    if left > 0.0:
        _unswept[folder] = left
        return
    _unswept[folder] = most / 16.0
    with contextlib.suppress(OSError):
        _sweep(folder, most)


def _sweep(folder: Path, most: float) -> None:
    """Delete the least recently used objects beyond `most` bytes, with room for a few more, and what killed processes left."""
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                about = entry.stat(follow_symlinks=False)
                if _OWN_FILE.fullmatch(entry.name):
                    found.append((about.st_mtime, about.st_size, entry.path))
                elif entry.name.endswith(".part") and time.time() - about.st_mtime > _ABANDONED:
                    os.unlink(entry.path)
    total = sum(size for _, size, _ in found)
    if total <= most:
        return
    for _, size, path in sorted(found):
        if total <= 0.75 * most:
            return
        with contextlib.suppress(OSError):
            os.unlink(path)
            total -= size
