"""Names of all numbers of a program: a name or a component in; where it lies, its shape and its unit out."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from bondgraph.assembly.system import is_internal
from bondgraph.model.units import spread
from bondgraph.output.short_repr import short_repr
from bondgraph.output.tables import UnknownName, unknown_name

_COMPONENT = re.compile(r"(.+)\[\s*(\d+(?:\s*,\s*\d+)*)\s*\]")


@dataclass(frozen=True)
class Slot:
    """Where a named quantity lies: a block ("x", "out", "p" or "m"), its first index, its shape and its unit."""

    block: str
    start: int
    shape: tuple[int, ...] = ()
    unit: str = ""

    @property
    def size(self) -> int:
        """Count of numbers."""
        return math.prod(self.shape)

    @property
    def stop(self) -> int:
        """Index after the last number."""
        return self.start + self.size


@short_repr
@dataclass(frozen=True)
class Layout:
    """Names of all states, outputs, parameters and modes, in the user's words."""

    slots: Mapping[str, Slot] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Slot:
        """The slot of a name or of a component, "body.pose[3]"; an unknown name is a KeyError that lists similar ones."""
        if name in self.slots:
            return self.slots[name]
        if (found := _COMPONENT.fullmatch(name)) and found[1] in self.slots:
            return self._component(found[1], tuple(map(int, found[2].split(","))))
        raise unknown_name("quantity", name, self.names())

    def _component(self, name: str, place: tuple[int, ...]) -> Slot:
        whole = self.slots[name]
        if len(place) != len(whole.shape) or any(k >= size for k, size in zip(place, whole.shape, strict=True)):
            raise UnknownName(f'"{name}" has no component {list(place)}; its shape is {whole.shape}')
        index = int(np.ravel_multi_index(place, whole.shape))
        units = spread(whole.unit, whole.size) if ";" not in whole.unit else None
        return Slot(whole.block, whole.start + index, (), units[index] if units else "")

    def __contains__(self, name: object) -> bool:
        return name in self.slots

    def __iter__(self) -> Iterator[str]:
        return iter(self.slots)

    def __len__(self) -> int:
        return len(self.slots)

    def names(self, block: str | None = None) -> tuple[str, ...]:
        """All names, or those of one block, without the steps inside elements, which can be asked for all the same."""
        named = ((name, slot) for name, slot in self.slots.items() if block in (None, slot.block))
        return tuple(name for name, _ in named if not is_internal(name))

    def label(self, block: str, index: int) -> str:
        """Name of one number: "body.pose[3]"; a plain index where no name covers it."""
        for name, slot in self.slots.items():
            if slot.block == block and slot.start <= index < slot.stop:
                if not slot.shape:
                    return name
                place = np.unravel_index(index - slot.start, slot.shape)
                return f"{name}[{', '.join(str(int(i)) for i in place)}]"
        return f"{block}[{index}]"
