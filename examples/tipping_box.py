"""A robot tips a box and loses it: the robot's finger pushes high on the left face, the box turns about its lower right corner,
and the finger retracts faster than the box can fall. Quasi-statically the box follows the finger back to the floor; with inertia
it is left behind in the air, falls back, and loses part of its speed as it rocks onto its other corner."""

from __future__ import annotations

import numpy as np
from screwbond.models import attach_planar_contact, planar_body

from bondgraph import J0, J1, C, Graph, R, Result, Sf
from bondgraph.stepping import stepper
from screws.scalars import array, where

HALF, MASS, GRAVITY, FRICTION, SLIDING = 0.5, 1.0, 9.81, 0.8, 0.1  # m, kg, m/s^2, - at the floor, - at the finger
HEIGHT, SPEED, BACK, TURN, T_END = 0.9, 0.4, 3.0, 0.8, 2.5  # m, m/s, m/s, s, s
TIPS = MASS * GRAVITY * HALF / (HEIGHT - 2.0 * HALF * SLIDING)
"""Push at which the box tips, N: weight times half the box's width, divided by the height of the push minus the box's width
times the coefficient of friction at the finger."""


def speed(t: float) -> np.ndarray:
    """Return the commanded velocity: slowly forward, quickly back, m/s."""
    return array([where(t < TURN, SPEED, where(t < TURN + 0.2, -BACK, 0.0)), 0.0])


def box(mass: float = MASS) -> Graph:
    """Return the box on two corners, and the finger with its servo."""
    graph = Graph("tipping box")
    body = planar_body("box", mass=mass, inertia=2.0 / 3.0 * mass * HALF**2, place=(0.0, HALF, 0.0), gravity=GRAVITY)
    wedge = [(0.0, 0.0), (-0.4, 0.05), (-0.4, -0.05)]  # picture of the finger, whose tip is its origin
    finger = planar_body("finger", mass=0.05, place=(-HALF, HEIGHT), outline=wedge)
    servo, stretch = J0("servo", dimension=2, domain="translation"), J1("stretch", dimension=2, domain="translation")
    graph.connect(Sf("command", speed, signals=["time"], dimension=2), servo).connect(servo, finger.motion)
    graph.connect(servo, stretch).connect(stretch, R("damper", 40.0 * np.eye(2)))
    graph.connect(stretch, C("spring", stiffness=2000.0 * np.eye(2), initial=(0.0, 0.0)))
    for name, x in (("corner A", -HALF), ("corner B", HALF)):
        attach_planar_contact(graph, name, (body, (x, -HALF)), (None, (0.0, 1.0), 0.0), friction=FRICTION)
    attach_planar_contact(graph, "finger tip", (finger, (0.0, 0.0)), (body, (-1.0, 0.0), HALF), friction=SLIDING)
    return graph


def runs() -> dict[str, Result]:
    """Return the results by kind of inertia."""
    steps = {"ignored": 0.005, "full": 0.002}
    return {inertia: stepper(box(), inertia=inertia).simulate(T_END, step=h) for inertia, h in steps.items()}


if __name__ == "__main__":
    from screwbond.models.pictures.plotting import plot_signals
    from screwbond.models.studies.tasks import output_folder

    out = output_folder(__doc__, "demo/tipping_box")
    results = runs()
    for inertia, result in results.items():
        angle = result["box.place"][:, 2]
        lost = [event.time for event in result.events if event.name == "finger tip" and event.kind == "open"]
        print(f"inertia {inertia}: turned by {-angle.min():.4f} rad, {result!r}; the finger leaves at {lost} s")
    signals = {
        "box.place": ("place (m, rad)", "x", "y", "angle"),
        "finger tip.normal force": "push (N)",
        "corner A.normal force": "at A (N)",
        "corner B.normal force": "at B (N)",
        "finger tip.gap": "gap at the finger (m)",
    }
    plot_signals(results, signals, out / "tipping.png", title="A box is tipped and falls back")
    print(f"  picture in {out / 'tipping.png'}; the box tips at {TIPS:.3f} N")
