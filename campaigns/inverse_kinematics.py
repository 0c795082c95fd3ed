"""Compare inverse kinematics of public robots with damped least squares in Pinocchio, at random reachable poses.

Both use the same number of starts. `python -m campaigns.inverse_kinematics [POSES]` prints a row for each robot, and fails if
Pinocchio alone reaches a pose.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from screwbond.models.chains import Tree, inverse_kinematics, link_pose
from screwbond.models.robots import read_urdf

from tests.models.robots.public_robots import PinocchioRobot, public_urdf
from tests.models.robots.test_public_robots import followed

ROBOTS = (
    ("xarm7.urdf", "link7"),
    ("/ur5_robot.urdf", "tool0"),
    ("/z1.urdf", "link06"),
    ("so100.urdf", ""),
    ("/kinova.urdf", ""),
    ("panda_description/urdf/panda.urdf", "panda_link8"),
    ("allegro_left_hand.urdf", ""),
    ("solo12.urdf", ""),
    ("a1.urdf", ""),
    ("baxter.urdf", "left_gripper"),
    ("/talos_full_v2.urdf", "gripper_left_base_link"),
)
"""Files and links; "" selects the first of the links with the most joints between them and the base."""

STARTS, STEPS, DAMPING, TOLERANCE = 200, 200, 1e-6, 1e-6


def farthest(tree: Tree) -> str:
    counts = [len(tree.sections.path(carrier)) for carrier in tree.sections.carrier]
    return tree.links[int(np.argmax(counts))].name


def bounds(tree: Tree) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits (n,), half a turn either way for a joint without limits."""
    lower, upper = tree.limits.T
    return np.where(np.isfinite(lower), lower, -np.pi), np.where(np.isfinite(upper), upper, np.pi)


def reached_by_pinocchio(
    reference: PinocchioRobot, follow: tuple[np.ndarray, np.ndarray], tree: Tree, link: str, goal: np.ndarray, starts: np.ndarray
) -> bool:
    """Return True if damped least squares (Wampler 1986) with clipped steps reaches the goal from one of the starts.

    `follow` : S and s, positions of all joints = S q + s.
    """
    pin, model, data, frame = reference.pin, reference.model, reference.data, reference.frames[link]
    S, s = follow
    lower, upper = tree.limits.T
    wanted = pin.SE3(goal)
    for start in starts:
        q = np.array(start)
        for _ in range(STEPS):
            at = reference._coordinates(S @ q + s)
            pin.forwardKinematics(model, data, at)
            pin.updateFramePlacement(model, data, frame)
            error = pin.log(data.oMf[frame].actInv(wanted)).vector
            if np.linalg.norm(error) < TOLERANCE:
                return True
            J = pin.computeFrameJacobian(model, data, at, frame, pin.LOCAL)[:, reference.order] @ S
            q = np.clip(q + J.T @ np.linalg.solve(J @ J.T + DAMPING * np.eye(6), error), lower, upper)
    return False


def compare(name: str, link: str, poses: int) -> tuple[Any, ...]:
    """Return the row of a robot: numbers of goals reached by this project, by Pinocchio, and by Pinocchio alone, and this
    project's CPU time per goal, ms."""
    path = public_urdf(name)
    robot = read_urdf(path, meshes=False)
    tree, names = robot.tree, [joint.name for joint in robot.joints]
    link, rng = link or farthest(tree), np.random.default_rng(1)
    lower, upper = bounds(tree)
    goals = link_pose(tree, tree.index(link), rng.uniform(lower, upper, (poses, tree.freedoms)))
    before = time.process_time()
    ours = inverse_kinematics(tree, link, goals, starts=STARTS, nearest=True).reached
    spent = time.process_time() - before
    reference, follow = PinocchioRobot(path.read_text(), names), followed(path.read_text(), names, list(robot.coordinates))
    starts = np.vstack([np.clip(0.0, lower, upper), rng.uniform(lower, upper, (STARTS - 1, tree.freedoms))])
    theirs = np.array([reached_by_pinocchio(reference, follow, tree, link, goal, starts) for goal in goals])
    return tree.name, link, int(ours.sum()), int(theirs.sum()), int((theirs & ~ours).sum()), f"{1e3 * spent / poses:.1f}"


def main() -> int:
    poses = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 1000
    print(f"{'robot':24}{'link':26}{'ours':>7}{'theirs':>8}{'missed':>8}{'ms':>8}   of {poses} poses, {STARTS} starts")
    missed = 0
    for name, link in ROBOTS:
        row = compare(name, link, poses)
        missed += row[4]
        print(f"{row[0]:24}{row[1]:26}{row[2]:7}{row[3]:8}{row[4]:8}{row[5]:>8}", flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
