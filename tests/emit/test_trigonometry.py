"""Sines and cosines computed four at a time are accurate to the last place, whatever their neighbours."""

from __future__ import annotations

import numpy as np
import pytest

from screws.scalars import cos, sin
from tests.inner.emit import NEAR, compile_routines, routines_text, trigonometry
from tests.inner.tape import Routine, Tape

ANGLES = 6


def _sines_and_cosines(angles: np.ndarray) -> np.ndarray:
    tape = Tape()
    x = tape.inputs("x", ANGLES)
    routine = Routine("angles", tape, (("x", ANGLES),), tuple(f(a) for a in x for f in (sin, cos)))
    return compile_routines([routine]).kernel("angles").many(angles).reshape(-1, ANGLES, 2)


@pytest.mark.parametrize("size", [1e-3, 1.0, 10.0, 1e3, 0.99 * NEAR])
def test_the_error_is_below_a_unit_in_the_last_place(size):
    """NumPy is accurate to half a unit in the last place, so the results may differ by one and a half units."""
    angles = np.random.default_rng(1).uniform(-size, size, (2000, ANGLES))
    found, expected = _sines_and_cosines(angles), np.stack([np.sin(angles), np.cos(angles)], axis=-1)
    assert np.all(np.abs(found - expected) <= 1.5 * np.spacing(np.abs(expected)))


def test_near_multiples_of_a_right_angle():
    """The truncated part of pi matters, since the sine of the double closest to pi is 1.2e-16."""
    angles = np.arange(6 * 5000).reshape(-1, ANGLES) * (np.pi / 2.0)
    found, expected = _sines_and_cosines(angles), np.stack([np.sin(angles), np.cos(angles)], axis=-1)
    assert np.all(np.abs(found - expected) <= 1.5 * np.spacing(np.abs(expected)))


def test_large_angles_and_nan():
    """Large angles and NaN are computed by the C library, and do not affect neighbouring lanes."""
    angles = np.array([[0.0, 1e-300, 1e6, 1.0, -2.0, 3.0], [np.inf, 0.5, np.nan, 1.0, -2.0, 1e300]])
    found = _sines_and_cosines(angles)
    with np.errstate(invalid="ignore"):
        expected = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
    assert np.allclose(found, expected, rtol=4e-16, atol=0.0, equal_nan=True)
    assert np.array_equal(found[0, 3:5], found[1, 3:5])
    alone = _sines_and_cosines(np.full((1, ANGLES), 0.5))
    assert np.array_equal(found[1, 1], alone[0, 0])


def test_angles_share_calls():
    """Six angles take two calls, and an angle that depends on a sine is computed later."""
    tape = Tape()
    x = tape.inputs("x", ANGLES)
    routine = Routine("angles", tape, (("x", ANGLES),), (*(sin(a) for a in x), sin(sin(x[0]) + cos(x[1]))))
    assert routines_text([routine]).count(f"call {trigonometry.result()} @{trigonometry.symbol()}(") == 3
    given = np.linspace(-3.0, 3.0, ANGLES)
    found = compile_routines([routine]).kernel("angles")(given)
    assert np.allclose(found, [*np.sin(given), np.sin(np.sin(given[0]) + np.cos(given[1]))], rtol=1e-15, atol=1e-16)


def test_a_routine_without_angles_has_no_such_function():
    tape = Tape()
    (x,) = tape.inputs("x", 1)
    assert trigonometry.symbol() not in routines_text([Routine("square", tape, (("x", 1),), (x * x,))])
