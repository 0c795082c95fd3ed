"""Calls that compute sines and cosines together: of four angles in a scalar run, or of one angle in each SIMD lane.

A call for four angles takes as long as a call for one angle. The sine of an angle does not depend on the other angles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

JOINT_ANGLES = 4


def symbol(lanes: int = JOINT_ANGLES) -> str:
    """Return the name of the function that maps a vector of this many angles to their sines and cosines, two vectors."""
    return f"elementary.sincos.v{lanes}f64"


def result(lanes: int = JOINT_ANGLES) -> str:
    return f"{{ <{lanes} x double>, <{lanes} x double> }}"


def call(name: str, angles: list[str]) -> list[str]:
    """Return LLVM lines that compute `%{name}s{k}` and `%{name}c{k}`, the sine and cosine of each of at most four angles."""
    kind, vector, lines = f"<{JOINT_ANGLES} x double>", "zeroinitializer", []
    for k, angle in enumerate(angles):
        lines.append(f"%{name}x{k} = insertelement {kind} {vector}, double {angle}, i32 {k}")
        vector = f"%{name}x{k}"
    lines.append(f"%{name} = call {result()} @{symbol()}({kind} {vector})")
    for index, letter in enumerate("sc"):
        lines.append(f"%{name}{letter} = extractvalue {result()} %{name}, {index}")
        for k in range(len(angles)):
            lines.append(f"%{name}{letter}{k} = extractelement {kind} %{name}{letter}, i32 {k}")
    return lines


def wide_call(name: str, angles: list[str], lanes: int) -> list[str]:
    """Return lines like those of `call`, for angles that are vectors with a number per lane."""
    lines = list[str]()
    for k, angle in enumerate(angles):
        lines.append(f"%{name}.{k} = call {result(lanes)} @{symbol(lanes)}(<{lanes} x double> {angle})")
        lines += [f"%{name}{letter}{k} = extractvalue {result(lanes)} %{name}.{k}, {index}" for index, letter in enumerate("sc")]
    return lines


def joint_entry(functions: Mapping[str, str], attributes: str, recorder: str = "") -> str:
    """Return the definition of the function for four angles in terms of `functions`, the symbols of "sin" and "cos" of one angle.

    If LLVM inlines the function, it computes only the values in use. The function `recorder`, if any, is called with each angle
    first.
    """
    vector, rows, lines = f"<{JOINT_ANGLES} x double>", {"sin": "poison", "cos": "poison"}, list[str]()
    for k in range(JOINT_ANGLES):
        lines.append(f"%x{k} = extractelement {vector} %x, i32 {k}")
        lines += [f"call void @{recorder}(double %x{k})"] if recorder else []
        for name, row in rows.items():
            lines.append(f"%{name}.{k} = call double @{functions[name]}(double %x{k})")
            lines.append(f"%{name}s{k} = insertelement {vector} {row}, double %{name}.{k}, i32 {k}")
            rows[name] = f"%{name}s{k}"
    lines += [f"%one = insertvalue {result()} poison, {vector} {rows['sin']}, 0"]
    lines += [f"%both = insertvalue {result()} %one, {vector} {rows['cos']}, 1", f"ret {result()} %both"]
    return f"define {result()} @{symbol()}({vector} %x) {attributes} {{\n" + "\n".join(lines) + "\n}\n"


def declarations(texts: Iterable[str], lanes: int = JOINT_ANGLES) -> list[str]:
    called = any(f"@{symbol(lanes)}(" in text for text in texts)
    return [f"declare {result(lanes)} @{symbol(lanes)}(<{lanes} x double>)"] if called else []
