"""Meshes of elementary shapes, tubes, helices and surfaces: points with normals, triangles and lines for any drawing library."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.style import AXES, rgb, round_number

from bondgraph.output.short_repr import short_repr
from screws.surfaces import nearest_coordinates

Indices = NDArray[np.int64]

SHARP = np.cos(np.radians(40.0))
"""Cosine of 40 degrees; faces that meet at a larger angle keep an edge between them."""


@short_repr
@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles with smooth or sharp edges, and lines on them, in the axes of their body.

    Attributes
    ----------
    points, normals : (m, 3) positions in metres, and outward unit vectors.
    faces : (n, 3) indices of points.
    lines : (l, 2) indices of points, drawn as lines.
    colours : (m, 3), 0 to 1, if the mesh has more than one colour.
    """

    points: Array
    normals: Array
    faces: Indices
    lines: Indices = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))
    colours: Array | None = None

    @cached_property
    def open(self) -> bool:
        """True if the mesh has a rim, through which its inside is visible; coinciding points count as one.

        >>> corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
        >>> tetrahedron = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])
        >>> Mesh(corners, corners, tetrahedron).open, Mesh(corners, corners, tetrahedron[1:]).open
        (False, True)
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components
        from scipy.spatial import cKDTree

        near = 1e-7 * float(np.ptp(self.points, axis=0).max())
        pairs = cKDTree(self.points).query_pairs(near, output_type="ndarray")
        graph = coo_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(len(self.points),) * 2)
        corner = connected_components(graph, directed=False)[1][self.faces]
        corner = corner[(corner != np.roll(corner, 1, axis=1)).all(axis=1)]
        edges = np.sort(np.concatenate([corner[:, [0, 1]], corner[:, [1, 2]], corner[:, [2, 0]]]), axis=1)
        return bool(np.any(np.unique(edges, axis=0, return_counts=True)[1] == 1))

    @cached_property
    def outline(self) -> Array:
        return farthest(self.points, 300)

    def moved(self, H: ArrayLike) -> Mesh:
        H = np.asarray(H, dtype=float)
        return replace(self, points=self.points @ H[:3, :3].T + H[:3, 3], normals=self.normals @ H[:3, :3].T)

    def at(self, *offset: float) -> Mesh:
        return replace(self, points=self.points + np.array(offset))

    def scaled(self, by: ArrayLike) -> Mesh:
        factors = np.broadcast_to(np.asarray(by, dtype=float), 3)
        normals = self.normals / factors
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        faces = self.faces[:, ::-1] if np.prod(factors) < 0.0 else self.faces
        return replace(self, points=self.points * factors, normals=normals, faces=faces)

    def painted(self, colour: str) -> Mesh:
        return replace(self, colours=np.tile(np.array(rgb(colour)) / 255.0, (len(self.points), 1)))


def directions(count: int) -> Array:
    """Return unit vectors (count, 3) spread evenly over the sphere (Fibonacci)."""
    index = np.arange(count) + 0.5
    z = 1.0 - 2.0 * index / count
    angle = np.pi * (1.0 + 5.0**0.5) * index
    return np.stack([np.sqrt(1 - z * z) * np.cos(angle), np.sqrt(1 - z * z) * np.sin(angle), z], axis=1)


def farthest(points: Array, count: int) -> Array:
    return points[np.unique(np.argmax(points @ directions(count).T, axis=0))]


def joined(*parts: Mesh) -> Mesh:
    """Merge several meshes, of which all or none must have colours."""
    starts = np.cumsum([0, *(len(part.points) for part in parts[:-1])])
    points, normals = (np.concatenate([getattr(part, key) for part in parts]) for key in ("points", "normals"))
    faces = np.concatenate([part.faces + start for part, start in zip(parts, starts, strict=True)])
    lines = np.concatenate([part.lines + start for part, start in zip(parts, starts, strict=True)])
    painted = [part.colours for part in parts if part.colours is not None]
    return Mesh(points, normals, faces, lines, np.concatenate(painted) if painted else None)


def circle(radius: float, z: float = 0.0, sides: int = 28) -> Array:
    angle = 2.0 * np.pi * np.arange(sides) / sides
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), np.full(sides, z)], axis=1)


def lofted(low: Array, high: Array) -> Mesh:
    """Return the closed body between two convex outlines (n, 3) with the same sense of rotation; corners above 40 degrees are
    sharp."""
    n = len(low)
    after = np.roll(np.arange(n), -1)
    inward = low.mean(axis=0) - 0.5 * (low + low[after])
    flat = np.cross(low[after] - low, high - low)
    flat /= np.linalg.norm(flat, axis=1, keepdims=True)
    if np.sum(flat * inward) > 0.0:
        return lofted(low[::-1], high[::-1])
    # Normals of a side at its start and its end are shared with the neighbour unless the corner is sharp.
    shared = flat + np.roll(flat, 1, axis=0)
    smooth = np.sum(flat * np.roll(flat, 1, axis=0), axis=1) > SHARP
    start = np.where(smooth[:, None], shared, flat)
    end = np.where(smooth[after][:, None], shared[after], flat)
    start, end = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (start, end))
    quad = 4 * np.arange(n)[:, None]
    sides = Mesh(
        np.stack([low, low[after], high[after], high], axis=1).reshape(-1, 3),
        np.stack([start, end, end, start], axis=1).reshape(-1, 3),
        np.concatenate([quad + np.array(corners) for corners in ((0, 1, 2), (0, 2, 3))]),
    )
    return joined(sides, sheet(low[::-1]), sheet(high))


def sheet(outline: Array) -> Mesh:
    """Return a flat convex sheet inside an outline (n, 3), anticlockwise as seen from the side of its normal."""
    n = len(outline)
    centre = outline.mean(axis=0)
    normal = np.sum(np.cross(outline - centre, np.roll(outline, -1, axis=0) - centre), axis=0)
    normal /= np.linalg.norm(normal)
    fan = np.stack([np.full(n, n), np.arange(n), np.roll(np.arange(n), -1)], axis=1)
    return Mesh(np.vstack([outline, centre]), np.tile(normal, (n + 1, 1)), fan)


def cylinder(radius: float, low: float, high: float, sides: int = 28) -> Mesh:
    return lofted(circle(radius, low, sides), circle(radius, high, sides))


def cuboid(edges: ArrayLike) -> Mesh:
    x, y, z = 0.5 * np.asarray(edges, dtype=float)
    half = np.array([0.0, 0.0, z])
    outline = np.array([[-x, -y, 0.0], [x, -y, 0.0], [x, y, 0.0], [-x, y, 0.0]])
    return lofted(outline - half, outline + half)


def rod(a: Array, b: Array, radius: float, sides: int = 28) -> Mesh:
    return cylinder(radius, 0.0, float(np.linalg.norm(b - a)), sides).moved(along(b - a, a))


def cone(radius: float, low: float, tip: float, sides: int = 28) -> Mesh:
    return lofted(circle(radius, low, sides), circle(1e-4 * radius, tip, sides))


TRIAD_HEAD = 0.26, 0.42
"""Length of an axis head relative to the axis, and radius of the head relative to its length."""


def triad_mesh(length: float, radius: float) -> Mesh:
    head = TRIAD_HEAD[0] * length
    axis = joined(cylinder(radius, 0.0, length - head, 12), cone(TRIAD_HEAD[1] * head, length - head, length, 16))
    return joined(*(axis.moved(along(e, np.zeros(3))).painted(colour) for e, colour in zip(np.eye(3), AXES, strict=True)))


def globe(radius: float, z: float = 0.0, rings: int = 14, sides: int = 28) -> Mesh:
    a, b = np.meshgrid(np.linspace(np.pi, 0.0, rings + 1), 2.0 * np.pi * np.arange(sides) / sides, indexing="ij")
    normals = np.stack([np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), np.cos(a)], axis=-1).reshape(-1, 3)
    low = sides * np.arange(rings)[:, None] + np.arange(sides)
    next_to = sides * np.arange(rings)[:, None] + np.roll(np.arange(sides), -1)
    faces = [np.stack(c, axis=-1).reshape(-1, 3) for c in ((low, next_to, next_to + sides), (low, next_to + sides, low + sides))]
    return Mesh(radius * normals + [0.0, 0.0, z], normals, np.concatenate(faces))


def grid_sheet(points: Array, up: Array, spare: float) -> tuple[Array, Mesh]:
    H = along(np.asarray(up, dtype=float), np.zeros(3))
    local = points @ H[:3, :3]
    low, high = local.min(axis=0), local.max(axis=0)
    half = 0.5 * float((high - low)[:2].max()) + spare
    step = round_number(half / 4.0)
    count = int(np.ceil(half / step))
    middle = step * np.round(0.5 * (low + high) / step)
    ticks, reach = step * np.arange(-count, count + 1), step * count
    ends = [np.stack([ticks, np.full_like(ticks, side), np.zeros_like(ticks)], axis=1) for side in (-reach, reach)]
    marks = np.concatenate([*ends, *(end[:, [1, 0, 2]] for end in ends)])
    outline = reach * np.array([(-1.0, -1.0, 0.0), (1.0, -1.0, 0.0), (1.0, 1.0, 0.0), (-1.0, 1.0, 0.0)])
    flat = sheet(outline)
    index, n = np.arange(len(ticks)), len(ticks)
    pairs = np.concatenate([np.stack([index, index + n], axis=1), np.stack([index + 2 * n, index + 3 * n], axis=1)])
    upward = np.tile([0.0, 0.0, 1.0], (len(marks), 1))
    lines = pairs + len(flat.points)
    mesh = Mesh(np.concatenate([flat.points, marks]), np.concatenate([flat.normals, upward]), flat.faces, lines)
    H[:3, 3] = H[:3, :3] @ [middle[0], middle[1], low[2]]
    return H[None], mesh


def polyline(points: Array) -> Mesh:
    index = np.arange(len(points) - 1)
    upward = np.tile([0.0, 0.0, 1.0], (len(points), 1))
    return Mesh(points, upward, np.zeros((0, 3), dtype=np.int64), np.stack([index, index + 1], axis=1))


def along(axis: Array, origin: Array) -> Array:
    """Return poses (..., 4, 4) with z axes along directions (..., 3), of any length, at origins (..., 3)."""
    z = axis / np.linalg.norm(axis, axis=-1, keepdims=True)
    x = np.cross(z, np.eye(3)[np.argmin(np.abs(z), axis=-1)])
    x = x / np.linalg.norm(x, axis=-1, keepdims=True)
    H = np.tile(np.eye(4), (*np.shape(z)[:-1], 1, 1))
    H[..., :3, :3], H[..., :3, 3] = np.stack([x, np.cross(z, x), z], axis=-1), origin
    return H


SIDES = 8


def path_tube(points: Array, normals: Array, radius: Array) -> tuple[Array, Array, NDArray[np.int64]]:
    """Build a tube along a path on a surface, with its triangles in the order of the path.

    Parameters
    ----------
    points, normals : (k, 3) of the path, and unit normals of the surface there, which keep the tube from twisting.
    radius : (k,) at each point.

    Returns vertices (k * SIDES, 3), their normals, and triangles ((k - 1) * SIDES * 2, 3).
    """
    along = np.gradient(points, axis=0) if len(points) > 1 else np.zeros_like(points)
    along -= np.sum(along * normals, axis=1, keepdims=True) * normals
    length = np.linalg.norm(along, axis=1)
    # Where the contact rests, use the direction of the last movement, or any direction.
    moving = np.flatnonzero(length > 1e-9 * max(float(length.max(initial=0.0)), 1e-30))
    if len(moving):
        last = moving[np.clip(np.searchsorted(moving, np.arange(len(points)), side="right") - 1, 0, None)]
        along = along[last] / length[last, None]
    else:
        along = np.cross(normals, np.eye(3)[np.argmin(np.abs(normals), axis=1)])
    side = np.cross(normals, along)
    side /= np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-30)
    angle = 2 * np.pi * np.arange(SIDES) / SIDES
    out = np.cos(angle)[None, :, None] * side[:, None] + np.sin(angle)[None, :, None] * normals[:, None]
    vertices = points[:, None] + radius[:, None, None] * out
    ring, turn = np.arange(len(points) - 1)[:, None] * SIDES, np.arange(SIDES)
    a, b = ring + turn, ring + (turn + 1) % SIDES
    triangles = np.stack([a, b, b + SIDES, a, b + SIDES, a + SIDES], axis=-1).reshape(-1, 3)
    return vertices.reshape(-1, 3), out.reshape(-1, 3), triangles


def free_normals(points: Array) -> Array:
    """Return unit normals (k, 3) of a path (k, 3) in space with minimal rotation about it."""
    steps = np.diff(points, axis=0)
    length = np.linalg.norm(steps, axis=1)
    moving = np.flatnonzero(length > 1e-9 * max(float(length.max(initial=0.0)), 1e-30))
    first = steps[moving[0]] if len(moving) else np.array([0.0, 0.0, 1.0])
    normal = np.cross(first, np.eye(3)[np.argmin(np.abs(first))])
    normals = np.tile(normal / np.linalg.norm(normal), (len(points), 1))
    for k in moving:
        tangent = steps[k] / length[k]
        projected = normals[k] - (normals[k] @ tangent) * tangent
        normals[k + 1 :] = projected / max(float(np.linalg.norm(projected)), 1e-30)
    return normals


WIRE = 0.13

LEAD = 0.1
"""Fraction of a spring's length that is straight at either end."""


