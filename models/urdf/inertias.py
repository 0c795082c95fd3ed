"""Inertias: what is kept of a robot and its elements <inertial> in; the inertia of each body that moves out, or what is wrong.

A body is a link with all that is fixed to it: its inertia is theirs together, in the frame of the link that moves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from screwbond.models.chains import BodyInertia
from screwbond.models.urdf.document import place
from screwbond.models.urdf.skeleton import Kept

from bondgraph.errors import Problem
from screws.errors import GeometryError
from screws.poses import inverse

Total = tuple[float, np.ndarray, np.ndarray]
"""Mass, rotational inertia (3, 3) about the centre of mass, and the centre (3,)."""


def inertias_of(
    kept: Kept, inertials: Mapping[str, Any], home: Mapping[str, np.ndarray], unweighed: frozenset[str], floating: bool
) -> tuple[dict[str, BodyInertia], list[Problem]]:
    """Moving link -> inertia of its body; nothing for bodies without mass that carry others.

    Parameters
    ----------
    inertials : link -> record of yourdfpy, or None.
    home : link -> pose (4, 4) in the base with all joints at zero.
    unweighed : links whose inertia is unknown, because it could not be read.
    floating : whether the base moves too.
    """
    found: dict[str, BodyInertia] = {}
    problems: list[Problem] = []
    carrying: set[str | None] = set()
    for body, links in reversed(kept.bodies.items()):
        if body == kept.base and not floating:
            continue
        unknown = bool(unweighed & set(links))
        named = [link for link in links if inertials.get(link) is not None]
        total = _together([_seen_from(home[body], home[link], inertials[link]) for link in named])
        if not (unknown or (_weightless(total) and body in carrying)):
            try:
                found[body] = BodyInertia(*total)
            except GeometryError as error:
                problems.append(_unphysical(kept, body, named, total, error))
        carrying.add(kept.carrier(body))
    return found, problems


def _seen_from(body: np.ndarray, link: np.ndarray, inertial: Any) -> Total:
    """Inertia of a link in the frame of its body; both poses in the base."""
    H = inverse(body) @ link @ pose_of(inertial)
    return float(inertial.mass), H[:3, :3] @ inertial.inertia @ H[:3, :3].T, H[:3, 3]


def _together(parts: Sequence[Total]) -> Total:
    """As `combined_inertia`, of parts that need not be bodies by themselves: points, thin rods, corrections."""
    mass = sum(part[0] for part in parts)
    first = sum((part[0] * part[2] for part in parts), np.zeros(3))
    centre = first / mass if mass else np.zeros(3)
    moment = np.zeros((3, 3))
    for own, inertia, at in parts:
        r = at - centre
        moment = moment + inertia + own * ((r @ r) * np.eye(3) - np.outer(r, r))
    return mass, moment, centre


def _weightless(total: Total) -> bool:
    return total[0] == 0.0 and not np.any(total[1])


def _unphysical(kept: Kept, body: str, named: Sequence[str], total: Total, error: GeometryError) -> Problem:
    """E526, in words of the file."""
    links, above = kept.bodies[body], kept.bones.above
    others = ", ".join(link for link in links if link != body)
    about = f'"{body}"' + (f" with what is fixed to it ({others})" if others else "")
    held = f'type="fixed" for joint "{above[body].name}"' if body in above else "floating=False"
    if _weightless(total):
        title = f"nothing that moves with {about} has mass, and it carries nothing that has"
        cures = (f'<inertial> with mass and inertia in link "{body}"', held)
    else:
        title = f"{about} moves, and no body can have its inertia: {error.message.replace('the body', 'it')}"
        cures = (error.cure, held)
    lines = tuple(place(kept.bones.file, kept.bones.links[link]) for link in named or [body])
    return Problem("E526", title, (), lines, cures)


def pose_of(record: Any) -> np.ndarray:
    """Pose (4, 4) of the <origin> of a record; the identity where there is none."""
    return np.eye(4) if record.origin is None else np.asarray(record.origin, dtype=float)
