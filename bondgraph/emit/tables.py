"""Tables in machine code: search by bisection, entry by its number, and arrays of constants."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from bondgraph.tape import opcodes as op
from bondgraph.tape.routine import Listing

LOOKUP_FUNCTIONS = """define internal double @searchsorted(double %u, ptr %points, i64 %n) nounwind noinline {
entry:
  br label %head
head:
  %low = phi i64 [0, %entry], [%lower, %body]
  %left = phi i64 [%n, %entry], [%fewer, %body]
  %more = icmp ne i64 %left, 0
  br i1 %more, label %body, label %done
body:
  %fewer = lshr i64 %left, 1
  %half = sub i64 %left, %fewer
  %next = add i64 %low, %half
  %middle = sub i64 %next, 1
  %at = getelementptr inbounds double, ptr %points, i64 %middle
  %point = load double, ptr %at
  %reached = fcmp ole double %point, %u
  %all = sext i1 %reached to i64
  %step = and i64 %half, %all
  %lower = add i64 %low, %step
  br label %head
done:
  %count = uitofp i64 %low to double
  ret double %count
}
define internal double @take(double %index, ptr %values, i64 %n) nounwind alwaysinline {
  %row = call i64 @llvm.fptosi.sat.i64.f64(double %index)
  %last = sub i64 %n, 1
  %before = icmp slt i64 %row, 0
  %begun = select i1 %before, i64 0, i64 %row
  %behind = icmp sgt i64 %begun, %last
  %inside = select i1 %behind, i64 %last, i64 %begun
  %at = getelementptr inbounds double, ptr %values, i64 %inside
  %value = load double, ptr %at
  ret double %value
}
"""
"""Machine code of `opcodes.SEARCHSORTED` and `opcodes.TAKE`."""


def definitions(programs: Iterable[Listing]) -> list[str]:
    """Return the texts that lookups of these programs need in their module: the functions, and each table of constants once."""
    leaves = dict.fromkeys(program.steps[step[2]] for program in programs for step in program.steps if step[0] in op.LOOKUPS)
    tables = dict.fromkeys(_array(leaf[1]) for leaf in leaves if leaf[0] == op.TABLE)
    return [LOOKUP_FUNCTIONS, *tables] if leaves else []


def array_name(bits: bytes) -> str:
    """Return the name of the array of constants with these bits."""
    return f"table.{hashlib.blake2b(bits, digest_size=12).hexdigest()}"


def _array(bits: bytes) -> str:
    """Return the bits of an array as one text of bytes: LLVM reads a list of numbers ten times as slowly."""
    return f'@{array_name(bits)} = internal constant [{len(bits)} x i8] c"\\{bits.hex(chr(92))}", align 8'
