"""Frequencies and labels of plots of a frequency response."""

from __future__ import annotations

from typing import Any

import numpy as np

PER_DECADE, PER_RESONANCE = 100, 91
"""Numbers of frequencies in a decade and around a resonance."""


def with_resonances(poles: np.ndarray, period: float | None) -> np.ndarray | None:
    """Return 0 and angular frequencies, rad/s, from a decade below all poles (n,) to a decade above or, for a sampled system with
    a `period`, s, to half the sampling frequency; None if all poles are 0. Near a resonance they are at equal angles of the
    circle that the response describes in the complex plane."""
    poles = poles.astype(complex)
    poles = poles if period is None else np.log(poles[poles != 0.0]) / period
    sizes = np.abs(poles)
    poles, sizes = poles[sizes > 1e-9 * sizes.max(initial=0.0)], sizes[sizes > 1e-9 * sizes.max(initial=0.0)]
    if not len(poles):
        return None
    low, high = 0.1 * sizes.min(), 10.0 * sizes.max() if period is None else np.pi / period
    angles = np.linspace(-0.49 * np.pi, 0.49 * np.pi, PER_RESONANCE)
    near = np.abs(poles.imag)[:, None] + np.abs(poles.real)[:, None] * np.tan(angles)
    around = np.geomspace(low, high, 2 + int(PER_DECADE * max(np.log10(high / low), 0.0)))
    omega = np.unique(np.concatenate([around, near.ravel()]))
    return np.concatenate([[0.0], omega[(omega >= low) & (omega <= high)]])


def thin_out_labels(panel: Any) -> None:
    """Remove labels in the panel that are not inside it or lie on another label."""
    kept: list[Any] = []
    for text in list(panel.texts):
        text.set_text(text.get_text().replace("-", "\N{MINUS SIGN}"))
        box = text.get_window_extent()
        edges = panel.get_window_extent()
        is_inside = edges.x0 <= box.x0 and box.x1 <= edges.x1 and edges.y0 <= box.y0 and box.y1 <= edges.y1
        if is_inside and not any(box.overlaps(other) for other in kept):
            kept.append(box)
        else:
            text.remove()
