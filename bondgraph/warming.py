"""Code that no model has a part in, of solvers and error control, made before the first run -> how long it took, and where it is
kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bondgraph.emit import cache
from bondgraph.emit.interpreter import code, lanes
from bondgraph.emit.llvm import CompileError, Library
from bondgraph.errors import Problem
from bondgraph.methods import METHODS, MethodEntry
from bondgraph.piles import sweeps
from bondgraph.run.error_control import weighing
from bondgraph.run.repeated import loop
from bondgraph.run.repeated.lanes import side_by_side
from bondgraph.run.sparsity import search
from bondgraph.stepping import motion


def _of_method(entry: MethodEntry) -> Callable[[], Library]:
    """What makes the code of a method."""
    return lambda: entry.load().machine_code()


PARTS: Mapping[str, Callable[[], Library]] = {
    **{f"{entry.name}, of order {entry.order}, with events": _of_method(entry) for entry in METHODS.values()},
    "error control": weighing.machine_code,
    "which states drive which": search.machine_code,
    "many runs": loop.machine_code,
    "many runs side by side": side_by_side.machine_code,
    "formulas that are seldom asked for": code.machine_code,
    "such formulas side by side": lanes.machine_code,
    "steps of time": motion.machine_code,
    "piles": sweeps.machine_code,
}
"""All code of this project that is made of procedures, by what it is for."""


@dataclass(frozen=True)
class Warmed:
    """What `warm` did.

    Parameters
    ----------
    seconds : by part of `PARTS`; one that was there already takes milliseconds.
    folder : where they are kept.
    """

    seconds: Mapping[str, float]
    folder: Path


def warm() -> Warmed:
    """Make what is not yet in the cache, and load all of it.

    Raises `CompileError` E391 without llvmlite, E399 where nothing can be kept.
    """
    folder, reason = cache.directory(), cache.obstacle()
    if folder is None or reason:
        cures = ("SCREWBOND_CACHE=FOLDER, with a folder of your own that can be written", "no warming: the first runs compile it")
        raise CompileError(Problem("E399", "compiled code would not be kept", (reason,), (), cures))
    seconds: dict[str, float] = {}
    for name, make in PARTS.items():
        begin = time.perf_counter()
        make()
        seconds[name] = time.perf_counter() - begin
    return Warmed(seconds, folder)
