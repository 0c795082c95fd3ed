"""Closest points of two surfaces in any relative pose: separated, touching, or overlapping moderately."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from screws.contact.starts import Bodies, Pair, common_samples, facing_pair, starting_pairs
from screws.contact.stationary import Stationary, polished, seen
from screws.errors import GeometryError
from screws.poses import is_pose
from screws.surfaces.closed import Ellipsoid, Sphere
from screws.surfaces.nearest import Samples, bounded_samples, normalised
from screws.surfaces.single_chart import Cylinder, Plane
from screws.surfaces.surface import Surface


@dataclass(frozen=True)
class ContactCoordinates:
    """The six contact coordinates and the charts in which they are given.

    Attributes
    ----------
    q1, q2 : surface coordinates (2,) on body 1 and 2.
    chart1, chart2 : their charts, 0.0 or 1.0.
    alpha : Montana's angle from x1 to x2 about z2, rad.
    d : gap z1 . (p2 - p1), m; negative in penetration.
    """

    q1: np.ndarray
    chart1: float
    q2: np.ndarray
    chart2: float
    alpha: float
    d: float


# Product of the relative curvatures below this part of the curvatures' scale squared: no isolated closest point.
_FLAT = 1e-9
# Overlap that leaves less than this part of it counts as beyond the limit: for spheres, 90 % of the sum of the radii.
_LIMIT = 1e-2


def closest_points(
    surface1: Surface,
    surface2: Surface,
    H_1_2: np.ndarray,
    guess: ContactCoordinates | None = None,
    near: np.ndarray | None = None,
) -> ContactCoordinates:
    """Contact coordinates of two bodies: the pair of points with opposite normals along their common line.

    Separated bodies get their closest points; overlapping ones the pair that continues these into penetration, d < 0.

    Parameters
    ----------
    surface1, surface2 : in the object frames O1, O2.
    H_1_2 : pose (4, 4) of O2 in O1.
    guess : coordinates of a nearby pose, tried first.
    near : point (3,) of body 1, m: where there are several places of nearness, the one that is nearest to it.

    Raises `GeometryError` g121 no pair found, G122 no isolated pair (flat on flat, parallel cylinders, a focal distance), G123
    overlap beyond the curvature limit, G124 H_1_2 is not a pose.

    Examples
    --------
    >>> import numpy as np
    >>> from screws.surfaces import plane, sphere
    >>> H = np.eye(4)
    >>> H[2, 3] = 0.25
    >>> round(closest_points(plane(), sphere(0.2), H).d, 12)
    0.05
    """
    bodies = _bodies(surface1, surface2, H_1_2)
    if isinstance(surface1.shape, Plane) and isinstance(surface2.shape, Plane):
        title = "plane and plane have no isolated closest points: flat on flat has no contact point"
        raise GeometryError("G122", title, "a surface with some curvature in every direction in place of one of them")
    if guess is not None:
        start = Pair(np.asarray(guess.q1, dtype=float), guess.chart1, np.asarray(guess.q2, dtype=float), guess.chart2)
        continued = _continued(bodies, start)
        if continued is not None:
            return _coordinates(bodies, continued)
    if near is None and all(not surface.has_edge and is_convex(surface) for surface in (surface1, surface2)):
        only = _between_convex(bodies)
        if only is not None:
            return _coordinates(bodies, only)
    found, verdicts, places = _places(bodies)
    if not places:
        raise _refusal(bodies, found, verdicts)
    chosen = places[0] if near is None else min(places, key=lambda pair: float(np.linalg.norm(pair.p1 - near)))
    return _coordinates(bodies, chosen)


def all_closest_points(surface1: Surface, surface2: Surface, H_1_2: np.ndarray) -> list[ContactCoordinates]:
    """All places of nearness that a global search finds: overlapping ones first, the shallowest of them first, then separated
    ones by their gap. Two convex bodies have one; an ellipsoid across a trough has two. G122, G124 as `closest_points`."""
    bodies = _bodies(surface1, surface2, H_1_2)
    return [_coordinates(bodies, pair) for pair in _places(bodies)[2]]


@functools.lru_cache(maxsize=256)
def is_convex(surface: Surface) -> bool:
    """Whether no sample of a surface is curved inward: two such bodies touch in one place only."""
    if isinstance(surface.shape, (Plane, Cylinder, Sphere, Ellipsoid)):
        return True
    samples = bounded_samples(surface)
    bends = (surface.geometry(q, chart).K for q, chart in zip(samples.q, samples.chart, strict=True))
    return all(float(np.linalg.eigvalsh(np.asarray(K, dtype=float))[0]) >= -1e-9 / surface.size for K in bends)


_DISTINCT = 1e-3
"""Distance of two places, in sizes of the bodies, below which they are the same."""


def _places(bodies: Bodies) -> tuple[list[Stationary], list[str], list[Stationary]]:
    """Stationary pairs that face each other, a verdict on each, and the distinct places of nearness among them, in order."""
    samples1, samples2 = common_samples(bodies)
    reached = (polished(bodies, start) for start in starting_pairs(bodies, samples1, samples2))
    found = [pair for pair in reached if pair is not None and pair.facing < 0.0 and _in_range(bodies, pair)]
    verdicts = [_verdict(pair) for pair in found]
    sound = [pair for pair, verdict in zip(found, verdicts, strict=True) if verdict == ""]
    overlapping = [pair for pair in sound if pair.gap < 0.0 and _inside(bodies, pair, samples1, samples2)]
    separated = [pair for pair in sound if pair.gap >= 0.0]
    overlapping.sort(key=lambda pair: -pair.gap)
    separated.sort(key=lambda pair: pair.gap)
    places: list[Stationary] = []
    for pair in [*overlapping, *separated]:
        apart = (np.linalg.norm(pair.p1 - other.p1) + np.linalg.norm(pair.p2 - other.p2) for other in places)
        if all(distance > _DISTINCT * bodies.length for distance in apart):
            places.append(pair)
    return found, verdicts, places


def _bodies(surface1: Surface, surface2: Surface, H_1_2: np.ndarray) -> Bodies:
    if not is_pose(H_1_2, 1e-8):
        title = "the relative pose of the bodies is not a pose: (4, 4), finite, with a right-handed rotation"
        raise GeometryError("G124", title, "build it with screws.pose(R, p) or screws.pose_from_state(x)")
    return Bodies(surface1, surface2, np.asarray(H_1_2, dtype=float))


def _continued(bodies: Bodies, start: Pair) -> Stationary | None:
    """The stationary pair reached from a guess, if it is sound and near the guess; else None."""
    before = seen(bodies, start)
    pair = polished(bodies, start, steps=12)
    if pair is None or pair.facing > 0.0 or _verdict(pair) or not _in_range(bodies, pair):
        return None
    near1 = np.linalg.norm(pair.p1 - before.p1) < 0.3 * bodies.surface1.size
    near2 = np.linalg.norm(pair.p2 - before.p2) < 0.3 * bodies.surface2.size
    return pair if near1 and near2 else None


def _between_convex(bodies: Bodies) -> Stationary | None:
    """The closest points of two convex bodies that are apart: such a pair is the only one, so that the first that is found will
    do. None where none is found at once, or the bodies overlap: then several pairs face each other."""
    start = facing_pair(bodies)
    pair = None if start is None else polished(bodies, start)
    if pair is None or pair.facing > 0.0 or pair.gap < 0.0 or _verdict(pair) or not _in_range(bodies, pair):
        return None
    return pair


def _in_range(bodies: Bodies, pair: Stationary) -> bool:
    places = ((bodies.surface1, pair.pair.q1), (bodies.surface2, pair.pair.q2))
    return all(not surface.has_edge or surface.edge_margin(q) >= 0.0 for surface, q in places)


def _verdict(pair: Stationary) -> str:
    """Empty for a genuine minimum of the gap (d >= 0) or its continuation (d < 0); else flat, overlap or saddle.

    The second variation of the gap is [[A, 0], [0, K2]] + [[I, -I], [-I, I]] / d; it is positive where I + d A and
    A + K2 + d K2 A are. In penetration the second is followed from d = 0 down: its zero is the curvature limit.
    """
    A, K = pair.curvatures()
    scale = max(float(np.max(np.abs(A))), float(np.max(np.abs(K))))
    floor = _FLAT * scale * scale
    touching = A + K
    det0, trace0 = float(np.linalg.det(touching)), float(np.trace(touching))
    quadratic = float(np.linalg.det(A) * np.linalg.det(K))
    end = det0 + (d := pair.gap) * (linear := _mixed(touching, K @ A)) + d * d * quadratic
    if scale == 0.0:
        return "flat"
    if d < 0.0:
        if abs(det0) <= floor:
            return "flat"
        if det0 < 0.0 or trace0 < 0.0:
            return "saddle"
        limit = max(floor, _LIMIT * det0)
        if end <= limit:
            return "overlap"
        turning = -linear / (2.0 * quadratic) if quadratic > 0.0 else -np.inf
        lowest = det0 + turning * linear + turning**2 * quadratic if d < turning < 0.0 else end
        return "overlap" if lowest <= limit else ""
    B = np.eye(2) + d * A
    focal = float(np.linalg.eigvalsh(B)[0])
    bound = max(1.0, d * scale)
    if abs(end) <= floor * bound or abs(focal) <= _FLAT * bound:
        return "flat"
    if focal < 0.0:
        return "saddle"
    reduced = K + A @ np.linalg.inv(B)
    return "" if float(np.linalg.eigvalsh(0.5 * (reduced + reduced.T))[0]) > 0.0 else "saddle"


def _mixed(X: np.ndarray, Y: np.ndarray) -> float:
    """d/dt det(X + t Y) at t = 0."""
    return float(X[0, 0] * Y[1, 1] + Y[0, 0] * X[1, 1] - X[0, 1] * Y[1, 0] - Y[0, 1] * X[1, 0])


def _inside(bodies: Bodies, pair: Stationary, samples1: Samples, samples2: Samples) -> bool:
    """Whether the point of each body lies within the other, judged at the nearest sample."""
    depth = abs(pair.gap)
    return _below(pair.p2, samples1, depth) and _below(bodies.in_second(pair.p1), samples2, depth)


def _below(point: np.ndarray, samples: Samples, depth: float) -> bool:
    line = point - samples.points
    square = np.einsum("ij,ij->i", line, line)
    nearest = int(np.argmin(square))
    # The partner point itself lies at the distance `depth`, straight above.
    return bool(square[nearest] >= depth * depth or line[nearest] @ samples.normals[nearest] < 0.0)


def _coordinates(bodies: Bodies, pair: Stationary) -> ContactCoordinates:
    q1, chart1 = normalised(bodies.surface1, pair.pair.q1, pair.pair.chart1)
    q2, chart2 = normalised(bodies.surface2, pair.pair.q2, pair.pair.chart2)
    final = seen(bodies, Pair(q1, chart1, q2, chart2))
    c = final.across[0, 0] - final.across[1, 1]
    s = -(final.across[0, 1] + final.across[1, 0])
    return ContactCoordinates(q1, chart1, q2, chart2, float(np.arctan2(s, c)), final.gap)


def _refusal(bodies: Bodies, found: list[Stationary], verdicts: list[str]) -> GeometryError:
    names = f"{bodies.surface1.name} and {bodies.surface2.name}"
    if "flat" in verdicts and not any(v in ("overlap", "") for v in verdicts):
        gap = found[verdicts.index("flat")].gap
        title = f"{names} have no isolated closest points at a gap of {gap:g} m: the relative curvature K2 (d A + I) + A "
        title += "is singular, as for flat on flat, a cylinder along a plane, or at a focal distance"
        return GeometryError("G122", title, "a surface with some curvature in every direction, or another pose")
    if "overlap" in verdicts or any(pair.gap < 0.0 for pair in found):
        gap = max(pair.gap for pair in found if pair.gap < 0.0)
        title = f"{names} overlap beyond the curvature limit: no shallow pair of points with opposite normals is left "
        title += f"(the shallowest has a gap of {gap:g} m)"
        return GeometryError("G123", title, "start with the bodies apart or in light contact")
    title = f"no pair of closest points of {names} was found: none of the starts converged to a minimum of the distance "
    cure = "check that the surfaces face each other in this pose and that their ranges hold the closest points, or give a guess"
    return GeometryError("G121", f"{title}within the surfaces", cure)
