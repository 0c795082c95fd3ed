"""Machine code of the elementary functions, which kernels call by name, for one number and for vectors of several lanes."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from bondgraph.emit import machine
from bondgraph.emit.elementary import functions, trigonometry
from bondgraph.emit.kernel_language.translate import translate
from bondgraph.emit.machine import link
from bondgraph.emit.printers.llvm_procedures import module_text, number

ELEMENTARY: Mapping[str, Callable[..., float]] = MappingProxyType(
    {
        "exp": functions.exponential,
        "expm1": functions.exponential_less_one,
        "log": functions.logarithm,
        "pow": functions.power,
        "atan2": functions.arctangent_of,
        "atan": functions.arctangent,
        "asin": functions.arcsine,
        "acos": functions.arccosine,
        "tan": functions.tangent,
        "tanh": functions.hyperbolic_tangent,
        "sin": functions.sine,
        "cos": functions.cosine,
    }
)
PERIODIC = ("sin", "cos", "tan")
"""Functions that the C library computes for angles beyond `functions.FAR`."""
_NAME = re.compile(rb"elementary\.\w+\.(?:v(\d+))?f64")
_lock = threading.RLock()


def linked(code: bytes, exported: Iterable[str], symbols: Mapping[str, int]) -> tuple[Any, dict[str, int]]:
    addresses: dict[str, int] = {}
    for lanes in {int(count or 1) for count in _NAME.findall(code)}:
        with _lock:
            addresses |= _library(lanes, machine.processor())[1]
    return link(code, exported, {**addresses, **symbols})


@functools.cache
def _library(lanes: int, processor: tuple[str, str]) -> tuple[Any, dict[str, int]]:
    writer = ("elementary functions", str(lanes))
    return link(*machine.written_code(writer, lambda: library_text(lanes)), {})


def library_text(lanes: int) -> str:
    width = max(lanes, 2)
    joint = [functions.sine_and_cosine] if lanes > 1 else []
    text = module_text(translate([*ELEMENTARY.values(), *joint], lanes=width)).replace(" noinline", " alwaysinline")
    declared = [f"declare double @llvm.{name}.f64(double)" for name in PERIODIC]
    entries = [_entry(name, function, lanes, width) for name, function in ELEMENTARY.items()]
    return "\n".join([text, *declared, *entries, *([_joint_entry(lanes)] if joint else [])])


def symbol(name: str, lanes: int) -> str:
    return f"elementary.{name}.{f'v{lanes}' if lanes > 1 else ''}f64"


def _entry(name: str, function: Callable[..., float], lanes: int, width: int) -> str:
    """Return the LLVM IR of the function that kernels call; it computes even a single number as a vector, because LLVM selects
    between vectors by blending, but between numbers by branching."""
    letters = "xy"[: 1 + (function in functions.OF_TWO)]
    kind, vector = "double" if lanes == 1 else f"<{lanes} x double>", f"<{width} x double>"
    lines = ["entry:", *(f"%{letter}.at = alloca {vector}" for letter in f"{letters}r")]
    for letter in letters:
        value = f"%{letter}"
        if lanes == 1:
            lines.append(f"{value}.one = insertelement {vector} poison, double {value}, i32 0")
            lines.append(f"{value}.all = shufflevector {vector} {value}.one, {vector} poison, <{width} x i32> zeroinitializer")
            value = f"{value}.all"
        lines.append(f"store {vector} {value}, ptr %{letter}.at")
    passed = ", ".join(f"ptr %{letter}.at" for letter in f"{letters}r")
    lines += [f"call void @{function.__name__}({passed})", f"%all = load {vector}, ptr %r.at"]
    result = "%all"
    if name in PERIODIC:
        lines += _by_the_library({name: result}, lanes, width)
        result = f"%{name}{lanes - 1}"
    lines += [f"%one = extractelement {vector} {result}, i32 0", "ret double %one"] if lanes == 1 else [f"ret {kind} {result}"]
    value = ", ".join(f"{kind} %{letter}" for letter in letters)
    return f"define {kind} @{symbol(name, lanes)}({value}) nounwind {{\n" + "\n".join(lines) + "\n}\n"


def _joint_entry(lanes: int) -> str:
    vector, result = f"<{lanes} x double>", trigonometry.result(lanes)
    lines = ["entry:", f"%x.at = alloca {vector}", f"%r.at = alloca {vector}, i64 2", f"store {vector} %x, ptr %x.at"]
    lines += [f"call void @{functions.sine_and_cosine.__name__}(ptr %x.at, ptr %r.at)", f"%sines = load {vector}, ptr %r.at"]
    lines += [f"%second = getelementptr {vector}, ptr %r.at, i64 1", f"%cosines = load {vector}, ptr %second"]
    lines += _by_the_library({"sin": "%sines", "cos": "%cosines"}, lanes, lanes)
    lines += [f"%one = insertvalue {result} undef, {vector} %sin{lanes - 1}, 0"]
    lines += [f"%both = insertvalue {result} %one, {vector} %cos{lanes - 1}, 1", f"ret {result} %both"]
    return f"define {result} @{trigonometry.symbol(lanes)}({vector} %x) nounwind {{\n" + "\n".join(lines) + "\n}\n"


def _by_the_library(values: Mapping[str, str], lanes: int, width: int) -> list[str]:
    """Return lines that replace the values of these functions by results of the C library for angles beyond `functions.FAR`."""
    lines, rows, vector = list[str](), dict(values), f"<{width} x double>"
    for lane in range(lanes):
        x = "%x"
        if lanes > 1:
            x = f"%x{lane}"
            lines.append(f"{x} = extractelement {vector} %x, i32 {lane}")
        lines += [
            f"%size{lane} = call double @llvm.fabs.f64(double {x})",
            f"%far{lane} = fcmp ogt double %size{lane}, {number(functions.FAR)}",
            f"br i1 %far{lane}, label %library{lane}, label %next{lane}",
            f"library{lane}:",
        ]
        for name, row in rows.items():
            lines.append(f"%value.{name}{lane} = call double @llvm.{name}.f64(double {x})")
            lines.append(f"%with.{name}{lane} = insertelement {vector} {row}, double %value.{name}{lane}, i32 {lane}")
        before = f"next{lane - 1}" if lane else "entry"
        lines += [f"br label %next{lane}", f"next{lane}:"]
        for name, row in rows.items():
            lines.append(f"%{name}{lane} = phi {vector} [ {row}, %{before} ], [ %with.{name}{lane}, %library{lane} ]")
            rows[name] = f"%{name}{lane}"
    return lines
