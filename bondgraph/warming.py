"""Precompilation of the code that is the same for all models (solvers, error control, layouts), into the cache (`screwbond warm`)
or into a folder that a wheel ships (`python -m bondgraph.warming FOLDER`)."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bondgraph.emit import cache, machine
from bondgraph.emit.interpreter import code
from bondgraph.emit.llvm import CompileError, Library
from bondgraph.emit.machine import vector_width
from bondgraph.errors import Problem
from bondgraph.export.wasm.module import is_available, multiply_add_modules, solver_module
from bondgraph.methods import METHODS, MethodEntry
from bondgraph.render.layout import board
from bondgraph.run.accuracy import error_weights, pattern_buffers
from bondgraph.run.batch import loop
from bondgraph.run.batch.simd import lane_loop
from bondgraph.run.sparsity import coupling_graph
from bondgraph.run.steppers import dop853
from bondgraph.run.steppers.explicit import method_of
from bondgraph.run.steppers.rosenbrock.rodas5p import RODAS5P
from bondgraph.stepping import step
from bondgraph.stepping.free_bodies.machine import steps as pile_steps


def _method_compiler(entry: MethodEntry) -> Callable[[], Library]:
    return lambda: entry.load().machine_code()


def _compile_page_solvers() -> None:
    if is_available():
        multiply_add_modules()
        for method in (method_of(dop853.TABLEAU), RODAS5P):
            solver_module(method)


PAGES = "pages that simulate"
PARTS: Mapping[str, Callable[[], object]] = {
    **{f"{entry.name}, order {entry.orders[0]}, with events": _method_compiler(entry) for entry in METHODS.values()},
    "error control": error_weights.machine_code,
    "coupling graph of a Jacobian": coupling_graph.machine_code,
    "patterns of a Jacobian": pattern_buffers.machine_code,
    "batches of runs": loop.machine_code,
    "batches of runs in SIMD lanes": lane_loop.machine_code,
    "interpreter of derivatives": code.machine_code,
    "interpreter in SIMD lanes": lambda: code.machine_code(vector_width()),
    "steps with rigid contacts": step.machine_code,
    "contacts of free bodies": pile_steps.machine_code,
    "layout of diagrams": board.machine_code,
    PAGES: _compile_page_solvers,
}


@dataclass(frozen=True)
class Warmed:
    """Result of `warm`.

    Parameters
    ----------
    seconds : time for each part of `PARTS`; a cached part takes milliseconds.
    folder : the cache.
    """

    seconds: Mapping[str, float]
    folder: Path


def warm() -> Warmed:
    """Load all parts, compiling those that are not yet in the cache.

    Raises `CompileError` E391 without llvmlite, E399 without a cache.
    """
    folder, reason = cache.directory(), cache.obstacle()
    if folder is None or reason:
        cures = ("SCREWBOND_CACHE=FOLDER, with a folder that you can write to", "no warming: the first runs compile the code")
        raise CompileError(Problem("E399", "compiled code would not be kept", (reason,), (), cures))
    seconds: dict[str, float] = {}
    for name, make in PARTS.items():
        begin = time.perf_counter()
        make()
        seconds[name] = time.perf_counter() - begin
    return Warmed(seconds, folder)


def supply(folder: Path) -> int:
    """Compile all parts, except the WebAssembly of pages, for any common processor of this operating system, write them to a
    folder, and return the number of files. The process must be new, with its own cache or none.

    A package that holds these files in `bondgraph/emit/supplied` compiles none of the parts while its sources are unchanged.

    Raises `CompileError` E391 without llvmlite, E399 for sources that are newer than the process, or in an archive.
    """
    if not cache.sources():
        reason = "the sources are newer than this process, or in an archive"
        raise CompileError(
            Problem("E399", "compiled code would not be used", (reason,), (), ("a new process, with the sources in a folder",))
        )
    os.environ["SCREWBOND_PROCESSOR"] = machine.supplied_processor()
    made: dict[str, bytes] = {}
    machine.made_by_writers = made
    for name in PARTS.keys() - {PAGES}:
        PARTS[name]()
    machine.made_by_writers = None
    for name, body in made.items():
        cache.supply(folder, machine.supplied_name(name), body)
    return len(made)


if __name__ == "__main__":
    print(supply(Path(sys.argv[1])), "files of machine code")
