"""The scene of a strike: a striker and its simulated impact in; arm, wall and the force on it, for any picture, out."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from models.chains import Tree, link_pose
from models.impact.robot import Striker
from models.impact.striking import Strike
from models.impact.study import ImpactStudy
from models.pictures import Curve, Force, Happening, Look, Panel, Scene, Solid, still
from models.pictures.interpolation import Array
from models.pictures.shapes.meshes import Mesh, along, cylinder, globe, joined, lofted
from models.pictures.style import AMBER, BLUE, FORCE, MUTED
from models.urdf import skinned

JOINT, WALL = "#5d6675", "#c9cfd9"
BONES = (AMBER[0], BLUE[0])
"""Colours of links in turn from the base outward."""


@dataclass(frozen=True, eq=False)
class Bones:
    """A tree as rods between its joints, for pictures: where no file says what its links look like."""

    tree: Tree
    tip: int
    point: Array

    @cached_property
    def joints(self) -> Array:
        """Of each link (k, 3): the place of its joint in the base at home, on its axis where that is nearest to its frame."""
        places = []
        for link in self.tree.links:
            at = np.array(link.home[:3, 3])
            turning = [screw for screw in link.joint.screws.T if np.any(screw[:3])]
            if turning:
                omega, v = turning[-1][:3], turning[-1][3:]
                at = np.cross(omega, v) + omega * (omega @ at)
            places.append(at)
        return np.array(places)

    @cached_property
    def radius(self) -> float:
        """Of the rods, m."""
        return 0.035 * float(np.max(np.ptp(np.vstack([self.joints, np.zeros(3), self._end]), axis=0)))

    @cached_property
    def _end(self) -> Array:
        home = np.asarray(self.tree.links[self.tip].home)
        return np.asarray(home[:3, :3] @ self.point + home[:3, 3])

    def mesh(self, k: int) -> Mesh | None:
        """Link k in its own frame: its joint, rods to the joints that it carries and to the point; None where that is nothing."""
        home, here = np.asarray(self.tree.links[k].home), self.joints[k]
        ends = [self.joints[child] for child, parent in enumerate(self.tree.parents) if parent == k]
        ends += [self._end] if k == self.tip else []
        parts = [rod(here, end, self.radius) for end in ends if np.linalg.norm(end - here) > 0.1 * self.radius]
        for screw in self.tree.links[k].joint.screws.T:
            if np.any(screw[:3]):
                length = 1.3 * self.radius * screw[:3]
                parts.append(rod(here - length, here + length, 1.25 * self.radius).painted(JOINT))
        if k == self.tip:
            parts.append(globe(0.6 * self.radius).moved(along(np.array([0.0, 0.0, 1.0]), self._end)))
        if not parts:
            return None
        colour = BONES[k % len(BONES)]
        whole = joined(*(part if part.colours is not None else part.painted(colour) for part in parts))
        return whole.moved(np.linalg.inv(home))

    def solids(self, q: Array) -> list[Solid]:
        """All links and the base, at joint coordinates (k, n)."""
        shapes = {k: mesh for k in range(len(self.tree.links)) if (mesh := self.mesh(k)) is not None}
        links = [
            Solid(self.tree.links[k].name, self._course(k, q), mesh, BONES[k % len(BONES)], look=Look.OPAQUE)
            for k, mesh in shapes.items()
        ]
        base = rod(np.array([0.0, 0.0, -0.5]) * self.radius, self.joints[0], 1.6 * self.radius).painted(JOINT)
        return [*links, Solid("base", np.tile(self.tree.base, (len(q), 1, 1)), base, JOINT, look=Look.OPAQUE)]

    def touching(self, q: Array) -> Solid:
        """The point that touches, as a small ball, at joint coordinates (k, n)."""
        ball = globe(0.6 * self.radius).moved(along(np.array([0.0, 0.0, 1.0]), self.point)).painted(BONES[0])
        return Solid("point", self._course(self.tip, q), ball, BONES[0], look=Look.OPAQUE)

    def _course(self, k: int, q: Array) -> Array:
        return np.array([np.asarray(link_pose(self.tree, k, row), dtype=float) for row in q])


def rod(a: Array, b: Array, radius: float) -> Mesh:
    """A round rod from a to b, m."""
    return cylinder(radius, 0.0, float(np.linalg.norm(b - a))).moved(along(b - a, a))


def strike_scene(striker: Striker, strike: Strike, title: str = "") -> Scene:
    """A strike from shortly before the touch until after the release: the arm, the wall, and the force on it.

    The arm is drawn by its skins, as rods where it has none. The title is by default the arm's name and what it does.
    """
    where, result = striker.where, strike.result
    bones = Bones(where.chain, where.link, where.point)
    q = np.asarray(result["arm.mechanism.q"], dtype=float).reshape(len(result.t), -1)
    rest = np.tile(np.eye(4), (len(result.t), 1, 1))
    solids = [*skinned(where.chain, striker.skins, q), bones.touching(q)] if striker.skins else bones.solids(q)
    n = np.asarray(striker.normal, dtype=float) / np.linalg.norm(np.asarray(striker.normal, dtype=float))
    outward, contact = where.frame[:3, :3] @ n, where.frame[:3, 3]
    half, thick = 4.5 * bones.radius, 0.6 * bones.radius
    corners = half * np.array([[1.0, 1.0, 0.0], [-1.0, 1.0, 0.0], [-1.0, -1.0, 0.0], [1.0, -1.0, 0.0]])
    slab = lofted(corners - [0.0, 0.0, thick], corners)
    solids.append(Solid("wall", rest @ along(outward, contact - 0.6 * bones.radius * outward), slab, WALL, look=Look.OPAQUE))
    force = np.asarray(result["touch.normal force"], dtype=float)
    arrow = Force(np.tile(contact, (len(force), 1)), -force[:, None] * outward, "on the wall")
    panel = Panel("normal force", "N", (Curve("normal force", force, FORCE),), key=True)
    happenings = (Happening(strike.touch, "touch", colour=MUTED), Happening(strike.release, "release", colour=MUTED))
    words = title or f"{where.chain.name[:1].upper()}{where.chain.name[1:]} strikes a wall, e = {strike.restitution:.3f}"
    return Scene(
        words,
        np.asarray(result.t),
        tuple(solids),
        forces=(arrow,),
        panels=(panel,),
        happenings=happenings,
        size=8.0 * bones.radius,
        view=_view(outward),
        up=np.array([0.0, 0.0, 1.0]),
    )


def plot_arm(study: ImpactStudy, path: str | os.PathLike[str]) -> None:
    """Write the arm as it strikes with the viscoelastic law, at the largest force, as PNG."""
    strike = study.strikes["viscoelastic"]
    t, force = strike.force
    still(strike_scene(study.striker, strike), path, strike.touch + float(t[np.argmax(force)]), size=(1600, 1000))


def _view(outward: Array) -> Array:
    """From the side of a wall, a little from above, so that the force is seen behind it."""
    up = np.array([0.0, 0.0, 1.0])
    aside = np.cross(outward, up)
    aside = np.array([0.0, 1.0, 0.0]) if np.linalg.norm(aside) < 0.1 else aside
    view = -aside / np.linalg.norm(aside) + 0.12 * outward + 0.2 * up
    return np.asarray(view / np.linalg.norm(view))
