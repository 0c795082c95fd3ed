"""Jump conditions (saltation matrix) of the sensitivities at the events of one instant: S after its transitions, carried out in
sequence.

D, the derivative of the state at the moving instant, passes through all resets with the same dt; f is evaluated before the first
reset and after the last, since intermediate modes may not permit motion. Where a guard g(t, x, p) fires,

    dt = -(g_x S + g_p) / (g_t + g_x f).

Transitions that an event triggers share its time; transitions whose guards cross zero independently at the same time have their
own times; events that accumulate (Zeno) have the time of their limit.

Clock ticks and discontinuities in time have jump conditions too: S afterwards, and the derivative dt/dp of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bondgraph.errors import Problem, RunError
from bondgraph.estimation.jumps.impacts import CollisionJumps, ImpactPart
from bondgraph.estimation.jumps.impulse_derivatives import (
    MAX_RESIDUAL,
    PrecedingSegment,
    RunKernels,
    SensitivityState,
    agree,
    coincidence_refusal,
    unknown_refusal,
)
from bondgraph.run.clock_schedule import SAME_TIME, ClockSchedule
from bondgraph.run.events.records import Event

COINCIDING = 1e-9
"""Fraction of the run's duration within which two zero crossings count as simultaneous."""

SERIES_LENGTH = 10
"""Number of events from which the limit of an accumulation is extrapolated, as in `run.events.accumulation`."""


def first_event_time(
    kernels: RunKernels, at: SensitivityState, f: np.ndarray, transition: int, before: PrecedingSegment
) -> np.ndarray:
    """Return the derivative dt of an event's time, from the rates f (n,) before the event.

    It is zero at the start, the tick's dt if a tick makes the guard jump, and else the dt of the guard's zero crossing.
    """
    nothing = np.zeros(at.S.shape[1])
    if before.tick_guards is not None:
        guards, dt = before.tick_guards
        if guards[transition] < 0.0 or not before.length:
            return dt
    return nothing if not before.length else _crossing(kernels, at, f, at.S, transition, before)[0]


def independent_event_time(
    kernels: RunKernels,
    at: SensitivityState,
    D: np.ndarray,
    dt: np.ndarray,
    begin: tuple[SensitivityState, np.ndarray],
    transition: int,
) -> np.ndarray | None:
    """Return dt of a transition whose guard would have crossed zero by itself from the state and rates at the beginning of this
    instant, or None for a transition that was triggered by another."""
    edge = kernels.bound.program.transitions[transition]
    start, rates = begin
    if start.m[edge.slot] != edge.source:
        return None
    start_dt, delay = _crossing(kernels, start, rates, start.S, transition)
    if not np.isfinite(start_dt).all() or not abs(delay) <= COINCIDING * kernels.bound.span or agree(start_dt, dt):
        return None
    f = kernels.rates(at)
    event_dt, _ = _crossing(kernels, at, f, D - np.outer(f, dt), transition)
    return event_dt if np.isfinite(event_dt).all() else None


