"""Just-in-time compilation of routines, procedures or LLVM IR to machine code in the current process."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bondgraph.emit import tables
from bondgraph.emit.elementary import trigonometry
from bondgraph.emit.elementary.code import linked
from bondgraph.emit.fusions import fused as with_fusions
from bondgraph.emit.fusions import needed
from bondgraph.emit.independent_parts import gather_scatter_text, independent_parts_text
from bondgraph.emit.kernel import Kernel, machine_kernel
from bondgraph.emit.machine import CompileError, defined_functions, have_llvm, known_symbols, object_code, written_code
from bondgraph.emit.printers.llvm_procedures import module_text
from bondgraph.emit.procedure import Procedure
from bondgraph.emit.text import (
    DECLARATIONS,
    HEAP,
    choice_text,
    function_text,
    loop_text,
    preset_text,
    shared_text,
    split_text,
    wide_declarations,
)
from bondgraph.errors import Problem
from bondgraph.output.short_repr import short_repr
from bondgraph.tape import opcodes as op
from bondgraph.tape.independent_parts import forms
from bondgraph.tape.routine import Alternatives, Listing, Routine, listing, reachable, steps_of
from bondgraph.tape.specialise import Code, SpecialisedRoutine

__all__ = ["CompileError", "Library", "compile_ir", "compile_procedures", "compile_routines", "compile_written"]

__all__ += ["have_llvm", "routines_text"]


SINGLE_LIMIT = 2000
PART_STEPS = 500
SHARED, FEW = 300, 0.01
"""Minimum number of steps of a routine that shares a longer routine's code, and largest relative excess of the longer one."""
ENDING = 0.9
"""Minimum length of a routine that serves as the ending of a long routine, relative to the long routine; 0.5 is the minimum
beyond `QUICK` steps."""
QUICK = 60_000
"""Number of steps beyond which code is compiled without optimisation: in about a sixth of the time, with two thirds of the
speed."""
LEVEL = 1
"""Level of LLVM's code generator up to `QUICK` steps; results are bitwise equal at every level."""


@short_repr
@dataclass(frozen=True)
class Library:
    """Compiled functions; their addresses are valid as long as the library, or one of its kernels, is referenced.

    `addresses` maps the name of a function to its address; `routines` maps the name of a kernel to the lengths of its blocks
    and its number of outputs; `each` maps the name of a kernel without its own loop to the shared loop.
    """

    addresses: Mapping[str, int]
    routines: Mapping[str, tuple[tuple[int, ...], int]] = field(default_factory=dict)
    keep: tuple[Any, ...] = field(repr=False, compare=False, default=())
    each: Mapping[str, str] = field(default_factory=dict)

    def address(self, name: str) -> int:
        return _entry("compiled function", name, self.addresses)

    def kernel(self, name: str) -> Kernel:
        sizes, outputs = _entry("compiled routine", name, self.routines)
        has_loop = name not in self.each
        loop = self.addresses[f"{name}.many" if has_loop else self.each[name]]
        return machine_kernel(name, sizes, outputs, self.addresses[name], loop, self, has_loop)


def routines_text(
    routines: Sequence[Code], single_limit: int = SINGLE_LIMIT, part: int = PART_STEPS, *, fused: bool = True
) -> str:
    """Return the LLVM IR that `compile_routines` compiles; `fused` is False for `quick` = 0."""
    return _module(routines, single_limit, part, fused)[0]


def _module(routines: Sequence[Code], single_limit: int, part: int, fused: bool = True) -> tuple[str, int]:
    """Return the LLVM IR and its number of steps; unless `fused`, products and sums are rounded separately."""
    texts = [DECLARATIONS]
    presets = [routine for routine in routines if isinstance(routine, SpecialisedRoutine)]
    plain = [routine for routine in routines if not isinstance(routine, SpecialisedRoutine)]
    for one in {preset.shared.name: preset for preset in presets}.values():
        length = one.sizes[one.block_index]
        texts.append(shared_text(one.shared.name, len(one.blocks), one.block_index, length, one.sizes, len(one.outputs)))
    texts += [preset_text(one.name, len(one.blocks), one.shared.name, one.fixed, one.zeros) for one in presets]
    texts += [loop_text(routine.name, routine.sizes, len(routine.outputs)) for routine in plain]
    functions, straight = _functions(plain)
    by_parts = _by_independent_parts(straight, single_limit, part)
    if by_parts is not None:
        functions, steps = [*functions, *by_parts[0]], by_parts[1]
    else:
        functions += [one.text(single_limit, part, fused=fused) for one in straight]
        steps = sum(len(one.program.steps) for one in straight)
    texts += functions
    lookups = tables.definitions(one.program for one in straight)
    return "\n".join([*texts, *lookups, *trigonometry.declarations(texts)]), steps


