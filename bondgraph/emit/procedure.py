"""A small structured writer of LLVM text: procedures with loops, conditions and arrays -> text of one module.

The solvers' own loops are written with it. Numbers are 64-bit floats ("double"), 64-bit integers ("i64") and pointers
("ptr"); an index of a pointer counts 8-byte fields unless a kind says otherwise.
"""

from __future__ import annotations

import itertools
import operator
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Union, cast

Operand = Union["Temporary", float, int]


def number(value: float) -> str:
    """A double as LLVM writes it: exact, in hexadecimal."""
    return "0x" + struct.pack(">d", float(value)).hex().upper()


def _arithmetic(name: str, swapped: bool = False) -> Callable[[Temporary, Operand], Temporary]:
    """The operator `name` of two whole numbers or two doubles; the other one stands first if `swapped`."""

    def method(own: Temporary, other: Operand) -> Temporary:
        operation, right = {"i64": name, "double": f"f{name}"}[own.kind], own.procedure.value(other, own.kind)
        first, second = (right, own) if swapped else (own, right)
        return own.procedure.write(f"{operation} {own.kind} {first.text}, {second.text}", own.kind)

    return method


def _comparison(whole: str, real: str) -> Callable[[Temporary, Operand], Temporary]:
    """The truth of a comparison of two whole numbers or two doubles."""

    def method(own: Temporary, other: Operand) -> Temporary:
        operation, right = {"i64": f"icmp {whole}", "double": f"fcmp {real}"}[own.kind], own.procedure.value(other, own.kind)
        return own.procedure.write(f"{operation} {own.kind} {own.text}, {right.text}", "i1")

    return method


@dataclass(frozen=True, eq=False)
class Temporary:
    """A number or pointer inside a procedure; operators, and `equals`, write instructions."""

    procedure: Procedure
    text: str
    kind: str

    __add__, __radd__ = _arithmetic("add"), _arithmetic("add", swapped=True)
    __sub__, __rsub__ = _arithmetic("sub"), _arithmetic("sub", swapped=True)
    __mul__, __rmul__ = _arithmetic("mul"), _arithmetic("mul", swapped=True)
    __truediv__, __rtruediv__ = _arithmetic("div"), _arithmetic("div", swapped=True)
    __lt__, __le__ = _comparison("slt", "olt"), _comparison("sle", "ole")
    __gt__, __ge__ = _comparison("sgt", "ogt"), _comparison("sge", "oge")
    equals = _comparison("eq", "oeq")

    def __and__(self, other: Temporary) -> Temporary:
        return self.procedure.write(f"and i1 {self.text}, {other.text}", "i1")

    def __or__(self, other: Temporary) -> Temporary:
        return self.procedure.write(f"or i1 {self.text}, {other.text}", "i1")

    def __invert__(self) -> Temporary:
        return self.procedure.write(f"xor i1 {self.text}, true", "i1")

    def at(self, index: Operand, kind: str = "double") -> Temporary:
        """Address of a field of a pointer."""
        return self.procedure.write(
            f"getelementptr {kind}, ptr {self.text}, i64 {self.procedure.value(index, 'i64').text}", "ptr"
        )

    def load(self, index: Operand, kind: str) -> Temporary:
        """A field of a pointer; i32 fields are widened."""
        found = self.procedure.write(f"load {kind}, ptr {self.at(index, kind).text}", kind)
        return self.procedure.write(f"sext i32 {found.text} to i64", "i64") if kind == "i32" else found

    def store(self, index: Operand, value: Operand, kind: str) -> None:
        """Set a field of a pointer."""
        held = self.procedure.value(value, "i64" if kind == "i32" else kind)
        if kind == "i32":
            held = self.procedure.write(f"trunc i64 {held.text} to i32", "i32")
        self.procedure.line(f"store {kind} {held.text}, ptr {self.at(index, kind).text}")

    def __getitem__(self, index: Operand) -> Temporary:
        return self.load(index, "double")

    def __setitem__(self, index: Operand, value: Operand) -> None:
        self.store(index, value, "double")


@dataclass(frozen=True, eq=False)
class Local:
    """A variable of a procedure."""

    place: Temporary
    kind: str

    def get(self) -> Temporary:
        """Its present value."""
        return self.place.load(0, self.kind)

    def set(self, value: Operand) -> None:
        """Give it a value."""
        self.place.store(0, value, self.kind)


class Record:
    """Names for the 8-byte fields behind a pointer."""

    def __init__(self, pointer: Temporary, fields: Mapping[str, tuple[int, str]]):
        self.pointer, self.fields = pointer, fields

    def get(self, name: str) -> Temporary:
        """A field's value."""
        return self.pointer.load(*self.fields[name])

    def set(self, name: str, value: Operand) -> None:
        """Set a field."""
        index, kind = self.fields[name]
        self.pointer.store(index, value, kind)

    def count(self, name: str, by: Operand = 1) -> None:
        """Add to a field."""
        self.set(name, self.get(name) + by)


