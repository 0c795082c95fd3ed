"""Every code of the language: the smallest graph that shows it, and the words its message must have."""

from __future__ import annotations

import math
import pickle
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import bondgraph
from bondgraph import (
    GY,
    IC,
    J0,
    J1,
    MGY,
    MTF,
    TF,
    X0,
    Automaton,
    Block,
    C,
    Ce,
    Constraint,
    Diode,
    Element,
    EulerJunction,
    Friction,
    Graph,
    I,
    ModelError,
    Op,
    Parameter,
    R,
    RunEndedWarning,
    Se,
    Sf,
    StateSpec,
    Switch,
    Transition,
    by_mode,
    compile_model,
    signals,
)
from bondgraph.model.element import Port
from bondgraph.model.laws import Storage
from screws.scalars import sign, sqrt


def loop(*parts, **more) -> Graph:
    """A series loop of the parts."""
    graph, junction = Graph("model"), J1("loop")
    for part in parts:
        graph.connect(junction, part)
    return graph


OWN_RATE = Storage("flow", "p", StateSpec(0.0), Op("f", lambda p: p), Op("E", lambda p: p * p / 2), Op("p'", lambda p, e: e - p))


def at_switched(*parts) -> Graph:
    x = X0("x", automaton="gate", active=["on"])
    graph = Graph("g").add_automaton(Automaton("gate", ("on", "off"), "on", ()))
    for part in (*parts, R("r", 1.0)):
        graph.connect(x, part)
    return graph


def deep(count: int) -> Graph:
    graph = Graph("inmost")
    for k in range(count):
        graph, inner = Graph(f"g{k}"), graph
        graph.add(inner)
    return graph


def rc(*more) -> Graph:
    return loop(C("c", capacitance=1.0, initial=2.0), R("r", 3.0), *more)


def with_automaton(*transitions: Transition, states=("a", "b"), initial: str = "a") -> Graph:
    return rc().add_automaton(Automaton("relay", states, initial, transitions))


def wired(name: str) -> Graph:
    part = Graph("part").declare_input("u")
    return rc().wire("c.q", part, name)


def falling(impact: str) -> Graph:
    hit = Transition("free", "free", lambda h: -h, ("stop.h",), impact=(impact,))
    graph = loop(I("m", 1.0), Constraint("stop", initial=1.0, automaton="contact", active=["held"]))
    return graph.add_automaton(Automaton("contact", ("free", "held"), "free", (hit,)))


def shorted(what=None, initial: str = "off") -> Graph:
    graph, node = Graph("model"), J0("node")
    for part in (what or Se("u", 1.0), R("r", 1.0), Switch("short", automaton="lever", closed=["on"])):
        graph.connect(node, part)
    return graph.add_automaton(Automaton("lever", ("off", "on"), initial, ()))


def shorted_by(count: int) -> Graph:
    """Switches across a source, each with an automaton of its own: every one that closes shorts it."""
    graph, node = Graph("model"), J0("node")
    graph.connect(node, Se("u", 1.0)).connect(node, R("r", 1.0))
    for name in "abcdefghijk"[:count]:
        graph.connect(node, Switch(f"switch {name}", automaton=name, closed="on"))
        graph.add_automaton(Automaton(name, ("off", "on"), "off", ()))
    return graph


def short_by_two() -> None:
    """Two switches in series that short a source once both are closed, which the second does at 1 s."""
    graph, branch, node = Graph("model"), J1("branch"), J0("node")
    graph.connect(Se("u", 2.0), branch).connect(branch, Switch("near", automaton="a", closed="on")).connect(branch, node)
    graph.connect(node, R("r", 3.0)).connect(node, Switch("far", automaton="b", closed="on"))
    graph.add_automaton(Automaton("a", ("off", "on"), "on", ()))
    closes = Transition("off", "on", lambda t: t - 1.0, ("time",))
    graph.add_automaton(Automaton("b", ("off", "on"), "off", (closes,)))
    with pytest.warns(RunEndedWarning, match="E220"):
        run = compile_model(graph, backend="numpy").simulate(2.0, progress=False)
    assert run.failure is not None and run.failure.time == pytest.approx(1.0)
    raise ModelError(graph.name, [run.program.transitions[-1].error])


def unfed() -> Graph:
    part = Graph("part").declare_input("u")
    part.connect(Se("push", lambda u: u, signals=["u"]), v := J1("v")).connect(v, R("drag", 1.0))
    graph = Graph("model")
    graph.add(part)
    return graph


def ports(*names: str) -> Graph:
    part = Graph("part")
    part.connect(v := J1("v"), R("drag", 1.0))
    for name in names:
        part.expose(name, v)
    return Graph("model").connect(part.port("exit"), C("c", capacitance=1.0))


