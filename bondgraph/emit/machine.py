"""Compile LLVM IR to object code for this processor, and link it into this process."""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bondgraph.emit import cache
from bondgraph.emit.cached_build import build_once
from bondgraph.errors import Problem, ProblemError
from bondgraph.tape.garbage_collection import paused_collection

_LIBRARY = (
    *("sin", "cos", "sincos", "tan", "asin", "acos", "atan", "atan2", "exp", "expm1", "log", "tanh", "pow", "fmod", "sqrt"),
    *("fabs", "fma", "fmin", "fmax", "floor", "ceil", "memcpy", "memset", "memmove", "malloc", "free"),
)
_numbers = itertools.count()
_lock = threading.Lock()


class CompileError(ProblemError):
    """Error of a compilation, such as a missing llvmlite or code that LLVM rejects."""


@functools.cache
def have_llvm() -> bool:
    try:
        import llvmlite.binding
    except ImportError:
        return False
    return hasattr(llvmlite.binding, "create_lljit_compiler")


def binding() -> Any:
    """Return the initialised binding of LLVM; raise `CompileError` E391 if llvmlite is not installed or too old."""
    if not have_llvm():
        title = "machine code needs llvmlite, which is not installed or is older than 0.45"
        cures = (f"{sys.executable} -m pip install 'llvmlite>=0.45'", "the NumPy interpreter, which is slower")
        raise CompileError(Problem("E391", title, cures=cures))
    return _initialised()


@functools.cache
def _initialised() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


_BASELINE = {"x86_64": "x86-64", "i386": "pentium4", "i686": "pentium4"}
"""LLVM's name of the oldest processor of a family; "generic" for other families."""


def processor() -> tuple[str, str]:
    """Return LLVM's name and features of the target processor.

    By default, it is the processor of this machine without scatter instructions, which take longer than the arithmetic of a
    short kernel. `SCREWBOND_PROCESSOR=baseline` selects the oldest processor of its family (x86-64: SSE2), whose code calls the C
    library for each fused multiply-add; `haswell` selects an x86-64 processor with AVX2. Results are bitwise equal on all of
    these processors.

    Raises `CompileError` E390 for other values of the variable.
    """
    return _processor(os.environ.get("SCREWBOND_PROCESSOR", "") or "host")


@functools.cache
def _processor(chosen: str) -> tuple[str, str]:
    """Return name and features of the processor; cached, because LLVM takes a millisecond."""
    llvm = binding()
    if chosen == "host":
        features = llvm.get_host_cpu_features()
        return llvm.get_host_cpu_name(), features.flatten() + (",+prefer-no-scatter" if features.get("avx512f") else "")
    family = llvm.get_default_triple().split("-")[0]
    if chosen == "baseline":
        return _BASELINE.get(family, "generic"), ""
    if chosen == "haswell" and family == "x86_64":
        return chosen, ""
    title = f"SCREWBOND_PROCESSOR is {chosen!r}, not a known processor"
    raise CompileError(Problem("E390", title, cures=("host, baseline, or haswell on x86-64", "unset the variable")))


def vector_width() -> int:
    """Return the number of doubles in the widest vectors of the target processor, but at least four."""
    return 8 if "+avx512f" in processor()[1].split(",") else 4


def target_machine(level: int) -> Any:
    llvm = binding()
    cpu, features = processor()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=cpu, features=features, opt=level, reloc="pic", codemodel="small", jit=True)


_AVX2 = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2")


@functools.cache
def cross_target(triple: str) -> Any:
    llvm = binding()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        return llvm.Target.from_triple(triple)
    except RuntimeError:
        return None


def supplied_processor() -> str:
    """Return the value of `SCREWBOND_PROCESSOR` for which a package includes code: "haswell" on x86-64, else "baseline"."""
    return "haswell" if binding().get_default_triple().startswith("x86_64") else "baseline"


def supplied_name(name: str) -> str:
    return cache.key(name, binding().get_default_triple(), *_processor(supplied_processor()))


def _supplied_code(name: str) -> tuple[bytes, Sequence[str]] | None:
    features = binding().get_host_cpu_features()
    runs_here = supplied_processor() == "baseline" or all(features.get(feature) for feature in _AVX2)
    if not runs_here or os.environ.get("SCREWBOND_PROCESSOR", "") not in ("", "host"):
        return None
    body = cache.load_supplied(supplied_name(name))
    if body is None:
        return None
    exported, _, code = body.partition(b"\n")
    return code, exported.decode().split()


