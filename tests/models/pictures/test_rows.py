"""The rows of a run that a page keeps include every peak and both sides of every event."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from bondgraph import simulate
from examples.bouncing_ball import with_restitution
from tests.inner.models_pictures import STEPS, STRAIGHTNESS, Downsampling, EventRows, Packed


def test_short_signals_are_kept() -> None:
    t = np.linspace(0.0, 2.0, 100_001)
    values = 3.0 * t
    values[70_003], values[20_002] = 50.0, -40.0
    thin = Downsampling.of(t, 1000)
    times, kept = thin.times, thin.select(values)
    assert 900 < len(times) == len(kept) <= 1000 and np.all(np.diff(times) >= 0.0)
    assert kept.max() == 50.0 and kept.min() == -40.0
    assert times[np.argmax(kept)] == pytest.approx(t[70_003], abs=4e-3)
    assert times[np.argmin(kept)] == pytest.approx(t[20_002], abs=4e-3)
    straight = (kept > -40.0) & (kept < 50.0)
    assert kept[straight] == pytest.approx(3.0 * times[straight], abs=3.0 * 4e-3)
    assert (times[0], times[-1]) == (0.0, 2.0)


def test_a_smooth_course_is_its_samples() -> None:
    t = np.linspace(0.0, 1.0, 20_001)
    thin = Downsampling.of(t, 2000)
    kept = thin.select(np.sin(6.0 * t))
    assert kept == pytest.approx(np.sin(6.0 * thin.times), abs=2.0 * STRAIGHTNESS)
    few = Downsampling.of(t[:30], 40)
    assert few.times == pytest.approx(t[:30]) and few.select(t[:30]) == pytest.approx(t[:30])


def test_courses_that_are_fast_keep_their_band() -> None:
    t = np.linspace(0.0, 1.0, 200_001)
    thin = Downsampling.of(t, 900)
    kept = thin.select(t + (5000.0 * t) % 1.0)
    for low, high in pairwise(np.linspace(0.0, 1.0, 21)):
        here = kept[(thin.times >= low) & (thin.times <= high)]
        assert here.min() == pytest.approx(low, abs=0.08) and here.max() == pytest.approx(high + 1.0, abs=0.08)


def test_nonfinite_values_leave_a_gap_in_rows() -> None:
    t = np.linspace(0.0, 1.0, 1001)
    values = np.where((t > 0.4) & (t < 0.6), np.nan, t)
    values[100] = np.inf
    thin = Downsampling.of(t, 100)
    kept = thin.select(values)
    assert np.all(np.isnan(kept[(thin.times > 0.45) & (thin.times < 0.55)]))
    assert np.all(np.isfinite(kept[thin.times < 0.38]))


def test_rows_contain_both_sides_of_events() -> None:
    """With the coefficient of restitution e, the velocity is v before and -e v after a bounce."""
    result = simulate(with_restitution(), 3.0, samples=0.05, progress=False)
    rows = EventRows.of(result, 0.0, 3.0)
    v = rows.values("ball.flow")
    assert len(rows.t) > len(result.t) and np.all(np.diff(rows.t) >= 0.0)
    bounces = [event.time for event in result.events]
    where = np.flatnonzero(rows.t == bounces[0])
    assert len(where) == 2
    before, after = v[where]
    assert (before, after) == pytest.approx(np.sqrt(2.0 * 9.81) * np.array([-1.0, 0.8]), rel=1e-6)
    # A span that starts and ends between samples includes its ends.
    part = EventRows.of(result, 0.12, 0.33)
    assert (part.t[0], part.t[-1]) == (0.12, 0.33)
    assert part.values("ball.flow")[[0, -1]] == pytest.approx(np.interp([0.12, 0.33], result.t, result["ball.flow"]))


def test_zero_is_zero_on_a_page() -> None:
    """If the values of a curve lie on both sides of zero, one of its 16-bit levels is exactly 0."""
    rng = np.random.default_rng(2)
    for low, high in rng.uniform(0.1, 10.0, (40, 2)) * [-1.0, 1.0]:
        values = np.array([low, 0.0, high, 0.3 * high])
        packed = Packed()
        packed.curve(values)
        least, step, *_ = packed.curves[0]
        numbers = np.rint((values - least) / step)
        assert least + step * numbers[1] == 0.0 and numbers.max() <= STEPS + 0.5
        assert least + step * numbers == pytest.approx(values, abs=0.51 * step)
