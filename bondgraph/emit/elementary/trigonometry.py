"""Sines and cosines of four angles in one SIMD call, as text in LLVM's assembly language.

A call of the mathematical library for each angle costs as much as forty products. Here four angles share one call: an angle is
reduced to [-pi/4, pi/4] by a multiple of pi/2 in three parts (Cody and Waite 1980), where polynomials serve (those of fdlibm, Sun
Microsystems 1993). The error stays below one unit in the last place; the library computes angles beyond `MAX_EXACT_ANGLE` and
NaN. The sine of an angle does not depend on its neighbours.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

from bondgraph.emit.printers.llvm_procedures import number

VECTOR_LANES = 4
"""Angles of one call."""

MAX_EXACT_ANGLE = 1e5
"""Size of an angle, rad, up to which the three parts of pi/2 are exact."""

NAME = "screwbond.sines.cosines"
"""The function: a vector of angles -> vectors of their sines and cosines."""

_PI_2 = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
"""pi/2: thirty-three bits, thirty-three more, and the rest."""

_SIN = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
_COS = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)
_MAGIC = 6755399441055744.0
"""1.5 * 2^52: added to a number, it leaves the nearest integer in the last bits."""

VECTOR = f"<{VECTOR_LANES} x double>"
SINE_AND_COSINE = f"{{ {VECTOR}, {VECTOR} }}"


def call(name: str, angles: list[str]) -> list[str]:
    """Return lines that compute `%{name}s{k}` and `%{name}c{k}`, sine and cosine of each of at most four angles, values of
    LLVM."""
    vector, lines = "zeroinitializer", []
    for k, angle in enumerate(angles):
        lines.append(f"%{name}x{k} = insertelement {VECTOR} {vector}, double {angle}, i32 {k}")
        vector = f"%{name}x{k}"
    lines.append(f"%{name} = call {SINE_AND_COSINE} @{NAME}({VECTOR} {vector})")
    for index, letter in enumerate("sc"):
        lines.append(f"%{name}{letter} = extractvalue {SINE_AND_COSINE} %{name}, {index}")
        for k in range(len(angles)):
            lines.append(f"%{name}{letter}{k} = extractelement {VECTOR} %{name}{letter}, i32 {k}")
    return lines


def wide_call(name: str, angles: list[str], lanes: int) -> list[str]:
    """Return lines that compute sines and cosines as `call`, but of angles that are vectors with a number in each lane."""
    vector = f"<{lanes} x double>"
    result, lines = f"{{ {vector}, {vector} }}", list[str]()
    for k, angle in enumerate(angles):
        lines.append(f"%{name}.{k} = call {result} @{_name(lanes)}({vector} {angle})")
        lines += [f"%{name}{letter}{k} = extractvalue {result} %{name}.{k}, {index}" for index, letter in enumerate("sc")]
    return lines


def _name(lanes: int) -> str:
    return NAME if lanes == VECTOR_LANES else f"{NAME}.{lanes}"


def definition(lanes: int = VECTOR_LANES) -> str:
    """Return the text of the function for vectors of so many angles."""
    vector, bits, truths = (f"<{lanes} x {kind}>" for kind in ("double", "i64", "i1"))
    result, every, fma = f"{{ {vector}, {vector} }}", functools.partial(_all, lanes), functools.partial(_fma, lanes)
    return f"""define internal {result} @{_name(lanes)}({vector} %x) nounwind noinline {{
begin:
  %a = call {vector} @llvm.fabs.v{lanes}f64({vector} %x)
  %k = fmul {vector} %x, {every(0.63661977236758134308)}
  %m = fadd {vector} %k, {every(_MAGIC)}
  %n = fsub {vector} %m, {every(_MAGIC)}
{fma("r1", "%n", every(-_PI_2[0]), "%x")}
  %p2 = fmul {vector} %n, {every(_PI_2[1])}
  %r2 = fsub {vector} %r1, %p2
  %e1 = fsub {vector} %r1, %r2
  %e2 = fsub {vector} %e1, %p2
  %back = fneg {vector} %e2
{fma("w", "%n", every(_PI_2[2]), "%back")}
  %y = fsub {vector} %r2, %w
  %e3 = fsub {vector} %r2, %y
  %low = fsub {vector} %e3, %w
  %z = fmul {vector} %y, %y
{_horner("s", _SIN, lanes)}
{_horner("c", _COS, lanes)}
  %cube = fmul {vector} %z, %y
{fma("s2", "%cube", "%s", "%low")}
  %sine = fadd {vector} %y, %s2
  %h = fmul {vector} %z, {every(0.5)}
  %u = fsub {vector} {every(1.0)}, %h
  %c1 = fsub {vector} {every(1.0)}, %u
  %c2 = fsub {vector} %c1, %h
  %zz = fmul {vector} %z, %z
  %c4 = fmul {vector} %y, %low
  %less = fneg {vector} %c4
{fma("c5", "%zz", "%c", "%less")}
  %c6 = fadd {vector} %c2, %c5
  %cosine = fadd {vector} %u, %c6
  %q = bitcast {vector} %m to {bits}
  %odd = trunc {bits} %q to {truths}
  %next = add {bits} %q, {_each("i64 1", lanes)}
{_signed("sin", "%q", "%cosine", "%sine", lanes)}
{_signed("cos", "%next", "%sine", "%cosine", lanes)}
  %near = fcmp ole {vector} %a, {every(MAX_EXACT_ANGLE)}
  %all = call i1 @llvm.vector.reduce.and.v{lanes}i1({truths} %near)
  br i1 %all, label %done, label %far
far:
{_by_the_library(lanes)}
  br label %done
done:
  %both.sin = phi {vector} [ %sin, %begin ], [ %chosen.sin, %far ]
  %both.cos = phi {vector} [ %cos, %begin ], [ %chosen.cos, %far ]
  %one = insertvalue {result} undef, {vector} %both.sin, 0
  %two = insertvalue {result} %one, {vector} %both.cos, 1
  ret {result} %two
}}
"""


def _declarations(lanes: int) -> str:
    vector = f"<{lanes} x double>"
    fma = f"declare {vector} @llvm.fma.v{lanes}f64({vector}, {vector}, {vector})"
    return (
        f"{fma}\ndeclare {vector} @llvm.fabs.v{lanes}f64({vector})\ndeclare i1 @llvm.vector.reduce.and.v{lanes}i1(<{lanes} x i1>)"
    )


def _each(value: str, lanes: int) -> str:
    return f"<{', '.join([value] * lanes)}>"


def _all(lanes: int, value: float) -> str:
    """A vector of equal constants."""
    return _each(f"double {number(value)}", lanes)


def _horner(name: str, coefficients: tuple[float, ...], lanes: int) -> str:
    """Lines that compute `%name`, the polynomial in %z with these coefficients, lowest first."""
    *rest, value = (_all(lanes, coefficient) for coefficient in coefficients)
    lines = []
    for k, coefficient in reversed(list(enumerate(rest))):
        total = f"{name}.sum{k}" if k else name
        lines.append(_fma(lanes, total, "%z", value, coefficient))
        value = f"%{total}"
    return "\n".join(lines)


def _fma(lanes: int, name: str, x: str, y: str, z: str) -> str:
    """Return the line that computes `%{name}` = x y + z, rounded once."""
    kind = f"<{lanes} x double>"
    return f"  %{name} = call {kind} @llvm.fma.v{lanes}f64({kind} {x}, {kind} {y}, {kind} {z})"


def _signed(name: str, quadrant: str, odd: str, even: str, lanes: int) -> str:
    """Lines for the value of an odd or an even quadrant, with the sign of the quadrant's second bit."""
    vector, bits, truths = (f"<{lanes} x {kind}>" for kind in ("double", "i64", "i1"))
    return f"""\
  %{name}.value = select {truths} %odd, {vector} {odd}, {vector} {even}
  %{name}.bits = bitcast {vector} %{name}.value to {bits}
  %{name}.shifted = shl {bits} {quadrant}, {_each("i64 62", lanes)}
  %{name}.sign = and {bits} %{name}.shifted, {_each("i64 -9223372036854775808", lanes)}
  %{name}.turned = xor {bits} %{name}.bits, %{name}.sign
  %{name} = bitcast {bits} %{name}.turned to {vector}"""


def _by_the_library(lanes: int) -> str:
    """Lines that put the values of the functions of one number in the place of those of far angles."""
    kind = f"<{lanes} x double>"
    lines = [f"  %x{k} = extractelement {kind} %x, i32 {k}" for k in range(lanes)]
    for function in ("sin", "cos"):
        vector = "zeroinitializer"
        for k in range(lanes):
            lines.append(f"  %{function}{k} = call double @elementary.{function}.f64(double %x{k})")
            name = f"%library.{function}{k}"
            lines.append(f"  {name} = insertelement {kind} {vector}, double %{function}{k}, i32 {k}")
            vector = name
        lines.append(f"  %chosen.{function} = select <{lanes} x i1> %near, {kind} %{function}, {kind} {vector}")
    return "\n".join(lines)


def called(texts: Iterable[str], lanes: int = VECTOR_LANES) -> list[str]:
    """Return declarations and definition of the functions if one of the texts calls them, else nothing."""
    return [_declarations(lanes), definition(lanes)] if any(f"@{_name(lanes)}(" in text for text in texts) else []
