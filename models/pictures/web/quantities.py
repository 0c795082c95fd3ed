"""A result in; every quantity of it that a page can plot out, as curves over few enough times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from screwbond.models.pictures.web.packing import Packed
from screwbond.models.pictures.web.rows import Rows, Thinning

from bondgraph.errors import refusal
from bondgraph.model.laws import Storing
from bondgraph.run.program import Slot
from bondgraph.run.results.result import Result

NUMBERS = 450_000
"""Of curves that a page holds, about 1.2 MB."""

FEWEST = 150
"""Samples of a curve: a page has fewer curves before it has fewer of these."""

WIDEST = 7
"""Components of a quantity that is plotted; matrices are frames, and no plots."""

ROUNDING = 1e-9
"""Of the largest value of a unit: what is smaller all the time tells nothing."""


@dataclass(frozen=True, eq=False)
class Plottable:
    """What can be plotted, each course once: names by the place of the course, the name shown first; `most` numbers a sample."""

    names: Mapping[tuple[str, int, int], tuple[str, ...]]
    slots: Mapping[tuple[str, int, int], Slot]

    def place(self, result: Result, name: str) -> tuple[str, int, int]:
        """Where the course of a name lies."""
        slot = result.program.layout[name]
        return slot.block, slot.start, slot.size


def plottable(result: Result) -> Plottable:
    """All scalars and short vectors that change with time, in the order of their names in the result."""
    names: dict[tuple[str, int, int], list[str]] = {}
    slots: dict[tuple[str, int, int], Slot] = {}
    layout = result.program.layout
    for name in layout.names():
        slot = layout[name]
        if slot.block != "p" and len(slot.shape) < 2 and 0 < slot.size <= WIDEST:
            key = slot.block, slot.start, slot.size
            slots.setdefault(key, slot)
            names.setdefault(key, []).append(name)
    ordered = {key: tuple(sorted(found, key=lambda name: (":" in name, len(name), name))) for key, found in names.items()}
    return Plottable(ordered, slots)


def wanted(result: Result, plots: Sequence[str] | None) -> list[str]:
    """Names that are plotted at first; E581 for what the result does not have or what is no curve."""
    if plots is None:
        return []
    known = plottable(result)
    for name in plots:
        if name not in result or known.place(result, name) not in known.slots:
            cures = ("names of `result.names()` that are scalars or vectors over time",)
            raise refusal("E581", f'"{name}" cannot be plotted on a page', *cures, about=result.program.name)
    return list(plots)


def telling(result: Result) -> list[str]:
    """A few quantities that tell how a model moves: the flows of its inertias and the efforts of its compliances, those last
    that are nothing but rounding beside others of their unit."""
    model, layout = result.program.model, result.program.layout
    if model is None:
        found = [name for name in layout.names("x") if not layout[name].shape]
    else:
        stores = ((path, element.law) for path, element in model.elements.items())
        found = [f"{path}.{law.gives}" for path, law in stores if isinstance(law, Storing)]
    found = [name for name in found if name in result and layout[name].size <= 3]
    sizes = {name: float(np.nanmax(np.abs(result[name]), initial=0.0)) for name in found}
    units = [(bond.effort_unit, bond.effort) for bond in result.bonds] + [(bond.flow_unit, bond.flow) for bond in result.bonds]
    most: dict[str, float] = {}
    for unit, name in units:
        most[unit] = max(most.get(unit, 0.0), float(np.nanmax(np.abs(result[name]), initial=0.0)))
    return sorted(found, key=lambda name: sizes[name] <= ROUNDING * most.get(layout[name].unit, 0.0))[:4]


def pack_quantities(rows: Rows, packed: Packed, first: Iterable[str]) -> dict[str, Any]:
    """What the page's script reads of quantities, those of `first` at any rate.

    Returns quantities as (name, unit, number of the first curve, count of curves), further names with the number of their
    quantity, how many were left out, and the rows that are kept; their times are in `packed`, as "tq".
    """
    result = rows.result
    known = plottable(result)
    order = list(dict.fromkeys([*(known.place(result, name) for name in first), *known.slots]))
    order = [key for key in order if key in known.slots]
    sizes = np.cumsum([known.slots[key].size for key in order])
    kept = int(np.searchsorted(sizes, NUMBERS // FEWEST, side="right")) if len(order) else 0
    thin = Thinning.of(rows.t, max(NUMBERS // max(int(sizes[kept - 1]) if kept else 1, 1), FEWEST))
    packed.put("tq", thin.times, "Float64")
    quantities: list[tuple[str, str, int, int]] = []
    also: list[tuple[str, int]] = []
    number: dict[tuple[str, int, int], int] = {}
    for key in order[:kept]:
        slot, names = known.slots[key], known.names[key]
        number[key] = len(quantities)
        values = rows.values(names[0]).reshape(len(rows.t), -1)
        curves = [packed.curve(thin.kept(values[:, k])) for k in range(slot.size)]
        quantities.append((names[0], slot.unit, curves[0], slot.size))
        also += [(name, number[key]) for name in names[1:]]
    return {"quantities": quantities, "also": also, "left_out": len(order) - kept, "number": number, "thin": thin}
