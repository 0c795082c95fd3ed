"""Equal parts are drawn alike: their contents have the same layout, perhaps mirrored."""

import numpy as np
import pytest

from bondgraph import J0, J1, C, Graph, I, R, Se
from tests.inner.render import diagram


def wheel(name):
    graph, road, rim = Graph(name), J0("road"), J1("rim")
    graph.connect(Se("push", 1.0), rim).connect(rim, I("mass", 1.0)).connect(rim, road)
    graph.connect(road, C("tyre", capacitance=1.0)).connect(road, R("slip", 1.0))
    return graph.expose("hub", rim)


def car(wheels):
    graph, body = Graph("car"), J1("body")
    graph.connect(body, I("mass", 1.0))
    for k in range(wheels):
        graph.connect(body, wheel(f"wheel {k}").port("hub"))
    return graph.freeze()


def delta():
    from screwbond.models.delta import DeltaParameters, delta_graph

    return delta_graph(DeltaParameters.fit()).freeze()


MIRRORS = [np.array(each) for each in ((1, 1), (-1, 1), (1, -1), (-1, -1))]


@pytest.mark.parametrize(
    "model, parts",
    [(lambda: car(4), [f"wheel {k}" for k in range(4)]), (delta, ["arm 1", "arm 2", "arm 3"])],
    ids=["wheels", "delta arms"],
)
def test_equal_parts_are_congruent(model, parts):
    where = diagram(model(), folded=()).positions
    names = [name.removeprefix(f"{parts[0]}.") for name in where if name.startswith(f"{parts[0]}.")]
    inside = [np.array([where[f"{part}.{name}"] for name in names]) for part in parts]
    first = inside[0] - inside[0].mean(axis=0)
    for other in inside[1:]:
        own = other - other.mean(axis=0)
        assert min(np.abs(mirror * own - first).max() for mirror in MIRRORS) < 1e-6
