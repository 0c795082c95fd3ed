"""Extras: packages that only some results need -> whether they are there, and the line that installs them."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from bondgraph.errors import ExtraError, Problem

EXTRAS = {
    "matplotlib": "viz",
    "pyvista": "viz",
    "PIL": "viz",
    "imageio_ffmpeg": "viz",
    "pandas": "tables",
    "xarray": "tables",
    "pyarrow": "sinks",
    "zarr": "sinks",
    "control": "control",
    "daqp": "stepping",
    "clarabel": "stepping",
    "yourdfpy": "urdf",
    "trimesh": "urdf",
    "coal": "collision",
}
"""The extra of setup.cfg that brings a package, by the name of its import."""


def lacking(*packages: str) -> str:
    """What to do about the first of some packages that is not installed, in a few words; "" where all are.

    >>> lacking("numpy")
    ''
    """
    for package in packages:
        if not _installed(package):
            extra = EXTRAS.get(package)
            return f"{package} is not installed: pip install " + (f'"screwbond[{extra}]"' if extra else package)
    return ""


def _installed(package: str) -> bool:
    if package in sys.modules:
        return sys.modules[package] is not None
    try:
        return find_spec(package) is not None
    except ImportError:
        return False


def required(purpose: str, *packages: str) -> None:
    """Raise `ExtraError` (E416) where one of some packages is not installed; `purpose` says what needs it."""
    found = lacking(*packages)
    if found:
        missing, _, cure = found.partition(": ")
        raise ExtraError(Problem("E416", f"{purpose} cannot be made", (missing,), (), (cure,)))
