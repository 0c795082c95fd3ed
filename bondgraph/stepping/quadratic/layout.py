"""Options of a step's program, and the layout of its numbers in one buffer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bondgraph.model.model import ContactPoint
from bondgraph.stepping.quadratic.candidates import TouchingBody
from bondgraph.stepping.quadratic.cone import Cone


@dataclass(frozen=True)
class StepOptions:
    """Options of a step's program."""

    inertia: str
    facets: int | str
    restitution: Mapping[str, float]
    """Restitution by contact; 0 by default."""
    ignored: frozenset[str]
    """States of storages that are left out."""
    bodies: tuple[TouchingBody, ...] = ()
    """Bodies of candidates."""

    @property
    def full(self) -> bool:
        """True if velocities continue from step to step."""
        return self.inertia == "full"


@dataclass(frozen=True, eq=False)
class StepLayout:
    """Layout of the numbers of a step: fields of one buffer, by name, with their shapes and meaning."""

    unknowns: tuple[str, ...]
    """Label of each velocity."""
    owners: tuple[str, ...]
    """Inertia of each velocity."""
    turns: np.ndarray
    """True for the rate of an angle."""
    velocity_indices: np.ndarray
    """Index of each velocity in x."""
    contacts: tuple[ContactPoint, ...]
    cones: tuple[Cone, ...]
    constraints: tuple[str, ...]
    """Element of each equality; these rows come after those of the contacts."""
    fields: Mapping[str, tuple[int, tuple[int, ...]]]
    """H (n, n), f (n), A (rows, n), lower (rows), mu (contacts), gap (contacts), slip (slips, n), drift (slips), and of
    the bodies of candidates poses (numbers), twists (6 bodies, n), carried (6 bodies)."""
    size: int
    index: np.ndarray | None
    """Index in the buffer of each output of the routine; None for a routine that writes the whole buffer."""
    poses: tuple[int, ...]
    """Size of the pose of each body of candidates: 7 or 16."""
    still: bool
    """True if nothing moves where all velocities vanish."""
    remembers: bool
    """True if a step depends on the velocities of the one before."""
    moving: tuple[str, ...]
    """All inertias, dependent ones too."""

    def view(self, buffer: np.ndarray, name: str) -> np.ndarray:
        """Return a field of a buffer."""
        start, shape = self.fields[name]
        return buffer[start : start + int(np.prod(shape))].reshape(shape)
