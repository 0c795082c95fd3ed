"""Runs of the hand that several test files share, each computed once."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from screwbond.models.hand import SCENARIOS, HandRun, run_hand


@cache
def main_run() -> HandRun:
    return run_hand("main", progress=False)


@cache
def slippery_run() -> HandRun:
    given = SCENARIOS["main"]
    return run_hand(given.changed(parameters=given.parameters.changed(friction=0.2)), progress=False)


def again(run: HandRun, *, friction: float | None = None, rtol: float | None = None, t_end: float | None = None) -> HandRun:
    hand, rtol, t_end = run.hand, rtol or run.rtol, t_end or run.scenario.t_end
    numbers = {}
    if friction is not None:
        hand = replace(hand, parameters=hand.parameters.changed(friction=friction))
        numbers = {f"contact {i}.friction cone.coefficient": friction for i in range(hand.parameters.fingers)}
    result = run.compiled.simulate(t_end, samples=run.scenario.sample_dt, rtol=rtol, parameters=numbers or None, progress=False)
    return replace(run, hand=hand, result=result, rtol=rtol)