class _Straight(NamedTuple):
    name: str
    program: Listing
    blocks: int
    outs: Mapping[str, int]

    def text(self, single_limit: int, part: int, lanes: int = 1, fused: bool = True) -> str:
        return function_text(self.name, self.program, self.blocks, single_limit, part, self.outs, lanes, fused=fused)


def _by_independent_parts(straight: Sequence[_Straight], single_limit: int, part: int) -> tuple[list[str], int] | None:
    """Return the LLVM IR in which independent parts of the same form are written once, and the number of steps written; return
    None if this does not pay off, or if a table consists of inputs."""
    if sum(len(one.program.steps) for one in straight) <= QUICK:
        return None
    if any(step[0] == op.TABLE_OF_INPUTS for one in straight for step in one.program.steps):
        return None  # the inputs of a part are copied to a separate row
    texts, steps = [gather_scatter_text()], 0
    for one in straight:
        part_forms = forms(one.program, one.blocks, tuple(one.outs.values()))
        steps += sum(len(form.program.steps) for form in part_forms)
        texts.append(independent_parts_text(one.name, part_forms, one.blocks, single_limit, part, one.outs))
    return (texts, steps) if 2 * steps <= sum(len(one.program.steps) for one in straight) else None


def _functions(routines: Sequence[Routine | Alternatives], lanes: int = 1) -> tuple[list[str], list[_Straight]]:
    """Split routines into functions that several routines may share; return the IR of the callers, and the programs they call."""
    texts, straight = list[str](), list[_Straight]()
    beginnings = _beginnings(routines)
    ends = _ends(routines, beginnings)
    served = {beginning.name for beginning in beginnings.values()} | set(ends.values())
    for routine in routines:
        if routine.name in served:
            continue
        name, suffix, outs = routine.name, "", {"out": len(routine.outputs)}
        beginning = beginnings.get(name)
        if beginning is not None:
            count = len(beginning.outputs)
            name, suffix, outs = f"{name}.both", ".both", {"out": count, "rest": len(routine.outputs) - count}
            counts = tuple(outs.values())
            texts.append(
                split_text(len(routine.blocks), name, routine.name, beginning.name, ends.get(routine.name), counts, lanes)
            )
        straight += [_Straight(case.name + suffix, listing(case), len(case.blocks), outs) for case in routine.cases]
        if isinstance(routine, Alternatives):
            block = [listed for listed, _ in routine.blocks].index(routine.block)
            names = [case.name + suffix for case in routine.cases]
            texts.append(choice_text(name, len(routine.blocks), block, routine.slots, routine.counts, names, outs))
    return texts, straight


def steps_in_machine_code(routines: Sequence[Code]) -> dict[str, Listing]:
    """Return the steps of each routine, and of each case of a routine with alternatives, with the fusions that `compile_routines`
    makes by default: from these steps, a printer for another language gets bit-identical results. Only a specialised routine that
    reads a table of its fixed input may be fused differently."""
    plain = [routine for routine in routines if not isinstance(routine, SpecialisedRoutine)]
    straight = _functions(plain)[1]
    by_parts = _by_independent_parts(straight, SINGLE_LIMIT, PART_STEPS) is not None
    steps = {one.name: one.program if by_parts else with_fusions(one.program) for one in straight}
    beginnings = _beginnings(plain)
    ends, by_name = _ends(plain, beginnings), {routine.name: routine for routine in plain}
    for name, beginning in beginnings.items():
        count, end = len(beginning.outputs), by_name.get(ends.get(name, ""))
        for k, case in enumerate(by_name[name].cases):
            both = steps.pop(f"{case.name}.both")
            steps[case.name] = both
            steps[beginning.cases[k].name] = needed(both, both.outputs[:count])
            if end is not None:
                steps[end.cases[k].name] = needed(both, both.outputs[count:])
    presets = (routine for routine in routines if isinstance(routine, SpecialisedRoutine))
    return steps | {preset.name: _with_preset(preset, steps[preset.shared.name]) for preset in presets}


