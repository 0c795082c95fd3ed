"""Large coupled models: rigidly coupled masses, ladders of diodes, balls in a box, and pendulums, from the graph to a callable
right-hand side, and in a run.

`python -m benchmarks.coupled_models [--quick] [--json FILE]`
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from screwbond.models import attach_contact, contact, ground, rigid_body
from screwbond.models.bodies import Body
from screwbond.models.joints import attach_joint, joint_graph

from benchmarks.command import run_command
from benchmarks.timing import processor, table, without_cache
from bondgraph import J0, J1, TF, C, Diode, Graph, I, R, Result, Se, compile_model, equations
from bondgraph.schedule.kernels import is_large
from bondgraph.tape.routine import listing
from bondgraph.tape.specialise import SpecialisedRoutine
from bondgraph.tracing.routines import trace_for_runs
from screws import joints, pose
from screws.scalars import sin
from screws.surfaces import plane, sphere

SPAN = 1.0


def levers(count: int, parent: Callable[[int], int] = lambda k: k - 1) -> Graph:
    """Return masses, each coupled by a lever to its parent, by default the preceding mass; the first is pushed, and the last has
    a spring and a damper."""
    graph, nodes = Graph("levers"), [J1(f"v{k}") for k in range(count)]
    for k, node in enumerate(nodes):
        graph.connect(node, I(f"m{k}", 1.0 + 0.1 * (k % 7)))
        if k:
            lever = TF(f"lever{k}", 0.9 + 0.05 * (k % 5))
            graph.connect(nodes[parent(k)], lever).connect(lever, node)
    graph.connect(Se("push", 1.0), nodes[0])
    return graph.connect(nodes[-1], C("spring", stiffness=10.0)).connect(nodes[-1], R("damper", 0.3))


def tree(count: int) -> Graph:
    return levers(count, lambda k: (k - 1) // 2)


def star(count: int) -> Graph:
    return levers(count, lambda _: 0)


def ladder(sections: int, resistance: float = 1.0) -> Graph:
    """Return a wave that charges a row of leaky capacitors, each connected to the next by a diode and a resistor; without the
    resistor, impulses redistribute the charges. The capacitors start with different voltages."""
    graph, before = Graph("ladder"), J1("in")
    graph.connect(Se("wave", lambda t: 10.0 * sin(6.0 * t), signals=["time"]), before).connect(before, R("lead", 1.0))
    for k in range(sections):
        node = J0(f"n{k}")
        if k:
            path = J1(f"j{k}")
            graph.connect(before, path).connect(path, Diode(f"d{k}"))
            if resistance:
                graph.connect(path, R(f"r{k}", resistance))
            before = path
        start = 1e-2 * (1.0 + 0.3 * (7 * k % 5))
        graph.connect(before, node).connect(node, R(f"leak{k}", 50.0))
        graph.connect(node, C(f"c{k}", capacitance=1e-2 * (1.0 + 0.1 * (k % 3)), initial=start))
        before = node
    return graph


def clamped(sections: int) -> Graph:
    """Return an RC ladder driven by a sine, with a diode that keeps each capacitor's voltage from falling below ground."""
    graph, before = Graph("clamped"), J1("j0")
    graph.connect(Se("wave", lambda t: 10.0 * sin(6.0 * t), signals=["time"]), before).connect(before, R("r0", 1.0))
    for k in range(sections):
        node, up = J0(f"n{k}"), J1(f"g{k}")
        graph.connect(before, node).connect(node, C(f"c{k}", capacitance=1e-2 * (1.0 + 0.1 * (k % 3))))
        graph.connect(up, node).connect(up, Diode(f"d{k}"))
        if k + 1 < sections:
            before = J1(f"j{k + 1}")
            graph.connect(node, before).connect(before, R(f"r{k + 1}", 1.0))
    return graph


def multiplier(stages: int) -> Graph:
    """Return a Cockcroft-Walton multiplier with resistors in series with the diodes and the source."""
    graph, top, bottom = Graph("multiplier"), J0("drive"), None
    source = J1("source")
    graph.connect(Se("wave", lambda t: 10.0 * sin(6.0 * t), signals=["time"]), source).connect(source, R("lead", 0.1))
    graph.connect(source, top)
    for k in range(stages):
        up, out, push, one, two = J0(f"up{k}"), J0(f"out{k}"), J1(f"push{k}"), J1(f"one{k}"), J1(f"two{k}")
        graph.connect(top, push).connect(push, C(f"push C{k}", capacitance=1e-2)).connect(push, up)
        if bottom is not None:
            graph.connect(bottom, one)
        graph.connect(one, Diode(f"D1 {k}")).connect(one, R(f"R1 {k}", 0.01)).connect(one, up)
        graph.connect(up, two).connect(two, Diode(f"D2 {k}")).connect(two, R(f"R2 {k}", 0.01)).connect(two, out)
        if bottom is None:
            graph.connect(out, C(f"out C{k}", capacitance=1e-2))
        else:
            hold = J1(f"hold{k}")
            graph.connect(bottom, hold).connect(hold, C(f"out C{k}", capacitance=1e-2)).connect(hold, out)
        top, bottom = up, out
    assert bottom is not None
    return graph.connect(bottom, R("load", 1e3))


