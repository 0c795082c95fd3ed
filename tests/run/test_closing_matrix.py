"""Uncoupled constraints form diagonal blocks of the constraint matrix."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import IC, J1, Constraint, Graph, compile_model
from bondgraph.errors import RunEndedWarning
from screws.scalars import array, cos, sin
from tests.inner.run import ConstraintMatrix, RowScaling, constraint_matrix, diagonal_blocks


def cranks(starts: tuple[float, ...]) -> Graph:
    """Return a mechanism of two cranks and a coupler for each start; it folds flat at an angle of pi."""
    graph = Graph("cranks")

    def closed(q):
        first = [cos(q[0]) - q[2], sin(q[0]) - q[3]]
        return array([*first, 1.0 + cos(q[1]) - q[2] - cos(q[4]), sin(q[1]) - q[3] - sin(q[4])])

    for k, start in enumerate(starts):
        v = J1(f"v{k}", dimension=5)
        place = [start, start, np.cos(start), np.sin(start), 0.0]
        kinetic = lambda q, v: (v @ v) / 2  # noqa: E731
        graph.connect(
            v, IC(f"parts{k}", kinetic=kinetic, position=place, velocity=[1.0, 1.0, -np.sin(start), np.cos(start), 0.0])
        )
        graph.connect(v, Constraint(f"hinges{k}", position=closed, coordinates={f"parts{k}.q": 5}, dimension=4))
    return graph


@pytest.mark.parametrize("room", [1, 100, 4_000_000])
def test_eigenvalues_by_blocks_are_those_of_the_full_matrix(monkeypatch, room):
    monkeypatch.setattr(constraint_matrix, "MAX_NUMBERS", room)
    compiled = compile_model(cranks((0.3, 0.9, 1.7)), backend="numpy")
    x, m = compiled.initial()
    closures = ConstraintMatrix(compiled.program, compiled.parameters())
    assert [len(part.indices) for part in closures.blocks] == [4, 4, 4]
    states = x + 1e-2 * np.random.default_rng(1).normal(size=(7, len(x)))
    entries, _, _ = closures.at_samples(np.zeros(7), states, np.tile(m, (7, 1)))
    sizes = RowScaling(np.linspace(0.5, 2.0, 12), np.full(12, -1.0))
    full = np.linalg.eigvalsh(sizes.scaled(closures.full.dense_of(entries)))
    np.testing.assert_allclose(closures.eigenvalues(entries, sizes), full, rtol=0.0, atol=1e-13 * full.max())


def test_islands_are_found_whatever_ties_them():
    rows, columns = np.array([0, 5, 3, 2, 9, 8]), np.array([5, 3, 7, 2, 8, 1])
    parts = diagonal_blocks(10, rows, columns)
    assert [part.indices.tolist() for part in parts] == [[0, 3, 5, 7], [1, 8, 9], [2], [4], [6]]
    assert sorted(np.concatenate([part.entries for part in parts]).tolist()) == list(range(6))


def test_the_one_that_folds_flat_among_others_is_named():
    compiled = compile_model(cranks((0.5, np.pi - 0.3, 1.0)))
    with pytest.warns(RunEndedWarning, match="singular position"):
        run = compiled.simulate(0.5, progress=False)
    assert '"hinges1"' in run.failure.reason
    assert '"hinges0"' not in run.failure.reason and '"hinges2"' not in run.failure.reason
