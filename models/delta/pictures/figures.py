"""Figures of the delta robot: poles and zeros, Bode plots, the unstable root, runs over time, and soft touches. Requires
Matplotlib."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from screwbond.models.delta.studies.analysis import PoleSweep, PoleZeroMap
from screwbond.models.delta.studies.robot import DeltaRun
from screwbond.models.delta.studies.soft_touch import SoftTouchRun
from screwbond.models.pictures.style import legend_above, plot_file
from screwbond.models.pictures.web.packing import EventRows

from bondgraph.output.plot_style import CYCLE, DANGER, DASHES, INK, MUTED, SMALL

Path = str | os.PathLike[str]
CANCEL = "poles and zeros that cancel"


def pole_zero_plot(maps: Mapping[str, PoleZeroMap], path: Path, *, title: str = "", dpi: int = 160) -> None:
    """Plot poles and zeros of linear systems, with a panel for each system, as in Bortoff 2018, fig. 5.

    Parameters
    ----------
    maps : poles and zeros of each panel, by its caption.
    """
    with plot_file(path, (7.6, 0.6 + 3.1 * len(maps)), dpi=dpi, layout="constrained", title=title) as figure:
        panels = figure.subplots(len(maps), 1, sharex=True, squeeze=False)[:, 0]
        for panel, (caption, shown) in zip(panels, maps.items(), strict=True):
            _poles_and_zeros(panel, shown)
            panel.set(title=caption, ylabel="imaginary part (1/s)")
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
    groups: dict[complex, list[complex]] = {}
    for value in values:
        groups.setdefault(next((first for first in groups if abs(first - value) < 1e-3), value), []).append(value)
    return [(complex(np.mean(group)), len(group)) for group in groups.values()]


def sweep_plot(swept: PoleSweep, crossing: float | None, path: Path, *, title: str = "", dpi: int = 160) -> None:
    with plot_file(path, (7.6, 4.2), dpi=dpi, layout="constrained", title=title) as figure:
        panel = figure.subplots()
        angles = np.rad2deg(swept.angles)
        panel.axhspan(0.0, 1e3, color=DANGER, linewidth=0, zorder=0)
        panel.axhline(0.0, color=MUTED, linewidth=0.8)
        for k, column in enumerate(swept.poles.real.T):
            panel.plot(angles, column, ".", markersize=2.0, color=MUTED, label="poles" if k == 0 else None)
        panel.plot(angles, swept.rightmost, color=CYCLE[1], label="rightmost pole")
        if crossing is not None:
            at = float(np.rad2deg(crossing))
            panel.plot([at], [0.0], "o", color=CYCLE[1], markersize=6)
            panel.annotate(f"{at:.2f}°", (at, 0.0), (6, 8), textcoords="offset points", color=INK)
        low, high = float(swept.poles.real.min()), float(swept.poles.real.max())
        margin = 0.08 * (high - low)
        panel.set(xlim=(angles[0], angles[-1]), ylim=(low - margin, high + margin))
        panel.set(xlabel="motor angle (degrees)", ylabel="real part (1/s)")
        panel.legend(loc="lower right")


def time_plot(run: DeltaRun, path: Path, *, title: str = "", dpi: int = 160) -> None:
    with plot_file(path, (8.4, 8.2), dpi=dpi, layout="constrained", title=title) as figure:
        angles, tool, energy, drift = figure.subplots(4, 1, sharex=True)
        for i, dashes in enumerate(DASHES):
            angles.plot(run.t, run.y[:, i], color=CYCLE[i], linestyle=dashes, label=f"$y_{i + 1}$")
            tool.plot(run.t, run.w[:, i], color=CYCLE[i], linestyle=dashes, label=f"$w_{i + 1}$")
        energy.plot(run.t, run.energy, color=INK)
        drift.semilogy(run.t, np.maximum(run.drift, 1e-17), color=INK, linewidth=0.9)
        for k, posture in enumerate(run.singular_postures):
            words = None if k else "singular configuration"
            angles.axvline(posture.time, color=MUTED, linewidth=0.7, linestyle=DASHES[2], zorder=1, label=words)
        labels = ("motor angles (rad)", "tool (m)", "energy (J)", "distance between\nthe tips (m)")
        for panel, label in zip((angles, tool, energy, drift), labels, strict=True):
            panel.set_ylabel(label)
        for panel in (angles, tool):
            legend_above(panel, 4, handlelength=1.6)
        drift.set(xlabel="time (s)", xlim=(run.t[0], run.t[-1]))
        figure.align_ylabels()


DOTS = {"color": MUTED, "linewidth": 0.8, "linestyle": DASHES[2]}

TOUCH_TITLE = "Soft touch of a brick by a delta robot"

ROWS: dict[str, tuple[tuple[float, str], ...]] = {
    "contact.h": ((1e3, "gap $h$ (mm)"), (1e6, "gap $h$ (µm)")),
    "control.kp": ((1e-3, "gain $k_p$ ($10^3$/s$^2$)"),),
    "contact.multiplier": ((1e3, r"contact force $\lambda$ (mN)"),),
    "displacement.y": ((1e6, "brick (µm)"),),
}
"""Factor and label of each quantity, and, if they differ, those of its close-up."""


def plot_touch(
    touches: SoftTouchRun | Mapping[str, SoftTouchRun], path: str | os.PathLike[str], *, close_up: float = 0.12, dpi: int = 160
) -> None:
    """Plot gap, gain, force and displacement: the whole run on the left, and the time around the contact on the right.

    Parameters
    ----------
    touches : one touch, or several by name, to compare.
    close_up : time span on the right, s.

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
        largest = 1e-3 * max(float(touch["control.kp"][:, 0].max()) for touch in named.values())
        limit = 1e3 * float(np.asarray(first["table.limit"]))
        for gain, force, brick in panels[1:].T:
            gain.set_ylim(-0.12 * largest, 1.12 * largest)
            force.axhline(limit, color=INK, linewidth=0.9, linestyle=DASHES[1])
            force.set_ylim(top=max(force.get_ylim()[1], 1.12 * limit))
            if brick.get_ylim()[1] <= 1.0:
                brick.set_ylim(-1.0, 1.0)
            brick.set_xlabel("time (s)")
        _note(panels[2, 0], "friction limit", (0.02, limit), (0, -3), ("axes fraction", "data"), color=INK, va="top")
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
    axes.annotate(words, at, away, xycoords=coordinates, textcoords="offset points", fontsize=SMALL, **look)


