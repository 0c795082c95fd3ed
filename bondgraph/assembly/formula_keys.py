"""Keys of formulas: compare operations by the code and the constants of their functions, not by the identity of the objects."""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from bondgraph.model.ops import Op

_DEPTH = 10
_PLAIN = (int, float, complex, str, bytes, bool, type(None))


def formula_key(op: Op) -> Hashable:
    """Return a key that is equal for operations with the same code, equal constants and the same objects.

    Lambdas written once in a loop share their code; their closures are compared by value if they are numbers, strings, tuples,
    arrays or frozen records of such values, else by identity. The key is valid as long as the operation exists.
    """
    return _key(op.function, _DEPTH)


def _key(item: Any, depth: int) -> Hashable:
    kind = type(item)
    if kind in _PLAIN:
        return (kind, repr(item) if kind in (float, complex) else item)  # repr: 0.0 is not -0.0
    if depth and kind is types.FunctionType:
        closure = tuple(_cell(cell, depth - 1) for cell in item.__closure__ or ())
        defaults = (
            _key(item.__defaults__, depth - 1),
            tuple((name, _key(value, depth - 1)) for name, value in (item.__kwdefaults__ or {}).items()),
        )
        return ("function", item.__code__, id(item.__globals__), closure, defaults)
    if depth and kind is tuple:
        return ("tuple", *(_key(part, depth - 1) for part in item))
    if kind is np.ndarray and item.dtype != object:
        return ("array", item.shape, item.dtype.str, item.tobytes())
    if isinstance(item, np.generic):
        return ("number", item.dtype.str, item.tobytes())
    if depth and kind is types.MethodType:
        return ("method", _key(item.__self__, depth - 1), _key(item.__func__, depth - 1))
    if depth and kind is functools.partial:
        named = tuple((name, _key(value, depth - 1)) for name, value in item.keywords.items())
        return ("partial", _key(item.func, depth - 1), _key(item.args, depth - 1), named)
    if depth and _is_record(kind):  # type: ignore[arg-type]
        return ("record", id(kind), *(_field(getattr(item, field.name), depth - 1) for field in dataclasses.fields(item)))
    return ("object", id(item))


def _field(item: Any, depth: int) -> Hashable:
    if isinstance(item, Mapping):
        return ("mapping", *((name, _key(value, depth - 1)) for name, value in item.items()))
    return _key(item, depth)


@functools.cache
def _is_record(kind: type) -> bool:
    parameters = getattr(kind, "__dataclass_params__", None)
    return parameters is not None and parameters.frozen and parameters.eq


def _cell(cell: types.CellType, depth: int) -> Hashable:
    try:
        return _key(cell.cell_contents, depth)
    except ValueError:  # the cell is still empty
        return ("object", id(cell))
