"""Calls for joint sines and cosines: of four angles in one run, and of an angle in each SIMD lane.

A function for four angles takes as long as one for one angle. The sine of an angle does not depend on its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

JOINT_ANGLES = 4
"""Angles of one call in one run."""


def symbol(lanes: int = JOINT_ANGLES) -> str:
    """Return the name of the function for vectors of this many angles, which gives vectors of their sines and cosines."""
    return f"elementary.sincos.v{lanes}f64"


def result(lanes: int = JOINT_ANGLES) -> str:
    """Return the type of the result: two vectors."""
    return f"{{ <{lanes} x double>, <{lanes} x double> }}"


def call(name: str, angles: list[str]) -> list[str]:
    """Return lines that compute `%{name}s{k}` and `%{name}c{k}`, sine and cosine of each of at most four angles, values of
    LLVM."""
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
    """Return lines that compute sines and cosines as `call`, but of angles that are vectors with a number in each lane."""
    lines = list[str]()
    for k, angle in enumerate(angles):
        lines.append(f"%{name}.{k} = call {result(lanes)} @{symbol(lanes)}(<{lanes} x double> {angle})")
        lines += [f"%{name}{letter}{k} = extractvalue {result(lanes)} %{name}.{k}, {index}" for index, letter in enumerate("sc")]
    return lines


def joint_entry(functions: Mapping[str, str], attributes: str, noted: str = "") -> str:
    """Define the function for four angles by `functions` of one angle, the symbols of "sin" and "cos". Inlined, it
    computes the values that are used. The function `noted` is first called with each angle."""
    vector, rows, lines = f"<{JOINT_ANGLES} x double>", {"sin": "poison", "cos": "poison"}, list[str]()
    for k in range(JOINT_ANGLES):
        lines.append(f"%x{k} = extractelement {vector} %x, i32 {k}")
        lines += [f"call void @{noted}(double %x{k})"] if noted else []
        for name, row in rows.items():
            lines.append(f"%{name}.{k} = call double @{functions[name]}(double %x{k})")
            lines.append(f"%{name}s{k} = insertelement {vector} {row}, double %{name}.{k}, i32 {k}")
            rows[name] = f"%{name}s{k}"
    lines += [f"%one = insertvalue {result()} poison, {vector} {rows['sin']}, 0"]
    lines += [f"%both = insertvalue {result()} %one, {vector} {rows['cos']}, 1", f"ret {result()} %both"]
    return f"define {result()} @{symbol()}({vector} %x) {attributes} {{\n" + "\n".join(lines) + "\n}\n"


def declarations(texts: Iterable[str], lanes: int = JOINT_ANGLES) -> list[str]:
    """Return the declaration of the function if one of the texts calls it."""
    called = any(f"@{symbol(lanes)}(" in text for text in texts)
    return [f"declare {result(lanes)} @{symbol(lanes)}(<{lanes} x double>)"] if called else []
