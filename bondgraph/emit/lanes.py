"""Several runs side by side: a line of LLVM's text for one number in; the same line for a vector of as many numbers as there are
lanes, out.

Operations, their order and which products may be fused with sums stay what they are, so that each lane has the bits that the
line for one number gives. Functions that no processor has for vectors, such as `exp`, LLVM calls lane by lane.
"""

from __future__ import annotations

import functools
import re
from collections import Counter

from bondgraph.tape import opcodes as op
from bondgraph.tape.routine import Routine, listing

_TOKEN = re.compile(r"0x[0-9A-F]{16}|(?<![\w.%-])-?\d+\.\d+(?![\w.])|\btrue\b|\bdouble\b|\bi1\b|\.f64\b")
_COSTLY = re.compile(r"\bfdiv\b|\bcall\b")
_MEMORY = re.compile(r"^(store|%\S+ = load) ")

FRAMED = ' "frame-pointer"="all"'
"""Attribute of a function whose vectors do not all fit into registers: LLVM puts the others at whole multiples of their length
only where it keeps a pointer to the frame, and what lies across two lines of the cache takes twice as long."""


def widened(line: str, lanes: int) -> str:
    """The line for so many lanes; arrays that it reads and writes have the lanes of a number side by side, at any address.

    >>> widened("%v3 = fmul contract double %v1, 2.0", 4)
    '%v3 = fmul contract <4 x double> %v1, splat (double 2.0)'
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


def may_branch(routine: Routine) -> bool:
    """Whether the code for one number may branch around an operation, which the code for several cannot: one that takes long, and
    that nothing but a choice needs. Products before a branch are fused with no sums behind it."""
    steps, outputs = (own := listing(routine)).steps, own.outputs
    uses = Counter([*outputs, *(a for step in steps if step[0] > op.INPUT for a in step[1:])])

    def sinks(a: int) -> bool:
        operation = op.OPERATIONS[steps[a][0]]
        return uses[a] == 1 and not operation.selects and bool(_COSTLY.search(operation.llvm))

    return any(step[0] == op.WHERE and any(map(sinks, step[2:])) for step in steps)
