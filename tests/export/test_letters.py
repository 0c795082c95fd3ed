"""Letters of values are given by the user or made from names."""

from __future__ import annotations

import pytest

from bondgraph import J1, Block, C, Graph, Op, R, Se, compile_model
from bondgraph.export import document, latex
from tests.inner.export import _of_words


@pytest.mark.parametrize(
    ("name", "letter"),
    [
        ("centre of mass", r"c_{\mathrm{mass}}"),
        ("rate of turn", r"\omega_{\mathrm{turn}}"),
        ("zB", "z_{B}"),
        ("LC1", "L_{C1}"),
        ("T_in", r"T_{\mathrm{in}}"),
        ("inlet pressure drop", r"\mathrm{drop}_{\mathrm{inlet\ pressure}}"),
        ("filter_time", r"t_{\mathrm{filter}}"),
        ("kp breaks", r"t_{\mathrm{b},\mathrm{kp}}"),
        ("period", r"T_{\mathrm{s}}"),
        ("limit", r"\mathrm{limit}"),
        ("dissipation", r"\mathrm{diss}"),
        ("θ", r"\theta"),
        ("Größe_1", r"\mathrm{Größe}_{\mathrm{1}}"),
        ("#", r"\mathrm{x}"),
    ],
)
def test_letters_of_names(name: str, letter: str) -> None:
    assert _of_words(name).latex == letter


def test_parameters_have_symbols_of_their_own() -> None:
    graph, v = Graph("spring"), J1("v", domain="translation")
    graph.connect(v, C("spring", stiffness=3.0, symbols={"stiffness": r"\kappa"}))
    force = Op("force", lambda t, size: size * t, r"#2\,#1")
    given = {"parameters": {"size": 2.0}, "symbols": {"size": r"\beta"}}
    graph.add(Block("ramp", [("y", force, ["t", "size"])], inputs={"t": "time"}, **given))
    graph.connect(Se("push", lambda y: y, signals=["ramp.y"]), v).connect(v, R("drag", 1.0))
    text = document(compile_model(graph, backend="numpy"), style="markdown")
    assert r"| $\kappa$ | `spring.stiffness` | N/m |" in text and r"| $\beta$ | `ramp.size` | N/s |" in text
    assert r"\kappa" in latex(graph) and r"\beta" in latex(graph)