def itself() -> Graph:
    graph = rc()
    graph.add(graph)
    return graph


def block(equations, **more) -> Graph:
    graph = rc()
    graph.add(Block("b", equations, **more))
    return graph


def answering(formula) -> Graph:
    """Two blocks that each need the other's result."""
    return block([("x", formula, ["y"]), ("y", lambda x: x, ["x"])])


def switched(active, automaton: str = "relay") -> Graph:
    graph = Graph("model").add_automaton(Automaton("relay", ("open", "closed"), "open", ()))
    switch = X0("switch", automaton=automaton, active=active)
    return graph.connect(C("c", capacitance=1.0), switch).connect(switch, R("r", 1.0))


Case = tuple[str, Callable[[], object], tuple[str, ...]]


def rod_turned_round():
    """A pendulum with one wrong sign in its Jacobian."""
    graph, v = Graph("pendulum"), J1("v", dimension=2)
    graph.connect(v, I("m", [1.0, 1.0])).connect(v, C("place", capacitance=1.0, dimension=2, initial=[1.0, 0.0]))
    along = MTF("J", lambda q: np.array([[q[0], -q[1]]]), signals=["place.q"], dimensions=(2, 1))
    rod = Constraint("rod", position=lambda q: (q @ q - 1.0) / 2.0, signals=["place.q"])
    return compile_model(graph.connect(v, along).connect(along, rod))


