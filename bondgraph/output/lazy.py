"""Lazy tables, rows and modules, made at their first use, because many tables of large models are never read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any, TypeVar, overload

from bondgraph.errors import unknown_name

T = TypeVar("T")


class LazyTable(Mapping[str, T]):
    """Mapping computed when it is first read, except for the `eager` entries; copies and pickles hold the computed values.

    >>> table = LazyTable(lambda: {"speed": 1.0})
    >>> table["speed"], len(table)
    (1.0, 1)
    """

    def __init__(self, make: Callable[[], Mapping[str, T]], eager: Mapping[str, T] | None = None):
        self._make = make
        self._at_once = {} if eager is None else eager

    @cached_property
    def _table(self) -> Mapping[str, T]:
        return self._make()

    def __getitem__(self, name: str) -> T:
        if name in self._at_once:
            return self._at_once[name]
        try:
            return self._table[name]
        except KeyError:
            raise unknown_name("entry", name, self) from None

    def __contains__(self, name: object) -> bool:
        return name in self._table

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    def __repr__(self) -> str:
        return f"LazyTable({len(self)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (self._table,)


class LazyRow(Sequence[T]):
    """Sequence computed when it is first read; copies and pickles hold the computed values.

    >>> LazyRow(lambda: (1.0, 2.0))[1]
    2.0
    """

    def __init__(self, make: Callable[[], Sequence[T]]):
        self._make = make

    @cached_property
    def _row(self) -> tuple[T, ...]:
        return tuple(self._make())

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        return self._row[index]

    def __iter__(self) -> Iterator[T]:
        return iter(self._row)

    def __len__(self) -> int:
        return len(self._row)

    def __repr__(self) -> str:
        return f"LazyRow({len(self)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._row,)


class LazyModule:
    """Heavy module that is imported when first used.

    >>> LazyModule("math").tau > 6.28
    True
    """

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


sympy: Any = LazyModule("sympy")
