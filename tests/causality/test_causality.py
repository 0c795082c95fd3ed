"""Textbook graphs have their strokes, and messages explain derivative causality, loops and conflicts."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

from benchmarks.front_end import calls
from bondgraph import (
    GY,
    J0,
    J1,
    TF,
    C,
    Element,
    Graph,
    I,
    Model,
    ModelError,
    Op,
    Problem,
    R,
    Se,
    Sf,
    assign_causality,
    compile_model,
    equations,
)
from screws.scalars import exp, log
from tests.inner.model import Port, StateSpec, Storage


def join(name: str, *bonds) -> Graph:
    graph = Graph(name)
    for tail, head in bonds:
        graph.connect(tail, head)
    return graph


def strokes(graph: Graph) -> dict[str, bool]:
    return dict(assign_causality(graph.freeze()).effort_into_head)


def problems(graph: Graph) -> tuple[Problem, ...]:
    with pytest.raises(ModelError) as caught:
        equations(graph.freeze())
    return caught.value.problems


def here() -> int:
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


# --- strokes ---------------------------------------------------------------------------------------------------------


def test_series_circuit() -> None:
    loop = J1("loop")
    graph = join("rlc", (Se("u", 1.0), loop), (loop, C("c", capacitance=1.0)), (loop, I("l", 1.0)), (loop, R("r", 1.0)))
    assert strokes(graph) == {"u -> loop": True, "loop -> c": False, "loop -> l": True, "loop -> r": False}


def test_parallel_circuit() -> None:
    node = J0("node")
    graph = join("rlc", (Sf("i", 1.0), node), (node, C("c", capacitance=1.0)), (node, I("l", 1.0)), (node, R("r", 1.0)))
    assert strokes(graph) == {"i -> node": False, "node -> c": False, "node -> l": True, "node -> r": True}


def test_dc_motor() -> None:
    coil, shaft, k = J1("coil"), J1("shaft"), GY("k", 1.0)
    graph = join(
        "motor", (Se("u", 1.0), coil), (coil, I("l", 1.0)), (coil, R("r", 1.0)), (coil, k), (k, shaft), (shaft, I("j", 1.0))
    )
    found = strokes(graph)
    assert found["coil -> k"] is False and found["k -> shaft"] is True  # flow in at both ports
    assert found["coil -> l"] is True and found["shaft -> j"] is True


def test_strokes_do_not_depend_on_half_arrows() -> None:
    for flips in range(8):
        loop, c, i, r = J1("loop"), C("c", capacitance=1.0), I("l", 1.0), R("r", 1.0)
        ends = [(loop, part) if flips >> k & 1 else (part, loop) for k, part in enumerate((c, i, r))]
        causality = assign_causality(join("g", *ends).freeze())
        model = join("g", *ends).freeze()
        into = {path: causality.effort_into(model.bonds_at(path)[0], path) for path in "clr"}
        assert into == {"c": False, "l": True, "r": False}
        assert causality.derivative == () and causality.chosen == ()


def test_the_report_says_it_in_words() -> None:
    v, lever = J1("v"), TF("lever", 2.0)
    graph = join("pair", (v, I("a", 1.0)), (v, lever), (lever, I("b", 1.0)))
    report = compile_model(graph, backend="numpy").report()
    assert "v ---> | a   v sets the effort" in report
    assert 'derivative causality\n  I "b": its flow is set by I "a"' in report
    assert "algebraic loops: none" in report


def test_causality_of_a_ring_needs_backtracking() -> None:
    for kinds in range(16):
        ring = [(J0 if kinds >> k & 1 else J1)(f"j{k}") for k in range(4)]
        parts = [R("r0", 1.0), C("c1", capacitance=1.0), R("r2", 1.0), I("i3", 1.0)]
        bonds = [(ring[k], ring[(k + 1) % 4]) for k in range(4)] + [(ring[k], parts[k]) for k in range(4)]
        check_strokes(join("ring", *bonds).freeze())


def check_strokes(model: Model) -> None:
    causality = assign_causality(model)
    for path, element in model.elements.items():
        into = [causality.effort_into(bond, path) for bond in model.bonds_at(path)]
        if element.kind == "0":
            assert into.count(True) == 1, path
        elif element.kind == "1":
            assert into.count(False) == 1, path
        elif element.kind == "TF":
            assert into.count(True) == 1, path
        elif element.kind == "GY":
            assert into.count(True) in (0, 2), path


# --- derivative causality --------------------------------------------------------------------------------------------


def flux(p, k):
    return k * p * p * p + p


def flux_energy(p, k):
    return k * p**4 / 4 + p * p / 2


def test_a_source_on_a_storage_drives_it() -> None:
    """The current is C u' + u / R for either direction of the half arrows."""
    for reverse in (False, True):
        graph, node = Graph("stiff"), J0("node")
        graph.connect(Se("battery", lambda t: 12.0 * t * t, signals=["time"]), node)
        for part in (C("tank", capacitance=3.0), R("leak", 2.0)):
            graph.connect(part, node) if reverse else graph.connect(node, part)
        model = compile_model(graph, backend="numpy")
        assert model.causality.derivative == ("tank",)
        assert model.system.states == ()
        env = model.evaluate(2.0)
        assert env["battery.flow"] == pytest.approx(3.0 * 48.0 + 48.0 / 2.0)
        assert env["tank.q"] == pytest.approx(3.0 * 48.0)
        assert env["tank.power"] == pytest.approx(48.0 * 3.0 * 48.0)
        assert env["tank.energy"] == pytest.approx(48.0**2 * 3.0 / 2)


