"""Builder of the `Program` that solvers run, from a system and its kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from bondgraph.assembly.system import Clock, LoweredTransition, System
from bondgraph.emit.numpy import numpy_kernel
from bondgraph.errors import Problem
from bondgraph.model.model import ContactPoint, Model
from bondgraph.model.ops import ForeignLibrary
from bondgraph.output.lazy import LazyRow, LazyTable
from bondgraph.run.program import (
    CollisionFriction,
    Collisions,
    Layout,
    NewtonLoop,
    Program,
    RunClock,
    RunContact,
    RunDelay,
    RunTransition,
    Slot,
)
from bondgraph.run.program.balances import connected_islands
from bondgraph.run.program.bonds import bond_variables
from bondgraph.run.program.library_ticks import LibraryTick
from bondgraph.tape.garbage_collection import paused_collection
from bondgraph.tracing.events.collisions import colliding
from bondgraph.tracing.events.time_events import breaks_of
from bondgraph.tracing.newton import NEWTON_STEPS
from bondgraph.tracing.on_tape.values import flat
from bondgraph.tracing.routines import output_names
from bondgraph.tracing.singular_messages import contradicting, paradox

if TYPE_CHECKING:
    from bondgraph.emit.kernel import Kernel, LaneKernels

V = TypeVar("V")


def program_of(
    system: System,
    kernels: Mapping[str, Kernel],
    differentiate: Callable[[], Any],
    couple: Callable[[], Any],
    choose: Callable[[tuple[Slot, ...]], Any],
    model: Model,
    in_lanes: Callable[[int], LaneKernels | None] | None = None,
    *,
    texts: Callable[[tuple[Slot, ...], bool], list[str]] | None = None,
    expand: Callable[[int], Kernel] | None = None,
    autonomous: bool = False,
) -> Program:
    """Return the program of a system: its kernels, transitions, clocks and the names of all values.

    The model provides its bonds and the messages for the end of a run. These functions are called at first use: `differentiate`
    for the Jacobian with its sparsity pattern, `couple` for the Jacobian of error control, `choose` for a kernel of some outputs,
    `in_lanes` for SIMD kernels of several runs, `texts` for the LLVM IR of kernels that many runs call, `expand` for Taylor
    coefficients up to an order. If `autonomous`, no rate depends on the time.
    """
    moves_with_time = system.clocks or system.events or any(element.signals for element in model.elements.values())
    breaks = breaks_of(system) if moves_with_time else None
    units = LazyTable(lambda: _units(system), LazyTable(lambda: _declared_units(system)))
    layout = Layout(LazyTable(lambda: _slots(system)), units)

    def of_events(word: str) -> tuple[Kernel | None, ...]:
        return tuple(kernels.get(f"{word}_{index}") for index in range(len(system.events)))

    return Program(
        name=system.name,
        rates=kernels["rates"],
        nominal=flat(s.nominal for s in system.states),
        layout=layout,
        guards=kernels.get("guards"),
        powers=kernels.get("powers"),
        energies=kernels.get("energies"),
        outputs=kernels.get("outputs"),
        choose=choose,
        in_lanes=in_lanes,
        texts=texts,
        expand=expand,
        resets=of_events("reset"),
        pushes=of_events("push"),
        collisions=_collisions(system, kernels),
        supplies=of_events("supply"),
        transitions=tuple(_transition(event, model) for event in system.events),
        differentiate=differentiate,
        couple=couple,
        power_names=tuple(power.element for power in system.powers),
        power_roles=tuple(power.role for power in system.powers),
        energy_names=tuple(path for path, _ in system.energies),
        islands=LazyRow(
            lambda: connected_islands(model, [path for path, _ in system.energies], [p.element for p in system.powers])
        ),
        rates_and_powers=kernels.get("rates_and_powers"),
        loops=_newton_loops(system, kernels),
        clocks=_clocks(system, kernels, layout),
        delays=_delays(system, kernels, layout),
        closing=system.closing,
        closures=kernels.get("closures"),
        closing_flows=kernels.get("closing_flows"),
        closing_matrix=kernels.get("closing_matrix"),
        boxes=kernels.get("boxes"),
        box_layouts=system.boxes,
        indeterminate=system.indeterminate,
        breaks=None if breaks is None else numpy_kernel(breaks.routine),
        break_names=() if breaks is None else breaks.elements,
        contacts=tuple(_contact(point, model, layout) for point in model.contacts),
        autonomous=autonomous,
        mode_states={mode.automaton: mode.states for mode in system.modes.values()},
        bonds=LazyRow(lambda: bond_variables(model.bonds, system.resolve)),
        model=model,
    )


def _transition(event: LoweredTransition, model: Model) -> RunTransition:
    return RunTransition(
        name=event.automaton,
        slot=event.slot,
        source=float(event.source),
        target=float(event.target),
        kind=event.kind,
        internal=event.internal,
        error=_end(event, model),
        accumulates=None if event.accumulates is None else float(event.accumulates),
        passes=None if event.passes is None else float(event.passes),
        last=event.contradicting is not None,
        impact=bool(event.impact),
        first=bool(event.paradox),
    )


def _end(event: LoweredTransition, model: Model) -> Problem | None:
    if event.contradicting is not None:
        return contradicting(*event.contradicting, model)
    if event.paradox:
        return paradox(event.paradox, model)
    return Problem("E320", event.error, (f'automaton "{event.automaton}"',)) if event.error else None


def _contact(point: ContactPoint, model: Model, layout: Layout) -> RunContact:
    off = ((layout[f"{path}.mode"].start, float(model.automata[path].states.index(state))) for path, state in point.off)
    return RunContact(point, tuple(off))


def _collisions(system: System, kernels: Mapping[str, Kernel]) -> Collisions | None:
    chosen, kernel = colliding(system), kernels.get("collisions")
    if chosen is None or kernel is None:
        return None
    indices, frictions = system.places, []
    for name in chosen.frictions:
        size = int(np.prod(system.values[f"{name}.released effort"].shape or ()))
        noted = [tuple(indices.get(f"{name}.{state}", ())) for state in ("heading", "pace")]
        frictions.append(CollisionFriction(name, size, system.modes[f"{name}.mode"].slot, *noted))
    return Collisions(kernel, chosen.constraints, chosen.bounces, tuple(frictions))


def _clocks(system: System, kernels: Mapping[str, Kernel], layout: Layout) -> tuple[RunClock, ...]:
    return tuple(
        RunClock(
            clock.element,
            math.inf if clock.period is None else layout[clock.period].start,
            layout[clock.offset].start,
            kernels.get(f"tick_{index}"),
            None if clock.library is None else _library_tick(clock, clock.library, kernels[f"tick_{index}"], layout),
        )
        for index, clock in enumerate(system.clocks)
        if clock.updates and not clock.delay
    )


def _library_tick(clock: Clock, library: ForeignLibrary, kernel: Kernel, layout: Layout) -> LibraryTick:
    places = tuple(layout[state].start for state, _ in clock.updates)
    return LibraryTick(clock.element, library.unit, kernel, places, tuple(layout[name].start for name in clock.parameters))


def _delays(system: System, kernels: Mapping[str, Kernel], layout: Layout) -> tuple[RunDelay, ...]:
    return tuple(
        RunDelay(
            clock.element,
            layout[state].start,
            layout[clock.delay].start,
            clock.history,
            kernels[f"tick_{index}"],
            _reads_delays(system, value),
        )
        for index, clock in enumerate(system.clocks)
        if clock.delay
        for state, value in clock.updates
    )


def _reads_delays(system: System, value: str) -> bool:
    delayed = {state for clock in system.clocks if clock.delay for state, _ in clock.updates}
    delayed |= {unknown.value for unknown in system.unknowns}  # an unknown may depend on anything
    pending, seen = [value], set[str]()
    while pending:
        name = pending.pop()
        if name not in seen and name in system.producers:
            pending += system.producers[name].args
        seen.add(name)
    return not delayed.isdisjoint(seen)


def _newton_loops(system: System, kernels: Mapping[str, Kernel]) -> tuple[NewtonLoop, ...]:
    indices = system.places
    return tuple(
        NewtonLoop(
            tuple(dict.fromkeys(s.element for s in system.statements[loop.start : loop.stop])),
            tuple(k for name in loop.guesses for k in indices[name]),
            kernels[f"newton_{index}"],
            NEWTON_STEPS,
            loop.sizes,
            loop.weights,
        )
        for index, loop in enumerate(loop for loop in system.loops if loop.guesses)
    )


@paused_collection()
def _slots(system: System) -> dict[str, Slot]:
    slots: dict[str, Slot] = {}
    groups = (
        ("x", [s.name for s in system.states]),
        ("p", list(system.parameters)),
        ("m", list(system.modes)),
        ("out", output_names(system)),
    )
    for block, names in groups:
        start = 0
        for name in names:
            value = system.values[name]
            shape = value.shape or ()
            slots[name] = Slot(block, start, shape)
            start += math.prod(shape)
    return _with_aliases(system, slots)


def _with_aliases(system: System, by_name: dict[str, V]) -> dict[str, V]:
    return by_name | {alias: by_name[name] for alias, name in system.aliases.items() if name in by_name}


def _declared_units(system: System) -> dict[str, str]:
    return _with_aliases(system, {name: value.unit for name, value in system.values.items() if value.unit})


@paused_collection()
def _units(system: System) -> dict[str, str]:
    """Return the unit of every value, also by its other names."""
    from bondgraph.assembly.implied_units import units_of

    return _with_aliases(system, units_of(system))
