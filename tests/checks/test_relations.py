"""Formulas of one element are refused if they disagree anywhere by more than rounding errors."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import IC, J0, J1, Block, C, Graph, I, ModelError, R, by_mode, equations
from campaigns.graphs.drawn import asinh, cosh_less_one, sinh
from screws.scalars import absolute, cos, exp, log, sin, sqrt, tanh, where
from tests.inner.model import Automaton


def around(element) -> Graph:
    graph = Graph("tried")
    junction = J1("j") if element.kind in ("C", "R") else J0("j")
    n = element.ports[0].dimension or 1
    if element.kind == "R":
        graph.connect(junction, I("leader", 1.0, dimension=n))
    graph.add(Block("given", [], parameters={"s": 2.0}))
    graph.add_automaton(Automaton("gear", ("low", "high"), "low", ()))
    return graph.connect(junction, element).connect(junction, R("follower", 1.0, dimension=n))


SKEW = np.array([[2.0, 1.0], [0.0, 2.0]])
WRONG = {
    "another energy": (lambda: C("x", output=lambda q: 2 * q, energy=lambda q: q**4), "its effort by `output`"),
    "half an energy": (lambda: I("x", output=lambda p: 2 * p, energy=lambda p: p * p / 2), "slope of its `energy`"),
    "no effort at all": (lambda: C("x", output=lambda q: 0 * q, energy=lambda q: q * q), "is 0."),
    "right for small values": (lambda: C("x", output=lambda q: q, energy=lambda q: cosh_less_one(q)), "slope of its `energy`"),
    "a wrong parameter": (
        lambda: C("x", output=lambda q, k: k * q, energy=lambda q, k: q * q / 2, parameters={"k": 1.1}),
        "slope",
    ),
    "picofarads": (lambda: C("x", output=lambda q: q / 1e-12, energy=lambda q: q * q / 1e-12), "slope"),
    "a law that is not symmetric": (
        lambda: C("x", output=lambda q: SKEW @ q, energy=lambda q: q @ (SKEW @ q) / 2, dimension=2),
        "slope",
    ),
    "another inverse": (
        lambda: I("x", output=lambda p: 2 * p, energy=lambda p: p * p, inverse=lambda f: 3 * f),
        "`inverse` computes from it",
    ),
    "an inverse of twice the state": (
        lambda: C("x", output=tanh, energy=lambda q: log(exp(q) + exp(-q)), inverse=lambda e: log((1 + e) / (1 - e))),
        "`inverse` computes from it",
    ),
    "another signal": (lambda: C("x", output=lambda q, s: s * q, energy=lambda q, s: q * q / 2, signals=["given.s"]), "slope"),
    "one mode of two": (
        lambda: C(
            "x",
            output=lambda q, k: k * q,
            energy=lambda q, k: q * q / 2,
            parameters={"k": by_mode("gear", {"low": 1.0, "high": 3.0})},
        ),
        '"high" of "gear"',
    ),
    "two relations": (lambda: R("x", effort=lambda f: f * f * f, flow=lambda e: 2 * e), "its effort at the flow"),
    "an inertia that is not symmetric": (
        lambda: IC("x", inertia=lambda q: np.array([[1.0, q[0]], [0.0, 2.0]]), position=np.zeros(2)),
        "its inertia",
    ),
    "a bias that gives power": (
        lambda: IC("x", inertia=lambda q: 2 + q * q, bias=lambda q, v: 2 * q * v * v, position=0.0),
        "its `bias`",
    ),
    "an acceleration that gives power": (
        lambda: IC("x", inertia=lambda q: 2 + q * q, acceleration=lambda q, v, e: e / (2 + q * q), position=0.0),
        "its `acceleration`",
    ),
    "two kinetic energies": (
        lambda: IC(
            "x", inertia=lambda q: 2 + q * q, kinetic=lambda q, v: v * v, acceleration=lambda q, v, e: e / 2, position=0.3
        ),
        "its kinetic energy",
    ),
    "an acceleration without the weight": (
        lambda: IC(
            "x",
            kinetic=lambda q, v: v * v,
            potential=lambda q: 9.81 * (1 - cos(q)),
            acceleration=lambda q, v, e: e / 2,
            position=0.3,
        ),
        "its `acceleration`",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_formulas_that_contradict_each_other_are_refused(case: str) -> None:
    make, says = WRONG[case]
    with pytest.raises(ModelError, match="E155") as caught:
        equations(around(make()).freeze())
    (problem,) = caught.value.problems
    assert '"x"' in problem.title and " = " in problem.details[0] and problem.cures
    assert says in " ".join(problem.details)
    assert any("test_relations.py" in str(place) for place in problem.places)


RIGHT = {
    "sinh": lambda: C("x", output=sinh, energy=cosh_less_one, inverse=asinh),
    "log of what may be negative": lambda: C(
        "x",
        output=lambda q, m: m * (exp(q) - 1),
        energy=lambda q, m: m * (exp(q) - q - 1),
        inverse=lambda e, m: log(e / m + 1),
        parameters={"m": 2.0},
    ),
    "a junction of picocoulombs": lambda: C(
        "x",
        output=lambda q: exp(q / 1e-12) - 1,
        energy=lambda q: 1e-12 * exp(q / 1e-12) - q,
        inverse=lambda e: 1e-12 * log(e + 1),
    ),
    "saturation": lambda: C(
        "x", output=tanh, energy=lambda q: log(exp(q) + exp(-q)), inverse=lambda e: log((1 + e) / (1 - e)) / 2
    ),
    "the speed of light": lambda: I(
        "x", output=lambda p: p / sqrt(1 + p * p), energy=lambda p: sqrt(1 + p * p) - 1, inverse=lambda v: v / sqrt(1 - v * v)
    ),
    "one sided": lambda: C("x", output=lambda q: where(q < 0, 0.0, q), energy=lambda q: where(q < 0, 0.0, q * q / 2)),
    "a dead zone": lambda: C(
        "x", output=lambda q: where(absolute(q) < 1.0, 0.0, q), energy=lambda q: where(absolute(q) < 1.0, 0.0, q * q / 2)
    ),
    "constant effort": lambda: C("x", output=lambda q: 3.0 + 0 * q, energy=lambda q: 3 * q),
    "no number anywhere": lambda: C("x", output=lambda q: sqrt(-1 - q * q), energy=lambda q: sqrt(-1 - q * q)),
    "a diode": lambda: R("x", effort=lambda f: 0.025 * log(f / 1e-12 + 1), flow=lambda e: 1e-12 * (exp(e / 0.025) - 1)),
    "turbulence": lambda: R("x", effort=lambda f: f * f, flow=sqrt),
    "a mode": lambda: C(
        "x",
        output=lambda q, k: k * q,
        energy=lambda q, k: k * q * q / 2,
        parameters={"k": by_mode("gear", {"low": 1.0, "high": 3.0})},
    ),
    "an acceleration": lambda: IC(
        "x",
        inertia=lambda q: 2 + q * q,
        potential=lambda q: 9.81 * (1 - cos(q)),
        acceleration=lambda q, v, e: (e - q * v * v - 9.81 * sin(q)) / (2 + q * q),
        position=0.3,
    ),
    "a bias": lambda: IC("x", inertia=lambda q: 2 + q * q, bias=lambda q, v: q * v * v, position=0.0),
}


@pytest.mark.parametrize("case", RIGHT)
def test_formulas_that_agree_are_not(case: str) -> None:
    equations(around(RIGHT[case]()).freeze())