def balls(count: int) -> Graph:
    """Return balls that fall in a box without a lid, each with contacts to the floor and to four walls."""
    graph, sides = _box("balls")
    for k in range(count):
        place = (0.07 * (k % 9) - 0.3, 0.11 * (k % 5) - 0.25, 0.2 + 0.11 * k)
        ball = rigid_body(
            f"ball {k}", mass=0.1, inertia=(1e-4,) * 3, position=place, gravity=(0.0, 0.0, -9.81), surface=sphere(0.05)
        )
        _into(graph, ball, sides, 1e4, 5.0)
    return graph


def balls_of_all_sizes(count: int, seed: int = 0) -> Graph:
    """Return balls as in `balls`, with radii, masses, positions, speeds and contacts drawn at random."""
    random = np.random.default_rng(seed)
    graph, sides = _box("balls of all sizes")
    for k in range(count):
        radius, mass = random.uniform(0.02, 0.06), random.uniform(0.05, 0.3)
        ball = rigid_body(
            f"ball {k}",
            mass=mass,
            inertia=(0.4 * mass * radius * radius,) * 3,
            position=tuple(random.uniform((-0.4, -0.4, 0.1), (0.4, 0.4, 1.0))),
            velocity=tuple(random.uniform(-2.0, 2.0, 3)),
            angular_velocity=tuple(random.uniform(-5.0, 5.0, 3)),
            gravity=(0.0, 0.0, -9.81),
            surface=sphere(radius),
        )
        _into(graph, ball, sides, 10.0 ** random.uniform(3.5, 4.5), random.uniform(1.0, 10.0))
    return graph


def _box(name: str) -> tuple[Graph, list[Body]]:
    graph, half = Graph(name), 0.5 * math.sqrt(2.0)
    sides = [ground("floor", surface=plane())]
    turned = {"west": (half, 0.0, half, 0.0), "east": (half, 0.0, -half, 0.0)}
    turned |= {"south": (half, -half, 0.0, 0.0), "north": (half, half, 0.0, 0.0)}
    at = {"west": (-0.5, 0.0, 0.0), "east": (0.5, 0.0, 0.0), "south": (0.0, -0.5, 0.0), "north": (0.0, 0.5, 0.0)}
    sides += [ground(name, surface=plane(), position=at[name], quaternion=turned[name]) for name in turned]
    for side in sides:
        graph.add(side)
    return graph, sides


def _into(graph: Graph, ball: Body, sides: Sequence[Body], stiffness: float, damping: float) -> None:
    graph.add(ball)
    for side in sides:
        name = f"{ball.name} at {side.name}"
        attach_contact(graph, contact(name, side, ball, normal_stiffness=stiffness, normal_damping=damping))


