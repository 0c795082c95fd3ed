"""Forward dynamics of a tree by articulated bodies: one pass outward, one inward, one outward; n steps each.

The mass matrix is never formed: the operations grow with the number of joints, not with its cube. An articulated body maps the
acceleration of a section to the wrench on it and all that it carries, while the joints beyond move freely.

Source: Featherstone 2008, table 7.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from screwbond.models.chains.dynamics import ENTRIES, Moments, bias, gravity_forces, mass_matrix, section_moments
from screwbond.models.chains.kinematics import section_twists, steps
from screwbond.models.chains.links import Vector
from screwbond.models.chains.sections import Section
from screwbond.models.chains.trees import Tree

from screws.linear import solve_spd
from screws.rotations import tilde
from screws.scalars import array
from screws.vectors import cross

Screw = tuple[Any, Any]
"""Angular and linear part (3,) of a twist or an acceleration, or moment and force of a wrench."""


@dataclass(frozen=True, eq=False)
class Articulated:
    """Articulated body, wrench = [[A, B], [B^T, C]] @ acceleration + bias, in the frame of a section and about its origin."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    bias: Screw

    def __add__(self, other: Articulated) -> Articulated:
        bias = self.bias[0] + other.bias[0], self.bias[1] + other.bias[1]
        return Articulated(self.A + other.A, self.B + other.B, self.C + other.C, bias)

    def __matmul__(self, acceleration: Screw) -> Screw:
        """Return the wrench for an acceleration, without the bias."""
        spin, rate = acceleration
        return self.A @ spin + self.B @ rate, self.B.T @ spin + self.C @ rate

    def seen_from(self, R: np.ndarray, p: np.ndarray) -> Articulated:
        """Return the body in a frame in which the present one has the rotation R and the origin p."""
        A, C, B = _congruent(R, self.A), _congruent(R, self.C), R @ self.B @ R.T
        arm = tilde(p)
        B_there = B + arm @ C
        twice, back = B @ arm, arm @ B_there.T
        force = R @ self.bias[1]
        return Articulated(
            _symmetric(lambda i, j: A[i, j] + (back[i, j] - twice[i, j])), B_there, C, (R @ self.bias[0] + cross(p, force), force)
        )


def _symmetric(entry: Callable[[int, int], Any]) -> np.ndarray:
    matrix = np.zeros((3, 3), dtype=object)
    for i, j in ENTRIES:
        matrix[i, j] = matrix[j, i] = entry(i, j)
    return matrix


def _congruent(R: np.ndarray, M: np.ndarray) -> np.ndarray:
    """Return R M R^T of a symmetric M."""
    half = R @ M
    return _symmetric(lambda i, j: half[i] @ R[j])


def _rigid(body: Moments, twist: Screw) -> Articulated:
    """Return a rigid body that moves with a twist as an articulated body, in its frame."""
    omega, v = twist
    angular, momentum = body.momentum(omega, v)
    bias = cross(omega, angular) + cross(v, momentum), cross(omega, momentum)
    return Articulated(body.second, np.asarray(tilde(body.first)), body.mass * np.eye(3), bias)


