"""Settings of the tests of documents: they are about formulas, and the layout of the figure does not matter to them."""

import pytest


@pytest.fixture(autouse=True)
def _rough_figures(rough_layout: None) -> None:
    """Draw figures without a search for the best layout."""
