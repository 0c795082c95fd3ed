"""Values by name on a tape: evaluation of statements, conversion to scalars and back, and partial derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from bondgraph.assembly.system import Statement, System, Unknown
from bondgraph.tape.differentiate import jacobian
from bondgraph.tape.scalar import TraceError
from screws.scalars import array

Key = TypeVar("Key")
Values = dict[str, Any]
Entries = Mapping[tuple[int, int], Any]


class Untraceable(Exception):
    """Error for a formula that works with floats but cannot be recorded with traced values."""

    def __init__(self, statement: Statement, error: Exception):
        self.statement = statement
        self.error = error
        super().__init__(str(error))


def carry_out(statement: Statement, env: Values) -> None:
    try:
        results = statement.results([env[arg] for arg in statement.args])
    except (TraceError, ArithmeticError, TypeError, ValueError, AttributeError, LookupError, NameError) as error:
        raise Untraceable(statement, error) from error
    env.update(zip(statement.outs, results, strict=True))


def scalars_of(value: Any) -> list[Any]:
    return list(np.asarray(value).flat) if np.ndim(value) else [value]


def shaped(scalars: Sequence[Any] | np.ndarray, shape: tuple[int, ...]) -> Any:
    return array(list(scalars)).reshape(shape) if shape else scalars[0]


def flat(values: Any) -> np.ndarray:
    pieces = [np.asarray(value, dtype=float).ravel() for value in values]
    return np.concatenate(pieces) if pieces else np.zeros(0)


def shapes_of(system: System, unknowns: Sequence[Unknown]) -> list[tuple[int, ...]]:
    return [system.values[unknown.value].shape or () for unknown in unknowns]


def owners_of(system: System, unknowns: Sequence[Unknown]) -> list[Unknown]:
    return [u for u, shape in zip(unknowns, shapes_of(system, unknowns), strict=True) for _ in range(int(np.prod(shape)))]


def placed(unknowns: Sequence[Unknown], shapes: Sequence[tuple[int, ...]], scalars: Sequence[Any]) -> Values:
    out, start = {}, 0
    for unknown, shape in zip(unknowns, shapes, strict=True):
        size = int(np.prod(shape))
        out[unknown.value] = shaped(scalars[start : start + size], shape)
        start += size
    return out


def residuals_of(env: Values, unknowns: Sequence[Unknown]) -> list[Any]:
    return [scalar for unknown in unknowns for scalar in scalars_of(env[unknown.residual])]


def through(function: Callable[[Sequence[Any]], Sequence[Any]], table: Mapping[Key, Any]) -> dict[Key, Any]:
    return dict(zip(table, function(list(table.values())), strict=True))


def nonzero(table: Mapping[Key, Any]) -> dict[Key, Any]:
    return {key: value for key, value in table.items() if value.value != 0.0}


def partials(values: Sequence[Any], w: Sequence[Any]) -> dict[tuple[int, int], Any]:
    J = jacobian(values, w)
    return {(int(i), int(j)): v for i, j, v in zip(J.rows, J.columns, J.values, strict=True)}
