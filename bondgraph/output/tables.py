"""Tables of quantities: values with units by name in; the same for looking up and for reading out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.output.cells import cell, line, plural, table
from bondgraph.output.lookup import unknown


@dataclass(frozen=True)
class Quantity:
    """A value with its unit ("" where nobody gave one)."""

    value: Any
    unit: str = ""

    def __str__(self) -> str:
        return f"{np.array2string(np.asarray(self.value), precision=6, separator=', ', threshold=12)} {self.unit}".rstrip()


class Quantities(Mapping[str, Quantity]):
    """Values and units by name; printed, a table."""

    def __init__(self, what: str, known: Mapping[str, Quantity]):
        self._what, self._known = what, known

    def __getitem__(self, name: str) -> Quantity:
        """One by name; an unknown name is a KeyError that lists similar ones."""
        if name in self._known:
            return self._known[name]
        raise unknown(self._what, name, self._known)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def __str__(self) -> str:
        width = max(map(len, self._known), default=0)
        return "\n".join(f"{name:{width}}  {quantity}" for name, quantity in self._known.items())

    def _repr_html_(self) -> str:
        rows = [(name, quantity.value, quantity.unit) for name, quantity in self._known.items()]
        return cell(line(plural(len(self), self._what)), table((self._what, "value", "unit"), rows))

    def __repr__(self) -> str:
        some = ", ".join(list(self._known)[:6])
        return f"<{len(self)} {self._what}s: {some}{', ...' if len(self) > 6 else ''}>"


class Parameters(Quantities):
    """Parameters with their units by name; called with changes by name, the vector of the kernels."""

    def __init__(self, known: Mapping[str, Quantity], vector: Callable[[Mapping[str, Any] | None], np.ndarray]):
        super().__init__("parameter", known)
        self._vector = vector

    def __call__(self, changes: Mapping[str, Any] | None = None) -> np.ndarray:
        """Parameter vector of the kernels, with the named parameters changed.

        Raises `ModelError` E321 no dictionary; E121 an unknown name; E124 numbers that do not fit.
        """
        return self._vector(changes)
