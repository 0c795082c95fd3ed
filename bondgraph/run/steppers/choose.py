"""Selection of the integration method of a run, the user's or that of "auto", and of its integrator.

An integrator without clocks is stopped at every tick of a sample clock, and restarted.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bondgraph.errors import Problem, RunError
from bondgraph.methods import START, STIFF, MethodEntry
from bondgraph.run.accuracy.reference.error_weights import Weights
from bondgraph.run.accuracy.table import SharedWeights
from bondgraph.run.bound import Bound
from bondgraph.run.clock_schedule import SAME_TIME, ClockSchedule
from bondgraph.run.events.guard_history import GuardHistory
from bondgraph.run.events.handler import EventHandler
from bondgraph.run.events.reference.accumulation import AccumulationDetector
from bondgraph.run.program import Program
from bondgraph.run.samples import NextPage
from bondgraph.run.settings import Settings
from bondgraph.run.status import Status
from bondgraph.run.steppers.integrator import OneStep, Page, StepperOptions
from bondgraph.run.steppers.segment import Effort, Integrator, Segment, Selection, Tolerances

_TICKS = 50
"""Number of ticks after which a segment pauses, to update a progress bar; a count, since the end of a run may depend on the
pauses."""


class SampleTimeWrapper(Integrator):
    """Integrator that stops at every tick and restarts afterwards."""

    def __init__(self, bound: Bound, integrator: Integrator, ticks: ClockSchedule):
        self._bound, self._integrator, self._ticks = bound, integrator, ticks

    def restart(self, t: float, x: np.ndarray, q: np.ndarray, m: np.ndarray, levels: np.ndarray) -> None:
        self._t, self._x, self._q = t, x.copy(), q.copy()
        self._m, self._levels = m.copy(), levels.copy()
        self._integrator.restart(t, x, q, m, levels)

    def advance(self, times: np.ndarray, rows: np.ndarray, stop: float, following: NextPage | None = None) -> Segment:
        ticks, page, ticked = self._ticks, Page(rows, self._m, following), 0
        end = stop - SAME_TIME * abs(stop)
        while True:
            inside = ticks.next() < end
            ticks.look_ahead()
            if inside and ticks.due(self._t):
                reached = int(np.searchsorted(times[page.total :], ticks.next(), side="right"))
                row = np.concatenate([self._x, self._q])
                page.put(np.broadcast_to(row, (reached, len(row))))
                event_segment = self._tick()
                if event_segment is not None:
                    return replace(event_segment, written=page.written)
                ticked += 1
                if ticked == _TICKS:
                    return Segment(Status.PAUSE, self._t, self._x, self._q, page.written)
                continue
            until = ticks.next() if inside else stop
            ahead = times[page.total :]
            ahead = ahead[: int(np.searchsorted(ahead, until, side="right"))]
            segment = self._integrator.advance(ahead, page.left, until, page.next)
            self._t, self._x, self._q = segment.t, segment.x, segment.q
            page.wrote(segment.written)
            if segment.status != Status.STOP or not inside:
                return replace(segment, written=page.written)

    def _tick(self) -> Segment | None:
        """Carry out ticks; return a segment if a guard jumps through zero, or an algebraic loop has no solution."""
        bound, before = self._bound, self._guards(self._t, self._x)
        self._t, x = self._ticks.tick(self._t, self._x, self._m)
        self._x, unsolved = bound.consistent(self._t, x, self._m)
        if unsolved is not None:
            text = f"algebraic loop: no solution of the loop through {', '.join(unsolved.elements)} after a tick"
            return Segment(Status.NOT_FINITE, self._t, self._x, self._q, 0, reason=text)
        after = self._guards(self._t, self._x)
        jumped = np.flatnonzero((before < 0.0) & (after >= 0.0))
        if jumped.size:
            return Segment(Status.EVENT, self._t, self._x, self._q, 0, tuple(int(i) for i in jumped))
        self._integrator.restart(self._t, self._x, self._q, self._m, self._levels)
        return None

    def _guards(self, t: float, x: np.ndarray) -> np.ndarray:
        """Return guards minus their levels; a level ends once its guard has been that far below zero (`Integrator.restart`)."""
        raw = self._bound.guards(t, x, self._m)
        self._levels = np.where(raw < -np.abs(self._levels), 0.0, self._levels)
        return raw - self._levels

    def effort(self) -> Effort:
        return self._integrator.effort()

    def close(self) -> None:
        self._integrator.close()


def choose(program: Program, settings: Settings) -> Selection:
    """Return the method for a run; E304 if it, or sparse algebra, needs a Jacobian that the program does not have."""
    if settings.linear in ("band", "sparse") and program.jacobian is None:
        title = f"{settings.linear} algebra needs a Jacobian, and the program has none"
        raise RunError(Problem("E304", title, cures=('linear="dense"',)))
    if settings.method is None:
        return Selection(START, watch_stiffness=True)
    if settings.method.needs_jacobian and program.jacobian_pattern is None:
        title = f"{settings.method.name} needs a Jacobian, and the program has no derivatives"
        raise RunError(Problem("E304", title, cures=(f'method="{START.name}"', "`compiled.ode()` with your own implicit solver")))
    return Selection(settings.method)


def selection_after_stiffness(program: Program, choice: Selection) -> Selection:
    """Return the method for the rest of a run after stiffness is detected; without a Jacobian, the run keeps its method."""
    return Selection(choice.entry if program.jacobian_pattern is None else STIFF)


def tolerances(settings: Settings, entry: MethodEntry) -> Tolerances:
    """Return the tolerances per step of a method, from the user's tolerances."""
    return Tolerances(max(settings.rtol * entry.safety, entry.least), settings.max_step, settings.max_steps)


def event_settler(
    bound: Bound, settings: Settings, ticks: ClockSchedule, watching: tuple[GuardHistory, AccumulationDetector]
) -> EventHandler | None:
    """Return the event handler in machine code, for the loop of an integrator or the end of its segments; None if Python handles
    the events."""
    if not bound.program.is_machine_code or not bound.program.transitions or (len(ticks) and bound.program.loops):
        return None
    return EventHandler(bound, settings, *watching)


def settle_function(entry: MethodEntry) -> Callable[[int], int]:
    """Return the event iteration of a method's machine code, a function of the address of a settler's table."""
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(entry.load().machine_code().address("handle_event"))


def build(
    bound: Bound,
    settings: Settings,
    choice: Selection,
    ticks: ClockSchedule,
    weights: Weights,
    settler: EventHandler | None = None,
) -> Integrator:
    """Return the integrator of a selection. Machine code carries out clock ticks, or Python if a tick must solve algebraic
    loops."""
    inside = not bound.program.loops
    integrator = in_machine_code(bound, settings, choice, weights, ticks if inside else None, settler)
    return SampleTimeWrapper(bound, integrator, ticks) if len(ticks) and not inside else integrator


def in_machine_code(
    bound: Bound,
    settings: Settings,
    choice: Selection,
    weights: Weights,
    ticks: ClockSchedule | None = None,
    settler: EventHandler | None = None,
) -> OneStep:
    """Return a method bound to a run, with its loop in machine code."""
    assert isinstance(weights, SharedWeights), "machine code throughout"
    options = StepperOptions(settings.linear, choice.watch_stiffness, ticks, settler)
    return choice.entry.load().integrator(bound, tolerances(settings, choice.entry), weights, options)
