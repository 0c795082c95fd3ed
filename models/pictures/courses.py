"""Courses: signals of one or several runs over time, one panel a signal, events marked. Needs matplotlib."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import numpy as np
from screwbond.models.pictures.figures import plot_file

from bondgraph.output.plot_style import CYCLE, DASHES, MUTED, widen_flat_range
from bondgraph.run.results.result import Result


def courses(
    results: Result | Mapping[str, Result],
    signals: Mapping[str, str | Sequence[str]],
    path: str | os.PathLike[str],
    *,
    limits: Mapping[str, tuple[float, float]] | None = None,
    title: str = "",
    dpi: int = 160,
) -> None:
    """Write the courses of signals, one panel each.

    Parameters
    ----------
    results : one run, or several by name: a column each.
    signals : signal -> label of its axis, with its unit as "height (m)"; or a list of that and of names of the signal's
        components, which a legend has.
    path : a file whose suffix says the format (png, svg, pdf).
    limits : signal -> range of its axis.
    """
    many = len(CYCLE)
    runs = {"": results} if isinstance(results, Result) else dict(results)
    size = (max(6.4, 3.4 * len(runs)), 0.8 + 1.9 * len(signals))
    with plot_file(path, size, dpi=dpi, layout="constrained", title=title) as figure:
        figure.get_layout_engine().set(w_pad=0.12)
        axes = figure.subplots(len(signals), len(runs), sharex="col", sharey="row", squeeze=False)
        for column, (name, result) in enumerate(runs.items()):
            for row, (signal, told) in enumerate(signals.items()):
                label, *names = [told] if isinstance(told, str) else told
                panel, values = axes[row][column], np.asarray(result[signal], dtype=float).reshape(len(result.t), -1)
                for k, course in enumerate(values.T):
                    of_it = names[k] if k < len(names) else None
                    panel.plot(result.t, course, color=CYCLE[k % many], linestyle=DASHES[k // many % len(DASHES)], label=of_it)
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
