"""Deviation of a model in the gallery from the results that were published with the original."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from bondgraph import Compiled, Result
from examples.gallery.record import Entry


def published(path: Path) -> dict[str, np.ndarray]:
    """Return the published times (key "t") and signals (by name) of the original model, from a CSV table."""
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    return dict(zip(head, np.array(rows, dtype=float).T, strict=True))


def run(compiled: Compiled, entry: Entry, course: Mapping[str, np.ndarray]) -> Result:
    """Run a model with samples at the published times, and the settings of its entry or the defaults."""
    return compiled.simulate(entry.t_end, samples=course["t"], progress=False, **entry.settings)


def deviations(result: Result, entry: Entry, course: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Return the largest deviation of each signal at the published times, as a fraction of its largest value; with `entry.least`
    below one, as a fraction of the value at the same time, or of `least` times the largest value if that is more."""
    at = np.searchsorted(result.t, course["t"])
    values = {original: result[path.removeprefix("-")][at] for original, path in entry.signals.items()}
    signs = {original: -1.0 if path.startswith("-") else 1.0 for original, path in entry.signals.items()}
    return {
        original: float(np.abs((signs[original] * values[original] - expected) / _sizes(expected, entry.least)).max())
        for original, expected in course.items()
        if original in entry.signals
    }


def _sizes(expected: np.ndarray, least: float) -> np.ndarray:
    return np.asarray(np.maximum(np.abs(expected), least * np.abs(expected).max()))
