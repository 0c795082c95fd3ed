"""Kernels of routines and of plain formulas: compile them to machine code, or interpret them with NumPy, the reference."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.interpreter.steps import derivatives
from bondgraph.emit.kernel import AT_SAMPLE, DeferredKernel, Kernel, LaneKernels
from bondgraph.emit.llvm import QUICK, compile_in_lanes, compile_routines, routines_text, steps_in_machine_code
from bondgraph.emit.machine import have_llvm
from bondgraph.emit.numpy import numpy_kernel, preset_kernel
from bondgraph.errors import refusal
from bondgraph.model.ops import Frozen
from bondgraph.tape import opcodes
from bondgraph.tape.garbage_collection import paused_collection
from bondgraph.tape.routine import Listing, Routine, listing, reachable, select_outputs, steps_of
from bondgraph.tape.scalar import Tape, TapeScalar
from bondgraph.tape.specialise import Code, SpecialisedRoutine
from bondgraph.tape.taylor import NoSeries, taylor_coefficients
from bondgraph.tracing.routines import IMPULSE_ROUTINES, Pattern
from screws.names import answer_old_names
from screws.scalars import array

if TYPE_CHECKING:
    from bondgraph.run.program import Slot
    from bondgraph.schedule.build import RoutineSchedules
    from bondgraph.schedule.memory_layout import Schedule


BACKENDS = ("auto", "llvm", "numpy")

UNFUSED = frozenset({"outputs", "collisions"})
"""Routines from which some runs need only a few outputs. Their operations are not fused, so the bits of an output do not depend
on what else is computed."""

DEFERRED = UNFUSED | {"closing_matrix"}

LONG = 300
"""Minimum number of steps for which the routines of an event, or all shorter routines together, are compiled at the first
call."""

INTERPRETED = frozenset({"closures"})
"""Routines not worth compiling: they are evaluated rarely or for many samples in one call."""


def kernels_of(routines: Mapping[str, Code] | RoutineSchedules, backend: str) -> dict[str, Kernel]:
    if backend not in BACKENDS:
        why = f"known: {', '.join(BACKENDS)}"
        raise refusal("E123", f'backend "{backend}" is unknown', 'backend="auto"', about="compile", why=why, places=())
    if not isinstance(routines, Mapping):
        from bondgraph.schedule.build import kernels_in_loops

        return kernels_in_loops(routines, _is_compiled(backend))
    needed = _needed(routines)
    if _is_compiled(backend):
        later = _compiled_later(needed)
        eager = [routine for routine in _compiled_at_once(needed) if not any(routine.name in group for group in later)]
        library = compile_routines(eager)
        kernels: dict[str, Kernel] = {routine.name: library.kernel(routine.name) for routine in eager}
        for group in (*later, *([name] for name in DEFERRED & set(needed))):
            kernels |= _deferred([needed[name] for name in group])
        return kernels | {name: numpy_kernel(needed[name]) for name in INTERPRETED & set(needed)}
    full = {name: numpy_kernel(routine) for name, routine in needed.items() if not isinstance(routine, SpecialisedRoutine)}
    specialised = {name: routine for name, routine in needed.items() if isinstance(routine, SpecialisedRoutine)}
    return full | {name: preset_kernel(routine, full[routine.shared.name]) for name, routine in specialised.items()}


def _deferred(group: Sequence[Code]) -> dict[str, Kernel]:
    """Return kernels of routines that are compiled together, without an optimiser, when one of them is first used, because they
    run only at events and samples."""
    quick = 0 if group[0].name in UNFUSED else QUICK
    library = build_once(paused_collection()(functools.partial(compile_routines, group, quick, cold=True)))

    def compile_one(name: str) -> Kernel:
        return library().kernel(name)

    return {
        r.name: DeferredKernel(r.name, r.sizes, functools.partial(len, r.outputs), functools.partial(compile_one, r.name))
        for r in group
    }


def _compiled_later(needed: Mapping[str, Code]) -> list[list[str]]:
    """Return groups of event routines to compile at their first call; there are none if all routines together have more than
    `QUICK` steps, because rounding in a routine then depends on the other routines of its group."""
    at_once = {r.name: () if isinstance(r, SpecialisedRoutine) else r.cases for r in _compiled_at_once(needed)}
    if not any(name.partition("_")[0] in IMPULSE_ROUTINES for name in at_once):
        return []
    steps = {name: sum(map(steps_of, cases)) for name, cases in at_once.items()}
    if sum(steps.values()) > QUICK:
        return []
    groups: dict[str, list[str]] = {}
    for name in steps:
        word, _, number = name.partition("_")
        if word in IMPULSE_ROUTINES:
            groups.setdefault("" if isinstance(needed[name], SpecialisedRoutine) else number, []).append(name)
    alone = [group for group in groups.values() if sum(steps[name] for name in group) >= LONG]
    together = [name for group in groups.values() if group not in alone for name in group]
    return [group for group in (*alone, together) if sum(steps[name] for name in group) >= LONG]


def _needed(routines: Mapping[str, Code]) -> dict[str, Code]:
    return {name: r for name, r in routines.items() if r.outputs or name in ("rates", "prepare")}


def _compiled_at_once(needed: Mapping[str, Code]) -> list[Code]:
    return [routine for name, routine in needed.items() if name not in DEFERRED | INTERPRETED]


def _modules_of_runs(routines: Mapping[str, Code]) -> list[list[Code]]:
    needed = _needed(routines)
    together = {name: routine for name, routine in needed.items() if name != "jacobian"}
    alone = [[needed["jacobian"]]] if "jacobian" in needed else []
    return [_compiled_at_once(together), *alone]


def native_steps(routines: Mapping[str, Code]) -> dict[str, Listing]:
    """Return the steps, after fusion, of the machine code that a run calls: for each routine, or each case of a routine with
    alternatives."""
    steps = [steps_in_machine_code(module) for module in _modules_of_runs(routines)]
    return {name: listing for module in steps for name, listing in module.items()}


def native_texts(routines: Mapping[str, Code]) -> list[str]:
    return [routines_text(module) for module in _modules_of_runs(routines)]


def batch_texts_of(
    routines: Mapping[str, Code] | RoutineSchedules, differentiate: Callable[[], tuple[Any, Pattern]], backend: str
) -> Callable[[Sequence[Slot], bool], list[str]] | None:
    if not isinstance(routines, Mapping) or not _is_compiled(backend):
        return None
    return functools.partial(_batch_texts, routines, differentiate)


def _batch_texts(
    routines: Mapping[str, Code], differentiate: Callable[[], tuple[Any, Pattern]], slots: Sequence[Slot], has_jacobian: bool
) -> list[str]:
    code = differentiate()[0] if has_jacobian else None
    texts = native_texts({**routines, "jacobian": code} if isinstance(code, Routine) else routines)
    if (matrix := routines.get("closing_matrix")) is not None and matrix.outputs:
        texts.append(routines_text([matrix]))
    if slots:
        texts.append(routines_text([_selected(routines, slots)], fused=False))
    return texts


def _selected(routines: Mapping[str, Code], slots: Sequence[Slot]) -> Routine:
    indices = [index for slot in slots for index in range(slot.start, slot.stop)]
    chosen = select_outputs(routines["outputs"].reference, "chosen", indices)
    assert isinstance(chosen, Routine)
    return chosen


def outputs_of(
    routines: Mapping[str, Code] | RoutineSchedules, backend: str, slots: Sequence[Slot]
) -> tuple[Kernel, tuple[int, ...]]:
    if not isinstance(routines, Mapping):
        from bondgraph.schedule.build import select_in_loops

        return select_in_loops(routines, [slot.start for slot in slots], _is_compiled(backend))
    selected = _selected(routines, slots)
    starts = tuple(itertools.accumulate((slot.size for slot in slots[:-1]), initial=0))
    if _is_compiled(backend):
        return compile_routines([selected], quick=0).kernel(selected.name), starts
    return numpy_kernel(selected), starts


def autonomous(routines: Mapping[str, Code] | RoutineSchedules) -> bool:
    if not isinstance(routines, Mapping):
        return routines.autonomous
    rates = routines["rates"].reference
    tape = rates.tape
    time = {scalar.index for scalar in tape.inputs("t", tape.blocks["t"])}
    return time.isdisjoint(reachable(tape, [tape.scalar(rate).index for rate in rates.outputs]))


STEP_ROUTINES = ("rates", "powers", "rates_and_powers")
SAMPLE_ROUTINES = ("rates", "powers", "energies", "closing_matrix")
"""Routines that SIMD lanes evaluate in steps, and routines that they evaluate at samples. The latter share one kernel because
they have many operations in common."""

MAX_LANE_STEPS = 20_000
"""Maximum number of steps in the routines of SIMD kernels; longer routines take seconds to compile."""


def lanes_of(routines: Mapping[str, Code] | RoutineSchedules, backend: str, lanes: int) -> LaneKernels | None:
    """Return the SIMD kernels for this number of lanes, or None if unavailable.

    They require rates, straight-line machine code that compiles quickly, and no table whose entries are inputs.
    """
    if not isinstance(routines, Mapping) or not _is_compiled(backend) or not routines["rates"].outputs:
        return None
    needed = {name: r for name, r in routines.items() if name in STEP_ROUTINES + SAMPLE_ROUTINES and r.outputs}
    straight = {name: routine for name, routine in needed.items() if isinstance(routine, Routine)}
    several = straight.values()
    if len(straight) < len(needed) or sum(map(steps_of, several)) > MAX_LANE_STEPS or any(map(_has_tables_of_inputs, several)):
        return None
    of_steps = [straight[name] for name in STEP_ROUTINES if name in straight]
    at_samples = tuple(output for name in SAMPLE_ROUTINES if name in straight for output in straight[name].outputs)
    library = compile_in_lanes([*of_steps, replace(of_steps[0], name=AT_SAMPLE, outputs=at_samples)], lanes)
    return LaneKernels(lanes, library.addresses, library)


def _has_tables_of_inputs(routine: Routine) -> bool:
    return any(step[0] == opcodes.TABLE_OF_INPUTS for step in listing(routine).steps)


def _is_compiled(backend: str) -> bool:
    """Return True for machine code; with an explicit "llvm" the compiler reports a missing llvmlite."""
    return backend == "llvm" or (backend == "auto" and have_llvm())


@paused_collection()
def jacobian_of(
    differentiate: Callable[[], tuple[Routine | Schedule | None, Pattern]], backend: str
) -> tuple[Kernel | None, Pattern]:
    code, pattern = differentiate()
    if isinstance(code, Routine):
        return (kernels_of({"jacobian": code}, backend)["jacobian"] if code.outputs else None), pattern
    if code is None:
        return None, pattern
    from bondgraph.schedule.build import jacobian_in_loops

    return jacobian_in_loops(code, _is_compiled(backend)), pattern


@paused_collection()
def series_of(routines: Mapping[str, Code] | RoutineSchedules, backend: str, order: int) -> Kernel:
    """Return the kernel of the Taylor coefficients of the states and the integrated powers, (orders, n + powers), up to this
    order; raises `NoSeries` for a model without them."""
    if not isinstance(routines, Mapping):
        raise NoSeries("a model with this many identical parts is compiled to loops")
    rates = routines["rates"].reference
    tape = rates.tape.copy()  # another thread may differentiate the rates
    values = [
        [TapeScalar(tape, rates.tape.scalar(value).index) for value in routines[name].reference.outputs]
        for name in ("rates", "powers")
        if name in routines
    ]
    outputs = taylor_coefficients(tape, values[0], [value for powers in values[1:] for value in powers], order)
    return kernels_of({"series": Routine("series", tape, rates.blocks, tuple(outputs))}, backend)["series"]


@paused_collection()
def couplings_of(
    routines: Mapping[str, Code] | RoutineSchedules, jacobian: Callable[[], tuple[Kernel | None, Pattern]], backend: str
) -> tuple[Kernel | None, Pattern]:
    """Return the Jacobian of the rates for error control, interpreted because a run calls it only a few dozen times.

    Schedules, and routines without machine code, use the kernel of `jacobian`.
    """
    if not isinstance(routines, Mapping) or not _is_compiled(backend):
        return jacobian()
    kernel, pattern = derivatives(routines["rates"].reference, "x", "couplings")
    return kernel if kernel.n_out else None, pattern


Formula = Callable[..., Mapping[str, Any]]
"""Function of arrays of any scalars that returns arrays or scalars by name."""


@answer_old_names
@dataclass(frozen=True, eq=False)
class CompiledFormula(Frozen):
    """A formula as machine code, or as NumPy operations; `shapes` are the shapes of its results by name."""

    kernel: Kernel
    shapes: Mapping[str, tuple[int, ...]]

    def __call__(self, *arguments: Any) -> dict[str, np.ndarray]:
        """Evaluate the formula and return its results by name; arguments have the shapes given to `compile_formula`.

        Raises `KernelError` E395 for arguments of other shapes.
        """
        return self._by_name(self.kernel(*map(np.ravel, arguments)))

    def evaluate_many(self, *arguments: Any) -> dict[str, np.ndarray]:
        """Evaluate the formula at samples: arguments (samples, length), or (length,) for all; results (samples, ...) by name.

        Raises `KernelError` E395 for arguments of other shapes, or if they differ in their number of samples.
        """
        return self._by_name(self.kernel.many(*arguments))

    def _by_name(self, row: np.ndarray) -> dict[str, np.ndarray]:
        results, start = {}, 0
        for name, shape in self.shapes.items():
            end = start + prod(shape)
            results[name] = row[..., start:end].reshape(row.shape[:-1] + shape)
            start = end
        return results


def compile_formula(formula: Formula, arguments: Mapping[str, tuple[int, ...]], *, backend: str = "auto") -> CompiledFormula:
    """Compile a formula, which is traced once.

    Parameters
    ----------
    formula : function of arrays, in the order of `arguments`, that returns its results by name, written with the functions of
        `screws.scalars`, without branches on values.
    arguments : shape of each argument by name; () for a number.
    backend : "llvm" (machine code), "numpy" (the reference) or "auto" (LLVM if llvmlite is installed).

    Raises `ModelError` E123 for another backend, and any error of the formula.

    >>> polar = compile_formula(lambda p: {"square": p @ p, "double": 2.0 * p}, {"p": (2,)}, backend="numpy")
    >>> results = polar([3.0, 4.0])
    >>> float(results["square"]), results["double"].tolist()
    (25.0, [6.0, 8.0])
    """
    tape, results = _traced(formula, arguments)
    values = tuple(scalar for result in results.values() for scalar in np.asarray(result, dtype=object).flat)
    routine = Routine("formula", tape, tuple((name, prod(shape)) for name, shape in arguments.items()), values)
    return CompiledFormula(kernels_of({"formula": routine}, backend)["formula"], {k: np.shape(v) for k, v in results.items()})


def count_operations(formula: Formula, arguments: Mapping[str, tuple[int, ...]], *, constant: Collection[str] = ()) -> int:
    """Count the distinct operations of a formula, except operations that depend only on `constant` arguments.

    Arguments are as in `compile_formula`; each number that the formula reads from other arguments counts as one operation.
    """
    tape, results = _traced(formula, arguments)
    roots = [tape.scalar(scalar).index for result in results.values() for scalar in np.asarray(result, dtype=object).flat]
    fixed = {number for number, name in enumerate(arguments) if name in constant}
    moves: list[bool] = []
    for code, *of in tape.nodes:
        is_input = code in opcodes.OF_BLOCKS
        moves.append(of[0] not in fixed if is_input else code > opcodes.INPUT and any(moves[a] for a in of))
    return sum(moves[position] for position in reachable(tape, roots))


def _traced(formula: Formula, arguments: Mapping[str, tuple[int, ...]]) -> tuple[Tape, Mapping[str, Any]]:
    tape = Tape()
    inputs = [tape.inputs(name, prod(shape)) for name, shape in arguments.items()]
    shaped = [array(list(i)).reshape(shape) if shape else i[0] for i, shape in zip(inputs, arguments.values(), strict=True)]
    return tape, formula(*shaped)
