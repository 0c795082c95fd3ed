"""Formulas for one pose, evaluated at many poses in one call: arrays (..., n) in, arrays (..., shape of the result) out."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

import numpy as np
from screwbond.models.chains.trees import Tree, as_floats

from bondgraph.errors import refusal
from screws.errors import plural
from screws.numeric_arguments import holds_numbers
from screws.scalars import FUNCTIONS

Formula = TypeVar("Formula", bound=Callable[..., Any])


class Column:
    """Scalar with a value in each row; sums and products with the constants 0 and 1 are simplified."""

    __slots__ = ("values",)

    def __init__(self, values: np.ndarray):
        self.values = values

    def __scalar_function__(self, name: str, arguments: tuple[Any, ...]) -> Column:
        return Column(FUNCTIONS[name][0](*map(_values, arguments)))

    def __neg__(self) -> Column:
        return Column(-self.values)


def _values(scalar: Any) -> Any:
    return scalar.values if isinstance(scalar, Column) else scalar


def _is(scalar: Any, constant: float) -> bool:
    return isinstance(scalar, (int, float)) and scalar == constant


def _sum(a: Any, b: Any) -> Any:
    return b if _is(a, 0.0) else a if _is(b, 0.0) else Column(_values(a) + _values(b))


def _difference(a: Any, b: Any) -> Any:
    return a if _is(b, 0.0) else Column(_values(a) - _values(b))


def _product(a: Any, b: Any) -> Any:
    if _is(a, 0.0) or _is(b, 0.0):
        return 0.0
    return b if _is(a, 1.0) else a if _is(b, 1.0) else Column(_values(a) * _values(b))


def _quotient(a: Any, b: Any) -> Any:
    return Column(_values(a) / _values(b))


def _overload(name: str, rule: Callable[[Any, Any], Any]) -> None:
    def forward(self: Column, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else rule(self, other)

    def reflected(self: Column, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else rule(other, self)

    setattr(Column, f"__{name}__", forward)
    setattr(Column, f"__r{name}__", reflected)


for _name, _rule in (("add", _sum), ("sub", _difference), ("mul", _product), ("truediv", _quotient)):
    _overload(_name, _rule)


def of_rows(*states: str) -> Callable[[Formula], Formula]:
    """Decorate a formula of a `tree`, so that its arguments `states` (n,) may also be rows of states (..., n).

    Raises `ModelError` E338 for anything but a tree, and for states that are not finite or whose shapes do not fit.
    """

    def decorated(formula: Formula) -> Formula:
        shape = signature(formula)

        @wraps(formula)
        def evaluated(*arguments: Any, **keywords: Any) -> Any:
            call = shape.bind(*arguments, **keywords)
            tree = call.arguments["tree"]
            need_tree(tree, formula.__name__)
            named = {state: call.arguments[state] for state in states if state in call.arguments}
            if all(_is_state(tree, values) for values in named.values()):
                return formula(*arguments, **keywords)
            rows = {state: state_rows(tree, state, values) for state, values in named.items()}
            try:
                leading = np.broadcast_shapes(*(values.shape[:-1] for values in rows.values()))
            except ValueError:
                title = "the rows do not match: " + ", ".join(f"{state} {x.shape}" for state, x in rows.items())
                raise refusal("E338", title, "the same number of rows in each array", about=tree.name) from None
            for state, values in rows.items():
                table = np.broadcast_to(values, (*leading, tree.freedoms)).reshape(-1, tree.freedoms)
                call.arguments[state] = np.array([*map(Column, table.T.copy()), None], dtype=object)[:-1]
            result = formula(*call.args, **call.kwargs)
            return tuple(_stacked(x, leading) for x in result) if isinstance(result, tuple) else _stacked(result, leading)

        return evaluated  # type: ignore[return-value]

    return decorated


def need_tree(tree: Any, function: str) -> None:
    if not isinstance(tree, Tree):
        raise refusal("E338", f"{tree!r} is not a tree", "a Chain or Tree, such as robot.tree", about=function)


def _is_state(tree: Tree, values: Any) -> bool:
    try:
        entries = np.asarray(values)
    except ValueError:  # rows of different lengths
        return False
    if entries.shape != (tree.freedoms,) or not holds_numbers(entries):
        return False
    return entries.dtype.kind == "O" or bool(np.isfinite(entries).all())


def state_rows(tree: Tree, name: str, values: Any) -> np.ndarray:
    rows = as_floats(values)
    if rows.ndim == 0 or rows.shape[-1] != tree.freedoms or not np.all(np.isfinite(rows)):
        size = f"its shape is {rows.shape}" if np.all(np.isfinite(rows)) else "an entry is not a finite number"
        title = f'{name} does not match "{tree.name}"'
        cure = f"{plural(tree.freedoms, 'finite number')} in each row: {', '.join(tree.coordinates[:12])}"
        raise refusal("E338", title, cure, about=tree.name, why=size)
    return rows


def _stacked(result: Any, leading: tuple[int, ...]) -> np.ndarray:
    entries = np.asarray(result, dtype=object)
    out = np.empty((*entries.shape, int(np.prod(leading))))
    for index, entry in np.ndenumerate(entries):
        out[index] = _values(entry)
    return np.moveaxis(out, -1, 0).reshape(*leading, *entries.shape)
