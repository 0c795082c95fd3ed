"""Sweep of oscillators with random parameters, whose results have the same bits however they are computed and stored."""

from __future__ import annotations

from bondgraph.sweeps import last, normal, peak, sweep, uniform
from tests.sweeps.oscillators import extremes

DRAWN = {"spring.stiffness": normal(50.0, 10.0), "damper.resistance": normal(3.0, 2.0), "spring.q": uniform(-0.1, 0.1)}
KEPT = {"q": last("spring.q"), "top": peak("spring.q"), "ends": extremes, "course": "spring.q"}


def drawn(model, runs=40, **more):
    return sweep(model, DRAWN, 1.0, keep=KEPT, runs=runs, seed=2, **{"samples": 0.25, "progress": False, **more})


def content(runs):
    return {name: runs[name].tobytes() for name in ("run", *runs.names())}, runs.failures, runs.warnings
