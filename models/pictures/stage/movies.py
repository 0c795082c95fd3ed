"""A scene as a movie: MP4, or GIF without ffmpeg. What is short is shown slower, and it says so."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from bondgraph.output.files import known_ending, whole_file
from models.pictures.plotting import key_panels, strip
from models.pictures.scene import Scene
from models.pictures.stage.overlay import words
from models.pictures.stage.stage import Stage
from models.pictures.stage.stills import camera_of, dress, picture, told
from models.pictures.style import INK
from models.pictures.timing import pace, show_times

STRIP = 132
"""Height (pixels at 720) of the plot at the foot of each frame."""


def movie(
    scene: Scene,
    path: str | os.PathLike[str],
    seconds: float = 10.0,
    fps: int = 30,
    size: tuple[int, int] = (1280, 720),
    progress: bool | None = None,
) -> Path:
    """Write a movie of the whole scene, at its foot the first of its key panels.

    Parameters
    ----------
    scene : what moves.
    path : the file; ".mp4" becomes ".gif" where no ffmpeg is found.
    seconds : length of the movie; the scene's time is stretched to it.
    fps : frames per second.
    size : (width, height) in pixels, multiples of 2.
    progress : whether a bar is shown on standard error; by default, if that is a terminal.

    Returns
    -------
    The file that was written; it appears complete or not at all.
    """
    path = Path(path)
    known_ending(path, ".mp4", ".gif")
    if path.suffix.lower() != ".gif" and not _has_ffmpeg():
        path = path.with_suffix(".gif")
    if path.suffix.lower() == ".gif":
        fps, size = min(fps, 12), (size[0] // 2, size[1] // 2)
    count = max(2, round(seconds * fps))
    report = _bar(count, path.name) if progress or (progress is None and sys.stderr.isatty()) else None
    write = _write_gif if path.suffix.lower() == ".gif" else _write_mp4
    with whole_file(path) as part:
        write(part, frames(scene, show_times(scene, count), fps, size), size, fps, report)
    return path


def frames(scene: Scene, shown: NDArray[np.float64], fps: int, size: tuple[int, int]) -> Iterator[Any]:
    """Pillow images of a scene at times (s)."""
    from PIL import Image, ImageDraw

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
                mark_time(ImageDraw.Draw(image), column(float(t)), [size[1] - foot + row for row in rows], scale)
            lines = [f"t = {t:.4f} s", pace(speed), *told(scene, float(t))]
            dress(image, stage, now, camera, scale, lines, foot, steady=True)
            yield image


def mark_time(draw: Any, x: float, rows: list[float], scale: float) -> None:
    """A line with a head across a plot whose first and last rows of pixels are given."""
    r = 4.5 * scale
    draw.line([(x, rows[0]), (x, rows[1])], fill=INK, width=max(1, round(2 * scale)))
    draw.ellipse((x - r, rows[0] - r, x + r, rows[0] + r), fill=INK)


def _has_ffmpeg() -> bool:
    """Whether a working ffmpeg comes with imageio-ffmpeg or lies on the path."""
    try:
        import imageio_ffmpeg

        imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        return False
    return True


def _write_mp4(path: Path, images: Iterator[Any], size: tuple[int, int], fps: int, report: Callable[[int], None] | None) -> None:
    import imageio_ffmpeg

    options = ["-preset", "veryfast", "-crf", "19", "-movflags", "+faststart"]
    writer = imageio_ffmpeg.write_frames(
        str(path), size, fps=fps, codec="libx264", pix_fmt_out="yuv420p", macro_block_size=2, quality=None, output_params=options
    )
    with closing(writer):
        writer.send(None)
        for count, image in enumerate(images, start=1):
            writer.send(np.ascontiguousarray(image))
            if report:
                report(count)


def _write_gif(path: Path, images: Iterator[Any], size: tuple[int, int], fps: int, report: Callable[[int], None] | None) -> None:
    from PIL import Image

    palette = None
    pictures = []
    for count, image in enumerate(images, start=1):
        palette = palette or image.quantize(128, method=Image.Quantize.MEDIANCUT)
        pictures.append(image.quantize(palette=palette, dither=Image.Dither.NONE))
        if report:
            report(count)
    pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=round(1000 / fps), loop=0)


def _bar(total: int, name: str, stream: TextIO | None = None) -> Callable[[int], None]:
    """A progress bar: call it with the number of frames that are done."""
    out = stream or sys.stderr
    started = time.perf_counter()

    def report(done: int) -> None:
        filled = round(30 * done / total)
        left = (time.perf_counter() - started) * (total - done) / done
        end = "\n" if done == total else ""
        out.write(f"\r{name} [{'#' * filled}{'.' * (30 - filled)}] {done}/{total} frames, {left:3.0f} s left{end}")
        out.flush()

    return report