def helix(length: float, radius: float, turns: int) -> Mesh:
    part = np.linspace(0.0, 1.0, 24 * turns + 1)
    angle = 2.0 * np.pi * turns * part
    swell = np.minimum(1.0, np.minimum(part, 1.0 - part) * 2.0 * turns)
    out = np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=1)
    winding = radius * swell[:, None] * out
    winding[:, 2] = length * (LEAD + (1.0 - 2.0 * LEAD) * part)
    points = np.vstack([[0.0, 0.0, 0.0], winding, [0.0, 0.0, length]])
    normals = np.vstack([out[:1], out, out[-1:]])
    return Mesh(*path_tube(points, normals, np.full(len(points), WIRE * radius)))


def stretch_poses(starts: Array, ends: Array, length: float) -> Array:
    offsets = ends - starts
    lengths = np.linalg.norm(offsets, axis=1)
    nonzero = lengths > 1e-9 * length
    H = along(np.where(nonzero[:, None], offsets, [0.0, 0.0, 1.0]), starts)
    H[:, :3, 2] *= (np.where(nonzero, lengths, 1e-9 * length) / length)[:, None]
    return H


LINE_COUNTS = (8, 12)
"""Number of cells along u and v into which coordinate lines divide a smooth body, so that its rotation is visible."""


