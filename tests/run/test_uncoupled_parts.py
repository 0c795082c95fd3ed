"""A part without couplings does not change the other parts, even if its states, modes and transitions come first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bondgraph import J0, J1, Automaton, Block, C, Diode, Friction, Graph, I, R, Se, StateSpec, Transition
from screws.scalars import equal, sin, where


def idle(graph: Graph) -> None:
    still, slow = J1("a still"), J1("a slow", domain="translation")
    graph.connect(Se("a push", 0.5), still).connect(still, I("a block", 3.0)).connect(still, Friction("a rub", 4.0))
    graph.connect(slow, I("a mass", 7.0, initial=0.7)).connect(slow, R("a drag", 0.01))
    spare = Transition("on", "spare", lambda p: p - 100.0, ("a mass.p",), kind="jump")
    back = Transition(
        "on", "on", lambda p: p - 50.0, ("a mass.p",), (("a mass.p", lambda p: -p, ("a mass.p",)),), kind="an impact"
    )
    graph.add_automaton(Automaton("a relay", ("off", "on", "spare"), "on", (spare, back)))


def bouncing(graph: Graph) -> None:
    turned = (("ball.p", lambda p: -0.6 * p, ("ball.p",)),)
    kept = (("ball.p", lambda p: 0.0 * p, ("ball.p",)),)
    impact = Transition("flight", "flight", lambda x: -x, ("height.x",), turned, kind="impact", accumulates="contact")
    rest = Transition("flight", "contact", lambda: -1.0, (), kept)
    v = J1("v")
    weight = Se("weight", lambda mode: where(equal(mode, 0.0), -9.81, 0.0), signals=["floor.mode"])
    graph.connect(weight, v).connect(v, I("ball", 1.0))
    graph.add(Block("height", [], inputs={"v": "ball.flow"}, states={"x": StateSpec(1.0)}, rates={"x": "v"}))
    graph.add_automaton(Automaton("floor", ("flight", "contact"), "flight", (impact, rest)))


def rubbing(graph: Graph) -> None:
    speeds = [J1(f"v{k}") for k in range(3)]
    for k, v in enumerate(speeds):
        graph.connect(v, I(f"m{k}", 1.0 + 0.5 * k))
    graph.connect(speeds[0], Friction("ground", 1.0))
    for k in range(2):
        between, slip = J0(f"d{k}"), J1(f"s{k}")
        graph.connect(speeds[k], between).connect(between, speeds[k + 1])
        graph.connect(between, slip).connect(slip, Friction(f"rub{k}", 1.6 - 0.5 * k))
    graph.connect(Se("drive", lambda t: 3.0 * sin(2.0 * t), signals=["time"]), speeds[2])


def rectifying(graph: Graph) -> None:
    mains, a, b, plus = J1("mains"), J0("node a"), J0("node b"), J0("plus")
    graph.connect(Se("u", lambda t: 20.0 * sin(3.0 * t), signals=["time"]), mains)
    graph.connect(b, mains).connect(mains, a).connect(mains, I("winding", 0.05)).connect(mains, R("copper", 0.2))
    for name, tail, head in (("ap", a, plus), ("bp", b, plus), ("ga", None, a), ("gb", None, b)):
        arm = J1(f"arm {name}")
        graph.connect(arm, Diode(f"diode {name}")).connect(arm, head)
        if tail is not None:
            graph.connect(tail, arm)
    graph.connect(plus, C("store", capacitance=0.3)).connect(plus, R("load", 5.0))


@pytest.mark.parametrize(
    ("build", "end", "events", "method"),
    [
        (bouncing, 4.0, 20, "dop853"),
        (bouncing, 4.0, 20, "rodas5p"),
        (rubbing, 6.0, 14, "dop853"),
        (rubbing, 6.0, 14, "rodas5p"),
        (rectifying, 6.0, 23, "dop853"),
        (rectifying, 6.0, 23, "rodas5p"),
    ],
)
def test_an_uncoupled_part_changes_nothing(build: Callable[[Graph], None], end: float, events: int, method: str) -> None:
    alone, beside = Graph("alone"), Graph("beside")
    build(alone)
    idle(beside)
    build(beside)
    samples = np.linspace(0.0, end, 61)
    one, other = (graph.simulate(end, samples=samples, method=method, rtol=1e-9, progress=False) for graph in (alone, beside))
    assert one.ok and other.ok, (one.failure, other.failure)
    assert min(len(one.events), len(other.events)) >= events
    assert not [event for event in other.events if event.name.startswith("a ")]
    first, others = ([(event.name, event.kind) for event in run.events[:events]] for run in (one, other))
    assert first == others
    np.testing.assert_allclose(other.events.times[:events], one.events.times[:events], rtol=0.0, atol=1e-6)
    for state in alone.compile(progress=False).states:
        size = np.abs(one[state]).max()
        np.testing.assert_allclose(other[state], one[state], rtol=0.0, atol=1e-6 * max(size, 1.0), err_msg=state)
