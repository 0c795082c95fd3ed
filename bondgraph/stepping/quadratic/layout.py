"""What a step is asked to be made of, and where its numbers lie in one buffer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bondgraph.model.model import ContactPoint
from bondgraph.stepping.quadratic.candidates import TouchingBody
from bondgraph.stepping.quadratic.cone import Cone


@dataclass(frozen=True)
class Wanted:
    """What a step is to be made of."""

    inertia: str
    facets: int | str
    restitution: Mapping[str, float]
    """By contact; none is 0."""
    ignored: frozenset[str]
    """States of storages that are not there."""
    bodies: tuple[TouchingBody, ...] = ()
    """Those of candidates."""

    @property
    def full(self) -> bool:
        """Whether velocities go on from step to step."""
        return self.inertia == "full"


@dataclass(frozen=True, eq=False)
class StepLayout:
    """Where the numbers of a step lie: fields of one buffer, by name, with their shapes; and what they are of."""

    unknowns: tuple[str, ...]
    """A label for each velocity."""
    owners: tuple[str, ...]
    """The inertia of each."""
    turns: np.ndarray
    """Whether each is the rate of an angle."""
    places: np.ndarray
    """Of each in x."""
    contacts: tuple[ContactPoint, ...]
    cones: tuple[Cone, ...]
    constraints: tuple[str, ...]
    """The element of each equality; these rows come after those of the contacts."""
    fields: Mapping[str, tuple[int, tuple[int, ...]]]
    """H (n, n), f (n), A (rows, n), lower (rows), mu (contacts), gap (contacts), slip (slips, n), drift (slips), and of
    the bodies of candidates poses (numbers), twists (6 bodies, n), carried (6 bodies)."""
    size: int
    index: np.ndarray | None
    """Place in the buffer of each output of the routine; None: it gives the whole buffer."""
    poses: tuple[int, ...]
    """How many numbers the pose of each body of candidates has."""
    still: bool
    """Whether nothing moves where all velocities vanish."""
    remembers: bool
    """Whether a step reads the velocities of the one before."""
    moving: tuple[str, ...]
    """All inertias, dependent ones too."""

    def view(self, buffer: np.ndarray, name: str) -> np.ndarray:
        """A field of a buffer."""
        start, shape = self.fields[name]
        return buffer[start : start + int(np.prod(shape))].reshape(shape)
