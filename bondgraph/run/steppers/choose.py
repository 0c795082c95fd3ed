"""Selection of the integration method of a run, which the user names or "auto" chooses, and of its integrator."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from bondgraph.errors import Problem, RunError
from bondgraph.methods import START, STIFF, MethodEntry
from bondgraph.run.accuracy.table import ErrorWeights
from bondgraph.run.bound import Bound
from bondgraph.run.clock_schedule import ClockSchedule
from bondgraph.run.events.handler import EventHandler
from bondgraph.run.program import Program
from bondgraph.run.settings import Settings
from bondgraph.run.steppers.integrator import OneStep, StepperOptions
from bondgraph.run.steppers.sample_time_wrapper import SampleTimeWrapper
from bondgraph.run.steppers.segment import Integrator, Selection, Tolerances
from bondgraph.run.table import FieldTable
from bondgraph.tape.taylor import NoSeries, order_for


def choose(program: Program, settings: Settings) -> Selection:
    if settings.linear in ("band", "sparse") and program.jacobian is None:
        title = f"{settings.linear} algebra needs a Jacobian, but the program has none"
        raise RunError(Problem("E304", title, cures=('linear="dense"',)))
    if settings.method is None:
        return Selection(START, watch_stiffness=True)
    if settings.method.needs_jacobian and program.jacobian_pattern is None:
        title = f"{settings.method.name} needs a Jacobian, but the program has no derivatives"
        raise RunError(Problem("E304", title, cures=(f'method="{START.name}"', "`compiled.ode()` with your own implicit solver")))
    if settings.method.needs_series and (why := _lacks_series(program, tolerances(settings, settings.method))):
        title = f'{settings.method.name} cannot integrate "{program.name}"'
        raise RunError(Problem("E304", title, (why,), cures=('method="auto"',)))
    return Selection(settings.method)


def _lacks_series(program: Program, steps: Tolerances) -> str:
    if program.loops:
        return f"Newton iteration solves the algebraic loop of {', '.join(program.loops[0].elements)}"
    if program.delays:
        return f'the state of the delay "{program.delays[0].name}" is a past value of a signal'
    if program.expand is None or not program.is_machine_code:
        return "its formulas have no tape in machine code"
    try:
        program.expand(order_for(steps.relative))
    except NoSeries as missing:
        return str(missing)
    return ""


def selection_after_stiffness(program: Program, choice: Selection) -> Selection:
    return Selection(choice.entry if program.jacobian_pattern is None else STIFF)


def tolerances(settings: Settings, entry: MethodEntry) -> Tolerances:
    return Tolerances(max(entry.safety * settings.rtol**entry.exponent, entry.least), settings.max_step, settings.max_steps)


def event_handler(bound: Bound, settings: Settings) -> EventHandler | None:
    return EventHandler(bound, settings) if bound.program.transitions or bound.program.loops else None


def event_function(entry: MethodEntry) -> Callable[[FieldTable], object]:
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(entry.load().machine_code().address("handle_event"))
    return lambda table: function(table.address)


def build(
    bound: Bound,
    settings: Settings,
    choice: Selection,
    ticks: ClockSchedule,
    weights: ErrorWeights,
    handler: EventHandler | None = None,
) -> Integrator:
    """Return the integrator of a selection, which handles events if it gets an event handler. Machine code carries out clock
    ticks; if ticks must solve algebraic loops, Python carries them out and the integrator handles no events."""
    if not len(ticks) or not bound.program.loops:
        return in_machine_code(bound, settings, choice, weights, ticks, handler)
    return SampleTimeWrapper(bound, in_machine_code(bound, settings, choice, weights), ticks)


def in_machine_code(
    bound: Bound,
    settings: Settings,
    choice: Selection,
    weights: ErrorWeights,
    ticks: ClockSchedule | None = None,
    handler: EventHandler | None = None,
) -> OneStep:
    options = StepperOptions(settings.linear, choice.watch_stiffness, ticks, handler)
    return choice.entry.load().integrator(bound, tolerances(settings, choice.entry), weights, options)
