"""Blocks and formulas that cannot be computed: a minimal example of each error code."""

from __future__ import annotations

import random

import numpy as np

from bondgraph import GY, IC, MTF, TF, C, Ce, EulerJunction, I, R, Se, StateSpec, Transition, by_mode, signals
from tests.checks.small_graphs import Case, block, loop, rc, turned, with_automaton

FORMULAS: list[Case] = [
    # blocks
    ("E118", lambda: block([("x", lambda: 1.0, []), ("x", lambda: 2.0, [])]), ('block "b" has several definitions of x',)),
    ("E118", lambda: block([("x", lambda y: y, ["y"])]), ("uses but does not define y",)),
    ("E118", lambda: block([("x", lambda: 1.0, [])], states={"s": StateSpec(0.0)}), ("no rate for its state s",)),
    ("E118", lambda: block([("x", lambda: 1.0, [])], rates={"s": "x"}), ("a rate or update but no state s",)),
    ("E140", lambda: signals.summation("error", {}), ('summation "error" needs a list of inputs', "given: none")),
    ("E141", lambda: signals.summation("error", {"c.q": 2}), ('"c.q" has the sign 2', "gain")),
    ("E142", lambda: signals.lowpass("lag", "c.q", 0.0), ("time_constant must be positive", "given: 0.0")),
    ("E184", lambda: signals.delay("late", "c.q", "c.q"), ('delay "late" needs a number as its time', "time=0.1")),
    ("E143", lambda: signals.pid("control", "c.q", 1.0, kd=1.0), ("has kd but no filter_time",)),
    ("E144", lambda: signals.transfer_function("h", "c.q", [1.0, 0.0], [2.0]), ('"h" is not proper', "degree 1")),
    ("E145", lambda: signals.transfer_function("h", "c.q", [1.0], [0.0]), ("den is zero",)),
    ("E146", lambda: signals.table("f", "c.q", [1.0, 0.0], [1.0, 2.0]), ("finite and ascending", "1 is followed by 0")),
    ("E147", lambda: signals.table("f", "c.q", [0.0, 1.0], [1.0]), ("do not form a table", "(2,)", "(1,)")),
    ("E148", lambda: signals.limiter("limit", "c.q", 2.0, 1.0), ("lowest is above highest",)),
    ("E149", lambda: signals.logic("l", "xor", ["a.y", "b.y"]), ("'xor'", '"and", "or" and "not"')),
    ("E180", lambda: loop(Se("u", 1.0), I("m", 1.0), R("r", flow=signals.curve([0, 1], [0, 1]))), ('R "r"', "beyond 0 and 1")),
    ("E181", lambda: signals.curve([0, 1, 2], [0, 1, 0], outside="periodic").integral().integral(), ("grows by 1",)),
    ("E182", lambda: signals.noise("n", 1.0, 1e-3, seed=-1), ('noise "n"', "given: -1")),
    # formulas
    ("E128", lambda: loop(I("m", 1.0, dimension=3), Se("u", 1.0)), ("u.effort", "shape ()", "needs (3,)")),
    (
        "E128",
        lambda: loop(C("c", capacitance=1.0, initial=[1.0, 2.0], dimension=3), R("r", 1.0)),
        ("start value of q has shape (2,)", "dimension 3"),
    ),
    (
        "E128",
        lambda: loop(C("c", capacitance=1.0, dimension=3), R("r", np.eye(2), dimension=3)),
        ('R "r": resistance has shape (2, 2)',),
    ),
    ("E128", lambda: TF("t", np.zeros((2, 2, 2))), ("ratio has shape (2, 2, 2)",)),
    ("E128", lambda: GY("g", [1.0, 2.0]), ("ratio has shape (2,)", "(n1, n2)")),
    ("E128", lambda: loop(I("m", 1.0, dimension=2), R("r", effort=lambda f: f[0])), ('R "r"', "shape ()", "(2,)")),
    (
        "E128",
        lambda: block([("x", lambda: np.ones(2), [])], states={"s": StateSpec(0.0)}, rates={"s": "x"}),
        ('the rate of "b.s"', "(2,)"),
    ),
    ("E128", lambda: with_automaton(Transition("a", "b", lambda: np.ones(2), ())), ('automaton "relay"', "guard")),
    (
        "E128",
        lambda: with_automaton(Transition("a", "b", lambda t: t, ("time",), (("c.q", lambda: np.ones(2), ()),))),
        ('resets "c.q"',),
    ),
    ("E128", lambda: block([(("x", "y"), lambda: (1.0, 2.0, 3.0), [])]), ("3 results for 2 names",)),
    (
        "E128",
        lambda: loop(I("m", 1.0, dimension=2), turn := MTF("t", lambda: np.eye(2), signals=[])).connect(
            turn, C("c", capacitance=1.0)
        ),
        ("t.N has shape (2, 2), but needs ()", "dimensions=(n1, n2)"),
    ),
    ("E129", lambda: loop(I("m", 1.0), R("r", effort=lambda f, g: f * g)), ('R "r"', "fails", "takes 2 arguments (f, g)")),
    ("E129", lambda: loop(Se("u", 1.0), R("r", effort=lambda f: f / 0)), ('R "r"', "ZeroDivisionError")),
    (
        "E129",
        lambda: loop(Se("u", lambda q: q[0], signals="c.q"), C("c", capacitance=1.0)),
        ("component of c.q, which is a number",),
    ),
    ("E129", lambda: loop(C("c", energy=lambda q: q[0] ** 2), I("m", 1.0)), ("component of c.q, which is a number", "itself")),
    (
        "E129",
        lambda: rc().add(signals.sampled("law", lambda x, q: [x[0] + q, q], period=0.1, signals="c.q")),
        ("component of law.y or c.q, which are numbers", 'a start value with these components in block "law"'),
    ),
    ("E128", lambda: turned(), ('MTF "turn"', "are inconsistent", "matmul")),
    ("E129", lambda: loop(I("m", 1.0), Se("u", lambda: {}["speed"])), ('Se "u"', "KeyError")),
    ("E174", lambda: loop(I("m", 1.0), Se("u", lambda t: random.random() * t, signals=["time"])), ('Se "u"', "signals.noise")),
    (
        "E133",
        lambda: loop(I("m", 1.0, dimension=2), EulerJunction("e", lambda: np.eye(2), signals=[], dimension=2)),
        ('"e" is not skew-symmetric',),
    ),
    ("E135", lambda: IC("arm", inertia=lambda q: 1.0, form="newtonian"), ('IC "arm"', "'newtonian'", "lagrangian")),
    (
        "E136",
        lambda: loop(Se("e"), IC("arm", kinetic=lambda q, v: v**4)),
        ('IC "arm" is not quadratic', "0.2401 J at a velocity and 3.8416 J at twice the velocity"),
    ),
    ("E137", lambda: Ce("A", 0.0), ('Ce "A" has constant = 0.0', "positive")),
    ("E138", lambda: loop(R("r", 1.0)).replace("r", TF("t", 2.0)), ("ports of the old part: 1", "of the new part: 1, 2")),
    ("E138", lambda: loop(R("r", 1.0)).replace("r", R("s", 1.0)), ('"r" cannot be replaced by "s"', "the names differ")),
    ("E138", lambda: loop(R("drag", 1.0)).replace("drg", R("r", 2.0)), ('no part "drg"', "similar names: drag")),
    ("E138", lambda: loop(R("drag", 1.0)).remove("drg"), ('no part "drg" to remove', "similar names: drag")),
    (
        "E139",
        lambda: with_automaton(Transition("a", "b", lambda t: t, ("time",))).replace("r", R("r", by_mode("relay", {"a": 1.0}))),
        ('R "r": the values of resistance by mode do not match the automaton "relay"', "values for: a", "states: a, b"),
    ),
]
