"""Kernel of many runs on a GPU: PTX code for a prepared program, and the initial memory of its threads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.emit.gpu import nvptx
from bondgraph.emit.gpu.specialised_procedures import kinds_by_number, specialised, stored_fields
from bondgraph.emit.instructions import Called
from bondgraph.emit.interpreter import code as interpreter
from bondgraph.emit.kernel import Kernel
from bondgraph.emit.kernel_language.language import field_name
from bondgraph.emit.printers.llvm_procedures import module_text
from bondgraph.emit.procedure import Procedure, reached, renamed
from bondgraph.errors import Problem, RunError
from bondgraph.run.batch.gpu import threads
from bondgraph.run.batch.gpu.memory import GPUMemory, known_words, memory_of
from bondgraph.run.batch.gpu.threads import Launch
from bondgraph.run.batch.image import CALLED_BY_BATCHES, Image, image_of, kernels_of, run_libraries, with_prefix
from bondgraph.run.batch.prepared import PreparedProgram
from bondgraph.run.batch.results import KeptOfRun
from bondgraph.run.batch.workspace import Workspace
from bondgraph.run.steppers.method import Method

ENTRY = "advance_runs"
MAX_LOCAL_BYTES = 512 * 1024


@dataclass(frozen=True, eq=False)
class GPUKernel:
    """Kernel of many runs on a GPU.

    Its only argument is the address of a block of words, `threads.Launch`. Each thread has a slot; free threads take runs, and
    continue them where the previous launch paused.

    Parameters
    ----------
    call_words : word of each field of the block.
    call_size : number of words of the block.
    state_words, scratch_words : numbers of words that a slot keeps between launches, zero before the first launch of a chunk.
    memory : initial memory of a thread.
    clock_values, first : function from parameters (runs, parameters) to the values (runs, k) that determine their clocks, and the
        parameters (parameters,) for whose clocks the kernel was compiled.
    """

    ptx: str
    entry: str
    call_words: Mapping[str, int]
    call_size: int
    state_words: int
    scratch_words: int
    memory: GPUMemory
    clock_values: Callable[[np.ndarray], np.ndarray]
    first: np.ndarray

    def shared_at(self, address: int) -> np.ndarray:
        return self.memory.shared_at(address)

    def same_clocks(self, p: np.ndarray) -> np.ndarray:
        mine, theirs = (np.ascontiguousarray(self.clock_values(each)).view(np.uint64) for each in (self.first[None], p))
        return np.asarray((theirs == mine).all(axis=1))


def gpu_kernel(
    prepared: PreparedProgram,
    blocks: tuple[np.ndarray, np.ndarray, np.ndarray],
    kept: Sequence[KeptOfRun] = (),
    outputs: Kernel | None = None,
    check_rank: bool = False,
) -> GPUKernel:
    """Return the kernel of runs with these `blocks` p, x and m, (runs or 1, values), and the clocks of the first run.

    Parameters
    ----------
    kept, outputs : measures, as `kept_of` returns them.
    check_rank : True to check the constraints along the runs.

    Raises `RunError` E283 for runs that cannot use a GPU, E284 for runs that need more memory than a thread has, E330 for a clock
    that cannot run; `CompileError` E282, E285.
    """
    if (refused := gpu_refusal(prepared)) is not None:
        raise RunError(refused)
    program = prepared.program
    kernels_of(program)
    space = Workspace(program, prepared.settings, prepared.choice, prepared.requested_times)
    p, x, m = (block[0] for block in blocks)
    image, method = image_of(space, p, x, m, space.batch_table(check_rank, kept, outputs)), space.integrator.method
    if space.handler is not None:  # the thread checks its budget after each event
        image.words[image.word("events", "reserve")] = space.handler.table["log_room"]
    symbols = {name: _symbol(name, space.handler is not None) for _, name in image.calls}
    functions = list(dict.fromkeys(symbols.values()))
    numbers = {name: functions.index(symbol) + 1 for name, symbol in symbols.items()}
    procedures = _procedures(method, functions)
    memory = memory_of(image, procedures, symbols, numbers)
    _check_size(prepared, memory)
    stored = stored_fields(procedures)
    words = known_words(image, numbers, stored)
    offsets = {field: offset for field, offset in memory.offsets.items() if field not in stored}
    made = [specialised(procedure, words, functions, offsets) for procedure in procedures]
    slots = dict.fromkeys(program.layout[item.measure.of] for item in kept if not item.measure.kind.of_event)
    assert program.texts is not None
    model = program.texts(tuple(slot for slot in slots if slot.is_output), not method.explicit)
    signatures = {**_of_procedures(made), **_of_texts(model)}
    by_number = [(numbers[name], symbols[name]) for name in _called_by_number(image, words)]
    rules = "\n".join(interpreter.texts(1)).replace(" alwaysinline", "")
    texts = [_text(made, dict(by_number), signatures), rules, *model, *_entry_texts(memory)]
    index = {name: k for name, (k, _) in Launch.layout().items()}
    return GPUKernel(
        nvptx.ptx_of(texts, ENTRY),
        ENTRY,
        index,
        len(index),
        len(memory.template) + 1,
        memory.scratch,
        memory,
        space.schedules.values,
        p,
    )


def _symbol(name: str, has_events: bool) -> str:
    if name in CALLED_BY_BATCHES:
        return "s_begin_run" if name == CALLED_BY_BATCHES[0] else "s_run" if has_events else "s_advance_run"
    return with_prefix(name, "")


def _procedures(method: Method, functions: Iterable[str]) -> list[Procedure]:
    procedures = list[Procedure]()
    for letter, library in {**run_libraries(method), "b_": threads.procedures()}.items():
        names = {procedure.name for procedure in library}
        called = {step.function for each in library for step in each.instructions if isinstance(step, Called)}
        roots = {name.removeprefix(letter) for name in functions if name.startswith(letter)} | {"run_thread"} & names
        others = {name for name in called if isinstance(name, str) and name not in names}
        procedures += renamed(reached(library, roots), letter, others)
    return procedures


_Signature = tuple[str, tuple[str, ...]]


def _of_procedures(procedures: Iterable[Procedure]) -> dict[str, _Signature]:
    return {each.name: (each.result, tuple(kind.split()[0] for kind in each.arguments.values())) for each in procedures}


def _of_texts(texts: Iterable[str]) -> dict[str, _Signature]:
    return {
        name: (gives, tuple(argument.split()[0] for argument in arguments.split(",")))
        for text in texts
        for gives, name, arguments in _DEFINED.findall(text)
    }


def _called_by_number(image: Image, words: Mapping[str, int]) -> list[str]:
    fields = (
        (first + index, field_name(kind, name)) for first, kind in image.every for name, (index, _) in kind.layout().items()
    )
    fixed = {word for word, field in fields if field in words}
    return list(dict.fromkeys(name for word, name in image.calls if word not in fixed))


def _text(procedures: Sequence[Procedure], by_number: Mapping[int, str], signatures: Mapping[str, _Signature]) -> str:
    kinds = sorted(kinds_by_number(procedures), key=lambda kind: kind.name)
    switches = [
        kind.text([pair for pair in by_number.items() if signatures.get(pair[1]) == (kind.gives, kind.takes)]) for kind in kinds
    ]
    text = module_text(procedures).replace(" noinline", "").replace("define internal ", "define ")
    defined = {*_NAMES.findall(text), *(kind.name for kind in kinds)}
    missing = {
        name: (gives, arguments)
        for gives, name, arguments in _CALLED.findall("\n".join([text, *switches]))
        if name not in defined
    }
    declared = [
        f"declare {gives} @{name}({', '.join(argument.split()[0] for argument in arguments.split(', '))})"
        for name, (gives, arguments) in missing.items()
        if not name.startswith("llvm.")
    ]
    return "\n".join([text, *switches, *declared])


_DEFINED = re.compile(r"^define (\w+) @([\w.]+)\((ptr[^)]*)\)", re.MULTILINE)
_NAMES = re.compile(r"^define [^@]*@([\w.]+)\(", re.MULTILINE)
_CALLED = re.compile(r"call (\w+) @([\w.]+)\(([^)]*)\)")


def _entry_texts(memory: GPUMemory) -> list[str]:
    words = {name: index for name, (index, _) in Launch.layout().items()}
    kernel = nvptx.kernel_text(ENTRY, "b_run_thread", len(memory.template), words["slots"], memory.batch)
    counters = {"taken_run": "next_run", "count_done": "done_runs"}
    return [kernel, *(nvptx.counter_text(name, words[word]) for name, word in counters.items()), nvptx.ADDRESS]


def _check_size(prepared: PreparedProgram, memory: GPUMemory) -> None:
    if (size := 8 * len(memory.template)) <= MAX_LOCAL_BYTES:
        return
    why = f"it needs {size / 1024:.0f} KB for tables and arrays, but a thread has at most {MAX_LOCAL_BYTES // 1024} KB"
    title = f'a run of "{prepared.program.name}" does not fit in the memory of a GPU thread'
    raise RunError(Problem("E284", title, (why,), cures=("device=None, which runs on the processor", "a smaller model")))


def gpu_refusal(prepared: PreparedProgram) -> Problem | None:
    program, settings = prepared.program, prepared.settings
    reasons = list[str]()
    if not program.is_machine_code:
        reasons.append("its formulas are evaluated by NumPy, not by machine code")
    elif program.texts is None:
        reasons.append("its many equal parts are compiled to loops of kernels, which run only on the CPU")
    if program.delays:
        reasons.append("its delays need an unbounded history")
    if libraries := [clock.name for clock in program.clocks if clock.library]:
        reasons.append(f"its blocks {', '.join(map(repr, libraries))} call a library of another tool")
    if (program.clocks or program.breaks) and program.loops:
        reasons.append("its nonlinear loop is solved by Python at ticks and time breaks")
    if prepared.choice.entry.needs_series:
        reasons.append(f"its Taylor series is code for the CPU only (method={prepared.choice.method!r})")
    if settings.singular == "keep":
        reasons.append('it may pass through singular positions (singular="keep"), which only Python can do')
    if not reasons and not prepared.in_machine_code:
        reasons.append("a part of it needs Python")
    if not reasons:
        return None
    title = f'runs of "{program.name}" cannot use a GPU'
    return Problem("E283", title, tuple(reasons), cures=("device=None, which runs on the processor",))
