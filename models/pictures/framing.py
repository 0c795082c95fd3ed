"""Camera framing: the solids that a camera must see, and points around everything that moves or is in contact in a scene."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import ArrayLike
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.scene import Scene
from screwbond.models.pictures.shapes.meshes import Mesh
from screwbond.models.pictures.style import GAUSS

MAX_GROWTH = 2.0
"""Largest factor by which a solid at rest may widen a picture of everything that moves or is in contact."""

FOLLOW_TRAVEL = 8.0, 50.0
"""Travel of moving solids, relative to their size, above which a camera may follow them, and above which it does by default."""

OUTLINE_TIMES = (20, 100)
"""Smallest and largest number of times at which solids are outlined; more solids are outlined at fewer times."""


def in_view(scene: Scene, meshes: Sequence[Mesh]) -> tuple[int, ...]:
    """Return the indices of the solids that a camera must see: those that move or are in contact, and those at rest near them.

    Of an unbounded solid, only the contact points count. If nothing moves or touches, all framed solids count.
    """
    finite = [i for i, solid in enumerate(scene.solids) if solid.framed and not solid.unbounded]
    touching = {i for touch in scene.contacts for i in touch.solids}
    active = [i for i in finite if i in touching or scene.solids[i].moves()]
    if not active:
        return tuple(i for i, solid in enumerate(scene.solids) if solid.framed)
    points = outline(scene, meshes, active)
    largest = MAX_GROWTH * _extent(points)
    return tuple(i for i in finite if i in active or _extent(np.vstack([points, _around(scene, meshes, i)])) <= largest)


def solids_to_follow(scene: Scene, meshes: Sequence[Mesh], seen: Collection[int]) -> tuple[tuple[int, ...], Array, bool]:
    """Return the indices of moving solids if they travel far together, else none; points (j, 3) around them relative to the
    mean of their origins; and True if they would be too small in a fixed view."""
    moving = tuple(i for i in seen if not scene.solids[i].unbounded and scene.solids[i].moves())
    times = scene.t[np.unique(np.linspace(0, len(scene.t) - 1, OUTLINE_TIMES[1]).round().astype(int))]
    now = scene.at_times(times)
    middle = np.mean([now.solids[i].poses[:, :3, 3] for i in moving], axis=0) if moving else np.zeros((len(times), 3))
    near = [
        meshes[i].outline @ H[:3, :3].T + H[:3, 3] - p for i in moving for H, p in zip(now.solids[i].poses, middle, strict=True)
    ]
    points = np.concatenate([np.zeros((0, 3)), *near])
    if not len(points) or _extent(middle) <= FOLLOW_TRAVEL[0] * _extent(points):
        return (), np.zeros((0, 3)), False
    return moving, points, _extent(middle) > FOLLOW_TRAVEL[1] * _extent(points)


def _extent(points: Array) -> float:
    return float(np.ptp(points, axis=0).max())


def _around(scene: Scene, meshes: Sequence[Mesh], index: int) -> Array:
    solid, local = scene.solids[index], meshes[index].outline
    poses = solid.poses if solid.moves() else solid.poses[:1]
    return np.concatenate([local @ H[:3, :3].T + H[:3, 3] for H in poses])


def outline(scene: Scene, meshes: Sequence[Mesh], solids: Collection[int], times: ArrayLike | None = None) -> Array:
    """Return world points (j, 3) around solids (indices), frames (also of contacts), paths on no solid, springs and arrows."""
    if times is None:
        count = int(np.clip(2000 / max(len(solids), 1), *OUTLINE_TIMES))
        times = scene.t[np.unique(np.linspace(0, len(scene.t) - 1, count).round().astype(int))]
    now = scene.at_times(times)
    points = [np.zeros((0, 3)), *(_around(now, meshes, i) for i in solids)]
    for frame in now.all_frames:
        tips = frame.poses[:, :3, 3, None] + GAUSS * scene.unit * frame.length * frame.poses[:, :3, :3]
        points += [frame.poses[:, :3, 3], np.swapaxes(tips, 1, 2).reshape(-1, 3)]
    points += [path.points for path in now.paths if path.on is None]
    points += [end for coil in now.springs for end in (coil.starts, coil.ends)]
    points += [end for force in now.all_forces for end in scene.arrow(force)]
    return np.concatenate(points)
