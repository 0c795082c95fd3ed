"""Models without equations or solutions, and calls that a compiled model refuses, with a minimal example of each
error code."""

from __future__ import annotations

import math

import bondgraph
from bondgraph import J1, C, Constraint, Element, I, R, Se, Sf, Transition, compile_model
from screws.scalars import sign, sqrt
from tests.checks.small_graphs import (
    OWN_RATE,
    Case,
    answering,
    compiled,
    falling,
    loop,
    rc,
    rod,
    short_by_two,
    shorted,
    shorted_by,
    with_automaton,
)
from tests.inner.model import Port

EQUATIONS: list[Case] = [
    ("E203", lambda: loop(Sf("a", 1.0), Sf("b", 1.0), R("r", 1.0)), ('1-junction "loop"', 'Sf "a" and Sf "b"', "Se")),
    (
        "E204",
        lambda: loop(Sf("a", 1.0), Element("I", "m", OWN_RATE, (Port("1", 1),))),
        ('I "m" has derivative causality', 'Sf "a"'),
    ),
    (
        "E205",
        lambda: loop(I("m", 1.0), Constraint("stop"), Se("friction", lambda n: n * n, signals=["stop.effort"])),
        ("nonlinear", 'constraint "stop"', "C or I"),
    ),
    (
        "E206",
        lambda: loop(C("c", capacitance=1.0), R("r", 1.0), j := J1("j"), j),
        ("a ring of junctions", '1 "loop", 1 "j"', "one bond instead of two"),
    ),
    ("E206", lambda: answering(lambda y: y), ("without a unique solution", 'block "b"', "a state")),
    (
        "E206",
        lambda: loop(Se("u", 0.5), R("r", effort=lambda f: 0.0 * f)),
        ('R "r" has only the relation effort(flow), but its flow is needed', 'R("r", flow=...)', "a small storage"),
    ),
    (
        "E208",
        lambda: loop(I("m", 1.0), Constraint("one"), Constraint("two")),
        ("redundant constraints", 'constraint "two"', "leave one of them out", "C"),
    ),
    ("E207", lambda: loop(C("spring", capacitance=1.0), Constraint("stop")), ('C "spring"', 'constraint "stop"', "Sf of zero")),
    ("E208", lambda: loop(Sf("drive", 1.0), I("m", 1.0), Constraint("stop")), ('constraint "stop"',)),
    (
        "E209",
        lambda: loop(Sf("drive", lambda t: sign(t - 1.0), signals=["time"]), I("m", 1.0)),
        ("derivative of a discontinuous value is needed", 'I "m"', "an R between", "a ramp"),
    ),
    (
        "E217",
        lambda: with_automaton(*(Transition("a", to, lambda t: t - 1.0, "time") for to in ("b", "a"))),
        (
            'automaton "relay": two transitions from "a" have the same guard',
            '"b" and to "a"',
            "only one of these transitions",
            "minimum(",
        ),
    ),
    ("E211", lambda: falling("floor"), ('"floor" is not a Constraint', "name a Constraint")),
    ("E211", lambda: falling("stop"), ('Constraint "stop" has no restitution', "restitution=0.8")),
    ("E212", lambda: shorted(), ('mode "on" of "lever"', 'Sw "short"', "an R (a resistance) in series")),
    ("E212", lambda: shorted_by(3), ("3 modes have no", '"on" of "a": Sw "switch a"')),
    ("E212", lambda: shorted_by(11), ("11 modes have no valid causality", "and 3 more")),
    ("E220", short_by_two, ('in mode "on" of "a" and "on" of "b"', 'Sw "near"', "an R (a resistance)")),
    (
        "E213",
        lambda: loop(I("a", 1.0, initial=2.0), I("b", 1.0, initial=3.0)),
        ('"b" cannot start with p = 3', 'set by I "a"', "so its p is 2", "omit its start value"),
    ),
    (
        "E214",
        lambda: compile_model(shorted(C("c", capacitance=1.0, initial=3.0), initial="on")).simulate(1.0),
        ('Sw "short" cannot start closed with effort = 3 across it', "a start in the other mode"),
    ),
    (
        "E215",
        lambda: loop(Se("u", 100.0), R("line", 2.0), R("load", flow=lambda e: 1000.0 / e)),
        ('R "load" has 2 solutions', "load.effort = -72.3607", "load.effort = -27.6393", 'guess={"load.effort": -27.6393}'),
    ),
    (
        "E216",
        lambda: loop(Se("u", 1.0), R("line", 2.0), R("load", flow=lambda e: e**3 + e, guess={"position": 1.0})),
        ('"load.position" is not a value to guess', "load.effort"),
    ),
    ("E218", lambda: rod(2.0).simulate(1.0), ('"rod" is violated at the start', "3. at px.q = 2., py.q = 0.", "smooth")),
    (
        "E129",
        lambda: loop(Se("u", lambda t: 1.0 if t < 1.0 else 0.0, signals=["time"]), I("m", 1.0)),
        ('formula of Se "u" cannot be compiled', "branches", "screws.scalars"),
    ),
    (
        "E129",
        lambda: loop(Se("u", lambda t: math.sin(t), signals=["time"]), I("m", 1.0)),
        ('formula of Se "u" cannot be compiled', "screws.scalars"),
    ),
    (
        "E129",
        lambda: with_automaton(Transition("a", "b", lambda t: 1.0 if t > 1.0 else -1.0, ("time",))),
        ('formula of automaton "relay" cannot be compiled', "guard of its transition from a to b", "screws.scalars"),
    ),
    (
        "E129",
        lambda: with_automaton(Transition("a", "b", lambda t, q: t, ("time",))),
        ('automaton "relay": the guard of its transition from a to b fails', "a name for q"),
    ),
]


CALLS: list[Case] = [
    ("E100", lambda: bondgraph.simulate("graph", 1.0), ("takes a model, not str", "with a Graph")),
    ("E121", lambda: compiled().parameters({"c.q": 1.0}), ('"c.q" is not a parameter', "c.capacitance")),
    ("E122", lambda: compiled().initial({"r.resistance": 1.0}), ("neither a state nor an automaton, nor an effort", "c.q")),
    ("E123", lambda: compile_model(rc(), backend="fortran"), ('"fortran"', "llvm")),
    ("E124", lambda: compiled().parameters({"r.resistance": [1.0, 2.0]}), ('"r.resistance"', "(2,)")),
    (
        "E125",
        lambda: loop(I("m", 1.0), R("r", effort=lambda f: sqrt(f - 1.0))),
        ("not finite at the start", "effort of m.flow = 0"),
    ),
]
