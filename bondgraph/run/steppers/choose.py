"""Which integrator runs a program: method and solver as asked, else by what is installed and how stiff the model is."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bondgraph.errors import Problem, RunError
from bondgraph.run.accuracy.reference.error_weights import Weights
from bondgraph.run.bound import Bound
from bondgraph.run.clock_schedule import ClockSchedule
from bondgraph.run.events.guard_history import Courses
from bondgraph.run.events.handler import Settler
from bondgraph.run.events.reference.accumulation import Watch
from bondgraph.run.program import Program
from bondgraph.run.settings import Settings
from bondgraph.run.steppers.external.clocked import Clocked
from bondgraph.run.steppers.segment import Integrator, Selection, Tolerances

if TYPE_CHECKING:
    from bondgraph.emit.llvm import Library
    from bondgraph.run.steppers.explicit import Tableau
    from bondgraph.run.steppers.integrator import OneStep

# Between the user's rtol, which is to bound the energy residual of a run, and the tolerance per step of each method.
# Measured residual / rtol at rtol 1e-9 with these factors: an undamped oscillator over 184 turns dop853 0.3, adams 3,
# bdf 45; with 14 % damping 0.01, 0.02, 0.3; free rotation 0.03, 0.1, 0.7; impacts 0.05, 0.03, 0.2. A factor ten times
# smaller costs dop853 a third more evaluations, adams two fifths, bdf half; bdf is meant for stiff models only.
# rodas5p: that oscillator 0.04 (0.6 at rtol 1e-6, 2.5 at 1e-4), with damping 0.005, free rotation 0.2, a stiff wall 0.3; a factor
# ten times larger exceeds rtol in most, one ten times smaller costs half more steps. dopri5: 5, 0.03, 0.01, 0.3; it is meant for
# short legs.
SAFETY = {
    "dop853": (1e-2, 1e-15),
    "dopri5": (1e-2, 1e-15),
    "rodas5p": (1e-1, 1e-15),
    "adams": (1e-3, 1e-15),
    "bdf": (1e-3, 1e-15),
    "radau": (1e-1, 3e-14),
    "lsoda": (1e-2, 3e-14),
}
"""Of every method that factor, and the least tolerance per step that it can keep."""


def sundials_reason() -> str:
    """Why SUNDIALS cannot be used; "" if it can."""
    from bondgraph.run.steppers.external.library import available

    usable, text = available()
    return "" if usable else text


def choose(program: Program, settings: Settings) -> Selection:
    """Solver and method for a run; E307 where what was asked for is not installed, E304 for sparse algebra without a Jacobian."""
    method, solver = settings.method, settings.solver
    if solver == "auto":
        if method in ("radau", "lsoda") or (not program.is_machine_code and method not in ("dopri5", "rodas5p")):
            solver = "scipy"
        elif method in ("adams", "bdf"):
            solver = "sundials" if not sundials_reason() else "scipy"
        else:
            solver = "machine code"
        if solver == "scipy" and method == "adams":
            method = "lsoda"
    if solver in ("machine code", "sundials") and not program.is_machine_code:
        title = f"{solver} needs compiled kernels, and these are interpreted"
        raise RunError(Problem("E307", title, cures=("pip install llvmlite", 'solver="scipy"')))
    if solver == "sundials" and (reason := sundials_reason()):
        cures = ("pip install scikit-sundae", 'solver="scipy"', 'method="dop853"')
        raise RunError(Problem("E307", "SUNDIALS cannot be used here", (reason,), cures=cures))
    if settings.linear in ("band", "sparse") and program.jacobian is None:
        title = f"{settings.linear} algebra needs a Jacobian, and the program has none"
        raise RunError(Problem("E304", title, cures=('linear="dense"',)))
    if method == "auto":
        method = "bdf" if solver == "sundials" else "dop853"
    if method == "rodas5p" and program.jacobian_pattern is None:
        title = "rodas5p needs a Jacobian, and the program has no derivatives"
        raise RunError(Problem("E304", title, cures=('method="bdf"', 'method="radau"')))
    return Selection(solver, method, watch_stiffness=settings.method == "auto")


def for_stiff(program: Program, choice: Selection) -> Selection:
    """How a run goes on whose model turns out to be stiff: by SUNDIALS, or by a method of our own where that is not here."""
    if not sundials_reason():
        return Selection("sundials", "bdf")
    if program.jacobian_pattern is not None:
        return Selection("machine code", "rodas5p")
    return replace(choice, watch_stiffness=False)


def tolerances(settings: Settings, method: str) -> Tolerances:
    """Tolerances per step of a method, from the user's."""
    factor, least = SAFETY[method]
    return Tolerances(max(settings.rtol * factor, least), settings.max_step, settings.max_steps)


