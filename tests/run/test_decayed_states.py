"""For states that decay over many decades, the largest past size does not set the error tolerance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.inner.run import Bound, ErrorWeights, Program
from tests.run.problems import program
from tests.run.test_accuracy_texts import assert_same, cpython, machine_code

NONE = np.zeros(0)


def decays(scales: list[float] | None = None) -> Program:
    return program(lambda t, x, p, m: [x[1] - x[0] * x[0], -x[1], -x[2], -(x[3] ** 3)], (4, 0, 0), scales=scales)


def sizes_after(
    x: np.ndarray, recent: np.ndarray, longest: float = 1e13, scales: list[float] | None = None, way: Any = machine_code
) -> tuple[np.ndarray, ErrorWeights]:
    units = np.ones(4) if scales is None else np.array(scales)
    weights = ErrorWeights(Bound(decays(scales), NONE, longest, 0.0), 1e-6, None, longest)
    weights.raise_sizes(units)
    way("weights_follow_decay")(weights.table, longest / 2, units * x, NONE, units * recent)
    return weights.size / units, weights


@pytest.mark.parametrize("scales", [None, [2.0**-90, 2.0**40, 1.0, 2.0**10]])
def test_the_size_follows_a_state_that_could_run_away_and_its_drivers(scales: list[float] | None) -> None:
    x = np.full(4, 1e-5)
    size, _ = sizes_after(x, 2.0 * x, scales=scales)
    assert size == pytest.approx([2e-5, 2e-5, 1.0, 1.0])


@pytest.mark.parametrize(
    ("x", "recent", "longest"),
    [
        (1e-5, 0.5, 1e13),  # it passes zero, but was large lately
        (1e-5, 1e-5, 1e5),  # from -1e-6 it would diverge in 1e6 s, after the end
        (-1e-5, 1e-5, 1e13),  # it comes from below zero, and is attracted from above
    ],
)
def test_otherwise_the_size_of_a_state_remains(x: float, recent: float, longest: float) -> None:
    size, _ = sizes_after(np.full(4, x), np.full(4, recent), longest)
    assert size == pytest.approx(np.ones(4))


def test_a_state_that_does_not_decay_keeps_its_size() -> None:
    size, _ = sizes_after(np.array([1e-5, 1e-14, 1.0, 1.0]), np.array([1e-5, 0.5, 1.0, 1.0]))
    assert size == pytest.approx([1e-5, 1.0, 1.0, 1.0])


def test_cpython_makes_the_same_bits() -> None:
    x = np.array([1e-5, 1e-10, 1e-5, 1e-5])
    pair = [sizes_after(x, 2.0 * x, way=way)[1] for way in (machine_code, cpython)]
    assert_same(*(each.table for each in pair))
    np.testing.assert_array_equal(pair[0].floor, pair[1].floor)
    assert 0.0 < pair[0].floor[0] < 1e-5
