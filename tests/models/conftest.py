"""Diagrams of models are drawn without a search for better cells: tests of this folder look at what is beside them."""

import pytest


@pytest.fixture(autouse=True)
def _rough_layout(rough_layout: None) -> None:
    """`tests/render` and `tests/docs` look at the cells; a file that does so here has a fixture of this name."""