CASES: list[Case] = [
    # what is no graph
    ("E100", lambda: Graph("model").connect("wall", J1("v")), ("'wall'", "str", "J1(...)")),
    ("E101", lambda: loop(C("c", capacitance=1.0), R("c", 1.0)), ('two parts of "model"', '"c"', "another name")),
    ("E101", lambda: with_automaton().add_automaton(Automaton("relay", ("a",), "a", ())), ("two automata", '"relay"')),
    ("E101", lambda: rc().export("x", "c.q").export("x", "c.effort"), ("two exported signals", '"x"')),
    ("E101", lambda: rc().expose("x", J1("loop")).expose("x", J1("loop")), ("two ports", '"x"')),
    (
        "E101",
        lambda: loop(C("c", output=lambda x, q: q * x, energy=lambda x, q: q * x * x / 2, parameters={"q": 1.0}), R("r", 1.0)),
        ('"c.q"', "another name"),
    ),
    ("E101", lambda: loop(I("m", 1.0), MTF("n", lambda N: N, parameters={"N": 1.0}, signals=[]).port("1")), ('"n.N"',)),
    ("E101", lambda: rc().export("time", "c.q") and rc().export("c.energy", "c.q"), ('"c.energy"',)),
    ("E102", lambda: loop(C("a.b", capacitance=1.0), R("r", 1.0)), ('"a.b"', "a dot separates")),
    ("E102", lambda: loop(C("", capacitance=1.0), R("r", 1.0)), ('""', "a name of letters")),
    ("E102", lambda: loop(C("-c", capacitance=1.0), R("r", 1.0)), ('"-c"',)),
    # ends of bonds
    (
        "E103",
        lambda: loop(C("c", capacitance=1.0, dimension=2), R("r", 1.0, dimension=3)),
        ('C "c" asks for dimension 2', 'R "r" asks for dimension 3', "TF"),
    ),
    ("E103", lambda: loop(C("c", capacitance=1.0, dimension=2), R("r", 1.0, domain="screw")), ("dimension 2", "dimension 6")),
    (
        "E103",
        lambda: loop(C("c", capacitance=1.0), R("r", 1.0, domain="screw", dimension=3)),
        ('R "r" asks for dimension 3', "screw have dimension 6"),
    ),
    ("E103", lambda: loop(C("c", capacitance=1.0, dimension=-1), R("r", 1.0)), ('C "c" asks for dimension -1',)),
    ("E103", lambda: loop(C("c", capacitance=1.0), R("r", 1.0, dimension=1.5)), ('R "r" asks for dimension 1.5',)),
    ("E104", lambda: loop(C("c", capacitance=1.0), R("r", 1.0), TF("t", 2.0)), ('port "2" of TF "t"', "connect it")),
    ("E104", lambda: rc().add(R("alone", 1.0)) and _with(rc(), R("alone", 1.0)), ('R "alone"', "not connected")),
    (
        "E105",
        lambda: loop(C("c", capacitance=1.0, domain="electrical"), R("r", 1.0, domain="hydraulic")),
        ("domain electrical", "domain hydraulic", "loop -> r"),
    ),
    (
        "E106",
        lambda: loop(Se("u", lambda x: x, signals=["c.x"]), C("c", capacitance=1.0), R("r", 1.0)),
        ('"u" reads the signal "c.x"', "c.q"),
    ),
    ("E106", lambda: rc().export("x", "c.charge"), ("c.charge", "x")),
    ("E107", lambda: wired("v"), ('"part" has no signal input "v"', "declared inputs: u", "declare_input")),
    ("E108", unfed, ('signal input "u" of "part"', '"part.push" reads it', "graph.wire")),
    (
        "E108",
        lambda: Graph("top").declare_input("u").connect(Se("s", lambda u: u, signals=["u"]), R("r", 1.0)),
        ('of "top"', '"s" reads it'),
    ),
    ("E109", lambda: loop(C("c", capacitance=1.0, frame="tool"), R("r", 1.0, frame="world")), ("frame tool", "frame world")),
    ("E110", lambda: C("c"), ('C "c" needs exactly one of capacitance, compliance, stiffness, elastance, output', "given: none")),
    ("E110", lambda: R("r", 1.0, conductance=2.0), ("given: resistance, conductance",)),
    ("E110", lambda: R("r", 1.0, effort=lambda f: f), ("given: resistance, effort",)),
    ("E110", lambda: I("i", output=lambda p: p), ("needs exactly one of energy",)),
    ("E110", lambda: I("i", 2.0, signals=["time"]), ("no use for signals",)),
    ("E111", lambda: ports("entry"), ('graph "part" has no port "exit"', "it exposes: entry", "expose")),
    ("E111", lambda: Graph("g").connect(Graph("part"), C("c", capacitance=1.0)), ("it exposes: nothing",)),
    ("E112", lambda: _twice_on(R("r", 1.0)), ('R "r" has no free port', "0- or 1-junction")),
    (
        "E112",
        lambda: loop(C("c", capacitance=1.0), TF("t", 1.0).port("3")),
        ('TF "t" has no port "3"', "its ports: 1, 2", "name one"),
    ),
    (
        "E112",
        lambda: loop(C("c", capacitance=1.0), Block("b", [("x", lambda: 1.0, [])])),
        ('"b" is a signal block', "no power port"),
    ),
    ("E114", itself, ('graph "model" contains itself',)),
    ("E126", lambda: Graph("g").connect(j := J1("j"), j), ('joins 1 "j" to itself', "bond: j -> j")),
    ("E126", lambda: Graph("g").connect((t := TF("t", 2.0)).port("2"), t.port("1")), ('joins TF "t" to itself',)),
    ("E127", lambda: R("r", 1.0, domain="elektrical"), ("'elektrical'", "electrical, translation")),
    # numbers
    ("E113", lambda: loop(C("c", capacitance=float("nan")), R("r", 1.0)), ('C "c": capacitance is nan', "finite")),
    ("E113", lambda: loop(C("c", capacitance=1.0), R("r", float("inf"))), ('R "r": resistance is inf',)),
    ("E113", lambda: loop(C("c", capacitance=1.0, initial="full"), R("r", 1.0)), ("start value of q is 'full'",)),
    ("E113", lambda: loop(C("c", capacitance=1.0, nominal=0.0), R("r", 1.0)), ("nominal size of q is 0.0", "positive")),
    ("E113", lambda: loop(C("c", capacitance="large"), R("r", 1.0)), ("capacitance is 'large'",)),
    ("E113", lambda: loop(C("c", capacitance=1.0), Se("u", [1.0, [2.0, 3.0]])), ('Se "u"',)),
    ("E113", lambda: loop(I("m", 1.0, dimension=2), TF("t", [float("nan"), 1.0], structural=True).port("1")), ('TF "t": ratio',)),
    ("E119", lambda: loop(I("m", -1.0), R("r", 1.0)), ('I "m": inertia must be positive', "given: -1.0")),
    ("E119", lambda: loop(I("m", 0.0), R("r", 1.0)), ('I "m": inertia must be positive',)),
    ("E119", lambda: loop(I("m", [1.0, 0.0]), R("r", 1.0)), ("inertia must be positive",)),
    ("E119", lambda: loop(I("m", [[1.0, 2.0], [2.0, 1.0]]), R("r", 1.0)), ("symmetric and positive definite",)),
    ("E119", lambda: loop(C("c", stiffness=[[1.0, 2.0], [0.0, 1.0]]), R("r", 1.0)), ("stiffness must be symmetric",)),
    ("E119", lambda: loop(C("c", stiffness=-1.0), R("r", 1.0)), ("stiffness must be positive or zero",)),
    ("E119", lambda: loop(C("c", capacitance=1.0), R("r", -1.0)), ('R "r": resistance must be positive or zero', "effort=")),
    (
        "E119",
        lambda: loop(C("c", capacitance=1.0, dimension=2), R("r", [[1.0, 0.5], [0.0, 1.0]])),
        ("resistance must be symmetric",),
    ),
    ("E151", lambda: loop(I("m", 1.0), Friction("f", -0.4)), ('friction "f": limit must be zero or more', "given: -0.4")),
    ("E151", lambda: loop(I("m", 1.0), Friction("f", 0.4, viscous=-1.0)), ("viscous must be zero or more",)),
    (
        "E151",
        lambda: loop(I("m", 1.0), Friction("f", 0.9, stick_limit=0.2)),
        ("stick_limit must be no less than limit", "stick_limit 0.2, limit 0.9"),
    ),
    ("E151", lambda: loop(I("m", 1.0), Constraint("c", restitution=1.5)), ("restitution must be between 0 and 1", "1.5")),
    ("E151", lambda: loop(I("m", 1.0), Constraint("c", alpha0=-1.0)), ('constraint "c": alpha0 must be zero or more',)),
    ("E151", lambda: loop(I("m", 1.0), Diode("d", alpha1=-1.0)), ('Diode "d": alpha1 must be zero or more',)),
    (
        "E153",
        lambda: loop(I("m", 1.0), R("r", effort=lambda f: f * f, passive=True)),
        ('R "r" is declared passive', "its power is -1e-18 W", "stays in its quadrants"),
    ),
    (
        "E153",
        lambda: loop(I("m", 1.0), R("r", effort=lambda f, t: t * f, signals=["time"], passive=True)),
        ("it reads signals", "leave `passive` out"),
    ),
    (
        "E154",
        lambda: at_switched(C("a", capacitance=1.0), C("b", capacitance=3.0)),
        ('X0 "x"', 'C "a"', 'C "b"', "a J0 in its place"),
    ),
    (
        "E155",
        lambda: loop(I("m", 1.0), C("c", output=lambda q: 2 * q, energy=lambda q: q**4)),
        ('formulas of C "c"', "its effort by `output`", "the slope of its `energy`"),
    ),
    ("E156", lambda: loop(C("c", capacitance=1.0), R("r", Parameter(1.0, "kgg"))), ("'kgg'", "kg", "kg m^2/s")),
    (
        "E157",
        lambda: pickle.dumps(loop(C("c", capacitance=1.0), R("r", 1.0))),
        ("Graph cannot be pickled", "the Result of a run"),
    ),
    (
        "E170",
        lambda: loop(I("m", 1.0), C("c", capacitance=1.0), Constraint("k", position=lambda q: 2 * q, signals=["c.q"])),
        ('"k"',),
    ),
    ("E159", lambda: deep(200), ("nested", "side by side")),
    ("E161", lambda: loop(I("m", 1.0), Friction("f", 0.4, dimension=0)), ("whole number of directions", "dimension = 0")),
    ("E170", lambda: rod_turned_round(), ('constraint "rod"', 'MTF "J"', "row 0, column 1", "coordinates={'place.q': 2}")),
    (
        "E171",
        lambda: compile_model(
            loop(I("m", 1.0), C("c", capacitance=1.0)).start(lambda: (1.0,), [], ["c.q"]).start(lambda: (2.0,), [], ["c.q"])
        ),
        ('disagree on "c.q"', "among the arguments of the later one"),
    ),
    # names
    ("E150", lambda: I(3, 1.0), ("I 3: its name is of type int", '"3"')),
    ("E150", lambda: Graph(3), ("graph 3: its name is of type int",)),
    ("E150", lambda: Transition("a", "b", lambda t: t, 5), ("`signals` cannot be 5", "or one alone")),
    ("E150", lambda: X0("x", automaton="a", active=[1]), ("`active` cannot be [1]",)),
    ("E150", lambda: Automaton("relay", ("a", "b"), "a", "ab"), ("`transitions` cannot be 'ab'", "Transition(")),
    ("E150", lambda: Block("b", [], states=["phi"]), ("`states` cannot be ['phi']", 'states={"phi": 0.0}')),
    ("E152", lambda: Graph("empty"), ('graph "empty" has no elements', "graph.connect")),
    # switches
    ("E106", lambda: switched(["closed"], automaton="relais"), ("relais.mode", "relay.mode")),
    ("E115", lambda: loop(C("c", capacitance=1.0)), ('junction 1 "loop" has 1 bond', "fewer than two")),
    ("E116", lambda: switched(["shut"]), ('X0 "switch"', "active: shut", "states: open, closed")),
    ("E116", lambda: switched([]), ("active: none",)),
    ("E117", lambda: with_automaton(initial="c"), ('automaton "relay" speaks of unknown states: c', "its states: a, b")),
    ("E117", lambda: with_automaton(Transition("a", "z", lambda t: t, ("time",))), ("unknown states: z",)),
    ("E117", lambda: with_automaton(states=("a", "a")), ("two states of one name: a",)),
    (
        "E120",
        lambda: with_automaton(Transition("a", "b", lambda t: t, ("time",), (("c.effort", lambda: 0.0, ()),))),
        ('resets "c.effort", which is no state', "from a to b"),
    ),
    (
        "E120",
        lambda: loop(I("m", 1.0), I("n", 1.0)).add_automaton(
            Automaton("relay", ("a",), "a", (Transition("a", "a", lambda t: t, ("time",), (("n.p", lambda: 0.0, ()),)),))
        ),
        ('resets "n.p", which is no independent state', "it follows from m"),
    ),
    ("E106", lambda: with_automaton(Transition("a", "b", lambda t: t, ("tim",))), ('"relay" reads the signal "tim"', "time")),
    # blocks
    ("E118", lambda: block([("x", lambda: 1.0, []), ("x", lambda: 2.0, [])]), ('block "b" defines twice x',)),
    ("E118", lambda: block([("x", lambda y: y, ["y"])]), ("uses but does not define y",)),
    ("E118", lambda: block([("x", lambda: 1.0, [])], states={"s": StateSpec(0.0)}), ("no rate for its state s",)),
    ("E118", lambda: block([("x", lambda: 1.0, [])], rates={"s": "x"}), ("a rate or update but no state s",)),
    ("E140", lambda: signals.summation("error", {}), ('summation "error" needs a list of inputs', "given: none")),
    ("E141", lambda: signals.summation("error", {"c.q": 2}), ('"c.q" has the sign 2', "gain")),
    ("E142", lambda: signals.lowpass("lag", "c.q", 0.0), ("time_constant must be positive", "given: 0.0")),
    ("E143", lambda: signals.pid("control", "c.q", 1.0, kd=1.0), ("has kd but no filter_time",)),
    ("E144", lambda: signals.transfer_function("h", "c.q", [1.0, 0.0], [2.0]), ('"h" is not proper', "degree 1")),
    ("E145", lambda: signals.transfer_function("h", "c.q", [1.0], [0.0]), ("den is zero",)),
    ("E146", lambda: signals.table("f", "c.q", [1.0, 0.0], [1.0, 2.0]), ("finite and ascending", "1 is followed by 0")),
    ("E147", lambda: signals.table("f", "c.q", [0.0, 1.0], [1.0]), ("do not fit", "(2,)", "(1,)")),
    ("E148", lambda: signals.limiter("limit", "c.q", 2.0, 1.0), ("lowest is above highest",)),
    ("E149", lambda: signals.logic("l", "xor", ["a.y", "b.y"]), ("'xor'", "and, or, not")),
    # formulas
    ("E128", lambda: loop(I("m", 1.0, dimension=3), Se("u", 1.0)), ("u.effort", "shape ()", "needs (3,)")),
    (
        "E128",
        lambda: loop(C("c", capacitance=1.0, initial=[1.0, 2.0], dimension=3), R("r", 1.0)),
        ("start value of q has shape (2,)", "dimension 3"),
    ),
    (
        "E128",
        lambda: loop(C("c", capacitance=1.0, dimension=3), R("r", np.eye(2), dimension=3)),
        ('R "r": resistance has shape (2, 2)',),
    ),
    ("E128", lambda: TF("t", np.zeros((2, 2, 2))), ("ratio has shape (2, 2, 2)",)),
    ("E128", lambda: GY("g", [1.0, 2.0]), ("ratio has shape (2,)", "(n1, n2)")),
    ("E128", lambda: loop(I("m", 1.0, dimension=2), R("r", effort=lambda f: f[0])), ('R "r"', "shape ()", "(2,)")),
    (
        "E128",
        lambda: block([("x", lambda: np.ones(2), [])], states={"s": StateSpec(0.0)}, rates={"s": "x"}),
        ('the rate of "b.s"', "(2,)"),
    ),
    ("E128", lambda: with_automaton(Transition("a", "b", lambda: np.ones(2), ())), ('automaton "relay"', "guard")),
    (
        "E128",
        lambda: with_automaton(Transition("a", "b", lambda t: t, ("time",), (("c.q", lambda: np.ones(2), ()),))),
        ('resets "c.q"',),
    ),
    ("E128", lambda: block([(("x", "y"), lambda: (1.0, 2.0, 3.0), [])]), ("3 results for 2 names",)),
    (
        "E128",
        lambda: loop(I("m", 1.0, dimension=2), turn := MTF("t", lambda: np.eye(2), signals=[])).connect(
            turn, C("c", capacitance=1.0)
        ),
        ("t.N has shape (2, 2), and needs ()", "dimensions=(n1, n2)"),
    ),
    ("E129", lambda: loop(I("m", 1.0), R("r", effort=lambda f, g: f * g)), ('R "r"', "fails", "TypeError", "'g'")),
    ("E129", lambda: _turned(), ('MTF "turn"', "fails", "matmul")),
    ("E129", lambda: loop(I("m", 1.0), Se("u", lambda: {}["speed"])), ('Se "u"', "KeyError")),
    (
        "E133",
        lambda: loop(I("m", 1.0, dimension=2), EulerJunction("e", lambda: np.eye(2), signals=[], dimension=2)),
        ('"e" is not skew-symmetric',),
    ),
    ("E135", lambda: IC("arm", inertia=lambda q: 1.0, form="newtonian"), ('IC "arm"', "'newtonian'", "lagrangian")),
    (
        "E136",
        lambda: loop(Se("e"), IC("arm", kinetic=lambda q, v: v**4)),
        ('IC "arm" is not quadratic', "0.2401 J at a velocity and 3.8416 J at twice that"),
    ),
    ("E137", lambda: Ce("A", 0.0), ('Ce "A" has constant = 0.0', "positive")),
    ("E138", lambda: loop(R("r", 1.0)).replace("r", TF("t", 2.0)), ("of the old part: 1", "of the new one: 1, 2")),
    ("E138", lambda: loop(R("r", 1.0)).replace("r", R("s", 1.0)), ('"r" cannot be replaced by "s"', "another name")),
    ("E138", lambda: loop(R("drag", 1.0)).replace("drg", R("r", 2.0)), ('no part "drg"', "near it: drag")),
    (
        "E139",
        lambda: with_automaton(Transition("a", "b", lambda t: t, ("time",))).replace("r", R("r", by_mode("relay", {"a": 1.0}))),
        ('R "r": resistance by mode does not fit the automaton "relay"', "values for: a", "states: a, b"),
    ),
    # causality and equations
    ("E203", lambda: loop(Sf("a", 1.0), Sf("b", 1.0), R("r", 1.0)), ('1-junction "loop"', 'Sf "a" and Sf "b"', "Se")),
    (
        "E204",
        lambda: loop(Sf("a", 1.0), Element("I", "m", OWN_RATE, (Port("1", 1),))),
        ('I "m" has derivative causality', 'Sf "a"'),
    ),
    (
        "E205",
        lambda: loop(I("m", 1.0), Constraint("stop"), Se("friction", lambda n: n * n, signals=["stop.effort"])),
        ("not linear", 'constraint "stop"', "C or I"),
    ),
    (
        "E206",
        lambda: loop(C("c", capacitance=1.0), R("r", 1.0), j := J1("j"), j),
        ("a ring of junctions", '1 "loop", 1 "j"', "one bond in place of two"),
    ),
    ("E206", lambda: answering(lambda y: y), ("without a unique solution", 'block "b"', "a state")),
    (
        "E206",
        lambda: loop(Se("u", 0.5), R("r", effort=lambda f: 0.0 * f)),
        ('R "r" is known only as effort(flow), and its flow is asked for', 'R("r", flow=...)', "a small storage"),
    ),
    (
        "E208",
        lambda: loop(I("m", 1.0), Constraint("one"), Constraint("two")),
        ("redundant constraints", 'constraint "two"', "leave one of them out", "C"),
    ),
    ("E207", lambda: loop(C("spring", capacitance=1.0), Constraint("stop")), ('C "spring"', 'constraint "stop"', "Sf of zero")),
    ("E208", lambda: loop(Sf("drive", 1.0), I("m", 1.0), Constraint("stop")), ('constraint "stop"',)),
    (
        "E209",
        lambda: loop(Sf("drive", lambda t: sign(t - 1.0), signals=["time"]), I("m", 1.0)),
        ("derivative is needed of what jumps", 'I "m"', "an R between", "a ramp"),
    ),
    ("E211", lambda: falling("floor"), ('"floor" is no Constraint', "name a Constraint")),
    ("E211", lambda: falling("stop"), ('Constraint "stop" has no restitution', "restitution=0.8")),
    ("E212", lambda: shorted(), ('mode "on" of "lever"', 'Sw "short"', "an R (a resistance) in series")),
    ("E212", lambda: shorted_by(3), ("3 modes have no", '"on" of "a": Sw "switch a"')),
    ("E212", lambda: shorted_by(11), ("11 modes have no valid causality", "and 3 more")),
    ("E220", short_by_two, ('in the mode "on" of "a" and "on" of "b"', 'Sw "near"', "an R (a resistance)")),
    (
        "E213",
        lambda: loop(I("a", 1.0, initial=2.0), I("b", 1.0, initial=3.0)),
        ('"b" cannot start with p = 3', 'set by I "a"', "follows 2", "leave its start out"),
    ),
    (
        "E214",
        lambda: compile_model(shorted(C("c", capacitance=1.0, initial=3.0), initial="on")).simulate(1.0),
        ('Sw "short" cannot start closed with effort = 3 across it', "a start in the other mode"),
    ),
    (
        "E129",
        lambda: loop(Se("u", lambda t: 1.0 if t < 1.0 else 0.0, signals=["time"]), I("m", 1.0)),
        ('formula of Se "u" cannot be compiled', "branches", "screws.scalars"),
    ),
    (
        "E129",
        lambda: loop(Se("u", lambda t: math.sin(t), signals=["time"]), I("m", 1.0)),
        ('formula of Se "u" cannot be compiled', "screws.scalars"),
    ),
    (
        "E129",
        lambda: with_automaton(Transition("a", "b", lambda t: 1.0 if t > 1.0 else -1.0, ("time",))),
        ('formula of automaton "relay" cannot be compiled', "guard of its transition from a to b", "screws.scalars"),
    ),
    (
        "E129",
        lambda: with_automaton(Transition("a", "b", lambda t, q: t, ("time",))),
        ('automaton "relay": the guard of its transition from a to b fails', "'q'"),
    ),
    # use of the compiled model
    ("E100", lambda: bondgraph.simulate("graph", 1.0), ("takes a model, not str", "with a Graph")),
    ("E121", lambda: compiled().parameters({"c.q": 1.0}), ('"c.q" is no parameter', "c.capacitance")),
    ("E122", lambda: compiled().initial({"r.resistance": 1.0}), ("no state and no automaton", "c.q")),
    ("E123", lambda: compile_model(rc(), backend="fortran"), ('"fortran"', "llvm")),
    ("E124", lambda: compiled().parameters({"r.resistance": [1.0, 2.0]}), ('"r.resistance"', "(2,)")),
    (
        "E125",
        lambda: loop(I("m", 1.0), R("r", effort=lambda f: sqrt(f - 1.0))),
        ("not finite at the start", "effort of m.flow = 0"),
    ),
]


