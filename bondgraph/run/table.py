"""A table of 8-byte fields that machine code and Python share."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

import numpy as np

from bondgraph.emit.kernel import address_of

Fields = Mapping[str, tuple[int, str]]
"""Name -> place and kind."""


def fields_of(pointers: Iterable[str], wholes: Iterable[str], reals: Iterable[str] = ()) -> dict[str, tuple[int, str]]:
    """Names of addresses, integers and floats -> place and kind ("ptr", "i64", "double") of each."""
    kinds = (("ptr", pointers), ("i64", wholes), ("double", reals))
    named = [(name, kind) for kind, names in kinds for name in names]
    return {name: (place, kind) for place, (name, kind) in enumerate(named)}


class FieldTable:
    """Fields by name; `arrays` are those that it points to."""

    def __init__(self, fields: Mapping[str, tuple[int, str]]):
        self._fields = fields
        self._whole = np.zeros(len(fields), dtype=np.int64)
        self._real = self._whole.view(np.float64)
        self.arrays: dict[str, np.ndarray] = {}

    @property
    def address(self) -> int:
        """Where the table starts."""
        return address_of(self._whole)

    def point(self, name: str, target: np.ndarray | int) -> None:
        """Let a field point to an array's first element, or to an address."""
        if isinstance(target, np.ndarray):
            self.arrays[name] = target
            target = address_of(target)
        self._whole[self._fields[name][0]] = struct.unpack("q", struct.pack("Q", target))[0]

    def __getitem__(self, name: str) -> float | int:
        index, kind = self._fields[name]
        return float(self._real[index]) if kind == "double" else int(self._whole[index])

    def __setitem__(self, name: str, value: float) -> None:
        index, kind = self._fields[name]
        if kind == "double":
            self._real[index] = value
        else:
            self._whole[index] = int(value)