def _with_preset(routine: SpecialisedRoutine, shared: Listing) -> Listing:
    block, (index, number) = routine.block_index, routine.fixed
    tables = (step for step in shared.steps if step[0] == op.TABLE_OF_INPUTS and step[1] == block)
    if any(first <= index < first + count for _, _, first, count in tables):
        return with_fusions(listing(routine.reference))  # a table of inputs cannot contain a constant; fusions may differ
    place = (op.INPUT, block, index)
    steps = [(op.CONSTANT, number) if step == place else step for step in shared.steps]
    outputs = [len(steps) if k in routine.zeros else output for k, output in enumerate(shared.outputs)]
    return needed(Listing((*steps, (op.CONSTANT, 0.0)), tuple(outputs)), outputs)


def _beginnings(routines: Sequence[Routine | Alternatives]) -> dict[str, Routine | Alternatives]:
    """Map the name of a routine to a routine that computes its first outputs and is almost as long, so that both share code."""
    tapes = {r.name: r.reference.tape for r in routines}
    roots = {r.name: [tapes[r.name].scalar(output).index for output in r.outputs] for r in routines}
    beginnings: dict[str, Routine | Alternatives] = {}
    for routine in routines:
        for other in routines:
            every, first = roots[routine.name], roots[other.name]
            tape = tapes[other.name]
            same = tapes[routine.name] is tape and other.blocks == routine.blocks
            if same and first and len(first) < len(every) <= HEAP and every[: len(first)] == first:
                steps, more = (len(reachable(tape, each)) for each in (first, every))
                if steps >= SHARED and more <= (1.0 + FEW) * steps:
                    beginnings[routine.name] = other
    return beginnings


def _ends(routines: Sequence[Routine | Alternatives], beginnings: Mapping[str, Routine | Alternatives]) -> dict[str, str]:
    """Map the name of each long routine with a shared first part to the routine of its remaining outputs, if that is almost as
    long, so that both share code."""
    ends: dict[str, str] = {}
    for routine in routines:
        beginning = beginnings.get(routine.name)
        if beginning is None or not isinstance(routine, Routine) or steps_of(routine) <= min(SINGLE_LIMIT, QUICK):
            continue
        part = 0.5 if steps_of(routine) > QUICK else ENDING
        every = [routine.tape.scalar(output).index for output in routine.outputs]
        for other in routines:
            if isinstance(other, Routine) and other.tape is routine.tape and other.blocks == routine.blocks and other.outputs:
                other_outputs = [other.tape.scalar(output).index for output in other.outputs]
                if other_outputs == every[len(beginning.outputs) :] and steps_of(other) > part * steps_of(routine):
                    ends[routine.name] = other.name
    return ends


def compile_routines(routines: Sequence[Code], quick: int = QUICK, cold: bool = False) -> Library:
    """Compile routines to machine code for this processor, or load it from the cache.

    Every routine becomes `void name(const double *block0, ..., double *out)` and, except for a `SpecialisedRoutine`, `name.many`,
    which loops over samples. Code of more than `quick` steps, or that is `cold`, is not optimised. With `quick` = 0, nothing is
    fused either: fusions depend on what else is computed, and a result must be bitwise equal if it is computed alone. The
    routines must include the `shared` routine of each `SpecialisedRoutine`.

    Raises `CompileError` E391 without llvmlite, E396 if two routines have the same name.
    """
    names = [routine.name for routine in routines]
    if len(set(names)) < len(names):
        twice = ", ".join(sorted({name for name in names if names.count(name) > 1}))
        raise CompileError(Problem("E396", f"several routines are called {twice}", cures=("a different name for each",)))
    text, steps = _module(routines, SINGLE_LIMIT, PART_STEPS, quick > 0)
    # measured: after the tape's rules, LLVM's passes gain no speed, and -O2 takes six to nine times as long to compile
    code = object_code(text, passes=0, level=0 if cold or steps > quick else LEVEL)
    each = {routine.name: f"{routine.shared.name}.each" for routine in routines if isinstance(routine, SpecialisedRoutine)}
    exported = dict.fromkeys(f for name in names for f in (name, each.get(name, f"{name}.many")))
    tracker, addresses = linked(code, exported, {})
    shapes = {routine.name: (routine.sizes, len(routine.outputs)) for routine in routines}
    return Library(addresses, shapes, (tracker,), each)


