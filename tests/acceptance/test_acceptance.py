"""The acceptance suite: one table of models whose results are known from public tools or in closed form.

Every case builds its model and returns the result, the expected value, and the tolerance (absolute, or relative where the number
is large).
"""

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