def test_a_chain_of_capacitors_across_a_source_adds_up() -> None:
    graph, before = Graph("ladder"), J0("n0")
    graph.connect(Se("u", lambda t: 5.0 * t, signals=["time"]), before)
    for k in range(3):
        node = J0(f"n{k + 1}")
        graph.connect(before, C(f"c{k}", capacitance=1.0 + k)).connect(before, node)
        before = node
    graph.connect(before, R("load", 4.0))
    model = compile_model(graph, backend="numpy")
    assert model.causality.derivative == ("c0", "c1", "c2")
    assert model.evaluate(2.0)["u.flow"] == pytest.approx(5.0 * (1 + 2 + 3) + 10.0 / 4.0)


def test_rigidly_coupled_masses_move_as_one() -> None:
    """With w = 3 v, the motor accelerates 2 + 9 * 5 kg against a drag of 9 * 7, and has 2 / 47 of the momentum."""
    v, w, gear = J1("v"), J1("w"), TF("gear", 3.0)
    bonds = (v, I("motor", 2.0, initial=4.0)), (v, gear), (gear, w), (w, I("load", 5.0)), (w, R("b", 7.0))
    model = compile_model(join("gears", *bonds), backend="numpy")
    assert model.causality.derivative == ("load",)
    assert model.causality.forced_by == {"load": ("motor",)}
    x, m = model.initial()
    assert model.program.rates(0.0, x, model.parameters(), m) == pytest.approx([-2.0 * 63.0 * 2.0 / 47.0])
    env = model.evaluate()
    assert env["load.p"] == pytest.approx(5.0 * 3.0 * 2.0)
    assert env["load.energy"] == pytest.approx(36.0 * 5.0 / 2)
    assert env["load.power"] + env["motor.power"] == pytest.approx(-env["b.power"])


def test_all_components_of_a_vector_storage_can_be_dependent() -> None:
    """Two bodies on one junction with full mass matrices obey M1 v' + M2 v' = -D v."""
    rng = np.random.default_rng(3)
    m1, m2, d = (root @ root.T + np.eye(3) for root in rng.normal(size=(3, 3, 3)))
    p = rng.normal(size=3)
    v = J1("v")
    graph = join("bodies", (v, I("a", m1, initial=p)), (I("b", m2), v), (v, R("d", d)))
    model = compile_model(graph, backend="numpy")
    x, m = model.initial()
    wanted = -m1 @ np.linalg.solve(m1 + m2, d @ np.linalg.solve(m1, p))
    np.testing.assert_allclose(model.program.rates(0.0, x, model.parameters(), m), wanted, rtol=1e-12)


