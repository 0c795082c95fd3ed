"""Letters and units belong to quantities that an element has, and letters are LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from bondgraph import GY, J0, J1, MGY, MTF, TF, Block, C, Constraint, Diode, Friction, Graph, I, ModelError, R, Se, Sf


def at_a_mass(part: Any) -> Graph:
    graph, v = Graph("cart"), J1("v")
    return graph.connect(v, I("mass", 1.0)).connect(v, R("rest", 1.0)).connect(v, part)


def between(part: Any, **domain: Any) -> Graph:
    """Connect a two-port between two masses."""
    graph, ends = Graph("pair"), (J1("a", **domain), J1("b", **domain))
    for end in ends:
        graph.connect(end, I(f"mass of {end.name}", 1.0)).connect(end, R(f"rest of {end.name}", 1.0))
    return graph.connect(ends[0], part).connect(part, ends[1])


def junction(make: Any, **symbols: Any) -> Graph:
    at, first = make("j", **symbols), J1("first")
    graph = Graph("junction").connect(Se("push", 1.0), first).connect(first, R("lead", 1.0)).connect(first, at)
    return graph.connect(at, I("mass", 1.0)).connect(at, R("loss", 1.0))


MAKERS: dict[str, Callable[..., Graph]] = {
    "C": lambda **s: at_a_mass(C("part", stiffness=2.0, **s)),
    "I": lambda **s: Graph("g").connect(Se("push", 1.0), I("part", 1.0, **s)),
    "R": lambda **s: at_a_mass(R("part", 2.0, **s)),
    "Se": lambda **s: at_a_mass(Se("part", 2.0, **s)),
    "Sf": lambda **s: Graph("g").connect(Sf("part", 2.0, **s), R("rest", 1.0)),
    "Friction": lambda **s: at_a_mass(Friction("part", 2.0, **s)),
    "Constraint": lambda **s: at_a_mass(Constraint("part", **s)),
    "TF": lambda **s: between(TF("part", 2.0, **s)),
    "GY": lambda **s: between(GY("part", 2.0, **s)),
    "MTF": lambda **s: between(MTF("part", lambda t: 2.0 + t, signals=["time"], **s)),
    "MGY": lambda **s: between(MGY("part", lambda t: 2.0 + t, signals=["time"], **s)),
    "J0": lambda **s: junction(J0, **s),
    "J1": lambda **s: junction(J1, **s),
    "Block": lambda **s: at_a_mass(R("r", 1.0)).add(Block("part", [("y", lambda t: t, ["u"])], inputs={"u": "time"}, **s)),
    "Diode": lambda **s: at_a_mass(Diode("part", **s)),
}
"""A model with an element that takes `symbols=`."""


@pytest.mark.parametrize("name", MAKERS)
def test_an_unknown_quantity_is_refused_and_each_advised_one_is_taken(name: str) -> None:
    MAKERS[name]().compile(backend="numpy")
    with pytest.raises(ModelError, match=r'E110 .* has no quantity "nothing"') as caught:
        MAKERS[name](symbols={"nothing": "z"}).compile(backend="numpy")
    (cure,) = caught.value.problems[0].cures
    words = re.findall(r'"(.+?)"', cure)
    assert words
    for word in words:
        MAKERS[name](symbols={word: "z"}).compile(backend="numpy")
        for letter in (3, "$F$", "F_{1", r"\input{secret}", "F % G"):
            with pytest.raises(ModelError, match=r"E110 the letter of .*\n.*LaTeX"):
                MAKERS[name](symbols={word: letter}).compile(backend="numpy")
