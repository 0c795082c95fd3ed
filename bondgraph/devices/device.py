"""Protocol of a GPU that executes many runs, with its properties and errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bondgraph.errors import Problem, ProblemError, RunError

ON_THE_CPU = "device=None, which uses the CPU"


@dataclass(frozen=True)
class DeviceFacts:
    """Properties of a GPU.

    Parameters
    ----------
    name : name for `device=`, "cuda:0".
    title : the maker's name for the GPU.
    single_to_double : ratio of single to double precision speed.
    threads : number of threads that the GPU can hold at a time, each with a stack.
    """

    name: str
    title: str
    single_to_double: int
    threads: int


@dataclass(frozen=True)
class LoadedKernel:
    """Kernel loaded on a GPU: its handle, the bytes of stack per thread, the threads per block, and the number of blocks that the
    whole GPU holds at a time."""

    handle: object
    stack: int
    threads: int
    blocks: int


class Device(Protocol):
    """GPU with its own memory, to which addresses refer; every function waits until its work is done.

    Functions raise `RunError` E288 for a driver that is too old, E290 if the GPU is out of memory, E292 if the GPU is lost, and
    E293 for anything else that the driver refuses.
    """

    @property
    def facts(self) -> DeviceFacts:
        """Properties of the GPU."""

    def memory_left(self, kernel: LoadedKernel) -> int:
        """Return the bytes that remain free beside the stacks of a kernel; zero or negative if the stacks alone exceed the
        memory."""

    def load(self, text: str, entry: str) -> LoadedKernel:
        """Compile PTX code for the GPU; return the kernel of this name, which stays loaded for further calls."""

    def allocate(self, size: int) -> int:
        """Return the address of this many bytes, at least one."""

    def free(self, address: int) -> None:
        """Release memory."""

    def clear(self, address: int, size: int) -> None:
        """Fill this many bytes with zeros."""

    def copy_in(self, address: int, array: np.ndarray) -> None:
        """Copy a contiguous array to an address."""

    def copy_out(self, array: np.ndarray, address: int) -> None:
        """Copy from an address into a contiguous array."""

    def launch(self, kernel: LoadedKernel, blocks: int, argument: int) -> None:
        """Run blocks of threads of a kernel with one argument, an address."""


def out_of_memory(name: str, why: str) -> RunError:
    cures = (ON_THE_CPU, "fewer samples, or measures instead of series", "no other program on the GPU")
    return RunError(Problem("E290", f'the memory of "{name}" is too small for these runs', (why,), cures=cures))


def lost(name: str, why: str) -> RunError:
    cures = (
        "the same call, which continues from the stored runs if it has a store",
        ON_THE_CPU,
        'device="auto", which continues on the CPU',
    )
    return RunError(Problem("E292", f'"{name}" was lost while it ran', (why,), cures=cures))


def is_lost(error: ProblemError) -> bool:
    return error.problem.code == "E292"


def is_out_of_memory(error: RunError) -> bool:
    return error.problem.code == "E290"
