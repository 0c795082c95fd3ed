"""Collisions that may happen together: what a unit impulse of each does to states, to the flows of all, and to guards.

The same matrix as for the impulse of one event (`impulses`), with the impulses of the constraints that collide as given numbers:
what is held by others stays held. The problem of their signs is left to the run (`bondgraph.run.switching.together`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.assembly.system import LoweredTransition, System
from bondgraph.tape.scalar import Tape
from bondgraph.tape.specialise import substitute
from bondgraph.tracing.impulses import Acting
from bondgraph.tracing.linear.indeterminate import Sampled
from bondgraph.tracing.linear.modewise import solve_in_modes
from bondgraph.tracing.linear.reactions import in_an_impulse
from bondgraph.tracing.values import partials, scalars_of


@dataclass(frozen=True)
class Colliding:
    """Constraints whose impacts are problems of signs: `constraints` by name, and of each its `bounces`, indices of events."""

    constraints: tuple[str, ...]
    bounces: tuple[tuple[int, ...], ...]


def colliding(system: System) -> Colliding | None:
    """The constraints of bounces: impacts of one scalar constraint, back into the same state, without other resets. None unless
    there are two."""
    scalar = {u.element for u in system.unknowns if not u.algebraic and system.values[u.value].shape == ()}
    bounces: dict[str, list[int]] = {}
    for index, event in enumerate(system.events):
        if _is_bounce(event) and event.impact[0] in scalar:
            bounces.setdefault(event.impact[0], []).append(index)
    if len(bounces) < 2:
        return None
    return Colliding(tuple(bounces), tuple(map(tuple, bounces.values())))


def _is_bounce(event: LoweredTransition) -> bool:
    plain = not event.resets and not event.error and not event.internal
    return plain and event.source == event.target and len(event.impact) == 1


def collision_table(
    system: System, tape: Tape, inputs: Mapping[str, np.ndarray], acting: Acting, chosen: Colliding, sampled: Sampled
) -> list[Any]:
    """For c constraints that collide, n states, k events and s powers, row by row: states per impulse (n, c), flows per impulse
    (c, c), pushes of guards per impulse (k, c), energies supplied per impulse (s, c), flows (c,), restitutions (c,).

    Raises
    ------
    SingularSystem, SingularMode
    """
    values, w = acting.values, list(acting.w)
    owners = [u for u in acting.unknowns for _ in range(len(scalars_of(values[u.residual])))]
    place = {name: next(k for k, u in enumerate(owners) if u.element == name) for name in chosen.constraints}
    unknown = {u.element: u for u in acting.unknowns}

    def still(scalars: Sequence[Any]) -> list[Any]:
        nothing = {scalar.index: tape.constant(0.0) for scalar in acting.w}
        return list(substitute(tape, [tape.scalar(s) for s in scalars], nothing))

    def slopes(names: Sequence[str]) -> dict[tuple[int, int], Any]:
        found = partials([s for name in names for s in scalars_of(values[name])], w)
        return dict(zip(found, still(list(found.values())), strict=True))

    given = set(place.values())
    rows = slopes([u.residual for u in acting.unknowns])
    entries = {key: value for key, value in rows.items() if key[0] not in given and value.value != 0.0}
    entries |= {(k, k): tape.scalar(1.0) for k in given}
    states = partials(
        [s for state in system.states for s in scalars_of(values.get(state.rate, np.zeros(np.shape(state.initial))))], w
    )
    action = dict(zip(states, still(list(states.values())), strict=True))
    ideal = in_an_impulse(system, inputs, w, acting.unknowns, values, still, action)
    impulses = [
        solve_in_modes(system, tape, entries, [float(i == k) for i in range(len(w))], sampled, ideal).values
        for k in place.values()
    ]

    def per_impulse(matrix: Mapping[tuple[int, int], Any], count: int) -> list[Any]:
        table: list[list[Any]] = [[0.0] * len(impulses) for _ in range(count)]
        for (i, j), value in matrix.items():
            for c, column in enumerate(impulses):
                table[i][c] = table[i][c] + value * column[j]
        return [entry for row in table for entry in row]

    held = slopes([unknown[name].held for name in chosen.constraints])
    guards = slopes([event.guard for event in system.events if event.contradicting is None])  # those stand at the end
    powers = slopes([power.value for power in system.powers])
    supplied = {key: value for key, value in powers.items() if system.powers[key[0]].role == "supplied"}
    return [
        *per_impulse(action, len(inputs["x"])),
        *per_impulse(held, len(chosen.constraints)),
        *per_impulse(guards, len(system.events)),
        *per_impulse(supplied, len(system.powers)),
        *still([values[unknown[name].vanishing] for name in chosen.constraints]),
        *still([values[f"{name}.restitution"] for name in chosen.constraints]),
    ]
