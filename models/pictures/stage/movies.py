"""Movies of a scene: MP4, or GIF without ffmpeg. Short contacts are slowed down, with a label."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from screwbond.models.pictures.from_results.scenes import as_scene
from screwbond.models.pictures.plotting import key_panels, strip
from screwbond.models.pictures.scene import Scene, show_times, speed_label
from screwbond.models.pictures.stage.overlay import is_word, mark_time
from screwbond.models.pictures.stage.posters import annotate, camera_of, past_events, to_image
from screwbond.models.pictures.stage.stage import Stage

from bondgraph.output.files import atomic_file, known_ending
from bondgraph.output.progress import track
from bondgraph.run.results.result import Result

PLOT_HEIGHT = 132
"""Height (pixels at 720) of the plot at the foot of each frame."""


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
    path : ".mp4" becomes ".gif" without ffmpeg.
    seconds : length of the movie; the scene's time is stretched to it.
    fps : frames per second.
    size : (width, height) in pixels, multiples of 2.
    progress : show a bar on a terminal when it takes longer than two seconds.

    Returns the file written; it appears complete or not at all.
    """
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
    """Render Pillow images of a scene at times (s)."""
    from PIL import Image

    scale = size[1] / 720
    panels = key_panels(scene)[:1]
    foot = round(PLOT_HEIGHT * scale) if panels else 0
    plots = [strip(scene, (size[0], foot), panel, dpi=round(96 * scale)) for panel in panels]
    # Oversample by a quarter each way and average: the cheapest antialiasing in software rendering.
    with Stage(scene, (5 * size[0] // 4, 5 * size[1] // 4), ghosts=4, mesh=(41, 61)) as stage:
        # Names of frames stand above their axes, and must not cover the title.
        top = 112 if any(is_word(frame.label[0]) for frame in scene.frames) else 50
        camera = camera_of(stage, np.linspace(scene.t[0], scene.t[-1], 40), size, (40, top, 40, 12 + foot / scale))
        for t, speed in zip(shown, np.gradient(shown) * fps, strict=True):
            now = stage.show(float(t), camera)
            image = to_image(stage.image(), size)
            for pixels, column, rows in plots:
                plot = Image.fromarray(pixels)
                image.paste(plot, (0, size[1] - foot), plot)
                mark_time(image, column(float(t)), [size[1] - foot + row for row in rows], scale)
            lines = [f"t = {t:.4f} s", speed_label(speed), *past_events(scene, float(t))]
            annotate(image, stage, now, camera, scale, lines, foot, steady=True)
            yield image


def _has_ffmpeg() -> bool:
    """Return True if a working ffmpeg comes with imageio-ffmpeg or is on the path."""
    try:
        import imageio_ffmpeg

        imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        return False
    return True


def _write_mp4(path: Path, images: Iterator[Any], size: tuple[int, int], fps: int) -> None:
    import imageio_ffmpeg

    options = ["-preset", "veryfast", "-crf", "19", "-movflags", "+faststart"]
    writer = imageio_ffmpeg.write_frames(
        str(path), size, fps=fps, codec="libx264", pix_fmt_out="yuv420p", macro_block_size=2, quality=None, output_params=options
    )
    with closing(writer):
        writer.send(None)
        for image in images:
            writer.send(np.ascontiguousarray(image))


def _write_gif(path: Path, images: Iterator[Any], size: tuple[int, int], fps: int) -> None:
    from PIL import Image

    first = next(images).quantize(128, method=Image.Quantize.MEDIANCUT)
    others = [image.quantize(palette=first, dither=Image.Dither.NONE) for image in images]
    first.save(path, save_all=True, append_images=others, duration=round(1000 / fps), loop=0)
