"""What an instant makes of sensitivities: S before ticks, breaks or events and what happened there in; S after it out.

At an instant whose time depends on p, by dt = dt/dp, the state that lies there changes by D = S + f dt; a reset x+ = R(t, x, p)
makes D+ = R_x D + R_p + R_t dt of it, and at a fixed time after it S+ = D+ - f+ dt. Where a guard g(t, x, p) fires,

    dt = -(g_x S + g_p) / (g_t + g_x f).

Transitions that one of them sets off happen at its time; those that cross zero by themselves, at the same time by chance, have
times of their own.

References
----------
M. A. Aizerman, F. R. Gantmacher, "On the stability of periodic motions", J. Appl. Math. Mech. 22 (1958). I. A. Hiskens,
M. A. Pai, "Trajectory sensitivity analysis of hybrid systems", IEEE Trans. Circuits Syst. I 47 (2000).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bondgraph.errors import Problem, RunError
from bondgraph.estimation.variational import Prepared, Variational
from bondgraph.run.bound import Bound
from bondgraph.run.instants.events import Event
from bondgraph.run.ticks import TOGETHER, Ticks

SAME = 1e-9
"""Part by which two of x, or two of dt, may differ and be the same."""

COINCIDING = 1e-9
"""Part of the run within which a guard crosses zero at the same time as another."""

LIMIT = 10
"""Events that tell where such that follow one another ever faster lead to, as in `run.switching.accumulation`."""


@dataclass
class Passing:
    """Where a run that is followed is: time since its start, x (n,), S (n, k), modes (modes,)."""

    t: float
    x: np.ndarray
    S: np.ndarray
    m: np.ndarray


@dataclass
class Before:
    """A leg that has led to an instant: how long it was, s, and x at its start; what a tick found before it, with its dt."""

    length: float = 0.0
    x: np.ndarray = field(default_factory=lambda: np.zeros(0))
    ticked: tuple[np.ndarray, np.ndarray] | None = None
    """Guards (transitions,) before a tick or break at this instant, and its dt (k,)."""


class Instants:
    """Instants of one run, in their order.

    Parameters
    ----------
    bound : the model at the parameters of the run; p : those of the user.
    rtol : of the run; sizes : of the states (n,).
    """

    def __init__(self, variational: Variational, bound: Bound, ticks: Ticks, p: np.ndarray, rtol: float, sizes: np.ndarray):
        self.variational, self.bound, self.ticks = variational, bound, ticks
        self._p, self._rtol, self._sizes = p, rtol, sizes
        self._calls: dict[int, tuple[Any, ...]] = {}
        self._times: dict[int, list[tuple[float, np.ndarray]]] = {}
        self.doubts: dict[str, None] = {}

    # -- kernels at the run's parameters

    def values(self, prepared: Prepared, at: Passing, D: np.ndarray, dt: np.ndarray, f: np.ndarray) -> np.ndarray:
        """What a kernel of an instant gives."""
        key = id(prepared)
        if key not in self._calls:
            blocks = [np.zeros(size) for size in prepared.kernel.sizes]
            blocks[2][:] = prepared.parameters(self._p)
            out = np.zeros(prepared.kernel.n_out)
            self._calls[key] = (*blocks, prepared.kernel.bind(*blocks, out=out), out)
        time, y, _, modes, call, out = self._calls[key]
        time[0], modes[:] = self.bound.clock(at.t), at.m
        np.concatenate([at.x, D.T.ravel(), dt, f], out=y)
        call()
        return out.copy()

    def rates(self, at: Passing) -> np.ndarray:
        """f where it is."""
        return self.bound.rates(at.t, at.x, at.m)

    def solved(self, at: Passing, D: np.ndarray, dt: np.ndarray) -> np.ndarray:
        """D where the unknowns of algebraic loops follow."""
        D = D.copy()
        for index, loop in enumerate(self.bound.program.loops):
            prepared = self.variational.solution(index)
            out = self.values(prepared, at, D, dt, np.zeros(len(at.x)))
            D[list(loop.states)] = out[-len(loop.states) * len(dt) :].reshape(len(dt), -1).T
        return D

    # -- ticks and breaks

    def tick(self, at: Passing) -> tuple[np.ndarray, np.ndarray]:
        """Carry out what is due, in place; guards before it, and its dt."""
        bound, ticks = self.bound, self.ticks
        first = ticks.next()
        due = np.flatnonzero(ticks.following <= first + TOGETHER * max(abs(at.t), abs(first)))
        guards, f = bound.guards(at.t, at.x, at.m), self.rates(at)
        clocks = [clock for clock in (ticks.clocks[row] for row in due) if clock is not None]
        times = [self._clock_slope(clock, bound.origin + first) for clock in clocks]
        breaks = self._break_slopes(bound.origin + first) if ticks.silent[due].any() else []
        at.t, after = ticks.tick(at.t, at.x, at.m)
        for dt in breaks[:1]:
            at.S += np.outer(f - self.rates(at), dt)
        slopes = [*breaks, *times]
        if any(not _agree(dt, slopes[0]) for dt in slopes):
            self.doubts["ticks or jumps of sources coincide that another value of a parameter would take apart"] = None
        for clock, dt in zip(clocks, times, strict=True):
            D = at.S + np.outer(self.rates(at), dt)
            if bound.program.clocks[clock].kernel is not None:
                out = self.values(self.variational.tick(clock), at, D, dt, np.zeros(len(at.x)))
                at.x, D = out[: len(at.x)], out[len(at.x) :].reshape(len(dt), -1).T
            at.S = D - np.outer(self.rates(at), dt)
        at.x = bound.consistent(at.t, after, at.m)[0]
        nothing = np.zeros(at.S.shape[1])
        at.S = self.solved(at, at.S, nothing)
        return guards, slopes[0] if slopes else nothing

    def _clock_slope(self, number: int, date: float) -> np.ndarray:
        """d tick / dp (k,) of a clock that ticks at a date."""
        clock, varied = self.bound.program.clocks[number], np.array(self.variational.varied.parameters)
        slope = np.zeros(len(varied))
        if isinstance(clock.offset, int):
            slope += varied == clock.offset
        if isinstance(clock.period, int) and np.isfinite(period := float(self._p[clock.period])):
            offset = float(self._p[clock.offset]) if isinstance(clock.offset, int) else clock.offset
            slope += np.round((date - offset) / period) * (varied == clock.period)
        return slope

    def _break_slopes(self, date: float) -> list[np.ndarray]:
        """d break / dp (k,) of each break at a date, those that are alike once."""
        kernel = self.variational.break_times
        assert kernel is not None
        with np.errstate(all="ignore"):
            values, *slopes = kernel(self._p).reshape(1 + self.variational.k, 2, -1)
        found: list[np.ndarray] = []
        for b, (time, period) in enumerate(values.T):
            if not np.isfinite(time) or not period > 0.0:
                continue
            number = np.round((date - time) / period) if np.isfinite(period) else 0.0
            off = date - time - (number * period if number else 0.0)
            if abs(off) <= 4.0 * TOGETHER * (abs(date) + abs(time) + 1e-6 * self.bound.span):
                slope = np.array([s[0, b] + (number * s[1, b] if number else 0.0) for s in slopes])
                if not any(_agree(slope, other) for other in found):
                    found.append(slope)
        return found or [np.zeros(self.variational.k)]

    # -- events

    def events(self, at: Passing, group: Sequence[Event], before: Before) -> None:
        """Carry out the transitions of one instant, in place."""
        first = group[0]
        at.x, at.m = first.x_before.copy(), first.m_before.copy()
        dt = self._first_time(at, first.transitions[0], before)
        begin = Passing(at.t, at.x, at.S, at.m)
        D = self.solved(at, at.S + np.outer(self.rates(at), dt), dt)
        for number, event in enumerate(step for own in group for step in self._steps(own)):
            at.x, at.m = event.x_before, event.m_before
            own = self._limit(event) if event.accumulation is not None else None
            if own is None and number and before.length and before.ticked is None:
                own = self._own_time(at, D, dt, begin, event.transition)
            if own is not None:
                f = self.rates(at)
                dt, D = own, D + np.outer(f, own - dt)
            self._times.setdefault(event.transition, []).append((event.since, dt))
            D = self._reset(at, event, D, dt)
            at.x, at.m = event.x_after, event.m_after
            D = self.solved(at, D, dt)
        at.S = D - np.outer(self.rates(at), dt)

    def _steps(self, event: Event) -> list[Event]:
        """An event as single transitions: of collisions at the same time, that are one problem, one after the other, where that
        comes to the same since they do not act on each other. E374 where it does not."""
        if not event.together:
            return [event]
        steps, x, m = [], event.x_before, event.m_before
        for transition in event.together:
            edge = self.bound.program.transitions[transition]
            after = m.copy()
            after[edge.slot] = edge.target
            there = self.bound.consistent(event.since, self.bound.reset(transition, event.since, x, m), after)[0]
            step = replace(event, transition=transition, together=(), x_before=x, m_before=m, x_after=there, m_after=after)
            steps.append(step)
            x, m = there, after
        if not self._same(x, event):
            raise _undecided(event)
        return steps

    def _first_time(self, at: Passing, transition: int, before: Before) -> np.ndarray:
        """dt of an instant: zero at the start, that of a tick where a guard jumps there, else where the guard crosses zero."""
        nothing = np.zeros(at.S.shape[1])
        if before.ticked is not None:
            guards, dt = before.ticked
            if guards[transition] < 0.0 or not before.length:
                return dt
        return nothing if not before.length else self._crossing(at, at.S, transition, before)[0]

    def _crossing(self, at: Passing, S: np.ndarray, transition: int, before: Before | None = None) -> tuple[np.ndarray, float]:
        """dt where a guard crosses zero, and how long after this time it would; E373 where it only touches zero."""
        k, f = S.shape[1], self.rates(at)
        value, *slopes, speed = self.values(self.variational.guard(transition), at, S, np.zeros(k), f)
        if before is not None and not speed * before.length > np.sqrt(self._rtol) * self._largest(at, transition, before, f):
            edge = self.bound.program.transitions[transition]
            title = f'at {self.bound.origin + at.t:.6g} s "{edge.kind}" of "{edge.name}" is where its guard only touches zero'
            why = (
                f"the guard rises by {speed:.3g} 1/s there: a little less, and it would not fire, so that there is no derivative"
            )
            raise RunError(Problem("E373", title, (why,), cures=("other parameters or start values", "a run that ends before")))
        with np.errstate(all="ignore"):
            return -np.array(slopes) / speed, float(-value / speed)

    def _largest(self, at: Passing, transition: int, before: Before, f: np.ndarray) -> float:
        """The largest |guard| of the leg: at its start, or in the middle of the cubic through its ends."""
        begin = self.bound.rates(at.t - before.length, before.x, at.m)
        middle = (before.x + at.x) / 2.0 + before.length / 8.0 * (begin - f)
        times = (at.t - before.length, at.t - before.length / 2.0)
        seen = [abs(self.bound.guards(t, x, at.m)[transition]) for t, x in zip(times, (before.x, middle), strict=True)]
        return float(np.max(seen))

    def _own_time(self, at: Passing, D: np.ndarray, dt: np.ndarray, begin: Passing, transition: int) -> np.ndarray | None:
        """dt of a transition that would have crossed zero by itself where this instant began; None where another set it off."""
        if begin.m[self.bound.program.transitions[transition].slot] != self.bound.program.transitions[transition].source:
            return None
        there, late = self._crossing(begin, begin.S, transition)
        if not np.isfinite(there).all() or not abs(late) <= COINCIDING * self.bound.span or _agree(there, dt):
            return None
        own, _ = self._crossing(at, D - np.outer(self.rates(at), dt), transition)
        return own if np.isfinite(own).all() else None

    def _reset(self, at: Passing, event: Event, D: np.ndarray, dt: np.ndarray) -> np.ndarray:
        """D after one transition; E374 where what happened there is none of the formulas."""
        n = len(at.x)
        for plain in (False, True):
            prepared = self.variational.reset(event.transition, plain)
            if prepared is not None:
                out = self.values(prepared, at, D, dt, np.zeros(n))
                if self._same(out[:n], event):
                    return out[n:].reshape(len(dt), n).T
        if self._same(event.x_before, event):
            return D
        raise _undecided(event)

    def _same(self, x: np.ndarray, event: Event) -> bool:
        """Whether x is what an event has left."""
        size = np.maximum(self._sizes, np.maximum(np.abs(event.x_before), np.abs(event.x_after)))
        return bool(np.all((np.abs(x - event.x_after) <= SAME * size)[self.bound.kept]))

    def _limit(self, event: Event) -> np.ndarray | None:
        """d limit / dp of events that follow one another ever faster: of the geometric series that the run has seen."""
        slot = self.bound.program.transitions[event.transition].slot
        edges = self.bound.program.transitions
        known = [own for i, own in self._times.items() if edges[i].slot == slot and edges[i].accumulates is not None]
        if not known:
            return None
        recent = max(known, key=lambda own: own[-1][0])[-LIMIT:]
        times, slopes = np.array([time for time, _ in recent]), np.array([slope for _, slope in recent])
        steps, bends = np.diff(times), np.diff(slopes, axis=0)
        if len(steps) < 2 or not np.all(steps > 0.0) or not steps[-1] < steps[0]:
            return slopes[-1]
        ratio = (steps[-1] / steps[0]) ** (1.0 / (len(steps) - 1))
        grown = ratio * (bends[-1] / steps[-1] - bends[0] / steps[0]) / (len(steps) - 1)
        left = ratio / (1.0 - ratio)
        return np.asarray(slopes[-1] + bends[-1] * left + steps[-1] * grown / (1.0 - ratio) ** 2)


def _agree(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.all(np.abs(a - b) <= SAME * np.maximum(np.abs(a), np.abs(b)).max(initial=0.0)))


def _undecided(event: Event) -> RunError:
    title = f'"{event.kind}" of "{event.name}" at {event.time:.6g} s has no derivative here'
    why = "several bodies collide at once and act on each other, or friction takes part: their impulses are one problem"
    cures = ("start values or parameters that take them apart", "differences of runs")
    return RunError(Problem("E374", title, (why,), cures=cures))
