"""Archives whose bytes depend only on the files they contain."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path

from bondgraph.output.files import atomic_file

_DATE = (1980, 1, 1, 0, 0, 0)
"""Date of all files: the earliest that an archive can store."""


def write_archive(path: str | os.PathLike[str], files: Mapping[str, bytes]) -> Path:
    """Write a zip archive of files by name, in the order of the names, atomically; raise E414 if it cannot be written."""
    with atomic_file(path) as part, zipfile.ZipFile(part, "w") as packed:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.compress_type, entry.create_system, entry.external_attr = zipfile.ZIP_DEFLATED, 3, 0o644 << 16
            packed.writestr(entry, files[name])
    return Path(path)
