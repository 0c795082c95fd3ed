"""A few seeds of the campaign of estimates."""

from __future__ import annotations

import numpy as np
import pytest

from campaigns.estimates import STUDIES, count_within, least, main, trial


@pytest.mark.parametrize("name", STUDIES)
def test_true_parameters_lie_within_the_estimated_uncertainty(name):
    """The distance of three normal errors exceeds 4.5 standard deviations once in 6600 cases."""
    answer = trial((name, 11))
    assert answer.distance < 4.5 and answer.distance == pytest.approx(answer.linear, abs=0.2)


def test_within_counts_95_percent_of_normal_distances():
    """Three normal errors lie within a radius of 2.795 standard deviations in 95 of 100 cases."""
    drawn = np.linalg.norm(np.random.default_rng(0).normal(size=(20000, 3)), axis=1)
    assert count_within(drawn) == pytest.approx(19000, abs=4.0 * np.sqrt(950.0))


def test_how_few_are_too_few(capsys):
    assert least(100) == 87 and least(1) == 0
    assert main(["--count", "2", "--study", "ball"]) == 0
    assert "2 of 2 ellipsoids contain the true values, 2 of the linear problem" in capsys.readouterr().out
