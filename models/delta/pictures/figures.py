"""Figures of the delta robot's analysis and runs: poles and zeros, the unstable root, signals over time. Need Matplotlib."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from screwbond.models.delta.studies.analysis import PoleSweep, PoleZeroMap
from screwbond.models.delta.studies.run import DeltaRun
from screwbond.models.pictures.figures import legend_above, plot_file

from bondgraph.output.plot_style import CYCLE, DANGER, DASHES, INK, MUTED, SMALL

Path = str | os.PathLike[str]
CANCEL = "poles and zeros that cancel"


def pole_zero_plot(maps: Mapping[str, PoleZeroMap], path: Path, *, title: str = "", dpi: int = 160) -> None:
    """Write poles and zeros of one or several linear systems above each other, as in Bortoff 2018, fig. 5.

    Parameters
    ----------
    maps : caption of each panel -> its poles and zeros.
    path : a file whose suffix selects the format (png, svg, pdf).
    """
    with plot_file(path, (7.6, 0.6 + 3.1 * len(maps)), dpi=dpi, layout="constrained", title=title) as figure:
        panels = figure.subplots(len(maps), 1, sharex=True, squeeze=False)[:, 0]
        for panel, (caption, shown) in zip(panels, maps.items(), strict=True):
            _poles_and_zeros(panel, shown)
            panel.set_title(caption)
            panel.set_ylabel("imaginary part (1/s)")
        panels[-1].set_xlabel("real part (1/s)")
        values = np.concatenate([np.concatenate([m.poles, m.zeros, m.cancelled_poles]) for m in maps.values()])
        left, right = float(values.real.min()), max(float(values.real.max()), 0.0)
        margin = 0.08 * (right - left)
        panels[0].set_xlim(left - margin, right + margin)
        handles = {words: handle for panel in panels for handle, words in zip(*panel.get_legend_handles_labels(), strict=True)}
        if CANCEL in handles:
            ring = next(line for panel in panels for line in panel.get_lines() if line.get_gid() == CANCEL)
            handles[CANCEL] = (ring, handles[CANCEL])
        panels[0].legend([*handles.values()], [*handles], loc="upper left", frameon=True)
        figure.align_ylabels(panels)


def _poles_and_zeros(panel: Any, shown: PoleZeroMap) -> None:
    top = max(1.3 * float(np.max(np.abs(np.concatenate([shown.poles.imag, shown.zeros.imag, [1.0]])))), 2.0)
    for line in (panel.axhline, panel.axvline):
        line(0.0, color=MUTED, linewidth=0.8, zorder=1)
    panel.axvspan(0.0, 1e3, color=DANGER, linewidth=0, zorder=0)
    panel.set_ylim(-top, top)
    count = len(shown.cancelled_poles)
    if count:
        zeros, poles, style = shown.cancelled_zeros, shown.cancelled_poles, {"linestyle": "none", "color": MUTED, "alpha": 0.7}
        panel.plot(zeros.real, zeros.imag, "o", markersize=12, fillstyle="none", gid=CANCEL, **style)
        panel.plot(poles.real, poles.imag, "x", markersize=7.5, label=CANCEL, **style)
        where = float(np.mean(poles.real))
        words = f"{count} cancel at {where:.4g}".replace("-", "\N{MINUS SIGN}")
        panel.annotate(words, (where, 0.0), (0, 16), textcoords="offset points", ha="center", fontsize=SMALL, color=MUTED)
    if len(shown.zeros):
        panel.plot(shown.zeros.real, shown.zeros.imag, "o", markersize=8, fillstyle="none", color=CYCLE[0], label="zeros")
    stable = shown.poles.real < 0.0
    for which, colour, words in ((stable, INK, "poles"), (~stable, CYCLE[1], "unstable pole")):
        poles = shown.poles[which]
        if len(poles):
            panel.plot(poles.real, poles.imag, "x", markersize=8.5, markeredgewidth=1.9, color=colour, label=words)
    for pole, times in _grouped(shown.poles):
        if times > 1:
            side = (-9, 7 if pole.imag >= 0.0 else -14)
            panel.annotate(f"{times}×", (pole.real, pole.imag), side, textcoords="offset points", ha="right", fontsize=SMALL)


def _grouped(values: np.ndarray) -> list[tuple[complex, int]]:
    """Group values that coincide in the picture, with their count."""
    groups: dict[complex, list[complex]] = {}
    for value in values:
        groups.setdefault(next((first for first in groups if abs(first - value) < 1e-3), value), []).append(value)
    return [(complex(np.mean(group)), len(group)) for group in groups.values()]


def sweep_plot(swept: PoleSweep, crossing: float | None, path: Path, *, title: str = "", dpi: int = 160) -> None:
    """Write the real parts of the six poles over the motor angle, with the angle (rad) at which the unstable root crosses."""
    with plot_file(path, (7.6, 4.2), dpi=dpi, layout="constrained", title=title) as figure:
        panel = figure.subplots()
        degrees = np.rad2deg(swept.angles)
        panel.axhspan(0.0, 1e3, color=DANGER, linewidth=0, zorder=0)
        panel.axhline(0.0, color=MUTED, linewidth=0.8)
        for k, column in enumerate(swept.poles.real.T):
            panel.plot(degrees, column, ".", markersize=2.0, color=MUTED, label="poles" if k == 0 else None)
        panel.plot(degrees, swept.rightmost, color=CYCLE[1], label="rightmost pole")
        if crossing is not None:
            at = float(np.rad2deg(crossing))
            panel.plot([at], [0.0], "o", color=CYCLE[1], markersize=6)
            panel.annotate(f"{at:.2f}°", (at, 0.0), (6, 8), textcoords="offset points", color=INK)
        low, high = float(swept.poles.real.min()), float(swept.poles.real.max())
        panel.set_ylim(low - 0.08 * (high - low), high + 0.08 * (high - low))
        panel.set_xlim(degrees[0], degrees[-1])
        panel.set_xlabel("motor angle (degrees)")
        panel.set_ylabel("real part (1/s)")
        panel.legend(loc="lower right")


def time_plot(run: DeltaRun, path: Path, *, title: str = "", dpi: int = 160) -> None:
    """Write motor angles, tool, energy and the distance between the tips over time, with the singular configurations."""
    with plot_file(path, (8.4, 8.2), dpi=dpi, layout="constrained", title=title) as figure:
        angles, tool, energy, drift = figure.subplots(4, 1, sharex=True)
        for i, dashes in enumerate(DASHES):
            angles.plot(run.t, run.y[:, i], color=CYCLE[i], linestyle=dashes, label=f"$y_{i + 1}$")
            tool.plot(run.t, run.w[:, i], color=CYCLE[i], linestyle=dashes, label=f"$w_{i + 1}$")
        energy.plot(run.t, run.energy, color=INK)
        drift.semilogy(run.t, np.maximum(run.drift, 1e-17), color=INK, linewidth=0.9)
        for k, passage in enumerate(run.singular_postures):
            words = None if k else "singular configuration"
            angles.axvline(passage.time, color=MUTED, linewidth=0.7, linestyle=DASHES[2], zorder=1, label=words)
        labels = ("motor angles (rad)", "tool (m)", "energy (J)", "distance of\nthe tips (m)")
        for panel, label in zip((angles, tool, energy, drift), labels, strict=True):
            panel.set_ylabel(label)
        for panel in (angles, tool):
            legend_above(panel, 4, handlelength=1.6)
        drift.set_xlabel("time (s)")
        drift.set_xlim(run.t[0], run.t[-1])
        figure.align_ylabels()
