"""A delta robot touches a brick without moving it (Bortoff 2020, figure 13); two variants show how this fails.

The finger is brought near on a spline, then approaches at 0.2 mm/s while the gain kp along its path fades to zero. At the contact
the robot is under velocity control: the force jumps to Lambda alpha1 v = 90 mN, then stays at Lambda kd v = 40 mN, and the brick,
which dry friction holds up to 147 mN, does not move. If kp is kept, the reference moves on, and the brick slips; with a hard
contact, the finger bounces.
"""

from __future__ import annotations

from dataclasses import replace

from screwbond.models.delta import DeltaParameters
from screwbond.models.delta.studies.soft_touch import BALL, SoftTouchRun, TouchPlan, soft_touch


def simulate(t_end: float = 16.0) -> dict[str, SoftTouchRun]:
    """Simulate the soft touch and the two ways in which it fails."""
    robot, plan = DeltaParameters.fit(), TouchPlan()
    plans = {"soft touch": plan, "kp kept": replace(plan, fade=None), "hard as a ball": replace(plan, constants=BALL)}
    return {name: soft_touch(robot, plan, t_end=t_end, samples=1e-3) for name, plan in plans.items()}


if __name__ == "__main__":
    from screwbond.models.delta.pictures.figures import plot_touch
    from screwbond.models.studies.tasks import output_folder

    out = output_folder(__doc__, "demo/delta_soft_touch")
    touches = simulate()
    for name, touch in touches.items():
        print(f"{name}: contact at {touch.contacts[0]:.4f} s with {1e3 * touch.impacts[0]:.2f} mN, {touch.bounces} bounces")
        print(f"  {1e3 * touch.holding_force:.2f} mN at the end; the brick moves by {1e6 * touch.displacement:.4g} um")
    plot_touch(touches, out / "soft_touch.png")
