"""Box complementarity problems agree with enumeration of all modes and with least-norm solutions."""

from __future__ import annotations

import ctypes
import functools
import itertools

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from bondgraph import J0, J1, Friction, Graph, I, Se, compile_model
from bondgraph.export import c_run
from tests.inner.emit import compile_procedures, translate
from tests.inner.run import BoxOutcome, box_solver, box_table, friction_modes
from tests.twin_runs import compared


@functools.cache
def machine_code():
    return compile_procedures(translate([box_solver.solve], ["solve"]))


def posed(matrix, offset, lower, upper, status=0, weights=1.0, room=None):
    n = len(offset)
    table = box_table(room or n)
    table["n"] = n
    values = {"matrix": np.ravel(matrix), "offset": offset, "lower": lower, "upper": upper, "weights": weights}
    for name, value in values.items():
        table.arrays[name][: n * n if name == "matrix" else n] = value
    table.arrays["status"][:n] = status
    return table


def solved(*problem, **more):
    table = posed(*problem, **more)
    outcome = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(machine_code().address("solve"))(table.address)
    n = int(table["n"])
    return outcome, *(table.arrays[name][:n].copy() for name in ("y", "w", "status"))


def drawn(random, n, kind):
    rank = int(random.integers(1, n + 1))
    J = random.integers(-1, 2, (n, rank)).astype(float) if kind == 1 else random.normal(size=(n, n + 2 if kind == 0 else rank))
    matrix = J @ J.T
    if kind == 3:
        skew = random.normal(size=(n, n))
        matrix = matrix + skew - skew.T
    offset = 3.0 * (J @ random.normal(size=J.shape[1]) if random.random() < 0.5 else random.normal(size=n))
    upper = np.ones(n) if random.random() < 0.3 else random.uniform(0.1, 2.0, n)
    return matrix, offset, -upper * random.choice([1.0, 0.5]), upper


def misfit(matrix, offset, lower, upper, y):
    """Return the natural residual of a problem, relative to its largest terms; zero exactly at a solution."""
    w = matrix @ y + offset
    return np.abs(y - np.clip(y - w, lower, upper)).max() / (np.abs(matrix) @ np.abs(y) + np.abs(offset) + 1e-300).max()


def test_random_problems_of_all_kinds_are_solved_from_any_modes():
    random = np.random.default_rng(4)
    for k in range(400):
        n = int(random.integers(1, 31))
        problem = drawn(random, n, k % 4)
        outcome, y, w, status = solved(*problem, status=random.integers(-1, 2, n))
        assert outcome == BoxOutcome.SOLVED and misfit(*problem, y) < 1e-13, k
        assert np.all((status == 0) | (y == np.where(status < 0, problem[2], problem[3])))
        np.testing.assert_allclose(w, problem[0] @ y + problem[1], atol=1e-13 * (1.0 + np.abs(problem[1]).max() * n))


def test_modes_are_the_only_ones_of_an_enumeration():
    random = np.random.default_rng(5)
    for _ in range(20):
        matrix, offset, lower, upper = drawn(random, 4, 0)
        fits = []
        for modes in itertools.product((-1, 0, 1), repeat=4):
            status = np.array(modes)
            y, basic = np.where(status < 0, lower, upper), status == 0
            y[basic] = np.linalg.solve(matrix[np.ix_(basic, basic)], -(offset + matrix[:, ~basic] @ y[~basic])[basic])
            w = matrix @ y + offset
            if np.all((y >= lower) & (y <= upper)) and np.all(np.where(basic, True, w * status <= 0.0)):
                fits.append((modes, y))
        ((modes, expected),) = fits
        _, y, _, status = solved(matrix, offset, lower, upper)
        assert tuple(status.view(np.int64)) == modes
        np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-13)


