"""Poles and zeros of a delta robot at rest, and the motor angle below which it falls (Bortoff 2018, figure 5).

   arm 1 --> 0 --> arm 2      each arm is an IC field of three angles; stabilised constraints make the velocities of the
     |       |                three tips equal, and add twelve poles at -5, all cancelled by zeros
     0 --> arm 3
     |     constraint
   constraint

With constant torques that hold the robot, six poles remain. At 45 degrees the robot swings, lightly damped; at 0 degrees one
pole is unstable: all arms fold or stretch together and the tool runs away up or down.
"""

from __future__ import annotations

import numpy as np
from screwbond.models.delta import DeltaParameters, DeltaRobot, PoleZeroMap, instability_angle, pole_zero_map, sweep_poles

ROBOT = DeltaRobot(DeltaParameters.fit())
ANGLES = {r"$y_i = \pi/4$": 0.25 * np.pi, r"$y_i = 0$": 0.0}


def maps() -> dict[str, PoleZeroMap]:
    """Return poles and zeros of the 18 states, from motor torques to motor angles, at both angles."""
    return {caption: pole_zero_map(ROBOT.linearise((angle,) * 3)) for caption, angle in ANGLES.items()}


def crossing_angle() -> float:
    """Return the angle of all motors (degrees) at which the unstable root crosses zero."""
    return float(np.rad2deg(instability_angle(ROBOT)))


def report() -> str:
    """Return the values of the paper's section IV.E, as text."""
    lines = []
    for angle, shown in zip(ANGLES.values(), maps().values(), strict=True):
        rest = ROBOT.forward_kinematics((angle,) * 3)
        lines.append(f"motors at {np.rad2deg(angle):g} degrees, tool {1e3 * rest.w[2]:.1f} mm below the shafts")
        lines.append(f"  {len(shown.cancelled_poles)} poles cancel with zeros near {shown.cancelled_poles.real.mean():.4f}")
        lines.append("  poles " + ", ".join(f"{pole:.3f}" for pole in shown.poles) + " 1/s")
    lines.append(f"one root is unstable below {crossing_angle():.3f} degrees")
    return "\n".join(lines)


if __name__ == "__main__":
    from screwbond.models.delta.pictures.figures import pole_zero_plot, sweep_plot
    from screwbond.models.studies.tasks import output_folder

    out = output_folder(__doc__, "demo")
    print(report())
    pole_zero_plot(maps(), out / "delta_poles.png", title="Delta robot: poles and zeros")
    swept = sweep_poles(ROBOT, np.deg2rad(np.linspace(-10.0, 60.0, 71)))
    sweep_plot(swept, np.deg2rad(crossing_angle()), out / "delta_sweep.png", title="Delta robot: poles over the motor angle")
