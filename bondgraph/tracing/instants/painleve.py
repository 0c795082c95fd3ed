"""Painleve's paradox: friction that follows a normal force -> guards that rise where the two have no or several solutions.

While it slips, a friction F = mu N along its direction changes the normal force N that a constraint needs: N = N0 + k mu N. What
is left of a unit of N is 1 - k mu. Where that is positive there is one N; at zero and below, a constraint that presses makes, by
the friction that comes with it, its bodies approach: either no N does, or both N = 0 and a positive one.

Source: Painleve 1895; Genot and Brogliato 1999.
"""

from __future__ import annotations

import functools
from typing import Any

from bondgraph.assembly.system import LoweredTransition
from bondgraph.tracing.linear.constraint_matrix import positions_held
from bondgraph.tracing.linear.equations import given_equations
from bondgraph.tracing.linear.modewise import SingularMode, solve_in_modes
from bondgraph.tracing.linear.reactions import along_the_motion
from bondgraph.tracing.linear.solve import SingularSystem
from bondgraph.tracing.on_tape.context import Acting, Ground
from bondgraph.tracing.on_tape.friction_dependence import Rubbing, rubbing
from bondgraph.tracing.on_tape.values import partials, residuals_of


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
    held, lost = positions_held(ground.system), ground.tape.scalar(0.0)
    equations = given_equations(entries, len(w))
    ideal = functools.cache(functools.partial(along_the_motion, ground, acting))
    for j in friction.normals:
        right: list[Any] = [0.0] * len(w)
        for k, place in enumerate(friction.places):
            right[place] = friction.slopes.get((k, j), 0.0)
        try:
            lost = lost + solve_in_modes(ground, equations, right, ideal, held).values[j]
        except (SingularSystem, SingularMode):
            return 0.0  # shares that the equations leave open: N itself is by convention
    return lost
