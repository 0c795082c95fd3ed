"""Start of a circuit: its operating point at t = 0 with capacitors open and inductors short, as in SPICE without UIC."""

from __future__ import annotations

from collections.abc import Mapping

from screwbond.models.netlist.cards import Card

from bondgraph import Graph, compile_model
from bondgraph.analysis import OperatingPoint, operating_point
from bondgraph.compile.compiled import Compiled
from bondgraph.errors import ModelError

_CURES = (
    "UIC on .tran, or uic=True of read_netlist: the run starts from the values of IC= and .ic, else from zero",
    "a resistor from the node to ground, or in the loop of inductors",
)


def operating_starts(card: Card, graph: Graph) -> tuple[Mapping[str, float], Mapping[str, str]]:
    """Return the charges and fluxes of a circuit at its operating point, by names such as "c1.q", and the states of its switches.

    Raises `ModelError` E653 unless there is exactly one operating point, and the errors of compiling.
    """
    compiled = compile_model(graph, backend="numpy", progress=False)
    modes: dict[str, str] = {}
    for _ in range(2 + 2 * len(compiled.model.automata)):
        point = _point(card, compiled, modes)
        changes = {
            switch: edge.target
            for switch, relay in compiled.model.automata.items()
            for edge in relay.transitions
            if edge.kind in point.due and edge.source == modes.get(switch, relay.initial)
        }
        if not changes:
            return dict(zip(point.states, point.x.tolist(), strict=True)), modes
        modes |= changes
    raise card.error("E653", f"no operating point: the switches {', '.join(changes)} toggle each other", _CURES[0])


def _point(card: Card, compiled: Compiled, modes: Mapping[str, str]) -> OperatingPoint:
    try:
        point = operating_point(compiled, modes=modes)
    except ModelError as error:
        problem = error.problems[0]
        raise card.error("E653", "the circuit has no operating point", *_CURES, why=problem.title) from None
    if point.undetermined:
        names = ", ".join(point.undetermined[0])
        why = f"nothing determines {names}: a node connected only to capacitors, or a loop of inductors"
        raise card.error("E653", "the circuit has no unique operating point", *_CURES, why=why)
    return point
