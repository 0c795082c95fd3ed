"""C99 source of a compiled model: rates, outputs, Jacobian, events, ticks and powers, without dependencies."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bondgraph.compile.pipeline import Compilable
from bondgraph.export.code.content import Content, Entry, Phrases, comment_safe, content_of, count, event_notes
from bondgraph.export.code.printer import Dialect, InputText, constant, pieces
from bondgraph.output.cells import files
from bondgraph.output.files import write_texts
from bondgraph.tape.routine import Listing

RESULT_TABLES = {
    "rates": "states",
    "jacobian": "",
    "outputs": "outputs",
    "guards": "guards",
    "powers": "powers",
    "energies": "energies",
}

_LETTERS = {"states": "X", "parameters": "P", "modes": "M", "outputs": "Y", "powers": "POWER", "energies": "ENERGY"}
"""Prefix of the constants of each table, which follows the model's name."""

_TITLES = {
    "states": "states x, and their rates",
    "parameters": "parameters p",
    "modes": "modes m: the state of each automaton, as an integer",
    "outputs": "outputs",
    "powers": "powers, whose integrals over a run give the energy balance",
    "energies": "energies of the storages",
}
_USAGE = Path(__file__).with_name("c_usage.txt").read_text(encoding="utf-8")
_CALL = "(double t, const double *x, const double *p, const double *m, double *out);"


def length_constants(content: Content) -> dict[str, str]:
    words = {word: word for word in (*_LETTERS, "transitions", "nonzeros", "clocks")} | {"prepared": "length_of_p"}
    return {word: f"{content.name}_{text}".upper() for word, text in words.items()}


def array_expressions(content: Content, array: str, table: str) -> list[str]:
    """Return the C expression of every number of an array: `x[OSC_X_MASS_P]`, `x[OSC_X_POSE + 3]`."""
    expressions = []
    for entry in content.tables[table]:
        first = _constant(content, table, entry) or str(entry.start)
        expressions += [f"{array}[{first}{f' + {k}' if k else ''}]" for k in range(entry.size)]
    return expressions


