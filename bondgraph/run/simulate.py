"""Simulation: a program and the settings of a run in; checked, run and judged, a `Result` out."""

from __future__ import annotations

import inspect
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bondgraph.errors import Problem, RoundingWarning, RunDoubtWarning, RunEndedWarning, RunError, caller_place
from bondgraph.run import settings as checks
from bondgraph.run.bound import Bound
from bondgraph.run.hybrid import Hybrid, result_of
from bondgraph.run.integrators.choose import choose
from bondgraph.run.outcome.doubts import doubts_of
from bondgraph.run.outcome.judge import judged, watched_times
from bondgraph.run.outcome.result import Result
from bondgraph.run.program import Program
from bondgraph.run.progress import Progress
from bondgraph.run.settings import Settings
from bondgraph.run.ticks import Ticks

_PIECES = 100
# Part of the steps at the rounding of the rates from which a run says so.
_NOISY = 0.01


def simulate(
    program: Program,
    x0: Sequence[float] | np.ndarray,
    parameters: Sequence[float] | np.ndarray,
    modes0: Sequence[float] | np.ndarray,
    t_end: float,
    *,
    t_start: float = 0.0,
    samples: float | Sequence[float] | np.ndarray | None = None,
    method: str = "auto",
    solver: str = "auto",
    rtol: float = 1e-7,
    atol: float | Sequence[float] | np.ndarray | None = None,
    max_step: float | None = None,
    max_events: int = 100_000,
    max_steps: int = 10_000_000,
    iteration: str = "auto",
    linear: str = "auto",
    simultaneous: str = "together",
    progress: bool = True,
    strict: bool = False,
) -> Result:
    """Run a compiled model.

    Parameters
    ----------
    program : what the compiler made.
    x0, parameters, modes0 : start states (n,), parameters (parameters,), modes (modes,), in the program's units.
    t_end, t_start : s.
    samples : sample step in s, or ascending sample times; 1001 equidistant ones by default. The start is sampled too.
    method : "auto" (dop853; bdf from where the model turns out stiff), "dop853" (explicit Runge-Kutta of order 8),
        "adams", "bdf" (multistep), "radau", "lsoda" (SciPy only).
    solver : "auto", "machine code", "sundials" or "scipy".
    rtol : bound on the error of the run relative to the energy in play, 1e-13 to 1e-1; the integrators work with a
        smaller tolerance per step (`choose.SAFETY`).
    atol : error that does not count, per state or for all, in the states' units; by default what a state's couplings to the
        others make of rtol while it is small (`weights`).
    max_step : longest step, s; a hundredth of the run by default.
    max_events, max_steps : the run ends with a failure after so many transitions, or steps of integration (checked
        now and then).
    iteration : "newton" or "fixed point", for adams and bdf.
    linear : "dense" or "sparse" algebra in the Newton iteration; by size if "auto".
    simultaneous : collisions at the same time, to a thousandth of rtol, are one problem of impulses, "together", or follow
        one another, "sequence", the first by name first.
    progress : show a bar on a terminal when a run takes longer than two seconds.
    strict : raise where the result would not be `ok`.

    Returns a `Result`; a run that could not reach its end has a `failure` and what was computed up to there, and gives a
    `RunEndedWarning`; one that reached its end and cannot be trusted has `doubts`, and gives a `RunDoubtWarning`. Where the
    tolerance lies below the rounding of the rates, a `RoundingWarning` says what was reached.

    Raises `RunError` E301 times, E302 tolerances, E303 samples, E304 unknown choice, E305 wrong count of start values, E306 other
    settings, E330 clocks, E307 solver not installed, E308 start values, E309 parameters, E310 modes not finite, E323 a run that
    is not ok, where it is to be `strict`.
    """
    begin = time.perf_counter()
    start, end = checks.span_of(t_start, t_end)
    since, dates = checks.sample_times(samples, start, end)
    relative, absolute = checks.tolerances(program, rtol, atol)
    name, by = checks.method_of(method, solver)
    watched = watched_times(program, since, end - start)
    settings = Settings(
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
        max_step=checks.positive("max_step", (end - start) / _PIECES if max_step is None else max_step),
        max_events=checks.count("max_events", max_events),
        max_steps=checks.count("max_steps", max_steps),
        iteration=checks.one_of("iteration", iteration, ("auto", "newton", "fixed point")),
        linear=checks.one_of("linear", linear, ("auto", "dense", "sparse")),
        simultaneous=checks.one_of("simultaneous", simultaneous, ("together", "sequence")),
    )
    bound = Bound(program, settings.p, start, settings.span)
    choice = choose(bound, settings)
    bar = Progress(program.name, settings.span, progress)
    try:
        run = Hybrid(bound, settings, Ticks(bound, start, end, settings.max_steps), bar)
        run.go(choice)
    finally:
        bar.close()
    run.examine()
    result = judged(result_of(run, choice, time.perf_counter() - begin), start, (since, dates), (run.t, run.x))
    if result.failure is None:
        result = replace(result, doubts=doubts_of(result, result.account(), settings.rtol))
    found = [*([] if result.failure is None else [str(result.failure)]), *map(str, result.doubts)]
    if strict and found:
        title = f'the run of "{program.name}" is not ok'
        raise RunError(Problem("E323", title, tuple("\n".join(found).splitlines()), (caller_place(),)))
    for text in found:
        kind = RunDoubtWarning if result.failure is None else RunEndedWarning
        warnings.warn(f'"{program.name}": {text}', kind, stacklevel=_depth())
    if result.failure is None and (noise := result.statistics.rounding).steps > _NOISY * result.statistics.steps:
        named = ", ".join(f'"{name}"' for name in noise.states[:4]) + (" ..." if len(noise.states) > 4 else "")
        text = f"the tolerance lies below the rounding of the rates of {named}: {noise.steps} of {result.statistics.steps}"
        text += f" steps were controlled to an rtol of {noise.rtol:.2g}, not {settings.rtol:g}"
        warnings.warn(f'"{program.name}": {text}', RoundingWarning, stacklevel=_depth())
    return result


SETTINGS = tuple(name for name, given in inspect.signature(simulate).parameters.items() if given.kind is given.KEYWORD_ONLY)
"""Names of all settings of a run."""


def _depth() -> int:
    """How many calls above this module the user's own line is."""
    here, depth = caller_place(), 1
    frame = sys._getframe(1)
    while here is not None and frame.f_back is not None and (frame.f_code.co_filename, frame.f_lineno) != (here.file, here.line):
        frame, depth = frame.f_back, depth + 1
    return depth
