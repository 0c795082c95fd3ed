"""Kinematics of a tree: products of exponentials, Jacobians and twists, as plain formulas over any scalar.

H_0_k(q) = H_0_base exp(S_1 q_1) ... exp(S_k q_k) H_base_k(0) along the joints from the base to link k, with the exponentials of
unit screws in closed form. Frames on the joints' own axes (`screwbond.models.chains.trees`) give the same poses with fewer
products.

Source: Brockett 1984 (product of exponentials); Murray, Li, Sastry 1994, sections 3.2 and 3.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from screwbond.models.chains.rows import of_rows
from screwbond.models.chains.trees import Section, Tree

from bondgraph.errors import refusal
from screws.numeric_arguments import floats
from screws.poses import pose
from screws.rotations import quaternion, quaternion_product, tilde
from screws.scalars import array, cos, sin
from screws.vectors import cross

Frame = tuple[np.ndarray, np.ndarray]


def section_frame(section: Section, x: Any) -> Frame:
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


def section_frames(tree: Tree, q: Any) -> list[Frame]:
    sections = tree.sections
    return [section_frame(section, x) for section, x in zip(sections.freedoms, sections.positions(q), strict=True)]


def compose(first: Frame, second: Frame) -> Frame:
    return first[0] @ second[0], first[0] @ second[1] + first[1]


def _frames(tree: Tree, q: Any, path: Sequence[int]) -> list[Frame]:
    positions = tree.sections.positions(q)
    moves = (section_frame(tree.sections.freedoms[k], positions[k]) for k in path)
    return list(accumulate(moves, compose, initial=(tree.base[:3, :3], tree.base[:3, 3])))


def _column(section: Section, frame: Frame) -> list[Any]:
    along = section.sign * frame[0][:, section.axis]
    if not section.turns:
        return [0.0, 0.0, 0.0, *along]
    moment = cross(frame[1], along)
    return [*along, *(moment + section.pitch * along if section.pitch else moment)]


@of_rows("q")
def link_pose(tree: Tree, link: int | str, q: Any) -> np.ndarray:
    """Return the pose H_0_k (4, 4) of a link's frame in the world. Raises `ModelError` E454 for an unknown link."""
    sections, number = tree.sections, tree.index(link)
    last = _frames(tree, q, sections.path(sections.carrier[number]))[-1]
    R, p = compose(last, (sections.R[number], sections.p[number]))
    return pose(R, p)


@of_rows("q")
def link_pose_state(tree: Tree, link: int | str, q: Any) -> np.ndarray:
    """Return a link's pose [qw, qx, qy, qz, px, py, pz] (7,); its quaternion is a product of joint quaternions in half angles,
    smooth in q. Raises `ModelError` E454 for an unknown link."""
    sections, positions, number = tree.sections, tree.sections.positions(q), tree.index(link)
    turn: Any = quaternion(tree.base[:3, :3])
    for k in sections.path(sections.carrier[number]):
        section = sections.freedoms[k]
        turn = quaternion_product(turn, quaternion(section.R))
        if section.turns:
            half: list[Any] = [cos(0.5 * positions[k]), 0.0, 0.0, 0.0]
            half[1 + section.axis] = section.sign * sin(0.5 * positions[k])
            turn = quaternion_product(turn, half)
    turn = quaternion_product(turn, quaternion(sections.R[number]))
    return array([*turn, *link_pose(tree, number, q)[:3, 3]])


@of_rows("q")
def space_jacobian(tree: Tree, link: int | str, q: Any) -> np.ndarray:
    """Return J (6, n) with T_0_0_k = J q', a link's twist in world coordinates. Joints that do not carry the link have zero
    columns. Raises `ModelError` E454 for an unknown link."""
    path = tree.sections.path(tree.sections.carrier[tree.index(link)])
    frames = _frames(tree, q, path)[1:]
    return _jacobian(tree, {k: _column(tree.sections.freedoms[k], frame) for k, frame in zip(path, frames, strict=True)})