class Procedure:
    """One function being written. Arguments are given as name -> LLVM type with attributes ("ptr noalias")."""

    def __init__(self, name: str, arguments: Mapping[str, str], result: str = "void", internal: bool = False):
        self.name, self.result, self.internal = name, result, internal
        self.arguments = dict(arguments)
        self._lines: list[str] = []
        self._locals: list[str] = []
        self._numbers = itertools.count(1)
        self._ended = False

    def __getitem__(self, argument: str) -> Temporary:
        return Temporary(self, f"%{argument}", self.arguments[argument].split()[0])

    def line(self, text: str) -> None:
        """Append an instruction; what follows the end of a block is unreachable and is left out."""
        if not self._ended:
            self._lines.append("  " + text)

    def write(self, text: str, kind: str) -> Temporary:
        """Append an instruction with a result."""
        name = f"%v{next(self._numbers)}"
        self.line(f"{name} = {text}")
        return Temporary(self, name, kind)

    def value(self, operand: Operand, kind: str) -> Temporary:
        """An operand as a value; a TypeError where a whole number is needed and a fraction given."""
        if isinstance(operand, Temporary):
            return operand
        return Temporary(self, number(operand) if kind == "double" else str(operator.index(cast(int, operand))), kind)

    def local(self, start: Operand, kind: str = "double") -> Local:
        """A new variable with its first value."""
        name = f"%l{next(self._numbers)}"
        self._locals.append(f"  {name} = alloca {kind}")
        variable = Local(Temporary(self, name, "ptr"), kind)
        variable.set(start)
        return variable

    def select(self, condition: Temporary, yes: Operand, no: Operand, kind: str = "double") -> Temporary:
        """`yes` where the condition holds, else `no`."""
        first, second = self.value(yes, kind), self.value(no, kind)
        return self.write(f"select i1 {condition.text}, {kind} {first.text}, {kind} {second.text}", kind)

    def real(self, whole: Temporary) -> Temporary:
        """An integer as a double."""
        return self.write(f"sitofp i64 {whole.text} to double", "double")

    def intrinsic(self, name: str, *operands: Operand) -> Temporary:
        """sqrt, fabs, minnum, maxnum, pow of doubles."""
        given = ", ".join(f"double {self.value(operand, 'double').text}" for operand in operands)
        return self.write(f"call double @llvm.{name}.f64({given})", "double")

    def call(self, function: str | Temporary, operands: Sequence[Temporary], result: str = "void") -> Temporary:
        """Call a procedure of the module by its name, or a function by its address."""
        target = f"@{function}" if isinstance(function, str) else function.text
        text = f"call {result} {target}({', '.join(f'{o.kind} {o.text}' for o in operands)})"
        if result == "void":
            self.line(text)
            return self.value(0, "i64")
        return self.write(text, result)

    def _label(self, name: str) -> None:
        if not self._ended:
            self.line(f"br label %{name}")
        self._ended = False
        self._lines.append(f"{name}:")

    def jump(self, label: str) -> None:
        """End the block here and go on at a label."""
        self.line(f"br label %{label}")
        self._ended = True

    def give(self, value: Operand | None = None) -> None:
        """Return."""
        self.line("ret void" if value is None else f"ret {self.result} {self.value(value, self.result).text}")
        self._ended = True

    @contextmanager
    def when(self, condition: Temporary) -> Iterator[None]:
        """What happens only if the condition holds."""
        mark = next(self._numbers)
        self.line(f"br i1 {condition.text}, label %then{mark}, label %end{mark}")
        self._ended = True
        self._label(f"then{mark}")
        yield
        self._label(f"end{mark}")

    @contextmanager
    def loop(self, stop: Operand, start: Operand = 0) -> Iterator[Temporary]:
        """Count from start up to and without stop."""
        mark = next(self._numbers)
        counter = self.local(start, "i64")
        last = self.value(stop, "i64")
        self._label(f"head{mark}")
        index = counter.get()
        self.line(f"br i1 {(index < last).text}, label %body{mark}, label %done{mark}")
        self._ended = True
        self._label(f"body{mark}")
        yield index
        counter.set(counter.get() + 1)
        self.jump(f"head{mark}")
        self._label(f"done{mark}")

    @contextmanager
    def repeat(self) -> Iterator[tuple[str, str]]:
        """Repeat for ever; yields the labels to jump to for the next round and for the end."""
        mark = next(self._numbers)
        self._label(f"head{mark}")
        yield f"head{mark}", f"done{mark}"
        self.jump(f"head{mark}")
        self._label(f"done{mark}")

    def text(self) -> str:
        """The function in LLVM's assembly language."""
        given = ", ".join(f"{kind} %{name}" for name, kind in self.arguments.items())
        # Inlined, the helpers would multiply the time to compile and gain nothing measurable.
        scope, attributes = ("internal ", " noinline") if self.internal else ("", "")
        head = f"define {scope}{self.result} @{self.name}({given}){attributes} {{\nentry:"
        return "\n".join([head, *self._locals, "  br label %start", "start:", *self._lines, "}"])


def module(procedures: Sequence[Procedure]) -> str:
    """All procedures as one text."""
    intrinsics = [f"declare double @llvm.{name}.f64(double)" for name in ("sqrt", "fabs")]
    intrinsics += [f"declare double @llvm.{name}.f64(double, double)" for name in ("minnum", "maxnum", "pow")]
    return "\n\n".join([*(procedure.text() for procedure in procedures), *intrinsics]) + "\n"
