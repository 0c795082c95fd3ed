"""Figure of soft touches: gap, gain, contact force and displacement of the brick over time. Needs Matplotlib."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from screwbond.models.delta.studies.soft_touch import SoftTouchRun
from screwbond.models.pictures.figures import plot_file

from bondgraph.output.plot_style import CYCLE, DASHES, INK, MUTED, SMALL

DOTS = {"color": MUTED, "linewidth": 0.8, "linestyle": DASHES[2]}

TOUCH_TITLE = "Soft touch of a brick by a delta robot"

FORCES = "contact.multiplier"
"""Quantity that jumps at events."""

ROWS: dict[str, tuple[tuple[float, str], ...]] = {
    "contact.h": ((1e3, "gap $h$ (mm)"), (1e6, "gap $h$ (µm)")),
    "control.kp": ((1e-3, "gain $k_p$ ($10^3$/s$^2$)"),),
    FORCES: ((1e3, r"contact force $\lambda$ (mN)"),),
    "displacement.y": ((1e6, "brick (µm)"),),
}
"""Quantity -> factor and label, and those of the close-up if they differ."""


def plot_touch(
    touches: SoftTouchRun | Mapping[str, SoftTouchRun], path: str | os.PathLike[str], *, close_up: float = 0.12, dpi: int = 160
) -> None:
    """Write the figure: on the left the whole run, on the right the time about the contact.

    Parameters
    ----------
    touches : one touch, or several by name, to compare.
    path : a file whose suffix selects the format (png, svg, pdf).
    close_up : length of the time on the right, s.

    Source: Bortoff 2020, fig. 13.
    """
    named = {"soft touch": touches} if isinstance(touches, SoftTouchRun) else dict(touches)
    first = next(iter(named.values()))
    times = [touch.contacts[0] for touch in named.values() if touch.contacts]
    spans = [(0.0, float(min(touch.run.t[-1] for touch in named.values())))]
    if times:
        spans.append((min(times) - 0.25 * close_up, max(times) + 0.75 * close_up))
    with plot_file(path, (6.6 + 4.4 * (len(spans) - 1), 7.4), dpi=dpi, title=TOUCH_TITLE) as figure:
        shape = {"width_ratios": (1.45, 1.0)[: len(spans)]}
        panels = figure.subplots(len(ROWS), len(spans), sharex="col", squeeze=False, gridspec_kw=shape)
        for row, (quantity, looks) in zip(panels, ROWS.items(), strict=True):
            for k, (axes, span) in enumerate(zip(row, spans, strict=True)):
                factor, label = looks[min(k, len(looks) - 1)]
                _curves(axes, named, quantity, span, factor)
                axes.set_xlim(*span)
                axes.locator_params(axis="y", nbins=5)
                if k < len(looks):
                    axes.set_ylabel(label)
        for axes, words in zip(panels[0], ("the whole run", "at the contact"), strict=False):
            axes.axhline(0.0, color=MUTED, linewidth=0.8, zorder=0)
            axes.set_title(words, color=MUTED)
        largest = 1e-3 * max(float(_first(touch, "control.kp").max()) for touch in named.values())
        limit = 1e3 * float(np.asarray(first["table.limit"]))
        for gain, force, brick in panels[1:].T:
            gain.set_ylim(-0.12 * largest, 1.12 * largest)
            force.axhline(limit, color=INK, linewidth=0.9, linestyle=DASHES[1])
            force.set_ylim(top=max(force.get_ylim()[1], 1.12 * limit))
            if brick.get_ylim()[1] <= 1.0:
                brick.set_ylim(-1.0, 1.0)
            brick.set_xlabel("time (s)")
        _note(panels[2, 0], "limit of friction", (0.02, limit), (0, -3), ("axes fraction", "data"), color=INK, va="top")
        if times and len(named) == 1:
            force = 1e3 * first.impacts[0]
            look = {"color": CYCLE[0], "ha": "center", "va": "bottom"}
            _note(panels[2, 1], f"{force:.0f} mN", (times[0], force), (0, 3), "data", **look)
        if len(named) > 1:
            lines, names = panels[2, 0].get_legend_handles_labels()
            figure.legend(lines, names, ncols=len(names), loc="upper right", bbox_to_anchor=(0.985, 0.985), handlelength=1.4)
        _phases(panels[0, 0], first)
        figure.align_ylabels(panels[:, 0])
        left = 0.08 if len(spans) > 1 else 0.12
        figure.subplots_adjust(left=left, right=0.98, top=0.895, bottom=0.07, hspace=0.2, wspace=0.2)


def _note(axes: Any, words: str, at: tuple[float, float], away: tuple[int, int], coordinates: Any, **look: Any) -> None:
    """Draw a text at a point in given coordinates, shifted by some points."""
    axes.annotate(words, at, away, xycoords=coordinates, textcoords="offset points", fontsize=SMALL, **look)


def _phases(axes: Any, touch: SoftTouchRun) -> None:
    """Label the phases of the touch below the curve of the gap."""
    look = {"color": MUTED, "va": "top"}
    _note(axes, "spline", (0.0, 0.32), (4, 0), "axes fraction", ha="left", **look)
    axes.axvline(touch.plan.arrive, **DOTS)
    marks = [] if touch.plan.fade is None else [(sum(touch.plan.fade) / 2.0, "slow approach, $k_p$ fades")]
    if touch.contacts:
        marks.append((0.5 * (touch.contacts[0] + float(touch.run.t[-1])), "contact"))
        axes.axvline(touch.contacts[0], **DOTS)
    for at, words in marks:
        _note(axes, words, (at, 0.9), (0, 0), ("data", "axes fraction"), ha="center", **look)


def _first(touch: SoftTouchRun, quantity: str) -> np.ndarray:
    """Return a quantity over time (k,), along x1 if it has three axes."""
    return np.asarray(touch[quantity]).reshape(len(touch.run.t), -1)[:, 0]


def _curves(axes: Any, named: Mapping[str, SoftTouchRun], quantity: str, span: tuple[float, float], factor: float) -> None:
    """Draw one curve of each touch, with both sides of events if the quantity jumps there."""
    low, high = np.inf, -np.inf
    for k, (colour, (name, touch)) in enumerate(zip(CYCLE, named.items(), strict=False)):
        t, values, events = touch.run.t, _first(touch, quantity), touch.run.result.events
        if quantity == FORCES and events:
            at = np.array([event.time for event in events])
            t = np.concatenate([t, at, at])
            values = np.concatenate([values, *touch.run.result.at_events(quantity)])
            # The row before, both sides of an event, the row after: in this order where times are equal.
            order = np.argsort(t, kind="stable")
            t, values = t[order], values[order]
        near = (t >= span[0] - 0.1) & (t <= span[1] + 0.1)
        t, values = t[near], factor * values[near]
        width = 2.2 if not k and len(named) > 1 else 1.2
        axes.plot(t, values, color=colour, label=name, zorder=3.0 - 0.1 * k, linewidth=width)
        shown = values[(t >= span[0]) & (t <= span[1])]
        low, high = min(low, float(shown.min())), max(high, float(shown.max()))
    room = 0.12 * (high - low) or 1.0
    axes.set_ylim(low - room, high + room)
