"""One composed picture of a contact motion: the scene, the contact from near, and what the contact does over time."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from models.pictures.camera import Camera, direction, fit, upward, zoom
from models.pictures.figures import save_image
from models.pictures.motion import ContactMotion
from models.pictures.overlay import Label, draw_labels, draw_legend, draw_paragraph
from models.pictures.plotting import close_up, strip
from models.pictures.scene import extent_at, frame_labels, picture
from models.pictures.stage import GHOST_SPACING, Stage
from models.pictures.style import AXES, INK, MUTED, PATHS, font

SIZE = (3600, 2400)
SCALE = 2.35
PAPER = "#ffffff"


def telling_time(motion: ContactMotion, ghosts: int = 5) -> float:
    """A time (s) worth a picture: a strong force, after enough travel for the ghosts, before paths cover each other."""
    steps = np.linalg.norm(np.diff(motion.p2 - motion.p1, axis=0), axis=1)
    travel = np.concatenate([[0.0], np.cumsum(steps)]) / (GHOST_SPACING * motion.size * ghosts)
    strength = motion.fn / motion.fn.max() if motion.fn.max() > 0.0 else -np.abs(motion.gap) / motion.size
    late = (motion.t - motion.t[0]) / max(float(np.ptp(motion.t)), 1e-12)
    return float(motion.t[np.argmax(3.0 * strength + np.minimum(travel, 1.0) - 0.5 * late)])


def poster(motion: ContactMotion, path: str | os.PathLike[str], t: float | None = None) -> None:
    """Write the poster as PNG, 3600 by 2400 pixels.

    Parameters
    ----------
    motion : what moves.
    path : the file.
    t : the time (s) that it shows; chosen where None.
    """
    from PIL import Image, ImageDraw

    t = telling_time(motion) if t is None else t
    page = Image.new("RGB", SIZE, PAPER)
    draw = ImageDraw.Draw(page)
    ring = (2880, 930, 560)
    main, camera, now, stage_scale = _scene(motion, t, (2500, 1560))
    page.paste(main, (0, 260))
    near, reach = _close_up(motion, t, 2 * ring[2])
    contact = camera.pixels(0.5 * (now.frame1[0, :3, 3] + now.frame2[0, :3, 3]), (2500, 1560))[0]
    radius = reach * camera.pixels_per_metre(now.frame2[0, :3, 3], (2500, 1560))
    _magnifier(page, (float(contact[0]), float(contact[1]) + 260, radius), ring)
    mask = Image.new("L", (4 * ring[2], 4 * ring[2]), 0)
    ImageDraw.Draw(mask).ellipse((8, 8, 4 * ring[2] - 8, 4 * ring[2] - 8), fill=255)
    page.paste(near, (ring[0] - ring[2], ring[1] - ring[2]), mask.resize(near.size, Image.Resampling.LANCZOS))
    box = tuple(ring[k % 2] + (-1 if k < 2 else 1) * ring[2] for k in range(4))
    draw.ellipse(box, outline=MUTED, width=5)
    _words(page, motion, t, stage_scale, ring)
    _strips(page, motion, t)
    save_image(page, path)


def _scene(motion: ContactMotion, t: float, size: tuple[int, int]) -> tuple[Any, Camera, ContactMotion, tuple[str, float]]:
    with Stage(motion, size, background=(PAPER, PAPER), around=True) as stage:
        camera = fit(extent_at(stage, t), direction(motion, t), upward(motion), size, (130, 100, 250, 90))
        now = stage.show(t, camera)
        image = picture(stage.image(), size)
        labels, avoid = frame_labels(stage, now, camera, size)
        draw_labels(image, labels, avoid, [], SCALE)
        unit = stage.unit_length * camera.pixels_per_metre(now.frame2[0, :3, 3], size)
        return image, camera, now, (stage.scale_text, unit)


def _close_up(motion: ContactMotion, t: float, side: int) -> tuple[Any, float]:
    """The contact from near, both Gauss frames with all their axes named; and how far (m) the picture reaches."""
    with Stage(motion, (side, side), background=("#f1f4f8", "#ffffff"), fine=0.72, ghosts=0, triads=0.36) as stage:
        now = motion.at_times([t])
        middle = np.vstack([now.frame1[0, :3, 3], now.frame2[0, :3, 3]])
        apart = float(np.linalg.norm(middle[1] - middle[0]))
        reach = 0.36 * motion.size + apart
        camera = zoom(middle, direction(motion, t), upward(motion), reach)
        now = stage.show(t, camera)
        image = picture(stage.image(), (side, side))
        labels, avoid = [], []
        for body, H in enumerate((now.frame1[0], now.frame2[0])):
            ends = H[:3, 3] + stage.triad_length * H[:3, :3].T
            start, *tips = camera.pixels(np.vstack([H[:3, 3], ends]), image.size)
            avoid += [start + s * (tip - start) for tip in tips for s in np.linspace(0, 1, 40)]
            for name, tip, colour in zip("xyz", tips, AXES, strict=True):
                away = tip - start
                labels.append(Label(name, str(body + 1), (tip[0], tip[1]), (away[0], away[1]), colour))
        tip_world = stage.arrow_tip(now)
        if tip_world is not None:
            start, tip = camera.pixels(np.vstack([now.frame2[0, :3, 3], tip_world]), image.size)
            avoid += [start + s * (tip - start) for s in np.linspace(0, 1, 60)]
        draw_labels(image, labels, np.array(avoid), [], 1.25 * SCALE)
        return image, reach


def _magnifier(page: Any, small: tuple[float, float, float], large: tuple[float, float, float]) -> None:
    """A circle (x, y, radius) round the contact, and the two lines to the circle that shows it larger."""
    from PIL import Image, ImageDraw

    # Drawn at twice the size and averaged: thin slanted lines would be jagged.
    veil = Image.new("L", (2 * page.width, 2 * page.height), 0)
    draw = ImageDraw.Draw(veil)
    x, y, radius = (2 * value for value in small)
    draw.ellipse((x - radius, y - radius, x + radius, y + radius), outline=150, width=7)
    away = np.array([large[0] - small[0], large[1] - small[1]])
    distance = float(np.hypot(*away))
    if distance > large[2] + small[2]:
        along = np.arctan2(away[1], away[0])
        half = np.arccos((small[2] - large[2]) / distance)
        for angle in (along - half, along + half):
            ends = [(2 * cx + 2 * r * np.cos(angle), 2 * cy + 2 * r * np.sin(angle)) for cx, cy, r in (small, large)]
            draw.line(ends, fill=110, width=6)
    page.paste(MUTED, (0, 0), veil.resize(page.size, Image.Resampling.BOX))


def _words(page: Any, motion: ContactMotion, t: float, force: tuple[str, float], ring: tuple[int, int, int]) -> None:
    from PIL import ImageDraw

    draw = ImageDraw.Draw(page)
    named = motion.name.lower() != motion.title.lower()
    room = SIZE[0] - 260 - (font(52).getlength(motion.name) + 100 if named else 0)
    large = next((size for size in range(112, 40, -4) if font(size, "bold").getlength(motion.title) <= room), 40)
    draw.text((130, 120), motion.title, font=font(large, "bold"), fill=INK, anchor="lt")
    if named:
        draw.text((SIZE[0] - 130, 130), motion.name, font=font(52), fill=MUTED, anchor="rt")
    draw.text((134, 268), f"t = {t:.3f} s", font=font(48), fill=MUTED, anchor="lt")
    entries = [(colour, f"contact path on {name}") for colour, name in zip(PATHS, motion.names, strict=True)]
    draw_legend(page, entries, (f"force on {motion.names[1]}: {force[0]}", force[1]), (2560, 1858), SCALE)
    words = "Gauss frames at the contact"
    draw.text((ring[0], ring[1] + ring[2] + 46), words, font=font(46), fill=INK, anchor="mt")
    more = f"C₁ on {motion.names[0]}, C₂ on {motion.names[1]}; z points outward"
    draw_paragraph(page, more, (ring[0], ring[1] + ring[2] + 112), 38)


def _strips(page: Any, motion: ContactMotion, t: float) -> None:
    """Force and gap over the whole width of the foot, with the time of the picture marked."""
    from PIL import Image, ImageDraw

    draw = ImageDraw.Draw(page)
    span = next(iter(close_up(motion)), None)
    for quantity, x, width in (("force", 90, 1830), ("energy", 1960, 1560)):
        pixels, column, rows = strip(motion, (width, 450), quantity, dpi=250, span=span)
        image = Image.fromarray(pixels)
        page.paste(image, (x, 1910), image)
        at = x + column(t)
        draw.line([(at, 1910 + rows[0]), (at, 1910 + rows[1])], fill=INK, width=4)
        draw.ellipse((at - 11, 1910 + rows[0] - 11, at + 11, 1910 + rows[0] + 11), fill=INK)
