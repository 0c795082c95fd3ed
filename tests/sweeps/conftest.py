"""Reference results for the tests of sweeps."""

import pytest

from bondgraph import compile_model
from tests.sweeps.drawn import drawn
from tests.sweeps.oscillators import oscillator


@pytest.fixture(scope="module")
def compiled():
    return compile_model(oscillator())


@pytest.fixture(scope="module")
def reference(compiled):
    return drawn(compiled)
