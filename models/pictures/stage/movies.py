"""Movies of a scene, MP4 or (without ffmpeg) GIF, with short contacts slowed down; and interactive views."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from screwbond.models.pictures.from_results.scenes import as_scene
from screwbond.models.pictures.plotting import key_panels, strip
from screwbond.models.pictures.probe import require_opengl
from screwbond.models.pictures.scene import Camera, Scene, representative_time, show_times, speed_label
from screwbond.models.pictures.stage.labels import Side, is_word
from screwbond.models.pictures.stage.overlay import mark_time
from screwbond.models.pictures.stage.posters import annotate, camera_of, past_events, to_image
from screwbond.models.pictures.stage.stage import Stage

from bondgraph.errors import refusal
from bondgraph.model.arguments import refused
from bondgraph.output.files import atomic_file, known_ending
from bondgraph.output.progress import track
from bondgraph.run.results.result import Result
from screws.numeric_arguments import real

PLOT_HEIGHT = 132


def movie(
    shown: Result | Scene,
    path: str | os.PathLike[str],
    seconds: float = 10.0,
    fps: int = 30,
    size: tuple[int, int] = (1280, 720),
    progress: bool = True,
) -> Path:
    """Write a movie of a whole run, or scene, with the first key panel at its foot.

    Parameters
    ----------
    shown : the result of a run, or a scene.
    path : file, whose extension ".mp4" becomes ".gif" without ffmpeg.
    seconds : length of the movie, to which the scene's time is stretched.
    fps : frames per second; at most 12 in a .gif.
    size : (width, height) in pixels, multiples of 2; halved in a .gif.
    progress : show a bar on a terminal when rendering takes longer than two seconds.

    Returns the file written; it appears complete or not at all. Raises `ModelError` E150 for a length or rate that is not
    positive, E160 for a run without anything to show, E579 for anything but a result or a scene; `FileError` E415 for another
    extension, E414 if the file cannot be written; `ExtraError` E416 without pyvista, E418 if rendering is impossible.
    """
    for what, value, unit in (("seconds", seconds, "s"), ("fps", fps, "frames per second")):
        if not 0.0 < real(value) < np.inf:
            raise refused(what, value, f"a positive number, {unit}", f"{what}={10.0 if what == 'seconds' else 30}")
    scene, path, write = as_scene(shown), Path(path), _write_mp4
    if known_ending(path, ".mp4", ".gif") == ".gif" or not _has_ffmpeg():
        path, write = path if path.suffix.lower() == ".gif" else path.with_suffix(".gif"), _write_gif
        fps, size = min(fps, 12), (size[0] // 2, size[1] // 2)
    count = max(2, round(seconds * fps))
    images = frames(scene, show_times(scene, count), fps, size)
    with atomic_file(path) as part, closing(track(images, path.name, total=count, progress=progress)) as counted_images:
        write(part, counted_images, size, fps)
    return path


def frames(scene: Scene, shown: NDArray[np.float64], fps: int, size: tuple[int, int]) -> Iterator[Any]:
    from PIL import Image

    scale = size[1] / 720
    panels = key_panels(scene)[:1]
    foot = round(PLOT_HEIGHT * scale) if panels else 0
    plots = [strip(scene, (size[0], foot), panel, dpi=round(96 * scale)) for panel in panels]
    # Oversample by a quarter each way and average: the cheapest antialiasing in software rendering.
    with Stage(scene, (5 * size[0] // 4, 5 * size[1] // 4), ghosts=4, mesh=(41, 61)) as stage:
        # Frame names lie above their axes, and must not cover the title.
        top = 112 if any(is_word(frame.label[0]) for frame in scene.frames) else 50
        camera = camera_of(stage, np.linspace(scene.t[0], scene.t[-1], 40), size, (40, top, 40, 12 + foot / scale))
        sides: dict[str, Side] = {}
        for t, speed in zip(shown, np.gradient(shown) * fps, strict=True):
            now = stage.show(float(t), camera)
            image = to_image(stage.image(), size)
            for pixels, column, rows in plots:
                plot = Image.fromarray(pixels)
                image.paste(plot, (0, size[1] - foot), plot)
                mark_time(image, column(float(t)), [size[1] - foot + row for row in rows], scale)
            lines = [f"t = {t:.4f} s", speed_label(speed), *past_events(scene, float(t))]
            annotate(image, stage, now, camera, scale, lines, foot, sides)
            yield image


def _has_ffmpeg() -> bool:
    try:
        import imageio_ffmpeg

        imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        return False
    return True


def _write_mp4(path: Path, images: Iterator[Any], size: tuple[int, int], fps: int) -> None:
    import imageio_ffmpeg

    first = next(images)  # ffmpeg prints an error if it gets no frame
    options = ["-preset", "veryfast", "-crf", "19", "-movflags", "+faststart"]
    writer = imageio_ffmpeg.write_frames(
        str(path), size, fps=fps, codec="libx264", pix_fmt_out="yuv420p", macro_block_size=2, quality=None, output_params=options
    )
    with closing(writer):
        writer.send(None)
        for image in itertools.chain([first], images):
            writer.send(np.ascontiguousarray(image))


def _write_gif(path: Path, images: Iterator[Any], size: tuple[int, int], fps: int) -> None:
    from PIL import Image

    first = next(images).quantize(128, method=Image.Quantize.MEDIANCUT)
    others = [image.quantize(palette=first, dither=Image.Dither.NONE) for image in images]
    first.save(path, save_all=True, append_images=others, duration=round(1000 / fps), loop=0)


INSET = (60, 70, 60, 90)


class View:
    """Interactive view of a scene, which closes when its `with` block ends; a notebook displays it as a cell's value.

    Anything may be added to `plotter`, the pyvista plotter.
    """

    def __init__(self, scene: Scene, t: float, size: tuple[int, int], on_screen: bool):
        self.scene, self._stage = scene, Stage(scene, size, on_screen=on_screen, mesh=(41, 61))
        self.plotter = self._stage.plotter
        self._stage.show(t, camera_of(self._stage, np.linspace(scene.t[0], scene.t[-1], 40), size, INSET))
        self.plotter.add_text(scene.title, position="upper_left", font_size=12, color="#1c2331")

    def at(self, t: float) -> View:
        """Show the scene at time `t` (s), clipped to the run; return the view."""
        view = self.plotter.camera
        camera = Camera(np.array(view.position), np.array(view.focal_point), np.array(view.up), float(view.view_angle))
        self._stage.move(float(np.clip(t, self.scene.t[0], self.scene.t[-1])), camera)
        if self.plotter.render_window is not None:
            self.plotter.render()
        return self

    def image(self) -> np.ndarray:
        """Return the rendered view, (height, width, 3)."""
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

    On a screen it opens a rotatable window with a time slider, and returns when the window is closed. In a notebook, or with
    window=False, it returns immediately: the cell displays the view, `view.at(t)` moves it in time, and `view.plotter` is the
    pyvista plotter.

    Parameters
    ----------
    shown : the result of a run, or a scene.
    t : initial time (s); by default a representative time.
    size : (width, height) in pixels.
    window : open a window; by default True outside notebooks.

    Raises `ModelError` E160 for a run without anything to show, E578 for a window without a screen, E579 for anything but a
    result or a scene; `ExtraError` E416 without pyvista, E418 if rendering is impossible.
    """
    require_opengl()
    scene = as_scene(shown)
    opened = not in_notebook() if window is None else window
    if opened and not has_screen():
        cures = (
            "show(result, window=False), for the view alone",
            'page(result, "run.html"), still(...), poster(...), movie(...)',
        )
        raise refusal("E578", f"no screen is available to show {scene.title}", *cures, about=scene.title)
    span = (float(scene.t[0]), float(scene.t[-1]))
    now = min(max(representative_time(scene) if t is None else t, span[0]), span[1])
    view = View(scene, now, size, opened)
    if opened:
        view.plotter.add_slider_widget(view.at, span, value=now, title="time (s)", style="modern", color="#1c2331")
        view.plotter.show()
    return view


def in_notebook() -> bool:
    kernel = sys.modules.get("ipykernel.zmqshell")
    ipython = sys.modules.get("IPython")
    return kernel is not None and ipython is not None and isinstance(ipython.get_ipython(), kernel.ZMQInteractiveShell)


def has_screen() -> bool:
    return sys.platform in ("win32", "darwin") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
