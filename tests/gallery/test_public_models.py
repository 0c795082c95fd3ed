"""The models of the gallery agree with the published results of the originals."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.gallery_models import PAGE, row_begin
from examples.gallery import COLLECTIONS, ENTRIES
from examples.gallery.compare import deviations, published, run
from tests.gallery.entries import compiled_entry

REFERENCE = Path(__file__).parent / "reference"
IN_MILLIVOLTS = ("hodgkin_huxley", "cardiac_action_potential")
"""Models of cells in mV, ms and uA/cm^2, which is not a physical domain."""


def test_every_model_has_its_reference() -> None:
    assert {path.stem for path in REFERENCE.iterdir()} == ENTRIES.keys()
    assert len(ENTRIES) == sum(len(collection.entries) for collection in COLLECTIONS)


@pytest.mark.parametrize("name", ENTRIES)
def test_a_public_model_gives_its_published_results(name) -> None:
    entry, course = ENTRIES[name], published(REFERENCE / f"{name}.csv")
    assert entry.settings == ({"singular": "keep"} if name == "windows" else {})
    assert course.keys() == {"t", *entry.signals} and course["t"][-1] <= entry.t_end and len(course["t"]) >= 10
    compiled = compiled_entry(name)
    generic = {bond.name for bond in compiled.model.bonds if bond.domain.name == "generic"}
    assert not generic or name in IN_MILLIVOLTS
    result = run(compiled, entry, course)
    assert result.ok
    assert {signal: each for signal, each in deviations(result, entry, course).items() if not each <= entry.tolerance} == {}


def test_the_page_lists_every_model() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    begins = [row_begin(entry) for entry in ENTRIES.values()]
    assert len(rows) == len(begins) and all(row.startswith(begin) for row, begin in zip(rows, begins, strict=True))


def test_models_are_short() -> None:
    ratios = sorted(entry.lines / entry.statements for entry in ENTRIES.values())
    assert ratios[len(ratios) // 2] <= 0.4
