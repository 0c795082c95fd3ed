"""Kernels in loops agree with straight-line code."""

from __future__ import annotations

import functools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from screwbond.models import attach_contact, contact, ground, rigid_body

from benchmarks.front_end import uneven
from bondgraph import J1, C, Graph, I, ModelError, R, compile_model, equations
from campaigns.graphs.drawn import random_graph
from examples import rolling_eggs
from screws.surfaces import plane, sphere
from tests.inner.assembly import System
from tests.inner.emit import KernelError, text
from tests.inner.schedule import KernelCache, group_values, is_large, kernels_text, number_statements, schedule_routines
from tests.schedule.graphs import assert_equal, blocks, bouncing, chain, dense, in_loops


def explicit(seed: int) -> System | None:
    try:
        system = equations(random_graph(np.random.default_rng(seed)).freeze())
    except ModelError:
        return None
    return None if system.loops or system.unknowns else system


def test_random_graphs_equal_straight_line_code() -> None:
    systems = [system for seed in range(15) if (system := explicit(seed))]
    assert len(systems) > 4
    for number, system in enumerate(systems):
        assert_equal(system, machine_code=number % 8 == 0)


def test_two_eggs_in_contact_equal_straight_line_code() -> None:
    built = rolling_eggs.build()
    compiled = compile_model(built[0] if isinstance(built, tuple) else built, backend="numpy")
    x, _ = compiled.initial()
    states, start = [], 0
    for state in compiled.system.states:
        states.append(replace(state, initial=x[start : start + state.initial.size].reshape(state.initial.shape)))
        start += state.initial.size
    assert not is_large(compiled.system)
    assert_equal(replace(compiled.system, states=tuple(states)), machine_code=True)


@pytest.mark.parametrize("machine_code", [False, True])
@pytest.mark.parametrize("cubic", [False, True])
@pytest.mark.parametrize("sections", [1, 2, 3, 30])
def test_chains_equal_straight_line_code(sections: int, cubic: bool, machine_code: bool) -> None:
    assert_equal(equations(chain(sections, cubic=cubic).freeze()), machine_code)


@pytest.mark.parametrize("machine_code", [False, True])
def test_many_switches_equal_straight_line_code(machine_code: bool) -> None:
    assert_equal(equations(bouncing(7).freeze()), machine_code)


def crossed(count: int) -> Graph:
    graph, speeds = Graph("crossed"), [J1(f"v{i}") for i in range(count)]
    for i, speed in enumerate(speeds):
        graph.connect(speed, I(f"m{i}", 1.0 + 0.01 * (i % 7), initial=0.1 * (i % 3)))
    for i, speed in enumerate(reversed(speeds)):
        graph.connect(speed, C(f"k{i}", stiffness=100.0 + i % 11, initial=0.01 * (i % 5))).connect(speed, R(f"r{i}", 0.5))
    return graph


@pytest.mark.parametrize("quick", [False, True])
def test_descending_addresses_are_not_marked_inbounds(quick: bool) -> None:
    """For LLVM, an address marked "inbounds" that is out of bounds has no value."""
    system = equations(crossed(40).freeze())
    made, _, _ = schedule_routines(system)
    module = kernels_text([made.schedules["rates"](), made.schedules["prepare"]()], quick)
    lines = [line for line in module.splitlines() if "getelementptr" in line and ".by-" in line]
    assert lines and not any("inbounds" in line for line in lines)
    if not quick:
        assert_equal(system, machine_code=True)


def test_every_output_of_a_long_chain_equals_the_statements() -> None:
    compiled = compile_model(chain(150, cubic=True))
    assert is_large(compiled.system)
    x, _ = compiled.initial()
    p, m = compiled.parameters(), np.zeros(0)
    wanted = compiled.evaluate(0.0, x, p, m)
    rates, out = compiled.program.rates(0.0, x, p, m), compiled.program.outputs(0.0, x, p, m)
    np.testing.assert_allclose(rates, [wanted[s.rate] for s in compiled.system.states], rtol=1e-12, atol=1e-12)
    slots = [(name, slot) for name, slot in compiled.program.layout.slots.items() if slot.block == "out" and name in wanted]
    assert len(slots) > 1500
    for name, slot in slots:
        assert out[slot.start] == pytest.approx(wanted[name], rel=1e-12, abs=1e-12)


def test_jacobian_of_a_long_chain_equals_difference_quotients() -> None:
    compiled = compile_model(chain(150, cubic=True))
    program, p, m = compiled.program, compiled.parameters(), np.zeros(0)
    x = compiled.initial()[0]
    full = dense(program.jacobian_pattern, program.jacobian(0.0, x, p, m))
    assert len(program.jacobian_pattern[1]) < 8 * 150
    for column in (0, 1, 2, 149, 150, 298, 299):
        step = np.zeros(len(x))
        step[column] = 1e-4
        slope = (program.rates(0.0, x + step, p, m) - program.rates(0.0, x - step, p, m)) / 2e-4
        np.testing.assert_allclose(full[:, column], slope, rtol=1e-6, atol=1e-6)


