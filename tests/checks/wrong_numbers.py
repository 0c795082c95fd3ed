"""Invalid numbers for an element, with a minimal cause of each code."""

from __future__ import annotations

import pickle

from bondgraph import TF, C, Constraint, Diode, Friction, I, Parameter, R, Se, compile_model
from tests.checks.small_graphs import Case, at_switched, deep, loop, rod_turned_round

NUMBERS: list[Case] = [
    ("E113", lambda: loop(C("c", capacitance=float("nan")), R("r", 1.0)), ('C "c": capacitance is nan', "finite")),
    ("E113", lambda: loop(C("c", capacitance=1.0), R("r", float("inf"))), ('R "r": resistance is inf',)),
    ("E113", lambda: loop(C("c", capacitance=1.0, initial="full"), R("r", 1.0)), ("start value of q is 'full'",)),
    ("E113", lambda: loop(I("m", [1.0, Parameter(2.0, "g")]), R("r", 1.0)), ('all numbers in one unit: Parameter([...], "g")',)),
    ("E113", lambda: loop(C("c", capacitance=1.0, nominal=0.0), R("r", 1.0)), ("nominal size of q is 0.0", "positive")),
    ("E113", lambda: loop(C("c", capacitance=1.0), R("r", "50 N s/mm")), ('try: Parameter(50, "N s/mm")',)),
    ("E113", lambda: loop(C("c", capacitance="large"), R("r", 1.0)), ("capacitance is 'large'",)),
    ("E113", lambda: loop(C("c", capacitance=1.0), Se("u", [1.0, [2.0, 3.0]])), ('Se "u"',)),
    ("E113", lambda: loop(I("m", 1.0, dimension=2), TF("t", [float("nan"), 1.0], structural=True).port("1")), ('TF "t": ratio',)),
    ("E119", lambda: loop(I("m", -1.0), R("r", 1.0)), ('I "m": inertia must be positive', "given: -1.0")),
    ("E119", lambda: loop(I("m", 0.0), R("r", 1.0)), ('I "m": inertia must be positive',)),
    ("E119", lambda: loop(I("m", [1.0, 0.0]), R("r", 1.0)), ("inertia must be positive",)),
    ("E119", lambda: loop(I("m", [[1.0, 2.0], [2.0, 1.0]]), R("r", 1.0)), ("symmetric and positive definite",)),
    ("E119", lambda: loop(C("c", stiffness=[[1.0, 2.0], [0.0, 1.0]]), R("r", 1.0)), ("stiffness must be symmetric",)),
    ("E119", lambda: loop(C("c", stiffness=-1.0), R("r", 1.0)), ("stiffness must be positive or zero",)),
    ("E119", lambda: loop(C("c", capacitance=1.0), R("r", -1.0)), ('R "r": resistance must be positive or zero', "effort=")),
    (
        "E119",
        lambda: loop(C("c", capacitance=1.0, dimension=2), R("r", [[1.0, 0.5], [0.0, 1.0]])),
        ("resistance must be symmetric",),
    ),
    ("E151", lambda: loop(I("m", 1.0), Friction("f", -0.4)), ('friction "f": limit must be non-negative', "given: -0.4")),
    ("E151", lambda: loop(I("m", 1.0), Friction("f", 0.4, viscous=-1.0)), ("viscous must be non-negative",)),
    (
        "E151",
        lambda: loop(I("m", 1.0), Friction("f", 0.9, stick_limit=0.2)),
        ("stick_limit must be no less than limit", "stick_limit 0.2, limit 0.9"),
    ),
    ("E151", lambda: loop(I("m", 1.0), Constraint("c", restitution=1.5)), ("restitution must be between 0 and 1", "1.5")),
    ("E151", lambda: loop(I("m", 1.0), Constraint("c", alpha0=-1.0)), ('constraint "c": alpha0 must be non-negative',)),
    ("E151", lambda: loop(I("m", 1.0), Diode("d", alpha1=-1.0)), ('Diode "d": alpha1 must be non-negative',)),
    (
        "E153",
        lambda: loop(I("m", 1.0), R("r", effort=lambda f: f * f, passive=True)),
        ('R "r" is declared passive, but supplies power', "its power is -1e-18 W", "in the quadrants of positive power"),
    ),
    (
        "E153",
        lambda: loop(I("m", 1.0), R("r", effort=lambda f, t: t * f, signals=["time"], passive=True)),
        ("it reads signals", "leave `passive` out"),
    ),
    ("E154", lambda: at_switched(C("a", capacitance=1.0), C("b", capacitance=3.0)), ('X0 "x"', 'C "a"', 'C "b"', "a J0 instead")),
    (
        "E155",
        lambda: loop(I("m", 1.0), C("c", output=lambda q: 2 * q, energy=lambda q: q**4)),
        ('formulas of C "c"', "its effort by `output`", "the slope of its `energy`"),
    ),
    ("E156", lambda: loop(C("c", capacitance=1.0), R("r", Parameter(1.0, "kgg"))), ("'kgg'", "kg", "kg m^2/s")),
    (
        "E175",
        lambda: loop(C("c", capacitance=1.0, domain="electrical"), R("r", Parameter(1.0, "V"))),
        ("given: V; expected: Ohm", "kOhm"),
    ),
    (
        "E157",
        lambda: pickle.dumps(loop(C("c", capacitance=1.0), R("r", 1.0))),
        ("Graph cannot be pickled", "the Result of a run"),
    ),
    (
        "E170",
        lambda: loop(I("m", 1.0), C("c", capacitance=1.0), Constraint("k", position=lambda q: 2 * q, signals=["c.q"])),
        ('"k"',),
    ),
    ("E159", lambda: deep(200), ("nested", "side by side")),
    ("E161", lambda: loop(I("m", 1.0), Friction("f", 0.4, dimension=0)), ("whole number of directions", "dimension = 0")),
    ("E170", lambda: rod_turned_round(), ('constraint "rod"', 'MTF "J"', "row 0, column 1", "coordinates={'place.q': 2}")),
    (
        "E171",
        lambda: compile_model(
            loop(I("m", 1.0), C("c", capacitance=1.0)).start(lambda: (1.0,), [], ["c.q"]).start(lambda: (2.0,), [], ["c.q"])
        ),
        ('disagree on "c.q"', "among the arguments of the later function"),
    ),
]
