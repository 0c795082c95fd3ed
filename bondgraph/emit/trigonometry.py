"""Sines and cosines of four angles at once, as text in LLVM's assembly language.

A call of the mathematical library for each angle costs as much as forty products. Here four angles share one call, in vectors of
the processor at hand: an angle is brought into [-pi/4, pi/4] by a multiple of pi/2 in three parts
(Cody and Waite 1980), where polynomials serve (those of fdlibm, Sun Microsystems 1993). The error stays below one unit in the
last place; angles beyond `FAR`, and what is no number, go to the library. What an angle's sine is does not depend on its
neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable

from bondgraph.emit.llvm_procedures import number

LANES = 4
"""Angles of one call."""

FAR = 1e5
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

VECTOR = f"<{LANES} x double>"
RESULT = f"{{ {VECTOR}, {VECTOR} }}"
_BITS = f"<{LANES} x i64>"
_TRUTHS = f"<{LANES} x i1>"


def call(name: str, angles: list[str]) -> list[str]:
    """Lines that compute `%{name}s{k}` and `%{name}c{k}`, sine and cosine of each of at most four angles, values of LLVM."""
    vector, lines = "zeroinitializer", []
    for k, angle in enumerate(angles):
        lines.append(f"%{name}x{k} = insertelement {VECTOR} {vector}, double {angle}, i32 {k}")
        vector = f"%{name}x{k}"
    lines.append(f"%{name} = call {RESULT} @{NAME}({VECTOR} {vector})")
    for index, letter in enumerate("sc"):
        lines.append(f"%{name}{letter} = extractvalue {RESULT} %{name}, {index}")
        for k in range(len(angles)):
            lines.append(f"%{name}{letter}{k} = extractelement {VECTOR} %{name}{letter}, i32 {k}")
    return lines


def definition() -> str:
    """Text of the function."""
    return f"""define internal {RESULT} @{NAME}({VECTOR} %x) nounwind noinline {{
begin:
  %a = call {VECTOR} @llvm.fabs.v{LANES}f64({VECTOR} %x)
  %k = fmul {VECTOR} %x, {_all(0.63661977236758134308)}
  %m = fadd {VECTOR} %k, {_all(_MAGIC)}
  %n = fsub {VECTOR} %m, {_all(_MAGIC)}
  %p1 = fmul contract {VECTOR} %n, {_all(_PI_2[0])}
  %r1 = fsub contract {VECTOR} %x, %p1
  %p2 = fmul contract {VECTOR} %n, {_all(_PI_2[1])}
  %r2 = fsub contract {VECTOR} %r1, %p2
  %e1 = fsub {VECTOR} %r1, %r2
  %e2 = fsub contract {VECTOR} %e1, %p2
  %p3 = fmul contract {VECTOR} %n, {_all(_PI_2[2])}
  %w = fsub contract {VECTOR} %p3, %e2
  %y = fsub {VECTOR} %r2, %w
  %e3 = fsub {VECTOR} %r2, %y
  %low = fsub {VECTOR} %e3, %w
  %z = fmul contract {VECTOR} %y, %y
{_horner("s", _SIN)}
{_horner("c", _COS)}
  %cube = fmul contract {VECTOR} %z, %y
  %s1 = fmul contract {VECTOR} %cube, %s
  %s2 = fadd contract {VECTOR} %s1, %low
  %sine = fadd {VECTOR} %y, %s2
  %h = fmul contract {VECTOR} %z, {_all(0.5)}
  %u = fsub contract {VECTOR} {_all(1.0)}, %h
  %c1 = fsub {VECTOR} {_all(1.0)}, %u
  %c2 = fsub contract {VECTOR} %c1, %h
  %zz = fmul contract {VECTOR} %z, %z
  %c3 = fmul contract {VECTOR} %zz, %c
  %c4 = fmul contract {VECTOR} %y, %low
  %c5 = fsub contract {VECTOR} %c3, %c4
  %c6 = fadd {VECTOR} %c2, %c5
  %cosine = fadd {VECTOR} %u, %c6
  %q = bitcast {VECTOR} %m to {_BITS}
  %odd = trunc {_BITS} %q to {_TRUTHS}
  %next = add {_BITS} %q, {_each("i64 1")}
{_signed("sin", "%q", "%cosine", "%sine")}
{_signed("cos", "%next", "%sine", "%cosine")}
  %near = fcmp ole {VECTOR} %a, {_all(FAR)}
  %all = call i1 @llvm.vector.reduce.and.v{LANES}i1({_TRUTHS} %near)
  br i1 %all, label %done, label %far
far:
{_by_the_library()}
  br label %done
done:
  %both.sin = phi {VECTOR} [ %sin, %begin ], [ %chosen.sin, %far ]
  %both.cos = phi {VECTOR} [ %cos, %begin ], [ %chosen.cos, %far ]
  %one = insertvalue {RESULT} undef, {VECTOR} %both.sin, 0
  %two = insertvalue {RESULT} %one, {VECTOR} %both.cos, 1
  ret {RESULT} %two
}}
"""


DECLARATIONS = "\n".join(
    (f"declare {VECTOR} @llvm.fabs.v{LANES}f64({VECTOR})", f"declare i1 @llvm.vector.reduce.and.v{LANES}i1({_TRUTHS})")
)


def _each(value: str) -> str:
    return f"<{', '.join([value] * LANES)}>"


def _all(value: float) -> str:
    """A vector of equal constants."""
    return _each(f"double {number(value)}")


def _horner(name: str, coefficients: tuple[float, ...]) -> str:
    """Lines that compute `%name`, the polynomial in %z with these coefficients, lowest first."""
    *rest, value = map(_all, coefficients)
    lines = []
    for k, coefficient in reversed(list(enumerate(rest))):
        product, total = f"%{name}.product{k}", f"%{name}.sum{k}" if k else f"%{name}"
        lines += [
            f"  {product} = fmul contract {VECTOR} %z, {value}",
            f"  {total} = fadd contract {VECTOR} {product}, {coefficient}",
        ]
        value = total
    return "\n".join(lines)


def _signed(name: str, quadrant: str, odd: str, even: str) -> str:
    """Lines for the value of an odd or an even quadrant, with the sign of the quadrant's second bit."""
    return f"""\
  %{name}.value = select {_TRUTHS} %odd, {VECTOR} {odd}, {VECTOR} {even}
  %{name}.bits = bitcast {VECTOR} %{name}.value to {_BITS}
  %{name}.shifted = shl {_BITS} {quadrant}, {_each("i64 62")}
  %{name}.sign = and {_BITS} %{name}.shifted, {_each("i64 -9223372036854775808")}
  %{name}.turned = xor {_BITS} %{name}.bits, %{name}.sign
  %{name} = bitcast {_BITS} %{name}.turned to {VECTOR}"""


def _by_the_library() -> str:
    """Lines that put the library's values in the place of those of far angles."""
    lines = [f"  %x{k} = extractelement {VECTOR} %x, i32 {k}" for k in range(LANES)]
    for function in ("sin", "cos"):
        vector = "zeroinitializer"
        for k in range(LANES):
            lines.append(f"  %{function}{k} = call double @llvm.{function}.f64(double %x{k})")
            name = f"%library.{function}{k}"
            lines.append(f"  {name} = insertelement {VECTOR} {vector}, double %{function}{k}, i32 {k}")
            vector = name
        lines.append(f"  %chosen.{function} = select {_TRUTHS} %near, {VECTOR} %{function}, {VECTOR} {vector}")
    return "\n".join(lines)


def called(texts: Iterable[str]) -> list[str]:
    """What texts that call these functions need besides; nothing where none does."""
    return [DECLARATIONS, definition()] if any(f"@{NAME}(" in text for text in texts) else []
