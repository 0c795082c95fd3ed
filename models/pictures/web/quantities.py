"""Quantities of a result that a page can plot, packed as curves at reduced samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from screwbond.models.pictures.web.downsampling import Downsampling, EventRows
from screwbond.models.pictures.web.packing import Packed

from bondgraph.errors import refusal
from bondgraph.model.laws import Storing
from bondgraph.run.program import Slot
from bondgraph.run.results.result import Result

MAX_VALUES = 450_000
"""Largest number of curve values in a page, about 1.2 MB."""

MIN_SAMPLES = 150
"""Smallest number of samples of a curve: a page drops curves before it goes below."""

MAX_COMPONENTS = 7
"""Largest number of components of a plotted quantity; matrices are frames, not plots."""

NEGLIGIBLE_SHARE = 1e-9
"""Share of the largest value of a unit below which a quantity is negligible."""


@dataclass(frozen=True, eq=False)
class Plottable:
    """Quantities to plot, without duplicates: names by the slot of their values, the displayed name first."""

    names: Mapping[tuple[str, int, int], tuple[str, ...]]
    slots: Mapping[tuple[str, int, int], Slot]

    def key(self, result: Result, name: str) -> tuple[str, int, int]:
        """Return the slot of a name."""
        slot = result.program.layout[name]
        return slot.block, slot.start, slot.size


def plottable(result: Result) -> Plottable:
    """Return all scalars and short vectors that change with time, in the order of their names in the result."""
    names: dict[tuple[str, int, int], list[str]] = {}
    slots: dict[tuple[str, int, int], Slot] = {}
    layout = result.program.layout
    for name in layout.names():
        slot = layout[name]
        if slot.block != "p" and len(slot.shape) < 2 and 0 < slot.size <= MAX_COMPONENTS:
            key = slot.block, slot.start, slot.size
            slots.setdefault(key, slot)
            names.setdefault(key, []).append(name)
    ordered = {
        key: tuple(sorted(entry_names, key=lambda name: (":" in name, len(name), name))) for key, entry_names in names.items()
    }
    return Plottable(ordered, slots)


def initial_quantities(result: Result, plots: Sequence[str] | None) -> list[str]:
    """Return the names plotted initially; E581 for unknown names or quantities that are not curves."""
    if plots is None:
        return []
    quantities = plottable(result)
    for name in plots:
        if name not in result or quantities.key(result, name) not in quantities.slots:
            cures = ("names of `result.names()` that are scalars or vectors over time",)
            raise refusal("E581", f'"{name}" cannot be plotted on a page', *cures, about=result.program.name)
    return list(plots)


def characteristic_quantities(result: Result) -> list[str]:
    """Return a few characteristic quantities: the flows of inertias and the efforts of compliances, those last that are only
    rounding relative to others of their unit."""
    model, layout = result.program.model, result.program.layout
    if model is None:
        names = [name for name in layout.names("x") if not layout[name].shape]
    else:
        stores = ((path, element.law) for path, element in model.elements.items())
        names = [f"{path}.{law.gives}" for path, law in stores if isinstance(law, Storing)]
    names = [name for name in names if name in result and layout[name].size <= 3]
    sizes = {name: float(np.nanmax(np.abs(result[name]), initial=0.0)) for name in names}
    units = [(bond.effort_unit, bond.effort) for bond in result.bonds] + [(bond.flow_unit, bond.flow) for bond in result.bonds]
    largest: dict[str, float] = {}
    for unit, name in units:
        largest[unit] = max(largest.get(unit, 0.0), float(np.nanmax(np.abs(result[name]), initial=0.0)))
    return sorted(names, key=lambda name: sizes[name] <= NEGLIGIBLE_SHARE * largest.get(layout[name].unit, 0.0))[:4]


def pack_quantities(rows: EventRows, packed: Packed, first: Iterable[str]) -> dict[str, Any]:
    """Return the quantities for the page's script, including those of `first`.

    Returns quantities as (name, unit, number of the first curve, count of curves), further names with the number of their
    quantity, the number of omitted quantities, and the downsampling; its times are in `packed`, as "tq".
    """
    result = rows.result
    plottable_quantities = plottable(result)
    order = list(dict.fromkeys([*(plottable_quantities.key(result, name) for name in first), *plottable_quantities.slots]))
    order = [key for key in order if key in plottable_quantities.slots]
    sizes = np.cumsum([plottable_quantities.slots[key].size for key in order])
    count = int(np.searchsorted(sizes, MAX_VALUES // MIN_SAMPLES, side="right")) if len(order) else 0
    thin = Downsampling.of(rows.t, max(MAX_VALUES // max(int(sizes[count - 1]) if count else 1, 1), MIN_SAMPLES))
    packed.put("tq", thin.times, "Float64")
    quantities: list[tuple[str, str, int, int]] = []
    also: list[tuple[str, int]] = []
    index: dict[tuple[str, int, int], int] = {}
    for key in order[:count]:
        slot, names = plottable_quantities.slots[key], plottable_quantities.names[key]
        index[key] = len(quantities)
        values = rows.values(names[0]).reshape(len(rows.t), -1)
        curves = [packed.curve(thin.select(values[:, k])) for k in range(slot.size)]
        quantities.append((names[0], slot.unit, curves[0], slot.size))
        also += [(name, index[key]) for name in names[1:]]
    return {"quantities": quantities, "also": also, "left_out": len(order) - count, "number": index, "thin": thin}
