"""The smallest graph for each error."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bondgraph import (
    J0,
    J1,
    MTF,
    TF,
    X0,
    Automaton,
    Block,
    C,
    Constraint,
    Element,
    Graph,
    I,
    ModelError,
    Op,
    R,
    RunEndedWarning,
    Se,
    StateSpec,
    Switch,
    Transition,
    compile_model,
)
from tests.inner.model import Storage


def two_to_one(two_port: Element) -> Graph:
    """A vector of two masses at port 1."""
    two, end = J1("two", dimension=2), J1("end")
    graph = Graph("model").connect(two, I("masses", [1.0, 2.0])).connect(two, two_port).connect(two_port, end)
    return graph.connect(end, C("c", capacitance=1.0))


def unconnected() -> Graph:
    """A part with three ports inside a part that exposes one of them; two are connected."""
    motor, unit, shaft = Graph("motor"), Graph("unit"), J1("shaft")
    for name in "abc":
        winding = TF(f"winding {name}", 2.0)
        motor.connect(winding.port("2"), shaft).expose(name, winding.port("1"))
    unit.connect(Se("u", 1.0), motor.port("b"))
    return Graph("model").connect(Se("u", 1.0), unit.expose("a", motor.port("a")).port("a"))


def loop(*parts, **more) -> Graph:
    graph, junction = Graph("model"), J1("loop")
    for part in parts:
        graph.connect(junction, part)
    return graph


OWN_RATE = Storage("flow", "p", StateSpec(0.0), Op("f", lambda p: p), Op("E", lambda p: p * p / 2), Op("p'", lambda p, e: e - p))


def rod(x: float, **more) -> Graph:
    graph, vx, vy = Graph("pendulum"), J1("vx", domain="translation"), J1("vy", domain="translation")
    graph.connect(vx, I("mx", mass=1.0)).connect(vy, I("my", mass=1.0)).connect(Se("weight", -9.81), vy)
    graph.connect(vx, C("px", stiffness=0.0, initial=x)).connect(vy, C("py", stiffness=0.0))
    held = Constraint("rod", position=lambda x, y: x * x + y * y - 1.0, coordinates=["px.q", "py.q"], **more)
    return graph.connect(vx, held.port("1")).connect(vy, held.port("2"))


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
    graph, node = Graph("model"), J0("node")
    graph.connect(node, Se("u", 1.0)).connect(node, R("r", 1.0))
    for name in "abcdefghijk"[:count]:
        graph.connect(node, Switch(f"switch {name}", automaton=name, closed="on"))
        graph.add_automaton(Automaton(name, ("off", "on"), "off", ()))
    return graph


def short_by_two() -> None:
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
    return block([("x", formula, ["y"]), ("y", lambda x: x, ["x"])])


def switched(active, automaton: str = "relay") -> Graph:
    graph = Graph("model").add_automaton(Automaton("relay", ("open", "closed"), "open", ()))
    switch = X0("switch", automaton=automaton, active=active)
    return graph.connect(C("c", capacitance=1.0), switch).connect(switch, R("r", 1.0))


Case = tuple[str, Callable[[], object], tuple[str, ...]]


def rod_turned_round():
    graph, v = Graph("pendulum"), J1("v", dimension=2)
    graph.connect(v, I("m", [1.0, 1.0])).connect(v, C("place", capacitance=1.0, dimension=2, initial=[1.0, 0.0]))
    along = MTF("J", lambda q: np.array([[q[0], -q[1]]]), signals=["place.q"], dimensions=(2, 1))
    rod = Constraint("rod", position=lambda q: (q @ q - 1.0) / 2.0, signals=["place.q"])
    return compile_model(graph.connect(v, along).connect(along, rod))


def with_part(graph: Graph, part) -> Graph:
    graph.add(part)
    return graph


def twice_on(part) -> Graph:
    return Graph("g").connect(C("c", capacitance=1.0), part).connect(C("d", capacitance=1.0), part)


def turned() -> Graph:
    turn = MTF("turn", lambda: np.eye(2), signals=[], dimensions=(3, 3))
    return loop(I("m", 1.0), turn).connect(turn, R("r", 1.0))


def compiled():
    return compile_model(rc(), backend="numpy")


def provoke(make: Callable[[], object]) -> ModelError:
    with pytest.raises(ModelError) as caught:
        made = make()
        if isinstance(made, Graph):
            compile_model(made, backend="numpy")
    return caught.value
