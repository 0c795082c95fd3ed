"""Evaluation of what is known at translation: constants, tables of a module, fixed arguments."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

_OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = MappingProxyType(
    {
        ast.Add: operator.add,
        ast.Sub: operator.sub,
        ast.Mult: operator.mul,
        ast.Div: operator.truediv,
        ast.FloorDiv: operator.floordiv,
        ast.Mod: operator.mod,
        ast.Pow: operator.pow,
        ast.USub: operator.neg,
        ast.Not: operator.not_,
        ast.Lt: operator.lt,
        ast.LtE: operator.le,
        ast.Gt: operator.gt,
        ast.GtE: operator.ge,
        ast.Eq: operator.eq,
        ast.NotEq: operator.ne,
        ast.Is: operator.is_,
        ast.IsNot: operator.is_not,
        ast.In: lambda x, y: x in y,
        ast.NotIn: lambda x, y: x not in y,
    }
)


def evaluate(node: ast.AST, names: Mapping[str, Any]) -> Any:
    """Return the value of an expression of known names.

    Raises NameError for an unknown name, NotImplementedError for an expression that is not of the language.
    """

    def value(part: ast.AST) -> Any:
        return evaluate(part, names)

    match node:
        case ast.Constant(constant):
            return constant
        case ast.Name(name):
            if name not in names and not hasattr(builtins, name):
                raise NameError(f'nothing is called "{name}"')
            return names[name] if name in names else getattr(builtins, name)
        case ast.Attribute(owner, field):
            return getattr(value(owner), field)
        case ast.Subscript(owner, index):
            return value(owner)[value(index)]
        case ast.Slice(lower, upper, step):
            return slice(*(None if part is None else value(part) for part in (lower, upper, step)))
        case ast.Tuple(items) | ast.List(items):
            return tuple(map(value, items))
        case ast.UnaryOp(operation, operand) if type(operation) in _OPERATORS:
            return _OPERATORS[type(operation)](value(operand))
        case ast.BinOp(left, operation, right) if type(operation) in _OPERATORS:
            return _OPERATORS[type(operation)](value(left), value(right))
        case ast.BoolOp(operation, parts):
            results = [value(part) for part in parts]
            return all(results) if isinstance(operation, ast.And) else any(results)
        case ast.Compare(left, operations, others):
            terms = [value(part) for part in (left, *others)]
            pairs = zip(operations, terms, terms[1:], strict=False)
            return all(_OPERATORS[type(operation)](x, y) for operation, x, y in pairs)
        case ast.IfExp(test, yes, no):
            return value(yes) if value(test) else value(no)
        case ast.Call(function, arguments, []):
            return value(function)(*map(value, arguments))
    raise NotImplementedError(type(node).__name__)
