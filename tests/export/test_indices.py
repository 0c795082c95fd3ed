"""No symbol of an exported formula has two subscripts or two superscripts, which LaTeX rejects."""

import re

import pytest
from screwbond.models.chains import Chain, Link, ball_inertia, chain_graph

from bondgraph import J1, C, Graph, I, R, assign_causality
from screws.joints import prismatic, revolute
from tests.inner.compile import equations
from tests.inner.export import _aligned
from tests.inner.model import Op
from tests.systems import SYSTEMS

TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|[{}_^&]|\s+|.", re.DOTALL)


def doubled(text):
    tokens = [token for token in TOKEN.findall(text) if not token.isspace()]
    found = []

    def atom(k):
        if tokens[k] != "{":
            return k + 1
        k += 1
        while tokens[k] != "}":
            k = scripted(k)
        return k + 1

    def scripted(k):
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
    graph, law = Graph("own"), Op("law", lambda f, q: f * q * q, "#1_1 + #2_{2}^2 + #2^T")
    loops = []
    for k in (1, 2):
        inner, v = Graph(f"part {k}"), J1("v")
        inner.connect(v, C("c", capacitance=1.0)).connect(v, R("r", effort=law, signals=["c.q"])).connect(v, I("m", 1.0))
        loops.append(inner)
        graph.add(inner)
    return graph


MODELS = {"own": indexed_and_raised, "two arms": limited_arm, **SYSTEMS}


@pytest.mark.parametrize("name", MODELS)
def test_no_symbol_has_two_indices(name):
    model = MODELS[name]().freeze()
    written = _aligned(equations(model, assign_causality(model)), powers=True)
    assert len(written) > 200 and not doubled(written)