@of_rows("q")
def body_jacobian(tree: Tree, link: int | str, q: Any) -> np.ndarray:
    """Return J (6, n) with T_k_0_k = J q', a link's twist in its own frame. Raises `ModelError` E454 for an unknown link."""
    sections, positions, number = tree.sections, tree.sections.positions(q), tree.index(link)
    R = sections.R[number].T
    frame: Frame = (R, -(R @ sections.p[number]))
    columns: dict[int, list[Any]] = {}
    for k in reversed(sections.path(sections.carrier[number])):
        columns[k] = _column(sections.freedoms[k], frame)
        R, p = section_frame(sections.freedoms[k], positions[k])
        frame = compose(frame, (R.T, -(R.T @ p)))
    return _jacobian(tree, columns)


@of_rows("q")
def jacobian(tree: Tree, link: int | str, q: Any, axes: str = "world", at: Any = (0.0, 0.0, 0.0)) -> np.ndarray:
    """Return the geometric Jacobian J (6, n), [omega; v] = J q', of the point `at` (3,) of a link, m, in the link's frame.

    `axes` are those of omega and v, "world" or "link". Raises `ModelError` E454 for an unknown link, E341 for other axes or an
    invalid point.
    """
    number, point = tree.index(link), floats(at, (3,))
    if axes not in ("world", "link") or point is None:
        title = f"a Jacobian cannot have axes={axes!r}, at={at!r}"
        raise refusal("E341", title, 'axes="world" or axes="link"', "at: three finite numbers, m", about=tree.name)
    if axes == "world":
        return located_jacobian(tree, number, q, point)[1]
    J = body_jacobian(tree, number, q)
    return array(np.concatenate([J[:3], J[3:] - tilde(point) @ J[:3]]))


@of_rows("q")
def located_jacobian(tree: Tree, link: int, q: Any, at: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the pose (4, 4) of the point `at` of a link in the world, with the link's axes, and its `jacobian` in world axes."""
    sections, path = tree.sections, tree.sections.path(tree.sections.carrier[link])
    frames = _frames(tree, q, path)
    R, p = compose(compose(frames[-1], (sections.R[link], sections.p[link])), (np.eye(3), np.asarray(at)))
    columns = {}
    for k, (turned, origin) in zip(path, frames[1:], strict=True):
        columns[k] = _column(sections.freedoms[k], (turned, origin - p))
    return pose(R, p), _jacobian(tree, columns)


def _jacobian(tree: Tree, columns: dict[int, list[Any]]) -> np.ndarray:
    every = [np.array(columns.get(k, [0.0] * 6), dtype=object) for k in range(len(tree.sections.freedoms))]
    return array([list(column) for column in tree.sections.gathered(every)]).T


def section_twists(tree: Tree, moves: Sequence[Frame], v: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the angular and linear velocities of the base and of every section's frame relative to the base, each in its own
    axes."""
    twists: list[tuple[np.ndarray, np.ndarray]] = [(np.zeros(3), np.zeros(3))]
    for section, (R, p), rate in zip(tree.sections.freedoms, moves, tree.sections.rates(v), strict=True):
        omega, linear = twists[section.before]
        linear = R.T @ (linear + cross(omega, p))
        omega = R.T @ omega
        along, shift = section.screw
        twists.append((omega + along * rate, linear + shift * rate))
    return twists


@of_rows("q", "v")
def body_twists(tree: Tree, q: Any, v: Any) -> np.ndarray:
    """Return the twists T_k_0_k (links, 6) of all links, each in its own frame, by one pass from the base outward."""
    sections, twists = tree.sections, section_twists(tree, section_frames(tree, q), v)
    out = []
    for R, p, carrier in zip(sections.R, sections.p, sections.carrier, strict=True):
        omega, linear = twists[carrier]
        out.append([*(R.T @ omega), *(R.T @ (linear + cross(omega, p)))])
    return array(out)
