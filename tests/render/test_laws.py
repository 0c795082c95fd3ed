"""Every example, script and model of a paper has a diagram that obeys the laws of diagrams."""

import dataclasses
import random
import re
import runpy
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from bondgraph import Graph
from tests.inner.render import diagram, search
from tests.render.graphs import chain, hoist, touching_bodies
from tests.render.printable import faults

HERE = Path(__file__).parents[2]
SCRIPTS = [*sorted(HERE.glob("examples/*.py")), *sorted(HERE.glob("tests/front_door/scripts/*.py"))]


class Frozen(Exception): ...


def graph_of(script):
    found = []
    freeze = Graph.freeze

    def caught(graph):
        found.append(freeze(graph))
        raise Frozen

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Graph, "freeze", caught)
        patch.setattr("sys.argv", [str(script)])
        with pytest.raises(Frozen):
            runpy.run_path(str(script), run_name="__main__")
    return found[0]


def faults_of(script):
    model = graph_of(script)
    return faults(model, diagram(model))


@pytest.fixture(scope="module")
def fresh():
    """Yield a pool of one new process, because a script compiles nothing in the test process if its models are cached there."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield pool


@pytest.mark.thorough
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_diagrams_of_scripts_can_be_read(script, fresh):
    assert fresh.submit(faults_of, script).result() == []


def delta():
    from screwbond.models.delta import DeltaParameters, delta_graph

    return delta_graph(DeltaParameters.fit()).freeze()


def hand():
    from screwbond.models.hand import Hand

    return Hand().graph().freeze()


def maze():
    from screwbond.models.maze import maze_graph

    return maze_graph().freeze()


def eggs():
    from examples.rolling_eggs import build

    return build()[0].freeze()


FINGERS = ("finger 0", "finger 1", "finger 2")
# The scripts draw the whole delta robot, the hand, and all of the eggs.
DRAWN = {
    "delta, one arm": (delta, {"folded": ("arm 2", "arm 3")}),
    "delta, folded": (delta, {"folded": "all"}),
    "hand, fingers": (hand, {"unfolded": FINGERS}),
    "maze": (maze, {}),
    "contact": (eggs, {"folded": ("egg 1", "egg 2", "gravity")}),
    "hoist": (lambda: hoist().freeze(), {}),
    "chain": (lambda: chain(5).freeze(), {}),
    "bodies": (lambda: touching_bodies().freeze(), {}),
}


LARGE = ("hand, fingers", "bodies")


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.thorough) if name in LARGE else name for name in DRAWN])
def test_diagrams_of_models_can_be_read(name):
    make, given = DRAWN[name]
    model = make()
    assert faults(model, diagram(model, **given), **given) == []


# --- what a drawing depends on ---


def shuffled(model, seed):
    order = random.Random(seed)

    def mixed(things):
        return order.sample(list(things), len(things))

    return dataclasses.replace(
        model,
        elements=dict(mixed(model.elements.items())),
        bonds=tuple(mixed(model.bonds)),
        groups=tuple(mixed(model.groups)),
        automata=dict(mixed(model.automata.items())),
    )


def without_strokes(drawing):
    """Return the SVG without strokes, which may depend on the order of elements."""
    return re.sub(r'<path [^>]*class="stroke"/>', "", drawing.svg)


@pytest.mark.parametrize("name", ["delta, one arm", "bodies", "maze", "hoist"])
def test_the_order_in_which_a_model_was_built_does_not_count(name):
    make, given = DRAWN[name]
    model = make()
    first = diagram(model, **given)
    for seed in (1, 2):
        other = diagram(shuffled(model, seed), **given)
        assert other.positions == first.positions
        assert without_strokes(other) == without_strokes(first)


def test_cells_are_searched_for_once(monkeypatch):
    model = chain(2).freeze()
    monkeypatch.setattr(search, "_cache", known := {})
    first = diagram(model).svg
    assert known
    with monkeypatch.context() as patch:
        patch.setattr(search, "_improved", None)
        assert diagram(model).svg == first
        with pytest.raises(TypeError):
            diagram(chain(3).freeze())
    monkeypatch.setattr(search, "MAX_CACHED", 1)
    diagram(chain(1).freeze())
    assert len(known) == 1 and diagram(model).svg == first and len(known) == 1
