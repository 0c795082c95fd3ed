"""Optional packages: find out whether they are installed, and name the extra that installs them."""

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
    "lxml": "urdf",
    "trimesh": "urdf",
    "coal": "collision",
    "foxglove": "mcap",
    "rerun": "rerun",
    "yaml": "yaml",
    "libsbml": "sbml",
    "casadi": "casadi",
    "jax": "jax",
    "diffrax": "jax",
    "cuda": "gpu",
    "cuda.bindings": "gpu",
    "rumoca": "modelica",
}
"""Extra of setup.cfg that installs a package, by the package's import name."""


def missing_package(*packages: str) -> str:
    """Return instructions to install the first missing package; "" if none is missing.

    >>> missing_package("numpy")
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


def require_package(purpose: str, *packages: str) -> None:
    message = missing_package(*packages)
    if message:
        missing, _, cure = message.partition(": ")
        raise ExtraError(Problem("E416", f"{purpose} cannot be made", (missing,), (), (cure,)))
