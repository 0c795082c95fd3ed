"""Sizes below which plots show rounding as zero, by unit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
from screwbond.models.pictures.parts import Panel
from screwbond.models.pictures.scene import Scene

from bondgraph.model.laws import Storing
from bondgraph.run.results.result import Result

SHARE = 1e-12
"""Share of a typical size of its unit below which a quantity is rounding."""


def blocks_of(unit: str, size: int) -> list[tuple[str, slice]]:
    """Return the units of a vector of `size` components with the components that have them: of "N m, N" twice three."""
    units = unit.split(", ")
    if size % len(units):
        return [(unit, slice(0, size))]
    step = size // len(units)
    return [(each, slice(k * step, (k + 1) * step)) for k, each in enumerate(units)]


def negligible_sizes(result: Result) -> Mapping[str, float]:
    """Return unit -> size below which an effort, flow or state of that unit is rounding.

    It is a share of the largest value with that unit. Where a storage has it, it is at least that share of the value with which
    the storage would hold the energy in play: a ball that falls without spin has a rate of spin of 1e-16 rad/s, which is small
    beside the rate at which its energy would let it spin.
    """
    typical: dict[str, float] = {}
    for unit, value in _natural(result):
        typical[unit] = min(value, typical.get(unit, math.inf))
    for name, unit in _variables(result):
        values = result[name].reshape(len(result.t), -1)
        for each, part in blocks_of(unit, values.shape[1]):
            typical[each] = max(_largest(values[:, part]), typical.get(each, 0.0))
    return {unit: SHARE * value for unit, value in typical.items()}


def without_rounding(values: np.ndarray, unit: str, sizes: Mapping[str, float]) -> np.ndarray:
    """Return values over time (k, n) with zeros for the components of each unit that are all negligible."""
    shown = values.copy()
    for each, part in blocks_of(unit, values.shape[1]):
        if _largest(values[:, part]) <= sizes.get(each, 0.0):
            shown[:, part] = np.where(np.isfinite(values[:, part]), 0.0, values[:, part])
    return shown


def panels_without_rounding(scene: Scene) -> tuple[Panel, ...]:
    """Return the panels of a scene, with zeros where all curves of a panel are negligible; lengths beside its largest solid."""
    sizes = {} if scene.result is None else dict(negligible_sizes(scene.result))
    sizes["m"] = SHARE * scene.reach

    def shown(panel: Panel) -> Panel:
        if max(_largest(np.asarray(curve.values)) for curve in panel.curves) > sizes.get(panel.unit, 0.0):
            return panel
        return replace(panel, curves=tuple(replace(curve, values=np.zeros_like(curve.values)) for curve in panel.curves))

    return tuple(map(shown, scene.panels))


def _variables(result: Result) -> Iterator[tuple[str, str]]:
    """Yield (name, unit) of the efforts and flows of all bonds."""
    for bond in result.bonds:
        yield bond.effort, bond.effort_unit
        yield bond.flow, bond.flow_unit


def _natural(result: Result) -> Iterator[tuple[str, float]]:
    """Yield (unit, value) of the effort or flow with which each storage would hold the energy in play, as a linear one."""
    model, energy = result.program.model, float(result.ledger.in_play)
    if model is None or not energy > 0.0:
        return
    for path, element in model.elements.items():
        if not isinstance(element.law, Storing):
            continue
        name, state = f"{path}.{element.law.gives}", f"{path}.{element.law.follows[0]}"
        if name not in result or state not in result or result[name].shape != result[state].shape:
            continue
        outputs, states = (result[each].reshape(len(result.t), -1) for each in (name, state))
        for unit, part in blocks_of(result.program.layout[name].unit, outputs.shape[1]):
            most, held = _largest(outputs[:, part]), _largest(states[:, part])
            if most > 0.0 and held > 0.0:
                yield unit, math.sqrt(2.0 * energy * most / held)


def _largest(values: np.ndarray) -> float:
    """Return the largest finite size."""
    return float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values)))
