"""A result in; its bond graph as a drawing, with the power on every bond and the state of every switch over time, out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from screwbond.models.pictures.web.packing import Packed
from screwbond.models.pictures.web.rows import Rows, Thinning

from bondgraph.model.laws import Junction
from bondgraph.model.model import Model
from bondgraph.render.diagram import diagram
from bondgraph.run.program.bonds import BondValues
from bondgraph.run.results.result import Result

HUGE = 400
"""Nodes from which nothing is drawn, all nested graphs folded."""

USUAL = 99.0
"""Percentile of a bond's power from which bands are no wider: an impact of a moment leaves the others a width."""


STRIP = 760.0, 310.0
"""Width and height of the drawing beside a scene, px, in a window of 1300 x 850."""

SMALLEST = 0.6
"""Of the size of a drawing: smaller ones cannot be read."""

FEW = 20
"""Nodes that can be read in the strip beside a scene."""

FEWEST = 2
"""Bonds that a drawing keeps, at least, when parts of it are folded: one tells nothing of a heap of bodies."""


def drawn(result: Result, beside: bool = False) -> tuple[str, str]:
    """The drawing as SVG, and, where that is too small to be read beside a scene, one with nested graphs folded.

    Both are "" where only the result of a run is and not its model, and where that is too large to be read or no bond is left
    in it: bodies of a pile, folded, have none. The second is "" where nothing is to be folded.
    """
    model = result.program.model
    if model is None or not model.bonds:
        return "", ""
    inside = tuple(f"{path}." for path in model.groups)
    nodes = sum(not path.startswith(inside) for path in model.elements) + len(inside)
    if nodes > HUGE:
        return "", ""
    whole = diagram(model, title="", legend=False)
    if "data-bond=" not in whole.svg:
        return "", ""
    if not beside or min(STRIP[0] / whole.width, STRIP[1] / whole.height) >= SMALLEST:
        return whole.svg, ""
    paths = _largest(model, whole.positions)
    brief = diagram(model, title="", legend=False, folded=paths).svg if paths else ""
    return whole.svg, brief if brief.count("data-bond=") >= FEWEST else ""


def _largest(model: Model, shown: Collection[str]) -> tuple[str, ...]:
    """The outermost nested graphs with most of what is shown, equally large ones together, until few nodes are left."""
    sizes = {path: sum(name.startswith(f"{path}.") for name in shown) for path in model.groups if "." not in path}
    found: tuple[str, ...] = ()
    left = len(shown)
    for size in sorted({*sizes.values()} - {0, 1}, reverse=True):
        if left <= FEW:
            break
        paths = tuple(path for path in sizes if sizes[path] == size)
        found, left = found + paths, left - (size - 1) * len(paths)
    return found


def pack_bonds(rows: Rows, thin: Thinning, packed: Packed, number: Callable[[str], int | None]) -> dict[str, Any]:
    """What the page's script reads of bonds and switches; `number` tells the number of a quantity by its name, if it is there."""
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
        most.append(float(np.percentile(sizes, USUAL)) or float(sizes.max()) if len(sizes) else 0.0)
        ends = {"name": bond.name, "tail": bond.tail, "head": bond.head}
        words = (domain.effort, domain.flow)
        bonds.append({**ends, "effort": effort, "flow": flow, "words": words, "power": packed.curve(thin.kept(power))})
    switches = [
        {**switch, "mode": packed.curve(thin.kept(rows.values(f"{name}.mode")))}
        for name, switches in _switches(model).items()
        if f"{name}.mode" in result
        for switch in switches
    ]
    return {"bonds": bonds, "switches": switches, "most_power": max(most, default=0.0)}


def _switches(model: Model) -> Mapping[str, list[dict[str, Any]]]:
    """Automaton -> the nodes of the drawing that show its state, with its states and whether each lets power through."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path, element in model.elements.items():
        if isinstance(element.law, Junction) and element.law.automaton is not None:
            states = model.automata[element.law.automaton].states
            on = [state in element.law.active for state in states]
            found.setdefault(element.law.automaton, []).append({"node": path, "states": states, "on": on})
    for path, automaton in model.automata.items():
        if path not in found and len(automaton.states) > 1:
            found[path] = [{"node": path, "states": automaton.states, "on": [True] * len(automaton.states)}]
    return found
