"""C99 source of a compiled model: rates, outputs, Jacobian, events and the powers of the ledger, without dependencies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.compile.points import consistent, point_of
from bondgraph.errors import refusal
from bondgraph.export.c_code.header import declarations, story
from bondgraph.export.c_code.names import Entry, Names, array, comment, enumeration, places, sanitised
from bondgraph.export.c_code.steps import functions, number, passed
from bondgraph.output.folders import write_all
from bondgraph.tape.routine import listing
from bondgraph.tracing.routines import output_names, trace

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
        texts = {f"{self.name}.h": self.header, f"{self.name}.c": self.source}

        def write(part: Path) -> None:
            for name, text in texts.items():
                (part / name).write_text(text, encoding="utf-8")

        write_all(folder, write, texts)
        header, source = (Path(folder) / name for name in texts)
        return header, source


def c_source(model: Compilable, name: str | None = None) -> CSource:
    """C source of a model: what compiles here, as text for any C99 compiler.

    Every operation of the NumPy reference is one C statement in the same order, so a compiler that neither fuses nor
    reorders (`-ffp-contract=off`, no `-ffast-math`) gives the same bits, up to the functions of its own <math.h>.

    Parameters
    ----------
    model : compiled, or a graph, which is compiled first.
    name : prefix of all names and name of the files, a C identifier; the model's name by default.

    Raises `ModelError` E100 for what is no model, E332 if the model has sampled blocks, E270 if `name` is no identifier, E271 if
    an operation has no form in C, E262 if an algebraic loop has no solution at the start.
    """
    compiled = compiled_form(model, "c_source")
    if sampled := [clock.element for clock in compiled.system.clocks if clock.updates]:
        title, why = "a model with sampled blocks has no C form", f"sampled: {', '.join(sampled)}"
        cure = "simulate it here, or put its controllers into your own code"
        raise refusal("E332", title, cure, about=compiled.model.name, why=why, places=())
    name = sanitised(compiled.model.name).lower() if name is None else name
    name = f"model_{name}" if name[:1].isdigit() else name
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        title = f'"{name}" is no name in C'
        raise refusal("E270", title, "a letter, then letters, digits and underscores", about=compiled.model.name, places=())
    build = f"cc -std=c99 -O2 -ffp-contract=off -shared -fPIC {name}.c -lm -o lib{name}.so"
    writer = _Writer(compiled, name, build)
    return CSource(name, writer.header(), writer.source(), build)


class _Writer:
    """What header and source share: names, routines, tables."""

    def __init__(self, compiled: Compiled, name: str, build: str):
        self.compiled, self.name, self.build = compiled, name, build
        self.routines, self.system, (self.columns, self.rows) = trace(compiled.system)
        self.names = Names(name)
        words = ("states", "parameters", "prepared", "modes", "outputs", "transitions", "powers", "energies", "nonzeros")
        self.total = {word: self.names.constant("length of p" if word == "prepared" else word) for word in words}
        also = self._further_names()

        def valued(wanted: Sequence[str]) -> list[tuple[str, tuple[int, ...], str]]:
            values = [self.system.values[n] for n in wanted]
            return [
                (v.name, v.shape or (), (f", {v.unit}" if v.unit not in ("", "1") else "") + also.get(v.name, "")) for v in values
            ]

        system = self.system
        modes = [(n, (), ": " + ", ".join(f"{k} {s}" for k, s in enumerate(system.modes[n][0]))) for n in system.modes]
        self.x = self.names.entries("x", valued([s.name for s in system.states]))
        self.p = self.names.entries("p", valued(list(system.parameters)))
        self.m = self.names.entries("m", [(n.removesuffix(".mode"), shape, remark) for n, shape, remark in modes])
        self.y = self.names.entries("y", valued(output_names(system)))
        self.powers = self.names.entries("power", [(q.element, (), f", W, {q.role}") for q in system.powers])
        self.energies = self.names.entries("energy", [(path, (), ", J") for path, _ in system.energies])
        self.count = {
            "states": sum(e.size for e in self.x),
            "parameters": sum(e.size for e in self.p),
            "prepared": len(self.routines["prepare"].outputs),
            "modes": len(self.m),
            "outputs": sum(e.size for e in self.y),
            "transitions": len(system.events),
            "powers": len(self.powers),
            "energies": len(self.energies),
            "nonzeros": len(self.rows),
        }
        self.loops = [loop for loop in self.system.loops if loop.guesses]
        self.resets, self.pushes = (
            [k for k in range(len(system.events)) if f"{word}_{k}" in self.routines] for word in ("reset", "push")
        )

    def _further_names(self) -> dict[str, str]:
        """What else a value is called, two names at most."""
        found: dict[str, list[str]] = {}
        for alias, target in self.system.aliases.items():
            if ":" not in alias and not alias.startswith("-"):
                found.setdefault(target, []).append(alias)
        return {target: f"; also {', '.join(sorted(names)[:2])}" for target, names in found.items()}

    # -- header

    def header(self) -> str:
        """Declarations, constants, and how to use it all."""
        guard = f"{self.names.prefix}_H"
        tables = (
            ("states x, and their rates", self.x, "states"),
            ("parameters p that can be set", self.p, "parameters"),
            ("modes m: the state of each automaton, as a whole number", self.m, "modes"),
            ("outputs", self.y, "outputs"),
            ("powers: integrated along a run they are the energy account", self.powers, "powers"),
            ("energies of the storages", self.energies, "energies"),
        )
        lines = story(self.name, self.build, self.total, self.system, self.resets, self.pushes, self.loops)
        parts = [_banner(lines), f"#ifndef {guard}", f"#define {guard}", ""]
        parts += ["#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
        parts += [enumeration(title, entries, self.total[w], self.count[w]) for title, entries, w in tables]
        parts += [
            "/* further lengths */",
            "enum {",
            *(f"    {self.total[w]} = {self.count[w]}," for w in ("transitions", "nonzeros")),
            f"    {self.total['prepared']} = {self.count['parameters'] + self.count['prepared']} "
            "/* length of p: parameters, then what prepare adds */",
            "};",
            "",
            declarations(self.name, self.total, self.system, self.pushes, self.loops),
            "#ifdef __cplusplus",
            "}",
            "#endif",
            "",
            f"#endif /* {guard} */",
            "",
        ]
        return "\n".join(parts)

    # -- source

    def source(self) -> str:
        """Definitions."""
        n = self.name
        start = consistent(self.compiled, point_of(self.compiled))
        parts = [_banner([f'{n}: the model "{comment(self.system.name)}"; see {n}.h.', "", f"Build: {self.build}"])]
        parts += [f'#include "{n}.h"', "#include <math.h>", ""]
        parts += [
            "/* Parts of long functions stay apart: compile time grows faster than functions do. */",
            "#if defined(__GNUC__)",
            f"#define {self.names.prefix}_APART __attribute__((noinline))",
            "#else",
            f"#define {self.names.prefix}_APART",
            "#endif",
            "",
        ]
        for letter, numbers, word in (("x", start.x, "states"), ("p", start.p, "parameters"), ("m", start.m, "modes")):
            parts.append(array("double", f"{n}_{letter}0", self.total[word], [number(float(v)) for v in numbers]))
        parts.append(array("int", f"{n}_jacobian_columns", f"{self.total['states']} + 1", self.columns.tolist()))
        parts.append(array("int", f"{n}_jacobian_rows", self.total["nonzeros"], self.rows.tolist()))
        for word in ("slot", "source", "target") if self.system.events else ():
            whole = [int(getattr(event, word)) for event in self.system.events]
            parts.append(array("int", f"{n}_transition_{word}", self.total["transitions"], whole))
        own = places("p", self.p)
        added = [f"p[{self.total['parameters']} + {k}]" for k in range(self.count["prepared"])]
        given = [["t"], places("x", self.x), own + added, places("m", self.m)]
        apart = f"static {self.names.prefix}_APART "

        def routine(word: str, entries: Sequence[Entry] = (), kind: str = "") -> None:
            steps = listing(self.routines[word.replace("loop", "newton")].reference)
            results = places("out", entries) or [f"out[{k}]" for k in range(len(steps.outputs))]
            name = f"{n}_{word}"
            parts.append(functions(name, steps, _SIGNATURE, lambda b, k: given[b][k], results.__getitem__, kind, apart))

        steps = listing(self.routines["prepare"].reference)
        signature = ("const double *restrict p", "double *restrict out")
        parts.append(functions(f"{n}_prepared", steps, signature, lambda _, k: own[k], "out[{}]".format, "static ", apart))
        call = f"{n}_prepared(p, p + {self.total['parameters']});"
        parts.append(f"void {n}_prepare(double *p)\n{{\n    {call}\n}}\n")
        routine("rates", self.x)
        routine("jacobian")
        routine("outputs", self.y)
        routine("guards")
        routine("powers", self.powers)
        routine("energies", self.energies)
        for k in range(len(self.loops)):
            routine(f"loop_{k}")
        for k in self.resets:
            routine(f"reset_{k}", self.x, "static ")
        for k in self.pushes:
            routine(f"push_{k}", kind="static ")
        if self.system.events:
            parts.append(self._by_transition("reset", self.resets))
        if self.pushes:
            parts.append(self._by_transition("push", self.pushes))
        return "\n".join(parts)

    def _by_transition(self, word: str, transitions: Sequence[int]) -> str:
        lines = [f"int {self.name}_{word}(int transition, {', '.join(_SIGNATURE)})", "{"]
        lines += [f"    (void){name};" for name in _PASSED]
        lines.append("    switch (transition) {")
        for k in transitions:
            lines += [f"    case {k}:", f"        {self.name}_{word}_{k}({', '.join(_PASSED)});", "        return 1;"]
        return "\n".join([*lines, "    default:", "        return 0;", "    }", "}", ""])


def _banner(lines: Sequence[str]) -> str:
    return "\n".join(["/*", *(f" * {line}".rstrip() for line in lines), " */", ""])
