"""Compiler pipeline from a graph to a `Compiled` model; each stage is a function from one record to the next.

A stage reports all problems that it finds; its result is free of such problems, so no later stage checks it again.

| stage | result | reason for the order |
|---|---|---|
| `freeze` | `Model`, flat and checked | names become paths once, before anything else uses them |
| `assign_causality` | strokes of all bonds | the statements of a law depend on its causality |
| `assemble_frictions` | `System`: statements of each element | from here on values and formulas, no elements |
| `remove_aliases` | one name for each value | before sorting, so that the sorter sees real work only |
| `refuse_undefined_values` | - | a value that only aliases define would look like an algebraic loop |
| `sort_statements` | order of evaluation; loops torn | the shape of a tearing variable follows from the other statements |
| `find_shapes` | shape of every value | each formula runs once on floats, so a result of the wrong shape is found here |
| `unrepeatable_formulas` | - | the user's formulas are traced twice, with the shapes of their arguments |
| or `system_of_instances` | all of the above, with numbers as names | large models of identical parts need no names yet |
| `trace_for_runs` | routines on a tape; or `schedule_routines`, of large models: loops | unknowns are solved for while tracing |
| `kernels_of` | machine code, or NumPy | |
| `program_of` | `Program` for solvers | |
| `_check_start` | - | start values are checked with the code that will run |
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from bondgraph.assembly.system import Statement, System
from bondgraph.causality.assign import Causality, assign_causality
from bondgraph.causality.balances import with_balances
from bondgraph.checks.parameters import COUPLED
from bondgraph.compile.changes import mapping_of
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.consistency import contradicting_closures
from bondgraph.compile.kernels import (
    autonomous,
    batch_texts_of,
    couplings_of,
    jacobian_of,
    kernels_of,
    lanes_of,
    outputs_of,
    series_of,
)
from bondgraph.compile.loop_solutions import guesses_in_si, unexpected_guesses
from bondgraph.compile.programs import program_of
from bondgraph.compile.references import with_references
from bondgraph.compile.starts import contradicting_starts, dependent_starts
from bondgraph.emit.cached_build import build_once
from bondgraph.errors import ModelError, Problem, no_model, raise_if_any, refusal
from bondgraph.graph.builder import Graph
from bondgraph.model.laws import Storage
from bondgraph.model.model import Model
from bondgraph.output.progress import Progress
from bondgraph.passes.frictions import assemble_frictions
from bondgraph.passes.repeatability import unrepeatable_formulas
from bondgraph.passes.shapes import find_shapes
from bondgraph.passes.sorting import refuse_undefined_values, sort_statements
from bondgraph.run_arguments import Initial, KeepNamed, RunSettings, Sinkable, spelled_settings
from bondgraph.schedule.instances.lazy_system import system_of_instances
from bondgraph.schedule.kernels import is_large
from bondgraph.tape.garbage_collection import paused_collection
from bondgraph.tape.specialise import Code
from bondgraph.tracing.ambiguous_guards import ambiguous_guards
from bondgraph.tracing.on_tape.values import Untraceable
from bondgraph.tracing.position_check import position_mismatches
from bondgraph.tracing.routines import trace_for_runs
from bondgraph.tracing.singular_messages import Unsolvable, unsolvable, untraceable

if TYPE_CHECKING:
    from bondgraph.run.results.result import Result
    from bondgraph.schedule.build import RoutineSchedules
    from bondgraph.schedule.calls import StatementTable

_EQUATIONS_SHARE, _TRACING_SHARE = 0.04, 0.09
"""Fractions of a long compilation after which the equations are assembled, and the routines traced."""

Compilable = Compiled | Graph | Model
"""A model in any form; compile it once if it is used several times."""


def equations(model: Model, causality: Causality | None = None) -> System:
    """Return the sorted statements of a frozen model, by default with the causality of `assign_causality`.

    Raises `ModelError` with all problems of a stage; E100 for an argument that is not a frozen model.
    """
    if not isinstance(model, Model):
        raise no_model(model, "equations", "graph.freeze()")
    named = refuse_undefined_values(assemble_frictions(model, causality or assign_causality(model)), model)
    system = find_shapes(sort_statements(named), model)
    raise_if_any(model.name, [*unrepeatable_formulas(system, model)])
    return system


@paused_collection()
def compile_model(
    model: Model | Graph, *, backend: str = "auto", progress: bool = True, guess: Mapping[str, Any] | None = None
) -> Compiled:
    """Compile a graph or model.

    Parameters
    ----------
    model : a `Graph` is frozen (and so checked) first.
    backend : "llvm" (machine code), "numpy" (the reference) or "auto" (LLVM if llvmlite is installed).
    progress : show a progress bar in the terminal when compilation takes longer than two seconds.
    guess : efforts or flows, {"load.effort": 72.0}, that select the nearest of several solutions of a loop at the start.

    Raises `ModelError` with all problems of a stage; E100 for an argument that is neither graph nor model, E434 for contacts that
    only time stepping can handle: to compile the model without them, use `replace(model, contacts=())`.
    """
    times = [time.perf_counter()]
    if not isinstance(model, (Graph, Model)):
        raise no_model(model, "compile_model", "graph")
    model = model.freeze() if isinstance(model, Graph) else model
    guess = mapping_of(model.name, "guess", guess, '"load.effort": 72.0')
    model = replace(model, guess={**model.guess, **guess}) if guess else model
    raise_if_any(model.name, _without_law(model))
    model = with_references(model)
    with Progress(f'compiling "{model.name}"', 1.0, progress) as bar:
        bar.show(0.0, "causality and equations")
        model, causality = with_balances(model)
        numbered = system_of_instances(model, causality)
        system, table = (equations(model, causality), None) if numbered is None else numbered
        raise_if_any(model.name, ambiguous_guards(system, model))
        model = replace(model, guess=guesses_in_si(model, system, model.guess)) if guess else model
        times.append(time.perf_counter())
        bar.show(_EQUATIONS_SHARE, "tracing")
        routines, system, differentiate = _routines(model, system, table)
        times.append(time.perf_counter())
        bar.show(_TRACING_SHARE, "machine code")
        kernels = kernels_of(routines, backend)
    jacobian = build_once(functools.partial(jacobian_of, differentiate, backend))
    couplings = functools.partial(couplings_of, routines, jacobian, backend)
    choose = functools.lru_cache(maxsize=64)(functools.partial(outputs_of, routines, backend))
    in_lanes = functools.lru_cache(maxsize=4)(functools.partial(lanes_of, routines, backend))
    texts = batch_texts_of(routines, differentiate, backend)
    expand = functools.lru_cache(maxsize=8)(functools.partial(series_of, routines, backend))
    steady = autonomous(routines)
    program = program_of(
        system, kernels, jacobian, couplings, choose, model, in_lanes, texts=texts, expand=expand, autonomous=steady
    )
    times.append(time.perf_counter())
    timings = dict(zip(("build", "trace", "compile"), np.diff(times).tolist(), strict=True))
    return _check_start(Compiled(model, causality, system, program, kernels["prepare"], timings))


@spelled_settings
def simulate(
    model: Compilable,
    t_end: float,
    *,
    parameters: Mapping[str, Any] | None = None,
    initial: Initial | None = None,
    keep: KeepNamed | None = None,
    sink: Sinkable | None = None,
    **settings: Unpack[RunSettings],
) -> Result:
    """Compile a model if needed, and run it from `t_start` to `t_end` (s); errors are those of `Compiled.simulate`.

    Parameters
    ----------
    model : a `Graph`, or its frozen or compiled form.
    parameters : changes by name, {"spring.stiffness": 80.0}.
    initial : changes of the start values, {"spring.q": 0.1}, automata by the name of a state; the `final` of another run; or an
        operating point, whose parameters are used too.
    keep : names of the only quantities to keep, "rotor.flow" or ["rotor.flow", "body.pose[3]"], for long runs of large models; or
        {"work": measures.integral("motor.power")}; all by default.
    sink : destination of the quantities during the run, instead of the result: a path ("run.parquet", or .zarr, .npz, .csv), a
        `bondgraph.sinks.Sink`, or a function of times and {name: values}.
    """
    compiled = compiled_form(model, "simulate", progress=settings.get("progress", True))
    return compiled.simulate(t_end, parameters=parameters, initial=initial, keep=keep, sink=sink, **settings)


def compiled_form(model: Compilable, caller: str, *, progress: bool = True) -> Compiled:
    """Return the compiled model, or compile the graph for the function named `caller`.

    Raises `ModelError` E100 for any other argument, E335 or E693 for delays or libraries that the function does not support, and
    all problems of `compile_model`.
    """
    if not isinstance(model, (Compiled, Graph, Model)):
        raise no_model(model, caller)
    compiled = model if isinstance(model, Compiled) else compile_model(model, progress=progress)
    if compiled.program.delays and caller not in _WITH_DELAYS:
        delay = compiled.program.delays[0].name
        title, why = f'{caller} does not support the delay "{delay}"', "the state of a delay is a function of time, not a scalar"
        cure = "a transfer_function instead, such as Pade's (1 - s T/2) / (1 + s T/2) for a short delay T"
        raise refusal("E335", title, cure, about=compiled.model.name, why=why)
    if caller not in _WITH_LIBRARIES and (clock := next((clock for clock in compiled.program.clocks if clock.library), None)):
        title, why = f'{caller} does not support "{clock.name}"', "its equations are hidden in a library"
        raise refusal("E693", title, "a block of formulas instead", about=compiled.model.name, why=why)
    return compiled


_WITH_DELAYS = ("simulate", "sweep", "explain")
_WITH_LIBRARIES = ("simulate", "sweep")


def _without_law(model: Model) -> list[Problem]:
    """Report the contacts whose force only time stepping determines (E434)."""
    return [
        Problem(
            "E434",
            f'contact "{point.path}" is rigid: only time stepping can handle it',
            ("nothing in the graph gives the contact a force, so its bodies would pass through each other",),
            (point.place,),
            (
                'time stepping: bondgraph.stepping.stepper(graph, inertia="full").simulate(1.0, step=1e-3)',
                "a law with a force of its own: contact(..., law=Impact(restitution=0.5)), or Compliant(...)",
            ),
        )
        for point in model.contacts
        if point.stepped
    ]


def _routines(
    model: Model, system: System, table: StatementTable | None
) -> tuple[Mapping[str, Code] | RoutineSchedules, System, Callable[[], tuple[Any, Any]]]:
    """Trace or schedule the routines; `table` holds the numbered statements of a large system, and the last result is a
    function that builds the Jacobian."""
    try:
        if table is not None or is_large(system):
            from bondgraph.schedule.build import schedule_routines

            return schedule_routines(system, table)
        return trace_for_runs(system, lambda traced: raise_if_any(model.name, position_mismatches(traced, model)))
    except Unsolvable as error:
        raise ModelError(model.name, [unsolvable(error, system, model)]) from None
    except Untraceable as error:
        raise ModelError(model.name, [untraceable(error, model)]) from error


def _check_start(compiled: Compiled) -> Compiled:
    model, causality, system = compiled.model, compiled.causality, compiled.system
    raise_if_any(model.name, unexpected_guesses(model, compiled.program, model.guesses))
    raise_if_any(model.name, _start_problems(compiled))
    raise_if_any(
        model.name, contradicting_starts(model, causality, system, dependent_starts(model, causality), compiled.evaluate)
    )
    (x, m), p = compiled.initial(), compiled.parameters()
    raise_if_any(model.name, contradicting_closures(model, system, compiled.program, x, m, p))
    return compiled


def _start_problems(compiled: Compiled) -> list[Problem]:
    x, m = compiled.initial()
    program, p = compiled.program, compiled.parameters()
    kernels = [k for k in (program.rates, program.powers, program.energies) if k is not None]
    slipping = m.copy()  # at a dead centre nothing can hold the flow of friction: a run then begins in a mode that slips
    for edge in program.transitions:
        if edge.passes is not None and m[edge.slot] == edge.target:
            slipping[edge.slot] = edge.passes
    if any(all(np.all(np.isfinite(kernel(0.0, x, p, modes))) for kernel in kernels) for modes in (m, slipping)):
        return []
    env = compiled.evaluate()
    for statement in compiled.system.statements:
        bad = [out for out in statement.outs if not np.all(np.isfinite(np.asarray(env[out], dtype=float)))]
        if bad:
            element = compiled.model.elements.get(statement.element)
            texts = (np.array2string(np.asarray(env[arg]), precision=6).replace("\n", "") for arg in statement.args)
            arguments = ", ".join(map(" = ".join, zip(statement.args, texts, strict=True)))
            title = f'"{bad[0]}" is not finite at the start'
            singular = [f'the matrix "{arg}" is singular there' for arg in statement.args if _is_singular(env[arg])]
            details = (f"{statement.op.name} of {arguments}", *singular)
            cures = tuple(_finite_elsewhere(compiled, statement, env))
            return [Problem("E125", title, details, (element.place if element else None,), cures)]
    return []


def _is_singular(value: Any) -> bool:
    matrix = np.asarray(value, dtype=float)
    if matrix.ndim != 2 or min(matrix.shape) < 2 or not np.all(np.isfinite(matrix)):
        return False
    return bool(np.linalg.matrix_rank(matrix) < min(matrix.shape))


def _finite_elsewhere(compiled: Compiled, statement: Statement, env: Mapping[str, Any]) -> Iterator[str]:
    """Yield changes of a formula's arguments that make it finite, or advice if none was found."""

    def finite(changed: Mapping[str, Any]) -> bool:
        with np.errstate(all="ignore"):
            try:
                results = statement.results([changed.get(arg, env[arg]) for arg in statement.args])
            except (ArithmeticError, ValueError):
                return False
            return all(bool(np.all(np.isfinite(np.asarray(result, dtype=float)))) for result in results)

    def other(arg: str) -> Any:
        value = np.asarray(env[arg], dtype=float)
        return (1.1 * value + 0.1 * (1.0 + np.arange(value.size)).reshape(value.shape))[()]

    parameters = [arg for arg in statement.args if arg in compiled.system.parameters]
    others = [arg for arg in statement.args if arg not in parameters]
    tried = False
    if others and finite({arg: other(arg) for arg in others}):
        tried = True
        if others == ["time"]:
            yield "a formula that is finite at time 0, such as 1.0 / maximum(t, 1e-3)"
        else:
            yield f"other start values: with another {' and '.join(others)} it is finite"
    for arg in parameters:
        if finite({arg: other(arg)}):
            tried = True
            yield f"another {arg}: with {np.array2string(np.asarray(other(arg)), precision=6)} it is finite"
    if not tried:
        yield "another formula: no other start value or parameter was found that makes it finite"
        element = compiled.model.elements.get(statement.element)
        if element is not None and isinstance(element.law, Storage) and any(np.ndim(env[arg]) for arg in others):
            yield COUPLED
