"""Procedures specialised to known tables: fields that are never stored become numbers, and calls by address become calls by
name.

Instead of the address of a function, memory then holds its index in the list of functions, from 1, so that tables are valid
outside this process. Remaining calls by address use a `switch` over these indices.
"""

from __future__ import annotations

import copy
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bondgraph.emit.instructions import Applied, Called, Instruction, Literal, Name, Primitive, Term
from bondgraph.emit.procedure import Procedure

_KNOWN = {
    "i64": Primitive("known i64", ("i64",), "i64", "add i64 {x}, 0", "{x}"),
    "double": Primitive("known double", ("double",), "double", "fadd double {x}, -0.0", "{x}"),
    "ptr": Primitive("known ptr", ("i64",), "ptr", "inttoptr i64 {x} to ptr", "(char *){x}"),
}
_PLACE = Primitive("known place", ("ptr", "i64"), "ptr", "getelementptr i8, ptr {x}, i64 {y}", "{x} + {y}")


@dataclass(frozen=True)
class CalledByNumber:
    """Signature of functions that are called by index: the kinds of the result and of the arguments."""

    gives: str
    takes: tuple[str, ...]

    @property
    def name(self) -> str:
        return ".".join(("numbered", self.gives, *self.takes))

    def text(self, functions: Iterable[tuple[int, str]]) -> str:
        arguments = [f"{kind} %a{k}" for k, kind in enumerate(self.takes)]
        passed = ", ".join(arguments)
        lines, cases = list[str](), list[str]()
        result, zero = ("", "void") if self.gives == "void" else ("%r{} = ", f"{self.gives} {_ZERO[self.gives]}")
        for number, function in functions:
            cases.append(f"i64 {number}, label %case{number}")
            returned = "void" if self.gives == "void" else f"{self.gives} %r{number}"
            lines += [f"case{number}:", f"{result.format(number)}call {self.gives} @{function}({passed})", f"ret {returned}"]
        head = f"define {self.gives} @{self.name}({', '.join(('ptr %function', *arguments))}) {{"
        switch = [f"%number = ptrtoint ptr %function to i64\nswitch i64 %number, label %none [ {' '.join(cases)} ]"]
        return "\n".join([head, *switch, *lines, "none:", f"ret {zero}", "}"])


_ZERO = {"ptr": "null", "i64": "0", "double": "0.0"}


def _fields(procedure: Procedure) -> dict[str, tuple[str, Term]]:
    return {
        step.result.name: (step.operands[1].field, step.operands[0])
        for step in procedure.instructions
        if isinstance(step, Applied) and step.result and len(step.operands) == 2
        if isinstance(step.operands[1], Literal) and step.operands[1].field
    }


def stored_fields(procedures: Iterable[Procedure]) -> set[str]:
    fields = set[str]()
    for procedure in procedures:
        addresses = _fields(procedure)
        for step in procedure.instructions:
            if isinstance(step, Applied) and step.primitive.name.startswith("store ") and isinstance(step.operands[0], Name):
                fields |= {*addresses.get(step.operands[0].name, ())[:1]}
    return fields


def specialised(
    procedure: Procedure, words: Mapping[str, int], functions: Sequence[str], offsets: Mapping[str, int] | None = None
) -> Procedure:
    """Return a procedure with known fields, in which calls by address become calls by name.

    A call goes to one of the `functions` if its address is a known field, else through a procedure of `CalledByNumber`.

    Parameters
    ----------
    words : word in memory of each known field.
    offsets : offset of each field's target from the beginning of its table, in bytes.
    """
    made = copy.copy(procedure)
    made.instructions = list(_specialised(procedure, words, functions, offsets or {}))
    return made


def _specialised(
    procedure: Procedure, words: Mapping[str, int], functions: Sequence[str], offsets: Mapping[str, int]
) -> Iterator[Instruction]:
    names, fields = dict[str, str](), _fields(procedure)
    for step in procedure.instructions:
        match step:
            case Applied(primitive, (Name(_, address),), Name(kind, name)) if (
                primitive.name.startswith("load ") and address in fields
            ):
                field, table = fields[address]
                if field in words:
                    word = words[field]
                    if kind == "ptr" and 0 < word <= len(functions):
                        names[name] = functions[word - 1]
                    yield Applied(_KNOWN[kind], (_literal(kind, word),), Name(kind, name))
                elif field in offsets:
                    yield Applied(_PLACE, (table, Literal("i64", offsets[field])), Name(kind, name))
                else:
                    yield step
            case Called(Name(_, name), operands, gives, result) if name in names:
                yield Called(names[name], operands, gives, result)
            case Called(Name() as function, operands, gives, result):
                yield Called(_signature_of(operands, gives).name, (function, *operands), gives, result)
            case _:
                yield step


def _literal(kind: str, word: int) -> Literal:
    if kind == "double":
        return Literal(kind, struct.unpack("d", struct.pack("Q", word))[0])
    return Literal("i64", word - (1 << 64) if word >> 63 else word)


def _signature_of(operands: Iterable[Term], gives: str) -> CalledByNumber:
    return CalledByNumber(gives, tuple(operand.kind for operand in operands))


def kinds_by_number(procedures: Iterable[Procedure]) -> set[CalledByNumber]:
    steps = (step for procedure in procedures for step in procedure.instructions if isinstance(step, Called))
    return {
        _signature_of(step.operands[1:], step.gives)
        for step in steps
        if isinstance(step.function, str) and step.function.startswith("numbered.")
    }
