"""A table of 8-byte fields that machine code and Python share."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast, get_args

import numpy as np

from bondgraph.emit.kernel import address_of, aligned_zeros
from bondgraph.emit.kernel_language.language import Array, Code, Ints, Table, types_of

Viewed = TypeVar("Viewed", bound=Table)

Fields = Mapping[str, tuple[int, str]]
"""Name -> index and kind."""


def fields_of(pointers: Iterable[str], wholes: Iterable[str], reals: Iterable[str] = ()) -> dict[str, tuple[int, str]]:
    """Lay out the names of addresses, integers and floats: index and kind ("ptr", "i64", "double") of each."""
    kinds = (("ptr", pointers), ("i64", wholes), ("double", reals))
    named = [(name, kind) for kind, names in kinds for name in names]
    return {name: (index, kind) for index, (name, kind) in enumerate(named)}


_INTEGERS = get_args(Ints)[1]
_HALF = 1 << 63
"""Addresses from here on are negative as signed integers."""


class FieldTable:
    """Fields by name; `arrays` and `tables` are those that it points to."""

    def __init__(self, fields: Mapping[str, tuple[int, str]]):
        self._fields = fields
        self._integers = np.zeros(len(fields), dtype=np.int64)
        self._real = self._integers.view(np.float64)
        self.arrays: dict[str, np.ndarray] = {}
        self.tables: dict[str, FieldTable] = {}

    @property
    def address(self) -> int:
        """Address of the table."""
        return address_of(self._integers)

    def point(self, name: str, target: np.ndarray | FieldTable | int) -> None:
        """Point a field to an array's first element, to another table, or to an address."""
        if isinstance(target, FieldTable):
            self.tables[name] = target
            target = target.address
        if isinstance(target, np.ndarray):
            self.arrays[name] = target
            target = address_of(target)
        self._integers[self._fields[name][0]] = target if target < _HALF else target - 2 * _HALF

    def lay(self, lengths: Mapping[str, int], dtype: type = float) -> None:
        """Point fields to adjacent arrays of zeros of these lengths (numbers of 8 bytes)."""
        block: np.ndarray = np.zeros(sum(lengths.values()), dtype=dtype)
        start = 0
        address = address_of(block)
        for name, length in lengths.items():
            self.arrays[name] = block[start : start + length]
            self.point(name, address + 8 * start)
            start += length

    def allocate(self, table: type[Table], **integers: int) -> None:
        """Point fields of a table to arrays of zeros, whose lengths follow from these integers (`Table.lengths`)."""
        types = types_of(table)
        for name, length in table.lengths(**integers).items():
            self.point(name, np.zeros(length, dtype=np.int64) if types[name] == _INTEGERS else aligned_zeros(length))

    def __getitem__(self, name: str) -> float | int:
        index, kind = self._fields[name]
        return self._real.item(index) if kind == "double" else self._integers.item(index)

    def copied(self, name: str, length: int) -> np.ndarray:
        """Return a copy of the numbers (length,) at the address that a field holds."""
        numbers = (ctypes.c_double * length).from_address(self._integers.item(self._fields[name][0])) if length else ()
        return np.array(numbers, dtype=float)

    def view(self, table: type[Viewed]) -> Viewed:
        """Return the table for CPython, which runs a text of the kernel language on the memory of machine code."""
        return cast(Viewed, _View(self, table))

    def reader(self, *names: str) -> Callable[[], list[int]]:
        """Return a function that reads these integers at once, for fields that are read after every run."""
        integers, indices = self._integers, np.array([self._fields[name][0] for name in names])
        return lambda: integers[indices].tolist()  # type: ignore[no-any-return]

    def __setitem__(self, name: str, value: float) -> None:
        index, kind = self._fields[name]
        if kind == "double":
            self._real[index] = value
        else:
            self._integers[index] = int(value)


class _View:
    """Attributes that are the fields of a table: numbers, arrays, other tables, and code behind addresses."""

    def __init__(self, fields: FieldTable, table: type[Table]):
        self.__dict__.update(_fields=fields, _types=types_of(table))

    def __getattr__(self, name: str) -> Any:
        fields, kind = self._fields, self._types[name]
        if kind in (float, int, bool):
            return np.float64(fields[name]) if kind is float else kind(fields[name])
        if isinstance(kind, Code):
            return None if fields[name] == 0 else _called(int(fields[name]), kind)
        if not isinstance(kind, Array):
            return None if fields[name] == 0 else fields.tables[name].view(kind)
        if kind.kind != "ptr":
            return fields.arrays[name].reshape(-1)
        return [None if address == 0 else _called(int(address), kind.entries) for address in fields.arrays[name].view(np.int64)]

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, np.ndarray):
            self._fields.point(name, value)
        else:
            self._fields[name] = value


def _called(address: int, code: Code) -> Callable[..., Any]:
    """Return code as CPython calls it: arrays and tables go by their addresses, numbers by theirs or by value."""

    def call(*values: Any) -> Any:
        kinds: list[Any] = []
        passed: list[Any] = []
        held: list[Any] = []
        for value in values:
            if code.by_value and isinstance(value, (int, float)):
                kinds.append(ctypes.c_int64 if isinstance(value, int) else ctypes.c_double)
                passed.append(value)
                continue
            held.append(value if isinstance(value, (np.ndarray, _View)) else np.array([value], dtype=float))
            kinds.append(ctypes.c_void_p)
            passed.append(value._fields.address if isinstance(value, _View) else address_of(held[-1]))
        returned = ctypes.c_int64 if code.result is int else None
        return ctypes.CFUNCTYPE(returned, *kinds)(address)(*passed)

    return call
