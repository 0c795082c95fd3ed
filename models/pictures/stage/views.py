"""Interactive views of a result or scene: a window on the screen, or a picture in a notebook."""

from __future__ import annotations

import os
import sys

import numpy as np
from screwbond.models.pictures.camera import Camera
from screwbond.models.pictures.from_results.scenes import as_scene
from screwbond.models.pictures.scene import Scene, representative_time
from screwbond.models.pictures.stage.posters import camera_of
from screwbond.models.pictures.stage.stage import Stage

from bondgraph.errors import refusal
from bondgraph.output.extras import require_package
from bondgraph.run.results.result import Result

INSET = (60, 70, 60, 90)
"""Margins for the title and the slider, pixels at a height of 720."""


class View:
    """Interactive view of a scene: `plotter` is that of pyvista, to which anything may be added. Closed when its block ends.

    A notebook displays it as the value of a cell.
    """

    def __init__(self, scene: Scene, t: float, size: tuple[int, int], seen: bool):
        self.scene, self._stage = scene, Stage(scene, size, seen=seen, mesh=(41, 61))
        self.plotter = self._stage.plotter
        self._stage.show(t, camera_of(self._stage, np.linspace(scene.t[0], scene.t[-1], 40), size, INSET))
        self.plotter.add_text(scene.title, position="upper_left", font_size=12, color="#1c2331")

    def at(self, t: float) -> View:
        """Move everything to a time (s), clipped to the run."""
        view = self.plotter.camera
        camera = Camera(np.array(view.position), np.array(view.focal_point), np.array(view.up), float(view.view_angle))
        self._stage.move(float(np.clip(t, self.scene.t[0], self.scene.t[-1])), camera)
        if self.plotter.render_window is not None:
            self.plotter.render()
        return self

    def image(self) -> np.ndarray:
        """Render the view, (height, width, 3)."""
        return self._stage.image()

    def close(self) -> None:
        """Close the window."""
        self.plotter.close()

    def __enter__(self) -> View:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _repr_png_(self) -> bytes:
        import io

        from PIL import Image

        stream = io.BytesIO()
        Image.fromarray(self.image()).save(stream, format="png")
        return stream.getvalue()


def show(
    shown: Result | Scene, t: float | None = None, *, size: tuple[int, int] = (1280, 720), window: bool | None = None
) -> View:
    """Show a run in three dimensions: bodies, links, joints, springs, contacts, forces and frames of the model.

    On a screen it opens a rotatable window with a time slider, and returns when that is closed. In a notebook, or with
    window=False, it returns at once: the cell displays the view, `view.at(t)` moves it, and `view.plotter` is that of pyvista.

    Parameters
    ----------
    shown : the result of a run, or a scene.
    t : time (s) at which it opens; by default a representative one.
    size : (width, height) in pixels.
    window : open a window; by default if there is a screen, and no notebook.

    Raises `ModelError` E160 for a run without anything to show, E578 for a window without a screen, E579 for anything but a
    result; `ExtraError` E416 without pyvista.
    """
    require_package("a view", "pyvista")
    scene = as_scene(shown)
    opened = not in_notebook() if window is None else window
    if opened and not has_screen():
        cures = (
            "show(result, window=False), for the view alone",
            'page(result, "run.html"), still(...), poster(...), movie(...)',
        )
        raise refusal("E578", f"there is no screen to show {scene.title} on", *cures, about=scene.title)
    span = (float(scene.t[0]), float(scene.t[-1]))
    now = min(max(representative_time(scene) if t is None else t, span[0]), span[1])
    view = View(scene, now, size, opened)
    if opened:
        view.plotter.add_slider_widget(view.at, span, value=now, title="time (s)", style="modern", color="#1c2331")
        view.plotter.show()
    return view


def in_notebook() -> bool:
    """Return True if Python runs in a kernel of Jupyter."""
    kernel = sys.modules.get("ipykernel.zmqshell")
    ipython = sys.modules.get("IPython")
    return kernel is not None and ipython is not None and isinstance(ipython.get_ipython(), kernel.ZMQInteractiveShell)


def has_screen() -> bool:
    """Return True if windows can be opened, as far as the environment tells."""
    return sys.platform in ("win32", "darwin") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
