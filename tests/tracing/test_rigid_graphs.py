"""Random dependent storage elements, loops and ideal constraints agree with the whole descriptor system N y' + M y = b.

The rates satisfy every row along the motion; det(s N + M) is proportional to det(s - J), so no motion is missing; and models
refused for lack of a unique solution have det(s N + M) = 0.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from scipy.linalg import eigvals

from bondgraph import J0, J1, TF, C, Compiled, Constraint, Graph, I, ModelError, R, Se, assign_causality, compile_model
from campaigns.graphs.descriptor import Descriptor
from campaigns.graphs.drawn import rigid_graph, switched_graph
from tests.inner.model import Model
from tests.inner.run import Bound

BLOCKS, PER_BLOCK = 1, 45
POINTS = (0.7 + 1.1j, -1.3 + 0.4j)


MOST = 4


def compiled_or_refused(seed: int, draw: Callable[[np.random.Generator], Graph] = rigid_graph) -> tuple[Compiled | None, str]:
    graph = draw(np.random.default_rng(seed))
    try:
        return compile_model(graph, backend="numpy"), "ok"
    except ModelError as error:
        codes = {problem.code for problem in error.problems}
        assert codes <= {"E154", "E203", "E206", "E207", "E208", "E209", "E212"}, str(error)
        assert all(problem.cures and problem.places for problem in error.problems), str(error)
        if codes & {"E206", "E208", "E212"}:
            model = graph.freeze()
            causality = assign_causality(model)
            wrong = [Descriptor(model, modes, causality).is_singular() for modes in modes_of(model) if named_in(error, modes)]
            assert any(wrong) and (all(wrong) or "E212" not in codes), str(error)
        return None, min(codes)


def named_in(error: ModelError, modes: Mapping[str, str]) -> bool:
    """Return True if the message of an E212 names these modes, or if another message names none."""
    problem = error.problems[0]
    named = [re.findall('"([^"]*)" of "([^"]*)"', line) for line in (problem.title, *problem.details)]
    named = [case for case in named if case]
    return not named or any(all(modes[name] == state for state, name in case) for case in named)


def modes_of(model: Model) -> list[dict[str, str]]:
    names = [automaton.name for automaton in model.automata.values()]
    states = itertools.product(*(automaton.states for automaton in model.automata.values()))
    return [dict(zip(names, combination, strict=True)) for combination in states]


def jacobian(compiled: Compiled, x: np.ndarray, m: np.ndarray) -> np.ndarray:
    if compiled.program.jacobian is None:  # no rate depends on a state
        return np.zeros((len(x), len(x)))
    return Bound(compiled.program, compiled.parameters()).jacobian(0.0, x, m)


def unknowns(compiled: Compiled, system: Descriptor, x: np.ndarray, m: np.ndarray) -> np.ndarray:
    env, y = compiled.evaluate(0.0, x, None, m), np.zeros(system.size)
    for bond in compiled.model.bonds:
        for kind, name in (("e", "effort"), ("f", "flow")):
            y[system.block(bond, kind)] = env[compiled.system.resolve(f"{bond.name}:{name}")]
    for path in system.held:
        letter = {"C": "q", "I": "p", "constraint": "h"}[compiled.model.elements[path].kind]
        y[system.state(path)] = env[compiled.system.resolve(f"{path}.{letter}")]
    return y


def check(compiled: Compiled, modes: Mapping[str, str], seed: int) -> None:
    automata = compiled.model.automata.values()
    m, p = np.array([float(a.states.index(modes[a.name])) for a in automata]), compiled.parameters()
    algebraic = {u.element for u in compiled.system.unknowns if u.algebraic}
    system = Descriptor(compiled.model, modes, compiled.causality, algebraic)
    if any(all(modes[a] == state for a, state in i.mode.items()) for i in compiled.system.indeterminate):
        assert system.is_singular()  # test_indeterminate.py checks the solutions of these
        return
    if system.is_singular():  # vanishing quantities had to be differentiated in this mode after all
        system = Descriptor(compiled.model, modes, compiled.causality)
    x = np.random.default_rng(seed).normal(size=compiled.program.states)
    rates = compiled.program.rates(0.0, x, p, m)
    y, later = unknowns(compiled, system, x, m), unknowns(compiled, system, x + rates, m)
    # y is affine in x: a step along the rates is as good as a derivative
    violation = system.N @ (later - y) + system.M @ y - system.b
    size = np.abs(system.N) @ (np.abs(later) + np.abs(y)) + np.abs(system.M) @ np.abs(y) + 1.0
    assert np.abs(violation / size).max() < 1e-11

    assert system.worst_power(y) < 1e-12  # junctions, two-ports and Euler junctions conserve power

    slopes = jacobian(compiled, x, m)
    ratios = []
    for s in POINTS:
        phase, size = system.determinant(s)
        own_phase, own_size = np.linalg.slogdet(s * np.eye(len(x)) - slopes)
        ratios.append((phase / own_phase, size - own_size))
    for ratio in ratios[1:]:
        assert ratio == pytest.approx(ratios[0], abs=1e-8)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_the_compiled_equations_are_the_whole_descriptor_system(block: int) -> None:
    kinds: Counter[str] = Counter()
    for seed in range(PER_BLOCK * block, PER_BLOCK * (block + 1)):
        compiled, code = compiled_or_refused(seed)
        kinds[code] += 1
        if compiled is None:
            continue
        elements = compiled.model.elements.values()
        kinds["loops"] += bool(compiled.system.loops)
        kinds["dependent"] += bool(compiled.causality.derivative)
        kinds["constraints"] += any(element.kind == "constraint" for element in elements)
        switched = any(element.kind in ("X0", "X1") for element in elements)
        for modes in modes_of(compiled.model)[: None if switched else 1]:
            check(compiled, modes, seed)
    # A switched junction that could open in several ways gives nothing to compare.
    told = PER_BLOCK - kinds["E154"]
    least = {"ok": 0.95, "loops": 0.2, "dependent": 0.35, "constraints": 0.1}
    assert all(kinds[kind] > part * told for kind, part in least.items()), kinds


@pytest.mark.parametrize("block", range(BLOCKS))
def test_they_are_so_in_every_mode_of_ideal_switches(block: int) -> None:
    kinds: Counter[str] = Counter()
    for seed in range(10_000 + PER_BLOCK * block, 10_000 + PER_BLOCK * (block + 1)):
        compiled, code = compiled_or_refused(seed, switched_graph)
        kinds[code] += 1
        if compiled is None:
            continue
        unknowns = compiled.system.unknowns
        for kind in ("constraint", "Sw", "friction"):
            kinds[kind] += any(compiled.model.elements[u.element].kind == kind for u in unknowns)
        kinds["algebraic"] += any(u.algebraic for u in unknowns)
        every = modes_of(compiled.model)
        some = np.random.default_rng(seed).permutation(len(every))[:MOST]
        for index in some:
            check(compiled, every[index], seed)
    least = {"ok": 0.5, "constraint": 0.1, "Sw": 0.1, "friction": 0.02, "algebraic": 0.05}
    assert all(kinds[kind] > part * PER_BLOCK for kind, part in least.items()), kinds


@pytest.mark.parametrize("seed", range(0, 80, 20))
def test_the_ledger_closes_over_a_short_run(seed: int) -> None:
    compiled, code = compiled_or_refused(seed)
    if compiled is None:
        assert code != "ok"
        return
    result = compiled.simulate(0.3, progress=False)
    assert result.ok, result.failure
    ledger = result.ledger
    size = 1e-3 + np.abs(ledger.stored).max() + np.abs(ledger.supplied).max() + np.abs(ledger.dissipated).max()
    assert np.abs(ledger.residual).max() < 1e-8 * size


def test_finite_generalised_eigenvalues_are_the_poles() -> None:
    """The pencils are small enough to be well conditioned, so the eigenvalues themselves agree."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        graph, v, w, gear = Graph("gears"), J1("v"), J1("w"), TF("gear", rng.uniform(0.3, 3.0))
        graph.connect(v, I("a", rng.uniform(1, 3))).connect(v, C("k", capacitance=rng.uniform(1, 3))).connect(v, R("r", 0.3))
        graph.connect(v, gear).connect(gear, w).connect(w, I("b", rng.uniform(1, 3))).connect(w, R("s", 0.2))
        graph.connect(Se("u", 1.0), v)
        compiled = compile_model(graph, backend="numpy")
        x, m = compiled.initial()
        system = Descriptor(compiled.model, {}, compiled.causality)
        values = eigvals(-system.M, system.N)
        finite = values[np.abs(values) < 1e3]
        found = np.linalg.eigvals(jacobian(compiled, x, m))
        np.testing.assert_allclose(sorted(finite, key=by_parts), sorted(found, key=by_parts), rtol=1e-9)


def by_parts(value: complex) -> tuple[float, float]:
    return round(value.real, 6), value.imag


def test_constraint_is_stabilised_as_written() -> None:
    """Two masses are held together, and h decays with the double pole -5."""
    graph, a, b, gap = Graph("pair"), J1("a"), J1("b"), J1("gap")
    force = J0("force")
    graph.connect(a, I("m1", 2.0, initial=2.0)).connect(b, I("m2", 3.0, initial=3.0))
    graph.connect(a, force).connect(force, b).connect(force, gap).connect(gap, Constraint("weld", initial=0.01))
    compiled = compile_model(graph)
    x, m = compiled.initial()
    poles = np.sort(np.linalg.eigvals(jacobian(compiled, x, m)).real)
    np.testing.assert_allclose(poles, [-5.0, -5.0, 0.0, 0.0][: len(poles)], atol=1e-6)
    result = compiled.simulate(2.0, progress=False)
    np.testing.assert_allclose(result["weld.h"], 0.01 * (1 + 5 * result.t) * np.exp(-5 * result.t), atol=1e-10)
    np.testing.assert_allclose(result["m1.p"] + result["m2.p"], 5.0, atol=1e-10)