def weights_of(bound: Bound, rtol: float, absolute: np.ndarray | None, longest: float) -> Weights:
    """The weights of a run, in machine code where the program is."""
    if not bound.program.is_machine_code:
        return Weights(bound, rtol, absolute, longest)
    from bondgraph.run.accuracy.table import SharedWeights

    return SharedWeights(bound, rtol, absolute, longest)


def settling(
    bound: Bound, settings: Settings, choice: Selection, ticks: ClockSchedule, watching: tuple[Courses, Watch]
) -> Settler | None:
    """What settles events in machine code, in the loop of an integrator or where its legs end; None where that is left to
    Python."""
    inside = choice.solver == "sundials" or not len(ticks) or not bound.program.loops
    if choice.solver == "scipy" or not bound.program.transitions or not inside:
        return None
    return Settler(bound, settings, *watching)


def settle_function(method: str) -> Callable[[int], int]:
    """The machine code that settles what is due, of a settler's table: that of a method's own loop, if it has one."""
    if method == "rodas5p":
        from bondgraph.run.steppers.rosenbrock.rodas5p import machine_code

        library = machine_code()
    else:
        library = _explicit(method if method in EXPLICIT else EXPLICIT[0])[1]
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(library.address("settle"))


EXPLICIT = ("dop853", "dopri5")
"""The explicit methods, the one first whose machine code is nearly always there."""


def _explicit(method: str) -> tuple[Tableau, Library]:
    """An explicit method, and its machine code."""
    from bondgraph.run.steppers import dop853, dopri5

    module = {"dop853": dop853, "dopri5": dopri5}[method]
    return module.TABLEAU, module.machine_code()


def build(
    bound: Bound, settings: Settings, choice: Selection, ticks: ClockSchedule, weights: Weights, settler: Settler | None = None
) -> Integrator:
    """The integrator of a choice. Clocks tick inside the machine code; around the others, and where a tick must solve
    algebraic loops, in Python."""
    made: Integrator
    tolerance, inside = tolerances(settings, choice.method), False
    if choice.solver == "sundials":
        from bondgraph.run.steppers.external.cvode import Cvode

        linear, iteration = settings.linear, settings.iteration
        made = Cvode(bound, choice.method, tolerance, weights, settings.span, iteration=iteration, linear=linear)
    elif choice.solver == "scipy":
        from bondgraph.run.steppers.external.scipy_solver import ScipySolver

        made = ScipySolver(bound, choice.method, tolerance, weights)
    else:
        inside = not bound.program.loops
        made = in_machine_code(bound, settings, choice, weights, ticks if inside else None, settler)
    return Clocked(bound, made, ticks) if len(ticks) and not inside else made


def in_machine_code(
    bound: Bound,
    settings: Settings,
    choice: Selection,
    weights: Weights,
    ticks: ClockSchedule | None = None,
    settler: Settler | None = None,
) -> OneStep:
    """A method whose loop is machine code."""
    from bondgraph.run.accuracy.table import SharedWeights

    assert isinstance(weights, SharedWeights), "machine code throughout"
    tolerance = tolerances(settings, choice.method)
    if choice.method == "rodas5p":
        from bondgraph.run.steppers.rosenbrock.rodas5p import Rodas5P

        return Rodas5P(bound, tolerance, weights, settings.linear, ticks, settler)
    from bondgraph.run.steppers.integrator import ExplicitRungeKutta

    method = _explicit(choice.method)
    return ExplicitRungeKutta(*method, bound, tolerance, weights, choice.watch_stiffness, ticks, settler)
