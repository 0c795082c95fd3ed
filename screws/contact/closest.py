"""Closest points of two surfaces in any relative pose (separated, touching, overlapping moderately), by a Newton iteration."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from screws.contact.initial_guesses import Bodies, Pair, common_samples, facing_pair, starting_pairs
from screws.errors import GeometryError
from screws.poses import is_pose
from screws.surfaces.closed import Cylinder, Ellipsoid, Plane, Sphere
from screws.surfaces.frames import Geometry
from screws.surfaces.nearest import Samples, after_step, bounded_samples, normalised
from screws.surfaces.surface import Surface


@dataclass(frozen=True)
class StationaryPair:
    """Pair of surface points p1, p2 (3,), in the frame of object 1, with tangential offset and tilt (zero at a solution)."""

    pair: Pair
    M1: np.ndarray
    M2: np.ndarray
    K1: np.ndarray
    K2: np.ndarray
    p1: np.ndarray
    p2: np.ndarray
    across: np.ndarray
    """[x1 y1]^T [x2 y2] (2, 2)."""
    offset: np.ndarray
    """[x1 y1]^T (p2 - p1) (2,), m."""
    tilt: np.ndarray
    """[x1 y1]^T z2 (2,)."""
    gap: float
    facing: float
    """Product z1 . z2, -1 at the solution."""

    def residual(self, length: float) -> float:
        return float(np.sqrt(self.offset @ self.offset / length**2 + self.tilt @ self.tilt))

    def curvatures(self) -> tuple[np.ndarray, np.ndarray]:
        """Return K1 and K2 (2, 2), both in the tangent axes of Gauss frame 1."""
        return self.K1, self.across @ self.K2 @ self.across.T


def evaluate(bodies: Bodies, pair: Pair) -> StationaryPair:
    g1: Geometry = bodies.surface1.geometry(pair.q1, pair.chart1)
    g2: Geometry = bodies.surface2.geometry(pair.q2, pair.chart2)
    F1, F2 = np.asarray(g1.H, dtype=float), bodies.H_1_2 @ np.asarray(g2.H, dtype=float)
    tangents, z1 = F1[:3, :2].T, F1[:3, 2]
    M1, M2, K1, K2 = (np.asarray(part, dtype=float) for part in (g1.M, g2.M, g1.K, g2.K))
    p1, p2, z2 = F1[:3, 3], F2[:3, 3], F2[:3, 2]
    across, offset, tilt = tangents @ F2[:3, :2], tangents @ (p2 - p1), tangents @ z2
    return StationaryPair(pair, M1, M2, K1, K2, p1, p2, across, offset, tilt, float(z1 @ (p2 - p1)), float(z1 @ z2))


def solve_stationarity(bodies: Bodies, start: Pair, max_iterations: int = 60) -> StationaryPair | None:
    """Solve for the stationary pair to rounding error by Newton iteration with line search; return None if it does not
    converge."""
    surface1, surface2, length = bodies.surface1, bodies.surface2, bodies.length
    current = evaluate(bodies, start)
    for _ in range(max_iterations):
        residual = current.residual(length)
        if not np.isfinite(residual):
            return None
        if residual == 0.0:
            return current
        a, b = _newton_step(current, length)
        longest = max(np.hypot(*a) / surface1.size, np.hypot(*b) / surface2.size, 1e-300)
        fraction = min(1.0, 0.4 / longest)
        best = None
        for _ in range(9):
            q1, chart1 = after_step(surface1, current.pair.q1, current.pair.chart1, current.M1, fraction * a)
            q2, chart2 = after_step(surface2, current.pair.q2, current.pair.chart2, current.M2, fraction * b)
            trial = evaluate(bodies, Pair(q1, chart1, q2, chart2))
            if best is None or trial.residual(length) < best.residual(length):
                best = trial
            if trial.residual(length) < (1.0 - 0.25 * fraction) * residual or residual < 1e-9:
                break
            fraction *= 0.4
        assert best is not None
        if best.residual(length) >= residual:
            return current if _converged(current, length) else None
        current = best
    return current if _converged(current, length) else None


def _converged(current: StationaryPair, length: float) -> bool:
    # Rounding errors of the positions limit the offset; near a curvature limit half of the digits are lost.
    rounding = float(np.max(np.abs([current.p1, current.p2]))) / length
    return current.residual(length) < 1e-11 * max(1.0, rounding)


def _newton_step(current: StationaryPair, length: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the tangential steps (2,), (2,) in m on both surfaces, along the axes of their Gauss frames."""
    J = np.zeros((4, 4))
    J[:2, :2] = -(np.eye(2) + current.gap * current.K1) / length
    J[:2, 2:] = current.across / length
    J[2:, :2] = -current.facing * current.K1
    J[2:, 2:] = current.across @ current.K2
    # Dimensionless residuals, and steps in lengths, so that the least-squares cut-off has a meaning.
    F = np.concatenate([current.offset / length, current.tilt])
    step = -np.linalg.lstsq(J * length, F, rcond=1e-12)[0] * length
    return step[:2], step[2:]