def _phases(axes: Any, touch: SoftTouchRun) -> None:
    look = {"color": MUTED, "va": "top"}
    _note(axes, "spline", (0.0, 0.32), (4, 0), "axes fraction", ha="left", **look)
    axes.axvline(touch.plan.arrive, **DOTS)
    marks = [] if touch.plan.fade is None else [(sum(touch.plan.fade) / 2.0, "slow approach, $k_p$ fades")]
    if touch.contacts:
        marks.append((0.5 * (touch.contacts[0] + float(touch.run.t[-1])), "contact"))
        axes.axvline(touch.contacts[0], **DOTS)
    for at, words in marks:
        _note(axes, words, (at, 0.9), (0, 0), ("data", "axes fraction"), ha="center", **look)


def _curves(axes: Any, named: Mapping[str, SoftTouchRun], quantity: str, span: tuple[float, float], factor: float) -> None:
    low, high = np.inf, -np.inf
    for k, (colour, (name, touch)) in enumerate(zip(CYCLE, named.items(), strict=False)):
        rows = EventRows.of(touch.run.result, max(span[0] - 0.1, touch.run.t[0]), min(span[1] + 0.1, touch.run.t[-1]))
        t, values = rows.t, factor * rows.values(quantity).reshape(len(rows.t), -1)[:, 0]
        width = 2.2 if not k and len(named) > 1 else 1.2
        axes.plot(t, values, color=colour, label=name, zorder=3.0 - 0.1 * k, linewidth=width)
        shown = values[(t >= span[0]) & (t <= span[1])]
        low, high = min(low, float(shown.min())), max(high, float(shown.max()))
    margin = 0.12 * (high - low) or 1.0
    axes.set_ylim(low - margin, high + margin)


@dataclass(frozen=True)
class Crossing:
    """Angular frequency (rad/s) of a loop's crossover, and its margin: a gain in dB or a phase in degrees."""

    omega: float
    margin: float


def phase_crossings(omega: np.ndarray, response: np.ndarray) -> list[Crossing]:
    """Return the phase crossovers of a loop (k,), where its phase is an odd multiple of 180 degrees, and gain margins, dB."""
    gain, turns = decibels(response), (degrees(response) - 180.0) / 360.0
    return [Crossing(w, -float(np.interp(np.log(w), np.log(omega), gain))) for w in _crossings(omega, turns)]


