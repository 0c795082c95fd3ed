"""Signals of time agree with closed forms."""

from __future__ import annotations

import numpy as np

from bondgraph import signals
from tests.signals.chains import TIMES, compiled, over_time, value


def test_signals_of_time() -> None:
    model = compiled(
        signals.sine("sine", 2.0, 3.0, 0.4, -1.0),
        signals.step("step", 1.0, -2.0, 5.0),
        signals.ramp("ramp", 3.0, 1.0, offset=0.5),
        signals.ramp("hold", 3.0, 1.0, 2.0),
        signals.smooth_step("smooth", 1.0, 2.0, -1.0, 3.0),
    )
    s = np.clip((TIMES - 1.0) / 2.0, 0.0, 1.0)
    for name, wanted in {
        "sine": 2.0 * np.sin(3.0 * TIMES + 0.4) - 1.0,
        "step": np.where(TIMES < 1.0, -2.0, 5.0),
        "ramp": 0.5 + 3.0 * np.maximum(TIMES - 1.0, 0.0),
        "hold": 3.0 * (np.clip(TIMES, 1.0, 2.0) - 1.0),
        "smooth": -1.0 + 4.0 * (6 * s**5 - 15 * s**4 + 10 * s**3),
    }.items():
        np.testing.assert_allclose(over_time(model, f"{name}.y", TIMES), wanted, rtol=1e-13, atol=1e-13)
    assert value(model, "step.y", 1.0) == 5.0


def test_smooth_step_has_two_continuous_derivatives() -> None:
    """The second difference quotient is at most of order h at both ends, where a jump in y'' would keep it finite."""
    model = compiled(signals.smooth_step("s", 1.0, 2.0))
    for end in (1.0, 3.0):
        for h in (1e-2, 1e-3):
            y = over_time(model, "s.y", end + h * np.arange(-2.0, 3.0))
            assert np.abs(np.diff(y, 2)).max() / h**2 < 60.0 / 8.0 * 2.5 * h
