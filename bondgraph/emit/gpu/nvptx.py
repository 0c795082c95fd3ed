"""Compile LLVM IR to PTX, the assembly language of NVIDIA's GPUs, with llvmlite's own target: no toolkit is needed.

Products and sums are fused only where the IR contains `fma`: LLVM writes `.rn`, which the driver leaves unchanged. Elementary
functions are this package's own; if only a C library can compute the sine of an angle, the thread records this, and the host
repeats the run.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from typing import Any

from bondgraph.emit import cache
from bondgraph.emit.elementary import functions, trigonometry
from bondgraph.emit.elementary.code import ELEMENTARY, PERIODIC, symbol
from bondgraph.emit.kernel_language.translate import translate
from bondgraph.emit.machine import CompileError, binding, cross_target
from bondgraph.emit.printers.llvm_procedures import module_text, number
from bondgraph.emit.text import on_the_stack
from bondgraph.errors import Problem

TRIPLE, PROCESSOR, FEATURES = "nvptx64-nvidia-cuda", "sm_70", "+ptx63"
"""LLVM target: the driver translates its code for GPUs from Volta onwards."""
BLOCK_THREADS = 1024
_KERNEL = "ptx_kernel"


def target() -> Any:
    """Return the target; raise `CompileError` E282 if LLVM was built without it."""
    written = cross_target(TRIPLE)
    if written is None:
        import llvmlite

        title = (
            f"llvmlite {llvmlite.__version__} cannot write code for NVIDIA's GPUs: its LLVM was built without the target NVPTX"
        )
        cures = ("llvmlite 0.50 from PyPI, which includes this target", "device=None, which runs on the processor")
        raise CompileError(Problem("E282", title, cures=cures))
    return written


def ptx_of(texts: Sequence[str], entry: str) -> str:
    """Return the PTX of a kernel and everything it calls, from LLVM IR; the result is cached on disk.

    Raises `CompileError` E282 without the target, E285 for code that LLVM rejects.
    """
    import llvmlite

    every = [*texts, elementary_text()]
    machine = target().create_target_machine(cpu=PROCESSOR, features=FEATURES, opt=3)
    every = [f'target datalayout = "{machine.target_data}"\ntarget triple = "{TRIPLE}"\n{on_the_stack(text)}' for text in every]
    key = cache.key(TRIPLE, PROCESSOR, FEATURES, "passes 2 level 3", llvmlite.__version__, entry, *every)
    code = cache.load(key)
    if code is None:
        try:
            code = machine.emit_assembly(_optimised(every, {entry}, machine)).encode()
        except RuntimeError as failure:
            raise CompileError(Problem("E285", "LLVM rejects the GPU code", (str(failure).strip(),))) from failure
        cache.store(key, code)
    return code.decode()


def _optimised(texts: Sequence[str], exported: Collection[str], machine: Any) -> Any:
    llvm, module = binding(), None
    for text in texts:
        part = llvm.parse_assembly(text)
        if module is None:
            module = part
        else:
            module.link_in(part)
    assert module is not None
    for function in module.functions:
        if not function.is_declaration and function.name not in exported:
            function.linkage = "internal"
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module


NOTE_FAR = "note_far_angle"


@functools.cache
def elementary_text() -> str:
    entries = [_entry(name) for name in ELEMENTARY]
    joint = trigonometry.joint_entry(
        {name: ELEMENTARY[name].__name__ for name in ("sin", "cos")}, "nounwind alwaysinline", NOTE_FAR
    )
    return "\n".join([module_text(translate(list(ELEMENTARY.values()))), _FLAGS, *entries, joint])


def _entry(name: str) -> str:
    function = ELEMENTARY[name]
    letters = [f"double %{letter}" for letter in "xy"[: 1 + (function in functions.OF_TWO)]]
    recorder_call = [f"call void @{NOTE_FAR}(double %x)"] if name in PERIODIC else []
    lines = [*recorder_call, f"%value = call double @{function.__name__}({', '.join(letters)})", "ret double %value"]
    return f"define double @{symbol(name, 1)}({', '.join(letters)}) nounwind alwaysinline {{\n" + "\n".join(lines) + "\n}\n"


_FLAGS = f"""
@far_angles = internal addrspace(3) global [{BLOCK_THREADS} x i32] undef, align 4
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptr addrspace(3) @far_angle_of_thread() nounwind alwaysinline {{
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %place = getelementptr i32, ptr addrspace(3) @far_angles, i32 %thread
  ret ptr addrspace(3) %place
}}
define void @{NOTE_FAR}(double %x) nounwind alwaysinline {{
entry:
  %size = call double @llvm.fabs.f64(double %x)
  %is_far = fcmp ogt double %size, {number(functions.FAR)}
  br i1 %is_far, label %far, label %near
far:
  %place = call ptr addrspace(3) @far_angle_of_thread()
  store i32 1, ptr addrspace(3) %place
  br label %near
near:
  ret void
}}
define i64 @saw_far_angle(ptr %block) nounwind {{
  %place = call ptr addrspace(3) @far_angle_of_thread()
  %seen = load i32, ptr addrspace(3) %place
  store i32 0, ptr addrspace(3) %place
  %wide = zext i32 %seen to i64
  ret i64 %wide
}}
"""


def kernel_text(name: str, call: str, words: int, slots: int, begin: int) -> str:
    """Return the LLVM IR of a kernel with one argument, the address of a block of words.

    Each thread calls the function `call` with its own memory (words,), this address, its number, and the address of the word
    `begin` of its own memory. The word `slots` of the block is the number of active threads; all other threads do nothing.
    """
    registers = ("tid", "ctaid", "ntid")
    declared = "\n".join(f"declare i32 @llvm.nvvm.read.ptx.sreg.{each}.x()" for each in registers)
    read = "\n".join(f"  %{each} = call i32 @llvm.nvvm.read.ptx.sreg.{each}.x()" for each in registers)
    return f"""{declared}
declare i64 @saw_far_angle(ptr)
declare void @{call}(ptr, ptr, i64, ptr)
define {_KERNEL} void @{name}(ptr addrspace(1) %block) {{
{read}
  %before = mul i32 %ctaid, %ntid
  %number = add i32 %before, %tid
  %slot = zext i32 %number to i64
  %at = getelementptr i64, ptr addrspace(1) %block, i64 {slots}
  %slots = load i64, ptr addrspace(1) %at
  %has_slot = icmp ult i64 %slot, %slots
  br i1 %has_slot, label %inside, label %outside
inside:
  %forget = call i64 @saw_far_angle(ptr null)
  %own = alloca [{words} x i64], align 16
  %begin = getelementptr i64, ptr %own, i64 {begin}
  %given = addrspacecast ptr addrspace(1) %block to ptr
  call void @{call}(ptr %own, ptr %given, i64 %slot, ptr %begin)
  ret void
outside:
  ret void
}}
"""


def counter_text(name: str, word: int) -> str:
    return f"""define i64 @{name}(ptr %block) nounwind {{
  %global = addrspacecast ptr %block to ptr addrspace(1)
  %at = getelementptr i64, ptr addrspace(1) %global, i64 {word}
  %before = atomicrmw add ptr addrspace(1) %at, i64 1 monotonic
  ret i64 %before
}}
"""


ADDRESS = """define i64 @address_of(ptr %numbers) nounwind {
  %address = ptrtoint ptr %numbers to i64
  ret i64 %address
}
"""
