"""Links of a tree: joint screws, parent, inertia, home pose, damping, limits, surface and visuals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from screwbond.models.chains.inertias import BodyInertia, Vector
from screwbond.models.visuals import Visual, visuals_of

from bondgraph.model.arguments import in_unit, in_units
from bondgraph.model.laws import Parameter
from bondgraph.output.short_repr import short_repr
from screws.joints import Joint
from screws.surfaces import Surface

DAMPING = {"rad": "N m s/rad", "m": "N s/m"}
"""Unit of the damping of a freedom, by that of its coordinate."""
BEFORE = ""
"""As `parent`: the preceding link of the list."""


@in_units(factor="", offset="")
@dataclass(frozen=True)
class Mimic:
    """A joint driven by that of another link: its coordinate is factor * (that of `link`) + offset.

    Parameters
    ----------
    link : name of the link whose joint drives; it may be driven itself.
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
    limits : (lower, upper) of the joint, or (n, 2), rad or m; None or infinite: no limit. `Parameter([-170, 170], "deg")`.
    surface : its skin in the link's frame, for contacts.
    parent : name of an earlier link that carries it; `BEFORE` is the preceding one, None the base.
    mimic : of a joint with one freedom: the joint that drives it; it then has no coordinate of its own.
    visual : shapes for pictures, in the link's frame, one or several; None: a rod from joint to joint.
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
        if isinstance(self.damping, Parameter) or isinstance(self.limits, Parameter):
            units = ["rad" if np.any(screw[:3]) else "m" for screw in self.joint.screws.T]
            same = len(set(units)) < 2
            limits = units[:1] if same else units
            damping = [DAMPING[unit] for unit in limits]
            object.__setattr__(self, "limits", in_unit(self.name, "limits", self.limits, "; ".join(limits)))
            object.__setattr__(self, "damping", in_unit(self.name, "damping", self.damping, ", ".join(damping)))
