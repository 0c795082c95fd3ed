"""Times of events: S at an event in; how its time depends on what is varied, dt/dp (k,), out.

Where a guard g(t, x, p) fires,

    dt = -(g_x S + g_p) / (g_t + g_x f).

Transitions that one of them sets off happen at its time; those that cross zero by themselves, at the same time by chance, have
times of their own; those that follow one another ever faster have that of their limit.
"""

from __future__ import annotations

import numpy as np

from bondgraph.errors import Problem, RunError
from bondgraph.estimation.jumps.context import Before, Passing, RunKernels, agree
from bondgraph.run.events.records import Event

COINCIDING = 1e-9
"""ImpactPart of the run within which a guard crosses zero at the same time as another."""

LIMIT = 10
"""Events that tell where such that follow one another ever faster lead to, as in `run.events.reference.accumulation`."""


def first_time(kernels: RunKernels, at: Passing, f: np.ndarray, transition: int, before: Before) -> np.ndarray:
    """dt of an instant: zero at the start, that of a tick where a guard jumps there, else where the guard crosses zero; f: rates
    before it (n,)."""
    nothing = np.zeros(at.S.shape[1])
    if before.ticked is not None:
        guards, dt = before.ticked
        if guards[transition] < 0.0 or not before.length:
            return dt
    return nothing if not before.length else _crossing(kernels, at, f, at.S, transition, before)[0]


def own_time(
    kernels: RunKernels, at: Passing, D: np.ndarray, dt: np.ndarray, begin: tuple[Passing, np.ndarray], transition: int
) -> np.ndarray | None:
    """dt of a transition that would have crossed zero by itself where this instant began, with its rates; None where another set
    it off."""
    edge = kernels.bound.program.transitions[transition]
    start, rates = begin
    if start.m[edge.slot] != edge.source:
        return None
    there, late = _crossing(kernels, start, rates, start.S, transition)
    if not np.isfinite(there).all() or not abs(late) <= COINCIDING * kernels.bound.span or agree(there, dt):
        return None
    f = kernels.rates(at)
    own, _ = _crossing(kernels, at, f, D - np.outer(f, dt), transition)
    return own if np.isfinite(own).all() else None


def _crossing(
    kernels: RunKernels, at: Passing, f: np.ndarray, S: np.ndarray, transition: int, before: Before | None = None
) -> tuple[np.ndarray, float]:
    """dt where a guard crosses zero, and how long after this time it would; E373 where it only touches zero."""
    found = kernels.values(kernels.guard(transition), at, S, np.zeros(S.shape[1]), f)
    value, slopes, speed = found.item(0), found[1:-1], found.item(-1)
    if before is not None and not speed * before.length > np.sqrt(kernels.rtol) * _largest(kernels, at, transition, before, f):
        edge = kernels.bound.program.transitions[transition]
        title = f'at {kernels.bound.origin + at.t:.6g} s "{edge.kind}" of "{edge.name}" is where its guard only touches zero'
        why = f"the guard rises by {speed:.3g} 1/s there: a little less, and it would not fire, so that there is no derivative"
        raise RunError(Problem("E373", title, (why,), cures=("other parameters or start values", "a run that ends before")))
    with np.errstate(all="ignore"):
        return -slopes / speed, float(-value / np.float64(speed))


def _largest(kernels: RunKernels, at: Passing, transition: int, before: Before, f: np.ndarray) -> float:
    """The largest |guard| of the leg: at its start, or in the middle of the cubic through its ends."""
    bound = kernels.bound
    begin = bound.rates(at.t - before.length, before.x, at.m)
    middle = (before.x + at.x) / 2.0 + before.length / 8.0 * (begin - f)
    times = (at.t - before.length, at.t - before.length / 2.0)
    seen = [abs(bound.guards(t, x, at.m).item(transition)) for t, x in zip(times, (before.x, middle), strict=True)]
    return float(np.maximum(*seen))


class AccumulationLimits:
    """AccumulationLimits of events that follow one another ever faster, from the times that a run has had."""

    def __init__(self, kernels: RunKernels):
        self._transitions = kernels.bound.program.transitions
        self._times: dict[int, list[tuple[float, np.ndarray]]] = {}

    def see(self, transition: int, time: float, dt: np.ndarray) -> None:
        """A transition has happened."""
        self._times.setdefault(transition, []).append((time, dt))

    def limit(self, event: Event) -> np.ndarray | None:
        """d limit / dp: of the geometric series that the run has seen; None where it is none."""
        edges, slot = self._transitions, self._transitions[event.transition].slot
        known = [own for i, own in self._times.items() if edges[i].slot == slot and edges[i].accumulates is not None]
        if event.accumulation is None or not known:
            return None
        recent = max(known, key=lambda own: own[-1][0])[-LIMIT:]
        times, slopes = np.array([time for time, _ in recent]), np.array([slope for _, slope in recent])
        steps, bends = np.diff(times), np.diff(slopes, axis=0)
        if len(steps) < 2 or not np.all(steps > 0.0) or not steps[-1] < steps[0]:
            return np.asarray(slopes[-1])
        ratio = (steps[-1] / steps[0]) ** (1.0 / (len(steps) - 1))
        grown = ratio * (bends[-1] / steps[-1] - bends[0] / steps[0]) / (len(steps) - 1)
        left = ratio / (1.0 - ratio)
        return np.asarray(slopes[-1] + bends[-1] * left + steps[-1] * grown / (1.0 - ratio) ** 2)
