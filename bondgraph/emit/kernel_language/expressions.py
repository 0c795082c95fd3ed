"""Expressions of the kernel language as instructions."""

from __future__ import annotations

import ast
import functools
import inspect
import typing
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import CodeType, MappingProxyType
from typing import Any

from bondgraph.emit.instructions import Literal, Term, integer
from bondgraph.emit.kernel_language import language
from bondgraph.emit.kernel_language.language import (
    INSTEAD,
    KINDS,
    POINTER,
    PRIMITIVE_OF,
    SHIFT_OF,
    Array,
    Code,
    field_name,
    is_table,
    kind_of,
    named,
    types_of,
)
from bondgraph.emit.kernel_language.source import Function, source_of
from bondgraph.emit.kernel_language.values import Computed, Emitter, Known, LocalName, is_wide
from screws.errors import plural

BINARY: Mapping[type[ast.AST], str] = MappingProxyType({ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div"})
_COMPARED: Mapping[type[ast.AST], str] = MappingProxyType(
    {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq"}
)
_FREE = frozenset(
    {
        *("abs", "float", "int", "bool", "max", "min", "larger", "smaller", "sqrt", "finite", "anywhere"),
        *("fma", "bits_sum", "bits_up", "bits_down"),
    }
)
"""Functions that may be called even if their result is not needed."""
_NOT_KNOWN = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.JoinedStr, ast.NamedExpr)


class Expressions(Emitter):
    def call_function(self, function: Function, arguments: Mapping[str, Computed | Known], node: ast.AST) -> Computed | Known:
        raise NotImplementedError

    def refuse(self, node: ast.AST) -> Any:
        name = type(getattr(node, "op", node)).__name__
        self.fail(node, f"the kernel language has no {name}{f'; {INSTEAD[name]}' if name in INSTEAD else ''}")

    def is_known(self, node: ast.expr) -> bool:
        for name in self.source.reads[node]:
            if name in self.source.variables or isinstance(self.scope.get(name), (Computed, LocalName)):
                return False
        return True

    def known(self, node: ast.expr) -> Any:
        if not self.is_known(node):
            self.fail(node, "this must be known at translation time: a constant of the module, or a Fixed argument")
        if isinstance(node, ast.Name) and isinstance(bound := self.scope.get(node.id), Known):
            return bound.value
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id not in self.scope:
            owner = self.source.names.get(node.value.id)
            if owner is not None and hasattr(owner, node.attr):
                return getattr(owner, node.attr)
        code = _compiled(node) or self.refuse(node)
        constants = {name: bound.value for name, bound in self.scope.items() if isinstance(bound, Known)}
        try:
            return eval(code, self.source.names, constants)  # noqa: S307
        except (NameError, AttributeError, LookupError, ArithmeticError) as error:
            self.fail(node, str(error))

    def expression(self, node: ast.expr) -> Computed | Known:
        if isinstance(node, ast.Constant):
            return Known(node.value)
        if not isinstance(node, ast.Call) and self.is_known(node):
            return Known(self.known(node))
        match node:
            case ast.Name(name):
                return self.read(name, node)
            case ast.Attribute(owner, field):
                return self.field(self.expression(owner), field, node)
            case ast.Subscript(owner, index):
                return self._subscript(owner, index, node)
            case ast.UnaryOp(ast.Not(), operand):
                return Computed(bool, self.step("not", self.converted(self.expression(operand), bool, node)))
            case ast.UnaryOp(ast.USub(), operand):
                return self.arithmetic("mul", Known(-1), self.expression(operand), node)
            case ast.BinOp(left, _, right):
                return self.binary(left, right, node)
            case ast.Compare(left, operations, others):
                return self._compare(operations, [self.expression(part) for part in (left, *others)], node)
            case ast.BoolOp(operation, parts):
                return self._bool_operation(node, "and" if isinstance(operation, ast.And) else "or", parts)
            case ast.IfExp(test, yes, no):
                return self._conditional(test, (yes, no), node)
            case ast.Call():
                return self._call(node)
        self.refuse(node)
        raise AssertionError

    def binary(self, left: ast.expr, right: ast.expr, node: ast.BinOp | ast.AugAssign) -> Computed:
        if isinstance(node.op, (ast.BitAnd, ast.BitOr)):
            return self._eager("and" if isinstance(node.op, ast.BitAnd) else "or", (left, right), node)
        if type(node.op) not in BINARY:
            self.refuse(node)
        return self.arithmetic(BINARY[type(node.op)], self.expression(left), self.expression(right), node)

    # Tables and arrays.

    def index_of(self, owner: Computed | Known, field: str, node: ast.AST) -> tuple[Term, Any]:
        if not is_table(owner.type):
            self.fail(node, f'{named(owner.type)} has no field "{field}"')
        if field not in types_of(owner.type):
            self.fail(node, f'"{owner.type.__name__}" has no field "{field}"; it has {", ".join(types_of(owner.type))}')
        index = owner.type.layout()[field][0]
        return Literal(KINDS[int], index, field_name(owner.type, field)), types_of(owner.type)[field]

    def field(self, owner: Computed | Known, field: str, node: ast.AST) -> Computed:
        index, kind = self.index_of(owner, field, node)
        assert isinstance(owner, Computed)
        value = self.loaded(owner.result, index, kind)
        if isinstance(kind, Array) and kind.single:
            return self.load_lanes(value.result) if self.lanes > 1 else self.loaded(value.result, integer(0), float)
        return value

    def per_lane(self, array: Array) -> bool:
        return self.lanes > 1 and array.entries is float and not array.shared

    def entry(self, owner: ast.expr, index: ast.expr, node: ast.AST) -> tuple[Array, Term, Term]:
        array = self.expression(owner)
        if not (isinstance(array, Computed) and isinstance(array.type, Array)):
            self.fail(node, f"{named(array.type)} cannot be indexed by a computed number")
        at = self.converted(self.expression(index), int, node)
        if self.per_lane(array.type) and not array.type.by_offset:
            at = self.write.step("mul i64", at, integer(self.lanes))
        return array.type, array.result, at

    def _subscript(self, owner: ast.expr, index: ast.expr, node: ast.AST) -> Computed:
        if isinstance(index, ast.Slice):
            if index.upper is not None or index.step is not None or index.lower is None:
                self.fail(node, "a slice can only have a start: a[i:]")
            array, first, at = self.entry(owner, index.lower, node)
            return Computed(array, self.write.step(f"at {array.kind}", first, at))
        array, first, at = self.entry(owner, index, node)
        if self.per_lane(array):
            return self.load_lanes(self.write.step("at double", first, at))
        return self.loaded(first, at, array.entries)

    # Arithmetic and conditions.

    def common(self, values: Sequence[Computed | Known], node: ast.AST) -> Any:
        kinds = {each.type for each in values}
        if not kinds <= set(KINDS):
            self.fail(node, f"these are not numbers: {' and '.join(sorted(map(named, kinds)))}")
        return float if float in kinds else bool if kinds == {bool} else int

    def arithmetic(self, name: str, left: Computed | Known, right: Computed | Known, node: ast.AST) -> Computed:
        kind, pair = self._pair(left, right, node)
        if kind is int and name == "div":
            self.fail(node, "integer division is not supported here; write float(a) / float(b)")
        return Computed(kind, self.step(f"{name} {KINDS[kind]}", *pair))

    def _pair(self, left: Computed | Known, right: Computed | Known, node: ast.AST) -> tuple[Any, list[Term]]:
        kind = self.common((left, right), node)
        kind = int if kind is bool else kind
        return kind, [self.converted(each, kind, node) for each in (left, right)]

    def _compare(self, operations: Sequence[ast.cmpop], values: Sequence[Computed | Known], node: ast.AST) -> Computed:
        results = [self._compared(*each, node) for each in zip(operations, values, values[1:], strict=False)]
        return Computed(bool, functools.reduce(lambda one, other: self.step("and", one, other), results))

    def _compared(self, operation: ast.cmpop, left: Computed | Known, right: Computed | Known, node: ast.AST) -> Any:
        if isinstance(operation, (ast.Is, ast.IsNot)):
            if right != Known(None) or not isinstance(left, Computed) or kind_of(left.type) != POINTER:
                self.fail(node, '"is" only compares an address with None: "x is None", "x is not None"')
            present = self.step("is given", left.result)
            return present if isinstance(operation, ast.IsNot) else self.step("not", present)
        kind, pair = self._pair(left, right, node)
        if isinstance(operation, ast.NotEq):
            return self.step("not", self.step(f"eq {KINDS[kind]}", *pair))
        if type(operation) not in _COMPARED:
            self.refuse(operation)
        return self.step(f"{_COMPARED[type(operation)]} {KINDS[kind]}", *pair)

    def _bool_operation(self, node: ast.BoolOp, name: str, parts: Sequence[ast.expr]) -> Computed:
        """Return `a and b` or `a or b`: skip parts that do not decide the result, unless evaluating them is harmless or there
        are several lanes."""
        if self.lanes > 1 or all(map(_harmless, parts[1:])):
            return self._eager(name, parts, node)
        return self._by_branch(node, (ast.Constant(True), ast.Constant(False)))

    def _eager(self, name: str, parts: Sequence[ast.expr], node: ast.AST) -> Computed:
        results = [self.converted(self.expression(part), bool, node) for part in parts]
        return Computed(bool, functools.reduce(lambda one, other: self.step(name, one, other), results))

    def _conditional(self, test: ast.expr, parts: Sequence[ast.expr], node: ast.AST) -> Computed | Known:
        """Return `a if condition else b`: evaluate only the chosen part, unless evaluating both is harmless or there are
        several lanes."""
        if self.is_known(test):
            return self.expression(parts[0] if self.known(test) else parts[1])
        if self.lanes > 1 or (all(map(_harmless, parts)) and not isinstance(test, ast.BoolOp)):
            condition, values = self.converted(self.expression(test), bool, node), [self.expression(part) for part in parts]
            kind = self.common(values, node)
            numbers = [self.in_memory(value, kind, node) for value in values]
            wide = is_wide(condition) or any(map(is_wide, numbers))
            if wide and kind is int:
                self.fail(node, "integers are the same in all lanes; use a float")
            name = "select double" if wide else f"select {KINDS[kind]}"
            numbers = [self.step("real", each) if wide and each.kind == KINDS[int] else each for each in numbers]
            return self.from_memory(self.step(name, condition, *numbers), kind)
        return self._by_branch(test, parts)

    def _by_branch(self, test: ast.expr, parts: Sequence[ast.expr]) -> Computed:
        kind, local = None, None
        with self.branches(test) as (yes, no, done):
            for label, part in zip((yes, no), parts, strict=True):
                self.write.label(label)
                value = self.expression(part)
                kind = kind or self.common([value], part)
                local = local or self.write.variable(KINDS[kind])
                self.write.set(local, self.in_memory(value, kind, part))
                self.write.jump(done)
        assert local is not None
        return self.from_memory(self.write.get(local), kind)

    def branch(self, node: ast.expr, yes: str, no: str) -> None:
        """Jump to one of two labels; as in CPython, parts that do not decide the result are skipped."""
        match node:
            case ast.BoolOp(operation, values):
                for value in values[:-1]:
                    following = self.write.new_label()
                    self.branch(value, *((following, no) if isinstance(operation, ast.And) else (yes, following)))
                    self.write.label(following)
                self.branch(values[-1], yes, no)
            case ast.UnaryOp(ast.Not(), operand):
                self.branch(operand, no, yes)
            case _ if self.is_known(node):
                self.write.jump(yes if self.known(node) else no)
            case _:
                result = self.converted(self.expression(node), bool, node)
                if is_wide(result):
                    self.fail(node, "lanes cannot diverge here; use anywhere(...)")
                self.write.fork(result, yes, no)

    @contextmanager
    def branches(self, test: ast.expr | Term) -> Iterator[tuple[str, str, str]]:
        yes, no, done = (self.write.new_label() for _ in range(3))
        if isinstance(test, ast.expr):
            self.branch(test, yes, no)
        else:
            self.write.fork(test, yes, no)
        yield yes, no, done
        self.write.label(done)

    # Calls.

    def _call(self, node: ast.Call) -> Computed | Known:
        if node.keywords:
            self.fail(node, "a call takes no keyword arguments: write them in order")
        if all(self.is_known(part) for part in (node.func, *node.args)) and not self._is_translated(self.known(node.func)):
            return Known(self.known(node))
        function, values = self.expression(node.func), [self.expression(argument) for argument in node.args]
        if isinstance(function, Computed):
            return self._call_code(function, values, node)
        target = function.value
        if target is getattr and isinstance(values[1], Known):
            return self.field(values[0], values[1].value, node)
        if target is typing.cast and isinstance(values[0], Known) and isinstance(values[1], Computed):
            return Computed(values[0].value.__metadata__[0], values[1].result)
        if not self._is_translated(target):
            return self._call_builtin(target, values, node)
        names = source_of(target).arguments
        if len(names) != len(values):
            self.fail(node, f"{target.__name__} takes {plural(len(names), 'argument')}, not {len(values)}")
        return self.call_function(target, dict(zip(names, values, strict=True)), node)

    @staticmethod
    def _is_translated(function: Any) -> bool:
        return inspect.isfunction(function) and function.__module__ != language.__name__

    def _call_code(self, code: Computed, values: Sequence[Computed | Known], node: ast.AST) -> Computed:
        if not isinstance(code.type, Code):
            self.fail(node, f"{named(code.type)} cannot be called")
        self.refuse_mask(node)
        passed = list[Term]()
        for each in values:
            by_address = each.type in KINDS and not code.type.by_value
            result = self.in_memory(each, float if by_address else each.type, node)
            passed.append(self.address_of(result) if by_address else result)
        return Computed(code.type.result, self.write.call(code.result, passed, kind_of(code.type.result)))

    def refuse_mask(self, node: ast.AST) -> None:
        if self.mask is not None:
            self.fail(node, "this would happen in all lanes; test anywhere(...), and use conditional expressions")

    def _call_builtin(self, word: Any, values: Sequence[Computed | Known], node: ast.AST) -> Computed:
        if word in PRIMITIVE_OF:
            return Computed(float, self.step(PRIMITIVE_OF[word], *(self.converted(each, float, node) for each in values)))
        if word in SHIFT_OF:
            number, count = self.converted(values[0], float, node), values[1]
            if not isinstance(count, Known):
                self.fail(node, "the count of a shift must be known at translation time")
            kind = "doubles" if is_wide(number) else "double"
            return Computed(float, self.write.step(f"{SHIFT_OF[word]} {kind}", number, integer(count.value)))
        if word in (max, min) and len(values) == 2:
            kind = self.common(values, node)
            a, b = (self.converted(each, kind, node) for each in values)
            other = self.step(f"{'gt' if word is max else 'lt'} {KINDS[kind]}", b, a)
            return Computed(kind, self.step(f"select {KINDS[kind]}", other, b, a))
        if word is language.empty_like and isinstance(values[0].type, Array) and isinstance(values[1], Known):
            lanes = self.lanes if self.per_lane(values[0].type) else 1
            return Computed(replace(values[0].type, by_offset=False), self.write.variable("double", lanes * values[1].value))
        if len(values) == 1:
            (first,) = values
            if word is language.anywhere:
                result = self.converted(first, bool, node)
                return Computed(bool, self.write.step("any", result) if is_wide(result) else result)
            if word is language.finite:
                zero = self.arithmetic("mul", first, Known(0.0), node)
                return self._compare([ast.Eq()], [zero, Known(0.0)], node)
            if word is language.wrapped:
                return Computed(int, self.converted(first, int, node))
            if word is abs and first.type is float:
                return Computed(float, self.step("fabs", self.converted(first, float, node)))
            if word in KINDS and not (word is int and first.type is float):
                return Computed(word, self.converted(first, word, node))
        kinds = ", ".join(named(each.type) for each in values)
        self.fail(node, f"the kernel language has no {getattr(word, '__name__', word)} for {kinds}")


@functools.cache
def _compiled(node: ast.expr) -> CodeType | None:
    if any(isinstance(part, _NOT_KNOWN) for part in ast.walk(node)):
        return None
    return compile(ast.Expression(node), "known at translation", "eval")


@functools.cache
def _harmless(node: ast.AST) -> bool:
    """Return True if an expression may be evaluated even if its value is not needed: it calls no function that may have effects,
    and dereferences no address that may be null."""
    parts = list(ast.walk(node))
    free = all(isinstance(n.func, ast.Name) and n.func.id in _FREE for n in parts if isinstance(n, ast.Call))
    near = all(isinstance(n.value, ast.Name) for n in parts if isinstance(n, ast.Attribute))
    return free and near and not any(isinstance(n, ast.Subscript) for n in parts)
