"""Tracing: sorted System -> routines on one tape, parameter work hoisted, with the sparsity of the Jacobian."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bondgraph.assembly.system import Indeterminate, LoweredTransition, System, Value
from bondgraph.tape.differentiate import compressed_columns, jacobian
from bondgraph.tape.routine import Alternatives, Routine
from bondgraph.tape.specialise import Code, SpecialisedRoutine, hoist, specialise
from bondgraph.tracing.evaluate import Traced, walked
from bondgraph.tracing.instants.collisions import colliding, collision_table
from bondgraph.tracing.instants.impulses import alike, answers, impulse_of, impulsive
from bondgraph.tracing.instants.painleve import paradoxes
from bondgraph.tracing.linear.modewise import chosen
from bondgraph.tracing.linear.reactions import reaction_names
from bondgraph.tracing.loop_breaking import Snags, eased
from bondgraph.tracing.on_tape.context import ground_of
from bondgraph.tracing.on_tape.values import scalars_of
from bondgraph.tracing.singular_messages import mode_in_words, refusing, suspects
from screws.scalars import equal, where


def values_on_tape(system: System) -> Traced:
    """Run all statements on tape scalars; what is in the way of that is eased first. Ends of a run that an earlier trace has
    found are found anew."""
    ends = {event.guard for event in system.events if event.found}
    events = tuple(event for event in system.events if not event.found)
    system = replace(system, events=events, values={name: value for name, value in system.values.items() if name not in ends})
    found = walked(ground_of(system))
    while isinstance(found, Snags):
        system = eased(system, found)
        found = walked(ground_of(system))
    return _completed(found)


def _completed(traced: Traced) -> Traced:
    """With all shapes known, and the ends of a run in modes without a solution after all other events."""
    ground, system = traced.ground, traced.ground.system
    values = {name: replace(value, shape=np.shape(traced.values[name])) for name, value in system.values.items()}
    places, shrunk = system.places, ground.sampled.shrunk
    states = tuple(replace(s, initial=s.initial * shrunk.get(next(iter(places[s.name]), -1), 1.0)) for s in system.states)
    ends = [*([] if traced.acting is None else paradoxes(ground, traced.acting)), *_contradictions(traced)]
    shares = tuple(
        Indeterminate(
            mode.names,
            mode.places,
            reaction_names(ground, mode.shared.elements, mode.places),
            mode.shared.decided,
            mode.shared.contradiction is not None,
        )
        for mode in traced.modes
    )
    system = replace(
        system,
        values=values | {event.guard: Value(()) for event, _ in ends},
        states=states,
        closing=None if traced.closures is None else traced.closures.closing,
        events=(*system.events, *(event for event, _ in ends)),
        indeterminate=shares,
    )
    guards = {event.guard: guard for event, guard in ends}
    return replace(traced, ground=replace(ground, system=system), values=traced.values | guards)


def _contradictions(traced: Traced) -> list[tuple[LoweredTransition, Any]]:
    """Ends of a run in modes whose equations may have no solution, with their guards."""
    found, modes = [], list(traced.ground.system.modes)
    for k, mode in enumerate(traced.modes):
        shared = mode.shared
        if (shared.decided and shared.contradiction is None) or shared.singular is None or traced.acting is None:
            continue
        slot, place = next(iter(mode.places.items()))
        wrong = 1.0 if not shared.decided else shared.contradiction
        elements = tuple(dict.fromkeys((*suspects(shared.singular, traced.acting.owners), *shared.elements)))
        event = LoweredTransition(
            modes[slot].removesuffix(".mode"),
            slot,
            place,
            place,
            f":contradiction {k}",
            (),
            "no solution",
            False,
            None,
            contradicting=(elements, mode_in_words(mode.names)),
        )
        found.append((event, where(chosen(traced.ground.inputs["m"], mode.places), wrong, -1.0)))
    return found


Pattern = tuple[np.ndarray, np.ndarray]
"""Sparsity of a matrix in compressed columns: (indptr, indices)."""


def trace(system: System) -> tuple[dict[str, Code], System, Pattern]:
    """All routines of a system by name, the system with all shapes known, and the sparsity of the Jacobian."""
    routines, system, differentiate = trace_for_runs(system)
    routines["jacobian"], pattern = differentiate()
    return routines, system, pattern


def trace_for_runs(
    system: System, inspect: Callable[[Traced], None] | None = None
) -> tuple[dict[str, Code], System, Callable[[], tuple[Routine, Pattern]]]:
    """Routines of a system without its Jacobian, which not every run needs and which may take longer than all others.

    Returns the routines by name (blocks t, x, p, m; `prepare` has p alone), the system with all shapes known, and what
    makes the routine `jacobian` with its sparsity. `inspect` sees the traced values first, and may refuse them.
    """
    traced = values_on_tape(system)
    if inspect is not None:
        inspect(traced)
    system, tape, p = traced.ground.system, traced.ground.tape, traced.ground.inputs["p"]
    outputs = outputs_of(traced)
    everything = [scalar for group in outputs.values() for scalar in group]
    hoisted = hoist(tape, everything)
    blocks = tuple((name, hoisted.tape.blocks[name]) for name in ("t", "x", "p", "m"))
    routines: dict[str, Code] = {"prepare": Routine("prepare", tape, (("p", len(p)),), hoisted.prepared)}
    start = 0
    for name, group in outputs.items():
        routines[name] = Routine(name, hoisted.tape, blocks, hoisted.outputs[start : start + len(group)])
        start += len(group)
    routines |= _presets(traced, routines)
    plain = routines["rates"]
    assert isinstance(plain, Routine)
    for name in ("rates", "rates_and_powers"):
        routines[name] = _by_chart(system, routines[name])
    return routines, system, functools.partial(_differentiated, plain)


def outputs_of(traced: Traced) -> dict[str, list[Any]]:
    """The scalars of every routine by its name."""
    ground, system, values, m = traced.ground, traced.ground.system, traced.values, traced.ground.inputs["m"]

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
    for index, pursuit in enumerate(traced.pursuits):
        outputs[f"newton_{index}"] = [*pursuit.first_residuals, *pursuit.first_step]
    if traced.closures is not None:
        outputs["closures"] = list(traced.closures.scalars)
        outputs["closing_flows"] = list(traced.closures.flows)
        outputs["closing_matrix"] = list(traced.closures.matrix)
    outputs["rates_and_powers"] = outputs["rates"] + outputs["powers"]
    jumping, shared = _jumping(traced)

    def impulse(event: LoweredTransition | None, before: list[Any], words: Sequence[str]) -> dict[str, list[Any]]:
        assert traced.acting is not None
        with refusing(system, system.unknowns):
            found = impulse_of(ground, traced.acting, event, before)
        parts = {words[0]: found.after}
        if any(ground.tape.scalar(push).value != 0.0 for push in found.pushes):
            parts[words[1]] = [*found.pushes, *before]
        if any(ground.tape.scalar(energy).value != 0.0 for energy in found.supplied):
            parts[words[2]] = found.supplied
        return parts

    outputs |= impulse(None, states(()), JUMPS) if shared else {}
    for index, event in enumerate(system.events):
        if index in jumping and index not in shared:
            outputs |= impulse(event, states(event.resets), [f"{word}_{index}" for word in JUMPS])
        elif event.resets:
            outputs[f"reset_{index}"] = states(event.resets)
    together = colliding(system)
    if together is not None and traced.acting is not None:
        table = collision_table(ground, traced.acting, together)
        outputs |= {"collisions": table} if table else {}
    for index, clock in enumerate(system.clocks):
        if clock.updates:
            outputs[f"tick_{index}"] = states(clock.updates)
    return outputs


JUMPS = ("reset", "push", "supply")
"""What the impulse of an event gives, by the first word of its routines."""


def _jumping(traced: Traced) -> tuple[frozenset[int], frozenset[int]]:
    """Events with an impulse, by number, and those of them that share one."""
    if traced.acting is None:
        return frozenset(), frozenset()
    found = impulsive(traced.ground, traced.acting)
    return frozenset(found), frozenset(alike(traced.ground, traced.acting, found))


def _presets(traced: Traced, routines: Mapping[str, Code]) -> dict[str, Code]:
    """Routines of the events that share an impulse: it, in the modes after the event."""
    found, events = dict[str, Code](), traced.ground.system.events
    for index in sorted(_jumping(traced)[1]):
        event = events[index]
        own = tuple(k for k, other in enumerate(events) if answers(other, None) and not answers(other, event))
        for word in JUMPS:
            shared = routines.get(word)
            if isinstance(shared, Routine):
                after, name = (event.slot, float(event.target)), f"{word}_{index}"
                found[name] = SpecialisedRoutine(name, shared, "m", after, own if word == "push" else ())
    return found


def _differentiated(rates: Routine) -> tuple[Routine, Pattern]:
    """The Jacobian of the rates with respect to the states, nonzeros by columns."""
    derivatives = jacobian(rates.outputs, list(rates.tape.inputs("x", dict(rates.blocks)["x"])))
    return Routine("jacobian", rates.tape, rates.blocks, derivatives.values), compressed_columns(derivatives)


CASES = 8
"""At most so many combinations of internal modes get code of their own."""


def _by_chart(system: System, routine: Code) -> Code:
    """Code of its own for every combination of internal modes (charts), which then costs nothing at run time.

    Two closed surfaces in contact have four combinations; measured, the two-egg model gains a sixth.
    """
    internal = {e.slot for e in system.events if e.internal}
    slots = tuple(sorted(internal - {e.slot for e in system.events if not e.internal}))
    counts = tuple(len(states) for slot, (states, _) in enumerate(system.modes.values()) if slot in slots)
    if not slots or int(np.prod(counts)) > CASES or not isinstance(routine, Routine):
        return routine
    cases = []
    for values in itertools.product(*(range(count) for count in counts)):
        fixed = {("m", slot): float(value) for slot, value in zip(slots, values, strict=True)}
        outputs = specialise(routine.tape, routine.outputs, fixed)
        name = "_".join([routine.name, *map(str, values)])
        cases.append(Routine(name, routine.tape, routine.blocks, outputs))
    return Alternatives(routine.name, "m", slots, counts, tuple(cases), routine)


def output_names(system: System) -> list[str]:
    """Values that are worth a place in the results: all but states, parameters, modes and what is only a sign turned round."""
    given = {s.name for s in system.states} | set(system.parameters) | set(system.modes) | {"time"}
    torn = {unknown.value for loop in system.loops for unknown in loop.unknowns}
    return [name for name in system.values if name not in given and (name in torn or not name.startswith("-"))]
