"""Signal blocks: numbers and names of signals in; an `Element` whose result is the signal `<name>.y` out."""

from bondgraph.signals.discrete import hold, sampled, sampled_derivative, sampled_pid
from bondgraph.signals.library import (
    comparator,
    dead_zone,
    derivative_filter,
    gain,
    integrator,
    limiter,
    logic,
    lowpass,
    pid,
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
    transfer_function,
)

__all__ = [
    "gain", "summation", "product", "limiter", "dead_zone", "table", "comparator", "logic", "integrator", "lowpass",
    "derivative_filter", "pid", "transfer_function", "sine", "step", "pulse", "square", "sawtooth", "ramp", "smooth_step",
    "sampled", "hold", "sampled_derivative", "sampled_pid",
]  # fmt: skip
