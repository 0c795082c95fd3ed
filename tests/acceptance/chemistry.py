"""Acceptance cases of nonlinear relations and chemistry: a diode, and reactions."""

from __future__ import annotations

import numpy as np

from bondgraph import J0, J1, TF, C, Ce, Graph, R, Re, Se
from bondgraph.analysis import linearise
from bondgraph.export import state_equations
from screws.scalars import exp
from tests.acceptance.entries import Entries, Found, at_end, compiled, joined, run

ENTRIES = Entries()


@ENTRIES.add("diode, resistor and capacitor in series")
def diode() -> Found:
    """While the capacitor is empty, the current i solves 100 i + nVt ln(1 + i / Is) = 1."""
    values = {"saturation": 1e-12, "thermal": 0.0258563}
    part = R("diode", flow=lambda e, i, v: i * (exp(e / v) - 1.0), parameters=values)
    graph = joined(J1("loop"), Se("u", 1.0), R("r", 100.0), part, C("c", capacitance=1e-6))
    result = run(graph, 1e-3, [0.0, 1e-3])
    return [(result["loop.flow"][0], 4.266602e-3, 6e-10), (result["c.effort"][-1], 0.538769, 6e-7)]


@ENTRIES.add("A + B <=> C")
def association() -> Found:
    graph, reaction, reactants = Graph("association"), Re("r"), J1("reactants")
    graph.connect(Ce("A", initial=1.0), reactants).connect(Ce("B", initial=2.0), reactants)
    graph.connect(reactants, reaction.port("1")).connect(reaction.port("2"), Ce("C", initial=3.0))
    model = compiled(graph)
    written = str(state_equations(model).equations["C.q"])
    return [(written == "A.q*B.q - C.q", True, 0.0), (at_end(graph, 3.0, "A.q", "B.q", "C.q"), [1.23607, 2.23607, 2.76393], 6e-6)]


@ENTRIES.add("reaction cycle X-Y-Z")
def cycle() -> Found:
    graph, nodes = Graph("cycle"), [J0(f"node {name}") for name in "XYZ"]
    for k, (name, node) in enumerate(zip("XYZ", nodes, strict=True)):
        reaction = Re(f"r{k + 1}", k + 1.0)
        graph.connect(node, Ce(name, k + 1.0, initial=1.0)).connect(node, reaction.port("1"))
        graph.connect(reaction.port("2"), nodes[(k + 1) % 3])
    model = compiled(graph)
    wanted = [[-4.0, 2.0, 9.0], [1.0, -6.0, 6.0], [3.0, 4.0, -15.0]]
    equations = state_equations(model, numbers=True).equations
    symbols = sorted(equations["X.q"].free_symbols, key=str)
    written = [[float(equations[f"{name}.q"].coeff(symbol)) for symbol in symbols] for name in "XYZ"]
    A = linearise(model).A
    order = [model.program.layout[f"{name}.q"].start for name in "XYZ"]
    return [(A[np.ix_(order, order)], wanted, 1e-13), (written, wanted, 0.0)]


@ENTRIES.add("A <=> 2B")
def dissociation() -> Found:
    reaction, two = Re("r"), TF("two", 2.0)
    graph = Graph("dissociation").connect(Ce("A", initial=1.0), reaction.port("1"))
    graph.connect(reaction.port("2"), two).connect(two, Ce("B", initial=0.0))
    result = run(graph, 1.0, [0.0, 1.0])
    return [([result["A.q"][-1], result["B.q"][-1]], [0.61969, 0.76062], 6e-6)]
