"""Errors in graphs, ends, names and switches, with a minimal cause of each code."""

from __future__ import annotations

from bondgraph import J0, J1, MTF, TF, X0, Automaton, Block, C, Constraint, Graph, I, R, Se, Transition
from tests.checks.small_graphs import Case, itself, loop, ports, rc, switched, twice_on, unfed, wired, with_automaton, with_part

GRAPHS: list[Case] = [
    # objects that are not graphs
    ("E100", lambda: Graph("model").connect("wall", J1("v")), ("'wall'", "str", "J1(...)")),
    ("E101", lambda: loop(C("c", capacitance=1.0), R("c", 1.0)), ('two parts of "model"', '"c"', "another name")),
    ("E101", lambda: with_automaton().add_automaton(Automaton("relay", ("a",), "a", ())), ("two automata", '"relay"')),
    ("E101", lambda: rc().export("x", "c.q").export("x", "c.effort"), ("two exported signals", '"x"')),
    ("E101", lambda: rc().expose("x", J1("loop")).expose("x", J1("loop")), ("two ports", '"x"')),
    (
        "E101",
        lambda: loop(C("c", output=lambda x, q: q * x, energy=lambda x, q: q * x * x / 2, parameters={"q": 1.0}), R("r", 1.0)),
        ('"c.q"', "another name"),
    ),
    ("E101", lambda: loop(I("m", 1.0), MTF("n", lambda N: N, parameters={"N": 1.0}, signals=[]).port("1")), ('"n.N"',)),
    ("E101", lambda: rc().export("time", "c.q") and rc().export("c.energy", "c.q"), ('"c.energy"',)),
    ("E102", lambda: loop(C("a.b", capacitance=1.0), R("r", 1.0)), ('"a.b"', "a dot separates")),
    ("E102", lambda: loop(C("", capacitance=1.0), R("r", 1.0)), ('""', "a name of letters")),
    ("E102", lambda: loop(C("-c", capacitance=1.0), R("r", 1.0)), ('"-c"',)),
    # ends of bonds
    (
        "E103",
        lambda: loop(C("c", capacitance=1.0, dimension=2), R("r", 1.0, dimension=3)),
        ('C "c" has dimension 2', 'R "r" has dimension 3', "TF"),
    ),
    ("E103", lambda: loop(C("c", capacitance=1.0, dimension=2), R("r", 1.0, domain="screw")), ("dimension 2", "dimension 6")),
    (
        "E103",
        lambda: loop(C("c", capacitance=1.0), R("r", 1.0, domain="screw", dimension=3)),
        ('R "r" has dimension 3', "screw have dimension 6"),
    ),
    ("E103", lambda: loop(C("c", capacitance=1.0, dimension=-1), R("r", 1.0)), ('C "c" has dimension -1',)),
    ("E103", lambda: loop(C("c", capacitance=1.0), R("r", 1.0, dimension=0)), ('R "r" has dimension 0',)),
    ("E104", lambda: loop(C("c", capacitance=1.0), R("r", 1.0), TF("t", 2.0)), ('port "2" of TF "t"', "connect it")),
    ("E104", lambda: rc().add(R("alone", 1.0)) and with_part(rc(), R("alone", 1.0)), ('R "alone"', "not connected")),
    (
        "E105",
        lambda: loop(C("c", capacitance=1.0, domain="electrical"), R("r", 1.0, domain="hydraulic")),
        ("domain electrical", "domain hydraulic", "loop -> r"),
    ),
    (
        "E106",
        lambda: loop(Se("u", lambda x: x, signals=["c.x"]), C("c", capacitance=1.0), R("r", 1.0)),
        ('"u" reads the signal "c.x"', "c.q"),
    ),
    ("E106", lambda: rc().export("x", "c.charge"), ("c.charge", "x")),
    ("E107", lambda: wired("v"), ('"part" has no signal input "v"', "declared inputs: u", "declare_input")),
    ("E108", unfed, ('signal input "u" of "part"', '"part.push" reads it', "graph.wire")),
    (
        "E108",
        lambda: Graph("top").declare_input("u").connect(Se("s", lambda u: u, signals=["u"]), R("r", 1.0)),
        ('of "top"', '"s" reads it'),
    ),
    ("E109", lambda: loop(C("c", capacitance=1.0, frame="tool"), R("r", 1.0, frame="world")), ("frame tool", "frame world")),
    ("E110", lambda: C("c"), ('C "c" needs exactly one of capacitance, compliance, stiffness, elastance, energy', "given: none")),
    ("E110", lambda: R("r", 1.0, conductance=2.0), ("given: resistance, conductance",)),
    ("E110", lambda: R("r", 1.0, effort=lambda f: f), ("given: resistance, effort",)),
    ("E110", lambda: I("i", inverse=lambda f: f), ("but no law to be inverted",)),
    ("E110", lambda: I("i", 2.0, signals=["time"]), ("cannot use signals",)),
    ("E110", lambda: Constraint("rod", coordinates=["x.q"]), ('Constraint "rod" has coordinates, but no position', "lambda q")),
    ("E111", lambda: ports("entry"), ('graph "part" has no port "exit"', "it exposes: entry", "expose")),
    ("E111", lambda: Graph("g").connect(Graph("part"), C("c", capacitance=1.0)), ("it exposes: nothing",)),
    ("E112", lambda: twice_on(R("r", 1.0)), ('R "r" has no free port', "0- or 1-junction")),
    ("E112", lambda: twice_on(TF("t", 1.0).port("1")), ('port "1" of TF "t" already has a bond', "free: 2")),
    (
        "E112",
        lambda: loop(C("c", capacitance=1.0), TF("t", 1.0).port("3")),
        ('TF "t" has no port "3"', "its ports: 1, 2", "name one"),
    ),
    (
        "E112",
        lambda: loop(C("c", capacitance=1.0), Block("b", [("x", lambda: 1.0, [])])),
        ('"b" is a signal block', "no power port"),
    ),
    ("E114", itself, ('graph "model" would contain itself',)),
    ("E100", lambda: Graph("g").between("battery", J0("b"), R("r", 1.0)), ("'battery' (str) is not part of a bond graph",)),
    ("E100", lambda: Graph("g").series(R("r", 1.0), 5.0), ("5.0 (float) is not part of a bond graph",)),
    ("E100", lambda: Graph("g").add(R("r", 1.0).port("1")), ('add takes parts, not the port "1" of "r"',)),
    ("E183", lambda: Graph("g", icon="circle"), ("icon that cannot be drawn: 'circle'", 'icon="M0 .5 L1 .5"')),
    ("E183", lambda: Graph("g", icon="M0 0 L2 1"), ("in a box from (0, 0) to (1, 1)",)),
    (
        "E178",
        lambda: Graph("g").between(J0("a"), J1("b"), R("r", 1.0)),
        ('given: "a", J0, "b", J1', "J1 for nodes of one velocity"),
    ),
    ("E178", lambda: Graph("g").between(None, None, R("r", 1.0)), ("ground alone",)),
    ("E178", lambda: Graph("g").between(Graph("a"), None, R("r", 1.0)), ('"a", a graph without this port',)),
    ("E178", lambda: Graph("g").series(), ("a loop without parts", 'series(Se("u", 1.0), R("r", 1.0))')),
    ("E126", lambda: Graph("g").connect(j := J1("j"), j), ('joins 1 "j" to itself', "bond: j -> j")),
    ("E126", lambda: Graph("g").connect((t := TF("t", 2.0)).port("2"), t.port("1")), ('joins TF "t" to itself',)),
    ("E127", lambda: R("r", 1.0, domain="elektrical"), ("'elektrical'", "electrical, translation")),
    (
        "E177",
        lambda: loop(C("c", capacitance=1.0), r := R("r", 1.0, heat=True)).connect(r.port("heat"), C("body", capacitance=1.0)),
        ('RS "r.heat"', "domain generic", 'domain="thermal"'),
    ),
    (
        "E179",
        lambda: Graph("g").connect(C("c", capacitance=1.0, domain="heat"), I("m", 1.0)),
        ('I "m"', "domain heat", "is already a power", 'domain="thermal"'),
    ),
    # names
    ("E150", lambda: I(3, 1.0), ("I 3: its name is of type int", "its name first")),
    ("E150", lambda: Graph(3), ("graph 3: its name is of type int",)),
    ("E150", lambda: Transition("a", "b", lambda t: t, 5), ("`signals` cannot be 5", "or several")),
    ("E150", lambda: X0("x", automaton="a", active=[1]), ("`active` cannot be [1]",)),
    ("E150", lambda: Automaton("relay", ("a", "b"), "a", "ab"), ("`transitions` cannot be 'ab'", "Transition(")),
    ("E150", lambda: Block("b", [], states=["phi"]), ("`states` cannot be ['phi']", 'states={"phi": 0.0}')),
    ("E152", lambda: Graph("empty"), ('graph "empty" has no elements', "graph.connect")),
    # switches
    ("E106", lambda: switched(["closed"], automaton="relais"), ('automaton "relais"', "relay.mode")),
    ("E115", lambda: loop(C("c", capacitance=1.0)), ('junction 1 "loop" has 1 bond', "fewer than two")),
    ("E116", lambda: switched(["shut"]), ('X0 "switch"', "active: shut", "states: open, closed")),
    ("E116", lambda: switched([]), ("active: none",)),
    ("E117", lambda: with_automaton(initial="c"), ('automaton "relay" uses unknown states: c', "its states: a, b")),
    ("E117", lambda: with_automaton(Transition("a", "z", lambda t: t, ("time",))), ("unknown states: z",)),
    ("E117", lambda: with_automaton(states=("a", "a")), ("duplicate states: a",)),
    (
        "E120",
        lambda: with_automaton(Transition("a", "b", lambda t: t, ("time",), (("c.effort", lambda: 0.0, ()),))),
        ('resets "c.effort", which is not a state', "from a to b"),
    ),
    (
        "E120",
        lambda: loop(I("m", 1.0), I("n", 1.0)).add_automaton(
            Automaton("relay", ("a",), "a", (Transition("a", "a", lambda t: t, ("time",), (("n.p", lambda: 0.0, ()),)),))
        ),
        ('resets "n.p", which is not an independent state', "it follows from m"),
    ),
    ("E106", lambda: with_automaton(Transition("a", "b", lambda t: t, ("tim",))), ('"relay" reads the signal "tim"', "time")),
]
