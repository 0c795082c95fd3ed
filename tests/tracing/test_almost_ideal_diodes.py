"""Small, nonzero resistances of diodes do not affect the results of bridges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from screwbond.models import parts

from bondgraph import J0, Graph, I, R, Se, simulate
from screws.scalars import sin

PEAK, OMEGA, LOAD, COIL = 150.0, 100.0 * np.pi, 20.0, 1.0


def bridge(small: float, ohm: float, volt: float = 1.0) -> Any:
    """Run a bridge of six diodes with `small` ohm when closed and `small` S when open, in units of `volt` V and `ohm` ohm."""
    graph, plus, minus, star = Graph("bridge"), J0("plus"), J0("minus"), J0("star")
    for k in range(3):
        line = J0(f"line {k}")
        wave = Se(f"u{k}", lambda t, k=k: volt * PEAK * sin(OMEGA * t - 2 * np.pi * k / 3), signals=["time"])
        graph.between(star, line, wave)
        for name, start, stop in (("upper", line, plus), ("lower", minus, line)):
            graph.between(start, stop, parts.electrical.ideal_diode(f"{name} {k}", small * ohm, small / ohm))
    graph.between(plus, minus, R("load", LOAD * ohm), I("coil", inductance=COIL * ohm)).between(star, None, R("earth", 1e6 * ohm))
    return simulate(graph, 0.02, progress=False)


@pytest.mark.parametrize("small", [1e-5, 10.0**-5.5])
def test_a_bridge_of_almost_ideal_diodes_gives_the_largest_line_voltage(small: float) -> None:
    """With resistances of 1e-5 ohm or less, the start is not refused (E214), and the energy balance is accurate to 1e-12."""
    result = bridge(small, 1.0)
    lines = np.array([PEAK * np.sin(OMEGA * result.t - 2 * np.pi * k / 3) for k in range(3)])
    drop = 40.0 * small * PEAK / LOAD
    assert result.ok
    assert result["plus.effort"] - result["minus.effort"] == pytest.approx(np.ptp(lines, axis=0), abs=drop)
    assert np.abs(result.ledger.residual).max() <= 1e-12 * np.abs(result.ledger.supplied).max()


@pytest.mark.parametrize(("ohm", "volt"), [(1e-3, 1e3), (1e6, 1e-6)])
def test_units_do_not_change_a_bridge_of_almost_ideal_diodes(ohm: float, volt: float) -> None:
    here, there = bridge(1e-5, 1.0), bridge(1e-5, ohm, volt)
    assert there.ok and len(here.events) == len(there.events)
    assert there["coil.flow"] * (ohm / volt) == pytest.approx(here["coil.flow"], abs=1e-9 * PEAK / LOAD)