def test_solutions_without_active_bounds_have_the_least_norm():
    """Without active bounds, the solution has the least weighted norm, as given by a pseudo-inverse, in any unit of the
    weights."""
    random = np.random.default_rng(6)
    for n, rank in ((2, 1), (6, 2), (20, 7), (40, 39)):
        J, weights = random.normal(size=(n, rank)), random.uniform(0.5, 2.0, n)
        offset = J @ random.normal(size=rank)
        root = 1.0 / np.sqrt(weights)
        expected = root * (np.linalg.pinv((J @ J.T) * root * root[:, None], rcond=1e-10) @ (-root * offset))
        far = np.full(n, 10.0 * np.abs(expected).max())
        for size in (1.0, 1e-6, 1e6):
            outcome, y, _, status = solved(J @ J.T, offset, -far, far, weights=size * weights)
            assert outcome == BoxOutcome.SOLVED and not status.any()
            np.testing.assert_allclose(y, expected, rtol=1e-8, atol=1e-9 * np.abs(expected).max())


def test_order_senses_and_units_do_not_matter():
    random = np.random.default_rng(7)
    for k in range(20):
        n = 12
        matrix, offset, lower, upper = drawn(random, n, k % 3)
        weights = random.uniform(0.5, 2.0, n)
        _, y, _, _ = solved(matrix, offset, lower, upper, weights=weights)
        order, sense, unit = random.permutation(n), random.choice([-1.0, 1.0], n), 10.0 ** random.uniform(-4.0, 4.0, n)
        low, high = np.where(sense > 0.0, lower, -upper), np.where(sense > 0.0, upper, -lower)
        factor = sense * unit
        changed = (
            (matrix * factor * factor[:, None])[np.ix_(order, order)],
            (offset * factor)[order],
            (low / unit)[order],
            (high / unit)[order],
        )
        _, z, _, _ = solved(*changed, weights=(weights * unit**2)[order], status=random.integers(-1, 2, n))
        np.testing.assert_allclose(z, (y / factor)[order], rtol=1e-6, atol=0.0 if k % 3 == 0 else 1e-7 * np.abs(y / unit).max())


def test_bounds_may_be_infinite_and_a_contradiction_is_named():
    inf = np.inf
    for effort, flow in ((2.0, 1.0), (-2.0, 0.0)):
        outcome, y, _, _ = solved([[2.0]], [-effort], [0.0], [inf])
        assert outcome == BoxOutcome.SOLVED and y[0] == pytest.approx(flow, abs=1e-15)
    fault = posed(np.diag([2.0, 0.0, 1.0]), [-1.0, -1.0, 3.0], [0.0] * 3, [inf] * 3)
    with np.errstate(all="ignore"):
        outcome = box_solver.solve(fault.view())
    assert outcome == BoxOutcome.NO_SOLUTION and fault["fault"] == 1


@pytest.mark.parametrize("kind", range(4))
def test_cpython_and_machine_code_make_the_same_bits(kind):
    random = np.random.default_rng(kind)
    for n in (1, 3, 9):
        problem, status = drawn(random, n, kind), random.integers(-1, 2, n)
        by_python = posed(*problem, status=status, room=n + 2)
        with np.errstate(all="ignore"):
            outcome = box_solver.solve(by_python.view())
        other, y, w, modes = solved(*problem, status=status, room=n + 2)
        assert outcome == other
        for name, values in (("y", y), ("w", w), ("status", modes)):
            np.testing.assert_array_equal(by_python.arrays[name][:n], values)


# Rows of masses.


def row(count, seed, order=1, names=("{}", "{}")):
    random = np.random.default_rng(seed)
    masses, forces = random.uniform(0.5, 2.0, count), random.normal(size=count) * 2.0
    limits = random.uniform(0.3, 1.5, count + 1)
    graph, nodes = Graph("row"), [J1(f"v{k}", domain="translation") for k in range(count)]
    G = np.zeros((count + 1, count))
    for k, node in enumerate(nodes):
        graph.connect(node, I(f"m{k}", mass=masses[k])).connect(Se(f"F{k}", forces[k]), node)
    for k in range(count + 1)[::order]:
        friction = Friction(names[k % 2].format(f"c{k}"), limits[k])
        if 0 < k < count:
            slip = J0(f"slip{k}", domain="translation")
            graph.connect(nodes[k - 1], slip).connect(slip, nodes[k]).connect(slip, friction)
            G[k, k - 1], G[k, k] = 1.0, -1.0
        else:
            graph.connect(nodes[0 if k == 0 else -1], friction)
            G[k, 0 if k == 0 else -1] = 1.0
    return graph, (masses, forces, limits, G)


