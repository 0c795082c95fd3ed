"""Selection of the integration method of a run, the user's or that of "auto", and of its integrator."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from bondgraph.errors import Problem, RunError
from bondgraph.methods import START, STIFF, MethodEntry
from bondgraph.run.accuracy.table import ErrorWeights
from bondgraph.run.bound import Bound
from bondgraph.run.clock_schedule import ClockSchedule
from bondgraph.run.events.guard_history import GuardHistory
from bondgraph.run.events.handler import EventHandler
from bondgraph.run.events.reference.accumulation import AccumulationDetector
from bondgraph.run.program import Program
from bondgraph.run.settings import Settings
from bondgraph.run.steppers.integrator import OneStep, StepperOptions
from bondgraph.run.steppers.sample_time_wrapper import SampleTimeWrapper
from bondgraph.run.steppers.segment import Integrator, Selection, Tolerances


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
    weights: ErrorWeights,
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
    weights: ErrorWeights,
    ticks: ClockSchedule | None = None,
    settler: EventHandler | None = None,
) -> OneStep:
    """Return a method bound to a run, with its loop in machine code."""
    options = StepperOptions(settings.linear, choice.watch_stiffness, ticks, settler)
    return choice.entry.load().integrator(bound, tolerances(settings, choice.entry), weights, options)
