"""Solids of bodies and links: from visuals, surface, collision shapes or inertia, or as rods between joints."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from screwbond.models.chains import Tree
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.parts import Look, Solid
from screwbond.models.pictures.shapes.meshes import Mesh, along, globe, joined, rod
from screwbond.models.pictures.shapes.visual_meshes import box_of_inertia, solids_mesh, visuals_mesh
from screwbond.models.pictures.sources import Source, fixed, of_links
from screwbond.models.visuals import Appearance, visuals_of

from screws.shapes import HalfSpace
from screws.surfaces import Surface

JOINT = "#5d6675"

LINKS = ("#dfe5ee", "#aab6c8")


def link_poses(tree: Tree, q: Array) -> Array:
    """Return poses H_0_k (links, k, 4, 4) of all links at coordinates q (k, n)."""
    sections, count = tree.sections, len(q)
    frames = [np.tile(tree.base, (count, 1, 1))]
    for section, x in zip(sections.freedoms, sections.positions(q.T), strict=True):
        H = np.tile(np.eye(4), (count, 1, 1))
        unit = section.sign * np.eye(3)[section.axis]
        H[:, :3, :3] = section.R
        if section.turns:
            i, j = (section.axis + 1) % 3, (section.axis + 2) % 3
            rotation = np.tile(np.eye(3), (count, 1, 1))
            rotation[:, i, i] = rotation[:, j, j] = np.cos(x)
            rotation[:, j, i] = section.sign * np.sin(x)
            rotation[:, i, j] = -rotation[:, j, i]
            H[:, :3, :3] = section.R @ rotation
        advance = section.pitch if section.turns else 1.0
        H[:, :3, 3] = section.p + np.outer(advance * x, section.R @ unit)
        frames.append(frames[section.before] @ H)
    link_frames = np.tile(np.eye(4), (len(tree.links), 1, 1))
    link_frames[:, :3, :3], link_frames[:, :3, 3] = sections.R, sections.p
    return np.array([frames[carrier] @ H for carrier, H in zip(sections.carrier, link_frames, strict=True)])


@dataclass(frozen=True, eq=False)
class RodLinks:
    """Tree drawn as rods between its joints, for links without visuals.

    `ends` are further end points (3,) of links in their frames, by link number; links take `colours` in turn.
    """

    tree: Tree
    ends: Mapping[int, Sequence[Array]] = field(default_factory=dict)
    colours: tuple[str, ...] = LINKS

    @cached_property
    def joints(self) -> Array:
        """Points (k, 3) of the joint axes that are nearest to the origins of the links, in the home pose and in base axes."""
        positions = []
        for link in self.tree.links:
            position = np.array(link.home[:3, 3])
            turning = [screw for screw in link.joint.screws.T if np.any(screw[:3])]
            if turning:
                omega, v = turning[-1][:3], turning[-1][3:]
                position = np.cross(omega, v) + omega * (omega @ position)
            positions.append(position)
        return np.array(positions)

    @cached_property
    def radius(self) -> float:
        ends = [point for k in range(len(self.tree.links)) for point in self._ends(k)]
        return 0.035 * float(np.max(np.ptp(np.vstack([self.joints, np.zeros(3), *ends]), axis=0)))

    def _ends(self, k: int) -> list[Array]:
        home = np.asarray(self.tree.links[k].home)
        return [np.asarray(home[:3, :3] @ point + home[:3, 3]) for point in self.ends.get(k, ())]

    def mesh(self, k: int) -> Mesh | None:
        home, joint = np.asarray(self.tree.links[k].home), self.joints[k]
        ends = [self.joints[child] for child, parent in enumerate(self.tree.parents) if parent == k] + self._ends(k)
        parts = [rod(joint, end, self.radius) for end in ends if np.linalg.norm(end - joint) > 0.1 * self.radius]
        for screw in self.tree.links[k].joint.screws.T:
            if np.any(screw[:3]):
                length = 1.3 * self.radius * screw[:3]
                parts.append(rod(joint - length, joint + length, 1.25 * self.radius).painted(JOINT))
        parts += [globe(0.6 * self.radius).at(*end) for end in self._ends(k)]
        if not parts:
            return None
        merged = joined(*(part if part.colours is not None else part.painted(self.colour(k)) for part in parts))
        return merged.moved(np.linalg.inv(home))

    def colour(self, k: int) -> str:
        return self.colours[k % len(self.colours)]

    def solids(self, poses: Array, name: str = "", sources: Sequence[Source | None] = ()) -> list[Solid]:
        shapes = {k: mesh for k in range(len(self.tree.links)) if (mesh := self.mesh(k)) is not None}
        links = [
            Solid(
                f"{name}{self.tree.links[k].name}",
                poses[k],
                mesh,
                self.colour(k),
                look=Look.OPAQUE,
                source=sources[k] if sources else None,
            )
            for k, mesh in shapes.items()
        ]
        return [*links, *self.stand(poses.shape[1], name)]

    def stand(self, count: int, name: str = "") -> list[Solid]:
        if self.tree.links[0].joint.freedoms == 6 or not self.radius:
            return []
        base = rod(np.array([0.0, 0.0, -0.5]) * self.radius, self.joints[0], 1.6 * self.radius).painted(JOINT)
        poses = np.tile(self.tree.base, (count, 1, 1))
        return [Solid(f"{name}base", poses, base, JOINT, look=Look.OPAQUE, source=fixed(self.tree.base))]

    def touching(self, k: int, poses: Array, point: Array) -> Solid:
        ball = globe(0.6 * self.radius).moved(along(np.array([0.0, 0.0, 1.0]), point)).painted(self.colour(0))
        return Solid("point", poses[k], ball, self.colour(0), look=Look.OPAQUE)


def linkage_solids(tree: Tree, q: Array, name: str = "", signal: str = "") -> list[Solid]:
    sources = of_links(tree, signal) if signal else [None] * len(tree.links)
    poses, sections = link_poses(tree, q), tree.sections
    with_visuals = []
    for k, link in enumerate(tree.links):
        if visuals := visuals_of(link.name, link.visual):
            mesh, colour = visuals_mesh(visuals, LINKS[k % len(LINKS)]), visuals[0].colour or LINKS[k % len(LINKS)]
            with_visuals.append(Solid(f"{name}{link.name}", poses[k], mesh, colour, look=Look.OPAQUE, source=sources[k]))
    rods = RodLinks(tree, _link_ends(tree))
    if not with_visuals:
        return rods.solids(poses, name, sources)
    # If some links have visuals, all other links are only frames; the base has a stand unless it is drawn.
    grounded = any(link.visual and not sections.path(carrier) for link, carrier in zip(tree.links, sections.carrier, strict=True))
    return [*with_visuals, *([] if grounded else rods.stand(len(q), name))]


def _link_ends(tree: Tree) -> dict[int, list[Array]]:
    """Return the end points of links that carry no other link: the origins of their frames or, for frames on the joints, the
    points at twice the distance of the centre of mass."""
    bones, ends = RodLinks(tree), {}
    for k, link in enumerate(tree.links):
        home = np.asarray(link.home)
        joint = np.linalg.inv(home) @ [*bones.joints[k], 1.0]
        distance = float(np.linalg.norm(joint[:3]))
        if k in tree.parents:
            continue
        if distance > 1e-6:
            ends[k] = [np.zeros(3)]
        elif link.inertia is not None and np.linalg.norm(link.inertia.centre) > 1e-6:
            ends[k] = [2.0 * np.asarray(link.inertia.centre)]
    return ends


BODY_AXES = (0.65, 0.55)

GROUND = "#eef0f5"

FLOOR = "#fbfcfd"


def body_solid(name: str, H: Array, appearance: Appearance, colours: tuple[str, str], span: float) -> Solid | None:
    if appearance.visuals:
        clear = any(visual.opacity < 1.0 for visual in appearance.visuals)
        mesh, colour = visuals_mesh(appearance.visuals, colours[0]), appearance.visuals[0].colour or colours[0]
        return Solid(name, H, mesh, colour, colours[1], look=Look.GLASS if clear else Look.OPAQUE)
    if appearance.surface is not None:
        return solid_of(name, H, appearance.surface, colours)
    if appearance.solids:
        # Unbounded shapes are pale sheets around all other shapes, visible from the front only.
        endless = any(isinstance(shape, HalfSpace) for shape in appearance.solids)
        colour, look = (GROUND, Look.WALL) if endless else (colours[0], Look.OPAQUE)
        return Solid(name, H, solids_mesh(appearance.solids, span), colour, colours[1], look=look, framed=not endless)
    if appearance.mass is None or appearance.inertia is None or appearance.centre is None or not appearance.mass > 0.0:
        return None
    return Solid(name, H, box_of_inertia(appearance.mass, appearance.inertia, appearance.centre), *colours)


def solid_of(name: str, H: Array, surface: Surface, colours: tuple[str, str]) -> Solid:
    solid = Solid(name, H, surface, *colours)
    return replace(solid, ghosts=-math.inf) if solid.moves() and not surface.unbounded else solid
