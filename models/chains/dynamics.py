"""Dynamics of a chain: mass matrix, velocity forces, potential and weight, as plain formulas over any scalar.

Every formula takes, after q (and v), the numbers of `inertia_numbers` in their order; without them the chain's own. Numbers that
are zero in the chain belong to the equations (and cost nothing), all others may be parameters of a graph.

Source: Featherstone 2008, tables 5.1 (recursive Newton-Euler) and 6.2 (composite bodies); Walker and Orin 1982.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph import count_operations
from bondgraph.model.mechanics import Mechanics
from models.chains.kinematics import section_twists, step, steps, unit_screw
from models.chains.links import Chain
from models.chains.sections import SNAP
from screws.scalars import array
from screws.vectors import cross

Vector = Sequence[float] | np.ndarray

ENTRIES = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


@dataclass(frozen=True, eq=False)
class Moments:
    """Mass, first and second moments of a mass distribution about the origin of a frame."""

    mass: Any
    first: np.ndarray
    """(3,) mass times centre, kg m."""
    second: np.ndarray
    """(3, 3) rotational inertia about the origin, kg m^2."""

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.mass + other.mass, self.first + other.first, self.second + other.second)

    def momentum(self, omega: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
        """Angular and linear momentum of the twist (omega, v)."""
        return self.second @ omega + cross(self.first, v), self.mass * v + cross(omega, self.first)

    def seen_from(self, R: np.ndarray, p: np.ndarray) -> Moments:
        """The same masses in a frame in which the present one has the rotation R and the origin p."""
        first = R @ self.first
        half = R @ self.second
        ahead = self.mass * p + first
        centred = p @ (ahead + first)
        second = np.zeros((3, 3), dtype=object)
        for i, j in ENTRIES:
            turned = half[i] @ R[j]
            entry = turned - (p[i] * ahead[j] + first[i] * p[j])
            second[i, j] = second[j, i] = entry + centred if i == j else entry
        return Moments(self.mass, ahead, second)


def inertia_numbers(chain: Chain) -> dict[str, tuple[float, str]]:
    """Name -> (value, unit) of every number of the links' inertias that is not zero (to 1e-14 of its neighbours).

    `<link> mass`, `<link> centre x`, `<link> inertia xx` (about the centre of mass, in the link's frame) ...
    """
    numbers: dict[str, tuple[float, str]] = {}
    for link in chain.links:
        if link.inertia is None:
            continue
        J, centre = link.inertia.rotational, link.inertia.centre
        size = max(float(np.abs(centre).max()), float(np.sqrt(np.trace(J) / link.inertia.mass)))
        numbers[f"{link.name} mass"] = (link.inertia.mass, "kg")
        for i in range(3):
            if abs(centre[i]) > SNAP * size:
                numbers[f"{link.name} centre {'xyz'[i]}"] = (float(centre[i]), "m")
        for i, j in ENTRIES:
            if abs(J[i, j]) > SNAP * np.trace(J):
                numbers[f"{link.name} inertia {'xyz'[i]}{'xyz'[j]}"] = (float(J[i, j]), "kg m^2")
    return numbers


def _section_moments(chain: Chain, numbers: Sequence[Any]) -> list[Moments]:
    """Moments carried by every section, in its frame (links on the base do not count)."""
    known = inertia_numbers(chain)
    given = dict(zip(known, numbers or [value for value, _ in known.values()], strict=True))
    sections = chain.sections
    out = [Moments(0.0, np.zeros(3), np.zeros((3, 3))) for _ in sections.freedoms]
    for link, carrier, R, p in zip(chain.links, sections.carrier, sections.R, sections.p, strict=True):
        if link.inertia is None or carrier == 0:
            continue
        mass = given[f"{link.name} mass"]
        centre = np.array([given.get(f"{link.name} centre {axis}", 0.0) for axis in "xyz"], dtype=object)
        own = np.zeros((3, 3), dtype=object)
        for i, j in ENTRIES:
            own[i, j] = own[j, i] = given.get(f"{link.name} inertia {'xyz'[i]}{'xyz'[j]}", 0.0)
        about_centre = Moments(mass, np.zeros(3), own)
        out[carrier - 1] = out[carrier - 1] + about_centre.seen_from(R, p + R @ centre)
    return out


def _composites(moves: Sequence[tuple[Any, Any]], carried: Sequence[Moments]) -> list[Moments]:
    """Moments of all that moves with a section, in its frame."""
    composites = list(carried)
    for k in range(len(moves) - 1, 0, -1):
        composites[k - 1] = composites[k - 1] + composites[k].seen_from(*moves[k])
    return composites


def mass_matrix(chain: Chain, q: Any, *numbers: Any) -> np.ndarray:
    """Mass matrix M(q) (n, n) of the joint coordinates, kg m^2, kg m or kg, by composite bodies."""
    moves = steps(chain, q)
    composites = _composites(moves, _section_moments(chain, numbers))
    screws = [unit_screw(section) for section in chain.sections.freedoms]
    n = len(moves)
    M = np.zeros((n, n), dtype=object)
    for k in range(n):
        moment, force = composites[k].momentum(*screws[k])
        M[k, k] = _along(screws[k], moment, force)
        for j in range(k, 0, -1):
            R, p = moves[j]
            force = R @ force
            moment = R @ moment + cross(p, force)
            M[k, j - 1] = M[j - 1, k] = _along(screws[j - 1], moment, force)
    return array(M)


def _along(screw: tuple[np.ndarray, np.ndarray], moment: Any, force: Any) -> Any:
    """Power of a wrench on a unit screw; its zeros are left out."""
    terms = [a * b for a, b in zip([*screw[0], *screw[1]], [*moment, *force], strict=True) if a]
    return sum(terms[1:], terms[0])


def bias(chain: Chain, q: Any, v: Any, *numbers: Any) -> np.ndarray:
    """Coriolis and centrifugal forces h(q, v) (n,) in M v' + h = e, without weight, by recursive Newton-Euler."""
    moves = steps(chain, q)
    carried = _section_moments(chain, numbers)
    twists = section_twists(chain, moves, v)
    spin: np.ndarray = np.zeros(3)
    rate: np.ndarray = np.zeros(3)
    wrenches = []
    for section, (R, p), body, (omega, linear), speed in zip(chain.sections.freedoms, moves, carried, twists, v, strict=True):
        rate = R.T @ (rate + cross(spin, p))
        spin = R.T @ spin
        along, shift = unit_screw(section)
        own, sliding = along * speed, shift * speed
        spin = spin + cross(omega, own)
        rate = rate + cross(omega, sliding) + cross(linear, own)
        angular, momentum = body.momentum(omega, linear)
        moment, force = body.momentum(spin, rate)
        wrenches.append((moment + cross(omega, angular) + cross(linear, momentum), force + cross(omega, momentum)))
    out: list[Any] = [0.0] * len(moves)
    moment, force = np.zeros(3), np.zeros(3)
    for k in range(len(moves) - 1, -1, -1):
        moment, force = moment + wrenches[k][0], force + wrenches[k][1]
        out[k] = _along(unit_screw(chain.sections.freedoms[k]), moment, force)
        R, p = moves[k]
        force = R @ force
        moment = R @ moment + cross(p, force)
    return array(out)


def recursion_is_shorter(chain: Chain) -> bool:
    """Whether M(q) and h(q, v) together take fewer operations with h by recursion than with h by differentiation.

    Both are traced and counted: few joints, many of them parallel, make the derivatives of M(q) short (the finger of a hand: 305
    operations for v' against 393), long or general chains the recursion (seven joints: 1457 against 1889).
    """
    mechanics = Mechanics(lambda at, *p: mass_matrix(chain, at, *p), None, None, None, False)

    def recursive(q: Any, v: Any, p: Any) -> dict[str, Any]:
        return {"M": mass_matrix(chain, q, *p), "h": bias(chain, q, v, *p)}

    def differentiated(q: Any, v: Any, p: Any) -> dict[str, Any]:
        return {"M": mass_matrix(chain, q, *p), "h": mechanics.coriolis(q, v, *p)}

    n, shapes = chain.freedoms, len(inertia_numbers(chain))
    sizes = {"q": (n,), "v": (n,), "numbers": (shapes,)}
    first, second = (count_operations(way, sizes, constant=("numbers",)) for way in (recursive, differentiated))
    return first < second


def kinetic_energy(chain: Chain, q: Any, v: Any, *numbers: Any) -> Any:
    """Kinetic energy, J: the sum over the bodies, from their own twists."""
    carried = _section_moments(chain, numbers)
    total: Any = 0.0
    for body, (omega, linear) in zip(carried, section_twists(chain, steps(chain, q), v), strict=True):
        angular, momentum = body.momentum(omega, linear)
        total = total + 0.5 * (omega @ angular + linear @ momentum)
    return total


def potential(chain: Chain, gravity: Vector, q: Any, *numbers: Any) -> Any:
    """Potential of the weight, J, in uniform `gravity` (3,) m/s^2 in world coordinates; zero at the world's origin."""
    carried = _section_moments(chain, numbers)
    mass, first = carried[-1].mass, carried[-1].first
    for k in range(len(carried) - 1, -1, -1):
        R, p = step(chain.sections.freedoms[k], q[k])
        first = R @ first + mass * p
        if k:
            mass, first = mass + carried[k - 1].mass, first + carried[k - 1].first
    g = np.asarray(gravity)
    return -((chain.base[:3, :3].T @ g) @ first + mass * (g @ chain.base[:3, 3]))


def gravity_forces(chain: Chain, gravity: Vector, q: Any, *numbers: Any) -> np.ndarray:
    """dV/dq (n,): the efforts that hold the chain at rest against its weight, N m or N."""
    moves = steps(chain, q)
    composites = _composites(moves, _section_moments(chain, numbers))
    pull = chain.base[:3, :3].T @ np.asarray(gravity)
    out = []
    for section, (R, _), body in zip(chain.sections.freedoms, moves, composites, strict=True):
        pull = R.T @ pull
        out.append(-_along(unit_screw(section), cross(body.first, pull), body.mass * pull))
    return array(out)
