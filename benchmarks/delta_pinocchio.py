"""The delta robot in Pinocchio: the joints of `delta_joints`, with the tips held together by constrained dynamics. Needs
`screwbond[pinocchio]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from screwbond.models.delta.kinematics.parameters import DeltaParameters

from benchmarks.delta_joints import angles_of, hinges, rods, shafts


@dataclass(frozen=True)
class DeltaPinocchio:
    """Model, data and constraints; angles and rates in hinge coordinates (9,)."""

    model: Any
    data: Any
    ties: Any
    tie_data: Any
    settings: Any

    @classmethod
    def make(cls, p: DeltaParameters, alpha_1: float = 10.0, alpha_0: float = 25.0) -> DeltaPinocchio:
        import pinocchio as pin

        upper, lower = rods(p)
        model = pin.Model()
        model.gravity.linear = np.array([0.0, 0.0, p.g])
        tips = []
        for i, (place, R) in enumerate(shafts(p)):
            motor = model.addJoint(0, pin.JointModelRX(), pin.SE3(R, place), f"motor {i + 1}")
            model.appendBodyToJoint(motor, _inertia(pin, upper), pin.SE3.Identity())
            at = pin.SE3(np.eye(3), np.array([0.0, p.L1, 0.0]))
            first = model.addJoint(motor, pin.JointModelRX(), at, f"elbow a {i + 1}")
            second = model.addJoint(first, pin.JointModelRZ(), pin.SE3.Identity(), f"elbow b {i + 1}")
            model.appendBodyToJoint(second, _inertia(pin, lower), pin.SE3.Identity())
            tips.append(second)
        end = [pin.SE3(R.T, np.array([0.0, p.L2, 0.0])) for _, R in shafts(p)]
        ties, tie_data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for k in (1, 2):
            tie = pin.RigidConstraintModel(
                pin.ContactType.CONTACT_3D, model, tips[0], end[0], tips[k], end[k], pin.ReferenceFrame.LOCAL
            )
            tie.setBaumgarteCorrectorParameters(pin.BaumgarteCorrectorParameters(alpha_0, alpha_1))
            ties.append(tie)
            tie_data.append(tie.createData())
        data = model.createData()
        pin.initConstraintDynamics(model, data, ties, tie_data)
        return cls(model, data, ties, tie_data, pin.ProximalSettings(1e-14, 1e-14, 0.0, 10))

    def acceleration(self, hinge: np.ndarray, rates: np.ndarray, u: np.ndarray) -> np.ndarray:
        import pinocchio as pin

        tau = np.zeros(9)
        tau[::3] = u
        pin.constraintDynamics(self.model, self.data, hinge, rates, tau, self.ties, self.tie_data, self.settings)
        return np.array(self.data.ddq)

    def run(self, q: np.ndarray, v: np.ndarray, u: np.ndarray, t_end: float, step: float) -> np.ndarray:
        """Return the paper's angles (9,) after t_end s, integrated by the classical Runge-Kutta method at constant torques."""
        x = np.concatenate(hinges(q, v))

        def rates(x: np.ndarray) -> np.ndarray:
            return np.concatenate([x[9:], self.acceleration(x[:9], x[9:], u)])

        for _ in range(round(t_end / step)):
            a = rates(x)
            b = rates(x + 0.5 * step * a)
            c = rates(x + 0.5 * step * b)
            x = x + step / 6.0 * (a + 2.0 * b + 2.0 * c + rates(x + step * c))
        return angles_of(x[:9])


def _inertia(pin: Any, rod: Any) -> Any:
    return pin.Inertia(rod.mass, np.array([0.0, rod.centre, 0.0]), np.diag([rod.inertia, 0.0, rod.inertia]))
