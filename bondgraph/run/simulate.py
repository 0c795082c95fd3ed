"""Simulate a program: check the settings, run the program, and check the validity of the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

import numpy as np

from bondgraph.run.batch.prepared import prepare
from bondgraph.run.program import Program
from bondgraph.run.results.result import Result
from bondgraph.run_arguments import KeepNamed, KeepOptions, RunSettings, Sinkable, spelled_settings


@spelled_settings
def simulate(
    program: Program,
    x0: Sequence[float] | np.ndarray,
    parameters: Sequence[float] | np.ndarray,
    modes0: Sequence[float] | np.ndarray,
    t_end: float,
    *,
    keep: KeepNamed | None = None,
    sink: Sinkable | None = None,
    **settings: Unpack[RunSettings],
) -> Result:
    """Run a compiled model.

    Parameters
    ----------
    program : output of the compiler.
    x0, parameters, modes0 : start states (n,), parameters (parameters,), modes (modes,), in the program's units.
    t_end : end time, s.
    keep : names of the quantities to keep, or {name: measure}; everything by default.
    sink : destination of the kept quantities instead of the result: a path, a `Sink`, or a function of times and values.

    Returns a `Result`. The result of a run that cannot reach its end has a `failure` and the samples before it, with a
    `RunEndedWarning`; the result of a run that reaches its end but cannot be trusted has `warnings`, with an
    `UnreliableRunWarning`. If rounding errors of the rates limit more than 1 % of the steps, a `RoundingWarning` states the
    tolerance that was reached.

    Raises `RunError` E301 for invalid times, E302 for tolerances, E303 for samples, E304 for an unknown choice, E305 for a wrong
    number of values, E306 for other settings, E322 for an unknown setting, E330 for clocks, E332 to E334 for delays, E308 to E310
    for values that are not finite, E323 for a run that is not ok if `strict`, E346 or E348 for an invalid keep or sink;
    `FileError` E415 for an unknown file type.
    """
    return prepare(program, t_end, KeepOptions(keep, sink), **settings).result(x0, parameters, modes0)
