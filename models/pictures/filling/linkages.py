"""Linkages: a tree and its coordinates over time in; its links as solids out, by their visuals or as rods between joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from screwbond.models.chains import Tree
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.parts import Look, Solid
from screwbond.models.pictures.shapes.looks import visuals_mesh
from screwbond.models.pictures.shapes.meshes import Mesh, along, globe, joined, rod
from screwbond.models.visuals import visuals_of

JOINT = "#5d6675"
"""Colour of joints."""

LINKS = ("#dfe5ee", "#aab6c8")
"""Colours of links that have none, in turn from the base outward."""


def link_courses(tree: Tree, q: Array) -> Array:
    """Poses H_0_k (links, k, 4, 4) of all links at coordinates q (k, n)."""
    sections, count = tree.sections, len(q)
    frames = [np.tile(tree.base, (count, 1, 1))]
    for section, x in zip(sections.freedoms, sections.positions(q.T), strict=True):
        H = np.tile(np.eye(4), (count, 1, 1))
        unit = section.sign * np.eye(3)[section.axis]
        H[:, :3, :3] = section.R
        if section.turns:
            i, j = (section.axis + 1) % 3, (section.axis + 2) % 3
            turned = np.tile(np.eye(3), (count, 1, 1))
            turned[:, i, i] = turned[:, j, j] = np.cos(x)
            turned[:, j, i] = section.sign * np.sin(x)
            turned[:, i, j] = -turned[:, j, i]
            H[:, :3, :3] = section.R @ turned
        advance = section.pitch if section.turns else 1.0
        H[:, :3, 3] = section.p + np.outer(advance * x, section.R @ unit)
        frames.append(frames[section.before] @ H)
    own = np.tile(np.eye(4), (len(tree.links), 1, 1))
    own[:, :3, :3], own[:, :3, 3] = sections.R, sections.p
    return np.array([frames[carrier] @ H for carrier, H in zip(sections.carrier, own, strict=True)])


@dataclass(frozen=True, eq=False)
class Bones:
    """A tree as rods between its joints, where nothing says what its links look like.

    `ends` : number of a link -> further points (3,) of its frame to which it reaches; `colours`: of links in turn.
    """

    tree: Tree
    ends: Mapping[int, Sequence[Array]] = field(default_factory=dict)
    colours: tuple[str, ...] = LINKS

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
        ends = [point for k in range(len(self.tree.links)) for point in self._ends(k)]
        return 0.035 * float(np.max(np.ptp(np.vstack([self.joints, np.zeros(3), *ends]), axis=0)))

    def _ends(self, k: int) -> list[Array]:
        """Points (3,) of the base at home to which a link reaches, besides the joints that it carries."""
        home = np.asarray(self.tree.links[k].home)
        return [np.asarray(home[:3, :3] @ point + home[:3, 3]) for point in self.ends.get(k, ())]

    def mesh(self, k: int) -> Mesh | None:
        """Link k in its own frame: its joint, rods to the joints that it carries and to its ends; None where that is nothing."""
        home, here = np.asarray(self.tree.links[k].home), self.joints[k]
        ends = [self.joints[child] for child, parent in enumerate(self.tree.parents) if parent == k] + self._ends(k)
        parts = [rod(here, end, self.radius) for end in ends if np.linalg.norm(end - here) > 0.1 * self.radius]
        for screw in self.tree.links[k].joint.screws.T:
            if np.any(screw[:3]):
                length = 1.3 * self.radius * screw[:3]
                parts.append(rod(here - length, here + length, 1.25 * self.radius).painted(JOINT))
        parts += [globe(0.6 * self.radius).at(*end) for end in self._ends(k)]
        if not parts:
            return None
        whole = joined(*(part if part.colours is not None else part.painted(self.colour(k)) for part in parts))
        return whole.moved(np.linalg.inv(home))

    def colour(self, k: int) -> str:
        """Of a link."""
        return self.colours[k % len(self.colours)]

    def solids(self, courses: Array, name: str = "", but: Sequence[int] = ()) -> list[Solid]:
        """All links but some, and the base, whose poses are `courses` (links, k, 4, 4); `name`: before those of the links."""
        shapes = {k: mesh for k in range(len(self.tree.links)) if k not in but and (mesh := self.mesh(k)) is not None}
        links = [
            Solid(f"{name}{self.tree.links[k].name}", courses[k], mesh, self.colour(k), look=Look.OPAQUE)
            for k, mesh in shapes.items()
        ]
        # A base that moves freely has nothing that stands.
        if 0 in but or self.tree.links[0].joint.freedoms == 6:
            return links
        base = rod(np.array([0.0, 0.0, -0.5]) * self.radius, self.joints[0], 1.6 * self.radius).painted(JOINT)
        poses = np.tile(self.tree.base, (courses.shape[1], 1, 1))
        return [*links, Solid(f"{name}base", poses, base, JOINT, look=Look.OPAQUE)]

    def touching(self, k: int, courses: Array, point: Array) -> Solid:
        """A point (3,) of a link that touches, as a small ball."""
        ball = globe(0.6 * self.radius).moved(along(np.array([0.0, 0.0, 1.0]), point)).painted(self.colour(0))
        return Solid("point", courses[k], ball, self.colour(0), look=Look.OPAQUE)


def linkage_solids(tree: Tree, q: Array, name: str = "") -> list[Solid]:
    """The links of a tree at coordinates q (k, n): those with visuals by these, the others as rods between joints."""
    courses = link_courses(tree, q)
    dressed = []
    for k, link in enumerate(tree.links):
        if visuals := visuals_of(link.name, link.visual):
            mesh, colour = visuals_mesh(visuals, LINKS[k % len(LINKS)]), visuals[0].colour or LINKS[k % len(LINKS)]
            dressed.append(Solid(f"{name}{link.name}", courses[k], mesh, colour, look=Look.OPAQUE))
    # Where some links have visuals, the others are frames between them.
    bare = [] if dressed else Bones(tree, _reaching(tree)).solids(courses, name)
    return [*dressed, *bare]


def _reaching(tree: Tree) -> dict[int, list[Array]]:
    """Where the links that carry no other end: at their frames or, where these are on the joints, beyond the centre of mass, as
    far as that is from the joint."""
    bones, found = Bones(tree), {}
    for k, link in enumerate(tree.links):
        home = np.asarray(link.home)
        joint = np.linalg.inv(home) @ [*bones.joints[k], 1.0]
        away = float(np.linalg.norm(joint[:3]))
        if k in tree.parents:
            continue
        if away > 1e-6:
            found[k] = [np.zeros(3)]
        elif link.inertia is not None and np.linalg.norm(link.inertia.centre) > 1e-6:
            found[k] = [2.0 * np.asarray(link.inertia.centre)]
    return found
