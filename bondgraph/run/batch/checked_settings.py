"""Settings of a run as they are given in; checked, without the numbers of a run, and its sample times, out."""

from __future__ import annotations

import numpy as np

from bondgraph.run import settings as checks
from bondgraph.run.program import Program
from bondgraph.run.settings import Settings
from bondgraph.run.validation.checked_result import checked_times
from bondgraph.run_arguments import RunSettings


def checked_settings(program: Program, t_end: float, given: RunSettings) -> tuple[Settings, tuple[np.ndarray, np.ndarray]]:
    """Settings with numbers of a run that are all zero, and the sample times that are wanted, since the start and as dates.

    Raises `RunError` E301 times, E302 tolerances, E303 samples, E304 unknown choices, E306 other settings.
    """
    start, end = checks.span_of(given["t_start"], t_end)
    since, dates = checks.sample_times(given["samples"], start, end)
    relative, absolute = checks.tolerances(program, given["rtol"], given["atol"])
    name, by = checks.method_of(given["method"], given["solver"])
    watched, max_steps = checked_times(program, since, end - start), checks.count("max_steps", given["max_steps"])
    checked = Settings(
        x=np.zeros(program.states),
        p=np.zeros(program.parameters),
        m=np.zeros(program.modes),
        t_start=start,
        span=end - start,
        t_end=end,
        times=watched,
        dates=dates if watched is since else start + watched,
        method=name,
        solver=by,
        rtol=relative,
        atol=absolute,
        max_step=checks.longest_step(given["max_step"], end - start, max_steps),
        max_events=checks.count("max_events", given["max_events"]),
        max_steps=max_steps,
        iteration=checks.one_of("iteration", given["iteration"], ("auto", "newton", "fixed point")),
        linear=checks.one_of("linear", given["linear"], ("auto", "dense", "band", "sparse")),
        impacts=checks.one_of("impacts", given["impacts"], ("simultaneous", "sequential")),
    )
    return checked, (since, dates)