def body_points(surface: Any, contacts: Array, reach: float, n_u: int = 65, n_v: int = 97) -> Array:
    """Return a grid of points of a surface in object axes, (n_u, n_v, 3); an unbounded surface is cut around its contact points.

    Parameters
    ----------
    surface : a surface of `screws`.
    contacts : (k, 3), contact points on it (m).
    reach : extension of an unbounded surface beyond its contact points (m).
    """
    if not surface.unbounded:
        return np.asarray(surface.grid(n_u, n_v), dtype=float)
    selected = contacts[np.unique(np.linspace(0, len(contacts) - 1, 200).astype(int))]
    coordinates = np.array([nearest_coordinates(surface, point)[0] for point in selected], dtype=float)
    centre = 0.5 * (coordinates.min(axis=0) + coordinates.max(axis=0))
    slope = np.asarray(surface.geometry(centre).M, dtype=float)  # metres per coordinate
    radius = np.linalg.norm((coordinates - centre) @ slope, axis=1).max() + reach
    r, angle = np.meshgrid(np.linspace(0.0, radius, n_u), np.linspace(0.0, 2 * np.pi, n_v), indexing="ij")
    across = np.stack([r * np.cos(angle), r * np.sin(angle)], axis=-1) @ np.linalg.inv(slope)
    return np.array([[surface.point(q) for q in row] for row in centre + across], dtype=float)


