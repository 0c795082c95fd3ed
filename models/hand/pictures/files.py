"""Pictures of a hand's run: figures 6 and 7 of Visser 2002, the loss of the object, what the grasp does, and a movie."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bondgraph.output.extras import lacking
from models.hand.pictures.page import hand_page
from models.hand.pictures.plots import figure7, grasp_plot
from models.hand.pictures.stage import HandStage
from models.hand.studies.course import Study
from models.hand.studies.run import HandRun
from models.pictures.camera import Camera, fit
from models.pictures.figures import save_image
from models.pictures.movies import pace, write_images
from models.pictures.overlay import Label, draw_heading, draw_labels, draw_legend
from models.pictures.probe import rendering
from models.pictures.scene import picture
from models.pictures.style import INK, PATHS, font

Array = NDArray[np.float64]

VIEW = np.array([0.30, -0.88, 0.34])
UP = np.array([0.0, 0.0, 1.0])
NAMES = {"reference": "reference", "virtual": "virtual object", "object": "object"}


def write_pictures(run: HandRun, grasp: Study, folder: Path) -> str:
    """Write figure6.png, figure7.png, grasp.png, movie.mp4, page.html and, where the object is lost, lost.png.

    Returns one line that says what is missing and why, or "".
    """
    hand_page(run, grasp, folder / "page.html", shown_until(run))
    if not lacking("matplotlib"):
        figure7(run, folder / "figure7.png")
        grasp_plot(run, grasp, folder / "grasp.png")
    works, reason = rendering()
    if not works:
        return f"no pictures of the scene: {reason}"
    figure6(run, folder / "figure6.png")
    lost = run.lost()
    if lost is not None:
        still(run, folder / "lost.png", shown_until(run), ghosts=6)
    movie(run, folder / "movie.mp4")
    return ""


def figure6(run: HandRun, path: Path, t: float | None = None, size: tuple[int, int] = (1760, 992)) -> None:
    """The hand with the frames of reference, virtual object and object at a time (s), by default the end, and from near."""
    from PIL import Image

    at = (float(run.result.t[-1]) if run.lost() is None else 0.9 * float(run.lost() or 0.0)) if t is None else t
    left = (round(0.56 * size[0]), size[1])
    right = (size[0] - left[0], size[1])
    whole = Image.new("RGB", size, "#ffffff")
    scale = size[1] / 900
    with HandStage(run, (2 * left[0], 2 * left[1])) as stage:
        camera = fit(outline(stage, [at]), VIEW, UP, left, _inset(scale, (30, 110, 30, 130)))
        k = stage.show(at, camera)
        one = picture(stage.image(), left)
        _force_legend(one, stage, camera, k, scale)
        draw_heading(one, run.title, [f"t = {run.trajectory['t'][k]:.2f} s"], (34 * scale, 30 * scale), scale)
    with HandStage(run, (2 * right[0], 2 * right[1]), fingers=False) as stage:
        corners = _around_object(stage, k)
        camera = fit(corners, VIEW, UP, right, _inset(scale, (10, 40, 190, 40)))
        stage.show(at, camera)
        two = picture(stage.image(), right)
        _name_frames(two, stage, camera, k, scale)
    whole.paste(one, (0, 0))
    whole.paste(two, (left[0], 0))
    save_image(whole, path)


def still(run: HandRun, path: Path, t: float, size: tuple[int, int] = (1280, 960), ghosts: int = 0) -> None:
    """The hand at a time (s)."""
    scale = size[1] / 900
    with HandStage(run, (2 * size[0], 2 * size[1]), ghosts=ghosts) as stage:
        camera = fit(outline(stage, [0.0, t]), VIEW, UP, size, _inset(scale, (40, 120, 40, 110)))
        k = stage.show(t, camera)
        image = picture(stage.image(), size)
        _force_legend(image, stage, camera, k, scale)
        lines = [f"t = {run.trajectory['t'][k]:.3f} s", *_told(run, t)]
        draw_heading(image, run.title, lines, (34 * scale, 30 * scale), scale)
    save_image(image, path)


def movie(run: HandRun, path: Path, seconds: float = 9.0, fps: int = 12, size: tuple[int, int] = (960, 720)) -> Path:
    """The whole run as a movie, MP4 (GIF without ffmpeg); a lost object is followed for a moment."""
    end = shown_until(run)

    def images(count: int, fps: int, size: tuple[int, int]) -> Iterator[Any]:
        times = shown_times(run, count)
        speeds = np.gradient(times) * fps
        scale = size[1] / 900
        large, ghosts = (5 * size[0] // 4, 5 * size[1] // 4), 0 if run.lost() is None else 4
        with HandStage(run, large, ghosts=ghosts, mesh=(41, 61)) as stage:
            camera = fit(outline(stage, np.linspace(0.0, end, 30)), VIEW, UP, size, _inset(scale, (40, 110, 40, 80)))
            for t, speed in zip(times, speeds, strict=True):
                k = stage.show(float(t), camera)
                image = picture(stage.image(), size)
                _force_legend(image, stage, camera, k, scale)
                lines = [f"t = {t:.3f} s, {_pace(float(speed))}", *_told(run, float(t))]
                draw_heading(image, run.title, lines, (34 * scale, 30 * scale), scale)
                draw_labels(image, _frame_labels(stage, camera, k, size), np.zeros((0, 2)), [], scale, steady=True)
                yield image

    return write_images(path, images, seconds, fps, size)


def shown_until(run: HandRun) -> float:
    """End of what is worth seeing, s: a lost object until it is one and a half diameters away."""
    lost, arrays = run.lost(), run.trajectory
    if lost is None:
        return float(arrays["t"][-1])
    first = int(np.searchsorted(arrays["t"], lost))
    size = float(np.ptp(np.asarray(run.hand.parameters.surface.grid(9, 13)).reshape(-1, 3), axis=0).max())
    away = np.linalg.norm(arrays["object"][:, 4:] - arrays["object"][min(first, len(arrays["t"]) - 1), 4:], axis=1)
    far = np.flatnonzero((away > 1.5 * size) & (arrays["t"] > lost))
    return float(arrays["t"][far[0] if len(far) else -1])


def shown_times(run: HandRun, count: int) -> Array:
    """Times (s) of a movie's frames: even, but a third of them for the loss of the object, from shortly before."""
    end, lost = shown_until(run), run.lost()
    if lost is None:
        return np.linspace(0.0, end, count)
    begin = max(0.0, min(lost, end) - (end - lost) - 0.1)
    return np.interp(np.linspace(0.0, 1.0, count), [0.0, 0.67, 1.0], [0.0, begin, end])


