"""Inertias of moving bodies from the elements <inertial> of a robot.

A body is a moving link with all links fixed to it; its inertia is the sum of theirs, in the frame of the moving link.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from screwbond.models.chains import BodyInertia
from screwbond.models.chains.inertias import UncheckedInertia
from screwbond.models.urdf.document import Ignored, place
from screwbond.models.urdf.skeleton import SelectedTree

from screws.errors import GeometryError
from screws.poses import inverse

InertiaTerms = tuple[float, np.ndarray, np.ndarray]
"""Mass, rotational inertia (3, 3) about the centre of mass, and the centre (3,)."""

ROUNDING, GYRATION = 1e-12, 1e-10
"""Moments below this share of their neighbours, or of a radius of gyration (m) below the size of an atom, are zero."""


def inertias_of(
    selected: SelectedTree, inertials: Mapping[str, Any], home_poses: Mapping[str, np.ndarray], floating: bool
) -> tuple[dict[str, BodyInertia], list[Ignored]]:
    """Return moving link -> inertia of its body, without massless bodies, and notes on what no rigid body has.

    Parameters
    ----------
    inertials : link -> record of yourdfpy, or None.
    home_poses : link -> pose (4, 4) in the base with all joints at zero.
    floating : True if the base moves too.
    """
    inertias: dict[str, BodyInertia] = {}
    massless: list[str] = []
    carriers: set[str | None] = set()
    for body, links in reversed(selected.bodies.items()):
        if body == selected.base and not floating:
            continue
        with_inertial = [link for link in links if inertials.get(link) is not None]
        total = _combine_inertias(
            [_inertia_in_body(home_poses[body], home_poses[link], inertials[link]) for link in with_inertial]
        )
        if _is_massless(total):
            massless += [] if body in carriers else [body]
        else:
            inertias[body] = _body_inertia(selected, with_inertial, total)
        if body in inertias or body in carriers:
            carriers.add(selected.carrier(body))
    return inertias, [*_massless_note(selected, massless[::-1]), *_unchecked_notes(inertias)]


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


def _body_inertia(selected: SelectedTree, links: Sequence[str], total: InertiaTerms) -> BodyInertia:
    """Return the inertia of a body; unchecked where no rigid body has it."""
    try:
        return BodyInertia(*total)
    except GeometryError as error:
        mass, moment, centre = total
        smallest = float(np.linalg.eigvalsh(moment)[0])
        rounding = ROUNDING * float(np.abs(moment).max() + mass * centre @ centre) + mass * GYRATION**2
        line = place(selected.skeleton.file, selected.skeleton.links[links[0]])
        return UncheckedInertia(*total, error.message.replace(" of the body", ""), smallest >= -rounding, line)


def _massless_note(selected: SelectedTree, bodies: Sequence[str]) -> list[Ignored]:
    """Return a note on bodies without mass that carry none: forces on them have no answer."""
    if not bodies:
        return []
    named = ", ".join(bodies[:8]) + (" ..." if len(bodies) > 8 else "")
    why = "a pose needs none; M(q) and a run refuse joints that move no mass (E538)"
    return [Ignored(f"no mass of {named}", why, tuple(selected.skeleton.links[body] for body in bodies))]


def _unchecked_notes(inertias: Mapping[str, BodyInertia]) -> list[Ignored]:
    notes = []
    for body, inertia in inertias.items():
        if isinstance(inertia, UncheckedInertia):
            effect = "kept as the file says" if inertia.is_passive else "M(q) and a run refuse it (E526)"
            lines = () if inertia.place is None else (inertia.place.line,)
            notes.append(Ignored(f'no rigid body has the inertia of "{body}"', f"{inertia.defect}; {effect}", lines))
    return notes[::-1]


def pose_of(record: Any) -> np.ndarray:
    """Return the pose (4, 4) of the <origin> of a record; the identity where there is none."""
    return np.eye(4) if record.origin is None else np.asarray(record.origin, dtype=float)