def test_a_jacobian_has_the_same_bits_whether_or_not_its_code_is_optimised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is fused, so the results also equal the bits of the reference."""
    for make in (functools.partial(chain, 150, cubic=True), functools.partial(uneven, 150)):
        reference = compile_model(make(), backend="numpy")
        x, m = reference.initial()
        at = (0.0, x + np.sin(np.arange(len(x))), reference.parameters(), m)
        wanted = reference.program.jacobian(*at)
        for longest in (10**9, 0):
            monkeypatch.setattr("bondgraph.schedule.machine_code.kernels.MAX_OPTIMISED_LENGTH", longest)
            compiled = compile_model(make())
            np.testing.assert_array_equal(compiled.program.jacobian(*at[:2], compiled.parameters(), m), wanted)


def test_count_of_loops_does_not_grow_with_the_chain() -> None:
    counts = []
    for sections in (20, 200):
        made, _, differentiate = schedule_routines(equations(chain(sections).freeze()))
        jacobian, _ = differentiate()
        assert jacobian is not None
        counts.append({name: len(make().loops) for name, make in made.schedules.items()} | {"jacobian": len(jacobian.loops)})
    assert counts[0] == counts[1]


def test_the_right_hand_side_of_a_chain_needs_no_index_tables() -> None:
    made, _, _ = schedule_routines(equations(chain(50).freeze()))
    assert not len(made.schedules["rates"]().tables)


def test_small_models_stay_straight() -> None:
    assert not is_large(equations(chain(40).freeze()))


def test_the_numpy_backend_and_changed_parameters() -> None:
    graph = chain(300)
    fast, plain = compile_model(graph), compile_model(graph, backend="numpy")
    changed = {"k7.stiffness": 50.0, "m3.inertia": 4.0}
    x, m = fast.initial()
    results = [c.program.rates(0.0, x + 0.1, c.parameters(changed), m) for c in (fast, plain)]
    np.testing.assert_allclose(*results, rtol=1e-12, atol=1e-12)
    assert np.abs(results[0] - fast.program.rates(0.0, x + 0.1, fast.parameters(), m)).max() > 0.1


def test_runs_with_switches_equal_those_of_straight_line_code(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = bouncing(5)
    ends = []
    for loops in (False, True):
        monkeypatch.setattr("bondgraph.compile.pipeline.is_large", lambda system, loops=loops: loops)
        result = compile_model(graph).simulate(1.0)
        assert result.failure is None and len(result.events) >= 10
        ends.append(result["m3.p"][-1])
    assert ends[0] == pytest.approx(ends[1], rel=1e-6)


@pytest.mark.parametrize("room", [text.HEAP, 0])
def test_threads_share_a_kernel_with_the_workspace_on_stack_or_heap(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "HEAP", room)
    system = equations(chain(100, cubic=True).freeze())
    kernels, _ = in_loops(system, machine_code=True)
    x0, p0 = blocks(system)
    p = np.concatenate([p0, kernels["prepare"](p0)])
    states = [x0 + 0.1 * np.random.default_rng(k).normal(size=len(x0)) for k in range(8)]
    wanted = [kernels["rates"](0.0, x, p, np.zeros(0)) for x in states]

    def work(k: int) -> bool:
        x = np.tile(states[k], (200, 1))
        return bool(np.all(kernels["rates"].many(0.0, x, p, np.zeros(0)) == wanted[k]))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))


def test_deferred_routines_are_made_once_from_several_threads() -> None:
    compiled = compile_model(chain(300))
    x, m = compiled.initial()
    p = compiled.parameters()
    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(lambda name: getattr(compiled.program, name)(0.0, x, p, m), ["outputs", "jacobian"] * 3)
    assert np.array_equal(first, others[1]) and np.array_equal(others[0], others[2])
    with pytest.raises(KernelError):
        compiled.program.outputs(0.0, x[1:], p, m)


def test_a_stiff_chain_runs_with_sparse_algebra() -> None:
    compiled = compile_model(chain(300, stiffness=1e6))
    result = compiled.simulate(0.05, method="rodas5p", linear="sparse", rtol=1e-6)
    assert result.failure is None
    reference = compiled.simulate(0.05, method="dop853", rtol=1e-9)
    assert result["k5.q"][-1] == pytest.approx(reference["k5.q"][-1], abs=1e-6)


def test_equal_parts_share_their_kernels_however_many_there_are() -> None:
    """Variables in a formula's closure are compared by value, so contacts of equal surfaces share kernels too."""

    def kinds(balls: int) -> int:
        graph, floor = Graph("balls"), ground("floor", surface=plane())
        graph.add(floor)
        for k in range(balls):
            at = (0.3 * k, 0.0, 0.3)
            ball = rigid_body(f"ball {k}", mass=0.1 + k, inertia=(1e-4,) * 3, position=at, surface=sphere(0.05))
            graph.add(ball)
            attach_contact(graph, contact(f"touch {k}", floor, ball, normal_stiffness=1e4 + k, normal_damping=5.0))
        made, _, differentiate = schedule_routines(equations(graph.freeze()))
        jacobian, _ = differentiate()
        assert jacobian is not None
        routines = (made.schedules["rates"](), made.schedules["guards"](), jacobian)
        return len({id(loop.kind) for routine in routines for loop in routine.loops})

    assert kinds(2) == kinds(4)


def test_routines_share_copies_of_passed_values():
    system = equations(chain(3).freeze())
    table = number_statements(system)
    states, shop = [table.numbers[state.name] for state in system.states], KernelCache(table)
    first = group_values(shop, [*states, states[0]])
    count = len(table.args)
    again = group_values(shop, [*states, states[0]])
    assert len(table.args) == count and again.results == first.results
    assert len(first.results) == len(states) + 1
