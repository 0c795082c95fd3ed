"""Plots of a motion over time: r, r', r'', r''' in stacked panels, with limits and phases. Needs matplotlib."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from screwbond.models.motion.polynomials import QUANTITIES, Motion
from screwbond.models.pictures.figures import HEADING, plot_file

from bondgraph.model.units import per_second
from bondgraph.output.plot_style import CYCLE, DASHES, INK, MUTED, SMALL

SYMBOLS = ("$r$", r"$\dot r$", r"$\ddot r$", r"$\dddot r$")


def profiles(
    motion: Motion,
    path: str | os.PathLike[str],
    *,
    names: Sequence[str] = ("x", "y", "z"),
    unit: str = "m",
    limits: Mapping[str, Any] | None = None,
    phases: Sequence[tuple[float, str]] = (),
    title: str = "",
    dpi: int = 160,
) -> None:
    """Plot the profiles of a motion into a file.

    Parameters
    ----------
    motion : plotted from its start to its end.
    path : file; its suffix gives the format (png, svg, pdf).
    names : of the axes.
    unit : of r.
    limits : "velocity", "acceleration", "jerk" to a number or (axes,), drawn as dashed lines.
    phases : (start in s, label) of each phase.
    title : heading; dpi : dots per inch.
    """
    times = _times(motion)
    with plot_file(path, (8.4, 8.0), dpi=dpi, title=title) as figure:
        panels = figure.subplots(len(QUANTITIES), 1, sharex=True)
        for order, (panel, quantity) in enumerate(zip(panels, QUANTITIES, strict=True)):
            panel.axhline(0.0, color=MUTED, linewidth=0.8)
            values = motion.derivative(times, order).reshape(len(times), -1)
            for k, column in enumerate(values.T):
                name = names[k] if k < len(names) else str(k)
                panel.plot(times, column, color=CYCLE[k % len(CYCLE)], label=name if values.shape[1] > 1 else None)
            for value in np.unique(np.atleast_1d((limits or {}).get(quantity, ()))):
                for sign in (-1.0, 1.0):
                    panel.axhline(sign * value, color=INK, linewidth=0.9, linestyle=DASHES[1])
            for start, _ in phases:
                panel.axvline(start, color=MUTED, linewidth=0.8, linestyle=DASHES[2])
            shown = per_second(unit, order).replace(f"^{order}", f"$^{order}$")
            panel.set_ylabel(f"{quantity}\n{SYMBOLS[order]} ({shown})")
            panel.locator_params(axis="y", nbins=5)
            panel.margins(y=0.12)
        edges = [start for start, _ in phases] + [motion.end]
        for (_, words), start, end in zip(phases, edges[:-1], edges[1:], strict=True):
            panels[0].annotate(
                words,
                (0.5 * (start + end), 1.0),
                (0, 4),
                ha="center",
                va="bottom",
                color=MUTED,
                fontsize=SMALL,
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
            )
        if motion.shape:
            lines, words = panels[0].get_legend_handles_labels()
            figure.legend(lines, words, ncols=len(words), loc="upper right", bbox_to_anchor=(0.985, 0.985), handlelength=1.1)
        panels[-1].set_xlim(motion.start, motion.end)
        panels[-1].set_xlabel("time (s)")
        figure.align_ylabels(panels)
        top = 1.0 - (HEADING + (0.25 if phases else 0.0)) / 8.0
        figure.subplots_adjust(left=0.13, right=0.975, top=top, bottom=0.065, hspace=0.2)


def _times(motion: Motion) -> np.ndarray:
    """Return dense times, with both sides of every break, so that jumps of the jerk are drawn vertical."""
    tiny = 1e-9 * motion.duration
    dense = np.linspace(motion.start, motion.end, 1500)
    inner = motion.breaks[1:-1]
    return np.unique(np.concatenate([dense[:-1], inner, inner - tiny, [motion.end - tiny]]))
