"""Functions of C99: a routine in; its text, cut into parts where it is long, because compile time grows faster than functions do,
out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from bondgraph.export.code.steps import Dialect, Reading, constant, pieces
from bondgraph.tape.routine import Listing


def number(value: float) -> str:
    """A constant that a C compiler reads back to the same bits."""
    return constant(value, "NAN", "INFINITY")


C = Dialect(
    language="C",
    form=lambda operation: operation.c,
    number=number,
    value="const double {v} = {right};",
    condition="const int {v} = {right};",
    counted="(double){c}",
    asked="({v} != 0.0)",
    stored="{place} = {value};",
    slot="w[{}]".format,
    whole=500,
    part=250,  # gcc -O2 takes a third of the time that it needs for parts of 2000
)


def functions(
    name: str,
    program: Listing,
    signature: Sequence[str],
    reading: Reading,
    result: Callable[[int], str],
    kind: str = "",
    part_kind: str = "static ",
) -> str:
    """The function `name` with parameters `signature`, in parts if it is long.

    `kind` stands before it, `part_kind` before its parts; parts that the compiler puts back together save no time.

    Raises `ModelError` E271, if an operation has no form in C.
    """
    header = f"{kind}void {name}({', '.join(signature)})"
    bodies, size = pieces(C, program, reading, result)
    if len(bodies) == 1:
        return _function(header, signature, bodies[0])
    inner = [*signature, "double *restrict w"]
    texts = [_function(f"{part_kind}void {name}_part{k}({', '.join(inner)})", inner, body) for k, body in enumerate(bodies)]
    calls = [f"{name}_part{k}({', '.join(passed(inner))});" for k in range(len(bodies))]
    return "\n".join([*texts, _function(header, signature, [f"double w[{max(size, 1)}];", *calls])])


def passed(signature: Sequence[str]) -> list[str]:
    """The names of parameters, as a call passes them on."""
    return [parameter.rpartition(" ")[2].lstrip("*") for parameter in signature]


def _function(header: str, signature: Sequence[str], body: Sequence[str]) -> str:
    words = {word for line in body for word in re.findall(r"[a-z]+", line)}
    unused = [f"(void){name};" for name in passed(signature) if name not in words]
    lines = "\n".join(f"    {line}" for line in [*unused, *body])
    return f"{header}\n{{\n{lines}\n}}\n"