def _with(graph: Graph, part) -> Graph:
    graph.add(part)
    return graph


def _twice_on(part) -> Graph:
    return Graph("g").connect(C("c", capacitance=1.0), part).connect(C("d", capacitance=1.0), part)


def _turned() -> Graph:
    turn = MTF("turn", lambda: np.eye(2), signals=[], dimensions=(3, 3))
    return loop(I("m", 1.0), turn).connect(turn, R("r", 1.0))


def compiled():
    return compile_model(rc(), backend="numpy")


def provoke(make: Callable[[], object]) -> ModelError:
    """The error of making, freezing or compiling."""
    with pytest.raises(ModelError) as caught:
        made = make()
        if isinstance(made, Graph):
            compile_model(made, backend="numpy")
    return caught.value


@pytest.mark.parametrize(("code", "make", "words"), CASES, ids=[f"{code}-{i}" for i, (code, _, _) in enumerate(CASES)])
def test_message(code: str, make: Callable[[], object], words: tuple[str, ...]) -> None:
    error = provoke(make)
    of_code = [problem for problem in error.problems if problem.code == code]
    assert of_code, str(error)
    said = "\n".join(map(str, of_code))
    for word in words:
        assert word in said, said


RUN_TIME = {"E121", "E122", "E123", "E124"}
"""Codes of calls on a compiled model, which have no line in the graph."""