def gain_crossings(omega: np.ndarray, response: np.ndarray) -> list[Crossing]:
    """Return the gain crossovers of a loop (k,), at 0 dB, and phase margins, degrees above -180, in (-180, 180]."""
    phase, level = degrees(response), decibels(response)
    crossings = []
    for k in np.flatnonzero((level[1:] * level[:-1] <= 0.0) & (level[1:] != level[:-1])):
        share = level[k] / (level[k] - level[k + 1])
        angle = phase[k] + share * (phase[k + 1] - phase[k])
        crossings.append(Crossing(float(omega[k] * (omega[k + 1] / omega[k]) ** share), 180.0 - (-angle) % 360.0))
    return crossings


def decibels(response: np.ndarray) -> np.ndarray:
    return np.asarray(20.0 * np.log10(np.abs(response)))


def degrees(response: np.ndarray) -> np.ndarray:
    """Return the unwrapped phase (k,), degrees, starting in (-270, 90]."""
    phase = np.rad2deg(np.unwrap(np.angle(response)))
    return np.asarray(phase - 360.0 * np.ceil((phase[0] - 90.0) / 360.0))


def _crossings(omega: np.ndarray, turns: np.ndarray) -> list[float]:
    frequencies = []
    for k in np.flatnonzero(np.floor(turns[1:]) != np.floor(turns[:-1])):
        target = np.floor(max(turns[k], turns[k + 1]))
        share = (target - turns[k]) / (turns[k + 1] - turns[k])
        frequencies.append(float(omega[k] * (omega[k + 1] / omega[k]) ** share))
    return frequencies


def bode_plot(
    omega: np.ndarray,
    responses: Mapping[str, np.ndarray],
    path: str | os.PathLike[str],
    *,
    unit: str = "rad/(N m)",
    loop: str = "",
    title: str = "",
    dpi: int = 160,
) -> None:
    """Plot the gain and phase of responses (k,), complex, versus angular frequency (k,) in rad/s.

    Parameters
    ----------
    unit : unit of the responses; 0 dB is one unit.
    loop : name of the response whose margins are marked, for a unity-gain feedback loop.
    """
    with plot_file(path, (7.6, 5.8), dpi=dpi, layout="constrained", title=title) as figure:
        gain, phase = figure.subplots(2, 1, sharex=True)
        gain.axhline(0.0, color=MUTED, linewidth=0.8)
        for k, (name, response) in enumerate(responses.items()):
            style: dict[str, Any] = {"color": CYCLE[k % len(CYCLE)], "linestyle": DASHES[k % len(DASHES)]}
            gain.semilogx(omega, decibels(response), label=name, **style)
            phase.semilogx(omega, degrees(response), **style)
        if loop:
            _mark(gain, phase, omega, responses[loop], loop)
        low, high = phase.get_ylim()
        phase.set_yticks(np.arange(90.0 * np.floor(low / 90.0), 90.0 * np.ceil(high / 90.0) + 1.0, 90.0))
        phase.set(xlabel="angular frequency (rad/s)", ylabel="phase (degrees)")
        gain.set(ylabel=f"gain (dB of 1 {unit})", xlim=(omega[0], omega[-1]))
        gain.legend()


def _mark(gain: Any, phase: Any, omega: np.ndarray, response: np.ndarray, loop: str) -> None:
    words: dict[str, Any] = {"textcoords": "offset points", "fontsize": SMALL, "zorder": 5}
    for row, crossing in enumerate(gain_crossings(omega, response)):
        at = float(np.interp(np.log(crossing.omega), np.log(omega), degrees(response)))
        below = at - crossing.margin
        gain.plot([crossing.omega], [0.0], "o", color=CYCLE[0], markersize=4.5)
        phase.plot([crossing.omega] * 2, [below, at], color=CYCLE[0], linewidth=2.5, alpha=0.45)
        phase.plot([crossing.omega], [at], "o", color=CYCLE[0], markersize=4.5)
        phase.axhline(below, color=MUTED, linewidth=0.8, zorder=1)
        # The phase falls, so there is space below it on the left.
        position, down = (crossing.omega, min(at, below)), -4.0 - 1.4 * SMALL * row
        phase.annotate(f"margin of {loop}: {crossing.margin:.1f}°", position, (2.0, down), ha="right", va="top", **words)
    for crossing in phase_crossings(omega, response):
        low = -crossing.margin
        phase.plot([crossing.omega], [np.interp(np.log(crossing.omega), np.log(omega), degrees(response))], "s", color=CYCLE[0])
        gain.plot([crossing.omega] * 2, [low, 0.0], color=CYCLE[0], linewidth=2.5, alpha=0.45)
        gain.annotate(f"margin of {loop}: {crossing.margin:.1f} dB", (crossing.omega, max(low, 0.0)), (5, 4), **words)