def surface_mesh(surface: Any, contacts: Array, reach: float, n_u: int = 65, n_v: int = 97) -> Mesh:
    """Return a surface's mesh with coordinate lines. Arguments are as for `body_points`; n_u and n_v must be one more than
    multiples of `LINE_COUNTS`."""
    grid = body_points(surface, contacts, reach, n_u, n_v)
    outward = is_outward(grid, surface)
    faces = grid_faces(n_u, n_v)
    normals = grid_normals(grid, outward)
    return Mesh(grid.reshape(-1, 3), normals.reshape(-1, 3), faces if outward else faces[:, ::-1], grid_lines(n_u, n_v))


def grid_normals(grid: Array, outward: bool) -> Array:
    """Return outward unit normals (n_u, n_v, 3) of a grid of surface points; `outward` is True if c_u x c_v points outward."""
    closed = np.allclose(grid[:, 0], grid[:, -1], atol=1e-9 * float(np.abs(grid).max()))
    wide = np.concatenate([grid[:, -2:-1], grid, grid[:, 1:2]], axis=1) if closed else grid
    along_v = np.gradient(wide, axis=1)
    normals = np.cross(np.gradient(grid, axis=0), along_v[:, 1:-1] if closed else along_v)
    length = np.linalg.norm(normals, axis=2)
    # A row that collapses to a point (a pole, the centre of a disc) gets the mean normal of its neighbours.
    for row, neighbour in ((0, 1), (-1, -2)):
        if length[row].max() < 1e-6 * length.max():
            normals[row] = normals[neighbour].mean(axis=0)
    normals /= np.linalg.norm(normals, axis=2, keepdims=True)
    return normals if outward else -normals


