"""Compilation of LLVM IR to WebAssembly modules by llvmlite, without another compiler or a linker.

Modules share one memory, with 8-byte words for addresses as in machine code, and one table of functions. WebAssembly has no
fused multiply-add; `multiply_add` replaces it, so that results are bit-identical to machine code.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, cast

from bondgraph.emit import cache
from bondgraph.emit.elementary import trigonometry
from bondgraph.emit.elementary.code import ELEMENTARY, PERIODIC, symbol
from bondgraph.emit.elementary.functions import FAR, OF_TWO
from bondgraph.emit.interpreter import code as interpreter
from bondgraph.emit.kernel_language.translate import translate
from bondgraph.emit.machine import binding, cross_target, have_llvm
from bondgraph.emit.printers.llvm_procedures import module_text, number
from bondgraph.emit.text import WORKSPACE, on_the_stack
from bondgraph.export.wasm.binary import with_exports
from bondgraph.export.wasm.multiply_add import multiply_add
from bondgraph.run.batch.image import solver_libraries
from bondgraph.run.steppers.method import Method

TRIPLE = "wasm32-unknown-unknown"
SOLVER_PROCEDURES = ("begin_run", "advance_run", "run")
"""Procedures of a solver that begin a run, advance it, and advance it with events."""
INTERPRETER = ("interpret", "step_")
"""Name prefixes of the functions of the interpreter of derivatives."""
_FUSED = multiply_add.__name__
_REPLACED = {"@llvm.fma.f64(": f"@{_FUSED}(", "getelementptr ptr,": "getelementptr i64,", "alloca ptr": "alloca i64"}
_SHARED = "elementary."
_DEFINITION = re.compile(r"^(define .*) {$", re.MULTILINE)
_TABLE = re.compile(r'^@(table\.[\w.]+) = internal constant \[(\d+) x i8\] c"(.*)", align 8$', re.MULTILINE)
"""Definition of an array of constants, as `emit.tables` writes it."""


def is_available() -> bool:
    return have_llvm() and cross_target(TRIPLE) is not None


def compile_module(texts: Sequence[str], exported: Iterable[str], features: str = "") -> bytes:
    """Return a module with these functions and all that they need, from LLVM modules that call each other by name; it is cached
    on disk. Raises a ValueError if its data would need a linker."""
    import llvmlite

    names = sorted(set(exported))
    key = cache.key(TRIPLE, features, llvmlite.__version__, *names, *texts)
    code = cache.load(key)
    if code is None:
        code = _object(texts, set(names), features)
        cache.store(key, code)
    return with_exports(code, names)


def _object(texts: Sequence[str], exported: Collection[str], features: str) -> bytes:
    llvm, module = binding(), cast(Any, None)
    machine = cross_target(TRIPLE).create_target_machine(features=features, opt=2, reloc="pic")
    for text in texts:
        part = llvm.parse_assembly(_for_target(text))
        _hide(part, lambda name: name in exported or name.startswith(_SHARED))
        if module is None:
            module = part
        else:
            module.link_in(part)
    _hide(module, exported.__contains__)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    code: bytes = machine.emit_object(module)
    return code


def _for_target(text: str) -> str:
    """Return LLVM IR with 8-byte addresses in tables, all workspaces on the stack, and constant arrays only declared
    (`constants`); fused operations call `multiply_add`, unless the module defines that function."""
    for old, new in _REPLACED.items() if f"@{_FUSED}(" not in text else ():
        text = text.replace(old, new)
    text = _TABLE.sub(r"@\1 = external constant [\2 x i8]", on_the_stack(text))
    return _DEFINITION.sub(r'\1 "no-jump-tables"="true" {', text)


def workspaces(texts: Iterable[str]) -> int:
    return sum(int(size) for text in texts for size in WORKSPACE.findall(text))


def constants(texts: Iterable[str]) -> dict[str, bytes]:
    """Return the constant arrays of LLVM modules by name, which the memory must contain (symbols of "GOT.mem")."""
    return {name: bytes.fromhex(bits.replace("\\", "")) for text in texts for name, _, bits in _TABLE.findall(text)}


def _hide(module: Any, is_shown: Callable[[str], bool]) -> None:
    """Make the functions of a module internal unless `is_shown`, so that the optimiser drops unused functions."""
    for function in module.functions:
        if not function.is_declaration and not is_shown(function.name):
            function.linkage = "internal"


@functools.cache
def solver_module(method: Method) -> bytes:
    written = solver_libraries(method)
    called = [each.name for letter, library in written.items() if letter != "s_" for each in library if not each.internal]
    return compile_module([*map(module_text, written.values()), _elementary_text()], [*SOLVER_PROCEDURES, *called])


def model_module(texts: Sequence[str], exported: Collection[str]) -> bytes:
    interpreted = any(name.startswith(INTERPRETER) for name in exported)
    return compile_module([*texts, *([_interpreter_text()] if interpreted else []), _elementary_text()], exported)


@functools.cache
def _interpreter_text() -> str:
    return module_text(interpreter.procedures(1), interpreter.texts(1))


@functools.cache
def multiply_add_modules() -> tuple[bytes, bytes]:
    """Return two modules of `multiply_add`: one with the processor's instruction, for browsers that support it (relaxed SIMD,
    which may also round twice), and one with products and sums."""
    vectors = [f"%{x}2 = insertelement <2 x double> poison, double %{x}, i32 0" for x in "xyz"]
    intrinsic, vector = "@llvm.wasm.relaxed.madd.v2f64", "<2 x double>"
    passed = ", ".join(f"{vector} %{x}2" for x in "xyz")
    lines = [
        f"declare {vector} {intrinsic}({vector}, {vector}, {vector})",
        f"define double @{_FUSED}(double %x, double %y, double %z) {{",
        *vectors,
        f"%both = call {vector} {intrinsic}({passed})",
        f"%one = extractelement {vector} %both, i32 0",
        "ret double %one",
        "}",
    ]
    by_sums = module_text(translate([multiply_add], [_FUSED]))
    return compile_module(["\n".join(lines)], [_FUSED], "+simd128,+relaxed-simd"), compile_module([by_sums], [_FUSED])


@functools.cache
def _elementary_text() -> str:
    functions = module_text(translate(list(ELEMENTARY.values())))
    declared = [f"declare double @llvm.{name}.f64(double)" for name in PERIODIC]
    entries = [_entry(name, function) for name, function in ELEMENTARY.items()]
    joint = trigonometry.joint_entry({name: symbol(name, 1) for name in ("sin", "cos")}, f"alwaysinline {_PURE}")
    return "\n".join([functions, *declared, *entries, joint])


_PURE = "nounwind willreturn memory(none)"


def _entry(name: str, function: Callable[..., float]) -> str:
    """Return the function that kernels call; JavaScript computes sines, cosines and tangents of angles beyond `FAR`."""
    letters = [f"double %{letter}" for letter in "xy"[: 1 + (function in OF_TWO)]]
    lines = ["entry:", f"%near = call double @{function.__name__}({', '.join(letters)})"]
    if name in PERIODIC:
        lines += [
            "%size = call double @llvm.fabs.f64(double %x)",
            f"%is_far = fcmp ogt double %size, {number(FAR)}",
            "br i1 %is_far, label %far, label %done",
            "far:",
            f"%outer = call double @llvm.{name}.f64(double %x)",
            "ret double %outer",
            "done:",
        ]
    lines.append("ret double %near")
    return f"define double @{symbol(name, 1)}({', '.join(letters)}) {_PURE} {{\n" + "\n".join(lines) + "\n}\n"
