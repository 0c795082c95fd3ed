"""Simulation: a program and the settings of a run in; checked, run and judged, a `Result` out."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np

from bondgraph.errors import Problem, RoundingWarning, RunDoubtWarning, RunEndedWarning, RunError, caller_depth, caller_place
from bondgraph.output.progress import Progress
from bondgraph.run import settings as checks
from bondgraph.run.bound import Bound
from bondgraph.run.hybrid import Hybrid, result_of
from bondgraph.run.integrators.choose import choose
from bondgraph.run.outcome.doubts import doubts_of
from bondgraph.run.outcome.judge import judged, watched_times
from bondgraph.run.outcome.result import Result
from bondgraph.run.program import Program
from bondgraph.run.settings import Settings
from bondgraph.run.ticks import Ticks
from bondgraph.run_arguments import DEFAULTS, SETTINGS, RunSettings, spelled_settings

_PIECES = 100
# Part of the steps at the rounding of the rates from which a run says so.
_NOISY = 0.01


@spelled_settings
def simulate(
    program: Program,
    x0: Sequence[float] | np.ndarray,
    parameters: Sequence[float] | np.ndarray,
    modes0: Sequence[float] | np.ndarray,
    t_end: float,
    **settings: Unpack[RunSettings],
) -> Result:
    """Run a compiled model.

    Parameters
    ----------
    program : what the compiler made.
    x0, parameters, modes0 : start states (n,), parameters (parameters,), modes (modes,), in the program's units.
    t_end : s.

    Returns a `Result`; a run that could not reach its end has a `failure` and what was computed up to there, and gives a
    `RunEndedWarning`; one that reached its end and cannot be trusted has `doubts`, and gives a `RunDoubtWarning`. Where the
    tolerance lies below the rounding of the rates, a `RoundingWarning` says what was reached.

    Raises `RunError` E301 times, E302 tolerances, E303 samples, E304 unknown choice, E305 wrong count of start values, E306 other
    settings, E330 clocks, E307 solver not installed, E308 start values, E309 parameters, E310 modes not finite, E323 a run that
    is not ok, where it is to be `strict`.
    """
    begin = time.perf_counter()
    checks.known(settings, SETTINGS)
    given: RunSettings = {**DEFAULTS, **settings}
    start, end = checks.span_of(given["t_start"], t_end)
    since, dates = checks.sample_times(given["samples"], start, end)
    relative, absolute = checks.tolerances(program, given["rtol"], given["atol"])
    name, by = checks.method_of(given["method"], given["solver"])
    watched = watched_times(program, since, end - start)
    longest = (end - start) / _PIECES if given["max_step"] is None else given["max_step"]
    checked = Settings(
        x=checks.block(program, "x", x0, program.states, "E308"),
        p=checks.block(program, "p", parameters, program.parameters, "E309"),
        m=checks.block(program, "m", modes0, program.modes, "E310"),
        t_start=start,
        span=end - start,
        times=watched,
        dates=dates if watched is since else start + watched,
        method=name,
        solver=by,
        rtol=relative,
        atol=absolute,
        max_step=checks.positive("max_step", longest),
        max_events=checks.count("max_events", given["max_events"]),
        max_steps=checks.count("max_steps", given["max_steps"]),
        iteration=checks.one_of("iteration", given["iteration"], ("auto", "newton", "fixed point")),
        linear=checks.one_of("linear", given["linear"], ("auto", "dense", "sparse")),
        simultaneous=checks.one_of("simultaneous", given["simultaneous"], ("together", "sequence")),
    )
    bound = Bound(program, checked.p, start, checked.span)
    choice = choose(bound, checked)
    with Progress(program.name, checked.span, given["progress"]) as bar:
        run = Hybrid(bound, checked, Ticks(bound, start, end, checked.max_steps), bar)
        run.go(choice)
    run.examine()
    result = judged(result_of(run, choice, time.perf_counter() - begin), start, (since, dates), (run.t, run.x))
    if result.failure is None:
        result = replace(result, doubts=doubts_of(result, result.account(), checked.rtol))
    found = [*([] if result.failure is None else [str(result.failure)]), *map(str, result.doubts)]
    if given["strict"] and found:
        title = f'the run of "{program.name}" is not ok'
        raise RunError(Problem("E323", title, tuple("\n".join(found).splitlines()), (caller_place(),)))
    for text in found:
        kind = RunDoubtWarning if result.failure is None else RunEndedWarning
        warnings.warn(f'"{program.name}": {text}', kind, stacklevel=caller_depth())
    if result.failure is None and (noise := result.statistics.rounding).steps > _NOISY * result.statistics.steps:
        named = ", ".join(f'"{name}"' for name in noise.states[:4]) + (" ..." if len(noise.states) > 4 else "")
        text = f"the tolerance lies below the rounding of the rates of {named}: {noise.steps} of {result.statistics.steps}"
        text += f" steps were controlled to an rtol of {noise.rtol:.2g}, not {checked.rtol:g}"
        warnings.warn(f'"{program.name}": {text}', RoundingWarning, stacklevel=caller_depth())
    return result
