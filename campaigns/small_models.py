"""Small graphs by name that together contain every law, every kind of formula and every kind of event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bondgraph import (
    GY,
    IC,
    J0,
    J1,
    MGY,
    MTF,
    TF,
    X0,
    X1,
    Automaton,
    Block,
    C,
    Ce,
    Constraint,
    Diode,
    EulerJunction,
    Friction,
    Graph,
    HeatTransfer,
    I,
    Op,
    R,
    Re,
    Se,
    Sf,
    StateSpec,
    Switch,
    Transition,
    by_mode,
    multiport,
    signals,
)
from bondgraph.model.laws import Action
from screws.scalars import array, cos, exp, log, sin, tanh


def drive() -> Graph:
    """Return a motor with a rope, nonlinear friction, a table and a sampled controller."""
    graph, armature, rotor = Graph("drive"), J1("armature", domain="electrical"), J1("rotor", domain="rotation")
    graph.connect(Se("supply", lambda u, y: u + y, parameters={"u": 2.0}, signals=["control.y"]), armature)
    graph.connect(armature, R("winding", 4.0)).connect(armature, I("coil", 1e-3))
    emf, drum, rope = GY("emf", 0.1), TF("drum", 0.05), J0("rope", domain="translation")
    graph.connect(armature, emf.port("1")).connect(emf.port("2"), rotor).connect(rotor, I("inertia", 1e-3))
    graph.connect(rotor, R("friction", effort=lambda w, b, s: b * w + s * tanh(w), parameters={"b": 1e-3, "s": 1e-3}))
    graph.connect(rotor, drum.port("1")).connect(drum.port("2"), rope).connect(rope, C("elastic", stiffness=50.0))
    graph.add(signals.table("wanted", "time", [0.0, 0.1, 0.3], [0.0, 2.0, 1.0]))
    graph.add(signals.summation("error", {"wanted.y": 1, "rotor.flow": -1}))
    graph.add(signals.sampled_pid("control", "error.y", kp=1.0, ki=2.0, period=0.01))
    return graph


def rectifier() -> Graph:
    """Return an ideal diode, an ideal switch, and a diode with a smooth characteristic in a nonlinear loop."""
    graph, series, node = Graph("rectifier"), J1("series", domain="electrical"), J0("node", domain="electrical")
    graph.add(signals.sine("mains", 10.0, 2.0))
    graph.connect(Se("source", lambda u: u, signals=["mains.y"]), series).connect(series, Diode("diode"))
    graph.connect(series, R("wire", 1.0)).connect(series, node).connect(node, C("store", capacitance=1e-2))
    law = {"effort": lambda f, s, v: v * log(f / s + 1.0), "flow": lambda e, s, v: s * (exp(e / v) - 1.0)}
    load = J1("load", domain="electrical")
    graph.connect(node, load).connect(load, R("lamp", 50.0)).connect(load, R("led", **law, parameters={"s": 1e-6, "v": 0.5}))
    key = Transition("open", "closed", lambda t: t - 0.05, ("time",))
    graph.add_automaton(Automaton("key", ("open", "closed"), "open", (key,)))
    bleed = J1("bleed", domain="electrical")
    graph.connect(node, bleed).connect(bleed, Switch("button", automaton="key", closed=["closed"])).connect(
        bleed, R("bleeder", 100.0)
    )
    return graph


def bouncing() -> Graph:
    """Return a ball on a floor with restitution and accumulating bounces, and a puck with dry friction and a mode-dependent
    damper."""
    graph, fall, slide = Graph("bouncing"), J1("fall", domain="translation"), J1("slide", domain="translation")
    floor = Constraint("floor", initial=1.0, automaton="contact", active=["resting"], restitution=0.5)
    bounce = Transition("free", "free", lambda h: -h, ("floor.h",), impact=("floor",), accumulates="resting", kind="bounces")
    lift = Transition("resting", "free", lambda force: -force, ("floor.multiplier",), kind="lifts off")
    graph.connect(Se("weight", -9.81), fall).connect(fall, I("ball", 1.0)).connect(fall, floor)
    graph.add_automaton(Automaton("contact", ("free", "resting"), "free", (bounce, lift)))
    graph.connect(slide, I("puck", 2.0, initial=3.0)).connect(slide, Friction("board", 4.0))
    return graph.connect(slide, R("air", by_mode("contact", {"free": 0.1, "resting": 0.2})))


def pendulum(form: str = "hamiltonian") -> Graph:
    """Return a pendulum modelled by its energies; an automaton engages its brake by a switched junction, and sets a block's
    state."""
    graph, joint = Graph("pendulum"), J1("joint", domain="rotation")
    arm = IC(
        "arm",
        inertia=lambda q, m, L, g: m * L * L * (1.0 + 0.1 * cos(q)),
        potential=lambda q, m, L, g: m * g * L * (1.0 - cos(q)),
        form=form,
        position=1.5,
        parameters={"m": 2.0, "L": 1.0, "g": 9.81},
        domain="rotation",
    )
    graph.connect(joint, arm)
    on = X1("clutch", automaton="hand", active=["on"], domain="rotation")
    graph.connect(joint, on).connect(on, R("brake", 2.0))
    turn = Transition("off", "on", lambda q: 0.5 - q, ("arm.q",), kind="grips")
    back = Transition(
        "on", "off", lambda q: -1.0 - q, ("arm.q",), (("memory.top", lambda q: 2.0 * q, ("arm.q",)),), kind="lets go"
    )
    graph.add_automaton(Automaton("hand", ("off", "on"), "off", (turn, back)))
    graph.add(
        Block("memory", [("sum", lambda top, q: top + q, ["top", "q"])], inputs={"q": "arm.q"}, states={"top": StateSpec(0.0)})
    )
    return graph


def rod() -> Graph:
    graph, place = Graph("rod"), J1("place", dimension=2)
    graph.connect(place, I("mass", inertia=np.array([1.0, 1.0]), initial=[0.0, 0.5]))
    graph.connect(Se("weight", [0.0, -9.81]), place).connect(place, C("where", energy=lambda q: 0.0 * q[0], initial=[1.0, 0.0]))
    held = Constraint("rod", position=lambda q: (q @ q - 1.0) / 2, coordinates={"where.q": 2}, alpha1=6.0, alpha0=9.0)
    graph.connect(place, held)
    return graph


def lever() -> Graph:
    """Return a modulated transformer with a dependent storage, a nonlinear storage, a body's Euler junction, and a start value
    that follows from another start value."""
    graph, v1, v2 = Graph("lever"), J1("v1", domain="translation"), J1("v2", domain="translation")
    ratio = MTF("arm", lambda q: 1.0 / (3.0 + 0.1 * sin(q)), signals=["spring.q"])
    graph.connect(v1, I("m1", 2.0, initial=1.0)).connect(v1, ratio.port("1")).connect(ratio.port("2"), v2)
    graph.connect(v2, I("m2", 5.0)).connect(v2, C("spring", energy=lambda q, k: k * q**4 / 4 + q * q, parameters={"k": 3.0}))
    spin = J1("spin", dimension=3)
    graph.connect(spin, I("body", np.diag([1.0, 2.0, 3.0]), initial=[0.1, 2.0, 0.3]))
    turned = EulerJunction("Euler", _tilde, signals=["body.p"], dimension=3)
    graph.connect(spin, turned)
    graph.start(lambda p: (0.1 * p,), ["m1.p"], ["spring.q"])
    return graph


def clutch() -> Graph:
    """Return a node that an automaton opens, an excited motor, and a plane rotation with formulas for its products in addition to
    its matrix."""
    graph, rail, node = Graph("clutch"), J0("rail", domain="electrical"), X0("node", automaton="key", active=["on", "held"])
    graph.connect(Sf("feed", 1.0), rail).connect(rail, R("leak", 2.0)).connect(rail, node).connect(node, R("heater", 3.0))
    graph.connect(rail, C("buffer", capacitance=0.1, initial=0.05))
    off = Transition("on", "off", lambda t: t - 0.1, "time")
    back = Transition("off", "held", lambda t, e: t * e - 0.1, ("time", "rail.effort"))
    graph.add_automaton(Automaton("key", ("on", "off", "held"), "on", (off, back)))
    excited, shaft = MGY("excited", lambda k, q: k * (1.0 + q), parameters={"k": 0.4}, signals=["buffer.q"]), J1("shaft")
    graph.connect(rail, excited.port("1")).connect(excited.port("2"), shaft).connect(shaft, I("rotor", 0.2))
    body, world = J1("body", dimension=2), J1("world", dimension=2)
    products = Action(
        Op("forward", lambda angle, f: array([f[0] * cos(angle) - f[1] * sin(angle), f[0] * sin(angle) + f[1] * cos(angle)])),
        Op("back", lambda angle, e: array([e[0] * cos(angle) + e[1] * sin(angle), e[1] * cos(angle) - e[0] * sin(angle)])),
    )
    turned = MTF("turned", _turn, signals=["rotor.p"], dimensions=(2, 2), action=products)
    graph.connect(body, I("puck", np.array([1.0, 2.0]), initial=[1.0, 0.5])).connect(body, turned.port("1"))
    return graph.connect(turned.port("2"), world).connect(world, R("drag", np.array([0.3, 0.4])))


def _turn(angle: Any) -> np.ndarray:
    return array([[cos(angle), -sin(angle)], [sin(angle), cos(angle)]])


def _tilde(p: Any) -> np.ndarray:
    return array([[0.0, -p[2], p[1]], [p[2], 0.0, -p[0]], [-p[1], p[0], 0.0]])


def mixture() -> Graph:
    """Return species and a reaction, a field of two ports in a nested graph with exported names, and an R-field."""
    graph, reaction, reactants = Graph("mixture"), Re("r"), J1("A + B")
    graph.connect(Ce("A", initial=1.0), reactants).connect(Ce("B", initial=2.0), reactants)
    graph.connect(reactants, reaction.port("1")).connect(reaction.port("2"), Ce("D", initial=3.0))
    field = multiport(
        "C", "plate", lambda x: x[0] * x[0] * (1.0 + x[1] * x[1]), {"a": None, "b": "translation"}, initial=[0.2, 0.3]
    )
    charge, motion = J1("charge", domain="electrical"), J1("motion", domain="translation")
    graph.connect(charge, field.port("a")).connect(motion, field.port("b")).connect(charge, R("lead", 3.0))
    graph.connect(motion, I("foil", 0.5)).connect(motion, R("gas", 0.2)).connect(
        Sf("leak", 0.01), J0("corner", domain="electrical")
    )
    graph.connect(graph["corner"], R("earth", 10.0))
    membrane = multiport("R", "membrane", _through, {"a": None, "b": "electrical"}, parameters={"g": 0.1}, passive=True)
    graph.connect(graph["corner"], membrane.port("a")).connect(Se("bias", 0.2), membrane.port("b"))
    return graph


def kettle() -> Graph:
    """Return a heater in water that loses heat, with a resistance that grows with temperature; a brake that warms a drum through
    a pseudo-bond; and an open heat port."""
    graph, loop, water, v = Graph("kettle"), J1("loop", domain="electrical"), J0("water", domain="thermal"), J1("v")
    heater = R("heater", effort=lambda i, T: 0.02 * T * i, signals=["heater.heat.effort"], heat=True)
    graph.connect(Se("u", 10.0), loop).connect(loop, heater).connect(heater.port("heat"), water)
    graph.connect(water, C("body", energy=lambda S, c: 300.0 * c * (exp(S / c) - 1.0), parameters={"c": 100.0}))
    pad = Friction("pad", 4.0, heat=True, domain="translation")
    graph.connect(v, I("block", 2.0, initial=6.0)).connect(v, pad).connect(v, R("air", 0.1, heat=True))
    room = C("room", energy=lambda S, c: 290.0 * c * (exp(S / c) - 1.0), parameters={"c": 1e3})
    film, glow = HeatTransfer("film", 2.0), HeatTransfer("glow", heat=lambda one, other: 1e-8 * (one**4 - other**4))
    air = J0("room air", domain="thermal")
    graph.connect(water, film.port("1")).connect(film.port("2"), air).connect(air, room)
    graph.connect(water, glow.port("1")).connect(air, glow.port("2"))
    return graph.connect(pad.port("heat"), C("drum", capacitance=50.0, initial=15000.0, domain="heat"))


def _through(e: Any, g: Any) -> np.ndarray:
    return array([g * (e[0] - e[1]), g * (e[1] - e[0])])


SMALL: dict[str, Callable[[], Graph]] = {
    made.__name__: made for made in (drive, rectifier, bouncing, pendulum, rod, lever, mixture, clutch, kettle)
}