def compile_in_lanes(routines: Sequence[Routine], lanes: int) -> Library:
    """Compile routines like `compile_routines`, but for several runs in SIMD lanes and without loops over samples: blocks and
    outputs have a vector for each number. Up to `QUICK` steps, each lane is bitwise equal to the result of `compile_routines`."""
    functions, straight = _functions(routines, lanes)
    functions += [one.text(SINGLE_LIMIT, PART_STEPS, lanes) for one in straight]
    steps = sum(len(one.program.steps) for one in straight)
    declared = [wide_declarations(lanes), *trigonometry.declarations(functions, lanes)]
    lookups = tables.definitions(one.program for one in straight)
    code = object_code("\n".join([*declared, *functions, *lookups]), passes=0, level=LEVEL if steps <= QUICK else 0)
    tracker, addresses = linked(code, [routine.name for routine in routines], {})
    return Library(addresses, {}, (tracker,))


def compile_ir(text: str, symbols: Mapping[str, int] | None = None, keep: tuple[Any, ...] = (), quick: bool = False) -> Library:
    """Compile LLVM IR.

    Parameters
    ----------
    text : one module in LLVM's assembly language (opaque pointers: `ptr`); every function defined without `internal` or
        `private` is exported. The target triple and data layout are set here.
    symbols : addresses of functions that the code only declares; the C library's mathematical functions, `memcpy`, `memset`,
        `memmove`, `malloc` and `free` are known. Addresses are not part of the cache's key.
    keep : owners of the addresses, which must live as long as the library.
    quick : True to compile without optimisation.

    Raises `CompileError` E391 without llvmlite, E392 for invalid code, E393 for an unknown symbol.
    """
    addresses_by_name = symbols or {}
    code = object_code(text, passes=0, level=0) if quick else object_code(text, passes=2, level=2)
    declared = re.findall(r"^declare[^@]*@\"?(?!llvm\.|elementary\.)([\w.$]+)", text, flags=re.MULTILINE)
    missing = sorted(set(declared) - set(addresses_by_name) - set(known_symbols()))
    if missing:
        details = (f"no address is given for {', '.join(missing)}",)
        raise CompileError(Problem("E393", "compiled code does not link", details, cures=("pass the addresses as `symbols`",)))
    tracker, addresses = linked(code, defined_functions(text), addresses_by_name)
    return Library(addresses, {}, (tracker, *keep))


def compile_procedures(procedures: Sequence[Procedure], others: Sequence[str] = ()) -> Library:
    return compile_ir(module_text(procedures, others))


def compile_written(
    write: Callable[[], Sequence[Procedure]], others: Callable[[], Sequence[str]] = tuple, passes: int = 2
) -> Library:
    """Compile the procedures from `write`, a function of a module, and the LLVM IR from `others`; neither is called if the code
    is in the cache. Use `passes` = 1 for code that takes a negligible fraction of a run."""
    writer = ("written by", write.__module__, write.__qualname__)
    code, exported = written_code(writer, lambda: module_text(write(), others()), passes)
    tracker, addresses = linked(code, exported, {})
    return Library(addresses, {}, (tracker,))


def _entry(kind: str, name: str, entries: Mapping[str, Any]) -> Any:
    if name not in entries:
        raise CompileError(Problem("E394", f'no {kind} "{name}"', (f"available: {', '.join(entries)}",)))
    return entries[name]
