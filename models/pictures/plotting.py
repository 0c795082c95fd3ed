"""Plots over time: the panels of a scene, one slim plot for a picture, and signals of several runs. Requires Matplotlib."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from screwbond.models.pictures.from_results.scenes import as_scene
from screwbond.models.pictures.parts import Panel
from screwbond.models.pictures.scene import Scene, close_up
from screwbond.models.pictures.style import EDGE, legend_above, plot_file

from bondgraph.output.plot_style import CYCLE, DASHES, MUTED, SHADE, styled, widen_flat_range
from bondgraph.run.results.result import Result

SMALLER_UNITS = {"m": ((1e-3, 1e6, "µm"), (0.3, 1e3, "mm")), "J": ((1.0, 1e3, "mJ"),)}
"""Conversions of each SI unit: limit below which values are converted, factor, and displayed unit."""

Keys = tuple[tuple[str, str, int], ...]

_INDICES = str.maketrans("0123456789n", "₀₁₂₃₄₅₆₇₈₉ₙ")


def shown_unit(panel: Panel) -> tuple[float, str]:
    largest = max(float(np.nanmax(np.abs(curve.values), initial=0.0)) for curve in panel.curves)
    return next(
        ((factor, name) for below, factor, name in SMALLER_UNITS.get(panel.unit, ()) if 0.0 < largest < below), (1.0, panel.unit)
    )


def title_with_unit(title: str, unit: str) -> str:
    return f"{title} ({unit})" if unit else title


def plain_text(text: str) -> str:
    """Convert text with mathematics between dollar signs to plain text.

    >>> plain_text(r"gap $d$"), plain_text("$u_1$"), plain_text(r"$\\alpha$")
    ('gap d', 'u₁', 'α')
    """
    text = text.replace("\n", " ").replace("$", "").replace(r"\alpha", "α").replace(r"\mu", "μ")
    return re.sub(r"_(\w)", lambda match: match.group(1).translate(_INDICES), text)


def key_panels(scene: Scene) -> list[Panel]:
    return [panel for panel in scene.panels if panel.key]


def legend_keys(panel: Panel) -> Keys:
    return tuple((curve.name, curve.colour, curve.dashed) for curve in panel.curves)


def plots(shown: Result | Scene, path: str | os.PathLike[str], dpi: int = 160) -> None:
    """Write the panels of a result or scene one above the other, as png, svg or pdf; a short contact gets a second column.

    Raises `ModelError` E160 without panels, E579 for anything but a result or a scene; `FileError` E414, E415; `ExtraError`
    E416 without Matplotlib.
    """
    scene = as_scene(shown)
    scene = replace(scene, panels=tuple(panel for panel in scene.panels if not panel.on_demand))
    scene.need("panels", scene.panels)
    near = close_up(scene)
    spans = [(float(scene.t[0]), float(scene.t[-1])), *([near] if near else [])]
    count = len(scene.panels)
    with plot_file(path, (8.4 + 4.2 * (len(spans) - 1), 1.2 + 1.75 * count), dpi=dpi, title=scene.title) as figure:
        ratios = {"width_ratios": [1.75, 1.0] if near else [1.0]}
        axes = figure.subplots(count, len(spans), sharex="col", squeeze=False, gridspec_kw=ratios)
        for column, span in enumerate(spans):
            shown = scene.at_times(_times_inside(scene, span)) if column else scene
            above: Keys = ()
            for row, panel in enumerate(shown.panels):
                # A legend also serves the panels below it that have the same curves.
                with_legend = column == 0 and legend_keys(panel) != above
                above = legend_keys(panel)
                label = _panel(axes[row, column], shown, panel, span, with_legend, 1e3 if column else 1.0)
                if column == 0 or label != axes[row, 0].get_ylabel():
                    axes[row, column].set_ylabel(label)
            axes[-1, column].set_xlabel("time (ms)" if column else "time (s)")
        figure.align_ylabels(axes[:, 0])
        height, width = figure.get_figheight(), figure.get_figwidth()
        space = {"hspace": 0.3, "wspace": 0.22}
        right = 1.0 - 2.0 * EDGE / width
        figure.subplots_adjust(left=0.95 / width, right=right, top=1.0 - 0.66 / height, bottom=0.55 / height, **space)


def _panel(axes: Any, scene: Scene, panel: Panel, span: tuple[float, float], legend: bool, seconds: float) -> str:
    for start, end in scene.contact_intervals():
        axes.axvspan(start * seconds, end * seconds, color=SHADE, linewidth=0, zorder=0)
    for mark in scene.event_marks:
        if not mark.internal and span[0] <= mark.t <= span[1]:
            axes.axvline(mark.t * seconds, color=mark.colour, linewidth=0.8, linestyle=(0, (2, 2)), zorder=1)
    if panel.level:
        axes.axhline(0.0, color=MUTED, linewidth=0.8)
    factor, unit = shown_unit(panel)
    for curve in panel.curves:
        dashes = DASHES[curve.dashed]
        axes.plot(scene.t * seconds, curve.values * factor, color=curve.colour, linestyle=dashes, label=curve.name)
    if legend and len(panel.curves) > 1:
        count = len(panel.curves)
        legend_above(axes, count, handlelength=1.6 if count < 5 else 1.1, columnspacing=1.2 if count < 6 else 0.8)
    axes.set_xlim(span[0] * seconds, span[1] * seconds)
    if panel.log:
        axes.set_yscale("log")
    else:
        widen_flat_range(axes)
        axes.locator_params(axis="y", nbins=5)
    return title_with_unit(panel.title, unit)


def _times_inside(scene: Scene, span: tuple[float, float]) -> NDArray[np.float64]:
    within = scene.t[(scene.t > span[0]) & (scene.t < span[1])]
    return np.concatenate([[span[0]], within, [span[1]]])


def strip(
    scene: Scene, size: tuple[int, int], panel: Panel, dpi: int = 100, span: tuple[float, float] | None = None
) -> tuple[NDArray[np.uint8], Callable[[float], float], tuple[float, float]]:
    """Draw one slim plot for the foot of a picture.

    Parameters
    ----------
    size : (width, height) in pixels.
    panel : a panel of the scene.
    dpi : dots per inch, which set the size of text.
    span : start and end (s), shown in milliseconds; None: the whole scene, in seconds.

    Returns image (height, width, 4), transparent; function from time (s) to pixel column; first and last pixel row of the plot.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with styled():
        inches = (size[0] / dpi, size[1] / dpi)
        figure = Figure(figsize=inches, dpi=dpi)
        canvas = FigureCanvasAgg(figure)
        figure.patch.set_alpha(0.0)
        # A legend that would reach the title is placed below it.
        title_offset = 0.2 if inches[0] < 1.2 * (len(panel.curves) + 1) else 0.0
        axes = figure.add_axes((0.62 / inches[0], 0.42 / inches[1], 1 - 0.85 / inches[0], 1 - (0.74 + title_offset) / inches[1]))
        axes.patch.set_alpha(0.0)
        start, end = span or (float(scene.t[0]), float(scene.t[-1]))
        seconds = 1e3 if span else 1.0
        if span:
            index = next(k for k, candidate in enumerate(scene.panels) if candidate is panel)
            scene = scene.at_times(_times_inside(scene, span))
            panel = scene.panels[index]
        label = _panel(axes, scene, panel, (start, end), True, seconds)
        axes.set_title(label.replace("\n", " "), pad=5 + 72 * title_offset)
        axes.set_xlabel("time (ms)" if span else "time (s)", labelpad=2)
        canvas.draw()
        image = np.asarray(canvas.buffer_rgba()).copy()
        box = axes.get_window_extent()
    return image, lambda t: box.x0 + box.width * (t - start) / (end - start), (size[1] - box.y1, size[1] - box.y0)


