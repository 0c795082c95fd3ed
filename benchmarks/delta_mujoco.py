"""The delta robot in MuJoCo: hinges and universal joints, with the tips held together by two `connect` constraints.

MuJoCo's constraints are soft. With `solref` = (-stiffness, -damping) they are Baumgarte's, h'' + damping h' + stiffness h = 0,
except for the impedance d of `solimp`, which MuJoCo limits to 0.9999: a fraction 1 - d of the relative acceleration of
unconnected arms remains. This acceleration divided by the stiffness is the distance by which the tips separate, so a small error
needs a constraint stiffer than alpha0 = 25, and a smaller step. Rods need some inertia about their own axes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from screwbond.models.delta.kinematics.parameters import DeltaParameters

from benchmarks.delta_joints import angles_of, hinges, rods, shafts

IMPEDANCE = 0.9999
AXIAL = 1e-10
"""Inertia of a rod about its own axis, kg m^2."""


def mjcf(p: DeltaParameters, step: float = 1e-3, stiffness: float = 1e6, damping: float = 2e3, integrator: str = "RK4") -> str:
    """Return the robot in MJCF, with the time step in s, and the stiffness (1/s^2) and damping (1/s) of the constraints."""
    upper, lower = rods(p)

    def words(*values: float) -> str:
        return " ".join(f"{value:.17g}" for value in values)

    arms, motors, ties = [], [], []
    for i, (place, R) in enumerate(shafts(p)):
        axes = words(*R[:, 0], *R[:, 1])
        thin = max(AXIAL, 1e-6 * upper.inertia)
        arms.append(f"""
    <body name="proximal {i + 1}" pos="{words(*place)}" xyaxes="{axes}">
      <joint name="motor {i + 1}" axis="1 0 0"/>
      <inertial pos="0 {words(upper.centre)} 0" mass="{words(max(upper.mass, 1e-9))}"
                diaginertia="{words(max(upper.inertia, AXIAL), thin, max(upper.inertia, AXIAL))}"/>
      <body name="distal {i + 1}" pos="0 {words(p.L1)} 0">
        <joint name="elbow a {i + 1}" axis="1 0 0"/><joint name="elbow b {i + 1}" axis="0 0 1"/>
        <inertial pos="0 {words(lower.centre)} 0" mass="{words(lower.mass)}"
                  diaginertia="{words(lower.inertia, AXIAL, lower.inertia)}"/>
        <site name="tip {i + 1}" pos="0 {words(p.L2)} 0"/>
      </body>
    </body>""")
        motors.append(f'<motor name="motor {i + 1}" joint="motor {i + 1}"/>')
        if i:
            ties.append(f'<connect site1="tip 1" site2="tip {i + 1}"/>')
    return f"""<mujoco>
  <compiler angle="radian"/>
  <option timestep="{words(step)}" gravity="0 0 {words(p.g)}" integrator="{integrator}" solver="Newton"
          tolerance="1e-14" iterations="100"/>
  <default><equality solref="{words(-stiffness, -damping)}" solimp="{IMPEDANCE} {IMPEDANCE} 1e-3 0.5 1"/></default>
  <worldbody>{"".join(arms)}
  </worldbody>
  <equality>{"".join(ties)}</equality>
  <actuator>{"".join(motors)}</actuator>
</mujoco>"""


@dataclass(frozen=True)
class DeltaMujoco:
    model: Any
    data: Any

    @classmethod
    def make(cls, p: DeltaParameters, **options: Any) -> DeltaMujoco:
        import mujoco

        model = mujoco.MjModel.from_xml_string(mjcf(p, **options))
        return cls(model, mujoco.MjData(model))

    def put(self, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> None:
        """Set the paper's angles and rates, each (9,), and the motor torques (3,)."""
        self.data.qpos[:], self.data.qvel[:] = hinges(q, v)
        self.data.ctrl[:] = u

    def q(self) -> np.ndarray:
        return angles_of(self.data.qpos)

    def apart(self) -> float:
        tips = self.data.site_xpos
        return float(max(np.linalg.norm(tips[0] - tips[1]), np.linalg.norm(tips[0] - tips[2])))

    def run(self, t_end: float, torque: Any = None) -> None:
        """Advance to t_end (s) in fixed steps; torques u(t), if given, are constant over each step."""
        import mujoco

        count = round((t_end - self.data.time) / self.model.opt.timestep)
        if torque is None:
            mujoco.mj_step(self.model, self.data, nstep=count)
        else:
            for _ in range(count):
                self.data.ctrl[:] = torque(self.data.time)
                mujoco.mj_step(self.model, self.data)
        mujoco.mj_forward(self.model, self.data)
