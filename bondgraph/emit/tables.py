"""Tables in machine code: binary search, entry by index, and arrays of constants."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np

from bondgraph.tape import opcodes as op
from bondgraph.tape.nodes import Node, leaf_length
from bondgraph.tape.routine import Listing

LOOKUP_FUNCTIONS = """define internal double @bisect(double %u, ptr %points, i64 %first, i64 %n) nounwind alwaysinline {
entry:
  br label %head
head:
  %low = phi i64 [%first, %entry], [%lower, %body]
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
define internal double @searchsorted(double %u, ptr %points, i64 %n) nounwind noinline {
  %count = call double @bisect(double %u, ptr %points, i64 0, i64 %n)
  ret double %count
}
define internal double @search_bucket(double %u, ptr %points, i64 %n, ptr %buckets) nounwind noinline {
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
  %most = sub i64 %last, 1
  %behind = icmp sgt i64 %begun, %most
  %bucket = select i1 %behind, i64 %most, i64 %begun
  %even = icmp eq ptr %buckets, null
  br i1 %even, label %near, label %indexed
indexed:
  %here = getelementptr inbounds i32, ptr %buckets, i64 %bucket
  %there = getelementptr inbounds i32, ptr %here, i64 1
  %from = load i32, ptr %here
  %to = load i32, ptr %there
  %first = zext i32 %from to i64
  %few = sub i32 %to, %from
  %crowded = icmp ugt i32 %few, 3
  br i1 %crowded, label %many, label %near
near:
  %before = phi i64 [%bucket, %entry], [%first, %indexed]
  %at0 = getelementptr inbounds double, ptr %points, i64 %before
  %at1 = getelementptr inbounds double, ptr %at0, i64 1
  %at2 = getelementptr inbounds double, ptr %at0, i64 2
  %p0 = load double, ptr %at0
  %p1 = load double, ptr %at1
  %p2 = load double, ptr %at2
  %c0 = fcmp ole double %p0, %u
  %c1 = fcmp ole double %p1, %u
  %c2 = fcmp ole double %p2, %u
  %n0 = zext i1 %c0 to i64
  %n1 = zext i1 %c1 to i64
  %n2 = zext i1 %c2 to i64
  %s0 = add i64 %before, %n0
  %s1 = add i64 %s0, %n1
  %s2 = add i64 %s1, %n2
  %passed = uitofp i64 %s2 to double
  ret double %passed
many:
  %inside = zext i32 %few to i64
  %found = call double @bisect(double %u, ptr %points, i64 %first, i64 %inside)
  ret double %found
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

Bisection halves the range without a branch to mispredict. A table of constants is divided into n - 1 equal buckets (index
search); bisection is only needed in buckets with more than three points, and nearly equidistant points need no index. The same
rounded, monotone formula gives the buckets of points and numbers, so the count of points is exact.
"""


def search_text(leaf: Node) -> str:
    if not is_constant(leaf):
        return op.OPERATIONS[op.SEARCHSORTED].llvm
    index = "null" if is_nearly_even(_before(leaf[1])) else "{y}.buckets"
    return f"call double @search_bucket(double {{x}}, ptr {{y}}, i64 {{n}}, ptr {index})"


def definitions(programs: Iterable[Listing]) -> list[str]:
    steps = [(program.steps, step) for program in programs for step in program.steps if step[0] in op.LOOKUPS]
    leaves = [(step[0], listed[step[2]]) for listed, step in steps]
    texts = [_array(leaf[1]) for _, leaf in leaves if leaf[0] == op.TABLE]
    texts += [_buckets(leaf[1]) for code, leaf in leaves if code == op.SEARCHSORTED and is_constant(leaf)]
    return [LOOKUP_FUNCTIONS, *dict.fromkeys(texts)] if leaves else []


def is_constant(leaf: Node) -> bool:
    return leaf[0] == op.TABLE and leaf_length(leaf) > 1


def array_name(bits: bytes) -> str:
    return f"table.{hashlib.blake2b(bits, digest_size=12).hexdigest()}"


def _array(bits: bytes) -> str:
    """Return the LLVM IR of an array of numbers with these bits, followed by three NaNs, at which every search ends."""
    return _constant(array_name(bits), bits + np.full(3, np.nan).tobytes())


def _buckets(bits: bytes) -> str:
    before = _before(bits)
    return "" if is_nearly_even(before) else _constant(f"{array_name(bits)}.buckets", before.astype("<u4").tobytes())


def _before(bits: bytes) -> np.ndarray:
    """Return the number of points before each bucket, and of all points (n,)."""
    points = np.frombuffer(bits)
    count = len(points) - 1
    with np.errstate(all="ignore"):
        places = (points - points[0]) / (points[-1] - points[0]) * count
    rows = np.clip(np.nan_to_num(places), 0, count - 1).astype(np.intp)
    return np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))])


def is_nearly_even(before: np.ndarray) -> bool:
    """Return True if at least k points lie before the beginning of every bucket k, and at most k + 3 before its end."""
    ahead = before - np.arange(len(before))
    return bool(np.all(ahead[:-1] >= 0) and np.all(ahead[1:] <= 2))


def _constant(name: str, bits: bytes) -> str:
    """Return an array of constants as a string of bytes, which LLVM reads ten times as fast as a list of numbers."""
    return f'@{name} = internal constant [{len(bits)} x i8] c"\\{bits.hex(chr(92))}", align 8'
