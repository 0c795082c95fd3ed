"""A handful of seeds of the campaign of estimates."""

from __future__ import annotations

import pytest

from campaigns.estimates import STUDIES, distance, least, main


@pytest.mark.parametrize("name", STUDIES)
def test_the_truth_lies_where_the_estimate_says(name):
    """Beyond 4.5 deviations of three numbers together it lies once in six thousand times."""
    assert all(distance((name, seed))[0] < 4.5 for seed in (11,))


def test_how_few_are_too_few(capsys):
    assert least(100) == 87 and least(1) == 0
    assert main(["--count", "2", "--study", "ball"]) == 0
    assert "2 ellipsoids hold the truth" in capsys.readouterr().out
