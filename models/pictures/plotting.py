"""Plots of a contact motion over time: gap, normal force, contact coordinates, energy, residual. Needs matplotlib."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.pictures.figures import STYLE, plot_file
from models.pictures.motion import ContactMotion
from models.pictures.style import AXES, ENERGIES, FORCE, INK, MUTED, PATHS

SHADE = "#eef1f7"


def plots(motion: ContactMotion, path: str | os.PathLike[str], dpi: int = 160) -> None:
    """Write all plots of a motion above each other; a short contact gets a second column of its own.

    Parameters
    ----------
    motion : what moved.
    path : a file whose suffix says the format (png, svg, pdf).
    dpi : dots per inch.
    """
    panels = [_gap, _force, _coordinates, _energy] + ([_residual] if motion.residual is not None else [])
    spans = [(float(motion.t[0]), float(motion.t[-1])), *close_up(motion)]
    with plot_file(path, (8.4 + 4.2 * (len(spans) - 1), 1.2 + 1.75 * len(panels)), dpi=dpi) as figure:
        ratios = {"width_ratios": [1.75, 1.0] if len(spans) > 1 else [1.0]}
        axes = figure.subplots(len(panels), len(spans), sharex="col", squeeze=False, gridspec_kw=ratios)
        labels: dict[int, str] = {}
        for column, span in enumerate(spans):
            for row, panel in enumerate(panels):
                label = _panel(axes[row, column], motion, span, panel, column == 0, 1e3 if column else 1.0)
                if column == 0 or label != labels[row]:
                    axes[row, column].set_ylabel(label)
                labels.setdefault(row, label)
            axes[-1, column].set_xlabel("time (s)" if column == 0 else "time (ms)")
        figure.align_ylabels(axes[:, 0])
        top = 1.0 - 0.62 / figure.get_figheight()
        x = 0.95 / figure.get_figwidth()
        figure.subplots_adjust(left=x, right=0.985 - 0.5 / figure.get_figwidth(), top=top, bottom=0.055, hspace=0.3, wspace=0.22)
        figure.text(x, 1.0 - 0.2 / figure.get_figheight(), motion.title, fontsize=13, fontweight="bold", va="top")


def close_up(motion: ContactMotion) -> list[tuple[float, float]]:
    """The span (s) of the strongest contact, where contacts are too short to be seen in the whole run."""
    intervals = motion.contact_intervals()
    whole = float(motion.t[-1] - motion.t[0])
    if not intervals or max(b - a for a, b in intervals) > 0.12 * whole:
        return []
    peak = motion.t[int(np.argmax(motion.fn))]
    start, end = min(intervals, key=lambda ab: abs(0.5 * (ab[0] + ab[1]) - peak))
    width = max(end - start, 1e-6 * whole)
    return [(max(start - 0.4 * width, float(motion.t[0])), min(end + 0.4 * width, float(motion.t[-1])))]


def _panel(
    axes: Any, motion: ContactMotion, span: tuple[float, float], draw: Callable[..., str], legend: bool, unit: float
) -> str:
    for start, end in motion.contact_intervals():
        axes.axvspan(start * unit, end * unit, color=SHADE, linewidth=0, zorder=0)
    for event in motion.events:
        if not event.internal and span[0] <= event.t <= span[1]:
            axes.axvline(event.t * unit, color=MUTED, linewidth=0.8, linestyle=(0, (2, 2)), zorder=1)
    shown = motion if unit == 1.0 else motion.at_times(_times_inside(motion, span))
    label = draw(axes, shown, unit)
    names = axes.get_legend_handles_labels()[1]
    if legend and len(names) > 1:
        place = {"loc": "lower right", "bbox_to_anchor": (1.0, 0.98), "borderaxespad": 0.1}
        axes.legend(ncols=len(names), fontsize=8.5, handlelength=1.1, columnspacing=1.2, **place)
    axes.set_xlim(span[0] * unit, span[1] * unit)
    axes.locator_params(axis="y", nbins=5)
    return label


def _times_inside(motion: ContactMotion, span: tuple[float, float]) -> NDArray[np.float64]:
    inside = motion.t[(motion.t > span[0]) & (motion.t < span[1])]
    return np.concatenate([[span[0]], inside, [span[1]]])


def _gap(axes: Any, motion: ContactMotion, unit: float) -> str:
    scale, name = (1e6, "µm") if np.abs(motion.gap).max() < 1e-3 else (1e3, "mm")
    axes.axhline(0.0, color=MUTED, linewidth=0.8)
    axes.plot(motion.t * unit, motion.gap * scale, color=INK)
    return f"gap $d$ ({name})"


def _force(axes: Any, motion: ContactMotion, unit: float) -> str:
    axes.plot(motion.t * unit, motion.fn, color=FORCE)
    return "normal force $f_n$ (N)"


def _coordinates(axes: Any, motion: ContactMotion, unit: float) -> str:
    t = motion.t * unit
    for body, uv in enumerate((motion.uv1, motion.uv2)):
        axes.plot(t, uv[:, 0], color=PATHS[body], label=f"$u_{body + 1}$")
        axes.plot(t, uv[:, 1], color=PATHS[body], linestyle=(0, (4, 1.6)), label=f"$v_{body + 1}$")
    axes.plot(t, motion.alpha, color=AXES[1], label=r"$\alpha$")
    lengths = any(surface.endless for surface in motion.surfaces)
    return "contact\ncoordinates (rad, m)" if lengths else "contact\ncoordinates (rad)"


def _energy(axes: Any, motion: ContactMotion, unit: float) -> str:
    total = np.sum([*motion.energies.values()], axis=0) if motion.energies else np.zeros(len(motion.t))
    scale, name = (1e3, "mJ") if np.abs(total).max() < 1.0 else (1.0, "J")
    for colour, (words, values) in zip(ENERGIES * 3, motion.energies.items(), strict=False):
        axes.plot(motion.t * unit, np.asarray(values) * scale, color=colour, label=words)
    axes.plot(motion.t * unit, total * scale, color=INK, linewidth=1.1, linestyle=(0, (5, 2)), label="sum")
    return f"energy ({name})"


def _residual(axes: Any, motion: ContactMotion, unit: float) -> str:
    axes.axhline(0.0, color=MUTED, linewidth=0.8)
    axes.plot(motion.t * unit, motion.residual, color=AXES[0])
    return "energy ledger\nresidual (J)"


def strip(
    motion: ContactMotion, size: tuple[int, int], quantity: str = "force", dpi: int = 100, span: tuple[float, float] | None = None
) -> tuple[NDArray[np.uint8], Callable[[float], float], tuple[float, float]]:
    """One slim plot for the foot of a picture.

    Parameters
    ----------
    motion : what moved.
    size : (width, height) in pixels.
    quantity : "force", "gap", "coordinates", "energy" or "residual".
    dpi : dots per inch: the size of text.
    span : times (s) from and to, shown in milliseconds; the whole motion in seconds where None.

    Returns
    -------
    image (height, width, 4), transparent; time (s) to pixel column; first and last pixel row of the plot.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    draw = {"force": _force, "gap": _gap, "coordinates": _coordinates, "energy": _energy, "residual": _residual}[quantity]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(size[0] / dpi, size[1] / dpi), dpi=dpi)
        canvas = FigureCanvasAgg(figure)
        figure.patch.set_alpha(0.0)
        inches = (size[0] / dpi, size[1] / dpi)
        axes = figure.add_axes((0.62 / inches[0], 0.42 / inches[1], 1 - 0.85 / inches[0], 1 - 0.74 / inches[1]))
        axes.patch.set_alpha(0.0)
        start, end = span or (float(motion.t[0]), float(motion.t[-1]))
        label = _panel(axes, motion, (start, end), draw, True, 1.0 if span is None else 1e3)
        axes.set_title(label.replace("\n", " "), loc="left", fontsize=9.5, pad=5)
        axes.set_xlabel("time (s)" if span is None else "time (ms)", labelpad=2)
        canvas.draw()
        image = np.asarray(canvas.buffer_rgba()).copy()
        box = axes.get_window_extent()
    return image, lambda t: box.x0 + box.width * (t - start) / (end - start), (size[1] - box.y1, size[1] - box.y0)
