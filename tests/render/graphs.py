"""Graphs to draw: a circuit, a chain, and two bodies in contact with nested graphs, a switch and signals."""

import numpy as np

from bondgraph import GY, J0, J1, MTF, TF, X0, Automaton, Block, C, EulerJunction, Graph, I, R, Se, Sf, StateSpec, Transition
from tests.inner.model import Op


def hoist():
    armature, motor, shaft, drum = J1("armature"), GY("motor", 0.1), J1("shaft"), TF("drum", 0.05)
    tension, load = J0("rope tension"), J1("load")
    graph = Graph("hoist").connect(Se("supply", 12.0), armature).connect(armature, R("winding", 1.0))
    graph.connect(armature, I("coil", 0.1)).connect(armature, motor.port("1")).connect(motor.port("2"), shaft)
    graph.connect(shaft, I("rotor", 1e-3)).connect(shaft, R("bearing", 1e-3)).connect(shaft, drum.port("1"))
    graph.connect(drum.port("2"), tension).connect(tension, C("rope", capacitance=1e-4)).connect(tension, load)
    return graph.connect(load, I("mass", 2.0)).connect(load, Se("weight", -9.81))


def chain(sections):
    graph = Graph(f"chain of {sections}")
    before = Se("push", 1.0)
    for i in range(1, sections + 1):
        mass, force, rate = J1(f"v{i}"), J0(f"f{i}"), J1(f"s{i}")
        graph.connect(before, mass).connect(mass, I(f"mass {i}", 1.0)).connect(mass, force).connect(force, rate)
        graph.connect(rate, C(f"spring {i}", capacitance=1.0)).connect(rate, R(f"damper {i}", 1.0))
        before = force
    return graph.connect(before, Sf("wall"))


def body(name):
    screw = {"dimension": 6, "domain": "screw"}
    graph, twist, world = Graph(name), J1("twist", **screw), J1("world twist", **screw)
    adjoint = MTF("to world", lambda x: np.eye(6), signals=["pose.x"], dimensions=(6, 6), domains=("screw", "screw"))
    graph.connect(twist, I("inertia", np.eye(6), initial=np.zeros(6)))
    graph.connect(twist, EulerJunction("Euler", lambda p: np.zeros((6, 6)), signals=["inertia.p"], **screw))
    graph.connect(Se("gravity", lambda x: x, signals=["pose.x"], **screw), twist)
    rates = [("dx", lambda twist: twist, ("twist",))]
    graph.add(Block("pose", rates, inputs={"twist": "twist.flow"}, states={"x": StateSpec(np.zeros(6))}, rates={"x": "dx"}))
    graph.connect(twist, adjoint.port("1")).connect(adjoint.port("2"), world)
    return graph.expose("port", world)


def touching_bodies():
    graph, contact = Graph("touching bodies"), Graph("contact")
    screw = {"dimension": 6, "domain": "screw"}
    relative, components, rate = J0("relative twist", **screw), J1("contact twist", **screw), J1("deformation rate")
    switch = X0("XO", automaton="touch", active=("contact",), **screw)
    constrained = TF("constrained", np.eye(6)[5:], structural=True)
    gap = Block(
        "gap",
        [("dd", lambda twist: -twist[5], ("twist",))],
        inputs={"twist": "contact twist.flow"},
        states={"d": StateSpec(1.0)},
        rates={"d": "dd"},
    )
    closing, opening = Op("closing", lambda d: -d), Op("opening", lambda d: d)
    touch = Transition("apart", "contact", closing, ("gap.d",))
    leave = Transition("contact", "apart", opening, ("gap.d",))
    contact.add_automaton(Automaton("touch", ("apart", "contact"), "apart", (touch, leave)))
    contact.add(gap)
    contact.connect(relative, switch).connect(switch, components).connect(components, constrained.port("1"))
    contact.connect(constrained.port("2"), rate).connect(rate, C("spring", stiffness=1.0)).connect(rate, R("damper", 1.0))
    contact.expose("1", relative)
    graph.connect(body("body 1").port("port"), contact.port("1"))
    return graph.connect(contact.port("1"), body("body 2").port("port"))


def random_graph(seed, name=str):
    random = np.random.default_rng(seed)
    graph = Graph(f"random {seed}")
    homes = [graph, *(Graph(name(f"part {k}")) for k in range(random.integers(1, 3) if seed % 5 == 0 else 0))]
    count = int(random.integers(len(homes), 7))
    made = (
        lambda words: C(words, capacitance=1.0),
        lambda words: R(words, 1.0),
        lambda words: I(words, 1.0),
        lambda words: Se(words, 1.0),
    )
    nodes = []
    for k in range(count):
        home = homes[k] if k < len(homes) else homes[int(random.integers(len(homes)))]
        words = f"{'node' if random.random() < 0.5 else 'a velocity of long name'} {k}"
        nodes.append((home, (J0 if random.random() < 0.5 else J1)(name(words))))
        for e in range(int(random.integers(1, 3)) + (k == 0)):
            home.connect(nodes[-1][1], made[int(random.integers(4))](name(f"element {k}{e}")))
    for k, (home, node) in enumerate(nodes):
        if home is not graph:
            home.expose(f"port {k}", node)
    pairs = {(int(random.integers(k)), k) for k in range(1, count)}
    pairs |= {
        tuple(sorted(random.choice(count, 2, replace=False).tolist())) for _ in range(int(random.integers(0, 3))) if count > 1
    }
    for a, b in sorted(pairs):
        (one, start), (other, end) = nodes[a], nodes[b]
        if one is other:
            one.connect(start, end)
        else:
            ends = [node if home is graph else home.port(f"port {k}") for k, (home, node) in ((a, nodes[a]), (b, nodes[b]))]
            graph.connect(*ends)
    return graph.freeze()
