"""A move on the grid of a drawing changes the cost by the change of its part, in CPython as in machine code."""

import numpy as np
import pytest

from tests.inner.render import Board, Nesting, Noise, Prices, board, nesting, prices, sketch
from tests.render.graphs import hoist, random_graph, touching_bodies

MODELS = [hoist().freeze(), touching_bodies().freeze(), random_graph(0)]


def valid_cells(drawn, made, random):
    """Return cells in which every box contains only its own nodes, or None if none are found."""
    chains = [drawn.chain(i) for i in range(len(drawn.nodes))]
    order = sorted(range(len(chains)), key=lambda i: (chains[i], random.random()))
    cells = np.zeros((len(chains), 2))
    cells[order, 0] = np.arange(len(chains)) * random.integers(1, 3)
    cells[order, 1] = random.integers(0, random.choice([1, 4]), len(chains))
    cells = cells[:, :: random.choice([1, -1])].copy()
    return cells if made.are_valid(cells[None])[0] else None


@pytest.fixture(params=MODELS, ids=lambda model: model.name)
def drawing(request):
    drawn = sketch(request.param)
    made, random = Board(prices(drawn), nesting(drawn)), np.random.default_rng(3)
    tried = [valid_cells(drawn, made, random) for _ in range(60)]
    valid = [cells for cells in tried if cells is not None][:3]
    assert valid
    return made, valid


def test_a_move_changes_the_total_cost_by_the_change_of_its_part(drawing, monkeypatch):
    monkeypatch.setattr(board, "have_llvm", lambda: False)
    made, valid = drawing
    random = np.random.default_rng(5)
    for cells in valid:
        for node in random.permutation(len(cells))[:5].tolist():
            trials = np.repeat(cells[None], 12, axis=0)
            trials[:, node] += random.integers(-5, 6, (12, 2))
            for g in range(made._table.boxes):
                made._call(board.find_span, cells, g, node)
            free = [made._call(board.is_free, cells, node, *trial[node]) for trial in trials]
            parts = [made._call(board.node_cost, cells, node, *trial[node]) for trial in [cells, *trials]]
            assert np.array_equal(np.array(free) == 1, made.are_valid(trials))
            totals = made.total_costs(np.concatenate([cells[None], trials]))
            assert np.allclose(np.diff(parts), np.diff(totals), atol=1e-9)


def test_boxes_do_not_cross(monkeypatch):
    monkeypatch.setattr(board, "have_llvm", lambda: False)
    none = np.zeros(0, dtype=int)
    members, apart = (np.array([0, 1]), np.array([2, 3])), np.array([[False, True], [True, False]])
    made = Board(Prices(none, none, *[none.astype(float)] * 5, none), Nesting(members, ((0,), (0,), (1,), (1,)), apart))
    cells = np.array([(0.0, 0.0), (4.0, 0.0), (2.0, 1.0), (2.0, 3.0)])
    for y, free in ((4.0, True), (-1.0, False)):
        for g in (0, 1):
            made._call(board.find_span, cells, g, 3)
        moved = np.array([*cells[:3], (2.0, y)])
        assert bool(made._call(board.is_free, cells, 3, 2.0, y)) == bool(made.are_valid(moved[None])[0]) == free


def test_cpython_moves_as_machine_code_does(drawing, monkeypatch):
    made, valid = drawing
    nodes = range(len(valid[0]))

    def moved(heat):
        cells, noise = valid[0].copy(), Noise(2)
        for node in nodes:
            made.move(node, cells, heat, noise)
        return [*cells.flat, *made.total_costs(np.array(valid)), *made.lower_bounds(np.array(valid)), *noise.spread(1)]

    by_machine = moved(0.7), moved(0.0)
    monkeypatch.setattr(board, "have_llvm", lambda: False)
    assert (moved(0.7), moved(0.0)) == by_machine