@pytest.mark.parametrize(("code", "make"), [(code, make) for code, make, _ in CASES if code not in RUN_TIME])
def test_message_has_the_line_and_a_cure(code: str, make: Callable[[], object]) -> None:
    problem = next(p for p in provoke(make).problems if p.code == code)
    assert problem.cures, str(problem)
    if not ((code in ("E101", "E106") and "export" in str(problem)) or problem.title.startswith('"x"')):
        assert re.search(r"created at test_errors\.py:\d+", str(problem)), str(problem)


LANGUAGE = ("model", "elements", "signals", "graph", "checks", "causality", "assembly", "passes", "tracing", "compile")


def test_every_code_of_the_language_is_in_the_table() -> None:
    root = Path(bondgraph.__file__).parent
    folders = [*root.glob("*.py"), *(p for name in LANGUAGE for p in (root / name).glob("*.py"))]
    written = {code for path in folders for code in re.findall(r'"(E1\d\d|E2[0-4]\d)"', path.read_text(encoding="utf-8"))}
    of_own_laws = {"E172", "E173"}  # test_own_laws
    assert written == {code for code, _, _ in CASES} | of_own_laws


def test_all_problems_at_once() -> None:
    graph = Graph("wrong")
    graph.connect(loop_ := J1("loop"), C("c", capacitance=float("nan"))).connect(loop_, R("r", -1.0))
    graph.connect(loop_, Se("u", lambda x: x, signals=["nothing"])).connect(loop_, C("c", capacitance=1.0))
    graph.connect(loop_, TF("t", 1.0)).connect(J0("lonely"), I("i", 0.0))
    graph.add(Block("b", [("x", lambda y: y, ["y"])]))
    graph.add_automaton(Automaton("a", ("on",), "off", ()))
    error = provoke(lambda: graph)
    assert {p.code for p in error.problems} == {"E101", "E104", "E106", "E113", "E117", "E118", "E119"}
    assert str(error).startswith(f'{len(error.problems)} problems in "wrong"')


