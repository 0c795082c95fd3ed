"""A contact motion as a movie: MP4, or GIF without ffmpeg. Short contacts are shown slower, and it says so."""

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
from models.pictures.camera import direction, fit, upward
from models.pictures.motion import ContactMotion
from models.pictures.overlay import draw_heading, draw_labels, draw_legend
from models.pictures.plotting import strip
from models.pictures.scene import extent, frame_labels, picture
from models.pictures.stage import Stage
from models.pictures.style import INK, PATHS

STRIP = 132
"""Height (pixels at 720) of the plot at the foot of each frame."""


def movie(
    motion: ContactMotion,
    path: str | os.PathLike[str],
    seconds: float = 10.0,
    fps: int = 30,
    size: tuple[int, int] = (1280, 720),
    progress: bool | None = None,
) -> Path:
    """Write a movie of the whole motion.

    Parameters
    ----------
    motion : what moves.
    path : the file; ".mp4" becomes ".gif" where no ffmpeg is found.
    seconds : length of the movie; the motion's time is stretched to it.
    fps : frames per second.
    size : (width, height) in pixels, multiples of 2.
    progress : whether a bar is shown on standard error; by default, if that is a terminal.

    Returns
    -------
    The file that was written; it appears complete or not at all.
    """

    def images(count: int, fps: int, size: tuple[int, int]) -> Iterator[Any]:
        shown = show_times(motion, count)
        return frames(motion, shown, np.gradient(shown) * fps, size)

    return write_images(path, images, seconds, fps, size, progress)


def write_images(
    path: str | os.PathLike[str],
    images: Callable[[int, int, tuple[int, int]], Iterator[Any]],
    seconds: float,
    fps: int = 30,
    size: tuple[int, int] = (1280, 720),
    progress: bool | None = None,
) -> Path:
    """Write a movie of images(count, fps, size), Pillow images of that size; the rest as in `movie`."""
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
        write(part, images(count, fps, size), size, fps, report)
    return path


def show_times(motion: ContactMotion, count: int, share: float = 0.3) -> NDArray[np.float64]:
    """Times (s) of the frames: even, unless contacts are so short that they get a `share` of all frames of their own.

    A contact is stretched together with half its length before and after it.
    """
    start, end = float(motion.t[0]), float(motion.t[-1])
    intervals = motion.contact_intervals()
    wide = [(max(start, a - 0.5 * (b - a)), min(end, b + 0.5 * (b - a))) for a, b in intervals]
    touching = sum(b - a for a, b in wide)
    if not wide or touching <= 0.0 or touching > share * (end - start):
        return np.linspace(start, end, count)
    marks = np.unique([start, end, *np.ravel(wide)])
    middles = 0.5 * (marks[1:] + marks[:-1])
    slow = np.array([any(a < m < b for a, b in wide) for m in middles])
    lengths = np.diff(marks)
    frames_of = np.where(slow, share * lengths / lengths[slow].sum(), (1.0 - share) * lengths / lengths[~slow].sum())
    return np.interp(np.linspace(0.0, 1.0, count), np.concatenate([[0.0], np.cumsum(frames_of)]), marks)


def pace(speed: float) -> str:
    """Words for seconds of motion per second of movie.

    >>> [pace(v) for v in (0.2, 1.0, 3.0, 0.0012)]
    ['slow motion 5×', 'real time', 'fast 3×', 'slow motion 830×']
    """
    if abs(speed - 1.0) < 0.02:
        return "real time"
    factor = max(speed, 1.0 / speed)
    rounded = float(f"{factor:.2g}")
    return f"{'slow motion' if speed < 1.0 else 'fast'} {rounded:g}×"


def frames(
    motion: ContactMotion, shown: NDArray[np.float64], speeds: NDArray[np.float64], size: tuple[int, int]
) -> Iterator[Any]:
    """Pillow images of a motion at times (s)."""
    from PIL import Image, ImageDraw

    scale = size[1] / 720
    foot = round(STRIP * scale)
    pixels, column, rows = strip(motion, (size[0], foot), "force", dpi=round(96 * scale))
    plot = Image.fromarray(pixels)
    # A quarter more pixels each way, averaged: the cheapest smooth edges in software rendering.
    large = (5 * size[0] // 4, 5 * size[1] // 4)
    with Stage(motion, large, ghosts=4, mesh=(41, 61)) as stage:
        corners = extent(stage, np.linspace(motion.t[0], motion.t[-1], 40))
        inset = tuple(round(v * scale) for v in (40, 50, 40, STRIP + 12))
        camera = fit(corners, direction(motion), upward(motion), size, inset)  # type: ignore[arg-type]
        entries = [(colour, f"contact path on {name}") for colour, name in zip(PATHS, motion.names, strict=True)]
        for t, speed in zip(shown, speeds, strict=True):
            now = stage.show(float(t), camera)
            image = picture(stage.image(), size)
            image.paste(plot, (0, size[1] - foot), plot)
            draw_heading(image, motion.title, [f"t = {t:.4f} s", pace(speed)], (28 * scale, 26 * scale), scale)
            unit = stage.unit_length * camera.pixels_per_metre(now.frame2[0, :3, 3], size)
            force = (f"force on {motion.names[1]}: {stage.scale_text}", unit)
            draw_legend(image, entries, force, (30 * scale, size[1] - foot - 22 * scale), scale)
            labels, _ = frame_labels(stage, now, camera, size)
            draw_labels(image, labels, np.zeros((0, 2)), [], scale, steady=True)
            x, top, low = column(float(t)), size[1] - foot + rows[0], size[1] - foot + rows[1]
            draw = ImageDraw.Draw(image)
            draw.line([(x, top), (x, low)], fill=INK, width=max(1, round(2 * scale)))
            r = 4.5 * scale
            draw.ellipse((x - r, top - r, x + r, top + r), fill=INK)
            yield image


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
