"""Routines of a traced system: rates, guards, powers, outputs, resets and impulses on one tape, with expressions of parameters
hoisted, and the sparse Jacobian of the rates."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bondgraph.assembly.indeterminate import Indeterminate, IndeterminateCircuits
from bondgraph.assembly.system import LoweredTransition, System, Value
from bondgraph.tape.differentiate import compressed_columns, jacobian
from bondgraph.tape.routine import Alternatives, Routine
from bondgraph.tape.specialise import Code, SpecialisedRoutine, hoist, specialise
from bondgraph.tracing.evaluate import Traced, TraceObstacles, break_loops, evaluate_system
from bondgraph.tracing.events.collisions import colliding, collision_table
from bondgraph.tracing.events.impulses import can_respond, events_with_impulse, impulse_of, sharing_events
from bondgraph.tracing.events.painleve import paradoxes
from bondgraph.tracing.linear.ideal_reactions import reaction_names
from bondgraph.tracing.linear.modewise import in_modes
from bondgraph.tracing.linear.self_stresses import SelfStresses
from bondgraph.tracing.on_tape.context import TracingContext, context_of
from bondgraph.tracing.on_tape.values import scalars_of
from bondgraph.tracing.singular_messages import mode_in_words, refusing, suspects
from screws.scalars import equal, where


def values_on_tape(system: System) -> Traced:
    """Evaluate all statements on tape scalars, breaking loops as often as needed.

    Events that end a run, added by an earlier trace, are removed and determined again.
    """
    ends = {event.guard for event in system.events if event.added_by_tracing}
    events = tuple(event for event in system.events if not event.added_by_tracing)
    system = replace(system, events=events, values={name: value for name, value in system.values.items() if name not in ends})
    traced = evaluate_system(context_of(system))
    while isinstance(traced, TraceObstacles):
        system = break_loops(system, traced)
        traced = evaluate_system(context_of(system))
    return _completed(traced)


def _completed(traced: Traced) -> Traced:
    context, system = traced.context, traced.context.system
    values = {name: replace(value, shape=np.shape(traced.values[name])) for name, value in system.values.items()}
    indices, shrunk = system.places, context.sampled.shrunk
    states = tuple(replace(s, initial=s.initial * shrunk.get(next(iter(indices[s.name]), -1), 1.0)) for s in system.states)
    ends = [*([] if traced.acting is None else paradoxes(context, traced.acting)), *_contradictions(traced)]
    shares = tuple(
        Indeterminate(
            mode.names,
            mode.slots,
            reaction_names(context, mode.shared.elements, mode.slots),
            mode.shared.is_motion_unique,
            mode.shared.contradiction is not None,
        )
        for mode in traced.modes
    )
    circuits = tuple(_indeterminate_circuits(context, stresses) for stresses in traced.stresses)
    sized = {newton.loop.start: newton for newton in traced.newton_iterations}
    system = replace(
        system,
        loops=tuple(
            replace(loop, sizes=sized[loop.start].sizes, weights=sized[loop.start].weights) if loop.start in sized else loop
            for loop in system.loops
        ),
        values=values | {event.guard: Value(()) for event, _ in ends},
        states=states,
        boxes=tuple(box.layout for box in traced.boxes),
        closing=None if traced.closures is None else traced.closures.closing,
        events=(*system.events, *(event for event, _ in ends)),
        indeterminate=(*system.indeterminate, *(share for share in shares if share not in system.indeterminate), *circuits),
    )
    guards = {event.guard: guard for event, guard in ends}
    return replace(traced, context=replace(context, system=system), values=traced.values | guards)


def _indeterminate_circuits(context: TracingContext, stresses: SelfStresses) -> IndeterminateCircuits:
    rows = [k for k, row in enumerate(stresses.basis) if np.any(row)]
    gates, elements = stresses.gates, stresses.elements
    held = [{gates[k].slot: gates[k].active[0]} if k in gates else {} for k in rows]
    names = [reaction_names(context, [elements[k]], mode)[0] if k in elements else "" for k, mode in zip(rows, held, strict=True)]
    holding = [(gates[k].slot, gates[k].active) if k in gates else None for k in rows]
    return IndeterminateCircuits(stresses.basis[rows], tuple(holding), tuple(names))


def _contradictions(traced: Traced) -> list[tuple[LoweredTransition, Any]]:
    ends, signals = [], list(traced.context.system.modes.values())
    for k, mode in enumerate(traced.modes):
        shared = mode.shared
        if (shared.is_motion_unique and shared.contradiction is None) or shared.singular is None or traced.acting is None:
            continue
        slot, state = next(iter(mode.slots.items()))
        wrong = 1.0 if not shared.is_motion_unique else shared.contradiction
        elements = tuple(dict.fromkeys((*suspects(shared.singular, traced.acting.owners), *shared.elements)))
        event = LoweredTransition(
            signals[slot].automaton,
            slot,
            state,
            state,
            f":contradiction {k}",
            (),
            "no solution",
            False,
            None,
            contradicting=(elements, mode_in_words(mode.names)),
        )
        ends.append((event, where(in_modes(traced.context.inputs["m"], mode.slots), wrong, -1.0)))
    return ends


Pattern = tuple[np.ndarray, np.ndarray]


def trace(system: System) -> tuple[dict[str, Code], System, Pattern]:
    routines, system, differentiate = trace_for_runs(system)
    routines["jacobian"], pattern = differentiate()
    return routines, system, pattern


def trace_for_runs(
    system: System, inspect: Callable[[Traced], None] | None = None
) -> tuple[dict[str, Code], System, Callable[[], tuple[Routine, Pattern]]]:
    """Trace the routines of a system without its Jacobian, which some runs do not need and which may take longer than all other
    routines.

    Returns the routines by name (blocks t, x, p, m; `prepare` has only p), the system with all shapes, and a function that
    builds the routine `jacobian` with its sparsity pattern. `inspect` is called first with the traced values, and may refuse
    them.
    """
    traced = values_on_tape(system)
    if inspect is not None:
        inspect(traced)
    system, outputs = traced.context.system, outputs_of(traced)
    hoisted = hoist(traced.context.tape, [scalar for group in outputs.values() for scalar in group])
    routines: dict[str, Code] = {**hoisted.routines({name: len(group) for name, group in outputs.items()})}
    routines |= _specialised_impulses(traced, routines)
    rates = routines["rates"]
    assert isinstance(rates, Routine)
    for name in routines.keys() & {"rates", "rates_and_powers"}:
        routines[name] = _by_chart(system, routines[name])
    return routines, system, functools.partial(_differentiated, rates)


def outputs_of(traced: Traced) -> dict[str, list[Any]]:
    context, system, values, m = traced.context, traced.context.system, traced.values, traced.context.inputs["m"]

    def states(changed: Iterable[tuple[str, str]]) -> list[Any]:
        after = dict(changed)
        return [scalar for s in system.states for scalar in scalars_of(values[after.get(s.name, s.name)])]

    outputs: dict[str, list[Any]] = {
        "rates": [scalar for s in system.states for scalar in scalars_of(values[s.rate])],
        "guards": [where(equal(m[e.slot], float(e.source)), values[e.guard], -1.0) for e in system.events],
        "powers": [values[power.value] for power in system.powers],
        "energies": [values[value] for _, value in system.energies],
        "outputs": [scalar for name in output_names(system) for scalar in scalars_of(values[name])],
    }
    for index, newton in enumerate(traced.newton_iterations):
        outputs[f"newton_{index}"] = [*newton.first_residuals, *newton.first_step]
    if traced.closures is not None:
        outputs["closures"] = list(traced.closures.scalars)
        outputs["closing_flows"] = list(traced.closures.flows)
        outputs["closing_matrix"] = list(traced.closures.matrix)
    if traced.boxes:
        outputs["boxes"] = [scalar for box in traced.boxes for scalar in box.scalars]
    if outputs["rates"]:  # without states there are only the powers
        outputs["rates_and_powers"] = outputs["rates"] + outputs["powers"]
    jumping, shared = _jumping(traced)

    def impulse(event: LoweredTransition | None, before: list[Any], words: Sequence[str]) -> dict[str, list[Any]]:
        assert traced.acting is not None
        with refusing(system, system.unknowns):
            result = impulse_of(context, traced.acting, event, before)
        parts = {words[0]: result.after}
        if any(context.tape.scalar(push).value != 0.0 for push in result.pushes):
            parts[words[1]] = [*result.pushes, *before]
        if any(context.tape.scalar(energy).value != 0.0 for energy in result.supplied):
            parts[words[2]] = result.supplied
        return parts

    outputs |= impulse(None, states(()), IMPULSE_ROUTINES) if shared else {}
    for index, event in enumerate(system.events):
        if index in jumping and index not in shared:
            outputs |= impulse(event, states(event.resets), [f"{word}_{index}" for word in IMPULSE_ROUTINES])
        elif event.resets:
            outputs[f"reset_{index}"] = states(event.resets)
    simultaneous = colliding(system)
    if simultaneous is not None and traced.acting is not None:
        table = collision_table(context, traced.acting, simultaneous)
        outputs |= {"collisions": table} if table else {}
    for index, clock in enumerate(system.clocks):
        if clock.updates:
            outputs[f"tick_{index}"] = states(clock.updates)
    return outputs


IMPULSE_ROUTINES = ("reset", "push", "supply")
"""Names of the routines of an event's impulse: states after it, changes of guards with the states before, energies of sources."""


