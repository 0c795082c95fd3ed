"""Program -> statements of C99, one operation each, in the order and with the rounding of the NumPy reference.

Locals are v0, v1, ... (doubles) and c0, c1, ... (truth values). A long program is cut into functions that hand values
on through a workspace, as the emitter of machine code does it, because compile time grows faster than functions do.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bondgraph.emit.text import workspace_slots
from bondgraph.errors import refusal
from bondgraph.tape import opcodes as op
from bondgraph.tape.nodes import Node
from bondgraph.tape.routine import Listing

WHOLE = 500
"""Steps up to which a routine is one function."""

PART = 250
"""Steps of each function of a longer routine; gcc -O2 takes a third of the time that it needs for parts of 2000."""

Place = Callable[[int, int], str]
"""(block, position) -> the C expression of an input."""


def number(value: float) -> str:
    """A constant that a C compiler reads back to the same bits."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    text = repr(float(value))
    return f"({text})" if value < 0 else text


@dataclass
class _Part:
    """Steps `first` to `last` under translation to the body of one function."""

    program: Listing
    place: Place
    result: Callable[[int], str]
    slots: dict[int, int]
    stores: dict[int, list[int]]
    first: int
    last: int
    lines: list[str] = field(default_factory=list)
    known: dict[int, str] = field(default_factory=dict)

    def emit(self) -> list[str]:
        for position in range(self.first, self.last):
            step = self.program.steps[position]
            if step[0] > op.INPUT:
                self._step(position, step)
            if position in self.slots:
                self.lines.append(f"w[{self.slots[position]}] = {self.value(position)};")
            for k in self.stores.get(position, ()):
                self.lines.append(f"{self.result(k)} = {self.value(position)};")
        return self.lines

    def value(self, a: int) -> str:
        """The value of step `a` as a double."""
        found = self.known.get(a)
        if found is None:
            step = self.program.steps[a]
            if step[0] == op.CONSTANT:
                found = number(step[1])
            elif step[0] == op.INPUT:
                found = self.place(step[1], step[2])
            elif a < self.first:
                found = f"w[{self.slots[a]}]"
            else:
                found = f"(double)c{a}" if step[0] in op.CONDITIONS else f"v{a}"
            self.known[a] = found
        return found

    def condition(self, a: int) -> str:
        """The value of step `a` as a truth value; what is no number counts as true, as in NumPy."""
        inside = a >= self.first and self.program.steps[a][0] in op.CONDITIONS
        return f"c{a}" if inside else f"({self.value(a)} != 0.0)"

    def _step(self, v: int, step: Node) -> None:
        operation = op.OPERATIONS[step[0]]
        given = [self.condition(a) if k < operation.truths else self.value(a) for k, a in enumerate(step[1:])]
        if not operation.c:
            title = f'the operation "{operation.name}" has no form in C'
            raise refusal("E271", title, "run the compiled model instead", about="C source", places=())
        right = operation.c.format(**dict(zip("xyz", given, strict=False)))
        self.lines.append(f"const {'int c' if operation.is_condition else 'double v'}{v} = {right};")


def functions(
    name: str,
    program: Listing,
    signature: Sequence[str],
    place: Place,
    result: Callable[[int], str],
    kind: str = "",
    part_kind: str = "static ",
) -> str:
    """The function `name` with parameters `signature`, in parts if it has more than `WHOLE` steps.

    `kind` stands before it, `part_kind` before its parts; parts that the compiler puts back together save no time.

    Raises `ModelError` E271, if an operation has no form in C.
    """
    count = len(program.steps)
    stores: dict[int, list[int]] = {}
    for k, position in enumerate(program.outputs):
        stores.setdefault(position, []).append(k)
    header = f"{kind}void {name}({', '.join(signature)})"
    cuts = [0, count] if count <= WHOLE else [*range(0, count, PART), count]
    slots, size = workspace_slots(program, cuts)
    bodies = [_Part(program, place, result, slots, stores, first, last).emit() for first, last in itertools.pairwise(cuts)]
    if len(bodies) == 1:
        return _function(header, signature, bodies[0])
    inner = [*signature, "double *restrict w"]
    texts = [_function(f"{part_kind}void {name}_part{k}({', '.join(inner)})", inner, body) for k, body in enumerate(bodies)]
    calls = [f"{name}_part{k}({', '.join(passed(inner))});" for k in range(len(bodies))]
    return "\n".join([*texts, _function(header, signature, [f"double w[{max(size, 1)}];", *calls])])


def passed(signature: Sequence[str]) -> list[str]:
    """The names of parameters, as a call passes them on."""
    return [parameter.rpartition(" ")[2] for parameter in signature]


def _function(header: str, signature: Sequence[str], body: list[str]) -> str:
    words = {word for line in body for word in re.findall(r"[a-z]+", line)}
    unused = [f"(void){name};" for name in passed(signature) if name not in words]
    lines = "\n".join(f"    {line}" for line in [*unused, *body])
    return f"{header}\n{{\n{lines}\n}}\n"
