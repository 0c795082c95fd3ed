"""Whether pictures can be rendered here: tried in a subprocess, because VTK without a GL library kills Python."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

from bondgraph.output.extras import lacking

_TRIAL = """
import pyvista
plotter = pyvista.Plotter(off_screen=True, window_size=(32, 32))
plotter.add_mesh(pyvista.Sphere(), color="white")
plotter.render()
image = plotter.screenshot(return_img=True)
plotter.close()
print("rendered" if image.max() > image.min() else "blank")
"""

_CURE = (
    "no OpenGL library to render pictures with: apt install libegl1 libgl1-mesa-dri"
    " (or libosmesa6, with VTK_DEFAULT_OPENGL_WINDOW=vtkOSOpenGLRenderWindow)"
)


def unrendered() -> str:
    """Why three-dimensional pictures cannot be rendered, and what to install; "" where they can."""
    works, reason = rendering()
    return "" if works else reason


@cache
def rendering() -> tuple[bool, str]:
    """Whether three-dimensional pictures can be rendered, and one line that says so or what to install.

    The answer is found once per process (about 2 s).
    """
    missing = lacking("pyvista", "matplotlib", "PIL")
    if missing:
        return False, missing
    try:
        trial = subprocess.run(
            [sys.executable, "-c", _TRIAL], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return False, f"rendering was tried and did not end ({type(error).__name__}); {_CURE}"
    if trial.returncode == 0 and trial.stdout.strip().endswith("rendered"):
        return True, "pictures can be rendered"
    if "ImportError" in trial.stderr and "libX" in trial.stderr:
        library = trial.stderr.strip().splitlines()[-1].partition(": ")[2].partition(":")[0]
        return False, f"VTK needs {library}: apt install libxrender1 libegl1 libgl1-mesa-dri"
    return False, _CURE