def test_one_cause_is_told_once() -> None:
    """A wrong end leaves a junction short of bonds, a name given twice leaves a port open: only the cause is told."""
    error = provoke(lambda: Graph("g").connect(J1("v"), Graph("part")).connect(J1("w"), R("r", 1.0)))
    assert [p.code for p in error.problems].count("E111") == 1
    assert "E115" not in {p.code for p in error.problems}


def test_nothing_is_left_behind_by_an_error() -> None:
    """A graph that was refused can be mended and compiled."""
    graph = loop(C("c", capacitance=1.0, initial=2.0))
    with pytest.raises(ModelError):
        graph.freeze()
    graph.connect(graph.parts["loop"], R("r", 1.0))
    assert len(compile_model(graph, backend="numpy").system.states) == 1


def test_modulated_gyrator_names_are_its_own() -> None:
    """Parameters may have any name but that of a value the element has itself."""
    graph = loop(I("m", 1.0, initial=1.0))
    graph.connect(graph.parts["loop"], g := MGY("g", lambda a: a, parameters={"a": 2.0}, signals=[]))
    graph.connect(g, I("n", 1.0))
    assert compile_model(graph, backend="numpy").program.layout["g.a"].block == "p"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"f.limit": 0.8}, "stick_limit 0.4, limit 0.8"),
        ({"f.viscous": -0.1}, "viscous must be zero or more"),
        ({"stop.restitution": 1.1}, "restitution must be between 0 and 1"),
        ({"stop.alpha1": -1.0}, "alpha1 must be zero or more"),
    ],
)
def test_changed_numbers_are_checked_as_those_of_the_model(changes: dict[str, float], words: str) -> None:
    stop = Constraint("stop", initial=1.0, automaton="a", active="held", restitution=0.5)
    graph = loop(I("m", 1.0), stop).add_automaton(Automaton("a", ("free", "held"), "free", ()))
    graph.connect(other := J1("other"), I("n", 1.0)).connect(other, Friction("f", 0.4))
    model = compile_model(graph, backend="numpy")
    with pytest.raises(ModelError, match="E151") as caught:
        model.parameters(changes)
    assert words in str(caught.value)
    assert np.all(np.isfinite(model.parameters({"f.limit": 0.8, "f.stick_limit": 0.9})))


