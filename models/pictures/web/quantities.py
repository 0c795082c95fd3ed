"""Quantities of a result on a page: all that can be plotted, and a few that are plotted initially."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from screwbond.models.pictures.scene import Scene
from screwbond.models.pictures.web.packing import Downsampling, EventRows, Packed

from bondgraph.errors import refusal
from bondgraph.model.laws import InertialField, Resistor, SignalBlock, Source, Storing
from bondgraph.model.model import Model
from bondgraph.run.program import Slot
from bondgraph.run.results.result import Result

MAX_VALUES = 450_000
"""Largest number of curve values in a page, about 1.2 MB."""

MIN_SAMPLES = 150
"""Smallest number of samples of a curve: a page drops curves rather than use fewer."""

MAX_COMPONENTS = 7
"""Largest number of components of a plotted quantity; matrices are shown as frames, not as plots."""

NEGLIGIBLE_SHARE = 1e-9
"""Fraction of the largest value in the same unit below which a quantity is negligible."""


SPATIAL_UNIT = re.compile(r"1|(m|rad|N|N m|N s|N m s)(/s(\^2)?)?")


@dataclass(frozen=True, eq=False)
class Plottable:
    """Quantities to plot without duplicates, as names by the slot of their values, the displayed name first."""

    names: Mapping[tuple[str, int, int], tuple[str, ...]]
    slots: Mapping[tuple[str, int, int], Slot]

    def key(self, result: Result, name: str) -> tuple[str, int, int]:
        slot = result.program.layout[name]
        return slot.block, slot.start, slot.size


def plottable(result: Result) -> Plottable:
    names: dict[tuple[str, int, int], list[str]] = {}
    slots: dict[tuple[str, int, int], Slot] = {}
    layout = result.program.layout
    for name in layout.names():
        slot = layout[name]
        if not slot.is_parameter and len(slot.shape) < 2 and 0 < slot.size <= MAX_COMPONENTS:
            key = slot.block, slot.start, slot.size
            slots.setdefault(key, slot)
            names.setdefault(key, []).append(name)
    spelled = {key: tuple(sorted(same, key=lambda name: (":" in name, len(name), name))) for key, same in names.items()}
    return Plottable(spelled, slots)


def initial_quantities(result: Result, plots: Sequence[str] | None) -> list[str]:
    if plots is None:
        return []
    quantities = plottable(result)
    for name in plots:
        if name not in result or quantities.key(result, name) not in quantities.slots:
            cure = f"scalars, or vectors of up to {MAX_COMPONENTS} components, from `result.names()`, but no parameters"
            raise refusal("E581", f'"{name}" cannot be plotted on a page', cure, about=result.program.name)
    return list(plots)


def characteristic_quantities(result: Result) -> list[str]:
    """Return up to four characteristic quantities: flows of inertias and efforts of compliances, else signals that no element
    reads, else efforts of resistors and sources. Quantities that are only rounding noise beside other quantities of the same unit
    come last."""
    model, layout = result.program.model, result.program.layout
    kinds = _model_quantities(model) if model is not None else (list(layout.names("x")),)
    joints = () if model is None else tuple(f"{path}.flow" for path in mechanisms(model))
    choices = (
        [name for name in names if name in result and layout[name].size <= (MAX_COMPONENTS if name in joints else 3)]
        for names in kinds
    )
    names = next(filter(None, choices), [])
    sizes = {name: float(np.nanmax(np.abs(result[name]), initial=0.0)) for name in names}
    units = [(bond.effort_unit, bond.effort) for bond in result.bonds] + [(bond.flow_unit, bond.flow) for bond in result.bonds]
    largest: dict[str, float] = {}
    for unit, name in units:
        largest[unit] = max(largest.get(unit, 0.0), float(np.nanmax(np.abs(result[name]), initial=0.0)))
    return sorted(names, key=lambda name: sizes[name] <= NEGLIGIBLE_SHARE * largest.get(layout.unit(name), 0.0))[:4]


def mechanisms(model: Model) -> list[str]:
    return [path for path, element in model.elements.items() if isinstance(element.law, InertialField)]


def _model_quantities(model: Model) -> tuple[list[str], ...]:
    stored = [f"{path}.{each.law.gives}" for path, each in model.elements.items() if isinstance(each.law, Storing)]
    laws = {path: element.law for path, element in model.elements.items() if "." not in path}
    read = {name for element in model.elements.values() for name in element.signals}
    outputs = {
        path: [name for name in law.signals(()) if name not in (*law.updates.values(), *law.rates.values())]
        for path, law in laws.items()
        if isinstance(law, SignalBlock)
    }
    # A block such as an average also has inner states; its output is y.
    signals = [f"{path}.{name}" for path, names in outputs.items() for name in (["y"] if "y" in names else names)]
    ports = [f"{path}.effort" for path, law in laws.items() if isinstance(law, Resistor | Source)]
    return stored, [name for name in signals if name not in read] or signals, ports


def first_plots(scene: Scene) -> list[str]:
    if scene.result is None:
        return []
    names = plottable(scene.result)
    gaps = [touch.source.gap.name for touch in scene.contacts if touch.source is not None]
    shortest = [names.names[names.key(scene.result, gap)][0] for gap in gaps]
    states = [spelled[0] for (block, *_), spelled in names.names.items() if block == "x"]
    return [*shortest, *characteristic_quantities(scene.result)][:4] or states[:2]


def pack_quantities(rows: EventRows, packed: Packed, first: Iterable[str]) -> dict[str, Any]:
    """Return the quantities for the page's script, including `first`.

    Returns quantities as (name, unit, index of the first curve, count of curves, True if three components may be x, y and z:
    neither joint velocities nor, for example, amounts or currents), further names with the index of their quantity, the number of
    omitted quantities, and the downsampling, whose times are in `packed` as "tq".
    """
    result = rows.result
    plottable_quantities = plottable(result)
    order = list(dict.fromkeys([*(plottable_quantities.key(result, name) for name in first), *plottable_quantities.slots]))
    order = [key for key in order if key in plottable_quantities.slots]
    sizes = np.cumsum([plottable_quantities.slots[key].size for key in order])
    count = int(np.searchsorted(sizes, MAX_VALUES // MIN_SAMPLES, side="right")) if len(order) else 0
    downsampling = Downsampling.of(rows.t, max(MAX_VALUES // max(int(sizes[count - 1]) if count else 1, 1), MIN_SAMPLES))
    packed.put("tq", downsampling.times, "Float64")
    quantities: list[tuple[str, str, int, int, bool]] = []
    also: list[tuple[str, int]] = []
    index: dict[tuple[str, int, int], int] = {}
    model = result.program.model
    joints = () if model is None else tuple(f"{path}." for path in mechanisms(model))
    for key in order[:count]:
        slot, names = plottable_quantities.slots[key], plottable_quantities.names[key]
        unit = result.program.layout.unit(names[0])
        index[key] = len(quantities)
        values = rows.values(names[0]).reshape(len(rows.t), -1)
        curves = [packed.curve(downsampling.select(values[:, k])) for k in range(slot.size)]
        spatial = all(map(SPATIAL_UNIT.fullmatch, unit.split(", "))) and not any(name.startswith(joints) for name in names)
        quantities.append((names[0], unit, curves[0], slot.size, spatial))
        also += [(name, index[key]) for name in names[1:]]
    return {"quantities": quantities, "also": also, "left_out": len(order) - count, "number": index, "downsampling": downsampling}
