"""Print procedures in LLVM's assembly language."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from bondgraph.emit.instructions import (
    FUNCTIONS,
    PRIMITIVES,
    WIDE,
    Applied,
    Called,
    Fork,
    Instruction,
    Jump,
    Literal,
    Name,
    Primitive,
    Return,
    Target,
    Term,
    Variable,
)
from bondgraph.emit.lanes import widened
from bondgraph.emit.procedure import Procedure


def number(value: float) -> str:
    return "0x" + struct.pack(">d", float(value)).hex().upper()


def module_text(procedures: Sequence[Procedure], others: Sequence[str] = ()) -> str:
    external = "\n".join(others)
    one = [f"declare double @llvm.{name}.f64({', '.join(['double'] * arguments)})" for name, arguments in FUNCTIONS.items()]
    lines = [*one]
    for width in sorted({procedure.width for procedure in procedures} - {1}):
        lines += [*(widened(line, width) for line in one), f"declare i1 @llvm.vector.reduce.or.v{width}i1(<{width} x i1>)"]
    declared = [line for line in lines if line not in external]
    return "\n\n".join([*others, *(procedure_text(procedure) for procedure in procedures), *declared]) + "\n"


def procedure_text(procedure: Procedure) -> str:
    parameters = ", ".join(f"{kind} %{name}" for name, kind in procedure.arguments.items())
    # Inlining the helpers would multiply the compile time and gain nothing measurable.
    scope, attributes = ("internal ", " noinline") if procedure.internal else ("", "")
    attributes += " optsize" if procedure.is_cold else ""
    attributes += f' "prefer-vector-width"="{64 * procedure.lanes}"' if procedure.lanes else ""
    head = f"define {scope}{procedure.result} @{procedure.name}({parameters}){attributes} {{\nentry.:"
    variables = [_variable(variable, procedure.width) for variable in procedure.variables]
    lines = [_line(instruction, procedure.width) for instruction in procedure.instructions]
    return "\n".join([head, *variables, "  br label %start.", "start.:", *lines, "}"])


_NARROW = {wide: kind for kind, wide in WIDE.items()}


def _variable(variable: Variable, width: int) -> str:
    held = f"<{width} x {_NARROW[variable.holds]}>" if variable.holds in _NARROW else variable.holds
    return f"  %{variable.name} = alloca {held}" + (f", i64 {variable.length}" if variable.length > 1 else "")


def _line(instruction: Instruction, width: int) -> str:
    match instruction:
        case Applied(primitive, (operand,), Name(_, name)) if primitive.name.startswith("spread "):
            kind, wide = operand.kind, f"<{width} x {operand.kind}>"
            first = f"  %{name}.one = insertelement {wide} poison, {kind} {_text(operand)}, i32 0"
            mask = f"<{width} x i32> zeroinitializer"
            return f"{first}\n  %{name} = shufflevector {wide} %{name}.one, {wide} poison, {mask}"
        case Applied(primitive, (operand,), result) if primitive is PRIMITIVES["any"]:
            condition = f"<{width} x i1> {_text(operand)}"
            return f"  {_assignment(result)}call i1 @llvm.vector.reduce.or.v{width}i1({condition})"
        case Applied(primitive, operands, result):
            return _applied(primitive, operands, result, width if {*primitive.takes, primitive.gives} & _NARROW.keys() else 1)
        case Called(function, operands, gives, result):
            target = f"@{function}" if isinstance(function, str) else _text(function)
            passed = ", ".join(f"{operand.kind} {_text(operand)}" for operand in operands)
            return f"  {_assignment(result)}call {gives} {target}({passed})"
        case Target(label):
            return f"{label}:"
        case Jump(label):
            return f"  br label %{label}"
        case Fork(condition, yes, no):
            return f"  br i1 {_text(condition)}, label %{yes}, label %{no}"
        case Return(value):
            return "  ret void" if value is None else f"  ret {value.kind} {_text(value)}"


def _applied(primitive: Primitive, operands: Sequence[Term], result: Name | None, width: int) -> str:
    texts = dict(zip("xyz", map(_text, operands), strict=False))
    if width > 1:
        counts = [
            letter
            for letter, operand in zip("xyz", operands, strict=False)
            if isinstance(operand, Literal) and isinstance(operand.number, int)
        ]
        texts |= {letter: f"splat (i64 {texts[letter]})" for letter in counts}
    bits = f"<{width} x i64>" if width > 1 else "i64"
    *before, last = primitive.llvm.format(**texts, bits=bits, v=result.name if result else "").split("\n")
    return "\n".join(f"  {widened(line, width)}" for line in (*before, f"{_assignment(result)}{last}"))


def _assignment(result: Name | None) -> str:
    return "" if result is None else f"%{result.name} = "


def _text(operand: Term) -> str:
    if isinstance(operand, Literal):
        return number(operand.number) if isinstance(operand.number, float) else str(operand.number)
    return f"%{operand.name}"
