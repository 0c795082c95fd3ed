"""Stills and posters of a scene: a picture at one time, alone or with a close-up of a contact and plots of the key panels."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from screwbond.models.pictures.from_results.scenes import as_scene
from screwbond.models.pictures.parts import ContactDrawing, Look
from screwbond.models.pictures.plotting import key_panels, strip
from screwbond.models.pictures.scene import (
    Camera,
    Scene,
    close_up,
    direction,
    fit,
    representative_time,
    strongest_contact,
    upward,
    zoom,
)
from screwbond.models.pictures.stage.labels import Box, Label, Side, draw_labels
from screwbond.models.pictures.stage.overlay import (
    Sight,
    arrows_in,
    axes_in,
    bodies_in,
    draw_heading,
    draw_legend,
    draw_length,
    frame_labels,
    ghost_labels,
    mark_time,
    pixels_between,
)
from screwbond.models.pictures.stage.stage import Stage
from screwbond.models.pictures.style import AXES, GAUSS, font, round_number, save_image

from bondgraph.output.plot_style import INK, MUTED, PAPER
from bondgraph.run.results.result import Result

Inset = tuple[float, float, float, float]
"""Margins at the left, top, right and bottom of a picture, pixels at a height of 720."""

MAX_FORCE_BAR = 0.1

BESIDE, BELOW, BETWEEN = (330, 40, 50, 40), (330, 75, 50, 40), (60, 105, 60, 120)
"""Margins for text in a column on the left with a narrow or wide title, or in bands above and below."""


def still(
    shown: Result | Scene,
    path: str | os.PathLike[str],
    t: float | None = None,
    size: tuple[int, int] = (1920, 1080),
    ghosts: int = 5,
) -> None:
    """Write the picture of a result or scene at a time (s), by default a representative time, with a size (width, height) in
    pixels, as PNG or JPEG; `ghosts` is the number of earlier poses shown of each `Solid` that has `ghosts`. Raises the errors of
    `movie`."""
    scene, scale = as_scene(shown), size[1] / 720
    t = representative_time(scene) if t is None else t
    # Oversample twice and average: smoother edges than the window's own antialiasing.
    with Stage(scene, (2 * size[0], 2 * size[1]), ghosts=ghosts) as stage:
        ring, camera = _corner(size), _closest_camera(stage, t, size)
        now = stage.show(t, camera)
        touch = _unseen_contact(stage, now, camera, size)
        if touch is not None:
            camera = _closest_camera(stage, t, size, round((size[0] - ring.box[0]) / scale) + 16)
            now = stage.show(t, camera)
        image = to_image(stage.image(), size)
        lines = [*scene.subtitle, f"t = {t:.3f} s", *past_events(scene, t)]
        annotate(image, stage, now, camera, scale, lines, reserved=[ring.box] if touch is not None else [])
    if touch is not None:
        _add_lens(image, scene, t, touch, camera, ring)
    save_image(image, path)


def _closest_camera(stage: Stage, t: float, size: tuple[int, int], right: int = 0) -> Camera:
    narrow = font(23, "bold").getlength(stage.scene.title) < BESIDE[0] - 40
    insets = ((a, b, max(c, right), d) for a, b, c, d in (BESIDE if narrow else BELOW, BETWEEN))
    cameras = [camera_of(stage, [t], size, inset) for inset in insets]
    return min(cameras, key=lambda camera: float(np.linalg.norm(camera.eye - camera.centre)))


SMALL = 20
"""Minimum length of contact axes, pixels at a height of 720; with shorter axes, a still gets a close-up, as a page does."""


def _unseen_contact(stage: Stage, now: Scene, camera: Camera, size: tuple[int, int]) -> ContactDrawing | None:
    if not now.contacts:
        return None
    touch, length = strongest_contact(now), GAUSS * now.unit
    if touch.gap[0] >= length:
        return None
    H = touch.frames[1][0]
    if camera.pixels_per_metre(H[:3, 3], size) * length < SMALL * size[1] / 720:
        return touch
    stage.image()  # the depth buffer belongs to the last rendering
    tips = np.vstack([H[:3, 3] + length * (H[:3, :3] @ way) for G in touch.frames for H in G for way in np.eye(3)])
    return None if Sight.of(stage, camera).sees(tips, 2.0 * stage.radius).any() else touch


def camera_of(stage: Stage, times: Any, size: tuple[int, int], inset: Inset) -> Camera:
    scene, (left, top, right, bottom) = stage.scene, (round(size[1] / 720 * margin) for margin in inset)
    view = direction(scene, times[0] if len(times) == 1 else None)
    return fit(stage.outline(times), view, upward(scene), size, (left, top, right, bottom))


def to_image(pixels: NDArray[np.uint8], size: tuple[int, int]) -> Any:
    from PIL import Image

    image = Image.fromarray(pixels)
    return image if image.size == size else image.resize(size, Image.Resampling.BOX)


def past_events(scene: Scene, t: float, max_lines: int = 8) -> list[str]:
    return [h.label for h in scene.event_marks if h.label and not h.internal and h.t <= t][::-1][:max_lines]


def annotate(
    image: Any,
    stage: Stage,
    now: Scene,
    camera: Camera,
    scale: float,
    lines: list[str],
    foot: float = 0.0,
    sides: dict[str, Side] | None = None,
    reserved: Sequence[Box] = (),
) -> None:
    """Draw title, lines, legend, scale bar, and the names of frames and ghosts on a picture.

    Parameters
    ----------
    foot : occupied height (pixels) at the bottom.
    sides : for movies, the label sides in the previous frame, which are kept; the legend then has all entries, visible or not.
    reserved : boxes that labels must not cover.
    """
    height, size = image.size[1], image.size
    sight = Sight.of(stage, camera) if sides is None else None
    occupied: list[Box] = [*reserved, draw_heading(image, now.title, lines, (32 * scale, 28 * scale), scale)]
    corner = (34 * scale, height - foot - (22 if foot else 34) * scale)
    legend = stage.scene.legend if sight is None else sight.legend(now)
    occupied.append(draw_legend(image, legend, force_bar(stage, now, camera, size), corner, scale))
    occupied.append(draw_length(image, camera.pixels_per_metre(camera.centre, size), foot, scale))
    labels, avoid = frame_labels(stage, now, camera, size, sight)
    ghosts = [] if sight is None else ghost_labels(stage, float(now.t[0]), sight, size)
    bodies = bodies_in(stage, now, camera, size)
    draw_labels(image, [*labels, *ghosts], avoid, occupied, scale, bodies=bodies, sides=sides)


def force_bar(stage: Stage, now: Scene, camera: Camera, size: tuple[int, int]) -> tuple[str, float] | None:
    forces = [force for force in now.all_forces if stage.arrow(force) is not None]
    if not forces:
        return None
    pixels = camera.pixels_per_metre(forces[0].points[0], size) / stage.scene.scale.newtons_per_metre
    newtons = round_number(MAX_FORCE_BAR * size[1] / pixels)
    larger = "; two heads: larger" if any(stage.scene.cuts(force)[0] for force in forces) else ""
    return f"{stage.scene.force_words} (bar: {newtons:g} N{larger})", newtons * pixels


SCALE = 2.35


@dataclass(frozen=True)
class Layout:
    """Sizes and positions on a poster, pixels.

    Attributes
    ----------
    size, scene : (width, height) of the poster, and of the scene.
    top : first row of the scene.
    title : upper left corner, and largest font size.
    foot, height : first row of the plots, and their height.
    dpi : resolution, which sets the size of the plots' text.
    legend : lower left corner.
    margins : left, top, right and bottom of the scene that stay free of solids.
    """

    size: tuple[int, int]
    title: tuple[int, int, int]
    scene: tuple[int, int]
    top: int
    foot: int
    height: int
    dpi: int
    legend: tuple[int, int]
    margins: tuple[int, int, int, int]


WIDER = 1830 / 1560

TOUCHING = Layout((3600, 2400), (130, 120, 112), (2500, 1560), 260, 1910, 450, 250, (2560, 1858), (130, 100, 250, 90))
FREE = Layout((2400, 2400), (90, 70, 56), (2400, 1560), 50, 1690, 680, 200, (96, 1610), (60, 160, 60, 130))
"""Layouts with and without a close-up of a contact; the layout without a close-up is trimmed to the height of its content."""

FEATHER = 60


@dataclass(frozen=True)
class Ring:
    x: float
    y: float
    radius: float

    @property
    def box(self) -> tuple[float, float, float, float]:
        return self.x - self.radius, self.y - self.radius, self.x + self.radius, self.y + self.radius


CLOSE_UP = Ring(2880, 930, 560)


def _corner(size: tuple[int, int]) -> Ring:
    scale = size[1] / 720
    return Ring(size[0] - 124 * scale, 124 * scale, 100 * scale)


def poster(shown: Result | Scene, path: str | os.PathLike[str], t: float | None = None) -> None:
    """Write the poster of a result or scene at a time (s), by default a representative time, as PNG or JPEG of 3600 by 2400
    pixels, or 2400 wide without contacts. Raises the errors of `movie`."""
    from PIL import Image

    scene = as_scene(shown)
    t = representative_time(scene) if t is None else t
    layout = TOUCHING if scene.contacts else FREE
    size = layout.scene
    with Stage(scene, size, background=(PAPER, PAPER), around=True) as stage:
        left, top, right, bottom = (720.0 / size[1] * margin for margin in layout.margins)
        camera = camera_of(stage, [t], size, (left, top, right, bottom))
        now = stage.show(t, camera)
        scene_image = to_image(stage.image(), size)
        sight = Sight.of(stage, camera)
        labels, avoid = frame_labels(stage, now, camera, size, sight)
        labels += ghost_labels(stage, t, sight, size)
        draw_labels(scene_image, labels, avoid, [], SCALE, bodies=bodies_in(stage, now, camera, size))
        if not scene.contacts:
            rows = camera.pixels(stage.outline([t]), size)[:, 1]
            layout, scene_image = _crop(layout, scene_image, float(rows.min()), float(rows.max()))
        draw_length(scene_image, camera.pixels_per_metre(camera.centre, size), 0.0, SCALE)
        bar, legend = force_bar(stage, now, camera, size), sight.legend(now)
    page = Image.new("RGB", layout.size, PAPER)
    page.paste(scene_image, (0, layout.top), _feather(scene_image.size))
    if scene.contacts:
        touch = strongest_contact(now)
        _add_lens(page, scene, t, touch, camera, CLOSE_UP, size, layout.top)
        _caption(page, now, touch)
    _heading(page, layout, scene, t)
    draw_legend(page, legend, bar, layout.legend, SCALE)
    _strips(page, layout, scene, t)
    save_image(page, path)


def _crop(layout: Layout, image: Any, first: float, last: float) -> tuple[Layout, Any]:
    top = max(0, round(first) - layout.margins[1])
    height = min(layout.scene[1], round(last) + layout.margins[3]) - top
    saved = layout.scene[1] - height
    size, (x, y) = (layout.size[0], layout.size[1] - saved), layout.legend
    shorter = replace(layout, size=size, scene=(layout.scene[0], height), foot=layout.foot - saved, legend=(x, y - saved))
    return shorter, image.crop((0, top, layout.scene[0], top + height))


def _feather(size: tuple[int, int]) -> Any:
    from PIL import Image

    across, down = (np.minimum(1.0, np.minimum(np.arange(n), np.arange(n)[::-1]) / FEATHER) for n in size)
    return Image.fromarray(np.round(255.0 * np.outer(down, across)).astype(np.uint8))


def _add_lens(
    page: Any,
    scene: Scene,
    t: float,
    touch: ContactDrawing,
    camera: Camera,
    ring: Ring,
    size: tuple[int, int] | None = None,
    top: int = 0,
) -> None:
    near, reach = _close_up(scene, t, touch, round(2 * ring.radius))
    middle, window = 0.5 * sum(H[0, :3, 3] for H in touch.frames), size or page.size
    x, y = camera.pixels(middle, window)[0]
    _magnify(page, near, Ring(float(x), float(y) + top, reach * camera.pixels_per_metre(middle, window)), ring)


def _close_up(scene: Scene, t: float, touch: ContactDrawing, side: int) -> tuple[Any, float]:
    size, scale = (side, side), 1.25 * SCALE * (0.5 * side / CLOSE_UP.radius) ** 0.75
    # Draw bodies as glass, so that they do not hide the axes.
    clear = [replace(solid, look=Look.GLASS) if solid.look is Look.OPAQUE else solid for solid in scene.solids]
    scene = replace(scene, size=scene.unit, solids=tuple(clear))
    with Stage(scene, size, background=("#f1f4f8", "#ffffff"), fine=0.72, ghosts=0, longer=0.36 / GAUSS) as stage:
        middle = np.vstack([H[0, :3, 3] for H in touch.frames])
        reach = 0.36 * scene.unit + float(np.linalg.norm(middle[1] - middle[0]))
        camera = zoom(middle, direction(scene, t), upward(scene), reach)
        now = stage.show(t, camera)
        image = to_image(stage.image(), size)
        labels, avoid = [], arrows_in(stage, now, camera, size)
        for side_of, H in enumerate(touch.frames, start=1):
            start, *tips = axes_in(camera, H[0], stage.axis, size)
            avoid += [pixels_between(start, tip, 40) for tip in tips]
            for name, tip, colour in zip("xyz", tips, AXES, strict=True):
                away = tip - start
                labels.append(Label(name, str(side_of), (tip[0], tip[1]), (away[0], away[1]), colour))
        draw_labels(image, labels, np.vstack(avoid), [], scale)
        return image, reach


def _magnify(page: Any, near: Any, small: Ring, ring: Ring) -> None:
    from PIL import Image, ImageDraw

    # Draw at twice the size and average, for smooth thin lines.
    veil, thick = Image.new("L", (2 * page.width, 2 * page.height), 0), max(2, round(7 * ring.radius / CLOSE_UP.radius))
    draw = ImageDraw.Draw(veil)
    draw.ellipse([2 * value for value in small.box], outline=150, width=thick)
    across, down = ring.x - small.x, ring.y - small.y
    distance = float(np.hypot(across, down))
    if distance > ring.radius + small.radius:
        along = np.arctan2(down, across)
        half = np.arccos((small.radius - ring.radius) / distance)
        for angle in (along - half, along + half):
            ends = [(2 * (c.x + c.radius * np.cos(angle)), 2 * (c.y + c.radius * np.sin(angle))) for c in (small, ring)]
            draw.line(ends, fill=110, width=max(2, thick - 1))
    page.paste(MUTED, (0, 0), veil.resize(page.size, Image.Resampling.BOX))
    side, edge = 2 * near.width, max(2, thick + 1)
    mask = Image.new("L", (side, side), 0)
    ImageDraw.Draw(mask).ellipse((edge, edge, side - edge, side - edge), fill=255)
    corner = (round(ring.x - ring.radius), round(ring.y - ring.radius))
    page.paste(near, corner, mask.resize(near.size, Image.Resampling.LANCZOS))
    left, top, right, bottom = ring.box
    ImageDraw.Draw(page).ellipse((left - 1, top - 1, right + 1, bottom + 1), outline=MUTED, width=max(2, thick - 2))


def _caption(page: Any, scene: Scene, touch: ContactDrawing) -> None:
    from PIL import ImageDraw

    first, second = (scene.solids[i].words for i in touch.solids)
    draw, foot = ImageDraw.Draw(page), CLOSE_UP.y + CLOSE_UP.radius
    draw.text((CLOSE_UP.x, foot + 46), "Gauss frames at the contact", font=font(46), fill=INK, anchor="mt")
    what = f"C₁ on {first}, C₂ on {second}; z points outward"
    draw.text((CLOSE_UP.x, foot + 112), what, font=font(38), fill=MUTED, anchor="mt")


def _heading(page: Any, layout: Layout, scene: Scene, t: float) -> None:
    from PIL import ImageDraw

    draw, (x, y, most) = ImageDraw.Draw(page), layout.title
    small = font(max(36, round(0.43 * most)))
    width = page.width - 2 * x - sum(small.getlength(name) + 100 for name in scene.subtitle)
    large = next((size for size in range(most, 40, -4) if font(size, "bold").getlength(scene.title) <= width), 40)
    draw.text((x, y), scene.title, font=font(large, "bold"), fill=INK, anchor="lt")
    for name in scene.subtitle:
        draw.text((page.width - x, y + 10), name, font=small, fill=MUTED, anchor="rt")
    draw.text((x + 4, y + round(1.32 * most)), f"t = {t:.3f} s", font=small, fill=MUTED, anchor="lt")


def _strips(page: Any, layout: Layout, scene: Scene, t: float) -> None:
    from PIL import Image

    span, panels, x = close_up(scene), key_panels(scene)[:3], 90
    for k, panel in enumerate(panels):
        share = (WIDER if k == 0 else 1.0) / (WIDER + len(panels) - 1)
        width = round(share * (layout.size[0] - 130 - 40 * len(panels)))
        pixels, column, rows = strip(scene, (width, layout.height), panel, dpi=layout.dpi, span=span)
        image = Image.fromarray(pixels)
        page.paste(image, (x, layout.foot), image)
        mark_time(page, x + column(t), [layout.foot + row for row in rows], SCALE)
        x += width + 40