def test_a_dependent_storage_without_an_inverse_is_solved_for_its_state() -> None:
    """With 0.3 p^3 + p = t, the effort is p' = 1 / (1 + 0.9 p^2), and p determines the energy."""
    graph = Graph("driven").connect(Sf("drive", lambda t: t, signals=["time"]), v := J1("v"))
    graph.connect(v, I("load", output=flux, energy=flux_energy, parameters={"k": 0.3}))
    result = compile_model(graph).simulate(3.0, samples=[1.0, 2.0, 3.0])
    for t, p, effort, energy in zip(result.t, result["load.p"], result["load.effort"], result["load.energy"], strict=True):
        (root,) = (r.real for r in np.roots([0.3, 0.0, 1.0, -t]) if abs(r.imag) < 1e-9)
        assert p == pytest.approx(root, rel=1e-12)
        assert effort == pytest.approx(1.0 / (1.0 + 0.9 * root**2), rel=1e-12)
        assert energy == pytest.approx(flux_energy(root, 0.3), rel=1e-12)
    assert result.ledger.relative_residual < 1e-7


def test_the_start_value_selects_among_states_with_one_output() -> None:
    for side in (1.0, -1.0):
        graph = Graph("two roots").connect(Se("drive", lambda t: 4.0 + t, signals=["time"]), node := J0("node"))
        graph.connect(node, C("valley", output=lambda q: q * q, energy=lambda q: q**3 / 3, initial=2.0 * side))
        compiled = compile_model(graph)
        for start in (side, -side):
            result = compiled.simulate(5.0, initial={} if start == side else {"valley.q": 2.0 * start})
            np.testing.assert_allclose(result["valley.q"], start * np.sqrt(4.0 + result.t), rtol=1e-9)


def test_an_inverse_serves_derivative_causality() -> None:
    """With p = f^3, the drag 2 f and the drive f = t^2 / 2, the effort of the drive is 3 f^2 f' + 2 f."""
    graph = Graph("driven")
    graph.connect(Sf("drive", lambda t: t * t / 2, signals=["time"]), v := J1("v"))
    load = I("load", output=cube_root, energy=lambda p: 0.75 * cube_root(p) ** 4, inverse=lambda f: f * f * f)
    graph.connect(v, load).connect(v, R("drag", 2.0))
    env = compile_model(graph, backend="numpy").evaluate(2.0)
    assert env["drive.effort"] == pytest.approx(3.0 * 2.0**2 * 2.0 + 2.0 * 2.0)


def cube_root(p):
    return exp(log(p) / 3.0)


@pytest.mark.parametrize("start", ["motor", "load"])
def test_one_of_two_coupled_nonlinear_masses_is_dependent(start: str) -> None:
    """Both flows are nonlinear and f_load = 3 f_motor; only the mass with a start value keeps its state."""
    v, w, gear = J1("v"), J1("w"), TF("gear", 3.0)
    motor, load = (
        I(name, output=flux, energy=flux_energy, parameters={"k": 0.3}, initial=0.8 if name == start else 0.0)
        for name in ("motor", "load")
    )
    compiled = compile_model(join("gears", (v, motor), (v, gear), (gear, w), (w, load), (w, R("b", 7.0))))
    assert compiled.causality.derivative == ("load" if start == "motor" else "motor",)
    result = compiled.simulate(1.0)
    np.testing.assert_allclose(flux(result["load.p"], 0.3), 3.0 * flux(result["motor.p"], 0.3), rtol=1e-10)
    assert result.ledger.relative_residual < 1e-7


def test_a_storage_whose_state_has_a_rate_of_its_own_cannot_follow() -> None:
    law = Storage("effort", "q", StateSpec(0.0), Op("e", lambda q: q), Op("E", lambda q: q * q / 2), Op("q'", lambda q, f: f - q))
    graph = Graph("pushed").connect(Se("push", 1.0), node := J0("node"))
    graph.connect(node, Element("C", "carried", law, (Port("1", 1),))).connect(node, R("leak", 1.0))
    (problem,) = problems(graph)
    assert problem.code == "E204"
    assert 'C "carried"' in problem.title and 'Se "push"' in problem.details[0]
    assert any('an I or R between it and Se "push"' in cure for cure in problem.cures)


# --- loops -----------------------------------------------------------------------------------------------------------


def resistive_loop(**first) -> Graph:
    a, node, b = J1("a"), J0("node"), J1("b")
    return join(
        "loop",
        (Se("u", 1.5), a),
        (a, R("r2", **(first or {"resistance": 2.0}))),
        (a, node),
        (node, R("r3", 3.0)),
        (node, b),
        (b, R("r5", 5.0)),
        (b, I("i7", 7.0, initial=4.0)),
    )


