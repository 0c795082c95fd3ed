"""Settings for tests of models, whose diagrams have a rough layout."""

import pytest


@pytest.fixture(autouse=True)
def _rough_layout(rough_layout: None) -> None:
    """Draw diagrams with a rough layout; a file that needs the search for cells overrides this fixture."""
