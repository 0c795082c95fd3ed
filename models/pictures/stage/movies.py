"""A scene as a movie: MP4, or GIF without ffmpeg. What is short is shown slower, and it says so."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from screwbond.models.pictures.filling.scenes import as_scene
from screwbond.models.pictures.plotting import key_panels, strip
from screwbond.models.pictures.scene import Scene
from screwbond.models.pictures.stage.overlay import mark_time, words
from screwbond.models.pictures.stage.stage import Stage
from screwbond.models.pictures.stage.stills import camera_of, dress, picture, told
from screwbond.models.pictures.timing import pace, show_times

from bondgraph.output.files import atomic_file, known_ending
from bondgraph.output.progress import track
from bondgraph.run.results.result import Result

STRIP = 132
"""Height (pixels at 720) of the plot at the foot of each frame."""


def movie(
    shown: Result | Scene,
    path: str | os.PathLike[str],
    seconds: float = 10.0,
    fps: int = 30,
    size: tuple[int, int] = (1280, 720),
    progress: bool = True,
) -> Path:
    """Write a movie of a whole run, or scene, at its foot the first of its key panels.

    Parameters
    ----------
    shown : the result of a run, or a scene.
    path : ".mp4" becomes ".gif" where no ffmpeg is found.
    seconds : length of the movie; the scene's time is stretched to it.
    fps : frames per second.
    size : (width, height) in pixels, multiples of 2.
    progress : show a bar on a terminal when it takes longer than two seconds.

    Returns the file that was written; it appears complete or not at all.
    """
    scene, path, write = as_scene(shown), Path(path), _write_mp4
    if known_ending(path, ".mp4", ".gif") == ".gif" or not _has_ffmpeg():
        path, write = path if path.suffix.lower() == ".gif" else path.with_suffix(".gif"), _write_gif
        fps, size = min(fps, 12), (size[0] // 2, size[1] // 2)
    count = max(2, round(seconds * fps))
    images = frames(scene, show_times(scene, count), fps, size)
    with atomic_file(path) as part, closing(track(images, path.name, total=count, progress=progress)) as told_of:
        write(part, told_of, size, fps)
    return path


def frames(scene: Scene, shown: NDArray[np.float64], fps: int, size: tuple[int, int]) -> Iterator[Any]:
    """Pillow images of a scene at times (s)."""
    from PIL import Image

    scale = size[1] / 720
    panels = key_panels(scene)[:1]
    foot = round(STRIP * scale) if panels else 0
    plots = [strip(scene, (size[0], foot), panel, dpi=round(96 * scale)) for panel in panels]
    # A quarter more pixels each way, averaged: the cheapest smooth edges in software rendering.
    with Stage(scene, (5 * size[0] // 4, 5 * size[1] // 4), ghosts=4, mesh=(41, 61)) as stage:
        # names of frames stand above their axes, and must keep off the title
        top = 112 if any(words(frame.label[0]) for frame in scene.frames) else 50
        camera = camera_of(stage, np.linspace(scene.t[0], scene.t[-1], 40), size, (40, top, 40, 12 + foot / scale))
        for t, speed in zip(shown, np.gradient(shown) * fps, strict=True):
            now = stage.show(float(t), camera)
            image = picture(stage.image(), size)
            for pixels, column, rows in plots:
                plot = Image.fromarray(pixels)
                image.paste(plot, (0, size[1] - foot), plot)
                mark_time(image, column(float(t)), [size[1] - foot + row for row in rows], scale)
            lines = [f"t = {t:.4f} s", pace(speed), *told(scene, float(t))]
            dress(image, stage, now, camera, scale, lines, foot, steady=True)
            yield image


def _has_ffmpeg() -> bool:
    """Whether a working ffmpeg comes with imageio-ffmpeg or lies on the path."""
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
