"""Functions of a run in C: solver, error control and interpreter as procedures, and the kernels of the model."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from bondgraph.compile.kernels import native_steps
from bondgraph.emit.fusions import fused
from bondgraph.emit.interpreter.code import ARGUMENTS, rule_routine
from bondgraph.emit.printers.c_procedures import source_text
from bondgraph.emit.procedure import Procedure, reached, renamed
from bondgraph.export.code.c import C_LOOKUPS, argument_names, c_functions
from bondgraph.export.code.native import native_dialect, own_functions
from bondgraph.export.code.printer import Dialect
from bondgraph.run.batch.image import run_libraries, with_prefix
from bondgraph.run.steppers.method import Method
from bondgraph.tape import opcodes as op
from bondgraph.tape.opcodes import Operation
from bondgraph.tape.routine import Alternatives, Listing, Routine, listing
from bondgraph.tape.specialise import Code

_LOOKUPS = re.compile(rf"\b({'|'.join(C_LOOKUPS)})\(")
_BLOCKS = {"t": "t", "x": "restrict x", "p": "restrict p", "m": "restrict m", "given": "given"}
_RULES = {f"rule_{op.NAMES[code]}": code for code in ARGUMENTS}
_LOOKUP = """\
static double {p}i_{name}(double x, char *table, int64_t length)
{{
    return {p}{name}(x, (const double *)table, (int)length);
}}
"""


@dataclass(frozen=True)
class FunctionNames:
    """Names of functions in a C file.

    Parameters
    ----------
    prefix : prefix of all names.
    begin, advance : names of the procedures that begin and advance a run.
    of_calls : name in C of each function that the image of a run calls.
    """

    prefix: str
    begin: str
    advance: str
    of_calls: Mapping[str, str]


def function_names(prefix: str, calls: Iterable[str], has_events: bool) -> FunctionNames:
    of_calls = {name: prefix + with_prefix(name) for name in dict.fromkeys(calls)}
    return FunctionNames(prefix, f"{prefix}s_begin_run", f"{prefix}s_{'run' if has_events else 'advance_run'}", of_calls)


def runtime_text(method: Method, names: FunctionNames) -> tuple[str, set[str]]:
    prefix, called = names.prefix, set(names.of_calls.values())
    procedures = list[Procedure]()
    for letter, library in run_libraries(method).items():
        roots = {name.removeprefix(prefix + letter) for name in (*called, names.begin, names.advance)}
        procedures += renamed(reached(library, roots), prefix + letter)
    return _printed(procedures, prefix)


def _printed(procedures: list[Procedure], prefix: str) -> tuple[str, set[str]]:
    rule_names = {f"{prefix}i_{rule}" for rule in _RULES}
    lookups = {f"{prefix}i_{name}" for name in C_LOOKUPS}
    text = source_text(procedures, statics=rule_names | lookups, prefix=prefix)
    needed = {name for name in rule_names | lookups if f"{name}(" in text}
    return text, {name.removeprefix(f"{prefix}i_") for name in needed}


def library_text(method: Method, prefix: str) -> str:
    """Return the source of all functions that a run with this method may call, except the kernels of models. Other files can
    call these functions; their names begin with the `prefix`."""
    procedures = list[Procedure]()
    for letter, library in run_libraries(method).items():
        for procedure, before in zip(renamed(library, prefix + letter), library, strict=True):
            procedure.internal = before.internal
            procedures.append(procedure)
    text, needed = _printed(procedures, prefix)
    return "\n".join([text, kernels_text({}, (), needed, prefix)])


def kernels_text(code: Mapping[str, Code], called: Iterable[str], needed: Collection[str], prefix: str) -> str:
    dialect, apart, steps = _dialect(prefix), f"{prefix.upper()}APART", native_steps(code)
    kernels = [_kernel(f"{prefix}k_{name}", code[name], steps, dialect, apart) for name in called]
    rules = {name: rule_routine(rule) for name, rule in _RULES.items() if name in needed}
    of_rules = {rule.name: fused(listing(rule)) for rule in rules.values()}
    kernels += [_kernel(f"{prefix}i_{name}", rule, of_rules, dialect, apart) for name, rule in rules.items()]
    kernels += [_LOOKUP.format(p=prefix, name=name) for name in C_LOOKUPS if name in needed]
    text = "\n".join(kernels)
    lookups = [
        lookup.replace(f" {name}(", f" {prefix}{name}(") for name, lookup in C_LOOKUPS.items() if f" {prefix}{name}(" in text
    ]
    noinline = f"#if defined(__GNUC__)\n#define {apart} __attribute__((noinline))\n#else\n#define {apart}\n#endif\n"
    return "\n".join([noinline, own_functions(text, prefix), *lookups, text])


def _dialect(prefix: str) -> Dialect:
    native = native_dialect(prefix)

    def form(operation: Operation) -> str:
        return _LOOKUPS.sub(rf"{prefix}\1(", native.form(operation))

    return replace(native, form=form)


def _kernel(name: str, code: Code, steps: Mapping[str, Listing], dialect: Dialect, apart: str) -> str:
    """Return a kernel as a function of addresses, which machine code can call, with the same steps and fusions."""
    blocks = [block for block, _ in code.blocks]
    signature = [*(f"const double *{_BLOCKS[block]}" for block in blocks), "double *restrict out"]
    arguments = ", ".join(argument_names(signature))

    def text(part: str, routine: Routine) -> str:
        return c_functions(
            part,
            steps[routine.name] if routine.name in steps else listing(routine),
            signature,
            lambda block, k: f"{blocks[block]}[{k}]",
            "out[{}]".format,
            "static ",
            f"static {apart} ",
            dialect=dialect,
        )

    if isinstance(code, Alternatives):
        parts = [text(f"{name}_case{k}", case) for k, case in enumerate(code.cases)]
        number = "0"
        for slot, count in zip(code.slots, code.counts, strict=True):
            number = f"({number}) * {count} + (int){code.block}[{slot}]"
        head = [f"static void {name}_chosen({', '.join(signature)})", "{", f"    switch ({number}) {{"]
        cases = [f"    case {k}: {name}_case{k}({arguments}); break;" for k in range(1, len(code.cases))]
        tail = [f"    default: {name}_case0({arguments}); break;", "    }", "}\n"]
        parts.append("\n".join([*head, *cases, *tail]))
    else:
        parts = [text(f"{name}_chosen", code.reference)]
    passed = [f"(const double *){block}" for block in blocks]
    parts.append(
        f"static void {name}({', '.join(f'char *{block}' for block in (*blocks, 'out'))})\n"
        f"{{\n    {name}_chosen({', '.join([*passed, '(double *)out'])});\n}}\n"
    )
    return "\n".join(parts)