def _jumping(traced: Traced) -> tuple[frozenset[int], frozenset[int]]:
    if traced.acting is None:
        return frozenset(), frozenset()
    events = events_with_impulse(traced.context, traced.acting)
    return frozenset(events), frozenset(sharing_events(traced.context, traced.acting, events))


def _specialised_impulses(traced: Traced, routines: Mapping[str, Code]) -> dict[str, Code]:
    specialised, events = dict[str, Code](), traced.context.system.events
    for index in sorted(_jumping(traced)[1]):
        event = events[index]
        zeros = tuple(k for k, other in enumerate(events) if can_respond(other, None) and not can_respond(other, event))
        for word in IMPULSE_ROUTINES:
            shared = routines.get(word)
            if isinstance(shared, Routine):
                after, name = (event.slot, float(event.target)), f"{word}_{index}"
                specialised[name] = SpecialisedRoutine(name, shared, "m", after, zeros if word == "push" else ())
    return specialised


def _differentiated(rates: Routine) -> tuple[Routine, Pattern]:
    derivatives = jacobian(rates.outputs, list(rates.tape.inputs("x", dict(rates.blocks)["x"])))
    return Routine("jacobian", rates.tape, rates.blocks, derivatives.values), compressed_columns(derivatives)


MAX_CHARTS = 8


