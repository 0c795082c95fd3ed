"""Random linear graphs: compiled equations against a dense solve of all element relations, or a coded diagnosis."""

from __future__ import annotations

import numpy as np
import pytest
from tests.language.dense import rates_and_power

from bondgraph import GY, J0, J1, TF, C, EulerJunction, Graph, I, ModelError, R, Se, Sf, compile_model


def random_graph(rng: np.random.Generator, dimension: int) -> Graph:
    """A tree of junctions with transformers and gyrators on its branches and one-ports at its nodes, arrows at random."""
    graph = Graph("random")

    def join(a, b) -> None:
        if rng.random() < 0.5:
            graph.connect(a, b)
        else:
            graph.connect(b, a)

    def square() -> np.ndarray | float:
        return rng.uniform(0.5, 2.0) if dimension == 1 or rng.random() < 0.5 else rng.normal(size=(dimension, dimension))

    def positive() -> np.ndarray | float:
        if dimension == 1 or rng.random() < 0.3:
            return rng.uniform(0.5, 2.0)
        root = rng.normal(size=(dimension, dimension))
        return root @ root.T + np.eye(dimension)

    junctions = []
    for index in range(rng.integers(1, 7)):
        junction = (J0 if rng.random() < 0.5 else J1)(f"j{index}", dimension=dimension)
        if junctions:
            parent = junctions[rng.integers(len(junctions))]
            kind = rng.integers(4)
            if kind == 0:
                middle = TF(f"tf{index}", square())
                graph.connect(parent, middle)
                graph.connect(middle, junction)
            elif kind == 1:
                middle = GY(f"gy{index}", square())
                graph.connect(parent, middle)
                graph.connect(middle, junction)
            elif kind == 2:
                middle = TF(f"tf{index}", square())
                graph.connect(junction, middle.port("2"))
                graph.connect(middle.port("1"), parent)
            else:
                join(parent, junction)
        graph.add(junction)
        junctions.append(junction)
    for index in range(rng.integers(2, 12)):
        junction = junctions[rng.integers(len(junctions))]
        vector = (dimension,) if dimension > 1 else ()
        kind = rng.integers(6)
        if kind == 0:
            element = C(f"c{index}", stiffness=positive(), initial=rng.normal(size=vector))
        elif kind == 1:
            element = I(f"i{index}", positive(), initial=rng.normal(size=vector))
        elif kind == 2:
            element = R(f"r{index}", positive())
        elif kind == 3:
            element = Se(f"se{index}", rng.normal(size=vector))
        elif kind == 4:
            element = Sf(f"sf{index}", rng.normal(size=vector))
        elif dimension > 1:
            skew = rng.normal(size=(dimension, dimension))
            element = EulerJunction(f"e{index}", lambda m=skew - skew.T: m, signals=[], dimension=dimension)
        else:
            element = R(f"g{index}", conductance=rng.uniform(0.5, 2.0))
        join(junction, element)
    return graph


CODES = {"E115", "E203", "E204", "E205"}


def check(seed: int) -> str:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, int(rng.choice([1, 1, 3, 6])))
    try:
        compiled = compile_model(graph, backend="numpy")
    except ModelError as error:
        assert {problem.code for problem in error.problems} <= CODES, str(error)
        return error.problems[0].code
    x, m = compiled.initial()
    rates = compiled.program.rates(0.0, x, compiled.parameters(), m)
    states = {s.name.rpartition(".")[0]: np.asarray(s.initial) for s in compiled.system.states}
    expected, power = rates_and_power(compiled.model, states)
    flat = np.concatenate([expected[path] for path in states]) if states else np.zeros(0)
    scale = 1.0 + np.abs(flat).max(initial=0.0)
    np.testing.assert_allclose(rates, flat, atol=1e-10 * scale)
    assert power < 1e-9 * scale**2
    stored = compiled.program.energies
    if stored is not None:  # what the storages gain is what sources give less what resistors take
        env = compiled.evaluate()
        gain = sum(float(env[compiled.system.resolve(f"{path}.power")]) for path in states)
        given = sum(
            float(env[p.value]) * (1 if p.role == "supplied" else -1) for p in compiled.system.powers
        )
        assert gain == pytest.approx(given, abs=1e-9 * scale**2)
    return "ok"


@pytest.mark.parametrize("block", range(8))
def test_compiled_equations_equal_a_dense_solve_or_end_in_a_diagnosis(block: int) -> None:
    results = [check(seed) for seed in range(100 * block, 100 * block + 100)]
    assert results.count("ok") >= 10  # most random graphs have derivative causality or loops; enough must compile
