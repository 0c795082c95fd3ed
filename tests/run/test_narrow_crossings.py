"""The first of several close zeros is found, if the guard is a polynomial along a step or a smooth function of one."""

from __future__ import annotations

import numpy as np
import pytest

from tests.inner.emit import Fixed, Reals
from tests.inner.run import DenseOutput, FieldTable, StepTable, root_finding


class Flight(StepTable):
    """Step whose guard is a polynomial p with the coefficients (8,), or exp(p) - 1."""

    coefficients: Reals
    bent: bool


def along(c: Flight, theta: float, out: Reals, method: Fixed) -> None:
    out[0] = theta


def nearly(c: Flight, theta: float, h: float, out: Reals, method: Fixed) -> None:
    out[0] = theta


def guard_values(c: Flight, t: float, y: Reals, g: Reals) -> None:
    value = 0.0
    for k in range(7, -1, -1):
        value = value * y[0] + c.coefficients[k]
    g[0] = np.expm1(value) if c.bent else value


STEP = DenseOutput(along, nearly, guard_values, None)


def first_rise(roots, start=None, depth=None):
    """Return the first zero that is found of the polynomial with these roots, 2 if none is; with a `depth`, the guard is
    exp(p) - 1."""
    table, coefficients = FieldTable(Flight), np.zeros(8)
    table.allocate(guard_count=1, width=1)
    highest_first = np.real(np.poly(roots))
    coefficients[: len(highest_first)] = highest_first[::-1] * (-1.0 if np.polyval(highest_first, 1e-12) > 0.0 else 1.0)
    if depth is not None:
        coefficients *= depth / np.abs(np.polyval(coefficients[::-1], np.linspace(0.0, 1.0, 1001))).max()
    table["bent"] = int(depth is not None)
    table.point("coefficients", coefficients)
    table["guard_count"], table["t"], view = 1, 0.0, table.view()
    for theta, row in ((0.0, 0), (1.0, root_finding.POINTS - 1)):
        guard_values(view, 0.0, np.array([theta]), table.arrays["g"][row:])
    if start is not None:
        table.arrays["g"][0] = start
    return float(root_finding.locate(view, np.float64(1.0), STEP))


@pytest.mark.parametrize("pairs", [1, 2, 3])
def test_the_first_of_pairs_of_zeros_is_found(pairs):
    """The two zeros of a pair are so close that no examined fraction of the step lies between them."""
    random = np.random.default_rng(pairs)
    for _ in range(12):
        places = np.sort(random.uniform(0.02, 0.98, pairs))
        halves = 10.0 ** random.uniform(-5.0, -3.0, pairs)
        found = first_rise([*(places - halves), *(places + halves)])
        assert found == pytest.approx(min(places - halves), abs=1e-7), (places, halves)
    assert first_rise([0.30 - 1e-5, 0.30 + 1e-5, 0.45 - 1e-5, 0.45 + 1e-5]) == pytest.approx(0.30 - 1e-5, abs=1e-9)


def test_the_first_of_two_narrow_crests_of_a_nonlinear_guard_is_found():
    random = np.random.default_rng(0)
    for _ in range(6):
        places = np.sort(random.uniform(0.02, 0.98, 2))
        halves = 10.0 ** random.uniform(-4.5, -3.0, 2)
        found = first_rise([*(places - halves), *(places + halves)], depth=random.uniform(0.3, 0.9))
        assert found == pytest.approx(min(places - halves), abs=1e-7), (places, halves)
        missed = [*(places + 1j * halves), *(places - 1j * halves)]
        assert first_rise(missed, depth=random.uniform(0.3, 0.9)) == 2.0


@pytest.mark.parametrize("pairs", [1, 2, 3])
def test_guards_that_miss_zero_cause_no_event(pairs):
    random = np.random.default_rng(pairs)
    for _ in range(4):
        pair = random.uniform(0.02, 0.98, pairs) + 1j * 10.0 ** random.uniform(-5.0, -3.0, pairs)
        assert first_rise([*pair, *pair.conj()]) == 2.0


@pytest.mark.parametrize("start", [-1e-17, 0.0, 1e-17])
def test_a_guard_that_starts_at_zero_fires_on_its_return(start):
    assert first_rise([0.0, 0.7], start) == pytest.approx(0.7, abs=1e-15)
    assert first_rise([0.0, 1.7], start) == 2.0
