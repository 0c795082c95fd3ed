"""Run of a free body, for tests of files."""

from __future__ import annotations

import pytest
from screwbond.models import rigid_body

from bondgraph import Graph, simulate
from tests.inner.run import Result


@pytest.fixture(scope="session")
def tumbling() -> Result:
    graph = Graph("tumbling box")
    body = rigid_body(
        "box 1", mass=1.0, inertia=(1e-3, 2e-3, 3e-3), angular_velocity=(0.01, 10.0, 0.02), velocity=(0.1, 0.2, -0.3)
    )
    graph.add(body)
    return simulate(graph, 3.0, samples=0.01, progress=False)
