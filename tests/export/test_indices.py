"""No symbol of an exported formula has two subscripts or two superscripts, which LaTeX refuses."""

import re
from pathlib import Path

import pytest

from bondgraph import J1, C, Graph, I, R, assign_causality
from bondgraph.compile.pipeline import equations
from bondgraph.export.latex_lines import _aligned
from bondgraph.model.ops import Op
from examples import rolling_eggs
from models.chains import Chain, Link, ball_inertia, chain_graph
from models.delta import DeltaParameters, DeltaRobot, rigid_delta_graph, task_control
from models.delta.studies.soft_touch import touch_graph
from models.hand import Hand
from models.motion import axes, quintic
from models.two_bodies.graph import two_body_graph
from models.two_bodies.scenario import read_scenario
from screws.joints import prismatic, revolute

TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|[{}_^&]|\s+|.", re.DOTALL)


def doubled(text):
    """Pieces of LaTeX in which a second subscript or superscript follows the first on one symbol."""
    tokens = [token for token in TOKEN.findall(text) if not token.isspace()]
    found = []

    def atom(k):
        """Place after the atom at k: a group, or a token."""
        if tokens[k] != "{":
            return k + 1
        k += 1
        while tokens[k] != "}":
            k = scripted(k)
        return k + 1

    def scripted(k):
        """Place after the atom at k and its scripts."""
        start, seen, k = k, set(), atom(k)
        while k < len(tokens) and tokens[k] in "_^":
            if tokens[k] in seen:
                found.append("".join(tokens[start : k + 6]))
            seen.add(tokens[k])
            k = atom(k + 1)
        return k

    k = 0
    while k < len(tokens):
        k = scripted(k)
    return found


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("x_1_2", 1),
        (r"\left(q\right)_{\text{a b}}_1", 1),
        ("x^2^T", 1),
        ("x_{a^2_1}^T", 0),
        ("{x_1}_2", 0),
        (r"(x_1)_2 \_ \_", 0),
    ],
)
def test_the_search_itself(text, count):
    assert len(doubled(text)) == count


def limited_arm():
    body = ball_inertia(1.0, 0.1)
    links = [
        Link("upper", revolute((0, 0, 1)), body, limits=(-1.0, 1.0)),
        Link("lower", prismatic((1, 0, 0)), body, limits=(0.0, 0.5)),
    ]
    arms = [chain_graph(Chain(name, tuple(links)), limits="stop", stop_stiffness=10.0) for name in ("left", "right")]
    graph = Graph("two arms")
    for arm in arms:
        graph.add(arm)
    return graph


def indexed_and_raised():
    """A formula of a user that numbers and raises arguments which have indices already."""
    graph, law = Graph("own"), Op("law", lambda f, q: f * q * q, "#1_1 + #2_{2}^2 + #2^T")
    loops = []
    for k in (1, 2):
        inner, v = Graph(f"part {k}"), J1("v")
        inner.connect(v, C("c", capacitance=1.0)).connect(v, R("r", effort=law, signals=["c.q"])).connect(v, I("m", 1.0))
        loops.append(inner)
        graph.add(inner)
    return graph


def scenario():
    return two_body_graph(read_scenario(Path(__file__).parents[1] / "models" / "data" / "S1a.json"))


def controlled_delta():
    way = axes(quintic(0.0, 0.01, 0.0, 1.0), quintic(0.0, 0.0, 0.0, 1.0), quintic(0.45, 0.45, 0.0, 1.0))
    control = task_control(ROBOT, way, kp=25.0, kd=10.0)
    graph = DeltaRobot(ROBOT).graph(signals=control.torque)
    graph.add(*control.blocks)
    return graph


ROBOT = DeltaParameters.fit()
MODELS = {
    "own": indexed_and_raised,
    "two arms": limited_arm,
    "rolling eggs": lambda: rolling_eggs.build()[0],
    "two bodies": scenario,
    "hand": lambda: Hand().graph(),
    "delta": lambda: DeltaRobot(ROBOT).graph(),
    "delta, Hamilton": lambda: DeltaRobot(ROBOT, form="hamiltonian").graph(),
    "delta of rigid bodies": lambda: rigid_delta_graph(ROBOT, (0.7, 0.8, 0.9)),
    "delta under control": controlled_delta,
    "soft touch": lambda: touch_graph(ROBOT),
}


@pytest.mark.parametrize("name", MODELS)
def test_no_symbol_has_two_indices(name):
    model = MODELS[name]().freeze()
    written = _aligned(equations(model, assign_causality(model)), powers=True)
    assert len(written) > 200 and not doubled(written)
