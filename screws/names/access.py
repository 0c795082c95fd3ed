"""Errors for attributes, assignments and square brackets that an object does not have (E684)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

from screws.errors import CallError, ScrewbondError
from screws.names.missing import MissingAttribute, cure_for_missing, part_of

T = TypeVar("T")
_OPERATORS = "add radd sub rsub mul rmul truediv rtruediv pow rpow neg abs float lt le gt ge".split()  # noqa: SIM905


class ReadOnlyError(ScrewbondError, dataclasses.FrozenInstanceError, TypeError):
    """Error for an assignment to an object that cannot be changed (E684)."""

    code = "E684"


class BracketError(ScrewbondError, TypeError):
    """Error for square brackets after an object that has no entries (E684)."""

    code = "E684"


def explain_access(kind: type[T]) -> type[T]:
    """Make a class answer a missing attribute, an assignment to a frozen record, and square brackets with E684; return it."""
    if not hasattr(kind, "__getattr__"):
        kind.__getattr__ = missing_attribute  # type: ignore[attr-defined]
    if not hasattr(kind, "__getitem__"):
        kind.__getitem__ = _read_entry  # type: ignore[index]
        if not hasattr(kind, "__iter__"):
            kind.__iter__ = None  # type: ignore[attr-defined]  # otherwise `for` would try the square brackets
    if issubclass(kind, Mapping) and not hasattr(kind, "__setitem__"):
        kind.__setitem__ = _assign  # type: ignore[index]
    if "__setattr__" in vars(kind) and getattr(kind, "__dataclass_params__", None) is not None:
        kind.__setattr__ = _assign  # type: ignore[method-assign]
    return kind


def refuse_arithmetic(kind: type[T]) -> type[T]:
    """Make a record with a value and a unit refuse arithmetic and comparisons (E150); return the class."""
    for operator in _OPERATORS:
        setattr(kind, f"__{operator}__", _calculate)
    return kind


def missing_attribute(owner: Any, name: str, other: Any = object.__getattribute__) -> Any:
    """Return an attribute as `other` finds it; E684 if there is none."""
    try:
        return other(owner, name)  # by default, raises the error that led here
    except AttributeError as error:
        if name.startswith("_") or error.name != name or error.obj is not owner or isinstance(error, MissingAttribute):
            raise
        raise MissingAttribute(owner, name) from error


def _assign(owner: Any, name: str, value: Any) -> None:
    """Raise E684; a class may define `_cure_of_assignment`(name), else the cure is a changed copy."""
    title, cure_of = type(owner).__name__, getattr(type(owner), "_cure_of_assignment", None)
    if cure_of is None and not hasattr(owner, name) and not part_of(owner, name):
        raise MissingAttribute(owner, name)
    fields = [field.name for field in dataclasses.fields(owner) if field.init] if dataclasses.is_dataclass(owner) else []
    copy = f"a changed copy, dataclasses.replace({title.lower()}, {name}=...)" if name in fields else f"a new {title}"
    cure = cure_of(owner, name) if cure_of else copy
    raise ReadOnlyError(f"E684 an assignment to {name!r} cannot change this {title}; try: {cure}")


def _calculate(owner: Any, *_: Any) -> Any:
    title = type(owner).__name__
    cure = f"arithmetic with its number, {title.lower()}.value: {title}(2.0 * value, {owner.unit!r})"
    raise CallError("E150", f"a {title} has no arithmetic", cure)


def _read_entry(owner: Any, key: Any) -> Any:
    title = type(owner).__name__
    where = f"try: .{key}" if isinstance(key, str) and hasattr(owner, key) else cure_for_missing(owner, key)
    raise BracketError(f"E684 {title} has no entries in square brackets, such as {key!r}; {where}")
