"""Signal blocks, and curves through tabulated data. Each block is an `Element` whose result is the signal `<name>.y`.

Inputs are paths of signals (`motor.flow`, `time`, another block's `<name>.y`), read without delay and without power. Numbers such
as gains and time constants are run-time parameters, and may be given as `Parameter(value, unit)`. Blocks take `unit` and `symbol`
(LaTeX) of the result, logic signals only `symbol`; most blocks with states also take `nominal`, the usual size of a state (of the
input, for `transfer_function`), as a hint.
"""

from bondgraph.elements.curves import characteristic_map, curve
from bondgraph.signals.algebra import (
    chirp,
    comparator,
    dead_zone,
    gain,
    limiter,
    logic,
    product,
    pulse,
    ramp,
    sawtooth,
    sine,
    smooth_step,
    square,
    step,
    summation,
    table,
)
from bondgraph.signals.discrete import hold, noise, sampled, sampled_derivative, sampled_pid, sampled_rate_limiter
from bondgraph.signals.dynamics import delay, derivative_filter, integrator, lowpass, pid
from bondgraph.signals.linear_systems import state_space, transfer_function
from bondgraph.signals.measured_inputs import measured
from bondgraph.signals.modes import hysteresis, pwm, quantiser, rate_limiter
from screws.calls import check_calls
from screws.names import answer_old_names

__all__ = ["gain", "summation", "product", "limiter", "dead_zone", "table", "measured"]
__all__ += ["comparator", "hysteresis", "quantiser"]
__all__ += ["pwm", "rate_limiter", "logic"]
__all__ += ["integrator", "lowpass", "derivative_filter", "delay", "pid"]
__all__ += ["transfer_function", "state_space"]
__all__ += ["sine", "chirp", "step", "pulse", "square", "sawtooth", "ramp", "smooth_step"]
__all__ += ["curve", "characteristic_map"]
__all__ += ["sampled", "hold", "sampled_derivative", "sampled_pid", "sampled_rate_limiter", "noise"]

check_calls(__name__)
answer_old_names(__name__)