@dataclass(frozen=True)
class ContactCoordinates:
    """The six contact coordinates and the charts in which they are given.

    Attributes
    ----------
    q1, q2 : surface coordinates (2,) on bodies 1 and 2.
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


# Determinant of the relative curvature, divided by the square of the largest curvature, up to which points are not isolated.
_FLAT_SHARE = 1e-9
# Fraction of this determinant at d = 0 that must remain in an overlap: for spheres the limit is 90 % of the sum of the radii.
_OVERLAP_SHARE = 1e-2


def closest_points(
    surface1: Surface,
    surface2: Surface,
    H_1_2: np.ndarray,
    guess: ContactCoordinates | None = None,
    near: np.ndarray | None = None,
) -> ContactCoordinates:
    """Find the contact coordinates of two bodies: the pair of points with opposite normals along their common line.

    Separated bodies get their closest points; overlapping bodies get the continuation of this pair into penetration, d < 0.

    Parameters
    ----------
    surface1, surface2 : surfaces in the object frames O1, O2.
    H_1_2 : pose (4, 4) of O2 in O1.
    guess : contact coordinates at a nearby pose, tried first.
    near : point (3,) of body 1, m, which selects the nearest of several local minima of the distance if the guess leads to none.

    Raises `GeometryError` G121 if no pair is found, G122 if no pair is isolated (flat on flat, parallel cylinders, a focal
    distance), G123 if the overlap exceeds the curvature limit, G124 if H_1_2 is not a pose.

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
        raise GeometryError("G122", title, "a surface with some curvature in every direction instead of one of the planes")
    if guess is not None:
        start = Pair(np.asarray(guess.q1, dtype=float), guess.chart1, np.asarray(guess.q2, dtype=float), guess.chart2)
        continued = _from_guess(bodies, start)
        if continued is not None:
            return contact_coordinates(bodies, continued)
    if near is None and all(not surface.has_edge and is_convex(surface) for surface in (surface1, surface2)):
        only = _between_convex(bodies)
        if only is not None:
            return contact_coordinates(bodies, only)
    pairs, verdicts, minima = _local_minima(bodies)
    if not minima:
        raise _search_error(bodies, pairs, verdicts)
    chosen = minima[0] if near is None else min(minima, key=lambda pair: float(np.linalg.norm(pair.p1 - near)))
    return contact_coordinates(bodies, chosen)


def all_closest_points(surface1: Surface, surface2: Surface, H_1_2: np.ndarray) -> list[ContactCoordinates]:
    """Return all local minima of the distance that a global search finds: first overlapping pairs by increasing depth, then
    separated pairs by increasing gap. Two separated convex bodies have one minimum; an ellipsoid across a trough has two. The
    list is empty if no minimum is isolated or found.

    Raises `GeometryError` G124 if H_1_2 is not a pose.
    """
    bodies = _bodies(surface1, surface2, H_1_2)
    return [contact_coordinates(bodies, pair) for pair in _local_minima(bodies)[2]]


@functools.lru_cache(maxsize=256)
def is_convex(surface: Surface) -> bool:
    """Return True if no sample of the surface is curved inward."""
    if isinstance(surface.shape, (Plane, Cylinder, Sphere, Ellipsoid)):
        return True
    samples = bounded_samples(surface)
    bends = (surface.geometry(q, chart).K for q, chart in zip(samples.q, samples.chart, strict=True))
    return all(float(np.linalg.eigvalsh(np.asarray(K, dtype=float))[0]) >= -1e-9 / surface.size for K in bends)


MERGE_DISTANCE = 1e-3
"""Sum of distances on both bodies, relative to the smaller body's size, up to which two local minima count as one."""