def is_outward(grid: Array, surface: Any) -> bool:
    i, j = grid.shape[0] // 2, grid.shape[1] // 3
    across = np.cross(grid[i + 1, j] - grid[i, j], grid[i, j + 1] - grid[i, j])
    q, chart = nearest_coordinates(surface, grid[i, j])
    return bool(across @ np.asarray(surface.geometry(q, chart).H, dtype=float)[:3, 2] > 0.0)


def grid_faces(rows: int, columns: int) -> NDArray[np.int64]:
    """Return triangles (k, 3) of a grid of points, wound about c_u x c_v."""
    corner = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    quads = np.stack([corner, corner + columns, corner + columns + 1, corner, corner + columns + 1, corner + 1], axis=1)
    return quads.reshape(-1, 3)


def grid_lines(rows: int, columns: int, n_u: int = LINE_COUNTS[0], n_v: int = LINE_COUNTS[1]) -> NDArray[np.int64]:
    index = np.arange(rows * columns).reshape(rows, columns)
    across = index[(rows - 1) // n_u : -1 : (rows - 1) // n_u]
    down = index[:, : -1 : (columns - 1) // n_v]
    pairs = [np.stack([across[:, :-1], across[:, 1:]], axis=-1), np.stack([down[:-1], down[1:]], axis=-1)]
    return np.concatenate([pair.reshape(-1, 2) for pair in pairs])


VIRIDIS = ("#440154", "#414487", "#2a788e", "#22a884", "#7ad151", "#fde725")


def shades(values: Array) -> Array:
    marks = np.array([rgb(colour) for colour in VIRIDIS]) / 255.0
    at = np.linspace(0.0, 1.0, len(marks))
    return np.stack([np.interp(values, at, channel) for channel in marks.T], axis=1)


def coloured_part(points: Array, values: Array, level: float) -> Mesh:
    flat, v = points.reshape(-1, 3), values.ravel()
    corners = grid_faces(*values.shape)
    above = v[corners] > level
    count = above.sum(axis=1)
    all_points, all_values, faces, edges = [flat], [v], [corners[count == 3]], []
    start = len(flat)
    # Rotate triangles so that the first corner is the only one above the level, or the only one below it.
    for single in (True, False):
        mixed = np.flatnonzero(count == (1 if single else 2))
        lone = np.argmax(above[mixed] == single, axis=1)
        a, b, c = (corners[mixed, (lone + k) % 3] for k in range(3))
        for other in (b, c):
            part = ((level - v[a]) / (v[other] - v[a]))[:, None]
            all_points.append(flat[a] + part * (flat[other] - flat[a]))
            all_values.append(np.full(len(a), level))
        ab = start + np.arange(len(a))
        ac = ab + len(a)
        start += 2 * len(a)
        faces += [np.stack([a, ab, ac], axis=1)] if single else [np.stack([ab, b, c], axis=1), np.stack([ab, c, ac], axis=1)]
        edges.append(np.stack([ab, ac], axis=1))
    # Keep the used points and renumber them.
    triangles, edge = np.concatenate(faces), np.concatenate(edges)
    needed = np.unique(triangles)
    used = np.concatenate(all_points)[needed]
    normal = np.cross(points[1, 0] - points[0, 0], points[0, 1] - points[0, 0])
    normals = np.tile(normal / np.linalg.norm(normal), (len(used), 1))
    colours = shades(np.concatenate(all_values)[needed])
    return Mesh(used, normals, np.searchsorted(needed, triangles), np.searchsorted(needed, edge), colours)
