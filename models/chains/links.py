"""Links of a tree: joint screws, the link that carries it, inertia, home pose, damping and limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from screwbond.models.chains.inertias import BodyInertia, Vector
from screwbond.models.visuals import Visual, visuals_of

from bondgraph.output.short_repr import short_repr
from screws.joints import Joint
from screws.surfaces import Surface

BEFORE = ""
"""As `parent`: the link before it in the list."""


@dataclass(frozen=True)
class Mimic:
    """A joint that is driven by that of another link: its coordinate is factor * (that of `link`) + offset.

    Parameters
    ----------
    link : whose joint drives; it may be driven itself.
    factor : not zero; 1, rad/m or m/rad.
    offset : rad or m.
    """

    link: str
    factor: float = 1.0
    offset: float = 0.0


@short_repr
@dataclass(frozen=True, eq=False)
class Link:
    """One body of a tree and the joint that carries it.

    Parameters
    ----------
    name : its name in the tree; also the name of its port.
    joint : its screws (6, n) in the frame of the tree's base, with all joints at zero, outermost last. A joint of several
        freedoms is the product of their exponentials in this order.
    inertia : in the frame of the link; None for a link without mass.
    home : (4, 4) pose of the link's frame in the base with all joints at zero.
    damping : viscous, N m s/rad or N s/m: a number, or one for each freedom.
    limits : (lower, upper) of the joint, or (n, 2); None or infinite: none.
    surface : its skin in the link's frame, for contacts.
    parent : name of the link that carries it, which stands before it; `BEFORE` is the one right before, None the base.
    mimic : of a joint with one freedom: the joint that drives it; it then has no coordinate of its own.
    visual : what pictures show, in the link's frame; one or several. A rod from joint to joint where None.
    """

    name: str
    joint: Joint
    inertia: BodyInertia | None
    home: np.ndarray = field(default_factory=lambda: np.eye(4))
    damping: float | Vector = 0.0
    limits: Any = None
    surface: Surface | None = None
    parent: str | None = BEFORE
    mimic: Mimic | None = None
    visual: Visual | Sequence[Visual] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "visual", visuals_of(self.name, self.visual))
