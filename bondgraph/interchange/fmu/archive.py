"""Archive of an FMU, unpacked safely in a temporary folder."""

from __future__ import annotations

import hashlib
import lzma
import platform
import stat
import struct
import sys
import tempfile
import zipfile
import zlib
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from bondgraph.interchange.fmu.description import Description, description_of, refused

_MAX_BYTES, _MAX_FILES, _MAX_TEXT = 1 << 30, 10_000, 1 << 26
"""Limits of an FMU: bytes (packed and unpacked), number of files, and bytes of the description."""
_MACHINES = {"AMD64": "x86_64", "arm64": "aarch64"}
_SYSTEMS = {
    "linux": ("linux", ".so", "linux64"),
    "darwin": ("darwin", ".dylib", "darwin64"),
    "win32": ("windows", ".dll", "win64"),
}


@dataclass(frozen=True)
class Archive:
    """FMU unpacked in a temporary `folder`, which is deleted with this record; `digest` is the SHA-256 of its file."""

    path: Path
    digest: str
    description: Description
    library: Path
    folder: tempfile.TemporaryDirectory[str]

    @property
    def resources(self) -> Path:
        """Folder of the FMU's resources, which may not exist."""
        return Path(self.folder.name) / "resources"


def unpack(path: str | Path) -> Archive:
    """Return the FMU in a file, unpacked.

    Raises `ModelError` E690 for a file that cannot be read or is not an FMU, and for an archive whose paths lead outside it, that
    is too large, or that has no library for this platform.
    """
    path = Path(path)
    with ExitStack() as on_error:
        try:
            with path.open("rb") as file, zipfile.ZipFile(file) as archive:
                _refuse_unsafe(path, archive)
                description = description_of(path, archive.read("modelDescription.xml"))
                library = _library_of(description, archive, path)
                folder = tempfile.TemporaryDirectory(prefix="fmu")
                on_error.callback(folder.cleanup)
                folders = (f"{PurePosixPath(library).parent}/", "resources/")
                archive.extractall(folder.name, [name for name in archive.namelist() if name.startswith(folders)])
                file.seek(0)
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise refused(path, "it cannot be read", error.strerror or str(error), cure="the path of an FMU") from None
        except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error) as error:
            raise refused(path, "its archive is damaged", str(error)) from None
        except (KeyError, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
            raise refused(path, "it is not an archive with a modelDescription.xml", str(error)) from None
        on_error.pop_all()
    return Archive(path, digest, description, Path(folder.name) / library, folder)


def _refuse_unsafe(path: Path, archive: zipfile.ZipFile) -> None:
    entries = archive.infolist()
    if len(entries) > _MAX_FILES or sum(max(entry.file_size, entry.compress_size) for entry in entries) > _MAX_BYTES:
        raise refused(path, f"it has more than {_MAX_FILES} files, or is larger than {_MAX_BYTES >> 30} GiB when unpacked")
    if any(entry.file_size > _MAX_TEXT for entry in entries if entry.filename == "modelDescription.xml"):
        raise refused(path, f"its modelDescription.xml is larger than {_MAX_TEXT >> 20} MiB")
    for entry in entries:
        place = PurePosixPath(entry.filename.replace("\\", "/"))
        if place.is_absolute() or ".." in place.parts or ":" in entry.filename or stat.S_ISLNK(entry.external_attr >> 16):
            raise refused(path, f'its entry "{entry.filename}" is a link, or its path leads outside the archive')


def _library_of(description: Description, archive: zipfile.ZipFile, path: Path) -> str:
    system, ending, of_version_2 = _SYSTEMS.get(sys.platform, (sys.platform, ".so", sys.platform))
    machine = _MACHINES.get(platform.machine(), platform.machine())
    name = f"{machine}-{system}" if description.version == 3 else of_version_2
    library = f"binaries/{name}/{description.identifier}{ending}"
    if library not in archive.namelist():
        available = sorted(
            {PurePosixPath(each).parts[1] for each in archive.namelist() if each.startswith("binaries/") and each.count("/") > 1}
        )
        raise refused(
            path,
            f"it has no library for {name}",
            f"its libraries are for: {', '.join(available) or 'none'}",
            cure=f"an FMU built for {name}",
        )
    return library