def _local_minima(bodies: Bodies) -> tuple[list[StationaryPair], list[str], list[StationaryPair]]:
    samples1, samples2 = common_samples(bodies)
    solutions = (solve_stationarity(bodies, start) for start in starting_pairs(bodies, samples1, samples2))
    pairs = [pair for pair in solutions if pair is not None and pair.facing < 0.0 and _in_range(bodies, pair)]
    verdicts = [_verdict(pair) for pair in pairs]
    valid = [pair for pair, verdict in zip(pairs, verdicts, strict=True) if verdict == ""]
    overlapping = [pair for pair in valid if pair.gap < 0.0 and _inside(bodies, pair, samples1, samples2)]
    separated = [pair for pair in valid if pair.gap >= 0.0]
    return pairs, verdicts, distinct(bodies, [*overlapping, *separated])


def local_minima(bodies: Bodies) -> list[StationaryPair]:
    return _local_minima(_bodies(bodies.surface1, bodies.surface2, bodies.H_1_2))[2]


def distinct(bodies: Bodies, pairs: Iterable[StationaryPair]) -> list[StationaryPair]:
    """Return the pairs without duplicates, first overlapping pairs by increasing depth, then separated pairs by increasing
    gap."""
    minima: list[StationaryPair] = []
    for pair in sorted(pairs, key=lambda pair: (pair.gap >= 0.0, abs(pair.gap))):
        distances = (np.linalg.norm(pair.p1 - other.p1) + np.linalg.norm(pair.p2 - other.p2) for other in minima)
        if all(distance > MERGE_DISTANCE * bodies.length for distance in distances):
            minima.append(pair)
    return minima


def _bodies(surface1: Surface, surface2: Surface, H_1_2: np.ndarray) -> Bodies:
    if not is_pose(H_1_2, 1e-8):
        title = "the relative pose of the bodies is not a finite (4, 4) matrix with a right-handed rotation"
        raise GeometryError("G124", title, "build it with screws.pose(R, p) or screws.pose_from_state(x)")
    return Bodies(surface1, surface2, np.asarray(H_1_2, dtype=float))


def _from_guess(bodies: Bodies, guess: Pair) -> StationaryPair | None:
    initial = evaluate(bodies, guess)
    pair = solve_stationarity(bodies, guess, max_iterations=12)
    if pair is None or not is_isolated_minimum(bodies, pair):
        return None
    near1 = np.linalg.norm(pair.p1 - initial.p1) < 0.3 * bodies.surface1.size
    near2 = np.linalg.norm(pair.p2 - initial.p2) < 0.3 * bodies.surface2.size
    return pair if near1 and near2 else None


def _between_convex(bodies: Bodies) -> StationaryPair | None:
    """Return the closest points of two separated convex bodies, or None if the iteration fails or the bodies overlap,
    because then several pairs face each other."""
    start = facing_pair(bodies)
    pair = None if start is None else solve_stationarity(bodies, start)
    return None if pair is None or pair.gap < 0.0 or not is_isolated_minimum(bodies, pair) else pair


def is_isolated_minimum(bodies: Bodies, pair: StationaryPair) -> bool:
    """Return True if the gap, or its continuation into penetration, has a strict minimum at a pair, whose points face each other
    and lie in the ranges of their surfaces."""
    return pair.facing < 0.0 and _in_range(bodies, pair) and _verdict(pair) == ""


def _in_range(bodies: Bodies, pair: StationaryPair) -> bool:
    coordinates = ((bodies.surface1, pair.pair.q1), (bodies.surface2, pair.pair.q2))
    return all(not surface.has_edge or surface.edge_margin(q) >= 0.0 for surface, q in coordinates)


def _verdict(pair: StationaryPair) -> str:
    """Classify a pair: "" for a minimum of the gap (d >= 0) or its continuation (d < 0), else "flat", "overlap" or "saddle".

    The second variation of the gap is [[A, 0], [0, K2]] + [[I, -I], [-I, I]] / d; it is positive definite where I + d A and A +
    K2 + d K2 A are. In penetration d decreases from 0; the first zero of the second matrix's determinant is the curvature
    limit.
    """
    A, K = pair.curvatures()
    scale = max(float(np.max(np.abs(A))), float(np.max(np.abs(K))))
    floor = _FLAT_SHARE * scale * scale
    touching = A + K
    determinant0, trace0 = float(np.linalg.det(touching)), float(np.trace(touching))
    quadratic = float(np.linalg.det(A) * np.linalg.det(K))
    determinant = determinant0 + (d := pair.gap) * (linear := _mixed(touching, K @ A)) + d * d * quadratic
    if scale == 0.0:
        return "flat"
    if d < 0.0:
        if abs(determinant0) <= floor:
            return "flat"
        if determinant0 < 0.0 or trace0 < 0.0:
            return "saddle"
        limit = max(floor, _OVERLAP_SHARE * determinant0)
        if determinant <= limit:
            return "overlap"
        vertex = -linear / (2.0 * quadratic) if quadratic > 0.0 else -np.inf
        lowest = determinant0 + vertex * linear + vertex**2 * quadratic if d < vertex < 0.0 else determinant
        return "overlap" if lowest <= limit else ""
    B = np.eye(2) + d * A
    focal = float(np.linalg.eigvalsh(B)[0])
    bound = max(1.0, d * scale)
    if abs(determinant) <= floor * bound or abs(focal) <= _FLAT_SHARE * bound:
        return "flat"
    if focal < 0.0:
        return "saddle"
    reduced = K + A @ np.linalg.inv(B)
    return "" if float(np.linalg.eigvalsh(0.5 * (reduced + reduced.T))[0]) > 0.0 else "saddle"


