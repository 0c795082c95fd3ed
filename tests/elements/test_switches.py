"""Switched junctions and automata run in all modes, with guards, resets and chains of transitions."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import (
    J0,
    J1,
    X0,
    X1,
    Automaton,
    Block,
    C,
    Compiled,
    Constraint,
    Diode,
    Element,
    Friction,
    Graph,
    I,
    R,
    RunEndedWarning,
    Se,
    Sf,
    StateSpec,
    Transition,
    compile_model,
)
from screws.scalars import array


def never(name: str = "s", states=("off", "on"), initial: str = "off") -> Automaton:
    return Automaton(name, tuple(states), initial, ())


def values(compiled: Compiled, mode: float) -> dict[str, np.ndarray]:
    env = compiled.evaluate(m=np.array([mode]))
    return {alias: env[name] for alias, name in compiled.system.aliases.items()} | env


def node_with_switch(dimension: int = 1) -> Graph:
    start = 3.0 if dimension == 1 else np.arange(1.0, dimension + 1)
    graph = Graph("switched node").add_automaton(never())
    switch = X0("switch", automaton="s", active=["on"])
    graph.connect(C("c", capacitance=0.5, initial=start), switch)
    graph.connect(switch, I("l", 2.0, initial=start)).connect(switch, R("r", 4.0))
    return graph


@pytest.mark.parametrize("dimension", [1, 3])
def test_a_switched_0_junction_gives_zero_to_all_its_bonds_when_off(dimension: int) -> None:
    compiled = compile_model(node_with_switch(dimension), backend="numpy")
    start = np.array([3.0]) if dimension == 1 else np.arange(1.0, dimension + 1)
    on, off = values(compiled, 1.0), values(compiled, 0.0)
    np.testing.assert_allclose(on["switch.effort"], start / 0.5 if dimension > 1 else 6.0)
    np.testing.assert_allclose(np.atleast_1d(on["l.p'"]), start / 0.5)
    np.testing.assert_allclose(np.atleast_1d(on["c -> switch:flow"]), start / 2 + start / 2)
    for name in ("switch.effort", "l.p'", "r.effort", "r.flow", "c -> switch:flow", "c.q'", "c.power", "l.power", "r.power"):
        assert not np.any(off[name]), name
    assert np.all(off["c.effort"]) and np.all(off["l.flow"])  # the storage elements keep their contents


def test_a_switched_1_junction_gives_zero_to_all_its_bonds_when_off() -> None:
    graph = Graph("switched loop").add_automaton(never())
    switch = X1("switch", automaton="s", active=["on"])
    graph.connect(Se("u", 7.0), switch).connect(switch, I("l", 2.0, initial=3.0))
    graph.connect(switch, C("c", capacitance=0.5, initial=1.0)).connect(switch, R("r", 4.0))
    compiled = compile_model(graph, backend="numpy")
    on, off = values(compiled, 1.0), values(compiled, 0.0)
    assert on["switch.flow"] == pytest.approx(1.5)
    assert on["l.p'"] == pytest.approx(7.0 - 2.0 - 6.0)
    assert on["c.q'"] == pytest.approx(1.5)
    for name in ("switch.flow", "l.p'", "c.q'", "r.effort", "u.power", "r.power", "c.power", "l.power"):
        assert off[name] == 0.0, name
    assert off["l.flow"] == pytest.approx(1.5)


def test_several_active_states() -> None:
    graph = Graph("gears").add_automaton(never(states=("park", "first", "second"), initial="park"))
    switch = X0("switch", automaton="s", active=["first", "second"])
    graph.connect(C("c", capacitance=1.0, initial=2.0), switch).connect(switch, R("r", 1.0)).connect(switch, R("r2", 1.0))
    compiled = compile_model(graph, backend="numpy")
    assert [values(compiled, m)["c.q'"] for m in (0.0, 1.0, 2.0)] == [0.0, -4.0, -4.0]


def test_both_modes_with_every_arrow() -> None:
    for flips in np.ndindex(2, 2, 2):
        for kind, parts in (
            (X0, (C("s", capacitance=1.0, initial=2.0), I("a", 1.0, initial=3.0), R("b", 5.0))),
            (X1, (I("s", 1.0, initial=2.0), C("a", capacitance=1.0, initial=3.0), R("b", 5.0))),
        ):
            graph, switch = Graph("arrows").add_automaton(never()), kind("switch", automaton="s", active=["on"])
            for flip, part in zip(flips, parts, strict=True):
                graph.connect(switch, part) if flip else graph.connect(part, switch)
            compiled = compile_model(graph, backend="numpy")
            for mode in (0.0, 1.0):
                env = values(compiled, mode)
                total = sum(env[f"{part.name}.power"] for part in parts)
                assert total == pytest.approx(0.0, abs=1e-14)
                assert bool(env["b.power"]) == bool(mode)


def test_a_switched_port_that_nothing_else_meets_carries_nothing() -> None:
    inner, port = Graph("inner"), X0("port", automaton="gate", active="on")
    inner.add_automaton(Automaton("gate", ("on", "off"), "on", ())).expose("port", port)
    outer, loop = Graph("outer"), J1("loop")
    outer.connect(loop, inner.port("port")).connect(loop, R("r", 1.0)).connect(Se("u", 1.0), loop)
    assert compile_model(outer).simulate(1.0, progress=False)["r.flow"][-1] == 0.0


def bouncing() -> Graph:
    graph = Graph("ball")
    fall = J1("v")
    graph.connect(Se("weight", -10.0), fall).connect(fall, I("ball", 1.0))
    graph.add(
        Block(
            "at",
            [("h'", lambda v: v, ["v"]), ("n'", lambda: 0.0, [])],
            inputs={"v": "v.flow"},
            states={"h": StateSpec(1.0), "n": StateSpec(0.0)},
            rates={"h": "h'", "n": "n'"},
        )
    )
    bounce = Transition(
        "flying",
        "flying",
        lambda h: -h,
        ("at.h",),
        (("ball.p", lambda p: -0.5 * p, ("ball.p",)), ("at.n", lambda n: n + 1, ("at.n",))),
        kind="bounce",
    )
    enough = Transition("flying", "down", lambda n: n - 2.5, ("at.n",), (("ball.p", lambda: 0.0, ()),), kind="enough")
    ends = Transition("down", "down", lambda n: n - 3.5, ("at.n",), error="it bounced although it was down")
    return graph.add_automaton(Automaton("floor", ("flying", "down"), "flying", (bounce, enough, ends)))


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_guards_are_masked_and_resets_set_their_states_only(backend: str) -> None:
    compiled = compile_model(bouncing(), backend=backend)
    program, p = compiled.program, compiled.parameters()
    x, m = compiled.initial({"at.h": 0.25, "at.n": 2.0, "ball.p": -3.0})
    assert program.guards(0.0, x, p, m).tolist() == [-0.25, -0.5, -1.0]
    assert program.guards(0.0, x, p, np.ones(1)).tolist() == [-1.0, -1.0, -1.5]
    after = program.resets[0](0.0, x, p, m)
    named = {s.name: after[program.layout[s.name].start] for s in compiled.system.states}
    assert named == {"ball.p": 1.5, "at.h": 0.25, "at.n": 3.0}
    assert program.resets[2] is None
    assert [t.kind for t in program.transitions] == ["bounce", "enough", "floor: down to down"]
    assert [(t.source, t.target) for t in program.transitions] == [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0)]
    assert program.transitions[2].error is not None and program.transitions[0].error is None


def test_one_transition_sets_off_the_next() -> None:
    compiled = compile_model(bouncing(), backend="numpy")
    program, p = compiled.program, compiled.parameters()
    x, m = compiled.initial({"at.h": -1e-9, "at.n": 2.0, "ball.p": -3.0})
    fired = []
    for _ in range(5):
        active = np.flatnonzero(np.asarray(program.guards(0.0, x, p, m)) > 0)
        active = [i for i in active if i not in fired]
        if not active:
            break
        index = int(active[0])
        fired.append(index)
        if program.resets[index] is not None:
            x = program.resets[index](0.0, x, p, m).copy()
        m[program.transitions[index].slot] = program.transitions[index].target
    assert fired == [0, 1]
    assert m.tolist() == [1.0]


def test_a_reset_of_a_vector_state() -> None:
    graph = Graph("turn")
    graph.connect(J1("v"), I("m", 1.0, initial=[1.0, 2.0])).connect(graph.parts["v"], R("r", 1.0))
    turned = ("m.p", lambda p: array([-p[1], p[0]]), ("m.p",))
    graph.add_automaton(Automaton("mirror", ("a",), "a", (Transition("a", "a", lambda p: -p[0], ("m.p",), (turned,)),)))
    compiled = compile_model(graph, backend="numpy")
    x, m = compiled.initial()
    assert compiled.program.resets[0](0.0, x, compiled.parameters(), m).tolist() == [-2.0, 1.0]


def test_two_automata_have_two_slots() -> None:
    graph = node_with_switch().add_automaton(never("other", ("x", "y", "z"), "z"))
    compiled = compile_model(graph, backend="numpy")
    assert compiled.initial()[1].tolist() == [0.0, 2.0]
    assert compiled.initial({"s": "on", "other": "y"})[1].tolist() == [1.0, 1.0]


def test_a_switched_circuit_runs() -> None:
    graph = Graph("charger")
    switch = X1("switch", automaton="relay", active=["closed"])
    graph.connect(Se("u", 3.0), switch).connect(switch, R("r", 2.0)).connect(switch, C("c", capacitance=0.5))
    full = Transition("closed", "open", lambda e: e - 2.0, ("c.effort",), kind="full")
    graph.add_automaton(Automaton("relay", ("closed", "open"), "closed", (full,)))
    result = compile_model(graph).simulate(4.0, progress=False)
    assert result.ok
    (event,) = result.events
    assert event.time == pytest.approx(np.log(3.0), abs=1e-8)  # 3 (1 - exp(-t / RC)) = 2, RC = 1 s
    assert event.kind == "full"
    assert result["c.effort"][-1] == pytest.approx(2.0, abs=1e-8)
    assert result["relay.mode"][[0, -1]].tolist() == [0.0, 1.0]
    assert not np.any(result["switch.flow"][result.t > 1.2])


def test_a_clutch_in_the_flow_direction_keeps_its_energy_account() -> None:
    graph = Graph("coupling").add_automaton(
        Automaton("s", ("on", "off"), "on", (Transition("on", "off", lambda t: t - 0.5, ("time",)),))
    )
    switch = X0("switch", automaton="s", active=["on"])
    graph.connect(Sf("drive", 1.0), switch).connect(switch, C("spring", stiffness=100.0)).connect(switch, R("slip", 10.0))
    graph.connect(switch, v := J1("v")).connect(v, I("wheel", 2.0)).connect(v, R("bearing", 0.3))
    result = compile_model(graph).simulate(2.0, progress=False)
    assert result.ok
    assert len(result.events) == 1
    assert abs(result.ledger.residual).max() < 1e-7


def test_the_terminal_transition_ends_the_run() -> None:
    graph = Graph("limit").add_automaton(
        Automaton("limit", ("ok",), "ok", (Transition("ok", "ok", lambda q: q - 1.0, ("c.q",), error="the spring breaks"),))
    )
    graph.connect(Sf("drive", 2.0), C("c", capacitance=1.0))
    result = compile_model(graph).simulate(2.0, progress=False)
    assert not result.ok and "the spring breaks" in str(result.failure)
    assert result.events[-1].time == pytest.approx(0.5, abs=1e-8)


def test_friction_between_moving_parts_begins_slipping() -> None:
    graph, relative, block = Graph("belt"), J0("relative"), J1("block")
    graph.connect(Sf("belt", 0.1), relative).connect(relative, block).connect(block, I("m", 1.0))
    graph.connect(relative, Friction("friction", 4.0))
    compiled = compile_model(graph)
    for start, mode, sign in ((0.0, 1.0, 1.0), (0.3, 2.0, -1.0)):
        result = compiled.simulate(0.2, initial={"m.p": start}, progress=False)
        (event,) = result.events
        assert result["friction.mode"][0] == mode
        assert event.kind == "friction sticks"
        assert event.time == pytest.approx((0.1 - start) / (4.0 * sign), rel=1e-12)
        assert result["m.p"][-1] == pytest.approx(0.1, abs=1e-14)


def test_a_run_that_ends_early_warns_at_the_users_line() -> None:
    graph, v = Graph("ball"), J1("v")
    floor = Constraint("floor", initial=1.0, automaton="contact", active=["rest"], restitution=0.8)
    graph.connect(v, I("m", 1.0)).connect(Se("weight", -9.81), v).connect(v, floor)
    bounce = Transition("free", "free", lambda h: -h, ("floor.h",), impact=("floor",), kind="bounce")
    graph.add_automaton(Automaton("contact", ("free", "rest"), "free", (bounce,)))
    with pytest.warns(RunEndedWarning, match='"ball": the run ended at t = 4.06') as caught:
        result = compile_model(graph).simulate(6.0, progress=False)
    assert caught[0].filename == __file__
    assert not result.ok and "ended early" in repr(result) and len(repr(result)) < 200


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("drive", [1.0, -1.0])
def test_a_diode_conducts_into_itself(turned: bool, drive: float) -> None:
    """The arrow sets the direction at a 1-junction; at a 0-junction, the diode always conducts from the node to ground."""

    def ends(junction, other) -> tuple[object, object]:
        return (other, junction) if turned else (junction, other)

    series = Graph("series").connect(Se("u", drive), v := J1("v"))
    series.connect(v, R("r", 2.0)).connect(v, I("l", 1e-3)).connect(*ends(v, Diode("d")))
    result = compile_model(series, backend="numpy").simulate(0.05)
    conducts = (drive > 0.0) != turned
    assert result["v.flow"][-1] == pytest.approx(drive / 2.0 if conducts else 0.0, abs=1e-9)
    assert result["d.inflow"][-1] == pytest.approx(0.5 if conducts else 0.0, abs=1e-9)

    parallel, node = Graph("parallel").connect(Se("u", drive), v := J1("v")), J0("node")
    parallel.connect(v, R("r", 2.0)).connect(v, node).connect(node, C("c", capacitance=1e-3)).connect(*ends(node, Diode("d")))
    result = compile_model(parallel, backend="numpy").simulate(0.05)
    assert result["node.effort"][-1] == pytest.approx(min(drive, 0.0), abs=1e-9)
    assert result["d.inflow"][-1] == pytest.approx(0.5 if drive > 0.0 else 0.0, abs=1e-9)


def test_a_diode_that_feeds_a_node_stands_on_a_junction_of_its_own() -> None:
    graph, own, node = Graph("feeds"), J1("own"), J0("node")
    graph.connect(own, Diode("d")).connect(own, node).connect(node, I("coil", 1.0, initial=2.0)).connect(node, R("r", 1e3))
    result = compile_model(graph, backend="numpy").simulate(0.1)
    assert result["d.inflow"][-1] == pytest.approx(2.0), "the coil must continue to freewheel"
    assert result["node.effort"][-1] == pytest.approx(0.0, abs=1e-9)


def across(source: Element, loop: bool) -> Graph:
    graph, node = Graph("across"), (J1 if loop else J0)("node", domain="electrical")
    diode = Diode("d", initial="closed" if loop else "open")
    return graph.connect(source, node).connect(node, diode).connect(node, R("r", 2.0))


@pytest.mark.parametrize(("loop", "sense"), [(False, -1.0), (True, 1.0)])
def test_a_diode_at_an_ideal_source_is_refused_only_where_the_source_drives_against_it(loop: bool, sense: float) -> None:
    """A closed diode across an Se, or an open diode in series with an Sf, has no solution."""
    kind = Sf if loop else Se
    run = compile_model(across(kind("u", lambda t: sense * t, signals="time"), loop)).simulate(1.0, samples=0.25)
    assert run.ok and run["r.flow"] == pytest.approx(run.t if loop else -0.5 * run.t, abs=1e-9)
    turns = compile_model(across(kind("u", lambda t: sense * (0.5 - t), signals="time"), loop))
    with pytest.warns(RunEndedWarning, match='E220.*"d"'):
        run = turns.simulate(1.0)
    assert run.failure is not None and run.failure.time == pytest.approx(0.5, abs=1e-6)
