"""Reactions of ideal elements: what the unknowns of an implicit system mean, along the motion and in an impulse."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from bondgraph.assembly.system import Statement, System, Unknown
from bondgraph.model.ops import Choice
from bondgraph.tape.differentiate import jacobian
from bondgraph.tape.scalar import Tape
from bondgraph.tape.specialise import substitute
from bondgraph.tracing.jumps import jumps
from bondgraph.tracing.linear.indeterminate import Derived, Ideal, IdealReaction
from bondgraph.tracing.values import Entries, Values, partials, scalars_of
from screws.scalars import maximum

Evaluated = Callable[[Sequence[Any]], Sequence[Any]]
"""Scalars in terms of the unknowns w -> the same at w = 0 (of an impulse: at the states before it, in the modes after it)."""


def along_the_motion(
    system: System,
    tape: Tape,
    inputs: Mapping[str, np.ndarray],
    w: Sequence[Any],
    unknowns: Sequence[Unknown],
    env: Values,
    held: Collection[int],
) -> Ideal:
    """What unknowns w mean, from all values in terms of them. `held` are places of states that clocks change."""
    zero = _without(tape, w)
    moving = system.guesses
    rates: list[Any] = []
    for state in system.states:
        still = state.name in moving
        rates += [0.0] * int(np.size(state.initial)) if still else scalars_of(env[state.rate])
    along = [*inputs["x"], inputs["t"][0]]
    owners = _owners(unknowns, env)

    def derived(combinations: Sequence[Mapping[int, Any]], right: Sequence[Any]) -> Any:
        found: list[tuple[Mapping[int, Any], Any]] = []
        for combination, value in zip(combinations, right, strict=True):
            scalar = tape.scalar(value)
            alpha = _decay(env, [owners[i].element for i in combination])
            if alpha is None or jumps(tape, [scalar.index], held):
                found.append(({}, 0.0))
                continue
            slope: Any = alpha * scalar
            sparse = jacobian([scalar], along)
            for j, partial in zip(sparse.columns, sparse.values, strict=True):
                slope = slope + partial * (rates[j] if j < len(rates) else 1.0)
            entries = {j: entry for (_, j), entry in partials([slope], w).items()}
            found.append((entries, -zero([slope])[0]))
        return found

    positions = [h for u in unknowns if f"{u.element}.h" in env for h in scalars_of(env[f"{u.element}.h"])]
    demanded = _without(tape, [h for h in positions if tape.scalar(h).value is None])
    return _meaning(system, w, unknowns, env, zero, derived, demanded, partials(rates, w), motion=True)


def in_an_impulse(
    system: System,
    inputs: Mapping[str, np.ndarray],
    w: Sequence[Any],
    unknowns: Sequence[Unknown],
    env: Mapping[str, Any],
    at: Evaluated,
    action: Entries,
) -> Ideal:
    """What the integrals of unknowns w over an impulse mean; `action` is how they move the states, (state, unknown) -> scalar."""
    owners = _owners(unknowns, env)
    firsts = {id(u): owners.index(u) for u in unknowns}

    def derived(combinations: Sequence[Mapping[int, Any]], _: Sequence[Any]) -> Any:
        found: list[tuple[Mapping[int, Any], Any]] = []
        for combination in combinations:
            total: Any = 0.0
            for i, part in combination.items():
                u = owners[i]
                if not (u.algebraic and u.stopped):
                    break
                stopped = scalars_of(env[u.stopped])[i - firsts[id(u)]]
                total = total + part * env[f"{u.element}.alpha1"] * stopped
            else:
                sparse = jacobian([total], list(inputs["x"]))
                slopes = dict(zip(sparse.columns, at(list(sparse.values)), strict=True))
                row: dict[int, Any] = {}
                for (i, j), moved in action.items():
                    if i in slopes:
                        row[j] = row.get(j, 0.0) + slopes[i] * moved
                found.append((row, -at([total])[0]))
                continue
            found.append(({}, 0.0))
        return found

    return _meaning(system, w, unknowns, env, at, derived, list, action, motion=False)


def _meaning(
    system: System,
    w: Sequence[Any],
    unknowns: Sequence[Unknown],
    env: Mapping[str, Any],
    at: Evaluated,
    derived: Derived,
    demanded: Callable[[Sequence[Any]], Sequence[Any]],
    moves: Entries,
    motion: bool,
) -> Ideal:
    gates = _gates(system)
    reactions: list[IdealReaction] = []
    senses: dict[int, Any] = {}
    row = 0
    for u in unknowns:
        size = len(scalars_of(env[u.value]))
        gate = gates.get(u.residual)
        if u.held:
            reactions += _reactions(u, gate, w, env, at, motion)
            sense = u.sense if gate is None else gate.op(env[gate.args[0]], float(u.sense), 0.0)
            senses |= {row + k: at([sense])[0] for k in range(size)} if motion else {}
        row += size
    return Ideal(tuple(reactions), senses, moves, derived, demanded, motion)


def _reactions(
    u: Unknown, gate: Statement | None, w: Sequence[Any], env: Mapping[str, Any], at: Evaluated, motion: bool
) -> list[IdealReaction]:
    """While it holds what it gives is unknown; while a switch does not, what vanishes then is what it leaves open."""
    value, limits = env[u.value], None
    if gate is not None and gate.args[2] == u.value:
        if u.reason == "switch":
            value = gate.op(env[gate.args[0]], value, env[u.vanishing])
    elif gate is not None:
        limits = at(scalars_of(env[gate.args[2]]))
    scalars = scalars_of(value)
    slopes = partials(scalars, w)
    numbers = dict(zip(slopes, at(list(slopes.values())), strict=True))
    offsets = at(scalars) if motion else [0.0] * len(scalars)
    return [
        IdealReaction(
            u.element,
            {j: slope for (i, j), slope in numbers.items() if i == k},
            offsets[k],
            None if limits is None else limits[k],
        )
        for k in range(len(scalars))
    ]


def reaction_names(system: System, elements: Collection[str], modes: Mapping[int, int]) -> tuple[str, ...]:
    """What these elements give in a mode (slot -> state), by name: the effort of what holds, the flow of a closed switch."""
    gates, slots = _gates(system), list(system.modes)
    places = {slots[slot]: float(place) for slot, place in modes.items()}
    names = []
    for u in system.unknowns:
        if u.element in elements and u.held:
            gate, of_effort = gates.get(u.residual), system.resolve(f"{u.element}.effort") == u.value
            holds = gate is None or gate.args[0] not in places or bool(gate.op(places[gate.args[0]], 1.0, 0.0))
            names.append(f"{u.element}.{'effort' if of_effort == holds or u.reason == 'constraint' else 'flow'}")
    return tuple(names)


def _gates(system: System) -> dict[str, Statement]:
    """Residual -> the statement that chooses it by a mode: (mode, while it holds, while it does not)."""
    return {s.outs[0]: s for s in system.statements if isinstance(s.op, Choice)}


def _owners(unknowns: Sequence[Unknown], env: Mapping[str, Any]) -> list[Unknown]:
    return [u for u in unknowns for _ in scalars_of(env[u.value])]


def _decay(env: Mapping[str, Any], elements: Sequence[str]) -> Any:
    """The fastest of the elements' rates of decay, 1/s; None where none has one."""
    found: Any = None
    for element in dict.fromkeys(elements):
        own = env.get(f"{element}.alpha1")
        if own is not None:
            found = own if found is None else maximum(found, own)
    return found


def _without(tape: Tape, w: Sequence[Any]) -> Evaluated:
    places = {scalar.index: tape.constant(0.0) for scalar in w}
    return lambda scalars: substitute(tape, list(scalars), places)
