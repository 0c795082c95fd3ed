"""Modes of a program: the edges of its state machines, and the places where bodies may touch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bondgraph.errors import Problem
from bondgraph.model.model import ContactPoint
from bondgraph.output.short_repr import short_repr


@short_repr
@dataclass(frozen=True)
class RunTransition:
    """One edge of a switch's state machine: fires when its guard crosses zero upward while mode `source` is active.

    Parameters
    ----------
    name : name of the switch ("contact").
    slot : index into the mode vector m.
    source, target : value of m[slot] before and after.
    kind : description of the event ("contact on").
    internal : a change of description (of chart), not of the physics.
    error : terminal; the run ends here with this as its reason.
    accumulates : value of m[slot] in which a run continues if this edge fires ever faster, towards a limit.
    passes : value of m[slot] in which it continues if a flow that it would stop passes through zero by itself.
    last : taken only if no other edge is due: the mode has no solution, and no edge leads out of it.
    impact : whether constraints reverse flows.
    first : taken before all others, whose guards are invalid there.
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
    """A place where bodies may touch: the model's description of it, and (slot in m, mode) in which there is no force.

    `forces` : where steps compute them, the signals of the normal force, N, and of the friction on body 2 along the slips, N.
    """

    point: ContactPoint
    off: tuple[tuple[int, float], ...]
    forces: tuple[str, ...] = ()

    def touching(self, m: np.ndarray) -> np.ndarray:
        """Return True if its law acts in modes (..., modes)."""
        return np.all([m[..., slot] != mode for slot, mode in self.off], axis=0)
