"""SIMD: turn a line of LLVM IR for a scalar into the line for a vector with one number per lane.

Operations and their order do not change, so that each lane is bitwise equal to the result of the scalar line. Functions
such as `exp` have a version for each number of lanes.
"""

from __future__ import annotations

import functools
import re

_TOKEN = re.compile(r"0x[0-9A-F]{16}|(?<![\w.%-])-?\d+\.\d+(?![\w.])|\btrue\b|\bdouble\b|\bi1\b|\.f64\b")
_MEMORY = re.compile(r"^(store|%\S+ = load) ")

FRAMED = ' "frame-pointer"="all"'
"""Attribute of a function with too many vectors for the registers: LLVM aligns spilled vectors only if it keeps a frame pointer,
and a vector across two cache lines takes twice as long."""


def widened(line: str, lanes: int) -> str:
    """Return the line for this many lanes; arrays that it reads and writes have the lanes of a number at adjacent addresses,
    unaligned.

    >>> widened("%v3 = fmul double %v1, 2.0", 4)
    '%v3 = fmul <4 x double> %v1, splat (double 2.0)'
    """
    if lanes == 1:
        return line
    wide = _TOKEN.sub(functools.partial(_wide, lanes), line)
    return f"{wide}, align 8" if _MEMORY.match(wide) else wide


def _wide(lanes: int, token: re.Match[str]) -> str:
    text = token[0]
    if text in ("double", "i1"):
        return f"<{lanes} x {text}>"
    if text == ".f64":
        return f".v{lanes}f64"
    return f"splat ({'i1' if text == 'true' else 'double'} {text})"
