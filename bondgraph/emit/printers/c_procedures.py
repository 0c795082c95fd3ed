"""Print procedures as one C99 source file that gives bit-identical results.

Each instruction is a statement; address arithmetic is inlined, and unused results are left out, so that compilers do not warn.
There is no undefined behaviour: integers wrap around, memory is read and written byte for byte (`memcpy`), and a field that
holds a pointer is 8 bytes wide on every processor. The file has no static data. It calls `sqrt`, `fabs` and `fma` from
<math.h>, which are correctly rounded on every system.

Compile it with `-ffp-contract=off` and without `-ffast-math`, which would change results.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Iterator, Sequence

from bondgraph.emit.instructions import (
    PRIMITIVES,
    WIDE,
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
    needed,
)
from bondgraph.emit.procedure import Procedure

TYPES = {"double": "double ", "i64": "int64_t ", "i1": "bool ", "ptr": "char *", "void": "void "}
TYPES |= {wide: TYPES[kind] for kind, wide in WIDE.items()}
"""C type of each kind, ending with the separator before a name."""

_HEAD = """\
#ifdef __FAST_MATH__
#error "compile without -ffast-math: numbers may not be finite, and sums must not be reordered"
#endif

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
"""

_WIDE_INTEGER = 2**31

_KEYWORDS = re.compile(
    r"auto|bool|break|case|char|const|continue|default|do|double|else|enum|extern|false|float|for|goto|if|inline|int|long"
    r"|register|restrict|return|short|signed|sizeof|static|struct|switch|true|typedef|union|unsigned|void|volatile|while"
)
_READ = """\
static inline {own}load_{kind}(const char *place)
{{
    {held} x;
    memcpy(&x, place, sizeof x);
    return {read};
}}
"""
_WRITTEN = """\
static inline void store_{kind}(char *place, {own}value)
{{
    {held} x = {written};
    memcpy(place, &x, sizeof x);
}}
"""
_OF_BITS = """\
static inline double {name}(double x, {other})
{{
    uint64_t a{more};
    memcpy(&a, &x, sizeof a);
    {changed};
    memcpy(&x, &a, sizeof x);
    return x;
}}
"""
_EXTREMUM = """\
static inline double {name}(double x, double y)
{{
    return y {sign} x || x != x ? y : x;
}}
"""
"""C source of `larger` and `smaller`, which return the first of two equal numbers, since zeros have signs."""


def _helpers() -> Iterator[tuple[str, str]]:
    rows = (
        ("double", "double", "x", "value"),
        ("i64", "int64_t", "x", "value"),
        ("ptr", "uint64_t", "(char *)(uintptr_t)x", "(uintptr_t)value"),
    )
    for kind, held, read, written in rows:
        yield f"load_{kind}", _READ.format(own=TYPES[kind], kind=kind, held=held, read=read)
        yield f"store_{kind}", _WRITTEN.format(own=TYPES[kind], kind=kind, held=held, written=written)
    for name, other, more, changed in (
        ("bits_sum", "double y", ", b", "memcpy(&b, &y, sizeof b);\n    a += b"),
        ("bits_up", "int n", "", "a <<= n"),
        ("bits_down", "int n", "", "a >>= n"),
    ):
        yield name, _OF_BITS.format(name=name, other=other, more=more, changed=changed)
    for name, sign in (("minnum", "<"), ("maxnum", ">")):
        yield name, _EXTREMUM.format(name=name, sign=sign)


_KINDS = ("double", "i64", "ptr")
_AT = {PRIMITIVES[f"at {kind}"] for kind in (*_KINDS, "doubles")}
_WIDE, _ADDRESSES = frozenset(WIDE.values()), frozenset({"ptr"})
_LOAD, _STORE = ({kind: PRIMITIVES[f"{name} {kind}"] for kind in _KINDS} for name in ("load", "store"))


def source_text(procedures: Sequence[Procedure], statics: Collection[str] = (), prefix: str = "") -> str:
    """Return the C source of all procedures; a `prefix` precedes the names of helper functions.

    The `statics`, functions that are defined elsewhere in the file, are declared as static, and all other called functions as
    external.
    """
    bodies = [_Definition(procedure).text() for procedure in procedures]
    defined = {procedure.name for procedure in procedures}
    calls = (i for p in procedures for i in p.instructions if isinstance(i, Called) and isinstance(i.function, str))
    others = {str(call.function): call for call in calls if call.function not in defined}
    scopes = {name: "static" if name in statics else "extern" for name in others}
    externs = [f"{scopes[name]} {TYPES[call.gives]}{name}({_types_of(call)});" for name, call in others.items()]
    body = "\n".join(bodies)
    helpers = {name: text for name, text in _helpers() if f"{name}(" in body}
    prototypes = "\n".join([*externs, *(f"{_head(procedure)};" for procedure in procedures)])
    text = "\n".join([*helpers.values(), f"{prototypes}\n", *bodies])
    if prefix and helpers:
        text = re.sub(rf"\b({'|'.join(helpers)})\(", rf"{prefix}\1(", text)
    return f"{_HEAD}\n{text}"


def _types_of(call: Called) -> str:
    return ", ".join(TYPES[operand.kind].strip() for operand in call.operands) or "void"


def _head(procedure: Procedure) -> str:
    scope = "static " if procedure.internal else ""
    parameters = ", ".join(_argument(name, kind) for name, kind in procedure.arguments.items())
    return f"{scope}{TYPES[procedure.result]}{procedure.name}({parameters or 'void'})"


def _argument(name: str, kind: str) -> str:
    first, *attributes = kind.split()
    return f"{TYPES[first]}{'restrict ' if 'noalias' in attributes else ''}{_named(name)}"


def _named(name: str) -> str:
    return f"{name}_" if _KEYWORDS.fullmatch(name) else name


class _Definition:
    def __init__(self, procedure: Procedure):
        self.procedure = procedure
        self.instructions, self.uses = needed(procedure.instructions)
        self.inlined: dict[str, str] = {}

    def text(self) -> str:
        lines = [f"    {TYPES[variable.holds]}{variable.name}{self._length(variable)};" for variable in self.procedure.variables]
        lines += [f"    (void){_named(name)};" for name in self.procedure.arguments if not self.uses[name]]
        pairs = list(itertools.zip_longest(self.instructions, self.instructions[1:]))
        reached = {label for pair in pairs for label in _jump_labels(*pair)}
        for instruction, following in pairs:
            if isinstance(instruction, Target):
                lines += [f"{instruction.label}:;"] if instruction.label in reached else []
            elif statement := self._statement(instruction, following):
                lines.append(f"    {statement};")
        return "\n".join([_head(self.procedure), "{", *lines, "}\n"])

    def _length(self, variable: Variable) -> str:
        count = self.procedure.width if variable.holds in _WIDE else variable.length
        return f"[{count}]" if count > 1 else ""

    def _statement(self, instruction: Instruction, following: Instruction | None) -> str:
        match instruction:
            case Applied(_, _, result):
                return self._applied(instruction, result)
            case Called(_, operands, _, result):
                return f"{_assignment(result)}{self._target(instruction)}({', '.join(map(self._text, operands))})"
            case Fork(condition, yes, no) if _is_target(following, yes):
                return f"if (!{self._text(condition)}) goto {no}"
            case Fork(condition, yes, no):
                return f"if ({self._text(condition)}) goto {yes}; else goto {no}"
            case Jump(label):
                return "" if _is_target(following, label) else f"goto {label}"
            case Return(value):
                return "return" if value is None else f"return {self._text(value)}"
            case Target():
                return ""

    def _applied(self, step: Applied, result: Name | None) -> str:
        primitive, operands, _ = step
        first = operands[0]
        if {*primitive.takes, primitive.gives} & _WIDE:
            return self._in_lanes(step, result)
        if isinstance(first, Variable) and first.length == 1 and primitive in (_LOAD[first.holds], _STORE[first.holds]):
            return f"{_assignment(result)}{first.name}" if result else f"{first.name} = {self._text(operands[1])}"
        text = primitive.c.format_map(dict(zip("xyz", map(self._text, operands), strict=False)))
        if result and primitive in _AT and self.uses[result.name] == 1:
            self.inlined[result.name] = text
            return ""
        return f"{_assignment(result)}{text}"

    def _in_lanes(self, step: Applied, result: Name | None) -> str:
        primitive, operands, _ = step
        every = f"for (int lane = 0; lane < {self.procedure.width}; lane++) "
        texts = [self._of_lane(operand) for operand in operands]
        if primitive is PRIMITIVES["any"] and result:
            return f"bool {result.name} = false; {every}{result.name} |= {texts[0]}"
        text = primitive.c.format_map(dict(zip("xyz", texts, strict=False)))
        if result is None:
            return f"{every}{text}"
        return f"{TYPES[result.kind]}{result.name}[{self.procedure.width}]; {every}{result.name}[lane] = {text}"

    def _of_lane(self, operand: Term) -> str:
        if isinstance(operand, Variable) and operand.holds in _WIDE:
            return f"(char *)&{operand.name}[lane]"
        if operand.kind in _WIDE:
            return f"{self._text(operand)}[lane]" if isinstance(operand, Name) else self._text(operand)
        return f"({self._text(operand)} + 8 * lane)" if operand.kind in _ADDRESSES else self._text(operand)

    def _target(self, call: Called) -> str:
        if isinstance(call.function, str):
            return call.function
        return f"(({TYPES[call.gives]}(*)({_types_of(call)}))(uintptr_t){self._text(call.function)})"

    def _text(self, operand: Term) -> str:
        match operand:
            case Literal(_, number):
                return _number(number)
            case Variable(name, _, length):
                return f"(char *){name}" if length > 1 else f"(char *)&{name}"
            case Name(_, name):
                return self.inlined.get(name, _named(name))


def _assignment(result: Name | None) -> str:
    return f"{TYPES[result.kind]}{result.name} = " if result else ""


def _is_target(instruction: Instruction | None, label: str) -> bool:
    return isinstance(instruction, Target) and instruction.label == label


def _jump_labels(instruction: Instruction, following: Instruction | None) -> tuple[str, ...]:
    match instruction:
        case Jump(label):
            return () if _is_target(following, label) else (label,)
        case Fork(_, yes, no):
            return (no,) if _is_target(following, yes) else (yes, no)
        case _:
            return ()


def _number(value: float) -> str:
    if not isinstance(value, float):
        return f"INT64_C({value})" if abs(value) >= _WIDE_INTEGER else str(value)
    return "NAN" if math.isnan(value) else repr(value).replace("inf", "INFINITY")
