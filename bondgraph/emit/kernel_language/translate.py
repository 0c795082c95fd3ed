"""Translate functions of the kernel language to procedures, of which printers make LLVM and C99.

An ordinary typed function is the reference, which CPython runs, and the source of the machine code. Types come from annotations
alone. What is known at translation (constants of the module, `Fixed` arguments) is evaluated then: loops over it are written out,
and an `if` on it takes one way. With several lanes every float is one of each run side by side, and conditions on them choose in
each lane. What the language lacks is refused with file and line before anything runs.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from bondgraph.emit.instructions import integer, real
from bondgraph.emit.kernel_language.language import KINDS, POINTER, Array, kind_of
from bondgraph.emit.kernel_language.source import Function, FunctionSource, source_of
from bondgraph.emit.kernel_language.statements import Statements
from bondgraph.emit.kernel_language.values import Known
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
            arguments, result = {**arguments, "result": POINTER}, None
        write = Procedure(name, arguments, kind_of(result), internal=name not in self.exported)
        write.width = self.lanes
        writer = Statements(write, source, self)
        for argument, value in fixed.items():
            writer.bind(argument, Known(value), source.tree)
        for argument, kind in types.items():
            number = write[argument]
            in_memory = self.lanes > 1 and kind is float
            writer.bind(argument, writer.load_lanes(number) if in_memory else writer.from_memory(number, kind), source.tree)
        writer.block(source.tree.body)
        if not write.ended:
            write.give((real(0.0) if result is float else integer(0)) if result in KINDS else None)  # unreachable if so
        self.procedures.append(write)

    def _argument(self, kind: Any) -> str:
        if isinstance(kind, Array) and kind.disjoint:
            return "ptr noalias"
        return POINTER if self.lanes > 1 and kind is float else kind_of(kind)


def _key(value: Any) -> Any:
    """Return a key of a fixed argument: the value with its type, or its text where it has no hash."""
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return type(value), value
