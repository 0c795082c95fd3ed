"""Short `repr` of large records: one line of fewer than 500 characters, identical in every process."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Set
from functools import partial
from typing import Any, TypeVar

import numpy as np

from screws.errors import plural

T = TypeVar("T")
MAX_LENGTH = 400
"""Maximum number of characters of all fields together; an ellipsis replaces further characters."""
_MAX_VALUE_LENGTH, _MAX_ENTRIES = 60, 4


def short_repr(record: type[T]) -> type[T]:
    """Decorate a dataclass or named tuple: its `repr` names the fields, and shows only the size of long fields.

    >>> @short_repr
    ... @dataclasses.dataclass(frozen=True)
    ... class Heap:
    ...     name: str
    ...     stones: tuple[float, ...]
    >>> Heap("west", (1.0,) * 500)
    Heap(name='west', stones=(500 entries))
    """
    record.__repr__ = short_text  # type: ignore[method-assign]
    return record


def short_text(record: Any) -> str:
    """Return the class name of a record and its fields with `repr=True`, except those left at a default of None; see
    `short_repr`."""
    if isinstance(record, tuple):
        shown = [*getattr(record, "_fields", ())]
    else:
        fields = [field for field in dataclasses.fields(record) if field.repr]
        shown = [each.name for each in fields if each.default is not None or getattr(record, each.name) is not None]
    text = joined_fields((f"{name}={value_text(getattr(record, name))}" for name in shown), len(_class_name(record)))
    return f"{_class_name(record)}({text})"


def _class_name(thing: Any) -> str:
    return str(type(thing).__qualname__.rpartition(".")[2])


def joined_fields(parts: Iterable[str], used: int = 0) -> str:
    kept: list[str] = []
    for part in parts:
        used += len(part) + 2
        if used > MAX_LENGTH:
            return ", ".join([*kept, "..."])
        kept.append(part)
    return ", ".join(kept)


def value_text(value: Any, depth: int = 0) -> str:
    if value is None or isinstance(value, (bool, int, str)):
        return _truncated(repr(value))
    if isinstance(value, (float, np.number)):
        return f"{value:.6g}" if np.isrealobj(value) else _truncated(str(value))
    if isinstance(value, np.ndarray) and value.size <= _MAX_ENTRIES:
        return np.array2string(value, precision=6, separator=", ").replace("\n", "")
    if isinstance(value, np.ndarray) or hasattr(value, "dtype") or getattr(value, "is_Matrix", False):
        return f"{'array' if hasattr(value, 'dtype') else 'Matrix'}({' x '.join(map(str, value.shape))})"
    if isinstance(value, Collection) and not hasattr(value, "_fields"):
        return _collection_text(value, depth)
    if isinstance(value, partial):
        return f"partial({value_text(value.func, depth)})"
    if callable(value) and hasattr(value, "__qualname__"):
        return _truncated(str(value.__qualname__).rpartition("<locals>.")[2])
    name = getattr(value, "name", None)
    return f'{_class_name(value)}("{name}")' if isinstance(name, str) and name else f"{_class_name(value)}(...)"


def _collection_text(value: Collection[Any], depth: int) -> str:
    left, right = "{}" if isinstance(value, (Mapping, Set)) else "[]" if isinstance(value, list) else "()"
    size = f"{left}{plural(len(value), 'entry')}{right}"
    if depth or len(value) > _MAX_ENTRIES or not hasattr(value, "__iter__"):
        return size if value else left + right
    if isinstance(value, Mapping):
        parts = [f"{key!r}: {value_text(entry, depth + 1)}" for key, entry in value.items()]
    else:
        parts = [value_text(entry, depth + 1) for entry in (sorted(map(repr, value)) if isinstance(value, Set) else value)]
    text = left + ", ".join(parts) + ("," if isinstance(value, tuple) and len(parts) == 1 else "") + right
    return text if len(text) <= 2 * _MAX_VALUE_LENGTH else size


def _truncated(text: str) -> str:
    return text if len(text) <= _MAX_VALUE_LENGTH else text[: _MAX_VALUE_LENGTH - 4] + "..."
