"""Both loops over events: every run with events is made by the reference in Python too, and must be the same bit for bit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from bondgraph.output.progress import Progress
from bondgraph.run import hybrid
from bondgraph.run.bound import Bound
from bondgraph.run.repeated import preparation
from bondgraph.run.ticks import Ticks

TOLD: Counter[str] = Counter()
"""Runs that were compared, their events, and how many of their instants came back to Python."""


class Twin(hybrid.Hybrid):
    """A run that compares itself with its reference."""

    def go(self, choice):
        settings, program = self.settings, self.bound.program
        bound = Bound(program, settings.p, settings.t_start, settings.span)
        ticks = Ticks(bound, settings.t_start, settings.t_start + settings.span, settings.max_steps)
        with Progress(program.name, settings.span, False) as bar:
            other = hybrid.Hybrid(bound, settings, ticks, bar, reference=True)
            other.go(choice)
        super().go(choice)
        TOLD.update(runs=1, events=len(self.log), instants=other.handed_back, handed_back=self.handed_back)
        if self.failure is not None and other.failure is not None and self.failure.kind == other.failure.kind == "too many steps":
            return  # counted where a run pauses, which is a matter of time
        assert told(self) == told(other)
        for name in ("x", "q", "m"):
            mine, others = getattr(self.samples, name), getattr(other.samples, name)
            np.testing.assert_array_equal(mine.view(np.int64), others.view(np.int64), err_msg=name)
        np.testing.assert_array_equal(self.log.rows, other.log.rows)
        np.testing.assert_array_equal(self.courses.sizes, other.courses.sizes)
        np.testing.assert_array_equal(self.watch.counts, other.watch.counts)


def told(run):
    """What else a run says, but for how long it took."""
    end = (run.t, run.x.tolist(), run.m.tolist(), run.q.tolist())
    effort = replace(run.effort, seconds=0.0)
    return repr((end, run.methods, effort, run.failure and (run.failure.kind, run.failure.reason), run.log.said, run.ticks.count))


@contextmanager
def compared() -> Iterator[Counter[str]]:
    """Within it every run is compared with its reference; what was compared is counted."""
    own, preparation.Hybrid = preparation.Hybrid, Twin
    TOLD.clear()
    try:
        yield TOLD
    finally:
        preparation.Hybrid = own
