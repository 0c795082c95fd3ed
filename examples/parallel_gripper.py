"""A parallel gripper closes on a disc and moves down along it (Pang, a convex quasi-static time-stepping scheme): the fingers are
commanded, through springs, 0.01 m into the disc and, in 0.15 s, 0.03 m down; the disc stands on the floor.

    command Sf -> 0 -> 1 finger            The command meets the spring C at a 0-junction: without it, command and contact
                  |                        would both set the finger's velocity (Hogan 1985). The fingers share one
                  C                        height. The disc does not rotate.

The fingers stick until 0.08 s, slide until 0.15 s, when the command stops, and stick again. Each presses with 10 N; together
their friction is min(200 t, 16) N, and the gripper ends at y = -0.014 m. The convex friction law lifts sliding bodies by mu v h.
"""

from __future__ import annotations

from screwbond.models import mark_planar_body, mark_planar_contact, planar_contact

from bondgraph import J0, J1, C, Graph, I, Result, Se, Sf
from bondgraph.signals import integrator
from bondgraph.stepping import stepper
from screws.scalars import where

RADIUS, STIFFNESS, FRICTION, WEIGHT = 0.1, 1000.0, 0.8, 9.81  # m, N/m, -, N
SQUEEZE, SPEED, STOP, T_END = 0.01, 0.2, 0.15, 0.5  # m, m/s, s, s


def gripper(mass: float = 0.05) -> Graph:
    """Return a disc (x, z) and fingers (left, right, and their height y), each with its own mass (kg), with three contacts."""
    graph = Graph("parallel gripper")
    v = {name: J1(name, domain="translation") for name in ("disc x", "disc z", "left", "right", "y")}
    starts = {"disc x": 0.0, "disc z": RADIUS, "left": -RADIUS, "right": RADIUS, "y": 0.0}
    for name, junction in v.items():
        graph.connect(junction, I(f"{name} mass", mass))
        graph.add(integrator(f"{name} place", f"{name} mass.flow", initial=starts[name], unit="m"))
    graph.connect(Se("weight", -WEIGHT), v["disc z"])
    down = {"signals": ["time"]}
    for name, command, ahead in (
        ("left", Sf("left command", 0.0), SQUEEZE),
        ("right", Sf("right command", 0.0), -SQUEEZE),
        ("y", Sf("y command", lambda t: where(t < STOP, -SPEED, 0.0), **down), 0.0),
    ):
        shared = J0(f"{name} servo", domain="translation")
        graph.connect(command, shared).connect(shared, v[name])
        graph.connect(shared, C(f"{name} spring", stiffness=STIFFNESS, initial=ahead))
    touches = {name: planar_contact(name, friction=FRICTION) for name in ("left finger", "right finger", "floor")}
    for name, opens, closes in (("left finger", "disc x", "left"), ("right finger", "right", "disc x")):
        graph.connect(v[opens], touches[name].port("normal")).connect(touches[name].port("normal"), v[closes])
        graph.connect(v["disc z"], touches[name].port("tangent")).connect(touches[name].port("tangent"), v["y"])
    graph.connect(v["disc z"], touches["floor"].port("normal")).connect(v["disc x"], touches["floor"].port("tangent"))
    return _with_shapes(graph)


def _with_shapes(graph: Graph) -> Graph:
    disc = {"x": "disc x place.y", "y": "disc z place.y"}
    mark_planar_body(graph, "disc", disc, outline=RADIUS)
    for name, side in (("left", 1.0), ("right", -1.0)):
        finger, inside = {"x": f"{name} place.y", "y": "y place.y"}, (side, 0.0)
        sides = [(0.0, 0.05), (-0.03 * side, 0.05), (-0.03 * side, 0.25), (0.0, 0.25)]
        mark_planar_body(graph, name, finger, outline=sides)
        mark_planar_contact(graph, f"{name} finger", (disc, (-side * RADIUS, 0.0)), (finger, inside, 0.0), slip=(0.0, 1.0))
    return mark_planar_contact(graph, "floor", (disc, (0.0, -RADIUS)), (None, (0.0, 1.0), 0.0))


def runs(step: float = 0.01) -> dict[str, Result]:
    """Return the results by friction law, with this step size (s)."""
    return {law: stepper(gripper(), friction=law).simulate(T_END, step=step) for law in ("coulomb", "convex")}


if __name__ == "__main__":
    from screwbond.models.pictures.plotting import plot_signals
    from screwbond.models.studies.tasks import output_folder

    out = output_folder(__doc__, "demo/parallel_gripper")
    results = runs()
    for law, result in results.items():
        changes = ", ".join(f"{e.name} {e.kind} at {e.time:.2f} s" for e in result.events if e.name == "left finger")
        print(f"{law:>8}: y = {result['y place.y'][-1]:.6f} m at the end; {changes}")
    signals = {
        "left finger.normal force": "normal force (N)",
        "y spring.effort": "friction of both (N)",
        "left finger.gap": "gap (m)",
        "y place.y": "height of the fingers (m)",
    }
    plot_signals(results, signals, out / "forces.png", title="Two fingers slide down along a disc")
    print(f"  picture in {out / 'forces.png'}")
