"""Diagrams of models are drawn without a search for better cells, since tests of this folder check other properties."""

import pytest


@pytest.fixture(autouse=True)
def _rough_layout(rough_layout: None) -> None:
    """`tests/render` and `tests/docs` check the cells; a file here that does so has its own fixture of this name."""