def _crossing(
    kernels: RunKernels,
    at: SensitivityState,
    f: np.ndarray,
    S: np.ndarray,
    transition: int,
    before: PrecedingSegment | None = None,
) -> tuple[np.ndarray, float]:
    """Return dt of a guard's zero crossing, and the delay of the crossing; given the segment `before`, raise E373 if the guard
    only touches zero. A guard that jumps has the zero crossing of the comparison or sign at which it jumps."""
    span, rest = COINCIDING * kernels.bound.span, np.zeros(S.shape[1])
    values = kernels.values(kernels.guard(transition), at, S, rest, f)
    value, slopes, speed = values.item(0), values[1:-1], values.item(-1)
    jump = kernels.surfaces_of_guard(transition) if not abs(value) < span * abs(speed) else None
    if jump is not None:
        table = kernels.values(jump, at, S, rest, f).reshape(S.shape[1] + 2, -1)
        with np.errstate(all="ignore"):
            delays = np.nan_to_num(np.abs(table[0] / table[-1]), nan=np.inf)
        nearest = int(np.argmin(delays))
        if delays[nearest] <= span:
            return -table[1:-1, nearest] / table[-1, nearest], float(-table[0, nearest] / table[-1, nearest])
    if before is not None and not speed * before.length > np.sqrt(kernels.rtol) * _largest(kernels, at, transition, before, f):
        edge = kernels.bound.program.transitions[transition]
        title = (
            f'at {kernels.bound.origin + at.t:.6g} s "{edge.kind}" of "{edge.name}" fires although its guard only touches zero'
        )
        why = f"the guard rises at only {speed:.3g} per second there, so a slight change would keep it from firing"
        raise RunError(Problem("E373", title, (why,), cures=("other parameters or start values", "end the run earlier")))
    with np.errstate(all="ignore"):
        return -slopes / speed, float(-value / np.float64(speed))


def _largest(kernels: RunKernels, at: SensitivityState, transition: int, before: PrecedingSegment, f: np.ndarray) -> float:
    """Return the largest |guard| of the segment, from its start and the middle of the cubic through both ends."""
    bound = kernels.bound
    begin = bound.rates(at.t - before.length, before.x, at.m)
    middle = (before.x + at.x) / 2.0 + before.length / 8.0 * (begin - f)
    times = (at.t - before.length, at.t - before.length / 2.0)
    sizes = [abs(bound.guards(t, x, at.m).item(transition)) for t, x in zip(times, (before.x, middle), strict=True)]
    return float(np.maximum(*sizes))


class AccumulationLimits:
    def __init__(self, kernels: RunKernels):
        self._transitions = kernels.bound.program.transitions
        self._times: dict[int, list[tuple[float, np.ndarray]]] = {}

    def record(self, transition: int, time: float, dt: np.ndarray) -> None:
        self._times.setdefault(transition, []).append((time, dt))

    def limit(self, event: Event) -> np.ndarray | None:
        """Return d limit / dp for the geometric series of the run's events; return None if the event ends no accumulation."""
        edges, slot = self._transitions, self._transitions[event.transition].slot
        series = [times for i, times in self._times.items() if edges[i].slot == slot and edges[i].accumulates is not None]
        if event.accumulation is None or not series:
            return None
        recent = max(series, key=lambda times: times[-1][0])[-SERIES_LENGTH:]
        times, slopes = np.array([time for time, _ in recent]), np.array([slope for _, slope in recent])
        steps, bends = np.diff(times), np.diff(slopes, axis=0)
        if len(steps) < 2 or not np.all(steps > 0.0) or not steps[-1] < steps[0]:
            return np.asarray(slopes[-1])
        ratio = (steps[-1] / steps[0]) ** (1.0 / (len(steps) - 1))
        grown = ratio * (bends[-1] / steps[-1] - bends[0] / steps[0]) / (len(steps) - 1)
        remaining = ratio / (1.0 - ratio)
        return np.asarray(slopes[-1] + bends[-1] * remaining + steps[-1] * grown / (1.0 - ratio) ** 2)


@dataclass(frozen=True)
class _Step:
    """Transition, or part of a collision, of which only the last part reaches the state after the event."""

    event: Event
    transition: int
    part: ImpactPart | None = None
    last: bool = True


