"""Settings for tests of documents, which do not concern the layout of figures."""

import pytest


@pytest.fixture(autouse=True)
def _rough_figures(rough_layout: None) -> None:
    """Draw figures without searching for the best layout."""
