"""Trees that are written as URDF and read again have the same motions and dynamics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from screwbond.models.chains import Link, Mimic, Tree, ball_inertia, cylinder_inertia, inverse_dynamics, link_pose
from screwbond.models.robots import read_urdf, to_urdf

from bondgraph import ModelError
from screws import joints, pose
from screws.rotations import exp

RNG = np.random.default_rng(6)
TURN = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def link(name: str, joint: Any, x: float, **options: Any) -> Link:
    bar = cylinder_inertia(1.0 + x, 0.05, (0.0, 0.0, 0.0), (0.3, 0.1, 0.0))
    return Link(name, joint, bar, pose(TURN, (x, 0.0, 0.1)), **options)


def branched() -> Tree:
    slanted = (0, 1, 1) / np.sqrt(2)
    return Tree(
        "branched",
        (
            link("a", joints.revolute((0, 0, 1)), 0.0, damping=0.3),
            link("b", joints.revolute(slanted, (0.3, 0.2, 0)), 0.3, limits=(-1.0, 2.0)),
            Link("eye", joints.fixed(), None, pose(np.eye(3), (0.5, 0.1, 0.2))),
            link("c", joints.prismatic((1, 0, 0)), 0.5, damping=2.0),
            link("d", joints.revolute((0, 1, 0), (0.3, 0, 0.1)), 0.3, parent="a"),
            link("e", joints.revolute((0, 0, 1), (0.6, 0, 0)), 0.6, mimic=Mimic("d", -2.0, 0.1)),
        ),
        pose(TURN, (0.1, -0.2, 0.3)),
    )


def test_a_tree_that_was_written_has_the_same_poses_and_efforts(tmp_path: Path) -> None:
    tree, path = branched(), tmp_path / "branched.urdf"
    path.write_text(to_urdf(tree))
    other = read_urdf(path).tree
    order = [tree.coordinates.index(name.removesuffix(" axis")) for name in other.coordinates]
    q, v, a = RNG.normal(size=(3, 5, tree.freedoms))
    for k, each in enumerate(tree.links):
        poses = link_pose(other, other.index(each.name), q[:, order])
        assert np.allclose(poses, link_pose(tree, k, q), rtol=0, atol=1e-14)
    efforts = inverse_dynamics(tree, q, v, a, (1, 2, -9.81))[:, order]
    others = inverse_dynamics(other, q[:, order], v[:, order], a[:, order], (1, 2, -9.81))
    assert np.allclose(others, efforts, rtol=1e-13, atol=1e-13)
    assert np.array_equal(other.damping, tree.damping[order]) and other.limits.tolist() == [
        [-1e9, 1e9] if name == "c" else tree.limits[k].tolist() for name, k in zip(other.coordinates, order, strict=True)
    ]


@pytest.mark.parametrize("gap", [0.0, 1e-13, 1e-11, 1e-8, 1e-5])
def test_frames_that_are_pitched_by_about_a_right_angle_keep_their_axes(tmp_path: Path, gap: float) -> None:
    """Rounding errors of the frame make its roll and yaw indeterminate, but not their combination."""
    for sign in (-1.0, 1.0):
        turn = np.asarray(exp(RNG.normal(size=3)), dtype=float)
        R = exp([0, 0, 2.0]) @ exp([0, sign * (np.pi / 2 - gap), 0]) @ exp([-0.7, 0, 0])
        home = pose(turn @ (turn.T @ np.asarray(R, dtype=float)), (0.1, 0.2, 0.3))
        tree = Tree("pitched", (Link("a", joints.prismatic((0, 0, 1)), ball_inertia(1.0, 0.1), home),))
        (tmp_path / "pitched.urdf").write_text(to_urdf(tree))
        other = read_urdf(tmp_path / "pitched.urdf").tree
        assert np.allclose(link_pose(other, "a", [0.4]), link_pose(tree, "a", [0.4]), rtol=0, atol=1e-13)


def test_parts_without_urdf_form_are_refused_by_name() -> None:
    odd = Tree(
        "odd",
        (
            link("screw", joints.helical((0, 0, 1), pitch=0.1), 0.0),
            link("ball", joints.spherical((0.3, 0, 0)), 0.3),
            link("half", joints.revolute((0, 0, 1)), 0.4, limits=(0.0, np.inf)),
            link("geared", joints.revolute((0, 0, 1)), 0.5, armature=0.1),
            link("sprung", joints.revolute((0, 0, 1)), 0.6, stiffness=3.0),
            Link("afloat", joints.free(), None, damping=0.2, parent=None),
        ),
    )
    with pytest.raises(ModelError, match=r"E344.*not a tree"):
        to_urdf("odd")  # type: ignore[arg-type]
    with pytest.raises(ModelError) as caught:
        to_urdf(odd)
    assert [problem.code for problem in caught.value.problems] == ["E344"] * 6
    assert all(f'"{name}"' in str(caught.value) for name in ("screw", "ball", "half", "geared", "sprung", "afloat"))
