"""Check of contacts of surfaces in a finished run (those of `watched_contacts`): each must follow the closest points, with the
force of its own gap, and bodies must not overlap at a point that no contact follows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bondgraph.run.program import Program, RunContact
from bondgraph.run.results.failure import ValidityConcern
from bondgraph.run.results.result import Result
from bondgraph.run.validation.checked_result import check_stride
from screws.contact import is_convex
from screws.contact.overlaps import deepest_inside, is_bounded, overlap_elsewhere
from screws.poses import inverse, pose_from_state
from screws.surfaces import Surface

MAX_SAMPLES, MAX_SEARCHES = 100, 3
"""A run is checked for overlap at MAX_SAMPLES samples at most, with MAX_SEARCHES full searches at most."""
MAX_TILT, GAP_SHARE, SIZE_SHARE = 0.1, 0.1, 1e-5
"""Tolerances of the closest points: MAX_TILT is the angle between their normals, rad, GAP_SHARE a fraction of the largest
gap in contact, and SIZE_SHARE a fraction of the size of the smaller body."""
APART = "a start or a shape for which the bodies touch at only one point"
FOCAL = (
    "a body with a smaller radius of curvature than every hollow that it reaches",
    "one contact per side, with near=(x, y, z), if a body touches both sides of a hollow",
)
LOST = (
    "a surface without edge, tip or step on the path of the contact; the functions absolute, maximum and where can create them",
    "a smaller rtol; start values of the contact from its bodies' poses",
)


@dataclass(frozen=True)
class SurfaceContacts:
    """Contacts between the same two surfaces.

    Parameters
    ----------
    poses : pose signals of the two bodies.
    surfaces : surfaces as designed.
    parameters : paths of the parameters of each surface.
    contacts : contacts, each with the index in `poses` of its body 1.
    """

    poses: tuple[str, str]
    surfaces: tuple[Surface, Surface]
    parameters: tuple[tuple[str, ...], tuple[str, ...]]
    contacts: tuple[tuple[RunContact, int], ...]

    @property
    def may_touch_twice(self) -> bool:
        return any(map(is_bounded, self.surfaces)) and not all(map(is_convex, self.surfaces))

    @property
    def may_lose_contact(self) -> bool:
        """True if one of the surfaces is a user's formula, which may have an edge."""
        return any(not surface.shape.latex for surface in self.surfaces)

    def actual_surfaces(self, result: Result) -> tuple[Surface, Surface]:
        first, second = (
            replace(surface, parameters={key: float(result[path]) for key, path in zip(surface.parameters, paths, strict=True)})
            for surface, paths in zip(self.surfaces, self.parameters, strict=True)
        )
        return first, second


def watched_contacts(program: Program) -> tuple[SurfaceContacts, ...]:
    """Return the contacts that are checked after a run: contacts of a surface that a user's formula defines, and contacts of
    bodies that may touch at several points."""
    if program.model is None or not program.contacts:
        return ()
    by_path = {contact.point.path: contact for contact in program.contacts if contact.point.frames}
    groups: dict[frozenset[tuple[str, Surface]], SurfaceContacts] = {}
    for part in program.model.visible:
        if part.path not in by_path or not _has_surfaces(part.shape):
            continue
        surface1, surface2 = part.shape
        names = tuple(tuple(f"surface {i} {key}" for key in part.shape[i - 1].parameters) for i in (1, 2))
        if not all(name in part.signals for of_surface in names for name in of_surface):
            continue  # a file from an earlier version
        pose1, pose2 = part.signals["1"], part.signals["2"]
        paths1, paths2 = (tuple(part.signals[name] for name in of_surface) for of_surface in names)
        key, contact = frozenset([(pose1, surface1), (pose2, surface2)]), by_path[part.path]
        group = groups.setdefault(key, SurfaceContacts((pose1, pose2), (surface1, surface2), (paths1, paths2), ()))
        groups[key] = replace(group, contacts=(*group.contacts, (contact, 0 if pose1 == group.poses[0] else 1)))
    return tuple(group for group in groups.values() if group.may_touch_twice or group.may_lose_contact)


def _has_surfaces(shape: object) -> bool:
    return isinstance(shape, tuple) and len(shape) == 2 and all(isinstance(surface, Surface) for surface in shape)


def contact_concerns(result: Result, rtol: float) -> tuple[ValidityConcern, ...]:
    """Return a concern about each contact that has lost the closest points, about overlap at a point without a contact (if none
    of the others is lost), and about each contact in whose coordinates the run has failed."""
    concerns = _focal_distances(result)
    for group in watched_contacts(result.program):
        surfaces = group.actual_surfaces(result)
        if group.may_lose_contact:
            size = min(surface.size for surface in surfaces)
            lost = (_lost_contact(result, contact, _bodies(group, side), size, rtol) for contact, side in group.contacts)
            concerns += [concern for concern in lost if concern is not None]
        if group.may_touch_twice and not any(concern.cures is LOST for concern in concerns):
            overlap = _overlap(result, group, surfaces)
            concerns += [] if overlap is None else [overlap]
    return tuple(concerns)


