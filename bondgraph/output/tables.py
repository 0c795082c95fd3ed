"""Tables of quantities by name, with units; printed as text or as a notebook cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.errors import unknown_name
from bondgraph.output.cells import cell, line, table
from screws.errors import plural
from screws.names import explain_access


@explain_access
@dataclass(frozen=True)
class Quantity:
    """Value with its unit ("" if none was given)."""

    value: Any
    unit: str = ""

    def _cure_of_assignment(self, name: str) -> str:
        return "simulate(..., parameters={name: value})"

    def __str__(self) -> str:
        return f"{np.array2string(np.asarray(self.value), precision=6, separator=', ', threshold=12)} {self.unit}".rstrip()


@explain_access
class Quantities(Mapping[str, Quantity]):
    """Values and units by name; printed as a table."""

    def __init__(self, kind: str, quantities: Mapping[str, Quantity]):
        self._kind, self._quantities = kind, quantities

    def __getitem__(self, name: str) -> Quantity:
        if name in self._quantities:
            return self._quantities[name]
        raise unknown_name(self._kind, name, self._quantities)

    def __iter__(self) -> Iterator[str]:
        return iter(self._quantities)

    def __len__(self) -> int:
        return len(self._quantities)

    def __str__(self) -> str:
        width = max(map(len, self._quantities), default=0)
        return "\n".join(f"{name:{width}}  {quantity}" for name, quantity in self._quantities.items())

    def _repr_html_(self) -> str:
        rows = [(name, quantity.value, quantity.unit) for name, quantity in self._quantities.items()]
        return cell(line(plural(len(self), self._kind)), table((self._kind, "value", "unit"), rows))

    def __repr__(self) -> str:
        some = ", ".join(list(self._quantities)[:6])
        return f"<{plural(len(self), self._kind)}: {some}{', ...' if len(self) > 6 else ''}>"


@explain_access
class Parameters(Quantities):
    """Parameters with their units by name; a call with changes by name returns the parameter vector of the kernels."""

    def __init__(self, quantities: Mapping[str, Quantity], vector: Callable[[Mapping[str, Any] | None], np.ndarray]):
        super().__init__("parameter", quantities)
        self._vector = vector

    def _cure_of_assignment(self, name: str) -> str:
        return f'simulate(..., parameters={{"{name}": value}})'

    def __call__(self, changes: Mapping[str, Any] | None = None) -> np.ndarray:
        """Return the parameter vector of the kernels, with the named parameters changed.

        Raises `ModelError` E321 unless changes are a dictionary; E121 for an unknown name; E124 for invalid values; E119,
        E151 for values out of range.
        """
        return self._vector(changes)


def labels_of(name: str, shape: tuple[int, ...]) -> list[str]:
    """Return a label for each scalar of a value, in row-major order.

    >>> labels_of("body.v", (2,)), labels_of("rotor.flow", ())
    (['body.v[0]', 'body.v[1]'], ['rotor.flow'])
    """
    return [f"{name}[{', '.join(map(str, index))}]" for index in np.ndindex(*shape)] if shape else [name]
