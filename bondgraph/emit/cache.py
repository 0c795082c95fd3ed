"""Object code on disk: a key of text -> the bytes compiled from it, or nothing.

The directory is `$XDG_CACHE_HOME/screwbond` or `~/.cache/screwbond`; `SCREWBOND_CACHE=off` disables it, and any
other value of that variable names another directory. A directory that cannot be written is passed over, since all that
the cache does is to save time.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

_DIGEST = 32


def directory() -> Path | None:
    """The directory of the cache, or None where it is disabled."""
    chosen = os.environ.get("SCREWBOND_CACHE", "")
    if chosen.lower() in ("off", "0", "no", "none"):
        return None
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "screwbond"
    except RuntimeError:  # no home directory
        return None


def key(*parts: str) -> str:
    """A name for what is compiled from `parts`."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(str(len(part)).encode() + b":" + part.encode())
    return digest.hexdigest()


def load(name: str) -> bytes | None:
    """The bytes stored under `name`; None if there are none or they are damaged."""
    folder = directory()
    if folder is None:
        return None
    try:
        stored = (folder / f"{name}.o").read_bytes()
    except OSError:
        return None
    body = stored[_DIGEST:]
    return body if hashlib.sha256(body).digest() == stored[:_DIGEST] else None


def store(name: str, body: bytes) -> bool:
    """Write `body` under `name` in one step, so that readers never see half of it; False if it cannot be written."""
    folder = directory()
    if folder is None:
        return False
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, temporary = tempfile.mkstemp(dir=folder, suffix=".part")
    except OSError:
        return False
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(body).digest() + body)
        os.replace(temporary, folder / f"{name}.o")
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        return False
    return True
