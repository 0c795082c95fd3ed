"""Procedures under construction: lists of instructions that printers turn into LLVM and C99 (`printers`).

Numbers are 64-bit floats ("double"), 64-bit integers ("i64") and pointers ("ptr"); an index added to a pointer counts 8-byte
fields.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence

from bondgraph.emit.instructions import (
    PRIMITIVES,
    Applied,
    Called,
    Fork,
    Instruction,
    Jump,
    Name,
    Return,
    Target,
    Term,
    Variable,
    integer,
)

NOTHING = integer(0)


class Procedure:
    """Function under construction; each of its `arguments` has a kind with attributes ("ptr noalias").

    `is_cold` marks code that runs too rarely for vectorised loops, `lanes` is the preferred length of SIMD vectors (0 for LLVM's
    choice), and `width` the number of lanes of its vector values.
    """

    def __init__(self, name: str, arguments: Mapping[str, str], result: str = "void", internal: bool = False):
        self.name, self.arguments, self.result, self.internal = name, dict(arguments), result, internal
        self.is_cold, self.lanes, self.width = False, 0, 1
        self.variables: list[Variable] = []
        self.instructions: list[Instruction] = []
        self._numbers = itertools.count(1)
        self.ended = False

    def __getitem__(self, argument: str) -> Name:
        return Name(self.arguments[argument].split()[0], argument)

    def _record(self, instruction: Instruction) -> None:
        if not self.ended:
            self.instructions.append(instruction)

    def _end(self, instruction: Jump | Fork | Return) -> None:
        self._record(instruction)
        self.ended = True

    def step(self, primitive: str, *operands: Term) -> Term:
        row, kinds = PRIMITIVES[primitive], tuple([operand.kind for operand in operands])
        if kinds != row.takes:
            raise TypeError(f'"{primitive}" takes {", ".join(row.takes)}, not {", ".join(kinds)}')
        result = Name(row.gives, f"v{next(self._numbers)}") if row.gives else None
        self._record(Applied(row, operands, result))
        return result or NOTHING

    def load(self, pointer: Term, index: Term, kind: str) -> Term:
        return self.step(f"load {kind}", self.step(f"at {kind}", pointer, index))

    def store(self, pointer: Term, index: Term, value: Term, kind: str) -> None:
        self.step(f"store {kind}", self.step(f"at {kind}", pointer, index), value)

    def variable(self, kind: str, length: int = 1) -> Variable:
        made = Variable(f"l{next(self._numbers)}", kind, length)
        self.variables.append(made)
        return made

    def get(self, variable: Variable) -> Term:
        return self.step(f"load {variable.holds}", variable)

    def set(self, variable: Variable, value: Term) -> None:
        self.step(f"store {variable.holds}", variable, value)

    def call(self, function: str | Term, operands: Sequence[Term], result: str = "void") -> Term:
        name = None if result == "void" else Name(result, f"v{next(self._numbers)}")
        self._record(Called(function, tuple(operands), result, name))
        return name or NOTHING

    def new_label(self) -> str:
        return f"label{next(self._numbers)}"

    def label(self, name: str) -> None:
        self._record(Jump(name))
        self.ended = False
        self._record(Target(name))

    def jump(self, label: str) -> None:
        self._end(Jump(label))

    def fork(self, condition: Term, yes: str, no: str) -> None:
        self._end(Fork(condition, yes, no))

    def return_value(self, value: Term | None = None) -> None:
        self._end(Return(value))


def cold(procedures: Iterable[Procedure]) -> list[Procedure]:
    """Mark procedures as cold code: LLVM does not vectorise their loops, which halves the compile time and does not change
    results."""
    marked = list(procedures)
    for procedure in marked:
        procedure.is_cold = True
    return marked


def in_lanes(procedures: Iterable[Procedure], lanes: int) -> list[Procedure]:
    """Set the length of the SIMD vectors of procedures, since by default LLVM prefers half the width of AVX-512."""
    marked = list(procedures)
    for procedure in marked:
        procedure.lanes = lanes
    return marked


def reached(procedures: Iterable[Procedure], roots: Iterable[str]) -> list[Procedure]:
    by_name = {procedure.name: procedure for procedure in procedures}
    waiting, kept = list(roots), set[str]()
    while waiting:
        name = waiting.pop()
        if name in by_name and name not in kept:
            kept.add(name)
            waiting += [i.function for i in by_name[name].instructions if isinstance(i, Called) and isinstance(i.function, str)]
    return [procedure for name, procedure in by_name.items() if name in kept]


def renamed(procedures: Iterable[Procedure], prefix: str, others: Collection[str] = ()) -> list[Procedure]:
    """Return internal copies of the procedures, with a prefix before their names and before the names, other than `others`, that
    they call."""
    copies = [copy.copy(procedure) for procedure in procedures]
    for procedure in copies:
        procedure.name, procedure.internal = prefix + procedure.name, True
        procedure.instructions = [
            i._replace(function=prefix + i.function)
            if isinstance(i, Called) and isinstance(i.function, str) and i.function not in others
            else i
            for i in procedure.instructions
        ]
    return copies
