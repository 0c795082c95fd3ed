"""Texts of the kernel language by CPython and as machine code, to the bit: linear systems, coupling graphs."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from tests.inner.emit import address_of
from tests.inner.run import MatrixLayout, coupling_graph, layout_of, system
from tests.run.test_linear import called

EXTREMES = (0.0, -0.0, np.inf, np.nan, 5e-324, 1e300, 1e-200)


def bits(numbers: np.ndarray) -> bytes:
    """The numbers as bytes; all NaN are one."""
    return np.where(np.isnan(numbers), np.nan, numbers).tobytes() if numbers.dtype == float else numbers.tobytes()


def random_systems(kind: str):
    """Layouts and matrices with few diagonals or many, sound, singular, and with extreme numbers."""
    random = np.random.default_rng(7)
    for n in (1, 2, 3, 5, 9, 14):
        i, j = np.indices((n, n))
        for trial in range(4):
            width = (1, n, n // 2, 1)[trial]
            full = np.where(abs(i - j) <= width, random.normal(size=(n, n)), 0.0)
            if trial > 1:
                full = np.where(random.random((n, n)) < 0.2, random.choice(EXTREMES, (n, n)), full)
            rows, columns = np.nonzero(full)
            yield layout_of(n, rows, columns, kind), np.append(full[rows, columns], np.zeros(n * n)), random.normal(size=(2, n))


def solved(layout: MatrixLayout, entries: np.ndarray, right: np.ndarray, worth: np.ndarray, by_text: bool) -> list[object]:
    """All that the procedures of a system leave and return."""
    table = system.table_of(layout)
    s = table.view(system.System)
    if by_text:
        system.fill_system(s, entries, np.float64(0.3))
    else:
        called("fill_system", table.address, address_of(entries), 0.3)
    table.arrays["worth"][:], table.arrays["right"][:] = worth, right

    def done(step: str) -> bool:
        return bool(getattr(system, step)(s) if by_text else called(step, table.address))

    results: list[object] = [done("factor_system")]
    if not results[0]:
        results.append(done("has_negative_determinant"))
        done("solve_system")
    return [*results, *((name, bits(array)) for name, array in table.arrays.items())]


@pytest.mark.parametrize("kind", ["dense", "band", "sparse"])
def test_systems(kind):
    with np.errstate(all="ignore"):
        for layout, entries, (right, worth) in random_systems(kind):
            texts, machine = (solved(layout, entries, right, abs(worth), by_text) for by_text in (True, False))
            assert texts == machine


@pytest.mark.parametrize("density", [0.0, 0.1, 0.3, 1.0])
def test_coupling_graphs(density):
    random = np.random.default_rng(5)
    for n in (0, 1, 2, 5, 12):
        columns, rows = np.nonzero((random.random((n, n)) < density) & ~np.eye(n, dtype=bool))
        table = coupling_graph.graph_table(n, rows, columns)
        coupling_graph.search(table.view(coupling_graph.CouplingGraph))
        by_text, machine = coupling_graph.structure_from(table), coupling_graph.structure_of(n, rows, columns)
        assert all(np.array_equal(getattr(by_text, field.name), getattr(machine, field.name)) for field in fields(machine))