def test_a_linear_loop_is_solved() -> None:
    model = compile_model(resistive_loop(), backend="numpy")
    (loop,) = model.system.loops
    assert not loop.guesses
    x, m = model.initial()
    assert model.program.rates(0.0, x, model.parameters(), m) == pytest.approx([0.6 * 1.5 - 31 / 35 * 4.0])
    changed = model.parameters({"r2.resistance": 6.0})  # the solution follows the parameters
    assert model.program.rates(0.0, x, changed, m) == pytest.approx([1.5 / 3 - (5 + 2) * 4.0 / 7])


def test_a_loop_does_not_hold_what_only_follows_from_it() -> None:
    model = compile_model(resistive_loop(), backend="numpy")
    (loop,) = model.system.loops
    inside = {s.element for s in model.system.statements[loop.start : loop.stop]}
    assert {"r2", "r3"} <= inside
    assert not inside & {"r5", "i7"}


def test_two_loops_are_solved_apart() -> None:
    graph = Graph("two")
    for name, u in zip("xy", (1.0, 3.0), strict=True):
        graph.connect(Se(f"u{name}", u), a := J1(f"a{name}"))
        graph.connect(a, R(f"r{name}", 2.0)).connect(a, node := J0(f"n{name}"))
        graph.connect(node, R(f"s{name}", 3.0)).connect(node, R(f"t{name}", 6.0))
    model = compile_model(graph, backend="numpy")
    assert len(model.system.loops) == 2
    env = model.evaluate()
    assert env[model.system.resolve("rx.flow")] == pytest.approx(1.0 / (2.0 + 2.0))
    assert env[model.system.resolve("ry.flow")] == pytest.approx(3.0 / (2.0 + 2.0))


# --- conflicts -------------------------------------------------------------------------------------------------------


def test_two_flow_sources_on_a_1_junction() -> None:
    graph = Graph("gripper")
    elbow = J1("elbow")
    graph.connect(elbow, R("friction", 1.0))
    graph.connect(Sf("drive", 1.0), elbow)
    first = here() - 1
    graph.connect(elbow, I("forearm", 1.0))
    graph.connect(Sf("motor", 1.0), elbow)
    second = here() - 1
    (problem,) = problems(graph)
    assert str(problem).splitlines() == [
        'E203 causality conflict at 1-junction "elbow"',
        '  two bonds set its flow: Sf "drive" and Sf "motor"',
        "  bonds: elbow -> friction, drive -> elbow, elbow -> forearm, motor -> elbow",
        f"  created at test_causality.py:{first} and test_causality.py:{second}",
        '  try: a C or R between them, or drive the junction with Se instead of Sf "motor"',
    ]


def test_two_effort_sources_on_a_0_junction() -> None:
    node = J0("node")
    (problem,) = problems(join("shorted", (Se("a", 1.0), node), (Se("b", 1.0), node), (node, R("r", 1.0))))
    assert problem.details[0] == 'two bonds set its effort: Se "a" and Se "b"'
    assert "an I or R between them" in problem.cures[0] and "Sf" in problem.cures[0]


def test_culprits_far_from_the_conflict_are_found() -> None:
    graph, before = Graph("far"), J0("n0")
    graph.connect(Se("left", 1.0), before)
    for k in range(5):
        one, zero, lever = J1(f"v{k}"), J0(f"n{k + 1}"), TF(f"t{k}", 2.0)
        graph.connect(before, one).connect(one, lever).connect(lever, zero)
        before = zero
    graph.connect(Se("right", 1.0), before).connect(before, R("load", 1.0))
    (problem,) = problems(graph)
    assert problem.code == "E203"
    assert 'Se "left"' in problem.details[0] and 'Se "right"' in problem.details[0]
    assert "load" not in problem.details[0]


@pytest.mark.parametrize(("junction", "source", "variable"), [(J1, Se, "flow"), (J0, Sf, "effort")])
def test_nobody_sets_the_common_variable(junction, source, variable: str) -> None:
    j = junction("j")
    (problem,) = problems(join("ideal", *((source(name, 1.0), j) for name in "abc")))
    assert problem.code == "E203"
    assert f"no bond sets its {variable}" in problem.details[0]
    assert all(f'"{name}"' in problem.details[0] for name in "abc")


