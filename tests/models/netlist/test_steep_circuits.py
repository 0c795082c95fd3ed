"""In circuits of exponential diodes, the enormous currents at frozen voltages do not set the scales of states.

References are Radau of SciPy (doubler) and ngspice 39 (boost converter).
"""

from __future__ import annotations

import pytest
from screwbond.models.netlist import read_netlist

DOUBLER = """Villard's doubler
V1 in 0 SIN(0 5 1k)
C1 in b 1u
D1 0 b DX
D2 b out DX
C2 out 0 1u
RL out 0 100k
.model DX D(IS=1e-14 N=1.05)
.end
"""
BOOST = """boost converter, with current that pauses
V1 in 0 12
L1 in x 100u
S1 x 0 g 0 SW
D1 x out DX
C1 out 0 47u
RL out 0 50
VG g 0 PULSE(0 5 0 1n 1n 5u 10u)
.model SW SW(VT=2.5 VH=0 RON=0.05 ROFF=1e6)
.model DX D(IS=1e-9 N=1)
.end
"""
DOUBLED = 7.726472324
"""Voltage of the doubler after 4 ms, V, computed by Radau at a relative tolerance of 1e-11."""
REACHED = 42.5059004802837
"""Voltage of the boost converter after 0.5 ms, V, computed by ngspice."""
CLAMP = """clamp
V1 in 0 PULSE(0 5 DELAY 10n 10n 1m 2m)
C1 in b 1u
D1 b 0 DX
RL b 0 100k
.model DX D(IS=1e-14 N=1.05)
.end
"""
BRIDGE = """rectifier whose return to ground carries no current
V1 a b SIN(0 20 50)
D1 a p DX
D2 b p DX
D3 n a DX
D4 n b DX
RL p n 500
C1 p n 100u
Rg n 0 1MEG
.model DX D(IS=1e-12 N=1.5)
.end
"""


@pytest.fixture
def circuit(tmp_path):
    def read(text):
        path = tmp_path / "circuit.cir"
        path.write_text(text, encoding="utf-8")
        return read_netlist(path, uic=True).compile()

    return read


@pytest.mark.parametrize("method", ["auto", "rodas5p"])
@pytest.mark.parametrize("span", [4e-3, 8e-3, 20e-3])
def test_a_diode_opened_by_a_source_sets_no_scale(circuit, span, method):
    """The first step size depends on the span of the run."""
    result = circuit(DOUBLER).simulate(span, samples=1e-3, rtol=1e-9, method=method)
    assert result.ok and abs(result["node out.effort"][4] / DOUBLED - 1.0) < 1e-7


@pytest.mark.parametrize("method", ["auto", "rodas5p"])
@pytest.mark.parametrize("delay", ["1u", "10u", "30u"])
def test_a_pulse_soon_after_the_start_is_not_missed(circuit, delay, method):
    """The last pulse charges the capacitor to 4.42 V, of which the load takes 1 % in 1 ms."""
    text = CLAMP.replace("DELAY", delay)
    result = circuit(text).simulate(0.01, samples=1e-3, rtol=1e-8, method=method)
    assert result.ok and -4.3790 < result["node b.effort"][-1] < -4.3767


def test_the_guess_of_a_loop_has_the_scale_of_the_loop(circuit):
    """While the coil's current is zero, only the open switch of 1 Mohm loads the node."""
    result = circuit(BOOST).simulate(0.5e-3, samples=[0.5e-3], rtol=1e-9, method="rodas5p")
    assert result.ok and result.statistics.rounding.steps == 0
    assert abs(result["node out.effort"][-1] / REACHED - 1.0) < 1e-6


def test_a_current_that_is_only_rounding_loses_no_solution(circuit):
    result = circuit(BRIDGE).simulate(0.01, samples=1e-4, rtol=1e-9)
    assert result.ok and 16.0 < result["node p.effort"][-1] < 18.0