class EventJumps:
    def __init__(self, kernels: RunKernels):
        self._kernels, self._limits = kernels, AccumulationLimits(kernels)
        collisions = kernels.bound.program.collisions
        self._colliding = None if collisions is None else CollisionJumps(kernels, collisions)

    def events(self, at: SensitivityState, group: Sequence[Event], before: PrecedingSegment) -> None:
        kernels, first = self._kernels, group[0]
        at.x, at.m = first.x_before.copy(), first.m_before.copy()
        steps = [step for event in group for step in self._steps(at, event)]
        f = kernels.rates(at)
        dt = first_event_time(kernels, at, f, steps[0].transition, before)
        begin = SensitivityState(at.t, at.x, at.S, at.m)
        start = D = kernels.solved(at, at.S + np.multiply.outer(f, dt), dt)
        alone = bool(before.length) and before.tick_guards is None
        for number, step in enumerate(steps):
            event = step.event
            at.x, at.m = event.x_before, event.m_before
            event_dt = self._limits.limit(event)
            if event_dt is None and number and alone:
                event_dt = independent_event_time(kernels, at, D, dt, (begin, f), step.transition)
            if event_dt is None and self._colliding is not None and self._interacts_with_earlier(step, steps[:number]):
                self._colliding.refuse_before(event, begin, start, dt)
            if event_dt is not None:
                self._refuse_order(step, steps[:number], event_dt, dt)
                dt, D = event_dt, D + np.multiply.outer(kernels.rates(at), event_dt - dt)
            self._limits.record(step.transition, event.since, dt)
            D = self._after(step, at, D, dt)
            at.x, at.m = event.x_after, event.m_after
            D = kernels.solved(at, D, dt)
        if self._colliding is not None and len(group) > 1 and self._interacts_with_earlier(steps[-1], steps[:-1]):
            self._colliding.refuse_after(group[-1], at, D, dt)
        at.S = D - np.multiply.outer(kernels.rates(at), dt)

    def _refuse_order(self, step: _Step, earlier: Sequence[_Step], event_dt: np.ndarray, dt: np.ndarray) -> None:
        """Raise E374 for a sequence of interacting contacts whose order another parameter value would change."""
        tolerance = MAX_RESIDUAL * self._kernels.rtol * np.maximum(np.abs(event_dt), np.abs(dt)).max(initial=0.0)
        off = np.abs(event_dt - dt) > tolerance
        if off.any() and self._interacts_with_earlier(step, earlier):
            raise coincidence_refusal(self._kernels, step.event, step.transition, off)

    def _interacts_with_earlier(self, step: _Step, earlier: Sequence[_Step]) -> bool:
        part, colliding, edges = step.part, self._colliding, self._kernels.bound.program.transitions
        return colliding is not None and any(
            part.acts_on(other.part)
            if part is not None and other.part is not None
            else colliding.couples(step.event, other.event)
            for other in earlier
            if edges[other.transition].slot != edges[step.transition].slot
        )

    def _steps(self, at: SensitivityState, event: Event) -> list[_Step]:
        parts: list[ImpactPart] = []
        if self._colliding is not None:
            parts = self._colliding.parts(SensitivityState(at.t, event.x_before, at.S, event.m_before), event)
        if not parts:
            return [_Step(event, event.transition)]
        steps, x, m = [], event.x_before, event.m_before
        for part in parts[:-1]:
            after = x + part.participants.table.states[:, part.impact.indices] @ (part.impact.push * part.impact.solution)
            modes = m.copy()
            for transition in set(part.transitions) & set(event.transitions):
                edge = self._kernels.bound.program.transitions[transition]
                modes[edge.slot] = edge.target
            intermediate = replace(event, x_before=x, m_before=m, x_after=after, m_after=modes)
            steps.append(_Step(intermediate, part.transitions[0], part, last=False))
            x, m = after, modes
        return [*steps, _Step(replace(event, x_before=x, m_before=m), parts[-1].transitions[0], parts[-1])]

    def _after(self, step: _Step, at: SensitivityState, D: np.ndarray, dt: np.ndarray) -> np.ndarray:
        if step.part is not None:
            assert self._colliding is not None
            D = self._colliding.after_part(step.part, step.event, at, D, dt)
            return self._colliding.with_slip(step.event, at, D, dt) if step.last else D
        kernels, event, n = self._kernels, step.event, len(at.x)
        for plain in (False, True):
            prepared = kernels.reset(event.transition, plain)
            if prepared is not None:
                out = kernels.values(prepared, at, D, dt, np.zeros(n))
                if kernels.matches(out[:n], event.x_before, event.x_after):
                    return out[n:].reshape(len(dt), n).T
        if kernels.matches(event.x_before, event.x_before, event.x_after):
            return D
        raise unknown_refusal(event)


