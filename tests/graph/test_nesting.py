"""Nested graphs with ports, signals and reused parts give the results of the flat graph."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bondgraph import (
    J0,
    J1,
    MTF,
    Automaton,
    Block,
    C,
    Constraint,
    Diode,
    Element,
    Graph,
    I,
    ModelError,
    R,
    Se,
    Transition,
    compile_model,
    signals,
)
from screws.scalars import sin
from tests.inner.graph import subgraphs


def section(name: str, mass: float, stiffness: float, damping: float) -> Graph:
    part = Graph(name)
    entry, velocity, stretch = J0("entry"), J1("velocity"), J1("stretch rate")
    part.connect(entry, velocity).connect(velocity, I("mass", mass, initial=0.1 * mass))
    part.connect(entry, stretch).connect(stretch, C("spring", stiffness=stiffness, initial=0.2))
    part.connect(stretch, R("damper", damping))
    return part.expose("in", entry).expose("out", velocity).export("stretch", "spring.q")


def flat(sections: list[tuple[str, float, float, float]]) -> Graph:
    graph, before = Graph("flat"), None
    for name, mass, stiffness, damping in sections:
        entry, velocity, stretch = J0(f"{name} entry"), J1(f"{name} velocity"), J1(f"{name} stretch rate")
        if before is None:
            before = J1("grip")
            graph.connect(Se("pull", 3.0), before).connect(before, I("hand", 0.5))
        graph.connect(before, entry)
        graph.connect(entry, velocity).connect(velocity, I(f"{name} mass", mass, initial=0.1 * mass))
        graph.connect(entry, stretch).connect(stretch, C(f"{name} spring", stiffness=stiffness, initial=0.2))
        graph.connect(stretch, R(f"{name} damper", damping))
        before = velocity
    return graph


SECTIONS = [("a", 1.0, 10.0, 0.1), ("b", 2.0, 20.0, 0.2), ("c", 3.0, 30.0, 0.3)]


def chain() -> Graph:
    train = Graph("train")
    a, b, c = (section(*numbers) for numbers in SECTIONS)
    train.connect(a.port("out"), b.port("in"))
    train.expose("front", a.port("in")).expose("back", b.port("out")).export("first stretch", "a.stretch")
    graph, grip = Graph("nested"), J1("grip")
    graph.connect(Se("pull", 3.0), grip).connect(grip, I("hand", 0.5))
    graph.connect(grip, train.port("front")).connect(train.port("back"), c.port("in"))
    return graph


def test_nested_equals_flat() -> None:
    inner, outer = compile_model(chain(), backend="numpy"), compile_model(flat(SECTIONS), backend="numpy")
    numbers = []
    for model in (inner, outer):
        x, m = model.initial()
        dx = model.program.rates(0.0, x, model.parameters(), m)
        names = [
            s.name.replace("train.", "").replace(".", " ", s.name.replace("train.", "").count(".") - 1)
            for s in model.system.states
        ]
        numbers.append(dict(zip(names, dx, strict=True)))
    assert numbers[0].keys() == numbers[1].keys()
    for name, rate in numbers[0].items():
        assert rate == pytest.approx(numbers[1][name], abs=1e-14), name


def test_names_are_paths_in_the_users_words() -> None:
    model = chain().freeze()
    assert "train.a.spring" in model.elements
    assert model.elements["train.a.spring"].name == "train.a.spring"
    assert model.groups == ("train", "train.a", "train.b", "c")
    assert model.aliases["train.a.stretch"] == "train.a.spring.q"
    assert model.aliases["train.first stretch"] == "train.a.spring.q"  # export of an exported signal
    compiled = compile_model(model, backend="numpy")
    assert compiled.program.layout["train.first stretch"].block == "x"
    assert compiled.parameters({"train.b.spring.stiffness": 99.0}).sum() != compiled.parameters().sum()
    assert compiled.initial({"train.first stretch": 0.7})[0].max() == 0.7


def test_the_nested_graphs_of_a_graph() -> None:
    graph = chain()
    assert list(subgraphs(graph)) == ["train", "c"]
    assert list(subgraphs(subgraphs(graph)["train"])) == ["a", "b"]


def test_one_part_in_two_graphs_is_two_parts() -> None:
    shared = Graph("part").declare_input("ratio")
    lever = MTF("lever", lambda n: n, signals=["ratio"])
    shared.connect(lever.port("2"), C("spring", stiffness=1.0, initial=0.5))
    shared.expose("p", lever.port("1"))
    whole = Graph("whole")
    for name, ratio in (("left", 2.0), ("right", 5.0)):
        half, v = Graph(name), J1("v")
        half.connect(v, I("mass", ratio, initial=1.0)).connect(v, shared.port("p"))
        half.wire("mass.inertia", shared, "ratio")
        whole.add(half)
    compiled = compile_model(whole, backend="numpy")
    x, m = compiled.initial()
    dx = dict(
        zip([s.name for s in compiled.system.states], compiled.program.rates(0.0, x, compiled.parameters(), m), strict=True)
    )
    assert dx["left.part.spring.q"] == pytest.approx(2.0 * 1.0 / 2.0)
    assert dx["left.mass.p"] == pytest.approx(-2.0 * 0.5)
    assert dx["right.mass.p"] == pytest.approx(-5.0 * 0.5)


def test_inputs_pass_through_two_levels() -> None:
    inner = Graph("inner").declare_input("u")
    inner.connect(Se("push", lambda u: 2 * u, signals=["u"]), v := J1("v")).connect(v, R("drag", 4.0)).expose("v", v)
    middle = Graph("middle").declare_input("command")
    middle.wire("command", inner, "u")
    middle.expose("v", inner.port("v"))
    outer = Graph("outer")
    outer.connect(middle.port("v"), I("mass", 2.0, initial=3.0))
    outer.wire("mass.flow", middle, "command")
    compiled = compile_model(outer, backend="numpy")
    x, m = compiled.initial()
    np.testing.assert_allclose(compiled.program.rates(0.0, x, compiled.parameters(), m), [2 * 1.5 - 4.0 * 1.5])


def test_the_only_port_needs_no_name() -> None:
    tank = Graph("tank")
    tank.connect(node := J0("node"), C("volume", capacitance=2.0, initial=3.0)).expose("outlet", node)
    (rate,) = _rates(Graph("g").connect(tank, R("pipe", 4.0)))
    assert rate == pytest.approx(-1.5 / 4.0)


def _rates(graph: Graph) -> np.ndarray:
    compiled = compile_model(graph, backend="numpy")
    x, m = compiled.initial()
    return compiled.program.rates(0.0, x, compiled.parameters(), m)


def test_automata_and_starts_inside_a_part_use_its_names() -> None:
    part = Graph("part")
    part.connect(v := J1("v"), C("spring", stiffness=2.0)).connect(v, I("mass", 1.0, initial=0.5)).expose("v", v)
    part.add_automaton(Automaton("gate", ("on", "off"), "on", (Transition("on", "off", lambda q: q - 1.0, ("spring.q",)),)))
    part.start(lambda p: (3 * p, "off"), ["mass.p"], ["spring.q", "gate"])
    compiled = compile_model(Graph("whole").connect(part, R("drag", 0.1)), backend="numpy")
    x, m = compiled.initial()
    assert sorted(x) == [0.5, 1.5]
    assert m.tolist() == [1.0]
    assert compiled.initial({"part.gate": "on"})[1].tolist() == [0.0]
    assert compiled.program.guards(0.0, x, compiled.parameters(), np.zeros(1)).tolist() == [0.5]


def test_replacing_a_part_by_another_with_the_same_ports() -> None:
    def whole(part: Graph) -> Graph:
        return Graph("whole").connect(part.port("in"), I("hand", 2.0, initial=1.0))

    soft, stiff = (compile_model(whole(section("part", 1.0, k, 0.1)), backend="numpy") for k in (10.0, 20.0))
    x, m = soft.initial()
    changed = soft.program.rates(0.0, x, soft.parameters({"part.spring.stiffness": 20.0}), m)
    np.testing.assert_allclose(changed, stiff.program.rates(0.0, x, stiff.parameters(), m))


def test_a_graph_that_contains_itself_is_refused() -> None:
    a, b = Graph("a"), Graph("b")
    a.add(Graph("c").add(b))
    with pytest.raises(ModelError, match=r'E114 graph "b" would contain itself, through "a"'):
        b.add(a)
    assert not b.parts


@pytest.mark.parametrize(
    "nest",
    [
        lambda part: part.add(part),
        lambda part: part.connect(part.port("end"), I("mass", 1.0)),
        lambda part: part.expose("self", part),
        lambda part: part.expose("again", part.port("end")),
        lambda part: part.between(None, J0("node"), part),
        lambda part: part.series(part, R("r", 1.0)),
        lambda part: part.parallel(part, R("r", 1.0)),
        lambda part: part.add(Graph("inner")).replace("inner", part),
    ],
)
def test_no_call_puts_a_graph_into_itself(nest: Callable[[Graph], object]) -> None:
    part, joint = Graph("part"), J1("joint")
    part.connect(joint, C("spring", capacitance=1.0)).connect(joint, R("damper", 1.0)).expose("end", joint)
    with pytest.raises(ModelError, match=r'E114 (graph )?"part" (would contain itself|cannot connect its own port)'):
        nest(part)


# --- parts replaced by others ----------------------------------------------------------------------------------------


def test_a_resistor_is_replaced_by_a_diode() -> None:
    def circuit() -> Graph:
        graph, loop = Graph("rectifier"), J1("loop", domain="electrical")
        graph.connect(Se("u", lambda t: 3.0 * sin(t), signals=["time"]), loop).connect(loop, R("wire", 0.1))
        return graph.connect(loop, R("part", 0.1)).connect(loop, C("c", capacitance=0.1))

    plain = compile_model(circuit()).simulate(6.0)["c.effort"]
    assert np.min(plain) < -2.5
    held = compile_model(circuit().replace("part", Diode("part"))).simulate(6.0)["c.effort"]
    assert held[-1] == pytest.approx(3.0, abs=5e-3)
    assert np.min(held) > -1e-9


def filter_of(kind: str) -> Graph:
    part, inside = Graph("load"), J1("inside")
    storage = C("capacitor", capacitance=0.5) if kind == "RC" else I("coil", 0.5)
    part.connect(inside, R("resistor", effort=lambda f, k: 2.0 * k * f, signals=["gain"])).connect(inside, storage)
    return part.declare_input("gain").expose("port", inside).export("current", "inside.flow")


def test_a_nested_rc_is_replaced_by_an_rl_and_keeps_bonds_and_wires() -> None:
    def circuit(kind: str) -> Graph:
        graph, node, load = Graph("circuit"), J0("node"), filter_of(kind)
        graph.connect(Se("u", 6.0), node).connect(node, load.port("port")).connect(node, R("leak", 3.0))
        graph.add(Block("three", [("y", lambda: 3.0, [])]))
        graph.wire("three.y", load, "gain")
        return graph.add(signals.gain("shown", "load.current", 1.0))

    changed = compile_model(circuit("RC").replace("load", filter_of("RL"))).simulate(1.0, rtol=1e-9)
    made = compile_model(circuit("RL")).simulate(1.0, rtol=1e-9)
    assert changed["shown.y"] == pytest.approx(made["shown.y"], rel=1e-12)
    assert changed["shown.y"][-1] == pytest.approx(1.0 - np.exp(-6.0 / 0.5), rel=1e-6)


def test_a_part_inside_a_nested_graph_is_replaced_by_its_path() -> None:
    graph, ends = Graph("one"), J1("wall")
    graph.connect(Se("pull", 3.0), ends).connect(ends, (part := section("a", 1.0, 10.0, 0.1)).port("in"))
    assert part.parts["damper"].parameters["resistance"].value == 0.1
    graph.replace("a.damper", R("damper", conductance=4.0))
    assert part.parts["damper"].parameters["conductance"].value == 4.0


def test_replacing_names_the_differences() -> None:
    graph, load = Graph("circuit"), filter_of("RC")
    graph.connect(Se("u", 6.0), load.port("port")).add(Block("one", [("y", lambda: 1.0, [])]))
    graph.wire("one.y", load, "gain")
    other = Graph("load")
    other.expose("port", J1("inside")).expose("second", J0("node"))
    with pytest.raises(ModelError) as refused:
        graph.replace("load", other)
    text = str(refused.value)
    assert "3 problems" in text
    for words in ("ports of the new part: port, second", "inputs of the old part: gain", "missing: current"):
        assert words in text


def stopped(**held: object) -> Graph:
    graph, v = Graph("ball"), J1("v")
    graph.connect(Se("weight", -9.81), v).connect(v, I("mass", 1.0)).connect(v, C("height", stiffness=1e-9, initial=1.0))
    graph.connect(v, Constraint("stop", automaton="floor", active=["held"], **held))
    hit = Transition("free", "held", lambda h: -h, "height.q")
    return graph.add_automaton(Automaton("floor", ("free", "held"), "free", hit))


@pytest.mark.parametrize("held", [{}, {"position": lambda h: h, "signals": "height.q"}, {"holds": "velocity"}])
def test_an_automaton_may_be_nested_with_its_elements(held: dict) -> None:
    around = Graph("around")
    around.add(stopped(**held))
    one, other = (compile_model(graph).simulate(1.0) for graph in (stopped(**held), around))
    assert [event.time for event in one.events] == pytest.approx([np.sqrt(2.0 / 9.81)], rel=1e-6)
    assert [event.time for event in other.events] == [event.time for event in one.events]
    assert np.array_equal(other["ball.mass.p"], one["mass.p"])
    assert 'of "ball.floor"' in compile_model(around, backend="numpy").report()


def reader(name: str, signal: str) -> Graph:
    part, v = Graph(name), J1("v")
    part.connect(Se("push", lambda a: 2.0 * a, signals=signal), v).connect(v, I("mass", 1.0))
    return part


def level(value: float) -> Element:
    return Block("level", [("y", lambda a: a, ["a"])], parameters={"a": value})


def test_a_signal_is_that_of_the_nearest_graph_around() -> None:
    inner = Graph("inner")
    inner.add(level(3.0), reader("part", "level.y"))
    outer = Graph("outer")
    outer.add(level(5.0), inner, reader("other", "level.y"))
    alone, inside = (compile_model(inner, backend="numpy").simulate(1.0), compile_model(outer, backend="numpy").simulate(1.0))
    ends = [alone["part.mass.p"], inside["inner.part.mass.p"], inside["other.mass.p"]]
    assert [p[-1] for p in ends] == pytest.approx([6.0, 6.0, 10.0])


def test_an_outer_input_feeds_deeper_graphs() -> None:
    inner = Graph("inner")
    inner.declare_input("u")
    inner.add(reader("part", "u"))
    outer = Graph("outer")
    outer.add(level(5.0))
    outer.wire("level.y", inner, "u")
    assert compile_model(outer, backend="numpy").simulate(1.0)["inner.part.mass.p"][-1] == pytest.approx(10.0)


def test_a_sensing_port_draws_nothing():
    """An amplifier of gain 10 does not load the voltage divider of 1 to 3 that it reads."""
    graph, part, node, out = Graph("g"), Graph("amplifier"), J0("node"), J0("out")
    part.expose("out", part.parallel(Se("output", lambda v: 10.0 * v, signals=[part.sense("in", "electrical")])))
    graph.between(None, node, Se("u", 8.0), R("upper", 3.0)).between(node, None, R("lower", 1.0)).connect(node, part.port("in"))
    run = compile_model(graph.connect(part.port("out"), out).connect(out, R("load", 4.0)), progress=False).simulate(1.0)
    assert run["load.effort"][-1] == pytest.approx(20.0) and run["u.flow"][-1] == pytest.approx(2.0)
