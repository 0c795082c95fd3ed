"""Short words for large records: a record in; one line of less than 500 characters, the same in every process, out."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Set
from functools import partial
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")
MOST = 400
"""Characters of all fields together; what is beyond is an ellipsis."""
_WORD, _ENTRIES = 60, 4


def brief(record: type[T]) -> type[T]:
    """Class decorator: a dataclass or named tuple whose `repr` names its fields and tells long ones by their size.

    >>> @brief
    ... @dataclasses.dataclass(frozen=True)
    ... class Heap:
    ...     name: str
    ...     stones: tuple[float, ...]
    >>> Heap("west", (1.0,) * 500)
    Heap(name='west', stones=(500 entries))
    """
    record.__repr__ = brief_text  # type: ignore[method-assign]
    return record


def brief_text(record: Any) -> str:
    """Name of the class and the fields of a record that are meant to be shown; see `brief`."""
    if isinstance(record, tuple):
        shown = [*getattr(record, "_fields", ())]
    else:
        shown = [field.name for field in dataclasses.fields(record) if field.repr]
    said = _joined((f"{name}={_told(getattr(record, name))}" for name in shown), len(_kind(record)))
    return f"{_kind(record)}({said})"


def _kind(thing: Any) -> str:
    return str(type(thing).__qualname__.rpartition(".")[2])


def _joined(parts: Iterable[str], used: int = 0) -> str:
    kept: list[str] = []
    for part in parts:
        used += len(part) + 2
        if used > MOST:
            return ", ".join([*kept, "..."])
        kept.append(part)
    return ", ".join(kept)


def _told(value: Any, depth: int = 0) -> str:
    """A field in a few words."""
    if value is None or isinstance(value, (bool, int, str)):
        return _cut(repr(value))
    if isinstance(value, (float, np.number)):
        return f"{value:.6g}" if np.isrealobj(value) else _cut(str(value))
    if isinstance(value, np.ndarray) and value.size <= _ENTRIES:
        return np.array2string(value, precision=6, separator=", ")
    if isinstance(value, np.ndarray) or hasattr(value, "dtype") or getattr(value, "is_Matrix", False):
        return f"{'array' if hasattr(value, 'dtype') else 'Matrix'}({' x '.join(map(str, value.shape))})"
    if isinstance(value, Collection) and not hasattr(value, "_fields"):
        return _collected(value, depth)
    if isinstance(value, partial):
        return f"partial({_told(value.func, depth)})"
    if callable(value) and hasattr(value, "__qualname__"):
        return _cut(str(value.__qualname__).rpartition("<locals>.")[2])
    name = getattr(value, "name", None)
    return f'{_kind(value)}("{name}")' if isinstance(name, str) and name else f"{_kind(value)}(...)"


def _collected(value: Collection[Any], depth: int) -> str:
    left, right = "{}" if isinstance(value, (Mapping, Set)) else "[]" if isinstance(value, list) else "()"
    size = f"{left}{len(value)} entries{right}"
    if depth or len(value) > _ENTRIES or not hasattr(value, "__iter__"):
        return size if value else left + right
    if isinstance(value, Mapping):
        parts = [f"{key!r}: {_told(entry, depth + 1)}" for key, entry in value.items()]
    else:
        parts = [_told(entry, depth + 1) for entry in (sorted(map(repr, value)) if isinstance(value, Set) else value)]
    text = left + ", ".join(parts) + ("," if isinstance(value, tuple) and len(parts) == 1 else "") + right
    return text if len(text) <= 2 * _WORD else size


def _cut(text: str) -> str:
    return text if len(text) <= _WORD else text[: _WORD - 4] + "..."
