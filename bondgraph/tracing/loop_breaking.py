"""Easing: a system, and what keeps one run of its statements from solving it -> the same system for the next run.

A run finds all of it at once. Loops that are not linear get states from which Newton's method starts; what vanishes at an
element and depends on the unknowns themselves is not differentiated where one of them acts on it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from bondgraph.assembly.system import Loop, State, System

NEAR_REST = 1e-3
"""Where guesses begin: close to rest, yet where a curve that is flat at rest (a cube) has a slope."""


@dataclass(frozen=True)
class Snags:
    """What a run of the statements found in its way."""

    curved: tuple[Loop, ...] = ()
    """Loops that are not linear."""
    tied: frozenset[str] = frozenset()
    """Constraints and switches at which what vanishes depends on the unknowns themselves."""


def eased(system: System, found: Snags) -> System:
    """The system without these obstacles."""
    unknowns = tuple(replace(u, algebraic=u.algebraic or u.element in found.tied) for u in system.unknowns)
    return _with_guesses(replace(system, unknowns=unknowns), found.curved)


def _with_guesses(system: System, curved: Iterable[Loop]) -> System:
    """The system with a state for every unknown of these loops."""
    values, states, guesses = dict(system.values), list(system.states), dict[int, tuple[str, ...]]()
    for loop in curved:
        for unknown in loop.unknowns:
            known = system.values[unknown.value]
            shape = known.shape or ()
            name = f"{unknown.value}~"
            values[name] = replace(known, symbol="")
            values[f"{name}'"] = replace(known, symbol="", unit="")
            near = np.broadcast_to(NEAR_REST if known.near is None else known.near, shape).astype(float)
            spread = np.ones(shape) if known.near is None else np.maximum(np.abs(near), np.abs(near).max() * NEAR_REST)
            states.append(State(name, near, np.zeros(shape), f"{name}'", spread))
        guesses[loop.start] = tuple(f"{unknown.value}~" for unknown in loop.unknowns)
    loops = tuple(replace(loop, guesses=guesses.get(loop.start, loop.guesses)) for loop in system.loops)
    return replace(system, values=values, states=tuple(states), loops=loops)
