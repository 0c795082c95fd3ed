"""System -> kernels by schedules: what a large model is given in place of straight-line code."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bondgraph.assembly.system import Statement, System
from bondgraph.emit.cached_build import build_once
from bondgraph.model.ops import Op
from bondgraph.schedule.calls import GIVEN, Plan
from bondgraph.schedule.interpret import numpy_kernel
from bondgraph.schedule.jumps import jumps
from bondgraph.schedule.loops import Schedule, in_row, schedule
from bondgraph.schedule.plans import Workshop, derivatives, find
from bondgraph.schedule.statements import StatementTable, numbered
from bondgraph.tape.collection import paused_collection
from bondgraph.tracing.routines import Pattern, output_names
from screws.scalars import equal, where

if TYPE_CHECKING:
    from bondgraph.emit.kernel import Kernel


@dataclass(frozen=True)
class Scheduled:
    """Functions that make the schedule of each routine, by name."""

    schedules: Mapping[str, Callable[[], Schedule]]
    blocks: tuple[tuple[str, int], ...]
    width: Callable[[str], int]
    """Count of results of a routine."""
    choose: Callable[[Sequence[int]], tuple[Schedule, tuple[int, ...]]]
    """Makes the schedule of some outputs alone, by their places in the row of all, and where each of them lies in its own row."""
    jumps: tuple[str, ...]
    """Routines of transitions, each of which gives all states and changes a few of them."""
    jumping: Callable[[], list[Schedule]]
    """Makes the schedules of these, which are compiled together."""
    autonomous: bool
    """Whether nothing depends on the time."""


@functools.cache
def _masked(source: float) -> Op:
    """A guard where its automaton is in state `source`, else -1."""
    return Op("guard", lambda mode, guard: where(equal(mode, source), guard, -1.0))


def _guards(system: System) -> list[Statement]:
    """One statement for each transition's guard, masked by its mode."""
    modes = list(system.modes)
    return [
        Statement((f":guard {k}",), _masked(float(event.source)), (modes[event.slot], event.guard), event.automaton)
        for k, event in enumerate(system.events)
    ]


def wanted_values(system: System) -> dict[str, list[str]]:
    """Names of the values of every routine but the outputs, in the order of its results.

    `rates_and_powers` is left out: with thousands of states the call that it saves counts for nothing.
    """
    found = {
        "rates": [state.rate for state in system.states],
        "guards": [f":guard {k}" for k in range(len(system.events))],
        "powers": [power.value for power in system.powers],
        "energies": [value for _, value in system.energies],
    }
    ticks = {f"tick_{index}": dict(clock.updates) for index, clock in enumerate(system.clocks)}
    found |= {name: [new.get(state.name, state.name) for state in system.states] for name, new in ticks.items() if new}
    return {name: names for name, names in found.items() if names or name == "rates"}


@paused_collection()
def scheduled(
    system: System, table: StatementTable | None = None
) -> tuple[Scheduled, System, Callable[[], tuple[Schedule | None, Pattern]]]:
    """Schedules of all routines, with the blocks t, x, p, m (`prepare` has p alone); the system; and what makes the schedule of
    its Jacobian (None without nonzeros), with the sparsity.

    What `bondgraph.tracing.routines.trace_for_runs` is for small models; the system is explicit and all its shapes are known. Its
    statements by numbers are taken from `table`, where there is one.
    """
    table = table or numbered(system, _guards(system))
    shop, book, number = Workshop(table), table.book, table.numbers
    wanted = {name: [number[value] for value in names] for name, names in wanted_values(system).items()}
    found = {name: find(shop, wanted[name]) for name in PREPARED if name in wanted}
    plans = [Plan(name, part.calls, part.width, part.results) for name, part in found.items()]
    n_p = sum(value.size for value in system.parameters.values())
    calls = tuple(shop.prepared.values())
    before, order = in_row("prepare", calls, book)
    homes = book.homes | {value: ("p", n_p + place) for value, place in before.results.items()}
    blocks = (
        ("t", 1),
        ("x", sum(state.initial.size for state in system.states)),
        ("p", n_p + before.n_out),
        ("m", len(system.modes)),
    )

    lock = threading.Lock()

    def complete(plan: Plan) -> Schedule:
        """With what it needs of parameters and `prepare` does not give."""
        homes.update({value: book.homes[value] for value in book.numbers.values()})
        here = shop.preparing(plan.calls, homes)
        return schedule(replace(plan, calls=(*here, *plan.calls)), book, blocks, homes)

    def late(name: str, values: Sequence[int]) -> Schedule:
        with lock:
            part = find(shop, values)
            return complete(Plan(name, part.calls, part.width, part.results))

    resets = {f"reset_{index}": dict(event.resets) for index, event in enumerate(system.events) if event.resets}

    def jumping() -> list[Schedule]:
        changes = {name: {number[state]: number[new] for state, new in own.items()} for name, own in resets.items()}
        with lock:
            return list(map(complete, jumps(shop, changes, blocks[1][1])))

    @build_once
    def outputs() -> list[int]:
        return [number[name] for name in output_names(system)]

    def differentiate() -> tuple[Schedule | None, Pattern]:
        with lock:
            inner = find(shop, wanted["rates"], for_derivatives=True)
            plan, pattern = derivatives(shop, "jacobian", inner, [number[state.name] for state in system.states])
            return complete(plan) if plan.n_out else None, pattern

    makers: dict[str, Callable[[], Schedule]] = {
        plan.name: functools.partial(schedule, plan, book, blocks, homes) for plan in plans
    }
    makers["prepare"] = functools.partial(schedule, before, book, (("p", n_p),), book.homes, order)
    makers |= {name: functools.partial(late, name, values) for name, values in wanted.items() if name not in makers}
    makers["outputs"] = lambda: late("outputs", outputs())

    def width(name: str) -> int:
        return sum(book.sizes[value] for value in (outputs() if name == "outputs" else wanted[name]))

    def choose(places: Sequence[int]) -> tuple[Schedule, tuple[int, ...]]:
        values = [value for value in outputs() if book.sizes[value]]
        starts = np.cumsum([0, *(book.sizes[value] for value in values)])
        owners = np.searchsorted(starts, places, side="right") - 1
        chosen, own = np.unique(owners, return_inverse=True)
        here = np.cumsum([0, *(starts[chosen + 1] - starts[chosen])])[own] + np.asarray(places) - starts[owners]
        return late("chosen", [values[k] for k in chosen]), tuple(here.tolist())

    autonomous = number["time"] not in itertools.chain.from_iterable(table.args)
    return Scheduled(makers, blocks, width, choose, tuple(resets), jumping, autonomous), system, differentiate


