"""Internal names of `bondgraph.emit` that tests use."""

# ruff: noqa: F401

from bondgraph.emit import cache, llvm, machine, numpy, text
from bondgraph.emit.cached_build import OnceProperty, build_once
from bondgraph.emit.elementary import trigonometry
from bondgraph.emit.elementary.code import ELEMENTARY, symbol
from bondgraph.emit.elementary.code import linked as link
from bondgraph.emit.elementary.functions import FAR, NEAR, power
from bondgraph.emit.fusions import FROM, MINUS, PLUS, fused
from bondgraph.emit.gpu import nvptx
from bondgraph.emit.gpu.specialised_procedures import kinds_by_number, specialised, stored_fields
from bondgraph.emit.gpu.stored_memory import Pointers, stored_objects
from bondgraph.emit.instructions import PRIMITIVES, integer, real
from bondgraph.emit.interpreter.code import execute, interpret, machine_code, procedures, rule, texts
from bondgraph.emit.interpreter.steps import derivatives
from bondgraph.emit.interpreter.table import MAX_ARGUMENTS, STRIP
from bondgraph.emit.kernel import AT_SAMPLE, MANY, DeferredKernel, Kernel, KernelError, address_of, aligned_zeros, machine_kernel
from bondgraph.emit.kernel_language.language import (
    Callback,
    Disjoint,
    Fixed,
    Ints,
    Kernels,
    Length,
    Reals,
    Table,
    anywhere,
    empty_like,
    finite,
    fma,
    inline,
    larger,
    smaller,
    sqrt,
    types_of,
    unrolled,
    wrapped,
)
from bondgraph.emit.kernel_language.language import Kernel as KernelCode
from bondgraph.emit.kernel_language.source import TranslationError
from bondgraph.emit.kernel_language.translate import translate
from bondgraph.emit.lanes import widened
from bondgraph.emit.llvm import CompileError as llvm_CompileError
from bondgraph.emit.llvm import (
    compile_in_lanes,
    compile_ir,
    compile_procedures,
    compile_routines,
    compile_written,
    routines_text,
    steps_in_machine_code,
)
from bondgraph.emit.machine import CompileError as machine_CompileError
from bondgraph.emit.machine import have_llvm, object_code, optimised, target_machine
from bondgraph.emit.numpy import numpy_kernel
from bondgraph.emit.printers.c_procedures import source_text
from bondgraph.emit.printers.llvm_procedures import module_text
from bondgraph.emit.procedure import Procedure, cold
