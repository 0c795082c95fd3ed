"""Settings for tests of models: diagrams are drawn without the search for better cells of the layout."""

import pytest


@pytest.fixture(autouse=True)
def _rough_layout(rough_layout: None) -> None:
    """Draw diagrams with a rough layout; `tests/render` and `tests/docs` test the search, and a file that needs the search
    overrides this fixture."""
