"""A whole run as C99: a model with its solver in one file without dependencies; results are bit-identical to `simulate`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.errors import ModelError, refusal
from bondgraph.export.code.c import CSource
from bondgraph.export.code.content import Content, content_of, count
from bondgraph.export.run.source import RunContent, header_text, source_file
from bondgraph.methods import AUTO
from bondgraph.run.batch.image import image_of, kernels_of
from bondgraph.run.batch.prepared import PreparedProgram
from bondgraph.run.batch.workspace import Workspace
from bondgraph.run.events.handler import EventHandler
from bondgraph.run.events.state import EventOutcome
from bondgraph.run.status import Status
from bondgraph.run.steppers.choose import selection_after_stiffness
from bondgraph.run.steppers.segment import Selection
from bondgraph.run.validation.checked_result import SAME_TIME, has_constraints
from bondgraph.run_arguments import Initial, RunSettings, spelled_settings
from bondgraph.schedule.kernels import is_large
from bondgraph.tape import opcodes as op
from bondgraph.tape.routine import Routine, reachable
from bondgraph.tracing.events.time_events import breaks_of

Numbers = tuple[np.ndarray, np.ndarray, np.ndarray]
"""States x (n,), parameters p and modes m at the start."""


@dataclass(frozen=True)
class CRun(CSource):
    """Header and source file of a run in C99, and the command that compiles them with a `main.c`.

    `method` is the method of the solver in the file, and `steps` the number of steps that the run took during export.
    """

    method: str
    steps: int

    @property
    def text(self) -> str:
        """Content of the source file."""
        return self.source


@spelled_settings
def c_run(
    model: Compilable,
    t_end: float,
    *,
    name: str | None = None,
    initial: Initial | None = None,
    parameters: Mapping[str, Any] | None = None,
    **settings: Unpack[RunSettings],
) -> CRun:
    """Return C source of a whole run: the model, its solver, its start and its settings, for any C99 compiler.

    Compiled with the `build_line`, which keeps the compiler from fusing operations, the file takes the same steps as `simulate`
    with its `method`, with bit-identical results on every processor. Export simulates the run once: with method "auto", a model
    that turns out stiff gets the implicit method from the start.

    Parameters
    ----------
    model : compiled, or a graph, which is compiled first.
    name : prefix of all names and name of the files, an identifier; the model's name by default.
    t_end, initial, parameters, settings : as for `simulate`.

    Raises `ModelError` as `simulate` and `c_source` do; E281 for a run that needs Python or fails.
    """
    run, steps = run_content(model, t_end, "c_run", name, parameters, initial, settings)
    return CRun(run.content.name, header_text(run), source_file(run), run.build, run.method.name, steps)


def run_content(
    model: Compilable,
    t_end: float,
    caller: str,
    name: str | None,
    parameters: Mapping[str, Any] | None,
    initial: Initial | None,
    settings: RunSettings,
) -> tuple[RunContent, int]:
    """Return the content of a run for export, and the number of steps that it takes; `caller` is the exporting function. Raises
    the errors of `c_run`."""
    compiled = compiled_form(model, caller, progress=settings.get("progress", True))
    prepared = compiled.prepare_run(t_end, **settings)
    x, p, m = prepared.start_values(parameters, initial)
    _refuse_python(compiled, prepared.program)
    choice, steps, sizes, end = _chosen(compiled, prepared.program, (x, p, m))
    content = content_of(compiled, name, caller)
    space = workspace_of(prepared.program, choice)
    build = f"cc -std=c99 -O2 -ffp-contract=off {content.name}.c main.c -lm"
    times, dates = prepared.program.requested_times
    image, method = image_of(space, p, x, m), space.integrator.method
    if has_constraints(compiled.program):
        named = method.name if settings.get("method", AUTO) == AUTO else settings["method"]
        there: RunSettings = {**settings, "method": named}
        here = compiled.prepare_run(t_end, **there).program.checked_run(x, p, m)
        if here.failure is not None and here.failure.time - prepared.program.settings.t_start < end * (1.0 - SAME_TIME):
            why = f"it ends at t = {here.failure.time:.6g} s: {here.failure.reason}"
            raise _refused(compiled, why, "a t_end before the singular position")
        if here.statistics.steps != steps:
            raise _passes_singular_positions(compiled)
    fixed = _clock_parameters(compiled, content)
    return RunContent(content, image, method, compiled.program, times, dates, fixed, sizes, build), steps


def workspace_of(prepared: PreparedProgram, choice: Selection) -> Workspace:
    """Return a new workspace of this method that never pauses, with all kernels compiled."""
    kernels_of(prepared.program)
    space = Workspace(prepared.program, prepared.settings, choice, prepared.requested_times)
    space.table["budget"] = 1 << 62
    return space


def _chosen(compiled: Compiled, prepared: PreparedProgram, start: Numbers) -> tuple[Selection, int, np.ndarray, float]:
    """Run to the end, or to a transition that ends the run. Return the method with which machine code reaches this point, the
    number of steps, the minimum size of each state (n,) for error control, and the time of the end since the start, s."""
    choice, (x, p, m), program = prepared.choice, start, prepared.program
    space = workspace_of(prepared, choice)
    course = space.run(p, x, m, prepared.requested_times[0])
    if course.status == Status.STIFF:
        choice = selection_after_stiffness(program, choice)
        space = workspace_of(prepared, choice)
        course = space.run(p, x, m, prepared.requested_times[0])
    if space.handler is not None and _has_consulted_python(space.handler):
        name = program.transitions[int(space.handler.table["requested_transition"])].name
        why = f'"{name}" may collide at the same time as other bodies, and only Python solves simultaneous collisions'
        raise _refused(compiled, why, 'impacts="sequential", for one collision after another')
    terminal = space.handler is not None and space.handler.table["outcome"] == EventOutcome.TERMINAL
    if course.status != Status.STOP and not (course.status == Status.EVENT_ENDS and terminal):
        if prepared.settings.singular == "keep":
            raise _passes_singular_positions(compiled)
        why = f"it ends at t = {course.t:.6g} s: {_text(course.status)}"
        raise _refused(compiled, why, "`simulate` with the same settings, whose result gives the reason")
    return choice, course.effort.steps, space.table.arrays["floor"][: program.states].copy(), course.t


def _has_consulted_python(handler: EventHandler) -> bool:
    table, ended = handler.table, not handler.is_consistent
    return bool(table["consulted"]) or handler.consultations > ended


def _text(status: Status) -> str:
    return "the run takes too many steps" if status == Status.PAUSE else status.text


def _passes_singular_positions(compiled: Compiled) -> ModelError:
    why = 'it passes a singular position (singular="keep"), which needs Python'
    return _refused(compiled, why, "`simulate`, which uses Python", "a t_end before the singular position")


def _refused(compiled: Compiled, why: str, *cures: str) -> ModelError:
    title = f'the run of "{compiled.model.name}" cannot be exported'
    return refusal("E281", title, *cures, about=compiled.model.name, why=why)


def _refuse_python(compiled: Compiled, prepared: PreparedProgram) -> None:
    program, here = compiled.program, "`simulate`, which uses Python"
    if not program.is_machine_code:
        why = "its formulas are evaluated by NumPy, not by machine code"
        raise _refused(compiled, why, 'compile_model(graph, backend="llvm")')
    if not prepared.in_machine_code:
        clocks = _quoted([*(clock.name for clock in program.clocks), *program.break_names])
        loops = _quoted(element for loop in program.loops for element in loop.elements)
        why = f"its clocks ({clocks}) act on the nonlinear loop of {loops}, which Python solves"
        raise _refused(compiled, why, here, "a small C or I that breaks the loop")
    if prepared.choice.entry.needs_series:
        raise _refused(compiled, f'code for the method "{prepared.choice.method}" runs only on this machine', 'method="dop853"')
    if is_large(compiled.system):
        raise _refused(compiled, "a model with this many equal parts is compiled to loops, which cannot be exported yet", here)


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in dict.fromkeys(names))


def _clock_parameters(compiled: Compiled, content: Content) -> tuple[int, ...]:
    program, settable = compiled.program, count(content.p)
    slots = {slot for clock in program.clocks for slot in (clock.period, clock.offset) if isinstance(slot, int)}
    breaks = None if program.breaks is None else breaks_of(content.system)
    read = set() if breaks is None else _inputs(breaks.routine, range(len(breaks.routine.outputs)))
    prepared = [slot - settable for slot in slots if slot >= settable]
    return tuple(sorted({*(slots & set(range(settable))), *read, *_inputs(content.code["prepare"].reference, prepared)}))


def _inputs(routine: Routine, outputs: Any) -> set[int]:
    tape, read = routine.tape, set[int]()
    number = list(tape.blocks).index("p")
    for position in reachable(tape, [tape.scalar(routine.outputs[k]).index for k in outputs]):
        code, *arguments = tape.nodes[position]
        if code in op.OF_BLOCKS and arguments[0] == number:
            read |= set(range(arguments[1], arguments[1] + (arguments[2] if len(arguments) > 2 else 1)))
    return read
