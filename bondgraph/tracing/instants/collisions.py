"""Collisions that may happen together: what a unit impulse of each does to states, to the flows of all, and to guards.

The same matrix as for the impulse of one event (`impulses`), with the impulses of the constraints that collide as given numbers:
what is held by others stays held. The problem of their signs is left to the run (`bondgraph.run.switching.together`).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bondgraph.assembly.system import LoweredTransition, System
from bondgraph.tracing.linear.modewise import SingularMode, solve_in_modes
from bondgraph.tracing.linear.reactions import in_an_impulse
from bondgraph.tracing.linear.solve import SingularSystem
from bondgraph.tracing.on_tape.ground import Acting, Ground
from bondgraph.tracing.on_tape.values import nonzero, partials, scalars_of, through


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
    return plain and event.stays and len(event.impact) == 1


def collision_table(ground: Ground, acting: Acting, chosen: Colliding) -> list[Any]:
    """For c constraints that collide, n states, k events and s powers, row by row: states per impulse (n, c), flows per impulse
    (c, c), pushes of guards per impulse (k, c), energies supplied per impulse (s, c), flows (c,), restitutions (c,). Empty where
    there is none, for what the others hold is singular.
    """
    system, values, w = ground.system, acting.values, list(acting.w)
    place = {name: next(k for k, u in enumerate(acting.owners) if u.element == name) for name in chosen.constraints}
    unknown = {u.element: u for u in system.unknowns}
    still = functools.partial(ground.without, w)

    def slopes(scalars: Sequence[Any]) -> dict[tuple[int, int], Any]:
        return through(still, partials(scalars, w))

    def of(names: Sequence[str]) -> list[Any]:
        return [scalar for name in names for scalar in scalars_of(values[name])]

    given = set(place.values())
    rows = slopes(of([u.residual for u in system.unknowns]))
    entries = {key: value for key, value in nonzero(rows).items() if key[0] not in given}
    entries |= {(k, k): ground.tape.scalar(1.0) for k in given}
    action = slopes(ground.rates(values))
    ideal = in_an_impulse(ground, acting, still, action)
    try:
        impulses = [solve_in_modes(ground, entries, [float(i == k) for i in range(len(w))], ideal).values for k in place.values()]
    except (SingularSystem, SingularMode):
        return []

    def per_impulse(matrix: Mapping[tuple[int, int], Any], count: int) -> list[Any]:
        table: list[list[Any]] = [[0.0] * len(impulses) for _ in range(count)]
        for (i, j), value in matrix.items():
            for c, column in enumerate(impulses):
                table[i][c] = table[i][c] + value * column[j]
        return [entry for row in table for entry in row]

    held = slopes(of([unknown[name].held for name in chosen.constraints]))
    guards = slopes(of([event.guard for event in system.events if not event.found]))  # those stand at the end
    powers = slopes(of([power.value for power in system.powers]))
    supplied = {key: value for key, value in powers.items() if system.powers[key[0]].role == "supplied"}
    numbers = of([unknown[name].vanishing for name in chosen.constraints])
    numbers += [values[f"{name}.restitution"] for name in chosen.constraints]
    return [
        *per_impulse(action, len(ground.inputs["x"])),
        *per_impulse(held, len(chosen.constraints)),
        *per_impulse(guards, len(system.events)),
        *per_impulse(supplied, len(system.powers)),
        *still([ground.tape.scalar(number) for number in numbers]),
    ]
