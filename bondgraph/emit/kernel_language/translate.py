"""Translate functions of the kernel language to procedures, which printers turn into LLVM and C99.

An ordinary typed function is both the reference, which CPython runs, and the source of the machine code. Values known at
translation time are evaluated then: loops over them are unrolled, and of an `if` on them only the chosen block remains. With
several lanes, every float is a vector with a number per run, and conditions on floats select values in each lane.
"""

from __future__ import annotations

import ast
import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bondgraph.emit.instructions import Term, integer, real
from bondgraph.emit.kernel_language.expressions import Expressions
from bondgraph.emit.kernel_language.language import KINDS, POINTER, Array, is_fixed, kind_of, types_of
from bondgraph.emit.kernel_language.source import Function, FunctionSource, leaves, source_of
from bondgraph.emit.kernel_language.values import Computed, Known, is_wide
from bondgraph.emit.procedure import Procedure


def translate(
    functions: Iterable[Function], exported: Iterable[str] = (), lanes: int = 1, tables: Mapping[Any, Any] | None = None
) -> list[Procedure]:
    """Return the procedures of functions and of everything they call, callees first.

    Parameters
    ----------
    functions : functions of the kernel language, some with fixed arguments (`functools.partial`).
    exported : names of procedures that can be called from outside.
    lanes : number of parallel runs.
    tables : class that replaces each class of tables.

    Raises `TranslationError` for constructs that the language lacks.
    """
    translation = _Translation(frozenset(exported), lanes, tables or {})
    for each in functions:
        partial = each if isinstance(each, functools.partial) else functools.partial(each)
        translation.procedure_name(source_of(partial.func), partial.keywords, first=True)
    return translation.procedures


class _Translation:
    def __init__(self, exported: frozenset[str], lanes: int, tables: Mapping[Any, Any]):
        self.exported, self.lanes, self.tables = exported, lanes, tables
        self.procedures: list[Procedure] = []
        self._names: dict[Any, str] = {}
        self._counts: Counter[str] = Counter()

    def procedure_name(self, source: FunctionSource, fixed: Mapping[str, Any], first: bool = False) -> str:
        plain = source.function.__name__
        if getattr(source.function, "is_external", False):
            return plain
        key = source.function, tuple((argument, _key(value)) for argument, value in fixed.items())
        if key not in self._names:
            self._counts[plain] += 1
            numbered = fixed and not (first and self._counts[plain] == 1)
            self._names[key] = f"{plain}_{self._counts[plain]}" if numbered else plain
            self._translate(self._names[key], source, fixed)
        return self._names[key]

    def _translate(self, name: str, source: FunctionSource, fixed: Mapping[str, Any]) -> None:
        apart, result = {*fixed, "return"}, source.types["return"]
        types = {argument: self.tables.get(kind, kind) for argument, kind in source.types.items() if argument not in apart}
        arguments = {argument: self._argument(kind) for argument, kind in types.items()}
        if self.lanes > 1 and result is float:
            arguments, result = {**arguments, "result": POINTER}, None
        write = Procedure(name, arguments, kind_of(result), internal=name not in self.exported)
        write.width = self.lanes
        writer = _Statements(write, source, self)
        for argument, value in fixed.items():
            writer.bind(argument, Known(value), source.tree)
        for argument, kind in types.items():
            number = write[argument]
            in_memory = self.lanes > 1 and kind is float
            writer.bind(argument, writer.load_lanes(number) if in_memory else writer.from_memory(number, kind), source.tree)
        writer.block(source.tree.body)
        if not write.ended:
            write.return_value(
                (real(0.0) if result is float else integer(0)) if result in KINDS else None
            )  # unreachable if the function has a result
        self.procedures.append(write)

    def _argument(self, kind: Any) -> str:
        if isinstance(kind, Array) and kind.disjoint:
            return "ptr noalias"
        return POINTER if self.lanes > 1 and kind is float else kind_of(kind)