def _by_chart(system: System, routine: Code) -> Code:
    """Return a routine with separate code for each combination of internal modes (charts), so that charts cost nothing at run
    time; above `MAX_CHARTS` combinations, return the routine unchanged."""
    internal = {e.slot for e in system.events if e.internal}
    slots = tuple(sorted(internal - {e.slot for e in system.events if not e.internal}))
    counts = tuple(len(mode.states) for mode in system.modes.values() if mode.slot in slots)
    if not slots or int(np.prod(counts)) > MAX_CHARTS or not isinstance(routine, Routine):
        return routine
    cases = []
    for values in itertools.product(*(range(count) for count in counts)):
        fixed = {("m", slot): float(value) for slot, value in zip(slots, values, strict=True)}
        outputs = specialise(routine.tape, routine.outputs, fixed)
        name = "_".join([routine.name, *map(str, values)])
        cases.append(Routine(name, routine.tape, routine.blocks, outputs))
    return Alternatives(routine.name, "m", slots, counts, tuple(cases), routine)


def output_names(system: System) -> list[str]:
    inputs = {s.name for s in system.states} | set(system.parameters) | set(system.modes) | {"time"}
    torn = {unknown.value for loop in system.loops for unknown in loop.unknowns}
    return [name for name in system.values if name not in inputs and (name in torn or not name.startswith("-"))]