_TRUSTED = ("x86_64", "i386", "i686")
"""Families of processors for which LLVM may vectorise loops. On other processors, two cost models of LLVM may disagree, which
aborts the process (LLVM 22 on Arm: an assertion in `LoopVectorizationPlanner::computeBestVF`)."""


def optimised(text: str, passes: int, machine: Any) -> Any:
    """Return the module of `text` after LLVM's optimisation pipeline of level `passes`.

    Level 0 does nothing; level 1 only puts variables into registers, combines instructions and simplifies branches, in a tenth of
    the time of LLVM's own pipelines.
    """
    llvm = binding()
    try:
        module = llvm.parse_assembly(text)
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        module.verify()
    except RuntimeError as failure:
        raise CompileError(Problem("E392", "LLVM rejects the generated code", (str(failure).strip(),))) from failure
    if passes == 1:
        manager = llvm.create_new_module_pass_manager()
        manager.add_sroa_pass()
        manager.add_instruction_combine_pass()
        manager.add_simplify_cfg_pass()
        manager.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    elif passes:
        options = llvm.create_pipeline_tuning_options(speed_level=passes)
        options.slp_vectorization = True
        options.loop_vectorization = machine.triple.startswith(_TRUSTED)
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
    return module


def object_code(text: str, passes: int, level: int) -> bytes:
    name = _object_name(cache.key(text), passes, level)
    stored = cache.load(name)
    if stored is not None:
        return stored
    machine = target_machine(level)
    code: bytes = machine.emit_object(optimised(text, passes, machine))
    cache.store(name, code)
    return code


made_by_writers: dict[str, bytes] | None = None
"""Names and code of the functions, by writer and sources, which are collected only while `warming.supply` runs."""


def written_code(writer: Iterable[str], write: Callable[[], str], passes: int = 2) -> tuple[bytes, Sequence[str]]:
    """Return the object code of the LLVM IR that `write` returns, optimised by these `passes`, and the names of its functions.

    The strings in `writer` identify the IR: while the sources of this project are unchanged, the code comes with the package or
    from the cache, and `write` is not called.
    """
    sources = cache.sources()
    name = cache.key(*writer, sources) if sources else ""
    if name and (supplied := _supplied_code(name)):
        return supplied
    record = cache.load(name) if name else None
    if record is not None:
        digest, *exported = record.decode().split()
        if code := cache.load(_object_name(digest, passes, 2)):
            return code, exported
    with paused_collection():
        text = write()
    code, names = object_code(text, passes, 2), defined_functions(text)
    if name:
        cache.store(name, " ".join([cache.key(text), *names]).encode())
    if made_by_writers is not None:
        made_by_writers[name] = " ".join(names).encode() + b"\n" + code
    return code, names


def _object_name(digest: str, passes: int, level: int) -> str:
    llvm = binding()
    import llvmlite

    how = f"passes {passes} level {level}"
    return cache.key(digest, how, llvm.get_default_triple(), *processor(), f"{llvmlite.__version__} {llvm.llvm_version_info}")


@build_once
def _linker() -> Any:
    """Return a JITLink linker, which keeps code and constants together; Windows needs the older linker, which aborts if code and
    constants lie more than 2 GB apart."""
    return binding().create_lljit_compiler(use_jit_link=sys.platform != "win32")


@functools.cache
def known_symbols() -> dict[str, int]:
    libraries = [ctypes.CDLL(name) for name in (("ucrtbase", "msvcrt") if sys.platform == "win32" else (None,))]
    addresses: dict[str, int] = {}
    for library, name in itertools.product(libraries, _LIBRARY):
        if hasattr(library, name):
            addresses.setdefault(name, ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0)
    return addresses


def link(code: bytes, exported: Iterable[str], symbols: Mapping[str, int]) -> tuple[Any, dict[str, int]]:
    """Load object code; return an object that keeps it loaded, and the address of each exported function."""
    llvm = binding()
    names = list(exported)
    builder = llvm.JITLibraryBuilder().add_object_img(code)
    for name, address in {**known_symbols(), **symbols}.items():
        builder.import_symbol(name, address)
    for name in names:
        builder.export_symbol(name)
    with _lock:
        try:
            tracker = builder.link(_linker(), f"screwbond{next(_numbers)}")
        except RuntimeError as failure:
            detail = str(failure).strip()
            raise CompileError(Problem("E393", "compiled code does not link", (detail,))) from failure
    return tracker, {name: tracker[name] for name in names}


def defined_functions(text: str) -> tuple[str, ...]:
    lines = re.findall(r"^define\s+(?!internal|private)[^@]*@\"?([\w.$]+)\"?\s*\(", text, flags=re.MULTILINE)
    return tuple(dict.fromkeys(lines))
