"""Errors for attributes, assignments and square brackets that an object does not have (E684)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from screws.errors import CallError, ScrewbondError
from screws.names.missing import MissingAttribute, cure_for_missing, part_of

T = TypeVar("T")


class ReadOnlyError(ScrewbondError, dataclasses.FrozenInstanceError, TypeError):
    """Error for an assignment to an object that cannot be changed (E684)."""

    code = "E684"


class BracketError(ScrewbondError, TypeError):
    """Error for square brackets after an object that has no entries (E684)."""

    code = "E684"


def explain_access(kind: type[T]) -> type[T]:
    """Make a class answer missing attributes, assignments to a frozen record, square brackets (E684) and arithmetic (E150);
    return it."""
    defined = {name for base in kind.__mro__ if base is not object for name in vars(base)}
    for name, answer in vars(_Refusals).items():
        if callable(answer) and name not in defined:
            setattr(kind, name, answer)
    if "__eq__" in vars(kind) and dataclasses.is_dataclass(kind) and kind.__eq__.__module__ != __name__:
        kind.__eq__ = _equality(kind.__eq__)  # type: ignore[method-assign]
    if hasattr(kind, "_cure_of_call"):
        kind.__call__ = _call  # type: ignore
    if vars(kind).get("__getitem__") is _read_entry and not hasattr(kind, "__iter__"):
        kind.__iter__ = None  # type: ignore[attr-defined]  # otherwise `for` would try the square brackets
    if issubclass(kind, Mapping) and not hasattr(kind, "__setitem__"):
        kind.__setitem__ = _assign  # type: ignore[index]
    if "__setattr__" in vars(kind) and getattr(kind, "__dataclass_params__", None) is not None:
        kind.__setattr__ = kind.__delattr__ = _assign  # type: ignore[method-assign, assignment]
    return kind


def _equality(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Return the comparison of records, also for fields that are arrays."""

    def equal(owner: Any, other: Any) -> bool:
        try:
            return compare(owner, other)
        except ValueError:  # the truth value of an array
            pairs = ((getattr(owner, each.name), getattr(other, each.name)) for each in dataclasses.fields(owner) if each.compare)
            return all(a is b or np.array_equal(a, b) for a, b in pairs)

    return equal


def missing_attribute(owner: Any, name: str, other: Any = object.__getattribute__) -> Any:
    """Return an attribute as `other` finds it; E684 if there is none."""
    try:
        return other(owner, name)  # by default, raises the error that led here
    except AttributeError as error:
        if name.startswith("_") or error.name != name or error.obj is not owner or isinstance(error, MissingAttribute):
            raise
        raise MissingAttribute(owner, name) from error


def _assign(owner: Any, name: str, *_: Any) -> None:
    """Raise E684; a class may define `_cure_of_assignment`(name), else the cure is a changed copy."""
    title, cure_of = type(owner).__name__, getattr(type(owner), "_cure_of_assignment", None)
    if cure_of is None and not hasattr(owner, name) and not part_of(owner, name):
        raise MissingAttribute(owner, name)
    fields = [field.name for field in dataclasses.fields(owner) if field.init] if dataclasses.is_dataclass(owner) else []
    copy = f"a changed copy, dataclasses.replace({title.lower()}, {name}=...)" if name in fields else f"a new {title}"
    cure = cure_of(owner, name) if cure_of else copy
    raise ReadOnlyError(f"E684 an assignment to {name!r} cannot change this {title}; try: {cure}")


def _read_entry(owner: Any, key: Any) -> Any:
    title = type(owner).__name__
    where = f"try: .{key}" if isinstance(key, str) and hasattr(owner, key) else cure_for_missing(owner, key)
    raise BracketError(f"E684 {title} has no entries in square brackets, such as {key!r}; {where}")


def _assign_entry(owner: Any, key: Any, *_: Any) -> None:
    """Raise E684, with the cure of an assignment to an attribute if the class has one."""
    title, cure_of = type(owner).__name__, getattr(type(owner), "_cure_of_assignment", None)
    cure = cure_of(owner, key) if cure_of and isinstance(key, str) else f"a new {title}"
    raise BracketError(f"E684 the entry {key!r} of this {title} cannot be changed; try: {cure}")


def _calculate(owner: Any, *_: Any) -> Any:
    """Raise E150; a class may define `_cure_of_arithmetic`, else the cure names its numbers."""
    title, fields = type(owner).__name__, getattr(owner, "__dataclass_fields__", ())
    cure = getattr(type(owner), "_cure_of_arithmetic", "") or f"arithmetic with its values, such as {_values_of(owner)}"
    if "value" in fields and "unit" in fields:
        cure = f"arithmetic with its number, {title.lower()}.value: {title}(2.0 * value, {owner.unit!r})"
    raise CallError("E150", f"{title} has no arithmetic and no order", cure)


def _call(owner: Any, *_: Any, **keywords: Any) -> Any:
    raise CallError("E150", f"{type(owner).__name__} is not a function", type(owner)._cure_of_call)


def _values_of(owner: Any) -> str:
    """Return the attributes of an object with numbers, else its first attributes, as expressions."""
    fields = [each for each in getattr(owner, "__dataclass_fields__", ()) if not each.startswith("_")]
    numbers = [each for each in fields if type(getattr(owner, each, None)) in (int, float, np.ndarray)]
    names = numbers or fields or [each for each in dir(owner) if not each.startswith("_")]
    return ", ".join(f".{name}" for name in names[:4])


class _Refusals:
    """Errors for what an object does not have."""

    __getattr__, __getitem__, __setitem__, __delitem__ = missing_attribute, _read_entry, _assign_entry, _assign_entry
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __matmul__ = __rmatmul__ = _calculate
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = __pow__ = __rpow__ = _calculate
    __neg__ = __pos__ = __abs__ = __float__ = __int__ = __round__ = __lt__ = __le__ = __gt__ = __ge__ = _calculate
    __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = __invert__ = _calculate
