"""Reactions of ideal elements: what the unknowns of an implicit system mean, along the motion and in an impulse."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from bondgraph.assembly.system import Statement, Unknown
from bondgraph.tape.differentiate import jacobian
from bondgraph.tracing.linear.ideal import Derived, Ideal, IdealReaction
from bondgraph.tracing.on_tape.context import Acting, Ground, along
from bondgraph.tracing.on_tape.jumps import jumps
from bondgraph.tracing.on_tape.values import Entries, Values, partials, scalars_of, through
from screws.scalars import maximum

Evaluated = Callable[[Sequence[Any]], Sequence[Any]]
"""Scalars in terms of the unknowns w -> the same at w = 0 (of an impulse: at the states before it, in the modes after it)."""


def along_the_motion(ground: Ground, acting: Acting) -> Ideal:
    """What the unknowns mean along the motion."""
    values, owners = acting.values, acting.owners
    zero = functools.partial(ground.without, acting.w)
    rates = ground.rates(values)

    def derived(combinations: Sequence[Mapping[int, Any]], right: Sequence[Any]) -> Any:
        found: list[tuple[Mapping[int, Any], Any]] = []
        for combination, value in zip(combinations, right, strict=True):
            scalar = ground.tape.scalar(value)
            alpha = _decay(values, [owners[i].element for i in combination])
            if alpha is None or jumps(ground, [scalar]):
                found.append(({}, 0.0))
                continue
            slope = along(ground.slopes([scalar]), rates, [alpha * scalar])
            entries = {j: entry for (_, j), entry in partials(slope, acting.w).items()}
            found.append((entries, -zero(slope)[0]))
        return found

    positions = [h for u in ground.system.unknowns if f"{u.element}.h" in values for h in scalars_of(values[f"{u.element}.h"])]
    demanded = functools.partial(ground.without, [h for h in positions if ground.tape.scalar(h).value is None])
    return _meaning(ground, acting, zero, derived, demanded, partials(rates, acting.w), motion=True)


def in_an_impulse(ground: Ground, acting: Acting, at: Evaluated, action: Entries) -> Ideal:
    """What the integrals of the unknowns over an impulse mean; `action` is how they move states: (state, unknown) -> scalar."""
    owners = acting.owners

    def derived(combinations: Sequence[Mapping[int, Any]], _: Sequence[Any]) -> Any:
        found: list[tuple[Mapping[int, Any], Any]] = []
        for combination in combinations:
            if not all(owners[i].algebraic and owners[i].stopped for i in combination):
                found.append(({}, 0.0))
                continue
            total: Any = 0.0
            for i, part in combination.items():
                stopped = scalars_of(acting.values[owners[i].stopped])[i - owners.index(owners[i])]
                total = total + part * acting.values[f"{owners[i].element}.alpha1"] * stopped
            sparse = jacobian([total], list(ground.inputs["x"]))
            slopes = dict(zip(sparse.columns, at(list(sparse.values)), strict=True))
            row: dict[int, Any] = {}
            for (i, j), moved in action.items():
                if i in slopes:
                    row[j] = row.get(j, 0.0) + slopes[i] * moved
            found.append((row, -at([total])[0]))
        return found

    return _meaning(ground, acting, at, derived, list, action, motion=False)


def _meaning(
    ground: Ground,
    acting: Acting,
    at: Evaluated,
    derived: Derived,
    demanded: Callable[[Sequence[Any]], Sequence[Any]],
    moves: Entries,
    motion: bool,
) -> Ideal:
    values = acting.values
    reactions: list[IdealReaction] = []
    senses: dict[int, Any] = {}
    row = 0
    for u in ground.system.unknowns:
        size = len(scalars_of(values[u.value]))
        gate = ground.stages.gates.get(u.residual)
        if u.held:
            reactions += _reactions(u, gate, acting, at, motion)
            sense = u.sense if gate is None else gate.op(values[gate.args[0]], float(u.sense), 0.0)
            senses |= {row + k: at([sense])[0] for k in range(size)} if motion else {}
        row += size
    return Ideal(tuple(reactions), senses, moves, derived, demanded, motion)


def _reactions(u: Unknown, gate: Statement | None, acting: Acting, at: Evaluated, motion: bool) -> list[IdealReaction]:
    """While it holds what it gives is unknown; while a switch does not, what vanishes then is what it leaves open."""
    values = acting.values
    value, limits = values[u.value], None
    if gate is not None and gate.args[2] == u.value:
        if u.reason == "switch":
            value = gate.op(values[gate.args[0]], value, values[u.vanishing])
    elif gate is not None:
        limits = at(scalars_of(values[gate.args[2]]))
    scalars = scalars_of(value)
    numbers = through(at, partials(scalars, acting.w))
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


def reaction_names(ground: Ground, elements: Collection[str], modes: Mapping[int, int]) -> tuple[str, ...]:
    """What these elements give in a mode (slot -> state), by name: the effort of what holds, the flow of a closed switch."""
    system, gates, slots = ground.system, ground.stages.gates, list(ground.system.modes)
    places = {slots[slot]: float(place) for slot, place in modes.items()}
    names = []
    for u in system.unknowns:
        if u.element in elements and u.held:
            gate, of_effort = gates.get(u.residual), system.resolve(f"{u.element}.effort") == u.value
            holds = gate is None or gate.args[0] not in places or bool(gate.op(places[gate.args[0]], 1.0, 0.0))
            names.append(f"{u.element}.{'effort' if of_effort == holds or u.reason == 'constraint' else 'flow'}")
    return tuple(names)


def _decay(values: Values, elements: Sequence[str]) -> Any:
    """The fastest of the elements' rates of decay, 1/s; None where none has one."""
    own = [values[name] for element in dict.fromkeys(elements) if (name := f"{element}.alpha1") in values]
    return functools.reduce(maximum, own) if own else None
