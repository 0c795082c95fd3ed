"""The acceptance suite compares models with results that are known from public tools or in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from tests.acceptance.suite import SUITE


@pytest.mark.parametrize("name", SUITE)
def test_entry(name: str) -> None:
    for found, wanted, tolerance in SUITE[name]():
        if tolerance == 0.0:
            assert found == wanted
        else:
            np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
