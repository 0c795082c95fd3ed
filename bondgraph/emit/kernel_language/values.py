"""Values of a function under translation, and the instructions that convert, load and store them.

With several lanes, a real number is a vector with one number per run, and a condition on such numbers is also a vector.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NoReturn

from bondgraph.emit.instructions import WIDE, Literal, Term, Variable, integer, real, wide_name
from bondgraph.emit.kernel_language.language import KINDS, POINTER, Array, is_table, named
from bondgraph.emit.kernel_language.source import FunctionSource
from bondgraph.emit.procedure import Procedure


@dataclass(frozen=True)
class Known:
    value: Any

    @property
    def type(self) -> Any:
        return int if isinstance(self.value, IntEnum) else type(self.value)


@dataclass(frozen=True)
class Computed:
    """A value that instructions compute: its type (float, int, bool, an `Array`, a `Code`, a table, or None) and its result."""

    type: Any
    result: Any


@dataclass(frozen=True)
class LocalName:
    """A name with a variable; `varies` is True if each lane has a separate value."""

    type: Any
    local: Variable
    varies: bool


def is_wide(result: Any) -> bool:
    return getattr(result, "kind", "") in WIDE.values()


class Emitter:
    """Instructions of a function under translation, and of inline functions in the same procedure.

    `mask` is the condition under which a lane executes the current block, None for all lanes; `assigned` are the names that
    have a value on every path that leads here.
    """

    def __init__(self, write: Procedure, source: FunctionSource, lanes: int, mask: Term | None = None):
        self.write, self.source, self.lanes, self.mask = write, source, lanes, mask
        self.scope: dict[str, Known | Computed | LocalName] = {}
        self.assigned: set[str] = set()

    def fail(self, node: ast.AST, what: str) -> NoReturn:
        self.source.fail(node, what)

    def step(self, name: str, *operands: Term) -> Term:
        if not any(map(is_wide, operands)):
            return self.write.step(name, *operands)
        return self.write.step(wide_name(name), *map(self.spread, operands))

    def spread(self, result: Term) -> Term:
        if is_wide(result):
            return result
        if isinstance(result, Literal) and result.kind == KINDS[float]:
            return Literal("doubles", result.number)
        return self.write.step(f"spread {result.kind}", result)

    def condition(self, number: Term) -> Computed:
        wide = is_wide(number)
        return Computed(bool, self.step("eq double" if wide else "eq i64", number, real(1.0) if wide else integer(1)))

    def from_memory(self, number: Term, kind: Any) -> Computed:
        return self.condition(number) if kind is bool else Computed(kind, number)

    def converted(self, value: Computed | Known, kind: Any, node: ast.AST) -> Any:
        """Return a value converted to this type; a bool becomes a condition. With None, the value keeps its type."""
        if isinstance(value, Known):
            return self._literal(value, kind, node)
        now = value.type
        if kind is None or now == kind or (isinstance(now, Array) and isinstance(kind, Array) and now.kind == kind.kind):
            return value.result
        if (now, kind) == (int, float):
            return self.step("real", value.result)
        if now is bool and kind is float and is_wide(value.result):
            return self.step("select double", value.result, real(1.0), real(0.0))
        if now is bool and kind in KINDS and not is_wide(value.result):
            number = self.step("select i64", value.result, integer(1), integer(0))
            return number if kind is int else self.step("real", number)
        if (now, kind) == (int, bool):
            return self.step("not", self.step("eq i64", value.result, integer(0)))
        if now is bool and kind is int:
            self.fail(node, "integers are the same in all lanes; use a float")
        if is_table(now) and is_table(kind) and issubclass(now, kind):
            return value.result
        self.fail(node, f"{named(now)} where {named(kind)} is needed")

    def _literal(self, value: Known, kind: Any, node: ast.AST) -> Any:
        kind = value.type if kind is None else kind
        if kind not in KINDS or value.type not in KINDS or (kind is int and value.type is float):
            self.fail(node, f"{value.value!r} where {named(kind)} is needed")
        literal = real(value.value) if kind is float else integer(int(kind(value.value)))
        return self.condition(literal).result if kind is bool else literal

    def in_memory(self, value: Computed | Known, kind: Any, node: ast.AST) -> Any:
        """Return a value as it is stored: a bool as an integer, or as one number per lane."""
        result = self.converted(value, kind, node)
        if kind is not bool:
            return result
        return self.converted(Computed(bool, result), float if is_wide(result) else int, node)

    def loaded(self, pointer: Term, index: Term, kind: Any) -> Computed:
        return self.from_memory(self.write.load(pointer, index, KINDS.get(kind, POINTER)), kind)

    def load_lanes(self, first: Term) -> Computed:
        return Computed(float, self.write.step("load doubles", first))

    def store_lanes(self, first: Term, result: Term) -> None:
        number = self.spread(result)
        if self.mask is not None:
            number = self.write.step("select doubles", self.mask, number, self.write.step("load doubles", first))
        self.write.step("store doubles", first, number)

    def address_of(self, result: Term) -> Term:
        place = self.write.variable("double", self.lanes)
        if self.lanes == 1:
            self.write.set(place, result)
        else:
            self.write.step("store doubles", place, self.spread(result))
        return place

    def bind(self, name: str, value: Computed | Known, node: ast.AST) -> None:
        self.assigned.add(name)
        if name not in self.source.variables:
            self.scope[name] = value
            return
        variable = self.scope.get(name)
        if not isinstance(variable, LocalName):
            self.scope[name] = self._variable(value, node)
            return
        result = self.in_memory(value, variable.type, node)
        if not variable.varies:
            if is_wide(result):
                self.fail(node, f'"{name}" is one number for all lanes but is set to a number per lane')
            if self.mask is not None and variable.type in KINDS:
                self.fail(node, f'"{name}" is one number for all lanes but is set where lanes diverge')
            self.write.set(variable.local, result)
            return
        number = self.spread(self.step("real", result) if result.kind == KINDS[int] else result)
        if self.mask is not None:
            number = self.write.step("select doubles", self.mask, number, self.write.get(variable.local))
        self.write.set(variable.local, number)

    def _variable(self, value: Computed | Known, node: ast.AST) -> LocalName:
        if isinstance(value, Known) and value.type not in KINDS:
            self.fail(node, f"{value.value!r} cannot be assigned a new value")
        start, kind = self.in_memory(value, value.type, node), KINDS.get(value.type, POINTER)
        varies = self.lanes > 1 and (is_wide(start) or (isinstance(value, Known) and value.type in (float, bool)))
        if varies:
            start, kind = self.spread(self.step("real", start) if start.kind == KINDS[int] else start), "doubles"
        local = self.write.variable(kind)
        self.write.set(local, start)
        return LocalName(value.type, local, varies)

    def read(self, name: str, node: ast.AST) -> Computed | Known:
        if name not in self.assigned:
            self.fail(node, f'"{name}" may have no value here: set it before the block that now sets it')
        bound = self.scope[name]
        if not isinstance(bound, LocalName):
            return bound
        return self.from_memory(self.write.get(bound.local), bound.type)