def _mixed(X: np.ndarray, Y: np.ndarray) -> float:
    """Return d/dt det(X + t Y) at t = 0."""
    return float(X[0, 0] * Y[1, 1] + Y[0, 0] * X[1, 1] - X[0, 1] * Y[1, 0] - Y[0, 1] * X[1, 0])


def _inside(bodies: Bodies, pair: StationaryPair, samples1: Samples, samples2: Samples) -> bool:
    depth = abs(pair.gap)
    return _is_below(pair.p2, samples1, depth) and _is_below(bodies.in_second(pair.p1), samples2, depth)


def _is_below(point: np.ndarray, samples: Samples, depth: float) -> bool:
    line = point - samples.points
    square = np.einsum("ij,ij->i", line, line)
    nearest = int(np.argmin(square))
    # The partner point lies straight above, at the distance `depth`.
    return bool(square[nearest] >= depth * depth or line[nearest] @ samples.normals[nearest] < 0.0)


def contact_coordinates(bodies: Bodies, pair: StationaryPair) -> ContactCoordinates:
    q1, chart1 = normalised(bodies.surface1, pair.pair.q1, pair.pair.chart1)
    q2, chart2 = normalised(bodies.surface2, pair.pair.q2, pair.pair.chart2)
    final = evaluate(bodies, Pair(q1, chart1, q2, chart2))
    c = final.across[0, 0] - final.across[1, 1]
    s = -(final.across[0, 1] + final.across[1, 0])
    return ContactCoordinates(q1, chart1, q2, chart2, float(np.arctan2(s, c)), final.gap)


def _search_error(bodies: Bodies, pairs: list[StationaryPair], verdicts: list[str]) -> GeometryError:
    names = f"{bodies.surface1.name} and {bodies.surface2.name}"
    endless = {type(surface.shape) for surface in (bodies.surface1, bodies.surface2)} <= {Plane, Cylinder}
    if "flat" in verdicts and not any(v in ("overlap", "") for v in verdicts):
        return _not_isolated(names, pairs[verdicts.index("flat")], endless)
    if "overlap" in verdicts or any(pair.gap < 0.0 for pair in pairs):
        gap = max(pair.gap for pair in pairs if pair.gap < 0.0)
        title = f"{names} overlap beyond the curvature limit: no shallow pair of points with opposite normals is left "
        title += f"(the shallowest has a gap of {gap:g} m)"
        return GeometryError("G123", title, "start with the bodies apart or in light contact")
    if endless:
        title = f"{names} have no closest points: the cylinder is infinite and cuts the plane in this pose"
        return GeometryError("G121", title, BOUNDED)
    title = f"no pair of closest points of {names} was found: none of the starts converged to a minimum of the distance "
    cure = "check that the surfaces face each other in this pose and their ranges contain the closest points, or pass a guess"
    return GeometryError("G121", f"{title}within the surfaces", cure)


BOUNDED = "a body with ends instead of the cylinder: ellipsoid((r, r, length)), or a closed_surface with round ends"


def _not_isolated(names: str, pair: StationaryPair, endless: bool) -> GeometryError:
    hollow = min(float(np.linalg.eigvalsh(K)[0]) for K in (pair.K1, pair.K2))
    title = f"{names} have no isolated closest points at a gap of {pair.gap:g} m: "
    if endless:
        return GeometryError("G122", f"{title}the infinite cylinder is nearest along a whole line", BOUNDED)
    if hollow < 0.0:
        title += "at this focal distance the hollow has the curvature of the other body"
        cure = "a body with a smaller radius of curvature than the hollow, starting nearer to the hollow or to one side"
        return GeometryError("G122", title, cure)
    title += "the relative curvature K2 (d A + I) + A is singular, as for flat on flat or a cylinder along a flat side"
    return GeometryError("G122", title, "a surface with some curvature in every direction, or another pose")