@dataclass(frozen=True, eq=False)
class _Hinged:
    """An articulated body on its joint, about or along the positive axis (screw s): U = inertia @ s, D = s . U and u."""

    U: Screw
    D: Any
    u: Any
    """Net effort, effort - s . bias."""

    @classmethod
    def of(cls, section: Section, body: Articulated, effort: Any) -> _Hinged:
        """Project a body on its joint; `effort` is about or along the positive axis."""
        a, h = section.axis, section.pitch
        if not section.turns:
            return cls((body.B[:, a], body.C[:, a]), body.C[a, a], effort - body.bias[1][a])
        U = body.A[:, a], body.B[a]
        if not h:
            return cls(U, U[0][a], effort - body.bias[0][a])
        U = U[0] + h * body.B[:, a], U[1] + h * body.C[:, a]
        return cls(U, U[0][a] + h * U[1][a], effort - (body.bias[0][a] + h * body.bias[1][a]))

    def reduced(self, section: Section, body: Articulated, velocity_term: Screw) -> Articulated:
        """Return the body as the frame before feels it, its joint free; `velocity_term` is the acceleration due to velocities."""
        a, turning, sliding = section.axis, section.turns and not section.pitch, not section.turns
        over = self.U[0] / self.D, self.U[1] / self.D
        # The free direction takes no wrench: these entries are zero, and cost nothing.
        A = _symmetric(lambda i, j: 0.0 if turning and a in (i, j) else body.A[i, j] - self.U[0][i] * over[0][j])
        C = _symmetric(lambda i, j: 0.0 if sliding and a in (i, j) else body.C[i, j] - self.U[1][i] * over[1][j])
        B = np.zeros((3, 3), dtype=object)
        for i in range(3):
            for j in range(3):
                free = (turning and i == a) or (sliding and j == a)
                B[i, j] = 0.0 if free else body.B[i, j] - self.U[0][i] * over[1][j]
        reduced = Articulated(A, B, C, body.bias)
        moment, force = reduced @ velocity_term
        bias = body.bias[0] + moment + over[0] * self.u, body.bias[1] + force + over[1] * self.u
        return Articulated(A, B, C, bias)


def forward_dynamics(
    tree: Tree, q: Any, v: Any, effort: Any, gravity: Vector | Sequence[Any] = (0.0, 0.0, 0.0), *numbers: Any
) -> np.ndarray:
    """Return the accelerations v' (n,) of M v' + h + dV/dq = effort, in uniform `gravity` (3,) m/s^2 in world coordinates.

    Joints that mimic others couple distant bodies: with them the mass matrix is formed and solved.
    """
    sections = tree.sections
    if not all(drive.direct for drive in sections.drives):
        forces = bias(tree, q, v, *numbers) + gravity_forces(tree, gravity, q, *numbers)
        return array(list(solve_spd(mass_matrix(tree, q, *numbers), effort - forces)))
    moves = steps(tree, q)
    twists = section_twists(tree, moves, v)
    bodies = [_rigid(body, twist) for body, twist in zip(section_moments(tree, numbers), twists[1:], strict=True)]
    velocity_terms = [
        _velocity_term(section, twist, rate) for section, twist, rate in zip(sections.freedoms, twists[1:], v, strict=True)
    ]
    hinged: dict[int, _Hinged] = {}
    for k in range(len(moves) - 1, -1, -1):
        section = sections.freedoms[k]
        hinged[k] = _Hinged.of(section, bodies[k], section.sign * effort[k])
        if section.before:
            reduced = hinged[k].reduced(section, bodies[k], velocity_terms[k])
            bodies[section.before - 1] = bodies[section.before - 1] + reduced.seen_from(*moves[k])
    pull = tree.base[:3, :3].T @ np.asarray(gravity)
    accelerations: list[Screw] = [(np.zeros(3), -pull)]
    joint_accelerations: list[Any] = []
    for k, (section, (R, p)) in enumerate(zip(sections.freedoms, moves, strict=True)):
        spin, rate = accelerations[section.before]
        rate = R.T @ (rate + cross(spin, p)) + velocity_terms[k][1]
        spin = R.T @ spin + velocity_terms[k][0]
        U, a = hinged[k].U, section.axis
        along = (hinged[k].u - (U[0] @ spin + U[1] @ rate)) / hinged[k].D
        joint_accelerations.append(section.sign * along)
        unit = np.eye(3)[a]
        if section.turns:
            accelerations.append((spin + unit * along, rate + unit * (section.pitch * along) if section.pitch else rate))
        else:
            accelerations.append((spin, rate + unit * along))
    return array(joint_accelerations)


def _velocity_term(section: Section, twist: Screw, rate: Any) -> Screw:
    """Return the acceleration (angular, linear) of a section due to its velocity and its joint's rate."""
    along, shift = section.screw
    turning, sliding = along * rate, shift * rate
    return cross(twist[0], turning), cross(twist[0], sliding) + cross(twist[1], turning)
