"""The margins that Bode plots mark agree with closed forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.inner.models_delta import bode_plot, degrees, gain_crossings, phase_crossings

OMEGA = np.geomspace(0.01, 100.0, 4000)


@pytest.mark.parametrize("gain", [2.0, 5.0, 20.0])
def test_margins_of_three_equal_lags(gain: float) -> None:
    """The phase of L = K / (1 + s)^3 is -180 degrees at sqrt 3, where the gain is K / 8."""
    loop = gain / (1.0 + 1j * OMEGA) ** 3
    (phase,), (level,) = phase_crossings(OMEGA, loop), gain_crossings(OMEGA, loop)
    assert phase.omega == pytest.approx(np.sqrt(3.0), rel=1e-5)
    assert phase.margin == pytest.approx(20.0 * np.log10(8.0 / gain), abs=1e-4)
    crossing = np.sqrt(gain ** (2.0 / 3.0) - 1.0)
    assert level.omega == pytest.approx(crossing, rel=1e-5)
    assert level.margin == pytest.approx(180.0 - 3.0 * np.rad2deg(np.arctan(crossing)), abs=1e-3)


def test_a_lag_has_no_gain_margin() -> None:
    loop = 10.0 / (1.0 + 1j * OMEGA)
    assert not phase_crossings(OMEGA, loop)
    assert gain_crossings(OMEGA, loop)[0].margin == pytest.approx(180.0 - np.rad2deg(np.arctan(np.sqrt(99.0))), abs=1e-3)


def test_a_loop_below_one_has_no_phase_margin() -> None:
    assert not gain_crossings(OMEGA, 0.5 / (1.0 + 1j * OMEGA))


def test_phase_has_no_jumps() -> None:
    phase = degrees(1.0 / (1.0 + 1j * np.geomspace(1e-3, 1e3, 2000)) ** 6)
    assert phase[0] == pytest.approx(0.0, abs=1.0)
    assert phase[-1] == pytest.approx(-540.0, abs=1.0)
    assert np.all(np.diff(phase) < 0.0)


def test_a_plot_with_both_margins_is_written(tmp_path: Path) -> None:
    loop = 4.0 / (1.0 + 1j * OMEGA) ** 3
    bode_plot(OMEGA, {"$L$": loop, "half": 0.5 * loop}, tmp_path / "bode.svg", loop="$L$", title="Three lags")
    text = (tmp_path / "bode.svg").read_text(encoding="utf-8")
    assert "dB" in text and "6.0 dB" in text and "27.1" in text
