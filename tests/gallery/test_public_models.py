"""The models of the gallery against the results that were published with the originals."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from bondgraph import compile_model
from examples.gallery import ENTRIES

REFERENCE = Path(__file__).parent / "reference"


def published(name: str) -> dict[str, np.ndarray]:
    """Times and signals of the original, by their names."""
    with (REFERENCE / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    return dict(zip(head, np.array(rows, dtype=float).T, strict=True))


def test_every_model_has_its_reference() -> None:
    assert {path.stem for path in REFERENCE.iterdir()} == ENTRIES.keys()


@pytest.mark.parametrize("name", ENTRIES)
def test_a_public_model_gives_its_published_results(name) -> None:
    """At default settings."""
    entry, course = ENTRIES[name], published(name)
    assert course.keys() == {"t", *entry.signals} and course["t"][-1] <= entry.t_end and len(course["t"]) >= 10
    result = compile_model(entry.make(), progress=False).simulate(entry.t_end, samples=course["t"], progress=False)
    assert result.ok
    at = np.searchsorted(result.t, course["t"])
    for original, path in entry.signals.items():
        sign = -1.0 if path.startswith("-") else 1.0
        values = sign * result[path.removeprefix("-")][at]
        size = np.abs(course[original]).max()
        assert np.abs(values - course[original]).max() <= entry.tolerance * size, original
