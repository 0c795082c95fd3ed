"""Picture of soft touches: gap, gain, contact force and place of the brick over time. Needs matplotlib."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from models.delta.studies.soft_touch import Touch
from models.pictures.figures import plot_file
from models.pictures.style import AXES, FORCE, INK, MUTED

COLOURS = (FORCE, AXES[0], AXES[2], AXES[1])


def plot_touch(
    touches: Touch | Mapping[str, Touch], path: str | os.PathLike[str], *, close_up: float = 0.12, dpi: int = 160
) -> None:
    """Write the picture: on the left the whole run, on the right the time about the contact.

    Parameters
    ----------
    touches : one touch, or several by name, to compare.
    path : a file whose suffix says the format (png, svg, pdf).
    close_up : length of the time on the right, s.

    Source: Bortoff 2020, fig. 13.
    """
    named = {"soft touch": touches} if isinstance(touches, Touch) else dict(touches)
    first = next(iter(named.values()))
    times = [touch.contacts[0] for touch in named.values() if touch.contacts]
    end = float(min(touch.run.t[-1] for touch in named.values()))
    spans = [(0.0, end)]
    if times:
        spans.append((min(times) - 0.25 * close_up, max(times) + 0.75 * close_up))
    with plot_file(path, (6.6 + 4.4 * (len(spans) - 1), 7.4), dpi=dpi) as figure:
        shape = {"width_ratios": [1.45, 1.0] if len(spans) > 1 else [1.0]}
        panels = figure.subplots(4, len(spans), sharex="col", squeeze=False, gridspec_kw=shape)
        for row, draw in zip(panels, (_gap, _gain, _force, _displacement), strict=True):
            for k, (axes, span) in enumerate(zip(row, spans, strict=True)):
                label = draw(axes, named, span, bool(k))
                axes.set_xlim(*span)
                axes.locator_params(axis="y", nbins=5)
                axes.margins(y=0.12)
                if not k or label.startswith("!"):
                    axes.set_ylabel(label.lstrip("!"))
        for axes in panels[-1]:
            axes.set_xlabel("time (s)")
        for k, words in enumerate(("the whole run", "at the contact")[: len(spans)]):
            panels[0, k].set_title(words, loc="left", fontsize=9.5, color=MUTED)
        if len(named) > 1:
            lines, words = panels[2, 0].get_legend_handles_labels()
            figure.legend(lines, words, ncols=len(words), loc="upper right", bbox_to_anchor=(0.985, 0.985), handlelength=1.4)
        _phases(panels[0, 0], first)
        figure.align_ylabels(panels[:, 0])
        left = 0.08 if len(spans) > 1 else 0.12
        figure.subplots_adjust(left=left, right=0.98, top=0.895, bottom=0.07, hspace=0.2, wspace=0.2)
        figure.text(left, 0.975, "Soft touch of a brick by a delta robot", fontsize=13, fontweight="bold", va="top")


def _phases(axes: Any, touch: Touch) -> None:
    """What happens when, below the curve of the gap."""
    marks = []
    if touch.plan.fade is not None:
        marks.append((sum(touch.plan.fade) / 2.0, 0.9, "slow approach, $k_p$ fades"))
    if touch.contacts:
        marks.append((0.5 * (touch.contacts[0] + float(touch.run.t[-1])), 0.9, "contact"))
        axes.axvline(touch.contacts[0], color=MUTED, linewidth=0.8, linestyle=(0, (2, 2)))
    axes.axvline(touch.plan.arrive, color=MUTED, linewidth=0.8, linestyle=(0, (2, 2)))
    axes.annotate(
        "spline",
        (0.0, 0.32),
        (4, 0),
        xycoords="axes fraction",
        color=MUTED,
        textcoords="offset points",
        ha="left",
        va="top",
        fontsize=8.5,
    )
    for at, height, words in marks:
        place = {"ha": "center", "va": "top", "xycoords": ("data", "axes fraction")}
        axes.annotate(words, (at, height), color=MUTED, fontsize=8.5, **place)


def _curve(
    axes: Any,
    named: Mapping[str, Touch],
    quantity: Callable[[Touch], np.ndarray],
    span: tuple[float, float],
    scale: float,
    jumps: str | None = None,
) -> None:
    """One curve of each touch; both sides of events are drawn where a quantity jumps there."""
    for k, (colour, (name, touch)) in enumerate(zip(COLOURS * 4, named.items(), strict=False)):
        t, values = touch.run.t, np.asarray(quantity(touch))
        if jumps is not None and touch.run.result.events:
            sides = touch.run.result.at_events(jumps)
            at = np.array([event.time for event in touch.run.result.events])
            t = np.concatenate([t, at, at])
            values = np.concatenate([values, *sides])
            # The row before, both sides of an event, the row after: in this order where times are equal.
            order = np.lexsort((np.concatenate([np.zeros(len(touch.run.t)), np.full(len(at), 1), np.full(len(at), 2)]), t))
            t, values = t[order], values[order]
        seen = (t >= span[0] - 0.1) & (t <= span[1] + 0.1)
        inside = np.flatnonzero(seen)
        axes.plot(
            t[inside],
            scale * values[inside],
            color=colour,
            label=name,
            zorder=3.0 - 0.1 * k,
            linewidth=2.2 if not k and len(named) > 1 else 1.2,
        )
    shown = [line.get_ydata()[(line.get_xdata() >= span[0]) & (line.get_xdata() <= span[1])] for line in axes.get_lines()]
    low, high = min(float(v.min()) for v in shown), max(float(v.max()) for v in shown)
    room = 0.12 * (high - low) or 1.0
    axes.set_ylim(low - room, high + room)


def _gap(axes: Any, named: Mapping[str, Touch], span: tuple[float, float], near: bool) -> str:
    _curve(axes, named, lambda touch: touch["contact.h"], span, 1e6 if near else 1e3)
    axes.axhline(0.0, color=MUTED, linewidth=0.8, zorder=0)
    return "!gap $h$ (µm)" if near else "gap $h$ (mm)"


def _gain(axes: Any, named: Mapping[str, Touch], span: tuple[float, float], near: bool) -> str:
    _curve(axes, named, lambda touch: np.asarray(touch["control.kp"])[:, 0], span, 1e-3)
    most = max(1e-3 * float(np.max(np.asarray(touch["control.kp"])[:, 0])) for touch in named.values())
    axes.set_ylim(-0.12 * most, 1.12 * most)
    return "gain $k_p$ ($10^3$/s$^2$)"


def _force(axes: Any, named: Mapping[str, Touch], span: tuple[float, float], near: bool) -> str:
    _curve(axes, named, lambda touch: touch["contact.multiplier"], span, 1e3, "contact.multiplier")
    limit = 1e3 * float(np.asarray(next(iter(named.values()))["table.limit"]))
    bottom, top = axes.get_ylim()
    axes.axhline(limit, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
    axes.set_ylim(bottom, max(top, 1.12 * limit))
    if not near:
        axes.annotate(
            "limit of friction",
            (0.02, limit),
            xytext=(0, -3),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            fontsize=8.5,
            color=INK,
            va="top",
        )
    first = next(iter(named.values()))
    if near and first.contacts and len(named) == 1:
        axes.annotate(
            f"{1e3 * first.impacts[0]:.0f} mN",
            (first.contacts[0], 1e3 * first.impacts[0]),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=8.5,
            color=COLOURS[0],
        )
    return r"contact force $\lambda$ (mN)"


def _displacement(axes: Any, named: Mapping[str, Touch], span: tuple[float, float], near: bool) -> str:
    _curve(axes, named, lambda touch: touch["displacement.y"], span, 1e6)
    if axes.get_ylim()[1] <= 1.0:
        axes.set_ylim(-1.0, 1.0)
    return "brick (µm)"
