"""Graphs of the cases, with the names of the quantities that the reference programs also compute."""

from __future__ import annotations

from typing import Any

import numpy as np
from screwbond.models import ground, rigid_body
from screwbond.models.joints import attach_joint, joint_graph

from bondgraph import J0, J1, TF, Automaton, C, Constraint, Diode, Friction, Graph, I, R, Se, Switch, Transition
from bondgraph.model.element import Element
from campaigns.ideal.linkages import places
from campaigns.ideal.records import Branch, Linkage, Masses, Network, Wave
from screws import joints, pose
from screws.scalars import sin

ACROSS = {"C": "effort", "L": "flow", "R": "flow"}


def source(name: str, wave: Wave) -> Element:
    if wave == Wave(mean=wave.mean):
        return Se(name, wave.mean)
    return Se(name, lambda t: wave.at(t, sin), signals=["time"])


def timed(name: str, times: tuple[float, ...], closed: bool) -> tuple[Automaton, list[str]]:
    """Return an automaton that changes mode at the given times, and its modes in which a switch is closed."""
    modes = tuple(f"{name} {k}" for k in range(max(len(times), 1) + 1))  # at least two, even without a transition
    turns = [Transition(modes[k], modes[k + 1], lambda t, at=at: t - at, "time") for k, at in enumerate(times)]
    return Automaton(f"{name} turns", modes, modes[0], tuple(turns)), list(modes[0 if closed else 1 :: 2])


def network_graph(network: Network) -> tuple[Graph, list[str]]:
    graph = Graph("network")
    nodes = {k: J0(f"n{k}", domain="electrical") for k in network.nodes if k or not network.grounded}
    for branch in network.branches:
        arm = J1(f"arm {branch.name}", domain="electrical")
        if branch.tail in nodes:
            graph.connect(nodes[branch.tail], arm)
        _add_branch(graph, arm, branch)
        if branch.head in nodes:
            graph.connect(arm, nodes[branch.head])
    return graph, [f"{branch.name}.{ACROSS[branch.kind]}" for branch in network.branches if branch.kind in ACROSS]


def _add_branch(graph: Graph, arm: Element, branch: Branch) -> None:
    name, value = branch.name, branch.value
    if branch.kind == "S":
        automaton, closed = timed(name, branch.times, branch.closed)
        graph.add_automaton(automaton)
        graph.connect(arm, Switch(name, automaton=f"{name} turns", closed=closed))
    elif branch.kind == "V":
        graph.connect(arm, source(name, branch.wave))
        if value:
            graph.connect(arm, R(f"inside {name}", value))
    else:
        parts: dict[str, Any] = {"R": R, "L": I, "C": lambda n, v: C(n, capacitance=v), "D": lambda n, _: Diode(n)}
        graph.connect(arm, parts[branch.kind](name, value))


def masses_graph(case: Masses) -> tuple[Graph, list[str]]:
    graph, nodes = Graph("masses"), [J1(f"v{i}", domain="rotation") for i in range(len(case.masses))]
    for i, (mass, node) in enumerate(zip(case.masses, nodes, strict=True)):
        graph.connect(node, I(f"m{i}", mass.mass, initial=mass.mass * mass.velocity))
        graph.connect(source(f"F{i}", mass.force), node)
        if mass.damping:
            graph.connect(node, R(f"d{i}", mass.damping))
        if mass.geared:
            gear, shaft = TF(f"gear {i}", mass.gear), J1(f"shaft {i}", domain="rotation")
            graph.connect(node, gear.port("1")).connect(gear.port("2"), shaft).connect(shaft, I(f"wheel {i}", mass.geared))
    for k, own in enumerate(case.frictions):
        friction = Friction(f"friction{k}", own.limit)
        if own.b is None and own.ratio == 1.0:
            graph.connect(nodes[own.a], friction)
            continue
        gear = TF(f"ratio {k}", own.ratio if own.b is None else 1.0 / own.ratio)
        if own.b is None:
            turned = J1(f"turned {k}", domain="rotation")
            graph.connect(nodes[own.a], gear.port("1")).connect(gear.port("2"), turned).connect(turned, friction)
            continue
        slip = J0(f"z{k}", domain="rotation")
        graph.connect(nodes[own.a], slip).connect(slip, friction)
        if own.ratio == 1.0:
            graph.connect(slip, nodes[own.b])
        else:
            graph.connect(slip, gear.port("1")).connect(gear.port("2"), nodes[own.b])
    return graph, [f"v{i}.flow" for i in range(len(nodes))]


