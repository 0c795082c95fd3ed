"""A delta robot carries a block from one position to another and comes back, under a controller sampled at 1 kHz.

The tool follows a cubic spline that is as fast as the limits on velocity, acceleration and jerk allow. The controller's output
u = kp (r - w) + kd (r' - w') + r'' is an acceleration of the tool; the task-space inertia turns it into torques, to which the
gravity torques are added. The position of the tool is computed from the motors' angles; its velocity is a filtered difference.
"""

from __future__ import annotations

from screwbond.models.delta import DeltaParameters
from screwbond.models.delta.studies.pick_and_place import Tracking, track, transfer

PICK, PLACE = (-0.12, -0.05, 0.5), (0.12, 0.06, 0.5)


def simulate() -> Tracking:
    """Simulate the motion from `PICK` to `PLACE` and back."""
    motion = transfer(PICK, PLACE, lift=0.08, velocity=1.0, acceleration=10.0, jerk=200.0, pause=0.2)
    return track(DeltaParameters.fit(), motion, samples=2e-3)


if __name__ == "__main__":
    from screwbond.models.delta.pictures.scene import film, plot_tracking, poster, tracking_scene
    from screwbond.models.pictures import rendering, save_scene
    from screwbond.models.studies.tasks import output_folder

    out = output_folder(__doc__, "demo/delta_pick_and_place")
    tracking = simulate()
    print(
        f"{tracking.motion.duration:.3f} s, tool within {1e3 * tracking.largest_error:.3f} mm of its motion "
        f"({1e3 * tracking.rms_error:.3f} mm rms), at most {tracking.largest_torque:.2f} N m"
    )
    plot_tracking(tracking, out / "tracking.png")
    carried = (0.0, 0.5 * tracking.motion.duration - 0.1)
    save_scene(tracking_scene(tracking, cargo=carried), out / "pick_and_place.glb", seconds=6.0)
    can_render, why = rendering()
    if can_render:
        poster(tracking, out / "poster.png", cargo=carried)
        print(f"movie: {film(tracking, out / 'pick_and_place.mp4', seconds=6.0, cargo=carried)}")
    else:
        print(why)