def _key(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return type(value), value


class _Statements(Expressions):
    def __init__(self, write: Procedure, source: FunctionSource, translation: _Translation, mask: Term | None = None):
        super().__init__(write, source, translation.lanes, mask)
        self.translation = translation
        self.loops: list[tuple[str, str]] = []
        self.returned: Computed | Known = Known(None)

    def block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(ast.Call() as value):
                self.expression(value)
            case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)) if len(targets) == len(values):
                for one, result in zip(targets, [self.expression(each) for each in values], strict=True):
                    self._assign(one, result, node)
            case ast.Assign([target], value):
                self._assign(target, self.expression(value), node)
            case ast.AugAssign(target, _, value):
                self._assign(target, self.binary(target, value, node), node)
            case ast.AnnAssign(target, _, ast.expr() as start):
                self._assign(target, self.expression(start), node)
            case ast.If(test, body, orelse):
                self._if(test, body, orelse)
            case ast.While(test, body, []):
                self._while(test, body)
            case ast.For(ast.Name(name), ast.Call(ast.Name("range"), ends), body, []) if len(ends) < 3:
                self._count(name, [self.converted(self.expression(end), int, node) for end in ends], body, node)
            case ast.For(target, iterator, body, []):
                self._unrolled(target, iterator, body)
            case ast.Break() | ast.Continue() if self.loops and self.mask is None:
                self.write.jump(self.loops[-1][isinstance(node, ast.Break)])
            case ast.Return(value):
                self._return(value, node)
            case _:
                self.refuse(node)

    # Loops and conditions. A name that only some branches set has no value after them.

    def _body(self, again: str, done: str, body: Sequence[ast.stmt]) -> None:
        before = set(self.assigned)
        self.loops.append((again, done))
        self.block(body)
        self.loops.pop()
        self.assigned = before

    def _while(self, test: ast.expr, body: Sequence[ast.stmt]) -> None:
        again = self.write.new_label()
        self.write.label(again)
        with self.branches(test) as (yes, no, done):
            self.write.label(yes)
            self._body(again, done, body)
            self.write.jump(again)
            self.write.label(no)

    def _count(self, name: str, ends: Sequence[Term], body: Sequence[ast.stmt], node: ast.AST) -> None:
        head, inside, following, done = (self.write.new_label() for _ in range(4))
        counter = self.write.variable("i64")
        self.write.set(counter, ends[0] if len(ends) == 2 else integer(0))
        self.write.label(head)
        index = self.write.get(counter)
        self.write.fork(self.write.step("lt i64", index, ends[-1]), inside, done)
        self.write.label(inside)
        self.bind(name, Computed(int, index), node)
        self._body(following, done, body)
        self.assigned.discard(name)
        self.write.label(following)
        self.write.set(counter, self.write.step("add i64", index, integer(1)))
        self.write.jump(head)
        self.write.label(done)

    def _unrolled(self, target: ast.expr, iterator: ast.expr, body: Sequence[ast.stmt]) -> None:
        done = self.write.new_label()
        for item in self.known(iterator):
            following = self.write.new_label()
            self._assign(target, Known(item), target)
            self.loops.append((following, done))
            self.block(body)
            self.loops.pop()
            self.write.label(following)
        self.write.label(done)

    def _if(self, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None:
        if self.is_known(test):
            self.block(body if self.known(test) else orelse)
            return
        condition: Any = test if self.lanes == 1 else self.converted(self.expression(test), bool, test)
        if is_wide(condition):
            self._if_lanes(condition, body, orelse)
        else:
            before, ends = set(self.assigned), []
            with self.branches(condition) as (yes, no, done):
                for label, block in ((yes, body), (no, orelse)):
                    self.assigned = set(before)
                    self.write.label(label)
                    self.block(block)
                    self.write.jump(done)
                    if not leaves(block):
                        ends.append(self.assigned)
            self.assigned = set.intersection(*ends) if ends else before

    def _if_lanes(self, condition: Term, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None:
        outer, before = self.mask, set(self.assigned)
        for each, block in ((condition, body), (self.step("not", condition), orelse)):
            if block:
                self.mask = each if outer is None else self.step("and", outer, each)
                inside, done = self.write.new_label(), self.write.new_label()
                self.write.fork(self.write.step("any", self.mask), inside, done)
                self.write.label(inside)
                self.block(block)
                self.write.label(done)
                self.assigned = set(before)
        self.mask = outer

    # Assignments and results.

    def _assign(self, target: ast.expr, value: Computed | Known, node: ast.AST) -> None:
        match target:
            case ast.Name(name):
                self.bind(name, value, node)
            case ast.Tuple(targets) if isinstance(value, Known):
                for each, item in zip(targets, value.value, strict=True):
                    self._assign(each, Known(item), node)
            case ast.Attribute(owner, field):
                table = self.expression(owner)
                index, kind = self.index_of(table, field, node)
                self.refuse_mask(node)
                result = self.in_memory(value, kind if kind in KINDS else None, node)
                if is_wide(result):
                    self.fail(node, f'"{field}" is one number for all lanes')
                self.write.store(table.result, index, result, kind_of(kind))  # type: ignore[union-attr]
            case ast.Subscript(owner, index) if not isinstance(index, ast.Slice):
                self._store(owner, index, value, node)
            case _:
                self.refuse(target)

    def _store(self, owner: ast.expr, index: ast.expr, value: Computed | Known, node: ast.AST) -> None:
        array, first, at = self.entry(owner, index, node)
        result = self.converted(value, array.entries if array.entries in KINDS else None, node)
        if self.per_lane(array):
            self.store_lanes(self.write.step("at double", first, at), result)
            return
        self.refuse_mask(node)
        if is_wide(result):
            self.fail(node, "all lanes share the entries of this array")
        self.write.store(first, at, result, array.kind)

    def _return(self, value: ast.expr | None, node: ast.AST) -> None:
        kind = self.source.types["return"]
        if self.source.is_inline:
            if node is not self.source.tree.body[-1]:
                self.fail(node, "an inline function can return only at its end")
            self.returned = Known(None) if value is None else self.expression(value)
        elif self.mask is not None:
            self.fail(node, "a single lane cannot return")
        elif value is None or kind is type(None):
            self.write.return_value()
        elif self.lanes > 1 and kind is float:
            self.store_lanes(self.write["result"], self.converted(self.expression(value), float, node))
            self.write.return_value()
        else:
            result = self.in_memory(self.expression(value), kind, node)
            if is_wide(result):
                self.fail(node, "the result is one number for all lanes")
            self.write.return_value(result)

    # Calls of other functions of the language.

    def call_function(self, function: Function, arguments: Mapping[str, Computed | Known], node: ast.AST) -> Computed | Known:
        types = types_of(function)
        if getattr(function, "is_inline", False):
            return self._inlined_call(source_of(function), arguments, node)
        self.refuse_mask(node)
        fixed = {name: self._fixed(value, name, node) for name, value in arguments.items() if is_fixed(types[name])}
        passed = [self._passed(value, types[name], node) for name, value in arguments.items() if not is_fixed(types[name])]
        name, result = self.translation.procedure_name(source_of(function), fixed), types["return"]
        if self.lanes > 1 and result is float:
            place = self.write.variable("double", self.lanes)
            self.write.call(name, [*passed, place])
            return self.load_lanes(place)
        returned = self.write.call(name, passed, kind_of(result))
        return self.from_memory(returned, result)

    def _fixed(self, value: Computed | Known, name: str, node: ast.AST) -> Any:
        if not isinstance(value, Known):
            self.fail(node, f'the fixed argument "{name}" must be known at translation time')
        return value.value

    def _passed(self, value: Computed | Known, kind: Any, node: ast.AST) -> Any:
        """Return an argument as procedures take it: with several lanes, floats are passed by reference."""
        result = self.in_memory(value, self.translation.tables.get(kind, kind), node)
        return self.address_of(result) if self.lanes > 1 and kind is float else result

    def _inlined_call(self, source: FunctionSource, arguments: Mapping[str, Computed | Known], node: ast.AST) -> Computed | Known:
        writer = _Statements(self.write, source, self.translation, self.mask)
        for name, value in arguments.items():
            kind = source.types[name]
            writer.bind(name, Computed(kind, self.converted(value, kind, node)) if kind in KINDS else value, node)
        writer.block(source.tree.body)
        return writer.returned
