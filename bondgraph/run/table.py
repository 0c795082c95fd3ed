"""Memory of a table of 8-byte fields that machine code and Python share."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from bondgraph.emit.kernel import address_of, aligned_zeros
from bondgraph.emit.kernel_language.language import Array, Code, Table, types_of

_HALF = 1 << 63
_BY_ADDRESS: WeakValueDictionary[int, FieldTable] = WeakValueDictionary()


class FieldTable:
    """Memory of a table of this `kind`; it points to `arrays` and `tables`."""

    def __init__(self, kind: type[Table]):
        self.kind, self._fields = kind, kind.layout()
        self._integers = np.zeros(len(self._fields), dtype=np.int64)
        self._real = self._integers.view(np.float64)
        self.arrays: dict[str, np.ndarray] = {}
        self.tables: dict[str, FieldTable] = {}
        _BY_ADDRESS[self.address] = self

    @property
    def address(self) -> int:
        return address_of(self._integers)

    @property
    def memory(self) -> np.ndarray:
        return self._integers

    def point(self, name: str, target: np.ndarray | FieldTable | int) -> None:
        if isinstance(target, FieldTable):
            self.tables[name] = target
            target = target.address
        if isinstance(target, np.ndarray):
            self.arrays[name] = target
            target = address_of(target)
        self._integers[self._fields[name][0]] = target if target < _HALF else target - 2 * _HALF

    def allocate(self, **integers: int) -> None:
        """Point the fields whose annotations have a `Length` to arrays of zeros, for these integers of the table.

        Each array starts at a cache line, for vector instructions.
        """
        lengths, types, start = self.kind.lengths(**integers), types_of(self.kind), 0
        reals = aligned_zeros(sum(map(_whole_lines, lengths.values())))
        integral, address = reals.view(np.int64), address_of(reals)
        for name, length in lengths.items():
            self.arrays[name] = (reals if types[name].entries is float else integral)[start : start + length]
            self._integers[self._fields[name][0]] = address + 8 * start
            start += _whole_lines(length)

    def __getitem__(self, name: str) -> float | int:
        index, kind = self._fields[name]
        return self._real.item(index) if kind == "double" else self._integers.item(index)

    def copied(self, name: str, length: int) -> np.ndarray:
        numbers = (ctypes.c_double * length).from_address(self._integers.item(self._fields[name][0])) if length else ()
        return np.array(numbers, dtype=float)

    def view(self) -> Any:
        """Return a view of the table with which CPython runs functions of the kernel language on the memory of machine code."""
        return _View(self, types_of(self.kind))

    def reader(self, *names: str) -> Callable[[], list[int]]:
        integers, indices = self._integers, np.array([self._fields[name][0] for name in names])
        return lambda: integers[indices].tolist()  # type: ignore[no-any-return]

    def __setitem__(self, name: str, value: float) -> None:
        index, kind = self._fields[name]
        if kind == "double":
            self._real[index] = value
        else:
            self._integers[index] = int(value)


def table_at(address: int) -> FieldTable:
    return _BY_ADDRESS[address]


def _whole_lines(length: int) -> int:
    return -(-length // 8) * 8


class _View:
    def __init__(self, fields: FieldTable, types: Mapping[str, Any]):
        self.__dict__.update(_fields=fields, _types=types)

    def __getattr__(self, name: str) -> Any:
        fields, kind = self._fields, self._types[name]
        if kind in (float, int, bool):
            return np.float64(fields[name]) if kind is float else kind(fields[name])
        if not isinstance(kind, Array):
            return _pointee(int(fields[name]), kind)
        array = fields.arrays[name].reshape(-1)
        if kind.entries in (float, int):
            return array if kind.entries is float else array.view(np.int64)
        return _Pointers(array, kind.entries)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, _View):
            self._fields.point(name, value._fields)
        elif isinstance(value, np.ndarray):
            self._fields.point(name, value)
        else:
            self._fields[name] = value


class _Pointers:
    def __init__(self, addresses: np.ndarray, entries: Any):
        self._addresses, self._entries = addresses.view(np.int64), entries

    def __getitem__(self, index: int) -> Any:
        return _pointee(int(self._addresses[index]), self._entries)

    def __setitem__(self, index: int, value: Any) -> None:
        self._addresses[index] = value._fields.address


def _pointee(address: int, kind: Any) -> Any:
    if address == 0:
        return None
    return _function_at(address, kind) if isinstance(kind, Code) else _BY_ADDRESS[address].view()


def _function_at(address: int, code: Code) -> Callable[..., Any]:
    def call(*values: Any) -> Any:
        kept = [_passed(value, code.by_value) for value in values]
        returned = None if code.result is None else ctypes.c_int64
        result = ctypes.CFUNCTYPE(returned, *map(type, kept))(address)(*kept)
        return result if code.result in (None, int) else _pointee(result, code.result)

    return call


def _passed(value: Any, by_value: bool) -> Any:
    if isinstance(value, _View):
        return ctypes.c_void_p(value._fields.address)
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(address_of(value))
    if by_value:
        return ctypes.c_double(value) if isinstance(value, float) else ctypes.c_int64(value)
    return ctypes.pointer(ctypes.c_double(value))
