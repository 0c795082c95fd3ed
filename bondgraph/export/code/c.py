"""C99 source of a compiled model: rates, outputs, Jacobian, events, ticks and the powers of the ledger, without dependencies."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bondgraph.compile.pipeline import Compilable
from bondgraph.export.code.c_functions import functions, number, passed
from bondgraph.export.code.c_header import KINDS, constants, header_of, places
from bondgraph.export.code.content import Content, content_of
from bondgraph.export.code.story import plain
from bondgraph.output.cells import files
from bondgraph.output.folders import write_texts
from bondgraph.tape.routine import Listing

_SIGNATURE = (
    "double t",
    "const double *restrict x",
    "const double *restrict p",
    "const double *restrict m",
    "double *restrict out",
)
_PASSED = passed(_SIGNATURE)


@dataclass(frozen=True)
class CSource:
    """A header and a source file of C99, and the line that builds a shared library of them."""

    name: str
    header: str = field(repr=False)
    source: str = field(repr=False)
    build_line: str

    def write(self, folder: str | Path) -> tuple[Path, Path]:
        """Write `name.h` and `name.c` to a folder, which is made if there is none; returns their paths. Both or none (E413)."""
        header, source = write_texts(folder, {f"{self.name}.h": self.header, f"{self.name}.c": self.source})
        return header, source

    def _repr_html_(self) -> str:
        return files(self.name, {f"{self.name}.h": self.header, f"{self.name}.c": self.source})


def c_source(model: Compilable, name: str | None = None) -> CSource:
    """C source of a model: what compiles here, as text for any C99 compiler.

    Every operation of the NumPy reference is one C statement in the same order, so a compiler that neither fuses nor
    reorders (`-ffp-contract=off`, no `-ffast-math`) gives the same bits, up to the functions of its own <math.h>.

    Parameters
    ----------
    model : compiled, or a graph, which is compiled first.
    name : prefix of all names and name of the files, an identifier; the model's name by default.

    Raises `ModelError` E100 for what is no model, E270 if `name` is no identifier, E271 if an operation has no form in C, E262 if
    an algebraic loop has no solution at the start.
    """
    content = content_of(model, name, "c_source")
    n = content.name
    build = f"cc -std=c99 -O2 -ffp-contract=off -shared -fPIC {n}.c -lm -o lib{n}.so"
    return CSource(n, header_of(content, build), _source(content, build), build)


def _source(content: Content, build: str) -> str:
    """Definitions."""
    n, total = content.name, constants(content)
    apart = f"{n.upper()}_APART"
    parts = [f'/*\n * {n}: the model "{plain(content.system.name)}"; see {n}.h.\n *\n * Build: {build}\n */\n']
    parts += [f'#include "{n}.h"', "#include <math.h>", ""]
    parts += [
        "/* Parts of long functions stay apart: compile time grows faster than functions do. */",
        "#if defined(__GNUC__)",
        f"#define {apart} __attribute__((noinline))",
        "#else",
        f"#define {apart}",
        "#endif",
        "",
    ]
    start, (columns, rows), events = content.start, content.pattern, content.system.events
    for letter, numbers, word in (("x", start.x, "states"), ("p", start.p, "parameters"), ("m", start.m, "modes")):
        parts.append(_array("double", f"{n}_{letter}0", total[word], [number(float(v)) for v in numbers]))
    parts.append(_array("int", f"{n}_jacobian_columns", f"{total['states']} + 1", columns.tolist()))
    parts.append(_array("int", f"{n}_jacobian_rows", total["nonzeros"], rows.tolist()))
    for word in ("slot", "source", "target") if events else ():
        parts.append(_array("int", f"{n}_transition_{word}", total["transitions"], [int(getattr(e, word)) for e in events]))
    if content.ticks:
        parts.append(_array("int", f"{n}_clock_offset", total["clocks"], [tick.offset for tick in content.ticks]))
        periods = [-1 if tick.period is None else tick.period for tick in content.ticks]
        parts.append(_array("int", f"{n}_clock_period", total["clocks"], periods))
    own = places(content, "p", "parameters")
    added = [f"p[{total['parameters']} + {k}]" for k in range(content.prepared)]
    given = [["t"], places(content, "x", "states"), own + added, places(content, "m", "modes")]

    def routine(word: str, steps: Listing, table: str = "", kind: str = "") -> None:
        results = places(content, "out", table) if table else [f"out[{k}]" for k in range(len(steps.outputs))]
        text = functions(
            f"{n}_{word}", steps, _SIGNATURE, lambda b, k: given[b][k], results.__getitem__, kind, f"static {apart} "
        )
        parts.append(text)

    if content.prepared:
        signature = ("const double *restrict p", "double *restrict out")
        steps = content.routines["prepare"]
        parts.append(
            functions(f"{n}_prepared", steps, signature, lambda _, k: own[k], "out[{}]".format, "static ", f"static {apart} ")
        )
    call = f"{n}_prepared(p, p + {total['parameters']})" if content.prepared else "(void)p"
    parts.append(f"void {n}_prepare(double *p)\n{{\n    {call};\n}}\n")
    for word, table in KINDS.items():
        routine(word, content.routines[word], table)
    for k, (_, steps) in enumerate(content.loops):
        routine(f"loop_{k}", steps)
    for k, steps in content.resets.items():
        routine(f"reset_{k}", steps, "states", "static ")
    for k, steps in content.pushes.items():
        routine(f"push_{k}", steps, "", "static ")
    for k, tick in enumerate(content.ticks):
        routine(f"tick_{k}", tick.routine, "states", "static ")
    if events:
        parts.append(_choice(n, "reset", "transition", content.resets))
    if content.pushes:
        parts.append(_choice(n, "push", "transition", content.pushes))
    if content.ticks:
        parts.append(_choice(n, "tick", "clock", range(len(content.ticks))))
    return "\n".join(parts)


def _choice(n: str, word: str, number: str, among: Iterable[int]) -> str:
    """The function that calls one of several by its number."""
    lines = [f"int {n}_{word}(int {number}, {', '.join(_SIGNATURE)})", "{"]
    lines += [f"    (void){name};" for name in _PASSED]
    lines.append(f"    switch ({number}) {{")
    for k in among:
        lines += [f"    case {k}:", f"        {n}_{word}_{k}({', '.join(_PASSED)});", "        return 1;"]
    return "\n".join([*lines, "    default:", "        return 0;", "    }", "}", ""])


def _array(kind: str, name: str, length: str, numbers: Sequence[Any]) -> str:
    """The definition of a constant array; C has none of length zero, so an empty one holds one zero."""
    body = ", ".join(map(str, numbers)) if len(numbers) else "0"
    lines = textwrap.wrap(body, 110, break_long_words=False, break_on_hyphens=False)
    bound = length if len(numbers) else "1"
    return "\n".join([f"const {kind} {name}[{bound}] = {{", *(f"    {line}" for line in lines), "};", ""])