def balls_on_a_plane(count: int) -> Graph:
    """Return balls side by side that fall on a floor from seven heights."""
    graph, floor = Graph("balls on a plane"), ground("floor", surface=plane())
    graph.add(floor)
    for k in range(count):
        place, speed = (0.2 * (k % 10), 0.2 * (k // 10), 0.06 + 0.01 * (k % 7)), (0.1, 0.02 * k, 0.0)
        shape, weight = sphere(0.05), (0.0, 0.0, -9.81)
        ball = rigid_body(
            f"ball {k}", mass=0.1, inertia=(1e-4,) * 3, position=place, velocity=speed, gravity=weight, surface=shape
        )
        graph.add(ball)
        attach_contact(graph, contact(f"{ball.name} at floor", floor, ball, normal_stiffness=1e4, normal_damping=5.0))
    return graph


def pendulums(count: int) -> Graph:
    graph, base = Graph("pendulums"), ground("base")
    graph.add(base)
    for k in range(count):
        place, inertia = (0.5 * k, 0.3, 0.0), (0.1, 0.1, 0.01)
        body = rigid_body(f"bob {k}", mass=1.0 + 0.01 * k, inertia=inertia, position=place, gravity=(0.0, 0.0, -9.81))
        graph.add(body)
        ends = {"frame_a": _shifted(0.5 * k, 0.0), "frame_b": _shifted(0.0, -0.3)}
        attach_joint(graph, joint_graph(f"hinge {k}", joints.revolute(axis=(1, 0, 0)), **ends), base, body)
    return graph


def double_pendulums(count: int) -> Graph:
    graph, base = Graph("double pendulums"), ground("base")
    graph.add(base)
    for k in range(count):
        carrier, frame = base, _shifted(0.5 * k, 0.0)
        for part in range(2):
            place, inertia = (0.5 * k, 0.3 + 0.6 * part, 0.0), (0.1, 0.1, 0.01)
            body = rigid_body(f"bob {k} {part}", mass=1.0 + 0.01 * k, inertia=inertia, position=place, gravity=(0.0, 0.0, -9.81))
            graph.add(body)
            hinge = joints.revolute(axis=(1, 0, 0))
            tie = joint_graph(f"hinge {k} {part}", hinge, frame_a=frame, frame_b=_shifted(0.0, -0.3))
            attach_joint(graph, tie, carrier, body)
            carrier, frame = body, _shifted(0.0, 0.3)
    return graph


def _shifted(x: float, y: float) -> np.ndarray:
    return pose(np.eye(3), np.array([x, y, 0.0]))


GRAPHS: Mapping[str, tuple[Callable[[int], Graph], tuple[int, ...]]] = {
    "levers in a row": (levers, (60, 120, 500, 1000)),
    "a tree of levers": (tree, (60, 120, 500, 1000)),
    "levers at one mass": (star, (60, 500)),
    "ladder of diodes": (ladder, (30, 100, 200, 400)),
    "ladder without resistors": (lambda n: ladder(n, 0.0), (30, 100, 200)),
    "clamped ladder": (clamped, (30, 100, 200)),
    "multiplier": (multiplier, (5, 10, 20)),
    "balls in a box": (balls, (10, 50)),
    "balls of all sizes in it": (balls_of_all_sizes, (10, 50)),
    "balls on a plane": (balls_on_a_plane, (10, 50)),
    "pendulums": (pendulums, (10, 50, 100)),
    "double pendulums": (double_pendulums, (10, 20, 50)),
}
RUN = {"levers in a row", "a tree of levers", "ladder of diodes", "ladder without resistors", "clamped ladder"}
RUN |= {"balls in a box", "balls of all sizes in it", "balls on a plane", "pendulums", "double pendulums"}
QUICK = {"levers in a row": (30,), "ladder of diodes": (10,)}


def steps(graph: Graph) -> tuple[int, int]:
    """Return the numbers of steps in the rates and in all routines except those compiled as loops; shared steps count
    once."""
    system = equations(graph.freeze())
    if is_large(system):
        return 0, 0
    routines, _, _ = trace_for_runs(system)
    counts = {name: len(listing(r.reference).steps) for name, r in routines.items() if not isinstance(r, SpecialisedRoutine)}
    return counts["rates"], sum(counts.values())


def measured(build: Callable[[int], Graph], count: int, runs: bool) -> dict[str, Any]:
    """Return CPU seconds, from the graph to the first call of the right-hand side and of a run, steps of code, and the run's
    events."""
    begin = time.process_time()
    compiled = compile_model(build(count), progress=False)
    x, m = compiled.initial()
    compiled.program.rates(0.0, x, compiled.parameters(), m)
    found: dict[str, Any] = {"callable": time.process_time() - begin}
    found["steps"], found["all steps"] = steps(build(count))
    if runs:
        begin = time.process_time()
        result: Result = compiled.simulate(SPAN, progress=False)
        found["run"] = time.process_time() - begin
        found["events"], found["ok"] = len(result.events), result.ok
        found["account"] = float(abs(result.ledger.residual).max())
    return found


def main(arguments: list[str] | None = None) -> dict[str, Any] | None:
    return run_command(__doc__, arguments, _run, "two small graphs")


def _run(quick: bool) -> dict[str, Any]:
    with without_cache():
        return _measure(QUICK if quick else {name: sizes for name, (_, sizes) in GRAPHS.items()})


def _measure(sizes: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    found: dict[str, Any] = {"processor": processor()}
    rows = []
    measured(levers, 4, True)  # work that a process does only once
    for name, counts in sizes.items():
        build, found[name] = GRAPHS[name][0], {}
        for count in counts:
            part = found[name][count] = measured(build, count, name in RUN)
            run = (f"{part['run']:.2f}", str(part["events"]), f"{part['account']:.0e}") if name in RUN else ("", "", "")
            rows.append(
                (
                    name,
                    str(count),
                    f"{part['callable']:.2f}",
                    *(f"{part[key]:,}" if part[key] else "loops" for key in ("steps", "all steps")),
                    *run,
                )
            )
    head = ("graph", "n", "callable s", "steps", "all steps", "run s", "events", "energy left J")
    print(table(f"coupled models, CPU seconds; runs of {SPAN:g} s ({found['processor']})", head, rows))
    return found


if __name__ == "__main__":
    main()