class ClockJumps:
    def __init__(self, kernels: RunKernels, ticks: ClockSchedule):
        self._kernels, self._ticks = kernels, ticks
        self.doubts: dict[str, None] = {}

    def tick(self, at: SensitivityState) -> tuple[np.ndarray, np.ndarray]:
        kernels, bound, ticks = self._kernels, self._kernels.bound, self._ticks
        first = ticks.next()
        due = np.flatnonzero(ticks.following <= first + SAME_TIME * max(abs(at.t), abs(first)))
        guards, f = bound.guards(at.t, at.x, at.m), kernels.rates(at)
        clocks = [clock for clock in (ticks.clocks[row] for row in due) if clock is not None]
        times = [self._clock_slope(clock, bound.origin + first) for clock in clocks]
        breaks = self._break_slopes(bound.origin + first) if ticks.silent[due].any() else []
        at.t, after = ticks.tick(at.t, at.x, at.m)
        for dt in breaks[:1]:
            at.S += np.outer(f - kernels.rates(at), dt)
        slopes = [*breaks, *times]
        if any(not agree(dt, slopes[0]) for dt in slopes):
            self.doubts["ticks or jumps of sources coincide, but another parameter value would separate them"] = None
        for clock, dt in zip(clocks, times, strict=True):
            D = at.S + np.outer(kernels.rates(at), dt)
            if bound.program.clocks[clock].kernel is not None:
                out = kernels.values(kernels.variational.tick(clock), at, D, dt, np.zeros(len(at.x)))
                at.x, D = out[: len(at.x)], out[len(at.x) :].reshape(len(dt), -1).T
            at.S = D - np.outer(kernels.rates(at), dt)
        at.x = bound.consistent(at.t, after, at.m)[0]
        nothing = np.zeros(at.S.shape[1])
        at.S = kernels.solved(at, at.S, nothing)
        return guards, slopes[0] if slopes else nothing

    def _clock_slope(self, number: int, date: float) -> np.ndarray:
        """Return d tick / dp (k,) of a clock that ticks at a given time."""
        kernels = self._kernels
        clock, varied = kernels.bound.program.clocks[number], np.array(kernels.variational.varied.parameters)
        slope = np.zeros(len(varied))
        if isinstance(clock.offset, int):
            slope += varied == clock.offset
        if isinstance(clock.period, int) and np.isfinite(period := float(kernels.p[clock.period])):
            offset = float(kernels.p[clock.offset]) if isinstance(clock.offset, int) else clock.offset
            slope += np.round((date - offset) / period) * (varied == clock.period)
        return slope

    def _break_slopes(self, date: float) -> list[np.ndarray]:
        kernels = self._kernels
        kernel = kernels.variational.break_times
        assert kernel is not None
        with np.errstate(all="ignore"):
            values, *slopes = kernel(kernels.p).reshape(1 + kernels.variational.k, 2, -1)
        distinct: list[np.ndarray] = []
        for b, (time, period) in enumerate(values.T):
            if not np.isfinite(time) or not period > 0.0:
                continue
            number = np.round((date - time) / period) if np.isfinite(period) else 0.0
            off = date - time - (number * period if number else 0.0)
            if abs(off) <= 4.0 * SAME_TIME * (abs(date) + abs(time) + 1e-6 * kernels.bound.span):
                slope = np.array([s[0, b] + (number * s[1, b] if number else 0.0) for s in slopes])
                if not any(agree(slope, other) for other in distinct):
                    distinct.append(slope)
        return distinct or [np.zeros(kernels.variational.k)]
