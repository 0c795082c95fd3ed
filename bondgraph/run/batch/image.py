"""Image of a run: its tables and arrays as one block of 8-byte words, with a record of the words that point into the block or to
functions.

The annotations of the tables show which fields are pointers. Memory is in the order in which pointers lead to it, so equal
models have equal images; memory that two arrays share occurs once.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from bondgraph.emit.interpreter import code as interpreter
from bondgraph.emit.kernel import Kernel, address_of
from bondgraph.emit.kernel_language.language import Array, Code, Table, is_table, rows_of_code, types_of
from bondgraph.emit.kernel_language.translate import translate
from bondgraph.emit.procedure import Procedure
from bondgraph.run.accuracy import error_weights, pattern_buffers
from bondgraph.run.accuracy.pattern_buffers import pattern_in_buffer, provide_pattern_buffers
from bondgraph.run.batch.workspace import Workspace
from bondgraph.run.events.questions import stop_unanswered
from bondgraph.run.program import Program
from bondgraph.run.steppers.driver import procedures as solver
from bondgraph.run.steppers.method import Method
from bondgraph.run.table import FieldTable, table_at

_WORD = 8
CALLED_BY_BATCHES, CHOSEN = ("begin", "advance"), "chosen"
"""Fields of a batch that hold the code of runs, and name of the kernel of the measured outputs."""
_BEGINNINGS = {
    "w_": ("weights_",),
    "i_": ("step_", "interpret"),
    "r_": (pattern_in_buffer.__name__,),
    "q_": (stop_unanswered.__name__,),
}
"""Prefix of each library, and the prefixes of the names by which an image calls its procedures."""


@dataclass(frozen=True, eq=False)
class Image:
    """Block of words (words,), zero at pointers into the block and to functions.

    Parameters
    ----------
    places : (word, word that it points to).
    calls : (word, name of a function).
    pointers : words that point into the block, now or in the course of a run.
    every : first word and kind of each table, including those that other tables point to.
    extents : first words and lengths of the memory ranges: tables and arrays, merged where they overlap.
    tables, arrays : first words of some tables and arrays, by the names that the caller gave them.
    """

    words: np.ndarray
    places: tuple[tuple[int, int], ...]
    calls: tuple[tuple[int, str], ...]
    pointers: tuple[int, ...]
    every: tuple[tuple[int, type[Table]], ...]
    extents: tuple[tuple[int, int], ...]
    tables: Mapping[str, tuple[int, FieldTable]]
    arrays: Mapping[str, int]

    def word(self, table: str, field: str) -> int:
        first, fields = self.tables[table]
        return first + fields.kind.layout()[field][0]

    def segments(self, gap: int = 4) -> list[tuple[int, np.ndarray]]:
        filled = np.flatnonzero(self.words)
        cuts = np.flatnonzero(np.diff(filled) > gap + 1) + 1
        ranges = np.split(filled, cuts) if len(filled) else []
        return [(int(part[0]), self.words[part[0] : part[-1] + 1]) for part in ranges]


def image_of(space: Workspace, p: np.ndarray, x: np.ndarray, m: np.ndarray, batch: FieldTable | None = None) -> Image:
    """Return the image of a workspace before its first run, with parameters p (parameters,), start x (n,), m (modes,), and the
    table `batch` of a loop over runs, if any.

    The machine code of all kernels that the run may call must exist. Raises `RunError` E330 for a clock that cannot run.
    """
    weights, tables = space.weights, {"integrator": space.table, "weights": space.weights.table}
    space.bound.p[:] = p
    space.schedules.follow_parameters(p)
    provide_pattern_buffers(weights.table)
    names = {address: name for name, address in interpreter.machine_code().addresses.items()}
    if space.handler is not None:
        space.handler.ready()
        space.handler.trim_log()
        tables["events"] = space.handler.table
        names |= dict.fromkeys(space.handler.callback_addresses, stop_unanswered.__name__)
    names |= {address: f"weights_{name}" for name, address in weights.addresses.items()}
    program, kernels = space.bound.program, kernels_of(space.bound.program)
    if "jacobian" in space.table.kind.layout() and program.jacobian is not None:
        kernels.append(program.jacobian)
    names |= {kernel.address or 0: kernel.name for kernel in kernels}
    names[int(weights.table["look_up_pattern"])] = pattern_in_buffer.__name__
    if batch is not None:
        tables["batch"] = batch
        names |= {int(batch[name]): name for name in CALLED_BY_BATCHES}
        names |= {int(batch["outputs"]): CHOSEN}
        if batch["sample_check"]:
            names[int(table_at(int(batch["sample_check"]))["kernel"])] = "closing_matrix"
    return image_of_tables(tables, {"p": space.bound.p, "x": x, "m": m}, names)


def kernels_of(program: Program) -> list[Kernel]:
    kernels = [*program.kernels, program.boxes, *program.resets, *program.pushes, *program.supplies]
    kernels += [loop.kernel for loop in program.loops]
    return [kernel for kernel in kernels if kernel is not None and kernel.address]


def image_of_tables(tables: Mapping[str, FieldTable], arrays: Mapping[str, np.ndarray], names: Mapping[int, str]) -> Image:
    every = list(_reached(tables.values()))
    memory = _Memory([*itertools.chain.from_iterable(map(_pieces, every)), *arrays.values()])
    words, places, calls, pointers = memory.words(), list[tuple[int, int]](), list[tuple[int, str]](), list[int]()
    for what, index, address, is_code in itertools.chain.from_iterable(_pointers(table, memory) for table in every):
        words[index] = 0
        if not is_code:
            pointers.append(index)
        if not address:
            continue
        if is_code and address not in names:
            raise ValueError(f"{what} is the address of an unknown function")
        if is_code:
            calls.append((index, names[address]))
        else:
            places.append((index, memory.word(address)))
    kinds = tuple((memory.word(table.address), table.kind) for table in every)
    firsts = {name: (memory.word(table.address), table) for name, table in tables.items()}
    beginnings = {name: memory.word(address_of(each)) for name, each in arrays.items()}
    return Image(words, tuple(places), tuple(calls), tuple(pointers), kinds, memory.extents(), firsts, beginnings)


def _reached(tables: Iterable[FieldTable]) -> Iterator[FieldTable]:
    waiting, seen = list(tables), set[int]()
    while waiting:
        table = waiting.pop(0)
        if table.address in seen:
            continue
        seen.add(table.address)
        yield table
        for name, kind in types_of(table.kind).items():
            if is_table(kind) and table[name]:
                waiting.append(table_at(int(table[name])))
            elif isinstance(kind, Array) and is_table(kind.entries) and table[name]:
                waiting += [table_at(address) for address in table.arrays[name].tolist() if address]


def _pieces(table: FieldTable) -> Iterator[np.ndarray]:
    yield table.memory
    for name, kind in types_of(table.kind).items():
        if isinstance(kind, Array) and table[name]:
            yield table.arrays[name]


class _Memory:
    def __init__(self, pieces: Iterable[np.ndarray]):
        extents: list[list[int]] = []
        met = [(address_of(piece), address_of(piece) + piece.nbytes, k) for k, piece in enumerate(pieces) if piece.nbytes]
        for begin, end, k in sorted(met):
            if extents and begin < extents[-1][1]:
                extents[-1][1:] = max(extents[-1][1], end), min(extents[-1][2], k)
            else:
                extents.append([begin, end, k])
        counts = [(-(-(end - begin) // _WORD), k) for begin, end, k in extents]
        order = sorted(range(len(extents)), key=lambda i: counts[i][1])
        starts = dict(zip(order, itertools.accumulate((counts[i][0] for i in order), initial=0), strict=False))
        self._begins = np.array([begin for begin, _, _ in extents], dtype=np.uint64)
        self._ends = [end for _, end, _ in extents]
        self._starts = [starts[i] for i in range(len(extents))]

    def word(self, address: int) -> int:
        """Return the word of an address; 0 for an address outside the memory, such as the address of an empty array."""
        k = int(np.searchsorted(self._begins, np.uint64(address), side="right")) - 1
        if k < 0 or address >= self._ends[k]:
            return 0
        return self._starts[k] + (address - int(self._begins[k])) // _WORD

    def extents(self) -> tuple[tuple[int, int], ...]:
        sizes = [-(-(end - int(begin)) // _WORD) for begin, end in zip(self._begins, self._ends, strict=True)]
        return tuple(sorted(zip(self._starts, sizes, strict=True)))

    def words(self) -> np.ndarray:
        sizes = [end - int(begin) for begin, end in zip(self._begins, self._ends, strict=True)]
        words = np.zeros(
            max((at + -(-size // _WORD) for at, size in zip(self._starts, sizes, strict=True)), default=0), np.uint64
        )
        for begin, size, at in zip(self._begins.tolist(), sizes, self._starts, strict=True):
            ctypes.memmove(words[at:].ctypes.data, begin, size)
        return words


def _pointers(table: FieldTable, memory: _Memory) -> Iterator[tuple[str, int, int, bool]]:
    first, rows = memory.word(table.address), rows_of_code(table.kind)
    for (name, kind), (index, _) in zip(types_of(table.kind).items(), table.kind.layout().values(), strict=True):
        if kind in (float, int, bool):
            continue
        what, address = f"{table.kind.__name__}.{name}", int(table[name])
        yield what, first + index, address, isinstance(kind, Code)
        if not address or not isinstance(kind, Array) or (kind.entries in (float, int) and name not in rows):
            continue
        entries, at = table.arrays[name].reshape(-1), memory.word(address)
        for k in range(0, len(entries), rows.get(name, 1)):
            yield f"{what}[{k}]", at + k, int(entries[k]), name in rows or isinstance(kind.entries, Code)


@functools.cache
def solver_libraries(method: Method) -> dict[str, list[Procedure]]:
    return {
        "s_": solver(method),
        "w_": error_weights.procedures(),
        "r_": pattern_buffers.procedures(),
        "q_": translate([stop_unanswered], [stop_unanswered.__name__]),
    }


@functools.cache
def run_libraries(method: Method) -> dict[str, list[Procedure]]:
    return {**solver_libraries(method), "i_": interpreter.procedures(1)}


def with_prefix(name: str, other: str = "k_") -> str:
    return next((letter for letter, beginnings in _BEGINNINGS.items() if name.startswith(beginnings)), other) + name
