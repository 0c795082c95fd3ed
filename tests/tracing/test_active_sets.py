"""One elimination for all modes equals separate eliminations."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from bondgraph import J0, J1, Automaton, C, Diode, Element, Friction, Graph, I, R, Se, Switch, Transition, compile_model
from screws.scalars import sin
from tests.inner.tracing import modewise


def chained(masses: Sequence[float], links: Sequence[tuple[int, int | None]], parts: Sequence, forces: Sequence) -> Graph:
    graph, v = Graph("chain"), [J1(f"v{i}", domain="translation") for i in range(len(masses))]
    for i, (mass, force) in enumerate(zip(masses, forces, strict=True)):
        source = Se(f"F{i}", force, signals="time") if callable(force) else Se(f"F{i}", force)
        graph.connect(v[i], I(f"m{i}", mass)).connect(source, v[i])
    for k, ((a, b), part) in enumerate(zip(links, parts, strict=True)):
        if b is None:
            graph.connect(v[a], part)
        else:
            between = J0(f"z{k}", domain="translation")
            graph.connect(v[a], between).connect(between, v[b]).connect(between, part)
    return graph


def row_of_locks(count: int, weights: np.ndarray, forces: np.ndarray, order: Sequence[int]) -> tuple[Graph, np.ndarray]:
    links = [(0, None), *((i, i + 1) for i in range(count - 2)), (count - 2, None)]
    locks = [Switch(f"s{k}", automaton=f"A{k}", closed="slips") for k in range(count)]
    graph = chained(weights, [links[k] for k in order], [locks[k] for k in order], list(forces))
    for i in range(count - 1):
        graph.connect(graph.parts[f"v{i}"], R(f"d{i}", 0.5))
    for k in range(count):
        edge = Transition("slips", "locked", lambda t, at=0.1 * (k + 1): t - at, "time")
        graph.add_automaton(Automaton(f"A{k}", ("slips", "locked"), "slips", edge))
    matrix = np.zeros((count - 1, count))
    for k, (a, b) in enumerate(links):
        matrix[a, k] = 1.0
        if b is not None:
            matrix[b, k] = -1.0
    return graph, np.linalg.pinv(matrix) @ forces


def test_locks_between_walls_share_by_least_norm_in_any_order() -> None:
    count = 9
    rng = np.random.default_rng(count)
    weights, forces = 10.0 ** rng.uniform(-1, 1, count - 1), rng.normal(size=count - 1)
    for order in (range(count), rng.permutation(count)):
        graph, least = row_of_locks(count, weights, forces, order)
        run = compile_model(graph, backend="numpy").simulate(0.1 * count + 0.5, samples=0.1, progress=False)
        assert run.ok
        shares = [run[f"s{k}.effort"][-1] for k in range(count)]
        np.testing.assert_allclose(shares, least, rtol=1e-10, atol=1e-12)
        marks = [run.indeterminate[f"s{k}.effort"] for k in range(count)]
        assert all(mark[-1] and not mark[0] for mark in marks)


def diode_star() -> Graph:
    graph, node, load = Graph("star"), J0("node", domain="electrical"), J1("load")
    for k in range(4):
        branch = J1(f"branch{k}")
        graph.connect(Se(f"u{k}", lambda t, k=k: sin(t - k * np.pi / 2), signals="time"), branch)
        graph.connect(branch, Diode(f"D{k}")).connect(branch, I(f"L{k}", 0.5 + k)).connect(branch, node)
    return graph.connect(node, load).connect(load, R("R", 1.0)).connect(load, I("L", 1.0))


def clutches() -> Graph:
    links = [(0, 1), (0, 1), (1, None)]
    parts = [Friction(f"f{k}", limit, viscous=0.1 * k) for k, limit in enumerate((1.0, 0.4, 0.5))]
    return chained([1.0, 2.0], links, parts, [lambda t: 3.0 * t, 0.3])


def ring() -> Graph:
    links = [(0, 1), (1, 2), (2, 0), (0, None)]
    parts = [*(Friction(f"f{k}", 1.0 + k) for k in range(2)), Diode("stop"), Switch("lock", automaton="A", closed="free")]
    graph = chained([1.0, 2.0, 0.5], links, parts, [0.3, -0.2, lambda t: sin(t)])
    return graph.add_automaton(
        Automaton("A", ("free", "locked"), "free", Transition("free", "locked", lambda t: t - 0.5, "time"))
    )


def network(*arms: tuple[str, str, list[Element]]) -> Graph:
    graph = Graph("network")
    nodes = {name: J0(name, domain="electrical") for name in sorted({name for arm in arms for name in arm[:2]} - {""})}
    for k, (tail, head, parts) in enumerate(arms):
        arm = J1(f"arm{k}", domain="electrical")
        if tail:
            graph.connect(nodes[tail], arm)
        if head:
            graph.connect(arm, nodes[head])
        for part in parts:
            graph.connect(arm, part)
    return graph


def supply(resistance: float = 0.5) -> tuple[str, str, list[Element]]:
    return "", "a", [Se("u", lambda t: -sin(t), signals="time"), *([R("R", resistance)] if resistance else [])]


def diode(name: str, tail: str, head: str) -> tuple[str, str, list[Element]]:
    return tail, head, [Diode(name)]


def coil_in_series() -> Graph:
    coil = ("a", "", [Diode("D1"), I("L", 0.4)])
    return network(supply(), coil, diode("D2", "", "b"), diode("D3", "b", "a"), diode("D4", "a", ""))


def capacitor_side_by_side() -> Graph:
    across = [diode(name, "a", "") for name in ("D1", "D2")]
    return network(supply(), ("a", "", [C("C", capacitance=0.3)]), *across, diode("D3", "a", "b"), diode("D4", "b", ""))


def coil_and_capacitor() -> Graph:
    coil = ("c", "", [Diode("D2"), I("L", 0.7)])
    others = [diode("D1", "a", "c"), diode("D3", "a", "b"), diode("D4", "b", "c"), diode("D5", "c", "")]
    return network(supply(), ("a", "c", [C("C", capacitance=0.3)]), coil, *others)


@pytest.mark.parametrize("make", [coil_in_series, capacitor_side_by_side, coil_and_capacitor])
def test_vanishing_quantities_and_rates_of_others_are_solved_together(
    make: Callable[[], Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    solve, found = modewise.solve_active_sets, list[bool]()

    def watched(*given: Any) -> Any:
        solution = solve(*given)
        found.append(solution is not None)
        return solution

    monkeypatch.setattr(modewise, "solve_active_sets", watched)
    one = compile_model(make(), backend="numpy")
    assert found and all(found)
    monkeypatch.setattr(modewise, "MAX_SEPARATE", 10**6)
    monkeypatch.setattr(modewise, "MAX_CASES", 10**6)
    each = compile_model(make(), backend="numpy")
    rng, names = np.random.default_rng(1), [u.value for u in one.system.unknowns] + [s.rate for s in one.system.states]
    for modes in itertools.product(range(2), repeat=len(one.system.modes)):
        x = rng.normal(size=len(one.system.initial_row))
        first, second = (model.evaluate(0.7, x, m=np.array(modes, dtype=float)) for model in (one, each))
        for name in names:
            np.testing.assert_allclose(first[name], second[name], rtol=1e-9, atol=1e-11, err_msg=f"{name} {modes}")


@pytest.mark.parametrize("make", [diode_star, clutches, ring])
def test_it_equals_one_elimination_for_each_mode(make, monkeypatch: pytest.MonkeyPatch) -> None:
    one = compile_model(make(), backend="numpy")
    monkeypatch.setattr(modewise, "MAX_SEPARATE", 10**6)
    monkeypatch.setattr(modewise, "MAX_CASES", 10**6)
    each = compile_model(make(), backend="numpy")
    rng, counts = np.random.default_rng(1), [len(mode.states) for mode in one.system.modes.values()]
    for modes in itertools.product(*map(range, counts)):
        x = rng.normal(size=len(one.system.initial_row))
        first, second = (model.evaluate(0.7, x, m=np.array(modes, dtype=float)) for model in (one, each))
        for state in one.system.states:
            np.testing.assert_allclose(first[state.rate], second[state.rate], rtol=1e-9, atol=1e-11, err_msg=str(modes))


def test_circuits_too_many_to_list_share_by_least_norm() -> None:
    """An effort is undetermined exactly if removing its element does not lower the rank of the momentum balance."""
    count, limits = 4, np.array([1.0, 2.0, 0.5, *[1.0] * 9, 3.0, 0.7])
    links = [*((i, i + 1 if i + 1 < count else None) for i in range(count) for _ in range(3)), (0, None), (2, None)]
    weights, forces = 10.0 ** np.linspace(-1.0, 1.0, count), [0.3, -0.2, 0.5, 0.1]
    parts = [Friction(f"f{k}", limit) for k, limit in enumerate(limits)]
    compiled = compile_model(chained(list(weights), links, parts, forces), backend="numpy")
    slips = np.zeros((len(links), count))
    for k, (a, b) in enumerate(links):
        slips[k, a], slips[k, (a if b is None else b)] = 1.0, 1.0 if b is None else -1.0
    names, states = [f"f{k}.effort" for k in range(len(links))], compiled.system.modes["f0.mode"].states
    (circuits,) = compiled.system.indeterminate
    assert len(compiled.report().splitlines()) < 100
    rng = np.random.default_rng(5)
    for part in (1.0, 0.9, 0.7, 0.5, 0.3, 0.3):
        holds = rng.random(len(links)) < part
        others = [k for k in range(3) if k != states.index("stick")]
        m = np.where(holds, states.index("stick"), rng.choice(others, len(links)))
        values = compiled.evaluate(0.0, np.zeros(count), m=m.astype(float))
        efforts = np.array([float(values[name]) for name in names])
        rates = np.array([float(values[state.rate]) for state in compiled.system.states])
        np.testing.assert_allclose(rates, forces - slips.T @ efforts, atol=1e-12)
        root = np.sqrt(limits + 1e-4 * limits.sum())[holds]  # shares in proportion to limits
        held = root[:, None] * slips[holds] / np.sqrt(weights)
        free = (forces - slips[~holds].T @ efforts[~holds]) / np.sqrt(weights)
        least = root * (np.linalg.pinv(held.T, rcond=1e-9) @ free)
        np.testing.assert_allclose(efforts[holds], least, rtol=1e-10, atol=1e-11)
        rank = np.linalg.matrix_rank(slips[holds])
        marks = circuits.marks(np.array([m, m]))
        for k, name in enumerate(names):
            alone = holds & (np.arange(len(links)) != k)
            assert marks[name].tolist() == [bool(holds[k]) and np.linalg.matrix_rank(slips[alone]) == rank] * 2, name