def _focal_distances(result: Result) -> list[ValidityConcern]:
    failure = result.failure
    if failure is None:
        return []
    paths = (contact.point.path for contact in result.program.contacts if contact.point.frames)
    return [
        ValidityConcern(
            f'the closest points of "{path}" move at an unbounded rate, as at a focal distance', failure.time, path, cures=FOCAL
        )
        for path in paths
        if failure.suspect.startswith(f"{path}.")
    ]


def _bodies(group: SurfaceContacts, side: int) -> tuple[str, str]:
    return group.poses if side == 0 else (group.poses[1], group.poses[0])


def _poses(result: Result, name: str, rows: np.ndarray) -> np.ndarray:
    values, shape = result[name], result.program.layout[name].shape
    if values.shape == shape:  # a parameter: the body never moves
        values = np.broadcast_to(values, (len(result.t), *shape))
    if shape == (4, 4):
        return np.asarray(values[rows], dtype=float)
    return np.array([np.asarray(pose_from_state(values[k]), dtype=float) for k in rows])


def _lost_contact(
    result: Result, contact: RunContact, poses: tuple[str, str], size: float, rtol: float
) -> ValidityConcern | None:
    """Return a concern about a contact whose coordinates are not at the closest points, or whose law uses a depth other than
    the gap, so that the force does not follow the law at the gap."""
    rows, point = np.arange(0, len(result.t), check_stride(len(result.t))), contact.point
    touching = np.asarray(contact.touching(result.m[rows]), dtype=bool)
    rows = rows[touching]
    if not len(rows):
        return None
    H1, H2 = (_poses(result, pose, rows) @ result[frame][rows] for pose, frame in zip(poses, point.frames, strict=True))
    gap = np.asarray(result[point.gap])[rows]
    between, normal = H2[:, :3, 3] - H1[:, :3, 3], H1[:, :3, 2]
    height = np.einsum("ki,ki->k", normal, between)
    tilt = np.linalg.norm(normal + H2[:, :3, 2], axis=1)
    allowed = max(GAP_SHARE, 10.0 * rtol) * np.abs(gap).max() + SIZE_SHARE * size
    off = np.maximum(tilt / max(MAX_TILT, 10.0 * rtol), np.abs(gap - height) / allowed)
    if point.penetration is not None:
        depth = np.asarray(result[point.penetration.signal])[rows].reshape(len(rows), -1)[:, point.penetration.index or 0]
        off = np.maximum(off, np.abs(gap + depth) / allowed)
    wrong = np.flatnonzero(~(off <= 1.0))
    if not len(wrong):
        return None
    k = int(wrong[np.argmax(off[wrong])])
    gap_text = f"the force does not follow the contact law at the gap, {gap[k]:.3g} m"
    reason = f'"{point.path}" lost the closest points of its bodies: {gap_text}'
    return ValidityConcern(reason, float(result.t[rows[int(wrong[0])]]), point.path, cures=LOST)


def _overlap(result: Result, group: SurfaceContacts, surfaces: tuple[Surface, Surface]) -> ValidityConcern | None:
    rows = np.unique(np.linspace(0, len(result.t) - 1, MAX_SAMPLES).astype(int))
    H1, H2 = (_poses(result, pose, rows) for pose in group.poses)
    H_1_2 = np.array([np.asarray(inverse(first), dtype=float) @ second for first, second in zip(H1, H2, strict=True)])
    points = np.stack([result[contact.point.frames[side]][rows, :3, 3] for contact, side in group.contacts], axis=1)
    depths = [deepest_inside(*surfaces, pose, contacts) for pose, contacts in zip(H_1_2, points, strict=True)]
    for k in np.argsort(depths, kind="stable")[::-1][:MAX_SEARCHES]:
        if depths[k] == 0.0:
            return None
        depth = max(-float(result[contact.point.gap][rows[k]]) for contact, _ in group.contacts)
        overlap = overlap_elsewhere(*surfaces, H_1_2[k], points[k], max(depth, 0.0))
        if overlap is not None:
            names = " and ".join(f'"{contact.point.path}"' for contact, _ in group.contacts)
            least = 1e-9 * min(surface.size for surface in surfaces)
            where = ", ".join(f"{x if abs(x) > least else 0.0:.4g}" for x in overlap.point)
            reason = f"the bodies of {names} overlap by {overlap.depth:.3g} m elsewhere, at ({where}) m of body 1, where no"
            reason += " contact acts: each contact follows one pair of closest points"
            further = f"a further contact between the same bodies, with near=({where}), in addition to near= of this one"
            cures = (further, f"one contact for all points: contact(..., places={len(group.contacts) + 1})", APART)
            return ValidityConcern(reason, float(result.t[rows[k]]), group.contacts[0][0].point.path, cures=cures)
    return None
