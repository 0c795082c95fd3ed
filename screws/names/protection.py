"""Protection of the arrays of frozen records: those in fields and in cached properties are read-only."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from screws.errors import is_called_by_user, is_own

_PLAIN: set[type] = set()
"""Types whose values `read_only` has returned as they are; a set is faster here than a function with a cache."""


def read_only(value: Any, copied: bool = False) -> Any:
    """Return an array as a read-only view, or copied, a SymPy matrix as an immutable one, and a tuple or a dictionary with such
    entries; anything else as it is.

    >>> read_only((np.zeros(2), "name"))[0].flags.writeable
    False
    """
    kind = type(value)
    if kind is np.ndarray:
        if not value.flags.writeable:
            return value
        view = value.copy() if copied else value.view()
        view.setflags(write=False)
        return view
    if hasattr(kind, "as_immutable"):
        return value.as_immutable()
    if kind is not tuple and not (issubclass(kind, dict) and kind.__init__ is dict.__init__):
        _PLAIN.add(kind)
        return value
    entries = value if kind is tuple else value.values()
    if _PLAIN.issuperset(map(type, entries)):
        return value
    changed = [read_only(entry, copied) for entry in entries]
    if all(new is old for new, old in zip(changed, entries, strict=True)):
        return value
    return tuple(changed) if kind is tuple else kind(zip(value, changed, strict=True))


def protect_arrays(kind: type[Any]) -> None:
    """Make the arrays that a record keeps read-only: its fields, also after pickling, and its cached properties; arrays of the
    user are copied."""
    if "__init__" in vars(kind) and not hasattr(kind.__init__, "protects_arrays"):
        kind.__init__ = _protecting(kind.__init__)
    if not hasattr(kind, "__setstate__"):
        kind.__setstate__ = _restore
    for base in kind.__mro__:
        for each in vars(base).values():
            if isinstance(each, functools.cached_property) and is_own(base.__module__) and not hasattr(each, "protects_arrays"):
                each.func = _returning_read_only(each.func)
                each.protects_arrays = True  # type: ignore[attr-defined]


def _protecting(create: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(create)
    def initialise(owner: Any, *arguments: Any, **keywords: Any) -> None:
        create(owner, *arguments, **keywords)
        every = getattr(owner, "__dict__", {}).items()
        if values := [(name, value) for name, value in every if type(value) not in _PLAIN]:
            copied = is_called_by_user()
            for name, value in values:
                if (protected := read_only(value, copied)) is not value:
                    object.__setattr__(owner, name, protected)

    initialise.protects_arrays = True  # type: ignore[attr-defined]
    return initialise


def _returning_read_only(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return functools.wraps(function)(lambda owner: read_only(function(owner)))


def _restore(owner: Any, state: Mapping[str, Any]) -> None:
    owner.__dict__.update({name: read_only(value) for name, value in state.items()})
