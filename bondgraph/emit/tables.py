"""Tables in machine code: search by bisection, entry by its number, and arrays of constants."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from bondgraph.tape import opcodes as op
from bondgraph.tape.routine import Listing

LOOKUP_FUNCTIONS = """define internal double @searchsorted(double %u, ptr %points, i64 %n) nounwind noinline {
entry:
  %last = sub i64 %n, 1
  %end = getelementptr inbounds double, ptr %points, i64 %last
  %lowest = load double, ptr %points
  %highest = load double, ptr %end
  %range = fsub double %highest, %lowest
  %since = fsub double %u, %lowest
  %part = fdiv double %since, %range
  %pieces = uitofp i64 %last to double
  %place = fmul double %part, %pieces
  %row = call i64 @llvm.fptosi.sat.i64.f64(double %place)
  %negative = icmp slt i64 %row, 0
  %begun = select i1 %negative, i64 0, i64 %row
  %behind = icmp sge i64 %begun, %last
  %guess = select i1 %behind, i64 %last, i64 %begun
  %after = add i64 %guess, 1
  %other = select i1 %behind, i64 %last, i64 %after
  %here = getelementptr inbounds double, ptr %points, i64 %guess
  %there = getelementptr inbounds double, ptr %points, i64 %other
  %before = load double, ptr %here
  %next_point = load double, ptr %there
  %has_begun = fcmp ole double %before, %u
  %not_yet = fcmp olt double %u, %next_point
  %ends = or i1 %not_yet, %behind
  %hit = and i1 %has_begun, %ends
  br i1 %hit, label %even, label %head
even:
  %direct = uitofp i64 %after to double
  ret double %direct
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
"""Machine code of `opcodes.SEARCHSORTED` and `opcodes.TAKE`.

The search looks first where u would be among points of equal distance, then halves the range without a branch to mispredict.
"""


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
