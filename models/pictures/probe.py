"""Test of rendering in a subprocess, because VTK without a GL library kills Python."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from functools import cache

from bondgraph.errors import ExtraError, Problem
from bondgraph.output.extras import missing_package, require_package

_TRIAL = """
import pyvista
plotter = pyvista.Plotter(off_screen=True, window_size=(32, 32))
plotter.add_mesh(pyvista.Sphere(), color="white")
plotter.render()
image = plotter.screenshot(return_img=True)
plotter.close()
print("rendered" if image.max() > image.min() else "blank")
"""

_NO_OPENGL = "no OpenGL library for rendering pictures"

_CURES = ("apt install libegl1 libgl1-mesa-dri", "apt install libosmesa6, with VTK_DEFAULT_OPENGL_WINDOW=vtkOSOpenGLRenderWindow")

_PAGE = 'page(result, "run.html"), which the browser draws'

_CURE = (
    f"rendering fails, usually because an OpenGL library is missing: {_CURES[0]} (or {_CURES[1].removeprefix('apt install ')})"
)

OFF_SCREEN = ("libEGL.so.1", "libEGL.so", "libOSMesa.so.8", "libOSMesa.so.6", "libOSMesa.so")
"""Libraries with which VTK renders without a screen on Linux; any one of them suffices."""


def require_opengl() -> None:
    """Raise `ExtraError` E416 without pyvista, and E418 on Linux without a display if no library can render without one: VTK
    would end the process.

    The test loads a library, which is quick; `rendering` also tests the driver.
    """
    require_package("a picture of bodies", "pyvista")
    if sys.platform == "linux" and not os.environ.get("DISPLAY") and not any(map(_loaded, OFF_SCREEN)):
        raise ExtraError(Problem("E418", "pictures in three dimensions cannot be rendered", (_NO_OPENGL,), (), (*_CURES, _PAGE)))


@cache
def _loaded(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def rendering_problem() -> str:
    works, reason = rendering()
    return "" if works else reason


@cache
def rendering() -> tuple[bool, str]:
    """Test whether three-dimensional pictures can be rendered; return the answer, and a line that confirms it or names what to
    install.

    The test runs once per process (about 2 s).
    """
    missing = missing_package("pyvista", "matplotlib", "PIL")
    if missing:
        return False, missing
    try:
        trial = subprocess.run(
            [sys.executable, "-c", _TRIAL], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return False, f"the rendering test did not finish ({type(error).__name__}); {_CURE}"
    if trial.returncode == 0 and trial.stdout.strip().endswith("rendered"):
        return True, "pictures can be rendered"
    if "ImportError" in trial.stderr and "libX" in trial.stderr:
        library = trial.stderr.strip().splitlines()[-1].partition(": ")[2].partition(":")[0]
        return False, f"VTK needs {library}: apt install libxrender1 libegl1 libgl1-mesa-dri"
    return False, _CURE
