"""Errors for what an object does not have: attributes, assignments, square brackets, a length (E684), arithmetic (E150)."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from screws.errors import CallError, ScrewbondError, is_own
from screws.names.missing import MissingAttribute, cure_for_missing, part_of
from screws.names.protection import protect_arrays

T = TypeVar("T")


class ReadOnlyError(ScrewbondError, dataclasses.FrozenInstanceError, TypeError):
    """Error for an assignment to an object that cannot be changed (E684)."""

    code = "E684"


class BracketError(ScrewbondError, TypeError):
    """Error for square brackets, iteration, a length or a hash that an object does not have (E684)."""

    code = "E684"


def explain_access(kind: type[T]) -> type[T]:
    """Make a class answer missing attributes, assignments to a frozen record, square brackets, a length (E684), arithmetic and
    hashes (E150); make the arrays of a frozen record read-only; return the class."""
    defined = {name for base in kind.__mro__ if base is not object for name in vars(base)}
    if "__len__" not in defined and "__bool__" not in defined:
        kind.__bool__ = lambda owner: True  # type: ignore[attr-defined]  # otherwise Python would ask for the length
    for name, answer in vars(_Refusals).items():
        if callable(answer) and name not in defined:
            setattr(kind, name, answer)
    if "__eq__" in vars(kind) and dataclasses.is_dataclass(kind) and kind.__eq__.__module__ != __name__:
        kind.__eq__ = _equality(kind.__eq__)  # type: ignore[method-assign]
    if hasattr(kind, "_cure_of_call"):
        kind.__call__ = _call  # type: ignore
    if getattr(kind, "__getitem__", None) is not _read_entry and not hasattr(kind, "_ipython_key_completions_"):
        kind._ipython_key_completions_ = keys_of  # type: ignore[attr-defined]
    hash_of: Any = vars(kind).get("__hash__", kind.__hash__)
    if hash_of is None or (dataclasses.is_dataclass(kind) and getattr(hash_of, "__module__", __name__) != __name__):
        kind.__hash__ = _hash_by(hash_of)  # type: ignore[method-assign, assignment]
    if issubclass(kind, Mapping) and not hasattr(kind, "__setitem__"):
        kind.__setitem__ = _assign  # type: ignore[index]
    if "__setattr__" in vars(kind) and getattr(kind, "__dataclass_params__", None) is not None:
        kind.__setattr__ = kind.__delattr__ = _assign  # type: ignore[method-assign, assignment]
        protect_arrays(kind)
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
    """Raise E684; Python iterates by the numbers 0, 1, 2 ..."""
    where = f"try: .{key}" if isinstance(key, str) and hasattr(owner, key) else cure_for_missing(owner, key)
    lacks = "no entries, neither to iterate over nor" if isinstance(key, int) else "no entries"
    raise BracketError(f"E684 {type(owner).__name__} has {lacks} in square brackets, such as {key!r}; {where}")


def _length(owner: Any) -> int:
    """Raise E684; a class may define `_cure_of_length`."""
    cure = getattr(type(owner), "_cure_of_length", "") or f"the length of one of its values, such as {_values_of(owner)}"
    raise BracketError(f"E684 {type(owner).__name__} has no length; try: {cure}")


def _hash_by(hash_of: Callable[[Any], int] | None) -> Callable[[Any], int]:
    def hash_or_refuse(owner: Any) -> int:
        with contextlib.suppress(TypeError):  # a field without a hash
            if hash_of is not None:
                return hash_of(owner)
        title = type(owner).__name__
        cure = f"a list of these objects, or id({title.lower()}) as the key"
        raise BracketError(f"E684 {title} has no hash, so no set or dictionary can find it by its value; try: {cure}")

    return hash_or_refuse


def keys_of(owner: Any) -> list[str]:
    """Return the names that square brackets take, for completion in notebooks: those of the object, else of its first field with
    names."""
    if callable(getattr(owner, "names", None)):
        return [*owner.names()]
    if hasattr(type(owner), "__iter__"):
        return [each for each in owner if isinstance(each, str)]
    values = (getattr(owner, name) for name in getattr(owner, "__dataclass_fields__", ()))
    return next((keys for value in values if is_own(type(value).__module__) and (keys := keys_of(value))), [])


def _assign_entry(owner: Any, key: Any, *_: Any) -> None:
    """Raise E684, with the cure of an assignment to an attribute if the class has one."""
    title, cure_of = type(owner).__name__, getattr(type(owner), "_cure_of_assignment", None)
    cure = cure_of(owner, key) if cure_of and isinstance(key, str) else f"a new {title}"
    raise BracketError(f"E684 the entry {key!r} of this {title} cannot be changed; try: {cure}")


def _compare_or_refuse(owner: Any, ufunc: np.ufunc, *_: Any, **__: Any) -> bool:
    """Return that an array differs from a record; E150 for other functions of NumPy."""
    if ufunc in (np.equal, np.not_equal):
        return bool(ufunc is np.not_equal)
    return _calculate(owner)


def _calculate(owner: Any, *_: Any, **__: Any) -> Any:
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


def _format(owner: Any, specification: str) -> str:
    if specification:
        cure = f"the format of one of its values, such as {_values_of(owner)}"
        raise CallError("E150", f"{type(owner).__name__} has no format {specification!r}", cure)
    return str(owner)


class _Refusals:
    """Errors for what an object does not have."""

    __len__, __format__, __array_ufunc__ = _length, _format, _compare_or_refuse
    __getattr__, __getitem__, __setitem__, __delitem__ = missing_attribute, _read_entry, _assign_entry, _assign_entry
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __matmul__ = __rmatmul__ = _calculate
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = __pow__ = __rpow__ = _calculate
    __neg__ = __pos__ = __abs__ = __float__ = __int__ = __round__ = __lt__ = __le__ = __gt__ = __ge__ = _calculate
    __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = __invert__ = _calculate