PREPARED = ("rates", "powers", "guards")
"""Routines whose work on parameters alone is done in `prepare`: those of every step of a run. Others do their own."""

NOW = ("prepare", "rates", "powers", "energies")
"""Routines that are compiled at once: every model is tried with them at its start; the others at their first use."""

_STATES = GIVEN.index("x")

HASTY = ("outputs",)
"""Large routines that a run needs few times: they are compiled without an optimiser."""


def chosen_in_loops(made: Scheduled, places: Sequence[int], machine_code: bool) -> tuple[Kernel, tuple[int, ...]]:
    """A kernel that gives the outputs at some places, and where it gives each."""
    with paused_collection():
        own, here = made.choose(places)
        return kernel_in_loops(own, machine_code), here


def kernel_in_loops(schedule: Schedule, machine_code: bool) -> Kernel:
    """The kernel of a large routine that a run needs few times: half as fast without an optimiser, and compiled in a fortieth of
    the time."""
    if not machine_code:
        return numpy_kernel(schedule)
    from bondgraph.schedule.machine_code.kernels import machine_kernels

    return machine_kernels([schedule], quick=True)[schedule.name]


def jacobian_in_loops(schedule: Schedule, machine_code: bool) -> Kernel:
    """The kernel of the Jacobian of a large model."""
    if not machine_code:
        return numpy_kernel(schedule)
    from bondgraph.schedule.machine_code.kernels import jacobian_kernel

    return jacobian_kernel(schedule)


def kernels_in_loops(made: Scheduled, machine_code: bool) -> dict[str, Kernel]:
    """Kernels of all routines by name, as machine code or interpreted."""
    from bondgraph.emit.kernel import DeferredKernel, deferred_together

    def together(names: Sequence[str], quick: bool) -> dict[str, Kernel]:
        schedules = [made.schedules[name]() for name in names]
        if not machine_code:
            return {own.name: numpy_kernel(own) for own in schedules}
        from bondgraph.schedule.machine_code.kernels import machine_kernels

        return machine_kernels(schedules, quick)

    def alone(name: str) -> Kernel:
        with paused_collection():
            return together([name], name in HASTY)[name]

    @paused_collection()
    def jumping() -> dict[str, Kernel]:
        return _jump_kernels(made.jumping(), machine_code)

    found = together([name for name in NOW if name in made.schedules], False)
    sizes = tuple(n for _, n in made.blocks)
    for name in made.schedules.keys() - found.keys():
        make, width = functools.partial(alone, name), functools.partial(made.width, name)
        found[name] = DeferredKernel(name, sizes, width, make, machine_code)
    return found | deferred_together(made.jumps, sizes, sizes[_STATES], jumping, machine_code)


def _jump_kernels(schedules: Sequence[Schedule], machine_code: bool) -> dict[str, Kernel]:
    """Kernels by name, of schedules of which many differ in places alone."""
    if not machine_code:
        return {own.name: numpy_kernel(own) for own in schedules}
    from bondgraph.schedule.machine_code.shared_schedules import kernels_alike

    return kernels_alike(schedules)
