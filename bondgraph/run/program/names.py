"""Names of all values of a program, with the index, shape and unit of each name or component."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from bondgraph.assembly.system import is_internal
from bondgraph.errors import UnknownName, unknown_name
from bondgraph.output.short_repr import short_repr
from bondgraph.units import entry_units

_COMPONENT = re.compile(r"(.+)\[\s*(\d+(?:\s*,\s*\d+)*)\s*\]")


@dataclass(frozen=True)
class Slot:
    """Slot of a named quantity: block ("x", "out", "p" or "m"), first index and shape."""

    block: str
    start: int
    shape: tuple[int, ...] = ()

    def value_in(self, block: np.ndarray) -> np.ndarray:
        """Return the quantity, given the values of its block."""
        return block[self.start : self.stop].reshape(self.shape)

    @property
    def is_state(self) -> bool:
        return self.block == "x"

    @property
    def is_output(self) -> bool:
        return self.block == "out"

    @property
    def is_parameter(self) -> bool:
        return self.block == "p"

    @property
    def is_mode(self) -> bool:
        return self.block == "m"

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def stop(self) -> int:
        return self.start + self.size


@short_repr
@dataclass(frozen=True)
class Layout:
    """Names of all states, outputs, parameters and modes, with their slots and units."""

    slots: Mapping[str, Slot] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    """Unit by name: the declared unit, else the unit that the equations imply, else ""."""

    def __getitem__(self, name: str) -> Slot:
        """Return the slot of a name or of a component, "body.pose[3]"; an unknown name raises a KeyError that lists similar
        names."""
        if not isinstance(name, str):
            raise unknown_name("quantity", name, self.names())
        quantity, indices = self._split(name)
        slot = self.slots[quantity]
        return slot if indices is None else Slot(slot.block, slot.start + int(np.ravel_multi_index(indices, slot.shape)))

    def unit(self, name: str) -> str:
        """Return the unit of a name or of a component, "" if it is unknown; an unknown name raises a KeyError."""
        quantity, indices = self._split(name)
        unit = self.units.get(quantity, "")
        if indices is None:
            return unit
        units = entry_units(unit, self.slots[quantity].shape)
        return "" if units is None else units[indices]

    def _split(self, name: str) -> tuple[str, tuple[int, ...] | None]:
        """Return a name and None, or the name of an array and the indices of a component."""
        if name in self.slots:
            return name, None
        component = _COMPONENT.fullmatch(name)
        if component is None or component[1] not in self.slots:
            raise unknown_name("quantity", name, self.names())
        quantity, indices = component[1], tuple(map(int, component[2].split(",")))
        shape = self.slots[quantity].shape
        if len(indices) != len(shape) or any(k >= size for k, size in zip(indices, shape, strict=True)):
            suggestion = f"{quantity}[{', '.join('0' * len(shape))}]" if shape else quantity
            text = f'"{quantity}" has no component {list(indices)}; its shape is {shape}; did you mean "{suggestion}"?'
            raise UnknownName(text)
        return quantity, indices

    def __contains__(self, name: object) -> bool:
        return name in self.slots

    def __iter__(self) -> Iterator[str]:
        return iter(self.slots)

    def __len__(self) -> int:
        return len(self.slots)

    def names(self, block: str | None = None) -> tuple[str, ...]:
        """Return all names, or those of one block, except the variables inside elements, which can also be requested."""
        named = ((name, slot) for name, slot in self.slots.items() if block in (None, slot.block))
        return tuple(name for name, _ in named if not is_internal(name))

    def label(self, block: str, index: int) -> str:
        """Return the name of one value, "body.pose[3]", or block and index, "x[3]", if it has no name."""
        for name, slot in self.slots.items():
            if slot.block == block and slot.start <= index < slot.stop:
                if not slot.shape:
                    return name
                indices = np.unravel_index(index - slot.start, slot.shape)
                return f"{name}[{', '.join(str(int(i)) for i in indices)}]"
        return f"{block}[{index}]"
