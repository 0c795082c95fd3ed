"""Twin runs, in which CPython handles the events of every run again and must agree with machine code bit for bit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from tests.inner.output import Progress
from tests.inner.run import Bound, ClockSchedule, Hybrid, PreparedProgram, result_of

TOLD: Counter[str] = Counter()
"""Counts of compared runs, of their events, and of events at which machine code and CPython called Python."""


def referred(prepared, settings):
    program = prepared.program
    bound = Bound(program, settings.p, settings.t_start, settings.span)
    ticks = ClockSchedule(bound, settings.t_start, settings.t_start + settings.span, settings.max_steps)
    with Progress(program.name, settings.span, False) as bar:
        run = Hybrid(bound, settings, ticks, bar, reference=True)
        run.run(prepared.choice)
    run.examine()
    return run


def ensure_same(prepared, mine, end, reference):
    other = result_of(reference, prepared.choice, 0.0)
    asked = mine.statistics.events_in_python
    TOLD.update(runs=1, events=len(mine.events), asked=asked, asked_again=reference.events_in_python)
    if mine.failure is not None and other.failure is not None and mine.failure.kind == other.failure.kind == "too many steps":
        return  # counted where a run pauses, which depends on time
    assert told(mine, end) == told(other, (reference.t, reference.x))
    # Machine code that checks constraints between the requested samples keeps those rows.
    asked = slice(None) if len(mine.t) == len(other.t) else np.flatnonzero(np.isin(other.t, mine.t))
    for name in ("t", "since", "x", "m", "integrals", "start_energies"):
        own, others = (np.ascontiguousarray(getattr(run, name)) for run in (mine, other))
        others = others if name == "start_energies" else others[asked]
        np.testing.assert_array_equal(own.view(np.int64), others.view(np.int64), err_msg=name)
    assert mine.events == other.events


def told(run, end):
    cost = replace(run.statistics, wall_time=0.0, integration_time=0.0, events_in_python=0)
    return repr((end[0], end[1].tolist(), cost, run.failure and (run.failure.kind, run.failure.reason), run.events.kinds))


_MADE = PreparedProgram._single_run


def _twice(prepared, settings, begin, bar):
    made = _MADE(prepared, settings, begin, bar)
    ensure_same(prepared, made.result, (made.t, made.x), referred(prepared, settings))
    return made


@contextmanager
def compared() -> Iterator[Counter[str]]:
    before, PreparedProgram._single_run = PreparedProgram._single_run, _twice
    TOLD.clear()
    try:
        yield TOLD
    finally:
        PreparedProgram._single_run = before
