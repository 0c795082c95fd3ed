"""In singular but consistent modes, undetermined quantities have least norm."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from bondgraph import (
    J0,
    J1,
    TF,
    Automaton,
    Compiled,
    Constraint,
    Diode,
    Friction,
    Graph,
    I,
    ModelError,
    R,
    RunEndedWarning,
    Se,
    Sf,
    Switch,
    Transition,
    compile_model,
)
from screws.scalars import sin
from tests.causality.branches import branched, brute_force
from tests.inner.run import Bound
from tests.inner.tracing import SolutionCache, modewise
from tests.tracing.test_rigid_graphs import modes_of

RNG = np.random.default_rng(5)
SAMPLES, MODES = 10, 2


def campaign(seeds: range, most: int) -> Counter[str]:
    found: Counter[str] = Counter()
    for seed in seeds:
        rng = np.random.default_rng(seed)
        try:
            compiled = compile_model(branched(rng), backend="numpy")
        except ModelError as error:
            assert {problem.code for problem in error.problems} == {"E203"}, f"{seed}: {error}"
            found["refused"] += 1
            continue
        every = modes_of(compiled.model)
        for index in rng.permutation(len(every))[:most]:
            found[compare_with_brute_force(compiled, every[index], rng, f"seed {seed}, {every[index]}")] += 1
    return found


def compare_with_brute_force(compiled: Compiled, modes: dict[str, str], rng: np.random.Generator, where: str) -> str:
    m = np.array([float(a.states.index(modes[a.name])) for a in compiled.model.automata.values()])
    x, p, program = rng.normal(size=compiled.program.states), compiled.parameters(), compiled.program
    places = {s.name.removesuffix(".p"): k for k, s in enumerate(compiled.system.states) if s.name.endswith(".p")}
    brute = brute_force(compiled, modes, {path: float(x[k]) for path, k in places.items()})
    shared = [i for i in compiled.system.indeterminate if all(modes[a] == state for a, state in i.mode.items())]
    if brute.agrees:
        for path, k in places.items():
            x[k] = brute.states[path]
    rates = program.rates(0.0, x, p, m)
    guards = program.guards(0.0, x, p, m) if program.guards is not None else np.zeros(0)
    ends = any(guard > 0.0 for guard, edge in zip(guards, program.transitions, strict=True) if edge.last)
    assert ends != (brute.agrees and brute.decides), where
    if ends:
        return "ends"
    for path, k in places.items():
        assert rates[k] == pytest.approx(brute.rates[path], rel=1e-7, abs=1e-7), where
    return "shared" if shared else "regular"


def test_random_branches_move_as_all_relations_say() -> None:
    found = campaign(range(SAMPLES), MODES)
    assert found["shared"] > 2 and found["regular"] > 5 and found["refused"] < 3, found


def shafts(count: int, *drives: float) -> Graph:
    graph = Graph("shafts")
    for k in range(count):
        shaft = J1(f"shaft{k}", domain="rotation")
        torque = Se(f"torque{k}", lambda t, a=drives[k]: a * sin(t), signals="time")
        graph.connect(torque, shaft).connect(shaft, I(f"J{k}", 1.0 + 0.3 * k)).connect(shaft, R(f"bearing{k}", 0.05))
    return graph


def between(graph: Graph, name: str, a: str, b: str, *parts) -> Graph:
    torque, slip = J0(f"torque at {name}", domain="rotation"), J1(f"slip of {name}", domain="rotation")
    graph.connect(graph.parts[a], torque).connect(torque, graph.parts[b]).connect(torque, slip)
    for part in parts:
        graph.connect(slip, part)
    return graph


def clutches(*limits: float) -> Graph:
    parts = [Friction(f"clutch{k}", limit) for k, limit in enumerate(limits)]
    return between(shafts(2, 3.0, 1.0), "clutch", "shaft0", "shaft1", *parts)


@pytest.mark.parametrize(("limits", "whole"), [((0.3, 0.3), 0.6), ((0.2, 0.7, 0.3), 1.2)])
def test_clutches_side_by_side_are_one_with_the_sum_of_their_limits(limits: tuple[float, ...], whole: float) -> None:
    many, one = compile_model(clutches(*limits)), compile_model(clutches(whole))
    runs = [model.simulate(6.0, rtol=1e-9, progress=False) for model in (many, one)]
    assert all(run.ok for run in runs) and len(runs[1].events) > 2
    for state in ("J0.p", "J1.p"):
        np.testing.assert_allclose(runs[0][state], runs[1][state], atol=1e-6)
    stuck = runs[0].indeterminate["clutch0.effort"]
    assert 0 < stuck.sum() < len(stuck)
    shares = np.array([runs[0][f"clutch{k}.effort"][stuck] for k in range(len(limits))])
    np.testing.assert_allclose(shares.sum(axis=0), runs[1]["clutch0.effort"][stuck], atol=1e-6)
    all_stick = sum(runs[0][f"clutch{k}.mode"] for k in range(len(limits)))[stuck] == 0.0
    wanted = np.outer(limits, shares.sum(axis=0)) / whole
    np.testing.assert_allclose(shares[:, all_stick], wanted[:, all_stick], atol=1e-3)


@pytest.mark.parametrize("curved", [False, True])
def test_too_many_modes_of_a_curved_impulse_are_refused(curved: bool) -> None:
    """Four brakes on one shaft have 27 modes in each impulse, and each Newton step would redistribute all impulses."""
    inertia = I("m", energy=lambda p: p * p / 2 + p**4) if curved else I("m", 1.0)
    graph, v = Graph("brakes"), J1("v")
    graph.connect(Se("u", 1.0), v).connect(v, inertia)
    for k in range(4):
        graph.connect(v, Friction(f"f{k}", 1.0 + k))
    if not curved:
        assert len(compile_model(graph, backend="numpy").system.indeterminate) == 6  # each pair of brakes
        return
    with pytest.raises(ModelError, match="E212") as refused:
        compile_model(graph, backend="numpy")
    assert '"stick" of "f1" and "stick" of "f2"' in str(refused.value)


def test_the_report_names_indeterminate_efforts() -> None:
    report = compile_model(clutches(1.0, 1.0), backend="numpy").report()
    assert 'in "stick" of "clutch0" and "stick" of "clutch1": clutch0.effort, clutch1.effort' in report
    assert "indeterminate" not in compile_model(clutches(1.0), backend="numpy").report()


def test_a_ring_of_clutches_moves_as_one_body_while_it_sticks() -> None:
    graph = shafts(3, 1.0, 0.4, -0.2)
    for k in range(3):
        between(graph, f"ring{k}", f"shaft{k}", f"shaft{(k + 1) % 3}", Friction(f"clutch{k}", 5.0))
    compiled = compile_model(graph)
    run = compiled.simulate(3.0, progress=False)
    assert run.ok and not run.events
    together = run["J0.p"] / 1.0
    np.testing.assert_allclose(run["J2.p"] / 1.6, together, atol=1e-9)
    np.testing.assert_allclose(sum(run[f"clutch{k}.effort"] for k in range(3)), 0.0, atol=1e-9)  # no torque circulates


def test_friction_in_parallel_with_a_stop_carries_little() -> None:
    runs = []
    for parts in ([Constraint("stop", holds="velocity"), Friction("brake", 0.1)], [Constraint("stop", holds="velocity")]):
        graph = between(shafts(2, 3.0, 1.0), "pair", "shaft0", "shaft1", *parts)
        runs.append(compile_model(graph).simulate(3.0, progress=False))
    assert all(run.ok and not run.events for run in runs)
    np.testing.assert_allclose(runs[0]["J0.p"], runs[1]["J0.p"], atol=1e-8)
    assert np.abs(runs[0]["brake.effort"]).max() < 1e-3 * np.abs(runs[0]["stop.effort"]).max()


def test_a_freewheel_in_parallel_with_friction() -> None:
    """In one direction the freewheel holds any torque; in the other the shafts slip at the friction limit."""
    run = compile_model(between(shafts(2, 3.0, 1.0), "p", "shaft0", "shaft1", Friction("c", 0.5), Diode("f"))).simulate(
        9.0, progress=False
    )
    assert run.ok and run.events
    slip = run["f.inflow"]
    assert slip.min() > -1e-7 and slip.max() > 0.1


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("coil", [False, True])
def test_diodes_in_series_are_one_diode(count: int, coil: bool) -> None:
    def chain(diodes: int) -> Graph:
        graph, loop = Graph("chain"), J1("loop")
        graph.connect(Se("u", lambda t: sin(t - 0.5), signals="time"), loop).connect(loop, R("r", 2.0))
        for k in range(diodes):
            graph.connect(loop, Diode(f"d{k}"))
        return graph.connect(loop, I("l", 0.5)) if coil else graph

    runs = [compile_model(chain(n)).simulate(8.0, progress=False, rtol=1e-9) for n in (count, 1)]
    assert all(run.ok for run in runs)
    np.testing.assert_allclose(runs[0]["loop.flow"], runs[1]["loop.flow"], atol=1e-7)
    # Open diodes share the voltage equally; a closed diode without current has no voltage.
    modes = np.array([runs[0][f"d{k}.mode"] for k in range(count)])
    several = (modes == 0.0).sum(axis=0) > 1
    assert several.any() and (runs[0].indeterminate["d0.effort"] == several).all()
    for k, open_ in enumerate(modes == 0.0):
        share = np.where(open_, runs[1]["d0.effort"] / np.maximum((modes == 0.0).sum(axis=0), 1), 0.0)
        np.testing.assert_allclose(runs[0][f"d{k}.effort"], share, atol=1e-7)


def geared(ratio: float) -> Graph:
    graph, slow, fast = Graph("geared"), J1("slow", domain="rotation"), J1("fast", domain="rotation")
    graph.connect(Se("drive", lambda t: 2.0 * sin(t), signals="time"), slow).connect(slow, I("J", 1.0))
    graph.connect(slow, gear := TF("gear", ratio)).connect(gear, fast)
    return graph.connect(slow, Friction("a", 2.0)).connect(fast, Friction("b", 2.0 / ratio))


@pytest.mark.parametrize("ratio", [1e-12, 1e12])
def test_shares_do_not_know_units(ratio: float) -> None:
    own, other = (compile_model(geared(r)).simulate(2.0, progress=False) for r in (1.0, ratio))
    assert own.ok and other.ok and not own.events and not other.events
    np.testing.assert_allclose(other["b.effort"] * ratio, own["b.effort"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(own["a.effort"], own["b.effort"], rtol=1e-9, atol=1e-12)
    assert other.indeterminate["b.effort"].all()


def bridge(load: list, *source) -> Graph:
    mains, a, b, plus, out = J1("mains"), J0("a"), J0("b"), J0("plus"), J1("out")
    graph = Graph("bridge").connect(Se("u", lambda t: 10.0 * sin(t + 0.1), signals="time"), mains)
    graph.connect(mains, a).connect(b, mains).connect(plus, out)
    for part in source:
        graph.connect(mains, part)
    for node, name in ((a, "a"), (b, "b")):
        up, down = J1(f"{name} up"), J1(f"{name} down")
        graph.connect(node, up).connect(up, Diode(f"{name} plus")).connect(up, plus)
        graph.connect(down, Diode(f"ground {name}")).connect(down, node)
    for part in load:
        graph.connect(out, part)
    return graph


def test_a_bridge_on_an_ideal_source_rectifies() -> None:
    run = compile_model(bridge([R("load", 5.0), I("choke", 0.5)])).simulate(7.0, progress=False, rtol=1e-9)
    assert run.ok and len(run.events) >= 8

    def behind_ideal(t: float, i: float) -> float:
        return (abs(10.0 * np.sin(t + 0.1)) - 5.0 * i) / 0.5

    from scipy.integrate import solve_ivp

    wanted = solve_ivp(lambda t, y: [behind_ideal(t, y[0])], (0, 7), [0.0], rtol=1e-9, atol=1e-9, max_step=0.01, t_eval=run.t)
    np.testing.assert_allclose(run["choke.flow"], wanted.y[0], atol=1e-5)


def phases(count: int, *load) -> Graph:
    graph, plus, minus, out = Graph("phases"), J0("plus"), J0("minus"), J1("out")
    for k in range(count):
        node, up, down = J0(f"node {k}"), J1(f"up {k}"), J1(f"down {k}")
        graph.connect(Se(f"u{k}", lambda t, a=2 * np.pi * k / count: sin(t - a), signals="time"), node)
        graph.connect(node, up).connect(up, Diode(f"plus {k}")).connect(up, plus)
        graph.connect(minus, down).connect(down, Diode(f"minus {k}")).connect(down, node)
    graph.connect(plus, out).connect(out, minus)
    for part in load:
        graph.connect(out, part)
    return graph


@pytest.mark.parametrize("count", [2, 3])
def test_a_bridge_of_several_phases_has_the_largest_difference_of_voltages(count: int) -> None:
    compiled = compile_model(phases(count, R("load", 2.0)))
    for rtol in (1e-6, 1e-10):
        run = compiled.simulate(14.0, progress=False, rtol=rtol)
        assert run.ok and len(run.events) >= 2 * count * 2
        voltages = np.array([np.sin(run.t - 2 * np.pi * k / count) for k in range(count)])
        np.testing.assert_allclose(run["load.effort"], np.ptp(voltages, axis=0), atol=1e-9)


def buck() -> Graph:
    graph, node = Graph("buck"), J0("node")
    source, branch, coil = J1("source"), J1("branch"), J1("coil")
    graph.connect(Se("u", 10.0), source).connect(source, Switch("S", automaton="gate", closed="on")).connect(source, node)
    graph.connect(branch, Diode("D")).connect(branch, node).connect(node, coil)
    graph.connect(coil, I("L", 0.1)).connect(coil, R("load", 2.0))
    off = Transition("on", "off", lambda t: sin(20.0 * t) - 0.2, ("time",))
    on = Transition("off", "on", lambda t: 0.2 - sin(20.0 * t), ("time",))
    return graph.add_automaton(Automaton("gate", ("on", "off"), "on", (off, on)))


def test_a_buck_converter_of_ideal_parts_runs() -> None:
    compiled = compile_model(buck())
    assert (
        'in "on" of "gate" and "closed" of "D": S.flow, D.flow; a run that remains in this mode ends (E220)' in compiled.report()
    )
    run = compiled.simulate(2.0, progress=False, rtol=1e-9)
    assert run.ok and not run.indeterminate
    on, node = run["gate.mode"] == 0.0, run["node.effort"]
    np.testing.assert_allclose(node[on], 10.0, atol=1e-9)
    np.testing.assert_allclose(node[~on], 0.0, atol=1e-9)


def coil_held() -> Graph:
    graph, node, branch = Graph("coil"), J0("node"), J1("branch")
    graph.connect(Sf("i", 2.0), node).connect(node, I("L", 0.3)).connect(node, Constraint("c", holds="velocity"))
    graph.connect(node, branch).connect(branch, R("r", 2.0)).connect(branch, Switch("S", automaton="s", closed="shut"))
    opens = Transition("shut", "open", lambda t: t - 0.3, ("time",))
    return graph.add_automaton(Automaton("s", ("shut", "open"), "shut", (opens,)))


def test_a_coil_takes_the_current_that_a_switch_cuts_off() -> None:
    run = compile_model(coil_held()).simulate(1.0, progress=False, rtol=1e-10)
    assert run.ok
    before = 2.0 * (1.0 - np.exp(-0.3 * 2.0 / 0.3))
    assert run.at_event(0, "L.flow") == pytest.approx((before, 2.0), rel=1e-8)
    assert run.events[0].lost == pytest.approx(0.5 * 0.3 * (before**2 - 2.0**2) + run.events[0].supplied.sum(), rel=1e-7)
    np.testing.assert_allclose(run["L.flow"][run.t > 0.3], 2.0, rtol=1e-9)


def test_a_mode_that_contradicts_itself_ends_the_run() -> None:
    """Two sources impose different voltages on one node once the second switch closes."""
    graph, node = Graph("two sources"), J0("node")
    for name, volts in (("one", 5.0), ("two", 7.0)):
        branch = J1(name)
        graph.connect(Se(f"u {name}", volts), branch).connect(branch, Switch(f"S {name}", automaton=name, closed="on"))
        graph.connect(branch, node)
    graph.connect(node, R("load", 2.0))
    graph.add_automaton(Automaton("one", ("off", "on"), "on", ()))
    graph.add_automaton(Automaton("two", ("off", "on"), "off", (Transition("off", "on", lambda t: t - 1.0, ("time",)),)))
    with pytest.warns(RunEndedWarning):
        run = compile_model(graph).simulate(2.0, progress=False)
    assert run.failure is not None and run.failure.time == pytest.approx(1.0)
    for word in ("E220", '"on" of "one" and "on" of "two"', 'Sw "S one"', 'Sw "S two"'):
        assert word in run.failure.reason
    np.testing.assert_allclose(run["load.flow"][run.t < 1.0], 2.5)


def test_modes_that_are_alike_are_solved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    solve = SolutionCache._solve

    def counted(self, *given):
        counts[-1] += 1
        return solve(self, *given)

    def compiled() -> Compiled:
        counts.append(0)
        edge = Transition("off", "on", lambda t: t - 0.1, "time")
        graph = clutches(0.3, 0.4).add_automaton(Automaton("gate", ("off", "low", "high", "on"), "off", edge))
        brake = Constraint("brake", automaton="gate", active=["on"], holds="velocity", domain="rotation")
        return compile_model(graph.connect(graph.parts["shaft0"], brake), backend="numpy")

    monkeypatch.setattr(modewise, "MAX_SEPARATE", 10**6)
    monkeypatch.setattr(SolutionCache, "_solve", counted)
    one = compiled()
    monkeypatch.setattr(SolutionCache, "_ideal_key", lambda self, ideal: [object()])
    other = compiled()
    assert counts[0] < 0.6 * counts[1]
    bound, reference = (Bound(model.program, model.parameters()) for model in (one, other))
    (braked,) = (k for k, edge in enumerate(one.program.transitions) if edge.name == "gate")
    for modes in modes_of(one.model):
        m = np.array([float(a.states.index(modes[a.name])) for a in one.model.automata.values()])
        x = RNG.normal(size=one.program.states)
        assert np.array_equal(bound.reset(braked, 0.1, x, m), reference.reset(braked, 0.1, x, m))
