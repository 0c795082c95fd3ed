"""Work grows in proportion to the number of rigidly coupled storage elements and of sections of a ladder of diodes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from benchmarks.coupled_models import clamped, ladder, levers, multiplier, star, tree
from bondgraph import J1, TF, C, Compiled, Graph, I, R, Se, compile_model
from tests.inner.compile import equations
from tests.inner.emit import numpy_kernel
from tests.inner.tape import Code, SpecialisedRoutine, listing
from tests.inner.tracing import active_sets, impulses, solve, trace_for_runs

ROWS = {"row": lambda k: k - 1, "tree": lambda k: (k - 1) // 2, "star": lambda _: 0}


def steps(graph: Graph) -> dict[str, int]:
    routines = trace_for_runs(equations(graph.freeze()))[0]
    return {name: 0 if isinstance(r, SpecialisedRoutine) else len(listing(r.reference).steps) for name, r in routines.items()}


@pytest.mark.parametrize("build", [levers, tree, star, ladder, clamped])
def test_the_steps_of_every_routine_grow_as_the_model_does(build: Callable[[int], Graph]) -> None:
    small, middle, large = (sum(steps(build(n)).values()) for n in (16, 32, 64))
    assert large - middle == pytest.approx(2 * (middle - small), rel=0.02)


def test_steps_of_a_multiplier_grow_with_its_stages() -> None:
    """A resistor before all stages makes the matrix of the diodes full, and some pivots depend on modes."""
    small, middle, large = (steps(multiplier(n)) for n in (10, 15, 20))
    for name in ("rates", "guards", "powers"):
        assert large[name] - middle[name] == pytest.approx(middle[name] - small[name], rel=0.02)
    for name in ("prepare", "reset", "push", "supply"):
        assert large[name] - middle[name] <= 1.4 * (middle[name] - small[name])  # a quadratic law
    assert small["rates"] < 2_500


def test_a_border_does_not_change_the_currents_of_a_multiplier(monkeypatch: pytest.MonkeyPatch) -> None:
    stages, rng = 10, np.random.default_rng(6)
    resistances = {"lead.resistance": 0.1, "load.resistance": 1e3}
    resistances |= {f"R{side} {k}.resistance": 0.01 for k in range(stages) for side in (1, 2)}
    bordered = compile_model(multiplier(stages), backend="numpy", progress=False)
    monkeypatch.setattr(active_sets, "bordered_equations", lambda *_: None)
    full = compile_model(multiplier(stages), backend="numpy", progress=False)
    x, m = full.initial()
    for spread in (0.0, 1.0, 4.0):
        changed = {name: size * math.exp(spread * rng.uniform(-1.0, 1.0)) for name, size in resistances.items()}
        at, modes = x + rng.uniform(-0.1, 0.1, len(x)), rng.integers(0, 2, len(m)).astype(float)
        for kernel in ("rates", "guards", "powers"):
            one, other = (getattr(each.program, kernel)(0.3, at, each.parameters(changed), modes) for each in (bordered, full))
            np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-12 * np.abs(other).max())


def test_a_resistance_that_is_zero_at_compilation_may_change() -> None:
    nominal = compile_model(multiplier(10), backend="numpy", progress=False)
    without = multiplier(10).replace("R1 3", R("R1 3", 0.0))
    changed = compile_model(without, backend="numpy", progress=False)
    (x, m), p = nominal.initial(), changed.parameters({"R1 3.resistance": 0.01})
    assert changed.program.layout.slots.keys() == nominal.program.layout.slots.keys()
    rates = changed.program.rates(0.3, x, p, np.ones(len(m)))
    np.testing.assert_allclose(rates, nominal.program.rates(0.3, x, nominal.parameters(), np.ones(len(m))), rtol=1e-9)


def coupled(parent: Callable[[int], int], numbers: np.ndarray, order: np.ndarray, names: str) -> Graph:
    graph, nodes = Graph("levers"), [J1(f"{names}{k}") for k in range(len(numbers))]
    for k in order:
        mass, ratio = numbers[k]
        graph.connect(nodes[k], I(f"{names} m{k}", mass))
        if k:
            lever = TF(f"{names} lever{k}", ratio)
            graph.connect(nodes[parent(int(k))], lever).connect(lever, nodes[k])
    graph.connect(Se("push", 1.5), nodes[0])
    return graph.connect(nodes[-1], C("spring", stiffness=7.0)).connect(nodes[-1], R("damper", 0.3))


def check_accelerations(compiled: Compiled, parent: Callable[[int], int], numbers: np.ndarray, names: str) -> None:
    """Check that the independent mass moves like the sum of all masses times squared ratios, under the sum of forces times
    ratios."""
    ways = [1.0]
    for k in range(1, len(numbers)):
        ways.append(ways[parent(k)] * numbers[k, 1])
    free = next(k for k in range(len(numbers)) if f"{names} m{k}.p" in compiled.states)
    rng, places = np.random.default_rng(5), compiled.program.layout
    at, stretched = places[f"{names} m{free}.p"].start, places["spring.q"].start
    for _ in range(5):
        x = rng.normal(size=2)
        speed = x[at] / numbers[free, 0] / ways[free]
        end = ways[-1] * speed
        force = math.fsum([1.5, -ways[-1] * 7.0 * x[stretched], -ways[-1] * 0.3 * end])
        whole = math.fsum(mass * way**2 for (mass, _), way in zip(numbers, ways, strict=True))
        rates = compiled.program.rates(0.0, x, compiled.parameters(), np.zeros(0))
        momentum = numbers[free, 0] * ways[free] * force / whole
        size = (1.5 + abs(ways[-1]) * (7.0 * abs(x[stretched]) + 0.3 * abs(end))) / abs(ways[free])
        assert abs(rates[at] - momentum) <= len(numbers) * np.finfo(float).eps * size
        assert rates[stretched] == pytest.approx(end, rel=len(numbers) * 4.0 * np.finfo(float).eps)


@pytest.mark.parametrize("shape", ROWS)
@pytest.mark.parametrize("spread", [0.1, 3.0])
def test_levers_in_any_order_and_under_any_names_move_as_one_mass(shape: str, spread: float) -> None:
    rng, n, parent = np.random.default_rng(len(shape)), 24, ROWS[shape]
    numbers = np.stack(
        [np.exp(spread * rng.normal(size=n)), np.exp(0.1 * rng.normal(size=n)) * rng.choice([-1.0, 1.0], n)], axis=1
    )
    for order, names in ((np.arange(n), "a"), (rng.permutation(n), "z")):
        compiled = compile_model(coupled(parent, numbers, order, names), backend="numpy", progress=False)
        check_accelerations(compiled, parent, numbers, names)


def test_units_do_not_decide_how_levers_are_solved() -> None:
    rng = np.random.default_rng(2)
    numbers = np.stack([rng.uniform(0.5, 2.0, 24), rng.uniform(0.8, 1.2, 24)], axis=1)
    small = numbers * [1e6, 1.0]
    counts = [steps(coupled(ROWS["tree"], given, np.arange(24), "a"))["rates"] for given in (numbers, small)]
    assert counts[0] == counts[1]
    check_accelerations(
        compile_model(coupled(ROWS["tree"], small, np.arange(24), "a"), backend="numpy"), ROWS["tree"], small, "a"
    )


def test_energy_of_levers_and_of_a_ladder_closes() -> None:
    for graph, supplied in ((tree(60), 1e-3), (ladder(20), 1.0), (ladder(20, 0.0), 1.0)):
        result = graph.compile(progress=False).simulate(0.5, progress=False, rtol=1e-8)
        assert result.ok, result.failure
        assert result.ledger.supplied[-1] > supplied
        assert abs(result.ledger.residual).max() < 1e-6 * result.ledger.supplied[-1]
    assert len(result.events) > 20
    lost = sum(event.lost for event in result.events)
    assert lost > 0.0  # charges after sharing


def presets(graph: Graph) -> tuple[dict[str, Code], Compiled]:
    routines = trace_for_runs(equations(graph.freeze()))[0]
    return {name: r for name, r in routines.items() if isinstance(r, SpecialisedRoutine)}, compile_model(graph, progress=False)


def test_events_with_a_shared_impulse_equal_single_events(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = ladder(10, 0.0)
    shared, compiled = presets(graph)
    assert {name.partition("_")[0] for name in shared} == {"reset", "push"}
    monkeypatch.setattr(impulses, "MIN_SHARING_EVENTS", 1000)
    alone, apart = presets(graph)
    assert not alone
    x, m = compiled.initial()
    p = compiled.parameters()
    rng = np.random.default_rng(3)
    for index, edge in enumerate(compiled.program.transitions):
        modes = rng.integers(0, 2, len(m)).astype(float)
        modes[edge.slot] = edge.source
        at = x * rng.uniform(0.5, 2.0, len(x))
        for ours, theirs in ((compiled.program.resets, apart.program.resets), (compiled.program.pushes, apart.program.pushes)):
            one, other = ours[index](0.0, at, p, modes), theirs[index](0.0, at, apart.parameters(), modes)
            np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-12 * np.abs(other).max())


@pytest.mark.parametrize("backend", ["llvm", "numpy"])
def test_a_shared_routine_in_every_form(backend: str) -> None:
    graph = ladder(10, 0.0)
    routines = presets(graph)[0]
    compiled = compile_model(graph, backend=backend, progress=False)
    rng = np.random.default_rng(4)
    x, m = compiled.initial()
    p, samples = compiled.parameters(), 3
    xs, ms = x * rng.uniform(0.5, 2.0, (samples, len(x))), rng.integers(0, 2, (samples, len(m))).astype(float)
    for index in (0, 7):
        for word, kernel in (("reset", compiled.program.resets[index]), ("push", compiled.program.pushes[index])):
            reference = numpy_kernel(routines[f"{word}_{index}"])
            expected = reference.many(np.zeros(samples), xs, p, ms)
            scale = np.abs(expected).max()
            np.testing.assert_allclose(kernel.many(np.zeros(samples), xs, p, ms), expected, rtol=0.0, atol=1e-13 * scale)
            np.testing.assert_allclose(kernel(0.0, xs[1], p, ms[1]), expected[1], rtol=0.0, atol=1e-13 * scale)


def test_code_for_others_has_steps_of_its_own_for_each_event() -> None:
    routines = presets(ladder(10, 0.0))[0]
    one = routines["reset_0"]
    assert isinstance(one, SpecialisedRoutine)
    own = listing(one.reference).steps
    assert len(own) < len(listing(one.shared).steps)
    mode = [name for name, _ in one.blocks].index("m")
    assert all(step[:3] != (1, mode, one.fixed[0]) for step in own)


def test_natural_sizes_do_not_depend_on_how_they_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, n = np.random.default_rng(0), 40
    places = {(i, j) for i in range(n) for j in (i, rng.integers(n), rng.integers(n))}
    samples = {place: np.exp(3.0 * rng.normal(size=4)) * rng.choice([-1.0, 1.0]) for place in sorted(places)}
    dense = solve.natural_sizes(samples, n, n)
    monkeypatch.setattr(solve, "MAX_DENSE_ENTRIES", 0)
    for one, other in zip(dense, solve.natural_sizes(samples, n, n), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    turned = {(i, j): 1e9 * v if i == 3 else v for (i, j), v in samples.items()}
    rows, columns = solve.natural_sizes(turned, n, n)
    np.testing.assert_allclose(np.outer(rows, columns)[3] * 1e9, np.outer(*dense)[3], rtol=1e-6)