def linkage_graph(case: Linkage) -> tuple[Graph, dict[str, float]]:
    """Return the graph of a linkage, whose first joint is named "crank", and the start rate of this joint."""
    graph, frame = Graph("linkage"), ground("frame")
    placed, _ = places(case, np.array(case.start))
    bodies = {}
    for name, place in placed.items():
        half = float(place.angle) / 2.0
        bodies[name] = rigid_body(
            f"{name} body",
            mass=place.link.mass,
            inertia=(place.link.inertia,) * 3,
            centre_of_mass=(place.centre, 0, 0),
            position=(float(place.begin.real), float(place.begin.imag), 0.0),
            quaternion=(np.cos(half), 0.0, 0.0, np.sin(half)),
            gravity=(0.0, -case.gravity, 0.0),
        )
    hinge, ball = joints.revolute((0, 0, 1)), joints.spherical()
    made = {"crank": _joined(graph, "crank", hinge, frame, bodies["crank"])}
    before = bodies["crank"]
    for i, dyad in enumerate(case.dyads):
        rod, follower = bodies[f"rod {i}"], bodies[f"follower {i}"]
        kind, slides = ball if case.loose else hinge, dyad.kind == "slider"
        made[f"pin {i}"] = _joined(graph, f"pin {i}", kind, before, rod, at=(dyad.reach, 0.0))
        end = 0.0 if slides else dyad.follower.length
        made[f"end {i}"] = _joined(graph, f"end {i}", kind, rod, follower, at=(dyad.rod.length, 0.0), on=(end, 0.0))
        base = joints.prismatic((1, 0, 0)) if slides else hinge
        pivot = (0.0, dyad.pivot[1]) if slides else dyad.pivot
        made[f"base {i}"] = _joined(graph, f"base {i}", base, frame, follower, at=pivot)
        before = follower
    motions: dict[str, Element] = {}

    def motion(joint: str) -> Any:
        if joint not in motions:
            motions[joint] = J1(f"{joint} motion", domain="translation" if _slides(case, joint) else "rotation")
            graph.connect(made[joint].port("motion"), motions[joint])
        return motions[joint]

    if case.torque != Wave():
        graph.connect(source("torque", case.torque), motion("crank"))
    for k, (joint, limit) in enumerate(case.frictions):
        graph.connect(motion(joint), Friction(f"friction{k}", limit))
    if case.stop is not None:
        _add_stop(graph, motion("crank"), case.stop[0] - case.start, case.stop[1])
    if case.lock is not None:
        joint, begin, free = case.lock
        automaton, closed = timed("lock", (begin, free), closed=True)  # an open switch allows no flow
        graph.add_automaton(automaton).connect(motion(joint), Switch("lock", automaton="lock turns", closed=closed))
    return graph, {"crank.rate": case.rate}


def _joined(
    graph: Graph, name: str, kind: Any, a: Any, b: Any, at: tuple[float, float] = (0.0, 0.0), on: tuple[float, float] = (0.0, 0.0)
) -> Graph:
    joint = joint_graph(name, kind, frame_a=pose(np.eye(3), (*at, 0.0)), frame_b=pose(np.eye(3), (*on, 0.0)))
    attach_joint(graph, joint, a, b)
    return joint


def _slides(case: Linkage, joint: str) -> bool:
    return joint.startswith("base") and case.dyads[int(joint.split()[1])].kind == "slider"


def _add_stop(graph: Graph, node: Element, gap: float, restitution: float) -> None:
    edges = (
        Transition("free", "free", lambda h: -h, ("stop.h",), kind="hit", impact=("stop",), accumulates="rest"),
        Transition("rest", "free", lambda f: -f, ("stop.multiplier",), kind="off"),
    )
    graph.add_automaton(Automaton("at stop", ("free", "rest"), "free", edges))
    down, opening = TF("down", -1.0), J1("opening", domain="rotation")
    graph.connect(node, down.port("1")).connect(down.port("2"), opening)
    graph.connect(opening, Constraint("stop", initial=gap, automaton="at stop", active=["rest"], restitution=restitution))
