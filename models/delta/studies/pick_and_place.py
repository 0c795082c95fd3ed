"""Pick and place: motions of a delta robot's tool within limits and its workspace, and runs that follow them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from screwbond.models.delta.graphs.control import FILTER_TIME, Control, check_axes, task_control
from screwbond.models.delta.kinematics.parameters import DeltaParameters
from screwbond.models.delta.kinematics.robot_kinematics import SINGULARITY_TOLERANCE, error, format_numbers
from screwbond.models.delta.studies.robot import DeltaRobot, DeltaRun
from screwbond.models.motion import Motion, cubic_spline, hold, sequence

from screws.arrays import Count

KD, KP = 160.0, 6400.0
"""Default gains of the tool's controller: a double pole at -80 1/s, and kp = kd^2 / 4."""


@dataclass(frozen=True, eq=False)
class Tracking:
    """Run under control, and reference motion (3,) of the tool, m; `tracking["motors.torque"]` returns a quantity by path."""

    run: DeltaRun
    motion: Motion
    control: Control

    def __getitem__(self, name: str) -> np.ndarray:
        return self.run[name]

    @cached_property
    def error(self) -> np.ndarray:
        """Tool position minus reference position (k, 3), m."""
        return self.run.w - self.motion.position(self.run.t)

    @property
    def largest_error(self) -> float:
        """Largest distance of the tool from its reference position, m."""
        return float(np.max(np.linalg.norm(self.error, axis=1)))

    @property
    def rms_error(self) -> float:
        """Root mean square distance of the tool from its reference position, m."""
        return float(np.sqrt(np.mean(np.sum(self.error**2, axis=1))))

    @property
    def largest_torque(self) -> float:
        """Largest torque of a motor, N m."""
        return float(np.max(np.abs(self.run[self.control.torque])))


def check_path(robot: DeltaRobot, motion: Motion, *, points: Count = 501, branch: str = "out") -> None:
    """Check a motion at `points` times and its breaks; raise E442 if it leaves the workspace or meets a singularity."""
    check_axes(motion)
    times = np.unique(np.concatenate([np.linspace(motion.start, motion.end, points), motion.breaks]))
    positions = motion.position(times)
    q, reached = robot.kinematics.inverse_many(positions, branch=branch)
    ok = reached.copy()
    if np.any(reached):
        posture = robot.kinematics.postures_many(q[reached])
        ok[reached] &= (posture["side"] > SINGULARITY_TOLERANCE) & (
            np.min(np.abs(posture["stretch"]), axis=1) > SINGULARITY_TOLERANCE
        )
    if not np.all(ok):
        k = int(np.argmin(ok))
        why = "passes a singularity" if reached[k] else "leaves the workspace"
        title = f"the motion {why} at {times[k]:.6g} s, w = {format_numbers(positions[k], 'm')}"
        raise error("E442", title, "waypoints inside the workspace (`screwbond.models.delta.kinematics.workspace`)")


def transfer(
    pick: Sequence[float] | np.ndarray,
    place: Sequence[float] | np.ndarray,
    *,
    lift: float = 0.08,
    velocity: Any = 1.0,
    acceleration: Any = 10.0,
    jerk: Any = 200.0,
    pause: float = 0.1,
    back: bool = True,
) -> Motion:
    """Return a cubic-spline motion from `pick` up, over and down to `place`, and by default back; x3 points down.

    Parameters
    ----------
    pick, place : (3,) m.
    lift : height of the path above the line from `pick` to `place`, m.
    velocity, acceleration, jerk : limits along each axis, m/s, m/s^2, m/s^3.
    pause : rest at the end of each way, s.

    Raises `ModelError` E470 to E474 for points and limits.
    """
    a, b = np.asarray(pick, dtype=float), np.asarray(place, dtype=float)
    up = np.array([0.0, 0.0, -lift])
    over = [a, a + 0.7 * up, a + 0.2 * (b - a) + up, b + 0.2 * (a - b) + up, b + 0.7 * up, b]
    limits = {"velocity": velocity, "acceleration": acceleration, "jerk": jerk, "shortest": True}
    there = cubic_spline(over, **limits)
    ways = [there, cubic_spline(over[::-1], **limits)] if back else [there]
    moving = sequence(*ways, pause=pause) if len(ways) > 1 else there
    return sequence(moving, hold(moving.position(moving.end), pause)) if pause > 0.0 else moving


def track(
    parameters: DeltaParameters,
    motion: Motion,
    control: Control | None = None,
    *,
    kp: Any = KP,
    kd: Any = KD,
    period: float | None = 1e-3,
    filter_time: float = FILTER_TIME,
    t_end: float | None = None,
    rtol: float = 1e-8,
    **settings: Any,
) -> Tracking:
    """Run the robot so that the tool follows a motion (3,), m, from its position and velocity at the start of the run.

    Parameters
    ----------
    control : a controller; by default `task_control` with kp, kd, period and filter_time, sampled at 1 kHz.
    t_end, rtol, settings : settings of the run, as for `DeltaRobot.simulate`; by default the run ends with the motion.

    Raises `ModelError` E442 for a motion that leaves the workspace or meets a singularity; E440, E470, E476, E478 from the
    controller.
    """
    robot = DeltaRobot(parameters)
    check_path(robot, motion)
    controller = control or task_control(parameters, motion, kp=kp, kd=kd, period=period, filter_time=filter_time)
    t_start = settings.get("t_start", 0.0)
    start, rates = motion.position(t_start), motion.velocity(t_start)
    motors = np.linalg.solve(robot.jacobian(robot.inverse_kinematics(start)), rates) if np.any(rates) else None
    run = robot.simulate(
        motion.end if t_end is None else t_end,
        w=start,
        rates=motors,
        signals=controller.torque,
        blocks=controller.blocks,
        rtol=rtol,
        **settings,
    )
    return Tracking(run, motion, controller)
