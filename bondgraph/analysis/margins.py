"""Stability margins of a loop: gain, phase and delay margins, with a printed description."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.analysis.transfer import Matrices
from bondgraph.output.short_repr import short_repr

_LARGEST = 1e8
"""Factor of the loop gain beyond which a crossing is attributed to rounding errors."""

_ILL_POSED = 1e-12
"""Largest size of 1 + L at infinite frequency at which the closed loop is treated as an algebraic loop without a solution."""

_UNSTABLE = "the closed loop is unstable; at each crossing a pole reaches the stability limit, and other poles may stay beyond it"


@short_repr
@dataclass(frozen=True)
class Margins:
    """Margins of the loop L with unity negative feedback, 1 + L = 0; infinite if there is no crossing. For an unstable loop the
    numbers are crossings of the stability limit, at which the loop need not become stable.

    Parameters
    ----------
    stable : True if the closed loop is stable; False also if L is -1 at infinite frequency (an algebraic loop).
    gain : smallest factor above 1 by which the loop gain reaches the stability limit, at `gain_at`, rad/s.
    least_gain : largest such factor below 1, at `least_gain_at`; 0 for none.
    phase : phase margin at `phase_at`, rad/s: the smallest shift, degrees, that reaches the limit, negative for a lead.
    delay : shortest delay that reaches the limit, s; 0 if the closed loop is unstable, or |L| is 1 or more at infinite frequency.
    """

    stable: bool
    gain: float
    gain_at: float
    least_gain: float
    least_gain_at: float
    phase: float
    phase_at: float
    delay: float

    def __str__(self) -> str:
        lines, kind = (["the closed loop is stable"], " margin") if self.stable else ([_UNSTABLE], "")
        lines.append(f"gain{kind}: {_of_gain(self.gain, self.gain_at)}")
        if self.least_gain > 0.0:
            lines.append(f"gain reduction{kind}: {_of_gain(self.least_gain, self.least_gain_at)}")
        if np.isfinite(self.phase):
            lines.append(f"phase{kind}: {self.phase:.4g} degrees at {self.phase_at:.4g} rad/s")
            lines += [f"delay margin: {self.delay:.4g} s"] if self.stable else []
        else:
            lines.append(f"phase{kind}: no crossing")
        return "\n".join(lines)


def _of_gain(factor: float, at: float) -> str:
    return f"{20.0 * np.log10(factor):.4g} dB at {at:.4g} rad/s" if np.isfinite(factor) else "no crossing"


def _at_edges(matrices: Matrices, period: float | None) -> list[tuple[float, float]]:
    """Return L and the angular frequency at the ends of the frequency range, where L is real: the highest frequency and, for a
    sampled loop, also zero; python-control leaves them out."""
    a, b, c, d = matrices
    if period is None:
        return [(float(d.item()), np.inf)]
    edges = [(z * np.eye(len(a)) - a, at) for z, at in ((1.0, 0.0), (-1.0, np.pi / period))]
    regular = [(away, at) for away, at in edges if np.linalg.matrix_rank(away) == len(a)]
    return [(float((d + c @ np.linalg.solve(away, b)).item()), at) for away, at in regular]


def margins_of(control: Any, loop: Any, matrices: Matrices, period: float | None) -> Margins:
    """Return the margins of a loop, a system of python-control with these matrices (A, B, C, D).

    Source: Astrom and Murray 2021, Feedback Systems, section 10.3.
    """
    a, b, c, (direct,) = (*matrices[:3], matrices[3].ravel())
    if abs(1.0 + direct) < _ILL_POSED:
        poles = np.array([np.inf])
    else:
        poles = np.linalg.eigvals(a - b @ c / (1.0 + direct)) if len(a) else np.zeros(0)
    stable = bool(np.all(poles.real < 0.0) if period is None else np.all(np.abs(poles) < 1.0))
    gains, phases, _, at_gains, at_phases, _ = control.stability_margins(loop, returnall=True)
    crossings = list(zip(gains, at_gains, strict=True))
    crossings += [(-1.0 / value, at) for value, at in _at_edges(matrices, period) if value < 0.0]
    up = [(g, w) for g, w in crossings if 1.0 < g < _LARGEST]
    down = [(g, w) for g, w in crossings if 1.0 / _LARGEST < g < 1.0]
    shifts = [((p + 180.0) % 360.0 - 180.0, w) for p, w in zip(phases, at_phases, strict=True) if w > 0.0]
    phase, phase_at = min(shifts, key=lambda shift: abs(shift[0]), default=(np.inf, np.nan))
    delay = min((np.radians(shift % 360.0) / w for shift, w in shifts), default=np.inf) if stable else 0.0
    if period is None and abs(direct) >= 1.0:  # high frequencies are not damped around the loop
        delay = 0.0
    numbers = (*min(up, default=(np.inf, np.nan)), *max(down, default=(0.0, np.nan)), phase, phase_at, delay)
    return Margins(stable, *map(float, numbers))
