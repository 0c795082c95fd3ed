"""Random graphs: compiled equations against a dense solve of all element relations, or a coded diagnosis."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from bondgraph import Model, ModelError, assign_causality, compile_model, equations
from bondgraph.equations.execute import evaluate_statements
from bondgraph.equations.system import System
from tests.language.dense import rates_and_power
from tests.language.random_graphs import random_graph

BLOCKS, PER_BLOCK = 8, 250
DIAGNOSES = {"E203", "E204", "E205"}


def flat(arrays) -> np.ndarray:
    return np.concatenate([np.ravel(a) for a in arrays]) if arrays else np.zeros(0)


def check(seed: int) -> tuple[str, Model | None]:
    """Compare one graph in every mode; returns "ok" or the code of the diagnosis, and the model if it compiles."""
    graph = random_graph(np.random.default_rng(seed))
    try:
        model = graph.freeze()
        causality = assign_causality(model)
        system = equations(model, causality)
    except ModelError as error:
        codes = {problem.code for problem in error.problems}
        assert codes <= DIAGNOSES, str(error)
        assert all(problem.cures and problem.places for problem in error.problems), str(error)
        return min(codes), None
    switched = any(element.kind in ("X0", "X1") for element in model.elements.values())
    for index, mode in enumerate(("off", "half", "on") if switched else ("off",)):
        check_mode(model, system, causality, float(index), mode)
    return "ok", model


def check_mode(model: Model, system: System, causality, index: float, mode: str) -> None:
    states = {s.name.rpartition(".")[0]: np.asarray(s.initial) for s in system.states}
    x, p = flat(list(states.values())), flat(list(system.parameters.values()))
    env = evaluate_statements(system, 0.0, x, p, np.array([index]))
    found = flat([env[s.rate] for s in system.states])
    expected, power = rates_and_power(model, states, {"relay": mode}, causality)
    wanted = flat([expected[path] for path in states])
    scale = 1.0 + np.abs(wanted).max(initial=0.0)
    np.testing.assert_allclose(found, wanted, atol=1e-10 * scale)
    size = (
        1.0
        + sum(abs(float(env[q.value])) for q in system.powers)
        + sum(abs(env[system.resolve(f"{s}.power")]) for s in states)
    )
    assert power < 1e-10 * size  # junctions, two-ports and Euler junctions keep power
    gain = sum(float(env[system.resolve(f"{path}.power")]) for path in states)
    given = sum(float(env[q.value]) * (1 if q.role == "supplied" else -1) for q in system.powers)
    assert gain == pytest.approx(given, abs=1e-10 * size)  # storages gain what sources give less what resistors take


@pytest.mark.parametrize("block", range(BLOCKS))
def test_equations_equal_a_dense_solve_or_end_in_a_diagnosis(block: int) -> None:
    results = Counter(check(seed)[0] for seed in range(PER_BLOCK * block, PER_BLOCK * (block + 1)))
    assert results["ok"] > 0.5 * PER_BLOCK, results
    assert results.keys() >= {"E203", "E204", "E205"} or block, results  # diagnoses are exercised too


@pytest.mark.parametrize("seed", range(0, 400, 10))
def test_compiled_code_equals_the_equations(seed: int) -> None:
    """The kernels of both backends against the plain formulas, in every mode."""
    _, model = check(seed)
    if model is None:
        return
    numpy = compile_model(model, backend="numpy")
    x, _ = numpy.initial()
    p = numpy.parameters()
    backends = [numpy] if seed % 40 else [numpy, compile_model(model, backend="llvm")]
    for mode in range(3):
        m = np.array([float(mode)])
        env = numpy.evaluate(0.0, x, p, m)
        wanted = flat([env[s.rate] for s in numpy.system.states])
        for compiled in backends:
            np.testing.assert_allclose(compiled.program.rates(0.0, x, p, m), wanted, rtol=1e-9, atol=1e-10)
