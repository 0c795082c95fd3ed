"""Settings for tests of documents, which concern formulas and not the layout of the figure."""

import pytest


@pytest.fixture(autouse=True)
def _rough_figures(rough_layout: None) -> None:
    """Draw figures without searching for the best layout."""
