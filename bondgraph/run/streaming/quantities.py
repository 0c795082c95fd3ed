"""Chosen quantities, and their values at samples, computed by the smallest suitable kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.emit.kernel import Kernel
from bondgraph.errors import Problem, RunError
from bondgraph.run.measures import Measure, measure_of, series, why_not
from bondgraph.run.program import Layout, Program, Slot
from bondgraph.run.results.outputs import kernel_of
from bondgraph.run_arguments import KeptQuantity, NamedMeasure

_CURE = 'keep={"work": integral("motor.power")}'


@dataclass(frozen=True)
class ChosenQuantities:
    """Quantities by name, each with its slot and the index of its first value in the states, modes, or output of the `kernel`."""

    slots: Mapping[str, Slot]
    starts: Mapping[str, int]
    kernel: Kernel | None

    def quantities(self, layout: Layout) -> tuple[KeptQuantity, ...]:
        return tuple(KeptQuantity(name, layout.unit(name), slot.shape) for name, slot in self.slots.items())

    def values(self, t: np.ndarray, x: np.ndarray, p: np.ndarray, m: np.ndarray) -> dict[str, np.ndarray]:
        out = np.zeros((len(t), 0)) if self.kernel is None else self.kernel.many(t, x, p, m)
        blocks, values = {"x": x, "m": m, "out": out}, dict[str, np.ndarray]()
        for name, slot in self.slots.items():
            start = self.starts[name]
            values[name] = blocks[slot.block][:, start : start + slot.size].reshape(len(t), *slot.shape).copy()
        return values


def chosen_quantities(program: Program, requested: str | Sequence[str], samples: int) -> ChosenQuantities:
    """Return the requested quantities, by name or component, for runs with this number of samples.

    Raises `RunError` E346 with all errors in the request.
    """
    names: tuple[object, ...] = (requested,)
    if isinstance(requested, Iterable) and not isinstance(requested, str):
        names = tuple(requested)
    slots, wrong = dict[str, Slot](), list[str]()
    for name in names:
        slot = _slot(program, name)
        if isinstance(slot, str):
            wrong.append(slot)
        elif slot.is_parameter:
            wrong.append(f'"{name}" is a parameter, which every result has')
        else:
            slots[str(name)] = slot
    if wrong or not names:
        title = "keep= must name quantities"
        cures = ('keep=["rotor.flow", "body.pose[3]"]', "one of compiled.names()")
        raise RunError(Problem("E346", title, tuple(wrong) or ("it is empty",), cures=cures))
    kernel, starts = kernel_of(program, tuple(slot for slot in slots.values() if slot.is_output), samples)
    return ChosenQuantities(slots, {name: starts.get(slot, slot.start) for name, slot in slots.items()}, kernel)


def measures_of(program: Program, requested: Mapping[str, str | NamedMeasure]) -> dict[str, Measure]:
    """Return the requested measures by name; a quantity alone is a series. Raises `RunError` E346 with all errors."""
    measures, wrong, cures = dict[str, Measure](), list[str](), list[str]()
    for name, value in requested.items():
        measure = measure_of(value)
        why = why_not(measure, program) if isinstance(name, str) else (f"{name!r} is not a name",)
        wrong += [f'"{name}": {why[0]}'] if why else []
        cures += why[1:]
        if isinstance(measure, Measure) and not why:
            measures[name] = measure
    whole_quantities = {measure.of for measure in measures.values() if measure.kind.over_time}
    for name in whole_quantities & measures.keys():
        if measures[name] != series(name):
            wrong.append(f'"{name}" already names a quantity kept at all samples: give this measure another name')
    if wrong or not requested:
        title = "keep= must give measures or quantities by name"
        raise RunError(Problem("E346", title, tuple(wrong) or ("it is empty",), cures=tuple(dict.fromkeys(cures)) or (_CURE,)))
    return measures


def _slot(program: Program, name: object) -> Slot | str:
    if not isinstance(name, str):
        return f"{name!r} is not a name"
    try:
        return program.layout[name]
    except KeyError as error:
        return str(error.args[0])
