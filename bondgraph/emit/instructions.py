"""Instruction set of procedures: a table of primitives with their source in each language, and records of instructions.

Kinds of operands are named as in LLVM: "double", "i64", "i1" (conditions), "ptr". An index added to a pointer counts 8-byte
fields.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple


class Name(NamedTuple):
    kind: str
    name: str


class Literal(NamedTuple):
    """A literal number; an index of a table also names its `field`, "Control.n"."""

    kind: str
    number: float | int
    field: str = ""


class Variable(NamedTuple):
    """Address of a procedure's variable, with space for `length` numbers of kind `holds`."""

    name: str
    holds: str
    length: int = 1
    kind: str = "ptr"


Term = Name | Literal | Variable


def integer(number: int) -> Literal:
    return Literal("i64", number)


def real(number: float) -> Literal:
    return Literal("double", float(number))


@dataclass(frozen=True)
class Primitive:
    """An instruction that is one line in each language.

    Parameters
    ----------
    name : operation and kind.
    takes : kinds of its operands.
    gives : kind of its result; "" for none.
    llvm, c : the line with {x}, {y}, {z} for the operands. In LLVM, lines before it may define names that begin with %{v}, and
    {bits} is the type of a 64-bit integer, or of a vector of them.
    pure : True without side effects, so that an unused result is dropped.
    """

    name: str
    takes: tuple[str, ...]
    gives: str
    llvm: str
    c: str
    pure: bool = True


class Applied(NamedTuple):
    primitive: Primitive
    operands: tuple[Term, ...]
    result: Name | None


class Called(NamedTuple):
    """A call of a procedure by name, or of a function by address, with the kind ("void" for none) and name of its result."""

    function: str | Term
    operands: tuple[Term, ...]
    gives: str
    result: Name | None


class Target(NamedTuple):
    label: str


class Jump(NamedTuple):
    label: str


class Fork(NamedTuple):
    condition: Term
    yes: str
    no: str


class Return(NamedTuple):
    value: Term | None


Instruction = Applied | Called | Target | Jump | Fork | Return

FUNCTIONS = {"sqrt": 1, "fabs": 1, "fma": 3}
"""Functions of doubles, correctly rounded everywhere, with the number of their arguments; `fma` is x y + z, rounded once."""

_WRAPPED = "(int64_t)((uint64_t){{x}} {0} (uint64_t){{y}})"
"""C source of integer operations that wrap around, as on the processor; signed overflow is undefined in C."""


def _table() -> Iterator[Primitive]:
    for name, sign in (("add", "+"), ("sub", "-"), ("mul", "*")):
        yield Primitive(f"{name} i64", ("i64", "i64"), "i64", f"{name} i64 {{x}}, {{y}}", _WRAPPED.format(sign))
    for name, sign in (("add", "+"), ("sub", "-"), ("mul", "*"), ("div", "/")):
        yield Primitive(f"{name} double", ("double", "double"), "double", f"f{name} double {{x}}, {{y}}", f"{{x}} {sign} {{y}}")
    for name, sign in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "==")):
        for kind, test in (("i64", "icmp " + ("" if name == "eq" else "s")), ("double", "fcmp o")):
            yield Primitive(f"{name} {kind}", (kind, kind), "i1", f"{test}{name} {kind} {{x}}, {{y}}", f"{{x}} {sign} {{y}}")
    yield Primitive("is given", ("ptr",), "i1", "icmp ne ptr {x}, null", "{x} != NULL")
    yield Primitive("and", ("i1", "i1"), "i1", "and i1 {x}, {y}", "{x} & {y}")
    yield Primitive("or", ("i1", "i1"), "i1", "or i1 {x}, {y}", "{x} | {y}")
    yield Primitive("not", ("i1",), "i1", "xor i1 {x}, true", "!{x}")
    for kind in ("double", "i64", "ptr"):
        yield Primitive(f"at {kind}", ("ptr", "i64"), "ptr", f"getelementptr {kind}, ptr {{x}}, i64 {{y}}", "{x} + 8 * {y}")
        yield Primitive(f"load {kind}", ("ptr",), kind, f"load {kind}, ptr {{x}}", f"load_{kind}({{x}})")
        store, c = f"store {kind} {{y}}, ptr {{x}}", f"store_{kind}({{x}}, {{y}})"
        yield Primitive(f"store {kind}", ("ptr", kind), "", store, c, pure=False)
    for kind in ("double", "i64"):
        select = f"select i1 {{x}}, {kind} {{y}}, {kind} {{z}}"
        yield Primitive(f"select {kind}", ("i1", kind, kind), kind, select, "{x} ? {y} : {z}")
    yield Primitive("real", ("i64",), "double", "sitofp i64 {x} to double", "(double){x}")
    for name, arguments in FUNCTIONS.items():
        letters = ("{x}", "{y}", "{z}")[:arguments]
        call = f"call double @llvm.{name}.f64({', '.join(f'double {letter}' for letter in letters)})"
        yield Primitive(name, ("double",) * arguments, "double", call, f"{name}({', '.join(letters)})")
    yield from _extremes()


