"""In diagrams of random graphs, bonds pass through no node, and names matter only through their widths."""

import re

import numpy as np
import pytest

from tests.inner.render import diagram
from tests.render.graphs import random_graph
from tests.render.printable import faults

ALLOWED_FAULT = re.compile("'.*' lies on the line of ")
"""A name that lies on a bond is allowed where many lines meet."""


@pytest.mark.parametrize(("first", "end"), [(0, 2), pytest.param(2, 10, marks=pytest.mark.thorough)])
def test_no_bond_passes_a_foreign_node(first, end):
    for seed in range(first, end):
        model = random_graph(seed)
        assert (seed, [fault for fault in faults(model, diagram(model)) if not ALLOWED_FAULT.match(fault)]) == (seed, [])


def lines(drawing):
    return sorted(re.findall(r'<path class="line" d="([^"]*)"', drawing.svg))


@pytest.mark.parametrize("seed", [1, 3, 6, 8, 11, 14])
def test_names_of_equal_length_do_not_count(seed):
    first = diagram(random_graph(seed))
    second = diagram(random_graph(seed, name=lambda words: words[::-1]))
    assert set(first.positions) != set(second.positions)
    assert np.allclose(sorted(first.positions.values()), sorted(second.positions.values()))
    assert lines(first) == lines(second)
