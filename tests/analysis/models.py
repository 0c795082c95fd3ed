"""Small graphs with known solutions."""

from __future__ import annotations

from bondgraph import GY, J0, J1, TF, C, Graph, I, R, Se
from screws.scalars import exp, log


def motor() -> Graph:
    graph = Graph("motor")
    armature, rotor = J1("armature", domain="electrical"), J1("rotor", domain="rotation")
    graph.connect(Se("supply", 5.0), armature).connect(armature, R("winding", 4.0)).connect(armature, I("coil", 15e-6))
    emf = GY("emf", 9.54e-3)
    graph.connect(armature, emf.port("1")).connect(emf.port("2"), rotor)
    graph.connect(rotor, I("inertia", 1e-6)).connect(rotor, R("friction", 1e-6))
    return graph


def hoist() -> Graph:
    graph = motor()
    rotor = graph.parts["rotor"]
    drum, rope, load = TF("drum", 0.05), J0("rope", domain="translation"), J1("load", domain="translation")
    graph.connect(rotor, drum.port("1")).connect(drum.port("2"), rope).connect(rope, C("elastic", capacitance=1e-6))
    graph.connect(rope, load).connect(load, I("mass", 5e-3)).connect(Se("weight", -5e-3 * 9.81), load)
    return graph


def coupled_masses() -> Graph:
    graph = Graph("coupled")
    v1, v2 = J1("v1", domain="translation"), J1("v2", domain="translation")
    lever = TF("lever", 1.0 / 3.0)
    graph.connect(v1, I("m1", 2.0, initial=1.0)).connect(v1, lever.port("1")).connect(lever.port("2"), v2)
    return graph.connect(v2, I("m2", 5.0)).connect(v2, R("b", 7.0)).connect(Se("push", 0.0), v1)


def two_masses() -> Graph:
    graph = Graph("two masses")
    v1, v2 = J1("v1", domain="translation"), J1("v2", domain="translation")
    between, relative = J0("between", domain="translation"), J1("relative", domain="translation")
    graph.connect(Se("force", 0.0), v1)
    graph.connect(v1, I("m1", 2.0)).connect(v1, C("k1", stiffness=250.0)).connect(v1, R("c1", 5.0))
    graph.connect(v1, between).connect(between, v2).connect(v2, I("m2", 1.0))
    graph.connect(between, relative).connect(relative, C("k2", stiffness=400.0)).connect(relative, R("c2", 15.0))
    return graph


def pi_filter() -> Graph:
    graph = Graph("pi filter")
    inlet, a, b = J1("inlet", domain="electrical"), J0("a", domain="electrical"), J0("b", domain="electrical")
    middle = J1("middle", domain="electrical")
    graph.connect(Se("supply", 1.0), inlet).connect(inlet, R("inner", 1.0)).connect(inlet, a).connect(
        a, C("C_a", capacitance=1.0)
    )
    graph.connect(a, middle).connect(middle, I("L", 1.0)).connect(middle, b)
    graph.connect(b, C("C_b", capacitance=1.0)).connect(b, R("load", 1.0))
    return graph


def diode() -> Graph:
    graph = Graph("diode")
    series = J1("series", domain="electrical")
    graph.connect(Se("supply", 1.0), series).connect(series, R("wire", 100.0))
    law = {"effort": lambda f, s, v: v * log(f / s + 1.0), "flow": lambda e, s, v: s * (exp(e / v) - 1.0)}
    graph.connect(series, R("diode", **law, parameters={"s": 1e-12, "v": 0.0258563}))
    return graph.connect(series, C("capacitor", capacitance=1e-6, nominal=1e-6))


def wired() -> Graph:
    graph = Graph("twins")
    supply = J0("supply node", domain="electrical")
    graph.connect(Se("supply", 1.0), supply)
    for k in (1, 2):
        loop = J1(f"loop{k}", domain="electrical")
        graph.connect(supply, loop).connect(loop, R(f"r{k}", 2.0)).connect(loop, C(f"c{k}", capacitance=0.5))
    return graph


def chain(sections: int) -> Graph:
    graph = Graph("chain")
    velocities = [J1(f"v{k}", domain="translation") for k in range(sections)]
    graph.connect(Se("push", 1.0), velocities[0])
    for k, velocity in enumerate(velocities):
        graph.connect(velocity, I(f"m{k}", 1.0 + 0.01 * (k % 7)))
        if k + 1 < sections:
            gap, stretch = J0(f"gap{k}", domain="translation"), J1(f"stretch{k}", domain="translation")
            graph.connect(velocity, gap).connect(gap, velocities[k + 1]).connect(gap, stretch)
            graph.connect(stretch, C(f"k{k}", stiffness=50.0)).connect(stretch, R(f"d{k}", 0.3))
    graph.connect(velocities[-1], C("wall", stiffness=50.0)).connect(velocities[-1], R("rub", 2.0))
    return graph