@pytest.mark.parametrize("source", [Se, Sf])
def test_two_sources_on_one_bond(source) -> None:
    (problem,) = problems(join("bond", (source("a", 1.0), source("b", 1.0))))
    assert "conflict at bond" in problem.title and "both set" in problem.details[0]
    assert '"a"' in problem.details[0] and '"b"' in problem.details[0]


def test_sources_at_both_ports_of_a_transformer_and_of_a_gyrator() -> None:
    lever, gyrator = TF("lever", 2.0), GY("gyrator", 2.0)
    (problem,) = problems(join("tf", (Se("a", 1.0), lever), (lever, Se("b", 1.0))))
    assert 'at TF "lever"' in problem.title and 'Se "a" and Se "b"' in problem.details[0]
    (problem,) = problems(join("gy", (Se("a", 1.0), gyrator), (gyrator, Sf("b", 1.0))))
    assert 'at GY "gyrator"' in problem.title and 'Se "a" and Sf "b"' in problem.details[0]


def test_a_matrix_that_would_have_to_be_inverted() -> None:
    wrist = TF("wrist", [[1.0, 2.0], [0.0, 1.0]])
    (problem,) = problems(join("arm", (Se("push", [1.0, 2.0]), wrist), (wrist, Sf("hold", [0.0, 0.0]))))
    assert 'at bond "push -> wrist"' in problem.title or 'at TF "wrist"' in problem.title
    assert 'TF "wrist"' in str(problem) and 'Se "push"' in str(problem)


def test_all_conflicts_at_once() -> None:
    a, b = J0("a"), J1("b")
    found = problems(
        join(
            "both", (Se("s", 1.0), a), (Se("t", 1.0), a), (a, R("r", 1.0)), (Sf("f", 1.0), b), (Sf("g", 1.0), b), (b, R("q", 1.0))
        )
    )
    assert [p.title for p in found] == ['causality conflict at 0-junction "a"', 'causality conflict at 1-junction "b"']


def test_every_message_has_a_place_and_a_cure() -> None:
    node = J0("node")
    (problem,) = problems(join("shorted", (Se("a", 1.0), node), (Se("b", 1.0), node)))
    assert problem.cures and re.search(r"created at test_causality\.py:\d+", str(problem))


# --- size ------------------------------------------------------------------------------------------------------------


def chain(n: int) -> Graph:
    graph, before = Graph("chain"), J1("m0 v")
    graph.connect(Se("pull", 1.0), before).connect(before, I("m0", 1.0))
    for k in range(1, n):
        velocity, force, stretch = J1(f"m{k} v"), J0(f"f{k}"), J1(f"s{k}")
        graph.connect(before, force).connect(force, velocity).connect(force, stretch)
        graph.connect(velocity, I(f"m{k}", 1.0)).connect(stretch, C(f"c{k}", capacitance=1.0)).connect(stretch, R(f"r{k}", 0.1))
        before = velocity
    return graph


@pytest.mark.usefixtures("few_objects")
def test_a_long_chain_takes_time_in_proportion() -> None:
    """Quadratic cost would need 16 times as many function calls for 400 sections as for 100 sections."""
    work = []
    for n in (100, 400):
        graph = chain(n)
        work.append(calls(lambda graph=graph: assign_causality(graph.freeze())))
        model = graph.freeze()
        causality = assign_causality(model)
        assert causality.derivative == () and causality.chosen == ()
        assert len(equations(model, causality).states) == 2 * n - 1
    assert work[1] < 4.4 * work[0]


@pytest.mark.usefixtures("few_objects")
def test_a_junction_with_many_bonds_takes_time_in_proportion() -> None:
    work = []
    for n in (150, 600):
        node, graph = J0("node"), Graph("star")
        graph.connect(C("c", capacitance=1.0), node)
        for k in range(n):
            graph.connect(node, R(f"r{k}", 1.0))
        work.append(calls(lambda graph=graph: assign_causality(graph.freeze())))
        assert assign_causality(graph.freeze()).chosen == ()
    assert work[1] < 4.4 * work[0]