@pytest.mark.parametrize("count", [5, 20])
def test_a_row_of_masses_begins_to_move_in_one_instant_with_one_event_for_each_friction(count):
    """Accelerations satisfy Gauss's principle of least constraint, a bounded least-squares problem."""
    for seed in range(2):
        graph, (masses, forces, limits, G) = row(count, seed)
        root = np.sqrt(masses)
        answer = lsq_linear(G.T / root[:, None], forces / root, bounds=(-limits, limits), method="bvls", tol=1e-15)
        moving = (forces - G.T @ answer.x) / masses
        run = compile_model(graph, progress=False).simulate(1e-3, progress=False)
        ends = np.array([run[f"v{k}.flow"][-1] for k in range(count)]) / 1e-3
        np.testing.assert_allclose(ends, moving, atol=1e-9 * np.abs(moving).max())
        slipping = np.abs(G @ moving) > 1e-9
        first = run.events.times == 0.0
        assert run.ok and first.sum() == slipping.sum() > 0
        for other in (row(count, seed, order=-1)[0], row(count, seed, names=("z{}", "a{}"))[0]):
            again = compile_model(other, progress=False).simulate(1e-3, progress=False)
            assert (again.events.times == 0.0).sum() == slipping.sum()
            np.testing.assert_allclose([again[f"v{k}.flow"][-1] / 1e-3 for k in range(count)], ends, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("ratio", [1.0, 1.5])
def test_friction_that_sticks_more_than_it_slips_breaks_loose_one_by_one(ratio, monkeypatch):
    """Above the ratio 1, the problem is not monotone, since the first element to slip unloads the others."""
    graph, (_, _, limits, G) = row(5, 0)
    compiled, solve, problems = compile_model(graph, progress=False), friction_modes.solve, []
    stick = {f"c{k}.stick_limit": ratio * limit for k, limit in enumerate(limits)}
    compiled.simulate(1e-3, parameters=stick, progress=False)  # compile before the function is replaced in CPython
    monkeypatch.setattr(friction_modes, "solve", lambda box: problems.append(box) or solve(box))
    with compared():
        run = compiled.simulate(1e-3, parameters=stick, progress=False)
    assert run.ok and bool(problems) is (ratio == 1.0)
    efforts = np.array([run[f"c{k}.effort"][-1] for k in range(6)])
    slips = np.abs(G @ [run[f"v{k}.flow"][-1] for k in range(5)]) > 1e-9
    np.testing.assert_allclose(np.abs(efforts[slips]), limits[slips], rtol=1e-9)
    assert slips.any() and np.all(np.abs(efforts[~slips]) <= ratio * limits[~slips] * (1.0 + 1e-9))


def test_cpython_lanes_and_c_make_the_run_of_machine_code():
    compiled = compile_model(row(4, 3)[0], progress=False)
    with compared() as told:
        run = compiled.simulate(1.0, samples=0.1, progress=False)
    assert told["runs"] == 1 and len(run.events) == 5 and not run.statistics.events_in_python
    exported = c_run(compiled, 1.0, samples=0.1)
    assert exported.steps == run.statistics.steps and "k_boxes(" in exported.text
    x, m = compiled.initial()
    starts = x + np.linspace(0.0, 1.0, 9)[:, None] * (np.arange(len(x)) == 0)
    prepared = compiled.prepare_run(1.0, progress=False)
    alone, lanes = (prepared.run_many(compiled.parameters(), starts, m, lanes=lanes, threads=1) for lanes in (1, 4))
    assert alone.ok.all() and len(set(alone.rates)) > 1
    for name in ("x", "m", "events", "rates"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(lanes, name), err_msg=name)
