"""Linear analysis of the delta robot: reduced system, pole-zero map with cancellations, frequency response, and unstable root.

The stabilised constraint adds twelve poles at -5 (with alpha1 = 10, alpha0 = 25), each cancelled by a zero. The motions that keep
the arms together span an invariant subspace of A, so the reduced system has only the six poles of the robot, without the rounding
errors of double poles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from screwbond.models.delta.kinematics import arm
from screwbond.models.delta.kinematics.robot_kinematics import error
from screwbond.models.delta.studies.robot import DeltaRobot

from bondgraph.analysis import Linear
from bondgraph.output.progress import track


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """Equilibrium under gravity.

    Parameters
    ----------
    y : (3,) motor angles, rad.
    w : (3,) tool position, m.
    torque : (3,) holding torque, N m.
    residual : largest rate of any state, SI: zero within rounding error.
    """

    y: np.ndarray
    w: np.ndarray
    torque: np.ndarray
    residual: float


@dataclass(frozen=True, eq=False)
class PoleZeroMap:
    """Poles and zeros, 1/s, and their cancellations: `cancelled_poles[k]` with `cancelled_zeros[k]`.

    `poles` and `zeros` are the remaining poles and zeros. A pole and a zero that cancel belong to a motion that is not
    controllable or not observable.
    """

    poles: np.ndarray
    zeros: np.ndarray
    cancelled_poles: np.ndarray
    cancelled_zeros: np.ndarray


@dataclass(frozen=True, eq=False)
class PoleSweep:
    """Six poles as functions of a common motor angle: angles (k,) in rad, poles (k, 6) in 1/s, in order of real part."""

    angles: np.ndarray
    poles: np.ndarray

    @property
    def rightmost(self) -> np.ndarray:
        """Largest real part (k,), 1/s."""
        return self.poles.real.max(axis=1)


def equilibrium(robot: DeltaRobot, y: Sequence[float] | np.ndarray) -> Equilibrium:
    """Return the equilibrium at the motor angles y (3,) with gravity compensated."""
    linear = robot.linearise(y)
    posture = robot.forward_kinematics(y)
    return Equilibrium(posture.y, posture.w, robot.gravity_torque(y), float(np.max(np.abs(linear.rates))))


def linearise_reduced(robot: DeltaRobot, y: Sequence[float] | np.ndarray) -> Linear:
    """Return the linear system of order 6 in motor angles and their rates, about rest at y (3,). It is exact, since the motions
    that keep the arms together span an invariant subspace. Inputs are motor torques, outputs motor angles."""
    linear, slopes = robot.linearise(y), robot.forward_kinematics(y).dtheta_dy.reshape(3, 1, 3, 1, 3)
    # Derivatives of each arm's angles with respect to motor angles, and of its rates with respect to motor rates.
    tangent = (slopes * np.eye(2).reshape(1, 2, 1, 2, 1)).reshape(18, 6)
    motors = [6 * i + offset for offset in (0, 3) for i in range(3)]
    if robot.form == "hamiltonian":
        linear = _with_velocities(robot, linear, y)
    states = tuple(f"y[{i}]{prime}" for prime in ("", "'") for i in range(3))
    return replace(
        linear,
        A=(linear.A @ tangent)[motors],
        B=linear.B[motors],
        C=linear.C @ tangent,
        states=states,
        rates=linear.rates[motors],
        point=None,
    )


def _with_velocities(robot: DeltaRobot, linear: Linear, y: Sequence[float] | np.ndarray) -> Linear:
    from scipy.linalg import block_diag

    # At rest dp = M dv.
    arms = robot.forward_kinematics(y).theta.reshape(3, 3)
    inertias = [np.asarray(arm.inertia(theta, robot.parameters), dtype=float) for theta in arms]
    mass = block_diag(*(part for inertia in inertias for part in (np.eye(3), inertia)))
    inverse = np.linalg.inv(mass)
    return replace(linear, A=inverse @ linear.A @ mass, B=inverse @ linear.B, C=linear.C @ mass, rates=inverse @ linear.rates)


def pole_zero_map(linear: Linear, tolerance: float = 1e-4) -> PoleZeroMap:
    """Return poles and zeros with as many cancellations as possible: pairs whose distance is at most `tolerance` times the
    larger of the pole's magnitude and 1 1/s.

    Double poles of a Jordan block scatter by the square root of the rounding error.
    """
    from scipy.optimize import linear_sum_assignment

    poles, zeros = linear.poles(), linear.zeros()
    if not len(poles) or not len(zeros):
        return PoleZeroMap(poles, zeros, poles[:0], zeros[:0])
    distance = np.abs(poles[:, None] - zeros[None, :]) / np.maximum(np.abs(poles)[:, None], 1.0)
    # all pairs that are too far apart cost the same, so that as many as possible cancel
    rows, columns = linear_sum_assignment(np.minimum(distance, 10.0 * tolerance))
    near = distance[rows, columns] <= tolerance
    rows, columns = rows[near], columns[near]
    return PoleZeroMap(np.delete(poles, rows), np.delete(zeros, columns), poles[rows], zeros[columns])


def sweep_poles(robot: DeltaRobot, angles: Sequence[float] | np.ndarray, *, progress: bool = True) -> PoleSweep:
    """Compute the robot's six poles at rest with gravity compensated, for each common motor angle (k,), rad."""
    values = np.asarray(angles, dtype=float)
    counted_values = track(values, "poles at motor angles", progress=progress)
    return PoleSweep(values, np.array([linearise_reduced(robot, (angle,) * 3).poles() for angle in counted_values]))


def instability_angle(robot: DeltaRobot, low: float = 0.0, high: float = 0.25 * np.pi) -> float:
    """Return the common motor angle (rad) between `low` and `high` at which a real pole crosses zero.

    Raises `ModelError` E469 if no pole crosses zero, or an even number of poles does.
    """
    from scipy.optimize import brentq

    def determinant(angle: float) -> float:
        return float(np.linalg.det(linearise_reduced(robot, (angle,) * 3).A))

    ends = determinant(low), determinant(high)
    if ends[0] * ends[1] > 0.0:
        roots = [f"{linearise_reduced(robot, (angle,) * 3).poles().real.max():.4g} 1/s" for angle in (low, high)]
        title = f"no single root crosses zero between {np.rad2deg(low):.4g} and {np.rad2deg(high):.4g} degrees"
        why = f"the rightmost poles at these angles are {roots[0]} and {roots[1]}"
        raise error("E469", title, "other limits; `sweep_poles` shows the poles between them", why=why)
    return float(brentq(determinant, low, high, xtol=1e-12))


def frequency_response(robot: DeltaRobot, y: Sequence[float] | np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Return the response of motor angles to motor torques at angular frequencies (k,) in rad/s: (k, 3, 3), complex, rad/(N
    m)."""
    return linearise_reduced(robot, y).frequency_response(omega)
