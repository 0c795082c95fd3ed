"""Memory of a GPU thread, from the image of a batch: words that all threads read, words of its own, and scratch, which is too
large to move between launches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.emit.gpu.stored_memory import Objects, Pointers, fits, stored_objects
from bondgraph.emit.instructions import Called
from bondgraph.emit.kernel_language.language import Array, Code, field_name, is_table, types_of
from bondgraph.emit.procedure import Procedure
from bondgraph.run.batch.gpu.threads import OWN_BASE, SCRATCH_BASE, SharedWords
from bondgraph.run.batch.image import Image

LARGE_ARRAY = 1_000
"""Minimum number of words for which an array of the event handling, or of a loop over runs, lies in scratch memory."""
_MAY_BE_LARGE = ("EventTable.", "BatchTable.", "SparsityPattern.", "Structure.", "CouplingGraph.")
_ALWAYS_THERE = ("SparsityPattern.", "Structure.")
"""Rarely used tables, whose arrays lie in scratch memory whatever their size if they are zero at first."""
READERS = ("i_searchsorted", "i_take")
"""Functions that only read their last array."""


@dataclass(frozen=True, eq=False)
class GPUMemory:
    """Memory of a GPU thread: its own words, the words that all threads share, and scratch.

    Parameters
    ----------
    template, shared : initial memory of a thread (own,), and words that all threads read (shared,), which begin with
        `SharedWords`.
    shared_places : pairs of a shared word that is an address of shared memory, and the word to which it points.
    scratch : number of words of scratch memory, which is zero-initialised.
    batch : word of own memory at which the table of the loop over runs begins.
    offsets : for fields that point to own memory at the same distance in all tables, the bytes from the table to that memory.
    """

    template: np.ndarray
    shared: np.ndarray
    shared_places: tuple[tuple[int, int], ...]
    scratch: int
    batch: int
    offsets: Mapping[str, int]

    def shared_at(self, address: int) -> np.ndarray:
        words = self.shared.copy()
        if self.shared_places:
            at, to = np.array(self.shared_places).T
            words[at] = np.uint64(address) + 8 * to.astype(np.uint64)
        return words


def called_fields(image: Image) -> dict[str, set[str]]:
    names, fields = dict(image.calls), defaultdict[str, set[str]](set)
    for first, kind in image.every:
        for name, type_ in types_of(kind).items():
            word = first + kind.layout()[name][0]
            if isinstance(type_, Code) and word in names:
                fields[field_name(kind, name)].add(names[word])
    return fields


def known_words(image: Image, numbers: Mapping[str, int], stored: Collection[str]) -> dict[str, int]:
    """Return the words of the fields to which no code stores and which are equal in all tables; a field for code holds the number
    of its function in `numbers`. Addresses of memory are omitted."""
    names, places, values_of = dict(image.calls), {word for word, _ in image.places}, dict[str, set[int]]()
    for first, kind in image.every:
        for name, (index, _) in kind.layout().items():
            word, field = first + index, field_name(kind, name)
            value = numbers[names[word]] if word in names else -1 if word in places else int(image.words[word])
            values_of.setdefault(field, set()).add(value)
    return {
        field: min(values) for field, values in values_of.items() if len(values) == 1 and -1 not in values and field not in stored
    }


class Extents:
    def __init__(self, image: Image):
        self.image, self.places = image, dict(image.places)
        self.starts = np.array([first for first, _ in image.extents])
        self.sizes = np.array([size for _, size in image.extents])
        self.of_tables = frozenset(self.number(first) for first, _ in image.every)

    def number(self, word: int) -> int:
        return int(np.searchsorted(self.starts, word, side="right")) - 1

    def pointers(self) -> Pointers:
        fields, objects = defaultdict[str, set[int]](set), defaultdict[int, set[int]](set)
        for field, word in self.fields():
            if word in self.places:
                fields[field].add(self.number(self.places[word]))
        of_fields = {word for _, word in self.fields()}
        for word, place in self.image.places:
            if word not in of_fields:
                objects[self.number(word)].add(self.number(place))
        return Pointers(
            {field: frozenset(numbers) for field, numbers in fields.items()},
            {number: frozenset(numbers) for number, numbers in objects.items()},
        )

    def fields(self) -> Iterator[tuple[str, int]]:
        for first, kind in self.image.every:
            for name, type_ in types_of(kind).items():
                if isinstance(type_, Array) or is_table(type_):
                    yield field_name(kind, name), first + kind.layout()[name][0]

    def stored(self, procedures: Iterable[Procedure], symbols: Mapping[str, str]) -> Objects:
        fields = called_fields(self.image)

        def targets(call: Called, field: str) -> Iterable[str]:
            names = fields.get(field, symbols)
            return [symbols[name] for name in names if fits(by_name.get(symbols[name]), call)]

        by_name = {procedure.name: procedure for procedure in procedures}
        batch = frozenset({self.number(self.image.tables["batch"][0])})
        arguments = {"b_run_thread": {"r": batch}}
        return self.of_tables | stored_objects(procedures, self.pointers(), arguments, targets, READERS)


def memory_of(image: Image, procedures: Sequence[Procedure], symbols: Mapping[str, str], numbers: Mapping[str, int]) -> GPUMemory:
    """Return the memory of a thread for these procedures; `symbols` maps names of functions in the image to procedures, and
    `numbers` maps the same names to integers that serve as addresses."""
    extents = Extents(image)
    stored = _with_addresses(extents, extents.stored(procedures, symbols))
    far = _in_scratch(extents, stored)
    kinds = ["shared" if k not in stored else "scratch" if k in far else "own" for k in range(len(extents.starts))]
    header = len(SharedWords.layout())
    next_free = {"own": 0, "shared": header, "scratch": 0}
    starts = list[int]()
    for kind, size in zip(kinds, extents.sizes.tolist(), strict=True):
        starts.append(next_free[kind])
        next_free[kind] += size
    own_count = next_free["own"]
    words = {"own": np.zeros(own_count, np.uint64), "shared": np.zeros(next_free["shared"], np.uint64)}
    source = image.words.copy()
    for word, name in image.calls:
        source[word] = numbers[name]
    for kind, start, first, size in zip(kinds, starts, extents.starts.tolist(), extents.sizes.tolist(), strict=True):
        if kind == "scratch":
            continue
        words[kind][start : start + size] = source[first : first + size]

    def place(word: int) -> tuple[str, int]:
        number = extents.number(word)
        return kinds[number], starts[number] + word - int(extents.starts[number])

    own_places, shared_places = list[tuple[int, int]](), list[tuple[int, int]]()
    for word, target in image.places:
        (kind, at), (to_kind, to) = place(word), place(target)
        if to_kind == "shared":
            (own_places if kind == "own" else shared_places).append((at, to))
        else:
            assert kind == "own", "shared memory points to the memory of one thread"
            words[kind][at] = (OWN_BASE if to_kind == "own" else SCRATCH_BASE) + 8 * to
    offsets = defaultdict[str, set[int | None]](set)
    for first, kind_ in image.every:
        for name in kind_.layout():
            word = first + kind_.layout()[name][0]
            to_kind, to = place(extents.places[word]) if word in extents.places else ("", 0)
            offsets[field_name(kind_, name)].add(8 * (to - place(first)[1]) if to_kind == "own" else None)
    pointers = sorted({at for kind, at in map(place, image.pointers) if kind == "own"})
    template = len(words["shared"])
    index = {name: k for name, (k, _) in SharedWords.layout().items()}
    head = words["shared"]
    for name, value in {
        "own_count": own_count,
        "own_bytes": 8 * own_count,
        "pointer_count": len(pointers),
        "scratch_count": next_free["scratch"],
    }.items():
        head[index[name]] = value
    shared = np.concatenate([head, words["own"], np.array(pointers, np.uint64)])
    shared_places += [(index["template"], template), (index["pointers"], template + own_count)]
    shared_places += [(template + at, to) for at, to in own_places]
    batch = place(image.tables["batch"][0])[1]
    single = {field: next(iter(each)) for field, each in offsets.items() if len(each) == 1}
    same = {field: offset for field, offset in single.items() if offset is not None}
    return GPUMemory(words["own"], shared, tuple(shared_places), next_free["scratch"], batch, same)


def _with_addresses(extents: Extents, stored: Objects) -> Objects:
    pairs = {(extents.number(word), extents.number(place)) for word, place in extents.image.places}
    while more := frozenset(one for one, other in pairs if other in stored and one not in stored):
        stored |= more
    return stored


def _in_scratch(extents: Extents, stored: Objects) -> Objects:
    numbers = set[int]()
    for field, word in extents.fields():
        if word not in extents.places or not field.startswith(_MAY_BE_LARGE):
            continue
        number = extents.number(extents.places[word])
        first, size = int(extents.starts[number]), int(extents.sizes[number])
        is_zero = not extents.image.words[first : first + size].any()
        is_array = number in stored and number not in extents.of_tables
        if is_array and is_zero and (size >= LARGE_ARRAY or field.startswith(_ALWAYS_THERE)):
            numbers.add(number)
    return frozenset(numbers)
