"""Painleve's paradox: friction that follows a normal force -> guards that rise where the two have no or several solutions.

While it slips, a friction F = mu N along its direction changes the normal force N that a constraint needs: N = N0 + k mu N.
What is left of a unit of N is 1 - k mu. Where that is positive there is one N; at zero and below, a constraint that presses
makes, by the friction that comes with it, its bodies approach: either no N does, or both N = 0 and a positive one.

Source: Painleve 1895; Genot and Brogliato 1999.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bondgraph.assembly.system import LoweredTransition, Statement, Unknown
from bondgraph.tracing.linear.closures import positions_held
from bondgraph.tracing.linear.modewise import SingularMode, solve_in_modes
from bondgraph.tracing.linear.reactions import along_the_motion
from bondgraph.tracing.linear.solve import SingularSystem
from bondgraph.tracing.on_tape.ground import Acting, Ground
from bondgraph.tracing.on_tape.values import nonzero, partials, residuals_of, scalars_of


@dataclass(frozen=True)
class Rubbing:
    """Dry friction: its unknown, the places of its scalars among all unknowns, the choice between sticking and slipping, and how
    its effort while it slips depends on the efforts of constraints: (its scalar, place of the other) -> slope."""

    unknown: Unknown
    places: tuple[int, ...]
    gate: Statement
    slopes: dict[tuple[int, int], Any]

    @property
    def normals(self) -> tuple[int, ...]:
        """Places of the efforts that it follows."""
        return tuple(dict.fromkeys(j for _, j in self.slopes))


def rubbing(ground: Ground, acting: Acting) -> Iterator[Rubbing]:
    """All dry friction of a system."""
    elements = {u.element for u in ground.system.unknowns if f"{u.element}.released effort" in acting.values}
    for unknown in ground.system.unknowns:
        if unknown.element not in elements:
            continue
        given = scalars_of(acting.values[f"{unknown.element}.released effort"])
        places = tuple(k for k, owner in enumerate(acting.owners) if owner.element == unknown.element)
        normal = {k for k, u in enumerate(acting.owners) if u.reason == "constraint" and u.element not in elements}
        slopes = {(k, j): slope for (k, j), slope in nonzero(partials(given, acting.w)).items() if j in normal}
        yield Rubbing(unknown, places, ground.stages.gates[unknown.residual], slopes)


def paradoxes(ground: Ground, acting: Acting) -> list[tuple[LoweredTransition, Any]]:
    """Ends of a run where friction that slips has no or several solutions, with their guards."""
    found = []
    for friction in rubbing(ground, acting):
        lost = _lost(ground, acting, friction) if friction.normals else 0.0
        if ground.tape.scalar(lost).value is not None:
            continue
        mode = friction.gate.args[0]
        slot = list(ground.system.modes).index(mode)
        elements = tuple(dict.fromkeys((friction.unknown.element, *(acting.owners[j].element for j in friction.normals))))
        for state in range(1, len(ground.system.modes[mode][0])):  # the first one sticks
            name = f":paradox {friction.unknown.element} {state}"
            event = LoweredTransition(
                mode.removesuffix(".mode"), slot, state, state, name, (), "no or several solutions", False, None, paradox=elements
            )
            found.append((event, lost - 1.0))
    return found


def _lost(ground: Ground, acting: Acting, friction: Rubbing) -> Any:
    """k mu: the part of its normal force that friction takes away; a constant where there is none."""
    w = list(acting.w)
    entries = partials(residuals_of(acting.values, ground.system.unknowns), w)
    entries = {key: value for key, value in entries.items() if key[0] not in friction.places}
    entries |= {(k, k): ground.tape.scalar(1.0) for k in friction.places}
    ideal, held, lost = along_the_motion(ground, acting), positions_held(ground.system), ground.tape.scalar(0.0)
    for j in friction.normals:
        right: list[Any] = [0.0] * len(w)
        for k, place in enumerate(friction.places):
            right[place] = friction.slopes.get((k, j), 0.0)
        try:
            lost = lost + solve_in_modes(ground, entries, right, ideal, held).values[j]
        except (SingularSystem, SingularMode):
            return 0.0  # shares that the equations leave open: N itself is by convention
    return lost
