"""Tracing: sorted System -> routines on one tape, parameter work hoisted, with the sparsity of the Jacobian."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bondgraph.assembly.execute import environment
from bondgraph.assembly.system import Indeterminate, Loop, LoweredTransition, State, System, Value
from bondgraph.tape.differentiate import jacobian
from bondgraph.tape.hoist import hoist
from bondgraph.tape.routine import Alternatives, Routine
from bondgraph.tape.scalar import Tape
from bondgraph.tape.sparsity import compressed_columns
from bondgraph.tape.specialise import specialise
from bondgraph.tracing.collisions import colliding
from bondgraph.tracing.linear.modewise import chosen
from bondgraph.tracing.linear.reactions import reaction_names
from bondgraph.tracing.refusals import Unsolvable, mode_in_words
from bondgraph.tracing.sampling import samples_of
from bondgraph.tracing.values import scalars_of
from bondgraph.tracing.walk import Solver
from screws.scalars import equal, where


@dataclass(frozen=True)
class Traced:
    """A system on a tape: the input blocks t, x, p, m by name, and every value by name."""

    system: System
    """The system with all shapes known."""
    tape: Tape
    inputs: dict[str, np.ndarray]
    values: dict[str, Any]
    newton: list[list[Any]]
    """For every nonlinear loop: its residuals at the guesses, then the Newton step from there."""
    solver: Solver
    """What ran the statements; it also finds the impulses of events."""


def values_on_tape(system: System) -> Traced:
    """Run all statements on tape scalars; loops that turn out nonlinear get states to start Newton's method from."""
    while True:
        try:
            return _on_tape(system)
        except _Nonlinear as found:
            for loop in found.loops:
                system = _with_guesses(system, loop)
        except Unsolvable as stuck:
            eased = _with_algebraic(system, stuck)
            if eased is None:
                raise
            system = eased


class _Nonlinear(Exception):
    """Loops turned out nonlinear."""

    def __init__(self, loops: Iterable[Loop]):
        self.loops = tuple(loops)
        super().__init__(f"{len(self.loops)} loops")


def _with_algebraic(system: System, stuck: Unsolvable) -> System | None:
    """The system where what vanishes at a constraint or switch depends on the unknowns themselves, so that it need not be
    differentiated; None if that is not the trouble."""
    own = {u.element for u in system.unknowns if u.held and not u.algebraic}
    found = own & set(stuck.suspects)
    if stuck.reason != "index" or not found:
        return None
    unknowns = tuple(replace(u, algebraic=u.algebraic or u.element in found) for u in system.unknowns)
    return replace(system, unknowns=unknowns)


NEAR_REST = 1e-3
"""Where guesses begin: close to rest, yet where a curve that is flat at rest (a cube) has a slope."""


def _with_guesses(system: System, loop: Loop) -> System:
    """The system with a state for every unknown of a nonlinear loop."""
    values, states, names = dict(system.values), list(system.states), []
    for unknown in loop.unknowns:
        known = system.values[unknown.value]
        shape = known.shape or ()
        name = f"{unknown.value}~"
        values[name] = replace(known, name=name, symbol="")
        values[f"{name}'"] = replace(known, name=f"{name}'", symbol="", unit="")
        near = np.broadcast_to(NEAR_REST if known.near is None else known.near, shape).astype(float)
        spread = np.ones(shape) if known.near is None else np.maximum(np.abs(near), np.abs(near).max() * NEAR_REST)
        states.append(State(name, near, np.zeros(shape), f"{name}'", spread))
        names.append(name)
    loops = tuple(replace(other, guesses=tuple(names)) if other is loop else other for other in system.loops)
    return replace(system, values=values, states=tuple(states), loops=loops)


def _on_tape(system: System) -> Traced:
    tape = Tape()
    sizes = {
        "t": 1,
        "x": sum(int(np.size(s.initial)) for s in system.states),
        "p": sum(int(np.size(v)) for v in system.parameters.values()),
        "m": len(system.modes),
    }
    inputs = {name: tape.inputs(name, size) for name, size in sizes.items()}
    given = environment(system, inputs["t"][0], inputs["x"], inputs["p"], inputs["m"])
    solver = Solver(system, tape, inputs, samples_of(system) if system.loops or system.unknowns else ())
    try:
        env = solver.values(given)
    except Unsolvable:
        if not solver.nonlinear:  # else what is wrong may be so for want of guesses alone
            raise
    if solver.nonlinear:
        raise _Nonlinear(solver.nonlinear.values())
    values = {name: replace(value, shape=np.shape(env[name])) for name, value in system.values.items()}
    newton = [[*p.first_residuals, *p.first_step] for p in solver.pursuits[-_nonlinear(system) :]] if solver.pursuits else []
    places, shrunk = system.places, solver.sampled.shrunk
    states = tuple(replace(s, initial=s.initial * shrunk.get(next(iter(places[s.name]), -1), 1.0)) for s in system.states)
    closing = None if solver.closures is None else solver.closures.closing
    system = replace(system, values=values, states=states, closing=closing)
    contradictions = _contradictions(solver)
    env |= {event.guard: guard for event, guard in contradictions}
    ends = tuple(event for event, _ in contradictions)
    known = {event.guard: Value(event.guard, ()) for event in ends}
    shares = tuple(
        Indeterminate(
            mode.names,
            mode.places,
            reaction_names(system, mode.shared.elements, mode.places),
            mode.shared.decided,
            mode.shared.contradiction is not None,
        )
        for mode in solver.shared_modes
    )
    system = solver.system = replace(system, values=values | known, events=(*system.events, *ends), indeterminate=shares)
    return Traced(system, tape, inputs, env, newton, solver)