def outline(stage: HandStage, times: Any) -> Array:
    """World points (k, 3) that outline hand, object and reference at some times."""
    given, points = stage.given, []
    grid = np.asarray(given.surface.grid(9, 13), dtype=float).reshape(-1, 3)
    angle = np.linspace(0.0, 2.0 * np.pi, 25)
    rim = (given.base_radius + 2.6 * given.link_radius) * np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    points.append(rim - (0.0, 0.0, 0.006))
    for t in times:
        k = stage.sample(float(t))
        places = stage.places[k].reshape(-1, 3)
        for shift in np.vstack([np.eye(3), -np.eye(3)]):
            points.append(places + given.tip_radius * shift)
        H = stage.poses["object"][k]
        points.append(grid @ H[:3, :3].T + H[:3, 3])
        R = stage.poses["reference"][k]
        points.append(R[:3, 3] + 0.55 * stage.unit * R[:3, :3].T)
    return np.vstack(points)


def _told(run: HandRun, t: float) -> list[str]:
    """What has happened until a time, the latest first."""
    shown = [
        f"{event['kind']}, {event['where']}, at {event['time']:.3f} s"
        if event["where"] != "grasp"
        else f"{event['kind']} at {event['time']:.3f} s"
        for event in run.events()
        if not event["internal"] and event["time"] <= t
    ]
    return shown[::-1][:8]


def _pace(speed: float) -> str:
    return pace(1.0 if abs(speed - 1.0) < 0.06 else speed)


def _inset(scale: float, pixels: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    left, top, right, bottom = (round(scale * value) for value in pixels)
    return left, top, right, bottom


def _force_legend(image: Any, stage: HandStage, camera: Camera, k: int, scale: float) -> None:
    unit = stage.unit_length * camera.pixels_per_metre(stage.poses["object"][k, :3, 3], image.size)
    entries = [(PATHS[0], "contact paths on the object"), (PATHS[1], "contact paths on the tips")]
    corner = (38 * scale, image.size[1] - 40 * scale)
    draw_legend(image, entries, (f"forces on the object: {stage.scale_text}", unit), corner, scale)


def _frame_labels(stage: HandStage, camera: Camera, k: int, size: tuple[int, int]) -> list[Label]:
    """Numbers of the fingers beside their bases."""
    at = camera.pixels(stage.places[k, :, 0], size)
    middle = at.mean(axis=0)
    return [Label(str(i), "", (float(x), float(y)), (float(x - middle[0]), 40.0)) for i, (x, y) in enumerate(at)]


def _around_object(stage: HandStage, k: int) -> Array:
    """World points (k, 3) that outline object, tips and the three frames."""
    shifts = np.vstack([np.eye(3), -np.eye(3)])
    tips = stage.arrays["tips"][k, :, :3, 3]
    frames = [H[k, :3, 3] + 0.53 * stage.unit * H[k, :3, :3].T for H in stage.poses.values()]
    near = [stage.poses["object"][k, :3, 3] + 0.5 * stage.unit * shifts, *frames]
    if stage.arrays["gap"][k].min() < 0.0:
        near += [tips + stage.given.tip_radius * shift for shift in shifts]
        near.append(stage.arrays["frames2"][k, :, :3, 3] - stage.arrays["forces"][k] / stage.newtons_per_metre)
    return np.vstack(near)


def _name_frames(image: Any, stage: HandStage, camera: Camera, k: int, scale: float) -> None:
    """Names of the three frames in a column on the right, with lines to the tips of their x or z axes."""
    from PIL import ImageDraw

    draw, text = ImageDraw.Draw(image), font(round(19 * scale))
    lengths = {name: 0.42 * stage.unit * long for name, long in (("reference", 1.25), ("virtual", 1.0), ("object", 0.75))}
    origins = np.array([stage.poses[n][k] for n in NAMES])
    ends = [
        camera.pixels(origins[:, :3, 3] + np.array([[lengths[n]] for n in NAMES]) * origins[:, :3, axis], image.size)
        for axis in (0, 2)
    ]
    # At the tips of those axes that lie farther apart in the picture.
    at = max(ends, key=lambda pixels: min(float(np.linalg.norm(pixels[a] - pixels[b])) for a, b in ((0, 1), (1, 2), (0, 2))))
    x = image.size[0] - 175 * scale
    order = np.argsort(at[:, 1])
    rows = float(np.mean(at[:, 1])) + scale * np.array([-85.0, -35.0, 15.0])
    for row, index in zip(rows, order, strict=True):
        name = list(NAMES.values())[index]
        draw.line([tuple(at[index]), (x - 8 * scale, row)], fill=INK, width=max(1, round(1.2 * scale)))
        draw.text((x, row), name, font=text, fill=INK, anchor="lm", stroke_width=round(3 * scale), stroke_fill="#ffffff")