def header_of(content: Content, build: str) -> str:
    guard, total = f"{content.name.upper()}_H", length_constants(content)
    parts = ["\n".join(["/*", *(f" * {line}".rstrip() for line in _usage(content, build, total)), " */", ""])]
    parts += [f"#ifndef {guard}", f"#define {guard}", "", "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    parts += [enumeration(content, table, total[table]) for table in _LETTERS]
    lengths = {"transitions": len(content.system.events), "nonzeros": len(content.pattern[1])}
    lengths |= {"clocks": len(content.ticks)} if content.ticks else {}
    p_length = count(content.p) + content.added_count
    parts += [
        "/* further lengths */",
        "enum {",
        *(f"    {total[word]} = {length}," for word, length in lengths.items()),
        f"    {total['prepared']} = {p_length} /* length of p: parameters, then the values that prepare adds */",
        "};",
        "",
        _declarations(content, total),
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        f"#endif /* {guard} */",
        "",
    ]
    return "\n".join(parts)


def _constant(content: Content, table: str, entry: Entry) -> str:
    letter = _LETTERS.get(table)
    return f"{content.name}_{letter}_{entry.identifier}".upper() if entry.identifier and letter else ""


def enumeration(content: Content, table: str, total: str) -> str:
    entries = content.tables[table]
    lines = [f"/* {_TITLES[table]} */", "enum {"]
    named = [(constant, entry) for entry in entries if (constant := _constant(content, table, entry))]
    lines += [f"    {constant} = {entry.start}, /* {comment_safe(entry.comment)} */" for constant, entry in named]
    return "\n".join([*lines, f"    {total} = {count(entries)}", "};", ""])


def _usage(content: Content, build: str, total: dict[str, str]) -> list[str]:
    n, model = content.name, comment_safe(content.system.name)
    lines = _USAGE.format(n=n, model=model, build=build, total=total).splitlines()
    phrases = Phrases(
        first=0,
        mode="m[slot[k]] becomes target[k]",
        reset=f"the output of {n}_reset, if it returns 1",
        push=f"If {n}_push returns 1,",
        parts=f"Its output is the {total['transitions']} numbers that the impulse adds to the guards, followed by the "
        f"{total['states']} states without the impulse.",
        times=f"p[{n}_clock_offset[k]] + i p[{n}_clock_period[k]], i = 0, 1, ... (one tick if {n}_clock_period[k] is -1)",
        tick=f"the output of {n}_tick",
        loop=f"{n}_loop_k",
    )
    return lines + event_notes(content, phrases)


def _declarations(content: Content, total: dict[str, str]) -> str:
    n = content.name
    prototypes = (
        ("rates", "out: dx/dt", "states"),
        ("jacobian", "out: nonzeros of d rates / d x", "nonzeros"),
        ("outputs", "out: the values named above, and intermediate values", "outputs"),
        ("guards", "out: one number for each transition", "transitions"),
        ("powers", "out: powers", "powers"),
        ("energies", "out: energies", "energies"),
    )
    lines = [
        f"/* Call after every change of parameters: fills p from p[{total['parameters']}] onwards. */",
        f"void {n}_prepare(double *p);",
        "",
    ]
    for word, remark, length in prototypes:
        lines += [f"/* {remark}, {total[length]} numbers. */", f"void {n}_{word}{_CALL}"]
    for k in range(len(content.loops)):
        lines += ["/* out: residuals, then the Newton step. */", f"void {n}_loop_{k}{_CALL}"]
    if content.system.events:
        lines += [
            "/* out: x after a transition; returns 1, or 0 if x does not change, without writing `out`. */",
            f"int {n}_reset(int transition, {_CALL[1:]}",
        ]
        if content.pushes:
            lines += [
                "/* out: numbers that an impulse adds to the guards, then x without it; returns 1, or 0 without an impulse. */",
                f"int {n}_push(int transition, {_CALL[1:]}",
            ]
        lines += [*(f"extern const int {n}_transition_{word}[];" for word in ("slot", "source", "target"))]
    if content.ticks:
        lines += [
            "/* out: x after a tick of a clock; returns 1, or 0 if there is no such clock. */",
            f"int {n}_tick(int clock, {_CALL[1:]}",
            "/* Indices in p of the times of a clock, s. */",
            *(f"extern const int {n}_clock_{word}[]; /* {total['clocks']} */" for word in ("offset", "period")),
        ]
    lines += [
        "",
        f"extern const int {n}_jacobian_columns[]; /* {total['states']} + 1 */",
        f"extern const int {n}_jacobian_rows[];    /* {total['nonzeros']} */",
        *(f"extern const double {n}_{letter}0[];" for letter in "xpm"),
        "",
    ]
    return "\n".join(lines)


def c_number(value: float) -> str:
    return constant(value, "NAN", "INFINITY")


C = Dialect(
    language="C",
    form=lambda operation: operation.c,
    number=c_number,
    value="const double {v} = {right};",
    condition="const int {v} = {right};",
    as_number="(double){c}",
    as_condition="({v} != 0.0)",
    store="{place} = {value};",
    slot="w[{}]".format,
    table=("static const double {v}[] = {{{numbers}}};", lambda v, first, count: f"const double *{v} = &{first};"),
    max_unsplit=500,
    part_size=250,  # gcc -O2 compiles these in a third of the time of parts of 2000 steps
)
C_LOOKUPS = {
    "searchsorted": """/* Number of ascending points that are at most u. */
static double searchsorted(double u, const double *points, int n)
{
    int low = 0, high = n;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (points[middle] <= u)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
""",
    "take": """/* Entry at an index; the first or last entry for an index out of range. */
static double take(double index, const double *values, int n)
{
    return values[index > 0.0 ? (index < n ? (int)index : n - 1) : 0];
}
""",
}


def c_functions(
    name: str,
    program: Listing,
    signature: Sequence[str],
    reading: InputText,
    result: Callable[[int], str],
    kind: str = "",
    part_kind: str = "static ",
    *,
    dialect: Dialect = C,
) -> str:
    """Return the C function `name`, split into parts if it is long. `kind` and `part_kind` precede the definitions of the
    function and of its parts. Raises `ModelError` E271 if an operation has no form in C."""
    header = f"{kind}void {name}({', '.join(signature)})"
    bodies, size = pieces(dialect, program, reading, result)
    if len(bodies) == 1:
        return _function(header, signature, bodies[0])
    inner = [*signature, "double *restrict w"]
    texts = [_function(f"{part_kind}void {name}_part{k}({', '.join(inner)})", inner, body) for k, body in enumerate(bodies)]
    calls = [f"{name}_part{k}({', '.join(argument_names(inner))});" for k in range(len(bodies))]
    return "\n".join([*texts, _function(header, signature, [f"double w[{max(size, 1)}];", *calls])])


def argument_names(signature: Sequence[str]) -> list[str]:
    return [parameter.rpartition(" ")[2].lstrip("*") for parameter in signature]


def _function(header: str, signature: Sequence[str], body: Sequence[str]) -> str:
    words = {word for line in body for word in re.findall(r"[a-z]+", line)}
    unused = [f"(void){name};" for name in argument_names(signature) if name not in words]
    lines = "\n".join(f"    {line}" for line in [*unused, *body])
    return f"{header}\n{{\n{lines}\n}}\n"


_SIGNATURE = (
    "double t",
    "const double *restrict x",
    "const double *restrict p",
    "const double *restrict m",
    "double *restrict out",
)
_ARGUMENT_NAMES = argument_names(_SIGNATURE)


@dataclass(frozen=True)
class CSource:
    """Header and source file in C99, and the command that builds a shared library from them."""

    name: str
    header: str = field(repr=False)
    source: str = field(repr=False)
    build_line: str

    def write(self, folder: str | Path) -> tuple[Path, Path]:
        """Write `name.h` and `name.c` to a folder, which is created if needed, and return their paths. Both files are
        written, or neither is (E413)."""
        header, source = write_texts(folder, {f"{self.name}.h": self.header, f"{self.name}.c": self.source})
        return header, source

    def _repr_html_(self) -> str:
        return files(self.name, {f"{self.name}.h": self.header, f"{self.name}.c": self.source})


def c_source(model: Compilable, name: str | None = None) -> CSource:
    """Return C source of a model, for any C99 compiler.

    Every operation of the NumPy reference is one C statement, in the same order, so a compiler that neither fuses nor reorders
    operations (`-ffp-contract=off`, no `-ffast-math`) gives identical results bit for bit, except for the functions of <math.h>.

    Parameters
    ----------
    model : compiled, or a graph, which is compiled first.
    name : prefix of all names and name of the files, an identifier; the model's name by default.

    Raises `ModelError` E100 if `model` is not a model, E335 for delays, E693 for FMUs, E270 if `name` is not an identifier or is
    reserved, E271 if an operation has no form in C, E262 if no solution of an algebraic loop is found at the start.
    """
    content = content_of(model, name, "c_source")
    n = content.name
    build = f"cc -std=c99 -O2 -ffp-contract=off -shared -fPIC {n}.c -lm -o lib{n}.so"
    return CSource(n, header_of(content, build), _source(content, build), build)


def _source(content: Content, build: str) -> str:
    n, total = content.name, length_constants(content)
    noinline = f"{n.upper()}_APART"
    parts = [f'/*\n * {n}: the model "{comment_safe(content.system.name)}"; see {n}.h.\n *\n * Build: {build}\n */\n']
    parts += [f'#include "{n}.h"', "#include <math.h>", ""]
    parts += [
        "/* Parts of long functions are not inlined: compile time grows faster than the length of a function. */",
        "#if defined(__GNUC__)",
        f"#define {noinline} __attribute__((noinline))",
        "#else",
        f"#define {noinline}",
        "#endif",
        "",
    ]
    functions_begin = len(parts)
    start, (columns, rows), events = content.start, content.pattern, content.system.events
    for letter, numbers, word in (("x", start.x, "states"), ("p", start.p, "parameters"), ("m", start.m, "modes")):
        parts.append(array_text("double", f"{n}_{letter}0", total[word], [c_number(float(v)) for v in numbers]))
    parts.append(array_text("int", f"{n}_jacobian_columns", f"{total['states']} + 1", columns.tolist()))
    parts.append(array_text("int", f"{n}_jacobian_rows", total["nonzeros"], rows.tolist()))
    for word in ("slot", "source", "target") if events else ():
        parts.append(array_text("int", f"{n}_transition_{word}", total["transitions"], [int(getattr(e, word)) for e in events]))
    if content.ticks:
        parts.append(array_text("int", f"{n}_clock_offset", total["clocks"], [tick.offset for tick in content.ticks]))
        periods = [-1 if tick.period is None else tick.period for tick in content.ticks]
        parts.append(array_text("int", f"{n}_clock_period", total["clocks"], periods))
    parameter_places = array_expressions(content, "p", "parameters")
    added = [f"p[{total['parameters']} + {k}]" for k in range(content.added_count)]
    inputs = [
        ["t"],
        array_expressions(content, "x", "states"),
        parameter_places + added,
        array_expressions(content, "m", "modes"),
    ]

    def routine(word: str, steps: Listing, table: str = "", kind: str = "") -> None:
        results = array_expressions(content, "out", table) if table else [f"out[{k}]" for k in range(len(steps.outputs))]
        text = c_functions(
            f"{n}_{word}", steps, _SIGNATURE, lambda b, k: inputs[b][k], results.__getitem__, kind, f"static {noinline} "
        )
        parts.append(text)

    if content.added_count:
        signature = ("const double *restrict p", "double *restrict out")
        steps, result, apart = content.routines["prepare"], "out[{}]".format, f"static {noinline} "
        parts.append(c_functions(f"{n}_prepared", steps, signature, lambda _, k: parameter_places[k], result, "static ", apart))
    call = f"{n}_prepared(p, p + {total['parameters']})" if content.added_count else "(void)p"
    parts.append(f"void {n}_prepare(double *p)\n{{\n    {call};\n}}\n")
    for word, table in RESULT_TABLES.items():
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
        parts.append(_dispatcher(n, "reset", "transition", content.resets))
    if content.pushes:
        parts.append(_dispatcher(n, "push", "transition", content.pushes))
    if content.ticks:
        parts.append(_dispatcher(n, "tick", "clock", range(len(content.ticks))))
    for name, text in C_LOOKUPS.items():
        if any(f" {name}(" in part for part in parts[functions_begin:]):
            parts.insert(functions_begin, text)
    return "\n".join(parts)


def _dispatcher(n: str, word: str, number: str, numbers: Iterable[int]) -> str:
    lines = [f"int {n}_{word}(int {number}, {', '.join(_SIGNATURE)})", "{"]
    lines += [f"    (void){name};" for name in _ARGUMENT_NAMES]
    lines.append(f"    switch ({number}) {{")
    for k in numbers:
        lines += [f"    case {k}:", f"        {n}_{word}_{k}({', '.join(_ARGUMENT_NAMES)});", "        return 1;"]
    return "\n".join([*lines, "    default:", "        return 0;", "    }", "}", ""])


def array_text(kind: str, name: str, length: str, numbers: Sequence[Any]) -> str:
    """Return the definition of a constant array, with one zero if it is empty: C has no arrays of length zero."""
    body = ", ".join(map(str, numbers)) if len(numbers) else "0"
    lines = textwrap.wrap(body, 110, break_long_words=False, break_on_hyphens=False)
    bound = length if len(numbers) else "1"
    return "\n".join([f"const {kind} {name}[{bound}] = {{", *(f"    {line}" for line in lines), "};", ""])
