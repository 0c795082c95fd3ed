"""Checks of the start values of a contact: its coordinates against the poses, its switch and normal spring against the gap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from screwbond.models.contacts.laws.law_interface import ContactForces

from bondgraph.errors import refusal
from screws.contact import drift

COORDINATES_AND_FRAMES = ("alpha", "d", "H_0_C1", "H_0_C2")
"""Signals of the kinematics that `coordinates_check` compares."""

START_TOLERANCE = 1e-3
"""Largest drift of the contact coordinates at the start, in rad, and relative to the size of the smaller body plus the gap; a
smaller drift decays."""


def coordinates_check(name: str, size: float) -> Callable[..., tuple[()]]:
    """Return a function that raises E607 if contact coordinates are not those of the poses; `size` is the size of the smaller
    body, m."""

    def check(alpha: Any, d: Any, H_0_C1: Any, H_0_C2: Any) -> tuple[()]:
        off = np.asarray(drift(H_0_C1, H_0_C2, alpha, d), dtype=float)
        angle, distance = float(np.linalg.norm(off[:3])), float(np.linalg.norm(off[3:]))
        if angle <= START_TOLERANCE and distance <= START_TOLERANCE * (size + abs(float(d))):
            return ()
        title = f'contact "{name}" starts with coordinates that are not those of the poses of its bodies'
        why = f"they place the surfaces {distance:.3g} m and {angle:.3g} rad off"
        cures = ("no start values of q1, q2, alpha, d and the charts, which follow from the poses", "poses that fit them")
        raise refusal("E607", title, *cures, about=name, why=why, places=())

    return check


def gap_check(name: str, size: float, tail: ContactForces) -> Callable[..., tuple[()]]:
    """Return a function that raises E608 if the switch or the normal spring contradicts the gap."""
    least, spring = START_TOLERANCE * size, tail.spring

    def check(d: Any, mode: Any, deformation: Any = 0.0) -> tuple[()]:
        gap, state = float(d), tail.switch.states[int(mode)]
        cure = "no start values of the switch and the springs, which follow from the gap"
        if state in tail.closed and gap > least:
            title = f'contact "{name}" starts in "{state}", but its gap is {gap:.3g} m'
            raise refusal("E608", title, cure, "start poses in which the bodies touch", about=name, places=())
        pressed = 0.0 if spring is None else float(np.ravel(deformation)[spring.index or 0])
        if abs(pressed - max(-gap, 0.0)) > least and (gap > 0.0 or tail.penetration is not None):
            depth = f"its gap is {gap:.3g} m" if gap > 0.0 else f"the bodies overlap by {-gap:.3g} m"
            title = f'the normal spring of contact "{name}" starts with a deformation of {pressed:.3g} m, but {depth}'
            raise refusal("E608", title, cure, "start poses with this overlap", about=name, places=())
        return ()

    return check