def _extremes() -> Iterator[Primitive]:
    """Yield the primitives of the smaller and the larger of two numbers; they ignore NaN; of equal numbers, they return the
    first."""
    for name, sign in (("minnum", "olt"), ("maxnum", "ogt")):
        lines = (
            f"%{{v}}.other = fcmp {sign} double {{y}}, {{x}}",
            "%{v}.extreme = select i1 %{v}.other, double {y}, double {x}",
            "%{v}.nan = fcmp uno double {x}, {x}",
            "select i1 %{v}.nan, double {y}, double %{v}.extreme",
        )
        yield Primitive(name, ("double", "double"), "double", "\n".join(lines), f"{name}({{x}}, {{y}})")


def _of_bits() -> Iterator[Primitive]:
    """Yield primitives that operate on the 64 bits of a double as an integer that wraps around."""
    first, other = "%{v}.x = bitcast double {x} to {bits}", "%{v}.y = bitcast double {y} to {bits}"
    back = "bitcast {bits} %{v}.z to double"
    for kind in ("double", "doubles"):
        lines = (first, other, "%{v}.z = add {bits} %{v}.x, %{v}.y", back)
        yield Primitive(f"bitsum {kind}", (kind, kind), kind, "\n".join(lines), "bits_sum({x}, {y})")
        for name, c in (("shl", "bits_up"), ("lshr", "bits_down")):
            shifted = (first, f"%{{v}}.z = {name} {{bits}} %{{v}}.x, {{y}}", back)
            yield Primitive(f"{name} {kind}", (kind, "i64"), kind, "\n".join(shifted), f"{c}({{x}}, {{y}})")


WIDE: Mapping[str, str] = MappingProxyType({"double": "doubles", "i1": "i1s"})
"""Type of the vector with one entry per lane, for a scalar and for a condition."""


def wide_name(name: str) -> str:
    word, _, kind = name.partition(" ")
    return f"{word} {WIDE.get(kind, 'i1s' if word in ('and', 'or', 'not') else 'doubles')}"


def _wide_table() -> Iterator[Primitive]:
    for one in _table():
        kinds = {*one.takes, one.gives}
        if kinds & WIDE.keys() and "i64" not in kinds:
            takes, gives = tuple(WIDE.get(kind, kind) for kind in one.takes), WIDE.get(one.gives, one.gives)
            yield Primitive(wide_name(one.name), takes, gives, one.llvm, one.c, one.pure)
    yield Primitive("at doubles", ("ptr", "i64"), "ptr", "getelementptr double, ptr {x}, i64 {y}", "{x} + 8 * {y}")
    yield Primitive("spread double", ("double",), "doubles", "spread {x}", "{x}")
    yield Primitive("spread i1", ("i1",), "i1s", "spread {x}", "{x}")
    yield Primitive("any", ("i1s",), "i1", "any {x}", "any({x})")


PRIMITIVES: Mapping[str, Primitive] = MappingProxyType({one.name: one for one in (*_table(), *_wide_table(), *_of_bits())})


def needed(instructions: Sequence[Instruction]) -> tuple[list[Instruction], Counter[str]]:
    uses: Counter[str] = Counter()
    kept: list[Instruction] = []
    for instruction in reversed(instructions):
        match instruction:
            case Applied(primitive, _, result) if primitive.pure and result and not uses[result.name]:
                continue
            case Called(_, _, _, result) if result and not uses[result.name]:
                kept.append(instruction._replace(result=None))
            case _:
                kept.append(instruction)
        uses.update(operand.name for operand in _operands(instruction) if not isinstance(operand, Literal))
    return kept[::-1], uses


def _operands(instruction: Instruction) -> tuple[Term, ...]:
    match instruction:
        case Applied(_, operands, _):
            return operands
        case Called(function, operands, _, _):
            return operands if isinstance(function, str) else (function, *operands)
        case Fork(condition, _, _):
            return (condition,)
        case Return(value) if value is not None:
            return (value,)
        case _:
            return ()
