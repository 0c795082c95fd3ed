"""Bode plots: responses over circular frequency in; gain in dB and phase, with margins marked, out. Needs Matplotlib."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from screwbond.models.pictures.figures import plot_file

from bondgraph.output.plot_style import CYCLE, DASHES, MUTED, SMALL


@dataclass(frozen=True)
class Crossing:
    """A circular frequency (rad/s) at which a loop is as far from -1 as its margin: a factor in dB, or a turn in degrees."""

    omega: float
    margin: float


def phase_crossings(omega: np.ndarray, response: np.ndarray) -> list[Crossing]:
    """Where the phase of a loop (k,) is an odd multiple of 180 degrees, between its samples, with the gain margins, dB."""
    gain, turns = decibels(response), (degrees(response) - 180.0) / 360.0
    return [Crossing(w, -float(np.interp(np.log(w), np.log(omega), gain))) for w in _crossings(omega, turns)]


def gain_crossings(omega: np.ndarray, response: np.ndarray) -> list[Crossing]:
    """Where the gain of a loop (k,) is 0 dB, between its samples, with the phase margins, degrees above -180, in (-180, 180]."""
    phase, level = degrees(response), decibels(response)
    at = [level[1:] * level[:-1] <= 0.0]
    found = []
    for k in np.flatnonzero(at[0] & (level[1:] != level[:-1])):
        share = level[k] / (level[k] - level[k + 1])
        angle = phase[k] + share * (phase[k + 1] - phase[k])
        found.append(Crossing(float(omega[k] * (omega[k + 1] / omega[k]) ** share), 180.0 - (-angle) % 360.0))
    return found


def decibels(response: np.ndarray) -> np.ndarray:
    """20 log10 of the size (k,)."""
    return np.asarray(20.0 * np.log10(np.abs(response)))


def degrees(response: np.ndarray) -> np.ndarray:
    """Phase without jumps (k,), which begins in (-270, 90]."""
    phase = np.rad2deg(np.unwrap(np.angle(response)))
    return np.asarray(phase - 360.0 * np.ceil((phase[0] - 90.0) / 360.0))


def _crossings(omega: np.ndarray, turns: np.ndarray) -> list[float]:
    """Frequencies at which a course passes through whole numbers, by straight lines over log omega."""
    found = []
    for k in np.flatnonzero(np.floor(turns[1:]) != np.floor(turns[:-1])):
        whole = np.floor(max(turns[k], turns[k + 1]))
        share = (whole - turns[k]) / (turns[k + 1] - turns[k])
        found.append(float(omega[k] * (omega[k + 1] / omega[k]) ** share))
    return found


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
    """Gain and phase of responses (k,), complex, over circular frequency (k,) in rad/s.

    Parameters
    ----------
    unit : of the responses; 0 dB is 1 of it.
    loop : name of the response whose margins are marked, as of a loop that is closed with a gain of 1.
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
        gain.set_ylabel(f"gain (dB of 1 {unit})")
        phase.set_ylabel("phase (degrees)")
        low, high = phase.get_ylim()
        phase.set_yticks(np.arange(90.0 * np.floor(low / 90.0), 90.0 * np.ceil(high / 90.0) + 1.0, 90.0))
        phase.set_xlabel("circular frequency (rad/s)")
        gain.legend()
        gain.set_xlim(omega[0], omega[-1])


def _mark(gain: Any, phase: Any, omega: np.ndarray, response: np.ndarray, loop: str) -> None:
    """Dots and upright lines at the crossings of a loop, with their margins in words beyond the lines."""

    words: dict[str, Any] = {"textcoords": "offset points", "fontsize": SMALL, "zorder": 5}
    for row, found in enumerate(gain_crossings(omega, response)):
        at = float(np.interp(np.log(found.omega), np.log(omega), degrees(response)))
        below = at - found.margin
        gain.plot([found.omega], [0.0], "o", color=CYCLE[0], markersize=4.5)
        phase.plot([found.omega] * 2, [below, at], color=CYCLE[0], linewidth=2.5, alpha=0.45)
        phase.plot([found.omega], [at], "o", color=CYCLE[0], markersize=4.5)
        phase.axhline(below, color=MUTED, linewidth=0.8, zorder=1)
        # A phase falls: there is room below it, on the left.
        place, down = (found.omega, min(at, below)), -4.0 - 1.4 * SMALL * row
        phase.annotate(f"margin of {loop}: {found.margin:.1f}°", place, (2.0, down), ha="right", va="top", **words)
    for found in phase_crossings(omega, response):
        low = -found.margin
        phase.plot([found.omega], [np.interp(np.log(found.omega), np.log(omega), degrees(response))], "s", color=CYCLE[0])
        gain.plot([found.omega] * 2, [low, 0.0], color=CYCLE[0], linewidth=2.5, alpha=0.45)
        gain.annotate(f"margin of {loop}: {found.margin:.1f} dB", (found.omega, max(low, 0.0)), (5, 4), **words)
