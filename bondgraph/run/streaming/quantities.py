"""Chosen quantities: names in; their values at samples, from as small a kernel as there is, out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.emit.kernel import Kernel
from bondgraph.errors import Problem, RunError
from bondgraph.run.program import Program, Slot
from bondgraph.run.results.outputs import kernel_of
from bondgraph.run_arguments import KeptQuantity


@dataclass(frozen=True)
class ChosenQuantities:
    """Quantities by name, each in its slot, with the place of its first number in states, modes, or what the `kernel` gives."""

    slots: Mapping[str, Slot]
    places: Mapping[str, int]
    kernel: Kernel | None

    @property
    def quantities(self) -> tuple[KeptQuantity, ...]:
        """What they are."""
        return tuple(KeptQuantity(name, slot.unit, slot.shape) for name, slot in self.slots.items())

    def values(self, t: np.ndarray, x: np.ndarray, p: np.ndarray, m: np.ndarray) -> dict[str, np.ndarray]:
        """Values (k, *shape) at dates t (k,), states x (k, n), parameters p and modes m (k, modes)."""
        out = np.zeros((len(t), 0)) if self.kernel is None else self.kernel.many(t, x, p, m)
        blocks, found = {"x": x, "m": m, "out": out}, dict[str, np.ndarray]()
        for name, slot in self.slots.items():
            place = self.places[name]
            found[name] = blocks[slot.block][:, place : place + slot.size].reshape(len(t), *slot.shape).copy()
        return found


def chosen_of(program: Program, asked: str | Sequence[str], samples: int) -> ChosenQuantities:
    """The quantities that are asked for, by name or component, of runs of so many samples.

    Raises `RunError` E346 with all that is wrong with them.
    """
    names: tuple[object, ...] = tuple(asked) if isinstance(asked, Iterable) and not isinstance(asked, str) else (asked,)
    slots, wrong = dict[str, Slot](), list[str]()
    for name in names:
        slot = _slot(program, name)
        if isinstance(slot, str):
            wrong.append(slot)
        elif slot.block == "p":
            wrong.append(f'"{name}" is a parameter: a result has it anyway')
        else:
            slots[str(name)] = slot
    if wrong or not names:
        title = "what is to be kept of a run must be names of quantities"
        cures = ('keep=["rotor.flow", "body.pose[3]"]', "one of compiled.names()")
        raise RunError(Problem("E346", title, tuple(wrong) or ("there is none",), cures=cures))
    kernel, starts = kernel_of(program, tuple(slot for slot in slots.values() if slot.block == "out"), samples)
    return ChosenQuantities(slots, {name: starts.get(slot, slot.start) for name, slot in slots.items()}, kernel)


def _slot(program: Program, name: object) -> Slot | str:
    """Where a quantity lies, or why it lies nowhere."""
    if not isinstance(name, str):
        return f"{name!r} is no name"
    try:
        return program.layout[name]
    except KeyError as error:
        return str(error)
