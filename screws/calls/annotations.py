"""Annotations of arguments, read after a call has failed: which values they accept, as code and as text."""

from __future__ import annotations

import collections.abc as abc
import inspect
import math
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from screws.arrays import ArrayShape
from screws.errors import is_own

_NO_NUMBER = (str, bytes, bool, np.bool_, list, tuple, set, Mapping, type(None), types.FunctionType)
_MAX_ENTRIES = 20
_LISTS = (tuple, list, abc.Sequence, abc.Collection, abc.Iterable, abc.MutableSequence)
_WORDS = {float: "a number", int: "a whole number", bool: "True or False", str: "text", type(None): "None", complex: "a number"}


def resolved(annotation: Any, function: Callable[..., Any]) -> Any:
    holder = types.SimpleNamespace(__annotations__={"it": annotation})
    try:
        return typing.get_type_hints(holder, getattr(inspect.unwrap(function), "__globals__", {}), include_extras=True)["it"]
    except (NameError, TypeError, AttributeError, SyntaxError):  # a name that only type checkers see
        return Any


def accepts(value: Any, annotation: Any) -> bool:
    """Return False for a value that is certainly not of the annotated type: lists pass for tuples, whole numbers for floats.

    >>> [accepts(value, float | None) for value in (1, 2.5, None, "2", True, [1.0])]
    [True, True, True, False, False, False]
    >>> accepts((1.0, "2"), tuple[float, ...]), accepts([1, 2], tuple[float, ...]), accepts("ab", list[str])
    (False, True, True)
    """
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation == ArrayLike:
        if isinstance(value, (str, bytes, Mapping, type(None), types.FunctionType)) or _is_record(value):
            return False
        return any(hasattr(value, name) for name in ("__float__", "__array__", "__len__", "__scalar_function__"))
    if origin is typing.Annotated:
        return accepts(value, parts[0])
    if origin in (typing.Union, types.UnionType):
        return any(accepts(value, part) for part in parts)
    if origin is typing.Literal:
        return any(type(value) is type(part) and value == part for part in parts)
    kind = origin or annotation
    if kind in (float, int, complex):
        fraction = kind is int and isinstance(value, float) and not value.is_integer()
        if fraction or isinstance(value, _NO_NUMBER) or _is_record(value) or _ndim(value) != 0:
            return False
        return kind is complex or hasattr(value, "__float__") or hasattr(value, "__scalar_function__")
    if kind is np.ndarray:
        return not isinstance(value, (str, Mapping)) and _ndim(value) > 0
    if kind not in _LISTS:
        return not isinstance(kind, type) or _is_instance(value, kind)
    if isinstance(value, Mapping) or not isinstance(value, Iterable):
        return False
    fixed = kind is tuple and Ellipsis not in parts and bool(parts)
    if isinstance(value, str) and not fixed:
        return not parts or (parts[0] is not Any and accepts(value, parts[0]))
    if not isinstance(value, (list, tuple, str, np.ndarray)):
        return True
    entries = parts if fixed else parts[:1] * len(value)
    return len(value) == len(entries or value) and all(
        accepts(*each) for each in zip(value[:_MAX_ENTRIES], entries, strict=False)
    )


def _is_record(value: Any) -> bool:
    """Return True for an object of this project that is neither a scalar nor an array."""
    return is_own(type(value).__module__) and not (hasattr(value, "__array__") or hasattr(value, "__scalar_function__"))


def _ndim(value: Any) -> int:
    try:
        return np.ndim(value)
    except ValueError:  # rows of different lengths
        return -1


def _is_instance(value: Any, kind: type) -> bool:
    try:
        return isinstance(value, kind)
    except TypeError:  # a protocol
        return True


Shape = tuple[int | str, ...]


def shapes_of(annotation: Any) -> tuple[Shape, ...]:
    """Return the only shapes that an annotation allows, such as ((4, 4),) for `screws.arrays.Pose`; () if it allows any value
    without one of these shapes."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        parts = [shapes_of(part) for part in typing.get_args(annotation)]
        return sum(parts, ()) if all(parts) else ()
    return tuple(each.sizes for each in getattr(annotation, "__metadata__", ()) if isinstance(each, ArrayShape))


def fits(actual: tuple[int, ...], shape: Shape, letters: dict[str, int]) -> bool:
    """Return True for an array shape that fits an annotated one, and add the lengths of its letters to `letters`.

    >>> fits((4, 3), ("n", 3), letters := {}), letters, fits((2, 3), ("n", 3), letters)
    (True, {'n': 4}, False)
    """
    if len(actual) != len(shape):
        return False
    lengths = dict(letters)
    for length, size in zip(actual, shape, strict=True):
        if length != (lengths.setdefault(size, length) if isinstance(size, str) else size):
            return False
    letters.update(lengths)
    return True


def is_misshapen(value: Any, shapes: Collection[Shape]) -> bool:
    """Return True for an array, list or tuple that has none of the shapes, as far as it is checked: a list by its length and
    nesting, a matrix of another package by its number of entries."""
    if isinstance(value, np.ndarray):
        return not any(fits(value.shape, shape, {}) for shape in shapes)
    if not isinstance(value, (list, tuple)):
        return isinstance(getattr(value, "shape", None), tuple) and not any(
            math.prod(value.shape) == math.prod(shape) if str not in map(type, shape) else True for shape in shapes
        )
    fitting = [shape for shape in shapes if shape[0] == len(value) or isinstance(shape[0], str)]
    nested = any(isinstance(entry, (list, tuple, np.ndarray)) and _ndim(entry) for entry in value)
    return not any(nested == (len(shape) > 1) for shape in fitting)


def described(annotation: Any, lengths: Mapping[str, int] = {}) -> str:
    """Describe the values that an annotation accepts; `lengths` of axes by letter.

    >>> described(float | None), described(tuple[str, ...]), described(typing.Literal["a", "b"]), described(list[typing.Any])
    ('a number or None', 'a list, each entry text', "'a' or 'b'", 'a list')
    """
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if len(shapes := shapes_of(annotation)) == 1:
        sizes = ", ".join(str(lengths.get(str(size), size)) for size in shapes[0])
        return f"an array ({sizes}{',' * (len(shapes[0]) == 1)})"
    if annotation == ArrayLike:
        return "a number or an array of numbers"
    if origin is typing.Annotated:
        return described(parts[0])
    if origin in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(map(described, parts)))
    if origin is typing.Literal:
        return " or ".join(map(repr, parts))
    kind = origin or annotation
    if kind in _WORDS:
        return _WORDS[kind]
    if kind is np.ndarray:
        return "an array of numbers"
    if not isinstance(kind, type):
        return "another value"
    if issubclass(kind, Mapping):
        return "a dictionary"
    if kind in (abc.Callable, types.FunctionType):
        return "a function"
    if kind is tuple and Ellipsis not in parts and len(parts) > 1:
        return f"({', '.join(map(described, parts))})"
    if kind not in _LISTS or not parts:
        return f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}"
    return "a list" if parts[0] is typing.Any else f"a list, each entry {described(parts[0])}"
