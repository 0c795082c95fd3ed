"""Translate functions of the kernel language to procedures, of which printers make LLVM and C99.

An ordinary typed function is the reference, which CPython runs, and the source of the machine code. Types come from annotations
alone. What is known at translation (constants of the module, `Fixed` arguments) is evaluated then: loops over it are written out,
and an `if` on it takes one way. With several lanes every float is one of each run side by side, and conditions on them choose in
each lane. What the language lacks is refused with file and line before anything runs.
"""

from __future__ import annotations

import ast
import functools
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from bondgraph.emit.kernel_language.language import KINDS, Array, types_of
from bondgraph.emit.kernel_language.source import Function, FunctionSource, source_of
from bondgraph.emit.kernel_language.statements import Statements
from bondgraph.emit.kernel_language.values import Computed, Known, kind_of
from bondgraph.emit.procedure import Procedure


def translate(
    functions: Iterable[Function], exported: Iterable[str] = (), lanes: int = 1, tables: Mapping[Any, Any] | None = None
) -> list[Procedure]:
    """Return the procedures of functions, of which some have fixed arguments (`functools.partial`), and of all that they call;
    callees come first.

    Parameters
    ----------
    functions : of the kernel language.
    exported : names of procedures that can be called from outside.
    lanes : number of runs side by side.
    tables : classes of tables that take the place of others.

    Raises `TranslationError` for what the language lacks.
    """
    translation = _Translation(frozenset(exported), lanes, tables or {})
    for each in functions:
        partial = each if isinstance(each, functools.partial) else functools.partial(each)
        translation.procedure_name(source_of(partial.func), partial.keywords, first=True)
    return translation.procedures


class _Translation:
    """Procedures under construction."""

    def __init__(self, exported: frozenset[str], lanes: int, tables: Mapping[Any, Any]):
        self.exported, self.lanes, self.tables = exported, lanes, tables
        self.procedures: list[Procedure] = []
        self._names: dict[Any, str] = {}
        self._counts: Counter[str] = Counter()

    def procedure_name(self, source: FunctionSource, fixed: Mapping[str, Any], first: bool = False) -> str:
        """Return the name of the procedure of a function with these fixed arguments; translate it at its first use.

        With fixed arguments it has a number, unless it is the first and nobody calls it.
        """
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

    def table(self, kind: Any) -> Any:
        """Return the class of tables that takes the place of this one."""
        return self.tables.get(kind, kind)

    def _translate(self, name: str, source: FunctionSource, fixed: Mapping[str, Any]) -> None:
        types = {argument: self.table(source.types[argument]) for argument in source.arguments if argument not in fixed}
        arguments = {argument: self._argument(kind) for argument, kind in types.items()}
        result = source.types["return"]
        if self.lanes > 1 and result is float:
            arguments, result = {**arguments, "result": "ptr"}, None
        write = Procedure(name, arguments, kind_of(result), internal=name not in self.exported)
        write.width = self.lanes
        writer = _Writer(self, write, source)
        for argument, value in fixed.items():
            writer.bind(argument, Known(value), source.tree)
        for argument, kind in types.items():
            writer.bind(argument, writer.argument(write[argument], kind), source.tree)
        writer.block(source.tree.body)
        if not write.ended:
            write.give(0 if result in KINDS else None)  # unreachable where there is a result
        self.procedures.append(write)

    def _argument(self, kind: Any) -> str:
        if isinstance(kind, Array) and kind.disjoint:
            return "ptr noalias"
        return "ptr" if self.lanes > 1 and kind is float else kind_of(kind)


def _key(value: Any) -> Any:
    """Return a key of a fixed argument: the value with its type, or its text where it has no hash."""
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return type(value), value


class _Writer(Statements):
    """A function under translation, whose calls go on in the same translation."""

    def __init__(self, translation: _Translation, write: Procedure, source: FunctionSource, mask: Any = None):
        super().__init__(write, source, translation.lanes, mask)
        self.translation = translation

    def call_function(self, function: Function, arguments: Mapping[str, Computed | Known], node: ast.AST) -> Computed | Known:
        """Call a function of the language."""
        types = types_of(function)
        if getattr(function, "is_inline", False):
            return self._put_here(source_of(function), arguments, node)
        self.refuse_mask(node)
        fixed = {name: self._fixed(value, name, node) for name, value in arguments.items() if types[name] == "fixed"}
        passed = [self._passed(value, types[name], node) for name, value in arguments.items() if types[name] != "fixed"]
        name, result = self.translation.procedure_name(source_of(function), fixed), types["return"]
        if self.lanes > 1 and result is float:
            place = self.write.local_array(self.lanes)
            self.write.call(name, [*passed, place])
            return self.load_lanes(place)
        returned = self.write.call(name, passed, kind_of(result))
        return self.condition(returned) if result is bool else Computed(result, returned)

    def _fixed(self, value: Computed | Known, name: str, node: ast.AST) -> Any:
        if not isinstance(value, Known):
            self.fail(node, f'the fixed argument "{name}" must be known at translation')
        return value.value

    def _passed(self, value: Computed | Known, kind: Any, node: ast.AST) -> Any:
        """Return an argument; numbers of lanes are passed in memory."""
        result = self.in_memory(value, self.translation.table(kind), node)
        return self.address_of(result) if self.lanes > 1 and kind is float else result

    def _put_here(self, source: FunctionSource, arguments: Mapping[str, Computed | Known], node: ast.AST) -> Computed | Known:
        writer = _Writer(self.translation, self.write, source, self.mask)
        for name, value in arguments.items():
            kind = source.types[name]
            writer.bind(name, Computed(kind, self.converted(value, kind, node)) if kind in KINDS else value, node)
        writer.block(source.tree.body)
        return writer.returned
