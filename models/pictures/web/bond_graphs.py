"""Bond graph of a result as a drawing, with the power on every bond and the state of every switch over time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from screwbond.models.pictures.web.packing import Downsampling, EventRows, Packed

from bondgraph.model.laws import Junction
from bondgraph.model.model import Model
from bondgraph.render.diagram import diagram
from bondgraph.run.program.bonds import BondValues
from bondgraph.run.results.result import Result

MAX_NODES = 400
"""Largest number of nodes, with nested graphs folded, that is drawn."""

POWER_PERCENTILE = 99.0
"""Percentile of a bond's power that sets its largest width: a short impact does not thin all others."""


DRAWING_SIZE = 760.0, 310.0
"""Width and height of the drawing beside a scene, px, in a window of 1300 x 850."""

MIN_SCALE = 0.6
"""Smallest legible scale of a drawing."""

MAX_NODES_BESIDE = 20
"""Largest number of nodes that is legible beside a scene."""

MIN_BONDS = 2
"""Smallest number of bonds of a drawing with folded parts."""


def bond_graph_svg(result: Result, small: bool = False) -> tuple[str, str]:
    """Return the drawing as SVG and, if that is too small to be read beside a scene, one with nested graphs folded.

    Both are "" without the model, and if it is too large to be read or has no bonds, as folded free bodies. The second is "" if
    nothing needs folding.
    """
    model = result.program.model
    if model is None or not model.bonds:
        return "", ""
    inside = tuple(f"{path}." for path in model.groups)
    nodes = sum(not path.startswith(inside) for path in model.elements) + len(inside)
    if nodes > MAX_NODES:
        return "", ""
    full = diagram(model, title="", legend=False)
    if "data-bond=" not in full.svg:
        return "", ""
    if not small or min(DRAWING_SIZE[0] / full.width, DRAWING_SIZE[1] / full.height) >= MIN_SCALE:
        return full.svg, ""
    paths = _largest(model, full.positions)
    folded = diagram(model, title="", legend=False, folded=paths).svg if paths else ""
    return full.svg, folded if folded.count("data-bond=") >= MIN_BONDS else ""


def _largest(model: Model, shown: Collection[str]) -> tuple[str, ...]:
    """Return the outermost nested graphs with the most nodes, equally large ones together, whose folding leaves few nodes."""
    sizes = {path: sum(name.startswith(f"{path}.") for name in shown) for path in model.groups if "." not in path}
    folded: tuple[str, ...] = ()
    remaining = len(shown)
    for size in sorted({*sizes.values()} - {0, 1}, reverse=True):
        if remaining <= MAX_NODES_BESIDE:
            break
        paths = tuple(path for path in sizes if sizes[path] == size)
        folded, remaining = folded + paths, remaining - (size - 1) * len(paths)
    return folded


def pack_bonds(rows: EventRows, thin: Downsampling, packed: Packed, number: Callable[[str], int | None]) -> dict[str, Any]:
    """Return the data of bonds and switches for the page's script; `number` maps a quantity's name to its number, or None."""
    result = rows.result
    model = result.program.model
    if model is None:
        return {"bonds": [], "switches": [], "most_power": 0.0}
    bonds, most = [], []
    domains = {bond.name: bond.domain for bond in model.bonds}
    for bond in result.bonds:
        effort, flow, domain = number(bond.effort), number(bond.flow), domains[bond.name]
        if effort is None or flow is None:
            continue
        power = BondValues(rows.values(bond.effort), rows.values(bond.flow)).power
        samples = result.bond_values(bond.name).power
        sizes = np.abs(samples[np.isfinite(samples)])
        most.append(float(np.percentile(sizes, POWER_PERCENTILE)) or float(sizes.max()) if len(sizes) else 0.0)
        ends = {"name": bond.name, "tail": bond.tail, "head": bond.head}
        words = (domain.effort, domain.flow)
        bonds.append({**ends, "effort": effort, "flow": flow, "words": words, "power": packed.curve(thin.select(power))})
    switches = [
        {**switch, "mode": packed.curve(thin.select(rows.values(f"{name}.mode")))}
        for name, switches in _switches(model).items()
        if f"{name}.mode" in result
        for switch in switches
    ]
    return {"bonds": bonds, "switches": switches, "most_power": max(most, default=0.0)}


def _switches(model: Model) -> Mapping[str, list[dict[str, Any]]]:
    """Return automaton -> nodes of the drawing that show its state, with its states and which of them pass power."""
    nodes: dict[str, list[dict[str, Any]]] = {}
    for path, element in model.elements.items():
        if isinstance(element.law, Junction) and element.law.automaton is not None:
            states = model.automata[element.law.automaton].states
            on = [state in element.law.active for state in states]
            nodes.setdefault(element.law.automaton, []).append({"node": path, "states": states, "on": on})
    for path, automaton in model.automata.items():
        if path not in nodes and len(automaton.states) > 1:
            nodes[path] = [{"node": path, "states": automaton.states, "on": [True] * len(automaton.states)}]
    return nodes
