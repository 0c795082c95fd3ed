"""Transitions of a program, the edges of its state machines, and the points at which bodies may touch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bondgraph.errors import Problem
from bondgraph.model.model import ContactPoint
from bondgraph.output.short_repr import short_repr


@short_repr
@dataclass(frozen=True)
class RunTransition:
    """Edge of a switch's state machine, which fires when its guard rises through zero while mode `source` is active.

    Parameters
    ----------
    name : name of the switch ("contact").
    slot : index of the switch's mode in m.
    source, target : value of m[slot] before and after.
    kind : description of the event ("contact on").
    internal : True for a change of coordinates (of chart), not of physics.
    error : reason why the run ends at this edge, if it does.
    accumulates : value of m[slot] with which a run continues if this edge fires ever faster, towards a limit.
    passes : value of m[slot] with which a run continues if the flow that this edge would stop passes through zero by itself.
    last : True if this edge fires only when no other edge is due, because its mode then has no solution.
    impact : True if constraints reverse flows.
    first : True if this edge fires before all other transitions, whose guards are invalid then.
    """

    name: str
    slot: int
    source: float
    target: float
    kind: str
    internal: bool = False
    error: Problem | str | None = None
    accumulates: float | None = None
    passes: float | None = None
    last: bool = False
    impact: bool = False
    first: bool = False


@short_repr
@dataclass(frozen=True)
class RunContact:
    """Point where bodies may touch.

    Parameters
    ----------
    point : its description in the model.
    off : pairs (slot in m, mode); no force acts in any of these modes.
    forces : if time steps compute them, the signals of the normal force, N, and of the friction on body 2 along the slips, N.
    """

    point: ContactPoint
    off: tuple[tuple[int, float], ...]
    forces: tuple[str, ...] = ()

    def touching(self, m: np.ndarray) -> np.ndarray:
        """Return True if the contact law acts in modes (..., modes)."""
        return np.all([m[..., slot] != mode for slot, mode in self.off], axis=0)
