"""Bode plots with gain and phase margins. Needs Matplotlib."""

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
    """Circular frequency (rad/s) of a crossover of a loop, and its margin: a factor in dB, or an angle in degrees."""

    omega: float
    margin: float


def phase_crossings(omega: np.ndarray, response: np.ndarray) -> list[Crossing]:
    """Return the phase crossovers of a loop (k,), at odd multiples of 180 degrees, with the gain margins, dB."""
    gain, turns = decibels(response), (degrees(response) - 180.0) / 360.0
    return [Crossing(w, -float(np.interp(np.log(w), np.log(omega), gain))) for w in _crossings(omega, turns)]


def gain_crossings(omega: np.ndarray, response: np.ndarray) -> list[Crossing]:
    """Return the gain crossovers of a loop (k,), at 0 dB, with the phase margins, degrees above -180, in (-180, 180]."""
    phase, level = degrees(response), decibels(response)
    at = [level[1:] * level[:-1] <= 0.0]
    crossings = []
    for k in np.flatnonzero(at[0] & (level[1:] != level[:-1])):
        share = level[k] / (level[k] - level[k + 1])
        angle = phase[k] + share * (phase[k + 1] - phase[k])
        crossings.append(Crossing(float(omega[k] * (omega[k + 1] / omega[k]) ** share), 180.0 - (-angle) % 360.0))
    return crossings


def decibels(response: np.ndarray) -> np.ndarray:
    """Return the gain 20 log10 |response| (k,)."""
    return np.asarray(20.0 * np.log10(np.abs(response)))


def degrees(response: np.ndarray) -> np.ndarray:
    """Return the unwrapped phase (k,), degrees, which begins in (-270, 90]."""
    phase = np.rad2deg(np.unwrap(np.angle(response)))
    return np.asarray(phase - 360.0 * np.ceil((phase[0] - 90.0) / 360.0))


def _crossings(omega: np.ndarray, turns: np.ndarray) -> list[float]:
    """Return the frequencies at which a curve passes through whole numbers, by straight lines over log omega."""
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
    """Write the gain and phase of responses (k,), complex, over circular frequency (k,) in rad/s.

    Parameters
    ----------
    unit : of the responses; 0 dB is 1 of it.
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
        gain.set_ylabel(f"gain (dB of 1 {unit})")
        phase.set_ylabel("phase (degrees)")
        low, high = phase.get_ylim()
        phase.set_yticks(np.arange(90.0 * np.floor(low / 90.0), 90.0 * np.ceil(high / 90.0) + 1.0, 90.0))
        phase.set_xlabel("circular frequency (rad/s)")
        gain.legend()
        gain.set_xlim(omega[0], omega[-1])


def _mark(gain: Any, phase: Any, omega: np.ndarray, response: np.ndarray, loop: str) -> None:
    """Draw dots and vertical lines at the crossovers of a loop, with their margins in words."""

    words: dict[str, Any] = {"textcoords": "offset points", "fontsize": SMALL, "zorder": 5}
    for row, crossing in enumerate(gain_crossings(omega, response)):
        at = float(np.interp(np.log(crossing.omega), np.log(omega), degrees(response)))
        below = at - crossing.margin
        gain.plot([crossing.omega], [0.0], "o", color=CYCLE[0], markersize=4.5)
        phase.plot([crossing.omega] * 2, [below, at], color=CYCLE[0], linewidth=2.5, alpha=0.45)
        phase.plot([crossing.omega], [at], "o", color=CYCLE[0], markersize=4.5)
        phase.axhline(below, color=MUTED, linewidth=0.8, zorder=1)
        # A phase falls, so there is room below it on the left.
        position, down = (crossing.omega, min(at, below)), -4.0 - 1.4 * SMALL * row
        phase.annotate(f"margin of {loop}: {crossing.margin:.1f}°", position, (2.0, down), ha="right", va="top", **words)
    for crossing in phase_crossings(omega, response):
        low = -crossing.margin
        phase.plot([crossing.omega], [np.interp(np.log(crossing.omega), np.log(omega), degrees(response))], "s", color=CYCLE[0])
        gain.plot([crossing.omega] * 2, [low, 0.0], color=CYCLE[0], linewidth=2.5, alpha=0.45)
        gain.annotate(f"margin of {loop}: {crossing.margin:.1f} dB", (crossing.omega, max(low, 0.0)), (5, 4), **words)