def plot_signals(
    results: Result | Mapping[str, Result],
    signals: Mapping[str, str | Sequence[str]],
    path: str | os.PathLike[str],
    *,
    limits: Mapping[str, tuple[float, float]] | None = None,
    title: str = "",
    dpi: int = 160,
) -> None:
    """Plot signals of one or several runs over time to a file, one panel each, with events marked.

    Parameters
    ----------
    results : one run, or several by name, with a column for each.
    signals : axis label of each signal with unit, such as "height (m)"; or a list of the label and component names for a
        legend.
    path : a file whose suffix selects the format (png, svg, pdf).
    limits : range of a signal's axis, by signal.
    title, dpi : heading, and resolution in dots per inch.

    Raises E415 for another suffix, E414 if the file cannot be written, E416 without Matplotlib, KeyError for an unknown signal.
    """
    colours = len(CYCLE)
    runs = {"": results} if isinstance(results, Result) else dict(results)
    size = (max(6.4, 3.4 * len(runs)), 0.8 + 1.9 * len(signals))
    with plot_file(path, size, dpi=dpi, layout="constrained", title=title) as figure:
        figure.get_layout_engine().set(w_pad=0.12)
        axes = figure.subplots(len(signals), len(runs), sharex="col", sharey="row", squeeze=False)
        for column, (name, result) in enumerate(runs.items()):
            for row, (signal, axis_label) in enumerate(signals.items()):
                label, *names = [axis_label] if isinstance(axis_label, str) else axis_label
                panel, values = axes[row][column], np.asarray(result[signal], dtype=float).reshape(len(result.t), -1)
                for k, component in enumerate(values.T):
                    component_label = names[k] if k < len(names) else None
                    panel.plot(
                        result.t,
                        component,
                        color=CYCLE[k % colours],
                        linestyle=DASHES[k // colours % len(DASHES)],
                        label=component_label,
                    )
                widen_flat_range(panel)
                if names and column == len(runs) - 1:
                    panel.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.6)
                for time in result.events.times[~result.events.internal]:
                    panel.axvline(time, color=MUTED, linewidth=0.4, alpha=0.35, zorder=0)
                if limits and signal in limits:
                    panel.set_ylim(*limits[signal])
                if column == 0:
                    panel.set_ylabel(label)
            axes[0][column].set_title(name)
            axes[-1][column].set_xlabel("time (s)")
            axes[-1][column].set_xlim(result.t[0], result.t[-1])
        figure.align_ylabels(axes[:, 0])
