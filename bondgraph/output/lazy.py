"""Late tables: what makes a table in; the table, made when it is first read, out. Large models have many that nobody reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar, overload

T = TypeVar("T")


class LateTable(Mapping[str, T]):
    """A mapping that is made when it is first read, but for what is known `at_once`; copies and pickles hold what it is by then.

    >>> table = LateTable(lambda: {"speed": 1.0})
    >>> table["speed"], len(table)
    (1.0, 1)
    """

    def __init__(self, make: Callable[[], Mapping[str, T]], at_once: Mapping[str, T] | None = None):
        self._make = make
        self._at_once = at_once or {}

    @cached_property
    def _table(self) -> Mapping[str, T]:
        return self._make()

    def __getitem__(self, name: str) -> T:
        return self._at_once[name] if name in self._at_once else self._table[name]

    def __contains__(self, name: object) -> bool:
        return name in self._table

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    def __repr__(self) -> str:
        return f"LateTable({len(self)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (self._table,)


class LateRow(Sequence[T]):
    """A row that is made when it is first read; copies and pickles hold what it is by then.

    >>> LateRow(lambda: (1.0, 2.0))[1]
    2.0
    """

    def __init__(self, make: Callable[[], Sequence[T]]):
        self._make = make

    @cached_property
    def _row(self) -> tuple[T, ...]:
        return tuple(self._make())

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[T]: ...
    def __getitem__(self, place: int | slice) -> T | Sequence[T]:
        return self._row[place]

    def __iter__(self) -> Iterator[T]:
        return iter(self._row)

    def __len__(self) -> int:
        return len(self._row)

    def __repr__(self) -> str:
        return f"LateRow({len(self)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._row,)