def test_a_value_by_mode_is_checked_when_it_is_changed() -> None:
    graph = with_automaton().replace("r", R("r", by_mode("relay", {"a": 1.0, "b": 2.0})))
    with pytest.raises(ModelError, match=r"E119.*resistance in b must be positive"):
        compile_model(graph, backend="numpy").parameters({"r.resistance in b": -1.0})


def test_one_name_stands_for_a_list_of_one() -> None:
    """Text is not split into letters, wherever names are taken."""
    hit = Transition("free", "free", lambda h: -h, "stop.h", (("m.p", lambda p: -p, "m.p"),), impact="stop")
    stop = Constraint("stop", initial=1.0, automaton="contact", active="held", restitution=0.5)
    graph = loop(I("m", 1.0), stop, Se("wind", lambda t: t, signals="time"))
    graph.add_automaton(Automaton("contact", ("free", "held"), "free", hit))
    graph.add(Block("travel", [("rate", lambda v: v, "v")], inputs={"v": "m.flow"}, states={"x": 2}, rates={"x": "rate"}))
    graph.add(signals.logic("still", "not", "travel.x"))
    model = compile_model(graph, backend="numpy").model
    assert model.elements["wind"].signals == ("time",)
    assert model.elements["stop"].law.active == ("held",)
    assert model.automata["contact"].transitions[0].signals == ("stop.h",)
    assert model.automata["contact"].transitions[0].impact == ("stop",)
    assert model.elements["travel"].law.states()["x"].initial == 2.0
