"""Kernels of a large model: build schedules of loops for all routines, instead of straight-line code."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bondgraph.assembly.system import Statement, System
from bondgraph.emit.cached_build import build_once
from bondgraph.emit.kernel import DeferredKernel, InterpretedKernel, Kernel, deferred_together
from bondgraph.model.ops import Op
from bondgraph.schedule.calls import INPUT_BLOCKS, NUMBERS, Plan, StatementTable, number_statements
from bondgraph.schedule.machine_code.kernels import jacobian_kernel, machine_kernels, shared_kernels
from bondgraph.schedule.memory_layout import Access, KernelLoop, Schedule, contiguous_plan, schedule
from bondgraph.schedule.plans import GroupedValues, KernelCache, derivatives, group_rows, group_values
from bondgraph.tape import opcodes as op
from bondgraph.tape.garbage_collection import paused_collection
from bondgraph.tape.interpret import interpreter
from bondgraph.tape.nodes import leaf_length
from bondgraph.tracing.routines import Pattern, output_names
from screws.scalars import equal, where


def numpy_kernel(schedule: Schedule) -> Kernel:
    names = [name for name, _ in schedule.blocks]

    def evaluate(blocks: list[np.ndarray], out: np.ndarray) -> None:
        local = {"out": out, "w": np.empty(schedule.workspace), NUMBERS: schedule.numbers}
        memory = {**dict(zip(names, blocks, strict=True)), **local}
        if schedule.copied_block is not None:
            out[:] = memory[schedule.copied_block]
        for loop in schedule.loops:
            for instances in (np.arange(loop.count),) if loop.parallel else np.arange(loop.count)[:, None]:
                _evaluate_loop(schedule, loop, memory, instances)

    def function(*arrays: np.ndarray) -> None:
        *blocks, out = arrays
        if out.ndim == 1:
            evaluate(blocks, out)
            return
        for k in range(len(out)):
            evaluate([block[k] if block.ndim == 2 else block for block in blocks], out[k])

    return InterpretedKernel(schedule.name, schedule.sizes, schedule.n_out, function)


def _evaluate_loop(schedule: Schedule, loop: KernelLoop, memory: dict[str, np.ndarray], instances: np.ndarray) -> None:
    def addresses(access: Access, size: int) -> np.ndarray:
        if access.table < 0:
            first = access.start + access.stride * instances
        else:
            first = schedule.tables[access.table + instances]
        return np.asarray(first[:, None] + np.arange(size))

    reach = [1] * len(loop.ins)
    for code, *operands in loop.kind.program.steps:
        if code in op.OF_BLOCKS:
            reach[operands[0]] = max(reach[operands[0]], operands[1] + leaf_length((code, *operands)))
    blocks = tuple(memory[a.block][addresses(a, n)] for a, n in zip(loop.ins, reach, strict=True))
    results = np.empty((len(instances), sum(loop.kind.sizes)))
    interpreter(loop.kind.program)(blocks, results)
    start = 0
    for access, size in zip(loop.outs, loop.kind.sizes, strict=True):
        memory[access.block][addresses(access, size)] = results[:, start : start + size]
        start += size


def jump_plans(cache: KernelCache, changes: Mapping[str, Mapping[int, int]], states: int) -> list[Plan]:
    """Return a plan for each jump, which outputs all states (`states` scalars); `changes` maps it to new values by state."""
    parts = group_rows(cache, [list(changed.values()) for changed in changes.values()])
    return [_plan(cache, name, part, changes[name], states) for name, part in zip(changes, parts, strict=True)]


def _plan(cache: KernelCache, name: str, part: GroupedValues, changed: Mapping[int, int], states: int) -> Plan:
    locations, row = dict[int, int](), 0
    for state in changed:
        locations[row] = cache.book.locations[state][1]
        row += cache.book.sizes[state]
    results = {value: locations[position] for value, position in part.results.items()}
    return Plan(name, part.calls, states, results, copied_block="x")


@dataclass(frozen=True)
class RoutineSchedules:
    schedules: Mapping[str, Callable[[], Schedule]]
    blocks: tuple[tuple[str, int], ...]
    width: Callable[[str], int]
    select: Callable[[Sequence[int]], tuple[Schedule, tuple[int, ...]]]
    """Function that builds the schedule of the outputs with these indices, and returns their positions in the results."""
    jumps: tuple[str, ...]
    """Routines of transitions, each of which returns all states and changes a few of them."""
    build_jumps: Callable[[], list[Schedule]]
    autonomous: bool


@functools.cache
def _masked(source: float) -> Op:
    return Op("guard", lambda mode, guard: where(equal(mode, source), guard, -1.0))


def _guards(system: System) -> list[Statement]:
    modes = list(system.modes)
    return [
        Statement((f":guard {k}",), _masked(float(event.source)), (modes[event.slot], event.guard), event.automaton)
        for k, event in enumerate(system.events)
    ]


def values_of_routines(system: System) -> dict[str, list[str]]:
    """Return the names of the values that each routine computes, in order; outputs and resets are omitted.

    There is no `rates_and_powers`: with thousands of states, the call that it would save costs little.
    """
    routines = {
        "rates": [state.rate for state in system.states],
        "guards": [f":guard {k}" for k in range(len(system.events))],
        "powers": [power.value for power in system.powers],
        "energies": [value for _, value in system.energies],
    }
    ticks = {f"tick_{index}": dict(clock.updates) for index, clock in enumerate(system.clocks)}
    routines |= {name: [new.get(state.name, state.name) for state in system.states] for name, new in ticks.items() if new}
    return {name: names for name, names in routines.items() if names or name == "rates"}


@paused_collection()
def schedule_routines(
    system: System, table: StatementTable | None = None
) -> tuple[RoutineSchedules, System, Callable[[], tuple[Schedule | None, Pattern]]]:
    """Schedule all routines of a large model, with the blocks t, x, p, m (`prepare` has only p).

    Returns the schedules, the system, and a function that builds the schedule of the Jacobian (None without nonzeros) and its
    sparsity pattern. The counterpart for small models is `bondgraph.tracing.routines.trace_for_runs`. The system must be
    explicit, with known shapes; `table` holds its numbered statements, if they exist already.
    """
    table = table or number_statements(system, _guards(system))
    cache, book, number = KernelCache(table), table.book, table.numbers
    targets = {name: [number[value] for value in names] for name, names in values_of_routines(system).items()}
    prepared = {name: group_values(cache, targets[name]) for name in PREPARED if name in targets}
    plans = [Plan(name, part.calls, part.width, part.results) for name, part in prepared.items()]
    n_p = sum(value.size for value in system.parameters.values())
    calls = tuple(cache.prepared.values())
    before, order = contiguous_plan("prepare", calls, book)
    locations = book.locations | {value: ("p", n_p + offset) for value, offset in before.results.items()}
    blocks = (
        ("t", 1),
        ("x", sum(state.initial.size for state in system.states)),
        ("p", n_p + before.n_out),
        ("m", len(system.modes)),
    )

    lock = threading.Lock()

    def schedule_unprepared(plan: Plan) -> Schedule:
        """Schedule a plan, including the calls that depend only on parameters and that `prepare` does not contain."""
        locations.update({value: book.locations[value] for value in book.numbers.values()})
        on_parameters = cache.parameter_calls(plan.calls, locations)
        return schedule(replace(plan, calls=(*on_parameters, *plan.calls)), book, blocks, locations)

    def build(name: str, values: Sequence[int]) -> Schedule:
        with lock:
            part = group_values(cache, values)
            return schedule_unprepared(Plan(name, part.calls, part.width, part.results))

    resets = {f"reset_{index}": dict(event.resets) for index, event in enumerate(system.events) if event.resets}

    def build_jumps() -> list[Schedule]:
        changes = {name: {number[state]: number[new] for state, new in reset.items()} for name, reset in resets.items()}
        with lock:
            return list(map(schedule_unprepared, jump_plans(cache, changes, blocks[1][1])))

    @build_once
    def outputs() -> list[int]:
        return [number[name] for name in output_names(system)]

    def differentiate() -> tuple[Schedule | None, Pattern]:
        with lock:
            rates = group_values(cache, targets["rates"], for_derivatives=True)
            plan, pattern = derivatives(cache, "jacobian", rates, [number[state.name] for state in system.states])
            return schedule_unprepared(plan) if plan.n_out else None, pattern

    makers: dict[str, Callable[[], Schedule]] = {
        plan.name: functools.partial(schedule, plan, book, blocks, locations) for plan in plans
    }
    makers["prepare"] = functools.partial(schedule, before, book, (("p", n_p),), book.locations, order)
    makers |= {name: functools.partial(build, name, values) for name, values in targets.items() if name not in makers}
    makers["outputs"] = lambda: build("outputs", outputs())

    def width(name: str) -> int:
        return sum(book.sizes[value] for value in (outputs() if name == "outputs" else targets[name]))

    def select(indices: Sequence[int]) -> tuple[Schedule, tuple[int, ...]]:
        values = [value for value in outputs() if book.sizes[value]]
        starts = np.cumsum([0, *(book.sizes[value] for value in values)])
        owners = np.searchsorted(starts, indices, side="right") - 1
        chosen, inverse = np.unique(owners, return_inverse=True)
        positions = np.cumsum([0, *(starts[chosen + 1] - starts[chosen])])[inverse] + np.asarray(indices) - starts[owners]
        return build("chosen", [values[k] for k in chosen]), tuple(positions.tolist())

    autonomous = number["time"] not in itertools.chain.from_iterable(table.args)
    return RoutineSchedules(makers, blocks, width, select, tuple(resets), build_jumps, autonomous), system, differentiate


PREPARED = ("rates", "powers", "guards")
"""Routines that every step of a run calls; their expressions of parameters are computed in `prepare`."""

EAGER = ("prepare", "rates", "powers", "energies")
"""Routines that are compiled immediately, because every model is evaluated at its start; other routines are compiled at their
first use."""

_STATES = INPUT_BLOCKS.index("x")

UNOPTIMISED = ("outputs",)
"""Large routines that are compiled without optimisation, because a run calls them only a few times."""


def select_in_loops(routines: RoutineSchedules, indices: Sequence[int], machine_code: bool) -> tuple[Kernel, tuple[int, ...]]:
    with paused_collection():
        selection, positions = routines.select(indices)
        return kernel_in_loops(selection, machine_code), positions


def kernel_in_loops(schedule: Schedule, machine_code: bool) -> Kernel:
    """Return a kernel of a large routine that a run calls only a few times; machine code is therefore not optimised."""
    if not machine_code:
        return numpy_kernel(schedule)
    return machine_kernels([schedule], quick=True)[schedule.name]


def jacobian_in_loops(schedule: Schedule, machine_code: bool) -> Kernel:
    if not machine_code:
        return numpy_kernel(schedule)
    return jacobian_kernel(schedule)


def kernels_in_loops(routines: RoutineSchedules, machine_code: bool) -> dict[str, Kernel]:
    def compile_all(names: Sequence[str], quick: bool) -> dict[str, Kernel]:
        schedules = [routines.schedules[name]() for name in names]
        if not machine_code:
            return {schedule.name: numpy_kernel(schedule) for schedule in schedules}
        return machine_kernels(schedules, quick)

    def compile_one(name: str) -> Kernel:
        with paused_collection():
            return compile_all([name], name in UNOPTIMISED)[name]

    @paused_collection()
    def compile_jumps() -> dict[str, Kernel]:
        return _jump_kernels(routines.build_jumps(), machine_code)

    kernels = compile_all([name for name in EAGER if name in routines.schedules], False)
    sizes = tuple(n for _, n in routines.blocks)
    for name in routines.schedules.keys() - kernels.keys():
        make, width = functools.partial(compile_one, name), functools.partial(routines.width, name)
        kernels[name] = DeferredKernel(name, sizes, width, make, machine_code)
    return kernels | deferred_together(routines.jumps, sizes, sizes[_STATES], compile_jumps, machine_code)


def _jump_kernels(schedules: Sequence[Schedule], machine_code: bool) -> dict[str, Kernel]:
    if not machine_code:
        return {schedule.name: numpy_kernel(schedule) for schedule in schedules}
    return shared_kernels(schedules)
