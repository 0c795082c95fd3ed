"""A sphere that cannot turn is commanded back and forth along the floor, through springs that press it down with 10 N (Pang):
it sticks until the spring along the floor pulls with mu N, slides, and sticks again as the command reverses. Coulomb's law
limits friction to exactly 5 N at any step size; the convex law lifts the sphere by mu v h while it slides, a vibration that
shrinks with the step.

    command Sf -> 0 -> 1 robot -> contact
                  |
                  C
"""

from __future__ import annotations

import numpy as np
from screwbond.models import attach_planar_contact, planar_body

from bondgraph import J0, C, Graph, Result, Sf
from bondgraph.stepping import stepper
from screws.scalars import array, cos

RADIUS, STIFFNESS, PRESSED, FRICTION = 0.1, 1000.0, 0.01, 0.5  # m, N/m, m, -
STROKE, RATE, T_END = 0.02, 2.0 * np.pi, 1.5  # m, rad/s, s


def robot() -> Graph:
    """Return the sphere above the floor, and its servo in both directions."""
    graph = Graph("sphere robot")
    body = planar_body("robot", mass=0.1, place=(0.0, RADIUS), outline=RADIUS)
    servo = J0("servo", dimension=2, domain="translation")
    speed = Sf("command", lambda t: array([STROKE * RATE * cos(RATE * t), 0.0]), signals=["time"], dimension=2)
    graph.connect(speed, servo).connect(servo, body.motion)
    graph.connect(servo, C("spring", stiffness=STIFFNESS * np.eye(2), initial=(0.0, -PRESSED)))
    attach_planar_contact(graph, "floor", (body, (0.0, -RADIUS)), (None, (0.0, 1.0), 0.0), friction=FRICTION)
    return graph


def runs() -> dict[str, Result]:
    """Return the results by friction law and step size."""
    made = {law: stepper(robot(), friction=law) for law in ("coulomb", "convex")}
    cases = (("coulomb", 0.01), ("convex", 0.01), ("convex", 0.0025))
    return {f"{law}, h = {h:g} s": made[law].simulate(T_END, step=h) for law, h in cases}


if __name__ == "__main__":
    from screwbond.models.pictures.plotting import plot_signals
    from screwbond.models.studies.tasks import output_folder

    out = output_folder(__doc__, "demo/sphere_robot")
    results = runs()
    for name, result in results.items():
        most, gap = np.abs(result["floor.friction force"]).max(), result["floor.gap"].max()
        print(f"{name:>22}: friction at most {most:.4f} N, off the floor by at most {1e3 * gap:.4f} mm")
    signals = {
        "floor.friction force": "friction (N)",
        "floor.normal force": "normal force (N)",
        "floor.gap": "gap (m)",
        "robot.place": ("place (m)", "x", "z"),
    }
    plot_signals(results, signals, out / "vibration.png", title="A sphere sticks and slides on the floor")
    print(f"  picture in {out / 'vibration.png'}")