def _contradictions(solver: Solver) -> list[tuple[LoweredTransition, Any]]:
    """Ends of a run in modes whose equations may have no solution, after all other events, with their guards."""
    found, modes, m = [], list(solver.system.modes), solver.inputs["m"]
    for k, mode in enumerate(solver.shared_modes):
        shared = mode.shared
        if (shared.decided and shared.contradiction is None) or shared.singular is None:
            continue
        slot, place = next(iter(mode.places.items()))
        wrong = 1.0 if not shared.decided else shared.contradiction
        elements = tuple(dict.fromkeys((*solver.elements_of(shared.singular), *shared.elements)))
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
        found.append((event, where(chosen(m, mode.places), wrong, -1.0)))
    return found


def _nonlinear(system: System) -> int:
    return sum(bool(loop.guesses) for loop in system.loops)


Pattern = tuple[np.ndarray, np.ndarray]
"""Sparsity of a matrix in compressed columns: (indptr, indices)."""


def trace(system: System) -> tuple[dict[str, Routine | Alternatives], System, Pattern]:
    """All routines of a system by name, the system with all shapes known, and the sparsity of the Jacobian."""
    routines, system, differentiate = trace_for_runs(system)
    routines["jacobian"], pattern = differentiate()
    return routines, system, pattern


def trace_for_runs(
    system: System, inspect: Callable[[Traced], None] | None = None
) -> tuple[dict[str, Routine | Alternatives], System, Callable[[], tuple[Routine, Pattern]]]:
    """Routines of a system without its Jacobian, which not every run needs and which may take longer than all others.

    Returns the routines by name (blocks t, x, p, m; `prepare` has p alone), the system with all shapes known, and what
    makes the routine `jacobian` with its sparsity. `inspect` sees the traced values first, and may refuse them.
    """
    traced = values_on_tape(system)
    if inspect is not None:
        inspect(traced)
    system, tape, env = traced.system, traced.tape, traced.values
    p, m = traced.inputs["p"], traced.inputs["m"]

    rates = [scalar for s in system.states for scalar in scalars_of(env[s.rate])]
    outputs: dict[str, list[Any]] = {
        "rates": rates,
        "guards": [where(equal(m[e.slot], float(e.source)), env[e.guard], -1.0) for e in system.events],
        "powers": [env[power.value] for power in system.powers],
        "energies": [env[value] for _, value in system.energies],
        "outputs": [scalar for name in output_names(system) for scalar in scalars_of(env[name])],
    }
    for index, scalars in enumerate(traced.newton):
        outputs[f"newton_{index}"] = scalars
    if traced.solver.closures is not None:
        outputs["closures"] = list(traced.solver.closures.scalars)
    outputs["rates_and_powers"] = outputs["rates"] + outputs["powers"]
    for index, event in enumerate(system.events):
        if event.resets or traced.solver.is_impulse(event):
            after = dict(event.resets)
            jumped = [scalar for s in system.states for scalar in scalars_of(env[after.get(s.name, s.name)])]
            impulse = traced.solver.impulse(event, jumped)
            outputs[f"reset_{index}"] = impulse.after
            if any(tape.scalar(push).value != 0.0 for push in impulse.pushes):
                outputs[f"push_{index}"] = [*impulse.pushes, *jumped]
            if any(tape.scalar(energy).value != 0.0 for energy in impulse.supplied):
                outputs[f"supply_{index}"] = impulse.supplied
    together = colliding(system)
    if together is not None and (table := traced.solver.collisions(together)):
        outputs["collisions"] = table
    for index, clock in enumerate(system.clocks):
        if clock.updates:
            ticked = dict(clock.updates)
            outputs[f"tick_{index}"] = [scalar for s in system.states for scalar in scalars_of(env[ticked.get(s.name, s.name)])]
    everything = [scalar for group in outputs.values() for scalar in group]
    hoisted = hoist(tape, everything)
    blocks = tuple((name, hoisted.tape.blocks[name]) for name in ("t", "x", "p", "m"))
    routines: dict[str, Routine | Alternatives] = {"prepare": Routine("prepare", tape, (("p", len(p)),), hoisted.prepared)}
    start = 0
    for name, group in outputs.items():
        routines[name] = Routine(name, hoisted.tape, blocks, hoisted.outputs[start : start + len(group)])
        start += len(group)
    plain = routines["rates"]
    assert isinstance(plain, Routine)
    for name in ("rates", "rates_and_powers"):
        routines[name] = _by_chart(system, routines[name])
    return routines, system, functools.partial(_differentiated, plain)


def _differentiated(rates: Routine) -> tuple[Routine, Pattern]:
    """The Jacobian of the rates with respect to the states, nonzeros by columns."""
    derivatives = jacobian(rates.outputs, list(rates.tape.inputs("x", dict(rates.blocks)["x"])))
    return Routine("jacobian", rates.tape, rates.blocks, derivatives.values), compressed_columns(derivatives)


CASES = 8
"""At most so many combinations of internal modes get code of their own."""


def _by_chart(system: System, routine: Routine | Alternatives) -> Routine | Alternatives:
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
