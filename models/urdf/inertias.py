"""Inertias of moving bodies from the elements <inertial> of a robot.

A body is a moving link with all links fixed to it; its inertia is the sum of theirs, in the frame of the moving link.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from screwbond.models.chains import BodyInertia
from screwbond.models.urdf.document import place
from screwbond.models.urdf.skeleton import SelectedTree

from bondgraph.errors import Problem
from screws.errors import GeometryError
from screws.poses import inverse

InertiaTerms = tuple[float, np.ndarray, np.ndarray]
"""Mass, rotational inertia (3, 3) about the centre of mass, and the centre (3,)."""


def inertias_of(
    selected: SelectedTree,
    inertials: Mapping[str, Any],
    home_poses: Mapping[str, np.ndarray],
    invalid_inertias: frozenset[str],
    floating: bool,
) -> tuple[dict[str, BodyInertia], list[Problem]]:
    """Return moving link -> inertia of its body; no entry for massless bodies that carry others.

    Parameters
    ----------
    inertials : link -> record of yourdfpy, or None.
    home_poses : link -> pose (4, 4) in the base with all joints at zero.
    invalid_inertias : links whose inertia could not be read.
    floating : True if the base moves too.
    """
    inertias: dict[str, BodyInertia] = {}
    problems: list[Problem] = []
    carriers: set[str | None] = set()
    for body, links in reversed(selected.bodies.items()):
        if body == selected.base and not floating:
            continue
        unknown = bool(invalid_inertias & set(links))
        with_inertial = [link for link in links if inertials.get(link) is not None]
        total = _combine_inertias(
            [_inertia_in_body(home_poses[body], home_poses[link], inertials[link]) for link in with_inertial]
        )
        if not (unknown or (_is_massless(total) and body in carriers)):
            try:
                inertias[body] = BodyInertia(*total)
            except GeometryError as error:
                problems.append(_inertia_problem(selected, body, with_inertial, total, error))
        carriers.add(selected.carrier(body))
    return inertias, problems


def _inertia_in_body(body: np.ndarray, link: np.ndarray, inertial: Any) -> InertiaTerms:
    """Return the inertia of a link in the frame of its body; both poses in the base."""
    H = inverse(body) @ link @ pose_of(inertial)
    return float(inertial.mass), H[:3, :3] @ inertial.inertia @ H[:3, :3].T, H[:3, 3]


def _combine_inertias(parts: Sequence[InertiaTerms]) -> InertiaTerms:
    """Combine inertias as `combined_inertia`, of parts that need not be physical: points, thin rods, corrections."""
    mass = sum(part[0] for part in parts)
    first_moment = sum((part[0] * part[2] for part in parts), np.zeros(3))
    centre = first_moment / mass if mass else np.zeros(3)
    moment = np.zeros((3, 3))
    for part_mass, inertia, part_centre in parts:
        r = part_centre - centre
        moment = moment + inertia + part_mass * ((r @ r) * np.eye(3) - np.outer(r, r))
    return mass, moment, centre


def _is_massless(total: InertiaTerms) -> bool:
    return total[0] == 0.0 and not np.any(total[1])


def _inertia_problem(
    selected: SelectedTree, body: str, with_inertial: Sequence[str], total: InertiaTerms, error: GeometryError
) -> Problem:
    """Return E526 in the terms of the file."""
    links, above = selected.bodies[body], selected.skeleton.parent_joint
    others = ", ".join(link for link in links if link != body)
    about = f'"{body}"' + (f" with what is fixed to it ({others})" if others else "")
    cure_fixed = f'type="fixed" for joint "{above[body].name}"' if body in above else "floating=False"
    if _is_massless(total):
        title = f"nothing that moves with {about} has mass, and it carries nothing that has"
        cures = (f'<inertial> with mass and inertia in link "{body}"', cure_fixed)
    else:
        title = f"{about} moves, and no body can have its inertia: {error.message.replace('the body', 'it')}"
        cures = (error.cure, cure_fixed)
    lines = tuple(place(selected.skeleton.file, selected.skeleton.links[link]) for link in with_inertial or [body])
    return Problem("E526", title, (), lines, cures)


def pose_of(record: Any) -> np.ndarray:
    """Return the pose (4, 4) of the <origin> of a record; the identity where there is none."""
    return np.eye(4) if record.origin is None else np.asarray(record.origin, dtype=float)
