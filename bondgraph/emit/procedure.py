"""Builder of procedures: record arithmetic, loops, conditions and array access in Python as instructions.

The loops of the solvers are written with it, once for all languages (`printers`). Numbers are 64-bit floats ("double"), 64-bit
integers ("i64") and pointers ("ptr"); an index of a pointer counts 8-byte fields unless a kind says otherwise.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Union, cast

from bondgraph.emit.instructions import (
    PRIMITIVES,
    Applied,
    Called,
    Fork,
    Instruction,
    Jump,
    Literal,
    Name,
    Return,
    Target,
    Term,
    Variable,
)

Operand = Union["Temporary", float, int]


def _operator(name: str, swapped: bool = False) -> Callable[[Temporary, Operand], Temporary]:
    """Return the operator `name` of two integers or two doubles; the other operand is the first if `swapped`."""

    def method(left: Temporary, other: Operand) -> Temporary:
        pair = (left, left.procedure.value(other, left.kind))
        return left.procedure.step(f"{name} {left.kind}", *(reversed(pair) if swapped else pair))

    return method


@dataclass(frozen=True, eq=False)
class Temporary:
    """Number or pointer inside a procedure; operators, and `equals`, record instructions."""

    procedure: Procedure
    operand: Term

    @property
    def kind(self) -> str:
        """Kind of the value: "double", "i64", "i32", "i1" or "ptr"."""
        return self.operand.kind

    __add__, __radd__ = _operator("add"), _operator("add", swapped=True)
    __sub__, __rsub__ = _operator("sub"), _operator("sub", swapped=True)
    __mul__, __rmul__ = _operator("mul"), _operator("mul", swapped=True)
    __truediv__, __rtruediv__ = _operator("div"), _operator("div", swapped=True)
    __lt__, __le__ = _operator("lt"), _operator("le")
    __gt__, __ge__ = _operator("gt"), _operator("ge")
    equals = _operator("eq")

    def __and__(self, other: Temporary) -> Temporary:
        return self.procedure.step("and", self, other)

    def __or__(self, other: Temporary) -> Temporary:
        return self.procedure.step("or", self, other)

    def __invert__(self) -> Temporary:
        return self.procedure.step("not", self)

    def is_given(self) -> Temporary:
        """Test that a pointer, or the address of a function, is not null."""
        return self.procedure.step("is given", self)

    def widened(self) -> Temporary:
        """Convert a 32-bit integer to 64 bits."""
        return self.procedure.step("widen", self)

    def at(self, index: Operand, kind: str = "double") -> Temporary:
        """Return the address of a field of a pointer."""
        return self.procedure.step(f"at {kind}", self, self.procedure.value(index, "i64"))

    def load(self, index: Operand, kind: str) -> Temporary:
        """Load a field of a pointer; i32 fields are widened."""
        value = self.procedure.step(f"load {kind}", self.at(index, kind))
        return value.widened() if kind == "i32" else value

    def store(self, index: Operand, value: Operand, kind: str) -> None:
        """Store a field of a pointer."""
        held = self.procedure.value(value, "i64" if kind == "i32" else kind)
        if kind == "i32":
            held = self.procedure.step("narrow", held)
        self.procedure.step(f"store {kind}", self.at(index, kind), held)

    def __getitem__(self, index: Operand) -> Temporary:
        return self.load(index, "double")

    def __setitem__(self, index: Operand, value: Operand) -> None:
        self.store(index, value, "double")


@dataclass(frozen=True, eq=False)
class Local:
    """Local variable of a procedure."""

    address: Temporary
    kind: str

    def get(self) -> Temporary:
        """Load its present value."""
        return self.address.load(0, self.kind)

    def set(self, value: Operand) -> None:
        """Assign a value."""
        self.address.store(0, value, self.kind)


class Record:
    """Names for the 8-byte fields behind a pointer."""

    def __init__(self, pointer: Temporary, fields: Mapping[str, tuple[int, str]]):
        self.pointer, self.fields = pointer, fields

    def get(self, name: str) -> Temporary:
        """Load a field."""
        return self.pointer.load(*self.fields[name])

    def set(self, name: str, value: Operand) -> None:
        """Store a field."""
        self.pointer.store(self.fields[name][0], value, self.fields[name][1])

    def count(self, name: str, by: Operand = 1) -> None:
        """Add to a field."""
        self.set(name, self.get(name) + by)


class Procedure:
    """Function under construction. Arguments map name -> kind with attributes ("ptr noalias").

    `variables` and `instructions` have been recorded; `is_cold` marks code that runs too rarely for vectorised loops, `lanes`
    is the preferred length of SIMD vectors, 0 for LLVM's choice, and `width` the number of lanes of its wide numbers.
    """

    def __init__(self, name: str, arguments: Mapping[str, str], result: str = "void", internal: bool = False):
        self.name, self.arguments, self.result, self.internal = name, dict(arguments), result, internal
        self.is_cold, self.lanes, self.width = False, 0, 1
        self.variables: list[Variable] = []
        self.instructions: list[Instruction] = []
        self._numbers = itertools.count(1)
        self._ended = False

    def __getitem__(self, argument: str) -> Temporary:
        return Temporary(self, Name(self.arguments[argument].split()[0], argument))

    def _record(self, instruction: Instruction) -> None:
        """Append an instruction; after the end of a block it is unreachable and is left out."""
        if not self._ended:
            self.instructions.append(instruction)

    def _end(self, instruction: Jump | Fork | Return) -> None:
        self._record(instruction)
        self._ended = True

    def _new(self, kind: str) -> Name | None:
        return Name(kind, f"v{next(self._numbers)}") if kind else None

    def step(self, primitive: str, *operands: Temporary) -> Temporary:
        """Append a primitive of the table and return its result, 0 where it has none.

        Raises a TypeError for operands of other kinds.
        """
        row, terms = PRIMITIVES[primitive], tuple([operand.operand for operand in operands])
        kinds = tuple([operand.kind for operand in terms])
        if kinds != row.takes:
            raise TypeError(f'"{primitive}" takes {", ".join(row.takes)}, not {", ".join(kinds)}')
        result = self._new(row.gives)
        self._record(Applied(row, terms, result))
        return Temporary(self, result or Literal("i64", 0))

    def value(self, operand: Operand, kind: str) -> Temporary:
        """Convert an operand to a value; a TypeError for a fraction in the place of an integer."""
        if isinstance(operand, Temporary):
            return operand
        number = float(operand) if kind in ("double", "doubles") else operator.index(cast(int, operand))
        return Temporary(self, Literal(kind, number))

    def local(self, start: Operand, kind: str = "double") -> Local:
        """Return a new variable with its first value."""
        address = Variable(f"l{next(self._numbers)}", kind)
        self.variables.append(address)
        variable = Local(Temporary(self, address), kind)
        variable.set(start)
        return variable

    def select(self, condition: Temporary, yes: Operand, no: Operand, kind: str = "double") -> Temporary:
        """Return `yes` where the condition holds, else `no`."""
        return self.step(f"select {kind}", condition, self.value(yes, kind), self.value(no, kind))

    def real(self, integer: Temporary) -> Temporary:
        """Convert an integer to a double."""
        return self.step("real", integer)

    def intrinsic(self, name: str, *operands: Operand) -> Temporary:
        """Apply sqrt, fabs, fma, minnum or maxnum to doubles."""
        return self.step(name, *(self.value(operand, "double") for operand in operands))

    def call(self, function: str | Temporary, operands: Sequence[Temporary], result: str = "void") -> Temporary:
        """Call a procedure by its name, or a function by its address."""
        result_name = self._new("" if result == "void" else result)
        target = function if isinstance(function, str) else function.operand
        self._record(Called(target, tuple(o.operand for o in operands), result, result_name))
        return Temporary(self, result_name or Literal("i64", 0))

    @property
    def ended(self) -> bool:
        """Nothing can follow here before the next label."""
        return self._ended

    def new_label(self) -> str:
        """Return a name for a label."""
        return f"label{next(self._numbers)}"

    def label(self, name: str) -> None:
        """Set a label."""
        self._label(name)

    def fork(self, condition: Temporary, yes: str, no: str) -> None:
        """End the block and jump to one of two labels."""
        self._end(Fork(condition.operand, yes, no))

    def local_array(self, count: int) -> Temporary:
        """Return the address of room for this many doubles."""
        room = Variable(f"l{next(self._numbers)}", "double", count)
        self.variables.append(room)
        return Temporary(self, room)

    @contextmanager
    def discarded(self) -> Iterator[None]:
        """Record nothing of what is written meanwhile."""
        instructions, variables, ended = len(self.instructions), len(self.variables), self._ended
        yield
        del self.instructions[instructions:], self.variables[variables:]
        self._ended = ended

    def _label(self, name: str) -> None:
        if not self._ended:
            self._record(Jump(name))
        self._ended = False
        self._record(Target(name))

    def jump(self, label: str) -> None:
        """End the block and jump to a label."""
        self._end(Jump(label))

    def give(self, value: Operand | None = None) -> None:
        """Return."""
        self._end(Return(None if value is None else self.value(value, self.result).operand))

    @contextmanager
    def when(self, condition: Temporary) -> Iterator[None]:
        """Execute the body only if the condition holds."""
        mark = next(self._numbers)
        self._end(Fork(condition.operand, f"then{mark}", f"end{mark}"))
        self._label(f"then{mark}")
        yield
        self._label(f"end{mark}")

    @contextmanager
    def loop(self, stop: Operand, start: Operand = 0) -> Iterator[Temporary]:
        """Loop over integers from start up to, but not including, stop."""
        mark = next(self._numbers)
        counter, last = self.local(start, "i64"), self.value(stop, "i64")
        self._label(f"head{mark}")
        index = counter.get()
        self._end(Fork((index < last).operand, f"body{mark}", f"done{mark}"))
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


def cold(procedures: Iterable[Procedure]) -> list[Procedure]:
    """Mark procedures as cold code: LLVM does not vectorise their loops, in half of the compile time, with the same bits."""
    marked = list(procedures)
    for procedure in marked:
        procedure.is_cold = True
    return marked


def in_lanes(procedures: Iterable[Procedure], lanes: int) -> list[Procedure]:
    """Set the length of the SIMD vectors of procedures, since LLVM by default prefers half of the width of AVX-512."""
    marked = list(procedures)
    for procedure in marked:
        procedure.lanes = lanes
    return marked
