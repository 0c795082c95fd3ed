"""Kinematics of a chain: products of exponentials, Jacobians and twists, as plain formulas over any scalar.

H_0_k(q) = H_0_base exp(S_1 q_1) ... exp(S_k q_k) H_base_k(0), with the exponentials of unit screws in closed form. They are
evaluated in frames on the joints' own axes (`models.chains.sections`), which gives the same poses with fewer products.

Source: Brockett 1984 (product of exponentials); Murray, Li, Sastry 1994, section 3.2 and 3.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from models.chains.sections import Section
from screws.poses import pose
from screws.rotations import quaternion, quaternion_product
from screws.scalars import array, cos, sin
from screws.vectors import cross

if TYPE_CHECKING:
    from models.chains.links import Chain

Frame = tuple[np.ndarray, np.ndarray]
"""Rotation (3, 3) and origin (3,)."""


def step(section: Section, x: Any) -> Frame:
    """Frame of a section in the frame before it, at the coordinate x (rad or m)."""
    unit = np.eye(3)[section.axis]
    if not section.turns:
        return section.R, section.p + section.R @ (unit * (section.sign * x))
    turned = np.zeros((3, 3), dtype=object)
    j, k = (section.axis + 1) % 3, (section.axis + 2) % 3
    c, s = cos(x), section.sign * sin(x)
    turned[section.axis, section.axis] = 1.0
    turned[j, j] = turned[k, k] = c
    turned[j, k], turned[k, j] = -s, s
    advance = section.p + section.R @ (unit * (section.sign * section.pitch * x)) if section.pitch else section.p
    return (turned if np.array_equal(section.R, np.eye(3)) else section.R @ turned), advance


def steps(chain: Chain, q: Any) -> list[Frame]:
    """Frame of every section in the one before it."""
    return [step(section, q[k]) for k, section in enumerate(chain.sections.freedoms)]


def after(first: Frame, second: Frame) -> Frame:
    """The second frame, given in the first, in the frame of the first."""
    return first[0] @ second[0], first[0] @ second[1] + first[1]


def _frames(chain: Chain, q: Any, count: int) -> list[Frame]:
    """Base and the first `count` sections in the world."""
    moves = (step(section, x) for section, x in zip(chain.sections.freedoms[:count], q, strict=False))
    return list(accumulate(moves, after, initial=(chain.base[:3, :3], chain.base[:3, 3])))


def unit_screw(section: Section) -> tuple[np.ndarray, np.ndarray]:
    """Angular and linear part of a section's screw in its own frame."""
    unit = section.sign * np.eye(3)[section.axis]
    return (unit, section.pitch * unit) if section.turns else (np.zeros(3), unit)


def _column(section: Section, frame: Frame) -> list[Any]:
    """A section's screw (6,) seen from a frame in which it has the pose `frame`."""
    along = section.sign * frame[0][:, section.axis]
    if not section.turns:
        return [0.0, 0.0, 0.0, *along]
    moment = cross(frame[1], along)
    return [*along, *(moment + section.pitch * along if section.pitch else moment)]


def link_pose(chain: Chain, link: int, q: Any) -> np.ndarray:
    """Pose H_0_k (4, 4) of a link's frame in the world."""
    sections = chain.sections
    last = _frames(chain, q, sections.carrier[link])[-1]
    R, p = after(last, (sections.R[link], sections.p[link]))
    return pose(R, p)


def link_pose_state(chain: Chain, link: int, q: Any) -> np.ndarray:
    """Pose of a link as [qw, qx, qy, qz, px, py, pz] (7,); its quaternion is a product of half angles, smooth in q."""
    sections = chain.sections
    turn: Any = quaternion(chain.base[:3, :3])
    for section, x in zip(sections.freedoms[: sections.carrier[link]], q, strict=False):
        turn = quaternion_product(turn, quaternion(section.R))
        if section.turns:
            half: list[Any] = [cos(0.5 * x), 0.0, 0.0, 0.0]
            half[1 + section.axis] = section.sign * sin(0.5 * x)
            turn = quaternion_product(turn, half)
    turn = quaternion_product(turn, quaternion(sections.R[link]))
    return array([*turn, *link_pose(chain, link, q)[:3, 3]])


def space_jacobian(chain: Chain, link: int, q: Any) -> np.ndarray:
    """(6, n) with T_0_0_k = J q': the link's twist in world coordinates; zero columns for the joints outside of it."""
    count = chain.sections.carrier[link]
    frames = _frames(chain, q, count)[1:]
    columns = [_column(s, f) for s, f in zip(chain.sections.freedoms, frames, strict=False)]
    columns += [[0.0] * 6] * (chain.freedoms - count)
    return array(columns).T


def body_jacobian(chain: Chain, link: int, q: Any) -> np.ndarray:
    """(6, n) with T_k_0_k = J q': the link's twist in its own frame."""
    sections = chain.sections
    count = sections.carrier[link]
    R = sections.R[link].T
    seen: Frame = (R, -(R @ sections.p[link]))
    columns: list[list[Any]] = []
    for section, x in reversed(list(zip(sections.freedoms[:count], q, strict=False))):
        columns.insert(0, _column(section, seen))
        R, p = step(section, x)
        seen = after(seen, (R.T, -(R.T @ p)))
    columns += [[0.0] * 6] * (chain.freedoms - count)
    return array(columns).T


def section_twists(chain: Chain, moves: Sequence[Frame], v: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """Angular and linear velocity of every section's frame against the base, in its own axes."""
    twists: list[tuple[np.ndarray, np.ndarray]] = []
    omega: np.ndarray = np.zeros(3)
    linear: np.ndarray = np.zeros(3)
    for section, (R, p), rate in zip(chain.sections.freedoms, moves, v, strict=True):
        linear = R.T @ (linear + cross(omega, p))
        omega = R.T @ omega
        along, shift = unit_screw(section)
        omega, linear = omega + along * rate, linear + shift * rate
        twists.append((omega, linear))
    return twists


def body_twists(chain: Chain, q: Any, v: Any) -> list[np.ndarray]:
    """Twist T_k_0_k (6,) of every link in its own frame, by one pass from the base outward."""
    sections = chain.sections
    base = (np.zeros(3), np.zeros(3))
    twists = [base, *section_twists(chain, steps(chain, q), v)]
    out = []
    for R, p, carrier in zip(sections.R, sections.p, sections.carrier, strict=True):
        omega, linear = twists[carrier]
        out.append(array([*(R.T @ omega), *(R.T @ (linear + cross(omega, p)))]))
    return out
